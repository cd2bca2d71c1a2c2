#!/usr/bin/env python3
"""
Opens the same trace in 'tracebed view' and in speedscope, in one headless Chromium, and prints how long each takes from the
start to the first picture and how much memory its page and its server have then; and the page of 'tracebed view --html', opened
as a file. For speedscope the trace is exported to Chrome's JSON, and the page is written, which is not counted. speedscope comes
from npm and is installed into a temporary folder.

SPDX-License-Identifier: MIT
"""

import argparse
import functools
import http.server
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import view_bench
from view_bench import SUBJECT, TRACEBED, browser

SECONDS_MAX = 60
# speedscope's title becomes that of the profile when this has been read; then it draws. It warns about each of a thousand spans,
# which costs a client of the debugging protocol more than the page.
NOTE_TITLE = """console.warn = () => {};
new MutationObserver(() => {
    if (window.drawnAt === undefined && document.title.includes('profile'))
        requestAnimationFrame(() => { window.drawnAt ??= performance.timeOrigin + performance.now(); });
}).observe(document, { subtree: true, childList: true, characterData: true })"""


def install_speedscope(folder):
    """The folder of its page; None if there is no npm, or no package."""
    if shutil.which("npm") is None:
        return None
    done = subprocess.run(["npm", "install", "--silent", "--prefix", folder, "speedscope"], check=False)
    page = os.path.join(folder, "node_modules/speedscope/dist/release")
    return page if done.returncode == 0 and os.path.isdir(page) else None


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def speedscope(page_folder, json_path, chromium):
    """Seconds until it draws the profile, and the page's heap in MB; None if it does not."""
    name = "the_profile.json"
    link = os.path.join(page_folder, name)
    shutil.copyfile(json_path, link)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=page_folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = chromium.page(1600, 900)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_TITLE)
    begin = time.time()
    try:
        address = f"http://127.0.0.1:{server.server_port}/"
        page.open(f"{address}index.html#profileURL={address}{name}&title=profile")
        taken = page.wait("window.drawnAt", SECONDS_MAX) / 1000 - begin, view_bench.heap_mb(page)
    except browser.BrowserError:
        taken = None
    page.close()
    server.shutdown()
    os.remove(link)
    return taken


def tracebed(path, chromium):
    """The same, with the server's own memory."""
    page = chromium.page(1600, 900)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=view_bench.NOTE_PICTURE)
    with view_bench.View(path) as view:
        page.open(view.address)
        seconds = page.wait("window.pictureAt", SECONDS_MAX) / 1000 - view.begin
        page.wait("document.body?.dataset.state === 'exact'", SECONDS_MAX)
        taken = seconds, view_bench.heap_mb(page) + view.own_mb()
        page.close()
    return taken


def page_in_file(path, chromium):
    """Seconds until it has read its data and draws."""
    page = chromium.page(1600, 900)
    begin = time.time()
    page.open(f"file://{path}")
    page.wait("document.body?.dataset.ready === '1' && new Promise(done => requestAnimationFrame(() => done(true)))", SECONDS_MAX)
    taken = time.time() - begin, view_bench.heap_mb(page)
    page.close()
    return taken


def cells(runs):
    if None in runs:
        return f"none in {SECONDS_MAX} s | –"
    seconds, megabytes = zip(*runs)
    return f"{statistics.median(seconds):.2f} | {statistics.median(megabytes):.0f}"


def compare(folder, page_folder, events, rounds):
    trace, exported = os.path.join(folder, "trace.tbed"), os.path.join(folder, "trace.json")
    subprocess.run([SUBJECT, trace, str(events), "8", "2000"], check=True)
    subprocess.run([TRACEBED, "export", "--to=chrome", "-f", "-o", exported, trace], check=True, stdout=subprocess.DEVNULL)
    page = os.path.join(os.path.abspath(folder), "trace.html")
    subprocess.run([TRACEBED, "view", "-f", "--html", page, trace], check=True, stdout=subprocess.DEVNULL)
    ours, in_file, theirs = [], [], []
    for _ in range(rounds):
        with browser.Browser() as chromium:  # a new one each time: nothing is left of the run before
            ours.append(tracebed(trace, chromium))
        with browser.Browser() as chromium:
            in_file.append(page_in_file(page, chromium))
        with browser.Browser() as chromium:
            theirs.append(speedscope(page_folder, exported, chromium))
    sizes = " | ".join(f"{os.stat(name).st_size / 1e6:.0f}" for name in (trace, page, exported))
    print(f"| {events:,} | {sizes} | {cells(ours)} | {cells(in_file)} | {cells(theirs)} |", flush=True)
    os.remove(exported)


def main():
    parser = argparse.ArgumentParser(description="Compares how long one waits for the picture of a trace.")
    parser.add_argument("events", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000], help="sizes of traces")
    parser.add_argument("--rounds", type=int, default=3, help="starts of each (3)")
    options = parser.parse_args()
    if browser.find() is None:
        print("viewers_bench.py: Chromium is missing (Debian: chromium)")
        return 0
    folder = tempfile.mkdtemp(prefix="viewers_bench.", dir=view_bench.BUILD)
    try:
        page_folder = install_speedscope(folder)
        if page_folder is None:
            print("viewers_bench.py: speedscope cannot be installed with npm")
            return 0
        print("| Events | Trace, MB | Page, MB | JSON, MB | tracebed view, s | MB | its page, s | MB | speedscope, s | MB |")
        print("|---" * 10 + "|")
        for events in options.events:
            compare(folder, page_folder, events, options.rounds)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
