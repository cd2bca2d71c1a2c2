"""
Tests of the Ruby extension. Skipped if Ruby is not installed, or if its headers were missing when the tree was built.

    ruby_test.py [--asan] [NAME...]      runs only these tests; --asan uses the extension of the asan variant

Check: ruby
Check: ruby-asan --asan
Needs: $b/ruby.stamp build/asan/ruby.stamp $b/tracebed
Slow: runs Ruby some hundred times

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4, "ninja", "checks"))
import cases
from cases import BUILD, ROOT, TRACEBED, need
from ruby_trace import RubyTrace, decoder

# AddressSanitizer's runtime must be the first library that a process loads. The tool is built without it.
ASAN = {}
NOT_WITH_ASAN = ("test_record", "test_cleared_environment", "test_programs", "test_gem", "test_other_versions") # the tool finds its own extension; a gem is compiled as Ruby was
BEGIN, END, INSTANT, PAIR = 1, 2, 3, 5
COMPARED_MIN = 1_000_000
PARTS = ("net", "optparse", "uri", "csv", "psych", "reline")


def run(command, folder, status=0, env=None, **more):
    asan = ASAN if command[0] == "ruby" else {}
    environment = {**os.environ, "RUBYLIB": str(BUILD / "ruby"), "LC_ALL": "C.UTF-8", **asan, **(env or {})}
    for name in ("RUBYOPT", "TRACEBED_RUBY_FILE"):
        if name not in (env or {}):
            environment.pop(name, None)
    result = subprocess.run([str(word) for word in command], cwd=folder, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    need(result.returncode == status, f"{command[0]}: status {result.returncode}, not {status}:\n{result.stdout[-3000:]}")
    return result.stdout


def ruby(folder, code, **more):
    pathlib.Path(folder, "script.rb").write_text(code, encoding="utf-8")
    return run(["ruby", "script.rb"], folder, **more)


def verify(folder, name="run.tbed"):
    return run([TRACEBED, "verify", name], folder)


# ---- Locations ----

RDOC = """
require "tracebed"
require "rdoc/rdoc"
Tracebed.start("run.tbed", check: "counts", exact: %s)
RDoc::RDoc.new.document(["--ri", "--quiet", "--op", "ri", *%s])
Tracebed.stop
"""


def compare_places(folder, least):
    """Each location, resolved from the file alone, equals what Ruby's public functions reported for its allocations."""
    trace, told, wrong, classes = RubyTrace(f"{folder}/run.tbed"), collections.Counter(), [], collections.Counter()
    for row in pathlib.Path(folder, "counts").read_text(encoding="utf-8", errors="replace").splitlines():
        location, line, count, path = row.split("\t")
        location, line, count = int(location), int(line), int(count)
        told[location] += count
        place = trace.place(location)
        if place is None:
            classes["no Ruby frame" if (path, line) == ("", 0) else "unknown"] += count
            wrong += [] if (path, line) == ("", 0) else [row]
        elif place == (path, line):
            classes["line 0" if line == 0 else "equal"] += count
        else:
            wrong.append(f"{row}: {place}")
    stored = collections.Counter(id for _, tag, id, _ in trace.events() if tag == INSTANT)
    need(not wrong, f"{len(wrong)} places differ:\n" + "\n".join(wrong[:20]))
    need(stored == told, "the events are not those that were compared")
    need(sum(told.values()) >= least, f"only {sum(told.values())} allocations")
    return ", ".join(f"{name}: {count:,}" for name, count in classes.items())


def test_places(folder):
    top = run(["ruby", "-e", 'print RbConfig::CONFIG["rubylibdir"]'], folder)
    ruby(folder, RDOC % ("true", [f"{top}/{part}" for part in PARTS]))
    verify(folder)
    return compare_places(folder, COMPARED_MIN)


def test_places_by_public_functions(folder):
    top = run(["ruby", "-e", 'print RbConfig::CONFIG["rubylibdir"]'], folder)
    ruby(folder, RDOC % ("false", [f"{top}/optparse"]))
    verify(folder)
    return compare_places(folder, 10_000)


EVALS = """
require "tracebed"
Tracebed.start("run.tbed", check: "counts")
3000.times { |i| eval("[1]\\n\\n{}", nil, "same") }
500.times { |i| eval("\\n" * (i % 50) + "Object.new\\n[]", nil, "other\#{i % 7}") }
300.times { |i| Object.class_eval("def m\#{i}() = [\#{i}, {}]\\n"); m = method("m\#{i}"); m.call; Object.send(:remove_method, "m\#{i}") }
10.times { GC.start }
GC.compact if GC.respond_to?(:compact)
500.times { |i| eval("\\n" * (i % 60) + "Object.new\\n[]", nil, "other\#{i % 7}") }
Tracebed.stop
""".replace("\\#", "#")


def test_eval(folder):
    """Sequences are created and freed; equal ones share a unit."""
    ruby(folder, EVALS)
    told = compare_places(folder, 4000)
    units = RubyTrace(f"{folder}/run.tbed").units
    need(sum(unit.path == "same" for unit in units) == 1, "an eval in a loop has more than one unit")
    return told


MANY_EVALS = """
require "tracebed"
def rss = File.read("/proc/self/status")[/VmRSS:\\s+(\\d+)/, 1].to_i
Tracebed.start("run.tbed")
40_000.times { |i| eval("[1, 'a']", nil, "first#{i}.rb", i) }
before = rss
120_000.times { |i| eval("[1, 'a']", nil, "e#{i}.rb", i) }
GC.start
print rss - before
Tracebed.stop
"""


def test_many_evals(folder):
    """Code that comes from no file, under ever new names, has a bounded number of units."""
    # AddressSanitizer keeps freed memory for a while, which is not meant here.
    options = ASAN.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
    grown = int(ruby(folder, MANY_EVALS, env={"ASAN_OPTIONS": options}))
    names = collections.Counter(unit.path for unit in RubyTrace(f"{folder}/run.tbed").units)
    need(32_000 < len(names) < 33_000 and names["eN.rb"] == 1, f"{len(names)} names")
    need(grown < 6000, f"{grown} KiB more after 120,000 evals")


# ---- The collector ----

PAUSES = """
require "tracebed"
Tracebed.start("run.tbed")
3.times { GC.start }
300_000.times { [1] }
Tracebed.stop
"""


