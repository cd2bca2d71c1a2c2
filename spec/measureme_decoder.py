#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A slow and obvious reader of measureme profiles, written from measureme.md alone. Section numbers refer to that page.

    measureme_decoder.py --listing | --summary | --arguments | --folded | --events | --damage  FILE

--listing  the content of a trace after import: {"text":…} for each string, then the events, thread by thread, as
           format.md lists them, without ids
--arguments  the summary by label and arguments instead of label
--events   the events in file order
--damage   what is damaged, and where
"""
import collections
import json
import os
import struct
import sys

EXTENSIONS = (".events", ".string_data", ".string_index")
MAGICS = (b"MMES", b"MMSD", b"MMSI")
THREAD_MAX = 65536
INSTANT, INTEGER = 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFE
DEPTH_MAX, COMPONENTS_MAX, BYTES_MAX = 64, 1 << 20, 1 << 24
LABEL_COMPONENTS_MAX, LABEL_MAX = 4096, 65535
SEPARATOR = "\x1e"
OPEN = "open"  # a string whose size is being computed

# begin and end are times; the value of an integer is its begin.
Event = collections.namedtuple("Event", "type kind id thread begin end")
Damage = collections.namedtuple("Damage", "status file offset")
Size = collections.namedtuple("Size", "depth components nbytes whole")


class Refused(Exception):
    pass


class WalkEnd(Exception):
    """Its argument is the stand-in for the text, or None at a separator."""


class BadString(Exception):
    """Its arguments are the address of the damage and the components before it."""


def label_of(components):
    """The components before the first separator, or None if there is none: section 4."""
    label = []
    for component in components:
        if isinstance(component, str) and SEPARATOR in component:
            text = component.split(SEPARATOR)[0]
            return label + [text] if text else label
        label.append(component)
    return None


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Profile:
    def __init__(self, path):
        self.damages = []
        self.pieces = ([], [], [])  # for each stream: (offset in its file, bytes)
        self.open(path)
        wide = self.version == 9
        self.id_nbytes = 8 if wide else 4
        self.metadata = {0: 0x80000000, 3: 0x20000000}.get(self.version, 100000001)
        self.max_indexed = self.metadata if self.version > 3 else 0xFFFFFFFF
        self.entries, self.index = {}, {}  # by address; addresses by id
        self.sizes, self.labels = {}, {}
        self.any_string = None
        self.texts = {}
        self.data = self.stream(1)
        self.read_strings()
        self.read_index(self.stream(2))
        self.events = list(self.read_events(self.stream(0)))
        if self.version == 0:
            self.pair()

    def tell(self, status, offset, file=0):
        self.damages.append(Damage(status, file, offset))

    # Section 2: containers and streams.

    def open(self, path):
        stem, extension = os.path.splitext(path)
        files = [read(path)]
        self.paged = files[0][:4] == b"MMPD"
        if not self.paged and extension in EXTENSIONS:
            others = [stem + other for other in EXTENSIONS]
            files = [read(others[0])] + [read(other) if os.path.exists(other) else b"" for other in others[1:]]
        if not any(files):
            raise Refused("EMPTY")
        first = files[0] if self.paged else next(
            (data for data, magic in zip(files, MAGICS) if data[:4] == magic), None)
        if first is None:
            raise Refused("NOT_A_TRACE")
        if len(first) < 8:
            raise Refused("PROFILE_CUT")
        self.version = struct.unpack_from("<I", first, 4)[0]
        if self.version not in ((6, 7, 8, 9) if self.paged else (0, 3, 4, 5)):
            raise Refused("PROFILE_VERSION")
        if self.paged:
            self.read_pages(files[0])
        else:
            for stream, data in enumerate(files):
                self.pieces[stream].append((0, data))

    def read_pages(self, data):
        at = 8
        while at < len(data):
            if len(data) - at < 5:
                return self.tell("PROFILE_CUT", at)
            tag, length = struct.unpack_from("<BI", data, at)
            if tag > 2:
                self.tell("PROFILE_PAGE", at)
            else:
                self.pieces[tag].append((at + 5, data[at + 5:at + 5 + length]))
                if length > len(data) - at - 5:
                    self.tell("PROFILE_CUT", at)
            at += 5 + length
        return None

    def stream(self, number):
        """Returns the bytes of a stream after checking its header."""
        data = b"".join(piece for _, piece in self.pieces[number])
        version = struct.pack("<I", self.version)
        if not data:
            self.tell("PROFILE_STREAM", None, number)
        elif len(data) < 8:
            self.tell("PROFILE_CUT", self.place(number, 0), number)
        elif data[:8] != MAGICS[number] + version:
            self.tell("PROFILE_STREAM", self.place(number, 4 if data[:4] == MAGICS[number] else 0), number)
            if not self.paged and number > 0 and data[:4] == MAGICS[number]:
                return b""
        return data

    # Section 6: events.

    def read_events(self, data):
        layout = {0: "<IIQQ", 9: "<QQIIII"}.get(self.version, "<IIIIII")
        nbytes = struct.calcsize(layout)
        first = next((piece for _, piece in self.pieces[0] if piece), b"")
        start = 0 if first[:4] != MAGICS[0] and len(first) % nbytes == 0 else 8
        over = max(0, len(data) - start) % nbytes
        if over:
            self.tell("PROFILE_CUT", self.place(0, len(data) - over))
        for fields in struct.iter_unpack(layout, data[start:len(data) - over]):
            yield fields if self.version == 0 else self.event(*fields)

    def event(self, kind, id_, thread, low1, low2, upper):
        first, second = low1 | (upper >> 16) << 32, low2 | (upper & 0xFFFF) << 32
        if second == INSTANT:
            return Event("instant", kind, id_, thread, first, first)
        if second == INTEGER and self.version >= 8:
            return Event("counter", kind, id_, thread, first, 0)
        return Event("span", kind, id_, thread, first, second)

    def pair(self):
        """Version 0: pairs starts and ends into intervals."""
        marks, self.events = self.events, []
        stacks = collections.defaultdict(list)
        for number, (kind, id_, thread, value) in enumerate(marks):
            time, mark, stack = value >> 2, value & 3, stacks[thread]
            if mark == 3:
                self.tell("PROFILE_EVENT", 8 + 24 * number)
            elif mark == 2:
                self.events.append(Event("instant", kind, id_, thread, time, time))
            elif mark == 0:
                stack.append((kind, id_, time))
            elif (kind, id_) in [start[:2] for start in stack]:
                while stack[-1][:2] != (kind, id_):
                    stack.pop()
                self.events.append(Event("span", kind, id_, thread, stack.pop()[2], time))

    # Sections 3 to 5: ids, strings, index.

    def read_entry(self, at):
        """Returns [text or id of a reference] and the address after the entry."""
        components, data = [], self.data
        if self.version == 0:
            return self.read_tagged(at)
        start = at  # where the current text starts
        while True:
            byte = data[at:at + 1]
            if not byte:
                raise self.bad(components, start, at)
            is_reference = byte == b"\xfe" if self.version >= 7 else byte[0] >> 6 == 2
            if byte == b"\xff" or is_reference:
                if at > start:
                    components.append(self.text(start, at))
                if byte == b"\xff":
                    return components, at + 1
                nbytes = self.id_nbytes + (self.version >= 7)
                raw = data[at:at + nbytes]
                if len(raw) < nbytes:
                    raise BadString(at, components)
                components.append(int.from_bytes(raw[1:], "little") if self.version >= 7
                                  else int.from_bytes(raw, "big") & 0x3FFFFFFF)
                start = at = at + nbytes
            else:
                nbytes = 1 if byte[0] < 0x80 else 2 if byte[0] < 0xE0 else 3 if byte[0] < 0xF0 else 4
                if self.sound(at, at + nbytes) < at + nbytes:
                    raise self.bad(components, start, at)
                at += nbytes

    def read_tagged(self, at):
        text = ""
        while self.data[at:at + 1] == b"\1" and at + 3 <= len(self.data):
            end = at + 3 + struct.unpack_from("<H", self.data, at + 1)[0]
            if end > len(self.data):
                raise BadString(at, [text])
            sound = self.sound(at + 3, end)
            text += self.text(at + 3, sound)
            if sound < end:
                raise BadString(sound, [text])
            at = end
        if self.data[at:at + 1] != b"\0":
            raise BadString(at, [text])
        return [text] if text else [], at + 1

    def text(self, start, end):
        return self.data[start:end].decode()

    def sound(self, start, end):
        """Returns the address of the damage, or 'end' if there is none."""
        try:
            self.text(start, end)
        except UnicodeDecodeError as error:
            return start + error.start
        return end

    def bad(self, components, start, at):
        return BadString(at, components + [self.text(start, at)])

    def keep_label(self, address, bad):
        label = label_of(bad.args[1])
        if label is not None:
            self.entries[address] = label
        return label is not None

    def read_strings(self):
        self.sequence = []
        at = 8
        while at < len(self.data):
            start = at
            try:
                self.entries[start], at = self.read_entry(start)
                self.sequence.append(start)
            except BadString as bad:
                self.tell("PROFILE_STRING", self.place(1, bad.args[0]), 1)
                if self.keep_label(start, bad):
                    self.sequence.append(start)
                at = self.data.find(b"\0" if self.version == 0 else b"\xff", bad.args[0]) + 1 or len(self.data)

    def read_index(self, index):
        layout = "<QQ" if self.version == 9 else "<II"
        nbytes = struct.calcsize(layout)
        whole = max(0, len(index) - 8) // nbytes * nbytes + 8
        for at in range(8, whole, nbytes):
            id_, address = struct.unpack_from(layout, index, at)
            if id_ <= self.max_indexed and 8 <= address < len(self.data):
                self.index[id_] = address
            else:
                self.tell("PROFILE_INDEX", self.place(2, at), 2)
        if whole < len(index):
            self.tell("PROFILE_CUT", self.place(2, whole), 2)

    def address(self, id_):
        """Returns the address of an id's entry, or None if the id has no meaning."""
        regular = self.version > 3 and id_ >= 100000003
        address = id_ - 100000003 if regular else self.index.get(id_, 0)
        if not address and id_ == self.metadata and self.version > 3 and \
                self.data[8:].startswith((b'{ "start_time":', b'{"start_time":')):
            address = 8
        if address not in self.entries and 8 <= address < len(self.data):
            try:
                self.entries[address], _ = self.read_entry(address)
            except BadString as bad:
                self.keep_label(address, bad)
        return address if address in self.entries else None

    def place(self, stream, at):
        """Returns the offset in the file of byte 'at' of a stream; the stream's end is just after its last byte."""
        end = None
        for offset, piece in self.pieces[stream]:
            if at < len(piece):
                return offset + at
            at -= len(piece)
            end = offset + len(piece) if piece else end
        return end

    def size(self, address):
        """Returns the size that a string expands to, or None if it contains itself."""
        pending = [address]
        while pending:
            top = pending[-1]
            if self.sizes.get(top, OPEN) is not OPEN:
                pending.pop()
                continue
            inner = [self.address(c) for c in self.entries[top] if isinstance(c, int)]
            unknown = [a for a in inner if a not in (None, top) and a not in self.sizes]
            if top not in self.sizes:
                self.sizes[top] = OPEN
                pending += dict.fromkeys(unknown)
                continue
            pending.pop()
            self.sizes[top] = self.sum(top, inner)
        return self.sizes[address]

    def sum(self, address, inner):
        sizes = [self.sizes[a] for a in inner if a is not None]
        if any(size is None or size == OPEN for size in sizes):
            return None
        texts = [c for c in self.entries[address] if isinstance(c, str)]
        total = lambda field, own: min(1 << 40, own + sum(getattr(size, field) for size in sizes))
        return Size(1 + min(DEPTH_MAX, max((size.depth for size in sizes), default=0)),
                    total("components", len(self.entries[address])),
                    total("nbytes", sum(len(text.encode()) for text in texts)),
                    None not in inner and all(size.whole for size in sizes))

    def expand(self, address):
        return "<unknown>" if address is None else "".join(
            c if isinstance(c, str) else self.expand(self.address(c)) for c in self.entries[address])

    def fits(self, address):
        size = self.size(address)
        return size is not None and size.depth <= DEPTH_MAX and size.components <= COMPONENTS_MAX and \
            size.nbytes <= BYTES_MAX

    def text_at(self, address):
        """Returns the text at an address, or None if it does not resolve."""
        if address is None or not self.fits(address) or not self.size(address).whole:
            return None
        return self.expand(address)

    def name(self, id_):
        if id_ not in self.texts:
            self.texts[id_] = self.text_at(self.address(id_))
        return self.texts[id_]

    def walk(self, id_, outer, pieces):
        """Collects the text up to the first separator."""
        address = self.address(id_)
        if address in outer:
            raise WalkEnd("<cycle>")
        if len(outer) == DEPTH_MAX:
            raise WalkEnd("<too deep>")
        self.met -= address is None  # a stand-in is not a component
        for component in ["<unknown>"] if address is None else self.entries[address]:
            self.met += 1
            if self.met > LABEL_COMPONENTS_MAX:
                raise WalkEnd("<too many components>")
            if isinstance(component, int):
                self.walk(component, outer + [address], pieces)
                continue
            pieces.append(component.split(SEPARATOR)[0])
            self.nbytes += len(pieces[-1].encode())
            if self.nbytes > LABEL_MAX:
                raise WalkEnd("<too long>")
            if SEPARATOR in component:
                raise WalkEnd(None)

    def has_strings(self):
        """Does any id have a meaning?"""
        if self.any_string is None:
            self.any_string = bool(self.version > 3 and self.sequence) or \
                any(self.address(id_) is not None for id_ in self.index)
        return self.any_string

    def label(self, id_):
        """Section 10, rule 1."""
        if id_ not in self.labels:
            text = "<unknown>" if self.version > 3 and id_ == 100000002 else "<id %d>" % id_
            if self.has_strings():
                try:
                    pieces, self.met, self.nbytes = [], 0, 0
                    self.walk(id_, [], pieces)
                    text = "".join(pieces)
                except WalkEnd as end:
                    text = end.args[0] or "".join(pieces)
            bad = not text or any(c < " " or c == "\x7f" for c in text)
            self.labels[id_] = "<parse error>" if bad else text
        return self.labels[id_]


