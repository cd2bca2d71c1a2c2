#!/usr/bin/env python3
"""
Measures what 50 spans put in by hand cost sqlite3, lz4 and ninja: in CPU time, wall-clock time, code and trace, while
nothing is recorded and while a trace is, compared with the plain program and with uftrace, in interleaved rounds of one
run. Then compares the counts of each function with uftrace's. The sources come from Debian (--fetch) and are patched in a
copy; see bench/real_programs/programs.py. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import dataclasses
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench", "real_programs"))
import programs  # noqa: E402
import spans_put  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get("TBED_BUILD", "build/release"))
TRACEBED = os.path.join(BUILD, "tracebed")
OURS = [f"-I{ROOT}/format/include", f"-I{ROOT}/writer/include"]
LIBRARY = [f"{BUILD}/libtracebed.a", "-lpthread"]
UFTRACE = ["uftrace", "record", "--no-libcall", "--no-event", "--no-sched", "--no-pager", "-b", "4m", "-d", "OUTPUT"]

# What each build adds to the compiler's flags.
BUILDS = {
    "plain": [],
    "spans": OURS,
    "fentry": ["-pg", "-mfentry", "-mnop-mcount", "-fno-pie", "-no-pie"],
    "pg": ["-pg"],
    "hooks": ["-finstrument-functions"],
}
CLOCK = r"""
#include <stdio.h>
#include <time.h>
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
int main(void)
{
    unsigned long sum = 0;
    double begin = now();
    for (int i = 0; i < 10000000; i++) {
#if defined(__x86_64__)
        sum += __builtin_ia32_rdtsc();
#else
        unsigned long ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        sum += ticks;
#endif
    }
    printf("%.3f %d\n", (now() - begin) / 1e7, sum == 1);
}
"""


def parse():
    parser = argparse.ArgumentParser(description="Measures the cost of 50 spans in sqlite3, lz4 and ninja.")
    parser.add_argument("--sources", default=f"{BUILD}/real_programs", help="the folder of unpacked sources and of builds")
    parser.add_argument("--fetch", action="store_true", help="get missing sources with 'apt-get source'")
    parser.add_argument("--build", action="store_true", help="only build the programs")
    parser.add_argument("--rounds", type=int, help="rounds (5, quick: 1)")
    parser.add_argument("--quick", action="store_true", help="one round, and no comparison of counts")
    parser.add_argument("--only", default="", help="only the program whose name contains this")
    parser.add_argument("--ways", default="", help="only ways whose label contains one of these words, separated by commas")
    parser.add_argument("--counts", action="store_true", help="only compare the counts")
    parser.add_argument("--path", help="directory for temporary traces (the folder of sources)")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.sources = os.path.abspath(options.sources)
    return options


# ---- Sources and builds ----


def call(command, folder, **more):
    found = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    if found.returncode != 0:
        sys.exit(f"real_programs_bench: {' '.join(command)}: exit {found.returncode}\n{found.stderr[-2000:]}")
    return found


def fetch(package, folder):
    """Gets the source package from where the machine gets its packages, with lists of its own."""
    parts, state = f"{folder}/apt/sources", f"{folder}/apt/lists"
    for path in (parts, f"{state}/partial", f"{folder}/apt/archives/partial"):
        os.makedirs(path, exist_ok=True)
    for path in ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"^(Types:.*|)\bdeb\b", r"\1deb-src", file.read(), flags=re.M)
            with open(f"{parts}/{os.path.basename(path).replace('sources.list', 'debian.list')}", "w", encoding="utf-8") as file:
                file.write(text)
    apt = ["apt-get", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={parts}"]
    apt += ["-o", f"Dir::State::Lists={state}", "-o", f"Dir::Cache={folder}/apt"]
    call([*apt, "update"], folder)
    call([*apt, "source", "--download-only", package], folder)
    archive = next(name for name in sorted(os.listdir(folder)) if re.match(rf"{package}_[^-]*\.orig\.tar\.\w+$", name))
    call(["tar", "xf", archive], folder)


def folder_of(options, program):
    folder = programs.folder_of(program, options.sources)
    if folder is None and options.fetch:
        fetch(program["package"], options.sources)
        folder = programs.folder_of(program, options.sources)
    if folder is None:
        return None
    if "configure" in program:
        call(["sh", "-c", program["configure"]], folder)
    if "write" in program:
        program["write"](folder)
    return folder


def source_of(program, name, path, folder):
    """The source to compile, which in the build with spans is a patched copy beside the original."""
    names = program["spans"].get(path)
    if name != "spans" or names is None:
        return path
    with open(f"{folder}/{path}", encoding="latin-1") as file:
        text = spans_put.with_spans(file.read(), names.split())
    stem, extension = os.path.splitext(path)
    copy = f"{stem}.tracebed{extension}"
    with open(f"{folder}/{copy}", "w", encoding="latin-1") as file:
        file.write(text)
    return copy


def build(program, name, folder):
    """Compiles the program in one way; returns its path and the object files."""
    made = f"{folder}/{program['name']}.{name}"
    objects = [f"{made}.{path.replace('/', '.')}.o" for path in program["sources"]]
    if os.path.exists(made) and (name != "spans" or os.path.getmtime(made) > os.path.getmtime(LIBRARY[0])):
        return made, objects
    for path, compiled in zip(program["sources"], objects):
        source = source_of(program, name, path, folder)
        found = call([program["compiler"], *program["flags"], *BUILDS[name], "-c", source, "-o", compiled], folder)
        if "tracebed/" in found.stderr or "tbed_" in found.stderr:
            print(f"{path}: a warning from the macros:\n{found.stderr}", file=sys.stderr)
    library = LIBRARY if name == "spans" else []
    call([program["compiler"], *BUILDS[name], *objects, *library, *program["libraries"], "-o", made], folder)
    return made, objects


def code_nbytes(objects):
    """The code, and everything else that is loaded, of these object files."""
    code = rest = 0
    for path in objects:
        for line in call(["size", "-A", path], "/").stdout.splitlines():
            cells = line.split()
            if len(cells) != 3 or not cells[0].startswith("."):
                continue
            if cells[0].startswith(".text"):
                code += int(cells[1])
            elif cells[0].startswith((".data", ".rodata", ".bss", ".tdata", ".tbss", ".eh_frame")):
                rest += int(cells[1])
    return code, rest


# ---- Runs ----


@dataclasses.dataclass
class Way:
    label: str
    build: str
    front: list  # of the command; OUTPUT is the trace
    environment: dict


def ways_of(program):
    names = [re.escape(name) for name in programs.names_of(program)]
    wanted = rf"^({'|'.join(names)})$"
    ways = [
        Way("plain", "plain", [], {}),
        Way("spans, not recorded", "spans", [], {}),
        Way("spans, recorded", "spans", [], {"TRACEBED": "OUTPUT"}),
    ]
    if shutil.which("uftrace") is None:
        print("uftrace is not installed (apt package uftrace): skipped", file=sys.stderr)
        return ways
    return ways + [
        Way("uftrace, these functions (`-P`)", "fentry", [*UFTRACE, "-P", wanted], {}),
        Way("uftrace, all functions (`-pg`)", "pg", UFTRACE, {}),
    ]


def nbytes_of(path):
    """What the trace takes on disk."""
    if os.path.isfile(path):
        return os.stat(path).st_blocks * 512
    return sum(os.stat(os.path.join(top, name)).st_blocks * 512 for top, _, names in os.walk(path) for name in names)


def remove(path):
    for each in (path, path + ".old"):
        if os.path.isdir(each):
            shutil.rmtree(each)
        elif os.path.exists(each):
            os.unlink(each)


@dataclasses.dataclass
class Taken:
    cpu: float
    wall: float
    nbytes: int


def run(way, made, program, folder):
    """Runs the program; the trace stays."""
    output = f"{folder}/output"
    for path in (output, f"{folder}/work.db"):
        remove(path)
    command = [word.replace("OUTPUT", output) for word in [*way.front, made, *program["arguments"]]]
    environment = os.environ | {name: text.replace("OUTPUT", output) for name, text in way.environment.items()}
    begin = time.monotonic()
    with open(f"{folder}/printed", "wb") as printed:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begin
    if child.returncode != 0:
        with open(f"{folder}/printed", encoding="utf-8", errors="replace") as printed:
            sys.exit(f"real_programs_bench: {way.label}: exit {child.returncode}: {printed.read()[-2000:]}")
    return Taken(usage.ru_utime + usage.ru_stime, wall, nbytes_of(output))


def clock_ns(folder):
    path = f"{folder}/clock"
    if not os.path.exists(path):
        subprocess.run(["gcc", "-O2", "-xc", "-", "-o", path], input=CLOCK, text=True, check=True)
    return float(call([path], folder).stdout.split()[0])


# ---- Reading the traces ----


def our_counts(output):
    """Calls by function, and the number of dropped events."""
    text = call([TRACEBED, "report", "--csv", "--limit=0", "--columns=count,name", output], "/").stdout
    rows = list(csv.reader(text.splitlines()))
    return {row[-1]: int(row[0]) for row in rows[1:]}


def uftrace_counts(output):
    found = call(["uftrace", "report", "--no-pager", "-f", "call", "-d", output], "/")
    counts = {}
    for line in found.stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+(\S.*)$", line)
        if match:
            counts[re.sub(r"\(.*|::cxx11$|\.(constprop|isra|part|cold)[.\d]*", "", match[2]).strip()] = int(match[1])
    return counts, re.findall(r"LOST (\d+)", found.stdout + found.stderr)


def count_of(counts, name):
    """The calls of all functions of that name, also in a namespace that has none."""
    return sum(count for each, count in counts.items() if each == name or each.endswith("::" + name))


def compare_counts(program, folder, work):
    """Prints how our counts of each function differ from those of uftrace, which sees every call by the compiler's hooks."""
    ours_made, _ = build(program, "spans", folder)
    theirs_made, _ = build(program, "hooks", folder)
    run(Way("spans, recorded", "spans", [], {"TRACEBED": "OUTPUT"}), ours_made, program, work)
    ours = our_counts(f"{work}/output")
    names = programs.names_of(program)
    wanted = rf"^(_GLOBAL__N_1::)?({'|'.join(re.escape(name) for name in names)})(::cxx11)?$"
    run(Way("uftrace", "hooks", [*UFTRACE, "-F", wanted, "-D", "1"], {}), theirs_made, program, work)
    theirs, lost = uftrace_counts(f"{work}/output")
    rows = [(name, count_of(ours, name), count_of(theirs, name)) for name in sorted(names)]
    different = [row for row in rows if row[1] != row[2]]
    print(f"{program['name']}: {sum(row[1] for row in rows):,} calls of {len(names)} functions; uftrace lost {', '.join(lost) or 'nothing'}; "
          f"{len(different)} counts differ from uftrace's")  # fmt: skip
    for name, our, their in different:
        print(f"    {name}: {our:,}, uftrace {their:,}")