def test_pauses(folder):
    ruby(folder, PAUSES)
    verify(folder)
    rows = {row["name"]: row for row in json.loads(run([TRACEBED, "report", "--json", "run.tbed"], folder))["spans"]}
    need(rows["major GC: marking"]["count"] >= 3 and rows["minor GC: marking"]["count"] >= 1, str(rows))
    need(rows["GC pause"]["count"] >= 4, str(rows))
    run([TRACEBED, "export", "--to=firefox", "--no-instants", "-o", "run.json", "run.tbed"], folder)
    threads = {thread["name"]: thread for thread in json.loads(pathlib.Path(folder, "run.json").read_text())["threads"]}
    names, markers = threads["garbage collector"]["stringArray"], threads["garbage collector"]["markers"]
    pauses = [end - begin for name, begin, end in zip(markers["name"], markers["startTime"], markers["endTime"]) if names[name] == "GC pause"]
    need(len(pauses) == rows["GC pause"]["count"] and abs(sum(pauses) * 1e6 - rows["GC pause"]["total_ns"]) < 1000, f"markers: {pauses}")


# ---- Allocations and frees ----

FULL = """
require "tracebed"
KEPT, OLD = [], Array.new(20_000) { Object.new }
def keep(n) = n.times { KEPT << Object.new }
def drop(n) = n.times { Object.new }
Tracebed.start("run.tbed", allocations: :full, overwrite: true, exact: EXACT) do
  OLD.clear
  keep 1000
  drop 50_000
  300.times { KEPT.pop }
  4.times { GC.start }
end
"""


def live_places(trace):
    """Returns {address: location} of the blocks alive at the end, and the number of frees of blocks not alive."""
    live, strange = {}, 0
    for _, tag, id, second in trace.events():
        if tag == PAIR and second >> 60 == 1:
            address, nbytes = (second & (1 << 45) - 1) * 8, second >> 45 & 0x7FFF
            need(nbytes >= 40, f"an object of {nbytes} bytes")
            live[address] = trace.place(id)
        elif tag == PAIR:
            strange += live.pop(second & (1 << 60) - 1, "strange") == "strange"
    return live, strange


def test_full(folder):
    """Frees are found by mark bits or, in Ruby versions with unknown internals, by a hook, which also reports older
    objects."""
    for exact in ("true", "false"):
        ruby(folder, FULL.replace("EXACT", exact))
        verify(folder)
        live, strange = live_places(RubyTrace(f"{folder}/run.tbed"))
        kept = sum(place is not None and place[1] == 4 for place in live.values())
        dropped = sum(place is not None and place[1] == 5 for place in live.values())
        need(700 <= kept <= 720 and dropped <= 20,
             f"living at the end: {kept} of 700 kept ones, {dropped} dropped ones")
        need(strange == 0 if exact == "true" else strange > 15_000, f"{strange} frees of older objects")
        told = json.loads(run([TRACEBED, "report", "--json", "run.tbed"], folder))["allocations"]
        need(told["live_bytes"] == 40 * len(live), f"{told['live_bytes']} of {40 * len(live)} bytes")
        report = run([TRACEBED, "report", "run.tbed"], folder)
        need(re.search(r"50,\d{3} .* (block in )?(Object#)?drop .*script\.rb:5", report), report)


SIZES = """
require "tracebed"
require "objspace"
require "set"
Plain, Four = Class.new, Struct.new(:a, :b, :c, :d)
Tracebed.start("run.tbed", allocations: :full)
later = Class.new
named = Array.new(1000) { later.new }
Later = later
kept = 8000.times.flat_map { |i|
  plain = Plain.new
  (i % 12).times { |n| plain.instance_variable_set("@v#{n}", n) }
  ["x" * (i % 300), Array.new(i % 40, i), (0..i % 20).to_h { |n| [n, n] }, plain, Four.new(i), 3 ** (100 + i % 300), i * 0.3 + 1e300,
   [i.to_s, "literal"], Set.new([i, i + 1]), /a#{i}/, (i..i + 1), Time.now, Rational(i, 7)] }
def kept.x = 1
GC.start
kept.each_slice(13).with_index { |row, i| row[0] << "grown" * (i % 9); row[1].push(*0..i % 30); row[2][:more] = i; row[1].clear if i % 5 == 0 }
kept.concat(named)
sizes = kept.map { |object| ObjectSpace.memsize_of(object) }
Tracebed.stop
File.open("sizes", "w") do |out|
  kept.each_with_index { |object, i| out.puts "#{ObjectSpace.dump(object)[/0x\\h+/]} #{sizes[i]} #{object.class}" }
end
"""


def live_sizes(folder):
    """Returns {address: [bytes, id]} at the end, as the independent decoder lists it, and its trace."""
    sizes = {}
    trace = decoder.open_trace(decoder.load(f"{folder}/run.tbed"), lambda *_, **__: None)
    for event in decoder.list_trace(trace):
        kind, address = event.get("type"), event.get("address")
        if kind == "alloc":
            sizes[address] = [event["size"], event["id"]]
        elif kind == "resize" and address in sizes:
            sizes[address][0] = event["size"]
        elif kind == "free" and "args" not in event:
            sizes.pop(address, None)
        elif kind == "free":
            distance, bits = event["args"][0]["value"], bytes.fromhex(event["args"][1]["value"])
            for i in range(8 * len(bits)):
                if bits[i // 8] >> i % 8 & 1:
                    sizes.pop(address + distance * i, None)
    return sizes, trace


def test_sizes(folder):
    """The size of each object that lives at the end is what ObjectSpace.memsize_of returns, also if it has changed, and
    its class is its class."""
    ruby(folder, SIZES)
    verify(folder)
    (sizes, trace), types = live_sizes(folder), RubyTrace(f"{folder}/run.tbed").types
    wrong, grown, count = [], 0, 0
    for row in pathlib.Path(folder, "sizes").read_text().splitlines():
        address, nbytes, name = row.split(" ", 2)
        if int(address, 16) not in sizes:
            continue  # Ruby allocated it before
        told, id = sizes[int(address, 16)]
        count += 1
        grown += told > 40
        class_name = decoder.name_of(trace, types[id][1])
        if (told, class_name) != (int(nbytes), name):
            wrong.append(f"{row}: {told} {class_name}")
    need(not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20]))
    need(count >= 100_000 and grown > 40_000, f"only {count} objects, {grown} of more than a slot")
    return f"{count:,} objects, {grown:,} with more than a slot"


BIG = """
require "tracebed"
Tracebed.start("run.tbed", allocations: :full)
text = "x" * 100_000_000
text = nil
GC.start
list = [1]
300_000.times { list << 1 }
GC.start
Tracebed.stop
"""


def test_big(folder):
    """What an object owns counts, and does not count any more when it is gone."""
    ruby(folder, BIG)
    told = json.loads(run([TRACEBED, "report", "--json", "run.tbed"], folder))["allocations"]
    need(100_000_000 < told["peak_bytes"] < 103_000_000, f"peak {told['peak_bytes']}")
    need(2_400_000 < told["live_bytes"] < 4_000_000, f"live {told['live_bytes']}")


