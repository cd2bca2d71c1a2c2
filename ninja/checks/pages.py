"""
Runs what a page of Markdown shows, as its reader would: for check_readme.py and check_docs.py.

A page is read from top to bottom, in an empty folder, with tracebed installed. A block of code is saved under the name
in the comment of its first line. A block without a language is a session: lines that begin with '$ ' are commands, and
those below are what they print. All commands of a page run in one shell, so 'cd' and '$!' work; each has to succeed.
/usr/local is replaced by the folder into which the check has installed tracebed.

Of the output that a page shows, lines without a digit, such as the heads of tables, have to appear in the real one.
Lines that begin with 'tracebed: ' have to appear as well, whatever their numbers, and then the command may fail.

SPDX-License-Identifier: MIT
"""

import collections
import os
import re
import shutil
import subprocess

import cases
from cases import ROOT, Failure

PROFILES = "spec/golden/measureme/"
IMPORTS = "reader/tests/exchange/imports"
# What a reader is expected to have already.
GIVEN = {
    "quick_xml.mm_profdata": PROFILES + "v9.mm_profdata",
    "before.mm_profdata": PROFILES + "v8.mm_profdata",
    "after.mm_profdata": PROFILES + "v9.mm_profdata",
    "run1.mm_profdata": PROFILES + "v9.mm_profdata",
    "run2.mm_profdata": PROFILES + "v9.mm_profdata",
    "soffice_4711.log": "reader/tests/logs/canonical.log",
    "chrome.json": IMPORTS + "_events/phases.json",
    "app.pftrace": IMPORTS + "_events/tracks.pftrace",
    "uftrace.data": IMPORTS + "/whole.uftrace",
}
SERVES_SECONDS = 1  # how long commands run that only an interrupt ends
END = "\x1e"  # before the status of a command

# A fenced block: its language, its lines, and the number of the first of them.
Block = collections.namedtuple("Block", "language lines number")
# A command of a session, and the lines that it is shown to print.
Command = collections.namedtuple("Command", "text shown")


def blocks(text):
    found, block = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if block is None and line.startswith("```"):
            block = Block(line[3:], [], number + 1)
        elif block is not None and line == "```":
            found.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
    return found


def name_of(lines):
    """The file that a block of code is saved as, or None."""
    match = re.fullmatch(r"(?:/\*|//|#|--) (\S+\.\w+)(?: \*/)?", lines[0])
    return match.group(1) if match else None


def commands_of(lines):
    starts = [number for number, line in enumerate(lines) if line.startswith(("$ ", "./"))]
    return [Command(lines[start].removeprefix("$ "), tuple(lines[start + 1 : end]))
            for start, end in zip(starts, [*starts[1:], len(lines)])]


def environment_of(folder):
    """That of a user who has run './run install' with this prefix."""
    prefix = folder / "prefix"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRACEBED", "RTL_", "XDG_"))}
    include, library = str(prefix / "include"), str(prefix / "lib")
    environment.update(HOME=str(folder / "home"), PATH=f"{prefix}/bin:{os.environ['PATH']}", C_INCLUDE_PATH=include,
                       CPLUS_INCLUDE_PATH=include, LIBRARY_PATH=library, LD_LIBRARY_PATH=library,
                       PKG_CONFIG_PATH=f"{library}/pkgconfig")
    return environment


def install(folder):
    """Installs tracebed in the folder, and gives its user's environment; the tree is ~/tracebed."""
    cases.output_of(ROOT, "sh", "ninja/install.sh", prefix=str(folder / "prefix"))
    (folder / "home").mkdir()
    (folder / "home/tracebed").symlink_to(ROOT)
    return environment_of(folder)


# ---- Running ----


def needs(environment):
    """(pattern of commands, what they need, whether it is there)"""
    prefix = f"{environment['HOME']}/../prefix"
    has = {"ruby": shutil.which("ruby") and os.path.isdir(f"{prefix}/lib/tracebed/ruby")}
    return [
        (r"^\./run ", "the tree that this check is part of", False),
        (r"^tracebed sql \S+ *(#|$)", "a terminal, in which a test of its own runs it", False),
        ("tracebed tui ", "a terminal, in which its own test runs it", False),
        ("(?i)ruby", "Ruby and its headers", has["ruby"]),
        ("^cmake ", "CMake", shutil.which("cmake")),
        ("^g[+][+] ", "g++", shutil.which("g++")),
        ("^sqlite3 ", "sqlite3", shutil.which("sqlite3") and os.path.exists(f"{prefix}/lib/tracebed/libtracebed-sqlite.so")),
        ("--off-cpu", "the kernel's permission", False),
    ]


