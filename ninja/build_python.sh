#!/bin/sh
# Builds Python's module tracebed into a folder for PYTHONPATH and writes a stamp. If Python's headers are missing, it says
# so and leaves the stamp empty: neither the build nor the tests need them. The module is for every Python from 3.11 on.
#
#     build_python.sh FOLDER STAMP LIBRARY... -- SOURCE...
#
# SPDX-License-Identifier: MIT
set -eu

folder=$1 stamp=$2
shift 2
libraries=
while [ "$1" != -- ]; do
    libraries="$libraries $1"
    shift
done
shift
rm -rf "$folder"
headers=
for python in ${PYTHON:-/usr/bin/python3 python3}; do
    found=$("$python" -c 'import sys, sysconfig
if sys.version_info >= (3, 11): print(sysconfig.get_paths()["include"])' 2>/dev/null) || continue
    if [ -n "$found" ] && [ -f "$found/Python.h" ]; then
        headers=$found
        break
    fi
done
if [ -z "$headers" ]; then
    echo "skipping Python's module: no Python.h of version 3.11 or later (python3-dev)"
    : >"$stamp"
    exit 0
fi
mkdir -p "$folder/tracebed"
cp reader/python/tracebed/* "$folder/tracebed/"
# shellcheck disable=SC2086 # CFLAGS, LDFLAGS, TBED_WERROR and the libraries are words
${CC:-gcc} ${CFLAGS:--O2 -g} -std=gnu17 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
    -Wno-sign-conversion -Wundef -Wvla ${TBED_WERROR:-} -D_GNU_SOURCE -fPIC -fvisibility=hidden \
    -pthread -I. -Iformat/include -Ireader/include -Ireader/exchange/include -isystem "$headers" -shared \
    -Wl,-z,relro,-z,now -Wl,--exclude-libs,ALL -o "$folder/tracebed/_native.abi3.so" "$@" $libraries \
    ${LDFLAGS:-} -Wl,--as-needed -ldw -lelf -liberty -lz -lm
echo "$headers" >"$stamp"
