"""
Checks that each shared library exports exactly what its public headers declare, and that no library exports a name
without its prefix.

    check_exports.py --write      writes the version scripts from the headers

Check: exports
Needs: $b/libtracebed.a $b/libtracebed-reader.a $b/libtracebed-reader.so $b/libtracebed.so $b/libtracebed-preload.so $b/libtracebed-functions.so

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys
import tempfile

import tree

BUILD = os.environ.get("TBED_BUILD", "build/release")
INCLUDES = ["-Iformat/include", "-Iwriter/include", "-Iwriter/capture/include", "-Ireader/include", "-Ireader/exchange/include"]
# Each library, and the folders of its public headers.
LIBRARIES = {
    "libtracebed": ("format/include/", "writer/include/", "writer/capture/include/"),
    "libtracebed-reader": ("format/include/", "reader/include/", "reader/exchange/include/"),
}
NODES = {"libtracebed": "TRACEBED_0", "libtracebed-reader": "TRACEBED_READER_0"}
# Declared by libtracebed's headers; linked into each program, see ninja/generate.py.
NOT_SHARED = "libtracebed_nonshared"


def declared():
    """What the public headers declare and leave to a library: name -> header."""
    headers = [path for path in tree.files(".h") if "/include/tracebed/" in path and not path.endswith("_inline.h")]
    source = "".join(f'#include "{path}"\n' for path in headers)
    with tempfile.NamedTemporaryFile("r") as listing:
        command = ["gcc", "-std=gnu17", "-aux-info", listing.name, "-I.", *INCLUDES, "-S", "-o", "/dev/null"]
        run = subprocess.run([*command, "-x", "c", "-"], input=source, text=True, stderr=subprocess.PIPE)
        if run.returncode != 0:
            sys.exit(run.stderr)
        functions = re.findall(r"^/\* (\S+?):\d+:\w+ \*/ extern [^;]*?\b(tbed_\w+) \(", listing.read(), re.M)
    names = {name: header for header, name in functions}
    for path in headers:
        for name in re.findall(r"^extern [^;({\n]*\b(tbed_\w+)(?:\[\w*\])?;", tree.read(path), re.M):
            names[name] = path
    return names


def symbols(path, *flags):
    run = subprocess.run(["nm", "--defined-only", *flags, path], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{path}: {run.stderr.strip()}")
    found = set()
    for line in run.stdout.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] != "A":
            found.add(fields[2].split("@")[0])
    return found


def map_of(library):
    return f"ninja/{library}.map"


def wanted_of(library, headers):
    names = {name for name, header in headers.items() if header.startswith(LIBRARIES[library])}
    return names - symbols(f"{BUILD}/{NOT_SHARED}.a", "-g")


def check_library(library, wanted):
    path = map_of(library)
    exported = symbols(f"{BUILD}/{library}.so.0", "-D")
    inside = symbols(f"{BUILD}/{library}.a", "-g")
    listed = set(re.findall(r"\btbed_\w+", tree.read(path)))
    for name in sorted(wanted - exported):
        if name not in inside:
            yield f"{name}: declared in a public header, defined nowhere"
        elif name not in listed:
            yield f"{name}: declared in a public header; list it in {path} (check_exports.py --write)"
        else:
            yield f"{name}: declared and listed, but not exported"
    for name in sorted(exported - wanted):
        yield f"{name}: exported by {library}.so, in none of its public headers"
    for name in sorted(listed - wanted):
        yield f"{name}: listed in {path}, in none of its public headers"
    for name in sorted(inside):
        if not name.startswith("tbed_"):
            yield f"{name}: a global name of {library}.a without the prefix tbed_"


# What programs look up in the preloaded library, by a header alone (tracebed/pool.h).
LOOKED_UP = {"tbed_preload_pool"}


def check_preloaded(library):
    for name in sorted(symbols(f"{BUILD}/{library}.so", "-D") - LOOKED_UP):
        if name.startswith("tbed_"):
            yield f"{name}: exported by {library}.so, where a program's own would clash with it"


def write_map(library, wanted):
    lines = [f"# What {library}.so exports: what its public headers declare. Written by",
             "# ninja/checks/check_exports.py --write, which also compares the two.",
             f"{NODES[library]} {{", "global:", *(f"    {name};" for name in sorted(wanted)), "local:", "    *;", "};"]
    with open(map_of(library), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    headers, problems = declared(), []
    for library in LIBRARIES:
        wanted = wanted_of(library, headers)
        if "--write" in sys.argv:
            write_map(library, wanted)
        else:
            problems += check_library(library, wanted)
    for library in ("libtracebed-preload", "libtracebed-functions") if "--write" not in sys.argv else ():
        problems += check_preloaded(library)
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
