"""
Defaults of options: the file in the user's folder and TRACEBED_OPTIONS, in which order they count, and how mistakes in them
are reported.

    python3 reader/tests/tools/defaults_test.py

Check: defaults
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases



def run(folder, *words, status=0, **environment):
    """(output, messages) of a user whose home is the folder."""
    names = {name: value for name, value in os.environ.items() if name not in ("TRACEBED_OPTIONS", "XDG_CONFIG_HOME")}
    names.update(HOME=str(folder), **environment)
    ran = subprocess.run([cases.TRACEBED, *words], cwd=folder, env=names, capture_output=True, text=True, check=False)
    cases.need(ran.returncode == status, f"{words}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout, ran.stderr


def write(folder, text, name=".config/tracebed/options"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def trace(folder):
    run(folder, "record", "-o", "t.tbed", "sh", "-c", "true")
    return "t.tbed"


def is_json(text):
    return text.startswith("{")


def test_file_then_variable_then_command_line(folder):
    name = trace(folder)
    write(folder, "# mine\n\n[info]\n  --json\t\r\n[report]\n--limit=1\n")
    cases.need(is_json(run(folder, "info", name)[0]), "the file does not count")
    cases.need(not is_json(run(folder, "verify", name)[0]), "a section counts for another command")
    cases.need(not is_json(run(folder, "--no-defaults", "info", name)[0]), "--no-defaults does not count")
    colored = run(folder, "report", name, TRACEBED_OPTIONS="--color=always")[0]
    cases.need("\033[" in colored, "the variable does not count")
    plain = run(folder, "report", "--color=never", name, TRACEBED_OPTIONS="[report] --color=always")[0]
    cases.need("\033[" not in plain, "the command line does not win")
    write(folder, "--color=always\n")
    plain = run(folder, "report", name, TRACEBED_OPTIONS="[dump] --json\n[report]\t--color=never")[0]
    cases.need("\033[" not in plain, "the variable does not win over the file")
    plain = run(folder, "report", name, TRACEBED_OPTIONS="--no-defaults")[0]
    cases.need("\033[" not in plain, "TRACEBED_OPTIONS=--no-defaults does not count")


def test_the_folder_of_the_file(folder):
    name = trace(folder)
    write(folder, "[info]\n--json\n", "elsewhere/tracebed/options")
    is_found = {place: is_json(run(folder, "info", name, XDG_CONFIG_HOME=place)[0])
                for place in (str(folder / "elsewhere"), "elsewhere", "/nonexistent")}
    cases.need(is_found == {str(folder / "elsewhere"): True, "elsewhere": False, "/nonexistent": False}, str(is_found))
    (folder / "elsewhere/tracebed/options").rename(folder / "options")
    for name_here in (".tracebed", "tracebed/options", ".config/options"):
        write(folder, "[info]\n--json\n", name_here)
    cases.need(not is_json(run(folder, "info", name)[0]), "a file of the current folder is read")


def test_mistakes_are_reported_with_their_place(folder):
    name = trace(folder)
    for text, line, what in (("[info]\n--jsno\n", 2, "Did you mean '--json'"), ("[info\n", 1, "not a section"),
                             ("\n[inof]\n", 2, "'inof' is not a command"), ("[info]\n\n-j\n", 3, "not an option"),
                             ("[info]\nrun.tbed\n", 2, "not an option"), ("--json\n", 1, ""), ("[]\n", 1, "command")):
        path = write(folder, text)
        command = "flame" if text == "--json\n" else "info"  # which has no --json
        said = run(folder, command, name, status=2)[1]
        cases.need(f"{path}, line {line}" in said and what in said, f"{text!r}: {said}")
        run(folder, "--no-defaults", "info", name)
    path = write(folder, "[report]\n--sort=self\n--limit=many\n")
    said = run(folder, "report", name, status=2)[1]
    cases.need(f"'--limit=many' comes from {path}, line 3" in said, said)
    path = write(folder, "[report]\n--limit\n--csv\n")
    said = run(folder, "report", name, status=2)[1]
    cases.need("option '--limit' requires an argument" in said and f"{path}, line 2" in said, said)
    said = run(folder, "--no-defaults", "report", name, TRACEBED_OPTIONS="[report] 20")
    cases.need(said[1] == "", said[1])
    said = run(folder, "info", name, status=2, XDG_CONFIG_HOME="/nonexistent", TRACEBED_OPTIONS="[info] --nothing")[1]
    cases.need("'--nothing' comes from TRACEBED_OPTIONS" in said, said)


def test_options_that_nobody_typed_are_named(folder):
    path = write(folder, "[record]\n--light\n")
    said = run(folder, "record", "--functions", "true", status=2)[1]
    cases.need("cannot be used with --functions" in said and f"'--light' is in force by {path}, line 2" in said, said)
    said = run(folder, "record", "sh", "-c", "exit 2", status=2)[1]
    cases.need("in force" not in said and "comes from" not in said, said)


def test_odd_files(folder):
    name = trace(folder)
    for text in ("x" * 70000, "[info]\n--json\0\n"):
        write(folder, text)
        cases.need("options" in run(folder, "info", name, status=2)[1], "taken for options")
    path = write(folder, "")
    run(folder, "info", name)
    path.unlink()
    os.mkfifo(path)
    cases.need("not a regular file" in run(folder, "info", name, status=2)[1], "a pipe is read")
    path.unlink()
    path.mkdir()
    cases.need("not a regular file" in run(folder, "info", name, status=2)[1], "a folder is read")


def test_help_shows_what_is_in_force(folder):
    path = write(folder, "[report]\n--limit=7\n")
    out = run(folder, "help", TRACEBED_OPTIONS="--color=never")[0]
    cases.need(re.search(rf"report +--limit=7 +\({path}, line 2\)", out), out)
    cases.need(re.search(r"all +--color=never +\(TRACEBED_OPTIONS\)", out), out)
    cases.need("in force" not in run(folder, "--no-defaults", "help")[0], "--no-defaults does not count")
    write(folder, "[nothing]\n")
    cases.need("'nothing' is not a command" in run(folder, "help")[0], "the mistake is not shown")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
