"""
Checks that the manual, the pages in docs and the manual pages, has every command, option and environment variable of the
program, every status and cause of drops, and every public header; that it names no others; and that its links lead
somewhere.

What the manual names are the words of code: of blocks, of `code` in texts, and of a manual page's macros for options.
Variables are those that product code asks for with getenv() or Ruby's ENV. Figures of comparison.md have to be in
bench/README.md. Without lowdown and mandoc the HTML is not made.

Check: manual
Needs: build/release/tracebed

SPDX-License-Identifier: MIT
"""

import os
import re
import shlex
import sys

import check_options
import pages
import tree
from cases import ROOT

sys.path.insert(0, str(ROOT / "ninja"))
import manual  # noqa: E402
import reference  # noqa: E402

PRODUCT = ("format/", "writer/", "reader/")
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
MAN_PAGES = sorted(path for path in tree.files(".1", ".5") if path.startswith("reader/tools/man/"))
# Names of ours that are no variables of the environment.
NOT_VARIABLES = re.compile(r"RTL_LOGFILE_\w+|TRACEBED_H\b")
STATUS = re.compile(r'X\((\w+), \d+, "([^"]+)"\)')


def commands():
    """{name: its options, '--name' and '-x'}"""
    found = {}
    for verb, path in check_options.verbs().items():
        found[verb] = check_options.names_of(check_options.table_of(path)[0], True)
    return found


def texts(paths):
    return {path: tree.read(path) for path in paths}


# ---- Variables ----


def product_files():
    return [path for path in tree.files(".c", ".h", ".hpp", ".rb") if path.startswith(PRODUCT)
            and "/tests/" not in path and "/examples/" not in path]


def variables():
    """Those that product code asks for, by whatever name its call has."""
    code = {path: tree.read(path) for path in product_files()}
    macros = dict(re.findall(r'#define (\w+) +"([A-Z][A-Z_]+)"', "\n".join(code.values())))
    found = set()
    for text in code.values():
        for name, macro in re.findall(r'(?:getenv|value_of)\((?:"(\w+)"|(\w+)\))', text):
            found.add(name or macros.get(macro))
        if "getenv(" in text:
            found.update(re.findall(r'"((?:TRACEBED|RTL)(?:_[A-Z]+)*)"', text))
        for names in re.findall(r"names\[\] = \{([^}]*)\};.{0,120}getenv\(names\[i\]", text, re.S):
            found.update(re.findall(r'"(\w+)"', names))
        found.update(re.findall(r'\bENV(?:\.fetch\(|\.key\?\(|\[)"(\w+)"', text))
    return found - {None}


def check_variables():
    real, manual_text = variables(), "\n".join(texts([*PAGES, *MAN_PAGES]).values())
    for name in sorted(real):
        if not re.search(rf"\b{name}\b", manual_text):
            yield f"the manual lacks the variable {name}; docs/environment.md has them all"
    for path, text in texts([*PAGES, *MAN_PAGES]).items():
        for name in sorted(set(re.findall(r"\b(?:TRACEBED_[A-Z_]+|RTL_LOGFILE\w*)\b", text))):
            if name not in real and not NOT_VARIABLES.match(name):
                yield f"{path} names {name}, which nothing reads"


# ---- Commands and options ----


def code_of(text):
    """(number of the line, code) of a page of Markdown: lines of blocks, and `code`."""
    for block in pages.blocks(text):
        for number, line in enumerate(block.lines, block.number):
            yield number, line.removeprefix("$ ")
    is_block = False
    for number, line in enumerate(text.splitlines(), 1):
        is_block ^= line.startswith("```")
        if not is_block:
            yield from ((number, code) for code in re.findall(r"`([^`]+)`", line))


