"""
Mutation testing: changes one operator, constant or statement of a source file at a time, and runs the tests that could
notice. A mutant that no test notices shows what the tests do not check.

    mutate.py [--count N] [--seed N] [--jobs N] [--again] [--within SECONDS] [FILE | FOLDER]...
    mutate.py --planted

Draws N mutants at random (default 100) from the files, by default from the cores: format, reader/core and the writer up
to writer/life. Prints each survivor; the last line is the score. Mutants that compile to the original's code are not
counted, nor are those that equivalent.txt lists with the reason why no test can notice them. A mutant that passes all
tests is tried once more with AddressSanitizer and UndefinedBehaviorSanitizer. --again tries the survivors of the last
run. --planted tries the bugs of planted.txt instead, and fails if the tests miss one. --within leaves out tests that
take longer, for a quick look; a full run may kill more.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import concurrent.futures
import fcntl
import filecmp
import hashlib
import os
import queue
import sys

import bench
import mutants

CORES = ["format", "reader/core", "writer/base", "writer/file", "writer/pages", "writer/store", "writer/record",
         "writer/copy", "writer/life"]
EQUIVALENT = "ninja/mutate/equivalent.txt"
PLANTED = "ninja/mutate/planted.txt"
SURVIVORS = f"{bench.FOLDER}/survivors.txt"


def listed_mutants(path):
    """Returns the mutants that a file lists in the form of name_of(); other lines are reasons and comments."""
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {line.strip() for line in file if line.rstrip().endswith("]") and not line.startswith("#")}


def read_texts(paths):
    texts = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    return texts


def planted_bugs(texts):
    """Returns the bugs of planted.txt: name -> mutant."""
    with open(PLANTED, encoding="utf-8") as file:
        entries = [entry for entry in file.read().split("\n\n") if not entry.startswith("#")]
    bugs = {}
    for entry in entries:
        name, path, *lines = entry.strip("\n").split("\n")
        old, new = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
        if texts[path].count(old) != 1:
            sys.exit(f"tracebed: {PLANTED}: {path} does not have the lines of '{name}' once")
        start = texts[path].index(old)
        line = texts[path].count("\n", 0, start) + 1
        bugs[name] = mutants.Mutant(path, line, "planted", start, start + len(old), old, new)
    return bugs


def try_planted(stage, facts, texts):
    """Prints whether the tests find each bug, and returns the exit status."""
    worker, missed = Worker(0, stage, facts, texts), 0
    for name, bug in planted_bugs(texts).items():
        result, note = worker.judge(bug)
        missed += result != "killed"
        print(f"{'found' if result == 'killed' else 'MISSED'}  {name}  {note or result}", flush=True)
    return 1 if missed else 0


def code_line(texts, mutant):
    return texts[mutant.path].split("\n")[mutant.line - 1].strip()


def name_of(texts, mutant, change=None):
    """Returns a mutant's name in lists, without a line number, so that it survives changes elsewhere in the file."""
    return f"{mutant.path}: {code_line(texts, mutant)}   [{change or f'{mutant.old} -> {mutant.new}'}]"


def describe(texts, mutant):
    return name_of(texts, mutant).replace(":", f":{mutant.line}:", 1)


class Worker:
    """Tries one mutant at a time in a folder of its own."""

    def __init__(self, number, stage, facts, texts):
        self.stage, self.facts, self.texts = stage, facts, texts
        self.folder = f"{bench.FOLDER}/worker-{number}"
        os.makedirs(self.folder, exist_ok=True)

    def build(self, mutant):
        """Returns 'ready', 'not compiled' or 'same code'."""
        source = f"{self.folder}/{os.path.basename(mutant.path)}"
        target = f"{self.folder}/mutant.o"
        with open(source, "w", encoding="utf-8") as file:
            file.write(mutants.apply(mutant, self.texts[mutant.path]))
        if bench.run(bench.compile_to(mutant.path, target, ["-g0"], source)).returncode != 0:
            return "not compiled"
        if filecmp.cmp(target, self.original(mutant.path, source), shallow=False):
            return "same code"
        return "ready" if self.link("base", mutant, target, self.folder, []) else "not compiled"

    def link(self, folder, mutant, target, library, extra):
        own = bench.object_of(folder, mutant.path)
        objects = [target if path == own else path for path in
                   (bench.object_of(folder, path) for path in self.stage.sources)]
        return bench.run(bench.link_library(objects, f"{library}/libmutant.so", extra)).returncode == 0

    def build_sanitized(self, mutant):
        """Builds the mutant again, with the sanitizers; returns the folder of the library."""
        source, folder = f"{self.folder}/{os.path.basename(mutant.path)}", f"{self.folder}/asan"
        os.makedirs(folder, exist_ok=True)
        target = f"{folder}/mutant.o"
        with open(source, "w", encoding="utf-8") as file:
            file.write(mutants.apply(mutant, self.texts[mutant.path]))
        bench.must(bench.compile_to(mutant.path, target, bench.SANITIZE, source))
        if not self.link("asan", mutant, target, folder, bench.SANITIZE):
            sys.exit(f"tracebed: {mutant.path} cannot be linked with the sanitizers")
        return folder

    def original(self, path, source):
        """Returns the object of the unchanged file, compiled in the same folder as the mutants."""
        target = f"{self.folder}/{path.replace('/', '-')}.o"
        if bench.is_older(target, self.stage.newest):
            with open(source, "w", encoding="utf-8") as file:
                file.write(self.texts[path])
            bench.must(bench.compile_to(path, target, ["-g0"], source))
        return target

    def covering(self, mutant):
        """The tests that run the mutated line, or the file if the line is a constant's; the quickest first."""
        near = range(mutant.line, mutant.line + 3)  # a statement may be counted at its last line
        if not any(line in self.stage.code_lines(mutant.path) for line in near):
            near = self.stage.code_lines(mutant.path)
        found = [name for name, fact in self.facts.items()
                 if any(line in fact["lines"].get(mutant.path, ()) for line in near)]
        return sorted(found, key=lambda name: self.facts[name]["seconds"])

    def judge(self, mutant):
        result = self.build(mutant)
        if result != "ready":
            return result, ""
        tests = self.covering(mutant)
        if not tests:
            return "survived", "no test runs this line"
        found = self.run(tests, "seconds", self.folder, None)
        if found is None:
            sanitized = [name for name in tests if self.facts[name]["sanitized_seconds"] is not None]
            found = self.run(sanitized, "sanitized_seconds", self.build_sanitized(mutant), bench.sanitizer())
        return ("killed", found) if found else ("survived", f"{len(tests)} tests run it")

    def run(self, tests, time, library, environment):
        """Returns which test fails and how, or None."""
        for name in tests:
            outcome, _ = self.stage.run_test(name, library, 5 + 4 * self.facts[name][time], environment)
            if outcome != "passed":
                return f"{name}: {outcome}"
        return None


