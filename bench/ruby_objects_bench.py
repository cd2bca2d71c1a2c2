#!/usr/bin/env python3
"""
Compares what a full recording of a Ruby program says about a million living objects with what Ruby itself says: the size
with ObjectSpace.memsize_of, the class with obj.class, and the location with objspace. It also evaluates a million
strings, each under a name of its own, and bounds the memory that this takes. Exits with 1 if anything differs.

    bench/ruby_objects_bench.py [--count N] [--evals N]

The same program runs twice, because objspace's own allocations hide garbage collections from other tracers: recorded,
where it writes the address, size and class of each object, and with objspace, where it writes the location of each. The
trace is read by the independent decoder's functions (ruby_trace.py). Must be equal: everything. Not compared are objects
that Ruby made before the recording, such as literals.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "writer/capture/ruby/tests"))
from ruby_trace import RubyTrace, decoder

TRACEBED = ROOT / "build/release/tracebed"
SLOT, RESIZE = 40, 100 + 20

# Seventeen objects in each turn, of most types that Ruby has; many then grow, shrink or get instance variables.
OBJECTS = """
require "set"
require "objspace"
require "tracebed"
Plain, Four, Pair = Class.new, Struct.new(:a, :b, :c, :d), Struct.new(:a, :b)
module Nested
  class Deep
    def initialize(n) = n.times { |i| instance_variable_set("@v#{i}", i) }
    def make = [to_s, :sym.to_proc]
  end
end
LONG, RE = "long text " * 30, /(o)(n)/
def turn(i, later)
  plain = Plain.new
  (i % 12).times { |n| plain.instance_variable_set("@v#{n}", n) }
  string, list, table = "x" * (i % 300), Array.new(i % 40, i), (0..i % 20).to_h { |n| [n, n] }
  [string, list, table, plain, Four.new(i), Pair.new(i, nil), 3 ** (100 + i % 300), i * 0.3 + 1e300,
   [i.to_s, "literal"], Set.new([i, i + 1]), (i..i + 1), Time.now, Rational(i, 7), Nested::Deep.new(i % 9),
   later.new, LONG[i % 50, 200], RE.match(LONG)]
end
def change(row, i)
  row[0] << "grown" * (i % 9)
  row[1].push(*0..i % 30)
  row[2][:more] = i
  row[1].clear if i % 5 == 0
  row[0].instance_variable_set(:@more, i) if i % 7 == 0
  row[2].clear if i % 11 == 0
  row[13].instance_variable_set(:@grown, row[13].make)
end
"""
RUN = """
kept, later = [], Class.new
START
(COUNT / 17).times do |i|
  kept << turn(i, later)
  change(kept[i / 2], i) if i.even?
end
Later = later
GC.start
kept.each_with_index { |row, i| change(row, i) if i % 3 == 0 }
kept.flatten!(1)
STDERR.puts kept.size, GC.count
"""
RECORDED = """
sizes = kept.map { |object| ObjectSpace.memsize_of(object) }
Tracebed.stop
text = Kernel.instance_method(:to_s)
File.open("told", "w") do |out|
  kept.each_with_index { |object, i| out.puts "#{text.bind_call(object)[/0x\\h+/]} #{sizes[i]} #{object.class}" }
end
"""
TRACED = """
File.open("places", "w") do |out|
  kept.each { |object| out.puts "#{ObjectSpace.allocation_sourceline(object)} #{ObjectSpace.allocation_sourcefile(object)}" }
end
"""
EVALS = """
require "tracebed"
def resident = File.read("/proc/self/status").scan(/Rss(?:Anon|File):\\s+(\\d+)/).join(" ")
Tracebed.start("evals.tbed", allocations: :full) if ENV["RECORDED"]
COUNT.times do |i|
  eval("[1, 'a']", nil, "e#{i}.rb", i)
  puts resident if (i + 1) % (COUNT / 10) == 0
