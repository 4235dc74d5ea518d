#!/bin/sh
# Generate the gRPC stubs into the folder named by $1. Run by `make proto` and `make lint`.
set -eu
cd "$(dirname "$0")/.."
out=$1
protos=$(find proto -name '*.proto' | sort)
mkdir -p "$out"
# shellcheck disable=SC2086
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m grpc_tools.protoc -Iproto \
    --python_out="$out" --grpc_python_out="$out" --mypy_out=quiet:"$out" --mypy_grpc_out=quiet:"$out" $protos
