"""
The tracers that bench/peers_bench.py compares: how each is compiled in, configured and read back.

SPDX-License-Identifier: MIT
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

BUILD = "build/peers"
SUBJECT = "build/release/bench/peers/peer_subject"
SOURCE = "bench/peers/peer_subject.c"
LANGUAGE = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-I.", "-Iformat/include", "-Iwriter/include"]
LIBRARY = ["build/release/libtracebed.a", "-lxxhash", "-pthread"]


class Problem(Exception):
    """Why a peer could not be measured; a sentence for the table."""


def call(command, **more):
    """Runs a command that must succeed; returns its output."""
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, **more)
    except subprocess.TimeoutExpired as expired:
        raise Problem(f"{command[0]} does not come back") from expired
    except OSError as error:
        raise Problem(f"{command[0]}: {error.strerror}") from error
    if run.returncode != 0:
        last = run.stdout.strip().splitlines()[-1:] or [f"status {run.returncode}"]
        raise Problem(f"{command[0]}: {last[0]}")
    return run.stdout


def has_worked(command, text=""):
    try:
        return subprocess.run(command, input=text, text=True, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def compile_subject(name, compiler, flags, sources=(), libraries=()):
    os.makedirs(BUILD, exist_ok=True)
    output = f"{BUILD}/{name}"
    call([compiler, *LANGUAGE, *flags, SOURCE, *sources, "-o", output, *LIBRARY, *libraries])
    return output


def count_lines(command, pattern):
    """Counts the lines of a reader's output that contain the pattern, even if the reader then fails."""
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    matches = re.compile(pattern).search
    count = sum(1 for line in reader.stdout if matches(line))
    reader.wait()
    return count


def du(path):
    """Returns the bytes on disk of a file, or of all files in a folder."""
    if not os.path.isdir(path):
        return os.stat(path).st_blocks * 512 if os.path.exists(path) else 0
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


# ---- The CPU time of other processes ----


def children_of():
    """Maps each process to its children."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
    return children


def tree_of(root):
    """Returns a process and all its descendants."""
    children, tree = children_of(), [root]
    for pid in tree:
        tree += children.get(pid, [])
    return tree


def cpu_of_tree(root):
    """Returns the CPU nanoseconds so far of a running process and its descendants."""
    total = 0
    for pid in tree_of(root):
        with contextlib.suppress(OSError):
            total += time.clock_gettime_ns((~pid << 3) | 2)  # what clock_getcpuclockid() gives
    return total


# ---- Peers ----


class Peer:
    """
    One tracer. 'output' is the path of its recording, in a folder of its own, which is removed afterwards.
    """

    key = ""  # what peer_subject calls it
    label = ""
    told = ""  # options and versions, for the table's notes
    packages = ()
    commands = ()
    headers = ()
    event_nbytes = 16  # about; so much memory is made ready
    is_limit = False
    records = True

    def __init__(self):
        self.subject = SUBJECT

    def missing(self):
        """True: the packages are not installed."""
        if any(shutil.which(command) is None for command in self.commands):
            return True
        probe = "".join(f"#include <{header}>\n" for header in self.headers)
        return not has_worked(["gcc", "-E", "-x", "c", "-"], probe)

    def build(self):
        pass

    def close(self):
        pass

    def version(self):
        return ""

    def command(self, output, rest):
        return [self.subject, self.key, output, *rest]

    def environment(self):
        return {}

    def start(self, output):
        """Runs before the subject."""

    def stop(self):
        """Runs after the subject. Returns the CPU nanoseconds of processes that are not its children."""
        return 0

    def read_back(self, output):
        """Returns the number of events that the peer's own reader finds."""
        return 0


class Clock(Peer):
    key, label = "clock", "the limit: reading the clock (`rdtsc`)"
    is_limit, records = True, False


class ClockGettime(Peer):
    key, label = "clock_gettime", "`clock_gettime(CLOCK_MONOTONIC)` alone"
    records = False


