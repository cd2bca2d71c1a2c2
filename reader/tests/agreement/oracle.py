# SPDX-License-Identifier: MIT
"""The spans of a file and the sums of their labels: slow, obvious, and independent of the library.

Traces are read with spec/decoder.py, profiles with spec/measureme_decoder.py. The rules are those of
<tracebed/analysis.h>; a file yields one list of spans for each stream, in the order in which they end, and
everything else is arithmetic on those lists.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "spec"))
import decoder  # noqa: E402
import measureme_decoder  # noqa: E402

SEPARATOR = "\x1e"
UNTIMED = ("IncrementalResultHashing",)
UNCOUNTED = ("IncrementalResultHashing", "IncrementalLoadResult", "QueryBlocked")
TICKS_OF_NS = 10 ** 9
DEPTH_MAX = 1024  # deeper spans are merged
DOUBLE_MAX = 2 ** 53  # the largest integer that JSON represents exactly


class Span:
    """'label' is None where only symbols or the reading library's stand-ins can name it."""

    def __init__(self, label, begin, end, category=None, is_open=False, arguments=""):
        self.label, self.begin, self.end, self.category, self.is_open = label, begin, end, category, is_open
        self.arguments = arguments
        self.children, self.path = 0, ()


class Figures:
    """What the spans of one label add up to."""

    def __init__(self):
        self.count = self.total = self.self = self.open = self.unknown = 0
        self.invocations = self.timed_total = 0  # as measureme counts
        self.child_count = 0

    def add(self, span, nticks):
        self.count += 1
        self.total += nticks
        self.self += nticks - span.children
        self.open += span.is_open
        self.invocations += span.category not in UNCOUNTED
        self.timed_total += 0 if span.category in UNTIMED else nticks


class Facts:
    """A file's spans. 'features' names what not every view can say exactly."""

    def __init__(self):
        self.streams = {}  # spans in the order of their ends
        self.unknown = collections.Counter()  # ends without a known begin, by label
        self.resolution, self.is_count, self.is_exact = 1, False, True
        self.features = set()

    def length(self, span):
        cut = lambda tick: tick - tick % self.resolution
        return max(cut(span.end) - cut(span.begin), 0)

    def figures(self):
        rows = collections.defaultdict(Figures)
        for spans in self.streams.values():
            for span, parent in nest(spans):
                span.path = (parent.path if parent is not None else ()) + (span.label,)
                if len(span.path) > DEPTH_MAX:
                    self.features.add("deeper")
                if parent is not None:
                    parent.children += self.length(span)
                    rows[parent.label].child_count += 1
            for span in spans:
                rows[span.label].add(span, self.length(span))
        if any(row.total > DOUBLE_MAX for row in rows.values()):
            self.features.add("huge")
        for label, count in self.unknown.items():
            rows[label].unknown += count
        return dict(rows)

    def paths(self):
        """The self time of each path of labels, after figures()."""
        paths = collections.Counter()
        for spans in self.streams.values():
            for span in spans:
                paths[span.path] += self.length(span) - span.children
        return paths

    def names_all(self):
        return all(span.label is not None for spans in self.streams.values() for span in spans)


def nest(spans):
    """Each span and its parent: the innermost span of the walk from the last to the first that contains it."""
    stack = []
    for span in reversed(spans):
        begin = min(span.begin, span.end)
        while stack and not (stack[-1][1] <= begin and span.end <= stack[-1][0].end):
            stack.pop()
        yield span, stack[-1][0] if stack else None
        span.children = 0
        stack.append((span, begin))


def label_of(name):
    label = name.split(SEPARATOR)[0]
    return label if label and not any(c < " " or c == "\x7f" for c in label) else "<parse error>"


# ---- Traces ----

def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def arguments_of(event):
    """As ' name=value'; only numbers and texts."""
    text = ""
    for argument in event.get("args", []):
        name, value = argument["name"], argument["value"]
        text += " " + (name + "=" if name is not None else "") + (quoted(value) if isinstance(value, str) else str(value))
    return text


class Open:
    """What has begun. 'begin' is None where the writer no longer knew it."""

    def __init__(self, label, begin, category=None, is_inherited=False, arguments=""):
        self.label, self.begin, self.category, self.is_inherited = label, begin, category, is_inherited
        self.arguments = arguments


