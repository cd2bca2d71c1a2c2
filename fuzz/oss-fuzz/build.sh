#!/bin/bash -eu
# Builds all fuzz targets, with nothing but $CC, $CFLAGS and $LIB_FUZZING_ENGINE, into $OUT: the programs, and for each its
# seeds, dictionary and limits. OSS-Fuzz, ClusterFuzzLite and fuzz/oss-fuzz/check.sh run this, at the top of the tree.
#
# The lists of rooms are those of ninja/generate.py; 'Seeds:', 'Mutator:' and *.options are explained in TESTING.md.
#
# SPDX-License-Identifier: MIT
work=${WORK:-/tmp}/tracebed-objects
# Machines that fuzz try a few places of failure for each input, not all; see fuzz/support/failing.h.
flags="-DFAILING_PLACES=4 -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -pthread -I. -Iformat/include -Iwriter/include -Iwriter/capture/include -Ireader/include -Ireader/exchange/include"
rooms="format writer/base writer/file writer/pages writer/store writer/record writer/copy writer/life writer/capture/launch
  reader/core reader/analysis reader/symbols reader/exchange reader/tables reader/sql reader/tools"
targets=$(ls fuzz/*/*_fuzzer.c)
# Debian and Ubuntu have static archives of elfutils; the machines that fuzz have no shared ones.
elfutils="dw elf"
system="$work/libdw.a $work/libelf.a -l:libiberty.a -lz -l:libbz2.a -l:liblzma.a -lm"
# Calls that targets can make fail; see fuzz/support/failing.h.
wrap=$(sed -n 's/^fuzz_wrap = //p' ninja/generated/targets.ninja)
# The part that reads traces needs no other libraries. It is all that is built for 32-bit machines, which cannot record.
[ "${ARCHITECTURE:-}" != i386 ] || FUZZ_PART=reader
if [ "${FUZZ_PART:-}" = reader ]; then
    rooms="format reader/core reader/analysis"
    targets= elfutils=
    for name in allocations changing comparison components event failing_files format locations marks message_text \
        odd_calls reader record refresh refusals statistics string unchecked windows; do
        targets="$targets fuzz/$name/${name}_fuzzer.c"
    done
    system=-lm
fi

rm -rf "$work"
mkdir -p "$work" "$OUT"

# object_of FILE
object_of() {
    echo "$work/$(echo "${1%.c}" | tr / -).o"
}

compile() {
    $CC $CFLAGS $flags -c "$1" -o "$(object_of "$1")"
}

# mark NAME FILE: the words of the line 'NAME: WORDS' of a target's first comment
mark() {
    sed -n "/\*\//q; s/^ \* $1: //p" "$2"
}

# put_seeds NAME FOLDER...
put_seeds() {
    local name=$1 all="$work/seeds" folder path
    shift
    rm -rf "$all" "$OUT/${name}_fuzzer_seed_corpus.zip"
    mkdir "$all"
    for folder; do
        for path in "$folder"/*; do
            [ ! -f "$path" ] || cp "$path" "$all/$(echo "$path" | tr / -)"
        done
    done
    [ -z "$(ls "$all")" ] || (cd "$all" && zip -q -r "$OUT/${name}_fuzzer_seed_corpus.zip" .)
}

# put_options NAME: the general limits and, after them, those of the target, which replace them
put_options() {
    local own="fuzz/$1/$1.options"
    [ -f "$own" ] || own=/dev/null
    awk -F' = ' '/^\[/ { next } NF == 2 { value[$1] = $2 } END {
        print "[libfuzzer]"
        for (name in value) print name " = " value[name]
    }' fuzz/support/default.options "$own" >"$OUT/$1_fuzzer.options"
    grep -q '^dict' "$OUT/$1_fuzzer.options" || [ ! -f "fuzz/$1/$1.dict" ] ||
        echo "dict = $1.dict" >>"$OUT/$1_fuzzer.options"
}

sources=$(find $rooms -name '*.c' -not -path '*/tests/*' -not -path '*/examples/*' -not -path reader/tools/main.c)
support=$(find fuzz/support -name '*.c' -not -name replay_driver.c)
oracles="$(find reader/tests -name '*oracle.c') reader/tests/tables/rows_text.c"
[ "${FUZZ_PART:-}" != reader ] || support=$(echo "$support" | grep -v tool_run)
export -f compile object_of
export CC CFLAGS flags work
printf '%s\n' $sources $support $oracles $targets | xargs -P "$(nproc)" -I{} bash -euc 'compile {}'

# The calls of elfutils do not fail, as if it were a shared library: without memory it ends the process.
for name in $elfutils; do
    objcopy $(printf ' %s' $wrap | sed 's/-Wl,--wrap=\([a-z0-9_]*\)/--redefine-sym \1=__real_\1/g') \
        "$($CC -print-file-name="lib$name.a")" "$work/lib$name.a"
done

# Archives, so that a target may replace a function of the library by its own.
for path in $sources; do object_of "$path"; done | xargs ar qcs "$work/library.a"
for path in $support $oracles; do
    case $path in *_mutator.c) ;; *) object_of "$path" ;; esac
done | xargs ar qcs "$work/support.a"

for path in $targets; do
    name=$(basename "$path" _fuzzer.c)
    mutator=
    for word in $(mark Mutator "$path"); do
        mutator="$mutator $(object_of "fuzz/support/${word}_mutator.c")"
    done
    ${CXX:-$CC} ${CXXFLAGS:-$CFLAGS} -pthread "$(object_of "$path")" $mutator $LIB_FUZZING_ENGINE \
        -Wl,--start-group "$work/support.a" "$work/library.a" -Wl,--end-group $system $wrap $(mark "Link with" "$path") -o "$OUT/${name}_fuzzer"
    put_seeds "$name" "fuzz/$name/corpus" $(mark Seeds "$path")
    put_options "$name"
    [ ! -f "fuzz/$name/$name.dict" ] || cp "fuzz/$name/$name.dict" "$OUT/"
done
