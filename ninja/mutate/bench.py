"""
The bench that mutants are tried on: all sources of the libraries in one shared library, and the tests linked with it.

A mutant then costs one compilation and one link, whatever the number of tests. Everything is in build/mutate:

    base/       the unchanged objects              tests/      the test programs
    cover/      the same with coverage             env/        what tests find under TBED_BUILD
    asan/       the same with sanitizers
    lines/      which lines each test runs         worker-N/   a worker's library with the mutant

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import functools
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, "ninja")
import generate  # noqa: E402

FOLDER = "build/mutate"
COMPILE = ["gcc", "-std=gnu17", "-O1", "-w", "-fPIC", "-fno-semantic-interposition", "-pthread", "-D_GNU_SOURCE",
           "-I.", "-Iformat/include", "-Iwriter/include", "-Iwriter/capture/include", "-Ireader/include", "-Ireader/exchange/include"]
SYSTEM = ["-ldw", "-lelf", "-liberty", "-lz", "-lm", "-pthread"]
WRAPPED = sorted({*generate.FAILING,
                  *(name for path in generate.walk()[1] if path.endswith("_test.c")
                    for name in re.findall(r"--wrap=(\w+)", generate.mark(path, "Link with")))})
WRAP = [f"-Wl,--wrap={name}" for name in WRAPPED]
# Defaults for the calls that tests and fuzz targets can wrap: they only forward the call. The dynamic linker
# prefers the functions of a program that is linked with --wrap.
PASS_ON = """#ifdef __x86_64__
#define JUMP "jmp "
#define TO "@PLT"
#else
#define JUMP "b "
#define TO ""
#endif
#define PASS_ON(name) \
    __asm__(".globl __wrap_" #name "\\n.type __wrap_" #name ", %function\\n" \
            "__wrap_" #name ": " JUMP "__real_" #name TO);
""" + "".join(f"PASS_ON({name})\n" for name in WRAPPED)
# gcov writes its counters at exit(). Forked children leave by _exit(), which therefore writes them, too.
COUNTING_EXIT = """#include <sys/syscall.h>
#include <unistd.h>
void __gcov_dump(void);
void _exit(int status) { __gcov_dump(); for (;;) syscall(SYS_exit_group, status); }
"""
REPLAY_DRIVER = "fuzz/support/replay_driver.c"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SLOW_SECONDS = 12  # of CPU time; slower tests are left out


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def must(command):
    done = run(command)
    if done.returncode != 0:
        sys.exit(f"tracebed: {' '.join(command[:3])} … failed:\n{done.stdout.decode(errors='replace')}")


def library_sources():
    paths = generate.walk()[1]
    rooms = sorted({room for rooms in generate.LIBRARIES.values() for room in rooms})
    return generate.sources(paths, rooms)


def object_of(folder, path):
    return f"{FOLDER}/{folder}/{path.removesuffix('.c')}.o"


def compile_to(path, target, extra=(), source=None):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    return [*COMPILE, *extra, "-iquote", os.path.dirname(path), "-c", source or path, "-o", target]


def is_older(target, *inputs):
    return not os.path.exists(target) or any(os.path.getmtime(target) < os.path.getmtime(name) for name in inputs)


def in_parallel(commands):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(must, commands))


def link_library(objects, target, extra=()):
    return ["gcc", "-shared", "-pthread", *extra, *WRAP, "-o", target, *objects, f"{FOLDER}/pass_on.o", *SYSTEM]


class Bench:
    """Built once; 'tests' maps a test's name to its command."""

    def __init__(self):
        self.paths = generate.walk()[1]
        self.sources = library_sources()
        self.headers = [path for path in self.paths if path.endswith(".h")]
        self.newest = max(self.headers + self.sources, key=os.path.getmtime)
        self.tests = {}

    def build(self):
        os.makedirs(FOLDER, exist_ok=True)
        for name, text in (("pass_on", PASS_ON), ("counting_exit", COUNTING_EXIT)):
            with open(f"{FOLDER}/{name}.c", "w", encoding="utf-8") as file:
                file.write(text)
            must([*COMPILE, "-c", f"{FOLDER}/{name}.c", "-o", f"{FOLDER}/{name}.o"])
        self.build_library("base", [])
        self.build_library("asan", SANITIZE)
        self.build_tests()
        self.build_environment()

    def build_library(self, folder, extra):
        todo = [path for path in self.sources if is_older(object_of(folder, path), path, *self.headers)]
        in_parallel([compile_to(path, object_of(folder, path), extra) for path in todo])
        if todo or not os.path.exists(f"{FOLDER}/{folder}/libmutant.so"):
            objects = [object_of(folder, path) for path in self.sources]
            objects += [f"{FOLDER}/counting_exit.o"] if folder == "cover" else []
            must(link_library(objects, f"{FOLDER}/{folder}/libmutant.so", extra))

    def build_tests(self):
        """Builds the tests, and the fuzz targets with a driver that replays their seeds."""
        fuzz = [path for path in self.paths if path.startswith("fuzz/support/") and path.endswith(".c")
                and not path.endswith(("replay_driver.c", "_mutator.c"))]
        program = [path for path in generate.sources(self.paths, generate.PROGRAM) if path != generate.MAIN]
        support = [path for path in self.paths if "/tests/" in path and path.endswith(".c")
                   and not path.endswith(("_test.c", "_helper.c", "_program.c"))]
        tests = [self.archive("tests", support)]
        fuzzers = [self.archive("fuzz", fuzz), self.archive("program", program), *tests]
        self.compile_stale([REPLAY_DRIVER, generate.TEST_CASES])
        commands = []
        for path in self.paths:
            if path.endswith("_test.c") and not generate.mark(path, "Slow"):
                inputs = [object_of("tests", generate.TEST_CASES), *tests, "-lcmocka"]
                commands += self.add_program(path, inputs, [])
            elif path.endswith("_fuzzer.c"):
                commands += self.add_program(path, [object_of("tests", REPLAY_DRIVER), *fuzzers, *WRAP],
                                             generate.seeds(path))
        in_parallel(commands)

    def compile_stale(self, sources):
        stale = [path for path in sources if is_older(object_of("tests", path), path, *self.headers)]
        in_parallel([compile_to(path, object_of("tests", path)) for path in stale])

    def archive(self, name, sources):
        self.compile_stale(sources)
        target = f"{FOLDER}/tests/{name}.a"
        if os.path.exists(target):
            os.remove(target)
        must(["ar", "qcs", target, *(object_of("tests", path) for path in sources)])
        return target

    def add_program(self, path, inputs, arguments):
        program = f"{FOLDER}/tests/{path.removesuffix('.c')}"
        self.tests[os.path.basename(program)] = [program, *arguments]
        if not is_older(program, path, *self.headers):
            return []
        os.makedirs(os.path.dirname(program), exist_ok=True)
        return [[*COMPILE, path, *inputs, "-o", program, f"-L{FOLDER}/base", "-lmutant", *SYSTEM,
                 *generate.mark(path, "Link with").split()]]

    def build_environment(self):
        """Makes a copy of build/release in which the program uses the shared library."""
        folder = f"{FOLDER}/env"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for path in glob.glob("build/release/*"):
            if os.path.basename(path) != "tracebed":
                os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
        sources = generate.sources(self.paths, generate.PROGRAM)
        in_parallel([compile_to(path, object_of("tests", path)) for path in sources])
        must(["gcc", "-o", f"{folder}/tracebed", *(object_of("tests", path) for path in sources),
              f"-L{FOLDER}/base", "-lmutant", *SYSTEM])

    # ---- Running ----

    def run_test(self, name, library, seconds, more=None):
        """
        Returns 'passed', or how the test failed, and the CPU time that it took. 'seconds' is the limit.
        """
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(library), TBED_BUILD=f"{FOLDER}/env",
                           LC_ALL="C.UTF-8", TBED_MUTANTS="0", **(more or {}))
        with tempfile.TemporaryDirectory(prefix="tracebed-mutant-") as scratch:
            environment["TMPDIR"] = scratch
            child = subprocess.Popen(self.tests[name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
                                     preexec_fn=functools.partial(limit, int(seconds) + 1))
            over = threading.Event()
            timer = threading.Timer(20 + 8 * seconds, lambda: (over.set(), kill_group(child.pid)))
            timer.start()
            status, used = os.wait4(child.pid, 0)[1:]
            timer.cancel()
            kill_group(child.pid)
            child.returncode = os.waitstatus_to_exitcode(status)
        return "timeout" if over.is_set() else outcome_of(child.returncode), used.ru_utime + used.ru_stime

    def measure(self):
        """
        Returns {test: {'seconds': S, 'sanitized_seconds': S or null, 'lines': {path: [line…]}}}, in CPU time. Only
        tests that have changed are measured again.
        """
        self.build_library("cover", ["--coverage"])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            facts = dict(pool.map(self.measure_one, self.tests))
        return {name: fact for name, fact in facts.items() if fact is not None}

    def measure_one(self, name):
        target = f"{FOLDER}/lines/{name}.json"
        if not is_older(target, self.newest, self.tests[name][0]):
            with open(target, encoding="utf-8") as file:
                return name, json.load(file)
        result, seconds = self.run_test(name, f"{FOLDER}/base", 60)
        if result != "passed" or seconds > SLOW_SECONDS:
            print(f"  {name} does not take part: {result}, {seconds:.1f} s", flush=True)
            return name, None
        with tempfile.TemporaryDirectory(prefix="tracebed-cover-") as folder:
            strip = len(os.getcwd().strip("/").split("/"))
            self.run_test(name, f"{FOLDER}/cover", 120, {"GCOV_PREFIX": folder, "GCOV_PREFIX_STRIP": str(strip)})
            fact = {"seconds": seconds, "lines": self.lines_of(folder),
                    "sanitized_seconds": self.measure_sanitized(name, seconds)}
        os.makedirs(f"{FOLDER}/lines", exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            json.dump(fact, file)
        return name, fact

    def measure_sanitized(self, name, seconds):
        """Returns a test's CPU time with the sanitized library, or None if it fails, as tests that replace malloc() do."""
        result, taken = self.run_test(name, f"{FOLDER}/asan", 5 + 10 * seconds, sanitizer())
        return taken if result == "passed" else None

    @functools.lru_cache(maxsize=None)
    def code_lines(self, path):
        """Returns the lines of a source that have code."""
        notes = os.path.abspath(object_of("cover", path).removesuffix(".o") + ".gcno")
        done = subprocess.run(["gcov", "--json-format", "--stdout", notes], capture_output=True)
        return {item["line_number"] for line in done.stdout.splitlines() for file in json.loads(line)["files"]
                if os.path.normpath(file["file"]) == path for item in file["lines"]}

    def lines_of(self, folder):
        """Returns which lines of which sources ran, from the counters below 'folder'."""
        ran = {}
        for path in self.sources:
            counters = f"{folder}/{object_of('cover', path).removesuffix('.o')}.gcda"
            if os.path.exists(counters):
                notes = object_of("cover", path).removesuffix(".o") + ".gcno"
                shutil.copy(notes, os.path.dirname(counters))
                done = subprocess.run(["gcov", "--json-format", "--stdout", counters], capture_output=True)
                for line in done.stdout.splitlines():
                    for file in json.loads(line)["files"]:
                        lines = [item["line_number"] for item in file["lines"] if item["count"] > 0]
                        ran.setdefault(os.path.normpath(file["file"]), set()).update(lines)
        return {path: sorted(lines) for path, lines in ran.items()}


@functools.lru_cache(maxsize=None)
def sanitizer():
    """Returns the environment variables with which a test can use a sanitized library."""
    path = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    return {"LD_PRELOAD": os.path.realpath(path)}


def limit(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def outcome_of(status):
    if status < 0:
        return signal.Signals(-status).name
    return "passed" if status == 0 else "failed"


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
