#!/usr/bin/env bash
# Sets up everything that the tests need, then runs them all; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
missing=()
command -v chromium > /dev/null || missing+=(chromium)
command -v bwrap > /dev/null || missing+=(bubblewrap)
if [ "${#missing[@]}" -gt 0 ]; then
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
fi
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/pip install --quiet --require-hashes -r envs/specdock.lock -r envs/tests.lock
.venv/bin/ruff format --check .
.venv/bin/ruff check .
.venv/bin/snakefmt --check Snakefile rules
exec .venv/bin/pytest "$@"
