#!/bin/sh
# Installs build/release. Honours DESTDIR, prefix (or PREFIX, default /usr/local) and libdir from the environment.
#
# SPDX-License-Identifier: MIT
set -eu

prefix=${prefix:-${PREFIX:-/usr/local}}
libdir=${libdir:-$prefix/lib}
to=${DESTDIR:-}
from=build/release
version=$(sed -n 's/^#define TBED_VERSION_STRING "\(.*\)"/\1/p' format/include/tracebed/format.h)

install -d "$to$prefix/bin" "$to$prefix/include/tracebed" "$to$libdir/pkgconfig" "$to$prefix/lib/tracebed" \
    "$to$prefix/share/doc/tracebed"
install -m 755 "$from/tracebed" "$to$prefix/bin/"
install -m 644 format/include/tracebed/*.h writer/include/tracebed/*.h writer/include/tracebed/*.hpp \
    writer/capture/include/tracebed/*.h reader/include/tracebed/*.h \
    reader/exchange/include/tracebed/*.h "$to$prefix/include/tracebed/"
for folder in rtl sal; do
    install -d "$to$prefix/include/tracebed/openoffice/$folder"
    install -m 644 writer/capture/include/openoffice/$folder/* "$to$prefix/include/tracebed/openoffice/$folder/"
done
install -m 644 "$from/libtracebed.a" "$from/libtracebed_nonshared.a" "$from/libtracebed-reader.a" "$to$libdir/"
for library in libtracebed libtracebed-reader; do
    install -m 755 "$from/$library.so.0" "$to$libdir/$library.so.$version"
    ln -sf "$library.so.$version" "$to$libdir/$library.so.0"
done
ln -sf libtracebed-reader.so.0 "$to$libdir/libtracebed-reader.so"
# A linker script, like libc.so: only programs that use a macro get the constructor that obeys the environment.
rm -f "$to$libdir/libtracebed.so"
echo "INPUT( $libdir/libtracebed_nonshared.a $libdir/libtracebed.so.0 )" >"$to$libdir/libtracebed.so"
# The program looks for them here, relative to its own folder.
install -m 755 "$from/libtracebed-preload.so" "$from/libtracebed-functions.so" "$to$prefix/lib/tracebed/"
# Without SQLite's headers it is empty.
if grep -q sqlite3_tracebedsqlite_init "$from/libtracebed-sqlite.so"; then
    install -m 755 "$from/libtracebed-sqlite.so" "$to$prefix/lib/tracebed/"
fi
if [ -s "$from/ruby.stamp" ]; then
    ruby=$(cat "$from/ruby.stamp")
    install -d "$to$prefix/lib/tracebed/ruby/tracebed/$ruby"
    install -m 644 "$from/ruby/tracebed.rb" "$to$prefix/lib/tracebed/ruby/"
    install -m 644 "$from/ruby/tracebed/auto.rb" "$to$prefix/lib/tracebed/ruby/tracebed/"
    install -m 755 "$from/ruby/tracebed/$ruby/tracebed.so" "$to$prefix/lib/tracebed/ruby/tracebed/$ruby/"
fi
if [ -s "$from/python.stamp" ]; then
    install -d "$to$prefix/lib/tracebed/python/tracebed"
    install -m 644 "$from"/python/tracebed/*.py "$from"/python/tracebed/*.pyi "$from/python/tracebed/py.typed" \
        "$to$prefix/lib/tracebed/python/tracebed/"
    install -m 755 "$from/python/tracebed/_native.abi3.so" "$to$prefix/lib/tracebed/python/tracebed/"
fi
install -d "$to$prefix/share/man/man1" "$to$prefix/share/man/man5" "$to$prefix/share/bash-completion/completions"
install -m 644 reader/tools/man/*.1 "$to$prefix/share/man/man1/"
install -m 644 reader/tools/man/*.5 "$to$prefix/share/man/man5/"
install -m 644 reader/tools/tracebed.bash "$to$prefix/share/bash-completion/completions/tracebed"
for file in LICENSE README.md spec/format.md; do
    if [ -f "$file" ]; then
        install -m 644 "$file" "$to$prefix/share/doc/tracebed/"
    fi
done
# Static linking needs Libs.private: pkg-config --static.
write_pc() {
    cat >"$to$libdir/pkgconfig/$1.pc" <<END
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: $1
Description: $2
Version: $version
Libs: -L\${libdir} -l$3
Libs.private: $4
Cflags: -I\${includedir}
END
}
write_pc tracebed "Records traces straight into memory-mapped pages" tracebed "-pthread"
write_pc tracebed-reader "Reads, analyses, imports and exports traces" tracebed-reader "-ldw -lelf -liberty -lz -lm -pthread"
echo "installed tracebed $version under $to$prefix"
