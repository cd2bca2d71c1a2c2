"""
Builds tracebed for other machines and another C library, and tries it there: './run platforms [NAME...]'.

    platforms.py [NAME...]     arm64, armhf, i386, s390x (big-endian), musl; all of them without a name

'musl' is ninja/musl/musl.py. For each machine, in build/platforms/NAME: mmdebstrap unpacks a small Debian with the libraries
of tracebed, which needs neither root nor a change of this system; a cross compiler builds the program and its tests; and
qemu runs the tests of the format, of the reader and of the writer. Programs for i386 run without it, on x86-64: after a
signal, qemu 7.2 gives a thread of such a program the thread-local variables of the thread that was created last. Then the
program answers the same questions about each golden file as the one of this machine, in build/release: both must print the
same bytes, and end with the same status. The last line is 'N passed, N failed'.

SPDX-License-Identifier: MIT
"""

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import answers
from answers import ROOT

FOLDER = ROOT / "build/platforms"
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
PACKAGES = ["libc6-dev", "libcmocka-dev", "libdw-dev", "libelf-dev", "libiberty-dev", "libsqlite3-dev", "libxxhash-dev",
            "libzstd-dev", "zlib1g-dev"]
# Debian's name of the machine: the compiler, and qemu; None: this machine runs such programs itself.
MACHINES = {
    "arm64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armhf": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "i386": ("i686-linux-gnu-gcc", None),
    "s390x": ("s390x-linux-gnu-gcc", "qemu-s390x"),
}
# On 32-bit machines, code for 64-bit ones converts sizes; what a file says is compared with its size before.
FLAGS = "-O1 -g0 -Wno-conversion -Wno-format-truncation -Wno-maybe-uninitialized -Wno-sign-compare"
FLAGS_32 = FLAGS + " -D_FILE_OFFSET_BITS=64"
ROOMS = ("format/", "reader/tests/", "writer/tests/")
# Tests that qemu's user mode cannot run: the reason, and what is in the source of such a test, or its name.
LEFT_OUT_QEMU = {
    "starts a program, which qemu would have to run as well": r"tool_run\.h|\bexec[vl]\w*\(|posix_spawn|popen\(|in_child\(",
    "forks; qemu gives the child memory that the kernel wipes": r"\bfork\(|_fork\(",
    "is about the kernel or the C library of this machine": r"/proc/|RTLD_NEXT|preload|symbols|sigaltstack",
    "maps a terabyte, which qemu cannot": r"UINT64_C\(1\) << 40",
    "opens many traces, and qemu needs gigabytes for their maps, or minutes":
        r"differences_test|/(exchange_memory|profile_reference|tables_orders_threads|logfile_threads|session_threads|"
        r"writer_failing_calls|writer_recover|writer_rotate_threads|writer_threads)_test",
}
LEFT_OUT_32 = {"needs integers of 128 bits, which only 64-bit machines have": r"__int128"}
# Tests that cannot run on i386, where there is no qemu.
LEFT_OUT_I386 = {
    "maps a terabyte": r"/reader_directory_test",
    "has a case that uses 'tracebed record', which does not record programs of 32 bits":
        r"/preload/|/(tool_memory|tool_report|tool_symbolize|damage|writer_kills)_test",
    "is about instructions or calls of 64-bit machines": r"/(arguments|entry_steps|writer_steps)_test",
}
TEST_SECONDS_MAX = 600
# The writing library maps as much as it may, and qemu needs memory of its own for each page of a map. For a 32-bit program it
# reserves 4 GiB, and a program that runs without it has no more.
NBYTES_MAX, NBYTES_MAX_32 = 3 << 30, 7 << 30


def refuse(text):
    sys.exit(f"tracebed: {text}")


def is_32_bit(name):
    return name in ("armhf", "i386")


# ---- Building ----


def make_links_relative(system):
    """Of libraries: the linker would look for an absolute link's target on this machine, and then link statically."""
    for link in system.glob("usr/lib/*/*.so"):
        if link.is_symlink() and os.readlink(link).startswith("/"):
            target = os.path.relpath(str(system) + os.readlink(link), link.parent)
            link.unlink()
            link.symlink_to(target)


def system_of(name):
    """Unpacks the machine's Debian, unless it is there."""
    system = FOLDER / name / "system"
    done = FOLDER / name / "system.done"
    if not done.exists():
        shutil.rmtree(system, ignore_errors=True)
        system.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mmdebstrap", "--quiet", "--variant=extract", f"--architectures={name}",
                        f"--include={','.join(PACKAGES)}", SUITE, str(system), MIRROR], check=True)
        make_links_relative(system)
        done.touch()
    return system


def loader_of(system):
    loader, = system.glob("lib/*/ld-linux*.so.2")
    return loader


def loader_flags(system):
    """For programs that this machine runs itself: the other system's loader and libraries, by their paths."""
    loader = loader_of(system)
    folders = f"{loader.parent}:{system}/usr/lib/{loader.parent.name}"
    return f"-Wl,--dynamic-linker={loader},--disable-new-dtags,-rpath,{folders}"


def compiler_of(name, system):
    compiler, qemu = MACHINES[name]
    return f"{compiler} --sysroot={system}" + (f" {loader_flags(system)}" if qemu is None else "")


def ninja_file(name, system):
    """Writes a ninja file with one variant more, the machine's, in build/platforms/NAME."""
    folder = f"build/platforms/{name}"
    variant = FOLDER / name / "variant.ninja"
    variant.write_text(f"b = {folder}\n"
                       f"cc = {compiler_of(name, system)}\n"
                       f"cflags = {FLAGS_32 if is_32_bit(name) else FLAGS}\n"
                       "no_undefined = -Wl,-z,defs\n"
                       "fuzz_main = $b/fuzz/support/replay_driver.o\n"
                       "include ninja/generated/targets.ninja\n", encoding="utf-8")
    path = FOLDER / name / "build.ninja"
    path.write_text(f"include build.ninja\nbuilddir = {folder}\nsubninja {variant.relative_to(ROOT)}\n", encoding="utf-8")
    return path


