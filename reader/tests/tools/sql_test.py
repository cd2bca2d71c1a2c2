#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
'tracebed sql': operands and options, the three ways to print rows, errors, several files, the prompt, and that nothing is
written.

    python3 reader/tests/tools/sql_test.py

Check: sql
Needs: $b/programs $b/reader/tests/sql/sql_program $b/reader/tests/agreement/agreement_program
"""

import csv
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

PROGRAM = cases.BUILD / "reader/tests/sql/sql_program"
AGREEMENT = cases.BUILD / "reader/tests/agreement/agreement_program"
PROFILE = cases.ROOT / "spec/golden/measureme/v9.mm_profdata"


def make(folder, name="run.tbed", seed=1):
    subprocess.run([PROGRAM, str(seed), f"{folder}/{name}"], check=True)
    return f"{folder}/{name}"


def run(*words, code=0, text=None, folder=None):
    done = subprocess.run([cases.TRACEBED, "sql", *map(str, words)], capture_output=True, input=text, cwd=folder,
                          stdin=None if text is not None else subprocess.DEVNULL)  # fmt: skip
    cases.need(done.returncode == code, f"{words}: exit status {done.returncode}\n{done.stdout}\n{done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def rows(*words, **more):
    return [list(json.loads(line).values()) for line in run("--json", *words, **more)[0].splitlines()]


def need_equal(found, expected):
    cases.need(found == expected, f"found    {found!r}\nexpected {expected!r}")


def test_rows_are_printed_in_three_ways(folder):
    trace = make(folder)
    sql = "SELECT NULL AS n, 1.5 AS r, 'a,\"b\"\n' AS t, x'00ff' AS b, 7 AS n UNION ALL SELECT 1, 2, 'x', NULL, -3"
    text, _ = run(trace, sql)
    need_equal(text.splitlines()[1].split(), ["NULL", "1.5", 'a,"b"\\x0a', "x'00ff'", "7"])
    need_equal(run("--json", trace, sql)[0].splitlines()[0], '{"n":null,"r":1.5,"t":"a,\\"b\\"\\n","b":"00ff","n_2":7}')
    found = list(csv.reader(io.StringIO(run("--csv", trace, sql)[0], newline=""), strict=True))
    need_equal(found, [["n", "r", "t", "b", "n"], ["", "1.5", 'a,"b"\n', "x'00ff'", "7"], ["1", "2", "x", "", "-3"]])


def test_statements_come_from_three_places(folder):
    trace = make(folder)
    (folder / "s.sql").write_text("-- a comment\nSELECT 1; SELECT 'x;y' AS t;;\n")
    need_equal(rows("-f", folder / "s.sql", trace), [[1], ["x;y"]])
    need_equal(rows(trace, "-", text=b"SELECT count(*) FROM spans WHERE label = 'accept'"), [[400]])
    with open(trace, "rb") as file:
        need_equal(rows("-", "SELECT count(*) FROM threads", text=file.read()), [[5]])
    need_equal(rows(trace, "SELECT 1 AS a WHERE 0"), [])
    need_equal(run("--csv", trace, "SELECT 1 AS a WHERE 0")[0], "a\r\n")


def test_usage_is_checked(folder):
    trace = make(folder)
    for words in ([], [trace], ["--csv", "--json", trace, "SELECT 1"], ["-", "-"], ["-f", "/nowhere", trace],
                  ["/nowhere", "SELECT 1"], [*[trace] * 11, "SELECT 1"], ["--nonsense", trace]):  # fmt: skip
        need_equal(run(*words, code=2)[0], "")
    cases.need("is no file" in run(trace, "mistyped.tbed", code=2)[1], "no hint at a mistyped file")


def test_errors_show_where_they_are(folder):
    trace = make(folder)
    error = run(trace, "SELECT *\nFRM spans", code=2)[1]
    cases.need('near "FRM": syntax error\n  FRM spans\n  ^' in error, error)
    error = run(trace, "SELECT dura FROM spans", code=2)[1]
    cases.need("no such column: dura\n  SELECT dura FROM spans\n         ^\n  Did you mean 'dur'? '.schema' lists those of each table; text is in" in error, error)
    error = run(trace, "SELECT severity FROM spans", code=2)[1]
    cases.need("Other tables have it. '.schema' lists" in error, error)
    error = run(trace, "SELECT * FROM spens", code=2)[1]
    cases.need("no such table: spens\n  Did you mean 'spans'? '.tables' lists all.\n" in error, error)
    error = run(trace, "SELECT * FROM main.qqqqq", code=2)[1]
    cases.need("no such table: main.qqqqq\n  '.tables' lists all.\n" in error, error)
    need_equal(run(trace, "SELECT 1 AS a; SELECT nothing", code=2)[0], "a\n1\n")


def test_files_are_only_read(folder):
    trace = make(folder)
    sqlite3.connect(folder / "own.db").executescript("CREATE TABLE t(x); INSERT INTO t VALUES (5);")
    before = sorted(os.listdir(folder))
    for sql in (f"VACUUM INTO '{folder}/new.db'", f"ATTACH '{folder}/' || 'new.db' AS n; CREATE TABLE n.t(x)",
                f"ATTACH '{folder}/new.db' AS n", f"ATTACH '{folder}/own.db' AS o; INSERT INTO o.t VALUES (6)",
                "DELETE FROM spans", "SELECT load_extension('x')"):  # fmt: skip
        run(trace, sql, code=2)
    need_equal(sorted(os.listdir(folder)), before)
    need_equal(rows(trace, f"ATTACH DATABASE '{folder}/own.db' AS o; SELECT x FROM o.t"), [[5]])
    need_equal(rows(trace, "CREATE TABLE m AS SELECT DISTINCT thread FROM spans; SELECT count(*) FROM m"), [[5]])


def test_several_files(folder):
    trace, other = make(folder), make(folder, "it's new.tbed", 2)
    sql = "SELECT (SELECT count(*) FROM main.spans), (SELECT count(*) FROM b.spans), (SELECT count(*) FROM c.spans)"
    first, second, third = rows(trace, other, trace, sql)[0]
    cases.need(first == third and first != second, "the files are mixed up")
    attached = "ATTACH 'it''s new.tbed' AS \"a b\"; SELECT count(*) FROM \"a b\".spans; DETACH \"a b\"; SELECT 1"
    need_equal(rows(trace, attached, folder=folder), [[second], [1]])
    cases.need("cannot be opened" in run(trace, "ATTACH 'nothing' AS n", code=2, folder=folder)[1], "attached")


def test_foreign_files_and_damage(folder):
    need_equal(rows(PROFILE, "SELECT count(*) > 0 FROM spans"), [[1]])
    trace = make(folder)
    data = bytearray(open(trace, "rb").read())
    data[9 * 4096 + 100] ^= 1
    open(trace, "wb").write(data)
    out, error = run(trace, "SELECT count(*) FROM spans", code=1)
    cases.need("damaged" in error, error)


def test_all_conditions_are_obeyed(folder):
    """What is pushed down to the scan, and what SQLite checks itself, choose the same rows."""
    for seed, words in enumerate(("given others categories arguments open", "given whole back", "given deep")):
        path = f"{folder}/{seed}.tbed"
        subprocess.run([AGREEMENT, str(seed), path, *words.split()], check=True)
        for where in ("ts > 5001000", "ts >= 5001000.5 AND ts < 5002000", "dur = 12", "label = 'label 3'",
                      "label IN ('label 1', 'label 2')", "depth IN (1, 3)", "label = NULL", "dur IS NULL",
                      "label = 'LABEL 3' COLLATE NOCASE", "ts < -1e300", "ts < 1e300", "self BETWEEN 3 AND 9",
                      "thread = 'track 1' AND depth > 2", "id = (SELECT max(id) FROM spans)"):  # fmt: skip
            plain = re.sub(r"(?<!')\b(ts|dur|label|depth|self|thread|id) ", r"+\1 ", where)
            of = "SELECT count(*), min(id), sum(ts), sum(length(args)) FROM spans WHERE "
            need_equal(rows(path, of + where), rows(path, of + plain))
        for by in ("label", "thread, label", "depth", "category, depth", "label DESC, thread"):
            of = f"SELECT {by.replace(' DESC', '')}, count(*), sum(dur), sum(length(args)) FROM spans GROUP BY "
            plain = ", ".join("+" + column for column in by.replace(" DESC", "").split(", "))
            order = ", ".join("+" + column for column in by.split(", "))
            need_equal(rows(path, of + by.replace(" DESC", "") + f" ORDER BY {by}"), rows(path, of + f"{plain} ORDER BY {order}"))


def test_functions(folder):
    trace = make(folder)
    values = "(VALUES (1), (5), (NULL), (9), (7))"
    need_equal(rows(trace, f"SELECT percentile(column1, 0), percentile(column1, 50), percentile(column1, 100), median(column1) "
                           f"FROM {values}"), [[1, 5, 9, 5]])  # fmt: skip
    need_equal(rows(trace, "SELECT percentile(x, 99), median(1.5) FROM (SELECT NULL AS x)"), [[None, 1.5]])
    need_equal(rows(trace, "SELECT format_ns(999), format_ns(1240000), format_ns(-2.5e9), format_bytes(3250586), format_ns(NULL)"),
               [["999 ns", "1.24 ms", "-2.50 s", "3.10 MiB", None]])
    run(trace, "SELECT percentile(dur, 101) FROM spans", code=2)
    run(trace, "SELECT percentile(label, 50) FROM spans", code=2)


def talk(words, lines, home, wanted):
    """What the prompt prints on a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(HOME=str(home), TERM="dumb", NO_COLOR="1")
        os.execv(str(cases.TRACEBED), ["tracebed", "sql", *words])
    told = b""
    os.write(terminal, lines.encode())
    end = time.monotonic() + 20
    while time.monotonic() < end and wanted not in told:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                told += os.read(terminal, 65536)
            except OSError:
                break
    os.write(terminal, b"\n.quit\n")
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            break
        if not more:
            break
        told += more
    return told.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_prompt(folder):
    trace = make(folder)
    told, code = talk([trace], ".tables\n.schema spans\nSELECT 40 +\n  2 AS answer;\nSELECT x;\n.mode json\nSELECT 7 AS y;\n",
                      folder, b'{"y":7}')  # fmt: skip
    need_equal(code, 0)
    for text in ("label_statistics", "when it began", "answer", "42", "no such column: x", '{"y":7}'):
        cases.need(text in told, f"'{text}' is not in\n{told}")