def threads_of(events):
    threads = {}
    for event in events:
        threads.setdefault(event.thread, []).append(event)
    return threads


def listing(profile):
    """Section 9, as section 14 of format.md lists it."""
    for address in profile.sequence:
        yield {"text": profile.text_at(address)}
    streams = collections.defaultdict(list)
    numbers = {}
    for event in profile.events:
        number = numbers.setdefault(event.thread, min(len(numbers), THREAD_MAX))
        streams[number].append(event)
    for number, events in sorted(streams.items()):
        tick = 0
        for event in events:
            tick = tick if event.type == "counter" else event.end
            line = {"stream": number, "tick": tick, "type": event.type, "name": profile.name(event.id),
                    "category_name": profile.name(event.kind)}
            if event.type == "span":
                line["begin_tick"] = event.begin
            if event.type == "counter":
                line["value"] = event.begin
            if number == THREAD_MAX:
                line["args"] = [{"name": "thread", "type": 1, "value": event.thread}]
            yield line


def nested(events):
    """Section 10, rules 3 and 4: (span, its begin, the stack of spans around it), from the last span to the first."""
    stack = []
    for event in reversed(events):
        if event.type == "span":
            begin = min(event.begin, event.end)
            while stack and not (stack[-1][1] <= begin and event.end <= stack[-1][0].end):
                stack.pop()
            yield event, begin, stack
            stack.append((event, begin))


