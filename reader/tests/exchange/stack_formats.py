"""
Strict readers of the formats that are sums by stack, and of speedscope's and heaptrack's: whatever they do not expect is a
failure. For export_stacks_test.py.

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
from cases import need


def unescaped(name):
    """A name with its bytes written as \\xHH."""
    return re.sub(rb"(?:\\x[0-9a-f]{2})+", lambda found: bytes.fromhex(found[0].decode().replace("\\x", "")), name.encode()).decode()


# ---- Folded stacks ----


def read_folded(data):
    """The stacks in order: (labels, value)."""
    text = data.decode()
    need(text == "" or text.endswith("\n"), "the last line has no end")
    stacks = []
    for line in text.split("\n")[:-1]:
        path, _, value = line.rpartition(" ")
        need(re.fullmatch("0|[1-9][0-9]*", value) is not None, f"no number at the end of {line!r}")
        stacks.append((tuple(unescaped(label) for label in path.split(";")), int(value)))
    return stacks


# ---- pprof ----


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number is not complete")
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            need(value < 1 << 64, "a number has more than 64 bits")
            return value, at


def fields(data):
    """The fields of a message: number, value."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        need(number > 0 and wire in (0, 2), f"field {number} of the type {wire}")
        value, at = varint(data, at)
        if wire == 2:
            need(value <= len(data) - at, "a field is longer than its message")
            value, at = data[at:at + value], at + value
        yield number, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def message(data, allowed):
    """The single fields of a message, whose numbers must be among these."""
    found = {}
    for number, value in fields(data):
        need(number in allowed and number not in found, f"the field {number} is unknown, or is there twice")
        found[number] = value
    return found


Profile = collections.namedtuple("Profile", "types samples mappings")


def read_pprof(data):
    """types: the names of the values; samples: (frames, values), the outermost frame first: (name, file, line)."""
    lists = collections.defaultdict(list)
    for number, value in fields(data):
        need(number in (1, 2, 3, 4, 5, 6, 9, 10, 14), f"a profile has no field {number}")
        lists[number].append(value)
    strings = [text.decode() for text in lists[6]]
    need(strings[0] == "" and len(set(strings)) == len(strings), "the first string is empty, and each is there once")
    types = []
    for value in lists[1]:
        pair = message(value, (1, 2))
        types.append((strings[pair[1]], strings[pair[2]]))
    need(strings[lists[14][0]] in dict(types), "the default is none of the types")
    functions = {}
    for value in lists[5]:
        found = message(value, (1, 2, 3, 4))
        need(found[1] > 0 and found[1] not in functions and found[2] == found[3], "a function has no number of its own")
        functions[found[1]] = (strings[found[2]], strings[found[4]])
    need(len(set(functions.values())) == len(functions), "a function is there twice")
    mappings = {}
    for value in lists[3]:
        found = message(value, range(1, 11))
        mappings[found[1]] = (strings[found[5]], strings[found[6]], found[3])
    locations = {}
    for value in lists[4]:
        lines, single = [], {}
        for number, field in fields(value):
            if number == 4:
                line = message(field, (1, 2))
                lines.append((*functions[line[1]], line.get(2, 0)))
            else:
                single[number] = field
        need(single[1] not in locations and lines, "a location has no number of its own, or no line")
        need(2 not in single or single[3] < mappings[single[2]][2], "an address is outside its mapping")
        locations[single[1]] = lines
    samples = []
    for value in lists[2]:
        found = message(value, (1, 2))
        values = packed(found[2])
        need(len(values) == len(types) and max(values) < 1 << 63, "a sample has a value for each type")
        frames = [line for number in packed(found[1]) for line in locations[number]]
        samples.append((tuple(reversed(frames)), values))
    return Profile(types, samples, mappings)


# ---- callgrind ----

Functions = collections.namedtuple("Functions", "events own calls inclusive totals")


def read_callgrind(data):
    """own: (file, function) -> costs; calls: (caller, callee) -> count; inclusive: (caller, callee) -> costs."""
    names = {"file": {}, "function": {}}
    own, calls, inclusive = {}, collections.Counter(), {}
    header, totals, current, callee, count = {}, None, {}, {}, None

    def named(kind, text):
        found = re.fullmatch(r"\((\d+)\)(?: (.+))?", text)
        need(found is not None, f"no name: {text!r}")
        if found[2] is not None:
            need(found[1] not in names[kind], f"{found[0]} is defined twice")
            names[kind][found[1]] = unescaped(found[2])
        return names[kind][found[1]]

    def add(sums, key, costs):
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(costs)), costs)]

    text = data.decode()
    need(text.startswith("# callgrind format\nversion: 1\n") and text.endswith("\n"), "the first line is missing")
    for line in text.split("\n")[1:]:
        key, sign, value = re.match(r"([a-z]*)([:=]?)(.*)", line).groups()
        need(totals is None or line == "", "something follows the totals")
        if sign == ":":
            need(key not in header, f"{key} is there twice")
            header[key] = value.split()
            totals = header["totals"] if key == "totals" else None
        elif sign == "=" and key in ("fl", "fn"):
            current[key] = named("file" if key == "fl" else "function", value)
            callee = {}
        elif sign == "=" and key in ("cfi", "cfn"):
            callee[key] = named("file" if key == "cfi" else "function", value)
        elif sign == "=" and key == "calls":
            count = int(re.fullmatch(r"(\d+) 0", value)[1])
        elif line != "":
            numbers = [int(number) for number in re.fullmatch(r"\d+(?: \d+)+", line)[0].split()]
            need(len(numbers) == 1 + len(header["events"]), f"not a cost for each event: {line}")
            function = (current["fl"], current["fn"])
            if count is None:
                add(own, function, numbers[1:])
                continue
            pair = function, (callee.get("cfi", current["fl"]), callee["cfn"])
            calls[pair] += count
            add(inclusive, pair, numbers[1:])
            count, callee = None, {}
    need(header["summary"] == totals and header["positions"] == ["line"], "the head is not as it should be")
    totals = [int(number) for number in totals]
    need(totals == [sum(costs[i] for costs in own.values()) for i in range(len(totals))], "the totals are not the sums")
    return Functions(header["events"], own, calls, inclusive, totals)


