"""
Checks that each public header compiles without a warning, alone and together with all others in either order, as C11,
C17, C++17 and C++20, with gcc and clang; and that the functions, parameters and fields that its comments name exist.

Check: headers
Slow: compiles each header with every compiler and standard

SPDX-License-Identifier: MIT
"""

import re
import subprocess
import sys

import tree

INCLUDES = ["-Iformat/include", "-Iwriter/include", "-Iwriter/capture/include", "-Ireader/include", "-Ireader/exchange/include"]
COMPILERS = [
    ("gcc", "c", ("c11", "c17", "gnu17")),
    ("clang", "c", ("c11", "c17", "gnu17")),
    ("g++", "c++", ("c++17", "c++20")),
    ("clang++", "c++", ("c++17", "c++20")),
]
# What C++ programs forbid, though inline functions in C need it: TBED_HEADER_BEGIN is for that.
STRICT = {"c": [], "c++": ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]}
STRICTER = {"g++": ["-Wuseless-cast"]}

def compile_with(compiler, language, standard, headers):
    """What the compiler says about a file that includes these; None if it accepts it."""
    source = "".join(f"#include <{header}>\n" for header in headers)
    source += "int main()\n{\n    return 0;\n}\n" if language == "c++" else "int main(void);\nint main(void) { return 0; }\n"
    command = [compiler, f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
               "-Werror", *STRICT[language], *STRICTER.get(compiler, []), *INCLUDES]
    command += ["-x", language, "-c", "-", "-o", "/dev/null"]
    try:
        run = subprocess.run(command, input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        return f"{compiler} is missing"
    return run.stdout if run.returncode != 0 else None


def check_compiling(headers):
    # Twice, for the include guard.
    files = {f"<{header}> alone": [header, header] for header in headers}
    files["all headers"] = headers
    files["all headers, last one first"] = headers[::-1]
    for name, included in files.items():
        for compiler, language, standards in COMPILERS:
            fitting = [header for header in included if language == "c++" or header.endswith(".h")]
            for standard in standards if fitting else ():
                complaint = compile_with(compiler, language, standard, fitting)
                if complaint is not None:
                    yield f"{name}, {compiler} -std={standard}:\n{complaint}"


# ---- What comments name ----

def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def words(text):
    return set(re.findall(r"\w+", text))


def quoted(comment):
    return re.findall(r"(?<!\w)'\*{0,2}(\w+)'(?!\w)", comment)


def check_quoted(path, comment, code, fields):
    """A comment before functions: it may quote their parameters, and fields of the structs that either mentions."""
    declared = code.split("\n\n")[0]
    known = words(declared)
    for name in re.findall(r"struct (tbed_\w+)", declared + comment):
        known |= fields.get(name, set())
    for name in quoted(comment):
        if name not in known:
            yield f"{path}: '{name}' is no parameter of {re.search(FUNCTION, declared).group(1)}()"


FUNCTION = r"\b(tbed_\w+)\("


def check_comments(paths):
    text = "".join(tree.read(path) for path in paths)
    code = without_comments(text)
    structs = re.findall(r"^struct (tbed_\w+) \{\n(.*?)^\}", code, re.M | re.S)
    fields = {name: words(body) for name, body in structs}
    for path in paths:
        pieces = re.split(r"(/\*.*?\*/)", tree.read(path), flags=re.S)
        for comment, behind in zip(pieces[1::2], pieces[2::2]):
            for name in re.findall(r"\b(tbed_\w+)\(\)", comment):
                if name not in words(code):
                    yield f"{path}: a comment names {name}(), which does not exist"
            if re.match(r"\n[a-z][^;{}#=]*" + FUNCTION, behind):
                yield from check_quoted(path, comment, behind, fields)
            for name in quoted(comment):
                if name not in words(code):
                    yield f"{path}: a comment quotes '{name}', which is nowhere in the headers"


def main():
    paths = [path for path in tree.files(".h", ".hpp") if "/include/tracebed/" in path]
    # FOO_inline.h is the inner half of another header.
    headers = [path.split("/include/", 1)[1] for path in paths if not path.endswith("_inline.h")]
    return tree.report([*check_comments(paths), *check_compiling(headers)])


if __name__ == "__main__":
    sys.exit(main())
