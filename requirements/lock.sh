#!/bin/sh
# Pin everything with hashes and without index addresses. Run by `make lock`, which passes options on
# (`make lock ARGS=--upgrade`).
#
# dev.txt is resolved first; run.txt is a part of it with the very same pins, so that going from one
# to the other never changes a version.
set -eu
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
options=$*
compile() {
    # shellcheck disable=SC2086
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links $options "$@"
}
members=$(ls libs/*/pyproject.toml services/*/pyproject.toml)
runtime=$(echo "$members" | grep -v '^libs/brain_testing/')
# Members depend on each other by name; they are installed from their folders, so they aren't pinned.
# shellcheck disable=SC2086
ours=$(sed -n 's/^name = "\(.*\)"/--no-emit-package \1/p' $members)

compile requirements/uv.in -o requirements/uv.txt
# shellcheck disable=SC2086
compile --all-extras $ours $members requirements/run.in requirements/dev.in -o requirements/dev.txt
options=
# shellcheck disable=SC2086
compile $ours $runtime requirements/run.in -c requirements/dev.txt -o requirements/run.txt
