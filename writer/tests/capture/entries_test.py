"""
Programs whose functions are entered through patched places, recorded with 'tracebed record --functions': the generated
programs of functions_test.py against their own logs, and programs that check themselves what could go wrong.

    python3 writer/tests/capture/entries_test.py [NAME...]

Check: entries-random test_random_programs
Check: entries-shapes test_shapes test_signals test_threads test_filters test_libraries test_no_room
Needs: $b/programs
Slow: compiles and runs two dozen programs

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import platform
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import functions_test
from functions_test import TRACEBED, cases, check_nesting, check_trace, compare, expect, told_by_log

MCOUNT = "-fno-pie", "-no-pie", "-pg", "-mfentry", "-mnop-mcount", "-mrecord-mcount"
XRAY = "-fxray-instrument", "-fxray-instruction-threshold=1"
GCC_WAYS = [("-pg", "-mfentry"), MCOUNT, ("-pg",), ("-fpatchable-function-entry=5",), ("-fpatchable-function-entry=7,5",)]
CLANG_WAYS = [("-pg", "-mfentry"), ("-pg",), ("-fpatchable-function-entry=12,5",), XRAY]


def has_xray():
    """The compiler's own library, which it links with, may be missing."""
    command = ["clang", *XRAY, "-xc", "-", "-o", "/dev/null"]
    return subprocess.run(command, input="int main(void) {}", text=True, capture_output=True, check=False).returncode == 0


def ways():
    if platform.machine() != "x86_64":
        print("places are patched on x86-64 only: skipped", file=sys.stderr)
        return
    for hooks in GCC_WAYS:
        yield "gcc", hooks
    for hooks in CLANG_WAYS if shutil.which("clang") else ():
        if hooks != XRAY or has_xray():
            yield "clang", hooks
        else:
            print("clang has no library for XRay: skipped", file=sys.stderr)


def program_of(hooks):
    class Patched(functions_test.Program):
        HOOKS = hooks

    return Patched


def test_random_programs(folder):
    """Recursion, longjmp over many calls, exceptions through them, frames of all sizes, in all ways of entry."""
    seen = collections.Counter()
    for seed, (compiler, hooks) in enumerate(ways()):
        for flags, language in ((["-O0" if seed % 2 else "-O2"], ""), (["-O2" if seed % 2 else "-Os"], "++")):
            name = compiler.replace("gcc", "g++") if language and compiler == "gcc" else compiler + language
            program = program_of(hooks)(folder, f"random{seed}{language}", name, flags, count=120, seed=seed + 10)
            trace = program.run(seed, 8000, "run")
            seen["calls"] += check_trace(trace)
            seen += trace.left
    if seen:
        expect(seen["longjmp"] > 200 and seen["unwinding"] > 200 and seen["unseen"] == 0, f"too little happened: {seen}")


