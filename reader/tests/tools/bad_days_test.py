#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What people meet on a bad day: limits of the shell, copies that ended early, options in the wrong place. The message has to
name the true cause and what to do.

    python3 reader/tests/tools/bad_days_test.py

Check: bad-days
Needs: $b/programs
"""

import os
import re
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

TRUE = ["sh", "-c", ":"]
ALLOCATES = [sys.executable, "-S", "-c", "a = [bytes(1000) for i in range(5000)]"]


def run(folder, *words, limit=None, status=0):
    """What tracebed prints on standard output, and on standard error."""
    settings = {"preexec_fn": lambda: resource.setrlimit(*limit)} if limit else {}
    done = subprocess.run([cases.TRACEBED, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False, **settings)
    cases.need(done.returncode == status, f"{words}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout, done.stderr


def test_limit_of_the_file_size_is_named(folder):
    limit = (resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))
    said = run(folder, "record", *TRUE, limit=limit)[1]
    cases.need("records were dropped" in said and "size limit" in said and "ulimit -f" in said, said)
    cases.need("not loaded" not in said, said)
    said = run(folder, "record", "-v", "-f", *TRUE, limit=limit)[1]
    cases.need(re.search(r"dropped: .*size limit", said), said)


def test_limit_of_the_address_space_is_named(folder):
    limit = (resource.RLIMIT_AS, (64 << 20, 64 << 20))
    run(folder, "record", *TRUE)
    os.truncate(folder / "run.tbed", 1 << 30)
    said = run(folder, "info", "run.tbed", limit=limit, status=2)[1]
    cases.need("cannot be mapped" in said and "ulimit -v" in said, said)


def test_trace_that_cannot_be_created(folder):
    said = run(folder, "record", "-o", "/nowhere/run.tbed", *TRUE, status=2)[1]
    cases.need("cannot be opened: No such file or directory\n  Its folder does not exist." in said, said)
    said = run(folder, "record", "-o", "/sys/run.tbed", *TRUE, status=2)[1]
    cases.need(re.search(r"cannot be opened: .*\n  Use -o FILE", said), said)


def test_programs_that_are_none(folder):
    said = run(folder, "record", "ls -l", status=127)[1]
    cases.need("ls -l: not found\n  The program and its arguments are words of their own" in said, said)
    said = run(folder, "record", "--stacks", "10", *TRUE, status=127)[1]
    cases.need("10: not found\n  Is it the value of --stacks? That follows '=': --stacks=10\n" in said, said)
    said = run(folder, "record", "--stacks", "no-such-program", status=127)[1]
    cases.need("no-such-program: not found" in said, said)
    cases.need("=" not in run(folder, "record", "--stacks", "--", "none", status=127)[1], "advice after '--'")


def test_copy_that_ended_early(folder):
    run(folder, "record", *ALLOCATES)
    whole = (folder / "run.tbed").read_bytes()
    (folder / "half.tbed").write_bytes(whole[: 5 << 16])
    said = run(folder, "report", "half.tbed", status=1)[1].splitlines()
    cases.need(said[1] == f"  The file is cut: it has {5 << 16:,} of {len(whole):,} bytes. Is the copy complete?", said)
    (folder / "long.tbed").write_bytes(whole + bytes(1 << 16))
    cases.need("is cut" not in run(folder, "report", "long.tbed", status=1)[1], "the file is too long, not cut")


def test_the_usual_trace_is_suggested(folder):
    cases.need("Did you mean" not in run(folder, "report", status=2)[1], "there is no trace")
    run(folder, "record", *TRUE)
    for verb in ("report", "tree", "info"):
        said = run(folder, verb, status=2)[1]
        cases.need(f"missing FILE operand\n  Did you mean 'tracebed {verb} run.tbed'?" in said, said)


def test_options_in_the_wrong_place(folder):
    run(folder, "record", *TRUE)
    said = run(folder, "--limit=3", "report", "run.tbed", status=2)[1]
    cases.need("Options of a command come after it: tracebed COMMAND --limit=3" in said, said)
    said = run(folder, "report", "--limit", "run.tbed", status=2)[1]
    cases.need("report: --limit takes a number of rows, not 'run.tbed'\n" in said, said)


def test_a_wrong_argument_is_quoted(folder):
    options = ("report --limit", "report --percent-above", "report --over-time", "report --retained", "tree -d", "tree -m", "flame -m",
               "dump --limit", "dump --stream", "slowest --limit", "flows --key", "flows --limit", "follow --interval", "follow --count",
               "follow --limit", "diff --limit", "diff --threshold", "diff --alpha", "merge --offset", "export --jobs", "view --width",
               "view --height", "view --depth", "view --port", "histogram --rows")
    for command, option in map(str.split, options):
        run = subprocess.run([cases.TRACEBED, command, f"{option}=1 x" if option.startswith("--") else f"{option}1 x", "run.tbed"],
                             cwd=folder, capture_output=True, text=True)
        cases.need(run.returncode == 2 and re.search(f"{command}: {option} takes .*, not '1 x'\n", run.stderr), f"{command} {option}: {run.stderr}")


def test_names_that_are_no_use_are_explained(folder):
    run(folder, "record", *TRUE)
    cases.need("tracebed: '': cannot be opened: " in run(folder, "report", "", status=2)[1], "an empty name")
    said = run(folder, "flame", "-o", "flame.PNG", "run.tbed", status=2)[1]
    cases.need("a flame graph is an SVG file; 'tracebed view --png' draws PNG" in said and not (folder / "flame.PNG").exists(), said)


def test_a_program_without_ruby(folder):
    done = subprocess.run([cases.TRACEBED, "record", "--ruby", "true"], cwd=folder, capture_output=True, text=True, check=False)
    said = done.stderr
    if done.returncode == 2:
        return f"the extension is not built: {said}"
    cases.need("nothing was recorded: no Ruby has loaded the extension" in said, said)
    return None


def test_large_counters_have_all_their_digits(folder):
    run(folder, "record", *ALLOCATES)
    line = next(line for line in run(folder, "report", "run.tbed")[0].splitlines() if "resident" in line)
    values = line.replace(",", "").split()[:3]
    cases.need(all(value.isdigit() for value in values) and int(values[2]) > 1_000_000, line)


def test_one_more_row_is_singular(folder):
    run(folder, "record", "sh", "-c", "true | true")
    shown = run(folder, "report", "--limit=2", "run.tbed")[0]
    cases.need("1 more process; --limit=3 shows all" in shown and "more sites;" in shown, shown)


def test_leaks_without_stacks_say_how_to_get_them(folder):
    run(folder, "record", *ALLOCATES)
    run(folder, "record", "--stacks", "-o", "stacks.tbed", *ALLOCATES)
    cases.need("'tracebed record --stacks'" in run(folder, "report", "--leaks", "run.tbed")[0], "no advice")
    for words in (["--leaks", "stacks.tbed"], ["--leaks", "--by=site", "run.tbed"]):
        cases.need("--stacks" not in run(folder, "report", *words)[0], f"{words}: advice that does not help")


def test_times_of_the_chart_are_round(folder):
    run(folder, "record", *ALLOCATES)
    for words in ([], ["-b", "10%"]):
        run(folder, "flame", "--over-time", "-f", *words, "run.tbed")
        chart = (folder / "run.memory.svg").read_text()
        times = re.findall(r'y="394">([^<]*)<', chart)
        cases.need(2 <= len(times) <= 7, times)
        cases.need(all(re.fullmatch(r"(0 ns|[1-9]\d*(\.\d)?0* [mun]?s)", time) for time in times), times)
        cases.need(all(len(re.sub(r"\D|0+\b", "", time)) <= 2 for time in times), times)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
