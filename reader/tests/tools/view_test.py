#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The server of 'tracebed view': who may ask, what is answered, and that its answers agree with the other commands.

    python3 reader/tests/tools/view_test.py

Check: view
Needs: $b/programs $b/reader/tests/agreement/agreement_program $b/reader/tests/tools/view_program $b/reader/tests/tools/view_page_program
Slow: starts some 40 servers
"""

import contextlib
import http.client
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import need

VIEW_PROGRAM = cases.BUILD / "reader/tests/tools/view_program"
PAGE_PROGRAM = cases.BUILD / "reader/tests/tools/view_page_program"
RANDOM_PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
GOLDEN = cases.ROOT / "spec/golden"
PAGE = cases.ROOT / "reader/tools/view/page"
PROFILE = GOLDEN / "measureme/v9.mm_profdata"
LOG = cases.ROOT / "reader/tests/logs/canonical.log"
SECONDS_MAX = 60
KINDS = ("counts given", "counts given whole categories others", "counts given open", "counts given arguments",
         "counts given back whole", "counts given deep")
NAMES = [
    "<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", "\"", "'", "\\", "&amp;", "a\nb", "a\tb",
    "\x00", "\x01\x02\x1b[31mred", "\x7f", "\x85", "\u2028", "\u2029", "\u202eright to left\u202c", "\ufeff", "שלום", "👩‍👩‍👧‍👦",
    "e\u0301" * 50, "\ufffd", "x" * 100000, "🎉" * 60, "é" * 150, "../../etc/passwd", "%00%2e%2e", "${x}", "a,b;c d",
    "__proto__", "constructor",
]
CALLS = ("trace", "window", "table", "flame", "gaps", "marks", "plots", "flows", "memory",
         "memory?by=stack&of=bytes", "memory?by=function&of=peak", "memory_flame", "search?q=a",
         "search?q=.&regex=1&in=names,messages,arguments", "histogram?label=label")


class Server:
    def __init__(self, process, address):
        self.process, self.address = process, address
        parts = urllib.parse.urlsplit(address)
        self.port, self.path = parts.port, parts.path

    def get(self, path, headers=(), method="GET", whole=False):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX)
        connection.putrequest(method, path if whole else self.path + path, skip_host="Host" in dict(headers),
                              skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body, response

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        status, body, _ = self.get(path + ("?" + query if query else ""))
        need(status == 200, f"{path} {parameters}: {status} {body[:200]}")
        return json.loads(body)


def start(*words, **environment):
    process = subprocess.Popen([cases.TRACEBED, "view", *map(str, words)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", **environment})
    address = process.stdout.readline().strip()
    if not address:
        _, problem = process.communicate()
        raise cases.Failure(f"view {words}: exit status {process.returncode}: {problem}")
    return Server(process, address)


def stop(server, number=signal.SIGINT):
    server.process.send_signal(number)
    _, problem = server.process.communicate(timeout=SECONDS_MAX)
    return server.process.returncode, problem


@contextlib.contextmanager
def serve(*words, expected=(0,), **environment):
    server = start(*words, **environment)
    try:
        yield server
        code, problem = stop(server)
        need(code in expected, f"view {words}: exit status {code}: {problem}")
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def said_on_terminal(*words):
    """What the command prints to a terminal until it has opened the trace."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    process = subprocess.Popen([cases.TRACEBED, "view", *map(str, words)], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, env=environment)
    os.close(theirs)
    text = ""
    try:
        while not text.count("\n") > 1:
            text += os.read(ours, 4096).decode()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=SECONDS_MAX)
        os.close(ours)
    return text


def wait_for(condition, what):
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        need(time.monotonic() < end, f"waited in vain: {what}")
        time.sleep(0.01)


