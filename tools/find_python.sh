#!/bin/sh
# Print a Python >= 3.11 that can make a virtual environment, or say in one line what is missing.
# `make PYTHON=...` decides by itself which one is asked. Run by the Makefile.
set -u
recent='import sys; sys.exit(sys.version_info < (3, 11))'
# A launcher can be on the PATH and still run nothing, so each candidate is tried.
usable() { "$1" -c "$recent" >/dev/null 2>&1; }

without_venv=
for python in ${1:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    usable "$python" || continue
    if "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        echo "$python"
        exit 0
    fi
    without_venv=${without_venv:-$python}
done
if [ -n "$without_venv" ]; then
    echo "$without_venv can't make a virtual environment: install its venv module" \
        "(on Debian and Ubuntu the package python3-venv)." >&2
elif [ -n "${1:-}" ]; then
    echo "PYTHON=$1 is not a Python 3.11 or later." >&2
else
    echo "Brain needs Python 3.11 or later, and found none: install it, or say PYTHON=/path/to/python3." >&2
fi
exit 1
