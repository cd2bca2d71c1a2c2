#!/usr/bin/env python3
"""check_rtl_scopes.py TRACEBED FOLDER COUNT: the scopes of random logs of RTL_LOGFILE, including those written as
messages, against a slow and obvious pairing of their lines: the calls of each thread, the sums by scope and by
module, a filter, the paths, and the differences between two logs.

SPDX-License-Identifier: MIT
"""
import collections
import json
import random
import re
import sys

import check_rtl_log as logs

MS = 1000000


class Scope:
    """Times are ticks: within a millisecond the order counts. 'parent' is the scope that contains it."""

    def __init__(self, name, begin):
        self.name, self.begin, self.end, self.state = name, begin, begin, "open"
        self.parent, self.depth, self.children_ms = None, 0, 0

    def ms(self):
        return self.end // MS - self.begin // MS

    def contains(self, inner):
        return self.begin <= inner.begin and inner.end <= self.end

    def path(self):
        return (self.parent.path() if self.parent else ()) + (self.label(),)

    def shown(self):
        return " : ".join(part for part in self.name if part is not None)

    def label(self):
        return self.shown() or "<parse error>"


class Thread:
    """'scopes' are in the order in which they leave the stack."""

    def __init__(self):
        self.stack, self.objects, self.pairs, self.scopes, self.last = [], [], [], [], None

    def begin(self, name, pair, now):
        scope = Scope(name, now)
        self.stack.append(scope)
        (self.pairs if pair else self.objects).append(scope)

    def leave_top(self):
        self.scopes.append(self.stack.pop())

    def settle(self):
        while self.stack and self.stack[-1].state == "ended":
            self.leave_top()

    def end(self, name, now):
        """The scopes inside it leave the stack, and may still end later."""
        scope = [scope for scope in self.objects if scope.name == name][-1]
        scope.end, scope.state = now, "ended"
        self.objects.remove(scope)
        while scope in self.stack:
            self.leave_top()
        self.settle()

    def close(self, name, now):
        context, text = name
        fits = [scope for scope in self.pairs if scope.name == name]
        if not fits and text:
            fits = [scope for scope in self.pairs if scope.name[0] == context and scope.name[1].startswith(text)]
        if fits:
            scope = fits[-1]
            scope.end, scope.state = now, "ended"
            self.pairs.remove(scope)
            self.settle()

    def message(self, context, text, now):
        name = (context or None, text[1:].lstrip(" "))
        if text.startswith("{"):
            self.begin(name, True, now)
        elif text.startswith("}"):
            self.close(name, now)

    def finish(self):
        while self.stack:
            self.leave_top()
        for scope in self.scopes:
            if scope.state == "open":
                scope.end = self.last
        self.nest()

    def nest(self):
        """Nests each scope, from the last to the first, in the innermost one that contains it."""
        stack = []
        for scope in reversed(self.scopes):
            while stack and not stack[-1].contains(scope):
                stack.pop()
            if stack:
                scope.parent, scope.depth = stack[-1], stack[-1].depth + 1
                scope.parent.children_ms += scope.ms()
            stack.append(scope)

    def calls(self):
        """In the order of their begins; of those that begin together the outer one leaves the stack later."""
        order = sorted(enumerate(self.scopes), key=lambda item: (item[1].begin, -item[0]))
        return [(scope.shown(), scope.begin // MS * MS, scope.ms() * MS, scope.depth, scope.state == "open")
                for _, scope in order]


def times(lines):
    """The tick of each line: its own time or, if that goes back, the tick after the previous line."""
    newest, epoch, tick = None, 0, None
    for line in lines:
        match = re.fullmatch(r"(\d+) (\d+) ([{}|])(?: (.*))?", line)
        first, tick = tick is None, 0 if tick is None else tick + 1
        if match:
            ms = int(match[1])
            wraps = newest is not None and newest - ms > 2 ** 31
            epoch += 2 ** 32 * wraps
            if newest is None or wraps or 0 <= ms - newest <= 2 ** 31:
                newest = ms
                tick = (epoch + ms) * MS if first else max(tick, (epoch + ms) * MS)
        yield tick, match


def read(lines):
    """The scopes of each thread, in the order of the threads' first lines."""
    threads = collections.OrderedDict()
    for now, match in times(lines):
        if not match:
            continue
        thread, kind, rest = threads.setdefault(match[2], Thread()), match[3], match[4] or ""
        thread.last = now
        names = [scope.name[0] for scope in thread.objects]
        rest = rest if kind == "|" else logs.scope_name(rest)
        if kind == "{":
            thread.begin((rest,), False, now)
        elif kind == "}" and rest in names:
            thread.end((rest,), now)
        elif kind == "|":
            context, text = logs.split(rest, names) or ("", rest)
            thread.message(context, text, now)
    for thread in threads.values():
        thread.finish()
    return threads


def module(name):
    match = re.match(r"([^ ()]{1,}) \([^)]*\)( |$)", name)
    return match[1] if match and not name.startswith(":") else name


def sums(threads, key):
    rows = collections.defaultdict(list)
    for thread in threads.values():
        for scope in thread.scopes:
            rows[key(scope)].append(scope)
    return {name: (len(row), sum(scope.ms() for scope in row) * MS, min(scope.ms() for scope in row) * MS,
                   max(scope.ms() for scope in row) * MS,
                   max(sum(scope.ms() - scope.children_ms for scope in row), 0) * MS,
                   sum(scope.state == "open" for scope in row)) for name, row in rows.items()}


def told(rows):
    return {row["name"]: tuple(row[key] for key in ("count", "total_ns", "min_ns", "max_ns", "self_ns", "never_ended_count"))
            for row in rows}


def same(seed, what, found, expected):
    """Both are lists, sets or dictionaries; reports the first differences."""
    if found != expected:
        found, expected = ([repr(item) for item in sorted(side.items() if isinstance(side, dict) else side, key=repr)]
                           for side in (found, expected))
        raise AssertionError("seed %d: %s: found %s, not %s" % (
            seed, what, [item for item in found if item not in expected][:2],
            [item for item in expected if item not in found][:2]))


def ask(tracebed, *words):
    return json.loads(logs.run(tracebed, *words))


def by_module(scope):
    context = scope.name[0] if scope.name[0] is not None else ""
    return module(context) if module(context) != context else scope.label()


def paths(threads):
    counts = collections.Counter(scope.path() for thread in threads.values() for scope in thread.scopes)
    opened = collections.Counter(scope.path() for thread in threads.values() for scope in thread.scopes
                                 if scope.state == "open")
    return {(path, count, opened[path]) for path, count in counts.items()}


def told_paths(tree):
    names = []
    for row in tree["rows"]:
        names.append(names[row["parent"]] + (row["name"],) if row["parent"] is not None else ())
    return {(name, row["count"], row["never_ended_count"]) for name, row in zip(names, tree["rows"]) if name}


def has_begin_at_0(threads):
    """A block cannot store a scope that begins at tick 0: spec/format.md, section 4.2."""
    return any(scope.begin == 0 for thread in threads.values() for scope in thread.scopes)


def check(tracebed, folder, seed):
    lines = logs.make(random.Random(seed))
    path, filter_path = folder + "/scopes.log", folder + "/filter"
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(line + "\n" for line in lines))
    threads = read(lines)
    expected = [thread.calls() for thread in threads.values()]
    if has_begin_at_0(threads):
        return
    if not any(logs.read([line])[0][0][0] != "instant" for line in lines):
        return
    found = [[tuple(call[key] for key in ("name", "begin_ns", "duration_ns", "depth", "never_ended"))
              for call in thread["calls"]]
             for thread in ask(tracebed, "tree", "--json", path)["threads"] if thread["name"] != "lines of no thread"]
    for at, (calls, right) in enumerate(zip(found, expected)):
        same(seed, "thread %d" % at, calls, right)
    assert len(found) == len(expected), seed
    report = ask(tracebed, "report", "--json", path)
    same(seed, "report", told(report["spans"]), sums(threads, Scope.label))
    same(seed, "by module", told(ask(tracebed, "report", "--by=module", "--json", path)["spans"]),
         sums(threads, by_module))
    with open(filter_path, "w", encoding="utf-8") as out:
        out.write("calc\n")
    left = sums(threads, lambda scope: "calc" if "calc" in scope.shown() else scope.label())
    row = told(ask(tracebed, "report", "--exclude-from", filter_path, "--json", path)["spans"]).get(
        "<left out by --include-from or --exclude-from>")
    assert row == left.get("calc"), "seed %d: filter: %s, not %s" % (seed, row, left.get("calc"))
    same(seed, "paths", told_paths(ask(tracebed, "tree", "--paths", "--json", path)), paths(threads))
    return threads