RETAINED = """
require "tracebed"
class Early; end
class Late; end
class Gone; end
Tracebed.start("run.tbed", allocations: :full)
GC.disable
early = Array.new(100) { Early.new }
Array.new(50) { Gone.new }
at_first = GC.count
GC.enable
3.times { GC.start }
GC.disable
late = Array.new(200) { Late.new }
at_last = GC.count
GC.enable
GC.start
GC.disable
fresh = Array.new(300) { Late.new }
Tracebed.stop
print at_last - at_first
"""


def retained(folder, *options):
    rows = json.loads(run([TRACEBED, "report", "--by=class", "--json", *options, "run.tbed"], folder))["sites"]
    return {row["name"]: (row["retained_count"], row["retained_bytes"], row["generation"]) for row in rows
            if row["name"] in ("Early", "Late", "Gone")}


def test_retained(folder):
    """Objects that survived collections, in the generation that GC.count gives."""
    between = int(ruby(folder, RETAINED))
    told = retained(folder, "--retained")
    first = told["Early"][2]
    need(told == {"Early": (100, 4000, first), "Late": (200, 8000, first + between)}, f"{told}, {between} between")
    need(retained(folder, "--retained=2") == {"Early": (100, 4000, first)}, "survivors of one collection")
    need(retained(folder, f"--retained={between + 2}") == {}, "survivors of more collections than there were")


STACKS = """
require "tracebed"
class Deep
  def self.down(n) = n == 0 ? new.leaf : down(n - 1)
  def leaf = [1].map { |x|
    Object.new }
end
module Mixed
  def mixed = Deep.new.leaf
end
Object.include(Mixed)
Tracebed.start("run.tbed", allocations: :KIND, stacks: 8)
3.times { Deep.down(2) }
Deep.down(20)
mixed
Tracebed.stop
"""


def test_stacks(folder):
    """Stacks have their frames in order, methods have their classes, and a cut stack says so."""
    for kind in ("light", "full"):
        ruby(folder, STACKS.replace("KIND", kind))
        verify(folder)
        folded = run([TRACEBED, "flame", "--folded", "--weight=bytes", "run.tbed"], folder) if kind == "full" else ""
        os.remove(f"{folder}/run.tbed")
    lines = [line.split(";") for line in folded.splitlines() if "block in Deep#leaf" in line]
    frames = [[re.sub(" .*", "", re.sub("block in ", "", frame)) for frame in line] for line in lines]
    need(any(line[-5:] == ["Deep.down", "Deep.down", "Deep.down", "Deep#leaf", "Deep#leaf"] and line[1] == "<main>"
             for line in frames), folded)
    need(any(line[1].startswith("[stack cut at 8 frames]") and len(line) == 10 for line in lines), folded)
    need(any(line[-3:] == ["Mixed#mixed", "Deep#leaf", "Deep#leaf"] for line in frames), folded)


BESIDE = """
require "tracebed"
require "objspace"
ObjectSpace.trace_object_allocations_start
Tracebed.start("run.tbed", allocations: :full)
5.times { list = Array.new(100_000) { Object.new }; list = nil }
GC.stress = true
30.times { Object.new }
GC.stress = false
5.times { list = Array.new(100_000) { Object.new }; list = nil; GC.start }
GC.compact
Tracebed.stop
"""


def test_full_beside_objspace(folder):
    """Another tracer's hook allocates; Ruby calls no hook for a collection that begins there, and frees pages."""
    ruby(folder, BESIDE)
    verify(folder)
    live, strange = live_places(RubyTrace(f"{folder}/run.tbed"))
    need("was not seen" in run([TRACEBED, "dump", "run.tbed"], folder), "none was missed")
    need(strange == 0, f"{strange:,} frees of what was given up")
    return f"{len(live):,} of 1,000,000 given up"


OBJECTS = """
require "tracebed"
require "objspace"
ObjectSpace.trace_object_allocations_start
Tracebed.start("run.tbed", objects: true)
require "set"
list = 2000.times.map { |i| [i.to_s, [i], eval("Object.new", nil, "evaled", 7)] }
50_000.times { Object.new }
GC.start
again = 5000.times.map {
  "x" + "y" }
wrong = 0
check = lambda { |object|
  here = [Tracebed.allocation_sourcefile(object), Tracebed.allocation_sourceline(object)]
  wrong += 1 if here != [ObjectSpace.allocation_sourcefile(object), ObjectSpace.allocation_sourceline(object)] }
list.flatten.each(&check)
list.each(&check)
again.each(&check)
ObjectSpace.trace_object_allocations_stop
before = list.map { |row| Tracebed.allocation_sourceline(row) }
GC.compact
abort "compaction" if list.map { |row| Tracebed.allocation_sourceline(row) } != before
abort "an integer" unless Tracebed.allocation_sourcefile(1).nil?
abort "an older object" unless Tracebed.allocation_sourcefile(Object).nil?
Tracebed.stop
abort "after the end" unless Tracebed.allocation_sourcefile(list).nil?
abort "#{wrong} differ" if wrong > 0
print "fine"
"""


def test_objects(folder):
    need(ruby(folder, OBJECTS) == "fine", "not fine")


# ---- Compaction: objects that the extension knows by address move ----

MOVED_OBJECTS = """
require "tracebed"
require "objspace"
def addresses(list) = list.map { |object| ObjectSpace.dump(object)[/0x\\h+/] }
Tracebed.start("run.tbed", allocations: nil, objects: true)
holes = Array.new(200_000) { Object.new }
kept = 20_000.times.map {
  Object.new }
before = addresses(kept)
holes.select!.with_index { |_, i| i % 10 == 0 }
2.times { GC.start }
GC.compact
moved = before.zip(addresses(kept)).count { |old, new| old != new }
abort "only #{moved} were moved" if moved < 1000
wrong = kept.count { |object| Tracebed.allocation_sourceline(object) != 8 }
abort "#{wrong} of #{moved} that were moved have another's line" if wrong > 0
print moved
"""


def test_moved_objects(folder):
    """Objects move to slots of freed objects, of which nothing may remain."""
    return f"{int(ruby(folder, MOVED_OBJECTS)):,} moved"


MOVED_FULL = """
require "tracebed"
class Marker; end
Tracebed.start("run.tbed", allocations: :full)
holes = Array.new(200_000) { Object.new }
kept = Array.new(20_000) { Object.new }
holes.select!.with_index { |_, i| i % 10 == 0 }
2.times { GC.start }
GC.compact
2.times { GC.start }
Marker.new
holes = kept = nil
2.times { GC.start }
Tracebed.stop
"""


def test_moved_full(folder):
    """A moved object stays alive, and its free is recorded."""
    ruby(folder, MOVED_FULL)
    verify(folder)
    trace, frees, before = RubyTrace(f"{folder}/run.tbed"), 0, None
    for _, tag, id, second in trace.events():
        if tag == PAIR and second >> 60 == 2:
            frees += 1
        elif tag == PAIR and (trace.place(id) or ("", 0))[1] == 11:
            before = frees
    need(180_000 <= before < 181_000, f"{before:,} frees while 40,000 of 220,000 live")
    need(220_000 <= frees + 100, f"{frees:,} frees of 220,000")


