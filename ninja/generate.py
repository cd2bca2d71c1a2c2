"""
Writes ninja/generated/*.ninja, the one list of targets, from the files that are in the tree. Ninja runs this itself
when a source file was added, moved or removed; nothing has to be listed by hand.

A room (folder) belongs to a library or to the program; the tables below say which. A test is 'tests/**/*_test.c', a
fuzz target 'fuzz/NAME/NAME_fuzzer.c', a benchmark 'bench/*_bench.{c,py}'. Other .c files of those rooms are support,
which every program there may call; a 'tests/**/*_program.c' records
what a check reads. What only one file needs stands in a comment of that file:

    Link with: -Wl,--wrap=malloc          more flags for the linker
    Seeds: spec/golden/valid              more seeds for a fuzz target than its own corpus

SPDX-License-Identifier: MIT
"""

import os
import re
import sys

# What a trace is written with, macros apart: the preloaded libraries and importers need no more.
WRITER = ["format", "writer/file", "writer/store", "writer/record", "writer/life"]

# What each library is made of: rooms, with the rooms inside them. The first is what traced programs carry.
LIBRARIES = {
    "libtracebed": [*WRITER, "writer/session", "writer/capture/logfile", "writer/macros"],
    "libtracebed-reader": [*WRITER, "reader/core", "reader/analysis", "reader/symbols", "reader/exchange"],
}
# What goes into each program that uses a macro, even where the rest is a shared library.
NOT_SHARED = "writer/macros"
PROGRAM = "reader/tools"

# What is loaded into programs that know nothing of it; see ninja/preload.ninja.
PRELOADED = {
    "libtracebed-preload": ["writer/capture/shared", "writer/capture/preload"],
    "libtracebed-functions": ["writer/capture/shared", "writer/capture/functions"],
}
RUBY = "writer/capture/ruby/ext/tracebed"

ALL_LIBRARIES = " ".join(f"$b/{name}.a" for name in reversed(LIBRARIES))
SYSTEM = "-Wl,--as-needed -ldw -lelf -liberty -lm"
SHARED_SYSTEM = {"libtracebed": "", "libtracebed-reader": SYSTEM}
SKIPPED = {"build", ".git", "__pycache__", "corpus"}
ROOTS = ["format", "writer", "reader", "fuzz", "bench", "spec"]


def walk():
    """Every folder of the source tree, and every file in one."""
    folders, paths = [], []
    for root in ROOTS:
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if name not in SKIPPED)
            folders.append(folder)
            paths += [os.path.join(folder, name) for name in sorted(names)]
    return sorted(folders), sorted(paths)


def is_apart(path):
    """Tests, examples and public headers lie in rooms of a library without being part of it."""
    return re.search(r"/(tests|examples|include)/", path) is not None


def sources(paths, rooms):
    return [path for path in paths
            if path.endswith(".c") and not is_apart(path) and any(path.startswith(room + "/") for room in rooms)]


def objects(paths):
    return [f"$b/{path.removesuffix('.c')}.o" for path in paths]


def build(outputs, rule, inputs, after=(), **variables):
    """A build statement, a line an input."""
    lines = [f"build {outputs}: {rule}"] + list(inputs)
    if after:
        lines.append("| " + " ".join(after))
    return [" $\n  ".join(lines)] + [f"  {name} = {value}" for name, value in variables.items() if value]


def said(path, word):
    """What a comment of the file says after 'WORD: '."""
    with open(path, encoding="utf-8") as file:
        match = re.search(rf"^ \* {word}: (.*)$", file.read(), re.M)
    return match.group(1) if match else ""


def compile_all(paths):
    return [line for path in paths for line in build(f"$b/{path.removesuffix('.c')}.o", "cc", [path])]


