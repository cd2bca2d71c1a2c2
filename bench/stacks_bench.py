#!/usr/bin/env python3
"""
Measures 'tracebed report --by=stack' on the allocations of a large compilation, and heaptrack_print on those of the same
compilation, in turn. It prints CPU time and peak memory of each: what is their own, without pages of the file that they
map, and all of it. Without heaptrack, only the former. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import processes  # noqa: E402

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.abspath(os.path.join(BUILD, "tracebed"))
SOURCE = """
#include <bits/stdc++.h>
int main(int argc, char **argv)
{
    std::regex expression(argv[1]);
    std::map<std::string, std::vector<std::unordered_map<int, std::string>>> found;
    for (std::string line; std::getline(std::cin, line);) {
        std::smatch match;
        if (std::regex_search(line, match, expression))
            found[line].push_back({{argc, line}});
    }
    std::vector<std::function<int(int)>> functions;
    for (auto &pair : found)
        functions.push_back([&](int x) { return x + (int)pair.second.size(); });
    std::sort(functions.begin(), functions.end(), [](auto &a, auto &b) { return a(1) < b(1); });
    auto later = std::async([&] { return functions.size(); });
    std::wregex wide(L"a+");
    std::cout << later.get() << std::regex_replace(std::string(argv[1]), expression, "x");
}
"""


def compile_command(folder):
    """The compiler proper, without the driver, which would be a process of its own."""
    source = os.path.join(folder, "large.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    done = subprocess.run(["clang++", "-O2", "-g", "-c", source, "-o", f"{folder}/large.o", "-###"], capture_output=True,
                          text=True, check=True)
    return [word.strip('"') for word in done.stderr.strip().split("\n")[-1].split()]


def run(command, **options):
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **options)


def measure(command):
    taken = processes.measure(command)
    if taken.status != 0:
        sys.exit(f"stacks_bench: {' '.join(command)} failed")
    return taken


def record(folder, command):
    """Records the compilation twice; returns name -> command that reports it."""
    run([TRACEBED, "record", "--stacks=64", "-f", "-o", f"{folder}/large.tbed", "--", *command])
    run([TRACEBED, "symbolize", f"{folder}/large.tbed"])
    reports = {"tracebed report --by=stack": [TRACEBED, "report", "--by=stack", f"{folder}/large.tbed"],
               "tracebed report": [TRACEBED, "report", f"{folder}/large.tbed"]}
    interpret = glob.glob("/usr/lib/heaptrack/libexec/heaptrack_interpret") + [shutil.which("heaptrack_interpret")]
    if shutil.which("heaptrack") is None or interpret[0] is None:
        print("heaptrack is not installed: skipped (Debian: heaptrack)")
        return reports
    run(["heaptrack", "-r", "-o", f"{folder}/large", *command])
    run(["sh", "-c", f"zstd -dc {folder}/large.raw.zst | {interpret[0]} | zstd -qc > {folder}/large.zst"])
    reports["heaptrack_print"] = ["heaptrack_print", "-f", f"{folder}/large.zst"]
    return reports


def main():
    parser = argparse.ArgumentParser(description="Measures reports of allocations by call stack.")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        reports = record(os.path.abspath(folder), compile_command(os.path.abspath(folder)))
        results = {name: [] for name in reports}
        for _ in range(options.rounds):
            for name, command in reports.items():
                results[name].append(measure(command))
    print("| Report | CPU | Min | Max | Own memory | All memory |\n|---|---|---|---|---|---|")
    for name, runs in results.items():
        cpu = [run.cpu for run in runs]
        own, total = max(run.own for run in runs), max(run.total for run in runs)
        print(f"| {name} | {statistics.median(cpu):.2f} s | {min(cpu):.2f} | {max(cpu):.2f} "
              f"| {own:.0f} MiB | {total:.0f} MiB |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
