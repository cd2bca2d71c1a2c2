#!/usr/bin/env python3
"""
Shows one huge trace with 'tracebed view' in a headless Chromium, and prints how long its user waits: for the first answer
and the first picture, and then for each of many random steps of zooming and moving; and what memory the server and the
page have then. The trace needs 8 GB of disk. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for part in ("support", "../ninja/checks", "../reader/tests/tools"):
    sys.path.insert(0, os.path.join(HERE, part))
import browser  # noqa: E402
import processes  # noqa: E402

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
SUBJECT = os.path.realpath(f"{BUILD}/bench/verbs/verbs_subject")
ANSWER_S_MAX, ANSWER_COLD_S_MAX, PICTURE_S_MAX = 0.15, 0.3, 0.5
FIRST_MS_P95_MAX, EXACT_MS_P95_MAX, OWN_MB_MAX = 50, 1000, 200
SMALLEST_TICKS = 100  # a few events
WINDOW = "window?f=0&w=1600&depth=32&max=20000&sketch=1&seq=1&page=bench"

# When the page first has something to draw, in milliseconds since 1970, before any of its own scripts run.
NOTE_PICTURE = """new MutationObserver(() => {
    if (window.pictureAt === undefined && ['sketch', 'exact'].includes(document.body?.dataset.state))
        requestAnimationFrame(() => { window.pictureAt ??= performance.timeOrigin + performance.now(); });
}).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-state'] })"""

# step(b, e) shows [b, e), and gives the milliseconds until the first answer and until the exact one.
STEPS = """Promise.all(['state', 'api'].map(name => import(new URL(name + '.js', location)))).then(([state, api]) => {
    let waiting = null;
    state.on('data', () => {
        const sum = api.sums[0], { b, e } = state.state.view;
        if (waiting === null || document.body.dataset.state === 'loading' || sum.b > b || sum.e < e || sum.e - sum.b > 1.3 * (e - b) + 4)
            return;
        waiting.first ??= performance.now() - waiting.begin;
        if (waiting.isQuick || document.body.dataset.state === 'exact') {
            const { first, begin, resolve } = waiting;
            waiting = null;
            resolve([first, performance.now() - begin]);
        }
    });
    window.step = (b, e, isQuick) => new Promise(resolve => {
        waiting = { resolve, isQuick, begin: performance.now() };
        state.setView(b, e, { isSmooth: false });
    });
    return state.state.files[0].ticks;
})"""


