"""
Checks that the program in README.md compiles, as C and as C++, runs, and leaves an intact trace.

Check: readme
Needs: $b/libtracebed.a $b/tracebed
Slow: compiles each example with five compilers

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path.cwd()
INCLUDES = [f"-I{ROOT}/{folder}/include" for folder in ("format", "writer", "writer/capture")]
COMPILERS = [("gcc", "c11"), ("gcc", "c17"), ("clang", "c17"), ("g++", "c++17"), ("clang++", "c++17")]


def run(command, folder):
    result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if result.returncode == 0 else f"{' '.join(map(str, command))}:\n{result.stdout}"


def try_program(source, compiler, standard, folder):
    language = "c++" if standard.startswith("c++") else "c"
    program = pathlib.Path(folder) / "prog"
    compile_it = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", *INCLUDES, "-x", language, source,
                  "-x", "none", ROOT / "build/release/libtracebed.a", "-pthread", "-o", program]
    trace = pathlib.Path(folder) / "run.tbed"
    trace.unlink(missing_ok=True)
    return run(compile_it, folder) or run([program], folder) or run(
        [ROOT / "build/release/tracebed", "verify", trace], folder)


def main():
    examples = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    problems = [] if examples else ["README.md has no program"]
    with tempfile.TemporaryDirectory() as folder:
        for number, example in enumerate(examples):
            source = os.path.join(folder, f"example{number}.c")
            pathlib.Path(source).write_text(example, encoding="utf-8")
            problems += filter(None, (try_program(source, *how, folder) for how in COMPILERS))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
