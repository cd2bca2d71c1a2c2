"""
Fuzzes targets side by side: './run fuzz'.

    fuzz.py [--jobs N] [--seed N] [--merge] [SECONDS] [TARGET...]
    fuzz.py --check [SECONDS]

Each target starts with its corpus, the files that its mark 'Seeds:' names, and what earlier runs found, which is in
build/fuzz-corpus. It runs with the limits of fuzz/support/default.options and of its own NAME.options. Inputs that
reach new code are kept in build/fuzz-corpus, and with --merge in fuzz/NAME/corpus; both are minimized. An input that
crashes or exceeds a limit is kept in build/fuzz-crashes under a name that says what happened.

--check is a look at every target in half a minute: it tries few inputs and keeps none, and starts from the same random
numbers and the same list of seeds each time. Targets that use no threads, clocks or random numbers then try the same
inputs on every machine; TESTING.md explains why this is not part of './run test'.

SPDX-License-Identifier: MIT
"""

import argparse
import concurrent.futures
import configparser
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from generate import seeds

CRASHES, KEPT, LOGS = "build/fuzz-crashes", "build/fuzz-corpus", "build/fuzz-logs"
ARTIFACT = re.compile(r"Test unit written to (\S+)")
SECONDS_DEFAULT = 60
CHECK_RUNS = 200  # new inputs


class Target:
    """One fuzz target, and how to start it."""

    def __init__(self, name):
        self.name = name
        self.program = f"build/fuzz/fuzz/{name}/{name}_fuzzer"
        self.corpus, self.kept = f"fuzz/{name}/corpus", f"{KEPT}/{name}"
        self.seeds = sum(seeds(f"fuzz/{name}/{name}_fuzzer.c"), [])
        parser = configparser.ConfigParser()
        parser.read(["fuzz/support/default.options", f"fuzz/{name}/{name}.options"])
        self.options = dict(parser["libfuzzer"])

    def arguments(self):
        options = dict(self.options)
        owner = options.get("dict", self.name).removesuffix(".dict")
        if os.path.exists(f"fuzz/{owner}/{owner}.dict"):
            options["dict"] = f"fuzz/{owner}/{owner}.dict"
        return [f"-{name}={value}" for name, value in options.items()]

    def command(self, *arguments):
        # Older runtimes fail at random if the kernel randomizes many bits of an address.
        return ["setarch", "-R", self.program, *self.arguments(), *arguments]


def all_names():
    return sorted(path.split("/")[1] for path in glob.glob("fuzz/*/*_fuzzer.c"))


def run(command, log):
    """Returns the seconds of processor time that the command took. A fork of it is included."""
    environment = dict(os.environ, TMPDIR="/dev/shm", TBED_FAILING_PLACES="4", TRACEBED_OPTIONS="--no-defaults")
    environment["ASAN_OPTIONS"] = "quarantine_size_mb=16:" + environment.get("ASAN_OPTIONS", "")
    with open(log, "w", encoding="utf-8") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


# ---- One target ----

class Outcome:
    """The results of a target: coverage before and after, inputs per second, reproducers."""

    def __init__(self, target):
        self.target = target
        self.before = self.after = self.runs = self.peak_mb = self.new_count = 0
        self.seconds = 0.0  # of a processor
        self.found, self.note = [], ""

    def take(self, text):
        coverage = [int(number) for number in re.findall(r"^#\d+\s.*? cov: (\d+)", text, re.M)]
        if coverage:
            self.before = self.before or coverage[0]
            self.after = max(self.after, coverage[-1])
        for number in re.findall(r"^stat::number_of_executed_units:\s*(\d+)", text, re.M):
            self.runs += int(number)
        for number in re.findall(r"^stat::peak_rss_mb:\s*(\d+)", text, re.M):
            self.peak_mb = max(self.peak_mb, int(number))

    def line(self):
        speed = self.runs / self.seconds if self.seconds > 0 else 0
        return (f"{'FAIL' if self.found or self.note else 'ok  '} {self.target.name:18} coverage {self.before:5} -> {self.after:5}"
                f"  {speed:7.0f} runs/s  {self.peak_mb:4} MiB  {self.new_count:4} new inputs  {self.note}").rstrip()


def describe(text):
    """What happened and where, as a part of a file name."""
    claim = re.search(r"^(\S+?):(\d+):\S* (does not hold|runtime error)", text, re.M)
    if claim is not None:
        file, line, what = claim.groups()
        return f"{what.replace(' ', '-')}-{os.path.basename(file).removesuffix('.c')}-{line}"
    summary = re.search(r"^SUMMARY: (\w+): (\S+(?: signal)?)(?: \S+)?(?: in (\w+))?", text, re.M)
    if summary is None:
        return "failed"
    kind = summary.group(2).replace(" ", "-")
    return kind + (f"-{summary.group(3)}" if summary.group(3) else "")


def is_noise(target, artifact, scratch):
    """Returns whether an input took too long only because the machine was busy."""
    if "-timeout-" not in artifact:
        return False
    status, seconds = run([*target.command(), "-timeout=100", artifact], f"{scratch}/replay.log")
    return status == 0 and seconds < float(target.options["timeout"])


def keep_reproducer(target, artifact, text):
    with open(artifact, "rb") as file:
        digest = hashlib.sha1(file.read()).hexdigest()[:8]
    path = f"{CRASHES}/{target.name}-{describe(text)}-{digest}"
    shutil.move(artifact, path)
    return path


