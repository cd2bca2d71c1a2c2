"""
Calls of library functions, recorded with 'tracebed record --libcalls', against what the program does.

    python3 writer/tests/capture/libcalls_test.py [NAME...]

Check: functions-libcalls test_bindings test_filters test_unusual_calls test_libraries test_loaded_libraries test_threads
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import platform
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import Failure

TRACEBED = str(cases.TRACEBED)


def build(folder, name, source, *flags, compiler="gcc"):
    path = os.path.join(folder, name)
    suffix = ".c" if compiler == "gcc" else ".cc"
    with open(path + suffix, "w") as file:
        file.write(source)
    subprocess.run([compiler, "-O1", "-fno-builtin", path + suffix, "-o", path, *flags], check=True)
    return path


def record(folder, program, *options, status=0):
    """The counts of calls by name, and how many have not ended."""
    plain = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=60)
    run = subprocess.run([TRACEBED, "record", "-f", "-o", "t.tbed", *options, program], cwd=folder, capture_output=True,
                         text=True, timeout=60)
    if (run.returncode, run.stdout) != (status, plain.stdout if status != 125 else run.stdout):
        raise Failure("status %d, output %r instead of %r: %s" % (run.returncode, run.stdout, plain.stdout, run.stderr))
    counts, open_count = collections.Counter(), 0
    for line in cases.output_of(folder, TRACEBED, "dump", "--json", "t.tbed").splitlines():
        event = json.loads(line)
        if event.get("type") == "begin":
            counts[event["function"].split("(")[0]] += 1
        open_count += {"begin": 1, "end": -1}.get(event.get("type"), 0)
    return counts, open_count


def expect_counts(got, wanted):
    if dict(got) != wanted:
        raise Failure("%r, not %r" % (dict(got), wanted))


CALLS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    char *text = malloc(100);
    for (int i = 0; i < 10; i++)
        memcpy(text, argv[0], strlen(argv[0]) + 1);
    printf("%d %.3f %s\\n", argc, 2.5, text[0] ? "text" : "");
    free(text);
    return 0;
}
"""
COUNTS = {"malloc": 1, "memcpy": 10, "strlen": 10, "printf": 1, "free": 1}


def test_bindings(folder):
    for flags in (["-Wl,-z,lazy"], ["-Wl,-z,now"], ["-Wl,-z,lazy", "-no-pie", "-fno-pie"], ["-fno-plt"],
                  ["-Wl,-z,now", "-Wl,-z,relro", "-fcf-protection"]):
        counts, open_count = record(folder, build(folder, "calls", CALLS, *flags), "--libcalls")
        expect_counts(counts, COUNTS)
        if open_count != 0:
            raise Failure("%d calls have not ended" % open_count)


def test_filters(folder):
    program = build(folder, "calls", CALLS)
    expect_counts(record(folder, program, "--libcalls", "--filter=mal*", "--filter=free")[0], {"malloc": 1, "free": 1})
    expect_counts(record(folder, program, "--libcalls", "--filter=nothing", status=125)[0], {})


UNUSUAL = """
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>
#include <unistd.h>
#include <sys/wait.h>
static jmp_buf out;
static int compare(const void *, const void *) { longjmp(out, 1); }
static int fail(const void *, const void *) { throw std::runtime_error("thrown"); }
int main()
{
    int numbers[] = {3, 1, 2}, seen = 0;
    if (setjmp(out) == 0)
        qsort(numbers, 3, sizeof numbers[0], compare);
    try {
        qsort(numbers, 3, sizeof numbers[0], fail);
    } catch (const std::exception &error) {
        seen += error.what()[0] == 't';
    }
    try {
        std::vector<int>().at(7);
    } catch (const std::out_of_range &) {
        seen++;
    }
    if (vfork() == 0)
        _exit(3);
    int status = 0;
    wait(&status);
    pid_t child = fork();
    if (child == 0)
        exit(4);
    waitpid(child, &status, 0);
    printf("%d %d\\n", seen, WEXITSTATUS(status));
    exit(0);
}
"""


def test_unusual_calls(folder):
    counts, _ = record(folder, build(folder, "unusual", UNUSUAL, compiler="g++"), "--libcalls")
    wanted = {"qsort": 2, "wait": 1, "fork": 1, "waitpid": 1, "printf": 1, "exit": 2}
    expect_counts({name: counts[name] for name in wanted}, wanted)
    if "vfork" in counts or "longjmp" in counts:
        raise Failure("%r" % counts)


def test_libraries(folder):
    build(folder, "liba.so", "#include <string.h>\nint a(const char *s) { return (int)strlen(s); }\n", "-shared", "-fPIC")
    program = build(folder, "uses", "int a(const char *); int main(int n, char **v) { (void)n; return a(v[0]) == 0; }\n",
                    "-L" + str(folder), "-l:liba.so", "-Wl,-rpath," + str(folder))
    expect_counts(record(folder, program, "--libcalls")[0], {"a": 1})
    expect_counts(record(folder, program, "--libcalls=liba*")[0], {"strlen": 1})


LOADS = """
#include <dlfcn.h>
#include <stddef.h>
int main(void)
{
    for (int i = 0; i < 20; i++) {
        void *library = dlopen("./libb.so", %s);
        int (*b)(const char *) = library != NULL ? (int (*)(const char *))dlsym(library, "b") : NULL;
        if (b == NULL || b("text") != 4)
            return 1;
        dlclose(library);
    }
    return 0;
}
"""


def test_loaded_libraries(folder):
    """Libraries that come and go, and are bound at once or later."""
    build(folder, "libb.so", "#include <string.h>\nint b(const char *s) { return (int)strlen(s); }\n", "-shared", "-fPIC",
          "-Wl,-z,lazy")
    for binding in ("RTLD_NOW", "RTLD_LAZY"):
        program = build(folder, "loads", LOADS % binding)
        counts, open_count = record(folder, program, "--libcalls=libb*")
        expect_counts(counts, {"strlen": 20})
        if open_count != 0:
            raise Failure("%d calls have not ended" % open_count)


THREADS = """
#include <pthread.h>
#include <stdlib.h>
static void *run(void *unused)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(10));
    return unused;
}
int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""


def test_threads(folder):
    counts, open_count = record(folder, build(folder, "threads", THREADS, "-pthread"), "--libcalls")
    expect_counts(counts, {"malloc": 4000, "free": 4000, "pthread_create": 4, "pthread_join": 4})
    if open_count != 0:
        raise Failure("%d calls have not ended" % open_count)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("skipped: --libcalls is for x86-64 only")
        sys.exit(0)
    sys.exit(cases.run_all(globals()))
