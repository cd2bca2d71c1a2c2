"""
Checks the architecture: which room (folder) may use which, by include and by link; that no two files of the product
need each other in a circle; that format/ does no I/O and no allocation; and how many files a room has.

ROOMS below is the one table of directions; ARCHITECTURE.md explains it. A room may use itself, the rooms in its line,
and what those may use. reader/ calls the writing library through its public headers only. Tests see the inside of what
they test; benchmarks and golden files see format/ and the public headers, fuzz targets a little more (APART).

    check_layers.py --summary      also prints the number of rooms, files, circles and edges

Check: layers
Needs: $b/libtracebed.a $b/libtracebed-reader.a $b/tracebed $b/libtracebed-preload.so $b/libtracebed-functions.so

SPDX-License-Identifier: MIT
"""

import collections
import functools
import os
import re
import subprocess
import sys

import tree

DOCUMENT = "ARCHITECTURE.md"
BUILD = os.environ.get("TBED_BUILD", "build/release")
PUBLIC = ("format/include/", "writer/include/", "writer/capture/include/", "reader/include/", "reader/exchange/include/")

# Lowest first. Rooms inside a room belong to it unless they have a line of their own.
ROOMS = {
    "format/base": [],
    "format": ["format/base"],
    "format/file": ["format"],
    "writer/include": ["format"],
    "writer/base": ["writer/include"],
    "writer/file": ["writer/base"],
    "writer/pages": ["writer/file"],
    "writer/store": ["writer/pages"],
    "writer/record": ["writer/store"],
    "writer/copy": ["writer/store"],
    "writer/recorded": ["format"],
    "writer/life": ["writer/record", "writer/copy", "writer/recorded"],
    "writer/session": ["writer/life"],
    "writer/capture/include": ["writer/include"],
    "writer/capture/logfile": ["writer/session", "writer/capture/include"],
    "writer/macros": ["writer/session", "writer/capture/include"],
    "writer/capture/launch": ["format"],
    "writer/capture/shared": ["writer/life", "writer/capture/launch"],
    "writer/capture/loading": ["writer/capture/shared"],
    "writer/capture/preload": ["writer/capture/loading"],
    "writer/capture/values": ["writer/capture/shared"],
    "writer/capture/functions": ["writer/capture/values"],
    "writer/capture/entries": ["writer/capture/functions", "writer/capture/loading"],
    "writer/capture/libcalls": ["writer/capture/entries"],
    "writer/capture/ruby": ["writer/include"],
    "reader/include": ["format"],
    "reader/core/system": ["format"],
    "reader/core/base": ["reader/core/system"],
    "reader/core/zstd": ["reader/core/base"],
    "reader/core/pack": ["reader/core/zstd", "reader/include"],
    "reader/core/container": ["reader/core/pack"],
    "reader/core/file": ["reader/core/container", "reader/include"],
    "reader/core/events": ["reader/core/file"],
    "reader/core/records": ["reader/core/file"],
    "reader/core/strings": ["reader/core/records"],
    "reader/core/names": ["reader/core/events", "reader/core/strings"],
    "reader/core/open": ["reader/core/names"],
    "reader/analysis": ["reader/core"],
    "reader/symbols/debug": ["reader/core", "writer/capture/launch"],
    "reader/symbols/process": ["reader/symbols/debug"],
    "reader/symbols": ["reader/symbols/process"],
    "reader/exchange/include": ["reader/include"],
    "reader/exchange/out": ["reader/exchange/include", "reader/core/zstd"],
    "reader/exchange/shared": ["reader/exchange/out", "reader/analysis", "writer/include", "writer/capture/include"],
    "reader/exchange/measureme/file": ["reader/core", "reader/exchange/include"],
    "reader/exchange/measureme/import": ["reader/exchange/measureme/file", "reader/exchange/shared"],
    "reader/exchange/measureme/export": ["reader/exchange/measureme/import"],
    "reader/exchange/foreign": ["reader/exchange/shared"],
    "reader/exchange/events": ["reader/exchange/shared"],
    "reader/exchange/chrome/import": ["reader/exchange/foreign"],
    "reader/exchange/chrome": ["reader/exchange/events", "reader/exchange/chrome/import"],
    "reader/exchange/perfetto/import": ["reader/exchange/foreign"],
    "reader/exchange/perfetto": ["reader/exchange/events", "reader/exchange/perfetto/import"],
    "reader/exchange/firefox": ["reader/exchange/events", "reader/exchange/stacks"],
    "reader/exchange/otlp": ["reader/exchange/events"],
    "reader/exchange/ctf/import": ["reader/exchange/shared", "reader/symbols/process"],
    "reader/exchange/ctf/export": ["reader/exchange/events"],
    "reader/exchange/ctf/format": ["reader/exchange/ctf/import", "reader/exchange/ctf/export"],
    "reader/exchange/rtl_log": ["reader/exchange/shared"],
    "reader/exchange/spall": ["reader/exchange/shared"],
    "reader/exchange/uftrace": ["reader/exchange/shared"],
    "reader/exchange/stacks": ["reader/exchange/shared"],
    "reader/exchange/folded/import": ["reader/exchange/foreign"],
    "reader/exchange/folded": ["reader/exchange/stacks", "reader/exchange/folded/import"],
    "reader/exchange/callgrind": ["reader/exchange/stacks"],
    "reader/exchange/pprof/import": ["reader/exchange/foreign"],
    "reader/exchange/pprof": ["reader/exchange/stacks", "reader/exchange/pprof/import"],
    "reader/exchange/speedscope": ["reader/exchange/stacks"],
    "reader/exchange/heaptrack": ["reader/exchange/stacks"],
    "reader/exchange/traces": ["reader/exchange/shared"],
    "reader/exchange/packed": ["reader/exchange/shared"],
    "reader/tables/base": ["reader/analysis"],
    "reader/tables/facts": ["reader/tables/base"],
    "reader/tables/results": ["reader/tables/facts"],
    "reader/tables/rows": ["reader/tables/base"],
    "reader/tables/events": ["reader/tables/rows"],
    "reader/tables/profile": ["reader/tables/rows", "reader/exchange/measureme/import"],
    "reader/tables/list": ["reader/tables/results", "reader/tables/events"],
    "reader/tables/arrow": ["reader/tables/base", "reader/exchange/include"],
    "reader/exchange/columns/base": ["reader/exchange/shared", "reader/tables/list"],
    "reader/exchange/columns/parquet": ["reader/exchange/columns/base"],
    "reader/exchange/columns/text": ["reader/exchange/columns/base"],
    "reader/exchange/registry": [
        "reader/exchange/measureme", "reader/exchange/chrome", "reader/exchange/perfetto", "reader/exchange/firefox",
        "reader/exchange/otlp", "reader/exchange/ctf", "reader/exchange/rtl_log", "reader/exchange/spall",
        "reader/exchange/uftrace", "reader/exchange/folded", "reader/exchange/callgrind", "reader/exchange/pprof",
        "reader/exchange/speedscope", "reader/exchange/heaptrack", "reader/exchange/columns",
    ],
    "reader/tables/open": ["reader/tables/list", "reader/tables/profile", "reader/exchange/registry"],
    "reader/python": ["reader/include"],
    "reader/sql": ["reader/tables"],
    "reader/tools": ["reader/exchange", "reader/tables", "reader/symbols", "reader/sql", "writer/recorded",
                     "writer/capture/launch"],
}
# A room with more files than this is several rooms in one.
ROOM_FILES_MAX = 16
# What is not part of the product, and what it may include.
APART = {
    "fuzz": ("format/", "reader/core/", "reader/exchange/", "reader/sql/", "reader/symbols/", "reader/tools/",
             "reader/tests/", "writer/capture/launch/", *PUBLIC),
    "spec": ("fuzz/", "format/", *PUBLIC),
    "bench": ("format/", *PUBLIC),
    "writer/examples": PUBLIC,
}

