"""
Worlds in which something happens to the file of a trace while it is being recorded.

SPDX-License-Identifier: MIT
"""

import os

from worlds import TRACEBED, World, build_program, dropped, need, need_readable, need_same, run

EVENTS = 100_000
OTHER = b"not a trace\n" * 1000


def record(trace):
    return [TRACEBED, "record", "-o", trace, "--"]


def both_ways(folder, change, *arguments, statuses=(0, 1, 2)):
    """Runs the program plain, under 'record' and with TRACEBED=, and changes the trace between its two steps."""
    notes = []
    for macros in (False, True):
        program = [build_program(folder, macros), f"events={EVENTS}", *arguments]
        trace = folder / f"{'macros' if macros else 'record'}.tbed"
        plain = run(program)
        traced = run(program if macros else [*record(trace), *program], lambda step, at=trace: change(at),
                     environment={"TRACEBED": str(trace)} if macros else {})
        need_same(plain, traced, "TRACEBED=" if macros else "record")
        if trace.exists():
            need_readable(trace, statuses)
            notes.append(f"{sum(dropped(trace).values()):,} drops counted")
        else:
            notes.append("no file")
    return ", ".join(f"{how}: {note}" for how, note in zip(("record", "TRACEBED="), notes))


def removed(folder):
    return both_ways(folder, os.unlink)


def truncated(folder):
    return both_ways(folder, lambda trace: os.truncate(trace, 0))


def truncated_in_threads(folder):
    return both_ways(folder, lambda trace: os.truncate(trace, 0), "threads=4", "forks")


def truncated_with_signals_blocked(folder):
    return both_ways(folder, lambda trace: os.truncate(trace, 0), "threads=3", "blocks-signals")


def cut_in_the_middle(folder):
    return both_ways(folder, lambda trace: os.truncate(trace, 3 * 65536 + 5000))


def replaced(trace):
    """By another file, which nobody may touch."""
    other = trace.with_suffix(".other")
    other.write_bytes(OTHER)
    os.replace(other, trace)


def is_left_alone(folder):
    for macros in (False, True):
        program = [build_program(folder, macros), f"events={EVENTS}", "threads=2", "forks"]
        trace = folder / "run.tbed"
        plain = run(program)
        traced = run(program if macros else [*record(trace), *program], lambda step: replaced(trace),
                     environment={"TRACEBED": str(trace)} if macros else {})
        need_same(plain, traced, "TRACEBED=" if macros else "record")
        need(trace.read_bytes() == OTHER, "the other file was changed")
        trace.unlink()
    return "the other file is unchanged"


def overwritten(byte):
    def overwrite(trace):
        with open(trace, "r+b") as file:
            file.write(bytes([byte]) * os.fstat(file.fileno()).st_size)
    return lambda folder: both_ways(folder, overwrite, "threads=3", "forks")


def header_overwritten(folder):
    def overwrite(trace):
        with open(trace, "r+b") as file:
            file.write(bytes(range(256)) * 256)
    return both_ways(folder, overwrite, "threads=3", "forks")


def cut_and_filled_again(folder):
    def change(trace):
        nbytes = os.path.getsize(trace)
        os.truncate(trace, 0)
        os.truncate(trace, nbytes)
    return both_ways(folder, change, "threads=3", "forks")


WORLDS = [
    World("file replaced", is_left_alone),
    World("file overwritten with zeros", overwritten(0)),
    World("file overwritten with ones", overwritten(255)),
    World("file's header overwritten", header_overwritten),
    World("file cut to nothing, and grown again", cut_and_filled_again),
    World("file removed", removed),
    World("file truncated", truncated),
    World("file truncated, threads and a child", truncated_in_threads),
    World("file truncated, signals blocked", truncated_with_signals_blocked),
    World("file cut in the middle", cut_in_the_middle),
]