MOVED_OWNERS = """
require "tracebed"
def mapped = [3, 4].map { |x| x.to_s }
def body = [mapped, Fiber.yield, mapped]
def make(name) = Object.const_set(name, Struct.new(:a)).members
Tracebed.start("run.tbed", allocations: nil, calls: true)
holes = Array.new(200_000) { Object.new }
fibers = 400.times.map { Fiber.new { body } }
fibers.each(&:resume)
holes.select!.with_index { |_, i| i % 10 == 0 }
2000.times { |i| make("A#{i}") }
fibers = fibers.select.with_index { |fiber, i| i.odd? || fiber.resume.nil? }
1000.times { |i| Object.send(:remove_const, "A#{2 * i}") }
2.times { GC.start }
GC.compact
GC.disable
2000.times { |i| make("B#{i}") }
1000.times { |i| Object.const_get("A#{2 * i + 1}").members }
GC.enable
2.times { GC.start }
fibers.each(&:resume)
Tracebed.stop
"""


def test_moved_owners(folder):
    """Moves classes whose methods are called, and fibers in the middle of a method, which their stacks mostly pin."""
    ruby(folder, MOVED_OWNERS)
    trace, names, inside = RubyTrace(f"{folder}/run.tbed"), collections.Counter(), collections.defaultdict(list)
    for stream, tag, id, _ in trace.events():
        unit = trace.unit_of(id)
        name = unit.name if unit else trace.text(id)
        if tag == BEGIN and name == "Object#body":
            inside[stream].append(0)
        elif tag == BEGIN and name == "Object#mapped":
            inside[stream][-1:] = [count + 1 for count in inside[stream][-1:]]
        elif tag == END and name == "Object#body":
            count = inside[stream].pop()
            need(count == 2, f"stream {stream}: a fiber's method has {count} of 2 calls in it")
        names[name] += tag == BEGIN
    wanted = {f"A{i}.members": 1 + i % 2 for i in range(2000)} | {f"B{i}.members": 1 for i in range(2000)}
    wrong = {name: names[name] for name, count in wanted.items() if names[name] != count}
    need(not wrong, f"{len(wrong)} methods have another's name: {str(wrong)[:300]}")
    need(names["Object#body"] == 400 and names["Object#mapped"] == 800, f"{names['body']} fibers, {names['mapped']} calls")


MOVED_SEQUENCES = """
require "tracebed"
def define(i, lines) = Object.class_eval("\\n" * lines + "def m#{i} = [#{i}, {}]\\n", "file#{i % 50}")
Tracebed.start("run.tbed", check: "counts")
4000.times { |i| define(i, i % 97); send("m#{i}") }
2000.times { |i| Object.send(:remove_method, "m#{2 * i + 1}") }
2.times { GC.start }
GC.compact
filled = 200_000.times.map { Object.new }
2000.times { |i| Object.send(:remove_method, "m#{2 * i}") }
3.times { GC.start }
4000.times { |i| define(i, i * 7 % 89); send("m#{i}") }
Tracebed.stop
"""


def test_moved_sequences(folder):
    """Sequences move and are then freed; their slots and bodies are reused by others."""
    ruby(folder, MOVED_SEQUENCES)
    return compare_places(folder, 200_000)


# ---- Calls ----

CALLS = """
require "tracebed"
def deep(n) = n == 0 ? raise("x") : deep(n - 1)
def thrower = catch(:a) { [1, 2].each { |x| throw :a } }
def early = [1, 2].each { |x| return x }
def mapped = [3, 4].map { |x| x.to_s }
def many = 200.times { mapped }
Tracebed.start("run.tbed", allocations: nil, calls: true)
5.times { begin; deep(5); rescue; end; thrower; early }
Integer("x") rescue 0
threads = 4.times.map { Thread.new { many; Thread.current.report_on_exception = false; deep(3) } }
threads.each { |thread| thread.join rescue 0 }
killed = Thread.new { loop { mapped } }
sleep 0.01
killed.kill.join
killed = threads = nil
each = [1, 2, 3].each
2.times { each.next }
each = nil
200.times { |i| Fiber.new { mapped; Fiber.yield; mapped }.then { |f| f.resume; f.resume if i.odd? }; GC.start if i % 50 == 0 }
fibers = 3.times.map { Fiber.new { 3.times { mapped; Fiber.yield } } }
3.times { fibers.each { |fiber| fiber.resume } }
Process.wait fork { many; 3.times { GC.start }; Thread.new { many }.join; GC.start }
Tracebed.stop
"""


def test_calls(folder):
    """Spans nest in each stream, however a method is left."""
    ruby(folder, CALLS)
    verify(folder)
    trace, names = RubyTrace(f"{folder}/run.tbed"), collections.Counter()
    stacks = trace.inherited()
    for stream, tag, id, second in trace.events():
        if tag == BEGIN:
            unit = trace.unit_of(id)
            names[unit.name if unit else trace.text(id)] += 1
            stacks[stream].append(id)
            need(len(stacks[stream]) < 60, f"stream {stream} only gets deeper")
        elif tag == END:
            need(stacks[stream] and stacks[stream].pop() == id, f"stream {stream}: an end of something else")
    left = {stream: [trace.text(id) for id in stack] for stream, stack in stacks.items() if stack}
    need(not left, f"never ended: {left}")
    mapped = names["Object#mapped"] - 6 * 200 - 300 - 9
    need(names["Object#deep"] == 5 * 6 + 4 * 4 and names["Object#thrower"] == names["Object#early"] == 5 and names["Object#many"] == 6, str(names))
    need(mapped >= 0 and names["Kernel#raise"] == 9 and names["Fiber.yield"] == 209, str(names))
    need(trace.place(next(unit.first_id + unit.id_count - 1 for unit in trace.units if unit.name == "Object#mapped"))[1] == 6,
         "a method's span is not on the line of its definition")


CHOSEN = """
require "tracebed"
class Wanted
  def run(n) = n == 0 ? [3, 1].sort : other(n)
  def other(n) = run(n - 1)
end
Tracebed.start("run.tbed", allocations: nil, OPTIONS)
2.times { Wanted.new.run(3) }
Thread.new { Thread.current.name = "a name of more than 15 bytes"; Wanted.new.run(1) }.join
Tracebed.stop
"""


def chosen_calls(folder, options):
    ruby(folder, CHOSEN.replace("OPTIONS", options))
    verify(folder)
    trace = RubyTrace(f"{folder}/run.tbed")
    names = collections.Counter((trace.unit_of(id).name if trace.unit_of(id) else trace.text(id))
                                for _, tag, id, _ in trace.events() if tag == BEGIN)
    os.remove(f"{folder}/run.tbed")
    return {name: count for name, count in names.items() if "GC" not in name}


