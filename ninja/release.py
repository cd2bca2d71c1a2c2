"""
Makes everything that a release consists of, after checking what can be checked: './run release'.

    python3 ninja/release.py [--quick] FOLDER

The steps are those of STEPS, and the first that fails ends it. --quick leaves out the long ones: the whole test suite, the
gate on coverage, killed programs, and Debian's packages. FOLDER then has the files to publish with SHA256SUMS; what a
person has to sign off, and the command that sets the tag, are printed at the end. Nothing is tagged or sent anywhere.

SPDX-License-Identifier: MIT
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIGN_OFF = """Sign off each line in the message of the tag (CONTRIBUTING.md, "Releasing"):

  [ ] CHANGELOG.md is what a user of the last release needs; limits have today's figures
  [ ] './run bench' was run on an idle machine, and nothing is slower than bench/README.md says
  [ ] './run repeat 200' and an hour of './run fuzz 600' found nothing
  [ ] README.md and docs/tutorial.md were followed by somebody who has not written them
  [ ] 'tracebed view' and the HTML manual were looked at in a browser
  [ ] the file format: golden files of the last release are read as before
"""


class Problem(Exception):
    """A step failed; the text says why."""


def run(*command, cwd=ROOT, **environment):
    words = [str(word) for word in command]
    if subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL).returncode != 0:
        raise Problem(f"failed: {' '.join(words)}")


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def version():
    sys.path.insert(0, str(ROOT / "ninja/checks"))
    import check_version

    return check_version.version()


# ---- The steps ----


def tree_is_clean(_):
    changed = output_of("git", "status", "--porcelain")
    if changed:
        raise Problem(f"these are not committed:\n{changed}")
    tag = f"v{version()}"
    if tag in output_of("git", "tag", "--list").split() and tag not in output_of("git", "tag", "--points-at", "HEAD").split():
        raise Problem(f"{tag} is another commit; raise the version")


def versions_agree(_):
    run(sys.executable, "ninja/checks/check_version.py", "--release")


def tests_pass(_):
    run("./run", "test")


def coverage_holds(_):
    run("./run", "cov", "--corpora", "--gate")


def nothing_is_lost(_):
    run("./run", "kills")
    run("./run", "damage")


def make_tarball(folder):
    run("sh", "ninja/dist.sh", folder)


def tarball_builds(folder):
    """Without git, in another folder, as somebody who has downloaded it."""
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(folder / f"tracebed-{version()}.tar.gz") as tar:
            tar.extractall(name, filter="data")
        tree, trace = pathlib.Path(name) / f"tracebed-{version()}", pathlib.Path(name) / "run.tbed"
        run("./run", "build", cwd=tree, GIT_DIR="/nonexistent")
        run("build/release/tracebed", "record", "-o", trace, "--", "ls", "/", cwd=tree)
        run("build/release/tracebed", "verify", trace, cwd=tree)


def make_writer(folder):
    run(sys.executable, "ninja/amalgamate.py", folder)


def make_manual(folder):
    run("./run", "manual", folder / "manual.html")


def make_packages(folder):
    run(sys.executable, "ninja/package.py", "--twice", folder / "packages")
    for package in (folder / "packages").glob("*.deb"):
        shutil.move(package, folder / package.name)
    shutil.rmtree(folder / "packages")


def sum_up(folder):
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


# What is done, how, and whether it takes long.
STEPS = (
    ("the tree is clean, and the version is new", tree_is_clean, False),
    ("the versions agree and have a date", versions_agree, False),
    ("all tests and checks pass", tests_pass, True),
    ("the fuzz corpora cover what they did", coverage_holds, True),
    ("killed programs and damaged traces lose nothing", nothing_is_lost, True),
    ("source tarball", make_tarball, False),
    ("it builds without git", tarball_builds, False),
    ("the writer as two files", make_writer, False),
    ("the manual as one file", make_manual, False),
    ("Debian packages, built twice", make_packages, True),
    ("checksums", sum_up, False),
)


def main():
    parser = argparse.ArgumentParser(prog="./run release", description="make everything that a release consists of")
    parser.add_argument("--quick", action="store_true", help="without the steps that take long")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, step, is_long in STEPS:
        if is_long and options.quick:
            print(f"left out: {name}", flush=True)
            continue
        print(f"---- {name}", flush=True)
        try:
            step(folder)
        except Problem as problem:
            sys.exit(f"tracebed: release: {problem}")
    print(f"\n{folder} has {len(list(folder.iterdir()))} files.\n\n{SIGN_OFF}")
    print(f"Then: git tag --sign v{version()} && git push origin v{version()}")


if __name__ == "__main__":
    main()