COLUMNS = ("time_ns", "self_ns", "cache_misses", "cache_hits", "invocations", "blocked_ns", "incremental_load_ns",
           "incremental_hashing_ns")
OF_QUERY = ("self_ns", "time_ns", "invocations", "cache_misses")
ADDS = {"Query": OF_QUERY, "GenericActivity": OF_QUERY,
        "QueryBlocked": ("self_ns", "time_ns", "blocked_ns"),
        "IncrementalLoadResult": ("self_ns", "time_ns", "incremental_load_ns"),
        "IncrementalResultHashing": ("self_ns", "incremental_hashing_ns")}
TAKES = {"IncrementalLoadResult": ("self_ns", "incremental_load_ns"),
         "IncrementalResultHashing": ("self_ns", "incremental_hashing_ns")}


def key(profile, id_):
    """Section 10, rule 10: the label and the arguments behind it."""
    text = profile.name(id_)
    if not text:
        return "<unknown>" if text is None else "<parse error>"
    label, *arguments = text.split(SEPARATOR)
    quoted = [argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments]
    return label + "".join(' arg%d="%s"' % (i, argument) for i, argument in enumerate(quoted))


def summary(profile, row_of=Profile.label):
    """Section 10."""
    rows = collections.defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    artifacts = collections.Counter()
    total = 0
    for events in threads_of(profile.events).values():
        first = last = None
        for event, begin, stack in nested(events):
            first = begin if first is None else min(first, begin)
            last = event.end if last is None else max(last, event.end)
            row = rows[row_of(profile, event.id)]
            for column in ADDS.get(profile.name(event.kind), ("self_ns", "time_ns", "invocations")):
                row[column] += event.end - begin if column.endswith("_ns") else 1
            if stack:
                parent = stack[-1][0]
                for column in TAKES.get(profile.name(parent.kind), ("self_ns",)):
                    rows[row_of(profile, parent.id)][column] -= event.end - begin
        total += (last or 0) - (first or 0)
    count_hits(profile, rows, row_of)
    for event in profile.events:
        if event.type == "counter" and profile.name(event.kind) == "ArtifactSize":
            artifacts[profile.label(event.id)] += event.begin
    by_bytes = lambda labels: sorted(labels, key=str.encode)
    return {"total_ns": total % 2**64,
            "rows": [{"name": label, **{column: max(0, value) % 2**64 for column, value in rows[label].items()}}
                     for label in by_bytes(rows)],
            "artifacts": [{"name": label, "bytes": artifacts[label] % 2**64} for label in by_bytes(artifacts)]}