def test_chosen_calls(folder):
    """Calls are chosen by method, by path and by depth; what is left out takes nothing else along."""
    names = chosen_calls(folder, 'calls: "Wanted#r*"')
    need(names == {"Wanted#run": 10}, str(names))
    names = chosen_calls(folder, 'calls: ["Array#sort", "Wanted#other"]')
    need(names == {"Array#sort": 3, "Wanted#other": 7}, str(names))
    names = chosen_calls(folder, 'calls: "*/script.rb"')
    need(names == {}, f"script.rb has no folder: {names}")
    names = chosen_calls(folder, 'calls: "file:script.rb"')
    need(names["Wanted#run"] == 10 and names["Wanted#other"] == 7 and "Array#sort" not in names, str(names))
    names = chosen_calls(folder, 'calls: ["!Wanted#*", "Wanted#other"]')
    need(names["Wanted#other"] == 7 and names["Array#sort"] == 3 and "Wanted#run" not in names, str(names))
    names = chosen_calls(folder, 'calls: "Wanted#*", call_depth: 2')
    need(names == {"Wanted#run": 3, "Wanted#other": 3}, str(names))


SHORT_CALLS = """
require "tracebed"
def sleeper = sleep(0.02)
def short = [1].first
def outer = 2.times { sleeper; 100.times { short } }
def forking = Process.wait(fork { sleeper; short })
Tracebed.start("run.tbed", allocations: nil, calls: true, call_minimum: 0.01, notes: "notes") do
  outer
  Thread.new { sleeper }.join
  raised = (sleeper; raise "x") rescue short
  fiber = Fiber.new { sleeper; Fiber.yield; short }
  2.times { fiber.resume }
  forking
end
begin
  Tracebed.start("a.tbed", calls: true, call_minimum: 0.01)
rescue ArgumentError
  print "refused"
end
"""


def test_short_calls(folder):
    """Calls that take less than a minimum are left out and counted; the others are as they were."""
    need(ruby(folder, SHORT_CALLS) == "refused", "with allocations")
    verify(folder)
    rows = json.loads(run([TRACEBED, "report", "--json", "run.tbed"], folder))["spans"]
    counts = {row["name"].split(" ")[0]: row["count"] for row in rows if "GC" not in row["name"]}
    need(counts.get("Object#sleeper") == 6 and counts.get("Kernel#sleep") == 6 and counts.get("Object#outer") == 1, str(counts))
    need("Object#short" not in counts and counts.get("Object#forking") == 2, str(counts))
    need(all(row["min_ns"] >= 10_000_000 for row in rows if row["name"].startswith("Object#sleeper")), str(rows))
    need(not pathlib.Path(folder, "notes").exists(), "notes are appended to what is there, or lost")


def test_thread_names(folder):
    """A thread has the name that the program gave it, also one that is longer than the kernel's."""
    ruby(folder, CHOSEN.replace("OPTIONS", "calls: true"))
    need("a name of more than 15 bytes" in run([TRACEBED, "threads", "run.tbed"], folder), "no name")


THROWN = """
require "tracebed"
def catcher
  Integer("x") rescue "here"
  Integer("7")
end
Tracebed.start("run.tbed", calls: true)
20.times { catcher }
Tracebed.stop
"""


def test_thrown(folder):
    """A C function left by an exception ends at the rescue, not at the next call."""
    ruby(folder, THROWN)
    trace, open_spans, seen = RubyTrace(f"{folder}/run.tbed"), collections.defaultdict(list), 0
    for stream, tag, id, _ in trace.events():
        unit = trace.unit_of(id)
        if tag == BEGIN:
            open_spans[stream].append(unit.name if unit else trace.text(id))
        elif tag == END:
            open_spans[stream].pop()
        elif tag == INSTANT and unit and unit.name == "rescue in Object#catcher":
            seen += 1
            need(open_spans[stream][-1] == "Object#catcher", f"still open: {open_spans[stream]}")
    need(seen >= 20, f"{seen} of 20 rescues")


# ---- Threads, children, Ractors ----

CHILDREN = """
require "tracebed"
def work(n) = n.times { [1] }
Tracebed.start("run.tbed")
10.times.map { |i| Thread.new { 3.times { work 1000; Thread.pass } } }.each(&:join)
3.times.map { fork { work 500; Thread.new { work 500 }.join } }.each { |pid| Process.wait pid }
Process.wait fork { work 500; exit! }
Tracebed.stop
"""


def test_threads_and_children(folder):
    ruby(folder, CHILDREN)
    trace = RubyTrace(f"{folder}/run.tbed")
    streams = collections.Counter(stream for stream, tag, id, _ in trace.events()
                                  if tag == INSTANT and (trace.place(id) or ("", 0))[1] == 3)
    need(sorted(streams.values()) == [500] * 7 + [3000] * 10, str(streams))


# A name that takes long: the thread loses its turn while its end is recorded.
RENAMED = """
require "tracebed"
def work(n) = n.times { [1] }
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)
class Thread
  def name = (from = now; Thread.pass until now > from + 10; "worker")
end
Tracebed.start("run.tbed", allocations: :KIND)
ending = 20.times.map { Thread.new { Thread.pass } }
20.times { work 1000; Thread.pass }
ending.each(&:join)
Tracebed.stop
"""


def test_allocations_while_threads_end(folder):
    """A thread that ends is asked for its name; the threads that run meanwhile lose none of their allocations."""
    for kind in ("light", "full"):
        ruby(folder, RENAMED.replace("KIND", kind))
        trace = RubyTrace(f"{folder}/run.tbed")
        seen = sum((trace.place(id) or ("", 0))[1] == 3 and (tag == INSTANT or tag == PAIR and second >> 60 == 1)
                   for _, tag, id, second in trace.events())
        need(seen == 20_000, f"{kind}: {seen} of 20,000 allocations")
        os.remove(f"{folder}/run.tbed")


FORKING = """
require "tracebed"
def serve = 200.times { [1] }
Tracebed.start("run.tbed", process_name: "server")
workers = 3.times.map { |i| fork { $0 = "worker #{i}"; serve } }
workers << fork { Process.setproctitle("titled"); serve } << fork { serve }
workers << spawn("true") << fork { exec "true" }
workers.each { |pid| Process.wait pid }
$0 = "server: idle"
Process.wait fork { fork { serve }; Process.wait }
Process.wait fork { Process.daemon(true, true); serve; File.write("daemon", "") }
sleep 0.01 until File.exist?("daemon")
Tracebed.stop
"""


