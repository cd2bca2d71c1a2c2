"""
Checks the layers, in what is included and in what is linked:

    format  <-  writer, reader (never each other)  <-  tools, exchange, symbols, tests, fuzz, bench

format/ does no I/O, no allocation, and has no variables. Those on the right see public headers, <tracebed/...>,
and their own folder; the tests of a layer see that layer as well. Names of .c files are unique in the tree.

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys

import tree

BUILD = os.environ.get("TBED_BUILD", "build/release")

# What each part may include, as the beginning of a path in the tree. The longest matching part counts.
PUBLIC = ("format/include/", "writer/include/", "writer/capture/include/", "reader/include/")
PARTS = {
    "format/": ("format/",),
    "format/tests/": ("format/", *PUBLIC),
    "writer/": ("writer/", "format/"),
    "writer/tests/": ("writer/", "format/", *PUBLIC),
    "reader/": ("reader/", "format/"),
    "reader/exchange/": ("reader/exchange/", "reader/analysis/profile_", "reader/label.h", "format/utf8.h", *PUBLIC),
    "reader/symbols/": ("reader/symbols/", *PUBLIC),
    "reader/tools/": ("reader/tools/", *PUBLIC),
    "reader/tests/": ("reader/", "format/", *PUBLIC),
    "fuzz/": ("fuzz/", "format/", "reader/exchange/", *PUBLIC),
    "spec/": ("spec/", "fuzz/", "format/", *PUBLIC),
    "bench/": ("bench/", "format/", *PUBLIC),
}
# Parts that a part above them may not reach into, although its own folder holds them.
CLOSED = ("reader/tools/", "reader/exchange/", "reader/symbols/", "writer/capture/", "reader/tests/", "writer/tests/")
# What may see a closed part all the same.
OPENED = {"reader/exchange/": ("reader/tests/", "fuzz/"), "reader/symbols/": ("reader/tests/",)}

FORMAT_SYSTEM = {"assert.h", "limits.h", "stdbool.h", "stddef.h", "stdint.h", "string.h", "xxhash.h", "endian.h"}
FORMAT_SYMBOLS = {
    "memcpy", "memset", "memcmp", "memmove", "memchr", "bcmp", "strlen", "strnlen", "strcmp", "strncmp",
    "__stack_chk_fail", "__assert_fail", "_GLOBAL_OFFSET_TABLE_",
}  # fmt: skip

# Folders whose objects are layers of libtracebed.a, and the layers whose names they may use.
LINKS = {"format": {"format"}, "writer": {"format", "writer"}, "reader": {"format", "reader"}}


def part_of(path):
    return max((part for part in PARTS if path.startswith(part)), key=len, default=None)


def find(name, path):
    """The file of the tree that an include means, or None: the system's."""
    folders = [".", os.path.dirname(path), *PUBLIC]
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(candidate):
            return candidate
    return None


def includes(path):
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match is not None:
            yield number, match.group(1), match.group(2)


def check_includes(path):
    part = part_of(path)
    for number, quote, name in includes(path):
        place = f"{path}:{number}: includes {name}"
        target = find(name, path)
        if target is None:
            if quote == '"' or name.startswith("tracebed/"):
                yield f"{place}, which does not exist"
            elif part == "format/" and name not in FORMAT_SYSTEM:
                yield f"{place}, but format/ does no I/O and no allocation"
            continue
        if part is None:
            continue
        is_public = target.startswith(PUBLIC)
        inner = None if is_public else next((closed for closed in CLOSED if target.startswith(closed)), None)
        if not target.startswith(PARTS[part]):
            yield f"{place}, but {part} may only see {', '.join(PARTS[part])}"
        elif inner is not None and not path.startswith((inner, *OPENED.get(inner, ()))) and inner != part:
            yield f"{place}, but {inner} is closed to {part}"


def check_names(paths):
    seen = {}
    for path in paths:
        other = seen.setdefault(os.path.basename(path), path)
        if other != path:
            yield f"{path}: the same name as {other}"


def layer_of(source):
    """The layer an object is linked as; None where both public APIs may be used."""
    if source is None or source.startswith(("reader/exchange/", "reader/symbols/")):
        return None
    return source.split("/", 1)[0]


def read_objects(archive, sources):
    """Gives source -> (defined names with their type, undefined names)."""
    run = subprocess.run(["nm", "-g", "-A", archive], capture_output=True, text=True)
    objects = {}
    for line in run.stdout.splitlines():
        _, member, rest = line.split(":", 2)
        fields = rest.split()
        source = sources.get(member.removesuffix(".o") + ".c")
        defined, undefined = objects.setdefault(source, ({}, set()))
        if fields[-2] in "Uwv":
            undefined.add(fields[-1])
        else:
            defined[fields[-1]] = fields[-2]
    return objects


def check_variables(sources):
    """format/ is pure: no object of it has a writable section with anything in it."""
    for source in sources:
        name = f"{BUILD}/{source.removesuffix('.c')}.o"
        if part_of(source) != "format/" or not os.path.exists(name):
            continue
        run = subprocess.run(["size", "-A", name], capture_output=True, text=True)
        for section, nbytes in re.findall(r"^(\.t?(?:data|bss)\S*) +(\d+)", run.stdout, re.M):
            if nbytes != "0" and not section.startswith(".data.rel.ro"):
                yield f"{source}: has variables, {nbytes} bytes of {section}"


def check_links(objects):
    owner = {name: layer_of(source) for source, (defined, _) in objects.items() for name in defined}
    for source, (_, undefined) in sorted(objects.items(), key=lambda item: item[0] or ""):
        layer = layer_of(source)
        if layer is None:
            continue
        for name in sorted(undefined):
            to = owner.get(name)
            if name in owner and to is not None and to not in LINKS[layer]:
                yield f"{source}: uses {name}() of {to}/"
            elif layer == "format" and name not in owner and name not in FORMAT_SYMBOLS:
                yield f"{source}: uses {name}, but format/ does no I/O and no allocation"


def main():
    paths = tree.files(".c", ".h")
    sources = [path for path in paths if path.endswith(".c")]
    problems = [problem for path in paths for problem in check_includes(path)]
    problems += check_names(sources)
    by_name = {os.path.basename(path): path for path in sources}
    objects = read_objects(f"{BUILD}/libtracebed.a", by_name)
    if not objects:
        problems.append(f"{BUILD}/libtracebed.a: nothing to check the links of")
    problems += check_links(objects)
    problems += check_variables(sources)
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
