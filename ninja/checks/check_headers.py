"""
Checks that each public header compiles alone, and without a warning, as C11, C17 and C++17, with gcc and clang.

Check: headers
Slow: compiles each header with eight compilers

SPDX-License-Identifier: MIT
"""

import subprocess
import sys

import tree

INCLUDES = ["-Iformat/include", "-Iwriter/include", "-Iwriter/capture/include", "-Ireader/include"]
COMPILERS = [
    ("gcc", "c", ("c11", "c17", "gnu17")),
    ("clang", "c", ("c11", "c17", "gnu17")),
    ("g++", "c++", ("c++17",)),
    ("clang++", "c++", ("c++17",)),
]


def compile_alone(compiler, language, standard, header):
    # Twice, for the include guard.
    source = f"#include <{header}>\n#include <{header}>\nint main(void);\nint main(void)\n{{\n    return 0;\n}}\n"
    if language == "c++":
        source = f"#include <{header}>\n#include <{header}>\nint main()\n{{\n    return 0;\n}}\n"
    command = [compiler, f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
               "-Werror", *INCLUDES]
    command += ["-x", language, "-c", "-", "-o", "/dev/null"]
    try:
        run = subprocess.run(command, input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        return [f"{compiler} is missing"]
    if run.returncode == 0:
        return []
    return [f"<{header}> alone, {compiler} -std={standard}:\n{run.stdout}"]


def main():
    problems = []
    for path in tree.files(".h", ".hpp"):
        # FOO_inline.h is the inner half of another header.
        if "/include/tracebed/" in path and not path.endswith("_inline.h"):
            header = path.split("/include/", 1)[1]
            for compiler, language, standards in COMPILERS:
                for standard in standards if language == "c++" or header.endswith(".h") else ():
                    problems += compile_alone(compiler, language, standard, header)
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
