"""A kernel that refuses: inside, nobody can make a namespace, and root has no privilege."""

REFUSING = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"]