def test_an_interrupt_ends_the_statement(folder):
    trace = make(folder)
    child = subprocess.Popen([cases.TRACEBED, "sql", trace,
                              "SELECT 'begun' AS x; SELECT count(*) FROM events a, events b, events c"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=10)
    need_equal(child.returncode, 2)
    cases.need("interrupted" in error and "begun" in out, error + out)


def test_extension_in_other_programs(folder):
    """Python's own SQLite loads it."""
    trace = make(folder)
    db = sqlite3.connect(":memory:")
    if not hasattr(db, "enable_load_extension"):
        return "skipped: this Python loads no extensions"
    db.enable_load_extension(True)
    db.load_extension(str(cases.BUILD / "libtracebed-sqlite.so"))
    db.execute("SELECT tracebed_open(?)", [trace]).fetchall()
    need_equal(db.execute("SELECT count(*) FROM spans WHERE label = 'accept'").fetchall(), [(400,)])
    db.execute("CREATE VIRTUAL TABLE temp.more USING tracebed('" + trace + "', 'threads')")
    need_equal(db.execute("SELECT count(*) FROM more").fetchall(), [(5,)])
    try:
        db.execute("SELECT tracebed_attach('/nowhere', 'x')").fetchall()
    except sqlite3.OperationalError as error:
        cases.need("cannot be opened" in str(error), str(error))
    else:
        raise cases.Failure("a missing file was attached")
    return None


if __name__ == "__main__":
    if shutil.which("sqlite3") is None and not os.path.exists("/usr/include/sqlite3ext.h"):
        print("skipped: SQLite is not installed")
        sys.exit(0)
    sys.exit(cases.run_all(globals()))
