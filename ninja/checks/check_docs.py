"""
Checks the pages in docs/ as a new user would: runs every command and program of their blocks, word by word and in order.

pages.py says how a page is run. Blocks of some languages are run by checks of their own, ELSEWHERE below. A block that
no check runs, because its language is in neither place or it is no session, is refused.

    python3 ninja/checks/check_docs.py [test_PAGE ...]

Check: docs
Needs: release
Slow: installs tracebed and runs some hundred commands

SPDX-License-Identifier: MIT
"""

import os
import shutil
import sys

import cases
import pages
from cases import ROOT, Failure

DOCS = ROOT / "docs"
# {page: {language: the check that runs its blocks}}
ELSEWHERE = {
    "fleet.md": {"sql": "fleet"},
    "python.md": {"python": "python"},
    "sql.md": {"sql": "sql-questions"},
    "vm.md": {"c": "vm-guide"},
}
# Traces that the reader of a page is expected to have; profiles are imported.
TRACE = ROOT / "spec/golden/valid/recorder.tbed"
OTHER = ROOT / "spec/golden/measureme/v9.mm_profdata"
TRACES = {
    "fleet.md": {"run.tbed": TRACE, "new.tbed": OTHER},
    "parquet.md": {"run.tbed": TRACE, "new.tbed": OTHER},
    "sql.md": {"run.tbed": TRACE, "new.tbed": OTHER},
    "view.md": {"run.tbed": TRACE},
}


def give(source, path):
    if source.suffix == ".tbed":
        shutil.copy(source, path)
    else:
        cases.output_of(ROOT, cases.TRACEBED, "import", source, "-o", path)


def refuse_unrun(page, text, elsewhere):
    for block in pages.blocks(text):
        if block.language == "" and not pages.commands_of(block.lines):
            raise Failure(f"{page}:{block.number}: a block without a language, but no line of it begins with '$ '")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("    ", "\t")) and not inside_block(text, number):
            raise Failure(f"{page}:{number}: an indented block, which no check runs; fence it")
    for language in elsewhere:
        if not any(block.language == language for block in pages.blocks(text)):
            raise Failure(f"{page}: no block of {language}, which ELSEWHERE has")


def inside_block(text, number):
    return any(block.number <= number <= block.number + len(block.lines) for block in pages.blocks(text))


def case_of(path):
    """A test of this page, for cases.run_all(). The tracebed that it runs is installed once."""
    def test(folder):
        elsewhere, text = ELSEWHERE.get(path.name, {}), path.read_text(encoding="utf-8")
        refuse_unrun(path.name, text, elsewhere)
        if not any(block.language not in elsewhere for block in pages.blocks(text)):
            return "nothing to run"
        work, before = folder / "work", os.times()
        work.mkdir()
        for name, source in TRACES.get(path.name, {}).items():
            give(source, work / name)
        count = pages.run_page(path.name, text, work, pages.install(folder), elsewhere)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        return f"{count} commands, {pages.verify_traces(work, pages.environment_of(folder))} traces, {seconds:.1f} s of CPU time"
    return test


for _path in sorted(DOCS.glob("*.md")):
    globals()[f"test_{_path.stem.replace('-', '_')}"] = case_of(_path)

if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
