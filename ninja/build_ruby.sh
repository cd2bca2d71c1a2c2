#!/bin/sh
# Builds the Ruby extension into a folder for RUBYLIB and writes a stamp. If Ruby or its headers are missing, it says so
# and leaves the stamp empty: neither the build nor the tests need Ruby.
#
#     build_ruby.sh FOLDER STAMP LIBTRACEBED SOURCE...
#
# SPDX-License-Identifier: MIT
set -eu

folder=$1 stamp=$2 library=$3
shift 3
rm -rf "$folder"
ruby=${RUBY:-ruby}
if ! command -v "$ruby" >/dev/null 2>&1; then
    echo "skipping the Ruby extension: no $ruby (ruby-dev)"
    : >"$stamp"
    exit 0
fi
headers=$("$ruby" -e 'puts RbConfig::CONFIG["rubyhdrdir"]')
machine=$("$ruby" -e 'puts RbConfig::CONFIG["rubyarchhdrdir"]')
version=$("$ruby" -e 'puts RUBY_VERSION[/\A\d+\.\d+/]')
if [ ! -f "$headers/ruby.h" ]; then
    echo "skipping the Ruby extension: no $headers/ruby.h (ruby-dev)"
    : >"$stamp"
    exit 0
fi
mkdir -p "$folder/tracebed/$version"
cp writer/capture/ruby/lib/*.rb "$folder/"
cp writer/capture/ruby/lib/tracebed/*.rb "$folder/tracebed/"
# shellcheck disable=SC2086 # CFLAGS, LDFLAGS and TBED_WERROR are words
${CC:-gcc} ${CFLAGS:--O2 -g} -std=gnu17 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
    -Wno-sign-conversion -Wundef -Wvla -Wwrite-strings ${TBED_WERROR:-} -D_GNU_SOURCE -fPIC -fvisibility=hidden \
    -pthread -Iformat/include -Iwriter/include -isystem "$headers" -isystem "$machine" -shared \
    -Wl,-z,relro,-z,now -Wl,--exclude-libs,ALL -o "$folder/tracebed/$version/tracebed.so" "$@" "$library" \
    ${LDFLAGS:-}
echo "$version" >"$stamp"
