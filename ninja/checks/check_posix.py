"""
Checks that the format and the reading library, without importers and tools, need nothing but POSIX.1-2024.

Check: posix

Each source file is compiled, as C17, as if this were another system than Linux: with the names of POSIX only, and without
the headers of Linux. What Linux has in addition is in two files, behind '#ifdef __linux__': reader/core/system/system.h
and reader/core/system/regular_file.c. This shows that nothing else is used; it does not show that the library works there.

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import os
import re
import subprocess
import sys

import tree

FOLDERS = ("format/", "reader/core/", "reader/analysis/", "reader/tables/")
FLAGS = ["-std=c17", "-fsyntax-only", "-U__linux__", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700",
         "-Werror=implicit-function-declaration", "-include", "ninja/checks/posix_2024.h", "-I.", "-Iformat/include",
         "-Ireader/include", "-Ireader/exchange/include", "-Iwriter/include"]
LINUX = re.compile(r"#include <(linux|asm)/|\b(syscall|prctl|memfd_create|fallocate)\(")
GUARDED = {"reader/core/system/system.h", "reader/core/system/regular_file.c"}


def complaints(path):
    """Compiles the file without its own request for extensions, and looks for what only Linux has."""
    text = tree.read(path)
    found = [f"{path}: uses {match.group()} outside the two files for Linux" for match in LINUX.finditer(text)
             if path not in GUARDED]
    if path.endswith(".c"):
        plain = re.sub(r"^#define _GNU_SOURCE.*$", "", text, flags=re.M)
        result = subprocess.run([os.environ.get("CC", "gcc"), *FLAGS, "-x", "c", "-"], input=f'#line 1 "{path}"\n{plain}',
                                capture_output=True, text=True)
        found += [line for line in result.stderr.splitlines() if ": error:" in line]
    return found


def main():
    files = [path for path in tree.files(".c", ".h") if path.startswith(FOLDERS) and "/tests/" not in path]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = [line for lines in workers.map(complaints, files) for line in lines]
    print(f"{len(files)} files")
    return tree.report(found) or (0 if files else 1)


if __name__ == "__main__":
    sys.exit(main())
