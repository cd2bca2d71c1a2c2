#!/bin/sh
# Installs build/release. Honours DESTDIR, prefix (or PREFIX, default /usr/local), libdir and zshdir from the environment. Without
# DESTDIR it replaces what an earlier install has left, and notes what it installs for ninja/uninstall.sh.
#
# SPDX-License-Identifier: MIT
set -eu

prefix=${prefix:-${PREFIX:-/usr/local}}
libdir=${libdir:-$prefix/lib}
to=${DESTDIR:-}
from=build/release
own=$prefix/lib/tracebed
version=$(sed -n 's/^#define TBED_VERSION_STRING "\(.*\)"/\1/p' format/include/tracebed/format.h)
installed=$(mktemp)
text=$(mktemp)
trap 'rm -f "$installed" "$text"' EXIT

# Notes the folders that it makes with a slash at the end.
make_folder() {
    missing=$1
    while [ -n "$missing" ] && [ ! -d "$to$missing" ]; do
        echo "$missing/" >>"$installed"
        missing=${missing%/*}
    done
    install -d "$to$1"
}

# put MODE FOLDER FILE...
put() {
    mode=$1 folder=$2
    shift 2
    make_folder "$folder"
    install -m "$mode" "$@" "$to$folder/"
    for file; do echo "$folder/${file##*/}"; done >>"$installed"
}

# put_as MODE PATH FILE
put_as() {
    make_folder "${2%/*}"
    install -m "$1" "$3" "$to$2"
    echo "$2" >>"$installed"
}

# link_as PATH TARGET
link_as() {
    ln -sf "$2" "$to$1"
    echo "$1" >>"$installed"
}

if [ -z "$to" ] && [ -f "$own/installed" ]; then
    prefix=$prefix sh ninja/uninstall.sh >/dev/null
fi

put 755 "$prefix/bin" "$from/tracebed"
put 644 "$prefix/include/tracebed" format/include/tracebed/*.h writer/include/tracebed/*.h \
    writer/include/tracebed/*.hpp writer/capture/include/tracebed/*.h reader/include/tracebed/*.h \
    reader/exchange/include/tracebed/*.h
for folder in rtl sal; do
    put 644 "$prefix/include/tracebed/openoffice/$folder" writer/capture/include/openoffice/$folder/*
done
put 644 "$libdir" "$from/libtracebed.a" "$from/libtracebed_nonshared.a" "$from/libtracebed-reader.a"
for library in libtracebed libtracebed-reader; do
    put_as 755 "$libdir/$library.so.$version" "$from/$library.so.0"
    link_as "$libdir/$library.so.0" "$library.so.$version"
done
link_as "$libdir/libtracebed-reader.so" libtracebed-reader.so.0
# A linker script, like libc.so: only programs that use a macro get the constructor that obeys the environment.
# ldconfig knows it by its first line.
echo "/* GNU ld script */ INPUT( $libdir/libtracebed_nonshared.a $libdir/libtracebed.so.0 )" >"$text"
put_as 644 "$libdir/libtracebed.so" "$text"
# The program looks for them here, relative to its own folder.
put 755 "$own" "$from/libtracebed-preload.so" "$from/libtracebed-functions.so"
# Without SQLite's headers it is empty.
if grep -q sqlite3_tracebedsqlite_init "$from/libtracebed-sqlite.so"; then
    put 755 "$own" "$from/libtracebed-sqlite.so"
fi
if [ -s "$from/ruby.stamp" ]; then
    ruby=$(cat "$from/ruby.stamp")
    put 644 "$own/ruby" "$from/ruby/tracebed.rb"
    put 644 "$own/ruby/tracebed" "$from/ruby/tracebed/auto.rb"
    put 755 "$own/ruby/tracebed/$ruby" "$from/ruby/tracebed/$ruby/tracebed.so"
fi
if [ -s "$from/python.stamp" ]; then
    put 644 "$own/python/tracebed" "$from"/python/tracebed/*.py "$from"/python/tracebed/*.pyi \
        "$from/python/tracebed/py.typed"
    put 755 "$own/python/tracebed" "$from/python/tracebed/_native.abi3.so"
fi
put 644 "$prefix/share/man/man1" reader/tools/man/*.1
put 644 "$prefix/share/man/man5" reader/tools/man/*.5
put_as 644 "$prefix/share/bash-completion/completions/tracebed" reader/tools/tracebed.bash
put_as 644 "${zshdir:-$prefix/share/zsh/site-functions}/_tracebed" reader/tools/tracebed.zsh
put_as 644 "$prefix/share/fish/vendor_completions.d/tracebed.fish" reader/tools/tracebed.fish
put 644 "$prefix/share/doc/tracebed" LICENSE README.md spec/format.md
put 644 "$prefix/share/doc/tracebed/docs" docs/*.md
put 644 "$prefix/share/doc/tracebed/docs/pictures" docs/pictures/*.png

# Static linking needs Libs.private: pkg-config --static.
put_pc() {
    cat >"$text" <<END
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: $1
Description: $2
Version: $version
Libs: -L\${libdir} -l$1
Libs.private: $3
Cflags: -I\${includedir}
END
    put_as 644 "$libdir/pkgconfig/$1.pc" "$text"
}
put_pc tracebed "Records traces straight into memory-mapped pages" "-pthread"
put_pc tracebed-reader "Reads, analyses, imports and exports traces" "-ldw -lelf -liberty -lz -lm -pthread"

# find_package(tracebed) of CMake: tracebed::tracebed, tracebed::reader, and the same with -static. Packages may have one library
# without the other.
cat >"$text" <<END
include(CMakeFindDependencyMacro)
find_dependency(Threads)

function(tracebed_target NAME FILE)
    if(NOT TARGET tracebed::\${NAME} AND EXISTS "$libdir/\${FILE}")
        add_library(tracebed::\${NAME} INTERFACE IMPORTED GLOBAL)
        target_include_directories(tracebed::\${NAME} INTERFACE "$prefix/include")
        target_link_libraries(tracebed::\${NAME} INTERFACE "$libdir/\${FILE}" \${ARGN} Threads::Threads)
    endif()
endfunction()

tracebed_target(tracebed libtracebed.so)
tracebed_target(tracebed-static libtracebed.a)
tracebed_target(reader libtracebed-reader.so)
tracebed_target(reader-static libtracebed-reader.a dw elf iberty z m)
END
put_as 644 "$libdir/cmake/tracebed/tracebed-config.cmake" "$text"
# Before version 1, a new minor version may break programs.
cat >"$text" <<END
set(PACKAGE_VERSION $version)
string(REGEX MATCH "^[0-9]+[.][0-9]+" wanted "\${PACKAGE_FIND_VERSION}.0")
if(wanted VERSION_EQUAL ${version%.*} AND PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
END
put_as 644 "$libdir/cmake/tracebed/tracebed-config-version.cmake" "$text"

if [ -z "$to" ]; then
    put_as 644 "$own/installed" "$installed"
    # Only root can tell the loader, and only of folders that it searches. Elsewhere -rpath or LD_LIBRARY_PATH does.
    if [ "$(id -u)" = 0 ]; then
        PATH=$PATH:/sbin:/usr/sbin ldconfig 2>/dev/null || true
    fi
fi
echo "installed tracebed $version under $to$prefix"
