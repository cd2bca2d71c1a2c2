"""
tracebed::span ends by identity: in any order, moved between owners, early, on another thread, and static ones never. Each
end is compared with the name of the object that ended, in the order and on the thread in which it did.

Check: span-order
Needs: $b/programs release

SPDX-License-Identifier: MIT
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import BUILD, TRACEBED, includes, need, output_of

PROGRAM = r"""
#include <memory>
#include <thread>
#include <tracebed/trace.hpp>
using owned = std::unique_ptr<tracebed::span>;
static owned begin(const char *name) { return owned(new tracebed::span(name)); }
static void first_time() { static tracebed::span *never = new tracebed::span("never"); (void)never; }
static void nested() { tracebed::span outer("outer"); tracebed::span inner("inner"); }
int main()
{
    tracebed::session session("program.tbed");
    tracebed::span main_span("main");
    owned one = begin("one"), two = begin("two"), three = begin("three");
    one.reset();
    owned same = begin("three"); /* a name may be open twice */
    three = std::move(two);
    three.reset();
    nested();
    first_time();
    same->end();
    same->end(); /* once */
    owned far = begin("far");
    std::thread([&far] { far.reset(); }).join();
    tracebed::span last("last");
    main_span.end();
}
"""
# "THREAD { NAME" and "THREAD } NAME"; the last object is destroyed before the session.
WANTED = """1 { main
1 { one
1 { two
1 { three
1 } one
1 { three
1 } three
1 } two
1 { outer
1 { inner
1 } inner
1 } outer
1 { never
1 } three
1 { far
2 } far
1 { last
1 } main
1 } last""".splitlines()


def check(folder, compiler, standard):
    (cases.pathlib.Path(folder) / "program.cc").write_text(PROGRAM, encoding="ascii")
    output_of(folder, compiler, f"-std={standard}", "-O2", "-Wall", "-Wextra", "-Werror", *includes("format", "writer"),
              "program.cc", BUILD / "libtracebed.a", "-lpthread", "-o", "program")  # fmt: skip
    output_of(folder, "./program")
    output_of(folder, TRACEBED, "export", "--to=rtl-log", "--force", "program.tbed", "-o", "program.log")
    with open(f"{folder}/program.log", encoding="ascii") as file:
        lines = [line.rstrip("\n").partition(" ")[2] for line in file if line[0].isdigit()]
    need(lines == WANTED, f"{compiler} {standard}: {lines}, not {WANTED}")


def test_gcc(folder):
    for standard in ("c++17", "gnu++17", "c++20"):
        check(folder, "g++", standard)


def test_clang(folder):
    if shutil.which("clang++") is not None:
        check(folder, "clang++", "c++17")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