def words_of(code):
    """The words of each command of a line of shell."""
    try:
        lexer = shlex.shlex(code.split(" #")[0], posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return []
    calls = [[]]
    for word in words:
        if word and not word.strip("|&;()"):
            calls.append([])
        else:
            calls[-1].append(word)
    return [[word for word in call if not re.match(r"[A-Z_]+=", word)] if call and "=" in call[0] else call for call in calls]


def check_call(words, known):
    """Of the words behind 'tracebed'."""
    verb = words[0]
    if verb in ("-h", "--help", "--version", "help", "COMMAND", "…") or not re.fullmatch(r"[a-z]+", verb):
        return
    if verb not in known:
        yield f"'tracebed {verb}', which is no command"
        return
    for word in words[1:]:
        if word == "--" or (verb == "record" and not word.startswith("-")):
            return
        name = re.match(r"--[a-z][a-z-]*|-[a-z]", word)
        if name is not None and name[0] not in known[verb]:
            yield f"'tracebed {verb} {name[0]}', which is no option of it"


def check_named(path, text, known, everything):
    """Commands with their options; and options alone, which some command has to have."""
    for number, code in code_of(text):
        for words in words_of(code):
            if len(words) > 1 and words[0] == "tracebed":
                # What tracebed records has options of its own, and troubleshooting.md shows mistakes.
                problems = [] if words[1] == "repot" else check_call(words[1:], known)
                yield from (f"{path}:{number}: {problem}" for problem in problems)
        alone = re.fullmatch(r"(--[a-z][a-z-]+)(?:[= ].*)?", code)
        if alone is not None and alone[1] not in everything:
            yield f"{path}:{number}: {alone[1]}, which no command has"


def check_commands():
    known = commands()
    everything = set().union(*known.values(), {"--version", "--no-defaults", "--no-pager"})
    text = "\n".join(texts([*PAGES, *MAN_PAGES]).values())
    overview = tree.read("reader/tools/man/tracebed.1")
    for verb, options in sorted(known.items()):
        page = f"reader/tools/man/tracebed-{verb}.1"
        if page not in MAN_PAGES or f"tracebed-{verb} 1" not in overview:
            yield f"the manual lacks the command {verb}: {page}, and an entry in tracebed.1"
        else:
            listed = check_options.listed_by_page(tree.read(page))
            yield from (f"{page} lacks {name}" for name in sorted(options - listed))
        if not re.search(rf"tracebed {verb}\b", text):
            yield f"no page shows 'tracebed {verb}'"
    for path, page in texts(PAGES).items():
        yield from check_named(path, page, known, everything)
    for path, page in texts(MAN_PAGES).items():
        for name in sorted(set(re.findall(r"\bFl (-[a-z][a-z-]+)", page))):
            if f"-{name}" not in everything:
                yield f"{path} names -{name}, which no command has"


# ---- Statuses and headers ----


def check_statuses():
    page, header = tree.read("docs/troubleshooting.md"), tree.read("format/include/tracebed/format.h")
    lists = re.split(r"#define TBED_(DROP|STATUS)_LIST\(X\)", header)
    drops, statuses = (STATUS.findall(text.split("\n\n")[0]) for text in lists[2::2])
    shown = dict(re.findall(r"^\| `TBED_(\w+)` \| ([^|]+) \|", page, re.M))
    for name, text in statuses:
        if shown.pop(name, None) != text:
            yield f"docs/troubleshooting.md lacks a row '| `TBED_{name}` | {text} |'"
    yield from (f"docs/troubleshooting.md has TBED_{name}, which is no status" for name in shown)
    for _, text in drops:
        if f"| `{text}` |" not in page:
            yield f"docs/troubleshooting.md lacks the cause '{text}'"


def check_headers():
    public = {path for path in tree.files(".h", ".hpp") if "/include/tracebed/" in path and path.startswith(PRODUCT)
              and not path.endswith(("_inline.h", "/writer.h", "/types.h"))}
    for path in sorted(public ^ set(reference.HEADERS)):
        yield f"HEADERS in ninja/reference.py and the public headers differ: {path}"


# ---- Links and figures ----


def anchors_of(text):
    """Of a page of Markdown, as GitHub makes them."""
    found, seen, is_block = set(), {}, False
    for line in text.splitlines():
        is_block ^= line.startswith("```")
        heading = re.fullmatch(r"#+ (.+)", line)
        if heading is not None and not is_block:
            name = manual.slug(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading[1]).replace("`", "").replace("<", "&lt;"))
            seen[name] = seen.get(name, -1) + 1
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
    return found


def links_of(text):
    is_block = False
    for number, line in enumerate(text.splitlines(), 1):
        is_block ^= line.startswith("```")
        if not is_block:
            yield from ((number, target) for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)))


def check_links():
    for path, text in texts([*PAGES, "CONTRIBUTING.md", "ARCHITECTURE.md", "TESTING.md", "SECURITY.md"]).items():
        for number, target in links_of(text):
            file, _, anchor = target.partition("#")
            if file.startswith(("http:", "https:", "mailto:")):
                continue
            place = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(place):
                yield f"{path}:{number}: the link to {target} leads nowhere"
            elif anchor and anchor not in anchors_of(tree.read(place)):
                yield f"{path}:{number}: {place} has no heading for #{anchor}"
    listed = tree.read("docs/README.md")
    yield from (f"docs/README.md does not link to {path}" for path in PAGES[1:]
                if path != "docs/README.md" and f"({os.path.basename(path)})" not in listed)


def check_figures():
    measured = tree.read("bench/README.md")
    for figure in sorted(set(re.findall(r"\b\d[\d,]*\.\d+\b", tree.read("docs/comparison.md")))):
        if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", measured):
            yield f"docs/comparison.md has the figure {figure}, which bench/README.md has not"


# ---- HTML ----


def check_html():
    made = manual.manual()
    ids = re.findall(r' id="([^"]+)"', made)
    yield from (f"the HTML has the id {name} twice" for name in sorted({name for name in ids if ids.count(name) > 1}))
    for name in sorted(set(re.findall(r'href="#([^"]+)"', made)) - set(ids)):
        yield f"the HTML has a link to #{name}, which is not there"
    for name in sorted(set(re.findall(r'\bsrc="(?!data:)([^"]+)"|@import|url\(', made))):
        yield f"the HTML loads {name}"


def main():
    problems = [*check_variables(), *check_commands(), *check_statuses(), *check_headers(), *check_links(), *check_figures()]
    missing = manual.missing_tools()
    if missing:
        print(f"skipped in part: no {', no '.join(missing)}")
    else:
        problems += check_html()
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