# Each function checks what it was given, and its caller what it returned. 'count' is what the program counts itself.
SHAPES = r"""
#include <complex.h>
#include <execinfo.h>
#include <immintrin.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#if defined(__clang__)
#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0, 0), xray_never_instrument, noinline))
#else
#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0, 0), noinline))
#endif
#define SHAPE __attribute__((noinline))
#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
#define HIDE __asm__ volatile("" ::: "memory")
static long count;

SHAPE long integers(long a, int b, short c, char d, long e, long f, long g, char h, long i)
{
    count++;
    CHECK(a == 1 && b == -2 && c == 3 && d == -4 && e == 5 && f == -6 && g == 7 && h == -8 && i == 9);
    return 0x123456789ABCDEF0;
}
SHAPE double floats(double a, float b, double c, float d, double e, double f, double g, double h, double i, long double j)
{
    count++;
    CHECK(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == 9 && j == 10);
    return 2.5;
}
SHAPE long double extended(long double a) { count++; return a * 2; }
SHAPE long double _Complex extended_pair(long double a) { count++; return a + a * I; }
SHAPE double _Complex pair(double a) { count++; return a + 2 * a * I; }
SHAPE __int128 wide(long a) { count++; return (__int128)a << 70 | 5; }
struct big { long parts[9]; };
SHAPE struct big big(struct big a) { count++; a.parts[8]++; return a; }
struct mixed { double a; long b; };
SHAPE struct mixed mixed(struct mixed a) { count++; a.a += 1; a.b += 1; return a; }
SHAPE double varied(int n, ...)
{
    double sum = 0;
    va_list list;
    count++;
    va_start(list, n);
    for (int i = 0; i < n; i++) sum += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return sum;
}
__attribute__((noinline, target("avx"))) __m256 vectors(__m256 a, __m256 b)
{
    count++;
    return _mm256_add_ps(a, b);
}
__attribute__((noinline, target("avx"))) void call_vectors(void)
{
    float parts[8];
    count++;
    _mm256_storeu_ps(parts, vectors(_mm256_set1_ps(1), _mm256_set_ps(8, 7, 6, 5, 4, 3, 2, 1)));
    for (int i = 0; i < 8; i++) CHECK(parts[i] == (float)(i + 2));
}
SHAPE long sized(long n)
{
    volatile char *room = __builtin_alloca((size_t)(n + 1) * 100);
    count++;
    room[0] = (char)n;
    long got = n == 0 ? 0 : 1 + sized(n - 1) + (room[0] != (char)n);
    HIDE;
    return got;
}
SHAPE long deep(long n) { count++; long got = n == 0 ? 0 : deep(n - 1) + 1; HIDE; return got; }
static long (*volatile next)(long);
SHAPE long jumps_on(long n) { count++; HIDE; return n == 0 ? 7 : next(n - 1); }
SHAPE long inner(long n) { count++; HIDE; return n + 1; }
SHAPE int apart(void (*function)(void)) { count++; function(); return 3; }
SHAPE int nested(int n)
{
    void set(void) { count++; n++; } /* needs the static chain */
    count++;
    return apart(set) + n;
}
static jmp_buf home;
SHAPE void leaves(int n) { count++; if (n == 0) longjmp(home, 5); leaves(n - 1); HIDE; }
SHAPE int lands(void) { count++; int how = setjmp(home); if (how == 0) leaves(20); return how; }
static ucontext_t main_context, contexts[2];
SHAPE void yields(int n, long depth)
{
    count++;
    if (depth > 0) yields(n, depth - 1); else swapcontext(&contexts[n], &main_context);
    HIDE;
}
SHAPE void coroutine(int n) { count++; for (int i = 0; i < 50; i++) yields(n, n + i % 5); }
PLAIN void coroutines(void)
{
    static char stacks[2][65536];
    for (int n = 0; n < 2; n++) {
        getcontext(&contexts[n]);
        contexts[n].uc_stack.ss_sp = stacks[n];
        contexts[n].uc_stack.ss_size = sizeof stacks[n];
        contexts[n].uc_link = &main_context;
        makecontext(&contexts[n], (void (*)(void))coroutine, 1, n);
    }
    for (int i = 0; i < 102; i++) swapcontext(&main_context, &contexts[i % 2]);
}
static int cleaned;
static void clean(int *unused) { cleaned++; }
SHAPE void waits(int n)
{
    __attribute__((cleanup(clean))) int one = n;
    if (n > 0) waits(n - 1); else for (;;) { pthread_testcancel(); usleep(100); }
    HIDE;
}
SHAPE void *thread(void *argument) { waits(10); return argument; }
SHAPE void ends(int n)
{
    __attribute__((cleanup(clean))) int one = n;
    if (n > 0) ends(n - 1); else pthread_exit(NULL);
    HIDE;
}
SHAPE void *thread_that_ends(void *argument) { ends(10); return argument; }
PLAIN void threads(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, thread, NULL);
    pthread_create(&other, NULL, thread_that_ends, NULL);
    usleep(10000);
    pthread_cancel(one);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}
SHAPE int frames(int n)
{
    void *list[64];
    if (n == 0) return backtrace(list, 64);
    int found = frames(n - 1);
    HIDE;
    return found;
}
SHAPE int in_child(void) { _exit(9); }
PLAIN int main(void)
{
    int status;
    for (int i = 0; i < 3; i++) {
        CHECK(integers(1, -2, 3, -4, 5, -6, 7, -8, 9) == 0x123456789ABCDEF0);
        CHECK(floats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 2.5);
        CHECK(extended(1.25L) == 2.5L && creall(extended_pair(3)) == 3 && cimagl(extended_pair(3)) == 3);
        CHECK(creal(pair(2)) == 2 && cimag(pair(2)) == 4 && wide(3) == ((__int128)3 << 70 | 5));
        struct big given = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, got = big(given);
        CHECK(got.parts[0] == 1 && got.parts[8] == 10);
        struct mixed both = mixed((struct mixed){1.5, 2});
        CHECK(both.a == 2.5 && both.b == 3);
        CHECK(varied(5, 1, 2.0, 3, 4.5, 5) == 15.5 && sized(50) == 50 && deep(20000) == 20000);
        if (__builtin_cpu_supports("avx")) call_vectors();
        CHECK(inner(1) == 2 && nested(1) == 5 && lands() == 5);
        next = jumps_on;
        CHECK(jumps_on(1000) == 7);
        coroutines();
    }
    pid_t child = fork();
    if (child == 0) in_child();
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
    child = vfork();
    if (child == 0) in_child();
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
    threads();
    CHECK(cleaned == 22);
    printf("%ld calls, %d frames\n", count, frames(30));
    return 0;
}
"""
UNCOUNTED = {"waits", "thread", "ends", "thread_that_ends", "frames", "in_child", "clean"}