class Stream:
    def __init__(self, facts):
        self.facts, self.spans = facts, []
        self.stack, self.depth = {}, 0  # what is known of the open spans, by how many are around them
        self.left = []  # spans that left the stack and never ended
        self.sequence, self.last = None, 0  # of the block at hand, and the latest tick in it

    def begin_block(self, block, stored):
        """'stored': the innermost open spans at its start. The others are those of the block before, unless events
        are missing between the two; then nothing is known of them."""
        continues = self.sequence is not None and block.sequence == self.sequence + 1 and block.depth == self.depth
        self.sequence = block.sequence
        last_before, self.last = self.last, block.first_tick
        unstored = block.depth - len(stored)
        now = {at: opened for at, opened in self.stack.items() if at < unstored}
        for at, (begin, label, is_inherited) in enumerate(stored, unstored):
            old = self.stack.get(at)
            is_same = old is not None and (old.begin, old.label) == (begin or None, label)
            now[at] = old if is_same else Open(label, begin or None, None, is_inherited)
        self.end_here([old for at, old in sorted(self.stack.items()) if now.get(at) is not old], last_before)
        self.stack = {at: opened for at, opened in now.items() if continues or at >= unstored}
        self.depth = block.depth

    def end_here(self, opened, last):
        """Spans that never ended, or ended in blocks that are missing."""
        known = [each for each in opened if each.begin is not None]
        self.facts.unknown.update(each.label for each in opened if each.begin is None)
        for each in sorted(reversed(known), key=lambda each: -each.begin):
            self.spans.append(Span(each.label, each.begin, last, each.category, not each.is_inherited, each.arguments))

    def end(self, event, label):
        at = self.depth - 1 - event.get("inside", 0)
        top = self.stack.pop(at, Open(None, None))
        if at >= 0:
            self.stack = {depth - (depth > at): opened for depth, opened in self.stack.items()}
            self.depth -= 1
        own = event.get("begin_tick") or None
        if own is not None and own != top.begin:
            top = Open(label, own)  # it contradicts the stack: a reader of its block alone knows nothing else
        begin = top.begin
        if begin is None:
            self.facts.unknown[top.label if top.label is not None else label] += 1
            return
        label = top.label if top.label is not None else label
        end = event.get("end_tick", event["tick"])
        self.spans.append(Span(label, begin, end, top.category, end == 0, top.arguments))
        if end == 0:
            self.left.append(self.spans[-1])

    def take(self, event, label):
        if event["type"] == "begin":
            self.stack[self.depth] = Open(label, event["tick"], event.get("category_name"), False, arguments_of(event))
            self.depth += 1
        elif event["type"] == "end":
            self.end(event, label)
        elif event["type"] == "span":
            self.spans.append(Span(label, event["begin_tick"], event["tick"], event.get("category_name"), False,
                                   arguments_of(event)))
        self.last = max(self.last, event["tick"])

    def finish(self):
        self.end_here([opened for at, opened in sorted(self.stack.items())], self.last)
        for span in self.left:
            span.end = self.last
        return self.spans


def id_label(trace, id):
    if id == decoder.INVALID:
        return "<unknown>"
    is_place = id < decoder.RESERVED_END and trace.units.get(id) is not None
    name = None if is_place else decoder.name_of(trace, id)
    return None if name is None else label_of(name)


def read_trace(path):
    facts = Facts()
    data = decoder.load(path)
    trace = decoder.open_trace(data, lambda *damage, **where: None)
    blocks = list(decoder.find_blocks(trace, decoder.check_shared(trace)))
    records = [block for block in blocks if block.kind == decoder.RECORDS]
    list(decoder.walk(trace, records, decoder.read_record, "RECORD_LENGTH"))
    events = sorted((block for block in blocks if block.kind == decoder.EVENTS),
                    key=lambda block: (block.stream, block.sequence))
    streams = {}
    for block in events:
        stream = streams.setdefault(block.stream, Stream(facts))
        lines = list(decoder.walk(trace, [block], decoder.read_event, "EVENT_ZERO"))
        stored = [(decoder.u64(data, at), id_label(trace, decoder.u32(data, at + 8)), decoder.u32(data, at + 12))
                  for at in range(block.start + 64, block.content, 16)]
        stream.begin_block(block, stored)
        for event in lines:
            stream.take(event, id_label(trace, event["id"]))
    facts.streams = {number: stream.finish() for number, stream in streams.items()}
    facts.is_count = trace.header.clock == 4
    facts.is_exact = facts.is_count or trace.header.ticks_per_second == TICKS_OF_NS
    facts.resolution = resolution_of(trace.header)
    return facts


def resolution_of(header):
    return max(header.ticks_per_second * header.resolution // TICKS_OF_NS, 1)


# ---- Profiles ----

def read_profile(path):
    facts = Facts()
    profile = measureme_decoder.Profile(path)
    for event in profile.events:
        if event.type == "span":
            spans = facts.streams.setdefault(event.thread, [])
            spans.append(Span(profile.label(event.id), event.begin, event.end, profile.name(event.kind)))
    return facts


def read(path):
    """None: no independent reader has this format, or the file is refused."""
    try:
        with open(path, "rb") as file:
            magic = file.read(8)
        return read_trace(path) if magic == b"tracebed" else read_profile(path)
    except (decoder.Damage, measureme_decoder.Refused):
        return None