def count_hits(profile, rows, row_of):
    """Rule 7."""
    counted = set()
    for event in reversed(profile.events):
        label, kind = row_of(profile, event.id), (event.type, profile.name(event.kind))
        if kind == ("counter", "QueryCacheHitCount"):
            rows[label]["cache_hits"] += event.begin
            counted.add(label)
        elif kind == ("instant", "QueryCacheHit"):
            rows[label]["cache_hits"] += label not in counted


def frame(label):
    """Escapes ';', which would split the frame. A label has no line breaks."""
    return label.replace(";", "\\x3b")


def folded(profile):
    """Section 10, folded stacks."""
    times = collections.Counter()
    gaps = 0
    for events in threads_of(profile.events).values():
        first, last, covered = None, 0, 0
        for event, begin, stack in nested(events):
            first = begin if first is None else min(first, begin)
            last = max(last, event.end)
            path = ("rustc",) + tuple(profile.label(outer.id) for outer, _ in stack)
            times[path + (profile.label(event.id),)] += event.end - begin
            if stack:
                times[path] -= event.end - begin
            else:
                covered += event.end - begin
        gaps += last - (first or 0) - covered
    times[("rustc",)] = gaps
    for path, time in times.items():
        yield "%s %d" % (";".join(map(frame, path)), max(0, time))


def main():
    what, path = sys.argv[1:]
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        profile = Profile(path)
    except Refused as refused:
        print("refused: %s" % refused)
        return 2
    if what in ("--summary", "--arguments"):
        print(json.dumps(summary(profile, key if what == "--arguments" else Profile.label)))
    elif what == "--folded":
        print("\n".join(sorted(folded(profile), key=str.encode)))
    else:
        lines = {"--listing": listing, "--damage": lambda profile: (d._asdict() for d in profile.damages),
                 "--events": lambda profile: ({**event._asdict(), "kind_name": profile.name(event.kind),
                                               "name": profile.name(event.id)} for event in profile.events)}[what]
        for line in lines(profile):
            print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
