"""
What a program records by tracebed's macros goes to the trace of 'tracebed record', which runs it, beside what 'record'
records: with the whole library and with its one file, in children and after exec, in each of record's modes. A program that
starts a trace of its own, or is told to by TRACEBED or RTL_LOGFILE, has it as if 'record' were not there.

    python3 reader/tests/tools/record_macros_test.py

Check: record-macros
Needs: $b/programs $b/libtracebed.a $b/libtracebed.so

SPDX-License-Identifier: MIT
"""

import itertools
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import BUILD, ROOT, TRACEBED, need, output_of

SOURCE = r"""#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include HEADER

__attribute__((noinline)) static void work(int count)
{
    for (int i = 0; i < count; i++) {
        TBED_SPAN("work");
        void *volatile memory = malloc(1000);
        free(memory);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    work(10);
    if (strcmp(how, "start") == 0 && tbed_start("own.tbed", NULL) != TBED_OK)
        return 3;
    if (strcmp(how, "start") == 0) {
        work(5);
        tbed_stop();
        return tbed_start("again.tbed", NULL) == TBED_OK ? 0 : 4;
    }
    if (strcmp(how, "again") == 0 && fork() == 0) {
        work(7);
        execl(argv[0], argv[0], (char *)NULL);
    }
    if (strcmp(how, "much") == 0)
        work(100000);
    wait(NULL);
}
"""


def build(folder, *flags, compiler="cc", header="<tracebed/trace.h>", libraries=(BUILD / "libtracebed.a",)):
    source = "work.cpp" if compiler.endswith("++") else "work.c"
    (folder / source).write_text(SOURCE)
    output_of(folder, compiler, "-g", f"-DHEADER={header}", *flags, *cases.includes("format", "writer"), "-o", "work", source,
              *libraries)


def record(folder, *words, trace="run.tbed", **environment):
    """Records, verifies, and returns how many spans ended there, and how many allocations there are."""
    said = output_of(folder, TRACEBED, "record", *words, **environment)
    need(said == "", f"it says: {said}")
    return counts(folder, trace)


def counts(folder, trace):
    output_of(folder, TRACEBED, "verify", trace)
    report = json.loads(output_of(folder, TRACEBED, "report", "--json", trace))
    spans = sum(row["count"] - row["never_ended_count"] for row in report["spans"] if row["name"] == "work")
    return spans, sum(row["count"] for row in report.get("sites", []) if row.get("function") == "work")


def test_spans_are_beside_allocations(folder):
    build(folder)
    need(record(folder, "./work") == (10, 10), str(counts(folder, "run.tbed")))
    need(sorted(os.listdir(folder)) == ["run.tbed", "work", "work.c"], str(os.listdir(folder)))


def test_with_the_shared_library_and_with_one_file(folder):
    build(folder, libraries=[f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-ltracebed"])
    need(record(folder, "./work") == (10, 10), "the shared library")
    output_of(ROOT, sys.executable, "ninja/amalgamate.py", folder)
    build(folder, "tracebed.c", f"-I{folder}", header='"tracebed.h"', libraries=[])
    need(record(folder, "-f", "./work") == (10, 10), "the one file")


def test_a_static_child_has_its_spans(folder):
    build(folder, "-static")
    run = subprocess.run([TRACEBED, "record", "sh", "-c", "./work"], cwd=folder, capture_output=True, text=True)
    need(run.returncode == 0 and "static" in run.stderr, run.stderr)
    need(counts(folder, "run.tbed") == (10, 0), str(counts(folder, "run.tbed")))


def test_children_and_programs_that_they_become(folder):
    build(folder)
    need(record(folder, "./work", "again") == (27, 27), str(counts(folder, "run.tbed")))


def test_in_each_mode_of_allocations(folder):
    build(folder)
    need(record(folder, "-f", "--light", "./work")[0] == 10, "--light")
    need(record(folder, "-f", "--stacks", "./work") == (10, 10), "--stacks")


def test_functions_are_those_of_the_program(folder):
    """None of the functions of our headers, inlined or not."""
    compilers = [("gcc", "-O0"), ("g++", "-O2"), ("clang", "-O0")]
    for flag, (compiler, level) in itertools.product(["-finstrument-functions", "-pg", "-fpatchable-function-entry=5"], compilers):
        build(folder, flag, level, compiler=compiler)
        output_of(folder, TRACEBED, "record", "-f", "--functions", "./work")
        report = json.loads(output_of(folder, TRACEBED, "report", "--json", "run.tbed"))
        found = sorted((re.split("[ (]", row["name"])[0], row["count"]) for row in report["spans"])
        need(found == [("main", 1), ("work", 1), ("work", 10)], f"{compiler} {flag} {level}: {found}")


def test_limits_hold_for_spans_too(folder):
    build(folder)
    run = subprocess.run([TRACEBED, "record", "--max-size=512K", "./work", "much"], cwd=folder, capture_output=True, text=True)
    need(run.returncode == 0 and "size limit" in run.stderr, run.stderr)
    need((folder / "run.tbed").stat().st_size <= 512 << 10, "the file is larger than it may be")
    record(folder, "-f", "--ring=1M", "./work", "much")
    need((folder / "run.tbed").stat().st_size < 2 << 20, "the ring grows")
    output_of(folder, TRACEBED, "record", "-o", "series.tbed", "--rotate=256K", "./work", "much")
    series = [name for name in os.listdir(folder) if name.startswith("series.tbed")]
    need(sum(counts(folder, name)[0] for name in series) == 100010, "spans of the series")


def test_a_trace_of_its_own_is_its_own(folder):
    build(folder)
    need(record(folder, "./work", "start") == (10, 15), str(counts(folder, "run.tbed")))
    need(counts(folder, "own.tbed") == (5, 0), str(counts(folder, "own.tbed")))
    need((folder / "again.tbed").exists(), "it was not started again")


def test_other_variables_come_first(folder):
    build(folder)
    need(record(folder, "./work", TRACEBED="asked.tbed") == (0, 10), "TRACEBED")
    need(counts(folder, "asked.tbed") == (10, 0), "TRACEBED: its file")
    need(record(folder, "-f", "./work", RTL_LOGFILE="log") == (0, 10), "RTL_LOGFILE")


def test_a_program_without_record_is_alone(folder):
    build(folder)
    output_of(folder, "./work")
    need(sorted(os.listdir(folder)) == ["work", "work.c"], str(os.listdir(folder)))


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
