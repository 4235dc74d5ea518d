#!/bin/sh
# Generate the gRPC stubs anew and compare them with the committed ones. Run by `make lint`.
set -eu
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
tools/protogen.sh "$fresh"
for package in "$fresh"/brainapi/*/; do
    committed=libs/brainapi/src/brainapi/$(basename "$package")
    diff -r -x __pycache__ "$package" "$committed" >/dev/null 2>&1 || {
        echo "$committed is not what proto/ generates: run make proto and commit the result." >&2
        exit 1
    }
done
