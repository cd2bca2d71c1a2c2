#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no verb ignores an option: it takes effect, or it is refused with a message that names it.

The table lists, for each verb and option, the kinds of input on which the option has an effect. For these the
output has to differ from that without the option; for all others the verb has to exit with 2. Options that only
permit something (--force, --jobs, --color, --no-symbols) are not listed.

Check: options
Needs: $b/programs $b/reader/tests/agreement/agreement_program
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BUILD = os.path.join(ROOT, os.environ.get("TBED_BUILD", "build/release"))
TRACEBED = os.path.join(BUILD, "tracebed")
LOG = os.path.join(ROOT, "reader/tests/logs/canonical.log")
PROFILE = os.path.join(ROOT, "spec/golden/measureme/v9.mm_profdata")

SPANS = {"spans", "whole", "log", "log import", "profile", "profile import"}
ALL = SPANS | {"allocations", "messages"}
LOGS = {"log", "log import"}

SMALL = {"profile", "profile import"}  # rows too few to change places

# (verb, what is given in both runs, the option, where it acts[, where it is allowed and may change nothing])
OPTIONS = [
    ("tree", "--paths", "--per-thread", SPANS),
    ("tree", "--paths", "--depth=1", {"spans", "whole", "log", "log import", "profile", "profile import"}),
    ("tree", "--calls", "--depth=1", {"spans", "log", "log import"}),
    ("tree", "--calls", "--include-from={names}", LOGS | {"spans"}),
    ("tree", "--calls", "--exclude-from={names}", LOGS | {"spans"}),
    ("tree", "--paths", "--include-from={names}", set()),
    ("tree", "--calls", "--per-thread", set()),
    ("tree", "--calls", "--minimum=50", set()),
    ("flame", "--folded", "--per-thread", SPANS),
    ("flame", "--folded", "--minimum=50", set()),
    ("flame", "--folded", "--root=another", SPANS),
    ("flame", "-o -", "--minimum=50", SPANS),
    ("flame", "--folded --weight=bytes", "--per-thread", set()),
    ("report", "", "--over-time", SPANS | {"allocations"}),
    ("report", "", "--by=stack", set(), {"allocations"}),
    ("report", "", "--by=thread", SPANS, {"messages"}),
    ("report", "", "--by=hour", SPANS, {"messages", "allocations"}),
    ("report", "", "--sort=bytes", set(), {"allocations"}),
    ("report", "", "--sort=peak", {"allocations"}),
    ("report", "", "--sort=total", SPANS - SMALL, SMALL),
    ("report", "", "--percent-above=40", SPANS),
    ("report", "--json", "--exclude-from={names}", SPANS - SMALL, SMALL | {"messages"}),
    ("dump", "", "--absolute", ALL),
    ("dump", "--json", "--absolute", set()),
    ("dump", "--order=time", "--depth", set()),
    ("dump", "", "--limit=1", ALL),
    ("verify", "--json", "--quiet", set()),
    ("diff", "--json", "--by=module", LOGS),
    ("strings", "--raw", "--bindings", set()),
    ("strings", "--raw", "--unresolved", set()),
    ("export", "--to=chrome -o -", "--absolute", SPANS),
    ("export", "--to=chrome -o -", "--minimum-duration=1s", SPANS),
    ("export", "--to=chrome -o -", "--rebase=first", set()),
    ("export", "--to=rtl-log -o -", "--absolute", set()),
    ("export", "--to=rtl-log -o -", "--minimum-duration=1s", {"spans"} | LOGS),
    ("export", "--to=chrome -o -", "--format-version=8", set()),
    ("export", "--to=chrome -o -", "--quirks", set()),
]
TWO_FILES = {"diff"}
NOWHERE_SILENT = {"tree", "flame", "export", "diff", "dump"}  # what an empty picture shows of no spans is no option's


def run(*arguments):
    done = subprocess.run([TRACEBED, *arguments], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def make_inputs(folder):
    """{kind: path}"""
    inputs = {kind: os.path.join(folder, kind + ".tbed")
              for kind in ("spans", "whole", "messages", "allocations", "log import", "profile import")}
    inputs.update({"log": LOG, "profile": PROFILE})
    program = os.path.join(BUILD, "reader/tests/agreement/agreement_program")
    for kind, words in (("spans", ""), ("whole", "whole"), ("messages", "talks")):
        subprocess.run([program, "3", inputs[kind], "given", *words.split()], check=True)
    subprocess.run([TRACEBED, "record", "-o", inputs["allocations"], "--", "/bin/ls"], check=True,
                   capture_output=True)
    for kind in ("log", "profile"):
        run("import", "-o", inputs[kind + " import"], inputs[kind])
    return inputs


def check(verb, given, option, where, kind, path):
    """A description of the problem, or None."""
    files = [path] * (2 if verb in TWO_FILES else 1)
    without = run(verb, *given.split(), *files)
    code, text, errors = run(verb, *given.split(), option, *files)
    name = option.split("=")[0]
    if not where:
        is_refused = code == 2 and name in errors
        return None if is_refused else "not refused, or %s not named: %s" % (name, errors.strip())
    if kind in where and (code == 2 or text == without[1]):
        return "has no effect (exit code %d) %s" % (code, errors.strip())
    if kind not in where and verb not in NOWHERE_SILENT and code != 2:
        return "there is nothing for it to act on, and it is not refused"
    return None


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="tracebed-options-") as folder:
        names = os.path.join(folder, "names")
        with open(names, "w", encoding="ascii") as file:
            file.write("label 1\nInit\n")
        inputs = make_inputs(folder)
        for verb, given, option, where, *allowed in OPTIONS:
            for kind, path in inputs.items():
                if kind in (allowed[0] if allowed else ()):
                    continue
                problem = check(verb, given, option.format(names=names), where, kind, path)
                if problem is not None:
                    problems.append("%s %s %s, %s: %s" % (verb, given, option, kind, problem))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
