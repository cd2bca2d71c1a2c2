"""
Packed traces read like plain ones: every command prints the same, to the byte, for a trace and for the same trace packed.

Each golden file that is a trace, and a recorded one that is larger than a unit, are packed, and unpacked again: the bytes
must be those of the file. The golden invalid files are damaged, so what is reported of damage, and where, is compared too.
Then packed files are damaged: a byte of a unit, of the header, of the index; the end is cut off.

    python3 reader/tests/packed/packed_verbs_test.py

Check: packed-verbs
Needs: $b/programs $b/libtracebed.a
Slow: runs every command on every golden file twice

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "spec"))
import cases
from xxh3 import xxh3_64

GOLDEN = cases.ROOT / "spec" / "golden"
COMMANDS = [
    "info", "info --json", "dump", "dump --json --order=stream", "report", "report --json --by=thread -j 2",
    "report --by=second", "tree", "tree --json", "slowest", "flows", "threads --json", "histogram . FILE", "strings",
    "strings --json --table", "verify", "verify --json -j 2", "flame -o -", "diff FILE", "aggregate FILE",
    "sql SELECT_COUNT", "export --to=chrome -o -", "export --to=csv --table=events -o -", "export --to=folded -o -",
    "export --to=perfetto -o -", "export --to=speedscope -o -", "export --to=pprof -o -", "export --to=heaptrack -o -",
]  # fmt: skip
FOR_DAMAGED = ["dump --json", "verify"]
PROGRAM = """#include <tracebed/trace.h>
int main(void)
{
    if (tbed_start("run.tbed", NULL) != TBED_OK)
        return 1;
    for (int i = 0; i < 60000; i++) {
        TBED_SPAN("outer");
        TBED_SPAN_ARGS("inner", "i", i);
        if (i % 100 == 0)
            TBED_LOG("%d of %s", i, "many");
    }
    tbed_stop();
    return 0;
}
"""


def tracebed(folder, *words):
    ran = subprocess.run([cases.TRACEBED, *words], cwd=folder, capture_output=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


def words_of(command, name):
    words = ["SELECT count(*), sum(duration) FROM spans" if w == "SELECT_COUNT" else w for w in command.split()]
    if "FILE" in words:
        words.remove("FILE")
        words += [name] if words[0] in ("diff", "aggregate") else []
    return words[:1] + ([] if words[0] == "sql" else words[1:]) + [name] + (words[1:] if words[0] == "sql" else [])


def without_packed(printed):
    """What only a packed trace has in its description."""
    printed = re.sub(rb"(?m)^  packed .*\n", b"", printed)
    return re.sub(rb'"packed_bytes":[0-9]+,', b"", printed)


def compare(folder, name, command):
    words = words_of(command, name)
    plain, packed = (tracebed(os.path.join(folder, where), *words) for where in ("plain", "packed"))
    if plain != (packed[0], without_packed(packed[1]), packed[2]):
        raise cases.Failure(f"{name}: '{command}': {plain} and packed {packed}"[:3000])


def pack(folder, path):
    """Packs a file and unpacks it again. False: it is no trace."""
    name = os.path.basename(path)
    plain, packed = (os.path.join(folder, where) for where in ("plain", "packed"))
    for where in (plain, packed):
        os.makedirs(where, exist_ok=True)
    with open(path, "rb") as file, open(os.path.join(plain, name), "wb") as copy:
        content = file.read()
        copy.write(content)
    status, _, complaint = tracebed(plain, "pack", name, "-o", os.path.join(packed, name))
    if status != 0:
        expected = tracebed(plain, "dump", name)
        cases.need(status == 2 and expected[0] == 2 and expected[2] == complaint, f"{name}: pack: {complaint}")
        return False
    back = os.path.join(packed, name + ".back")
    cases.need(tracebed(packed, "unpack", name, "-o", back)[0] == 0, f"{name}: unpack")
    with open(back, "rb") as file:
        cases.need(file.read() == content, f"{name}: what is unpacked differs")
    os.remove(back)
    return True


def compare_all(folder, paths, commands):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        kept = [path for path, is_trace in zip(paths, pool.map(lambda path: pack(folder, path), paths)) if is_trace]
        jobs = [(os.path.basename(path), command) for path in kept for command in commands]
        for _ in pool.map(lambda job: compare(folder, *job), jobs):
            pass
    return kept


def record(folder):
    with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    cases.output_of(folder, "gcc", *cases.includes("format", "writer"), "program.c", cases.BUILD / "libtracebed.a",
                    "-lpthread", "-lm", "-o", "program")  # fmt: skip
    cases.output_of(folder, "./program")
    return os.path.join(folder, "run.tbed")


def test_golden_files_read_the_same(folder):
    valid = sorted(glob.glob(str(GOLDEN / "valid" / "*.tbed")))
    cases.need(len(compare_all(folder, valid, COMMANDS)) == len(valid), "all valid files are packed")


def test_damaged_golden_files_read_the_same(folder):
    invalid = sorted(glob.glob(str(GOLDEN / "invalid" / "*.tbed")))
    cases.need(len(compare_all(folder, invalid, FOR_DAMAGED)) > len(invalid) / 2, "most invalid files are packed")


def test_a_recorded_trace_reads_the_same(folder):
    compare_all(folder, [record(folder)], COMMANDS)
    size, packed = (os.path.getsize(os.path.join(folder, where, "run.tbed")) for where in ("plain", "packed"))
    cases.need(packed < size / 5, f"{packed} of {size} bytes")


def damaged(folder, content, at, name="bad.tbed"):
    """Writes a copy with one byte changed."""
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1:])


def dump(folder, name):
    status, printed, complaint = tracebed(folder, "dump", "--json", name)
    return status, [json.loads(line) for line in printed.splitlines()], complaint


def test_damage_of_the_packed_file(folder):
    pack(folder, record(folder))
    packed = os.path.join(folder, "packed")
    with open(os.path.join(packed, "run.tbed"), "rb") as file:
        content = file.read()
    _, whole, _ = dump(packed, "run.tbed")
    units = [at for at in range(0, len(content) - 40, 8) if content[at:at + 4] == b"UNIT"]
    cases.need(len(units) > 5, f"{len(units)} units")

    damaged(packed, content, units[-1] + 200)  # of events
    status, some, complaint = dump(packed, "bad.tbed")
    cases.need(status == 1 and b"a unit of the packed trace is damaged" in complaint, complaint)
    cases.need(len(whole) / 2 < len(some) < len(whole), f"{len(some)} of {len(whole)}")
    status, _, complaint = tracebed(packed, "unpack", "bad.tbed", "-o", "no.tbed")
    cases.need(status == 2 and f"(offset {units[-1]})".encode() in complaint, complaint)
    cases.need(not os.path.exists(os.path.join(packed, "no.tbed")), "nothing is written")
    cases.need(tracebed(packed, "unpack", "--partly", "bad.tbed", "-o", "part.tbed")[0] == 1, "partly")
    cases.need(dump(packed, "part.tbed")[1] == some, "what is intact is the same")

    damaged(packed, content, units[0] + 200)  # the header page: a copy of the header is in the directory
    status, some, complaint = tracebed(packed, "verify", "bad.tbed")
    cases.need(status != 0 and b"a unit of the packed trace is damaged" in some + complaint, some + complaint)
    cases.need(b"libzstd" not in complaint, complaint)

    for at in (20, len(content) - 60, len(content) - 10):  # the header, the index, the trailer
        damaged(packed, content, at)
        status, all_of_it, complaint = dump(packed, "bad.tbed")
        cases.need(status == 1 and all_of_it == whole, f"at {at}: {status} {complaint}")

    with open(os.path.join(packed, "cut.tbed"), "wb") as file:
        file.write(content[:units[-1] + 100])
    status, some, complaint = dump(packed, "cut.tbed")
    cases.need(status == 1 and b"was cut" in complaint, complaint)
    cases.need(len(whole) / 2 < len(some) < len(whole), f"{len(some)} of {len(whole)}")


def test_what_a_packed_trace_is_refused_for(folder):
    pack(folder, str(GOLDEN / "valid" / "recorded.tbed"))
    packed = os.path.join(folder, "packed")
    status, _, complaint = tracebed(packed, "pack", "recorded.tbed", "-o", "again.tbed")
    cases.need(status == 2 and b"'tracebed unpack' restores it" in complaint, complaint)
    status, _, complaint = tracebed(os.path.join(folder, "plain"), "unpack", "recorded.tbed", "-o", "no.tbed")
    cases.need(status == 2 and b"not packed" in complaint, complaint)
    for verb in ("snapshot", "recover"):
        status, _, complaint = tracebed(packed, verb, "recorded.tbed", "-o", verb + ".tbed")
        cases.need(status == 0, complaint)
    cases.need(dump(packed, "snapshot.tbed")[1] == dump(packed, "recorded.tbed")[1], "the snapshot has all events")


def test_examples_of_the_specification(folder):
    del folder
    with open(cases.ROOT / "spec" / "packed.md", encoding="utf-8") as page:
        examples = dict(re.findall(r"```hex ([^\n]+)\n(.*?)```", page.read(), re.DOTALL))
    header, unit = bytes.fromhex(examples["packed header"]), bytes.fromhex(examples["packed unit"])
    cases.need(xxh3_64(header[:56]) == int.from_bytes(header[56:], "little"), "the header's checksum")
    packed = unit[28:] + bytes(4096)
    checksum = xxh3_64(packed, xxh3_64(unit[24:28], xxh3_64(unit[:16])))
    cases.need(checksum == int.from_bytes(unit[16:24], "little"), "the unit's checksum")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
