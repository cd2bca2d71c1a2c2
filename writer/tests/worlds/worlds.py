"""
What the worlds share: a program to be traced, the two ways of tracing it, and the comparison with a plain run.

A world is something that happens to a traced program or to its trace: a full disk, a file that somebody truncates, a
sandbox. The program must behave in it as it does untraced, and what could not be recorded must be counted.

A module of worlds has a list WORLDS of World(name, run). run(folder) gets an empty folder, returns a few words for the
table ("214 dropped"), raises Failure if the program was harmed, and Skipped with the reason where the world cannot be
made on this machine. worlds_test.py lists the modules.

SPDX-License-Identifier: MIT
"""

import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "ninja" / "checks"))
from cases import BUILD, TRACEBED, Failure, includes, need, output_of  # noqa: E402

World = collections.namedtuple("World", "name run")
LIMIT_S = 120  # a program that takes longer hangs


class Skipped(Exception):
    """The world cannot be made here; the text says why."""


# Works in steps of equal size and says after each that it has done it. Between two steps it waits for a line, so that a
# test can change the world at a known moment. Each thread allocates and records; what is printed depends on neither.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef MACROS
#include <tracebed/writer.h>
#else
#define TBED_SPAN_ARGS(...)
#define TBED_INSTANT_DYNAMIC(...)
#endif
static unsigned long events, threads = 1;
static int forks, blocks_signals, step;
static unsigned long sums[64];

static void *work(void *argument)
{
    unsigned long *sum = argument;
    char name[32];
    for (unsigned long i = 0; i < events; i++) {
        TBED_SPAN_ARGS("work", "i", i);
        char *block = malloc(i % 500 + 1);
        memset(block, (int)i, i % 500 + 1);
        *sum += (unsigned char)block[i % 500] + (unsigned long)step;
        free(block);
        snprintf(name, sizeof name, "name %d %lu", step, i % 1000);
        TBED_INSTANT_DYNAMIC(name);
    }
    return NULL;
}

static unsigned long work_in_threads(void)
{
    pthread_t ids[64];
    unsigned long sum = 0;
    sigset_t all, before;
    sigfillset(&all);
    if (blocks_signals)
        pthread_sigmask(SIG_BLOCK, &all, &before);
    for (unsigned long i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, work, &sums[i]);
    if (blocks_signals)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(&sums[0]);
    for (unsigned long i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (unsigned long i = 0; i < threads; i++)
        sum += sums[i];
    return sum;
}

int main(int argc, char **argv)
{
    int steps = 2;
    char line[16];
    for (int i = 1; i < argc; i++) {
        sscanf(argv[i], "steps=%d", &steps);
        sscanf(argv[i], "events=%lu", &events);
        sscanf(argv[i], "threads=%lu", &threads);
        forks |= strcmp(argv[i], "forks") == 0;
        blocks_signals |= strcmp(argv[i], "blocks-signals") == 0;
    }
    for (step = 1; step <= steps; step++) {
        int status = 0;
        pid_t child = forks ? fork() : 1;
        unsigned long sum = child != 0 ? work_in_threads() : 0;
        if (child == 0) {
            work_in_threads();
            _exit(3);
        }
        if (forks)
            waitpid(child, &status, 0);
        printf("step %d: %lu, child %d\n", step, sum, status);
        fflush(stdout);
        if (step < steps && fgets(line, sizeof line, stdin) == NULL)
            return 1;
    }
    return 7;
}
"""

Run = collections.namedtuple("Run", "status output errors")


def build(folder, name, source, *flags, libraries=()):
    """Compiles a C program into the folder; gives its path."""
    path = pathlib.Path(folder) / name
    (path.with_suffix(".c")).write_text(source, encoding="utf-8")
    output_of(folder, os.environ.get("CC", "cc"), "-O1", "-g", "-pthread", "-o", path, path.with_suffix(".c"), *flags,
              *libraries)
    return path


def build_program(folder, macros):
    """The program above, by itself or with macros that record."""
    if not macros:
        return build(folder, "program", PROGRAM)
    return build(folder, "program-with-macros", PROGRAM, "-DMACROS", *includes("format", "writer"),
                 libraries=[BUILD / "libtracebed.a", "-lm"])


def run(command, between=None, steps=2, environment=None, prepare=None, cwd=None):
    """Runs a program of steps; 'between' is called with the number of each step that is done."""
    words = [str(word) for word in command]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TRACEBED")}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(words, env={**kept, **(environment or {})}, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
                                   preexec_fn=prepare, cwd=cwd)
        output = ""
        try:
            for step in range(1, steps):
                output += process.stdout.readline()
                if between is not None:
                    between(step)
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write("go\n")
                    process.stdin.flush()
            output += process.communicate(timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"{' '.join(words)}: hangs") from None
        errors.seek(0)
        return Run(process.returncode, output, errors.read())


def need_same(plain, traced, what):
    """The traced program did what it does untraced."""
    need(traced.status == plain.status,
         f"{what}: exit status {traced.status}, plain {plain.status}\n{traced.output}{traced.errors}")
    need(traced.output == plain.output, f"{what}: prints\n{traced.output}plain:\n{plain.output}{traced.errors}")


def info(trace):
    """What 'info --json' says of a trace; None if it cannot be opened at all."""
    result = subprocess.run([str(TRACEBED), "info", "--json", str(trace)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                            timeout=LIMIT_S, check=False)
    need(result.returncode in (0, 1, 2), f"info {trace}: exit status {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout) if result.returncode != 2 else None


def dropped(trace):
    """The drops of a trace by cause."""
    facts = info(trace)
    return {} if facts is None else facts.get("drops", {})


def need_readable(trace, statuses=(0,)):
    """'verify' must end with one of these exit statuses."""
    result = subprocess.run([str(TRACEBED), "verify", str(trace)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT_S, check=False)
    need(result.returncode in statuses, f"verify {trace}: exit status {result.returncode}\n{result.stdout[-2000:]}")


def run_table(worlds):
    """Runs the worlds and prints a row for each; gives the exit status."""
    failed = skipped = 0
    for world in worlds:
        with tempfile.TemporaryDirectory(prefix="tracebed-world-") as folder:
            try:
                result, note = "passed", world.run(pathlib.Path(folder)) or ""
            except Skipped as reason:
                result, note, skipped = "SKIPPED", str(reason), skipped + 1
            except (Failure, OSError, subprocess.SubprocessError) as problem:
                result, note, failed = "FAILED", str(problem), failed + 1
        print(f"{world.name:<44} {result:<8} {note}", flush=True)
    print(f"{len(worlds) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
