"""
TBED_SPAN() without a name in C++: methods of two classes that have one name are told apart, and spans work in whatever has
a body: constructors, destructors, templates, lambdas, operators, noexcept functions and functions that throw.

Check: span-names
Needs: $b/programs release

SPDX-License-Identifier: MIT
"""

import csv
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import BUILD, TRACEBED, need, output_of

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3))
PROGRAM = r"""
#include <tracebed/writer.h>
#include <functional>
namespace net { namespace {
struct Plan { Plan() { TBED_SPAN(); } ~Plan() { TBED_SPAN(); } bool add(int) const noexcept { TBED_SPAN(); return true; } };
struct Builder { bool add(int, std::function<int(int)> = {}) { TBED_SPAN(); return false; } };
}}
struct Key { bool operator<(const Key &) const { TBED_SPAN(); return true; } operator bool() const { TBED_SPAN(); return true; } };
template <typename T> static T twice(T value) { TBED_SPAN(); return value + value; }
static int thrown() { TBED_SPAN(); throw 1; }
static constexpr int free_function(int n) { return n; }
int main()
{
    net::Plan plan;
    net::Builder builder;
    Key key;
    plan.add(1); plan.add(2); builder.add(1);
    if (key < key && key) twice(1), twice(1.5);
    auto lambda = [](int n) { TBED_SPAN(); return n; };
    try { thrown(); } catch (int) { lambda(free_function(1)); }
    TBED_SPAN("named");
    TBED_SPAN();
}
"""
COUNTS = {"Plan::Plan": 1, "Plan::~Plan": 1, "Plan::add": 2, "Builder::add": 1, "Key::operator<": 1, "Key::operator bool": 1,
          "twice": 2, "thrown": 1, "named": 1, "main": 1}  # fmt: skip


def check(folder, compiler):
    with open(f"{folder}/program.cc", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    includes = [f"-I{ROOT}/format/include", f"-I{ROOT}/writer/include"]
    library = [f"{BUILD}/libtracebed.a", "-lpthread"]
    output_of(folder, compiler, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", *includes, "program.cc", *library, "-o", "program")
    output_of(folder, "env", f"TRACEBED={compiler}.tbed", f"{folder}/program")
    text = output_of(folder, TRACEBED, "report", "--csv", "--columns=count,name", f"{compiler}.tbed")
    counts = {row[-1]: int(row[0]) for row in list(csv.reader(text.splitlines()))[1:]}
    for name, count in COUNTS.items():
        found = [counts[each] for each in counts if each.rpartition("}::")[2].rpartition(")::")[2] == name]
        need(found == [count], f"{compiler}: {name}: {found}, not {count}, in {counts}")
    need(sum("lambda" in name or "class" in name for name in counts) == 1, f"{compiler}: the lambda is missing in {counts}")


def test_gcc(folder):
    check(folder, "g++")


def test_clang(folder):
    if shutil.which("clang++") is not None:
        check(folder, "clang++")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
