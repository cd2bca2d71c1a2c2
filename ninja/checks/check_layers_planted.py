"""
Checks that check_layers.py refuses what it should: plants one violation after another in a copy of the tree, and wants
exactly that one reported. Links are planted as small objects compiled here; nothing else is built again.

Check: layers-planted
Needs: $b/libtracebed.a $b/libtracebed-reader.a $b/tracebed $b/libtracebed-preload.so $b/libtracebed-functions.so

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import check_layers
import tree

# Each is (name, files to add, what is reported).
PLANTS = [
    ("include from a lower room",
     {"writer/file/planted_a.h": '#include "writer/store/planted_b.h"\n', "writer/store/planted_b.h": ""},
     ["writer/file/planted_a.h:1: includes writer/store/planted_b.h, but writer/file may not use writer/store"]),
    ("include across the two libraries",
     {"reader/analysis/planted_a.h": '#include "writer/file/planted_b.h"\n', "writer/file/planted_b.h": ""},
     ["reader/analysis/planted_a.h:1: includes writer/file/planted_b.h, but reader/analysis may not use writer/file"]),
    ("include of an inner header by an outsider",
     {"fuzz/planted_a.h": '#include "reader/analysis/calls/planted_b.h"\n', "reader/analysis/calls/planted_b.h": ""},
     ["fuzz/planted_a.h:1: includes reader/analysis/calls/planted_b.h, but may only see format/, "]),
    ("include of what does not exist",
     {"writer/file/planted_a.h": '#include "writer/file/planted_none.h"\n'},
     ["writer/file/planted_a.h:1: includes writer/file/planted_none.h, which does not exist"]),
    ("circle of includes",
     {"writer/file/planted_a.h": '#include "writer/file/planted_b.h"\n',
      "writer/file/planted_b.h": '#include "writer/file/planted_a.h"\n'},
     ["a circle of 2 files: writer/file/planted_a.h, writer/file/planted_b.h"]),
    ("call from a lower room, by a declaration of its own",
     {"reader/core/events/planted_a.c": "void tbed_planted_b(void); void tbed_planted_a(void) { tbed_planted_b(); }\n",
      "reader/analysis/planted_b.c": "void tbed_planted_b(void) {}\n"},
     ["reader/core/events/planted_a.c: uses tbed_planted_b() of reader/analysis/planted_b.c, "
      "but reader/core/events may not use reader/analysis"]),
    ("call across the two libraries",
     {"writer/life/planted_a.c": "void tbed_planted_b(void); void tbed_planted_a(void) { tbed_planted_b(); }\n",
      "reader/core/events/planted_b.c": "void tbed_planted_b(void) {}\n"},
     ["writer/life/planted_a.c: uses tbed_planted_b() of reader/core/events/planted_b.c, "
      "but writer/life may not use reader/core/events"]),
    ("circle of calls",
     {"writer/file/planted_a.c": "void tbed_planted_b(void); void tbed_planted_a(void) { tbed_planted_b(); }\n",
      "writer/file/planted_b.c": "void tbed_planted_a(void); void tbed_planted_b(void) { tbed_planted_a(); }\n"},
     ["a circle of 2 files: writer/file/planted_a.c, writer/file/planted_b.c"]),
    ("circle of three, through variables",
     {"writer/file/planted_a.c": "extern int tbed_planted_b; int *tbed_planted_a = &tbed_planted_b;\n",
      "writer/file/planted_b.c": "extern int *tbed_planted_c; int tbed_planted_b; int **tbed_b = &tbed_planted_c;\n",
      "writer/file/planted_c.c": "extern int *tbed_planted_a; int *tbed_planted_c; int **tbed_c = &tbed_planted_a;\n"},
     ["a circle of 3 files: writer/file/planted_a.c, writer/file/planted_b.c, writer/file/planted_c.c"]),
    ("I/O in format/",
     {"format/planted/planted_a.c": "#include <stdio.h>\nvoid tbed_planted(void) { puts(\"\"); }\n"},
     ["format/planted/planted_a.c:1: includes stdio.h, but format/ does no I/O and no allocation",
      "format/planted/planted_a.c: uses puts, but format/ does no I/O and no allocation"]),
    ("allocation in format/, by a declaration of its own",
     {"format/planted/planted_a.c": "void *malloc(unsigned long); void *tbed_planted(void) { return malloc(7); }\n"},
     ["format/planted/planted_a.c: uses malloc, but format/ does no I/O and no allocation"]),
    ("state in format/",
     {"format/planted/planted_a.c": "int tbed_planted(void); int tbed_planted(void) { static int n; return n++; }\n"},
     ["format/planted/planted_a.c: has variables, 4 bytes of .bss"]),
    ("room that is not in the table",
     {"writer/planted/planted_a.h": ""},
     ["writer/planted/planted_a.h: is in no room of the table"]),
    ("room with too many files",
     {f"writer/session/planted_{number}.h": "" for number in range(check_layers.ROOM_FILES_MAX)},
     ["writer/session: has "]),
    ("two sources of one name",
     {"writer/file/planted_a.c": "", "reader/analysis/planted_a.c": ""},
     ["writer/file/planted_a.c: has the same name as reader/analysis/planted_a.c"]),
    ("source that is not built",
     {"writer/file/planted_a.c": None},
     ["writer/file/planted_a.c: has no object in build/release"]),
]


def copy_tree(folder):
    """The sources, and their objects."""
    for path in tree.files(".c", ".h", ".hpp"):
        copy = pathlib.Path(folder, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        built = check_layers.object_of(path) if check_layers.room_of(path) else None
        if built is not None and not pathlib.Path(folder, built).exists():
            pathlib.Path(folder, built).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(built, pathlib.Path(folder, built))


def plant(path, text):
    """Adds a file; a source is also compiled, unless it has no text."""
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text or "", encoding="utf-8")
    if not path.endswith(".c") or text is None:
        return [path]
    built = f"{check_layers.BUILD}/{path.removesuffix('.c')}.o"
    pathlib.Path(built).parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-O1", "-I.", "-c", path, "-o", built], check=True)
    return [path, built]


def try_plant(name, files, wanted, known):
    """Complaints about the check: what it says too little, or too much."""
    added = [path for file, text in files.items() for path in plant(file, text)]
    found = [problem for problem in check_layers.find_problems()[0] if problem not in known]
    for path in added:
        os.remove(path)
    missing = [text for text in wanted if not any(problem.startswith(text) for problem in found)]
    more = [problem for problem in found if not problem.startswith(tuple(wanted))]
    for text in missing:
        yield f"planted: {name}; not reported: {text}"
    for text in more:
        yield f"planted: {name}; reported as well: {text}"
    if not missing and not more:
        print(f"refused: {name}")
        print("".join(f"    {problem}\n" for problem in found), end="")


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="tracebed-layers-") as folder:
        copy_tree(folder)
        os.chdir(folder)
        known = set(check_layers.find_problems()[0])
        for name, files, wanted in PLANTS:
            problems += try_plant(name, files, wanted, known)
        os.chdir("/")
    tree.report(problems)
    print(f"{len(PLANTS) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
