"""
Runs tests many times: alone on one processor, and several at once on all of them, where threads meet in other places
than in a test run. A failure prints the output and is kept in build/repeat.

    repeat.py [N [NAME...]]     N times each (default 20), half of them in each way

NAME is as for './run test'; by default, all tests with threads or several processes of the release variant, without
those marked 'Slow:'.

SPDX-License-Identifier: MIT
"""

import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

import generate
import run_test
import test

FOLDER = "build/repeat"
TIMEOUT_SECONDS = 240
CONCURRENT = re.compile(r"\b(?:pthread_create|fork)\(")


def sources():
    """The test programs that start threads or processes."""
    found = []
    for path in sorted(glob.glob("*/tests/**/*_test.c", recursive=True)):
        with open(path, encoding="utf-8") as file:
            if CONCURRENT.search(file.read()) and not generate.mark(path, "Slow"):
                found.append(path)
    return found


def programs(names):
    results = test.results_behind(["check"])
    wanted = [result for name in names for result in test.choose(results, name)] if names else \
        [f"build/release/{path.removesuffix('.c')}.result" for path in sources()]
    return [result.removesuffix(".result") for result in wanted if result.endswith("_test.result")]


def run_once(program, on_one):
    """Returns the output of a failed run, or None."""
    processors = sorted(os.sched_getaffinity(0))
    prefix = ["taskset", "-c", str(processors[0])] if on_one else []
    status, text = run_test.run([*prefix, program], TIMEOUT_SECONDS, program.startswith("build/tsan/"))
    passed, failed, _, note = run_test.count(status, text)
    return None if status == 0 and not failed and passed else f"{text}\n{note or ''}\n"


def keep(program, number, text):
    path = f"{FOLDER}/{os.path.basename(program)}-{number}.log"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    lines = [line for line in text.splitlines() if re.search(r"ERROR|LINE|FAILED|WARNING|timed out|killed", line)]
    print(f"FAIL {program}: {path}", *lines[:8], sep="\n     ", flush=True)


def repeat(chosen, count):
    """Interleaves the tests, so that each meets all others. Returns how often each failed."""
    failures = collections.Counter()
    for on_one, jobs, number in ((True, 1, 0), (False, 2 * os.cpu_count(), count // 2)):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            rounds = [(program, number + i) for i in range(count - count // 2 if on_one else count // 2)
                      for program in chosen]
            texts = pool.map(lambda each: run_once(each[0], on_one), rounds)
            for (program, at), text in zip(rounds, texts):
                if text is not None:
                    failures[program] += 1
                    keep(program, at, text)
    return failures


def main(arguments):
    count = arguments[0] if arguments else "20"
    if not count.isdigit() or int(count) == 0:
        sys.exit(f"tracebed: invalid number of runs '{count}'")
    chosen = programs(arguments[1:])
    if not chosen:
        sys.exit("tracebed: no test program has that name")
    if subprocess.run(["ninja", *chosen, "build/release/programs"]).returncode != 0:
        return 1
    os.makedirs(FOLDER, exist_ok=True)
    begin = time.monotonic()
    failures = repeat(chosen, int(count))
    runs = int(count) * len(chosen)
    print(f"{len(chosen)} tests, {runs} runs in {time.monotonic() - begin:.0f} s")
    print(f"{runs - failures.total()} passed, {failures.total()} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
