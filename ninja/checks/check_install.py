"""
Checks that what is installed can be removed again, and that the source tarball is whole and the same each time.

Check: install
Needs: release

SPDX-License-Identifier: MIT
"""

import os
import subprocess
import sys
import tarfile

import cases
from cases import ROOT, need, output_of


def names_under(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def install(prefix, **variables):
    output_of(ROOT, "sh", "ninja/install.sh", prefix=str(prefix), **variables)


def uninstall(prefix):
    output_of(ROOT, "sh", "ninja/uninstall.sh", prefix=str(prefix))


def test_nothing_is_left(folder):
    prefix = folder / "with space"
    install(prefix)
    first = names_under(prefix)
    need("bin/tracebed" in first and "lib/pkgconfig/tracebed.pc" in first, first)
    install(prefix)
    need(names_under(prefix) == first, "a second install leaves other files")
    uninstall(prefix)
    need(not prefix.exists(), names_under(prefix))


def test_what_others_added_stays(folder):
    prefix = folder / "prefix"
    (prefix / "bin").mkdir(parents=True)
    install(prefix)
    (prefix / "lib/tracebed/mine").write_text("mine")
    uninstall(prefix)
    need(names_under(prefix) == ["bin", "lib", "lib/tracebed", "lib/tracebed/mine"], names_under(prefix))
    run = subprocess.run(["sh", "ninja/uninstall.sh"], cwd=ROOT, env={**os.environ, "prefix": str(prefix)},
                         capture_output=True, text=True)
    need(run.returncode == 1 and "nothing is installed" in run.stderr, run.stderr)


def test_a_version_before_is_replaced(folder):
    prefix = folder / "prefix"
    install(prefix)
    listed = prefix / "lib/tracebed/installed"
    (prefix / "lib/libtracebed.so.0.0.1").write_text("old")
    listed.write_text(listed.read_text() + f"{prefix}/lib/libtracebed.so.0.0.1\n")
    install(prefix)
    need(not (prefix / "lib/libtracebed.so.0.0.1").exists(), "a file of the version before was left")


def test_packages_get_no_list(folder):
    install("/usr", DESTDIR=str(folder / "staged"))
    need((folder / "staged/usr/bin/tracebed").exists(), names_under(folder))
    need(not (folder / "staged/usr/lib/tracebed/installed").exists(), "the list is installed")


def test_a_tarball_is_whole_and_the_same_each_time(folder):
    if not (ROOT / ".git").exists():
        print("skipped: this tree is no checkout")
        return
    tarballs = []
    for name in ("one", "two"):
        output_of(ROOT, "sh", "ninja/dist.sh", str(folder / name))
        tarballs += (folder / name).glob("*.tar.gz")
    need(tarballs[0].read_bytes() == tarballs[1].read_bytes(), "the tarballs differ")
    with tarfile.open(tarballs[0]) as tar:
        tar.extractall(folder, filter="data")
    tree = folder / tarballs[0].name.removesuffix(".tar.gz")
    committed = output_of(ROOT, "git", "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    need([name for name in committed if not os.path.lexists(tree / name)] == [], "files are missing")
    output_of(tree, "ninja", "-n", "release")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
