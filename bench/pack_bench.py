#!/usr/bin/env python3
"""
Measures packed traces. One trace of each kind is recorded and packed; the first table has the bytes per event of its event
blocks and the size of the whole file, beside zstd and xz of the plain file; the second one how many plain bytes per second
are packed and unpacked, and the speed of 'tracebed report' on the packed file compared with the plain one.
bench/README.md describes the method.

    bench/pack_bench.py --make FOLDER           record the traces, and nothing else
    bench/pack_bench.py --from FOLDER           measure those that are there
    bench/pack_bench.py --profile FILE          take a profile of rustc as well

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "spec"), os.path.join(ROOT, "bench", "support")]
import coarse  # noqa: E402
import packed_decoder  # noqa: E402

# Bytes per event of event blocks: at most, with a clock that goes in steps of STEP_NS, as most did where the goals come from.
STEP_NS = 10
GOALS = {"C calls": 0.35, "Ruby calls": 0.75, "light allocations": 1.2, "allocations": 2.5, "macros": 1.6, "rustc": 2.7,
         "RTL log": 2.3}

CALLS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct node { uint32_t key; struct node *left, *right; };
static uint32_t chance = 1;
__attribute__((noinline)) uint32_t next_number(void) { return (chance = chance * 1664525 + 1013904223) >> 12; }
__attribute__((noinline)) struct node *node_new(uint32_t key)
{
    struct node *node = calloc(1, sizeof *node);
    node->key = key;
    return node;
}
__attribute__((noinline)) int is_before(const struct node *node, uint32_t key) { return key < node->key; }
__attribute__((noinline)) struct node *insert(struct node *node, uint32_t key)
{
    if (!node) return node_new(key);
    if (is_before(node, key)) node->left = insert(node->left, key);
    else node->right = insert(node->right, key);
    return node;
}
__attribute__((noinline)) int find(const struct node *node, uint32_t key)
{
    if (!node) return 0;
    return node->key == key || find(is_before(node, key) ? node->left : node->right, key);
}
__attribute__((noinline)) uint32_t sum(const struct node *node) { return node ? node->key + sum(node->left) + sum(node->right) : 0; }
int main(int argc, char **argv)
{
    uint32_t count = (uint32_t)atoi(argv[argc - 1]), found = 0;
    struct node *root = NULL;
    for (uint32_t i = 0; i < count; i++) {
        root = insert(root, next_number());
        found += (uint32_t)find(root, next_number());
        if (i % (count / 8) == 0) found += sum(root);
    }
    return found == 1;
}
"""

MACROS = r"""
#include <stdint.h>
#include <stdlib.h>
#include <tracebed/writer.h>
static uint32_t chance = 1;
static uint32_t next_number(void) { return (chance = chance * 1664525 + 1013904223) >> 12; }
static uint32_t parse(uint32_t size)
{
    TBED_SPAN("parse");
    uint32_t sum = 0;
    for (uint32_t i = 0; i < size % 7; i++) {
        TBED_SPAN("token");
        sum += next_number() % 100;
    }
    TBED_LOG("parsed %u bytes, checksum %u", size, sum);
    return sum;
}
static void request(uint32_t number)
{
    TBED_SPAN("request");
    uint32_t size = next_number() % 1000, sum = parse(size);
    TBED_LOG("request %u: %u of %u", number, sum, size);
    TBED_COUNTER("bytes", size);
}
int main(int argc, char **argv)
{
    if (argc != 3 || tbed_start(argv[1], NULL) != 0) return 1;
    for (uint32_t i = 0; i < (uint32_t)atoi(argv[2]); i++) request(i);
    tbed_stop();
    return 0;
}
"""

ALLOCATIONS = """
import ast, json
values = [{"key%d" % i: list(range(20)), "text": "x" * i} for i in range(1500)]
for _ in range(COUNT):
    json.loads(json.dumps(values))
    compile(open(ast.__file__).read(), "x", "exec")
"""

RUBY = """
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
words = %w[alpha beta gamma delta].each_with_index.map { |w, i| w * (i + 1) }
COUNT.times { |n| fib(10 + n % 5); words.sort_by(&:size).map(&:upcase).each { |w| w.sub("A", n.to_s).hash } }
"""


# ---- The traces ----

def run(*command, **environment):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})


def compile_c(folder, text, *flags):
    source, program = f"{folder}/program.c", f"{folder}/program"
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    run("cc", "-O2", source, "-o", program, *flags)
    return program


