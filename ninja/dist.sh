#!/bin/sh
# Writes FOLDER/tracebed-VERSION.tar.gz: what is committed, and nothing else. The same commit always gives the same bytes.
#
# usage: sh ninja/dist.sh FOLDER
#
# SPDX-License-Identifier: MIT
set -eu

folder=$1
version=$(git show HEAD:format/include/tracebed/format.h | sed -n 's/^#define TBED_VERSION_STRING "\(.*\)"/\1/p')
name=tracebed-$version

if [ -n "$(git status --porcelain)" ]; then
    echo "tracebed: note: the tarball has the last commit, not the changes since" >&2
fi
mkdir -p "$folder"
# git takes the time of the commit for each file. gzip would add a name and a time of its own.
git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$folder/$name.tar.gz"
(cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$folder/$name.tar.gz"
