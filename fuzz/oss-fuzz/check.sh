#!/bin/bash -eu
# Builds the fuzz targets as OSS-Fuzz would, in a Debian system that has clang and no other compiler, and runs each on its
# seeds. Needs root and debootstrap; the system is left in the folder and used again.
#
#     sudo fuzz/oss-fuzz/check.sh [FOLDER]
#
# CFLAGS are those of the build, by default with AddressSanitizer and UBSan.
#
# SPDX-License-Identifier: MIT
cd "$(dirname "$0")/../.."
root=${1:-build/oss-fuzz-root}
flags=${CFLAGS:--O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all}
packages=clang,libclang-rt-14-dev,libc6-dev,libxxhash-dev,libdw-dev,libelf-dev,libiberty-dev,zlib1g-dev
packages=$packages,zlib1g-dev,libbz2-dev,liblzma-dev,zip,unzip

mkdir -p "$root"
[ -x "$root/usr/bin/clang" ] || debootstrap --variant=minbase --include=$packages bookworm "$root"
rm -rf "$root/src" "$root/out"
mkdir -p "$root/src" "$root/out" "$root/dev/shm"
git archive HEAD | tar -x -C "$root/src"
cat >"$root/run.sh" <<'RUN'
set -eu
cd /src
mount -t proc proc /proc
export CC=clang CXX=clang OUT=/out WORK=/tmp LIB_FUZZING_ENGINE=-fsanitize=fuzzer CXXFLAGS="$CFLAGS"
bash -eu fuzz/oss-fuzz/build.sh
for program in /out/*_fuzzer; do
    rm -rf /tmp/seeds
    mkdir /tmp/seeds
    [ ! -f "${program}_seed_corpus.zip" ] || unzip -q -d /tmp/seeds "${program}_seed_corpus.zip"
    "$program" -runs=0 -timeout=25 /tmp/seeds >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
    echo "ok $(basename "$program") $(ls /tmp/seeds | wc -l) seeds"
done
RUN
CFLAGS=$flags unshare --mount --pid --fork setarch -R chroot "$root" bash /run.sh
