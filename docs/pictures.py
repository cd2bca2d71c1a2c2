#!/usr/bin/env python3
"""
Makes the pictures of the pages in docs: records real programs, shows the traces with 'tracebed view' in a headless Chromium,
and stores what it shows in docs/pictures. The picture of the tutorial is drawn of its own program.

    docs/pictures.py [NAME]...

Needs Chromium, g++, Ruby and rustc; pictures of what is missing are left as they are.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "reader/tests/tools"), str(ROOT / "ninja/checks")]
import browser  # noqa: E402
import cases  # noqa: E402
import pages  # noqa: E402
import view_case as view  # noqa: E402

PICTURES = ROOT / "docs/pictures"
WIDTH, HEIGHT = 1200, 700
NBYTES_MAX = 150_000

RUST = """use std::collections::HashMap;
fn main() {
    let mut counts = HashMap::new();
    for word in std::env::args().skip(1) { *counts.entry(word).or_insert(0usize) += 1; }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort();
    println!("{all:?}");
}
"""
CPP = """#include <iostream>
#include <map>
#include <regex>
int main()
{
    std::map<std::string, int> counts;
    std::cout << std::regex_match("aa", std::regex("a+")) << counts.size();
}
"""
RUBY = """require "json"
require "erb"
def page(number)
  ERB.new("<% 20.times do |x| %><%= x * #{number} %> <% end %>").result
end
def list(number)
  JSON.generate((0..50).map { |key| { key.to_s => [key, number] } })
end
threads = 3.times.map do
  Thread.new { 40.times { |number| page(number); list(number) } }
