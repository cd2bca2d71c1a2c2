"""
Measures which lines and branches run: './run cov'.

    coverage.py [--corpora] [--gate | --write] [--room PREFIX] [TARGET...]

First the fuzz corpora alone, then, unless --corpora is given, all tests too. Prints a table of the source files and their
rooms, and writes build/cov/coverage.html, which shows the lines and branches that did not run.

With TARGETs, runs only the fuzz targets, tests and scripts of these names; --room shows only files whose paths start
with PREFIX. Programs and preloaded libraries that tests start are measured as well.

--gate fails if a room covers less by the corpora than ninja/coverage.gate says; --write raises what it says.

Inline functions count for their header: a branch is taken if it is taken in any file that includes the header.
ninja/coverage.reasons gives the reason for each function that the corpora do not cover completely.

SPDX-License-Identifier: MIT
"""

import argparse
import concurrent.futures
import glob
import html
import json
import os
import subprocess
import sys

BUILD, PAGE, GATE = "build/cov", "build/cov/coverage.html", "ninja/coverage.gate"
REASONS = "ninja/coverage.reasons"
PRELOADED = "build/cov-preload"
# Tests in Python that start recording programs, and the targets that they need.
SCRIPTS = ["writer/tests/worlds/worlds_test.py", "writer/tests/session/lifetimes_test.py",
           "writer/tests/capture/functions_test.py", "writer/tests/capture/libraries_test.py",
           "spec/compare_allocations.py"]
SCRIPT_ARGUMENTS = {"spec/compare_allocations.py": [f"{BUILD}/tracebed"]}
SCRIPTS_NEED = [f"{BUILD}/programs", f"{BUILD}/libtracebed.so"]
ARCHIVES = ["libtracebed.a", "libtracebed_nonshared.a"]
SLACK = 0.5  # a change of the code moves the shares a little
PARTS = ("format/", "writer/", "reader/")


# ---- Measuring ----

class Counts:
    """The coverage of one file: line -> ran, (line, number of the branch in it) -> taken, and line -> function."""

    def __init__(self):
        self.lines, self.branches, self.functions, self.widths = {}, {}, {}, {}

    def add(self, file):
        """Adds one file of gcov's output."""
        for function in file["functions"]:
            for line in range(function["start_line"], function["end_line"] + 1):
                self.functions[line] = function["name"]
        for entry in file["lines"]:
            line = entry["line_number"]
            self.lines[line] = self.lines.get(line, False) or entry["count"] > 0
            branches = entry.get("branches", ())
            self.widths[line] = min(self.widths.get(line, len(branches)), len(branches))
            for number, branch in enumerate(branches):
                key = (line, number)
                self.branches[key] = self.branches.get(key, False) or branch["count"] > 0

    def fold(self):
        """Merges the copies of branches: a function inlined several times into another has several copies of each."""
        branches, self.branches = self.branches, {}
        for (line, number), taken in branches.items():
            key = (line, number % max(1, self.widths[line]))
            self.branches[key] = self.branches.get(key, False) or taken

    def join(self, other):
        for mine, others in ((self.lines, other.lines), (self.branches, other.branches)):
            for key, ran in others.items():
                mine[key] = mine.get(key, False) or ran
        self.functions.update(other.functions)
        for line, width in other.widths.items():
            self.widths[line] = min(self.widths.get(line, width), width)

    def missed(self):
        """Returns the functions in which a line did not run or a branch was not taken."""
        lines = {line for line, ran in self.lines.items() if not ran}
        lines |= {line for (line, _), taken in self.branches.items() if not taken}
        return {self.functions.get(line, "(inline)") for line in lines}


def is_product(path):
    return path.startswith(PARTS) and not {"tests", "examples", "ruby"} & set(path.split("/"))


def count(path):
    """
    Returns the coverage of a source file and of the headers that it includes, from gcov's counts beside the objects:
    those for the libraries, and those for preloaded libraries.
    """
    found = {}
    for folder in (BUILD, PRELOADED):
        notes = os.path.join(folder, path.removesuffix(".c") + ".gcno")
        if not os.path.exists(notes):
            continue
        run = subprocess.run(["gcov", "-b", "--json-format", "--stdout", notes], capture_output=True, text=True)
        for part in map(json.loads, run.stdout.splitlines()):
            for file in part["files"]:
                if is_product(os.path.normpath(file["file"])):
                    found.setdefault(os.path.normpath(file["file"]), Counts()).add(file)
    return found


def source_files():
    paths = (path for part in PARTS for path in glob.glob(f"{part}**/*.c", recursive=True))
    return sorted(filter(is_product, paths))


def measure(room):
    counted = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(count, source_files()):
            for path, counts in found.items():
                counted.setdefault(path, Counts()).join(counts)
    for counts in counted.values():
        counts.fold()
    return {path: counted[path] for path in sorted(counted) if path.startswith(room) and counted[path].lines}


