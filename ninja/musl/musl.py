"""
Builds tracebed for musl, and tries it there: the libraries, the program, the preloaded libraries and the tests.

    python3 ninja/musl/musl.py [CASE...]

Debian has musl and a compiler for it (musl-tools), but no other library that is built for it. So those that tracebed
needs are Debian's own: libdw, libelf, libiberty and zlib are linked into the program, libzstd, SQLite and cmocka are
loaded by musl's loader. What they call and musl lacks is in fortified.c. On a system whose own C library is musl they are
the system's, and './run build' builds tracebed as everywhere.

The first case builds everything, in build/musl and build/musl-preload, and the native program, whose answers are compared
with those of musl's. The other cases need it. All take some six minutes of processor time, of which 'tests_pass' takes five.

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / part) for part in (".", "checks")]
import answers
import cases
from cases import ROOT, need, output_of

PLACE = ROOT / "build/musl"
MUSL = PLACE / "tracebed"
NATIVE = cases.TRACEBED
HEADERS = ["linux", "asm-generic", "elfutils", "libiberty", "libelf.h", "gelf.h", "nlist.h", "dwarf.h", "zlib.h", "zconf.h",
           "xxhash.h", "zstd.h", "zstd_errors.h", "sqlite3.h", "sqlite3ext.h", "cmocka.h", "cmocka_pbc.h"]
LINKED = {"libdw": ["libdw", "libelf", "libz", "liblzma", "libbz2"], "libelf": ["libelf", "libz"],
          "libiberty": ["libiberty"], "libz": ["libz"]}
LOADED = ["libcmocka.so.0", "libzstd.so.1", "libsqlite3.so.0"]

# Tests that use functions of glibc themselves: coroutines of <ucontext.h>, and what the preloaded libraries interpose there.
NOT_BUILT = ["writer/tests/session/session_unwind_test", "writer/tests/preload/"]
# Cases that cannot pass here. They record programs that are built for this machine's glibc, which is refused ...
REFUSED = {
    "damage_test": {"damaged_pages_of_real_programs_are_reported_and_the_rest_kept"},
    "tool_memory_test": {"the_pool_of_a_real_program_is_built_in"},
    "tool_report_test": {"the_program_s_own_allocations_are_named", "a_shell_s_subshells_free_nothing_unknown"},
}
# ... or expect messages in the words of glibc's regcomp() and getopt_long() ...
WORDS = {
    "tool_flows_test": {"wrong_options_are_refused"},
    "tool_frame_test": {"unknown_option_is_wrong_usage_in_every_verb"},
    "tool_slowest_test": {"other_orders_can_be_asked_for"},
}
# ... or expect frames outside main(), and Debian's musl has no tables for unwinding.
FRAMES = {"tool_symbolize_test": {"functions_have_one_name_before_and_after"}}
CANNOT_PASS = {**REFUSED, **WORDS, **FRAMES}


# ---- What musl's compiler needs ----


def place_of(name):
    """The path of a file of Debian's libraries; None: it is not installed."""
    path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    return os.path.realpath(path) if "/" in path else None


def missing():
    files = ["libcmocka.so.0", *{f"{name}.a" for names in LINKED.values() for name in names}]
    absent = sorted(name for name in files if place_of(name) is None)
    return [command for command in ("musl-gcc", "ninja") if shutil.which(command) is None] + absent


def empty_folder(name):
    """Always a new one: it has links to files of the system, through which nothing may be written."""
    folder = PLACE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def make_headers():
    """Those of the kernel and of the libraries, without glibc's, which are in the same folder."""
    folder = empty_folder("include")
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True).stdout.strip()
    (folder / "asm").symlink_to(f"/usr/include/{machine}/asm")
    for name in HEADERS:
        if os.path.exists(f"/usr/include/{name}"):
            (folder / name).symlink_to(f"/usr/include/{name}")


def make_libraries():
    folder = empty_folder("lib")
    adapter = folder / "fortified.o"
    output_of(ROOT, "musl-gcc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-O1", "-fPIC", "-c", "ninja/musl/fortified.c", "-o",
              adapter)
    for name, members in LINKED.items():
        paths = " ".join([place_of(f"{member}.a") for member in members] + [str(adapter)] * (name == "libdw"))
        (folder / f"{name}.a").write_text(f"GROUP ( {paths} )\n")
    for name in LOADED:
        if place_of(name) is not None:
            (folder / name).symlink_to(place_of(name))
    (folder / "libcmocka.a").write_text(f"INPUT ( {folder}/libcmocka.so.0 )\n")
    # glibc's loader, which its libraries name, though they need nothing of it.
    output_of(ROOT, "musl-gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", folder / "ld-linux-x86-64.so.2")


