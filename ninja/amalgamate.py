"""
Combines the writing library into files to add to a program: tracebed.h and tracebed.c, and tracebed.hpp for C++17.

Each source is included once, format before writer, with its includes expanded at their first use. xxhash.h is reduced
to the functions that are called, with its licence. Names local to several sources are prefixed with the source's name.

    python3 ninja/amalgamate.py [FOLDER]        build/amalgamated

SPDX-License-Identifier: MIT
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^#\s*include\s+(?:<(tracebed/[^>]+|xxhash\.h)>|"([^"]+)").*$')
FOLDERS = ["", "format/include", "writer/include", "writer/capture/include"]
PARTS = ["format/base", "format", "format/file", "writer/base", "writer/file", "writer/pages", "writer/store", "writer/record",
         "writer/copy", "writer/recorded", "writer/life", "writer/session", "writer/capture/logfile", "writer/macros"]
XXHASH_USED = {"XXH3_64bits", "XXH3_64bits_withSeed"}
# Comments, string and character literals; only comments have a group.
TOKEN = re.compile(r"(/\*.*?\*/|//[^\n]*)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

HEADER_TOP = """/*
 * tracebed.h: tracebed's writing library, version {version}, for programs that compile tracebed.c themselves:
 *
 *     cc prog.c tracebed.c -o prog
 *     cc -c tracebed.c && c++ prog.cpp tracebed.o -o prog
 *
 * tracebed.hpp adds what only C++17 can do. Define TBED_RTL_LOGFILE before including this header to get the original
 * names of RTL_LOGFILE's macros too.
 *
 * Made by './run amalgamate' from tracebed/{{format,recorder,trace,logfile,rtl_logfile}}.h.
 *
{licence}
 */
"""
CPP_TOP = """/*
 * tracebed.hpp: tracebed.h for C++17.
 *
 * Made by './run amalgamate' from tracebed/trace.hpp.
 *
{licence}
 */
#include "tracebed.h"

"""
SOURCE_TOP = """/*
 * tracebed.c: tracebed's writing library, version {version}, for tracebed.h. Compile as C11 or later, with gcc or clang.
 * The part that comes from xxHash carries its own licence.
 *
 * A program with this file obeys TRACEBED and RTL_LOGFILE; define TBED_NO_ENVIRONMENT to leave that out.
 *
 * Made by './run amalgamate'.
 *
{licence}
 */
#ifdef __cplusplus
#error "tracebed.c is C: compile it by itself with 'cc -c tracebed.c', and link tracebed.o to the C++ program"
#else
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64 /* on 32-bit machines too */
#endif
#include "tracebed.h"

/* Not every function of the inner headers is called. */
#pragma GCC diagnostic ignored "-Wunused-function"
/* Each name was chosen in a file of its own. */
#pragma GCC diagnostic ignored "-Wshadow"
/* gcc's ThreadSanitizer does not know fences: it may report a race where one orders two accesses, and warns of that. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

"""
SOURCE_END = """
#endif
"""


# ---- xxHash ----

def top_level(text):
    """Yields the pieces of a C text without comments: directives, and declarations including their braces."""
    pieces, piece, depth, depths = [], [], 0, []
    for line in re.sub(r"\\\n", "\\\\\0", text).split("\n"):
        line = line.replace("\0", "\n")
        directive = re.match(r"\s*#\s*(\w+)", line)
        if directive:
            word = directive.group(1)
            if word.startswith("if"):
                depths.append(depth)
            elif word.startswith("el"):
                depth = depths[-1]
            elif word == "endif":
                depths.pop()
        elif not re.match(r'\s*(extern\s+"C"\s*\{|\})\s*$', line) or depth > 0:
            depth += line.count("{") - line.count("}")
        piece.append(line)
        is_whole = directive or re.search(r"[;}]\s*$", line) or line.strip() == 'extern "C" {'
        if depth == 0 and is_whole and (directive is None or len(piece) == 1 or not "".join(piece[:-1]).strip()):
            pieces.append("\n".join(piece))
            piece = []
    return pieces + ["\n".join(piece)]


def function_name(piece):
    """Returns the name in a function's declaration or definition; None for anything else."""
    if re.match(r"\s*(#|typedef\b|struct\b|enum\b|extern\b)", piece):
        return None
    head = re.sub(r"XXH_ALIGN\(\w+\)|__attribute__\s*\(\(.*?\)\)", "", re.split(r"[{=]", piece)[0])
    name = re.search(r"\b(XXH\w+)\s*\(", head)
    return name.group(1) if name else None


def words(text):
    return set(re.findall(r"\w+", text))


def is_rename(piece):
    return re.match(r"\s*#\s*define\s+(\w+)\s+XXH_NAME2\(XXH_NAMESPACE, \1\)|\s*#\s*undef\b", piece)


def reached(pieces):
    """All words that the called functions use, directly or not."""
    functions, known = collections.defaultdict(set), set(XXHASH_USED)
    for piece in pieces:
        name = function_name(piece)
        if name is not None:
            functions[name] |= words(piece)
        elif not is_rename(piece):
            known |= words(piece)
    todo = [name for name in functions if name in known]
    while todo:
        name = todo.pop()
        new = functions.pop(name) - known
        known |= new
        todo += [name for name in new if name in functions]
    return known


def xxhash(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    licence = text[: text.index("*/") + 2]
    pieces = top_level(TOKEN.sub(lambda token: " " if token.group(1) else token.group(0), text))
    known, kept = reached(pieces), []
    for piece in pieces:
        name = is_rename(piece).group(1) if is_rename(piece) else function_name(piece)
        if name is None or name in known:
            kept.append(piece)
    return licence + "\n" + re.sub(r"\s*\n(\s*\n)+", "\n", re.sub(r"[ \t]+\n", "\n", "\n".join(kept))) + "\n"


