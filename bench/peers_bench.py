#!/usr/bin/env python3
"""
Measures what an event costs with tracebed and with its peers, compared with reading the clock, in interleaved rounds of
one run, and what survives SIGKILL. Peers that are not installed are skipped, with a note. bench/README.md describes the
method.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import peers  # noqa: E402
import show  # noqa: E402

REPORT = struct.Struct("=QQQddd")  # struct report of peer_subject.c
RUN_SECONDS_MAX = 300


def parse(arguments):
    parser = argparse.ArgumentParser(description="Compares tracebed and its peers with reading the clock.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, and fewer rounds")
    parser.add_argument("--cold", action="store_true", help="do not touch memory beforehand")
    parser.add_argument("--rounds", type=int, help="pairs to measure (9, quick: 3)")
    parser.add_argument("--kills", type=int, help="killed runs per peer (9, quick: 1)")
    parser.add_argument("--events", type=int, help="events per run (10 million, quick: 1 million)")
    parser.add_argument("--path", type=os.path.abspath, help=f"directory for temporary traces ({peers.BUILD})")
    parser.add_argument("--only", default="", help="only peers whose name contains this; separate several with commas")
    parser.add_argument("--publish", action="store_true", help="write bench/peers.svg and the table of bench/README.md")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (3 if options.quick else 9)
    options.kills = options.kills if options.kills is not None else (1 if options.quick else 9)
    options.events = (options.events or (1_000_000 if options.quick else 10_000_000)) // 2 * 2
    return options


# ---- One run of the subject ----


class Run:
    """A run in a temporary folder of its own, with the subject's report and the CPU time of its processes."""

    def __init__(self, options, peer):
        self.options, self.peer = options, peer
        self.folder = tempfile.mkdtemp(prefix="peers_bench.", dir=options.path or peers.BUILD)
        self.output = os.path.join(os.path.abspath(self.folder), "trace")
        self.report_path = os.path.join(self.folder, "report")
        with open(self.report_path, "wb") as file:
            file.write(bytes(REPORT.size))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def report(self):
        with open(self.report_path, "rb") as file:
            return REPORT.unpack(file.read(REPORT.size))

    def go(self, count, order, kill_at=None):
        """Gives CPU nanoseconds of all processes. With 'kill_at' it is killed when it has done so many events."""
        self.peer.start(self.output)
        command = self.peer.command(self.output, [str(count), order, self.report_path])
        environment = os.environ | self.peer.environment()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kill_at is not None:
            self.kill(process, kill_at)
        status, usage = self.wait(process)
        daemon_ns = self.peer.stop()
        if kill_at is None and (status != 0 or self.report()[2] != 1):
            raise peers.Problem(f"the run failed, status {status}")
        return (usage.ru_utime + usage.ru_stime) * 1e9 + daemon_ns

    def kill(self, process, kill_at):
        while self.report()[1] < kill_at and process.poll() is None:
            time.sleep(0.0002)
        pid, _, is_done, *_ = self.report()
        if process.returncode is not None or is_done:
            raise peers.Problem("it ended before it could be killed")
        os.kill(pid, signal.SIGKILL)

    @staticmethod
    def wait(process):
        deadline = time.monotonic() + RUN_SECONDS_MAX
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode, usage
            if time.monotonic() > deadline:
                process.kill()
                deadline = float("inf")
            time.sleep(0.002)


# ---- The measurements ----


def warm(options, peer):
    """Makes sure that the machine's memory is really there; see bench/README.md."""
    if not options.cold:
        nbytes = options.events * peer.event_nbytes * 5 // 4
        subprocess.run([peers.SUBJECT, "warm", str(nbytes)], check=False)