def run(targets):
    """Runs tests again even if nothing has changed, and goes on if some fail. Returns how many, after saying which."""
    for path in glob.glob(f"{BUILD}/**/*.result*", recursive=True):
        os.remove(path)
    subprocess.run(["ninja", "-k", "0", *targets], stdout=subprocess.DEVNULL)
    failed = sorted(glob.glob(f"{BUILD}/**/*.result.failed", recursive=True))
    for path in failed:
        print(f"{path.removeprefix(BUILD + '/').removesuffix('.result.failed')} failed: what it would have covered is missing")
    return len(failed)


def add_runtime(archive):
    """Adds gcov's runtime to a library, since scripts link it with programs that are not compiled for coverage."""
    runtime = subprocess.run(["gcc", "-print-file-name=libgcov.a"], capture_output=True, text=True).stdout.strip()
    text = f"open {archive}\naddlib {runtime}\nsave\nend\n"
    subprocess.run(["ar", "-M"], input=text, text=True, stdout=subprocess.DEVNULL)


def run_scripts(paths):
    if not paths:
        return
    subprocess.run(["ninja", *SCRIPTS_NEED], stdout=subprocess.DEVNULL)
    for name in ARCHIVES:
        if os.path.exists(f"{BUILD}/{name}"):
            os.remove(f"{BUILD}/{name}")
    subprocess.run(["ninja", *(f"{BUILD}/{name}" for name in ARCHIVES)], stdout=subprocess.DEVNULL)
    for name in ARCHIVES:
        add_runtime(f"{BUILD}/{name}")
    for path in paths:
        subprocess.run([sys.executable, path, *SCRIPT_ARGUMENTS.get(path, ())],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "TBED_BUILD": BUILD, "TBED_PRELOAD_BUILD": PRELOADED,
                            "TBED_MUTANTS": "0"})


def run_named(names):
    """Runs fuzz targets on their corpora, test programs and scripts."""
    tests = {os.path.basename(path).removesuffix(".c"): path for path in glob.glob("*/tests/**/*_test.c", recursive=True)}
    tests.update({os.path.basename(path).removesuffix(".c"): path for path in glob.glob("fuzz/*/*_fuzzer.c")})
    scripts = {os.path.basename(path).removesuffix(".py"): path for path in SCRIPTS}
    targets, chosen = [], []
    for name in names:
        found = [key for key in (name, f"{name}_test", f"{name}_fuzzer") if key in tests or key in scripts]
        if not found:
            sys.exit(f"tracebed: no fuzz target, test or script is named '{name}'")
        targets += [f"{BUILD}/{tests[key].removesuffix('.c')}.result" for key in found if key in tests]
        chosen += [scripts[key] for key in found if key in scripts]
    if targets:
        run(targets)
    run_scripts(chosen)


def forget():
    for folder in (BUILD, PRELOADED):
        for path in glob.glob(f"{folder}/**/*.gcda", recursive=True):
            os.remove(path)


# ---- Reporting ----

def share(ran):
    return 100 * sum(ran) / len(ran) if ran else 100.0


def shares(counts):
    """The shares of lines and of branches of some files together."""
    return (share([ran for one in counts for ran in one.lines.values()]),
            share([taken for one in counts for taken in one.branches.values()]))


def room_of(path):
    """The parts of the format and of the reading library, and those of the writer."""
    return "/".join(path.split("/")[:-1][:2])


def rooms_of(counted):
    rooms = {}
    for path, counts in counted.items():
        rooms.setdefault(room_of(path), []).append(counts)
    return {room: shares(counts) for room, counts in sorted(rooms.items())}


def row(name, measures):
    return f"{name:52}" + "".join(f"  {lines:6.1f} {branches:8.1f}" for lines, branches in measures)


def print_table(measured):
    titles = "".join(f"  {title:>15}" for title in measured)
    print(f"{'':52}{titles}\n{'':52}" + "   lines branches" * len(measured))
    tables = list(measured.values())
    for path in sorted(set().union(*tables)):
        print(row(path, [shares([table.get(path, Counts())]) for table in tables]))
    rooms = [rooms_of(table) for table in tables]
    for room in rooms[0]:
        print(row(room, [table[room] for table in rooms]))


def page_of(path, counts, reasons):
    """Returns the reasons, then the file's text, in which lines not run and branches not taken are marked."""
    with open(path, encoding="utf-8") as file:
        text = file.read().splitlines()
    lines, branches = shares([counts])
    parts = [f"<details><summary>{path}: {lines:.1f} % of lines, {branches:.1f} % of branches</summary>"]
    parts += [f"<p>{function}: {html.escape(reason)}" for (of, function), reason in reasons.items() if of == path]
    parts.append("<pre>")
    for number, line in enumerate(text, 1):
        missed = [key for key, taken in counts.branches.items() if key[0] == number and not taken]
        kind = "no" if counts.lines.get(number) is False else "part" if missed else ""
        parts.append(f'<span class="{kind}">{number:5} {html.escape(line)}</span>')
    return "\n".join(parts) + "</pre></details>"