class Recorder:
    """A program that is told what to record."""

    def __init__(self, path):
        self.process = subprocess.Popen([VIEW_PROGRAM, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, word, data=""):
        self.process.stdin.write(f"{word} {data.encode().hex()}\n")
        self.process.stdin.flush()
        need(self.process.stdout.readline() == "stored\n", f"{word}: not stored")

    def close(self):
        self.process.communicate()
        need(self.process.returncode == 0, "the recording program failed")


def random_traces(folder):
    for seed, words in enumerate(KINDS):
        path = os.path.join(folder, f"{seed}.tbed")
        subprocess.run([RANDOM_PROGRAM, str(seed), path, *words.split()], check=True)
        yield path


def report(path, *words):
    done = subprocess.run([cases.TRACEBED, "report", "--json", *words, path], capture_output=True)
    return json.loads(done.stdout)


# ---- Who may ask ----

def test_a_terminal_learns_what_to_do_with_the_address(folder):
    text = said_on_terminal(GOLDEN / "valid/events.tbed")
    need(text.startswith("http://") and "Open this address in a browser; Ctrl-C ends the server." in text, text)


def test_only_the_token_opens_the_server(folder):
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        token = server.path.strip("/")
        need(len(token) == 32, f"the token is {token}")
        for path in ("/", "/trace", f"/{token[:-1]}/", f"/{token}", f"/{token}0/trace", f"/{'0' * 32}/trace", "/favicon.ico"):
            status, body, _ = server.get(path, whole=True)
            need(status == 403 and token.encode() not in body, f"{path}: {status}")
        need(server.get("")[0] == 200, "the page is not served")


def test_other_hosts_origins_sites_and_methods_are_refused(folder):
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        own = f"127.0.0.1:{server.port}"
        fine = ([("Host", f"localhost:{server.port}")], [("Origin", f"http://{own}")], [("Sec-Fetch-Site", "same-origin")],
                [("Sec-Fetch-Site", "none")])
        wrong = ([("Host", "evil.example")], [("Host", f"evil.example:{server.port}")], [("Host", "127.0.0.1")],
                 [("Host", "127.0.0.1:1")], [("Origin", "http://evil.example")], [("Origin", "null")],
                 [("Origin", f"https://{own}")], [("Origin", f"http://{own}.evil.example")],
                 [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")])
        for headers in fine:
            need(server.get("trace", headers)[0] == 200, f"refused: {headers}")
        for headers in wrong:
            need(server.get("trace", headers)[0] == 403, f"not refused: {headers}")
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"):
            need(server.get("trace", method=method)[0] == 405, f"not refused: {method}")


def test_every_answer_has_the_headers_of_a_closed_page(folder):
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        for path in ("", "trace", "nothing", "../x"):
            headers = server.get(path)[2].headers
            need(headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff" and
                 headers["Cross-Origin-Resource-Policy"] == "same-origin" and headers["Referrer-Policy"] == "no-referrer" and
                 "default-src 'none'" in headers["Content-Security-Policy"], f"{path}: {headers}")


def test_no_other_file_is_served(folder):
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        for path in ("../", "..", "../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..%2fview.c", "/etc/passwd", "//etc/passwd",
                     "%2fetc%2fpasswd", "index.html/", "page/index.html", "source?id=1", "INDEX.HTML", "index.html%00"):
            status, body, _ = server.get(path)
            need(status in (400, 404) and b"root:" not in body, f"{path}: {status} {body[:100]}")


def test_every_file_of_the_page_is_served_with_its_type(folder):
    types = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
             ".svg": "image/svg+xml"}
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        for path in sorted(path for path in PAGE.iterdir() if path.is_file()):
            status, body, response = server.get(path.name)
            need(status == 200 and body == path.read_bytes(), f"{path.name}: {status}")
            need(response.headers["Content-Type"] == types[path.suffix], f"{path.name}: {response.headers['Content-Type']}")
        need(server.get("")[1] == (PAGE / "index.html").read_bytes(), "the first page is another")


def test_garbage_gets_a_sentence(folder):
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        for path in ("window?f=1", "window?f=-1", "window?f=x", "window?b=5&e=5", "window?b=9&e=1", "window?w=0", "window?w=70000",
                     "window?b=1e3", "window?b=18446744073709551616", "window?nothing=1", "window?b=1&b=1", "window?streams=1,",
                     "window?streams=a", "window?streams=,", "window?n=(", "window?n=%", "window?n=%zz", "window?n=a%00b",
                     "window?" + "&".join(["n=a"] * 40), "window?" + "&".join(["n=a"] * 100), "window?sketch=2", "trace?f=0",
                     "histogram?id=x", "span", "span?s=1", "span?s=1&b=x", "search", "search?q=", "search?q=(&regex=1",
                     "search?q=a&in=nowhere", "search?q=a&max=0", "memory?of=nothing", "memory?by=", "name", "name?id=4294967295",
                     "source", "critical", "flame?against=1", "index.html?x=1", "=", "?="):
            status, body, _ = server.get(path)
            problem = json.loads(body).get("error", "")
            need(status in (400, 404) and len(problem) > 10, f"{path[:60]}: {status} {body[:200]}")
        for nbytes in (8100, 9000, 100000):
            need(server.get("window?n=" + "a" * nbytes)[0] == (200 if nbytes < 8150 - 41 else 414), f"{nbytes} bytes")
        need(server.ask("trace")["files"], "it does not answer any more")


def test_the_browser_gets_an_address_that_works_once(folder):
    program = folder / "xdg-open"
    program.write_text(f"#!/bin/sh\necho \"$1\" >{folder}/partial && mv {folder}/partial {folder}/address\n")
    program.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    with serve(GOLDEN / "valid/events.tbed", PATH=path, DISPLAY=":0") as server:
        wait_for((folder / "address").exists, "the browser is started")
        first = urllib.parse.urlsplit((folder / "address").read_text().strip()).path
        need(server.path.strip("/") not in first, "the browser's command line has the token")
        status, _, response = server.get(first, whole=True)
        need(status == 303 and response.headers["Location"] == server.path, f"{status} {response.headers['Location']}")
        need(server.get(first, whole=True)[0] == 403, "it works twice")


# ---- Starting and ending ----

def test_ctrl_c_ends_it_with_the_status_of_the_trace(folder):
    with serve("--no-browser", GOLDEN / "valid/events.tbed"):
        pass
    server = start("--no-browser", GOLDEN / "valid/events.tbed")
    need(stop(server, signal.SIGTERM)[0] == 0, "SIGTERM")
    damaged = folder / "damaged.tbed"
    data = bytearray((GOLDEN / "valid/recorded.tbed").read_bytes())
    data[-2000:-1900] = bytes(100)
    damaged.write_bytes(data)
    status = subprocess.run([cases.TRACEBED, "report", damaged], capture_output=True).returncode
    with serve("--no-browser", damaged, expected=(status,)) as server:
        server.ask("table")


def test_what_cannot_be_shown_is_refused(folder):
    for words, text in (([], "missing FILE"), (["--port=70000", "x"], "--port"), (["nothing.tbed"], "nothing.tbed"),
                        (["--png", "run.tbed"], "what follows --png or --html is the new file"),
                        (["--stream=77", GOLDEN / "valid/events.tbed"], "no such stream"), (["-b", "2", "-e", "1", GOLDEN / "valid/events.tbed"], "--end"),
                        (["-n", "(", GOLDEN / "valid/events.tbed"], "invalid regular expression")):
        done = subprocess.run([cases.TRACEBED, "view", "--no-browser", *map(str, words)], capture_output=True, text=True, timeout=SECONDS_MAX)
        need(done.returncode == 2 and text in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    with serve("--no-browser", GOLDEN / "valid/events.tbed") as server:
        done = subprocess.run([cases.TRACEBED, "view", "--no-browser", f"--port={server.port}", GOLDEN / "valid/events.tbed"], capture_output=True, text=True)
        need(done.returncode == 2 and str(server.port) in done.stderr, f"a port that is used: {done.returncode} {done.stderr}")


def said_while_shown(*words):
    """What the command prints on standard error until it ends, or until the server has printed its address and a line more."""
    process = subprocess.Popen([cases.TRACEBED, "view", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    return said + process.communicate(timeout=SECONDS_MAX)[1]


def test_what_no_span_has_is_said(folder):
    trace = GOLDEN / "valid/given.tbed"
    for where in (["--png", folder / "a.png"], ["--html", folder / "a.html"], []):
        for option, text in (("--category=Nothing", "--category: nothing is of category 'Nothing'"), ("--inside=nobody", "--inside: no span has the name 'nobody'")):
            said = said_while_shown(*(["-f", *where] if where else ["--no-browser"]), option, trace)
            need(f"{trace}: {text}" in said, f"{where} {option}: {said}")
    for where in ("--png", "--html"):
        done = subprocess.run([cases.TRACEBED, "view", where, "-", "--category=Query", "--inside=label", trace], capture_output=True, timeout=SECONDS_MAX)
        need((done.returncode, done.stderr) == (0, b""), f"{where}: {done.returncode} {done.stderr}")


# ---- What is answered ----

def test_every_call_answers_for_every_file(folder):
    paths = sorted((GOLDEN / "valid").glob("*.tbed")) + sorted((GOLDEN / "invalid").glob("*.tbed")) + [PROFILE, LOG]
    for at in range(0, len(paths), 16):
        files = [path for path in paths[at:at + 16]
                 if subprocess.run([cases.TRACEBED, "info", path], capture_output=True).returncode < 2]
        with serve("--no-browser", *files, expected=(0, 1)) as server:
            need(len(server.ask("trace")["files"]) == len(files), "not all files are listed")
            for number, path in enumerate(files):
                for call in CALLS[1:]:
                    status, body, _ = server.get(call + ("&" if "?" in call else "?") + f"f={number}")
                    json.loads(body)
                    need(status == 200, f"{call} of {path}: {status} {body[:200]}")
                need(server.ask("flame", f=number, against=number)["old_total"] is not None, f"{path}: no differences")


def test_tables_agree_with_reports(folder):
    rows_of = lambda rows: {row[0]: row for row in rows}
    for path in random_traces(folder):
        with serve("--no-browser", path) as server:
            ticks = server.ask("trace")["files"][0]["ticks"]
            for begin, end in ((0, ticks), (ticks // 3, ticks * 2 // 3), (ticks // 2, ticks // 2 + 500)):
                part = [] if end - begin == ticks else [f"--begin={begin}", f"--end={end}"]
                wanted = [(row["name"], row["count"], row["total_ticks"], row["self_ticks"], row["min_ticks"], row["p50_ticks"],
                           row["p99_ticks"], row["max_ticks"]) for row in report(path, *part)["spans"]]
                found = [(row["name"], row["count"], row["total"], row["self"], row["min"], row["p50"], row["p99"], row["max"])
                         for row in server.ask("table", b=begin, e=end)["rows"]]
                need(rows_of(found) == rows_of(wanted), f"{path} {begin} {end}: {found} instead of {wanted}")


def test_windows_have_all_spans(folder):
    for path in random_traces(folder):
        counts = {row["name"]: row["count"] for row in report(path)["spans"]}
        with serve("--no-browser", path) as server:
            answer = server.ask("window", w=65536, max=100000)
            sums = {}
            for stream in answer["streams"]:
                parts = stream["parts"]
                for at in range(0, len(parts), 8):
                    depth, begin, duration, count, busy, longest, name, is_open = parts[at:at + 8]
                    need(answer["b"] <= begin <= begin + duration <= answer["e"] and longest <= busy, f"{path}: {parts[at:at + 8]}")
                    sums["all"] = sums.get("all", 0) + count
                    need(str(name) in answer["names"], f"{path}: {name} has no name")
            need(sums.get("all", 0) == answer["span_count"] == sum(counts.values()), f"{path}: {sums} {counts}")
            need(answer["exact"], f"{path}: not exact")
            few = server.ask("window", w=100, max=50)
            one_column = few["column"] * 2 > few["e"] - few["b"]
            need(one_column or sum(len(stream["parts"]) for stream in few["streams"]) <= 50 * 8, f"{path}: too many parts")


def test_histograms_and_searches_count_the_same(folder):
    for path in random_traces(folder):
        with serve("--no-browser", path) as server:
            for row in server.ask("table")["rows"][:4]:
                histogram = server.ask("histogram", label=row["name"])
                need(histogram["count"] == row["count"] == sum(count for _, _, count in histogram["buckets"]),
                     f"{path} {row['name']}: {histogram}")
                need(server.ask("histogram", id=row["id"]) == histogram, f"{path} {row['name']}: by id")
                found = server.ask("search", q=f"^{row['name']}(\x1e|$)", regex=1, max=5, **{"in": "names"})
                begins = [hit["b"] for hit in found["hits"]]
                need(begins == sorted(begins), f"{path}: hits are not in order")


def spans_of(server):
    """(stream, depth, begin, duration, id) of all single spans."""
    answer = server.ask("window", w=65536, max=100000)
    for stream in answer["streams"]:
        parts = stream["parts"]
        for at in range(0, len(parts), 8):
            if parts[at + 3] == 1:
                yield (stream["s"], *parts[at:at + 3], parts[at + 6])


def test_single_spans_are_found_with_their_neighbours(folder):
    choice = random.Random(7)
    for path in random_traces(folder):
        with serve("--no-browser", path) as server:
            spans = list(spans_of(server))
            ids = {(s, begin, begin + duration, name) for s, _, begin, duration, name in spans}
            for stream, depth, begin, duration, name in choice.sample(spans, min(len(spans), 12)):
                answer = server.ask("span", s=stream, b=begin, depth=depth, id=name)
                where = f"{path} {stream} {depth} {begin} {duration} {name}: {answer}"
                need((answer["b"], answer["id"]) == (begin, name), where)
                need(all(parent["b"] <= answer["b"] and parent["e"] >= answer["e"] for parent in answer["parents"]), where)
                need(answer["self"] <= answer["duration"], where)
                need(answer["slowest"]["e"] - answer["slowest"]["b"] >= answer["duration"] and
                     1 <= answer["rank_slowest"] <= answer["calls"], where)
                need(answer["previous"] is None or answer["previous"]["b"] < begin, where)
                need(answer["next"] is None or answer["next"]["b"] > begin, where)
            need(ids, f"{path}: no spans")
            status, body, _ = server.get("span?s=77&b=1")
            need(status == 404, f"{status} {body}")


def test_a_quick_answer_has_what_the_whole_one_has(folder):
    choice = random.Random(11)
    for seed, words in enumerate(("others", "open categories", "killed", "deep", "forks categories")):
        path = os.path.join(folder, f"quick{seed}.tbed")
        subprocess.run([RANDOM_PROGRAM, str(seed), path, *words.split()], check="killed" not in words)
        with serve("--no-browser", path, expected=(0, 1)) as server:
            spans = list(spans_of(server))
            for stream, depth, begin, _, name in choice.sample(spans, min(len(spans), 20)):
                quick = server.ask("span", s=stream, b=begin, depth=depth, id=name, quick=1)
                whole = server.ask("span", s=stream, b=begin, depth=depth, id=name)
                need("calls" in whole and "calls" not in quick, f"{path}: {quick}")
                for key, value in quick.items():
                    need(value == whole[key], f"{path} {stream} {depth} {begin}: {key}: {value} instead of {whole[key]}")


def test_neighbours_are_the_nearest_calls(folder):
    for path in list(random_traces(folder))[:2]:
        with serve("--no-browser", path) as server:
            for row in server.ask("table")["rows"][:2]:
                found = server.ask("search", q=f"^{row['name']}(\x1e|$)", regex=1, max=10000, **{"in": "names"})["hits"]
                found = [hit for hit in found if hit["kind"] == "span"]
                begins = sorted({hit["b"] for hit in found})
                for hit in found[::17]:
                    answer = server.ask("span", s=hit["s"], b=hit["b"], id=hit["id"])
                    at = begins.index(hit["b"])
                    previous, following = answer["previous"], answer["next"]
                    need((previous and previous["b"]) == (begins[at - 1] if at > 0 else None), f"{path} {hit}: {previous}")
                    need((following and following["b"]) == (begins[at + 1] if at + 1 < len(begins) else None), f"{path} {hit}: {following}")
                    need(answer["calls"] == row["count"], f"{path} {hit}: {answer['calls']} calls")


def names_of_all(server):
    """The names of all spans, by number. Short ones next to a long pause share a column, so the parts are looked at closely."""
    whole = server.ask("window", w=65536)
    begin, end, names = int(whole["b"]), int(whole["e"]), dict(whole["names"])
    part = (end - begin) // 64 + 1
    for start in range(begin, end, part):
        names.update(server.ask("window", b=start, e=min(start + part, end), w=65536)["names"])
    return names


def test_hostile_names_are_only_text(folder):
    path = folder / "names.tbed"
    recorder = Recorder(path)
    for name in NAMES:
        recorder.tell("name", name)
        recorder.tell("message", name)
    recorder.close()
    need(len(NAMES) == 30, "30 names")
    with serve("--no-browser", path) as server:
        names = names_of_all(server)
        need(len(names) == len(NAMES), f"{len(names)} names")
        has_control = lambda name: any(ord(letter) < 32 or ord(letter) == 127 for letter in name)
        for name in NAMES:
            calls = sum(map(has_control, NAMES)) if has_control(name) else 1  # the same label: "<parse error>"
            whole = [number for number, text in names.items() if text == name]
            if len(name.encode()) <= 200:
                need(len(whole) == 1, f"{name!r} is not among them")
                need(server.ask("histogram", id=whole[0])["count"] == calls, f"{name!r}: no histogram")
                need(server.ask("name", id=whole[0])["name"] == name, f"{name!r}: another name")
            else:
                cut = [text for text in names.values() if text.endswith("…") and name.startswith(text[:-1]) and len(text) > 2]
                need(len(cut) == 1 and len(cut[0].encode()) <= 203, f"{name[:20]!r} is not cut")
        for call in CALLS:
            body = server.get(call)[1]
            need(body.endswith(b"}\n") and not any(byte < 32 or byte == 127 for byte in body[:-1]), f"{call}: controls")
            json.loads(body)
        hits = server.ask("search", q="<script>", **{"in": "names,messages,arguments"})["hits"]
        need({hit["kind"] for hit in hits} == {"span", "instant", "message"}, f"{hits}")


def test_counters_of_several_processes_have_their_processes(folder):
    code = "import os; x = [bytes(1000) for i in range(30000)]"
    subprocess.run([cases.TRACEBED, "record", "-o", "run.tbed", "--", "sh", "-c", f"{sys.executable} -c '{code}'; {sys.executable} -c '{code}'; true"],
                   cwd=folder, check=True)
    with serve("--no-browser", folder / "run.tbed") as server:
        file = server.ask("trace")["files"][0]
        resident = [counter for counter in file["counters"] if counter["name"] == "resident anonymous memory"]
        need(len(resident) > 1, f"{resident}")
        owners = {process["p"] for process in file["processes"]}
        found = [counter.get("p") for counter in resident]
        need(set(found) <= owners and len(set(found)) == len(found), f"{found} of {owners}")


def test_search_in_arguments_needs_no_backslashes(folder):
    path = folder / "quotes.tbed"
    recorder = Recorder(path)
    recorder.tell("name", 'say "hi" to C:\\dir')
    recorder.close()
    with serve("--no-browser", path) as server:
        for query in ('what="say "hi" to', "C:\\dir"):
            hits = server.ask("search", q=query, **{"in": "arguments"})["hits"]
            need(len(hits) == 1 and '\\"hi\\"' in hits[0]["text"], f"{query}: {hits}")


def test_marks_plots_and_memory_show_what_was_recorded(folder):
    path = folder / "events.tbed"
    recorder = Recorder(path)
    for _ in range(50):
        recorder.tell("name", "a span")
        recorder.tell("message", "a message")
        recorder.tell("allocate")
    recorder.close()
    with serve("--no-browser", path) as server:
        marks = [server.ask("marks", w=width)["streams"][0]["marks"] for width in (1, 20, 8192)]
        for flat in marks:
            for kind, wanted in ((0, 50), (3, 50)):
                found = sum(flat[at + 1] for at in range(0, len(flat), 4) if flat[at + 3] == kind)
                need(found == wanted, f"{found} marks of kind {kind}")
        plots = {plot["name"]: plot["points"] for plot in server.ask("plots", w=10)["plots"]}
        need(set(plots["a span"][1::4]) == {7}, f"{plots}")
        need(max(plots["memory in use"][3::4]) == 5000, f"{plots}")
        need(server.ask("memory", of="live")["rows"][0]["live"] == 5000, "live memory")
        need(server.ask("memory_flame", of="live")["total"] == 5000, "flame graph of memory")
        has = server.ask("trace")["files"][0]["has"]
        need(has["spans"] and has["allocations"] and has["messages"] and has["counters"] and not has["flows"], f"{has}")


def test_a_flow_has_an_arrow_between_each_two_of_its_points(folder):
    cases.output_of(folder, PAGE_PROGRAM, "work", "work.tbed", "0")
    with serve("--no-browser", folder / "work.tbed") as server:
        threads = {track["s"]: track["name"] for track in server.ask("trace")["files"][0]["tracks"]}
        arrows = [tuple((threads[arrow[end]["s"]], arrow[end]["t"]) for end in ("from", "to")) for arrow in server.ask("flows")["arrows"]]
        need(arrows, "there are none")
        first, step = arrows[0][0][1], 1000000
        need(arrows == [(("main", first), ("worker 1", first + step)), (("worker 1", first + step), ("worker 2", first + 2 * step))], f"{arrows}")
        within = server.ask("flows", b=first + step // 4, e=first + step // 2)
        need(len(within["arrows"]) == 2 and within["left_out"] == 0, f"a window inside of a flow has {within}")
        spans = server.ask("flows")["async"]
        middle = (spans[0]["b"] + spans[0]["e"]) // 2
        wanted = [span for span in spans if span["b"] <= middle <= span["e"]]
        found = server.ask("flows", b=middle, e=middle + 10)["async"]
        need(len(wanted) == 3 and found == wanted, f"a window inside of asynchronous spans has {found}, not {wanted}")
        few = server.ask("flows", max=5)
        need(len(few["async"]) == 5 and few["left_out"] == len(spans) - 5, f"of {len(spans)}, {few['left_out']} are left out")


def test_a_profile_is_imported_while_the_page_loads(folder):
    cases.output_of(folder, PAGE_PROGRAM, "work", "work.tbed", "0")
    profile = folder / "work.mm_profdata"
    cases.output_of(folder, cases.TRACEBED, "export", "--to=mm_profdata", "-o", profile, "work.tbed")
    with serve("--no-browser", profile) as server:
        page, trace = server.get("")[0], server.ask("trace")
        need(page == 200 and trace["files"][0]["tracks"], f"{page} {trace}")
        need(server.ask("window", w=100)["span_count"] > 30000, "spans are missing")
    process = subprocess.Popen([cases.TRACEBED, "view", "--no-browser", profile], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    address, problem = process.communicate(timeout=SECONDS_MAX)
    need(process.returncode == 2 and address.startswith("http://") and "File too large" in problem, f"{process.returncode} {problem}")


def test_a_live_trace_grows(folder):
    path = folder / "live.tbed"
    recorder = Recorder(path)
    recorder.tell("name", "first")
    with serve("--no-browser", path) as server:
        answer = server.ask("trace")
        need(answer["files"][0]["is_live"] and not answer["files"][0]["is_killed"], f"{answer['files'][0]}")
        for number in range(3):
            recorder.tell("name", f"later {number}")
            grown = []

            def has_grown():
                grown[:] = server.ask("trace", since=answer["generation"])["files"]
                return bool(grown) and server.ask("window")["span_count"] == number + 2
            wait_for(has_grown, "the trace grows")
        recorder.close()
        wait_for(lambda: not server.ask("trace")["files"][0]["is_live"], "the trace is closed")
        generation = server.ask("trace")["generation"]
        need(server.ask("trace", since=generation)["files"] == [], "what has not changed is listed")


def test_what_was_asked_for_is_shown_first(folder):
    path = next(random_traces(folder))
    rows = report(path)["spans"]
    name = rows[0]["name"]
    with serve("--no-browser", "-n", f"^{name}$", "-b", "5000500", "-e", "5001000", path) as server:
        file = server.ask("trace")["files"][0]
        need(file["initial"] == {"b": 5000500, "e": 5001000}, f"{file}")
        need([row["name"] for row in server.ask("table")["rows"]] == [name], "the names")
        need(len(server.ask("table", n="")["rows"]) == len(rows), "an empty condition")


def test_slow_answers_do_not_delay_others_and_two_files_are_apart(folder):
    first, second = list(random_traces(folder))[:2]
    with serve("--no-browser", first, second) as server:
        for number, path in enumerate((first, second)):
            found = sum(row["count"] for row in server.ask("table", f=number)["rows"])
            need(found == sum(row["count"] for row in report(path)["spans"]), f"{path}: {found}")
        connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX) for _ in range(8)]
        for number, connection in enumerate(connections):
            connection.request("GET", f"{server.path}flame?f={number % 2}")
        for connection in reversed(connections):
            response = connection.getresponse()
            need(response.status == 200 and json.loads(response.read())["nodes"], "a request at the same time")
            connection.close()


def test_of_long_answers_a_page_gets_the_newest_one(folder):
    path = next(random_traces(folder))
    with serve("--no-browser", path) as server:
        connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX) for _ in range(12)]
        for number, connection in enumerate(connections):
            connection.request("GET", f"{server.path}flame?page=a&seq={number // 2}" if number % 2 else f"{server.path}flame?page=b{number}")
        statuses = []
        for connection in connections:
            response = connection.getresponse()
            statuses.append(response.status)
            need((response.status == 200) == ("nodes" in json.loads(response.read())), f"{statuses}")
            connection.close()
        need(set(statuses[::2]) == {200}, f"other pages: {statuses}")
        need(statuses[-1] == 200 and set(statuses) <= {200, 409}, f"{statuses}")


def main(tests):
    done = subprocess.run([cases.TRACEBED, "view", "--no-browser", "--port=1", GOLDEN / "valid/events.tbed"],
                          capture_output=True, text=True, timeout=SECONDS_MAX) if os.getuid() != 0 else None
    text = done.stderr if done is not None else ""
    if "libmicrohttpd" in text:
        print(f"skipped: {text}")
        return 0
    return cases.run_all(tests)


if __name__ == "__main__":
    sys.exit(main(globals()))
