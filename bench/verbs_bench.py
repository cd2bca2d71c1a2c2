#!/usr/bin/env python3
"""
Asks each command of tracebed about one huge trace, and prints its elapsed time, CPU time and memory: what is its own,
which must stay below 512 MiB, and all of it with the pages of the trace that it maps. The trace needs 8 GB of disk, and
'cut', 'recover', 'snapshot' and 'merge' need as much again. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import processes  # noqa: E402

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
SUBJECT = os.path.realpath(f"{BUILD}/bench/verbs/verbs_subject")
OWN_MIB_MAX = 512
NAME = "^function_7$"
PART = ["-b", "10%", "-e", "11%"]
COMMANDS = [
    "info TRACE",
    "verify TRACE",
    "report TRACE",
    "report -j1 TRACE",
    "report -b 10% -e 11% TRACE",
    "report --by=thread TRACE",
    "report --over-time TRACE",
    "tree TRACE",
    "tree --minimum=1 TRACE",
    "tree --calls -b 10% -e 10.1% TRACE",
    "flame TRACE -o OUT.svg",
    "slowest TRACE " + NAME,
    "histogram " + NAME + " TRACE",
    "flows TRACE",
    "threads TRACE",
    "strings TRACE",
    "diff TRACE TRACE",
    "aggregate TRACE TRACE",
    "dump -b 10% -e 11% TRACE",
    "dump TRACE",
    "export --to=chrome -b 10% -e 11% TRACE -o OUT.json",
    "export --to=mm_profdata -b 10% -e 11% TRACE -o OUT.mm_profdata",
    "import OUT.mm_profdata -o OUT",
    "export --to=rtl-log -b 10% -e 11% TRACE -o OUT.log",
    "cut -b 10% -e 11% TRACE -o OUT",
    "cut TRACE -o OUT",
    "snapshot TRACE -o OUT",
    "recover TRACE -o OUT",
    "merge --same-clock TRACE PART -o OUT",
    "follow -c 1 TRACE",
    "symbolize TRACE",
]


def words(command, folder):
    """The command line; TRACE, PART and OUT are files in the folder."""
    def word(text):
        for name in ("TRACE", "PART", "OUT"):
            if text == name or text.startswith(name + "."):
                return f"{folder}/{text.replace(name, name.lower(), 1)}" + ("" if "." in text else ".tbed")
        return text

    return [TRACEBED, *map(word, command.split())]


def forget(folder):
    for name in os.listdir(folder):
        if name.startswith("out.") and not name.endswith(".mm_profdata"):
            os.unlink(os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(description="Measures every command on one huge trace.")
    parser.add_argument("--quick", action="store_true", help="20 million events instead of a billion")
    parser.add_argument("--events", type=int, help="events (1 billion, quick: 20 million)")
    parser.add_argument("--threads", type=int, default=8, help="threads that recorded them (8)")
    parser.add_argument("--names", type=int, default=2000, help="different names (2,000)")
    parser.add_argument("--only", default="", help="only commands that begin with this")
    parser.add_argument("--path", default=BUILD, help=f"directory for the files ({BUILD})")
    options = parser.parse_args()
    events = options.events or (20_000_000 if options.quick else 1_000_000_000)
    folder = tempfile.mkdtemp(prefix="verbs_bench.", dir=options.path)
    try:
        subprocess.run([SUBJECT, f"{folder}/trace.tbed", str(events), str(options.threads), str(options.names)], check=True)
        subprocess.run([TRACEBED, "cut", *PART, f"{folder}/trace.tbed", "-o", f"{folder}/part.tbed"], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        nbytes = os.stat(f"{folder}/trace.tbed").st_size
        print(f"{events:,} events of {options.threads} threads, {options.names:,} names, {nbytes / 2**30:.2f} GiB; "
              f"load average {os.getloadavg()[0]:.1f}\n")  # fmt: skip
        print("| Command | Elapsed | CPU | Own memory | All memory | Goal |\n|---|---|---|---|---|---|")
        for command in COMMANDS:
            if not command.startswith(options.only):
                continue
            taken = processes.measure(words(command, folder))
            forget(folder)
            goal = "reached" if taken.own <= OWN_MIB_MAX else "missed"
            if taken.status not in (0, 1):
                goal = f"exit status {taken.status}"
            print(f"| `{command}` | {taken.elapsed:.2f} s | {taken.cpu:.2f} s | {taken.own:.0f} MiB "
                  f"| {taken.total:.0f} MiB | <= {OWN_MIB_MAX} MiB: **{goal}** |", flush=True)  # fmt: skip
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
