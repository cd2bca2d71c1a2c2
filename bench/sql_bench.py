#!/usr/bin/env python3
"""
Asks `tracebed sql` about a trace of ten million recorded spans and, if one is given, about a profile of rustc, and prints the
elapsed time of each statement, the opening included, and the memory beyond the map. bench/README.md describes the method.

    bench/sql_bench.py [--profile FILE.mm_profdata] [--rounds N]

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import processes  # noqa: E402

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
SUBJECT = os.path.realpath(f"{BUILD}/bench/verbs/verbs_subject")
OWN_MIB_MAX = 128
FIRST_ROW_MAX = 0.05

# What is asked, and the goal in seconds.
RECORDED = [
    ("count and sum", "SELECT count(*), sum(dur) FROM spans", 1.0),
    ("GROUP BY label, by the scan", "SELECT label, count(*), sum(dur) FROM spans GROUP BY label", 2.5),
    ("the same by label_statistics", "SELECT label, count, total FROM label_statistics", 0.15),
]
PROFILE = [
    ("spans GROUP BY label", "SELECT label, count(*), sum(dur) FROM spans GROUP BY label", 0.4),
    ("p99 of one label per thread and second",
     "SELECT thread, ts / 1000000000 AS second, percentile(dur, 99) FROM spans WHERE label = '{label}' GROUP BY 1, 2", 0.15),
    ("a 1 % range", "SELECT count(*), sum(dur) FROM spans WHERE ts >= {begin} AND ts < {end}", 0.03),
    ("with instants GROUP BY label", "SELECT label, count(*), sum(dur) FROM events GROUP BY label", 1.6),
]  # fmt: skip
FIRST = [
    ("the first row", "SELECT ts, dur, label, args, thread FROM spans LIMIT 1"),
    ("the first row of events", "SELECT * FROM events LIMIT 1"),
    ("the first row with its parent", "SELECT ts, dur, label, parent FROM spans LIMIT 1"),
]


def ask(path, sql):
    run = subprocess.run([TRACEBED, "sql", "--csv", path, sql], capture_output=True, text=True, check=True)
    return [line.split(",") for line in run.stdout.splitlines()[1:]]


def show(name, seconds, cpu, own, goal):
    verdict = "reached" if seconds <= goal and own <= OWN_MIB_MAX else "missed"
    print(f"| {name} | {seconds:.3f} s | {cpu:.2f} s | {own:.0f} MiB | <= {goal} s: **{verdict}** |", flush=True)


def measure(path, questions, rounds):
    print("| Statement | Elapsed | CPU | Beyond the map | Goal |\n|---|---|---|---|---|")
    for name, sql, goal in questions:
        taken = [processes.measure([TRACEBED, "sql", path, sql]) for _ in range(rounds)]
        show(name, statistics.median(each.elapsed for each in taken), statistics.median(each.cpu for each in taken),
             max(each.own for each in taken), goal)  # fmt: skip
    for name, sql in FIRST:
        taken = [processes.measure([TRACEBED, "sql", path, sql]) for _ in range(rounds)]
        show(name, statistics.median(each.elapsed for each in taken), statistics.median(each.cpu for each in taken),
             max(each.own for each in taken), FIRST_ROW_MAX)  # fmt: skip


def about_profile(path):
    """The label with the most spans, and the first percent of the middle."""
    label = ask(path, "SELECT label, count FROM label_statistics ORDER BY count DESC LIMIT 1")[0][0]
    low, high = map(int, ask(path, "SELECT min(ts), max(ts) FROM spans")[0])
    begin = low + (high - low) // 2
    return {"label": label.replace("'", "''"), "begin": begin, "end": begin + (high - low) // 100}


def main():
    parser = argparse.ArgumentParser(description="Measures SQL over a recorded trace and a profile of rustc.")
    parser.add_argument("--spans", type=int, default=10_000_000, help="of the recorded trace (10 million)")
    parser.add_argument("--profile", help="a profile of measureme, such as one that rustc made with -Zself-profile-events=all")
    parser.add_argument("--rounds", type=int, default=5, help="of which the median counts (5)")
    parser.add_argument("--path", default=BUILD, help=f"directory for the trace ({BUILD})")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="sql_bench.", dir=options.path)
    try:
        trace = f"{folder}/run.tbed"
        subprocess.run([SUBJECT, trace, str(2 * options.spans), "8", "200"], check=True)
        print(f"{options.spans:,} spans of 8 threads, {os.stat(trace).st_size / 2**20:.0f} MiB; "
              f"load average {os.getloadavg()[0]:.1f}\n")  # fmt: skip
        measure(trace, RECORDED, options.rounds)
        if options.profile is not None:
            facts = about_profile(options.profile)
            print(f"\n{os.path.basename(options.profile)}, {os.stat(options.profile).st_size / 1e6:.0f} MB; "
                  f"load average {os.getloadavg()[0]:.1f}\n")  # fmt: skip
            measure(options.profile, [(name, sql.format(**facts), goal) for name, sql, goal in PROFILE], options.rounds)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