end
threads.each(&:join)
"""
KILLED = """def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
def work(n) = fib(n % 12 + 6)
(0..2000).each { |n| work(n) }
Process.kill(:KILL, Process.pid)
"""
PYTHON = """import decimal, email.message, http.client, json
lists = [json.loads("[" + ",".join(map(str, range(2000))) + "]") for _ in range(30)]
texts = [json.dumps(one) for one in lists]
"""

# ---- Traces ----


def run(folder, *words, **environment):
    done = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode not in (0, 128 + 9):
        sys.exit(f"pictures.py: {' '.join(map(str, words))}: {done.stderr}")


def record(folder, name, text, file, options, *command):
    (folder / file).write_text(text)
    run(folder, cases.TRACEBED, "record", "-o", name, *options, "--", *command)
    return name


def rustc(folder):
    (folder / "words.rs").write_text(RUST)
    run(folder, "rustc", "-O", "-Zself-profile=profile", "-Zself-profile-events=default,args", "words.rs", RUSTC_BOOTSTRAP="1")
    (profile,) = (folder / "profile").iterdir()
    return profile.rename(folder / "rustc.mm_profdata").name


def compiler(folder):
    return record(folder, "compiler.tbed", CPP, "words.cpp", [], "g++", "-O1", "words.cpp", "-o", "words")


def ruby(folder):
    return record(folder, "ruby.tbed", RUBY, "pages.rb", ["--ruby=calls"], "ruby", folder / "pages.rb")  # only absolute names are opened


def killed(folder):
    return record(folder, "killed.tbed", KILLED, "killed.rb", ["--ring=4M", "--ruby=calls"], "ruby", "killed.rb")


def python(folder):
    return record(folder, "python.tbed", PYTHON, "lists.py", ["--stacks=64"], sys.executable, "lists.py")


def tutorial(folder):
    """Runs the commands of docs/tutorial.md; gives the trace that it draws."""
    (folder / "tutorial").mkdir()
    text = (ROOT / "docs/tutorial.md").read_text()
    pages.run_page("tutorial.md", text, folder / "tutorial", pages.install(folder))
    return "tutorial/list.tbed"


# ---- What is shown ----


def key(page, *keys):
    page.run("document.getElementById('picture').focus()")
    for one in keys:
        page.key(one)


def set_depths(page, count):
    page.run(f"""(() => {{ const depths = document.getElementById('depths'); depths.value = '{count}';
        depths.dispatchEvent(new Event('change')); }})()""")


def find(page, text):
    page.run("document.getElementById('search').focus()")
    page.type(text)
    page.wait("Number(document.body.dataset.hits) > 0")
    page.key("Enter")
    page.wait("document.body.dataset.span !== undefined", 60)


def draw_overview(page):
    set_depths(page, 8)
    find(page, "codegen_module_optimize")


def draw_table(page):
    set_depths(page, 8)
    key(page, "2")
    page.wait("document.querySelector('#pane .wide tbody tr')")
    page.run("document.querySelector('#pane .wide tbody button').click()")
    page.wait("document.querySelector('#histogram canvas')")


def draw_flame(page):
    key(page, "3")
    page.wait("document.querySelector('#flame')")
    key(page, "z")


def draw_source(page):
    set_depths(page, 8)
    find(page, "list")
    key(page, "f")
    page.wait("document.querySelector('#pane .source .here')", 60)
    page.run("document.getElementById('pane').scrollTop = 1e6")


def draw_processes(page):
    key(page, "5")
    page.wait("document.querySelector('#pane tbody tr')", 60)


def draw_memory(page):
    key(page, "5")
    page.wait("document.querySelector('#pane tbody tr')", 60)
    page.run("""(() => { const choice = document.querySelector('#pane select[aria-label="Grouping"]');
        choice.value = 'flame'; choice.dispatchEvent(new Event('change')); })()""")
    page.wait("document.querySelector('#flame')", 60)


def draw_killed(page):
    set_depths(page, 16)
    end = view.state(page, "files[0].ticks")
    view.look_at(page, int(end * 0.99), end)


# Name, trace, what is done, whether it is dark.
SHOWN = [
    ("timeline", rustc, draw_overview, False),
    ("table", rustc, draw_table, False),
    ("flame", rustc, draw_flame, False),
    ("source", ruby, draw_source, True),
    ("processes", compiler, draw_processes, False),
    ("memory", python, draw_memory, False),
    ("killed", killed, draw_killed, False),
]
NEEDED = {rustc: "rustc", ruby: "ruby", killed: "ruby", compiler: "g++", python: sys.executable}


def show(folder, name, trace, act, is_dark):
    with view.View(folder, trace) as server:
        page = view.open_page(server.address, width=WIDTH, height=HEIGHT, dark=is_dark)
        view.settle(page)
        act(page)
        view.settle(page)
        page.wait("document.getAnimations().length === 0")
        page.picture(PICTURES / f"{name}.png")
        view.healthy(page)


def draw(folder, name, trace, height, depth):
    run(folder, cases.TRACEBED, "view", f"--png={PICTURES / name}.png", "--force", f"--width={WIDTH}", f"--height={height}",
        f"--depth={depth}", trace)  # fmt: skip


def main():
    wanted = sys.argv[1:] or [name for name, *_ in SHOWN] + ["drawn", "tutorial"]
    if browser.find() is None:
        sys.exit("pictures.py: Chromium is missing (Debian: chromium)")
    folder, traces = pathlib.Path(tempfile.mkdtemp(prefix="pictures-")), {}

    def trace_of(make):
        if shutil.which(NEEDED[make]) is None:
            print(f"{NEEDED[make]} is missing")
            return None
        if make not in traces:
            traces[make] = make(folder)
        return traces[make]

    try:
        with view.CHROMIUM:
            for name, make, act, is_dark in SHOWN:
                if name in wanted and trace_of(make):
                    show(folder, name, traces[make], act, is_dark)
        if "drawn" in wanted and trace_of(rustc):
            draw(folder, "drawn", traces[rustc], HEIGHT, 12)
        if "tutorial" in wanted:
            draw(folder, "tutorial", tutorial(folder), 400, 1)
    finally:
        shutil.rmtree(folder)
    for path in sorted(PICTURES.glob("*.png")):
        print(f"{path.name}: {path.stat().st_size:,} bytes{', too large' if path.stat().st_size > NBYTES_MAX else ''}")


if __name__ == "__main__":
    main()
