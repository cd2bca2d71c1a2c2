"""
What the tests of the page of 'tracebed view' share: the real server, and a page in a headless Chromium.

SPDX-License-Identifier: MIT
"""

import contextlib
import http.client
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import browser
import cases

PROGRAM = cases.BUILD / "reader/tests/tools/view_page_program"
MS = 1000000
CHROMIUM = browser.Browser()

# ---- The server and the page ----


class View:
    """'tracebed view' of some files. Use it in 'with'."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen([cases.TRACEBED, "view", "--no-browser", *words], cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", line)
            if found:
                self.address, self.port, self.token = found[0], int(found[1]), found[2]
                return self
        raise cases.Failure("view printed no address")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()

    def status(self, path, **headers):
        """The status and text of a request with these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text


def record(folder, *words):
    """Has the program record what the words say, and gives the name of the file."""
    cases.output_of(folder, PROGRAM, *words)
    return words[1]


def work(folder, name="work.tbed", shift=0):
    return record(folder, "work", name, shift)


def open_page(address, **settings):
    page = CHROMIUM.page(**settings)
    page.open(address)
    page.wait("document.body?.dataset.ready === '1'")
    return page


def module(name, expression):
    """An expression over what a module of the page exports."""
    return f"import(new URL('{name}.js', location)).then(({name}) => {expression})"


def state(page, expression):
    return page.run(module("state", f"state.state.{expression}"))


def wait_for_state(page, expression):
    return page.wait(module("state", f"(({{state: it}}) => {expression})(state)"))


def settle(page):
    """Until the exact picture of the view is there, and nothing moves."""
    page.wait(module("state", "state.state.view.b === state.state.shown.b && state.state.view.e === state.state.shown.e"))
    page.wait("document.body.dataset.state === 'exact'")


def look_at(page, begin, end):
    page.run(module("state", f"state.setView({begin}, {end}, {{ isSmooth: false }})"))
    settle(page)


def spot(page, stream_name, tick, depth, f=0):
    """Where a tick of a thread is, in pixels of the window."""
    return page.run(f"""Promise.all(['state', 'draw', 'tracks'].map(name => import(new URL(name + '.js', location)))).then(([state, draw, tracks]) => {{
        const row = tracks.rows.find(row => row.f === {f} && row.title === '{stream_name}');
        document.getElementById('scroll').scrollTop = Math.max(0, row.y - 40);
        const box = document.getElementById('picture').getBoundingClientRect();
        return [box.left + draw.placeOf(state.shared({f}, {tick})),
            box.top + row.y - document.getElementById('scroll').scrollTop + row.strip + ({depth} + 0.5) * row.spanHeight];
    }})""")


def choose(page, stream_name, tick, depth, f=0):
    page.click(*spot(page, stream_name, tick, depth, f))


def pane(page):
    return re.sub("[\u00a0\u202f]", " ", page.run("document.getElementById('pane').innerText"))


def healthy(page):
    cases.need(not page.problems, f"problems in the page: {page.problems}")
    page.close()


@contextlib.contextmanager
def viewed(folder, *words):
    """A page of these files, settled, in which nothing may have gone wrong."""
    with View(folder, *words) as view:
        page = open_page(view.address)
        settle(page)
        yield page
        healthy(page)


def main(tests):
    """Runs the tests of a module, if there is a Chromium."""
    if browser.find() is None:
        print("skipped: Chromium is missing (Debian: chromium)")
        return 0
    with CHROMIUM:
        return cases.run_all(tests)
