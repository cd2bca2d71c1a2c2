"""
'tracebed tui' in a pseudoterminal: its rows are those of 'tracebed tree', and every key does what the manual page says, on
large, narrow, tiny and resized terminals, with and without colors; names cannot do anything to the terminal.

    python3 reader/tests/tools/tui_test.py

Check: tui
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

# A terminal that is simple to imitate: it knows five sequences, and no colors.
TERMINFO = r"""tracebed-test|imitated by tui_test.py,
    cols#80, lines#24,
    cup=\E[%i%p1%d;%p2%dH, clear=\E[H\E[J, ed=\E[J, el=\E[K, rev=\E[7m, bold=\E[1m, sgr0=\E[m,
    kcuu1=\E[A, kcud1=\E[B, kcuf1=\E[C, kcub1=\E[D, khome=\E[H, kend=\E[F, kpp=\E[5~, knp=\E[6~, kbs=^?,
"""
UP, DOWN, RIGHT, LEFT, HOME, END, PAGE_UP, PAGE_DOWN = (f"\x1b[{key}" for key in ("A", "B", "C", "D", "H", "F", "5~", "6~"))
SECONDS = 10  # after which a screen is not expected any more
STACKS = b"main 1000\nmain;parse 300\nmain;parse;lex 200\nmain;parse;lex;read 50\nmain;Parse_end 7\nmain;emit 500\nmain;emit;lex 9\n"


def columns_of(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Terminal:
    """Runs 'tracebed tui' and imitates its terminal."""

    def __init__(self, folder, *words, term="tracebed-test", height=24, width=80, stdin=None):
        (folder / "terminal").write_text(TERMINFO)
        subprocess.run(["tic", "-x", "-o", folder / "terminfo", folder / "terminal"], check=True, capture_output=True)
        self.height, self.width, self.sent = height, width, b""
        self.clear()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            if stdin is not None:
                os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.environ.update(TERM=term, TERMINFO_DIRS=f"{folder / 'terminfo'}:/etc/terminfo:/lib/terminfo:/usr/share/terminfo")
            for name in ("LINES", "COLUMNS", "NO_COLOR", "TERMINFO"):
                os.environ.pop(name, None)
            os.execv(cases.TRACEBED, ["tracebed", "tui", *map(str, words)])

    def clear(self):
        self.row = self.column = 0
        self.cells = [[" "] * self.width for _ in range(self.height)]

    def lines(self):
        return ["".join(cells).rstrip() for cells in self.cells]

    def sequence(self, parameters, letter):
        if letter == "H":
            self.row, self.column = (int(number) - 1 for number in (parameters or "1;1").split(";"))
        elif letter == "J":
            for row in range(self.row, self.height):
                self.cells[row][self.column if row == self.row else 0 :] = [" "] * (self.width - (self.column if row == self.row else 0))
        elif letter == "K":
            self.cells[self.row][self.column :] = [" "] * (self.width - self.column)
        elif letter != "m":
            raise cases.Failure(f"unknown sequence {parameters}{letter}")

    def character(self, character):
        columns = columns_of(character)
        if character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(self.column - 1, 0)
        elif character == "\n":
            self.row = min(self.row + 1, self.height - 1)
        elif character < " " or "\x7f" <= character < "\xa0":
            raise cases.Failure(f"control character {character!r}")
        elif columns == 0:
            self.cells[self.row][self.column - 1] += character
        else:
            at = min(self.column, self.width - columns)
            self.cells[self.row][at : at + columns] = [character] + [""] * (columns - 1)
            self.column = min(at + columns, self.width - 1) if at + columns < self.width else self.width - 1

    def draw(self, data):
        for match in re.finditer(r"\x1b\[([\d;]*)(.)|(.)", data.decode(errors="strict"), re.S):
            if match[3] is None:
                self.sequence(match[1], match[2])
            else:
                self.character(match[3])

    def read(self, deadline):
        """More of the output; None: it has ended."""
        if not select.select([self.fd], [], [], max(deadline - time.monotonic(), 0))[0]:
            raise cases.Failure("\n".join(["not shown; the screen is:", *self.lines(), repr(self.sent[-300:])]))
        try:
            return os.read(self.fd, 65536) or None
        except OSError:
            return None

    def until(self, holds):
        """Reads until the screen is as expected."""
        deadline = time.monotonic() + SECONDS
        pending = b""
        while True:
            data = self.read(deadline)
            if data is None:
                raise cases.Failure("\n".join(["the program has ended; the screen is:", *self.lines()]))
            self.sent += data
            pending += data
            whole = re.match(rb"(?s).*?(?=(?:\x1b(?:\[[\d;]*)?|[\xc0-\xff][\x80-\xbf]{0,2})?\Z)", pending)[0]
            self.draw(whole)
            pending = pending[len(whole) :]
            if not pending and holds(self.lines()):
                return self.lines()

    def is_drawn(self):
        """The program parks the cursor in the last corner when all lines are drawn."""
        return (self.row, self.column) == (self.height - 1, self.width - 1)

    def press(self, keys, holds=None, path=None):
        """Types; the screen must become as expected, or the last line 'path'."""
        os.write(self.fd, keys.encode())
        return self.until(holds or (lambda lines: lines[-1] == path))

    def resize(self, height, width, holds):
        self.height, self.width = height, width
        self.clear()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        return self.until(holds)

    def end(self, keys="q", status=0):
        """All that is printed until the program ends."""
        if keys:
            os.write(self.fd, keys.encode())
        deadline = time.monotonic() + SECONDS
        while (data := self.read(deadline)) is not None:
            self.sent += data
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        cases.need(code == status, f"exit status {code}, not {status}: {self.sent[-500:]!r}")
        return self.sent


def make(folder, stacks=STACKS):
    (folder / "run.folded").write_bytes(stacks)
    return folder / "run.folded"


def names(lines):
    """The rows: marker and name of each."""
    return [line[41:].strip() for line in lines[1:-2] if line]


def start(folder, *words, **more):
    terminal = Terminal(folder, *words, **more)
    terminal.until(lambda lines: lines[-1] == "Type ? for help, q to quit")
    return terminal


def is_built(folder):
    run = subprocess.run([cases.TRACEBED, "tui", make(folder)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return "needs a terminal" in run.stderr, run


def test_rows_are_those_of_tree(folder):
    for words in ([], ["--per-thread"], ["--exclude=^lex$"]):
        tree = cases.output_of(folder, cases.TRACEBED, "tree", "--paths", *words, make(folder)).splitlines()
        expected = [(line[:41], line[41:].strip()) for line in tree if "%" in line]
        terminal = start(folder, *words, folder / "run.folded", height=40)

        def is_tree(lines, expected=expected):
            return [(line[:41], re.sub(r"^[+-] ", "", line[41:].strip())) for line in lines[1:-2] if line] == expected

        lines = terminal.press("g+", is_tree)
        cases.need(("only a part" in lines[0]) == ("--exclude=^lex$" in words), lines[0])
        terminal.end()


def test_keys_move_and_fold(folder):
    terminal = start(folder, make(folder))
    root = terminal.lines()[1][41:].strip()[2:]
    cases.need(names(terminal.lines()) == [f"- {root}", "+ main"], terminal.lines())
    terminal.press(DOWN, path=f"{root} > main")
    terminal.press("l", lambda lines: names(lines)[1:] == ["- main", "+ parse", "+ emit", "Parse_end"])
    terminal.press(RIGHT, path=f"{root} > main > parse")
    terminal.press("j", path=f"{root} > main > emit")
    terminal.press("k", path=f"{root} > main > parse")
    terminal.press("\r", lambda lines: names(lines)[2:4] == ["- parse", "+ lex"])
    terminal.press(" ", lambda lines: names(lines)[2:4] == ["+ parse", "+ emit"])
    terminal.press("+", lambda lines: names(lines)[2:] == ["- parse", "- lex", "read", "+ emit", "Parse_end"])
    terminal.press(END, path=f"{root} > main > Parse_end")
    terminal.press("kk", path=f"{root} > main > parse > lex > read")
    terminal.press("h", path=f"{root} > main > parse > lex")
    terminal.press(LEFT, lambda lines: names(lines)[3:] == ["+ lex", "+ emit", "Parse_end"])
    terminal.press("h", path=f"{root} > main > parse")
    terminal.press("-l", lambda lines: names(lines)[3:] == ["+ lex", "+ emit", "Parse_end"])
    terminal.press(UP, path=f"{root} > main")
    terminal.press(HOME, path=root)
    terminal.press("G", path=f"{root} > main > Parse_end")
    terminal.press("g-", lambda lines: names(lines) == [f"+ {root}"])
    terminal.end()


# Of equal ones the one with the lower name comes first.
def test_sorts(folder):
    stacks = b"m;e 1\nm;b 2\nm;e 2\nm;b;x 33\nm;e 3\nm;c 30\nm;b 5\nm;d 40\nm;e 15\nm;a 21\n"
    terminal = start(folder, make(folder, stacks))
    terminal.press("jl", lambda lines: names(lines)[2:] == ["+ b", "d", "c", "a", "e"])
    for by, order in (("self", "d c a e b"), ("count", "e b a c d"), ("name", "a b c d e"), ("total", "b d c a e")):

        def is_sorted(lines, by=by, expected=order.split()):
            found = [name.lstrip("+ ") for name in names(lines)[2:]]
            return lines[0].endswith(f"span, by {by}") and expected == found and lines[-1].endswith(" > m")

        terminal.press("s", is_sorted)
    terminal.end()


def test_searches(folder):
    terminal = start(folder, make(folder))
    root = names(terminal.lines())[0][2:]
    terminal.press("n", lambda lines: lines[-1].startswith("Nothing to search for"))
    terminal.press("/LEZ", path="/LEZ")
    terminal.press("\x7fX", path="/LEX")
    terminal.press("\r", lambda lines: names(lines)[2:4] == ["- parse", "+ lex"] and lines[-1] == f"{root} > main > parse > lex")
    terminal.press("n", path=f"{root} > main > emit > lex")
    terminal.press("n", lambda lines: lines[-1].startswith("Searched around"))
    terminal.press("j", path=f"{root} > main > emit")
    terminal.press("N", path=f"{root} > main > parse > lex")
    terminal.press("/nowhere\r", path="No match")
    terminal.press("/q\x1b", path=f"{root} > main > parse > lex")
    terminal.press("?", lambda lines: lines[0] == "Keys of tracebed tui")
    terminal.press("q", path=f"{root} > main > parse > lex")
    terminal.end()


def test_help_is_complete_on_any_terminal(folder):
    terminal = start(folder, make(folder))
    whole = terminal.press("?", lambda lines: lines[-1] == "Any key goes back.")
    wanted = " ".join(" ".join(whole[:-1]).split())
    cases.need(wanted.startswith("Keys of tracebed tui Up Down, k j move by a row; PageUp") and wanted.endswith(" q quit"), wanted)
    terminal.press("j", lambda lines: "span, by total" in lines[0])
    terminal.end()
    for height, width in ((24, 40), (10, 59), (9, 35), (4, 24)):
        terminal = Terminal(folder, make(folder), height=height, width=width)
        terminal.until(lambda lines: lines[-1].startswith("Type ? for help") or height == 4)
        lines = terminal.press("?", lambda lines: lines[-1].startswith("Up Down: scroll"))
        found = lines[:-1]
        while not lines[-3].endswith("quit"):
            before = lines
            lines = terminal.press("j", lambda lines: lines[:-2] == before[1:-1] and lines[-1] == before[-1] and terminal.is_drawn())
            found.append(lines[-2])
        cases.need(" ".join(" ".join(found).split()) == wanted, f"{width} columns: {found}")
        cases.need(not any("…" in line for line in found), f"{width} columns: {found}")
        terminal.press(PAGE_UP + HOME, lambda lines: lines[0] == "Keys of tracebed tui")
        terminal.end("qq")


def test_large_trees_scroll(folder):
    stacks = b"".join(b"main;f%05d 1\n" % number for number in range(30000)) + b";".join([b"deep"] * 900) + b" 1\n"
    terminal = start(folder, make(folder, stacks))
    terminal.press("g+G", lambda lines: lines[-3].endswith("deep") and lines[-1].endswith("> deep"))
    terminal.press("g/f29999\r", lambda lines: "f29999" in lines[-1])
    terminal.press(PAGE_UP, lambda lines: re.search(r"> f\d+$", lines[-1]) and "f29999" not in lines[-1])
    terminal.press(PAGE_DOWN, lambda lines: "f29999" in lines[-1])
    terminal.end()


def test_terminals_of_any_size(folder):
    terminal = start(folder, make(folder))
    terminal.press("+/read\r", lambda lines: lines[-1].endswith("> read"))
    lines = terminal.resize(10, 30, lambda lines: lines[-1].endswith("> read"))
    cases.need(any(re.search(r"\d+ .* read$|^ +read$", line) for line in lines[1:-2]), lines)
    terminal.resize(1, 9, lambda lines: lines[0].strip().startswith("read"))
    terminal.press("k", lambda lines: "lex" in lines[0])
    terminal.resize(50, 200, lambda lines: len(names(lines)) == 8 and lines[-1].endswith("> lex"))
    terminal.end()


def test_no_change_of_size_is_missed(folder):
    """A size that changes just after the screen was drawn comes while the program is about to wait for a key."""
    terminal = start(folder, make(folder))
    for at in range(60):
        terminal.resize(5 + at % 9, 40 + at, lambda lines: lines[0].strip() != "" and lines[-1].strip() != "")
    terminal.end()


def test_names_do_nothing(folder):
    hostile = ["\x1b[2J\x1b]0;x\x07", "日本語", "e\u0301a\u0300", "\u202erev", "tab\there", "\x9b31m", "x" + "\u0300\u0301" * 40]
    hostile.append("long" * 500)
    events = [{"ph": "X", "name": name, "ts": 10 * at, "dur": 5, "pid": 1, "tid": 1} for at, name in enumerate(hostile)]
    (folder / "run.json").write_text(json.dumps({"traceEvents": events}))
    terminal = start(folder, folder / "run.json", height=40, width=100)
    lines = terminal.press("+", lambda lines: len(names(lines)) == len(hostile))
    text = "\n".join(lines)
    # Names with ASCII controls are no labels.
    for shown in ("2     <parse error>", "日本語", "\xe9a", r"\xe2\x80\xaerev", r"\xc2\x9b31m", "longlong"):
        cases.need(shown in unicodedata.normalize("NFC", text).replace("à", "a"), f"{shown} is not shown:\n{text}")
    terminal.press("/\u65e5\r", lambda lines: lines[-1].endswith("日本語"))
    terminal.end()


def test_colors(folder):
    trace = make(folder)
    for words, term, colored in (([], "xterm-256color", True), (["--color=never"], "xterm-256color", False), ([], "vt100", False)):
        terminal = Terminal(folder, *words, trace, term=term)
        printed = terminal.end("\x0cq").decode()
        cases.need("main" in printed, printed)
        cases.need((re.search(r"\x1b\[(?:\d+;)*31m", printed) is not None) == colored, f"{words} {term}: {printed!r}")


def test_terminal_is_left_as_it_was(folder):
    for keys, status in (("q", 0), ("\x03", -signal.SIGINT)):
        terminal = start(folder, make(folder))
        terminal.end(keys, status) if status == 0 else interrupt(terminal, keys)


def interrupt(terminal, keys):
    os.write(terminal.fd, keys.encode())
    _, status = os.waitpid(terminal.pid, 0)
    mode = termios.tcgetattr(terminal.fd)[3] if status is not None else 0
    os.close(terminal.fd)
    cases.need(mode & termios.ICANON and mode & termios.ECHO, "the terminal is left without echo")


def test_trace_from_standard_input(folder):
    terminal = start(folder, "-", stdin=make(folder))
    terminal.press("j", lambda lines: lines[-1].endswith("> main"))
    terminal.end()


def test_refusals(folder):
    is_there, run = is_built(folder)
    cases.need(run.returncode == 2 and is_there and "tracebed tree" in run.stderr, f"{run.returncode} {run.stderr}")
    printed = Terminal(folder, make(folder), term="no-such-terminal").end("", 2)
    cases.need(b"the terminal's type 'no-such-terminal' is unknown" in printed, printed)
    printed = Terminal(folder, make(folder), term="dumb").end("", 2)
    cases.need(b"a terminal of type 'dumb' cannot place its cursor" in printed, printed)
    for words in (["--depth=1"], [], ["a", "b"], ["/nowhere"], ["--jobs=x"]):
        run = subprocess.run([cases.TRACEBED, "tui", *words], capture_output=True, text=True)
        cases.need(run.returncode == 2 and run.stderr.startswith("tracebed: "), f"{words}: {run.returncode} {run.stderr}")


if __name__ == "__main__":
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tracebed-") as probe:
        there, found = is_built(pathlib.Path(probe))
        if not there and "ncurses" in found.stderr:
            print(f"skipped: {found.stderr.splitlines()[0]}")
            print("1 passed, 0 failed")
            sys.exit(0)
    sys.exit(cases.run_all(globals()))
