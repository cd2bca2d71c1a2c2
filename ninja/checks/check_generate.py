"""
Checks that plain ninja builds a fresh copy of the tree, that source files, tests and checks can be added, renamed and
removed without editing a list, and that the tracked list of targets is the one that the tree makes.

Check: generate

SPDX-License-Identifier: MIT
"""

import pathlib
import shutil
import sys

import cases
import tree
from cases import need, output_of

GENERATED = sorted(str(path.relative_to(cases.ROOT)) for path in (cases.ROOT / "ninja/generated").glob("*"))
SOURCE = "int tbed_added(void);\nint tbed_added(void)\n{\n    return 1;\n}\n"
TEST = "/*\n * A test.\n *\n%s */\nint main(void)\n{\n    return 0;\n}\n"


def copy_tree(folder):
    for path in [*tree.files(".c", ".h", ".py", ".sh", ".ninja", ".map", ".rb", ".html", ".css", ".js", ".pyi", ".typed"), *GENERATED]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path)
    for path in pathlib.Path("fuzz").glob("*/corpus"):
        (folder / path).mkdir()


def build(folder, *targets):
    """Every build brings the list of targets up to date first, even if it has nothing else to do."""
    return output_of(folder, "ninja", *(targets or ["build/release/format/status.o"]))


def inputs_of(folder, target):
    return output_of(folder, "ninja", "-t", "query", target)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def need_original(folder):
    for path in GENERATED:
        need((folder / path).read_text() == pathlib.Path(path).read_text(), f"{path} is not what the tree makes")


def test_fresh_copy_builds_and_leaves_tracked_files_alone(folder):
    copy_tree(folder)
    build(folder)
    need_original(folder)
    need("no work to do" in build(folder), "a second build has work to do")


def test_sources_come_and_go(folder):
    copy_tree(folder)
    write(folder / "format/added.c", SOURCE)
    build(folder, "build/release/format/added.o")
    need("format/added.o" in inputs_of(folder, "build/release/libtracebed.a"), "the library is without the new file")
    (folder / "format/added.c").rename(folder / "format/renamed.c")
    build(folder)
    library = inputs_of(folder, "build/release/libtracebed.a")
    need("format/renamed.o" in library and "format/added.o" not in library, library)
    (folder / "format/renamed.c").unlink()
    build(folder)
    need_original(folder)


def test_folders_come_and_go(folder):
    copy_tree(folder)
    write(folder / "writer/file/inner/added.c", SOURCE)
    build(folder, "build/release/writer/file/inner/added.o")
    shutil.rmtree(folder / "writer/file/inner")
    build(folder)
    need_original(folder)


def test_tests_and_checks_come_with_their_marks(folder):
    copy_tree(folder)
    test, script = folder / "writer/tests/life/added_test.c", folder / "ninja/checks/check_added.py"
    write(test, TEST % "")
    write(script, '"""\nCheck: added\n"""\n')
    build(folder)
    for target, result in (("build/release/check-quick", "writer/tests/life/added_test.result"),
                           ("checks-quick", "build/checks/added.result")):
        need(result in inputs_of(folder, target), f"{target} is without {result}")
    write(test, TEST % " * Slow: for a reason\n *\n")
    write(script, '"""\nCheck: other\nSlow: for a reason\n"""\n')
    build(folder)
    need("added_test" not in inputs_of(folder, "build/release/check-quick"), "the slow test is in the quick tier")
    need("added_test" in inputs_of(folder, "build/asan/check"), "the slow test is not in the whole")
    need("other.result" not in inputs_of(folder, "checks-quick"), "the slow check is in the quick tier")
    need("other.result" in inputs_of(folder, "checks"), "the renamed check is not in the whole")


def test_other_files_do_not_change_the_list(folder):
    copy_tree(folder)
    write(folder / "writer/file/notes/run.tbed", "")
    write(folder / "reader/core/.page.c.swp", "")
    write(folder / "writer/tests/__pycache__/support.c", "")
    build(folder)
    need_original(folder)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