def check_diff(tracebed, folder, seed):
    """Two logs by module: their differences."""
    sides = []
    for side in range(2):
        lines = [line for line in logs.make(random.Random(2 * seed + side)) if re.match(r"\d{6,} \d+ [{}|] ", line)]
        lines.append("%06d 1 { desktop (cd100003) ::Always" % side)
        if has_begin_at_0(read(lines)):
            return
        with open("%s/side%d.log" % (folder, side), "w", encoding="utf-8") as out:
            out.write("".join(line + "\n" for line in lines))
        sides.append(sums(read(lines), by_module))
    diff = ask(tracebed, "diff", "--by=module", "--json", folder + "/side0.log", folder + "/side1.log")
    nothing = (0, 0, 0, 0, 0, 0)
    expected = {name: tuple(([sides[i].get(name, nothing)[at] for i in range(2)]) for at in (0, 1, 4))
                for name in set(sides[0]) | set(sides[1])}
    found = {row["name"]: (row["invocations"], row["time_ns"], row["self_ns"]) for row in diff["rows"]}
    assert found == expected, "seed %d: diff: %s, not %s" % (seed, found, expected)


def main():
    tracebed, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for seed in range(count):
        check(tracebed, folder, seed)
        if seed % 4 == 0:
            check_diff(tracebed, folder, seed)


if __name__ == "__main__":
    main()
