"""
Libraries that take each other's place in memory: whatever was recorded before and after must be told of the one that
was there. For 'tracebed record' in all its modes and for 'record --functions', with libraries that have a build-id and with
such as have none, also when another thread loads the second one as soon as the first is gone.

The program's own log is the oracle: it names each function before it calls it, and says whether the addresses were the
same.

    python3 writer/tests/capture/libraries_test.py

Check: libraries
Needs: $b/programs
Slow: compiles and runs dozens of programs

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

TRACEBED = str(cases.TRACEBED)

# Same code, same size, names of one length: the loader puts one where the other was.
LIBRARY = """
#include <stdlib.h>
volatile void *NAME_keep;
__attribute__((noinline)) void NAME_inner(size_t nbytes)
{
    void *block = malloc(nbytes);
    NAME_keep = block;
    free(block);
}
__attribute__((constructor)) void NAME_starts(void) { NAME_inner(7); }
void NAME(size_t nbytes) { NAME_inner(nbytes); }
"""

# In front of the C library's: what happens after a module is gone, and before whoever unloaded it can know, takes long.
SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
volatile int closed;
int dlclose(void *library)
{
    int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    int result = real(library);
    closed++;
    usleep(50000);
    return result;
}
"""

PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PLAIN __attribute__((no_instrument_function))
extern volatile int closed;
static const char *const names[] = {"one", "two"};
static void *place;
static size_t nbytes = 10000;
static void (*work)(size_t);
static const char *at_work;
static volatile int is_ready;

PLAIN static void call(void)
{
    printf("call %s %zu\\n", at_work, ++nbytes);
    work(nbytes);
}
PLAIN static void *take(const char *name)
{
    char path[16];
    snprintf(path, sizeof path, "./%s.so", name);
    printf("open %s\\n", name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) exit(3);
    work = (void (*)(size_t))dlsym(library, name);
    printf("%s\\n", place == (void *)work ? "same" : "elsewhere");
    place = (void *)work;
    at_work = name;
    call();
    return library;
}
PLAIN static void *other(void *name)
{
    int before = closed;
    call(); /* the first one's place is known to this thread */
    is_ready = 1;
    while (closed == before) continue;
    return take(name);
}
PLAIN int main(int argc, char **argv)
{
    void *library = take(names[0]);
    for (int i = 1; i < 8; i++) {
        if (argc > 1) {
            pthread_t thread;
            is_ready = 0;
            pthread_create(&thread, NULL, other, (void *)names[i % 2]);
            while (!is_ready) continue;
            dlclose(library);
            pthread_join(thread, &library);
        } else {
            dlclose(library);
            library = take(names[i % 2]);
        }
        call();
    }
    return 0;
}
"""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


class Libraries(unittest.TestCase):
    def compile(self, name, source, *flags):
        command = ["gcc", "-w", "-O1", "-fPIC", "-xc", "-", "-o", name, *flags]
        built = run(*command, input=source, cwd=self.folder)
        self.assertEqual(built.returncode, 0, built.stderr)

    def make(self, *flags):
        scratch = tempfile.TemporaryDirectory(prefix="tracebed-libraries-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for name in ("one", "two"):
            self.compile(f"{name}.so", LIBRARY.replace("NAME", name), "-shared", *flags)
        self.compile("libslow.so", SLOW, "-shared")
        self.compile("program", PROGRAM, "-Wl,-rpath,$ORIGIN", "-xnone", "-L.", "-lslow", "-pthread", *flags)

    def record(self, options, arguments):
        """What the program logged, and the trace as text."""
        trace = os.path.join(self.folder, "run.tbed")
        command = [TRACEBED, "record", "-f", "-o", trace, *options, "--", "./program", *arguments]
        done = run(*command, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        verified = run(TRACEBED, "verify", trace)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        log = [line.split() for line in done.stdout.splitlines()]
        if ["elsewhere"] in log[3:]:
            self.skipTest("the libraries were not put at one place")
        self.assertEqual(log.count(["same"]), 7)
        told = run(TRACEBED, "dump", trace)
        self.assertEqual(told.returncode, 0, told.stderr)
        return log, told.stdout

    def check_calls(self, *arguments):
        log, told = self.record(["--functions"], arguments)
        wanted = []
        for line in log:
            name = line[1] if len(line) > 1 else None
            wanted += [f"{name}_starts", f"{name}_inner"] if line[0] == "open" else []
            wanted += [name, f"{name}_inner"] if line[0] == "call" else []
        found = re.findall(r" begin +(\w+)\.so!(\w+)$", told, re.M)
        self.assertEqual([function for _, function in found], wanted)
        self.assertEqual([library for library, _ in found], [name.partition("_")[0] for name in wanted])

    def check_allocations(self, options, *arguments):
        log, told = self.record(options, arguments)
        wanted = {int(line[2]): line[1] for line in log if line[0] == "call"}
        found = re.findall(r" alloc +(\d+) B at \w+ +(\w+)\.so!(\w+)_inner$", told, re.M)
        self.assertEqual({int(size): library for size, library, _ in found if len(size) > 4}, wanted)
        self.assertEqual([library for _, library, _ in found], [name for _, _, name in found])

    def check_light(self, *arguments):
        log, told = self.record(["--light"], arguments)
        found = re.findall(r" instant +(\w+)\.so!(\w+)_inner$", told, re.M)
        wanted = [line[1] for line in log if line[0] in ("open", "call")]
        self.assertEqual(found, list(zip(wanted, wanted)))
        trace = os.path.join(self.folder, "run.tbed")
        self.assertRegex(run(TRACEBED, "report", trace).stdout, r"\n +count  allocations at\n")

    def check_stacks(self, *arguments):
        log, _ = self.record(["--stacks"], arguments)
        trace = os.path.join(self.folder, "run.tbed")
        flame = run(TRACEBED, "flame", "--weight=count", "--folded", "-o", "-", trace).stdout
        found = {}
        for names, count in re.findall(r"(\S+_inner) (\d+)$", flame, re.M):
            names = tuple(re.findall(r"(?:one|two)\.so!\w+", names))
            found[names] = found.get(names, 0) + int(count)
        wanted = {}
        for line in log:
            if line[0] in ("open", "call"):
                library, outer = f"{line[1]}.so!", line[1] + ("_starts" if line[0] == "open" else "")
                names = (library + outer, f"{library}{line[1]}_inner")
                wanted[names] = wanted.get(names, 0) + 1
        self.assertEqual(found, wanted)

    def check_all(self, *arguments):
        self.check_calls(*arguments)
        self.check_allocations([], *arguments)
        self.check_light(*arguments)
        self.check_stacks(*arguments)

    def test_one_after_the_other(self):
        self.make("-finstrument-functions", "-Wl,--build-id=sha1")
        self.check_all()

    def test_without_build_ids(self):
        self.make("-finstrument-functions", "-Wl,--build-id=none")
        self.check_all()

    def test_another_thread_is_faster(self):
        self.make("-finstrument-functions", "-Wl,--build-id=sha1")
        self.check_all("threads")

    def test_another_thread_is_faster_without_build_ids(self):
        self.make("-finstrument-functions", "-Wl,--build-id=none")
        self.check_all("threads")


if __name__ == "__main__":
    cases.run_unittests()
