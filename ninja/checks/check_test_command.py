"""
Checks the test command itself: ninja/run_test.py must not take a crash, a timeout or a test that runs nothing for
success, and ninja/test.py must find tests by name.

Check: test-command

SPDX-License-Identifier: MIT
"""

import json
import os
import subprocess
import sys

import cases
from cases import ROOT, need

sys.path.insert(0, str(ROOT / "ninja"))
import test as test_command

RESULTS = ["build/asan/reader/tests/core/reader_blocks_test.result", "build/checks/layers.result",
           "build/asan/fuzz/reader/reader_fuzzer.result", "build/release/reader/tests/core/reader_blocks_test.result"]
CMOCKA = "[==========] Running 2 test(s).\n[  PASSED  ] %d test(s).\n"


def run_test(folder, script, *options, pattern=None):
    """Runs a shell script as a test; gives the files that it left: name -> result."""
    environment = {name: value for name, value in os.environ.items() if name != "TBED_TEST_CASES"}
    if pattern is not None:
        environment["TBED_TEST_CASES"] = pattern
    command = [sys.executable, str(ROOT / "ninja/run_test.py"), *options, "it.result", "--", "sh", "-c", script]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    left = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    need((run.returncode == 0) == ("it.result.failed" not in left), f"{script}: {run.returncode}, {left}")
    return left


def need_failure(folder, script, note, *options):
    left = run_test(folder, script, *options)
    need(list(left) == ["it.result.failed"], f"{script}: left {list(left)}")
    result = left["it.result.failed"]
    need(result["failed"] > 0 and note in (result["note"] or ""), f"{script}: {result}")


def test_success_leaves_a_stamp_and_counts(folder):
    for script, passed in ((f"printf '{CMOCKA % 2}'", 2), ("echo '7 passed, 0 failed'", 7), ("true", 1),
                           ("printf 'Ran 3 tests in 1s\\nOK (skipped=1)\\n'", 2)):
        left = run_test(folder, script)
        need(list(left) == ["it.result"] and left["it.result"]["passed"] == passed, f"{script}: {left}")


def test_failures_leave_no_stamp(folder):
    need_failure(folder, "false", "")
    need_failure(folder, "kill -SEGV $$", "SIGSEGV")
    need_failure(folder, "sleep 9", "timed out", "--timeout", "0.2")
    need_failure(folder, "echo '7 passed, 1 failed'; exit 1", "")
    need_failure(folder, "echo '7 passed, 0 failed'; exit 3", "exit status 3")
    need_failure(folder, f"printf '{CMOCKA % 1}'", "1 of 2")
    need_failure(folder, "printf 'Ran 0 tests in 1s\\nOK\\n'", "0 of 0")


def test_what_a_test_leaves_running_is_killed(folder):
    run_test(folder, "sleep 300 & echo $! > pid; mv pid pid.json")
    pid = json.loads((folder / "pid.json").read_text())
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().split(") ")[1][0] == "Z":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return
    raise cases.Failure(f"process {pid} is still running")


def test_a_part_of_a_test_is_no_stamp(folder):
    left = run_test(folder, "echo '1 passed, 0 failed'", pattern="*one*")
    need(list(left) == ["it.result.cases"], f"left {list(left)}")
    left = run_test(folder, "printf 'Ran 0 tests in 1s\\nOK\\n'", pattern="*none*")
    need(left["it.result.cases"]["note"] == "no case matches", f"{left}")
    need("has no cases" in run_test(folder, "true", pattern="*")["it.result.failed"]["note"], "a check without cases")


def test_tests_are_found_by_name(folder):
    for wanted, count in {"reader_blocks": 2, "reader_blocks_test": 2, "reader_blocks_test.c": 2, "layers": 1,
                          "./reader/tests/core/reader_blocks_test.c": 2, "reader": 1, "reader*": 3, "block": 0}.items():
        found = test_command.choose(RESULTS, wanted)
        need(len(found) == count, f"{wanted}: {found}")
    for wanted, name in {"reader_block": "reader_blocks", "layer": "layers", "blocks": "reader_blocks"}.items():
        need(name in test_command.near(RESULTS, wanted), f"{wanted}: {test_command.near(RESULTS, wanted)}")
    need(test_command.pattern("one") == "*one*" and test_command.pattern("one*") == "one*", "patterns of cases")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