def fuzz_once(target, outcome, folders, runs, seconds, seed, scratch):
    """Runs until the time is over or a failure is found; 'runs' -1: any number of inputs. Returns whether none was."""
    log = f"{LOGS}/{target.name}.log"
    status, used = run(target.command(f"-max_total_time={seconds}", f"-runs={runs}", f"-seed={seed}", "-print_final_stats=1",
                                   f"-artifact_prefix={scratch}/{target.name}-", *folders), log)
    text = read(log)
    outcome.take(text)
    outcome.seconds += used
    artifacts = [path for path in ARTIFACT.findall(text) if os.path.exists(path)]
    real = [path for path in artifacts if not is_noise(target, path, scratch)]
    outcome.found += [keep_reproducer(target, path, text) for path in real]
    if status != 0 and not artifacts:
        outcome.note = f"exit status {status}; see {log}"
    return status == 0 or len(real) < len(artifacts)


def seed_list(target, scratch):
    """Lists all seeds in a file, sorted by name since a folder has no fixed order. Returns the option and the count."""
    paths = [path for folder in target.seeds for path in sorted(glob.glob(f"{folder}/*")) if os.path.isfile(path)]
    with open(f"{scratch}/seeds", "w", encoding="utf-8") as file:
        file.write(",".join(paths))
    return [f"-seed_inputs=@{scratch}/seeds"] * bool(paths), len(paths)


def fuzz(target, seconds, seed, is_check):
    outcome = Outcome(target)
    os.makedirs(target.kept, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tracebed-fuzz-") as scratch:
        new = f"{scratch}/new"
        os.mkdir(new)
        folders, runs = [new, target.kept, *target.seeds], -1
        if is_check:
            given, count = seed_list(target, scratch)
            folders, runs = [*given, new], CHECK_RUNS + count
        begin = time.monotonic()
        while (left := seconds - (time.monotonic() - begin)) > 0:
            was_quiet = fuzz_once(target, outcome, folders, runs, max(1, round(left)), seed, scratch)
            if not was_quiet or is_check or left < 1.5:
                break
            seed += 1
        if not is_check:
            for name in os.listdir(new):
                shutil.move(f"{new}/{name}", f"{target.kept}/{name}")
            outcome.new_count = minimize(target, [], target.seeds, target.kept, scratch)
    return outcome


# ---- Corpora ----

def is_generated(name):
    """Inputs that fuzzing found are named by their contents; the others were written by hand."""
    return re.fullmatch("[0-9a-f]{12}|[0-9a-f]{40}", name) is not None


def copy_all(folder, to):
    for path in glob.glob(f"{folder}/*"):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                digest = hashlib.sha1(file.read()).hexdigest()
            shutil.copy(path, f"{to}/{digest}")


def minimize(target, more, given, kept, scratch, *how):
    """Leaves in 'kept' what the generated inputs of 'kept' and 'more' add to the coverage of 'given'. Returns how many."""
    base, candidates = f"{scratch}/base", f"{scratch}/candidates"
    for folder in (base, candidates):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
    for folder in given:
        copy_all(folder, base)
    for folder in [kept, *more]:
        copy_all(folder, candidates)
    before = set(os.listdir(base))
    status, _ = run(target.command("-set_cover_merge=1", f"-artifact_prefix={scratch}/", *how, base, candidates), f"{LOGS}/{target.name}.merge.log")
    if status != 0:
        return len(os.listdir(kept))
    for name in os.listdir(kept):
        if is_generated(name):
            os.remove(f"{kept}/{name}")
    chosen = set(os.listdir(base)) - before
    for name in chosen:
        shutil.move(f"{base}/{name}", f"{kept}/{name[:12]}")
    return len(chosen)


def merge(target):
    """
    Moves to the tree what fuzzing found, as far as it reaches other code; how often it does would take many more inputs.
    Inputs written by hand stay whatever they cover.
    """
    others = [folder for folder in target.seeds if folder != target.corpus]
    os.makedirs(target.corpus, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tracebed-fuzz-") as scratch:
        by_hand = f"{scratch}/by-hand"
        os.mkdir(by_hand)
        for name in os.listdir(target.corpus):
            if not is_generated(name):
                shutil.copy(f"{target.corpus}/{name}", by_hand)
        minimize(target, [target.kept], [by_hand, *others], target.corpus, scratch, "-use_counters=0")
    shutil.rmtree(target.kept, ignore_errors=True)


# ---- All of them ----

def parse(arguments):
    parser = argparse.ArgumentParser(prog="./run fuzz", description="fuzz targets side by side")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at a time (default: one per processor)")
    parser.add_argument("--seed", type=int, help="for the random numbers (default: another each time)")
    parser.add_argument("--merge", action="store_true", help="move what is found to fuzz/NAME/corpus")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("operands", nargs="*", metavar="[SECONDS] [TARGET...]")
    options = parser.parse_args(arguments)
    operands, names = options.operands, all_names()
    options.seconds = int(operands.pop(0)) if operands and operands[0].isdecimal() else SECONDS_DEFAULT
    for name in operands:
        if name not in names:
            parser.error(f"unknown fuzz target '{name}'; there are: {', '.join(names)}")
    options.names = operands or names
    if options.seed is None:
        options.seed = 1 if options.check else int(time.time())
    return options


def main(arguments):
    options = parse(arguments)
    os.nice(10)
    os.makedirs(CRASHES, exist_ok=True)
    os.makedirs(LOGS, exist_ok=True)

    def work(name):
        outcome = fuzz(Target(name), options.seconds, options.seed, options.check)
        if options.merge:
            merge(Target(name))
        print(outcome.line(), flush=True)
        return outcome

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(work, options.names))
    bad = [outcome for outcome in outcomes if outcome.found or outcome.note]
    for outcome in bad:
        for path in outcome.found:
            print(f"to replay: setarch -R {outcome.target.program} {path}")
    print(f"{sum(outcome.seconds for outcome in outcomes) / 60:.0f} minutes of a processor")
    print(f"{len(outcomes) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