end
"""


def ruby(folder, code, count, **env):
    pathlib.Path(folder, "script.rb").write_text(code.replace("COUNT", str(count)), encoding="utf-8")
    environment = {**os.environ, "RUBYLIB": str(ROOT / "build/release/ruby"), "LC_ALL": "C.UTF-8", **env}
    return subprocess.run(["ruby", "script.rb"], cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def living(trace):
    """Returns {address: [size, id]} at the end, and the number of allocations."""
    live, count = {}, 0
    data = trace.trace.data
    for _, tag, id, second, at in trace.events_at():
        if tag == 5 and second >> 60 == 1:
            live[(second & (1 << 45) - 1) * 8] = [second >> 45 & 0x7FFF, id]
            count += 1
        elif tag == 5:
            live.pop(second & (1 << 60) - 1, None)
        elif tag == RESIZE:
            block = live.get(decoder.u64(data, at + 16))
            if block is not None:
                block[0] = decoder.u64(data, at + 24)
    return live, count


def compare(folder, count):
    """Returns the number of differences."""
    start = 'Tracebed.start("run.tbed", allocations: :full)'
    told = ruby(folder, OBJECTS + RUN.replace("START", start) + RECORDED, count)
    ruby(folder, OBJECTS + RUN.replace("START", "ObjectSpace.trace_object_allocations_start") + TRACED, count)
    trace = RubyTrace(f"{folder}/run.tbed")
    (live, allocation_count), found, wrong, places = living(trace), collections.Counter(), [], {}
    names = {id: decoder.name_of(trace.trace, name) for id, (_, name) in trace.types.items()}
    rows, lines = (pathlib.Path(folder, name).read_text(encoding="utf-8").splitlines() for name in ("told", "places"))
    for row, line in zip(rows, lines, strict=True):
        address, nbytes, name = row.split(" ", 2)
        number, path = line.split(" ", 1)
        block = live.get(int(address, 16))
        if block is None or number == "":
            found["from before the recording"] += (block is None) and number == ""
            if (block is None) != (number == ""):
                wrong.append(f"{row} {line}: {block}")
            continue
        size, id = block
        if id not in places:
            places[id] = trace.place(id)
        if (size, names.get(id), places[id]) != (int(nbytes), name, (path, int(number))):
            wrong.append(f"{row} {line}: {size} {names.get(id)} {places[id]}")
        found["equal in size, class, file and line"] += 1
        found["of them with more than a slot"] += size != SLOT
    collections_count = told.stderr.split()[-1]
    print(f"{len(rows):,} objects of {allocation_count:,} allocations, {collections_count} garbage collections:")
    for what, number in found.items():
        print(f"  {number - len(wrong) if what.startswith('equal') else number:,} {what}")
    print(f"  {len(wrong):,} different", *wrong[:20], sep="\n    ", flush=True)
    return len(wrong) + (found["equal in size, class, file and line"] < count * 9 // 10)


def evaluate(folder, count):
    """Returns 1 if memory grows with the number of strings."""
    for way, env in {"plain": {}, "recorded": {"RECORDED": "1"}}.items():
        told = [tuple(map(int, line.split())) for line in ruby(folder, EVALS, count, **env).stdout.splitlines()]
        print(f"{count:,} evals, {way}: MiB of resident memory after each tenth, anonymous",
              *(f"{anonymous / 1024:.1f}" for anonymous, _ in told), "and of files",
              *(f"{mapped / 1024:.1f}" for _, mapped in told))
    subprocess.run([TRACEBED, "verify", "evals.tbed"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    units = len(RubyTrace(f"{folder}/evals.tbed").units)
    print(f"  trace {pathlib.Path(folder, 'evals.tbed').stat().st_size / 2**20:.0f} MiB, {units:,} units")
    return int(told[-1][0] - told[1][0] > 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--count", type=int, default=1_100_000)
    parser.add_argument("--evals", type=int, default=1_000_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ruby-objects-") as folder:
        failed = compare(folder, chosen.count) if chosen.count else 0
        failed += evaluate(folder, chosen.evals) if chosen.evals else 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
