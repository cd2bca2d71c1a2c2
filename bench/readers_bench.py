#!/usr/bin/env python3
"""
Measures what reading costs with tracebed, uftrace and babeltrace2: each reads the trace that its own tracer made of the
same program. It prints CPU time per event and memory. Tools that are not installed are skipped, with a note.
bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "peers"), os.path.join(HERE, "support")]
import peers  # noqa: E402
import processes  # noqa: E402

TRACEBED = "build/release/tracebed"
REPORT_NBYTES = 48  # struct report of peer_subject.c

READERS = {
    peers.Tracebed: {
        "tracebed report": [TRACEBED, "report", "OUTPUT"],
        "tracebed tree": [TRACEBED, "tree", "OUTPUT"],
        "tracebed dump": [TRACEBED, "dump", "OUTPUT"],
        "tracebed export --to=chrome": [TRACEBED, "export", "--to=chrome", "-f", "-o", "OUTPUT.json", "OUTPUT"],
    },
    peers.UftraceInstrument: {
        "uftrace report": ["uftrace", "report", "-d", "OUTPUT"],
        "uftrace graph": ["uftrace", "graph", "-d", "OUTPUT"],
        "uftrace dump": ["uftrace", "dump", "-d", "OUTPUT"],
        "uftrace dump --chrome": ["uftrace", "dump", "--chrome", "-d", "OUTPUT"],
    },
    peers.Lttng: {
        "babeltrace2": ["babeltrace2", "OUTPUT"],
        "babeltrace2, no output": ["babeltrace2", "OUTPUT", "-c", "sink.utils.dummy"],
    },
}


def record(kind, folder, events):
    """Records the program with one tracer. Returns the path of its trace, None if that cannot be had."""
    peer = kind()
    if peer.missing():
        print(f"{peer.label} is not installed (packages {' '.join(peer.packages)}): skipped", file=sys.stderr)
        return None
    output, report = os.path.join(folder, kind.__name__), os.path.join(folder, "report")
    with open(report, "wb") as file:
        file.write(bytes(REPORT_NBYTES))
    try:
        peer.build()
        peer.start(output)
        subprocess.run(peer.command(output, [str(events), "counted", report]), env=os.environ | peer.environment(),
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        peer.stop()
        found = peer.read_back(output)
    except (peers.Problem, subprocess.CalledProcessError) as problem:
        print(f"{peer.label}: {problem}: skipped", file=sys.stderr)
        return None
    finally:
        peer.close()
    if found != events:
        sys.exit(f"readers_bench: {peer.label}: {found:,} of {events:,} events are read back")
    return output


def main():
    parser = argparse.ArgumentParser(description="Compares the speed of tracebed's reader and of its peers'.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, one round")
    parser.add_argument("--rounds", type=int, help="rounds (5, quick: 1)")
    parser.add_argument("--events", type=int, help="events of the trace (10 million, quick: 1 million)")
    parser.add_argument("--path", help=f"directory for temporary traces ({peers.BUILD})")
    options = parser.parse_args()
    rounds = options.rounds or (1 if options.quick else 5)
    events = (options.events or (1_000_000 if options.quick else 10_000_000)) // 2 * 2
    os.makedirs(peers.BUILD, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="readers_bench.", dir=options.path or peers.BUILD)
    folder = os.path.abspath(folder)
    try:
        commands = {}
        for kind, readers in READERS.items():
            output = record(kind, folder, events)
            for name, command in readers.items() if output else ():
                commands[name] = [word.replace("OUTPUT", output) for word in command]
        measured = {name: [] for name in commands}
        for turn in range(rounds):
            for name in list(commands)[:: 1 if turn % 2 == 0 else -1]:
                measured[name].append(processes.measure(commands[name]))
    finally:
        shutil.rmtree(folder)
    print(f"{events:,} events, {rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
    print("| Reader | CPU, ns/event | Min | Max | Million events/s | Own memory |\n|---|---|---|---|---|---|")
    for name, runs in measured.items():
        if any(run.status != 0 for run in runs):
            print(f"| {name} | failed | | | | |")
            continue
        cpu = [run.cpu * 1e9 / events for run in runs]
        middle = statistics.median(cpu)
        print(f"| {name} | {middle:.1f} | {min(cpu):.1f} | {max(cpu):.1f} | {1e3 / middle:.2f} "
              f"| {max(run.own for run in runs):.0f} MiB |")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