def compile_shapes(folder, name, compiler, flags):
    path = os.path.join(folder, name)
    if compiler == "clang":  # which has no nested functions
        text = SHAPES.replace("void set(void) { count++; n++; } /* needs the static chain */", "")
        text = text.replace("apart(set) + n", "3 + n + 1")
    else:
        text = SHAPES
    command = [compiler, "-w", "-D_GNU_SOURCE", "-fexceptions", *flags, "-pthread", "-xc", "-", "-o", path, "-lm"]
    subprocess.run(command, input=text, text=True, check=True)
    return path


def counts_of(trace):
    report = subprocess.run([TRACEBED, "report", "--json", trace], capture_output=True, check=True).stdout
    counts = collections.Counter()
    for row in json.loads(report)["spans"]:
        module, _, name = row["name"].partition("!")
        if module == "shapes":
            counts[name.split("(")[0]] += row["count"]
    return counts


def test_shapes(folder):
    """Arguments and results of all kinds arrive; coroutines, cancellation and backtrace() work; counts are right."""
    for compiler, hooks in ways():
        for level in ("-O0", "-O2"):
            what = f"{compiler} {level} {' '.join(hooks)}"
            path = compile_shapes(folder, "shapes", compiler, [level, *hooks])
            plain = subprocess.run([path], cwd=folder, capture_output=True, text=True, check=False)
            expect(plain.returncode == 0, f"{what}: not recorded: {plain.stdout}")
            trace = os.path.join(folder, "shapes.tbed")
            command = [TRACEBED, "record", "-f", "-o", trace, "--functions", path]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            expect(run.returncode == 0 and run.stdout == plain.stdout, f"{what}: {run.returncode} {run.stdout}{run.stderr}")
            counts = counts_of(trace)
            counted = sum(count for name, count in counts.items() if name not in UNCOUNTED)
            expect(counted == int(run.stdout.split()[0]), f"{what}: {counted} of {run.stdout}{counts}")
            expect(counts["frames"] == 31 and counts["waits"] == counts["ends"] == 11, f"{what}: {counts}")


