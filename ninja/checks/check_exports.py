"""
Checks that libtracebed.so exports what the public headers declare, no more and no less, that libtracebed-symbols.a
has what its header declares, and that no library shows a name that is not its own.

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys
import tempfile

import tree

BUILD = os.environ.get("TBED_BUILD", "build/release")
INCLUDES = ["-Iformat/include", "-Iwriter/include", "-Iwriter/capture/include", "-Ireader/include"]
MAP = "ninja/libtracebed.map"


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


def main():
    headers = declared()
    wanted_symbols = {name for name, header in headers.items() if header.endswith("/symbols.h")}
    wanted = set(headers) - wanted_symbols
    exported = symbols(f"{BUILD}/libtracebed.so", "-D")
    inside = symbols(f"{BUILD}/libtracebed.a", "-g")
    listed = set(re.findall(r"\btbed_\w+", tree.read(MAP)))
    problems = []
    for name in sorted(wanted - exported):
        if name not in inside:
            problems.append(f"{name}: declared in a public header, defined nowhere")
        elif name not in listed:
            problems.append(f"{name}: declared in a public header; list it in {MAP}")
        else:
            problems.append(f"{name}: declared and listed, but not exported")
    for name in sorted(wanted_symbols - symbols(f"{BUILD}/libtracebed-symbols.a", "-g")):
        problems.append(f"{name}: declared in <tracebed/symbols.h>, not defined in libtracebed-symbols.a")
    for name in sorted(exported - wanted):
        problems.append(f"{name}: exported by libtracebed.so, in no public header")
    for name in sorted(listed - wanted):
        problems.append(f"{name}: listed in {MAP}, in no public header")
    for name in sorted(inside):
        if not name.startswith("tbed_"):
            problems.append(f"{name}: a global name of libtracebed.a without the prefix tbed_")
    for library in ("preload", "functions"):
        for name in sorted(symbols(f"{BUILD}/libtracebed-{library}.so", "-D")):
            if name.startswith("tbed_"):
                problems.append(
                    f"{name}: exported by libtracebed-{library}.so, where a program's own would clash with it"
                )
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
