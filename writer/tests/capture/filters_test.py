"""
Which functions 'tracebed record --functions' records when patterns choose them: by demangled name, file and library, in
libraries that are loaded late and in programs that the program starts, and with nobody to ask.

Check: functions-filters
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import Failure

TRACEBED = str(cases.TRACEBED)

CALLED = r"""
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
namespace ns {
struct Reader {
    int parse(int n);
    int parse(const char *text);
    static int helper(void);
};
int Reader::parse(int n) { return n + helper(); }
int Reader::parse(const char *text) { return text[0]; }
int Reader::helper(void) { return 3; }
template <class T> T twice(T value) { return value + value; }
}
#include "other.h"
int plain_one(int n) { return n; }
int main(int argc, char **argv)
{
    ns::Reader reader;
    int sum = argc;
    for (int i = 0; i < 5; i++)
        sum += reader.parse(i) + reader.parse("x") + ns::twice(i) + plain_one(i) + in_other_file(i);
    if (argc > 1 && strcmp(argv[1], "load") == 0) {
        void *library = dlopen("./late.so", RTLD_NOW);
        ((int (*)(int))dlsym(library, "late_one"))(1);
        ((int (*)(int))dlsym(library, "late_two"))(1);
    }
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        if (fork() == 0) {
            plain_one(1);
            execl(argv[0], argv[0], "child", NULL);
        }
        wait(NULL);
    }
    return sum == 0;
}
"""
OTHER = "int in_other_file(int n) { return n + 1; }\n"
LATE = "int late_one(int n) { return n; }\nint late_two(int n) { return n; }\n"


def expect(condition, text):
    if not condition:
        raise Failure(text)


def build(folder):
    for name, text in (("called.cpp", CALLED), ("other.h", OTHER), ("late.c", LATE)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    flags = ["-g", "-O0", "-finstrument-functions"]
    subprocess.run(["g++", *flags, "called.cpp", "-o", "called", "-ldl"], cwd=folder, check=True)
    subprocess.run(["gcc", *flags, "-shared", "-fPIC", "late.c", "-o", "late.so"], cwd=folder, check=True)


def record(folder, options, arguments=(), status=0, before=()):
    command = [*before, TRACEBED, "record", "-f", "--functions", *options, "-o", "t.tbed", "./called", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    expect(run.returncode == status, f"{options}: status {run.returncode}, not {status}: {run.stderr}")
    return run.stderr


def counts(folder):
    """The number of calls by function."""
    command = [TRACEBED, "report", "--json", "--by=function", "t.tbed"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    expect(run.returncode == 0, run.stderr)
    return {row["name"].split(" /")[0]: row["count"] for row in json.loads(run.stdout)["spans"]}


EVERYTHING = {
    "main": 1,
    "ns::Reader::parse(int)": 5,
    "ns::Reader::parse(char const*)": 5,
    "ns::Reader::helper()": 5,
    "int ns::twice<int>(int)": 5,
    "plain_one(int)": 5,
    "in_other_file(int)": 5,
}


def part(*names):
    return {name: EVERYTHING[name] for name in names}


def test_patterns(folder):
    """Each kind of pattern chooses exactly the functions that it describes."""
    build(folder)
    both = ("ns::Reader::parse(int)", "ns::Reader::parse(char const*)")
    tried = [
        (["--filter=ns::Reader::parse"], part(*both)),
        (["--filter=ns::Reader::parse(int)"], part(both[0])),
        (["--filter=_ZN2ns6Reader5parseEi"], part(both[0])),
        (["--filter=ns::twice*"], part("int ns::twice<int>(int)")),
        (["--filter=/^(main|plain_.*)$/"], part("main", "plain_one(int)")),
        (["--filter=/Reader::[hp]/", "--exclude=*helper*"], part(*both)),
        (["--filter=file:other.h"], part("in_other_file(int)")),
        (["--filter=file:*/called.cpp", "--exclude=ns::*"], part("main", "plain_one(int)")),
        (["--exclude=file:/called[.]cpp$/"], part("in_other_file(int)")),
        (["--filter=module:called", "--exclude=/^ns/", "--exclude=plain_one"], part("main", "in_other_file(int)")),
    ]
    for options, wanted in tried:
        errors = record(folder, options)
        found = counts(folder)
        expect(found == wanted, f"{options}: {found}, not {wanted}; {errors}")
    record(folder, [])
    expect(counts(folder) == EVERYTHING, f"everything: {counts(folder)}")


def test_late(folder):
    """A library that is loaded late, a forked child and a program that it starts."""
    build(folder)
    record(folder, ["--filter=late_one"], ["load"])
    expect(counts(folder) == {"late_one": 1}, f"dlopen: {counts(folder)}")
    record(folder, ["--filter=module:late.so"], ["load"])
    expect(counts(folder) == {"late_one": 1, "late_two": 1}, f"module: {counts(folder)}")
    record(folder, ["--filter=plain_one"], ["fork"])
    expect(counts(folder) == {"plain_one(int)": 11}, f"fork: {counts(folder)}")


def test_nothing_matches(folder):
    """A pattern that nothing matches is an error with the nearest names, unless it leaves out."""
    build(folder)
    for pattern, meant in (("Reader::prase", "'ns::Reader::parse'"), ("plain_on", "'plain_one'"),
                           ("file:othr.h", "'other.h'"), ("module:caled", "'called'"), ("/nothing/", "")):
        errors = record(folder, ["--filter=" + pattern], status=125)
        expect(f"--filter: no function matches '{pattern}'" in errors, errors)
        expect((meant in errors) if meant else "mean" not in errors, errors)
    errors = record(folder, ["--filter=plain_one", "--exclude=nothing_of_it"])
    expect("--exclude: no function matches 'nothing_of_it'" in errors, errors)
    errors = record(folder, ["--filter=plain_one", "--filter=xyzzy"], status=125)
    expect("matches 'xyzzy'" in errors and "matches 'plain_one'" not in errors, errors)
    for pattern in ("/(/", "file:", ""):
        record(folder, ["--filter=" + pattern], status=2)


def test_nobody_answers(folder):
    """The default holds, and that is said."""
    build(folder)
    command = [TRACEBED, "record", "-f", "--functions", "-o", "t.tbed"]
    for option, wanted in (("--filter=plain_one", {}), ("--exclude=plain_one", EVERYTHING)):
        # The program asks under a name at which nobody listens.
        wrong = ["env", "TRACEBED_FUNCTIONS_PLANS=nobody," + ("0" if "filter" in option else "1"), "./called"]
        run = subprocess.run([*command, option, *wrong], cwd=folder, capture_output=True, text=True, timeout=60)
        expect("1 program or library was recorded as if no pattern matched" in run.stderr, run.stderr)
        expect("/called: the process could not ask" in run.stderr, run.stderr)
        if wanted:
            expect(counts(folder) == wanted, f"{counts(folder)}")


def test_stripped(folder):
    """Without symbols there is nothing to match."""
    build(folder)
    subprocess.run(["strip", "called"], cwd=folder, check=True)
    errors = record(folder, ["--filter=plain_one"], status=125)
    expect("called: it has no symbols" in errors and "no function matches" in errors, errors)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