class View:
    """'tracebed view' of the trace. Use it in 'with'."""

    def __init__(self, path):
        self.begin = time.time()
        self.process = subprocess.Popen([TRACEBED, "view", "--no-browser", path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

    def __enter__(self):
        self.address = self.process.stdout.readline().strip()
        match = re.match(r"http://[^:]+:(\d+)(/.*)", self.address)
        if match is None:
            sys.exit("'tracebed view' does not start: " + self.process.stderr.read().strip())
        self.port, self.path = match.groups()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()

    def ask(self, what):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=600)
        connection.request("GET", self.path + what)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def own_mb(self):
        return processes.own_memory(self.process.pid) * 1024 / 1e6


def drop(path):
    """Removes the file from the page cache."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def seconds_to_answer(path):
    with View(path) as view:
        view.ask(WINDOW)
        return time.time() - view.begin


def seconds_to_picture(path, chromium):
    page = chromium.page()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_PICTURE)
    with View(path) as view:
        page.open(view.address)
        taken = page.wait("window.pictureAt", 120) / 1000 - view.begin
        page.close()
    return taken


def goal(value, most):
    return f"<= {most:g}: **{'reached' if value <= most else 'missed'}**"


def row(what, unit, values, most=None, counts=statistics.median):
    values = sorted(values)
    p95 = values[min(len(values) - 1, len(values) * 95 // 100)]
    digits = 3 if unit == "s" else 1
    shown = (f"{value:.{digits}f}" for value in (statistics.median(values), p95, values[-1]))
    text = "–" if most is None else goal(p95 if counts == "p95" else counts(values), most)
    print(f"| {what} | {unit} | {' | '.join(shown)} | {text} |", flush=True)


def starts(path, chromium, rounds):
    for name, is_cold, answer_max, picture_max in (("", False, ANSWER_S_MAX, PICTURE_S_MAX), (", cold", True, ANSWER_COLD_S_MAX, None)):
        answers, pictures = [], []
        for _ in range(rounds):
            for values, measure in ((answers, lambda: seconds_to_answer(path)), (pictures, lambda: seconds_to_picture(path, chromium))):
                if is_cold:
                    drop(path)
                values.append(measure())
        row(f"command to first answer{name}", "s", answers, answer_max)
        row(f"command to first picture{name}", "s", pictures, picture_max)


def next_view(view, ticks, chance):
    """A step of somebody who looks around: in, out, or to the side."""
    begin, end = view
    width, what = end - begin, chance.random()
    if width <= SMALLEST_TICKS:
        return 0, ticks
    if what < 0.5:
        width = max(SMALLEST_TICKS, width / chance.uniform(1.5, 20))
        begin += chance.random() * (end - begin - width)
    elif what < 0.75:
        begin -= width * chance.uniform(0.2, 2)
        width *= chance.uniform(1.5, 5)
    else:
        begin += width * chance.uniform(-0.8, 0.8)
    width = min(width, ticks)
    begin = max(0, min(begin, ticks - width))
    return int(begin), int(begin + width)


def walk(page, ticks, steps, chance, is_quick):
    firsts, exacts, view = [], [], (0, ticks)
    for _ in range(steps):
        before = view
        while view == before:
            view = next_view(view, ticks, chance)
        first, exact = page.run(f"step({view[0]}, {view[1]}, {str(is_quick).lower()})")
        firsts.append(first)
        exacts.append(exact)
    return firsts, exacts


def heap_mb(page):
    page.call("HeapProfiler.collectGarbage")
    return page.call("Runtime.getHeapUsage")["usedSize"] / 1e6


def moves(path, chromium, options):
    page = chromium.page(1600, 900)
    with View(path) as view:
        page.open(view.address)
        page.wait("document.body?.dataset.state === 'exact'", 600)
        ticks = page.run(STEPS)
        chance = random.Random(options.seed)
        own_before, heap_before = view.own_mb(), heap_mb(page)
        firsts, exacts = walk(page, ticks, options.steps, chance, False)
        row(f"{options.steps:,} steps, first answer", "ms", firsts, FIRST_MS_P95_MAX, "p95")
        row(f"{options.steps:,} steps, exact", "ms", exacts, EXACT_MS_P95_MAX, "p95")
        walk(page, ticks, max(0, options.all_steps - options.steps), chance, True)
        row("server's anonymous memory, before the steps", "MB", [own_before], OWN_MB_MAX)
        row(f"server's anonymous memory, after {options.all_steps:,}", "MB", [view.own_mb()], OWN_MB_MAX)
        row("page's heap, before the steps", "MB", [heap_before])
        row(f"page's heap, after {options.all_steps:,}", "MB", [heap_mb(page)])
        if page.problems:
            print(f"\nThe page had problems: {page.problems}")
        page.close()


def main():
    parser = argparse.ArgumentParser(description="Measures how long one waits for 'tracebed view' of a huge trace.")
    parser.add_argument("--quick", action="store_true", help="20 million events instead of a billion")
    parser.add_argument("--events", type=int, help="events (1 billion, quick: 20 million)")
    parser.add_argument("--threads", type=int, default=8, help="threads that recorded them (8)")
    parser.add_argument("--names", type=int, default=2000, help="different names (2,000)")
    parser.add_argument("--rounds", type=int, default=5, help="starts of each kind (5)")
    parser.add_argument("--steps", type=int, default=500, help="steps whose exact picture is waited for (500)")
    parser.add_argument("--all-steps", type=int, default=2000, help="steps in all, for the memory (2,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the steps (1)")
    parser.add_argument("--path", default=BUILD, help=f"directory for the trace ({BUILD})")
    options = parser.parse_args()
    if browser.find() is None:
        print("view_bench.py: Chromium is missing (Debian: chromium)")
        return 0
    events = options.events or (20_000_000 if options.quick else 1_000_000_000)
    folder = tempfile.mkdtemp(prefix="view_bench.", dir=options.path)
    try:
        trace = f"{folder}/trace.tbed"
        subprocess.run([SUBJECT, trace, str(events), str(options.threads), str(options.names)], check=True)
        print(f"{events:,} events of {options.threads} threads, {options.names:,} names, {os.stat(trace).st_size / 2**30:.2f} GiB; "
              f"load average {os.getloadavg()[0]:.1f}\n")  # fmt: skip
        print("| What | Unit | Median | p95 | Max | Goal |\n|---|---|---|---|---|---|")
        with browser.Browser() as chromium:
            starts(trace, chromium, options.rounds)
            moves(trace, chromium, options)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