def test_process_names(folder):
    """Children of a server that forks have the names that they give themselves, or their parent's."""
    ruby(folder, FORKING)
    rows = json.loads(run([TRACEBED, "report", "--json", "--by=process", "run.tbed"], folder))["instants"]
    told = collections.Counter(re.sub(r" \(.*|\[.*|\d{3,}", "", row["name"]).strip() for row in rows)
    need(told == {"worker 0": 1, "worker 1": 1, "worker 2": 1, "titled": 1, "server": 2, "server: idle": 5}, str(told))


def test_code_without_a_file_has_the_name_of_ruby(folder):
    code = 'require "tracebed"; Tracebed.start("run.tbed", overwrite: true); [1]; Tracebed.stop'
    pathlib.Path(folder, "script.rb").write_text(code, encoding="utf-8")
    for words, name in ((["-e", code], "ruby"), (["-"], "ruby"), (["script.rb"], "script.rb")):
        run(["ruby", *words], folder, input=code if words == ["-"] else None)
        told = [process["name"] for process in json.loads(run([TRACEBED, "info", "--json", "run.tbed"], folder))["processes"]]
        need(told == [name], f"{words[0]}: {told}")


FIBERS = """
require "tracebed"
def work(n) = n.times { [1] }
Tracebed.start("run.tbed", allocations: :KIND)
work 100
fibers = 3.times.map { |i| Fiber.new { 2.times { work 100 * (i + 1); Fiber.yield } } }
2.times { fibers.each(&:resume) }
named = Thread.new { Thread.current.name = "a thread that is still alive"; work 50; Fiber.new { work 60 }.resume; work 50; sleep }
Thread.pass until named.stop?
work 100
Tracebed.stop
"""


def test_fibers(folder):
    """What is allocated in a fiber is in its own track, in both modes."""
    for kind in ("light", "full"):
        ruby(folder, FIBERS.replace("KIND", kind))
        verify(folder)
        trace = RubyTrace(f"{folder}/run.tbed")
        counts = collections.Counter(stream for stream, tag, id, second in trace.events()
                                     if (trace.place(id) or ("", 0))[1] == 3 and (tag == INSTANT or tag == PAIR and second >> 60 == 1))
        streams = json.loads(run([TRACEBED, "info", "--json", "run.tbed"], folder))["streams"]
        told = {row["name"] or "main": counts[row["stream"]] for row in streams if counts[row["stream"]]}
        need(told.pop("main") in (200, 201), "Ruby allocates something for the first call")
        need(told == {"fiber 1": 200, "fiber 2": 400, "fiber 3": 600, "fiber 4": 60,
                      "a thread that is still alive": 100}, str(told))
        os.remove(f"{folder}/run.tbed")


def test_ractor(folder):
    """Ruby 3.1 crashes in a Ractor while allocations are hooked, so the hooks are removed."""
    ruby(folder, 'require "tracebed"\nTracebed.start("run.tbed")\n5.times { Ractor.new { Array.new(99) { [] } }.take }\n')
    need("allocations are recorded no more" in run([TRACEBED, "dump", "run.tbed"], folder), "it is not told")
    for options, told in (("allocations: :full", "allocations are recorded no more"), ("allocations: nil, calls: true", "its calls are not recorded")):
        ruby(folder, f'require "tracebed"\nTracebed.start("run.tbed", overwrite: true, {options})\nRactor.new {{ 9.times.to_a }}.take\n9.times.to_a\n')
        verify(folder)
        need(told in run([TRACEBED, "report", "run.tbed"], folder), f"{options}: it is not told")


# ---- Starting and stopping ----

API = """
require "tracebed"
def refused(kind)
  yield
  abort "not refused"
rescue kind => e
  e.message
end
refused(ArgumentError) { Tracebed.start("a.tbed", allocations: :some) }
refused(ArgumentError) { Tracebed.start("a.tbed", clock: :hpet) }
abort "no place" unless refused(Tracebed::Error) { Tracebed.start("no/such/place.tbed") }.include?("no/such/place.tbed")
abort "value" unless Tracebed.start("a.tbed") { 7 } == 7
abort "kept" unless refused(Tracebed::Error) { Tracebed.start("a.tbed") }.end_with?("exists already; overwrite: true replaces a trace, join: true appends to it")
Tracebed.start("a.tbed", overwrite: true)
abort "twice" unless refused(Tracebed::Error) { Tracebed.start("b.tbed") }.include?("under way")
abort "recording" unless Tracebed.recording?
abort "stop" unless Tracebed.stop && !Tracebed.stop && !Tracebed.recording?
begin
  Tracebed.start("c.tbed") { raise "out" }
rescue RuntimeError
end
abort "after an exception" if Tracebed.recording?
20.times { |i| Tracebed.start("d.tbed", overwrite: true, allocations: %i[light full][i % 2], calls: i % 3 == 0) { [i].to_s } }
abort "no self-test" unless Tracebed.exact? || RUBY_VERSION[/^3\\.1/].nil?
Tracebed.start("at_exit.tbed")
"""


def test_api(folder):
    ruby(folder, API)
    for name in ("a.tbed", "c.tbed", "d.tbed", "at_exit.tbed"):
        need("intact" in verify(folder, name), f"{name}: not closed")


def check_record_options(folder):
    """--filter, --exclude and --depth choose calls of Ruby code, and are refused where they do not apply."""
    pathlib.Path(folder, "nested.rb").write_text("class A\n  def f(n) = n == 0 ? g : f(n - 1)\n  def g = [2, 1].sort\nend\nA.new.f(3)\n")
    chosen = ((["--filter=A#*"], {"A#f": 4, "A#g": 1}), (["--filter=file:nested.rb", "--exclude=A#g"], {"A#f": 4}),
              (["--filter=A#f", "--filter=Array#sort", "--depth=2"], {"A#f": 2}), (["--exclude=*"], {}))
    for options, expected in chosen:
        run([TRACEBED, "record", "-f", "--ruby=none,calls", *options, "ruby", "nested.rb"], folder)
        rows = json.loads(run([TRACEBED, "report", "--json", "run.tbed"], folder))["spans"]
        names = {row["name"].split(" ")[0]: row["count"] for row in rows if "GC" not in row["name"]}
        need(names == expected, f"{options}: {names}")
    for wrong, near in (("A#ff", "A#f"), ("ff", "A#f"), ("file:nestd.rb", "nested.rb")):
        told = run([TRACEBED, "record", "-f", "--ruby=calls", f"--filter={wrong}", "--exclude=none", "ruby", "nested.rb"], folder, status=125)
        need(f"no method matches '{wrong}'\n  Did you mean '{near}'" in told and "no method matches 'none'" in told, told)
    run([TRACEBED, "record", "-f", "--ruby=calls", "--filter=A#*", "ruby", "-e", "exit 1"], folder, status=1)
    told = run([TRACEBED, "record", "-f", "--ruby=none,calls", "--minimum-duration=10s", "ruby", "nested.rb"], folder)
    need(re.search(r"\d+ calls took less than the minimum duration and were left out", told), told)
    refused = (("--ruby", "--filter=A#*"), ("--ruby=full", "--depth=2"), ("--ruby=calls", "--filter=/A/"),
               ("--ruby=calls", "--exclude=module:a"), ("--ruby=calls", "--minimum-duration=1ms"), ("--ruby=none", "--minimum-duration=1ms"),
               ("--ruby=calls", "--trigger=A@trace_on"), ("--ruby=calls", "--args"))
    for options in refused:
        told = run([TRACEBED, "record", "-f", *options, "ruby", "-e", "print 'it ran'"], folder, status=2)
        need("it ran" not in told and "--ruby" in told, f"{options}: {told}")


