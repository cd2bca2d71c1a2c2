"""
Writes ninja/generated/*.ninja, the list of targets, and page.h, that of the files of a page, from the files in the tree. Ninja runs this by itself when a source
file is added, renamed or removed, or when a mark (below) may have changed; nothing is listed by hand.

The tables below say which rooms (folders) make up a library or the program. A test is 'tests/**/*_test.c', a fuzz
target 'fuzz/NAME/NAME_fuzzer.c', a benchmark 'bench/*_bench.{c,py}', and a check any script with a 'Check:' mark. Checks
run 'tests/**/*_program.c'. The other .c files of those rooms are support code, which every program of the kind may call.
What only one file needs is a mark: a line of the comment at the top of that file.

    Link with: FLAGS               link this test or fuzz target with these flags as well
    Seeds: FOLDER...               replay these files besides the fuzz target's own corpus; each further line is a
                                   replay of its own, beside the others
    Mutator: NAME                  link this fuzz target with fuzz/support/NAME_mutator.c
    Slow: REASON                   leave this test or check out of './run test quick'
    Check: NAME [ARGUMENT...]      run this script as build/checks/NAME.result; several lines make several checks
    Needs: TARGET...               what those checks need to have been built; $b is build/release

SPDX-License-Identifier: MIT
"""

import os
import re
import sys

# The rooms that write a trace, without the macros: all that the preloaded libraries and the importers need.
WRITER = ["format", "writer/base", "writer/file", "writer/pages", "writer/store", "writer/record",
          "writer/copy", "writer/recorded", "writer/life"]

# The rooms of each library; rooms inside them are included. Traced programs carry the first.
LIBRARIES = {
    "libtracebed": [*WRITER, "writer/session", "writer/capture/logfile", "writer/macros"],
    "libtracebed-reader": [*WRITER, "reader/core", "reader/analysis", "reader/symbols", "reader/exchange",
                           "reader/tables"],
}
# Linked into each program that uses a macro, even if the rest is in a shared library.
NOT_SHARED = "writer/macros"
LAUNCH = "writer/capture/launch"
# In the program, and in the extension for SQLite's shell.
SQL = "reader/sql"
PROGRAM = ["reader/tools", LAUNCH, SQL]
MAIN = "reader/tools/main.c"

# The rooms of the libraries that are preloaded into other programs; see ninja/preload.ninja.
PRELOADED = {
    "libtracebed-preload": ["writer/capture/shared", LAUNCH, "writer/capture/loading", "writer/capture/preload"],
    "libtracebed-functions": ["writer/capture/shared", LAUNCH, "writer/capture/loading", "writer/capture/values",
                              "writer/capture/functions", "writer/capture/entries", "writer/capture/libcalls"],
}
RUBY = "writer/capture/ruby/ext/tracebed"
PYTHON = "reader/python"
# The files of this folder are compiled into the object of that source, which includes their list.
PAGE = "reader/tools/view/page"
PAGE_SOURCE = "reader/tools/view/page_files.c"
PAGE_LIST = "ninja/generated/page.h"

ALL_LIBRARIES = " ".join(f"$b/{name}.a" for name in reversed(LIBRARIES))
TEST_CASES = "ninja/test_cases.c"
SYSTEM = "-Wl,--as-needed -ldw -lelf -liberty -lz -lm"
# Calls that fuzz targets can make fail; see fuzz/support/failing.h.
FAILING = ["malloc", "calloc", "realloc", "strdup", "asprintf", "vasprintf", "open_memstream", "mmap",
           "pthread_mutex_init", "pthread_create", "access", "dup", "fclose", "fcntl", "fdopen", "fstat", "fstatfs",
           "ftruncate", "getrandom", "linkat", "lseek", "memfd_create", "open", "pread", "pwrite", "rename", "renameat2",
           "write"]
SHARED_SYSTEM = {"libtracebed": "", "libtracebed-reader": SYSTEM}
SKIPPED = {"__pycache__", "corpus", "generated"}
ROOTS = ["format", "writer", "reader", "fuzz", "bench", "spec", "ninja"]
GENERATED = ["checks", "preload", "python", "ruby", "targets"]
DEPENDENCIES = "build/generate.d"
HEADLINE = "# Written by ninja/generate.py. Do not edit."


