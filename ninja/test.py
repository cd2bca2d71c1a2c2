"""
Runs tests and checks, and prints a line for each; the last line is 'N passed, N failed'.

    test.py                 all of them, in every variant
    test.py quick           the release variant's, without those marked 'Slow:'
    test.py NAME [CASE]     those with this name, in every variant they have; CASE selects some of their cases

NAME is the name of a test, fuzz target or check, or the path of its file; CASE is a part of a case's name. Both may
contain '*' and '?'.

SPDX-License-Identifier: MIT
"""

import difflib
import fnmatch
import json
import os
import re
import subprocess
import sys
import time

# A test that takes more CPU time does not belong in 'quick'.
QUICK_SECONDS_MAX = 6
ENDINGS = ("", ".cases", ".failed")


# ---- Which ----

def inputs_of(targets):
    """Returns how ninja builds each target: target -> [rule, inputs]."""
    text = subprocess.run(["ninja", "-t", "query", *targets], capture_output=True, text=True).stdout
    found, name = {}, None
    for line in text.splitlines():
        if not line.startswith(" ") and line.endswith(":"):
            name = line[:-1]
            found[name] = ["", []]
        elif line.startswith("  input: "):
            found[name][0] = line.split(": ", 1)[1]
            within = True
        elif line.startswith("  outputs:"):
            within = False
        elif name is not None and line.startswith("    ") and within:
            found[name][1].append(line.strip().lstrip("|").strip())
    return found


def results_behind(targets):
    """The results that phony targets lead to."""
    results, todo, seen = [], list(targets), set(targets)
    while todo:
        further = []
        for name, (rule, inputs) in inputs_of(todo).items():
            if name.endswith(".result"):
                results.append(name)
            elif rule == "phony":
                further += [item for item in inputs if item not in seen]
                seen.update(inputs)
        todo = further
    return sorted(results)


def split(result):
    """'build/asan/reader/tests/a_test.result' is ('asan', 'reader/tests/a_test')."""
    return result.removeprefix("build/").removesuffix(".result").split("/", 1)


def names_of(result):
    """Returns the names by which a test can be selected."""
    path = re.sub(r"(_fuzzer)\d+$", r"\1", split(result)[1])  # one of several replays of a target
    name = os.path.basename(path)
    return {path, path + ".c", name, name + ".c", re.sub("_(test|fuzzer)$", "", name)}


def choose(results, wanted):
    wanted = os.path.normpath(wanted)
    return [result for result in results if any(fnmatch.fnmatchcase(name, wanted) for name in names_of(result))]


def near(results, wanted):
    """Names that resemble one that does not exist."""
    names = sorted({re.sub("_(test|fuzzer)$", "", os.path.basename(split(result)[1])) for result in results})
    wanted = re.sub("(_test|_fuzzer)?(\\.c)?$", "", os.path.basename(wanted))
    similar = difflib.get_close_matches(wanted, names, n=4, cutoff=0.6)
    return similar + [name for name in names if wanted in name and name not in similar][:6]


def pattern(case):
    return case if "*" in case or "?" in case else f"*{case}*"


# ---- Run and report ----

def forget(results):
    """Makes ninja run them again."""
    for path in results:
        for ending in ENDINGS:
            if os.path.exists(path + ending):
                os.remove(path + ending)


def run_ninja(targets):
    # Quiet unless somebody is watching; failures and warnings are shown in any case.
    version = subprocess.run(["ninja", "--version"], capture_output=True, text=True).stdout
    quiet = ["--quiet"] if not sys.stdout.isatty() and version >= "1.11" else []
    sys.stdout.flush()
    subprocess.run(["ninja", *quiet, "-k", "0", *targets])


def load(path):
    """A result, and whether the test passed."""
    for ending in ENDINGS:
        try:
            with open(path + ending, encoding="utf-8") as file:
                return json.load(file), ending != ".failed"
        except (OSError, ValueError):
            pass
    return {"passed": 0, "failed": 1, "skipped": 0, "note": "was not built or not run", "seconds": 0,
            "cpu_seconds": 0}, False


def show(path, result, good):
    variant, name = split(path)
    words = [f"{result['passed']:4} passed"]
    if result["failed"]:
        words.append(f"{result['failed']} FAILED")
    if result["skipped"]:
        words.append(f"{result['skipped']} skipped")
    if result["note"]:
        words.append(result["note"])
    print(f"{'ok  ' if good else 'FAIL'} {variant:8} {name:44} {result['seconds']:7.2f} s  {', '.join(words)}")


def report(results, is_quick=False):
    passed = failed = 0
    for path in results:
        result, good = load(path)
        show(path, result, good)
        passed += result["passed"]
        failed += result["failed"]
        if is_quick and result["cpu_seconds"] > QUICK_SECONDS_MAX:
            print(f"     {result['cpu_seconds']} s of CPU time: mark {split(path)[1]} as 'Slow:'; see TESTING.md")
    return passed, failed


def main(arguments):
    wanted, is_quick = arguments[:1], arguments == ["quick"]
    target = "check-quick" if is_quick else "check"
    # Bring the list of targets up to date before asking for it.
    subprocess.run(["ninja", "ninja/generated/targets.ninja"], stdout=subprocess.DEVNULL)
    results, targets = results_behind([target]), [target]
    if wanted and not is_quick:
        chosen = targets = choose(results, wanted[0])
        if not chosen:
            suggestions = ", ".join(near(results, wanted[0]))
            print(f"tracebed: no test or check is called '{wanted[0]}'"
                  + (f"; did you mean one of: {suggestions}?" if suggestions else ""), file=sys.stderr)
            return 2
        results = chosen
    if len(arguments) > 1:
        os.environ["TBED_TEST_CASES"] = pattern(arguments[1])
    else:
        os.environ.pop("TBED_TEST_CASES", None)
    forget(results)
    begin = time.monotonic()
    run_ninja(targets)
    passed, failed = report(results, is_quick)
    print(f"{len(results)} tests and checks in {time.monotonic() - begin:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