def write_libraries(paths):
    members = {name: sources(paths, rooms) for name, rooms in LIBRARIES.items()}
    lines = compile_all(sorted(set().union(*members.values())))
    for name, own in members.items():
        lines += [""] + build(f"$b/{name}.a", "ar", objects(own))
    alone = sources(paths, [NOT_SHARED])
    lines += [""] + build("$b/libtracebed_nonshared.a", "ar", objects(alone))
    for name, own in members.items():
        lines += [""] + build(f"$b/{name}.so.0", "so", objects([path for path in own if path not in alone]),
                              [f"ninja/{name}.map"], map=f"ninja/{name}.map", soname=f"{name}.so.0",
                              libs=SHARED_SYSTEM[name])
    lines += build("$b/libtracebed.so", "linker_script", ["$b/libtracebed_nonshared.a", "$b/libtracebed.so.0"])
    return lines + build("$b/libtracebed-reader.so", "link_name", ["$b/libtracebed-reader.so.0"]) + [""]


def write_program(paths):
    members = sources(paths, [PROGRAM])
    lines = compile_all(members) + [""]
    lines += build("$b/tracebed", "link", objects(members) + ALL_LIBRARIES.split(), libs=SYSTEM)
    for name in PRELOADED:
        lines += build(f"$b/{name}.so", "copy", [f"build/preload/{name}.so"])
    started = ["$b/tracebed"] + [f"$b/{name}.so" for name in PRELOADED]
    started += ["build/preload/preload_calls_helper", "build/preload/preload_stacks_helper",
                "build/preload/preload_library_a.so", "build/preload/preload_library_b.so"]
    lines += ["", "# What tests and benchmarks start."] + build("$b/programs", "phony", started)
    for path in paths:
        if re.search(r"^writer/examples/.*\.c$|/tests/.*_program\.c$", path):
            lines += build(f"$b/{path.removesuffix('.c')}", "program", [path, "$b/libtracebed.a"])
    return lines


def write_tests(paths):
    tests = [path for path in paths if path.endswith("_test.c")]
    support = [path for path in paths if re.search(r"/tests/.*(?<!_test)(?<!_helper)(?<!_program)\.c$", path)]
    lines = compile_all(support) + build("$b/tests.a", "ar", objects(support)) + [""]
    for path in tests:
        stem = path.removesuffix(".c")
        lines += build(f"$b/{stem}", "program", [path, "$b/tests.a", *ALL_LIBRARIES.split()],
                       libs=f"-lcmocka {SYSTEM}", more_ldflags=said(path, "Link with"))
        lines += build(f"$b/{stem}.result", "test", [f"$b/{stem}"], ["$b/programs", "spec/golden/expected.txt"])
    results = [f"$b/{path.removesuffix('.c')}.result" for path in tests]
    watched = [result for result in results if result.endswith("_threads_test.result")]
    lines += [""] + build("$b/check", "phony", results)
    return lines + ["", "# For ThreadSanitizer."] + build("$b/check-threads", "phony", watched)


def write_fuzzers(paths):
    support = [path for path in paths if path.startswith("fuzz/support/") and path.endswith(".c")]
    driver = "fuzz/support/replay_driver.c"
    members = [path for path in support if path != driver]
    lines = compile_all(support) + build("$b/fuzz.a", "ar", objects(members)) + [""]
    names = [os.path.basename(path).removesuffix("_fuzzer.c") for path in paths if path.endswith("_fuzzer.c")]
    for name in names:
        path = f"fuzz/{name}/{name}_fuzzer.c"
        program = f"$b/fuzz/{name}/{name}_fuzzer"
        lines += build(program, "program",
                       [path, "$fuzz_main", "$b/fuzz.a", "$b/tests.a", *ALL_LIBRARIES.split()],
                       more_ldflags="$fuzz_ldflags", libs=SYSTEM)
        lines += build(f"{program}.result", "test", [program], ["spec/golden/expected.txt"],
                       arguments=f"fuzz/{name}/corpus {said(path, 'Seeds')}".strip())
    programs = [f"$b/fuzz/{name}/{name}_fuzzer" for name in names]
    lines += [""] + build("$b/fuzzers", "phony", programs)
    return lines + build("$b/replay", "phony", [f"{program}.result" for program in programs])


