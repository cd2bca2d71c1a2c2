"""
'tracebed doctor' where everything is there and where something is missing: what it says, what its exit status is, and that
it leaves nothing behind.

    python3 reader/tests/tools/doctor_test.py

Check: doctor
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import json
import os
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

STATES = {"ok", "missing", "broken"}


def doctor(folder, status=0, program=cases.TRACEBED, limit=None, **environment):
    """{subject: [its lines]}"""
    names = {**os.environ, "HOME": str(folder), **environment}
    names = {name: value for name, value in names.items() if value is not None}
    run = subprocess.run([program, "doctor", "--json"], cwd=folder, env=names, capture_output=True, text=True, check=False,
                         preexec_fn=limit)
    cases.need(run.returncode == status and run.stderr == "", f"exit status {run.returncode}\n{run.stdout}{run.stderr}")
    data = json.loads(run.stdout)
    cases.need(data["can_record"] == (status == 0), run.stdout)
    found = {}
    for check in data["checks"]:
        cases.need(check["state"] in STATES and check["text"], str(check))
        needs_remedy = check["state"] == "missing"
        cases.need(bool(check["remedy"]) or not needs_remedy, f"no remedy: {check}")
        found.setdefault(check["subject"], []).append(check)
    return found


def state_of(found, subject):
    return found[subject][0]["state"]


def test_this_machine(folder):
    found = doctor(folder)
    cases.need(state_of(found, "recording") == "ok", str(found["recording"]))
    missing = {"clock", "folder", "limits", "off-cpu", "elfutils", "zstd", "compiler", "Ruby", "terminal", "defaults"} - set(found)
    cases.need(not missing, f"nothing is said about {missing}")
    cases.need(list(folder.iterdir()) == [], "files are left")
    text = cases.output_of(folder, cases.TRACEBED, "doctor")
    cases.need(text.startswith("recording    ok "), text)
    clock = found["clock"][0]
    info = cases.output_of(folder, cases.TRACEBED, "record", "-o", "t.tbed", "true") + \
        cases.output_of(folder, cases.TRACEBED, "info", "t.tbed")
    cases.need(("CLOCK_MONOTONIC" in clock["text"]) == ("CLOCK_MONOTONIC" in info), f"{clock}\n{info}")


def test_nothing_in_path(folder):
    found = doctor(folder, PATH="/nonexistent")
    cases.need(state_of(found, "recording") == "ok", str(found["recording"]))
    cases.need(state_of(found, "compiler") == "missing" and state_of(found, "Ruby") == "missing", str(found))


def test_a_program_without_its_libraries(folder):
    shutil.copy(cases.TRACEBED, folder / "alone")
    found = doctor(folder, status=1, program=folder / "alone")
    cases.need("libtracebed-preload.so: not found" in found["recording"][0]["text"], str(found["recording"]))
    cases.need(state_of(found, "Python") == "missing" and state_of(found, "completion") == "missing", str(found))


def test_a_folder_that_is_gone(folder):
    """Root may write to any folder, but not to one that was removed."""
    inner = folder / "inner"
    inner.mkdir()
    script = 'cd inner && rmdir ../inner && exec "$0" doctor'
    run = subprocess.run(["sh", "-c", script, cases.TRACEBED], cwd=folder, capture_output=True, text=True, check=False)
    cases.need(run.returncode == 1 and "the current folder cannot be written" in run.stdout, run.stdout + run.stderr)


def test_limits(folder):
    found = doctor(folder, limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30)))
    cases.need(state_of(found, "limits") == "missing" and "1 GiB" in found["limits"][0]["text"], str(found["limits"]))
    found = doctor(folder, status=1, limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    cases.need(state_of(found, "recording") == "broken", str(found["recording"]))
    cases.need(list(folder.iterdir()) == [], "files are left")


def test_locale(folder):
    found = doctor(folder, LC_ALL=None, LC_CTYPE=None, LANG="C")
    cases.need(state_of(found, "locale") == "missing", str(found["locale"]))
    found = doctor(folder, LC_ALL=None, LC_CTYPE=None, LANG="C.UTF-8")
    cases.need(state_of(found, "locale") == "ok", str(found["locale"]))


def test_defaults(folder):
    options = folder / ".config/tracebed/options"
    options.parent.mkdir(parents=True)
    options.write_text("[report]\n--limit=3\n")
    found = doctor(folder, TRACEBED_OPTIONS=None, XDG_CONFIG_HOME=None)
    cases.need(f"report --limit=3 ({options}, line 2)" == found["defaults"][0]["text"],
               str(found["defaults"]))
    options.write_text("[report\n")
    found = doctor(folder, status=1, TRACEBED_OPTIONS=None, XDG_CONFIG_HOME=None)
    cases.need(state_of(found, "defaults") == "broken" and "line 1" in found["defaults"][0]["text"], str(found["defaults"]))


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