class Tracebed(Peer):
    key, label, event_nbytes = "tracebed", "tracebed", 10
    told = "default options; read with `tracebed dump`"

    def read_back(self, output):
        return count_lines(["build/release/tracebed", "dump", output], rb" (begin|end) ")


class TracebedNoHelper(Tracebed):
    key, label = "tracebed-no-helper", "tracebed, no helper thread"
    told = "option `no_helper`"


class Write(Peer):
    key, label, event_nbytes = "write", "8 bytes into a buffer, `write(2)`", 10
    told = "the same 8 bytes per event, a buffer of 64 KiB; bytes that were written are counted"

    def read_back(self, output):
        return os.path.getsize(output) // 8


class Fprintf(Peer):
    key, label, event_nbytes = "fprintf", "JSON text by `fprintf`", 80
    told = "a line of Chrome's JSON an event, `clock_gettime`; whole lines are counted"

    def read_back(self, output):
        with open(output, "rb") as file:
            return sum(1 for line in file if line.startswith(b"{") and line.endswith(b"},\n"))


class Uftrace(Peer):
    key, packages, commands, event_nbytes = "functions", ("uftrace",), ("uftrace",), 20
    flags = []

    def build(self):
        self.subject = compile_subject("peer_" + "".join(filter(str.isalpha, self.label)), "gcc", self.flags)

    def version(self):
        return "uftrace " + call(["uftrace", "--version"]).split()[1].removeprefix("v")

    def command(self, output, rest):
        options = ["--no-libcall", "--no-event", "--no-sched", "-b", "4m", "-d", output]
        return ["uftrace", "record", *options, self.subject, self.key, "-", *rest]

    def read_back(self, output):
        return count_lines(["uftrace", "dump", "-d", output], rb"\] work\(")


class UftracePg(Uftrace):
    label, flags = "uftrace, -pg", ["-DPEER_FUNCTIONS", "-pg"]
    told = "`gcc -O2 -pg`; `uftrace record --no-libcall --no-event --no-sched -b 4m`; read with `uftrace dump`"


class UftraceInstrument(Uftrace):
    label = "uftrace, -finstrument-functions"
    # Functions inlined from our headers are not functions of the program.
    flags = ["-DPEER_FUNCTIONS", "-finstrument-functions", "-finstrument-functions-exclude-file-list=tracebed/"]
    told = "the same with `gcc -O2 -finstrument-functions`"


class Xray(Peer):
    key, label = "xray", "LLVM XRay, FDR mode"
    packages, commands = ("clang", "llvm", "libclang-rt-dev"), ("clang", "llvm-xray")
    told = (
        "`clang -O2 -fxray-instrument`; only the one function is instrumented, of any duration "
        "(`func_duration_threshold_us=0`), buffers of 64 KiB for all events; read with `llvm-xray fdr-dump`"
    )

    def missing(self):
        if super().missing():
            return True
        probe = ["clang", "-fxray-instrument", "-x", "c", "-", "-o", "/dev/null"]
        return not has_worked(probe, "int main(void) { return 0; }")

    def build(self):
        # Functions are instrumented by attribute, none by its size.
        flags = ["-DPEER_XRAY", "-fxray-instrument", "-fxray-instruction-threshold=1000000"]
        self.subject = compile_subject("peer_xray", "clang", flags)

    def version(self):
        return "clang " + call(["clang", "-dumpversion"]).strip()

    def command(self, output, rest):
        os.makedirs(output, exist_ok=True)
        return super().command(output, rest)

    def environment(self):
        return {"XRAY_OPTIONS": f"verbosity=0 xray_logfile_base={self.output}/log."}

    def start(self, output):
        self.output = output

    def read_back(self, output):
        paths = [os.path.join(output, name) for name in os.listdir(output)]
        return sum(count_lines(["llvm-xray", "fdr-dump", path], rb"<Function (Enter|Exit)") for path in paths)