def write_golden(paths):
    members = [path for path in paths if path.startswith("spec/golden/") and path.endswith(".c")]
    lines = compile_all(members)
    return lines + build("$b/spec/golden/make_golden", "link",
                         objects(members) + ["$b/fuzz.a", *ALL_LIBRARIES.split()], libs=SYSTEM)


def write_benches(paths):
    support = [path for path in paths if path.startswith("bench/support/") and path.endswith(".c")]
    lines = compile_all(support) + build("$b/bench.a", "ar", objects(support)) + [""]
    subject = "$b/bench/peers/peer_subject"
    lines += build(subject, "program", ["bench/peers/peer_subject.c", "$b/libtracebed.a"])
    programs, runs = [subject], []
    for path in paths:
        match = re.fullmatch(r"bench/(\w+_bench)\.(c|py)", path)
        if match is None:
            continue
        started = path
        if match.group(2) == "c":
            started = f"$b/bench/{match.group(1)}"
            lines += build(started, "program", [path, "$b/bench.a", *ALL_LIBRARIES.split()], libs=SYSTEM)
            programs.append(started)
        lines += build(f"$b/bench/{match.group(1)}.run", "bench", [started], ["$b/programs", subject])
        runs.append(f"$b/bench/{match.group(1)}.run")
    lines += [""] + build("$b/bench-programs", "phony", ["$b/programs", *programs])
    return lines + build("$b/run-bench", "phony", runs)


def write_variant(paths):
    parts = [
        ("The libraries", write_libraries),
        ("The program, and what it loads into others", write_program),
        ("Tests: a program each, and its result", write_tests),
        ("Fuzz targets: libFuzzer's in the variant fuzz, else a replay of their corpus", write_fuzzers),
        ("The golden files' maker", write_golden),
        ("Benchmarks: '.run' is never made, so it always runs", write_benches),
    ]
    lines = ["# Written by ninja/generate.py, which ninja runs when a source file comes or goes. Do not edit.",
             "# A variant includes this with these variables set:",
             "#   b  cc  cflags  ldflags  no_undefined  run_flags  fuzz_ldflags  fuzz_main"]
    for title, write in parts:
        lines += ["", f"# ---- {title} ----", ""] + write(paths)
    return lines


def write_preload(paths):
    writer = sources(paths, WRITER)
    captures = sorted({path for rooms in PRELOADED.values() for path in sources(paths, rooms)})
    lines = ["# Written by ninja/generate.py; ninja/preload.ninja includes it.", ""]
    lines += compile_all(writer) + compile_all(captures)
    for name, rooms in PRELOADED.items():
        lines += [""] + build(f"$b/{name}.so", "preload", objects(writer) + objects(sources(paths, rooms)))
    return lines


def write_ruby(paths):
    inner = [path for path in paths if path.startswith("writer/capture/ruby/") and path.endswith((".h", ".rb"))]
    lines = ["# Written by ninja/generate.py; ninja/ruby.ninja includes it.", ""]
    for variant in ("release", "asan"):
        lines += build(f"build/{variant}/ruby.stamp", "ruby", sources(paths, [RUBY]),
                       [f"build/{variant}/libtracebed.a", "ninja/build_ruby.sh", *inner],
                       folder=f"build/{variant}/ruby", library=f"build/{variant}/libtracebed.a",
                       settings=f"$ruby_{variant}")
    return lines


def write(path, lines):
    """Written even when nothing differs: it must be newer than the folders that it was made from."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    folders, paths = walk()
    watch = ["", "# When to run ninja/generate.py again: a folder is newer once a file came or went.",
             "rule generate", "  command = python3 ninja/generate.py", "  generator = 1",
             "  description = list of targets"]
    outputs = " ".join(f"ninja/generated/{name}.ninja" for name in ("watch", "targets", "preload", "ruby"))
    watch += build(outputs, "generate", [], ["ninja/generate.py", *folders])
    write("ninja/generated/preload.ninja", write_preload(paths))
    write("ninja/generated/ruby.ninja", write_ruby(paths))
    write("ninja/generated/targets.ninja", write_variant(paths))
    write("ninja/generated/watch.ninja", watch)


if __name__ == "__main__":
    sys.exit(main())
