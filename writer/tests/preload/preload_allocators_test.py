"""
Functions that only jemalloc, tcmalloc and mimalloc have, recorded in programs that call them: directly, through pointers,
and mixed with malloc() and free(), and in libraries that are loaded later. Each allocation is counted once.

    python3 writer/tests/preload/preload_allocators_test.py [NAME...]

Check: preload-allocators test_jemalloc test_tcmalloc test_mimalloc test_loaded_later
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import Failure

TRACEBED = str(cases.TRACEBED)

# Library, header, statements, allocations, their bytes, those that are live at the end.
PROGRAMS = [
    ("jemalloc", "jemalloc/jemalloc.h", """
        void *a = mallocx(100, 0), *b = mallocx(200, MALLOCX_ALIGN(64)), *c = mallocx(300, 0);
        b = rallocx(b, 5000, 0);
        if (xallocx(c, 301, 0, 0) < 301) return 1;
        dallocx(a, 0);
        sdallocx(b, 5000, MALLOCX_ALIGN(64));
        keep(malloc(7));""", 6, 100 + 200 + 300 + 5000 + 301 + 7, 301 + 7),
    ("tcmalloc", "gperftools/tcmalloc.h", """
        void *tc_new(size_t), *tc_newarray(size_t), tc_delete(void *);
        void *a = tc_malloc(100), *b = tc_calloc(2, 100), *c = tc_new(300), *d = tc_newarray(400), *e;
        b = tc_realloc(b, 5000);
        if (tc_posix_memalign(&e, 64, 600) != 0) return 1;
        keep(tc_memalign(64, 9));
        free(a);
        tc_free(b), tc_delete(c), tc_free(e);
        keep(malloc(7)), keep(d);""", 8, 100 + 200 + 300 + 400 + 5000 + 600 + 9 + 7, 400 + 9 + 7),
    ("mimalloc", "mimalloc.h", """
        static void *(*volatile take)(size_t) = mi_malloc;
        static void (*volatile give)(void *) = mi_free;
        mi_heap_t *heap = mi_heap_new();
        void *a = mi_malloc(100), *b = mi_zalloc(200), *c = mi_heap_malloc(heap, 300), *d = mi_malloc_aligned(400, 64);
        char *e = mi_strdup("twelve bytes");
        b = mi_realloc(b, 5000);
        keep(mi_calloc(3, 3));
        keep(mi_new(11));
        mi_free(a), mi_free(b), free(c), mi_free(e);
        keep(take(20)), give(take(30)); /* pointers */
        keep(malloc(7)), keep(d);""", 11, 100 + 200 + 300 + 400 + 13 + 5000 + 9 + 11 + 7 + 20 + 30,
     400 + 9 + 11 + 7 + 20),
]

# The same, in a library that brings the allocator with it, except jemalloc, which only programs can be linked with: its
# thread-local variables have no room later.
PLUGINS = [
    ("jemalloc", "jemalloc/jemalloc.h", """
        void *a = mallocx(100, 0), *b = rallocx(mallocx(200, 0), 5000, 0);
        dallocx(a, 0);
        keep(b), keep(malloc(7));""", 4, 100 + 200 + 5000 + 7, 5000 + 7),
    ("tcmalloc", "gperftools/tcmalloc.h", """
        void *a = tc_malloc(100), *b = tc_realloc(tc_calloc(2, 100), 5000);
        tc_free(a);
        keep(b), keep(malloc(7));""", 4, 100 + 200 + 5000 + 7, 5000 + 7),
    ("mimalloc", "mimalloc.h", """
        static void *(*volatile take)(size_t) = mi_malloc;
        void *a = mi_malloc(100), *b = mi_realloc(mi_zalloc(200), 5000);
        mi_free(a);
        keep(b), keep(take(20)), keep(malloc(7));""", 5, 100 + 200 + 5000 + 20 + 7, 5000 + 20 + 7),
]

# Finds the library by its own RUNPATH, twice.
LOADS = """
#include <dlfcn.h>
#include <stddef.h>
int main(void)
{
    void *library = dlopen("plugin.so", RTLD_NOW), *again = dlopen("plugin.so", RTLD_LAZY);
    int (*work)(void) = library != NULL ? (int (*)(void))dlsym(library, "work") : NULL;
    return dlerror() != NULL || work == NULL || library != again || dlopen("none.so", RTLD_LAZY) != NULL ||
           dlerror() == NULL || work();
}
"""


def build(folder, library, header, statements):
    """False: the library's package is not installed."""
    with open(f"{folder}/program.c", "w", encoding="utf-8") as file:
        file.write(f"#include <stdlib.h>\n#include <{header}>\n"
                   "static void *volatile kept;\nstatic void keep(void *block) { kept = block; }\n"
                   f"int main(void)\n{{{statements}\n    return kept == NULL;\n}}\n")
    probe = ["gcc", "-include", header, "-x", "c", "-E", "/dev/null"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return False
    subprocess.run(["gcc", "-O1", "-fno-builtin", f"{folder}/program.c", "-o", f"{folder}/program", f"-l{library}"],
                   check=True)
    return True


def sums(folder, function, *options):
    """Allocations of the function, their bytes, those that are live at the end."""
    subprocess.run([TRACEBED, "record", "-f", *options, "-o", "t.tbed", "./program"], cwd=folder, check=True, timeout=60)
    dump = subprocess.run([TRACEBED, "dump", "t.tbed"], cwd=folder, check=True, capture_output=True, text=True).stdout
    count, nbytes, live = 0, 0, {}
    for line in (line for line in dump.splitlines() if f"!{function}" in line):
        old = re.search(r" (?:free|realloc) +0x(\w+)", line)
        new = re.search(r" (\d+) B at 0x(\w+)", line)
        if old and live.pop(old[1], None) is None:
            raise Failure(f"frees what was not recorded: {line}")
        if new:
            count, nbytes = count + 1, nbytes + int(new[1])
            live[new[2]] = int(new[1])
    return count, nbytes, sum(live.values())


def check(folder, wanted):
    for library, header, statements, *expected in PROGRAMS:
        if library != wanted:
            continue
        if not build(folder, library, header, statements):
            print(f"skipped: {header} is not installed")
            return
        for options in ([], ["--stacks"]):
            found = sums(folder, "main", *options)
            if found != tuple(expected):
                raise Failure(f"{library} {options}: {found}, expected {tuple(expected)}")


def test_jemalloc(folder):
    check(folder, "jemalloc")


def test_tcmalloc(folder):
    check(folder, "tcmalloc")


def test_mimalloc(folder):
    check(folder, "mimalloc")


def build_plugin(folder, binding, library, header, statements):
    """False: the library's package is not installed."""
    if not build(folder, library, header, statements):
        return False
    with open(f"{folder}/program.c", encoding="utf-8") as file:
        source = file.read().replace("int main(", "static void begin(void) __attribute__((constructor));\n"
                                     "static void begin(void) { keep(malloc(8)); }\nint work(")
    with open(f"{folder}/plugin.c", "w", encoding="utf-8") as file:
        file.write(source)
    with open(f"{folder}/program.c", "w", encoding="utf-8") as file:
        file.write(LOADS)
    flags = ["gcc", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-Wl,-z," + binding]
    subprocess.run([*flags, "-shared", "-fPIC", "plugin.c", "-o", "plugin.so", f"-l{library}"], cwd=folder, check=True)
    flags += ["-Wl,--no-as-needed", "-ljemalloc"] if library == "jemalloc" else []
    subprocess.run([*flags, "program.c", "-o", "program", "-Wl,--enable-new-dtags,-rpath,$ORIGIN"], cwd=folder, check=True)
    return True


def check_callers(folder, library):
    """What calls dlopen() is main(), although the loader sees another instruction of its module."""
    export = [TRACEBED, "export", "--to=folded", "--memory", "t.tbed", "-o", "-"]
    stacks = subprocess.run(export, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
    stacks = [stack for stack in stacks if re.search(r"[;!]begin[ ;]", stack)]
    if not stacks or not all(re.search(r"!main;(dlopen|libc)[^;]*;", stack) for stack in stacks):
        raise Failure(f"{library}: stacks of the constructor: {stacks}")


def test_loaded_later(folder):
    for library, header, statements, *expected in PLUGINS:
        for binding in ("lazy", "now"):
            if not build_plugin(folder, binding, library, header, statements):
                print(f"skipped: {header} is not installed")
                break
            if subprocess.run(["./program"], cwd=folder, check=False).returncode != 0:
                raise Failure(f"{library}: cannot be loaded")
            for options in ([], ["--stacks"]):
                found = sums(folder, "work", *options)
                if found != tuple(expected):
                    raise Failure(f"{library} {binding} {options}: {found}, expected {tuple(expected)}")
            check_callers(folder, library)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
