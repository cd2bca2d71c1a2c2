"""
What a trace of Perfetto says, read by protoc and by the rules of Perfetto's trace processor.

SPDX-License-Identifier: MIT
"""

import collections
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FIELD = re.compile(rb'\s*(\w+)(?:: (.*)| \{)$')
ESCAPE = re.compile(rb'\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)')
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b'"': b'"', b"'": b"'", b"\\": b"\\"}


def unescape(text):
    def one(match):
        code = match.group(1)
        return LETTERS.get(code) or bytes([int(code, 8) if code[:1].isdigit() else int(code[1:], 16)])
    return ESCAPE.sub(one, text).decode()


def value_of(text):
    if text.startswith(b'"'):
        return unescape(text[1:-1])
    text = text.decode()
    return {"true": True, "false": False}.get(text) if text in ("true", "false") else (
        int(text) if re.fullmatch(r"-?\d+", text) else float(text) if re.fullmatch(r"-?[\d.e+-]+|-?inf|nan", text) else text)


def decode(path):
    """The packets, each a dictionary of lists."""
    with open(path, "rb") as file:
        done = subprocess.run(["protoc", f"--proto_path={HERE}", "--decode=Trace", "perfetto.proto"], stdin=file,
                              capture_output=True, check=False)
    if done.returncode != 0 or b"warning" in done.stderr:
        sys.exit(f"{path}: protoc: {done.stderr.decode(errors='replace')}")
    top = collections.defaultdict(list)
    stack = [top]
    for line in done.stdout.splitlines():
        if line.strip() == b"}":
            stack.pop()
            continue
        match = FIELD.match(line)
        if match is None:
            sys.exit(f"{path}: unknown field: {line!r}")
        name, value = match.group(1).decode(), match.group(2)
        if value is None:
            message = collections.defaultdict(list)
            stack[-1][name].append(message)
            stack.append(message)
        else:
            stack[-1][name].append(value_of(value))
    return top["packet"]


class Sequence:
    def __init__(self):
        self.texts = None  # none are known before the flag CLEARED

    def take(self, packet):
        flags = packet["sequence_flags"][0]
        if flags & 1:
            self.texts = collections.defaultdict(dict)
        if self.texts is None:
            sys.exit("a packet needs interned data before any has been cleared")
        for data in packet["interned_data"]:
            for kind, entries in data.items():
                for entry in entries:
                    iid = entry["iid"][0]
                    if iid in self.texts[kind]:
                        sys.exit(f"{kind} {iid} is interned twice")
                    self.texts[kind][iid] = entry


def arguments_of(event, texts):
    found = {}
    for annotation in event["debug_annotations"]:
        name = annotation["name"][0] if annotation["name"] else texts["debug_annotation_names"][annotation["name_iid"][0]]["name"][0]
        values = [(kind, value[0]) for kind, value in annotation.items() if kind.endswith("_value")]
        if len(values) != 1:
            sys.exit(f"argument {name} has {len(values)} values")
        found[name] = values[0][1]
    return found


class Opened:
    """Slices: (label, begin, duration, arguments); instants: (label, time, arguments); values by track name."""

    def __init__(self, path):
        self.slices, self.instants = [], []
        self.counters = collections.defaultdict(list)
        self.tracks, self.flows, self.processes, self.threads = {}, collections.Counter(), {}, {}
        self.deepest, self.clocks = 0, {}
        sequences = collections.defaultdict(Sequence)
        events = []
        for packet in decode(path):
            sequence = sequences[packet["trusted_packet_sequence_id"][0]]
            sequence.take(packet)
            for track in packet["track_descriptor"]:
                self.take_track(track)
            for snapshot in packet["clock_snapshot"]:
                self.clocks = {clock["clock_id"][0]: clock["timestamp"][0] for clock in snapshot["clocks"]}
            for event in packet["track_event"]:
                if event["track_uuid"][0] not in self.tracks:
                    sys.exit("a track is used before it is described")
                events.append((packet["timestamp"][0], event, self.name_of(event, sequence.texts), arguments_of(event, sequence.texts)))
        events.sort(key=lambda event: event[0])  # as the trace processor does; it keeps the order of equals
        self.replay(events)

    def name_of(self, event, texts):
        if event["name"]:
            return event["name"][0]
        return texts["event_names"][event["name_iid"][0]]["name"][0] if event["name_iid"] else None

    def take_track(self, track):
        uuid = track["uuid"][0]
        if track["parent_uuid"] and (track["process"] or track["thread"]):
            sys.exit("a process or thread has a parent")
        if track["parent_uuid"] and track["parent_uuid"][0] not in self.tracks:
            sys.exit("a track is inside one that is not described")
        if uuid in self.tracks and self.tracks[uuid]["name"] != track["name"] and not track["process"]:
            sys.exit(f"two tracks have one number: {self.tracks[uuid]} {track}")
        self.tracks[uuid] = track
        for process in track["process"]:
            if self.processes.setdefault(process["pid"][0], uuid) != uuid:
                sys.exit(f"two traces have a process {process['pid'][0]}")
        for thread in track["thread"]:
            self.threads[uuid] = thread

    def is_of_thread(self, track):
        """Also a track beside one; asynchronous spans are below the process."""
        parent = self.tracks[track]["parent_uuid"]
        if parent:
            return parent[0] in self.threads or self.is_of_thread(parent[0])
        return track in self.threads or not (self.tracks[track]["process"] or self.tracks[track]["counter"])

    def replay(self, events):
        stacks = collections.defaultdict(list)
        for ns, event, name, arguments in events:
            track, kind = event["track_uuid"][0], event["type"][0]
            for field in ("flow_ids", "terminating_flow_ids"):
                for key in event[field]:
                    self.flows[key] += 1
            if kind == "SLICE_BEGIN":
                stacks[track].append((name, ns, arguments))
                self.deepest = max(self.deepest, len(stacks[track]))
            elif kind == "SLICE_END" and not stacks[track] and track not in self.threads:
                pass  # an asynchronous span without a begin
            elif kind == "SLICE_END":
                label, begin, more = stacks[track].pop() if stacks[track] else (None, ns, {})
                self.slices.append((label, begin, ns - begin, {**more, **arguments}, self.is_of_thread(track)))
            elif kind == "INSTANT":
                self.instants.append((name, ns, arguments))
            else:
                value = (event["counter_value"] or event["double_counter_value"])[0]
                self.counters[self.tracks[track]["name"][0]].append((ns, value, arguments))
        if any(stack and track in self.threads for track, stack in stacks.items()):
            sys.exit("a span of a thread has no end")