def test_signals(folder):
    """Handlers at 10 kHz, also such that leave for good: what is there nests."""
    for _, hooks in [way for way in ways() if way == ("gcc", ("-pg", "-mfentry"))]:
        program = program_of(hooks).of(folder, "signals", functions_test.SIGNALS)
        for stack, end in (("alternate", "leaves"), ("same", "returns")):
            trace = program.run(stack, end)
            for told in trace.told.values():
                check_nesting(told)
            (told,) = trace.streams().values()
            expect(trace.drops() == 0, f"{hooks} {stack} {end}: dropped {trace.info['drops']}")
            expect(told.count("+once") == 42, f"{hooks}: {told.count('+once')} of 42")


def test_threads(folder):
    for compiler, hooks in list(ways())[::3]:
        program = program_of(hooks)(folder, "many", compiler, ["-O1"], count=300, body=functions_test.THREADS)
        trace = program.run(3, 10000, "run")
        check_trace(trace)
        expect(len(trace.told) == 5, f"{hooks}: {len(trace.told)} threads")


def test_filters(folder):
    """Only chosen functions are patched, and what calls a hook is not called any more."""
    for compiler, hooks in ways():
        program = program_of(hooks)(folder, "filtered", compiler, ["-O2"], count=100)
        trace = program.run(5, 5000, "run", options=["--filter", "f1*"])
        (log,) = [name for name in os.listdir(folder) if name.startswith("log.")]
        told, _ = told_by_log(program, os.path.join(folder, log), ())
        (traced,) = trace.streams().values()
        wanted = [name for name in told if name[1:].startswith("f1")]
        compare(wanted, traced, f"{compiler} {hooks}")
        expect(len(wanted) == len(traced) > 0, f"{hooks}: {len(wanted)}, {len(traced)}")


def test_no_room(folder):
    """What cannot be patched runs on, and is counted."""
    if not list(ways()):
        return
    path = os.path.join(folder, "small")
    text = "__attribute__((noinline)) int f(int n) { return n + 1; } int main(int n, char **v) { return f(n) - 2; }"
    command = ["gcc", "-O1", "-fpatchable-function-entry=3", "-xc", "-", "-o", path]
    subprocess.run(command, input=text, text=True, check=True)
    command = [TRACEBED, "record", "-f", "-o", path + ".tbed", "--functions", path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(run.returncode == 0 and "2 functions could not be patched: there is no room" in run.stderr, run.stderr)


LIBRARIES = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 4; i++) {
        void *library = dlopen("libplace.so", RTLD_NOW); /* found by this program's RUNPATH */
        int (*function)(int) = library ? (int (*)(int))dlsym(library, "place") : NULL;
        if (function == NULL || function(i) != i + 1) return 1;
        dlclose(library);
    }
    return 0;
}
"""


def test_libraries(folder):
    """Libraries that are loaded and unloaded are patched each time, and found as without us."""
    text = '__attribute__((noinline)) int inner(int n) { __asm__ volatile(""); return n + 1; }'
    text += ' int place(int n) { int got = inner(n); __asm__ volatile(""); return got; }'
    os.makedirs(os.path.join(folder, "lib"), exist_ok=True)
    for compiler, hooks in ways():
        if hooks == MCOUNT or hooks == XRAY:  # not for libraries
            continue
        command = [compiler, "-O1", "-shared", "-fPIC", *hooks, "-xc", "-", "-o", "lib/libplace.so"]
        subprocess.run(command, cwd=folder, input=text, text=True, check=True)
        path = os.path.join(folder, "loads")
        command = ["gcc", "-w", "-xc", "-", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib", "-o", path]
        subprocess.run(command, input=LIBRARIES, text=True, check=True)
        trace = os.path.join(folder, "run.tbed")
        command = [TRACEBED, "record", "-f", "-o", trace, "--functions", path]
        run = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        expect(run.returncode == 0, f"{compiler} {hooks}: {run.returncode} {run.stderr}")
        report = json.loads(subprocess.run([TRACEBED, "report", "--json", trace], capture_output=True, check=True).stdout)
        counts = {row["name"].partition("!")[2]: row["count"] for row in report["spans"]}
        expect(counts == {"place": 4, "inner": 4}, f"{compiler} {hooks}: {counts}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
