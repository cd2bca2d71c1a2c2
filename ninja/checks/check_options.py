"""
Checks that all places that list the options of a command list the same ones: the table for getopt_long() in the
sources, the help text, the manual page, and the completion for bash. The help texts fit in 80 columns. The section
"Part of the trace" is the same in all manual pages that have it, and all pages are rendered without a warning.

A second name for an option, such as --tid for --thread, has to be in the manual page only. Without bash the completion
is not checked, and without groff the pages are not rendered.

Check: option-lists
Needs: build/release/tracebed

SPDX-License-Identifier: MIT
"""

import collections
import os
import re
import shutil
import subprocess
import sys

import tree
from cases import BUILD, TRACEBED

TOOLS = "reader/tools/"
WIDTH = 80
VERB = re.compile(r'const struct tool_verb tool_verb_(\w+) = \{(?:\s*\.name = )?\s*"(\w+)"')
ENTRY = re.compile(r'\{\s*"([\w-]+)", (no|required|optional)_argument, NULL, ([\w\']+)\s*\}')

# Of one option: its names (the first is the usual one), its letter or None, and whether it has an "argument".
Option = collections.namedtuple("Option", "names letter argument")


# ---- The tables ----

def macros():
    """{name: text} of the lists that tables share."""
    found = {}
    for path in tree.files(".h"):
        if path.startswith(TOOLS):
            for name, text in re.findall(r"^#define (\w+)(?:\n|[ ]+)((?:.*\\\n)*.*)", tree.read(path), re.M):
                found[name] = text.replace("\\\n", " ")
    return found


MACROS = macros()


def expand(text):
    return re.sub(r"\b[A-Z]\w+\b", lambda match: expand(MACROS[match[0]]) if "{" in MACROS.get(match[0], "") else match[0], text)


def short_text(text):
    """The letters in strings and macros: '"l:h" TOOL_FILTER_SHORTS'."""
    parts = re.findall(r'"([^"]*)"|(\w+)', text)
    return "".join(letters if not macro else short_text(MACROS[macro]) for letters, macro in parts)


def table_of(path):
    """The options of a file's table, and the short ones that it gives to getopt."""
    text = tree.read(path)
    if "tool_from_to(&" in text:
        text = tree.read(TOOLS + "shared/tool_options.c")
    table = re.search(r"static const struct option \w+\[\] = \{(.*?)\{0\}", text, re.S)
    call = re.search(r"(?:tool|query)_option_next\([^;]*?argv,\s*((?:(?:\w+|\"[^\"]*\")\s*)+),\s*\w+,\s*&", text)
    shorts = short_text(call[1])
    options = {}
    for name, argument, value in ENTRY.findall(expand(table[1])):
        letter = value.strip("'") if value.startswith("'") else None
        names = [*options[value].names, name] if value in options else [name]
        options[value] = Option(names, letter, argument)
    return list(options.values()), re.findall(r"\w:*", shorts)


def check_letters(options, shorts):
    colons = {"no": "", "required": ":", "optional": "::"}
    expected = {option.letter + colons[option.argument] for option in options if option.letter}
    return [f"the short options for getopt and its table differ: {' '.join(sorted(expected ^ set(shorts)))}"] \
        if expected != set(shorts) else []


# ---- The lists; each gives the set of options, "-x" and "--name", that it has ----

def names_of(options, with_all):
    names = {f"--{name}" for option in options for name in (option.names if with_all else option.names[:1])}
    return names | {f"-{option.letter}" for option in options if option.letter}


def help_of(verb):
    return subprocess.run([TRACEBED, "help", verb], capture_output=True, text=True, check=True).stdout


def listed_by_help(text):
    lines = re.findall(r"^ {2,6}((?:-\w, )?--[a-z-]+)", text, re.M)
    return {name for line in lines for name in line.split(", ")}


def options_in(line):
    """Those in arguments of a macro: 'Fl o , -output Ns = Ns Ar file', 'Fl fv'."""
    letters = {f"-{letter}" for word in re.findall(r"\bFl ([a-z]+)", line) for letter in word}
    return letters | {f"-{word}" for word in re.findall(r"(?:Fl|,|\|) (-[a-z][a-z-]*)", line)}


def listed_by_page(text):
    return set().union(*map(options_in, re.findall(r"^\.It (Fl .*)", text, re.M)))


def listed_by_synopsis(text):
    synopsis = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh", text, re.S | re.M)[1]
    return set().union(*map(options_in, re.findall(r"^\.(?:Op )?(Fl .*)", synopsis, re.M)))


def completed(verb):
    """What bash offers; '=' ends the name of an option that needs an argument."""
    script = f'. {TOOLS}tracebed.bash; COMP_WORDS=(tracebed {verb} --); COMP_CWORD=2; _tracebed; echo "${{COMPREPLY[@]}}"'
    environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}
    run = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    return set(run.stdout.split())


# ---- What they have to be ----

def difference(what, found, expected):
    return [f"{what} lacks {name}" for name in sorted(expected - found)] + \
        [f"{what} has {name}, which is no option" for name in sorted(found - expected)]


def check_completion(verb, options):
    expected = {f"--{option.names[0]}" + ("=" if option.argument == "required" else "") for option in options}
    return difference("the completion", completed(verb), expected)


def check_synopsis(page, options):
    """One name of each option, and nothing else. That all have --help goes without saying."""
    found = listed_by_synopsis(page)
    missing = [option.names[0] for option in options
               if option.names[0] != "help" and not names_of([option], True) & found]
    unknown = found - names_of(options, True)
    return [f"the synopsis lacks --{name}" for name in missing] + \
        [f"the synopsis has {name}, which is no option" for name in sorted(unknown)]


def check_verb(verb, path):
    options, shorts = table_of(path)
    text, page = help_of(verb), tree.read(f"{TOOLS}man/tracebed-{verb}.1")
    problems = check_letters(options, shorts)
    problems += difference("the help text", listed_by_help(text), names_of(options, False))
    problems += [f"the help text has a line of {len(line)} columns: {line}"
                 for line in text.splitlines() if len(line) > WIDTH]
    problems += difference("the manual page", listed_by_page(page), names_of(options, True))
    problems += check_synopsis(page, options)
    if shutil.which("bash"):
        problems += check_completion(verb, options)
    return [f"{verb}: {problem}" for problem in problems]


def check_part():
    """One text about the options of a filter, the same in all pages that have it."""
    sections = collections.defaultdict(list)
    for path in tree.files(".1"):
        for section in re.findall(r"^\.Ss Part of the trace\n.*?(?=^\.S[sh] )", tree.read(path), re.S | re.M):
            sections[section].append(path)
    pages = sorted(sections.values(), key=len)
    return [f"{path}: 'Part of the trace' is not as in {pages[-1][0]}" for paths in pages[:-1] for path in paths]


def check_pages():
    for path in tree.files(".1", ".5"):
        run = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True)
        yield from (f"{path}: {line}" for line in run.stderr.splitlines())


def verbs():
    """{name: path}"""
    paths = [path for path in tree.files("_verb.c") if path.startswith(TOOLS)]
    return {match[2]: path for path in paths for match in VERB.finditer(tree.read(path))}


def main():
    found = verbs()
    problems = [f"{path}: which command this is was not found" for path in tree.files("_verb.c")
                if path.startswith(TOOLS) and path not in found.values()]
    for verb, path in sorted(found.items()):
        problems += check_verb(verb, path)
    problems += check_part()
    if shutil.which("groff"):
        problems += check_pages()
    for tool in ("bash", "groff"):
        if not shutil.which(tool):
            print(f"skipped in part: no {tool}")
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