def draw(paths, texts, seed):
    """All mutants in an order of their own for each seed: a longer run continues a shorter one, and a change of the
    sources changes little of it."""
    keys, seen = {}, collections.Counter()
    for mutant in (mutant for path in paths for mutant in mutants.mutants_of(path, texts[path])):
        name = name_of(texts, mutant)
        seen[name] += 1
        keys[mutant] = hashlib.sha256(f"{seed} {seen[name]} {name}".encode()).digest()
    return sorted(keys, key=keys.get)


def try_all(options, stage, facts, texts, order):
    """Tries mutants until 'count' of them have counted."""
    workers = queue.SimpleQueue()
    for number in range(options.jobs):
        workers.put(Worker(number, stage, facts, texts))
    counts = {"killed": 0, "survived": 0, "not compiled": 0, "same code": 0, "listed": 0}
    listed, survivors = listed_mutants(EQUIVALENT), []

    def judge(mutant):
        if name_of(texts, mutant) in listed or name_of(texts, mutant, "any") in listed:
            return mutant, "listed", ""
        worker = workers.get()
        try:
            return mutant, *worker.judge(mutant)
        finally:
            workers.put(worker)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(f"{bench.FOLDER}/log", "w") as log:
        waiting, rest = set(), iter(order)
        while True:
            wanted = options.count - counts["killed"] - counts["survived"]
            for mutant in rest if len(waiting) < min(options.jobs, wanted) else ():
                waiting.add(pool.submit(judge, mutant))
                if len(waiting) >= min(options.jobs, wanted):
                    break
            if not waiting:
                return counts, survivors
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for mutant, result, note in (future.result() for future in done):
                counts[result] += 1
                print(f"{result:12} {describe(texts, mutant)}  {note}", file=log, flush=True)
                if result == "survived":
                    survivors.append(mutant)
                    print(f"survived {describe(texts, mutant)}  {note}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./run mutate", description="Mutation testing.")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--within", type=float, default=bench.SLOW_SECONDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", default=CORES)
    options = parser.parse_args()
    os.makedirs(bench.FOLDER, exist_ok=True)
    lock = open(f"{bench.FOLDER}/lock", "w")  # two runs would try their mutants in the same folders
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("tracebed: another run of 'mutate' is under way in this tree")
    stage = bench.Bench()
    chosen = [path for path in stage.sources
              if options.planted or any(path == name or path.startswith(name.rstrip("/") + "/") for name in options.files)]
    if not chosen:
        sys.exit("tracebed: no source file of the libraries is named")
    texts = read_texts(chosen)
    if options.planted:
        planted_bugs(texts)  # ends here if one cannot be planted
    stage.build()
    facts = {name: fact for name, fact in stage.measure().items() if fact["seconds"] <= options.within}
    if options.planted:
        return try_planted(stage, facts, texts)
    order = draw(chosen, texts, options.seed)
    print(f"{len(order)} possible mutants of {len(chosen)} files; {len(facts)} tests take part", flush=True)
    if options.again:
        last = listed_mutants(SURVIVORS)
        order = [mutant for mutant in order if name_of(texts, mutant) in last]
    counts, survivors = try_all(options, stage, facts, texts, order)
    with open(SURVIVORS, "w", encoding="utf-8") as file:
        file.writelines(f"{name_of(texts, mutant)}\n" for mutant in sorted(survivors))
    judged = counts["killed"] + counts["survived"]
    score = 100 * counts["killed"] / max(judged, 1)
    print(f"not compiled {counts['not compiled']}, same code {counts['same code']}, "
          f"listed as equivalent {counts['listed']}")
    print(f"{counts['killed']} of {judged} mutants killed: {score:.1f} %; {len(survivors)} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