FORMAT_SYSTEM = {"assert.h", "limits.h", "stdbool.h", "stddef.h", "stdint.h", "string.h", "xxhash.h", "endian.h"}
FORMAT_SYMBOLS = {
    "memcpy", "memset", "memcmp", "memmove", "memchr", "bcmp", "strlen", "strnlen", "strcmp", "strncmp",
    "__stack_chk_fail", "__assert_fail", "_GLOBAL_OFFSET_TABLE_",
}  # fmt: skip


@functools.cache
def room_of(path):
    """The room of the table that a file is in; None for a test, and for what is not part of the product."""
    if path == "format/include/tracebed/types.h":  # public, and below all others
        return "format/base"
    if re.search(r"/(tests|examples)/", path):
        return None
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def reach(room):
    """All rooms that a room may use."""
    found, todo = {room}, [room]
    while todo:
        for below in ROOMS[todo.pop()]:
            inner = [name for name in ROOMS if name == below or name.startswith(below + "/")]
            todo += [name for name in inner if name not in found]
            found.update(inner)
    return found


REACH = {room: reach(room) for room in ROOMS}


# ---- Includes ----

def find(quote, name, path):
    """The file of the tree that an include names; None for the system's."""
    for folder in [".", os.path.dirname(path), *PUBLIC] if quote == '"' else PUBLIC:
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(candidate):
            return candidate
    return None


