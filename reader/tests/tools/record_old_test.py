"""
What 'tracebed record' does with a trace that is there already: it is moved to NAME.old with the files of its series, unless
it is still being recorded or is not a trace; and it is moved back if nothing is recorded.

    python3 reader/tests/tools/record_old_test.py

Check: record-old
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

SERIES = ["--rotate=256K", "python3", "-c", "[str(i) * 600 for i in range(5000)]"]


def record(folder, *words, status=0):
    """What it prints on standard error."""
    run = subprocess.run([cases.TRACEBED, "record", *words], cwd=folder, capture_output=True, text=True, check=False)
    cases.need(run.returncode == status, f"record {' '.join(words)}: exit status {run.returncode}\n{run.stderr}")
    return run.stderr


def id_of(path):
    info = cases.output_of(path.parent, cases.TRACEBED, "info", path)
    return next(line.split()[-1] for line in info.splitlines() if "file id" in line)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_two_are_kept(folder):
    trace, old = folder / "run.tbed", folder / "run.tbed.old"
    cases.need(record(folder, "true") == "", "the first recording says something")
    for _ in range(2):
        before = id_of(trace)
        said = record(folder, "true")
        cases.need(said == "tracebed: run.tbed: moved the trace that was there to run.tbed.old\n", said)
        cases.need(id_of(old) == before and id_of(trace) != before, "the older trace is not the old one")
    record(folder, "-o", "other.tbed", "true")
    record(folder, "-o", "other.tbed", "true")
    record(folder, "-f", "-o", "other.tbed", "true")
    cases.need(names(folder) == ["other.tbed", "other.tbed.old", "run.tbed", "run.tbed.old"], str(names(folder)))


def test_a_damaged_trace_is_moved(folder):
    record(folder, "true")
    with open(folder / "run.tbed", "r+b") as file:
        file.seek(8)
        file.write(b"\xff" * 40)
    damaged = (folder / "run.tbed").read_bytes()
    record(folder, "true")
    cases.need((folder / "run.tbed.old").read_bytes() == damaged, "the damaged trace is not the old one")


def test_what_is_no_trace_stays(folder):
    (folder / "run.tbed").write_text("notes\n")
    said = record(folder, "touch", "was-run", status=2)
    cases.need("run.tbed: exists already" in said and "not a trace" in said, said)
    cases.need(names(folder) == ["run.tbed"], str(names(folder)))
    (folder / "run.tbed").rename(folder / "run.tbed.old")
    record(folder, "true")
    said = record(folder, "touch", "was-run", status=2)
    cases.need("run.tbed.old: exists already, and is not a trace" in said, said)
    cases.need((folder / "run.tbed.old").read_text() == "notes\n", "the file is lost")
    cases.need(names(folder) == ["run.tbed", "run.tbed.old"], str(names(folder)))


def test_a_series_is_moved_with_its_files(folder):
    record(folder, *SERIES)
    files = names(folder)
    cases.need(len(files) > 1, "no series")
    (folder / "run.tbed.999").write_text("not of the series\n")
    record(folder, "-o", "single.tbed", "true")
    (folder / "single.tbed").rename(folder / "run.tbed.888")  # a trace, but not of the series
    said = record(folder, "true")
    cases.need(f"with {len(files) - 1} file" in said, said)
    moved = [name.replace("run.tbed", "run.tbed.old") for name in files]
    expected = sorted([*moved, "run.tbed", "run.tbed.999", "run.tbed.888"])
    cases.need(names(folder) == expected, f"{names(folder)}\nexpected {expected}")
    record(folder, "true")
    expected = ["run.tbed", "run.tbed.888", "run.tbed.999", "run.tbed.old"]
    cases.need(names(folder) == expected, f"{names(folder)}\nexpected {expected}")


def wait_for(holds):
    for _ in range(1000):
        if holds():
            return
        time.sleep(0.01)
    raise cases.Failure("nothing happens")


def test_a_trace_that_is_being_recorded_stays(folder):
    """From its creation on: the program, which cannot be recorded, has not opened the trace."""
    program = [cases.TRACEBED, "record", "env", "-i", "sh", "-c", "touch runs; while [ ! -e end ]; do sleep 0.02; done"]
    with subprocess.Popen(program, cwd=folder, stderr=subprocess.DEVNULL) as running:
        wait_for((folder / "runs").exists)
        said = record(folder, "true", status=2)
        (folder / "end").touch()
    cases.need("run.tbed: it is still being recorded" in said, said)
    cases.need(running.returncode == 0 and not (folder / "run.tbed.old").exists(), "it was moved")


def test_a_background_process_keeps_its_trace(folder):
    script = "(while [ ! -e end ]; do sleep 0.02; done) >/dev/null 2>&1 & echo $!"
    said = record(folder, "sh", "-c", script)
    refused = record(folder, "true", status=2)
    (folder / "end").touch()
    cases.need("still being recorded by" in said and "it is still being recorded" in refused, said + refused)
    cases.need(not (folder / "run.tbed.old").exists(), "it was moved")


def test_it_is_moved_back_if_nothing_is_recorded(folder):
    record(folder, "true")
    before = id_of(folder / "run.tbed")
    # The longest variable that the kernel accepts, to which 'record' appends, so the program cannot be executed.
    options = "a" * (32 * os.sysconf("SC_PAGE_SIZE") - len("ASAN_OPTIONS=") - 1)
    run = subprocess.run([cases.TRACEBED, "record", "true"], cwd=folder, capture_output=True, text=True, check=False,
                         env={**os.environ, "ASAN_OPTIONS": options})
    cases.need(run.returncode == 126 and "moved back" in run.stderr, f"exit status {run.returncode}\n{run.stderr}")
    cases.need(id_of(folder / "run.tbed") == before, "the older trace is gone")
    cases.need(names(folder) == ["run.tbed"], str(names(folder)))


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
