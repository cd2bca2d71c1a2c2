"""
'tracebed record --functions --minimum-duration': calls that are too short are missing and counted, the others are there,
however they end.

With a minimum of 1 ns every call is long enough, so the trace must equal the program's own log, as in functions_test.py,
though each begin has waited. With longer ones, what is recorded and what is left out add up.

Check: functions-durations
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import json
import os
import platform
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from functions_test import ENDS, THREADS, TRACEBED, Program, Trace, cases, check_trace, expect

EVERYTHING = ["--minimum-duration=1ns"]
TRIES_MAX = 5

# Calls of 2 ms and calls that take no time, whose number is known.
TIMES = r"""
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
#define PLAIN __attribute__((no_instrument_function))
PLAIN static void spend(long us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}
__attribute__((noinline)) void tiny(void) { __asm__ volatile(""); }
__attribute__((noinline)) void often(void) { for (int i = 0; i < 100; i++) tiny(); }
__attribute__((noinline)) void longer(void) { tiny(); spend(2000); often(); }
__attribute__((noinline)) void outer(void) { for (int i = 0; i < 5; i++) { often(); longer(); } }
__attribute__((noinline)) void blocked(void) { spend(2000); tiny(); kill(getpid(), SIGKILL); }
__attribute__((noinline)) void forks(void)
{
    if (fork() == 0) { outer(); _exit(0); }
    wait(NULL);
}
int main(int argc, char **argv)
{
    outer();
    if (argc > 1 && strcmp(argv[1], "kill") == 0) blocked();
    if (argc > 1 && strcmp(argv[1], "fork") == 0) forks();
    return 0;
}
"""
TINY_PER_OUTER = 5 * (1 + 2 * 101)


class Patched(Program):
    HOOKS = "-pg", "-mfentry"


KINDS = (Program, Patched) if platform.machine() == "x86_64" else (Program,)


def run_everything(program, *arguments, options=()):
    """
    Where a thread moves to a processor whose clock is a little behind, a call seems to take no time: it is left out, and
    said to be. Then the program is run again.
    """
    for _ in range(TRIES_MAX):
        trace = program.run(*arguments, options=[*EVERYTHING, *options])
        if "took less than the minimum duration" not in trace.said:
            return trace
    raise cases.Failure(f"calls took less than 1 ns in each of {TRIES_MAX} runs: {trace.said}")


def test_all_are_long_enough_when_patched(folder):
    """The same through patched places, which have a quick path of their own."""
    for kind in KINDS[1:]:
        trace = run_everything(kind(folder, "waits_patched", "gcc", ["-O2"], seed=33), 5, 10000, "run")
        check_trace(trace)
        expect(sum(trace.left.values()) > 100, f"too few calls were left: {trace.left}")
        program = kind(folder, "waits_patched_threads", "gcc", ["-O1"], body=THREADS)
        check_trace(run_everything(program, 3, 10000, "run"))


def test_all_are_long_enough(folder):
    """Each begin waits, and all are stored: through longjmp, exceptions, threads and every kind of end."""
    for compiler, flags in (("gcc", ["-O2"]), ("g++", ["-O2"]), ("clang++", ["-O1"])):
        program = Program(folder, "waits_" + compiler.replace("+", "p"), compiler, flags, seed=31)
        trace = run_everything(program, 5, 10000, "run")
        check_trace(trace)
        expect(compiler == "g++" or sum(trace.left.values()) > 100, f"{compiler}: too few calls were left: {trace.left}")
    program = Program(folder, "waits_threads", "gcc", ["-O1"], body=THREADS)
    check_trace(run_everything(program, 3, 10000, "run"))
    program = Program(folder, "waits_ends", "gcc", ["-O2"], body=ENDS)
    for how in ("exit", "thread"):
        check_trace(run_everything(program, 4, 2000, how))
    check_trace(run_everything(program, 4, 2000, "fork"), parent_open=["main", "forks"])
    check_trace(run_everything(program, 4, 2000, "run", options=["--clock=monotonic"]))


def record(program, minimum, *arguments, status=0):
    trace = os.path.join(program.folder, "times.tbed")
    command = [TRACEBED, "record", "-f", "--functions", "--minimum-duration", minimum, "-o", trace, program.path]
    run = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
    expect(run.returncode == status, f"{arguments}: {run.returncode} {run.stderr}")
    found = re.search(r"([0-9,]+) calls? took less", run.stderr)
    return Trace(program, trace), int(found.group(1).replace(",", "")) if found else 0


def begun(trace):
    return sorted(entry for entries in trace.told.values() for entry in entries if entry[0] == "+")


def test_short_ones_are_counted(folder):
    """What is recorded and what is left out is everything, in both processes; who ran long is there."""
    for kind in KINDS:
        check_short_ones(kind.of(folder, "times", TIMES))


def check_short_ones(program):
    long_ones = ["+longer"] * 5 + ["+main", "+outer"]
    for arguments, more, calls in (([], [], TINY_PER_OUTER + 7), (["fork"], ["+forks"] + ["+longer"] * 5 + ["+outer"],
                                                                  2 * (TINY_PER_OUTER + 6) + 2)):
        trace, left_out = record(program, "1ms", *arguments)
        found = begun(trace)
        # Other calls may have taken long because the machine is busy.
        expect(not set(long_ones + more) - set(found) and found.count("+longer") == (5 if not more else 10), f"{found}")
        expect(len(found) + left_out == calls, f"{len(found)} recorded, {left_out} left out, not {calls}")
    trace, left_out = record(program, "1000s")
    expect(begun(trace) == [] and left_out == TINY_PER_OUTER + 7, f"nothing is long: {begun(trace)}, {left_out}")


def test_killed(folder):
    """Long calls that are open when the program is killed are in the trace."""
    program = Program.of(folder, "times", TIMES)
    trace, left_out = record(program, "1ms", "kill", status=128 + signal.SIGKILL)
    told = next(iter(trace.told.values()))
    expect(told[-1] == "+blocked" and told[0] == "+main", f"{told}")
    expect(left_out + len(begun(trace)) == TINY_PER_OUTER + 6 + 3, f"{left_out} and {len(begun(trace))}")


def test_ticks_do_not_decrease(folder):
    """A begin that waited has its own time, and is stored in order."""
    program = Program.of(folder, "times", TIMES)
    trace, _ = record(program, "1ms")
    command = [TRACEBED, "report", "--json", "--by=function", trace.path]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    expect(report["totals"]["decrease_count"] == 0, f"{report['totals']}")
    (row,) = [row for row in report["spans"] if "longer" in row["name"]]
    expect(row["min_ns"] >= 2e6, f"{row}")


def test_refused(folder):
    """Durations that mean nothing, and without --functions."""
    for options in (["--functions", "--minimum-duration=x"], ["--functions", "--minimum-duration=0"],
                    ["--minimum-duration=1ms"]):
        run = subprocess.run([TRACEBED, "record", *options, "true"], cwd=folder, capture_output=True, text=True)
        expect(run.returncode == 2 and "--minimum-duration" in run.stderr, f"{options}: {run.returncode} {run.stderr}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