def includes(path):
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match is not None:
            yield number, match.group(1), match.group(2)


def seen_from_apart(path):
    """What a file outside the table may include, as prefixes of paths; None if that is not checked."""
    if "/tests/" in path:
        top = path.split("/", 1)[0]
        own = {"format": ("format/",), "writer": ("format/", "writer/"), "reader": ("format/", "reader/")}
        return (*own[top], *PUBLIC) if top in own else None
    return next((tuple(seen) + (folder + "/",) for folder, seen in APART.items() if path.startswith(folder + "/")), None)


def check_includes(path):
    """Complaints, and the files of the tree that are included."""
    room, problems, targets = room_of(path), [], set()
    for number, quote, name in includes(path):
        place = f"{path}:{number}: includes {name}"
        target = find(quote, name, path)
        if name.startswith("ninja/generated/"):  # lists, which belong to no room
            continue
        if target is None:
            if quote == '"' or name.startswith("tracebed/"):
                problems.append(f"{place}, which does not exist")
            elif room in ("format", "format/base") and name not in FORMAT_SYSTEM:
                problems.append(f"{place}, but format/ does no I/O and no allocation")
            continue
        targets.add(target)
        if room is None:
            allowed = seen_from_apart(path)
            if allowed is not None and not target.startswith(allowed):
                problems.append(f"{place}, but may only see {', '.join(allowed)}")
        elif room_of(target) not in REACH[room]:
            problems.append(f"{place}, but {room} may not use {room_of(target)}")
    return problems, targets


# ---- Links ----

def object_of(source):
    """The object file of a source, or None if it was not built."""
    name = source.removesuffix(".c") + ".o"
    paths = (f"{BUILD}/{name}", f"{os.path.dirname(BUILD)}/preload/{name}")
    return next((path for path in paths if os.path.exists(path)), None)


def read_symbols(objects):
    """object -> (defined, used) names."""
    run = subprocess.run(["nm", "-A", "-g", *objects], capture_output=True, text=True, check=True)
    symbols = {name: (set(), set()) for name in objects}
    for line in run.stdout.splitlines():
        name, rest = line.split(":", 1)
        *_, kind, symbol = rest.split()
        symbols[name][kind in "Uwv"].add(symbol)
    return symbols


def read_links(sources):
    """source -> {source it calls: a name}; and complaints about format/."""
    objects = {source: object_of(source) for source in sources}
    problems = [f"{source}: has no object in {BUILD}" for source in sources if objects[source] is None]
    symbols = read_symbols(sorted(filter(None, objects.values())))
    defined, used, owner = {}, {}, {}
    for source in sources:
        defined[source], used[source] = symbols.get(objects[source], ((), ()))
        for name in defined[source]:
            # Other names of captures stand in for the system's.
            if re.match("tbed_|preload_|functions_|launch_", name) or not source.startswith("writer/capture/"):
                owner[name] = source
    links = collections.defaultdict(dict)
    for source in sources:
        for name in sorted(used[source]):
            target = owner.get(name)
            if target not in (None, source) and name not in defined[source]:
                links[source][target] = name
            elif target is None and room_of(source) in ("format", "format/base") and name not in FORMAT_SYMBOLS:
                problems.append(f"{source}: uses {name}, but format/ does no I/O and no allocation")
    return links, problems


def check_links(links):
    for source, targets in sorted(links.items()):
        room = room_of(source)
        for target, name in sorted(targets.items()):
            top = target.split("/", 1)[0]
            by_header = not source.startswith(top + "/") and f"{top}/include" in REACH[room]
            if room_of(target) not in REACH[room] and not by_header:
                yield f"{source}: uses {name}() of {target}, but {room} may not use {room_of(target)}"


