"""
Worlds in which the disk is full, or a limit of the process is reached, while a trace grows.

SPDX-License-Identifier: MIT
"""

import contextlib
import os
import shutil
import subprocess

from worlds import TRACEBED, Skipped, World, build_program, dropped, info, need, need_readable, need_same, run

EVENTS = 40_000
MIB = 1 << 20


# ---- Full file systems ----

@contextlib.contextmanager
def mounted(point, *arguments):
    point.mkdir(exist_ok=True)
    command = ["mount", *map(str, arguments), str(point)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise Skipped(f"{' '.join(command[:3])}: {' '.join(result.stdout.split())}")
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=False)


@contextlib.contextmanager
def tmpfs(folder):
    with mounted(folder / "small", "-t", "tmpfs", "-o", "size=8m", "none") as point:
        yield point


def image(kind, nbytes, *options):
    @contextlib.contextmanager
    def make(folder):
        maker = shutil.which(f"mkfs.{kind}")
        if maker is None:
            raise Skipped(f"there is no mkfs.{kind}")
        path = folder / "image"
        path.touch()
        os.truncate(path, nbytes)
        subprocess.run([maker, *options, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with mounted(folder / "small", "-o", "loop", path) as point:
            yield point
    return make


@contextlib.contextmanager
def overlay(folder):
    with tmpfs(folder) as upper:
        for name in ("lower", "upper", "work"):
            (upper / name).mkdir()
        options = ",".join(f"{name}dir={upper / name}" for name in ("lower", "upper", "work"))
        with mounted(folder / "overlay", "-t", "overlay", "-o", options, "none") as point:
            yield point


def fill(point):
    """Leaves no room on the file system."""
    with open(point / "rest", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(65536))


def need_drops(trace):
    """Where pages are copied when they are written (btrfs), the page of the counters may be lost too."""
    facts = info(trace)
    drops = sum(facts["drops"].values())
    need(drops > 0 or not facts["cleanly_closed"], f"no drops counted: {facts}")
    return drops


def full(make):
    """The disk becomes full between two steps."""
    def world(folder):
        if os.geteuid() != 0:
            raise Skipped("takes root to mount a file system")
        notes = []
        with make(folder) as point:
            for macros in (False, True):
                program = [build_program(folder, macros), f"events={EVENTS}", "threads=2", "forks"]
                plain = run(program)
                trace = point / "run.tbed"
                words = program if macros else [TRACEBED, "record", "-f", "-o", trace, "--", *program]
                traced = run(words, lambda step: fill(point),
                             environment={"TRACEBED": str(trace)} if macros else {})
                need_same(plain, traced, "TRACEBED=" if macros else "record")
                need_readable(trace, (0, 1))
                notes.append(f"{need_drops(trace):,}")
                for path in point.iterdir():
                    if path.is_file():
                        path.unlink()
        return f"drops counted: {', '.join(notes)}"
    return world


# ---- Limits ----

def limited(option, value, *causes, events=EVENTS, statuses=(0,)):
    """The shell sets the limit, so that 'record' itself has none. 'causes': of drops that there must be."""
    def world(folder):
        notes = []
        for macros in (False, True):
            program = ["sh", "-c", f'ulimit {option} {value} && exec "$@"', "sh", build_program(folder, macros),
                       f"events={events}", "threads=3", "forks"]
            trace = folder / f"{'macros' if macros else 'record'}.tbed"
            plain = run(program)
            need(plain.status == 7, f"the limit is too low for the program itself: {plain}")
            traced = run(program if macros else [TRACEBED, "record", "-o", trace, "--", *program],
                         environment={"TRACEBED": str(trace)} if macros else {})
            need_same(plain, traced, "TRACEBED=" if macros else "record")
            if not trace.exists() and "without a trace" in traced.errors:
                notes.append("said that there is no trace")
                continue
            need_readable(trace, statuses)
            drops = dropped(trace)
            need(all(drops.get(cause, 0) > 0 for cause in causes), f"no drops of {causes}: {drops}")
            notes.append(f"{sum(drops.values()):,} drops")
        return f"record: {notes[0]}, TRACEBED=: {notes[1]}"
    return world


WORLDS = [
    World("full: tmpfs", full(tmpfs)),
    World("full: ext4", full(image("ext4", 12 * MIB, "-q", "-F"))),
    World("full: btrfs", full(image("btrfs", 128 * MIB, "--mixed"))),
    World("full: overlayfs", full(overlay)),
    World("RLIMIT_FSIZE 0", limited("-f", 0, statuses=(0, 2))),
    World("RLIMIT_FSIZE 200 KiB", limited("-f", 400, "size_limit")),
    World("RLIMIT_FSIZE 2 MiB", limited("-f", 4096, "size_limit")),
    # Few events: where there is no address space for malloc's arenas, each block is mapped and unmapped.
    *(World(f"RLIMIT_AS {mib} MiB", limited("-v", mib << 10, events=EVENTS // 10)) for mib in (48, 128, 1024)),
    *(World(f"RLIMIT_NOFILE {count}", limited("-n", count)) for count in (4, 8)),
]