def reason_to_skip(command, environment):
    for pattern, what, is_there in needs(environment):
        if re.search(pattern, command) and not is_there:
            return f"it needs {what}"
    return None


def serves(command):
    return re.match(r"tracebed (view|follow) ", command) and not re.search("--(png|html)", command)


def script_of(commands, environment):
    """A script for bash that runs the commands up to the first that fails, and says how each ended."""
    script = "exec 2>&1 </dev/null\n"
    for command in commands:
        text = command.text.replace("/usr/local", f"{environment['HOME']}/../prefix")
        if serves(text):
            text = f"timeout -s INT {SERVES_SECONDS} {text} || [ $? = 124 ]"
        may_fail = any(line.startswith("tracebed: ") for line in command.shown)
        script += f"{text}\nstatus=$?; printf '{END}%d\\n' $status\n"
        script += "" if may_fail else "[ $status = 0 ] || exit 0\n"
    return script


def words(line):
    return " ".join(line.split())


def without_numbers(line):
    return re.sub(r"\d+", "0", words(line))


def compare(page, command, output):
    """The sample output that the page shows has the heads, words and errors of the real one."""
    real = {words(line) for line in output.splitlines()}
    errors = {without_numbers(line) for line in output.splitlines()}
    for line in command.shown:
        is_error = line.startswith("tracebed: ") and without_numbers(line) not in errors
        is_text = re.search("[a-z]", line) and not re.search(r"\d", line) and words(line) not in real
        if is_error or is_text:
            raise Failure(f"$ {command.text}\n{page} shows the line '{line.strip()}', which is not in the output:\n{output}")


def run_commands(page, commands, folder, environment):
    """Runs a page's commands; what they start in the background ends with the last one."""
    log = folder.parent / "log"
    with open(log, "wb") as output:
        subprocess.run(["bash", "-c", script_of(commands, environment)], cwd=folder, env=environment,
                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    *parts, rest = re.split(f"{END}(\\d+)\n", log.read_text(errors="replace"))
    for command, printed, status in zip(commands, parts[::2], parts[1::2]):
        may_fail = any(line.startswith("tracebed: ") for line in command.shown)
        if status != "0" and not may_fail:
            raise Failure(f"{page}: $ {command.text}\n{printed}exit status {status}")
        compare(page, command, printed)
    if len(parts) // 2 < len(commands):
        raise Failure(f"{page}: $ {commands[len(parts) // 2].text}\n{rest}the shell ended")


def run_page(page, text, folder, environment, elsewhere=()):
    """Does what the page shows, in the empty folder. Blocks of languages in 'elsewhere' are run by other checks."""
    commands = []
    for name, source in GIVEN.items():
        if re.search(re.sub("run[12]", "run.*", name), text):
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, folder / name)
    for block in blocks(text):
        if block.language == "":
            commands += commands_of(block.lines)
        elif block.language not in elsewhere:
            save(page, block, folder)
    reasons = [reason_to_skip(command.text, environment) for command in commands]
    for command, reason in zip(commands, reasons):
        if reason is not None:
            print(f"{page}: skipped, as {reason}: {command.text}")
    chosen = [command for command, reason in zip(commands, reasons) if reason is None]
    run_commands(page, chosen, folder, environment)
    return len(chosen)


def save(page, block, folder):
    name = name_of(block.lines)
    if name is None:
        raise Failure(f"{page}:{block.number}: a block of {block.language} does not start with a comment with its file's name")
    if (folder / name).exists():
        raise Failure(f"{page}:{block.number}: there are two blocks named {name}")
    (folder / name).write_text("\n".join(block.lines) + "\n", encoding="utf-8")


def verify_traces(folder, environment):
    """Gives how many traces there are; all have to be intact."""
    traces = sorted(path.name for path in folder.iterdir() if re.search(r"\.tbed(\.\d+)?$", path.name))
    for trace in traces:
        run = subprocess.run(["tracebed", "verify", trace], cwd=folder, env=environment, capture_output=True, text=True)
        if run.returncode != 0:
            raise Failure(f"tracebed verify {trace}: {run.stdout}{run.stderr}")
    return len(traces)
