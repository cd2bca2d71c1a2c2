"""
Mutation testing: changes one operator, constant or statement of a source file at a time, and runs the tests that could
notice. A mutant that no test notices shows what the tests do not check.

    mutate.py [--count N] [--seed N] [--jobs N] [FILE | FOLDER]...

Draws N mutants at random (default 100) from the files, by default from the cores: format, reader/core and the writer up
to writer/life. Prints each survivor; the last line is the score. A mutant whose code is the same as the original's does
not count, nor does one that equivalent.txt lists with the reason why no test can notice it.

SPDX-License-Identifier: MIT
"""

import argparse
import concurrent.futures
import filecmp
import os
import queue
import random
import sys

import bench
import mutants

CORES = ["format", "reader/core", "writer/base", "writer/file", "writer/pages", "writer/store", "writer/record",
         "writer/copy", "writer/life"]
EQUIVALENT = "ninja/mutate/equivalent.txt"


def equivalents():
    """Lines 'PATH | LINE OF CODE | OLD -> NEW | REASON' of the list."""
    listed = set()
    if os.path.exists(EQUIVALENT):
        with open(EQUIVALENT, encoding="utf-8") as file:
            for line in file:
                parts = [part.strip() for part in line.split(" | ")]
                if not line.startswith("#") and len(parts) == 4:
                    listed.add(tuple(parts[:3]))
    return listed


def code_line(texts, mutant):
    return texts[mutant.path].split("\n")[mutant.line - 1].strip()


def describe(texts, mutant):
    return f"{mutant.path}:{mutant.line}: {code_line(texts, mutant)}   [{mutant.old} -> {mutant.new or 'nothing'}]"


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
        original = f"{self.folder}/original.o"
        with open(source, "w", encoding="utf-8") as file:
            file.write(self.texts[mutant.path])
        bench.must(bench.compile_to(mutant.path, original, ["-g0"], source))
        if filecmp.cmp(target, original, shallow=False):
            return "same code"
        own = bench.object_of("base", mutant.path)
        objects = [target if path == own else path for path in
                   (bench.object_of("base", path) for path in self.stage.sources)]
        done = bench.run(bench.link_library(objects, f"{self.folder}/libmutant.so"))
        return "ready" if done.returncode == 0 else "not compiled"

    def covering(self, mutant):
        """The tests that run the mutated line, the quickest first. A statement may be counted at its last line."""
        near = range(mutant.line, mutant.line + 3)
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
        for name in tests:
            outcome = self.stage.run_test(name, self.folder, 5 + 4 * self.facts[name]["seconds"])
            if outcome != "passed":
                return "killed", f"{name}: {outcome}"
        return "survived", f"{len(tests)} tests run it"


def draw(paths, texts, seed):
    """All mutants in random order, so that a longer run continues a shorter one."""
    every = [mutant for path in paths for mutant in mutants.mutants_of(path, texts[path])]
    random.Random(seed).shuffle(every)
    return every


def try_all(options, stage, facts, texts, order):
    """Tries mutants until 'count' of them have counted."""
    workers = queue.SimpleQueue()
    for number in range(options.jobs):
        workers.put(Worker(number, stage, facts, texts))
    listed, counts, survivors = equivalents(), {"killed": 0, "survived": 0, "not compiled": 0, "same code": 0,
                                                "listed": 0}, []

    def judge(mutant):
        key = (mutant.path, code_line(texts, mutant), f"{mutant.old} -> {mutant.new or 'nothing'}")
        if key in listed:
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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", default=CORES)
    options = parser.parse_args()
    stage = bench.Bench()
    chosen = [path for path in stage.sources
              if any(path == name or path.startswith(name.rstrip("/") + "/") for name in options.files)]
    if not chosen:
        sys.exit("tracebed: no source file of the libraries is named")
    stage.build()
    facts = stage.measure()
    texts = {}
    for path in chosen:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    order = draw(chosen, texts, options.seed)
    print(f"{len(order)} possible mutants of {len(chosen)} files; {len(facts)} tests take part", flush=True)
    counts, survivors = try_all(options, stage, facts, texts, order)
    judged = counts["killed"] + counts["survived"]
    score = 100 * counts["killed"] / max(judged, 1)
    print(f"not compiled {counts['not compiled']}, same code {counts['same code']}, "
          f"listed as equivalent {counts['listed']}")
    print(f"{counts['killed']} of {judged} mutants killed: {score:.1f} %; {len(survivors)} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