def walk():
    """All folders of the source tree, and all files in them."""
    folders, paths = [], []
    for root in ROOTS:
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if name not in SKIPPED)
            folders.append(folder)
            paths += [os.path.join(folder, name) for name in sorted(names)]
    return sorted(folders), sorted(paths)


def is_apart(path):
    """Tests, examples and public headers are in a library's rooms without being part of it."""
    return re.search(r"/(tests|examples|include)/", path) is not None


def can_have_marks(path):
    return path.endswith(("_test.c", "_fuzzer.c", ".py", ".sh"))


def sources(paths, rooms):
    return [path for path in paths
            if path.endswith(".c") and not is_apart(path) and any(path.startswith(room + "/") for room in rooms)]


def objects(paths):
    return [f"$b/{path.removesuffix('.c')}.o" for path in paths]


def build(outputs, rule, inputs, after=(), **variables):
    """A build statement with one line for each input, which keeps merges and differences small."""
    lines = [f"build {outputs}: {rule}"] + list(inputs)
    if after:
        lines.append("| " + " ".join(after))
    return [" $\n  ".join(lines)] + [f"  {name} = {value}" for name, value in variables.items() if value]


def marks(path, word):
    """The text of every line 'WORD: TEXT' in the file's first comment."""
    with open(path, encoding="utf-8") as file:
        head = re.match(r'(#.*\n)*\s*(""".*?"""|/\*.*?\*/)?', file.read(), re.S).group(0)
    return re.findall(rf"^(?: \* |# )?{word}: (.*)$", head, re.M)


def mark(path, word):
    return " ".join(marks(path, word))


def seeds(fuzzer):
    """The folders that a fuzz target starts from, a list for each replay: its own corpus, if it has one, with those of
    its first mark, and those of each further mark."""
    corpus = os.path.join(os.path.dirname(fuzzer), "corpus")
    first, *others = [folders.split() for folders in marks(fuzzer, "Seeds")] or [[]]
    return [[corpus] * os.path.isdir(corpus) + first, *others]


def results(paths):
    return [f"$b/{path.removesuffix('.c')}.result" for path in paths]


def page_files():
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(PAGE) for name in names)


def compile_all(paths):
    after = {PAGE_SOURCE: page_files()}
    return [line for path in paths
            for line in build(f"$b/{path.removesuffix('.c')}.o", "cc", [path], after.get(path, ()))]


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
    members = sources(paths, PROGRAM)
    lines = compile_all(members) + [""]
    lines += build("$b/tracebed", "link", objects(members) + ALL_LIBRARIES.split(), libs=SYSTEM)
    lines += build("$b/libtracebed-sqlite.so", "so", objects(sources(paths, [SQL])) + ALL_LIBRARIES.split(),
                   ["ninja/libtracebed-sqlite.map"], map="ninja/libtracebed-sqlite.map",
                   soname="libtracebed-sqlite.so", libs=SYSTEM)
    for name in PRELOADED:
        lines += build(f"$b/{name}.so", "copy", [f"$preload/{name}.so"])
    programs = ["$b/tracebed", "$b/libtracebed-sqlite.so"] + [f"$b/{name}.so" for name in PRELOADED]
    programs += ["build/preload/preload_calls_helper", "build/preload/preload_stacks_helper",
                 "build/preload/preload_library_a.so", "build/preload/preload_library_b.so",
                 "build/preload/preload_unusual_helper", "build/preload/preload_unusual_a.so",
                 "build/preload/preload_unusual_b.so", "build/preload/preload_starts_helper",
                 "build/preload/preload_frames_helper", "build/preload/preload_confined_helper",
                 "build/preload/preload_jumps_helper", "build/preload/preload_jumps_stripped",
                 "build/preload/preload_pools_helper"]
    lines += ["", "# What tests and benchmarks start."] + build("$b/programs", "phony", programs)
    for path in paths:
        if re.search(r"^writer/examples/[^/]*\.c$|/tests/.*_program\.c$", path):
            reads = path.startswith(("reader/tests/tables/", "reader/tests/pack/"))
            libraries = ["$b/tests.a", *ALL_LIBRARIES.split()] if reads else ["$b/libtracebed.a"]
            lines += build(f"$b/{path.removesuffix('.c')}", "program", [path, *libraries], libs=SYSTEM if reads else None)
    return lines