# ---- Results ----


CODE_HEAD = ["Program", "Sites", "Copies", "Code, plain", "With spans", "Per site", "Per copy", "Other bytes per site"]


def copies_of(objects):
    """How often the sites are in the code: the compiler copies them with the functions that it inlines."""
    calls = 0
    for path in objects:
        found = subprocess.run(["objdump", "-d", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        calls += len(re.findall(r"\t(?:call|jmp) .*<tbed_begin_default[.\w]*>", found))
    return calls


def put_code(program, folder):
    plain, plain_rest = code_nbytes(build(program, "plain", folder)[1])
    objects = build(program, "spans", folder)[1]
    code, rest = code_nbytes(objects)
    sites, copies = len(programs.names_of(program)), copies_of(objects)
    cells = [program["name"], sites, copies, f"{plain:,}", f"{code:,}", f"{(code - plain) / sites:.0f}"]
    cells += [f"{(code - plain) / max(sites, copies):.0f}", f"{(rest - plain_rest) / sites:.0f}"]
    print("| " + " | ".join(map(str, cells)) + " |")


def measure(options, program, folder, work):
    words = options.ways.split(",")
    ways = [way for way in ways_of(program) if way.label == "plain" or any(word in way.label for word in words)]
    made = {way.label: build(program, way.build, folder)[0] for way in ways}
    rows, clocks, events = {way.label: [] for way in ways}, [], {}
    for turn in range(options.rounds):
        clocks.append(clock_ns(work))
        for way in ways if turn % 2 == 0 else ways[::-1]:
            rows[way.label].append(run(way, made[way.label], program, work))
            if turn == 0 and way.build != "plain" and os.path.exists(f"{work}/output"):
                events[way.label] = events_of(way, f"{work}/output")
            remove(f"{work}/output")
    for way in ways:
        put_row(program, way, rows, events.get(way.label), statistics.median(clocks))


def events_of(way, output):
    """The calls in a trace, and what its tool says was lost."""
    if way.build == "spans":
        return sum(our_counts(output).values()), our_losses(output)
    counts, lost = uftrace_counts(output)
    return sum(counts.values()), ", ".join(lost) or "–"


def our_losses(output):
    found = re.findall(r"([\d,]+) events? (?:were )?dropped", call([TRACEBED, "info", output], "/").stdout)
    return ", ".join(found) or "–"


def put_row(program, way, rows, events, clock):
    taken, plain = rows[way.label], rows["plain"]
    median = {name: statistics.median(getattr(each, name) for each in taken) for name in ("cpu", "wall", "nbytes")}
    ratios = sorted(each.cpu / base.cpu for each, base in zip(taken, plain))
    walls = statistics.median(each.wall / base.wall for each, base in zip(taken, plain))
    cells = [program["name"], way.label, f"{median['cpu']:.3f} s"]
    cells += [f"**{statistics.median(ratios):.3f}** ({ratios[0]:.3f}–{ratios[-1]:.3f})", f"{median['wall']:.3f} s", f"{walls:.2f}"]
    if events is None:
        cells += ["–"] * 5
    else:
        calls, lost = events
        beyond = statistics.median(each.cpu - base.cpu for each, base in zip(taken, plain)) * 1e9 / (2 * calls)
        cells += [f"{calls * 2:,}", f"{beyond:.1f} ns = {beyond / clock:.2f} clocks", f"{median['nbytes'] / 1e6:.1f} MB",
                  f"{median['nbytes'] / calls / 2:.2f}", lost]  # fmt: skip
    print("| " + " | ".join(cells) + " |", flush=True)


HEAD = ["Program", "", "CPU", "of plain", "Wall", "of plain", "Events", "CPU per event", "Trace", "Bytes/event", "Lost"]


def main():
    options = parse()
    os.makedirs(options.sources, exist_ok=True)
    chosen = [program for program in programs.ALL if options.only in program["name"]]
    chosen = [(program, folder_of(options, program)) for program in chosen]
    for program, folder in chosen:
        if folder is None:
            print(f"the source of {program['name']} is missing: --fetch gets it with 'apt-get source'", file=sys.stderr)
    chosen = [(program, folder) for program, folder in chosen if folder is not None]
    for program, folder in chosen:
        for name in BUILDS:
            build(program, name, folder)
    if options.build:
        return
    with tempfile.TemporaryDirectory(prefix="real_programs_bench.", dir=options.path or options.sources) as work:
        for program, _ in chosen:
            if program["prepare"] is not None:
                program["prepare"](work)
        if not options.counts:
            print(f"{options.rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
            print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
            for program, folder in chosen:
                measure(options, program, folder, work)
            print(f"\n| {' | '.join(CODE_HEAD)} |\n|{'---|' * len(CODE_HEAD)}")
            for program, folder in chosen:
                put_code(program, folder)
            print()
        if not options.quick:
            for program, folder in chosen:
                compare_counts(program, folder, work)


if __name__ == "__main__":
    main()
