#!/bin/sh
# Sees to it that this machine has a Chromium for the tests of the operators' page.
set -eu
for name in "${BRAIN_TEST_CHROMIUM:-chromium}" chromium chromium-browser google-chrome; do
    ! command -v "$name" >/dev/null || exit 0
done
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing Chromium ..."
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1 ||
        { tail -n 5 "$log"; echo "apt-get couldn't install Chromium."; exit 1; }
    rm -f "$log"
    exit 0
fi
echo "These tests need Chromium: install it, or name it in BRAIN_TEST_CHROMIUM."
exit 1
