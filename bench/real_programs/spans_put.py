"""
Puts a TBED_SPAN() into functions of C and C++ source files, as somebody would by hand.

SPDX-License-Identifier: MIT
"""

import re

# Comments and texts, whose brackets do not count.
SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# What may be between a function's parameters and its body.
BEFORE_BODY = re.compile(r"(?:\s|const\b|noexcept\b|override\b)*(?::[^;{}]*)?\{")
HEAD = "#include <tracebed/writer.h>\n#line 1\n"


def without_texts(source):
    return SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def after_brackets(text, position):
    """Returns where the round brackets that open at 'position' are closed."""
    depth = 0
    for found in re.compile(r"[()]").finditer(text, position):
        depth += 1 if found.group() == "(" else -1
        if depth == 0:
            return found.end()
    return len(text)


def bodies_of(text, name):
    """Where the body of each function of that name begins; more than one if the preprocessor chooses."""
    found = []
    for match in re.finditer(rf"(?<![\w:.>]){re.escape(name)}\s*\(", text):
        body = BEFORE_BODY.match(text, after_brackets(text, match.end() - 1))
        if body is not None:
            found.append(body.end())
    return found


def with_spans(source, names):
    text = without_texts(source)
    places = []
    for name in names:
        bodies = bodies_of(text, name)
        if not bodies:
            raise SystemExit(f"real_programs_bench: function {name} not found")
        places += bodies
    for place in sorted(places, reverse=True):
        source = source[:place] + " TBED_SPAN();" + source[place:]
    return HEAD + source
