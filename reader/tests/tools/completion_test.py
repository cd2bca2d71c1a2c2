#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Completion in bash, zsh and fish: each shell runs on a terminal of its own, gets the beginning of a line and the tab key,
and has to make the line of it. 'tracebed --complete' itself is asked for the words that each command's own complaint
lists. Shells that are missing are skipped.

    python3 reader/tests/tools/completion_test.py

Check: completion
Needs: $b/programs
"""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

SCRIPTS = cases.ROOT / "reader/tools"
PATIENCE = 20  # seconds

# What is typed, and what a shell makes of it.
LINES = [
    ("tracebed repo", "tracebed report "),
    ("tracebed help verif", "tracebed help verify "),
    ("tracebed report --artif", "tracebed report --artifacts "),
    ("tracebed report --sor", "tracebed report --sort="),
    ("tracebed report --sort=tot", "tracebed report --sort=total "),
    ("tracebed report --sort=-p99,+na", "tracebed report --sort=-p99,+name "),
    ("tracebed report -s tot", "tracebed report -s total "),
    ("tracebed export --to=perfe", "tracebed export --to=perfetto "),
    ("tracebed export --to perfe", "tracebed export --to perfetto "),
    ("tracebed diff --with --sort=mark", "tracebed diff --with --sort=marked "),
    ("tracebed record --clock=mono", "tracebed record --clock=monotonic "),
    ("tracebed report run.t", "tracebed report run.tbed "),
    ("tracebed export --output=run.t", "tracebed export --output=run.tbed "),
    ("tracebed record tracebed-frob", "tracebed record tracebed-frobnicate "),
    ("tracebed report --limit=run.t", "tracebed report --limit=run.t"),
]

BASH = """PS1='> '; source {scripts}/tracebed.bash
dump() {{ printf '%s' "$READLINE_LINE" > line.new; mv line.new line; READLINE_LINE= READLINE_POINT=0; }}
bind -x '"\\C-g": dump'; bind 'set bell-style none'
touch ready
"""
ZSH = """PS1='> '; fpath=({folder}/functions $fpath); autoload -Uz compinit; compinit -u -D
dump() {{ print -rn -- "$BUFFER" > line.new; command mv line.new line; BUFFER=; }}
zle -N dump; bindkey '^G' dump; setopt no_beep no_always_last_prompt
touch ready
"""


def environment(folder):
    """The one of a shell that finds the program, and a command to be recorded."""
    commands = folder / "bin"
    commands.mkdir()
    (commands / "tracebed").symlink_to(cases.TRACEBED)
    (commands / "tracebed-frobnicate").symlink_to("/bin/true")
    (folder / "run.tbed").touch()
    return {"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(folder), "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def wait_for(terminal, path):
    """Reads what the shell shows, or it would wait, until the file is there."""
    shown, end = b"", time.monotonic() + PATIENCE
    while not path.exists():
        cases.need(time.monotonic() < end, f"no {path.name}; the shell shows {shown!r}")
        if select.select([terminal], [], [], 0.01)[0]:
            shown += os.read(terminal, 4096)
    text = path.read_text()
    path.unlink()
    return text


def complete_on_terminal(folder, shell, setup):
    """What the shell makes of each line."""
    variables = environment(folder)
    (folder / "setup").write_text(setup.format(scripts=SCRIPTS, folder=folder))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(shell[0], shell, variables)
    try:
        os.write(terminal, b". ./setup\n")
        wait_for(terminal, folder / "ready")
        for typed, expected in LINES:
            os.write(terminal, typed.encode() + b"\t\x07")
            found = wait_for(terminal, folder / "line")
            cases.need(found == expected, f"{typed!r} becomes {found!r}, not {expected!r}")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_bash_completes_lines(folder):
    if not shutil.which("bash"):
        return "skipped: no bash"
    return complete_on_terminal(folder, ["bash", "--norc", "--noprofile", "-i"], BASH)


def test_zsh_completes_lines(folder):
    if not shutil.which("zsh"):
        return "skipped: no zsh"
    (folder / "functions").mkdir()
    shutil.copy(SCRIPTS / "tracebed.zsh", folder / "functions/_tracebed")
    return complete_on_terminal(folder, ["zsh", "-f", "-i"], ZSH)


def test_fish_completes_lines(folder):
    """Fish itself says what it would insert: the last word, to which it adds a space unless it ends in '='."""
    if not shutil.which("fish"):
        return "skipped: no fish"
    script = f"source {SCRIPTS}/tracebed.fish\nfor line in $argv; echo \"< $line\"; complete -C $line; end"
    (folder / "script").write_text(script)
    lines = [typed for typed, _ in LINES]
    run = subprocess.run(["fish", "--no-config", "script", *lines], cwd=folder, env=environment(folder),
                         capture_output=True, text=True)  # fmt: skip
    answers = {part.splitlines()[0]: part.splitlines()[1:] for part in run.stdout.split("< ")[1:]}
    for typed, expected in LINES:
        words = [answer.split("\t")[0] for answer in answers[typed]]
        made = [typed.rpartition(" ")[0] + " " + word for word in words]
        cases.need((made or [typed]) == [expected.rstrip(" ")], f"{typed!r} becomes {made}\n{run.stderr}")
    return None


def ask(*words):
    run = subprocess.run([cases.TRACEBED, "--complete", *words], capture_output=True, text=True, check=True)
    cases.need(run.stderr == "", run.stderr)
    what, *lines = run.stdout.splitlines()
    return what, [line.split("\t")[0] for line in lines]


def test_words_are_those_of_the_complaint(folder):
    """Each value that a command refuses with a list is completed from that list."""
    verbs = [word for word in ask("")[1] if word != "help"]
    count = 0
    for verb in verbs:
        for name in ask(verb, "--")[1]:
            option = name.rstrip("=")
            if not name.endswith("=") and option != "--ruby":
                continue
            run = subprocess.run([cases.TRACEBED, verb, f"{option}=?", "--", "/nowhere", "/nowhere"],
                                 capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=folder)  # fmt: skip
            listed = re.search(r"unknown .*\(expected (.*)\)", run.stderr)
            what, words = ask(verb, f"{option}=")
            cases.need((what == "words") == (listed is not None), f"{verb} {option}: {what}, but {run.stderr}")
            if listed:
                expected = [f"{option}={word}" for word in listed[1].split(", ")]
                cases.need(words == expected, f"{verb} {option}: {words}, not {expected}")
                count += 1
    cases.need(count > 40, f"only {count} options have words")


def test_options_without_a_command_are_suggested(folder):
    for typed, meant in (("--verison", "--version"), ("--hlep", "--help"), ("--no-pagr", "--no-pager"), ("reprot", "report")):
        run = subprocess.run([cases.TRACEBED, typed], capture_output=True, text=True, cwd=folder)
        cases.need(run.returncode == 2 and f"Did you mean 'tracebed {meant}'?" in run.stderr, run.stderr)


def test_nothing_is_run(folder):
    """Completion of values must not begin what the command does."""
    before = sorted(os.listdir(folder))
    for words in (["record", "-o", "x", "--clock=", "true"], ["record", "touch", "done", ""], ["record", "--", "touch", ""],
                  ["tui", "--color="], ["view", "--color=", "run.tbed"], ["report", "-h", "--sort="], ["sql", "x", ""],
                  ["nonsense", ""], ["report", "--nonsense", "--sort="], ["export", "--to=nonsense", "--table="], []):  # fmt: skip
        subprocess.run([cases.TRACEBED, "--complete", *words], capture_output=True, cwd=folder, check=True, timeout=PATIENCE)
    cases.need(sorted(os.listdir(folder)) == before, "a file appeared")
    cases.need(ask("report", "-h", "--sort=sel") == ("words", ["--sort=self"]), "options before it count")
    cases.need(ask("report", "--", "--so")[0] == "files", "after '--' there are no options")
    cases.need(ask("record", "ls", "--fi")[0] == "files", "the program's options are its own")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
