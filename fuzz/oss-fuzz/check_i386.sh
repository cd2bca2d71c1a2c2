#!/bin/bash -eu
# Builds the fuzz targets of the reader for 32-bit machines, as OSS-Fuzz's architecture i386 does, and runs each on its
# seeds. Needs clang, and Debian's g++-multilib and libc6-dev-i386; takes about two minutes.
#
#     fuzz/oss-fuzz/check_i386.sh
#
# SPDX-License-Identifier: MIT
cd "$(dirname "$0")/../.."
folder=$PWD/build/oss-fuzz-i386
rm -rf "$folder"
mkdir -p "$folder/seeds"
export CFLAGS="-m32 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
export ARCHITECTURE=i386 CC=${CC:-clang} CXXFLAGS=$CFLAGS LIB_FUZZING_ENGINE=-fsanitize=fuzzer
WORK=$folder OUT=$folder fuzz/oss-fuzz/build.sh
for program in "$folder"/*_fuzzer; do
    rm -rf "$folder/seeds"
    mkdir "$folder/seeds"
    [ ! -f "${program}_seed_corpus.zip" ] || unzip -q -d "$folder/seeds" "${program}_seed_corpus.zip"
    TMPDIR=/dev/shm setarch -R "$program" -runs=0 -timeout=25 "$folder/seeds" >"$folder/log" 2>&1 ||
        { cat "$folder/log"; exit 1; }
    echo "ok $(basename "$program") $(find "$folder/seeds" -type f | wc -l) seeds"
done