def reason_to_leave_out(name, test):
    source = (ROOT / f"{test}.c").read_text(encoding="utf-8")
    reasons = {**(LEFT_OUT_QEMU if MACHINES[name][1] is not None else LEFT_OUT_I386),
               **(LEFT_OUT_32 if is_32_bit(name) else {})}
    return next((reason for reason, pattern in reasons.items() if re.search(pattern, test + source)), None)


def tests_to_run(name):
    """Returns the tests to run on the machine, and how many are left out for each reason."""
    text = (ROOT / "ninja/generated/targets.ninja").read_text(encoding="utf-8")
    tests, left_out = [], collections.Counter()
    for test in re.findall(r"^build \$b/(\S+_test): program", text, re.M):
        reason = reason_to_leave_out(name, test) if test.startswith(ROOMS) else None
        if reason is not None:
            left_out[reason] += 1
        elif test.startswith(ROOMS):
            tests.append(test)
    return tests, left_out


def build(name, system, tests):
    folder = f"build/platforms/{name}"
    targets = [f"{folder}/{target}" for target in ["tracebed", *tests]]
    return subprocess.run(["ninja", "--quiet", "-f", str(ninja_file(name, system)), *targets], cwd=ROOT).returncode == 0


# ---- Running ----


def environment(emulator, folder):
    """Without qemu, tests start the program of the machine; under qemu, only golden_listing_test does, that of this one."""
    build = {} if emulator else {"TBED_BUILD": folder}
    return {**os.environ, "LC_ALL": "C.UTF-8", "TRACEBED_OPTIONS": "--no-defaults", **build}


def run_test(emulator, folder, test):
    """Returns the name, how many cases passed and failed, and what there is to say."""
    nbytes_max = NBYTES_MAX_32 if is_32_bit(pathlib.Path(folder).name) else NBYTES_MAX
    command = ["prlimit", f"--as={nbytes_max}", *emulator, f"{folder}/{test}"]
    with subprocess.Popen(command, cwd=ROOT, env=environment(emulator, folder), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as process:
        try:
            text = process.communicate(timeout=TEST_SECONDS_MAX)[0]
        except subprocess.TimeoutExpired:
            text = f"takes longer than {TEST_SECONDS_MAX} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its children as well
    passed = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) test", text, re.M)))
    failed = sum(map(int, re.findall(r"^\[  FAILED  \] (\d+) test", text, re.M)))
    if process.returncode != 0 and failed == 0 or passed + failed == 0:
        failed += 1
    return test, passed, failed, text if failed else ""


def compare(emulator, folder, path):
    """Returns the file's name, how many answers about it are equal and not, and which."""
    wrong = answers.differing([*emulator, f"{folder}/tracebed"], path)
    text = "".join(f"  tracebed {question} {path}: differs\n" for question in wrong)
    return path, len(answers.QUESTIONS) - len(wrong), len(wrong), text


def tell(name, results):
    """Prints what failed. Returns the sums."""
    passed = failed = 0
    for what, good, bad, text in results:
        passed, failed = passed + good, failed + bad
        if bad:
            print(f"{name}: FAILED {what}\n{text}", flush=True)
    return passed, failed


def check(name, workers):
    compiler, qemu = MACHINES[name]
    system, folder = system_of(name), f"build/platforms/{name}"
    if qemu is None:
        refuse_unless_it_runs(loader_of(system))
    tests, left_out = tests_to_run(name)
    for reason, count in left_out.items():
        print(f"{name}: {count} tests are not run: each {reason}", flush=True)
    print(f"{name}: building with {compiler}", flush=True)
    if not build(name, system, tests):
        return 0, 1
    emulator = [qemu, "-L", str(system)] if qemu is not None else []
    files = answers.golden_files()
    tested = tell(name, workers.map(lambda test: run_test(emulator, folder, test), tests))
    compared = tell(name, workers.map(lambda path: compare(emulator, folder, path), files))
    print(f"{name}: {tested[0]} cases of {len(tests)} tests passed, {tested[1]} failed; {compared[0]} answers about "
          f"{len(files)} golden files are those of this machine, {compared[1]} differ", flush=True)
    return tested[0] + compared[0], tested[1] + compared[1]


def check_musl():
    """Prints what musl.py does, and returns the numbers of its last line."""
    last = ""
    with subprocess.Popen([sys.executable, "ninja/musl/musl.py"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as musl:
        for line in musl.stdout:
            last = line
            print(f"musl: {line}", end="", flush=True)
    numbers = re.fullmatch(r"(\d+) passed, (\d+) failed\n", last)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 1)


def refuse_unknown(names):
    for name in names:
        if name not in (*MACHINES, "musl"):
            refuse(f"unknown platform '{name}'; there are {', '.join(MACHINES)}, musl")
        for command in ("mmdebstrap", *MACHINES[name]) if name in MACHINES else ():
            if command is not None and shutil.which(command) is None:
                refuse(f"{command} is missing")


def refuse_unless_it_runs(loader):
    try:
        subprocess.run([loader, "--version"], check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        refuse(f"this machine cannot run programs for i386: {error}")


def main():
    names = sys.argv[1:] or [*MACHINES, "musl"]
    refuse_unknown(names)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for name in names:
            good, bad = check_musl() if name == "musl" else check(name, workers)
            passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