def write_page(counted):
    style = "pre{line-height:1.2} .no{background:#fbb} .part{background:#fe9} summary{font-family:monospace}"
    _, reasons = read_reasons()
    body = "\n".join(page_of(path, counts, reasons) for path, counts in counted.items())
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f'<!DOCTYPE html><meta charset="utf-8"><title>Coverage</title><style>{style}</style>\n{body}\n')


# ---- What is not covered, and why ----

def read_reasons():
    """Returns the folders for which the list must be complete, and (path, function) -> reason."""
    folders, reasons = (), {}
    with open(REASONS, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("complete: "):
                folders = tuple(line.split()[1:])
            elif line and not line.startswith("#"):
                place, reason = line.split(": ", 1)
                reasons[tuple(place.split())] = reason
    return folders, reasons


def explain(counted):
    """Compares the reasons with what was measured. Returns how many are for functions that do not exist."""
    folders, reasons = read_reasons()
    missed = {(path, function) for path, counts in counted.items() for function in counts.missed()}
    known = {(path, function) for path, counts in counted.items() for function in (*counts.functions.values(), "(inline)")}
    print(f"{len(missed & set(reasons))} functions are not covered completely, with a reason in {REASONS}")
    for path, function in sorted(missed - set(reasons)):
        if path.startswith(folders):
            print(f"{path}: {function}() is not covered completely, without a reason in {REASONS}")
    for path, function in sorted(set(reasons) & known - missed):
        print(f"{REASONS}: {path}: {function}() is covered now; delete its line")
    gone = sorted(set(reasons) - known)
    for path, function in gone:
        print(f"{REASONS}: {path} has no {function}()")
    return len(gone)


# ---- The gate ----

def read_gate():
    """room -> shares of lines and branches"""
    if not os.path.exists(GATE):
        return {}
    with open(GATE, encoding="utf-8") as file:
        words = [line.split() for line in file if not line.startswith("#")]
    return {room: (float(lines), float(branches)) for room, lines, branches in words}


def write_gate(rooms):
    gate = read_gate()
    with open(GATE, "w", encoding="utf-8") as file:
        file.write("# What the fuzz corpora alone cover of each room, in percent of its lines and branches.\n"
                   "# './run cov --corpora --gate' checks it, and '--write' raises it.\n")
        for room, found in sorted(rooms.items()):
            if found[0] == 0:
                continue
            # Rounded down, so that the same measurement passes.
            best = [max(old, int(new * 10) / 10) for old, new in zip(gate.get(room, (0, 0)), found)]
            file.write(f"{room:24} {best[0]:5.1f} {best[1]:5.1f}\n")


def check_gate(rooms):
    failed = 0
    for room, wanted in read_gate().items():
        for what, least, found in zip(("lines", "branches"), wanted, rooms.get(room, (0, 0))):
            if found < least - SLACK:
                print(f"{room}: the corpora cover {found:.1f} % of its {what}; it was {least} %")
                failed += 1
    return failed


def main(arguments):
    parser = argparse.ArgumentParser(prog="./run cov", description="measure which lines and branches run")
    parser.add_argument("--corpora", action="store_true", help="only by the fuzz corpora, not by all tests")
    parser.add_argument("--gate", action="store_true", help=f"fail if less is covered than {GATE} says")
    parser.add_argument("--write", action="store_true", help=f"raise what {GATE} says")
    parser.add_argument("--room", metavar="PREFIX", default="", help="show only files whose paths start with PREFIX")
    parser.add_argument("targets", metavar="TARGET", nargs="*", help="run only these fuzz targets, tests and scripts")
    options = parser.parse_args(arguments)
    if (options.gate or options.write) and (options.room or options.targets):
        parser.error("--gate and --write apply to all targets and rooms")
    forget()
    failed = 0
    if options.targets:
        run_named(options.targets)
        measured = {"these": measure(options.room)}
    else:
        failed = run([f"{BUILD}/replay"])
        measured = {"corpora": measure(options.room)}
    if not list(measured.values())[0]:
        print("nothing was measured")
        return 1
    if not options.corpora and not options.targets:
        failed += run([f"{BUILD}/check"])
        run_scripts(SCRIPTS)
        measured["all tests"] = measure(options.room)
    print_table(measured)
    write_page(list(measured.values())[-1])
    print(f"{PAGE} shows what did not run")
    rooms = rooms_of(list(measured.values())[0])
    gone = explain(measured["corpora"]) if not options.room and not options.targets else 0
    if options.write:
        write_gate(rooms)
    return 1 if failed + (check_gate(rooms) + gone if options.gate else 0) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
