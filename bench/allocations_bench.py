#!/usr/bin/env python3
"""
Measures what recording allocations costs real programs, compared with the plain program and with heaptrack: python3
(with its objects allocated by malloc), sqlite3, clang and gcc's cc1plus compiling a file, and a redis server under load.
It prints CPU time and peak memory of pairs of runs, then the top sites of each program. What is not installed is skipped,
with a note. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.abspath(os.path.join(BUILD, "tracebed"))
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODES = [
    ("light", ["--light"]),
    ("full", []),
    ("light, 64 frames", ["--light", "--stacks"]),
    ("full, 16 frames", ["--stacks=16"]),
    ("full, 64 frames", ["--stacks"]),
]

PYTHON = """
import ast, json
values = [{"key%d" % i: list(range(20)), "text": "x" * i} for i in range(1500)]
for _ in range(4):
    json.loads(json.dumps(values))
source = open(ast.__file__).read()
for _ in range(4):
    compile(source, "x", "exec")
"""

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into t select i, 'row ' || i, i * 1.5 from n;
create index u on t(b);
select count(*), sum(c) from t where b like 'row 1%';
select b, count(*) from t group by substr(b, 1, 6) order by 2 desc limit 3;
update t set b = upper(b) where a % 3 = 0;
"""


CPP = """
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main()
{
    std::map<std::string, int> counts = {{"a", 1}};
    std::cout << counts.size() << std::regex_match("a", std::regex("a"));
}
"""

# Waits for the server, puts it under load, and ends it.
REDIS_LOAD = """
until redis-cli -s "$1" ping >/dev/null 2>&1; do sleep 0.02; done
redis-benchmark -s "$1" -q -n 30000 -c 10 -r 2000 -d 100 -t set,get,lpush,hset,zadd
redis-cli -s "$1" shutdown nosave
"""


def parse(arguments):
    parser = argparse.ArgumentParser(description="Measures the cost of recording allocations, compared with heaptrack.")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--rounds", type=int, help="pairs to measure (5)")
    parser.add_argument("--path", help="directory for temporary traces (build/release)")
    parser.add_argument("--only", default="", help="only programs whose name matches this regular expression")
    parser.add_argument("--ways", default="", help="only ways of recording that match this regular expression")
    parser.add_argument("--top", type=int, default=10, help="sites to show per program (10)")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.quick else 5)
    return options


def real_python():
    """Finds the program itself, not a script that starts it, which would be measured too."""
    for path in ("/usr/bin/python3", sys.executable):
        if os.path.exists(path):
            return os.path.realpath(path)
    return sys.executable


def programs(folder):
    script, sql = os.path.join(folder, "work.py"), os.path.join(folder, "work.sql")
    with open(script, "w") as file:
        file.write(PYTHON)
    with open(sql, "w") as file:
        file.write(SQL)
    yield "python3", [real_python(), script], {"PYTHONMALLOC": "malloc"}
    yield "sqlite3", ["sqlite3", ":memory:", f".read {sql}"], {}
    includes = [f"-I{ROOT}", *(f"-I{ROOT}/{part}/include" for part in ("format", "writer", "reader"))]
    source = f"{ROOT}/reader/exchange/chrome/export_chrome.c"
    yield "clang -O1", ["clang", "-O1", "-g", "-D_GNU_SOURCE", *includes, "-c", source, "-o", f"{folder}/x.o"], {}
    yield "cc1plus -O1", cc1plus(folder), {}
    server = ["redis-server", "--port", "0", "--unixsocket", f"{folder}/redis", "--save", "", "--dir", folder]
    yield "redis", server, {}


def cc1plus(folder):
    """Returns the command of the compiler proper, which the driver prints and would start."""
    source = f"{folder}/x.cpp"
    with open(source, "w") as file:
        file.write(CPP)
    command = ["g++", "-###", "-O1", "-S", source, "-o", f"{folder}/x.s"]
    printed = subprocess.run(command, stderr=subprocess.PIPE, text=True) if shutil.which("g++") else None
    lines = [line for line in printed.stderr.splitlines() if "cc1plus" in line] if printed else []
    return shlex.split(lines[-1]) if lines else ["cc1plus"]