# ---- speedscope ----


def read_evented(profile, names):
    """The spans of a profile: (name, begin, end, self)."""
    last, stack, spans = profile["startValue"], [], []
    for event in profile["events"]:
        need(set(event) == {"type", "frame", "at"}, f"an event {event}")
        at = event["at"]
        need(last <= at <= profile["endValue"], "time decreases")
        last = at
        if event["type"] == "O":
            stack.append([event["frame"], at, 0])
            continue
        need(event["type"] == "C" and stack and stack[-1][0] == event["frame"], "a frame that is not the innermost is closed")
        frame, begin, inner = stack.pop()
        spans.append((names[frame], begin, at, at - begin - inner))
        if stack:
            stack[-1][2] += at - begin
    need(not stack, "a frame stays open")
    return spans


def read_speedscope(data):
    """(profiles of time: name -> spans, profiles of memory: name -> {stack: weight})"""
    found = json.loads(data)
    need(found["$schema"] == "https://www.speedscope.app/file-format-schema.json" and found["profiles"], "no profiles")
    names, timed, sampled = [], {}, {}
    for frame in found["shared"]["frames"]:
        need(set(frame) <= {"name", "file", "line"} and isinstance(frame["name"], str), f"a frame {frame}")
        names.append(frame["name"])
    need(len({json.dumps(frame) for frame in found["shared"]["frames"]}) == len(names), "a frame is there twice")
    for profile in found["profiles"]:
        if profile["type"] == "evented":
            need(set(profile) == {"type", "name", "unit", "startValue", "endValue", "events"}, "a profile has other fields")
            timed.setdefault(profile["name"], []).extend(read_evented(profile, names))
            continue
        need(set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, "a profile has other fields")
        need(len(profile["samples"]) == len(profile["weights"]) and profile["endValue"] == sum(profile["weights"]), "weights")
        sums = sampled.setdefault(profile["name"], collections.Counter())
        for stack, weight in zip(profile["samples"], profile["weights"]):
            sums[tuple(names[frame] for frame in stack)] += weight
    return timed, sampled


# ---- The Firefox Profiler ----


def read_firefox_memory(data):
    """name of a thread -> {stack: weight}; a stack is as speedscope has it, the outermost frame first."""
    found, threads = json.loads(data), {}
    for thread in found["threads"]:
        stacks, frames, functions, samples = (thread[key] for key in ("stackTable", "frameTable", "funcTable", "samples"))
        for table in (stacks, frames, functions, samples):
            need(all(len(column) == table["length"] for key, column in table.items() if key not in ("length", "weightType")), "columns")
        need(all(prefix is None or prefix < i for i, prefix in enumerate(stacks["prefix"])), "a stack comes before its callers")
        need(samples["weightType"] == ("samples" if thread["name"] == "allocations" else "bytes"), "the type of weights")
        need(samples["time"] == list(range(samples["length"])) and all(samples["weight"]), "times or weights")
        paths = []
        for frame, prefix in zip(stacks["frame"], stacks["prefix"]):
            name = thread["stringArray"][functions["name"][frames["func"][frame]]]
            paths.append((*(paths[prefix] if prefix is not None else ()), name))
        sums = threads.setdefault(thread["name"], collections.Counter())
        for stack, weight in zip(samples["stack"], samples["weight"]):
            sums[paths[stack]] += weight
    return {name: dict(sums) for name, sums in threads.items()}


# ---- heaptrack ----

Heap = collections.namedtuple("Heap", "count nbytes live_nbytes live_count peak_nbytes")


def read_heaptrack(data):
    """The figures of all allocations."""
    strings = places = traces = milliseconds = count = nbytes = live = live_count = peak = 0
    infos = []
    lines = data.decode().split("\n")
    need(lines[0] == "v 10400 2" and lines[1].startswith("X ") and lines[2] == "I 1000 0" and lines[-1] == "", "the head is wrong")
    for line in lines[3:-1]:
        mode, _, rest = line.partition(" ")
        if mode == "s":
            need(rest != "", "an empty string")
            strings += 1
            continue
        need(re.fullmatch("[0-9a-f]+(?: [0-9a-f]+)*", rest) is not None, f"no numbers: {line!r}")
        numbers = [int(number, 16) for number in rest.split()]
        if mode == "i":
            places += 1
            need(numbers[1] <= strings and len(numbers) % 3 == 2, f"a place: {line}")
            need(all(0 < numbers[i] <= strings and numbers[i + 1] <= strings for i in range(2, len(numbers), 3)), f"a frame: {line}")
        elif mode == "t":
            need(0 < numbers[0] <= places and numbers[1] <= traces, f"a stack: {line}")
            traces += 1
        elif mode == "a":
            need(0 < numbers[1] <= traces, f"a stack that is not there: {line}")
            infos.append(numbers[0])
        elif mode == "c":
            need(numbers[0] > milliseconds, "time decreases")
            milliseconds = numbers[0]
        elif mode == "+":
            count, nbytes, live, live_count = count + 1, nbytes + infos[numbers[0]], live + infos[numbers[0]], live_count + 1
            peak = max(peak, live)
        else:
            need(mode == "-", f"a line {line!r}")
            live, live_count = live - infos[numbers[0]], live_count - 1
    return Heap(count, nbytes, live, live_count, peak)