def test_cleared_environment(folder):
    """Ruby programs that are started without our environment are mentioned; all others are recorded."""
    pathlib.Path(folder, "tool").write_text("#!/usr/bin/env ruby\nprint 'T'\n")
    os.chmod(f"{folder}/tool", 0o755)
    code = "system('ruby', '-e', 'print 1'); system({'RUBYOPT' => nil}, 'ruby', '-e', 'print 2'); $stdout.flush; " \
           "system('env', '-i', 'PATH=/usr/bin:/bin', './tool'); system('unset RUBYOPT; echo $((1 + 2)); ruby -e \"print 4\"'); system('true')"
    told = run([TRACEBED, "record", "-f", "--ruby", "ruby", "-e", code], folder)
    need(all(part in told for part in "12T34"), told)
    found = re.search(r"3 programs could not be recorded:\n  started without RUBYOPT=\S+ in its environment: (.*)\n", told)
    need(found and sorted(found[1].split(", ")) == ["./tool", "/usr/bin/ruby (2 times)"], told)
    told = run([TRACEBED, "record", "-f", "--ruby", "ruby", "-e", "system('ruby', '-e', 'print 1')"], folder)
    need("could not" not in told, told)


def test_record(folder):
    """The tool, the environment that it sets, and the program's messages."""
    pathlib.Path(folder, "work.rb").write_text("def work = 1000.times { Object.new }\nwork\n"
                                               "system('ruby', '-e', 'Array.new(500) { Object.new }')\nexit 3\n")
    run([TRACEBED, "record", "--ruby=full", "--", "ruby", "work.rb"], folder, status=3)
    need("intact" in verify(folder), "not closed")
    report = run([TRACEBED, "report", "run.tbed"], folder)
    need(re.search(r" 1,00\d .* block in Object#work .*work\.rb:1\n", report), report)
    need(re.search(r" 50\d .* -e:1\n", report), report)
    run([TRACEBED, "record", "-f", "--ruby", "ruby", "work.rb"], folder, status=3)
    need(re.search(r" count  allocations at\n +1,00\d  block in Object#work ", run([TRACEBED, "report", "run.tbed"], folder)), "another heading")
    run([TRACEBED, "record", "-f", "--ruby=none,calls", "ruby", "work.rb"], folder, status=3)
    need("Integer#times" in run([TRACEBED, "report", "run.tbed"], folder), "no calls")
    run([TRACEBED, "record", "-f", "--ruby=all", "ruby", "work.rb"], folder, status=2)
    check_record_options(folder)
    pathlib.Path(folder, "many.rb").write_text("200_000.times { Object.new }\n")
    told = run([TRACEBED, "record", "-f", "--ruby", "--max-size=512K", "ruby", "many.rb"], folder)
    need(pathlib.Path(folder, "run.tbed").stat().st_size <= 512 << 10 and "size limit" in told, f"no limit: {told}")
    run([TRACEBED, "record", "-f", "--ruby", "--ring=256K", "ruby", "many.rb"], folder)
    need(pathlib.Path(folder, "run.tbed").stat().st_size < 2 << 20, "no ring")
    need("many.rb:1" in run([TRACEBED, "dump", "run.tbed"], folder).splitlines()[-9], "not the newest")
    run([TRACEBED, "record", "-f", "--ruby=full", "--rotate=256K,3", "--", "ruby", "-e", "system('ruby', 'work.rb')",
         "many.rb"], folder)
    names = sorted(path.name for path in pathlib.Path(folder).glob("run.tbed*"))
    need(any(re.fullmatch(r"run\.tbed\.\d{2,5}", name) for name in names), f"no series of the second process: {names}")
    need(all("intact" in verify(folder, name) for name in names), "not closed")
    run([TRACEBED, "record", "-f", "--ruby=full", "--rotate=256K,3", "ruby", "many.rb"], folder)
    closed = [path.name for path in pathlib.Path(folder).glob("run.tbed.0*")]
    need(len(closed) == 3 and all("intact" in verify(folder, name) for name in closed), f"not the newest three: {closed}")
    for options in ([], ["--rotate=1M"]):
        run([TRACEBED, "record", "-f", "--ruby", "--clock=monotonic", *options, "ruby", "work.rb"], folder, status=3)
        info = run([TRACEBED, "info", "run.tbed"], folder)
        need(re.search(r"CLOCK_MONOTONIC.*\n +It was asked for\.", info), info)
    run(["ruby", "work.rb"], folder, status=3,
        env={"RUBYOPT": "-W0 -rtracebed/auto", "TRACEBED_RUBY_FILE": f"{folder}/opt.tbed"})
    need("intact" in verify(folder, "opt.tbed"), "not closed")
    told = run(["ruby", "-e", "p 1"], folder, env={"RUBYOPT": "-rtracebed/auto", "TRACEBED_VERBOSE": "1",
                                                   "TRACEBED_RUBY_FILE": f"{folder}/no/such.tbed"})
    need("runs on unrecorded" in told and told.endswith("1\n"), told)


RAKEFILE = """
task :default do
  def task_work = 300.times { Object.new }
  task_work
end
"""


def test_programs(folder):
    """Programs with load paths and options of their own are recorded."""
    pathlib.Path(folder, "Rakefile").write_text(RAKEFILE)
    pathlib.Path(folder, "Gemfile").write_text("")
    tried = {"rake": ["rake"], "irb": ["irb", "-f"], "bundle": ["bundle", "exec", "ruby", "Rakefile.rb"]}
    pathlib.Path(folder, "Rakefile.rb").write_text("def task_work = 300.times { Object.new }\ntask_work\n")
    done = []
    for name, command in tried.items():
        if shutil.which(name) is None:
            continue
        run([TRACEBED, "record", "-f", "--ruby", "--", *command], folder, input="def task_work = 300.times { Object.new }\n"
            "task_work\n" if name == "irb" else "", env={"HOME": folder, "BUNDLE_GEMFILE": f"{folder}/Gemfile"})
        verify(folder)
        trace = RubyTrace(f"{folder}/run.tbed")
        counted = collections.Counter(trace.unit_of(id).name for _, tag, id, _ in trace.events()
                                      if tag == INSTANT and trace.unit_of(id))
        need(counted["block in Object#task_work"] >= 300, f"{name}: {counted['block in task_work']} of 300")
        done.append(name)
    return ", ".join(done)