def make_compiler():
    """For tests that compile a program and then record it or read it."""
    folder = empty_folder("bin")
    (folder / "gcc").write_text('#!/bin/sh\nexec musl-gcc "$@"\n')
    (folder / "gcc").chmod(0o755)


def build(*targets):
    (ROOT / "build/musl.ninja").write_text(
        "include build.ninja\nsubninja ninja/musl/preload.ninja\nsubninja ninja/musl/musl.ninja\n")
    output_of(ROOT, "ninja", "-f", "build/musl.ninja", *targets, TBED_WERROR="")  # -O0 has warnings of its own


def test_program_and_libraries_are_built(folder):
    make_headers()
    make_libraries()
    make_compiler()
    build("build/musl/programs", "build/release/programs")
    told = output_of(folder, MUSL, "doctor")
    need(all(re.search(rf"^{what} +ok ", told, re.M) for what in ("recording", "zstd", "SQLite")), told)
    return output_of(folder, "file", "-b", MUSL).split(", with debug")[0] if shutil.which("file") else None


# ---- Golden files ----


def differs(path):
    return [f"{path}: {question}" for question in answers.differing([MUSL], path)]


def test_golden_files_have_the_same_answers(folder):
    files = answers.golden_files()
    need(len(files) > 300, f"only {len(files)} golden files")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [line for lines in pool.map(differs, files) for line in lines]
    need(not wrong, "other answers than the native program's:\n" + "\n".join(wrong))
    return f"{len(files)} files, {len(answers.QUESTIONS)} questions"


# ---- Tests ----


def all_stems():
    paths = sorted(str(path.relative_to(ROOT)) for part in ("format", "writer", "reader")
                   for path in (ROOT / part).rglob("tests/**/*_test.c"))
    return [path.removesuffix(".c") for path in paths if not path.startswith(tuple(NOT_BUILT))]


def try_test(stem):
    """What went wrong, and how many cases passed."""
    environment = {**os.environ, "TBED_BUILD": "build/musl", "TBED_PRELOAD_BUILD": "build/musl-preload",
                   "LC_ALL": "C.UTF-8", "PATH": f"{PLACE}/bin:{os.environ['PATH']}"}
    environment.pop("TBED_TEST_CASES", None)
    run = subprocess.run([PLACE / stem], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600)
    name = os.path.basename(stem)
    announced = sum(map(int, re.findall(r"^\[==========\] Running (\d+) test", run.stdout, re.M)))
    passed = len(re.findall(r"^\[       OK \]", run.stdout, re.M))
    skipped = len(set(re.findall(r"^\[  SKIPPED \] ([a-z]\w*)$", run.stdout, re.M)))
    failed = set(re.findall(r"^\[  FAILED  \] ([a-z]\w*)$", run.stdout, re.M))
    expected = CANNOT_PASS.get(name, set())
    if failed == expected and 0 < announced == passed + skipped + len(failed) and run.returncode == len(failed):
        return None, passed
    return f"{stem}: exit status {run.returncode}, {sorted(failed)} failed\n{run.stdout[-3000:]}", passed


def test_tests_pass(folder):
    stems = all_stems()
    build(*(f"build/musl/{stem}" for stem in stems))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(try_test, stems))
    wrong = [text for text, _ in results if text is not None]
    need(not wrong, "\n".join(wrong))
    left_out = sum(map(len, CANNOT_PASS.values()))
    return f"{sum(count for _, count in results)} cases of {len(stems)} programs; {left_out} cannot pass here"


# ---- Recording ----

