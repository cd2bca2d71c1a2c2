#!/bin/sh
# Checks that spec/golden is, byte for byte, what make_golden writes: check_golden.sh MAKE_GOLDEN
#
# Check: golden build/release/spec/golden/make_golden
# Needs: $b/spec/golden/make_golden
#
# SPDX-License-Identifier: MIT
set -eu

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/valid" "$made/invalid"
"$1" "$made"
if ! diff -r "$made/valid" spec/golden/valid || ! diff -r "$made/invalid" spec/golden/invalid ||
    ! diff "$made/expected.txt" spec/golden/expected.txt; then
    echo "spec/golden differs from what $1 writes; to update it, run: $1 spec/golden"
    exit 1
fi
