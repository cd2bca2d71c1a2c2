#!/bin/sh
# Removes what ninja/install.sh has installed under prefix (or PREFIX, default /usr/local), and the folders that
# it has made. Files that were added by others stay.
#
# SPDX-License-Identifier: MIT
set -eu

prefix=${prefix:-${PREFIX:-/usr/local}}
list=$prefix/lib/tracebed/installed

if [ ! -f "$list" ]; then
    echo "tracebed: $list: not found; nothing is installed under $prefix" >&2
    exit 1
fi

kept=$(mktemp)
trap 'rm -f "$kept"' EXIT
cat "$list" >"$kept"
grep -v '/$' "$kept" | while IFS= read -r file; do rm -f "$file"; done
rm -f "$list"
# The innermost folders first; one that something else has been put into stays.
grep '/$' "$kept" | sort -r | while IFS= read -r folder; do rmdir "$folder" 2>/dev/null || true; done
if [ "$(id -u)" = 0 ]; then
    PATH=$PATH:/sbin:/usr/sbin ldconfig 2>/dev/null || true
fi
echo "removed tracebed from $prefix"
