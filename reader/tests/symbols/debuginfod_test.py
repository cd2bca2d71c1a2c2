"""
'tracebed symbolize --debuginfod' against a local server: its requests, their effect, and that no server is asked
without the option.

The server has the debug file of one program under its build-id, by debuginfod's protocol: GET
/buildid/BUILDID/debuginfo. Its log shows what was requested over the network.

    python3 reader/tests/symbols/debuginfod_test.py

Check: debuginfod
Needs: $b/programs
Slow: 6 s; it waits for servers

SPDX-License-Identifier: MIT
"""

import ctypes
import http.server
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

TRACEBED = str(cases.TRACEBED)

SOURCE = """#include <stdlib.h>
volatile void *keep;
static inline __attribute__((always_inline)) void *inner(int n)
{
    return malloc(n);
}
__attribute__((noinline)) static void outer(int n)
{
    keep = inner(n);
}
int main(int argc, char **argv)
{
    for (int i = 1; i < 50; i++)
        outer(i * argc);
    return 0;
}
"""


class Server:
    """'files': what it has, by build-id; 'asked': the paths that were asked for."""

    def __init__(self, files):
        self.files, self.asked = files, []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                found = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
                content = server.files.get(found.group(1)) if found else None
                self.send_response(200 if content is not None else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def do_HEAD(self):
                server.asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


class Debuginfod(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tracebed-debuginfod-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.trace = os.path.join(self.folder, "run.tbed")
        self.program = os.path.join(self.folder, "subject")
        with open(self.program + ".c", "w", encoding="utf-8") as file:
            file.write(SOURCE)
        self.build("-O2")
        self.assertEqual(run(TRACEBED, "record", "-f", "-o", self.trace, "--", self.program).returncode, 0)

    def build(self, *flags):
        """The program without symbols; its debug file is kept apart."""
        shell = "gcc -w -g -Wl,--build-id=sha1 subject.c -o subject " + " ".join(flags)
        shell += " && objcopy --only-keep-debug subject debug && strip subject"
        built = run("sh", "-c", shell, cwd=self.folder)
        self.assertEqual(built.returncode, 0, built.stderr)
        notes = run("readelf", "-n", self.program).stdout
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
        with open(os.path.join(self.folder, "debug"), "rb") as file:
            self.debug = file.read()

    def tracebed(self, *arguments, urls=None):
        environment = dict(os.environ, DEBUGINFOD_CACHE_PATH=os.path.join(self.folder, "cache"))
        environment.pop("DEBUGINFOD_URLS", None)
        if urls is not None:
            environment["DEBUGINFOD_URLS"] = urls
        return run(TRACEBED, *arguments, env=environment)

    def test_a_debug_file_is_fetched(self):
        with Server({self.build_id: self.debug}) as server:
            told = self.tracebed("symbolize", "--debuginfod", self.trace, urls=server.url)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertNotIn("cannot query", told.stderr)
        self.assertEqual(server.asked.count(f"/buildid/{self.build_id}/debuginfo"), 1, server.asked)
        self.assertEqual(len(set(server.asked)), len(server.asked), "a file was requested twice")
        report = self.tracebed("report", "--allocations", self.trace).stdout
        self.assertRegex(report, r"inner .*subject\.c:5\n")
        report = self.tracebed("report", "--allocations", "--by=function", self.trace).stdout
        self.assertRegex(report, r"outer .*subject\.c\n")

    def test_nobody_is_asked_without_the_option(self):
        with Server({self.build_id: self.debug}) as server:
            for verb in ("report", "flame --weight=bytes --folded -o -", "tree", "dump", "info", "verify", "symbolize"):
                told = self.tracebed(*verb.split(), self.trace, urls=server.url)
                self.assertEqual(told.returncode, 0, f"{verb}: {told.stderr}")
        self.assertEqual(server.asked, [])
        self.assertIn("subject+0x", self.tracebed("report", "--allocations", self.trace).stdout)

    def test_what_the_servers_do_not_have_is_no_trouble(self):
        with Server({}) as server:
            told = self.tracebed("symbolize", "--debuginfod", self.trace, urls=server.url)
        self.assertEqual(told.returncode, 0)
        self.assertIn("it is stripped, and no debug file was found", told.stderr)
        self.assertNotIn("cannot query", told.stderr)
        self.assertIn(f"/buildid/{self.build_id}/debuginfo", server.asked)

    def test_what_is_another_build_or_no_debug_file_is_not_used(self):
        build_id, other = self.build_id, self.debug
        self.build("-O0")
        right, self.build_id = self.debug, build_id
        self.assertNotEqual(right, other)
        for content in (right, b"no ELF file", other[: len(other) // 2], b"\x7fELF" + bytes(1000)):
            with Server({self.build_id: content}) as server:
                copy = self.trace + ".copy"
                told = self.tracebed("symbolize", "-f", "-o", copy, "--debuginfod", self.trace, urls=server.url)
            run("rm", "-rf", os.path.join(self.folder, "cache"))
            self.assertIn(told.returncode, (0, 1), told.stderr)
            self.assertIn(f"/buildid/{self.build_id}/debuginfo", server.asked)
            report = self.tracebed("report", "--allocations", "--by=function", copy).stdout
            self.assertNotIn("subject!", report)

    def test_a_server_that_cannot_be_reached_is_told_once(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # nobody listens
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            told = self.tracebed("symbolize", "--debuginfod", self.trace, urls=url)
        self.assertEqual(told.returncode, 0)
        self.assertEqual(told.stderr.count(f"cannot query debuginfod: {url}: "), 1, told.stderr)
        self.assertEqual(told.stderr.count("cannot query debuginfod"), 1, told.stderr)

    def count_connections(self):
        """How often a server that hangs up on everybody is called."""
        count = 0
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"

            def hang_up():
                nonlocal count
                while True:
                    try:
                        connection = server.accept()[0]
                    except OSError:
                        return
                    count += 1
                    connection.recv(1)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()

            thread = threading.Thread(target=hang_up, daemon=True)
            thread.start()
            told = self.tracebed("symbolize", "-f", "-o", self.trace + ".copy", "--debuginfod", self.trace, urls=url)
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
        self.assertEqual(told.returncode, 0)
        self.assertIn(f"cannot query debuginfod: {url}: ", told.stderr)
        return count

    def test_a_server_that_fails_is_not_asked_again(self):
        of_one = self.count_connections()
        self.assertGreater(of_one, 0)
        shutil.copy(self.program, self.program + ".other")
        both = f"{self.program}; {self.program}.other"
        self.assertEqual(run(TRACEBED, "record", "-f", "-o", self.trace, "--", "sh", "-c", both).returncode, 0)
        self.assertEqual(self.count_connections(), of_one)

    def test_no_servers_are_told(self):
        for urls in (None, " "):
            told = self.tracebed("symbolize", "--debuginfod", self.trace, urls=urls)
            self.assertEqual(told.returncode, 0)
            self.assertIn("cannot query debuginfod: DEBUGINFOD_URLS: it names no server", told.stderr)


if __name__ == "__main__":
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("skipped: libdebuginfod.so.1 is not installed", file=sys.stderr)
        sys.exit(0)
    cases.run_unittests()