class Lttng(Peer):
    key, label = "lttng", "LTTng-UST"
    packages = ("lttng-tools", "liblttng-ust-dev", "babeltrace2")
    commands = ("lttng", "lttng-sessiond", "lttng-gen-tp", "babeltrace2")
    headers = ("lttng/tracepoint.h",)
    told = (
        "`lttng-sessiond --no-kernel`; sub-buffers of 512 KiB, as by default, but 32 of them a processor, and "
        "`--blocking-timeout=inf`, so that nothing is discarded; no context, so that threads are not told apart; "
        "read with `babeltrace2`"
    )
    session = "tracebed-peers"

    def __init__(self):
        super().__init__()
        self.daemon, self.daemon_pid = None, 0

    def build(self):
        folder = f"{BUILD}/lttng"
        os.makedirs(folder, exist_ok=True)
        shutil.copy("bench/peers/peer_lttng.tp", folder)
        call(["lttng-gen-tp", "peer_lttng.tp", "-o", "peer_lttng.h", "-o", "peer_lttng.c"], cwd=folder)
        sources = [f"{folder}/peer_lttng.c"]
        flags, libraries = ["-DPEER_LTTNG", f"-I{folder}"], ["-llttng-ust", "-ldl"]
        self.subject = compile_subject("peer_lttng", "gcc", flags, sources, libraries)
        self.begin_daemon()

    def begin_daemon(self):
        """Starts a session daemon of our own, unless one is already running."""
        if self.is_daemon_there():
            self.daemon_pid = self.running_daemon()
            return
        command = ["lttng-sessiond", "--no-kernel"]
        self.daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.daemon_pid = self.daemon.pid
        deadline = time.monotonic() + 10
        while not self.is_daemon_there():
            if time.monotonic() > deadline or self.daemon.poll() is not None:
                raise Problem("lttng-sessiond does not answer")
            time.sleep(0.05)

    def is_daemon_there(self):
        return has_worked(["lttng", "--no-sessiond", "list"])

    @staticmethod
    def running_daemon():
        for path in ("/run/lttng/lttng-sessiond.pid", os.path.expanduser("~/.lttng/lttng-sessiond.pid")):
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return int(file.read())
        raise Problem("a session daemon is running, but not to be found")

    def close(self):
        if self.daemon is None:
            return
        tree = tree_of(self.daemon.pid)
        self.daemon.terminate()
        try:
            self.daemon.wait(5)
        except subprocess.TimeoutExpired:  # it waits for what a killed program has left unfinished
            for pid in tree:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.daemon.wait()

    def version(self):
        return "LTTng " + re.search(r"[0-9.]+[0-9]", call(["lttng", "--version"]))[0]

    def environment(self):
        return {"LTTNG_UST_REGISTER_TIMEOUT": "-1", "LTTNG_UST_ALLOW_BLOCKING": "1"}

    def lttng(self, *arguments):
        return call(["lttng", "--no-sessiond", *arguments])

    def start(self, output):
        in_session = ["--userspace", "--session", self.session]
        channel = ["--num-subbuf=32", "--subbuf-size=512K", "--blocking-timeout=inf", "channel"]
        has_worked(["lttng", "--no-sessiond", "destroy", "--no-wait", self.session])  # or there was none
        self.lttng("create", self.session, "--output", output)
        self.lttng("enable-channel", *in_session, *channel)
        self.lttng("enable-event", *in_session, "--channel", "channel", "tracebed_peer:*")
        self.lttng("start", self.session)
        self.begin_ns = cpu_of_tree(self.daemon_pid)

    def stop(self):
        self.lttng("stop", self.session)
        nanoseconds = cpu_of_tree(self.daemon_pid) - self.begin_ns
        told = self.lttng("list", self.session)
        # Everything is written when 'stop' returns. Waiting here too would never end after a SIGKILL.
        self.lttng("destroy", "--no-wait", self.session)
        if any(int(count) for count in re.findall(r"Discarded events: (\d+)", told)):
            raise Problem("LTTng discarded events")
        return nanoseconds

    def read_back(self, output):
        return count_lines(["babeltrace2", output], rb" tracebed_peer:(begin|end)")


ALL = [
    Clock,
    ClockGettime,
    Tracebed,
    TracebedNoHelper,
    Write,
    UftraceInstrument,
    UftracePg,
    Lttng,
    Xray,
    Fprintf,
]
