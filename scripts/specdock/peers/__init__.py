"""Peers: one cell measured by our client and by others against one running server, compared."""

# How our own client is named beside theirs.
OURS = "specdock"