def write_tests(paths):
    tests = [path for path in paths if path.endswith("_test.c")]
    support = [path for path in paths if re.search(r"/tests/.*(?<!_test)(?<!_helper)(?<!_program)\.c$", path)]
    lines = compile_all([TEST_CASES, *support]) + build("$b/tests.a", "ar", objects(support)) + [""]
    for path in tests:
        stem = path.removesuffix(".c")
        lines += build(f"$b/{stem}", "program", [path, *objects([TEST_CASES]), "$b/tests.a", *ALL_LIBRARIES.split()],
                       libs=f"-lcmocka {SYSTEM}", more_ldflags=mark(path, "Link with"))
        lines += build(f"$b/{stem}.result", "test", [f"$b/{stem}"], ["$b/programs", "spec/golden/expected.txt"])
    lines += [""] + build("$b/check", "phony", results(tests))
    threaded = [path for path in tests if path.endswith("_threads_test.c")]
    lines += ["", "# For ThreadSanitizer."] + build("$b/check-threads", "phony", results(threaded))
    fast = [path for path in tests if not mark(path, "Slow")]
    return lines + ["", "# For './run test quick'."] + build("$b/check-quick", "phony", results(fast))


def write_fuzzers(paths):
    support = [path for path in paths if path.startswith("fuzz/support/") and path.endswith(".c")]
    driver = "fuzz/support/replay_driver.c"
    members = [path for path in support if path != driver and not path.endswith("_mutator.c")]
    lines = compile_all(support) + build("$b/fuzz.a", "ar", objects(members))
    program = [path for path in sources(paths, PROGRAM) if path != MAIN]
    lines += ["", "fuzz_wrap = " + " ".join(f"-Wl,--wrap={name}" for name in FAILING), ""]
    lines += build("$b/program.a", "ar", objects(program)) + [""]
    names = [os.path.basename(path).removesuffix("_fuzzer.c") for path in paths if path.endswith("_fuzzer.c")]
    replays = []
    for name in names:
        path = f"fuzz/{name}/{name}_fuzzer.c"
        program = f"$b/fuzz/{name}/{name}_fuzzer"
        # The engine refers to a mutator only weakly, so an archive is not searched for it.
        mutators = objects(f"fuzz/support/{mutator}_mutator.c" for mutator in marks(path, "Mutator"))
        lines += build(program, "program",
                       [path, "$fuzz_main", *mutators, "$b/fuzz.a", "$b/program.a", "$b/tests.a", *ALL_LIBRARIES.split()],
                       more_ldflags=f"$fuzz_ldflags $fuzz_wrap {mark(path, 'Link with')}".rstrip(), libs=SYSTEM)
        for number, folders in enumerate(seeds(path), 1):
            replays.append(f"{program}{'' if number == 1 else number}.result")
            lines += build(replays[-1], "test", [program], ["spec/golden/expected.txt"], arguments=" ".join(folders))
    programs = [f"$b/fuzz/{name}/{name}_fuzzer" for name in names]
    return lines + [""] + build("$b/fuzzers", "phony", programs) + build("$b/replay", "phony", replays)


def write_golden(paths):
    members = [path for path in paths if path.startswith("spec/golden/") and path.endswith(".c")]
    lines = compile_all(members)
    return lines + build("$b/spec/golden/make_golden", "link",
                         objects(members) + ["$b/fuzz.a", *ALL_LIBRARIES.split()], libs=SYSTEM)


def write_benches(paths):
    support = [path for path in paths if path.startswith("bench/support/") and path.endswith(".c")]
    lines = compile_all(support) + build("$b/bench.a", "ar", objects(support)) + [""]
    subjects = []
    for path in paths:
        if re.fullmatch(r"bench/\w+/\w+_subject\.c", path):
            subjects.append(f"$b/{path[:-2]}")
            lines += build(subjects[-1], "program", [path, "$b/libtracebed.a"])
    programs, runs = list(subjects), []
    for path in paths:
        match = re.fullmatch(r"bench/(\w+_bench)\.(c|py)", path)
        if match is None:
            continue
        started = path
        if match.group(2) == "c":
            started = f"$b/bench/{match.group(1)}"
            lines += build(started, "program", [path, "$b/bench.a", *ALL_LIBRARIES.split()], libs=SYSTEM)
            programs.append(started)
        lines += build(f"$b/bench/{match.group(1)}.run", "bench", [started], ["$b/programs", *subjects])
        runs.append(f"$b/bench/{match.group(1)}.run")
    programs.append("$b/reader/tests/agreement/agreement_program")  # makes odd traces for hostile_bench.py
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
    lines = [HEADLINE, "# A variant includes this with these variables set:",
             "#   b  cc  cflags  ldflags  program_ldflags  no_undefined  preload  run_flags  fuzz_ldflags  fuzz_main"]
    for title, write in parts:
        lines += ["", f"# ---- {title} ----", ""] + write(paths)
    return lines


