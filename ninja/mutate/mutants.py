"""
The mutants of a C source file: every place where one operator, constant or statement can be changed so that the file
still looks like C. Whether it compiles is for the compiler to say.

SPDX-License-Identifier: MIT
"""

import re
from collections import namedtuple

# 'start' and 'end' are offsets in the text of the file; 'kind' says what was changed.
Mutant = namedtuple("Mutant", "path line kind start end old new")

TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      |(?P<word>[A-Za-z_]\w*)
      |(?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)
      |(?P<operator>->|\+\+|--|<<=|>>=|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|[-+*/%&|^!~<>=?:;,.(){}\[\]])""",
    re.X | re.S | re.M)

# What each binary operator becomes.
BINARY = {
    "==": ["!="], "!=": ["=="], "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["|"],
}
CHANGES = {"+=": ["-="], "-=": ["+="], "|=": ["&="], "&=": ["|="], "<<=": [">>="], ">>=": ["<<="],
           "++": ["--"], "--": ["++"]}
WORDS = {"true": ["false"], "false": ["true"], "break": ["continue"], "continue": ["break"]}
# A call of these in a mutant could harm the machine that runs it.
HARMFUL = re.compile(r"\b(kill|tgkill|unlink|unlinkat|rename|remove|rmdir)\s*\(")
STATEMENT = re.compile(r"^[ \t]+(?!return\b|goto\b|break\b|continue\b|case\b|else\b|if\b|for\b|while\b)"
                       r"[a-z_][\w.>\[\]-]*(?: [-+|&]?= |\()[^;{}\n]*;$", re.M)


def tokens(text):
    return [match for match in TOKEN.finditer(text) if match.lastgroup != "skip"]


def is_operand_end(token):
    if token.lastgroup == "number":
        return True
    if token.lastgroup == "word":
        return token.group() not in ("return", "case", "sizeof")
    return token.group() in (")", "]")


def is_declarator(token):
    """Whether this is the '*' of a pointer type: clang-format puts spaces on both sides of an operator."""
    return token.group() == "*" and not token.string[token.end()].isspace()


ARRAYS = re.compile(r"\s*(?:static |const |struct )*[a-z_]\w* \**\w+\[[^\]]*\]")
ALLOCATIONS = re.compile(r"\b(?:malloc|calloc|realloc|tbed_pages_alloc)\([^;]*\);")


def is_unnoticed(line, token, new):
    """Whether a change makes an array or a piece of memory larger, or another number of the same sign what a comparison
    function returns."""
    if token.lastgroup == "number":
        return ARRAYS.match(line) and not set("{/") & set(line) or ALLOCATIONS.search(line) or "? -1 :" in line
    return line.strip().startswith("return") and line.rstrip().endswith("? -1 : 1;") and (token.group(), new) == ("<", "<=")


def number_plus_one(text):
    digits = text.rstrip("uUlL")
    value = int(digits, 0) if not re.fullmatch(r"0\d+", digits) else int(digits, 8)
    return f"{value + 1}{text[len(digits):]}"


def changes_of(before, token):
    """What the token may become, given the one before it."""
    text = token.group()
    if token.lastgroup == "number":
        return "constant", [number_plus_one(text)]
    if token.lastgroup == "word":
        return "word", WORDS.get(text, [])
    if text in CHANGES:
        return "assignment", CHANGES[text]
    if text == "!":
        return "negation", [""]
    if text in BINARY and before is not None and is_operand_end(before) and not is_declarator(token):
        return "operator", BINARY[text]
    return "", []


def statements(text):
    """Statements on a line of their own that can be left out: calls and assignments, not declarations."""
    for match in STATEMENT.finditer(text):
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        yield start, match.end()


def mutants_of(path, text):
    """All mutants of a file, in the order of their places."""
    found, before = [], None

    def add(kind, start, end, new):
        line = text.count("\n", 0, start) + 1
        whole = text[text.rfind("\n", 0, start) + 1:text.find("\n", start)]
        if not HARMFUL.search(whole) and "_Static_assert" not in whole:
            found.append(Mutant(path, line, kind, start, end, text[start:end], new))

    for token in tokens(text):
        kind, changes = changes_of(before, token)
        line = text[text.rfind("\n", 0, token.start()) + 1:text.find("\n", token.start())]
        for new in changes:
            if not is_unnoticed(line, token, new):
                add(kind, token.start(), token.end(), new)
        before = token
    for start, end in statements(text):
        add("statement", start, end, ";")
    return sorted(found, key=lambda mutant: (mutant.start, mutant.new))


def apply(mutant, text):
    return text[:mutant.start] + mutant.new + text[mutant.end:]
