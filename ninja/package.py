"""
Builds Debian's packages from the last commit, and tries them in a fresh system.

    python3 ninja/package.py FOLDER          build them in FOLDER
    python3 ninja/package.py --twice FOLDER  build them twice, the second time in another folder, language, time zone and
                                             with other rights for new files: both must be the same bytes
    python3 ninja/package.py --try FOLDER    install those in FOLDER in a fresh system, follow the tutorial, remove them

Trying needs root and mmdebstrap; it downloads a small Debian to FOLDER/system. What the packages install is there, the
tutorial works word by word, and nothing of it is left when they are removed.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUITE = "bookworm"
# What a user has: a compiler, and here Python, which reads the tutorial.
SYSTEM = ["gcc", "libc6-dev", "python3"]
# What differs when packages are built the second time, beside the folder and the time.
OTHERWISE = {"LC_ALL": "C", "LANG": "de_DE.UTF-8", "TZ": "Asia/Kolkata", "USER": "somebody"}
UMASK, OTHER_UMASK = 0o022, 0o002
TOOLS = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "dh_python3": "dh-python"}
# Reads the tutorial in the fresh system and does what it says.
FOLLOW = """
import os, pathlib, sys, tempfile
sys.path.insert(0, "/tree/ninja/checks")
import pages
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "work").mkdir()
    environment = {**os.environ, "HOME": str(folder / "home")}
    text = pathlib.Path("/tree/docs/tutorial.md").read_text(encoding="utf-8")
    count = pages.run_page("tutorial.md", text, folder / "work", environment)
    print(count, "commands,", pages.verify_traces(folder / "work", environment), "traces")
"""


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def output_of(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def refuse(text):
    sys.exit(f"tracebed: {text}")


# ---- Building ----


def build(commit, folder, umask=UMASK, **otherwise):
    """Gives a commit's packages, which are in the folder, built with this mask and these changes to the environment."""
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        refuse(f"building packages needs {', '.join(missing)}")
    shutil.rmtree(folder, ignore_errors=True)
    os.umask(umask)
    tree = folder / "tracebed"
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    run("tar", "-x", "-C", tree, input=archive)
    time = output_of("git", "log", "-1", "--format=%ct", commit, cwd=ROOT).strip()
    with open(folder / "build.log", "wb") as log:
        done = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b", f"-j{os.cpu_count()}"], cwd=tree, stdout=log,
                              stderr=subprocess.STDOUT, env={**os.environ, "SOURCE_DATE_EPOCH": time, **otherwise})
    if done.returncode != 0:
        refuse(f"{folder}/build.log: the build failed")
    shutil.rmtree(tree)
    return sorted(folder.glob("*.deb"))


def lint(folder):
    if shutil.which("lintian") is None:
        print("skipped: lintian is not installed")
        return
    (changes,) = folder.glob("*.changes")
    run("lintian", "--allow-root", "--fail-on=error,warning", changes)


def build_all(folder, twice):
    commit = output_of("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    packages = build(commit, folder)
    lint(folder)
    print(f"{len(packages)} packages in {folder}")
    if twice:
        other = folder.with_name(folder.name + "-again") / "deeper"
        again = {package.name: package.read_bytes() for package in build(commit, other, OTHER_UMASK, **OTHERWISE)}
        differ = [package.name for package in packages if package.read_bytes() != again.get(package.name)]
        if differ:
            refuse(f"built twice, these differ: {', '.join(differ)}")
        shutil.rmtree(other.parent)
        print("built twice, they are the same bytes")


# ---- Trying ----


def files_of(system):
    """The files of the system, without what the package manager and the loader keep about it."""
    own = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/ld.so.cache", "tree", "tmp", "proc", "sys", "dev",
           "run", "root")
    found = set()
    for folder, folders, names in os.walk(system):
        place = os.path.relpath(folder, system)
        folders[:] = [name for name in folders if not os.path.normpath(f"{place}/{name}").startswith(own)]
        found |= {os.path.normpath(f"{place}/{name}") for name in [*names, *folders]}
    return {name for name in found if not name.startswith(own) and "__pycache__" not in name}


def try_packages(folder):
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        refuse("trying packages needs root and mmdebstrap")
    packages = [package for package in sorted(folder.glob("*.deb")) if "-dbgsym_" not in package.name]
    if not packages:
        refuse(f"{folder}: no packages; build them first")
    system = folder / "system"
    shutil.rmtree(system, ignore_errors=True)
    run("mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(SYSTEM)}", SUITE, system)
    inside = ["chroot", system, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"]
    run(*inside, "apt-get", "update", "-qq")
    # What they need and recommend stays; only what they install themselves has to go.
    needed = sorted({word.split()[0].split(":")[0] for package in packages
                     for field in ("Depends", "Pre-Depends", "Recommends")
                     for word in output_of("dpkg-deb", "-f", package, field).replace("\n", " ").split(",")
                     if word.strip() and "tracebed" not in word})
    run(*inside, "apt-get", "install", "-qq", "-y", "--no-install-recommends", *needed, stdout=subprocess.DEVNULL)
    (system / "tree").mkdir()
    for package in packages:
        shutil.copy(package, system / "tree")
    for part in ("docs", "ninja"):
        shutil.copytree(ROOT / part, system / "tree" / part)
    before = files_of(system)
    names = [f"/tree/{package.name}" for package in packages]
    run(*inside, "apt-get", "install", "-qq", "-y", "--no-install-recommends", *names, stdout=subprocess.DEVNULL)
    with_packages = files_of(system)
    print(f"{len(packages)} packages installed, {len(with_packages - before)} files")
    run("mount", "-t", "proc", "proc", system / "proc")
    try:
        run(*inside, "python3", "-c", FOLLOW)
        run(*inside, "python3", "-c", "import tracebed")
        run(*inside, "ruby", "-e", 'require "tracebed"')
    finally:
        run("umount", system / "proc")
    run(*inside, "apt-get", "purge", "-qq", "-y", *[package.name.split("_")[0] for package in packages],
        stdout=subprocess.DEVNULL)
    left = sorted(files_of(system) - before)
    if left:
        refuse(f"{len(left)} files are left: {', '.join(left[:10])}")
    print("removed, nothing is left")
    shutil.rmtree(system)


def main():
    parser = argparse.ArgumentParser(description="Builds Debian's packages, or tries them.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--twice", action="store_true", help="build twice and compare the bytes")
    parser.add_argument("--try", dest="is_trial", action="store_true", help="install them in a fresh system")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.is_trial and options.twice:
        parser.error("--twice is about building")
    try_packages(folder) if options.is_trial else build_all(folder, options.twice)


if __name__ == "__main__":
    main()
