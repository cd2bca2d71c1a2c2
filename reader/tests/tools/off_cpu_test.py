"""
'tracebed record --off-cpu' and 'report --on-cpu', on a program whose threads sleep and compete for processors: what the
report says is what the events say, and the sleeping function has hardly any time on its processor.

Where the kernel does not tell when threads are switched, only that this is said is checked.

    python3 reader/tests/tools/off_cpu_test.py

Check: off-cpu
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

SOURCE = """#include <pthread.h>
#include <time.h>
__attribute__((noinline)) void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}
__attribute__((noinline)) void spin(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 1000000);
}
void *run(void *argument)
{
    for (int i = 0; i < 20; i++) {
        nap();
        spin();
    }
    return argument;
}
int main(void)
{
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
}
"""


def tracebed(folder, *words, status=0):
    run = subprocess.run([cases.TRACEBED, *words], cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != status:
        raise cases.Failure(f"{' '.join(words)}: exit status {run.returncode}\n{run.stderr}")
    return run.stdout if status == 0 else run.stderr


def expect(condition, text):
    if not condition:
        raise cases.Failure(text)


def rows_of(folder, *options):
    """The report's rows by name, as (count, total, off CPU)."""
    spans = json.loads(tracebed(folder, "report", "--json", *options, "off.tbed"))["spans"]
    return {row["name"]: (row["count"], row["total_ns"], row["off_cpu_ns"]) for row in spans}


def spans_of(events):
    """(name, begin, end) of the spans of one stream."""
    stack, spans = [], []
    for event in events:
        if event["type"] == "begin":
            stack.append((event["name"], event["tick"]))
        elif event["type"] == "end":
            name, begin = stack.pop()
            spans.append((name, begin, event["tick"]))
    return spans


def expected(folder):
    """The same rows, by adding up overlaps one by one."""
    info = json.loads(tracebed(folder, "info", "--json", "off.tbed"))
    streams, tick_ns, events = info["streams"], 1e9 / info["clock"]["ticks_per_second"], {}
    for line in tracebed(folder, "dump", "--json", "--order=stream", "off.tbed").splitlines():
        event = json.loads(line)
        if "stream" in event and "type" in event:
            events.setdefault(event["stream"], []).append(event)
    off = {s["of_thread"]: spans_of(events.get(s["stream"], [])) for s in streams if s["kind"] == "off CPU"}
    rows = {}
    for stream in streams:
        if stream["kind"] == "off CPU":  # these are no spans of the program
            continue
        for name, begin, end in spans_of(events.get(stream["stream"], [])):
            lost = sum(max(0, min(end, to) - max(begin, at)) for _, at, to in off.get(stream["stream"], []))
            count, total, lost_before = rows.get(name, (0, 0, 0))
            rows[name] = (count + 1, total + (end - begin) * tick_ns, lost_before + lost * tick_ns)
    return rows


def near(left, right, count):
    """Each time was rounded to a nanosecond."""
    return abs(left - right) <= 4 * count + 0.001 * right


def make_trace(folder):
    """False: the kernel does not tell, and the program says so."""
    with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-finstrument-functions", "program.c", "-o", "program",
                    "-lpthread"], cwd=folder, check=True)
    words = [cases.TRACEBED, "record", "--off-cpu", "--functions", "-o", "off.tbed", "./program"]
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return True
    expect("the kernel does not tell when threads are switched" in run.stderr, run.stderr)
    expect(not os.path.exists(os.path.join(folder, "off.tbed")), "a trace was left behind")
    return False


def check_times(folder):
    rows, wanted, on_cpu = rows_of(folder), expected(folder), rows_of(folder, "--on-cpu")
    expect(set(rows) == set(wanted), f"{sorted(rows)} instead of {sorted(wanted)}")
    for name, (count, total, off) in rows.items():
        expect(count == wanted[name][0], f"{name}: {count} spans instead of {wanted[name][0]}")
        expect(near(total, wanted[name][1], count), f"{name}: {total} ns instead of {wanted[name][1]}")
        expect(near(off, wanted[name][2], count), f"{name}: {off} ns off instead of {wanted[name][2]}")
    expect(not [name for name in {*rows, *on_cpu} if name.startswith("off CPU")], "times off the processor are spans")
    for name, (count, total, off) in on_cpu.items():
        expect(near(total, rows[name][1] - rows[name][2], count), f"{name}: {total} ns on the processor")
    expect(on_cpu["program!nap"][1] < rows["program!nap"][1] / 4, "sleeping took the processor's time")
    expect(on_cpu["program!spin"][1] > 6 * 20 * 900000, "busy time was left out")


def test_off_cpu(folder):
    if not make_trace(folder):
        print("skipped: the kernel does not tell when threads are switched")
        return
    tracebed(folder, "verify", "off.tbed")
    check_times(folder)


def test_refusals(folder):
    said = tracebed(folder, "record", "--off-cpu", "--ring=1M", "true", status=2)
    expect("--off-cpu cannot be used with" in said, said)
    tracebed(folder, "record", "-o", "plain.tbed", "--functions", "true")
    said = tracebed(folder, "report", "--on-cpu", "plain.tbed", status=2)
    expect("does not say when threads were off their processors" in said, said)
    said = tracebed(folder, "report", "--on-cpu", "--over-time", "plain.tbed", status=2)
    expect("--on-cpu applies to spans" in said, said)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
