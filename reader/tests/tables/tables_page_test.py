#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The lists of tables and columns in docs/tables.md are those of the library.

    python3 reader/tests/tables/tables_page_test.py           # compares them
    python3 reader/tests/tables/tables_page_test.py --write   # writes them

Check: tables-page
Needs: $b/reader/tests/tables/rows_text_program
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

PROGRAM = cases.BUILD / "reader/tests/tables/rows_text_program"
PAGE = cases.ROOT / "docs/tables.md"
TYPES = {"i64": "integer", "u64": "integer, unsigned", "f64": "number", "name": "text", "text": "text"}


def tables():
    """The tables of the library: a name and summary each, and the columns."""
    found = []
    for line in subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "table":
            found.append((*fields, []))
        else:
            found[-1][2].append(fields)
    return found


def list_of(columns):
    lines = ["| Column | Type | Unit | Meaning |", "|---|---|---|---|"]
    for name, kind, unit, is_parameter, summary in columns:
        parameter = "; a parameter: a query has to give it" if is_parameter == "1" else ""
        lines.append(f"| `{name}` | {TYPES[kind]} | {unit} | {summary.replace('|', chr(92) + '|')}{parameter} |")
    return "\n".join(lines)


def with_lists(page):
    """The page with the library's lists: what follows the line of a table's name up to the next empty line."""
    for name, summary, columns in tables():
        head = f"### {name}\n"
        if head not in page: # a new table
            page += f"\n{head}\n{summary[0].upper()}{summary[1:]}.\n\n| Column |\n"
        start = page.index(head) + len(head)
        rest = page[start:]
        place = re.search(r"^\| Column \|.*?(?=^$|\Z)", rest[:rest.find("\n#") + 1 or None], re.M | re.S)
        if place is None:
            raise cases.Failure(f"{PAGE.name}: '{name}' has no list of columns")
        page = page[:start] + rest[:place.start()] + list_of(columns) + "\n" + rest[place.end():]
    return page


def test_lists_are_those_of_the_library(folder):
    page = PAGE.read_text(encoding="utf-8")
    cases.need(page == with_lists(page), f"{PAGE.name} is not up to date; run this check with --write")


def test_no_other_tables_are_described(folder):
    known = {name for name, *_ in tables()}
    described = set(re.findall(r"^### (\S+)$", PAGE.read_text(encoding="utf-8"), re.M))
    cases.need(described == known, f"{PAGE.name}: {sorted(described ^ known)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.exit(cases.run_all(globals()))
