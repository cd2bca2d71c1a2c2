"""
The pages that 'tracebed view --html' writes, opened from files in a headless Chromium: everything is in them, or they say what is
not; they ask nothing of a network, and names do no harm.

    python3 reader/tests/tools/view_html_test.py

Skipped where Chromium is missing (Debian: chromium).

Check: view-html
Needs: $b/tracebed $b/reader/tests/tools/view_page_program

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import urllib.request

from view_case import CHROMIUM, MS, PROGRAM, View, cases, main, record, work


def write_page(folder, *words, name="page.html"):
    cases.output_of(folder, cases.TRACEBED, "view", "--html", name, *words)
    return pathlib.Path(folder, name)


def open_page(path, part=""):
    page = CHROMIUM.page()
    page.open(path.resolve().as_uri() + part)
    page.wait("document.body?.dataset.ready === '1'")
    return page


def ask(page, path, **parameters):
    return page.run(f"tracebed.ask({json.dumps(path)}, {json.dumps(parameters)})")


def text_of(page, name):
    return re.sub("[\u00a0\u202f]", " ", page.run(f"document.getElementById('{name}').innerText"))


def healthy(page):
    """Nothing went wrong, and nothing but the file was loaded."""
    cases.need(not page.problems, f"problems in the page: {page.problems}")
    asked = [event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"]
    others = [address for address in asked if not address.startswith(("file:///", "data:,"))]
    cases.need(len(asked) <= 2 and not others, f"the page has asked for {asked}")
    page.close()


def spans_of_dump(folder, name):
    """By stream: [depth, begin, duration, name] of each span, from 'tracebed dump'."""
    spans, stacks = collections.defaultdict(list), collections.defaultdict(list)
    for line in cases.output_of(folder, cases.TRACEBED, "dump", "--json", name).splitlines():
        event = json.loads(line)
        stack = stacks[event["stream"]]
        if event["type"] == "begin":
            stack.append((event["tick"], event["name"]))
        elif event["type"] == "end":
            begin, called = stack.pop()
            spans[event["stream"]].append([len(stack), begin, event["tick"] - begin, called])
    return spans


# ---- A small trace ----

ZOOM = """(async () => {
    const found = [], { files: [file] } = await tracebed.ask('trace');
    const look = async (b, e) => { // zooms in until every part is one span
        const answer = await tracebed.ask('window', { b, e, w: 1000, max: 20000 });
        if (!answer.exact)
            throw new Error('not exact');
        let joined = false;
        for (const { s, parts } of answer.streams)
            for (let at = 0; at < parts.length; at += 8)
                if (parts[at + 3] > 1)
                    joined = true;
                else if (parts[at + 1] > b && parts[at + 1] + parts[at + 2] < e)
                    found.push([s, parts[at], parts[at + 1], parts[at + 2], answer.names[parts[at + 6]]].join());
        if (joined) {
            const step = Math.ceil((e - b) / 16);
            for (let at = b; at < e; at += step)
                await look(Math.max(0, at - 1000000), Math.min(e, at + step + 1000000));
        }
    };
    await look(0, file.ticks);
    return [...new Set(found)];
})()"""


def test_every_span_of_a_small_trace_is_found_by_zooming(folder):
    page = open_page(write_page(folder, work(folder)))
    wanted = {",".join(map(str, [stream, *span])) for stream, spans in spans_of_dump(folder, "work.tbed").items() for span in spans}
    found = set(page.run(ZOOM.replace("1000000", "1100000")))
    cases.need(found <= wanted, f"not in the trace: {sorted(found - wanted)[:5]}")
    missing = [span for span in wanted - found if not span.endswith("compile")]  # the longest ones reach beyond all of these windows
    cases.need(not missing, f"not found: {len(missing)} of {len(wanted)}, such as {sorted(missing)[:5]}")
    cases.need("joined" not in text_of(page, "quality"), "spans are said to be joined")
    cases.need("all 30 803 spans, one by one" in text_of(page, "pane"), "the page does not say that all spans are there")
    healthy(page)


def test_tables_are_those_of_report(folder):
    page = open_page(write_page(folder, work(folder)))
    report = json.loads(cases.output_of(folder, cases.TRACEBED, "report", "--json", "work.tbed"))
    wanted = {row["name"]: [row["count"], row["total_ns"], row["self_ns"], row["min_ns"], row["max_ns"]] for row in report["spans"]}
    for begin, end in ((0, 102 * MS), (1, 102 * MS)):  # what is stored, and what the page counts
        rows = ask(page, "table", b=begin, e=end + 1)["rows"]
        found = {row["name"]: [row["count"], row["total"], row["self"], row["min"], row["max"]] for row in rows}
        cases.need(found == wanted, f"[{begin}, {end}): {found}, not {wanted}")
    begin, end = 20 * MS, 40 * MS
    report = json.loads(cases.output_of(folder, cases.TRACEBED, "report", "--json", "-b", "20ms", "-e", "40ms", "work.tbed"))
    rows = {row["name"]: row for row in ask(page, "table", b=begin, e=end)["rows"]}
    for row in report["spans"]:
        found = rows[row["name"]]
        cases.need([found["count"], found["total"], found["self"]] == [row["count"], row["total_ns"], row["self_ns"]], f"{row} is {found}")
    healthy(page)


def test_counters_of_several_processes_say_whose_they_are(folder):
    code = "x = [bytes(1000) for i in range(30000)]"
    cases.output_of(folder, cases.TRACEBED, "record", "-o", "run.tbed", "--", "sh", "-c", f"'{sys.executable}' -c '{code}'; true")
    page = open_page(write_page(folder, folder / "run.tbed"))
    page.wait("""[...document.querySelectorAll('.head')].some(head => /^resident anonymous memory \\S+ \\d+, bytes$/.test(head.innerText.replace(/\\s+/g, ' ')))""")
    healthy(page)


def test_a_span_has_its_arguments_and_messages_and_counters_are_there(folder):
    page = open_page(write_page(folder, work(folder)), "#tab=span")
    hit = ask(page, "search", q="needle")["hits"]
    cases.need(len(hit) == 1, f"'needle' is found {len(hit)} times")
    span = ask(page, "span", s=hit[0]["s"], b=hit[0]["b"], depth=hit[0]["depth"])
    cases.need([parent["name"] for parent in span["parents"]] == ["compile", "haystack"], f"parents: {span['parents']}")
    cases.need([child["name"] for child in span["children"]] == ["pin"] and span["self"] == 99, f"children: {span['children']}")
    cases.need(span["category"] == "sewing", f"category: {span['category']}")
    unit = ask(page, "search", q="number=42", **{"in": "arguments"})["hits"]
    cases.need(len(unit) == 3, f"'number=42' is found {len(unit)} times")
    unit = ask(page, "span", s=unit[0]["s"], b=unit[0]["b"], id=unit[0]["id"])
    cases.need(unit["args"] == [["number", "42"]] and unit["calls"] == 299, f"unit: {unit['args']}, {unit['calls']} calls")
    cases.need(ask(page, "search", q="unused variable")["total"] == 12, "messages are not found")
    values = [plot for plot in ask(page, "plots", b=0, e=102 * MS, w=8000)["plots"] if plot["name"] == "queue length"]
    cases.need(len(values) == 1 and len(values[0]["points"]) == 4 * 100, "values of the counter are missing")
    page.run("document.getElementById('search').focus()")
    page.type("needle")
    page.wait("document.body.dataset.hits === '1'")
    page.key("Enter")
    page.wait("document.body.dataset.span === 'needle'")
    page.wait("document.getElementById('pane').innerText.includes('haystack')")
    for key in "2346":
        page.run("document.getElementById('picture').focus()")
        page.key(key)
        page.wait("!document.getElementById('pane').innerText.includes('Counting')")
        cases.need("error" not in page.run("document.getElementById('pane').innerHTML"), f"panel {key} shows an error")
    healthy(page)


# ---- The server ----


def of_server(view, path, parameters):
    query = "&".join(f"{key}={value}" for key, value in parameters.items())
    with urllib.request.urlopen(f"{view.address}{path}?{query}", timeout=60) as answer:
        return json.load(answer)


def chosen(rows, *keys):
    return sorted([row.get(key) for key in keys] for row in rows)


def paths_of(nodes):
    """The figures of each node of a tree by the names on the way to it."""
    paths = []
    for parent, name, *_ in nodes:
        paths.append((paths[parent] if parent >= 0 else ()) + (name,))
    return {path: node[2:5] for path, node in zip(paths, nodes)}


def random_part(choice, ticks, orders):
    width = max(1, int(ticks * 10 ** -choice.uniform(0, orders)))
    begin = choice.randrange(0, max(1, ticks - width))
    return {"f": 0, "b": begin, "e": begin + width}


def need_equal(what, given, found, wanted):
    cases.need(found == wanted, f"{what} {given}: {str(found)[:300]}, not {str(wanted)[:300]}")


def compare_span(page, view, hit):
    given = {"f": 0, "s": hit["s"], "b": hit["b"], "id": hit["id"]}
    found, wanted = ask(page, "span", **given), of_server(view, "span", given)
    for key in ("b", "e", "self", "id", "name", "label", "open", "args", "calls", "rank_slowest", "percentile", "category", "file", "line"):
        need_equal(f"span's {key}", given, found.get(key), wanted.get(key))
    for key in ("previous", "next", "slowest"):
        need_equal(f"span's {key}", given, *(one.get(key) and [one[key][part] for part in "sbe"] for one in (found, wanted)))
    need_equal("parents", given, *([[parent["b"], parent["e"]] for parent in one["parents"]] for one in (found, wanted)))


def test_answers_are_those_of_the_server(folder):
    choice = random.Random(5)
    path = write_page(folder, work(folder))
    with View(folder, "work.tbed") as view:
        page = open_page(path)
        ticks = ask(page, "trace")["files"][0]["ticks"]
        for _ in range(60):
            given = {**random_part(choice, ticks, 6), "w": choice.choice([1, 7, 100, 1600, 8192]), "depth": choice.choice([1, 2, 32]), "max": choice.choice([50, 20000])}
            found, wanted = ask(page, "window", **given), of_server(view, "window", {**given, "sketch": 0})
            need_equal("window", given, *([one["exact"], one["column"], one["span_count"], one["deeper_count"], [stream for stream in one["streams"] if stream["parts"]]]
                                          for one in (found, wanted)))
        for _ in range(15):
            given = random_part(choice, ticks, 4)
            found, wanted = ask(page, "table", **given), of_server(view, "table", given)
            need_equal("table", given, *(chosen(one["rows"], "name", "count", "total", "self", "min", "max") for one in (found, wanted)))
            need_equal("threads", given, *(chosen([row for row in one["threads"] if row["spans"]], "s", "busy", "spans") for one in (found, wanted)))
            found, wanted = ask(page, "flame", **given), of_server(view, "flame", given)
            need_equal("flame", given, paths_of(found["nodes"]), paths_of(wanted["nodes"]))
        hits = of_server(view, "search", {"q": ".", "regex": 1, "max": 300})["hits"]
        for hit in choice.sample([hit for hit in hits if hit["kind"] == "span"], 20):
            compare_span(page, view, hit)
        healthy(page)


def test_an_address_is_not_lost_while_the_page_writes_its_own(folder):
    page = open_page(write_page(folder, work(folder)), "#tab=span")
    # The event that tells of a new address comes after the page has written its own.
    page.run("const own = location.hash; location.hash = '#tab=flame'; history.replaceState(null, '', own)")
    page.wait("location.hash.includes('tab=flame') && document.body?.dataset.ready === '1'")
    healthy(page)


def test_each_process_has_its_own_counter_as_the_server_says(folder):
    trace = folder / "processes.tbed"
    cases.output_of(folder, cases.TRACEBED, "record", "-o", trace, "--", "sh", "-c", "ls; ls; ls")
    path = write_page(folder, trace)
    with View(folder, trace.name) as view:
        page = open_page(path)
        file = ask(page, "trace")["files"][0]
        listed = sorted((counter["name"], counter["p"]) for counter in file["counters"])
        cases.need(len({p for _, p in listed}) >= 4 and len(set(listed)) == len(listed), f"counters: {listed}")
        given = {"f": 0, "b": 0, "e": file["ticks"] + 1, "w": 50}
        found, wanted = (sorted((plot for plot in one["plots"] if plot["id"] != "memory"), key=lambda plot: (plot["name"], plot["p"]))
                         for one in (ask(page, "plots", **given), of_server(view, "plots", given)))
        cases.need([(plot["name"], plot["p"]) for plot in wanted] == listed, f"plots: {wanted}")
        need_equal("plots", given, *([[plot["name"], plot["p"], plot["points"]] for plot in one] for one in (found, wanted)))
        healthy(page)


# ---- A large one ----

def test_a_page_is_not_larger_than_asked_for_and_says_what_it_lacks(folder):
    name = record(folder, "many", "many.tbed", 500000)
    path = write_page(folder, "--size=2M", name)
    size = path.stat().st_size
    cases.need(1500000 < size <= 2000000, f"the page has {size} bytes")
    page = open_page(path)
    status = text_of(page, "quality")
    cases.need(re.search(r"1 000 000 spans .* spans under [\d.]+ .s joined in this file", status), f"status: {status}")
    cases.need(re.search(r"of 1 000 000 spans one by one, among them all of at least", text_of(page, "pane")), "the page does not say what is left out")
    table = {row["name"]: row["count"] for row in ask(page, "table", b=0, e=1 << 50)["rows"]}
    cases.need(table["inner"] == 500000 and sum(table.values()) == 1000000, "the table does not count all spans")
    end = ask(page, "trace")["files"][0]["ticks"]
    part = ask(page, "table", b=end // 4, e=end // 2)
    cases.need("joined" in part["note"] and part["exact"] is False, f"note: {part.get('note')}")
    narrow = ask(page, "window", b=end // 2, e=end // 2 + 200000, w=1000)
    cases.need(narrow["exact"] is False, "a picture with joined spans is said to be exact")
    cases.need(ask(page, "window", b=0, e=end, w=1000)["exact"] is True, "the picture of the whole is said to be no better than it is")
    page.open(path.resolve().as_uri() + f"#v={end // 2},{end // 2 + 200000}")
    page.wait("document.getElementById('quality')?.innerText.includes('the file has no more detail here')")
    healthy(page)


def test_spans_that_are_not_joined_are_those_of_the_trace(folder):
    name = record(folder, "many", "many.tbed", 100000)
    page = open_page(write_page(folder, "--size=700K", name))
    end = ask(page, "trace")["files"][0]["ticks"]
    wanted = {stream: {(depth, begin, duration) for depth, begin, duration, _ in spans} for stream, spans in spans_of_dump(folder, name).items()}
    for part in range(0, 100, 7):
        begin = end * part // 100
        answer = ask(page, "window", b=begin, e=begin + end // 1000, w=60000, max=100000)
        for stream in answer["streams"]:
            parts = [stream["parts"][at:at + 8] for at in range(0, len(stream["parts"]), 8)]
            inner = [one for one in parts if one[1] > begin and one[1] + one[2] < begin + end // 1000]
            single = {tuple(one[:3]) for one in inner if one[3] == 1}
            cases.need(single <= wanted[stream["s"]], f"not in the trace: {single - wanted[stream['s']]}")
            for depth, first, duration, count, busy, *_ in (one for one in inner if one[3] > 1):
                held = [span for span in wanted[stream["s"]] if span[0] == depth and first <= span[1] and span[1] + span[2] <= first + duration]
                cases.need(len(held) == count and sum(span[2] for span in held) == busy, f"{count} joined, busy {busy}: {held}")
    healthy(page)


def test_a_part_of_the_trace_is_all_that_is_there(folder):
    path = write_page(folder, "-b", "20ms", "-e", "40ms", "-n", "unit|parse", work(folder))
    page = open_page(path)
    cases.need("a part of the trace, filtered" in text_of(page, "quality"), text_of(page, "quality"))
    names = {row["name"] for row in ask(page, "table", b=0, e=102 * MS + 1)["rows"]}
    cases.need(names == {"unit", "parse"}, f"labels: {names}")
    cases.need(b"haystack" not in path.read_bytes() and not ask(page, "search", q="haystack")["hits"], "another span is in the file")
    gaps = ask(page, "gaps", b=0, e=102 * MS)["gaps"]
    cases.need([gap["text"] for gap in gaps] == ["This part of the trace is not in the file."] * 2, f"gaps: {gaps}")
    healthy(page)


# ---- Names ----

HOSTILE = ["</script><script>window.hacked=1</script>", "<!--", "<!--<script>", "]]>", "-->", "</style><script>window.hacked=1</script>", "\u2028\u2029",
           "<img src=x onerror=window.hacked=1>", "<script>window.hacked=1</script>", "</title><script>window.hacked=1</script>",
           "\"><svg onload=window.hacked=1>", "' onmouseover='window.hacked=1", "javascript:window.hacked=1", "${window.hacked=1}", "{{constructor}}",
           "__proto__", "constructor", "toString", "\u202eright to left\u202c", "\u2067isolated", "مرحبا بالعالم", "שלום עולם", "👩‍👩‍👧‍👦 family",
           "a\nb\tc\rd", "\x1b[31mred\x1b[0m", "\x01\x02\x03\x7f", "\u200b\ufeff\u00ad", "e" + "\u0301" * 200, "%s%n%p", "../../etc/passwd",
           "&lt;b&gt;&amp;", "\\u003cscript\\u003e", "'; DROP TABLE spans; --", "x" * 1000000, " ", "#v=1,2&s=0"]


def test_names_are_harmless(folder):
    run = subprocess.run([PROGRAM, "names", "names.tbed"], cwd=folder, input="\0".join(HOSTILE).encode() + b"\0", check=False)
    cases.need(run.returncode == 0 and len(HOSTILE) >= 30, "no trace of names")
    path = write_page(folder, "names.tbed")
    text = path.read_text(encoding="utf-8")
    cases.need(text.count("hacked") == 0 and text.count("</script>") == text.count("<script ") == 5, "a name is in the file as it is")
    page = open_page(path)
    elements = "document.querySelectorAll('script, img, svg, iframe, object, a').length"
    before = page.run(elements)
    for number, name in enumerate(HOSTILE):
        track = ask(page, "trace")["files"][0]["tracks"][number]
        span = ask(page, "span", s=track["s"], b=(number + 1) * MS, depth=0)
        whole = ask(page, "name", id=span["id"])["name"]
        cases.need(whole == name or (len(name) > 65536 and whole.startswith("x" * 65000) and "not in this file" in whole), f"{name[:80]!r} became {whole[:80]!r}")
    for key in "2346":
        page.run("document.getElementById('picture').focus()")
        page.key(key)
        page.wait("!document.getElementById('pane').innerText.includes('Counting')")
    page.run("document.getElementById('search').focus()")
    page.type("<script>")
    page.wait("Number(document.body.dataset.hits) >= 2")
    cases.need(page.run(elements) == before and page.run("window.hacked") is None, "a name became markup")
    shown = page.run("document.body.innerText")
    for character in "\x1b\x01\u202e\u2067\u200b\ufeff":
        cases.need(character not in shown, f"U+{ord(character):04X} is in the page as it is")
    healthy(page)


# ---- The command ----

def complaint(folder, *words):
    run = subprocess.run([cases.TRACEBED, "view", *words], cwd=folder, capture_output=True, text=True, check=False)
    cases.need(run.returncode == 2 and not run.stdout, f"{words}: exit status {run.returncode}, output {run.stdout[:80]!r}")
    return run.stderr


def test_files_are_replaced_only_with_force(folder):
    work(folder)
    path = write_page(folder, "work.tbed")
    first = path.read_bytes()
    cases.need("exists" in complaint(folder, "--html", "page.html", "work.tbed"), "an existing file is not named")
    cases.output_of(folder, cases.TRACEBED, "view", "-f", "--html", "page.html", "work.tbed")
    cases.need(path.read_bytes() == first, "two pages of a trace differ")
    run = subprocess.run([cases.TRACEBED, "view", "--html=-", "work.tbed"], cwd=folder, capture_output=True, check=True)
    cases.need(run.stdout == first, "standard output differs from a file")
    cases.need("same file" in complaint(folder, "-f", "--html", "work.tbed", "work.tbed"), "the trace would be replaced")
    cases.need(path.stat().st_mode & 0o077 == pathlib.Path(folder, "work.tbed").stat().st_mode & 0o077, "others can read the page, but not the trace")
    cases.need(str(folder) not in first.decode(), "the path of the trace is in the page")


def test_options_that_do_not_apply_are_refused(folder):
    work(folder)
    for words, wanted in ((["--size=1M"], "--size needs --html"), (["--html", "a", "--png", "b"], "--html does not apply with --png"),
                          (["--html", "a", "--port=1"], "--port does not apply with --html"), (["--html", "a", "--dark"], "--dark needs --png"),
                          (["--html", "a", "--no-browser"], "--no-browser does not apply with --html"), (["-f"], "--force needs --png or --html"),
                          (["--html", "a", "--size=3X"], "invalid size '3X'"), (["--html", "a", "--size=1K"], "--size takes a size from 512K to 1G"),
                          (["--html="], "--html takes the name of a file")):
        text = complaint(folder, *words, "work.tbed")
        cases.need(wanted in text, f"{words}: {text}")
    cases.need(sorted(os.listdir(folder)) == ["work.tbed"], f"left behind: {os.listdir(folder)}")


def test_two_traces_are_compared(folder):
    work(folder, "one.tbed")
    work(folder, "two.tbed", 5 * MS)
    page = open_page(write_page(folder, "one.tbed", "two.tbed"))
    answer = ask(page, "flame", f=0, b=0, e=102 * MS, against=1, ab=0, ae=107 * MS)
    cases.need(answer["unit"] == "ns" and answer["total"] == answer["old_total"] > 0, f"totals: {answer['total']}, {answer['old_total']}")
    cases.need(all(node[2] == node[5] for node in answer["nodes"]), "equal traces differ")
    healthy(page)


if __name__ == "__main__":
    sys.exit(main(globals()))