# ---- Killed ----

KILLED = """
require "tracebed"
Tracebed.start("run.tbed", overwrite: true, allocations: %s)
Thread.new { loop { eval("\\n" * rand(99) + "Object.new", nil, "thread") } }
puts "begun"
STDOUT.flush
i = 0
loop { i += 1; Object.class_eval("\\n" * rand(99) + "def m#{i %% 300}\\n  [#{i}, {}]\\nend", "evaled"); send("m#{i %% 300}") }
"""


def test_killed(folder):
    """Everything that was committed resolves from the file alone."""
    seed = int(os.environ.get("TBED_SEED", time.time_ns() % 2**32))
    draw, counted = random.Random(seed), 0
    for turn in range(12):
        pathlib.Path(folder, "script.rb").write_text(KILLED % (":light" if turn % 2 else ":full"))
        environment = {**os.environ, "RUBYLIB": str(BUILD / "ruby"), **ASAN}
        child = subprocess.Popen(["ruby", "script.rb"], cwd=folder, env=environment, stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(draw.random() * 0.3)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        verify(folder)
        trace = RubyTrace(f"{folder}/run.tbed")
        for _, tag, id, second in trace.events():
            if tag not in (INSTANT, PAIR) or tag == PAIR and second >> 60 == 2 or trace.types.get(id, (id,))[0] == decoder.INVALID:
                continue
            place = trace.place(id)
            need(place and place[0] and place[1] > 0, f"seed {seed}, turn {turn}: {id} is {place}")
            counted += 1
    need(counted > 1000, f"only {counted} events")
    return f"{counted:,} events resolved"


# ---- Other versions of Ruby ----

# Stands in for the header of a later version: it says which one it is.
VERSION_HEADER = """#include_next <ruby/version.h>
#undef RUBY_API_VERSION_MINOR
#define RUBY_API_VERSION_MINOR %d
"""

OTHER_VERSION = """
require "tracebed"
abort "its frames are unknown" if Tracebed.exact?
def refused = yield && abort("not refused")
def work = [1, 2].map { |x| "a" * (300 * x) }
Tracebed.start("run.tbed", allocations: :full, calls: true)
kept = 1000.times.map {
  [work, Object.new, "short"] }
GC.start
Tracebed.stop
refused { Tracebed.start("a.tbed", stacks: true) rescue print("S") }
refused { Tracebed.start("a.tbed", calls: "A#b") rescue print("C") }
Tracebed.start("light.tbed") { 100.times { [] } }
"""


def test_other_versions(folder):
    """Compiled for a Ruby whose structures are not known, the extension uses public functions only, and refuses the rest."""
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "writer/capture/ruby/ext/tracebed").glob("*.c"))
    for minor in (2, 3, 4):
        header = pathlib.Path(folder, f"include{minor}/ruby/version.h")
        header.parent.mkdir(parents=True)
        header.write_text(VERSION_HEADER % minor)
        run(["sh", "ninja/build_ruby.sh", f"{folder}/ext{minor}", f"{folder}/stamp", BUILD / "libtracebed.a", *sources], ROOT,
            env={"CFLAGS": "-O0", "CPATH": f"{folder}/include{minor}", "RUBYLIB": ""})
        told = ruby(folder, OTHER_VERSION, env={"RUBYLIB": f"{folder}/ext{minor}"})
        need(told == "SC", told)
        need("intact" in verify(folder) and "intact" in verify(folder, "light.tbed"), "not closed")
        rows = json.loads(run([TRACEBED, "report", "--json", "--by=class", "run.tbed"], folder))
        sums = {row["name"]: row for row in rows["sites"]}
        need(sums["Object"]["live_count"] == 1000 and sums["Object"]["live_bytes"] == 40_000, str(sums["Object"]))
        calls = {row["name"].split(" ")[0]: row["count"] for row in rows["spans"]}
        need(calls.get("work") == 1000 and calls.get("Array#map") == 1000, str(calls))
        os.remove(f"{folder}/run.tbed")
        os.remove(f"{folder}/light.tbed")


# ---- As a gem ----

def test_gem(folder):
    """'gem build' in a checkout makes a gem that 'gem install' compiles."""
    source = pathlib.Path(folder, "tree/writer/capture/ruby")
    shutil.copytree(ROOT / "writer/capture/ruby", source)
    os.symlink(ROOT / "ninja", pathlib.Path(folder, "tree/ninja"))
    run(["gem", "build", "tracebed.gemspec"], source, env={"RUBYLIB": "", "HOME": folder})
    gems = [path.name for path in source.glob("*.gem")]
    run(["gem", "install", "--local", "--no-document", "--install-dir", f"{folder}/gems", *gems], source,
        env={"RUBYLIB": "", "HOME": folder})
    pathlib.Path(folder, "work.rb").write_text('require "tracebed"\nTracebed.start("run.tbed") { 100.times { [] } }\n'
                                               'print $LOADED_FEATURES.grep(/tracebed/), Gem.loaded_specs["tracebed"].version')
    told = run(["ruby", "work.rb"], folder, env={"RUBYLIB": "", "GEM_HOME": f"{folder}/gems", "GEM_PATH": f"{folder}/gems"})
    need("intact" in verify(folder), "not closed")
    version = run(["ruby", "-rtracebed", "-e", "print Tracebed::VERSION"], folder)
    need(f"{folder}/gems/" in told and told.endswith(version), told)


# ---- All of them ----

def use_asan():
    """Ruby does not free its memory at exit, and searches the stack for objects, which must be the real stack."""
    clang = os.environ.get("CLANG", "clang")
    runtime = run([clang, f"-print-file-name=libclang_rt.asan-{os.uname().machine}.so"], ".").strip()
    ASAN.update(LD_PRELOAD=runtime, RUBYLIB=str(ROOT / "build/asan/ruby"),
                ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0:handle_segv=1:abort_on_error=1")


def main():
    has_asan = "--asan" in sys.argv[1:]
    stamp = (ROOT / "build/asan" if has_asan else BUILD) / "ruby.stamp"
    if not stamp.exists() or not stamp.read_text() or shutil.which("ruby") is None:
        print("skipped: Ruby or its headers (ruby-dev) are not installed")
        return 0
    if has_asan:
        use_asan()
        sys.argv.remove("--asan")
    chosen = {name: test for name, test in globals().items() if not has_asan or name not in NOT_WITH_ASAN}
    return cases.run_all(chosen, prefix="ruby test ")


if __name__ == "__main__":
    sys.exit(main())
