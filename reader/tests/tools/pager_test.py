#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What commands do on a terminal: long output goes through a pager and short output does not stay in one, the exit status is
the program's own, quitting the pager is no error, and tables are as wide as the terminal or COLUMNS say.

    python3 reader/tests/tools/pager_test.py

Check: pager
Needs: $b/programs $b/reader/tests/agreement/agreement_program
"""

import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
DAMAGED = cases.ROOT / "spec/golden/invalid/BLOCK_CHECKSUM-cells.tbed"
PATIENCE = 20  # seconds
HIGH = 5000


def on_terminal(*words, keys="", rows=24, columns=80, **variables):
    """Runs tracebed; gives the exit status and what the terminal got. The keys are typed when it shows ':', less's prompt."""
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        login(theirs)
        os.execve(cases.TRACEBED, ["tracebed", *map(str, words)], environment)
    os.close(theirs)
    shown, end = b"", time.monotonic() + PATIENCE
    while True:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            raise cases.Failure(f"{words}: does not end; it shows {shown[-200:]!r}")
        if select.select([ours], [], [], 0.05)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:
                break
        if shown.rstrip(b"\x1b[K").endswith(b"\n:") and keys:
            os.write(ours, keys.encode())
            keys = ""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(ours)
    return status, shown.decode(errors="replace").replace("\r\n", "\n")


def login(terminal):
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)


def make(folder):
    subprocess.run([PROGRAM, "1", folder / "run.tbed"], check=True, capture_output=True)
    return folder / "run.tbed"


def plain(*words):
    run = subprocess.run([cases.TRACEBED, *map(str, words)], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def test_output_goes_through_the_pager(folder):
    trace = make(folder)
    expected = plain("dump", trace)[1]
    status, shown = on_terminal("dump", "--color=never", trace, TRACEBED_PAGER="sed s/^/./", PAGER="false")
    cases.need(status == 0 and shown == "".join(f".{line}\n" for line in expected.splitlines()), shown[:500])
    status, shown = on_terminal("dump", "--color=never", trace, PAGER="sed s/^/./")
    cases.need(status == 0 and shown.startswith("."), "PAGER is not used")
    for words, variables in ((["--no-pager", "dump"], {"PAGER": "false"}), (["dump"], {"PAGER": ""}), (["dump"], {"PAGER": "cat"}),
                             (["dump"], {"PAGER": "no-such-program -x"}), (["dump"], {"PAGER": "false", "TERM": "dumb"}),
                             (["dump"], {"PAGER": "false", "TRACEBED_PAGER": ""})):  # fmt: skip
        status, shown = on_terminal(*words, "--color=never", trace, **variables)
        cases.need(status == 0 and shown == expected, f"{words} {variables}: {shown[:500]}")


def test_color_goes_through_the_pager(folder):
    trace = make(folder)
    cases.need("\x1b[1m" in on_terminal("report", trace, TRACEBED_PAGER="sed -n p")[1], "no color")
    cases.need("\x1b[" not in on_terminal("report", trace, TRACEBED_PAGER="sed -n p", NO_COLOR="1")[1], "color")


def test_exit_status_is_kept(folder):
    trace = make(folder)
    for pager in ("sed q", "false", "true", "sed s/^/./"):
        cases.need(on_terminal("dump", trace, TRACEBED_PAGER=pager)[0] == 0, f"{pager}: not 0")
        cases.need(on_terminal("verify", DAMAGED, TRACEBED_PAGER=pager)[0] == 1, f"{pager}: not 1")
        status, shown = on_terminal("dump", "/nowhere", TRACEBED_PAGER=pager)
        cases.need(status == 2 and "cannot be opened" in shown, f"{pager}: {status} {shown}")


def test_progress_is_not_shown_over_the_pager(folder):
    trace = folder / "big.tbed"  # its listing fills the pipe, so the pass lasts as long as the pager sleeps
    subprocess.run([cases.TRACEBED, "record", "-o", trace, sys.executable, "-c", "[bytes(700) for i in range(5000)]"], check=True)
    cases.need(len(plain("dump", trace)[1]) > 1 << 18, "the listing fits into a pipe")
    status, shown = on_terminal("dump", "--color=never", trace, TRACEBED_PAGER="sleep 1.5; tail -n 1")
    cases.need(status == 0 and "tracebed: read" not in shown and len(shown.splitlines()) == 1, shown)


def test_less_is_the_pager(folder):
    if not shutil.which("less"):
        return "skipped: no less"
    trace = make(folder)
    status, shown = on_terminal("dump", trace, keys="q")
    cases.need(status == 0 and shown.count("\n") < 30, f"{status}: more than a page: {shown[:2000]}")
    status, shown = on_terminal("info", trace, rows=HIGH)
    cases.need(status == 0 and "duration" in shown, f"{status}: what fits is not printed: {shown}")
    return None


def test_files_and_pipes_have_no_pager_and_no_width(folder):
    trace = make(folder)
    environment = {**os.environ, "TRACEBED_PAGER": "false", "TERM": "xterm", "COLUMNS": "40"}
    run = subprocess.run([cases.TRACEBED, "report", trace], capture_output=True, text=True, env=environment, check=True)
    cases.need(run.stdout == plain("report", trace)[1], "the output differs")


def test_tables_are_as_wide_as_the_terminal(folder):
    trace = make(folder)
    for verb in ("report", "slowest", "threads", "flows", "strings"):
        wide = plain(verb, trace)[1]
        for columns in (135, 150):
            for variables in ({}, {"COLUMNS": str(columns)}):
                width = 200 if variables else columns
                status, shown = on_terminal("--no-pager", verb, "--color=never", trace, columns=width, **variables)
                longest = max(len(line) for line in shown.splitlines())
                cases.need(status == 0 and longest <= columns, f"{verb}: {longest} columns of {columns}\n{shown}")
                cases.need(len(shown.splitlines()) == len(wide.splitlines()), f"{verb}: lines are wrapped\n{shown}")


def test_a_tree_leaves_out_figures_on_narrow_terminals(folder):
    trace = make(folder)
    for columns, heads in ((80, "total of all self count span"), (70, "total of all self span"), (40, "total span")):
        status, shown = on_terminal("--no-pager", "tree", "--color=never", trace, columns=columns)
        lines = shown.splitlines()
        cases.need(status == 0 and " ".join(lines[0].split()) == heads, f"{columns} columns: {lines[0]}")
        cases.need(max(map(len, lines[:10])) <= columns and len(lines) == len(plain("tree", trace)[1].splitlines()), f"{columns} columns: {shown}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
