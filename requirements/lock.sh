#!/bin/sh
# Pin everything with hashes and without index addresses. Run by `make lock`.
set -eu
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}
ours=$(sed -n 's/^name = "\(.*\)"/--no-emit-package \1/p' libs/*/pyproject.toml services/*/pyproject.toml)
compile requirements/uv.in -o requirements/uv.txt
# shellcheck disable=SC2086
compile $ours libs/*/pyproject.toml services/*/pyproject.toml requirements/dev.in -o requirements/dev.txt
