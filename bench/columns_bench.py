#!/usr/bin/env python3
"""
Measures the exports of tables: CPU time, memory beyond the map and bytes a row of Parquet, CSV and NDJSON, and DuckDB's
time for questions to the Parquet files. DuckDB comes from npm in build/npm (see './run test'); without it that part is left out.

    python3 bench/columns_bench.py [--spans N] [TRACE...]

Without TRACE it makes one with N spans (default 10,000,000), with reader/tests/exchange/columns/fleet_program.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "ninja/checks"), str(ROOT / "reader/tests/exchange/columns")]
import engines

BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
TRACEBED = BUILD / "tracebed"
FLEET = BUILD / "reader/tests/exchange/columns/fleet_program"
FORMATS = {"parquet, all tables": ["--to=parquet"], "parquet": ["--to=parquet", "--table=spans"], "csv": ["--to=csv"],
           "ndjson": ["--to=ndjson"]}
QUERIES = {
    "count, sum": "SELECT count(*), sum(dur) FROM 'spans/*.parquet'",
    "by label": "SELECT label, count(*), sum(dur), sum(self) FROM 'spans/*.parquet' GROUP BY label",
    "p99 per thread and second": "SELECT count(*), sum(p99) FROM (SELECT thread, ts // 1000000000 AS s, quantile_disc(dur, 0.99) AS p99"
                                 " FROM 'spans/*.parquet' GROUP BY ALL)",
    "1 % of the time": "SELECT count(*), sum(dur) FROM 'spans/*.parquet', (SELECT max(ts) AS last FROM 'spans/*.parquet')"
                       " WHERE ts BETWEEN last // 2 AND last // 2 + last // 100",
}


def anonymous_kib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("RssAnon:")), 0)
    except (OSError, StopIteration):
        return 0


def measure(*command):
    """CPU seconds, and the most memory of its own, in MiB."""
    before, most = resource.getrusage(resource.RUSAGE_CHILDREN), 0
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        most = max(most, anonymous_kib(process.pid))
        time.sleep(0.01)
    if process.returncode not in (0, 1):
        sys.exit(process.stderr.read().decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, most / 1024


def nbytes_of(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size


def bench(trace, folder):
    told = subprocess.run([TRACEBED, "export", "--to=parquet", "--table=spans", "-f", trace, "-o", folder / "count"],
                          capture_output=True, text=True)
    rows = int(re.search(r"exported: ([\d,]+) row", told.stdout)[1].replace(",", ""))
    for name, options in FORMATS.items():
        out = folder / name.split(",")[0]
        shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
        seconds, memory = measure(TRACEBED, "export", *options, trace, "-o", out)
        nbytes = nbytes_of(out)
        print(f"{name:22} {seconds:7.2f} s CPU {memory:6.0f} MiB {nbytes / 1e6:9.1f} MB, {nbytes / rows:.2f} bytes a span, "
              f"{rows / seconds / 1e6:.2f} M spans/s", flush=True)
    if "duckdb" in engines.there()[0]:
        answers = engines.ask("duckdb", list(QUERIES.values()), folder / "parquet")
        for name, (_, found, ms) in zip(QUERIES, answers):
            print(f"  DuckDB, {name:28} {ms:8.0f} ms, {len(found)} row{'s' * (len(found) != 1)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spans", type=int, default=10_000_000)
    parser.add_argument("traces", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tracebed-columns-") as name:
        folder = pathlib.Path(name)
        if not arguments.traces:
            subprocess.run([FLEET, folder, "0", "1", str(arguments.spans // 4)], check=True)
            arguments.traces = sorted(folder.glob("*.tbed"))
        for trace in arguments.traces:
            print(f"{trace.name}: {trace.stat().st_size / 1e6:.1f} MB")
            bench(trace, folder)


if __name__ == "__main__":
    main()
