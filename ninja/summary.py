"""
Tells the results of the tests behind ninja targets: a line for each program, and last 'N passed, N failed'.

    summary.py [--forget] TARGET...

With --forget the results are removed instead, so that the next build runs every test again.

SPDX-License-Identifier: MIT
"""

import json
import os
import subprocess
import sys


def inputs_of(targets):
    """What ninja builds each target from, and by which rule."""
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


def load(path):
    """A result, and whether the run was good."""
    for name, good in ((path, True), (path + ".failed", False)):
        try:
            with open(name, encoding="utf-8") as file:
                return json.load(file), good
        except (OSError, ValueError):
            pass
    return {"passed": 0, "failed": 1, "skipped": 0, "note": "was not built or not run", "seconds": 0}, False


def tell(path, result, good):
    variant, name = path.removeprefix("build/").removesuffix(".result").split("/", 1)
    words = [f"{result['passed']:4} passed"]
    if result["failed"]:
        words.append(f"{result['failed']} FAILED")
    if result["skipped"]:
        words.append(f"{result['skipped']} skipped")
    if result["note"]:
        words.append(result["note"])
    print(f"{'ok  ' if good else 'FAIL'} {variant:8} {name:44} {result['seconds']:7.2f} s  {', '.join(words)}")


def main(arguments):
    forget = arguments[:1] == ["--forget"]
    results = results_behind(arguments[1:] if forget else arguments)
    if forget:
        for path in results:
            for name in (path, path + ".failed"):
                if os.path.exists(name):
                    os.remove(name)
        return 0
    passed = failed = 0
    for path in results:
        result, good = load(path)
        tell(path, result, good)
        passed += result["passed"]
        failed += result["failed"]
    if not results:
        print("no test was found")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
