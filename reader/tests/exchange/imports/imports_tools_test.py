#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Imports agree with the tools that the files come from: uftrace's own reading of what it recorded, function by function and to
the nanosecond, and babeltrace2's text of a trace of CTF. Skipped, and says so, where a tool is missing.

    python3 reader/tests/exchange/imports/imports_tools_test.py

Check: imports-tools
Needs: $b/programs
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4, "ninja", "checks"))
import cases
from cases import need, output_of

FOLDER = cases.ROOT / "reader/tests/exchange/imports"
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const char *greet(const char *name, long number) { return number != 0 ? name : ""; }
void *work(void *given) { fib(9); return given; }
int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
    fib(12);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    greet("a \"name\"", -3);
    if (fork() == 0) { fib(6); exit(0); }
    wait(NULL);
    puts("done");
    return 0;
}
"""


def skip(tool, package):
    if shutil.which(tool) is not None:
        return False
    print(f"skipped: {tool} is not installed (Debian: {package})")
    return True


def without_library():
    """Whether the program was built without babeltrace2's library, or it is not installed."""
    run = subprocess.run([str(cases.TRACEBED), "report", str(FOLDER / "golden.ctf")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    if "NO_LIBRARY" in run.stdout:
        print("skipped: built without babeltrace2's library (Debian: libbabeltrace2-dev)")
    return "NO_LIBRARY" in run.stdout


def report(path):
    run = subprocess.run([str(cases.TRACEBED), "report", "--json", str(path)], stdout=subprocess.PIPE, text=True)
    need(run.returncode == 0, f"report {path}: exit status {run.returncode}")
    return json.loads(run.stdout)


def record(folder, flags, *options):
    with open(f"{folder}/program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    output_of(folder, os.environ.get("CC", "gcc"), "-g", *flags, "program.c", "-o", "program", "-lpthread")
    output_of(folder, "uftrace", "record", "--no-event", "-d", "data", *options, "./program")


def sums_of_dump(folder):
    """For each function (count, total, self), by uftrace's dump of its records; and the ends without a begin."""
    found, orphans = collections.defaultdict(lambda: [0, 0, 0]), 0
    stacks = collections.defaultdict(list)
    pattern = re.compile(r"(\d+)\.(\d{9})\s+(\d+): \[(entry|exit )\] (.*)\(([0-9a-f]+)\) depth: (\d+)")
    for line in output_of(folder, "uftrace", "dump", "-d", "data").splitlines():
        match = pattern.match(line)
        if match is None:
            continue
        time, stack = int(match[1] + match[2]), stacks[match[3]]
        if match[4] == "entry":
            stack.append([match[5], time, 0])
        elif not stack:
            orphans += 1
        else:
            name, begin, inside = stack.pop()
            sums = found[name]
            sums[0] += 1
            sums[1] += time - begin
            sums[2] += time - begin - inside
            if stack:
                stack[-1][2] += time - begin
    return {name: tuple(sums) for name, sums in found.items()}, orphans


def check_sums(folder):
    wanted, orphans = sums_of_dump(folder)
    ours = report(f"{folder}/data")
    found = {row["name"]: (row["count"], row["total_ns"], row["self_ns"]) for row in ours["spans"]
             if row["never_ended_count"] < row["count"]}  # exit() has no end
    need(len(wanted) > 5 and found == wanted, f"uftrace:  {sorted(wanted.items())}\ntracebed: {sorted(found.items())}")
    need(ours["damage_count"] == 0, "nothing is damaged")
    info = json.loads(output_of(folder, cases.TRACEBED, "info", "--json", "data"))
    need(info["unpaired"] == orphans, f"{info['unpaired']} ends without a begin, not {orphans}")
    need(info["left_out"]["arguments"] == 0, "all arguments are read")
    return info


def test_uftrace(folder):
    if skip("uftrace", "uftrace"):
        return
    record(folder, ["-pg"])
    info = check_sums(folder)
    need(len(info["processes"]) == 2 and info["threads"] == 5, "two processes, five threads")
    rows = re.findall(r"(\S+) (us|ms| s) +(\d+)  (\S+)", output_of(folder, "uftrace", "report", "-f", "self,call", "-d", "data"))
    ours = {row["name"]: row for row in report(f"{folder}/data")["spans"]}
    compared = 0
    for value, unit, count, name in rows:
        if name not in ours or ours[name]["count"] != int(count):  # fork() returns twice, and main() in the child never
            continue
        scale = {"us": 1e3, "ms": 1e6, " s": 1e9}[unit]
        need(abs(float(value) * scale - ours[name]["self_ns"]) <= scale / 1000, f"{name}: {value} {unit}, {ours[name]}")
        compared += 1
    need(compared > 5, f"only {compared} functions of uftrace's report compared: {rows}")


def test_uftrace_arguments(folder):
    if skip("uftrace", "uftrace"):
        return
    record(folder, ["-pg"], "-A", "fib@arg1/i32", "-R", "fib@retval/i32", "-A", "greet@arg1/s,arg2", "-R", "greet@retval/s")
    check_sums(folder)
    dump = output_of(folder, cases.TRACEBED, "dump", "data")
    need('greet arg1="a \\"name\\"" arg2=-3' in dump, "the arguments of greet() are those of the call")
    need('end          greet retval="a \\"name\\""' in dump, "so is its value")
    need("fib arg1=12" in dump and "fib retval=144" in dump, "fib(12) is 144")


def test_uftrace_of_instrumented_functions(folder):
    if skip("uftrace", "uftrace"):
        return
    record(folder, ["-finstrument-functions"], "-a")
    check_sums(folder)


def test_uftrace_that_is_cut(folder):
    if skip("uftrace", "uftrace"):
        return
    record(folder, ["-pg"])
    whole = report(f"{folder}/data")
    files = sorted((name for name in os.listdir(f"{folder}/data") if re.fullmatch(r"\d+\.dat", name)),
                   key=lambda name: os.path.getsize(f"{folder}/data/{name}"))
    os.truncate(f"{folder}/data/{files[-1]}", os.path.getsize(f"{folder}/data/{files[-1]}") - 5)
    os.remove(f"{folder}/data/task.txt")
    run = subprocess.run([str(cases.TRACEBED), "verify", f"{folder}/data"], stdout=subprocess.PIPE, text=True)
    need(run.returncode == 1 and "FOREIGN_CUT" in run.stdout and files[-1] in run.stdout, run.stdout)
    need("task.txt" in run.stdout, "the missing file is reported")
    cut = subprocess.run([str(cases.TRACEBED), "report", "--json", f"{folder}/data"], stdout=subprocess.PIPE, text=True)
    count = json.loads(cut.stdout)["totals"]["begin_count"]
    need(count >= whole["totals"]["begin_count"] - 1, f"{count} spans of {whole['totals']['begin_count']}")


def test_babeltrace(folder):
    if skip("babeltrace2", "babeltrace2 libbabeltrace2-dev"):
        return
    if without_library():
        return
    wanted = collections.Counter(re.findall(r"^\[[^]]*\] \([^)]*\) \S+ ([^ ]+): ", output_of(folder, "babeltrace2", FOLDER / "golden.ctf"),
                                            re.MULTILINE))
    output_of(folder, cases.TRACEBED, "import", FOLDER / "golden.ctf", "-o", "golden.tbed")
    dump = output_of(folder, cases.TRACEBED, "dump", "golden.tbed")
    need(sum(wanted.values()) == len(dump.splitlines()), f"{wanted}\n{dump}")
    for text in ("app+0x10", 'app:frame number=1 what="quote \\" and é"', "error: bad"):
        need(text in dump, f"{text}: not in\n{dump}")


def test_ctf_of_our_own(folder):
    if without_library():
        return
    if re.search(r"^  ctf ", output_of(folder, cases.TRACEBED, "export", "-h"), re.MULTILINE) is None:
        print("skipped: this build does not export CTF")
        return
    shutil.copytree(FOLDER / "whole.uftrace", f"{folder}/data")
    output_of(folder, cases.TRACEBED, "export", "--to=ctf", "data", "-o", "exported")
    output_of(folder, cases.TRACEBED, "import", "exported", "-o", "again.tbed")
    before, after = report(f"{folder}/data"), report(f"{folder}/again.tbed")
    need(before["spans"] == after["spans"], f"{before['spans']}\n{after['spans']}")
    lines = [sorted(re.sub(r"\\xff|\ufffd", "?", line.split(None, 2)[2])  # CTF's texts are UTF-8
                    for line in output_of(folder, cases.TRACEBED, "dump", path).splitlines()) for path in ("data", "again.tbed")]
    need(lines[0] == lines[1], f"{lines[0]}\n{lines[1]}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
