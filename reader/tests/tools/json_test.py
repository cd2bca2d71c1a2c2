#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What the commands print with --json has the shape that tracebed-json(5) describes, and each field is in the manual page of its
command or in that one.

    python3 reader/tests/tools/json_test.py

Check: json
Needs: $b/programs $b/reader/tests/agreement/agreement_program
"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

PAGES = cases.ROOT / "reader/tools/man"
PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
PLACES = {"function", "file", "line", "module", "arguments"}  # in rows where they are known
PROFILE = cases.ROOT / "spec/golden/measureme/v9.mm_profdata"

# What is printed for one file, and where objects about files are in it.
ABOUT_FILES = {
    "report": lambda data: [data],
    "report --over-time=3": lambda data: [data],
    "report --by=thread": lambda data: [data],
    "report --by=hour": lambda data: [data],
    "report --leaks": lambda data: [data],
    "report --lifetimes": lambda data: [data],
    "report --by=size": lambda data: [data],
    "tree": lambda data: [data],
    "tree --calls": lambda data: [data],
    "slowest": lambda data: [data],
    "threads": lambda data: [data],
    "flows --path": lambda data: [data],
    "flows --slowest": lambda data: [data],
    "histogram .": lambda data: data["traces"],
    "aggregate": lambda data: data["runs"],
    "diff": lambda data: [data["before"], data["after"]],
}
DOCUMENTED = ("report", "tree", "slowest", "flows", "threads", "histogram", "aggregate", "diff")
TABLES_OF_OBJECTS_THAT_DIFFER = {"damage", "args", "lost", "gaps"}


def inputs(folder):
    """(path, whether its clock counts something else than time)"""
    for seed, words in enumerate(("given", "counts given", "given whole categories others", "given open", "talks")):
        path = os.path.join(folder, f"{seed}.tbed")
        subprocess.run([PROGRAM, str(seed), path, *words.split()], check=True)
        yield path, "counts" in words
    path = os.path.join(folder, "memory.tbed")
    cases.output_of(folder, cases.TRACEBED, "record", "-o", path, "--", "/bin/ls")
    yield path, False
    yield str(PROFILE), False


def run(command, path):
    verb, *words = command.split()
    files = [path] * (2 if verb == "diff" else 1)
    done = subprocess.run([cases.TRACEBED, verb, "--json", *words, *files], capture_output=True)
    return done.returncode, done.stdout.decode()


def without_duplicates(pairs):
    keys = [key for key, _ in pairs]
    cases.need(len(set(keys)) == len(keys), f"a field twice: {keys}")
    return dict(pairs)


def objects(command, path):
    """None: the command has nothing to do with such a file."""
    code, text = run(command, path)
    if code == 2:
        return None
    cases.need(text == "" or text.endswith("\n"), f"{command}: the last line has no end")
    found = [json.loads(line, object_pairs_hook=without_duplicates) for line in text.splitlines()]
    cases.need(all(isinstance(data, dict) for data in found), f"{command}: not only objects")
    return found


def walk(data, key=None):
    """(name, object) of all objects in it."""
    if isinstance(data, dict):
        yield key, data
        for name, value in data.items():
            yield from walk(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from walk(value, key)


def tables(data):
    """(name, rows) of all arrays of objects."""
    for _, found in walk(data):
        for name, value in found.items():
            if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
                yield name, value


# ---- The shape ----

def test_files_are_described_alike(folder):
    for path, is_count in inputs(folder):
        for command, files_of in ABOUT_FILES.items():
            for data in objects(command, path) or []:
                for file in files_of(data):
                    where = f"{command} {path}"
                    cases.need(file["file"] == path, f"{where}: file is {file['file']}")
                    cases.need(isinstance(file["damage_count"], int), f"{where}: no damage_count")
                    cases.need((file["tick_unit"] is not None) == is_count, f"{where}: tick_unit {file['tick_unit']}")


def test_fields_have_their_units(folder):
    for path, is_count in inputs(folder):
        for command in ABOUT_FILES:
            for data in objects(command, path) or []:
                for _, found in walk(data):
                    for key, value in found.items():
                        where = f"{command} {path}: {key} is {value!r}"
                        cases.need(re.fullmatch(r"[a-z][a-z0-9_]*", key), where)
                        other = "_ns" if is_count else "_ticks"
                        cases.need(not key.endswith(other) or key == "minimum_ticks", where)
                        if key.endswith(("_count", "_bytes")) and not isinstance(value, (dict, list)):
                            cases.need(isinstance(value, int) and not isinstance(value, bool), where)


def test_rows_of_a_table_have_the_same_fields(folder):
    for path, _ in inputs(folder):
        for command in (*ABOUT_FILES, "info", "verify"):
            for data in objects(command, path) or []:
                for name, rows in tables(data):
                    if name in TABLES_OF_OBJECTS_THAT_DIFFER:
                        continue
                    wanted = [key for key in rows[0] if key not in PLACES]
                    for row in rows:
                        found = [key for key in row if key not in PLACES]
                        cases.need(found == wanted, f"{command} {path}: {name}: {found} after {wanted}")


def test_every_command_prints_lines_of_objects(folder):
    for path, _ in inputs(folder):
        for command in ("info", "verify", "dump", "strings", "strings --unresolved"):
            for data in objects(command, path) or []:
                cases.need(len(data) > 0, f"{command}: an empty object")


# ---- The manual ----

def words_of(page):
    text = (PAGES / page).read_text(encoding="utf-8")
    return set(re.findall(r"[a-z][a-z0-9_]*", text))


def test_all_fields_are_documented(folder):
    common, missing = words_of("tracebed-json.5") | words_of("tracebed-report.1"), set()
    for path, _ in inputs(folder):
        for command in ABOUT_FILES:
            verb = command.split()[0]
            known = words_of(f"tracebed-{verb}.1") | (common if verb == "report" else words_of("tracebed-json.5"))
            for data in objects(command, path) or []:
                for parent, found in walk(data):
                    if parent in ("drops", "totals", "left_out"):  # causes, kinds of events, tables
                        continue
                    for key in found:
                        if key not in known and key.replace("_ticks", "_ns") not in known:
                            missing.add(f"{verb}: {key}")
    cases.need(not missing, "in no manual page: " + ", ".join(sorted(missing)))


def test_all_pages_name_the_common_one(folder):
    for verb in DOCUMENTED:
        text = (PAGES / f"tracebed-{verb}.1").read_text(encoding="utf-8")
        cases.need(".Xr tracebed-json 5" in text, f"tracebed-{verb}.1 does not refer to tracebed-json(5)")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
