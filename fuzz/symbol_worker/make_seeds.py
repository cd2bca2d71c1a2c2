"""
Compiles types.cpp, which has a function for each kind of argument, to seeds that ask for all functions with their arguments:
for x86-64 by two compilers, and for arm64.

    make_seeds.py CORPUS

Debian: g++ clang binutils-aarch64-linux-gnu

SPDX-License-Identifier: MIT
"""

import os
import struct
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "types.cpp")
FLAGS = ["-O1", "-w", "-fPIC", "-fno-exceptions", "-fno-asynchronous-unwind-tables", "-c", SOURCE, "-o", "a.o"]
LINK = ["-shared", "-nostdlib", "-z", "noseparate-code", "-z", "max-page-size=4096", "--hash-style=gnu", "a.o", "-o", "a.so"]
WANTS = 1 | 2 | 8 | 16  # files, inlined functions, a list, arguments: enum symbol_want
SEEDS = {
    "arguments_gcc_dwarf_5": (["g++", "-gdwarf-5"], "ld"),
    "arguments_gcc_dwarf_4": (["g++", "-gdwarf-4"], "ld"),
    "arguments_clang": (["clang++", "-gdwarf-5"], "ld"),
    "arguments_arm64": (["clang++", "--target=aarch64-linux-gnu", "-gdwarf-4"], "aarch64-linux-gnu-ld"),
}


def main():
    for name, (compiler, linker) in SEEDS.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*compiler, *FLAGS], cwd=folder, check=True)
            subprocess.run([linker, *LINK], cwd=folder, check=True)
            with open(os.path.join(folder, "a.so"), "rb") as file:
                module = file.read()
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(struct.pack("<BBBH", WANTS, 0, 0, len(module)) + module)


if __name__ == "__main__":
    main()
