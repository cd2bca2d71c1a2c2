"""
Builds and runs a small program in each of the ways in which a project may use tracebed: every folder beside this file is one.
Each way has the same truth: two spans and two messages. A way whose compiler or build system is missing is named.

Check: consumers
Needs: release
Slow: compiles the writing library in four ways

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "ninja/checks"))
import cases
from cases import ROOT, need, output_of

HERE = pathlib.Path(__file__).resolve().parent
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
MESSAGES = ["info: number 2", "info: number 3"]
installed = None


def user(folder):
    """The environment of somebody who has installed tracebed in a folder of their own."""
    global installed
    if installed is None:
        installed = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"tracebed-consumers-{os.getpid()}"
        output_of(ROOT, "sh", "ninja/install.sh", prefix=str(installed), DESTDIR="")
    return {"PKG_CONFIG_PATH": f"{installed}/lib/pkgconfig", "CMAKE_PREFIX_PATH": str(installed),
            "LD_LIBRARY_PATH": f"{installed}/lib", "RUBYLIB": f"{installed}/lib/tracebed/ruby",
            "PYTHONPATH": f"{installed}/lib/tracebed/python"}


def copy(name, folder):
    shutil.copytree(HERE / name, folder / name)
    return folder / name


def is_missing(*commands):
    """Says so if a way cannot be tried."""
    missing = [command for command in commands if shutil.which(command) is None]
    return f"skipped: no {', '.join(missing)}" if missing else None


def check_run(folder, program, environment):
    """The program records what it should, and records nothing without being asked to."""
    output_of(folder, program, **environment)
    need(list(folder.glob("*.tbed")) == [], "it records without being asked to")
    output_of(folder, program, **environment, TRACEBED="run.tbed")
    told = output_of(folder, installed / "bin/tracebed", "dump", "run.tbed")
    spans = re.findall(r"begin +(?:\S*[: ])?square\b", told)
    need(len(spans) == 2 and [word for word in MESSAGES if word not in told] == [], told)


def flags_of(environment, *words):
    return output_of(ROOT, "pkg-config", "--cflags", "--libs", *words, **environment).split()


def compile_and_run(folder, name, source, *command):
    """With the installed headers and libraries, and no build system."""
    environment, place = user(folder), copy(name, folder)
    include, library = f"-I{installed}/include", f"-L{installed}/lib"
    output_of(place, *command, *STRICT, include, source, "-o", "consumer", library, "-ltracebed", "-pthread")
    check_run(place, "./consumer", environment)


def test_c(folder):
    compile_and_run(folder, "c", "squares.c", "gcc", "-std=c11")


def test_cpp17(folder):
    compile_and_run(folder, "cpp17", "squares17.cpp", "g++", "-std=c++17")


def test_cpp20(folder):
    compile_and_run(folder, "cpp20", "squares20.cpp", "g++", "-std=c++20", "-Wold-style-cast", "-Wuseless-cast", "-Wzero-as-null-pointer-constant")


def test_pkg_config(folder):
    environment, place = user(folder), copy("pkg_config", folder)
    output_of(place, "gcc", *STRICT, "squares_pkg_config.c", "-o", "shared", *flags_of(environment, "tracebed"))
    check_run(place, "./shared", environment)
    (place / "run.tbed").unlink()
    output_of(place, "gcc", *STRICT, "-static", "squares_pkg_config.c", "-o", "static", *flags_of(environment, "--static", "tracebed"))
    check_run(place, "./static", {})


def test_cmake_package(folder):
    if missing := is_missing("cmake"):
        return missing
    environment, place = user(folder), copy("cmake_package", folder)
    output_of(place, "cmake", "-S", ".", "-B", "build", "-G", "Ninja", **environment)
    output_of(place, "cmake", "--build", "build", **environment)
    check_run(place, "build/consumer", environment)
    (place / "run.tbed").unlink()
    check_run(place, "build/consumer-static", {})


def test_a_version_that_is_not_there_is_refused(folder):
    if missing := is_missing("cmake"):
        return missing
    environment, place = user(folder), copy("cmake_package", folder)
    lists = place / "CMakeLists.txt"
    for wanted in ("0.1", "9.0", "0.2.99"):
        lists.write_text(re.sub(r"find_package\(tracebed \S+", f"find_package(tracebed {wanted}", lists.read_text()))
        run = subprocess.run(["cmake", "-S", ".", "-B", "build", "-G", "Ninja"], cwd=place, capture_output=True, text=True,
                             env={**os.environ, **environment})
        need(run.returncode != 0 and "compatible" in run.stderr, f"{wanted}: {run.stderr}")
    return None


def test_cmake_fetch(folder):
    if missing := is_missing("cmake"):
        return missing
    user(folder)
    place = copy("cmake_fetch", folder)
    output_of(place, "cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DTRACEBED={ROOT}")
    output_of(place, "cmake", "--build", "build")
    check_run(place, "build/consumer", {})
    return None


def test_meson(folder):
    if missing := is_missing("meson"):
        return missing
    user(folder)
    place = copy("meson", folder)
    (place / "subprojects").mkdir()
    (place / "subprojects/tracebed").symlink_to(ROOT)
    output_of(place, "meson", "setup", "build", PKG_CONFIG_PATH="")
    output_of(place, "ninja", "-C", "build")
    check_run(place, "build/consumer", {})
    (place / "run.tbed").unlink()
    output_of(place, "meson", "setup", "installed", **user(folder))
    output_of(place, "ninja", "-C", "installed")
    need("libtracebed.so" in output_of(place, "ldd", "installed/consumer", **user(folder)), "not the installed one")
    check_run(place, "installed/consumer", user(folder))
    return None


def one_file(folder, name, *command):
    user(folder)
    place = copy(name, folder)
    output_of(ROOT, sys.executable, "ninja/amalgamate.py", str(place))
    output_of(place, *command, "-I.", f"squares_{name}.c", "tracebed.c", "-o", "consumer", "-pthread")
    check_run(place, "./consumer", {})


def test_one_file(folder):
    one_file(folder, "one_file", "cc", "-O1")


def test_musl(folder):
    if missing := is_missing("musl-gcc"):
        return missing
    return one_file(folder, "musl", "musl-gcc", "-O1", "-static")


def test_python(folder):
    environment, place = user(folder), copy("c", folder)
    if not (installed / "lib/tracebed/python").is_dir():
        return "skipped: no headers of Python"
    output_of(place, "gcc", "squares.c", "-o", "consumer", *flags_of(environment, "tracebed"))
    check_run(place, "./consumer", environment)
    told = output_of(place, "/usr/bin/python3", HERE / "python/squares.py", "run.tbed", **environment)
    need(told.split() == ["square", "square"], told)
    return None


def test_ruby(folder):
    environment = user(folder)
    if shutil.which("ruby") is None or not (installed / "lib/tracebed/ruby").is_dir():
        return "skipped: no Ruby, or no headers"
    output_of(folder, "ruby", HERE / "ruby/squares.rb", "run.tbed", **environment)
    told = output_of(folder, installed / "bin/tracebed", "report", "run.tbed")
    need("squares.rb:8" in told, told)
    return None


def test_every_folder_is_tried(folder):
    text = pathlib.Path(__file__).read_text(encoding="utf-8")
    for place in HERE.iterdir():
        need(not place.is_dir() or place.name == "__pycache__" or f"def test_{place.name}(" in text, place.name)


if __name__ == "__main__":
    status = cases.run_all(globals())
    if installed is not None:
        shutil.rmtree(installed, ignore_errors=True)
    sys.exit(status)