def write_preload(paths):
    writer = sources(paths, WRITER)
    captures = sorted({path for rooms in PRELOADED.values() for path in sources(paths, rooms)})
    lines = [HEADLINE, "# ninja/preload.ninja includes it.", ""] + compile_all(writer) + compile_all(captures)
    for name, rooms in PRELOADED.items():
        lines += [""] + build(f"$b/{name}.so", "preload", objects(writer) + objects(sources(paths, rooms)))
    return lines


def write_ruby(paths):
    inner = [path for path in paths if path.startswith("writer/capture/ruby/") and path.endswith((".h", ".rb"))]
    lines = [HEADLINE, "# ninja/ruby.ninja includes it.", ""]
    for variant in ("release", "asan"):
        lines += build(f"build/{variant}/ruby.stamp", "ruby", sources(paths, [RUBY]),
                       [f"build/{variant}/libtracebed.a", "ninja/build_ruby.sh", *inner],
                       folder=f"build/{variant}/ruby", library=f"build/{variant}/libtracebed.a",
                       settings=f"$ruby_{variant}")
    return lines


def write_python(paths):
    libraries = [f"build/release/{name}.a" for name in reversed(LIBRARIES)]
    inner = [path for path in paths if path.startswith(PYTHON + "/") and not path.endswith(".c")]
    return [HEADLINE, "# ninja/python.ninja includes it.", ""] + build(
        "build/release/python.stamp", "python", sources(paths, [PYTHON]), [*libraries, "ninja/build_python.sh", *inner],
        folder="build/release/python", libraries=" ".join(libraries))


def write_checks(paths):
    lines, every, fast = [HEADLINE, ""], [], []
    for path in paths:
        for command in marks(path, "Check") if path.endswith((".py", ".sh")) else ():
            name, *arguments = command.split()
            result = f"build/checks/{name}.result"
            interpreter = "python3" if path.endswith(".py") else "sh"
            lines += build(result, "check", [], ["always", path, *mark(path, "Needs").replace("$b", "build/release").split()],
                           run=" ".join([interpreter, path, *arguments]))
            every.append(result)
            if not mark(path, "Slow"):
                fast.append(result)
    return lines + [""] + build("checks", "phony", every) + build("checks-quick", "phony", fast)


def write(name, lines):
    """Writes the file even if nothing has changed, because ninja requires it to be newer than its inputs."""
    with open(f"ninja/generated/{name}.ninja", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_page():
    """Only if it changes, because every variant depends on it."""
    lines = ["/* Written by ninja/generate.py. Do not edit. */"]
    lines += [f'PAGE_FILE({number}, "{os.path.relpath(path, PAGE)}")' for number, path in enumerate(page_files())]
    text = "\n".join(lines) + "\n"
    if not os.path.exists(PAGE_LIST) or open(PAGE_LIST, encoding="utf-8").read() != text:
        with open(PAGE_LIST, "w", encoding="utf-8") as file:
            file.write(text)


def write_dependencies(folders, paths):
    """A folder becomes newer when a file is added or removed. Ninja treats a missing one in this list as changed, not
    as an error, so folders may be removed too."""
    os.makedirs(os.path.dirname(DEPENDENCIES), exist_ok=True)
    with open(DEPENDENCIES, "w", encoding="utf-8") as file:
        inputs = [*folders, *(path for path in paths if can_have_marks(path))]
        file.write(f"ninja/generated/{GENERATED[0]}.ninja: {' '.join(inputs)}\n")


def main():
    folders, paths = walk()
    writers = {"checks": write_checks, "preload": write_preload, "python": write_python, "ruby": write_ruby,
               "targets": write_variant}
    write_dependencies(folders, paths)
    write_page()
    for name in GENERATED:
        write(name, writers[name](paths))


if __name__ == "__main__":
    sys.exit(main())