def check_variables(sources):
    """format/ has no state: no object of it has a writable section that is not empty."""
    for source in sources:
        name = object_of(source) if room_of(source) in ("format", "format/base") else None
        if name is None:
            continue
        run = subprocess.run(["size", "-A", name], capture_output=True, text=True)
        for section, nbytes in re.findall(r"^(\.t?(?:data|bss)\S*) +(\d+)", run.stdout, re.M):
            if nbytes != "0" and not section.startswith(".data.rel.ro"):
                yield f"{source}: has variables, {nbytes} bytes of {section}"


# ---- Circles ----

def circles(edges):
    """The sets of files that reach each other (Tarjan, without recursion)."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for start in sorted(edges):
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(edges.get(target, ())))))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while node not in part:
                        part.add(stack.pop())
                    on -= part
                    if len(part) > 1:
                        found.append(sorted(part))
    return found


# ---- Rooms ----

def check_names(paths):
    seen = {}
    for path in paths:
        other = seen.setdefault(os.path.basename(path), path)
        if other != path:
            yield f"{path}: has the same name as {other}"


def check_rooms(paths):
    for path in paths:
        is_product = path.startswith(("format/", "writer/", "reader/")) and not re.search("/(tests|examples)/", path)
        if is_product and room_of(path) is None:
            yield f"{path}: is in no room of the table"
    for room, count in sorted(count_rooms(paths).items()):
        if count > ROOM_FILES_MAX:
            yield f"{room}: has {count} files, more than {ROOM_FILES_MAX}"


def check_document():
    """The document's table has a row for each room, with the same directions and the same limit of files."""
    text, shown = tree.read(DOCUMENT), {}
    table = text.partition("| Room | Contents | May use |")[2].partition("\n\n")[0]
    for room, below in re.findall(r"^\| `(\S+)` \| [^|]+ \| ([^|]+) \|$", table, re.M):
        shown[room] = re.findall(r"`(\S+)`", below)
    for room in sorted({*ROOMS, *shown}):
        if shown.get(room) != ROOMS.get(room):
            rows = [", ".join(rooms) or "nothing" if rooms is not None else "no such room"
                    for rooms in (shown.get(room), ROOMS.get(room))]
            yield f"{DOCUMENT}: the table says that {room} may use: {rows[0]}; ROOMS says: {rows[1]}"
    if f"at most {ROOM_FILES_MAX} files" not in text:
        yield f"{DOCUMENT}: does not say that a room has at most {ROOM_FILES_MAX} files"


def count_rooms(paths):
    return collections.Counter(os.path.dirname(path) for path in paths if room_of(path) is not None)


def count_readers_of_the_state(included):
    """The files that see all fields of struct tbed_writer, directly or through other headers."""
    holders = [path for path in included if re.search(r"^struct tbed_writer \{", tree.read(path), re.M)]
    seen, todo = set(holders), list(holders)
    while todo:
        target = todo.pop()
        new = [path for path in included if target in included[path] and path not in seen]
        seen.update(new)
        todo += new
    return len([path for path in seen if path.endswith(".c")])


def find_problems():
    """Complaints, and a line that sums up the tree."""
    paths = tree.files(".c", ".h")
    sources = [path for path in paths if path.endswith(".c") and room_of(path) is not None]
    linked = [path for path in sources if not path.startswith(("writer/capture/ruby/", "reader/python/"))]
    problems, included = list(check_rooms(paths)), collections.defaultdict(set)
    for path in paths:
        complaints, targets = check_includes(path)
        problems += complaints
        if room_of(path) is not None:
            included[path] |= {target for target in targets if room_of(target) is not None}
    links, complaints = read_links(linked)
    problems += complaints + list(check_links(links)) + list(check_variables(linked))
    problems += check_names([path for path in paths if path.endswith(".c")])
    rounds = circles({source: set(targets) for source, targets in links.items()}) + circles(included)
    problems += [f"a circle of {len(part)} files: {', '.join(part)}" for part in rounds]
    rooms = count_rooms(paths)
    return problems, (f"{len(rooms)} rooms, at most {max(rooms.values())} files in one; "
                      f"{sum(map(len, links.values()))} edges between files, {len(rounds)} circles; "
                      f"{count_readers_of_the_state(included)} sources see the whole state of the writer")


def main():
    problems, summary = find_problems()
    if "--summary" in sys.argv:
        print(summary)
    return tree.report([*problems, *check_document()])


if __name__ == "__main__":
    sys.exit(main())