def run(command, environment):
    """Returns the CPU seconds of the command and its children, and the peak memory of the largest of them."""
    socket = command[command.index("--unixsocket") + 1] if "--unixsocket" in command else None
    load = subprocess.Popen(["sh", "-c", REDIS_LOAD, "load", socket], stdout=subprocess.DEVNULL) if socket else None
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=nothing, stderr=nothing, env={**os.environ, **environment}
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if load is not None:
        load.wait()
    if child.returncode != 0:
        sys.exit(f"{command[0]}: exit {child.returncode}: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ways(folder):
    for name, options in MODES:
        yield f"tracebed {name}", [TRACEBED, "record", "-f", "-o", f"{folder}/run.tbed", *options, "--"]
    if shutil.which("heaptrack"):
        yield "heaptrack, all frames", ["heaptrack", "-o", f"{folder}/heaptrack"]
        yield "heaptrack, not interpreted", ["heaptrack", "--raw", "-o", f"{folder}/heaptrack"]
    else:
        print("heaptrack is not installed: skipped", file=sys.stderr)


def trace_nbytes(folder):
    names = [name for name in os.listdir(folder) if name.startswith(("run.tbed", "heaptrack"))]
    total = sum(os.path.getsize(os.path.join(folder, name)) for name in names)
    for name in names:
        os.remove(os.path.join(folder, name))
    return total / 2**20


def measure(folder, command, environment, options):
    rows = {}
    chosen = [way for way in ways(folder) if re.search(options.ways, way[0])]
    for _ in range(options.rounds):
        for name, front in chosen:
            plain, plain_memory = run(command, environment)
            cost, memory = run([*front, *command], environment)
            size = trace_nbytes(folder)
            rows.setdefault(name, []).append((cost / plain, plain, cost, plain_memory, memory, size))
    return rows


def put_rows(program, rows):
    for name, measured in rows.items():
        ratios = sorted(row[0] for row in measured)
        plain, cost, plain_memory, memory, size = (statistics.median(row[i] for row in measured) for i in range(1, 6))
        print(
            f"| {program} | {name} | {plain:.3f} s | {cost:.3f} s | **{statistics.median(ratios):.2f}** | "
            f"{ratios[0]:.2f} | {ratios[-1]:.2f} | {plain_memory:.0f} MiB | {memory:.0f} MiB | {size:.1f} MiB |",
            flush=True,
        )


def put_sites(folder, program, command, environment, top):
    path = f"{folder}/sites.tbed"
    run([TRACEBED, "record", "-f", "-o", path, "--", *command], environment)
    report = subprocess.run(
        [TRACEBED, "report", "--allocations", f"--limit={top}", path], stdout=subprocess.PIPE, text=True, check=True
    )
    print(f"\n{program}, top {top} sites:\n")
    print("\n".join("    " + line for line in report.stdout.splitlines()))


def main(arguments):
    options = parse(arguments)
    load = os.getloadavg()[0]
    print(f"Load average at the start: {load:.1f}. {options.rounds} pairs.\n")
    print("| Program | Recorded | Plain | With it | Ratio | Min | Max | Memory plain | With it | Trace |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="allocations_bench.", dir=options.path or BUILD) as folder:
        chosen = [entry for entry in programs(os.path.abspath(folder)) if re.search(options.only, entry[0])]
        chosen = [entry for entry in chosen if shutil.which(entry[1][0])]
        for program, command, environment in chosen:
            put_rows(program, measure(os.path.abspath(folder), command, environment, options))
        for program, command, environment in chosen:
            put_sites(os.path.abspath(folder), program, command, environment, options.top)


if __name__ == "__main__":
    main(sys.argv[1:])