SUBJECT = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *take(size_t nbytes)
{
    void *volatile taken = malloc(nbytes);
    return taken;
}
static void *work(void *unused)
{
    for (int i = 0; i < 1000; i++)
        free(realloc(take(100), 200));
    return unused;
}
int main(void)
{
    pthread_t threads[4];
    void *volatile aligned;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    aligned = aligned_alloc(64, 640);
    return aligned == NULL || ((size_t)aligned & 63) != 0 || take(4321) == NULL;
}
"""
STARTER = """
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char *arguments[] = {argv[2], NULL};
    pid_t child;
    int status;
    if (argc == 3 && strcmp(argv[1], "execve") == 0)
        return execve(argv[2], arguments, environ);
    if (argc == 3 && strcmp(argv[1], "execvp") == 0)
        return execvp(argv[2], arguments);
    return posix_spawn(&child, argv[2], NULL, NULL, arguments, environ) != 0 || waitpid(child, &status, 0) != child || status;
}
"""


def compile_subject(folder, *flags, compiler="musl-gcc"):
    """musl-gcc leaves out the index of unwind tables, which other compilers for musl make."""
    (folder / "subject.c").write_text(SUBJECT)
    output_of(folder, compiler, "-g", "-O1", "-Wl,--eh-frame-hdr", *flags, "subject.c", "-o", "subject", "-pthread")


def report_of(folder):
    """That of the recorded trace, which must be intact, and the same for both programs."""
    output_of(folder, MUSL, "verify", "run.tbed")
    wrong = answers.differing([MUSL], folder / "run.tbed")
    need(not wrong, f"the native program reads something else: {wrong}")
    return json.loads(output_of(folder, MUSL, "report", "--json", "run.tbed"))


def test_allocations_are_recorded(folder):
    compile_subject(folder)
    output_of(folder, MUSL, "record", "--stacks", "-o", "run.tbed", "--", "./subject")
    report = report_of(folder)
    sums = report["allocations"]
    # A block that another thread gets while realloc() is still at work counts as replaced.
    need(sums["count"] == 10002 and sums["freed_count"] + sums["replaced_count"] == 10000, sums)
    need((sums["live_count"], sums["live_bytes"], sums["failed_count"]) == (2, 4321 + 640, 0), sums)
    counts = {(row["function"], os.path.basename(row["file"])): row["count"] for row in report["sites"]}
    need(counts == {("take", "subject.c"): 5001, ("work", "subject.c"): 5000, ("main", "subject.c"): 1}, counts)


def test_functions_are_recorded(folder):
    compile_subject(folder, "-fpatchable-function-entry=5")
    output_of(folder, MUSL, "record", "--functions", "-o", "run.tbed", "--", "./subject")
    counts = {row["function"]: row["count"] for row in report_of(folder)["spans"]}
    need(counts == {"take": 5001, "work": 5, "main": 2}, counts)


def test_library_calls_are_recorded(folder):
    compile_subject(folder)
    output_of(folder, MUSL, "record", "--libcalls", "-o", "run.tbed", "--", "./subject")
    counts = {row["function"]: row["count"] for row in report_of(folder)["spans"]}
    expected = {"malloc": 5001, "realloc": 5000, "free": 5000, "pthread_create": 4, "pthread_join": 4, "waitpid": 1}
    need(expected.items() <= counts.items(), counts)


def refusal(folder, program):
    run = subprocess.run([program, "record", "-o", "run.tbed", "--", "./subject"], cwd=folder, capture_output=True, text=True)
    need(run.returncode == 2 and not (folder / "run.tbed").exists(), f"{program}: exit status {run.returncode}")
    need("./subject: is built for another C library than this tracebed" in run.stderr, run.stderr)


def test_other_c_library_is_refused(folder):
    compile_subject(folder)
    refusal(folder, NATIVE)
    compile_subject(folder, compiler="/usr/bin/gcc")
    refusal(folder, MUSL)


def started(folder, program, starter, *flags):
    """A program of another C library runs as usual if a recorded one has started it, and is listed."""
    (folder / "starter.c").write_text(STARTER)
    output_of(folder, starter, *flags, "starter.c", "-o", "starter")
    for how in ("execve", "execvp", "posix_spawn"):
        told = output_of(folder, program, "record", "-f", "-o", "run.tbed", "--", "./starter", how, "./subject")
        need("built for another C library: ./subject" in told, f"{how}: {told}")


def test_programs_of_another_c_library_run_and_are_listed(folder):
    compile_subject(folder)
    started(folder, NATIVE, "/usr/bin/gcc")
    compile_subject(folder, compiler="/usr/bin/gcc")
    started(folder, MUSL, "musl-gcc")


def test_one_file_is_linked_statically(folder):
    output_of(ROOT, sys.executable, "ninja/amalgamate.py", folder)
    (folder / "main.c").write_text('#include "tracebed.h"\nint main(void) { TBED_SPAN("alone"); return 0; }\n')
    output_of(folder, "musl-gcc", "-static", "-I.", "main.c", "tracebed.c", "-o", "main", "-pthread")
    output_of(folder, "./main", TRACEBED="run.tbed")
    need('"alone"' in output_of(folder, MUSL, "report", "--json", "run.tbed"), "the span is missing")


if __name__ == "__main__":
    if missing():
        print(f"skipped: not installed: {', '.join(missing())}\n0 passed, 0 failed")
        sys.exit(0)
    sys.exit(cases.run_all(globals()))