def measure_round(options, peer, is_clock_first):
    warm(options, peer)
    with Run(options, peer) as run:
        total_ns = run.go(options.events, "clock-first" if is_clock_first else "clock-last")
        _, _, _, clock_ns, record_ns, elapsed_ns = run.report()
        count = options.events
        return {
            "clock": clock_ns / count,
            "thread": record_ns / count,
            "elapsed": elapsed_ns / count,
            "total": (total_ns - clock_ns) / count,
            "nbytes": peers.du(run.output) / count,
        }


def measure_kill(options, peer):
    """Returns (events whose recording call had returned, events that are read back)."""
    with Run(options, peer) as run:
        run.go(options.events, "counted", random.randrange(options.events // 10, options.events // 2) // 2 * 2)
        return run.report()[1], peer.read_back(run.output)


def check_reading(options, peer):
    """Every event of a run that is not killed must be read back; otherwise the figures are for different work."""
    count = min(options.events, 1_000_000)
    with Run(options, peer) as run:
        run.go(count, "counted")
        found = peer.read_back(run.output)
    if found != count:
        raise peers.Problem(f"of {count:,} events {found:,} are read back")


def prepare(peer, result):
    """False: the peer is skipped, and the result says why."""
    if peer.missing():
        result["problem"] = "not installed: apt-get install " + " ".join(peer.packages)
        return False
    try:
        peer.build()
        result["version"] = peer.version()
    except peers.Problem as problem:
        result["problem"] = str(problem)
        return False
    return True


def attempt(result, action, *arguments):
    try:
        return action(*arguments)
    except peers.Problem as problem:
        print(f"peers_bench: {result['label']}: {problem}", file=sys.stderr)
        result.setdefault("problems", []).append(str(problem))
        return None


def measure(options, chosen):
    """Runs the peers in turn. Each round starts with another one, so that none benefits from its position."""
    loads = [os.getloadavg()[0]]
    for turn in range(options.rounds):
        first = turn % len(chosen)
        for peer, result in chosen[first:] + chosen[:first]:
            print(f"round {turn + 1} of {options.rounds}: {result['label']}   ", end="\r", file=sys.stderr, flush=True)
            found = attempt(result, measure_round, options, peer, turn % 2 == 0)
            if found is not None:
                result["rounds"].append(found)
            loads.append(os.getloadavg()[0])
    for peer, result in chosen:
        if not peer.records:
            continue
        print(f"SIGKILL: {result['label']}" + " " * 30, end="\r", file=sys.stderr, flush=True)
        attempt(result, check_reading, options, peer)
        kills = (attempt(result, measure_kill, options, peer) for _ in range(options.kills))
        result["kills"] = [found for found in kills if found is not None]
    return [min(loads), statistics.median(loads), max(loads)]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} x {names[0] if names else os.uname().machine}"


def is_wanted(options, peer):
    return any(word in f"{peer.key} {peer.label}" for word in options.only.split(","))


def main():
    options = parse(sys.argv[1:])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if not os.access(peers.SUBJECT, os.X_OK):
        sys.exit(f"peers_bench: {peers.SUBJECT} is missing: ./run bench peers, or ninja bench-programs")
    os.makedirs(peers.BUILD, exist_ok=True)
    results, chosen = [], []
    made = [kind() for kind in peers.ALL if is_wanted(options, kind)]
    try:
        for peer in made:
            result = {"key": peer.key, "label": peer.label, "told": peer.told, "is_limit": peer.is_limit}
            result |= {"records": peer.records, "rounds": [], "kills": []}
            results.append(result)
            if prepare(peer, result):
                chosen.append((peer, result))
        if not chosen:
            sys.exit("peers_bench: nothing to measure")
        load = measure(options, chosen)
    finally:
        for peer in made:
            peer.close()
    found = {"events": options.events, "rounds": options.rounds, "load": load, "processor": processor()}
    found |= {"system": f"{os.uname().sysname} {os.uname().release}", "peers": results}
    with open(f"{peers.BUILD}/peers.json", "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    show.show(found, options.publish)


if __name__ == "__main__":
    main()
