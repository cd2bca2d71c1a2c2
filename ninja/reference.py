"""
Makes a page of Markdown from each public header: comments become text, and what they describe follows as code.

    python3 ninja/reference.py [FOLDER]      # one NAME.md for each header; without a folder, all on standard output

A comment at the beginning of a line belongs to the lines below it, up to an empty line or the next such comment. In a
comment, lines indented by four are code, and 'Errors: ...' begins an item. '---- NAME ----' begins a section; sections
whose name says that they are not for the reader are left out.

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
# In the order of a reader: first what records, then what reads. writer.h and types.h only include and define types.
HEADERS = [
    "writer/include/tracebed/trace.h", "writer/include/tracebed/trace.hpp", "writer/include/tracebed/recorder.h",
    "writer/include/tracebed/pool.h", "writer/capture/include/tracebed/logfile.h",
    "writer/capture/include/tracebed/rtl_logfile.h", "format/include/tracebed/format.h",
    "reader/include/tracebed/reader.h", "reader/include/tracebed/analysis.h", "reader/include/tracebed/filter.h",
    "reader/include/tracebed/calls.h", "reader/include/tracebed/flows.h", "reader/include/tracebed/activity.h",
    "reader/include/tracebed/window.h", "reader/include/tracebed/timeline.h", "reader/include/tracebed/compare.h",
    "reader/include/tracebed/follow.h", "reader/include/tracebed/tables.h", "reader/include/tracebed/symbols.h",
    "reader/include/tracebed/suppressions.h", "reader/include/tracebed/verify.h", "reader/include/tracebed/copy.h",
    "reader/exchange/include/tracebed/exchange.h", "reader/exchange/include/tracebed/export.h",
    "reader/exchange/include/tracebed/arrow.h",
]  # fmt: skip
SECTION = re.compile(r"/\* -+ (.+?) -+ \*/")
NOT_FOR_READERS = "do not use"
NOISE = re.compile(r"#(include|ifn?def|if|endif|else|pragma|undef)\b|extern \"C\"|\}?$|\} // |namespace \w+$|#define TRACEBED_\w+_H")
CODE = re.compile(r"\b(?:TBED|ERR|RTL|TRACEBED)_\w+(?:\(\))?|\btracebed::\w+|\btbed_\w+(?:\(\))?|<tracebed/\w+\.hp?p?>|'[^' ]+'")
ITEM = re.compile(r"([A-Z][A-Za-z ]{2,14}):  *(?=\S)(.*)")


def prose(text):
    """A text with its identifiers as code, and everything else literal."""
    parts, at = [], 0
    for match in CODE.finditer(text):
        parts += [escape(text[at : match.start()]), f"`{match[0].strip(chr(39))}`"]
        at = match.end()
    return "".join(parts) + escape(text[at:])


def escape(text):
    return re.sub(r"([\\`*_<>|\[\]#])", r"\\\1", text)


def comment_lines(text):
    """The lines of a comment without its frame."""
    lines = re.sub(r"^/\*+ ?|\s*\*/$", "", text).split("\n")
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in lines]
    return [line for line in lines if not line.startswith("SPDX")]


def kind_of(line, indent):
    """What a line of a comment is; 'indent' is that of the text of the item before it, 0 outside of items."""
    spaces = len(line) - len(line.lstrip())
    if line == "":
        return "empty"
    if ITEM.fullmatch(line):
        return "item"
    if spaces == 0 or spaces == indent:
        return "text"
    return "code"


def markdown_of(lines):
    """Paragraphs, items and code of a comment."""
    made, indent, code = [], 0, []
    for line in [*lines, ""]:
        kind = kind_of(line, indent)
        if code and kind not in ("code", "empty"):
            made += fenced(code)
            indent, code = 0, []
        if kind == "code" or (code and kind == "empty"):
            code.append(line)
        elif kind == "item":
            label, text = ITEM.fullmatch(line).groups()
            indent = line.index(text, len(label) + 1) if text else 0
            made += ["", f"- **{label}:** {prose(text)}"]
        else:
            indent = 0 if kind == "empty" else indent
            made.append(("  " if indent else "") + prose(line.strip()))
    return made + fenced(code)


def fenced(code):
    text = textwrap.dedent("\n".join(code)).rstrip("\n")
    return ["", "```c", text, "```", ""] if text else []


def declared(lines):
    """Declarations without what only the compiler needs: the bodies of macros that are called, and macros named NAME_."""
    made, is_body = [], False
    for line in lines:
        if not is_body and re.match(r"#define \w+_\b", line):
            is_body = line.endswith("\\")
        elif not is_body:
            macro = re.match(r"#define \w+\([^)]*\)", line)
            is_list = macro is not None and macro[0].endswith("(X)")
            made.append(macro[0] if macro is not None and not is_list else line.rstrip())
            is_body = macro is not None and not is_list and line.endswith("\\")
        else:
            is_body = line.endswith("\\")
    return made


def without_bodies(text):
    """Functions end with their head, and classes with what is public; namespaces have no braces."""
    made, until = [], None
    for line in text.split("\n"):
        opens = re.fullmatch(r"( *)\{", line)
        head = made[-1] if made else ""
        if until is not None:
            is_end = line == until
            until = None if is_end else until
            if not is_end or line != "};":
                continue
        if opens and re.match(r"\s*(class|struct|union|enum)\b", head) and "(" not in head:
            made.append(line)
        elif opens and not head.startswith("namespace"):
            while re.match(r"\s+: ", made[-1]):
                made.pop()
            made[-1] += ";"
            until = f"{opens[1]}}}"
        elif line == "  private:":
            made, until = made[:-1] if head == "" else made, "};"
        elif not opens:
            made.append(line)
    return "\n".join(made)


def pieces_of(text):
    """('section', name), ('comment', lines) and ('code', lines), from top to bottom."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        section = SECTION.fullmatch(lines[at])
        if section is not None:
            yield "section", section[1]
            at += 1
        elif lines[at].startswith("/*"):
            end = at
            while "*/" not in lines[end]:
                end += 1
            if lines[end].rstrip().endswith("*/"):
                yield "comment", comment_lines("\n".join(lines[at : end + 1]))
            at = end + 1
        else:
            end = at
            while end < len(lines) and lines[end] != "" and not lines[end].startswith("/*"):
                end += 1
            code = [line for line in lines[at:end] if not NOISE.match(line)]
            if code:
                yield "code", code
            at = max(end, at + 1)


def page_of(path):
    """The page of a header, as Markdown."""
    name = "tracebed/" + pathlib.Path(path).name
    made, is_shown = [f"# `<{name}>`", ""], True
    for kind, piece in pieces_of(without_bodies((ROOT / path).read_text(encoding="utf-8"))):
        if kind == "section":
            is_shown = NOT_FOR_READERS not in piece
            made += [f"## {escape(piece[0].upper() + piece[1:])}", ""] if is_shown else []
        elif is_shown and kind == "comment":
            made += [*markdown_of(piece), ""]
        elif is_shown:
            code = declared(piece)
            made += ["```c", *code, "```", ""] if code else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(made))


def main():
    pages = {pathlib.Path(path).name: page_of(path) for path in HEADERS}
    if len(sys.argv) == 1:
        print("\n".join(pages.values()))
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
