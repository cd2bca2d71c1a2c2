#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What `report --json` and `dump` say about each foreign file in this folder is what NAME.json and NAME.txt beside it say, and
what verify says is intact or damaged is in NAME.txt too. The files are written by make_FORMAT.py.

    imports_golden_test.py             compares
    imports_golden_test.py --write     writes the expectations; look at the difference before you commit it

Check: imports-golden
Needs: $b/programs
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
FOLDER = pathlib.Path(__file__).resolve().parent
TRACEBED = ROOT / os.environ.get("TBED_BUILD", "build/release") / "tracebed"


def output(*words):
    run = subprocess.run([str(TRACEBED), *words], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return run.returncode, run.stdout


def report(name):
    run = subprocess.run([str(TRACEBED), "report", "--json", name], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "NO_LIBRARY" in run.stderr:
        return None
    try:
        return json.dumps(json.loads(run.stdout), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    except ValueError:
        return run.stdout + run.stderr


def described(name):
    """The verdict, the damage, all events."""
    status, verdict = output("verify", name)
    return f"verify: exit status {status}\n{verdict}\n{output('dump', name)[1]}"


def compare(path, found, writes):
    if writes:
        path.write_text(found, encoding="utf-8")
        return True
    wanted = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == wanted:
        return True
    print(f"{path.relative_to(ROOT)}: differs from what is found now:")
    for line in sorted(set(found.splitlines()) ^ set(wanted.splitlines()))[:8]:
        print(f"  {'now' if line in found.splitlines() else 'was'}: {line[:160]}")
    return False


def main():
    writes, failed, skipped = "--write" in sys.argv[1:], 0, 0
    names = sorted(path.name for path in FOLDER.iterdir() if path.suffix not in (".py", ".json", ".txt", ".expected") and path.name != "__pycache__"
                   and not path.with_name(path.name + ".expected").exists())  # those are imports_json_test.py's
    for name in names:
        found = report(name)
        if found is None:
            print(f"skipped: {name}: built without the library that reads it")
            skipped += 1
            continue
        failed += not compare(FOLDER / (name + ".json"), found, writes)
        failed += not compare(FOLDER / (name + ".txt"), described(name), writes)
    if failed:
        sys.exit(f"{failed} differ; after a change that is meant: imports_golden_test.py --write")
    print(f"{len(names) - skipped} files, as expected")


if __name__ == "__main__":
    main()
