#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Speedscope's own page opens what 'tracebed export --to=speedscope' writes, of time and of memory, with odd names, deep recursion and
overlapping spans, and reports nothing in the browser's console. It needs Chromium, and speedscope in build/npm.

    python3 reader/tests/exchange/speedscope_page_test.py

Check: speedscope-page
Needs: $b/programs $b/reader/tests/agreement/agreement_program $b/reader/tests/agreement/hostile_names_program $b/reader/tests/exchange/stack_extremes_program
"""

import functools
import http.server
import os
import pathlib
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools"), str(HERE.parents[2] / "ninja" / "checks")]
import browser
import cases
import export_stacks_test as exports

PAGE = cases.ROOT / "build/npm/node_modules/speedscope/dist/release"


class Files(http.server.SimpleHTTPRequestHandler):
    """The page, and profiles beside it."""

    folder = None

    def translate_path(self, path):
        name = os.path.basename(path.split("?")[0])
        return os.path.join(self.folder, name) if name.endswith(".profile.json") else super().translate_path(path)

    def log_message(self, *_):
        pass


def profiles(folder):
    for path in (*exports.random_traces(folder), exports.extremes(folder), exports.hostile_names(folder)):
        yield exports.export("speedscope", path)
    yield exports.export("speedscope", exports.memory_trace(folder), "--memory")


def open_profile(page, address, name):
    page.problems.clear()
    page.open("about:blank")
    page.open(f"{address}index.html#profileURL={address}{name}&title={name}")
    page.wait(f"document.title.includes({name!r})", 30)
    problems = [problem for problem in page.problems if "WebGL" not in problem]
    cases.need(not problems, f"{name}: {problems}")


def test_speedscope_opens_all_profiles(folder):
    if browser.find() is None or not PAGE.is_dir():
        return "skipped: needs Chromium, and speedscope in build/npm"
    Files.folder = folder
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=PAGE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with browser.Browser() as chromium:
        page = chromium.page()
        for number, data in enumerate(profiles(folder)):
            name = f"{number}.profile.json"
            pathlib.Path(folder, name).write_bytes(data)
            open_profile(page, f"http://127.0.0.1:{server.server_port}/", name)
    server.shutdown()
    return None


def main():
    return cases.run_all(globals())


if __name__ == "__main__":
    sys.exit(main())
