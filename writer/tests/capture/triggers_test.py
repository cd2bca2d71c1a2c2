"""
'tracebed record --functions --trigger': what the call of a function changes, and until when.

Check: functions-triggers
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import os
import platform
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from functions_test import TRACEBED, Program, Trace, cases, expect

CALLS = r"""
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <time.h>
#define PLAIN __attribute__((no_instrument_function))
#define FUNCTION __attribute__((noinline))
PLAIN static void spend(long us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}
static jmp_buf there;
static volatile int sum;
FUNCTION void d(void) { sum++; }
FUNCTION void c(void) { d(); sum++; }
FUNCTION void b(void) { c(); sum++; }
FUNCTION void a(void) { b(); sum++; }
FUNCTION void jumps(void) { a(); longjmp(there, 1); }
FUNCTION void start(void) { sum++; }
FUNCTION void stop(void) { sum++; }
FUNCTION void slow(void) { spend(2000); d(); }
FUNCTION void deep(int n) { if (n > 0) deep(n - 1); sum++; }
FUNCTION void *thread(void *unused) { b(); return unused; }
int main(int argc, char **argv)
{
    pthread_t other;
    a(); start(); b();
    if (setjmp(there) == 0) jumps();
    a(); slow();
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    deep(100);
    stop(); b();
    return 0;
}
"""


def nested(text):
    """"a(b c)" as "+a +b -b +c -c -a"."""
    told, stack, word = [], [], ""
    for byte in text + " ":
        if byte.isalnum():
            word += byte
            continue
        if word:
            told.append("+" + word)
            if byte != "(":
                told.append("-" + word)
            else:
                stack.append(word)
            word = ""
        if byte == ")":
            told.append("-" + stack.pop())
    return told


B, A = "b(c(d))", "a(b(c(d)))"
DEEP = "deep(" * 100 + "deep" + ")" * 100
BEFORE = f"{A} start"
AFTER = f"{B} jumps({A}) {A} slow(d)"
# What main's thread calls, by the triggers.
TRIED = [
    (["start@trace_on"], f"start {AFTER} {DEEP} stop {B}"),
    (["start@trace-on", "stop@trace-off"], f"start {AFTER} {DEEP}"),
    (["stop@trace_off"], f"main({BEFORE} {AFTER} {DEEP})"),
    (["slow@trace_off", "stop@trace_on"], f"main({BEFORE} {B} jumps({A}) {A} stop {B})"),
    (["a@depth=2"], f"main(a(b) start {B} jumps(a(b)) a(b) slow(d) {DEEP} stop {B})"),
    (["jumps@depth=3"], f"main({BEFORE} {B} jumps(a(b)) {A} slow(d) {DEEP} stop {B})"),
    (["jumps@filter"], f"jumps({A})"),
    (["b@depth=1,filter"], "b b b b b"),
    (["a@notrace", "deep@notrace"], f"main(start {B} jumps slow(d) stop {B})"),
    (["jumps@notrace", "deep@notrace"], f"main({BEFORE} {B} {A} slow(d) stop {B})"),
    (["a@time=1000s", "deep@notrace"], f"main(start {B} jumps slow(d) stop {B})"),
    (["slow@time=1ms", "deep@notrace"], f"main({BEFORE} {B} jumps({A}) {A} slow stop {B})"),
]


def record(program, options, status=0):
    trace = os.path.join(program.folder, "triggers.tbed")
    command = [TRACEBED, "record", "-f", "--functions", *options, "-o", trace, program.path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    expect(run.returncode == status, f"{options}: {run.returncode} {run.stderr}")
    return trace, run.stderr


def told_by_main(program, options):
    trace = Trace(program, record(program, options)[0])
    streams = trace.streams()
    (key,) = [key for key in streams if key[0] == key[1]] or [None]
    others = [entries for other, entries in streams.items() if other != key]
    return streams.get(key, []), others


class Patched(Program):
    HOOKS = "-pg", "-mfentry"


def test_triggers(folder):
    """Each action, alone and with others, after longjmp and in deep recursion; with hooks, and through patched places."""
    for kind in (Program, Patched) if platform.machine() == "x86_64" else (Program,):
        program = kind.of(folder, "triggers", CALLS)
        for triggers, wanted in TRIED:
            told, _ = told_by_main(program, ["--trigger=" + trigger for trigger in triggers])
            expect(told == nested(wanted), f"{triggers}: {' '.join(told)[:2000]}\nnot {' '.join(nested(wanted))[:2000]}")


def test_threads(folder):
    """Recording is switched for all threads; everything else is each thread's own."""
    program = Program.of(folder, "triggers", CALLS)
    for triggers, wanted in ((["slow@trace_off"], []), (["slow@trace_on"], [nested(f"thread({B})")]),
                             (["main@notrace"], [nested(f"thread({B})")])):
        _, others = told_by_main(program, ["--trigger=" + trigger for trigger in triggers])
        expect(others == wanted, f"{triggers}: {others}")


def test_with_filters(folder):
    """A function that is not recorded pulls its triggers; one that recurses changes nothing more."""
    program = Program.of(folder, "triggers", CALLS)
    told, _ = told_by_main(program, ["--trigger=a@depth=3", "--filter=c", "--filter=d"])
    expect(told == nested("c(d) c(d) c(d) c(d) d c(d)"), f"{told}")
    told, _ = told_by_main(program, ["--trigger=deep@depth=1", "--filter=deep"])
    expect(told == nested("deep"), f"{told.count('+deep')} calls of deep")


def test_refused(folder):
    """Triggers that mean nothing, or match nothing."""
    program = Program.of(folder, "triggers", CALLS)
    for trigger in ("a", "a@", "a@nothing", "a@depth=0", "a@depth=x", "a@time=0", "a@time=", "@trace_on", "/(/@trace_on"):
        _, errors = record(program, ["--trigger=" + trigger], status=2)
        expect("--trigger" in errors, errors)
    _, errors = record(program, ["--trigger=a@trce_on"], status=2)
    expect("did you mean 'trace_on'? (expected trace_on, trace_off, depth=N, time=T, filter, notrace)" in errors, errors)
    _, errors = record(program, ["--trigger=jump@notrace"], status=125)
    expect("--trigger: no function matches 'jump'" in errors and "'jumps'" in errors, errors)
    run = subprocess.run([TRACEBED, "record", "--trigger=a@filter", "true"], cwd=folder, capture_output=True, text=True)
    expect(run.returncode == 2 and "require --functions" in run.stderr, run.stderr)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
