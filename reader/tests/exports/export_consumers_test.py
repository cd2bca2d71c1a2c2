#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The Firefox Profiler opens what 'tracebed export --to=firefox' writes, by its own command line: npm's
@firefox-devtools/profiler-cli under npm's node@24, in build/npm. Without these packages, it is skipped.

    python3 reader/tests/exports/export_consumers_test.py

The profiler runs as a daemon, which a loaded machine may start slowly: each command may take minutes.

Check: export-consumers
Needs: $b/programs $b/reader/tests/exports/kinds_program
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

KINDS = cases.BUILD / "reader/tests/exports/kinds_program"
BIN = cases.ROOT / "build/npm/node_modules/.bin"
SECONDS = 240


def environment(folder):
    """Its sessions are in the folder, and other people's are not seen."""
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder), "PROFILER_CLI_NO_SYMBOLICATE": "1",
            "PROFILER_CLI_SESSION_DIR": str(folder / "sessions"), "PROFILER_CLI_LOAD_TIMEOUT_MS": str(SECONDS * 1000)}


def run(folder, *words):
    return subprocess.run([BIN / "profiler-cli", *map(str, words)], env=environment(folder), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)


def ask(folder, *words):
    done = run(folder, *words)
    cases.need(done.returncode == 0, f"{' '.join(map(str, words))}: {(done.stdout + done.stderr)[-1000:]}")
    return done.stdout


def load(folder, path):
    """The program waits half a second for its daemon, which may need longer: then it is asked again."""
    end = time.monotonic() + SECONDS
    while True:
        done = run(folder, "load", path)
        if done.returncode == 0:
            return
        text = done.stdout + done.stderr
        started = re.search(r"running as pid (\d+)", text)
        cases.need(started is not None and time.monotonic() < end, f"load: {text[-1000:]}")
        for _ in range(20):
            if run(folder, "thread", "list").returncode == 0:
                return
            time.sleep(1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(started.group(1)), signal.SIGTERM)


def test_firefox_profiler(folder):
    path, out = folder / "kinds.tbed", folder / "profile.json"
    subprocess.run([KINDS, path], check=True)
    cases.output_of(folder, cases.TRACEBED, "export", "--to=firefox", path, "-o", out)
    with open(out, encoding="utf-8") as file:
        profile = json.load(file)
    spans = [span for thread in profile["threads"] for span in thread["markers"]["phase"] if span == 1]
    try:
        load(folder, out)
        text = ask(folder, "profile", "markers", "--json", "--limit", "100000")
        found = json.dumps(json.loads(text))
        cases.need("with arguments" in found and "request" in found, f"markers are missing: {found[:500]}")
        threads = ask(folder, "thread", "list")
        cases.need(f"({len(profile['threads'])} threads" in threads, threads)
        cases.need("Memory" in ask(folder, "counter", "list"), "live memory")
    finally:
        run(folder, "stop", "--all")
    return f"{len(spans)} spans"


if __name__ == "__main__":
    if not (BIN / "profiler-cli").exists() or not (BIN / "node").exists():
        print("skipped: npm's @firefox-devtools/profiler-cli and node@24 are not in build/npm")
        sys.exit(0)
    sys.exit(cases.run_all(globals()))
