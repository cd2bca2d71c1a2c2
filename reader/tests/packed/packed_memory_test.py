"""
Memory does not grow with a packed trace: commands that list events, export them, copy a part of them or add them up take a
fixed amount more than the program itself, and print what they print of the plain trace. One span with arguments is open from
the first block to the last, and others over many blocks, so that what they point to must be kept meanwhile.

    python3 reader/tests/packed/packed_memory_test.py

Check: packed-memory
Needs: $b/programs $b/libtracebed.a
Slow: reads a trace of 200 MB ten times

SPDX-License-Identifier: MIT
"""

import hashlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

# Above what the program takes for a small trace: units that nobody holds, what threads hold, and the tables to unpack.
MORE_KB_MAX = 96 << 10
PROGRAM = """#include <tracebed/trace.h>
#include <string.h>
int main(int argc, char **argv)
{
    static char text[4000];
    int count = atoi(argv[1]);
    (void)argc;
    if (tbed_start(argv[2], NULL) != TBED_OK)
        return 1;
    TBED_SPAN_ARGS("all", "count", count);
    for (int i = 0; i < count / 10; i++) {
        TBED_SPAN_ARGS("ten", "i", i);
        for (int j = 0; j < 10; j++) {
            memset(text, 'a' + (i + j) % 26, sizeof text - 1);
            TBED_LOG("%d of %s", i, text);
        }
    }
    tbed_stop();
    return 0;
}
"""
COMMANDS = ["report -j2 FILE", "dump -j2 FILE", "dump --order=stream FILE", "export --to=chrome -j2 -o - FILE",
            "slowest -n 3 FILE", "export --to=folded -o - FILE"]  # fmt: skip


def run(folder, words):
    """Returns the most memory that the command had, in KB, and a hash of what it printed."""
    child = subprocess.Popen([cases.TRACEBED, *words], cwd=folder, stdout=subprocess.PIPE)
    printed = hashlib.sha256()
    for part in iter(lambda: child.stdout.read(1 << 20), b""):
        printed.update(part)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    cases.need(status == 0, f"{words}: status {status}")
    return usage.ru_maxrss, printed.hexdigest()


def record(folder, name, count):
    """Makes a trace, and the same packed: in folders, so that both have one name."""
    for where in ("plain", "packed"):
        os.makedirs(os.path.join(folder, where), exist_ok=True)
    plain, packed = (os.path.join(folder, where, name) for where in ("plain", "packed"))
    cases.output_of(folder, "./program", str(count), plain)
    cases.output_of(folder, cases.TRACEBED, "pack", plain, "-o", packed)
    return os.path.getsize(plain)


def build(folder):
    with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\n" + PROGRAM)
    cases.output_of(folder, "gcc", "-O2", *cases.includes("format", "writer"), "program.c", cases.BUILD / "libtracebed.a",
                    "-lpthread", "-lm", "-o", "program")  # fmt: skip


def same_and_bounded(folder, name, words, base_kb):
    plain = run(os.path.join(folder, "plain"), words)
    packed = run(os.path.join(folder, "packed"), words)
    cases.need(plain[1] == packed[1], f"{name}: {words}: other output of the packed trace")
    cases.need(packed[0] <= base_kb + MORE_KB_MAX, f"{words}: {packed[0] >> 10} MiB for the packed trace")


def test_memory_does_not_grow(folder):
    build(folder)
    record(folder, "small.tbed", 100)
    nbytes = record(folder, "large.tbed", 50000)
    cases.need(nbytes >> 10 > 2 * MORE_KB_MAX, f"{nbytes} bytes show nothing")
    for command in COMMANDS:
        words = command.split()
        base_kb = run(os.path.join(folder, "packed"), [w if w != "FILE" else "small.tbed" for w in words])[0]
        same_and_bounded(folder, "large.tbed", [w if w != "FILE" else "large.tbed" for w in words], base_kb)


def test_a_part_is_copied(folder):
    build(folder)
    record(folder, "large.tbed", 50000)
    for where in ("plain", "packed"):
        path = os.path.join(folder, where)
        peak = run(path, ["cut", "-b", "30%", "-e", "60%", "large.tbed", "-o", "part.tbed"])[0]
        cases.need(where == "plain" or peak <= MORE_KB_MAX, f"cut: {peak >> 10} MiB")
    dumped = [run(os.path.join(folder, where), ["dump", "--json", "part.tbed"])[1] for where in ("plain", "packed")]
    cases.need(dumped[0] == dumped[1], "cut: another part of the packed trace")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
