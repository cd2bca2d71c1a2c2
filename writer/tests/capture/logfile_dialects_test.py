"""
The macros of RTL_LOGFILE in the dialects of the code base that they were written for, against an oracle: a program that uses
every form is compiled with our headers and with the oracle's, and the exported log has the oracle's bytes, except for times.

Check: logfile-dialects
Needs: $b/libtracebed.a $b/tracebed

SPDX-License-Identifier: MIT
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import BUILD, ROOT, TRACEBED, Failure

HERE = ROOT / "writer/tests/capture"
FOLDERS = ["format/include", "writer/include", "writer/capture/include", "writer/capture/include/openoffice"]
OURS = [f"-I{ROOT / folder}" for folder in FOLDERS]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Werror"]
DIALECTS = [("g++", "gnu++98", "-O2"), ("g++", "gnu++98", "-O0"), ("g++", "gnu++11", "-O2"), ("g++", "gnu++17", "-O2"),
            ("clang++", "gnu++98", "-O2"), ("clang++", "gnu++11", "-O0"), ("clang++", "gnu++17", "-O2")]


def run(folder, *command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TRACEBED", "RTL_"))}
    result = subprocess.run([str(word) for word in command], cwd=folder, env={**clean, **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {result.returncode}\n{result.stdout.decode(errors='replace')}")
    return result.stdout


def without_times(log):
    return re.sub(rb"(?m)^\d{6,} (?=\d+ [{}|])", b"", log)


def without_addresses(log):
    """They differ from process to process; an address of the stack has more than 32 bits."""
    return re.sub(rb"0x([0-9a-f]{1,8}|[0-9A-F]{1,8})\n", b"0x<low 32 bits>\n", log)


def compile_to(folder, program, compiler, standard, level, *more):
    run(folder, compiler, f"-std={standard}", level, *WARNINGS, "-DTIMELOG", *more, "-x", "c++", HERE / "logfile_forms.cxx",
        "-x", "none", *([BUILD / "libtracebed.a"] if program == "ours" else []), "-pthread", "-o", program)


def log_of_oracle(folder, *arguments):
    run(folder, "./oracle", *arguments, RTL_ORACLE="oracle.log")
    return (folder / "oracle.log").read_bytes()


def log_of_ours(folder, *arguments, options=()):
    for old in folder.glob("run*"):
        old.unlink()
    run(folder, "./ours", *arguments, RTL_LOGFILE="run.nopid")
    log = run(folder, TRACEBED, "export", "--to=rtl-log", *options, "run.nopid", "-o", "-")
    header = rb"opening log file .*\ncorresponding to 0 ms after timer start\nProcess id is \d+\n"
    whole = re.fullmatch(rb"(?s)" + header + rb"(.*)closing log file at \d{6}", log)
    if whole is None:
        raise Failure(f"header or trailer:\n{log!r}")
    return whole.group(1)


def expect_same(found, wanted, what):
    if found != wanted:
        pairs = zip(found.split(b"\n"), wanted.split(b"\n"))
        first = next((pair for pair in pairs if pair[0] != pair[1]), (len(found), len(wanted)))
        raise Failure(f"{what}: found, wanted: {first}")


def test_bytes(folder):
    compile_to(folder, "oracle", "g++", "gnu++98", "-O1", f"-I{HERE / 'originals'}")
    wanted = without_addresses(without_times(log_of_oracle(folder)))
    if wanted.count(b"low 32 bits") != 2 or wanted.count(b"\n") < 100:
        raise Failure(f"the oracle: {wanted!r}")
    for dialect in DIALECTS:
        compile_to(folder, "ours", *dialect, *OURS)
        expect_same(without_addresses(without_times(log_of_ours(folder))), wanted, dialect)


def test_long_texts(folder):
    """With --quirks, what does not fit is cut as in the original, where a text loses its newline."""
    compile_to(folder, "oracle", "g++", "gnu++98", "-O1", f"-I{HERE / 'originals'}")
    compile_to(folder, "ours", "g++", "gnu++98", "-O2", *OURS)
    strip = lambda log: without_addresses(re.sub(rb"\d{6} (?=\d+ [{}|])", b"", log))
    expect_same(strip(log_of_ours(folder, "long", options=["--quirks"])), strip(log_of_oracle(folder, "long")), "--quirks")


def test_off(folder):
    """Without RTL_LOGFILE nothing is recorded, and names are empty."""
    compile_to(folder, "ours", "g++", "gnu++98", "-O2", *OURS)
    result = subprocess.run(["./ours"], cwd=folder, env={"PATH": os.environ["PATH"]})
    if result.returncode != 1 or sorted(each.name for each in folder.iterdir()) != ["ours"]:
        raise Failure(f"{result.returncode} {list(folder.iterdir())}")


def test_no_guards(folder):
    """In old dialects too, descriptors are constants: a guard for each would cost more than the macro."""
    for compiler, standard in ("g++", "gnu++98"), ("clang++", "gnu++98"), ("g++", "gnu++11"):
        run(folder, compiler, f"-std={standard}", "-O2", "-DTIMELOG", *OURS, "-c", HERE / "logfile_forms.cxx", "-o", "forms.o")
        names = run(folder, "nm", "-C", "forms.o").decode()
        guards = [line for line in names.splitlines() if "guard variable" in line and "lifetimes" not in line]
        if guards:
            raise Failure("\n".join(guards))


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