def make_calls(folder, out, scale):
    run(TRACEBED, "record", "--functions", "-o", out, "--", compile_c(folder, CALLS, "-finstrument-functions"), str(48000 // scale))


def make_ruby(folder, out, scale):
    script = f"{folder}/program.rb"
    with open(script, "w", encoding="ascii") as file:
        file.write(RUBY.replace("COUNT", str(1500 // scale)))
    run(TRACEBED, "record", "--ruby=none,calls", "-o", out, "--", "ruby", script)


def make_allocations(folder, out, scale, *options, count=10):
    script = f"{folder}/program.py"
    with open(script, "w", encoding="ascii") as file:
        file.write(ALLOCATIONS.replace("COUNT", str(count // scale)))
    run(TRACEBED, "record", *options, "-o", out, "--", os.path.realpath("/usr/bin/python3"), script, PYTHONMALLOC="malloc")


def make_light(folder, out, scale):
    make_allocations(folder, out, scale, "--light", count=30)


def make_stacks(folder, out, scale):
    make_allocations(folder, out, scale, "--stacks")


def make_macros(folder, out, scale):
    includes = [f"-I{ROOT}/{room}/include" for room in ("format", "writer")]
    run(compile_c(folder, MACROS, *includes, f"{BUILD}/libtracebed.a", "-lpthread"), out, str(250000 // scale))


def make_log(folder, out, scale):
    path, chance, ms, open_names = f"{folder}/program.log", 1, 0, [[] for _ in range(4)]
    with open(path, "w", encoding="ascii") as file:
        for number in range(1500000 // scale):
            chance = (chance * 1664525 + 1013904223) % 2 ** 32
            thread, what = chance >> 8 & 3, chance >> 12 & 7
            name, names = "svx (ss%d) ::Part%d::load" % (chance >> 24 & 7, chance >> 16 & 31), open_names[thread]
            ms += chance >> 28 == 0
            if what == 7:
                file.write("%06d %d | %s : value=%d\n" % (ms, thread + 1, name, number))
            elif names and (what > 3 or len(names) == 12):
                file.write("%06d %d } %s\n" % (ms, thread + 1, names.pop()))
            else:
                names.append(name)
                file.write("%06d %d { %s\n" % (ms, thread + 1, name))
    run(TRACEBED, "import", path, "-o", out)


MAKERS = {"C calls": make_calls, "Ruby calls": make_ruby, "light allocations": make_light, "allocations": make_allocations,
          "allocations, stacks": make_stacks, "macros": make_macros, "RTL log": make_log}


def trace_path(folder, name):
    return f"{folder}/{name.replace(',', '').replace(' ', '_')}.tbed"


def make_traces(folder, options):
    for name, maker in MAKERS.items():
        if not name.startswith(options.only) or name == "Ruby calls" and not shutil.which("ruby"):
            continue
        if not os.path.exists(trace_path(folder, name)):
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                maker(scratch, trace_path(folder, name), 10 if options.quick else 1)
    if options.profile and not os.path.exists(trace_path(folder, "rustc")):
        run(TRACEBED, "import", options.profile, "-o", trace_path(folder, "rustc"))


# ---- Sizes ----

def count_events(trace):
    listing = subprocess.Popen([TRACEBED, "dump", "--json", "--order=stream", trace], stdout=subprocess.PIPE)
    return sum(b'"tick":' in line for line in listing.stdout)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def compressed(trace, *command):
    """Returns the size of what a program makes of the trace, or None if it is not installed."""
    if not shutil.which(command[0]):
        return None
    child = subprocess.Popen([*command, "-c", trace], stdout=subprocess.PIPE)
    return sum(len(part) for part in iter(lambda: child.stdout.read(1 << 20), b""))


def each_packed(trace, packed, events):
    """Returns bytes per event of event blocks, plain and packed."""
    return [nbytes / max(events, 1) for nbytes in packed_decoder.event_sizes(read(packed), read(trace))]


def each_in_steps(trace, folder, events):
    """The same of the packed trace, if its clock went in steps of STEP_NS."""
    rounded, packed = f"{folder}/rounded.tbed", f"{folder}/rounded.packed.tbed"
    with open(rounded, "wb") as file:
        file.write(coarse.coarsen(read(trace), STEP_NS))
    run(TRACEBED, "pack", "-f", rounded, "-o", packed)
    each = each_packed(rounded, packed, events)[1]
    os.unlink(rounded)
    return each


def size_row(name, trace, packed, folder, with_xz):
    nbytes, events = os.path.getsize(trace), count_events(trace)
    plain, each = each_packed(trace, packed, events)
    in_steps, goal = each_in_steps(trace, folder, events), GOALS.get(name)
    goal = "" if goal is None else f" (<= {goal}: " + ("reached)" if in_steps <= goal else "**missed**)")
    sizes = [os.path.getsize(packed), compressed(trace, "zstd", "-3")]
    sizes += [compressed(trace, "zstd", "-19"), compressed(trace, "xz")] if with_xz else [None, None]
    ratios = "".join(f" | {nbytes / size:.1f}" if size else " | -" for size in sizes)
    return f"| {name} | {events / 1e6:.1f} M | {nbytes / 1e6:.1f} MB | {plain:.1f} | {each:.2f} | {in_steps:.2f}{goal}{ratios} |"


# ---- Speeds ----

def seconds(command, processors):
    """Returns the elapsed time of a command on the first processors."""
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, processors))
    return time.monotonic() - begin


def speed_cells(trace, packed, folder, processors, rounds):
    megabytes, times = os.path.getsize(trace) / 1e6, []
    threads = f"-j{len(processors)}"
    commands = ([TRACEBED, "pack", "-f", trace, "-o", f"{folder}/out.tbed"], [TRACEBED, "unpack", "-f", packed, "-o", f"{folder}/out.tbed"],
                [TRACEBED, "report", threads, trace], [TRACEBED, "report", threads, packed])
    for _ in range(rounds):
        times.append([seconds(command, processors) for command in commands])
    pack, unpack, plain, from_packed = (statistics.median(column) for column in zip(*times))
    ratio = statistics.median(row[2] / row[3] for row in times)
    return f" {megabytes / pack:.0f} | {megabytes / unpack:.0f} | {megabytes / plain:.0f} | {megabytes / from_packed:.0f} | {ratio:.2f} |"


def measure(folder, options):
    names = [name for name in (*MAKERS, "rustc") if name.startswith(options.only) and os.path.exists(trace_path(folder, name))]
    processors = sorted(os.sched_getaffinity(0))
    print(f"load average {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        packed = {name: f"{scratch}/{i}.tbed" for i, name in enumerate(names)}
        for name in names:
            run(TRACEBED, "pack", trace_path(folder, name), "-o", packed[name])
        if not options.speeds_only:
            print(f"| Trace | Events | Size | Bytes/event | Packed | In steps of {STEP_NS} ns | File: packed | zstd -3 | zstd -19 | xz |\n"
                  + "|---" * 10 + "|")
        for name in () if options.speeds_only else names:
            print(size_row(name, trace_path(folder, name), packed[name], scratch, not options.no_xz), flush=True)
        print("\n| Trace | Processors | pack, MB/s | unpack | report, plain | report, packed | Packed of plain |\n" + "|---" * 7 + "|")
        for name in names:
            for count in (1, 2)[:len(processors)]:
                cells = speed_cells(trace_path(folder, name), packed[name], scratch, processors[:count], options.rounds)
                print(f"| {name} | {count} |{cells}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures packed traces: their size, and how fast they are made and read.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, one round")
    parser.add_argument("--rounds", type=int, help="measure so often, and take the median (5)")
    parser.add_argument("--only", default="", help="only traces whose name begins with this")
    parser.add_argument("--path", default=BUILD, help=f"directory for the files ({BUILD})")
    parser.add_argument("--make", metavar="FOLDER", help="record the traces into FOLDER, and stop")
    parser.add_argument("--from", dest="folder", metavar="FOLDER", help="measure the traces in FOLDER")
    parser.add_argument("--profile", metavar="FILE", help="a profile of rustc")
    parser.add_argument("--no-xz", action="store_true", help="without zstd -19 and xz, which are slow")
    parser.add_argument("--speeds-only", action="store_true", help="without the first table")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    folder = options.make or options.folder or tempfile.mkdtemp(prefix="pack_bench.", dir=options.path)
    os.makedirs(folder, exist_ok=True)
    try:
        if not options.folder:
            make_traces(folder, options)
        if not options.make:
            measure(folder, options)
    finally:
        if not options.make and not options.folder:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