def find_xxhash():
    command = [os.environ.get("CC", "gcc"), "-M", "-x", "c", "-"]
    run = subprocess.run(command, input="#include <xxhash.h>\n", capture_output=True, text=True, check=True)
    return re.search(r"\S+/xxhash\.h", run.stdout).group(0)


# ---- Ours ----

def find(name):
    for folder in FOLDERS:
        if (path := pathlib.Path(folder, name)).exists():
            return path
    sys.exit(f"amalgamate: no {name}")


def expand(path, seen, names=()):
    """The lines of a file, with its own names prefixed and our includes expanded; none if it was expanded before."""
    if str(path) in seen:
        return []
    seen.add(str(path))
    lines = []
    for line in with_prefix(path.read_text(encoding="utf-8"), names, path.stem).splitlines():
        include = INCLUDE.match(line)
        if include is None:
            lines.append(line)
        elif include.group(1) == "xxhash.h":
            lines.append(xxhash(find_xxhash()))
        else:
            lines += expand(find(include.group(1) or include.group(2)), seen)
    return lines


def local_names(text):
    """Names that are local to this source: its static functions and variables, its macros, its types."""
    text = TOKEN.sub("", text)
    statics = re.findall(r"^static\s[^;={(]*?\b(\w+)(?:\s__attribute__.*)?(?:\[[^;=]*)?\s*(?:[(;=])", text, re.M)
    macros = re.findall(r"^#define\s+(\w+)", text, re.M)
    tags = re.findall(r"^(?:struct|enum|union)\s+(\w+)\s*\{", text, re.M)
    return {*statics, *macros, *tags} - {"_GNU_SOURCE", "_FILE_OFFSET_BITS"}


def with_prefix(text, names, prefix):
    """Adds the prefix to these names, except where they are fields."""
    if not names:
        return text
    pattern = r"(?<![\w.\"])(?<!->)(" + "|".join(sorted(names)) + r")\b"
    return re.sub(pattern, lambda name: f"{prefix}_{name.group(1)}", text)


def sources():
    paths = [path for part in PARTS for path in sorted(pathlib.Path(part).glob("*.c"))]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    count = collections.Counter(name for text in texts.values() for name in local_names(text))
    clashing = {name for name in count if count[name] > 1}
    return paths, {path: clashing & local_names(text) for path, text in texts.items()}


def about_includes(text):
    """Changes the includes shown in comments to the amalgamated headers."""
    return re.sub(r"^( \*\s+)#include <tracebed/\w+(\.\w+)>$", r'\1#include "tracebed\2"', text, flags=re.M)


def make_header(seen):
    plain = expand(find("tracebed/writer.h"), seen)
    logfile = expand(find("tracebed/logfile.h"), seen)
    originals = expand(find("tracebed/rtl_logfile.h"), seen)
    return "\n".join([*plain, "", *logfile, "", "#ifdef TBED_RTL_LOGFILE", *originals, "#endif", ""])


def make_cpp(seen):
    """Returns the C++ header. It is separate because the standard library's strings compile twenty times as slowly."""
    return "\n".join([*expand(find("tracebed/trace.hpp"), seen), ""])


def make_source(seen):
    paths, clashing = sources()
    parts = []
    for path in paths:
        parts += [f"/* ---- {path} ---- */", "", *expand(path, seen, clashing[path]), ""]
    return "\n".join(parts)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/amalgamated")
    seen = set()
    licence = pathlib.Path("LICENSE").read_text(encoding="utf-8").rstrip()
    told = {"licence": "\n".join(f" * {line}".rstrip() for line in licence.splitlines())}
    header, cpp, source = make_header(seen), make_cpp(seen), make_source(seen)
    told["version"] = re.search(r'TBED_VERSION_STRING "(.*)"', header).group(1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tracebed.h").write_text(HEADER_TOP.format(**told) + about_includes(header), encoding="utf-8")
    (folder / "tracebed.hpp").write_text(CPP_TOP.format(**told) + about_includes(cpp), encoding="utf-8")
    (folder / "tracebed.c").write_text(SOURCE_TOP.format(**told) + source + SOURCE_END, encoding="utf-8")
    print(folder / "tracebed.c", folder / "tracebed.h", folder / "tracebed.hpp")


if __name__ == "__main__":
    main()
