"""
Generated programs, recorded with 'tracebed record --functions', against what their own calls logged.

Each program is compiled, run and recorded here. The log (functions_program.h) is the oracle: it knows nothing of
hooks, stacks or unwinding. The names of functions are taken from the program by nm, not by our symbol library.

    python3 writer/tests/capture/functions_test.py [NAME...]

Check: functions-random test_random_programs
Check: functions-threads test_many_functions_in_threads
Check: functions-signals test_signals test_signals_in_a_hot_loop test_steps
Check: functions-ends test_ends test_killed test_filters test_limits test_rotate test_threads_that_rotate test_libraries test_tree test_warning
Needs: $b/programs
Slow: compiles and runs dozens of programs

SPDX-License-Identifier: MIT
"""

import array
import bisect
import collections
import functools
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import Failure

TRACEBED = str(cases.TRACEBED)
HEADER = str(cases.ROOT / "writer/tests/capture/functions_program.h")
LAND = 1 << 24


def expect(condition, text):
    if not condition:
        raise Failure(text)


# ---- Programs ----

BODIES = {
    "plain": "{calls}",
    "room": "volatile char room[{size}]; room[0] = 1; {calls} room[{size} - 1] = room[0];",
    "alloca": "volatile char *room = (volatile char *)alloca({size}); room[0] = 1; {calls} room[{size} - 1] = room[0];",
    "self": "if (roll(3) == 0 && may_call()) f{n}({arguments}); {calls}",
    "jump": "{calls} {{ jmp_buf *to = pick_jump(); if (to != NULL) longjmp(*to, 1); }}",
    "set": "jmp_buf here; volatile int depth = self.depth, jumps = self.jump_count; if (add_jump(&here)) {{"
    " if (setjmp(here) == 0) {{ {calls} }} else landed(depth); self.jump_count = jumps; }}",
    "throw": "{calls} if (self.catches > 0 && roll(4) == 0) throw {n};",
    "catch": "int depth = self.depth, catches = self.catches; self.catches++;"
    " try {{ {calls} }} catch (int) {{ landed(depth); }} self.catches = catches;",
    "guard": "int depth = self.depth; try {{ struct guard one(depth); {calls} }} catch (long) {{ landed(depth); }}",
}
C_BODIES = ["plain", "room", "alloca", "self", "jump", "set"]
CPP_BODIES = ["plain", "room", "self", "throw", "catch", "guard"]

TAIL = """
int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)atoi(argv[1]);
    long budget = atol(argv[2]);
    const char *how = argv[3];
    (void)argc;
    self.dice = 1;
    log_open(seed, budget);
    entered(MAIN);
    %s
    leaving(MAIN);
    return 0;
}
"""
RUN = "run_all();"
THREADS = """pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread_main, (void *)(seed + i + 1));
    run_all();
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);"""
ENDS = """run_all();
    if (strcmp(how, "fork") == 0) forks(seed);
    if (strcmp(how, "vfork") == 0) vforks();
    if (strcmp(how, "exit") == 0) ends(0);
    if (strcmp(how, "_exit") == 0) ends(1);
    if (strcmp(how, "thread") == 0) { pthread_t t; pthread_create(&t, NULL, thread_ends, NULL); pthread_join(t, NULL); }
    if (strcmp(how, "exec") == 0) execs(argv[0]);
    if (strcmp(how, "kill") == 0) for (;;) if (self.logged < LOG_COUNT / 2) { self.budget = 1000; run_all(); }"""

# What a program may do besides its random calls; N is the number of the function that is defined next.
EXTRAS = """
FUNCTION void run_all(void)
{
    entered(RUN_ALL);
    while (self.budget > 0) { self.budget--; table[roll(COUNT)](1, 2); }
    leaving(RUN_ALL);
}
FUNCTION void *thread_main(void *seed)
{
    log_open((uint64_t)(uintptr_t)seed, 3000);
    entered(THREAD_MAIN);
    run_all();
    leaving(THREAD_MAIN);
    return NULL;
}
FUNCTION void forks(uint64_t seed)
{
    entered(FORKS);
    if (fork() == 0) {
        int depth = self.depth;
        log_open(seed + 77, 2000);
        self.depth = depth;
        run_all();
        leaving(FORKS);
        return;
    }
    self.budget = 500;
    run_all();
    wait(NULL);
    leaving(FORKS);
}
FUNCTION void in_child(void) { entered(IN_CHILD); _exit(0); }
FUNCTION void vforks(void)
{
    entered(VFORKS);
    volatile int depth = self.depth;
    if (vfork() == 0) in_child();
    landed(depth);
    self.budget = 500;
    run_all();
    leaving(VFORKS);
}
FUNCTION void ends(int at_once)
{
    entered(ENDS);
    if (at_once) _exit(0); else exit(0);
}
FUNCTION void *thread_ends(void *unused)
{
    (void)unused;
    log_open(5, 100);
    entered(THREAD_ENDS);
    run_all();
    pthread_exit(NULL);
}
FUNCTION void execs(char *program)
{
    entered(EXECS);
    execl(program, program, "9", "500", "run", (char *)NULL);
}
"""
EXTRA_NAMES = ["MAIN", "RUN_ALL", "THREAD_MAIN", "FORKS", "IN_CHILD", "VFORKS", "ENDS", "THREAD_ENDS", "EXECS"]


def write_program(path, count, dice, cpp, body):
    """Random functions that call each other; gives the name of each number in the log."""
    names = [f"f{n}" for n in range(count)] + [name.lower() for name in EXTRA_NAMES] + ["guard"]
    lines = [f'#include "{HEADER}"', f"#define COUNT {count}"]
    lines += [f"#define {name} {count + i}" for i, name in enumerate([*EXTRA_NAMES, "GUARD"])]
    lines += ["typedef void (*function)(int, long);", "extern function const table[COUNT];"]
    if cpp:
        lines += ["struct guard { int depth; FUNCTION PLAINLY guard(int at) : depth(at) {} FUNCTION ~guard()"]
        lines += ["{ landed_before(depth); entered(GUARD); if (may_call()) { } leaving(GUARD); } };"]
        lines[-2] = lines[-2].replace("PLAINLY", "__attribute__((NO_PLACE))")
        lines.insert(-2, "PLAIN void landed_before(int depth) { if (self.depth != depth) landed(depth); }")
    for n in range(count):
        kind = dice.choice(CPP_BODIES if cpp else C_BODIES)
        calls = " ".join(
            "if (may_call()) table[roll(COUNT)](a + 1, b);" for _ in range(dice.choice((0, 0, 1, 1, 2, 3)))
        )
        text = BODIES[kind].format(n=n, calls=calls, size=dice.choice((8, 40, 200, 3000)), arguments="a, b")
        text = f"(void)a; (void)b; entered({n}); {text} leaving({n});"
        lines.append(f"FUNCTION void f{n}(int a, long b) {{ {text} }}")
    lines.append("function const table[COUNT] = {" + ", ".join(names[:count]) + "};")
    lines += [EXTRAS, TAIL % body]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return names


class Program:
    HOOKS = ("-finstrument-functions",)

    def __init__(self, folder, name, compiler, flags, count=300, seed=1, body=RUN):
        cpp = compiler.endswith("++")
        source = os.path.join(folder, name + (".cc" if cpp else ".c"))
        self.folder, self.path = folder, os.path.join(folder, name)
        self.names = write_program(source, count, random.Random(seed), cpp, body)
        command = [compiler, *flags, "-w", "-D_GNU_SOURCE", *self.HOOKS, "-pthread"]
        subprocess.run([*command, source, "-o", self.path], check=True)
        self.starts, self.symbols = self.read_symbols()

    @classmethod
    def of(cls, folder, name, text):
        """This program, not a generated one."""
        program = cls.__new__(cls)
        program.folder, program.path, program.names = folder, os.path.join(folder, name), []
        with open(program.path + ".c", "w", encoding="utf-8") as file:
            file.write(text)
        command = ["gcc", "-O2", "-w", *cls.HOOKS, program.path + ".c", "-o", program.path]
        subprocess.run(command, check=True)
        program.starts, program.symbols = program.read_symbols()
        return program

    def read_symbols(self):
        listing = subprocess.run(["nm", "-n", "-C", self.path], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^([0-9a-f]+) [tTwW] (.+)$", listing, re.M)
        return [int(address, 16) for address, _ in found], [name for _, name in found]

    def symbol(self, pc):
        """The name of the function that begins exactly there."""
        at = bisect.bisect_right(self.starts, pc) - 1
        expect(at >= 0 and self.starts[at] == pc, f"{pc:#x} is no function's entry")
        names = [self.symbols[i] for i in (max(at - 1, 0), at) if self.starts[i] == pc]
        name = min(names, key=len).split(".")[0].split("(")[0]
        return name.replace("guard::~guard", "guard")

    def run(self, *arguments, options=(), status=0, kill_after=None):
        for name in os.listdir(self.folder):
            if name.startswith("log."):
                os.unlink(os.path.join(self.folder, name))
        trace = os.path.join(self.folder, "run.tbed")
        command = [TRACEBED, "record", "-f", "-o", trace, "--functions", *options, "--", self.path]
        command += map(str, arguments)
        process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        if kill_after is not None:
            self.kill_program(process.pid, kill_after)
        errors = process.communicate(timeout=300)[1]
        expect(process.returncode == status, f"{self.path} {arguments}: status {process.returncode}\n{errors}")
        found = Trace(self, trace)
        found.said = errors
        return found

    def kill_program(self, recorder, after):
        while not any(name.startswith("log.") for name in os.listdir(self.folder)):
            time.sleep(0.01)
        time.sleep(after)
        with open(f"/proc/{recorder}/task/{recorder}/children", encoding="utf-8") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)


# ---- What was logged, what was traced ----


def read_log(path):
    entries = array.array("i")
    with open(path, "rb") as file:
        used = file.read().rstrip(b"\0")
    entries.frombytes(used + bytes(-len(used) % 4))
    return entries


def told_by_log(program, path, open_calls):
    """The log as what is entered (+name) and ended (-name), and what is open at its end."""
    told, stack = [], list(open_calls)
    for entry in read_log(path):
        if entry == 0:
            break
        if entry >= LAND:
            while len(stack) > entry - LAND:
                told.append("-" + stack.pop())
        elif entry > 0:
            stack.append(program.names[entry - 1])
            told.append("+" + stack[-1])
        else:
            expect(stack and stack[-1] == program.names[-entry - 1], f"{path}: the log itself is wrong")
            told.append("-" + stack.pop())
    return told, stack


class Trace:
    def __init__(self, program, path):
        self.program, self.path = program, path
        verified = subprocess.run([TRACEBED, "verify", path], capture_output=True, text=True)
        expect(verified.returncode == 0, verified.stdout + verified.stderr)
        info = subprocess.run([TRACEBED, "info", "--json", path], capture_output=True, check=True)
        self.info = json.loads(info.stdout)

    @property
    def told(self):
        """Of each stream, what was called and left, in order: "+name" and "-name"."""
        return self.events[0]

    @property
    def left(self):
        """How often calls were left by something else than a return: by what -> times."""
        return self.events[1]

    @functools.cached_property
    def events(self):
        told, left = collections.defaultdict(list), collections.Counter()
        command = [TRACEBED, "dump", "--json", "--order=stream", "--no-symbols", self.path]
        names = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                event = json.loads(line)
                if event.get("type") not in ("begin", "end"):
                    continue
                name = event["name"]
                if name not in names:
                    module, pc = name.rsplit("+0x", 1)
                    is_own = module == os.path.basename(self.program.path)
                    names[name] = self.program.symbol(int(pc, 16)) if is_own else None
                if names[name] is None:  # what the C library's headers define inline, atoi()
                    continue
                told[event["stream"]].append(("+" if event["type"] == "begin" else "-") + names[name])
                for argument in event.get("args", ()):
                    if argument["name"] == "left by":
                        left[argument["value"]["text"]] += 1
        return told, left

    def streams(self):
        """(pid, tid) -> what it told, several where a process was replaced."""
        processes = {process["process"]: process["pid"] for process in self.info["processes"]}
        found = {}
        for stream in self.info["streams"]:
            if stream["stream"] in self.told:
                key = (processes[stream["process"]], stream["tid"])
                found.setdefault(key, []).extend(self.told[stream["stream"]])
        return found

    def drops(self):
        drops = self.info["drops"]
        return sum(drops.values()) if isinstance(drops, dict) else sum(drop["count"] for drop in drops)


def compare(told, traced, what):
    for i, (one, other) in enumerate(zip(told, traced)):
        if one != other:
            around = slice(max(i - 6, 0), i + 6)
            raise Failure(f"{what}: at {i}: logged {told[around]}\ntraced {traced[around]}")


def check_trace(trace, parent_open=None, is_killed=False):
    """Each thread's calls are those that it logged; gives their number."""
    program, streams, count = trace.program, trace.streams(), 0
    logs = {}
    for name in os.listdir(program.folder):
        if name.startswith("log."):
            _, pid, tid = name.split(".")
            logs[int(pid), int(tid)] = os.path.join(program.folder, name)
    expect(set(logs) == set(streams), f"threads logged {sorted(logs)}, traced {sorted(streams)}")
    for key, path in logs.items():
        is_child = parent_open is not None and key[0] != min(pid for pid, _ in logs)
        told, _ = told_by_log(program, path, parent_open if is_child else ())
        traced = streams[key]
        compare(told, traced, f"{program.path} {key}")
        near = 2 * 100 if is_killed else 0
        expect(abs(len(told) - len(traced)) <= near, f"{key}: logged {len(told)}, traced {len(traced)} {traced[-3:]}")
        count += len(traced)
    # A killed program may have been in the middle of one record, which was never committed.
    allowed = {"interrupted": 1} if is_killed else {}
    expect(trace.info["drops"] in ({}, allowed), f"dropped: {trace.info['drops']}")
    return count


# ---- Tests ----


def test_random_programs(folder):
    """Recursion, longjmp over many calls, frames of all sizes, exceptions through them, by both compilers."""
    seen = collections.Counter()
    for compiler in ("gcc", "clang", "g++", "clang++"):
        for seed, flags in enumerate((["-O0"], ["-O2"], ["-O3", "-fomit-frame-pointer"], ["-Os", "-no-pie"])):
            program = Program(folder, f"random_{compiler}_{seed}", compiler, flags, seed=seed + 10)
            trace = program.run(seed, 20000, "run")
            seen["calls"] += check_trace(trace)
            seen += trace.left
    expect(seen["longjmp"] > 1000 and seen["unwinding"] > 1000 and seen["unseen"] == 0, f"too little happened: {seen}")


def test_many_functions_in_threads(folder):
    program = Program(folder, "many", "gcc", ["-O1"], count=4000, body=THREADS)
    trace = program.run(3, 60000, "run")
    check_trace(trace)
    names = {name[1:] for told in trace.told.values() for name in told}
    expect(len(names) > 3000 and len(trace.told) == 5, f"{len(names)} functions, {len(trace.told)} threads")


def check_vfork(folder, trace):
    """A child that shares its parent's memory leaves calls behind unseen: they end with the call of vfork."""
    (log,) = [name for name in os.listdir(folder) if name.startswith("log.")]
    told, _ = told_by_log(trace.program, os.path.join(folder, log), ())
    (traced,) = trace.streams().values()
    begun = [[entry for entry in entries if entry[0] == "+"] for entries in (told, traced)]
    expect(begun[0] == begun[1] and len(told) == len(traced), f"vfork: {len(told)} logged, {len(traced)} traced")
    expect(trace.left["unseen"] == 1 and traced[-1] == "-main", f"vfork: {trace.left}, {traced[-3:]}")


def test_ends(folder):
    """exit, _exit, the end of a thread, fork, vfork, exec, all inside of calls."""
    program = Program(folder, "ends", "gcc", ["-O2"], body=ENDS)
    for how in ("run", "exit", "_exit", "thread"):
        check_trace(program.run(4, 2000, how))
    check_vfork(folder, program.run(4, 2000, "vfork"))
    check_trace(program.run(4, 2000, "fork"), parent_open=["main", "forks"])
    trace = program.run(4, 2000, "exec")
    told = next(iter(trace.streams().values()))
    at = [i for i, name in enumerate(told) if name == "+main"]
    expect(len(at) == 2 and told[at[1] - 1] == "+execs" and told[-1] == "-main", f"exec: {at} {told[-1]}")


def test_killed(folder):
    """Every committed event resolves, and none is missing, however the program ends."""
    program = Program(folder, "killed", "gcc", ["-O2"], body=ENDS)
    for after in (0.0, 0.05, 0.3):
        trace = program.run(4, 2000, "kill", status=128 + signal.SIGKILL, kill_after=after)
        expect(check_trace(trace, is_killed=True) > 0, "nothing is in the trace")


def test_filters(folder):
    """What is left out is missing, and nothing else."""
    program = Program(folder, "filtered", "gcc", ["-O2"])
    cases = [
        (["--filter", "f1*"], lambda name: name.startswith("f1")),
        (["--exclude", "f1*", "--exclude", "main"], lambda name: not name.startswith("f1") and name != "main"),
        (["--filter", "f*", "--exclude", "f?"], lambda name: name[0] == "f" and len(name) > 2),
        (["--filter", "f*", "--exclude", "*", "--filter", "f3"], lambda name: name == "f3"),
    ]
    for options, is_wanted in cases:
        trace = program.run(5, 5000, "run", options=options)
        (log,) = [name for name in os.listdir(folder) if name.startswith("log.")]
        told, _ = told_by_log(program, os.path.join(folder, log), ())
        (traced,) = trace.streams().values()
        wanted = [name for name in told if is_wanted(name[1:])]
        compare(wanted, traced, str(options))
        expect(len(wanted) == len(traced) > 0, f"{options}: {len(wanted)}, {len(traced)}")
    trace = program.run(5, 5000, "run", options=["--depth", "4"])
    depth = wanted_depth = 0
    for name in next(iter(trace.streams().values())):
        depth += 1 if name[0] == "+" else -1
        wanted_depth = max(depth, wanted_depth)
    expect(wanted_depth == 4 and depth == 0, f"--depth 4 gave {wanted_depth}, {depth} open")


def test_limits(folder):
    """A full trace drops and counts; a ring keeps the newest."""
    program = Program(folder, "limited", "gcc", ["-O2"])
    trace = program.run(6, 100000, "run", options=["--max-size", "512K"])
    expect(os.path.getsize(trace.path) <= 512 << 10 and trace.drops() > 0, f"{os.path.getsize(trace.path)}")
    trace = program.run(6, 100000, "run", options=["--ring", "256K"])
    (log,) = [name for name in os.listdir(folder) if name.startswith("log.")]
    told, _ = told_by_log(program, os.path.join(folder, log), ())
    (traced,) = trace.streams().values()
    expect(1000 < len(traced) < len(told), f"{len(traced)} of {len(told)}")
    compare(told[-len(traced) :], traced, "ring")


def test_rotate(folder):
    """The files of a series have what was called, one after the other; a forked child has a series of its own."""
    program = Program(folder, "rotated", "gcc", ["-O2"], body=ENDS)
    newest = program.run(6, 100000, "fork", options=["--rotate", "256K"])
    parent, child = sorted(int(name.split(".")[1]) for name in os.listdir(folder) if name.startswith("log."))
    closed = sorted(name for name in os.listdir(folder) if re.fullmatch(r"run\.tbed\.0\d+", name))
    expect(len(closed) > 1, f"not rotated: {sorted(os.listdir(folder))}")
    of_child = Trace(program, os.path.join(folder, f"run.tbed.{child}"))
    of_parent = [*(Trace(program, os.path.join(folder, name)) for name in closed), newest]
    for pid, traces, inherited in ((parent, of_parent, ()), (child, [of_child], ["main", "forks"])):
        told, _ = told_by_log(program, os.path.join(folder, f"log.{pid}.{pid}"), inherited)
        traced = [name for trace in traces for stream in trace.streams().values() for name in stream]
        compare(told, traced, f"{pid} in {len(traces)} files")
        expect(len(told) == len(traced), f"{pid}: logged {len(told)}, traced {len(traced)}")


SIGNALS = r"""
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#define PLAIN __attribute__((no_instrument_function))
static sigjmp_buf home;
static volatile int count, leaves, is_home;
__attribute__((noinline)) void tiny(int n) { __asm__ volatile(""); }
__attribute__((noinline)) void busy(int n) { for (int i = 0; i < 50; i++) tiny(i); if (n > 0) busy(n - 1); }
__attribute__((noinline)) void handled(void) { tiny(1); }
void handler(int number) { count++; handled(); if (leaves && is_home && count % 3 == 0) siglongjmp(home, 1); }
__attribute__((noinline)) void once(void)
{
    if (sigsetjmp(home, 1) == 0) {
        is_home = 1;
        for (volatile int i = 0; i < 20; i++) busy(5);
    }
    is_home = 0;
}
PLAIN int main(int argc, char **argv)
{
    static char room[65536];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = handler, .sa_flags = argv[1][0] == 'a' ? SA_ONSTACK : 0};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    leaves = argv[2][0] == 'l';
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 40; i++) { setitimer(ITIMER_REAL, &often, NULL); once(); setitimer(ITIMER_REAL, &never, NULL); }
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    for (int i = 0; i < 2; i++) once();
    return 0;
}
"""


def check_nesting(told):
    """Spans nest as the program's calls can; gives the greatest depth."""
    may_call = {
        None: {"once", "handler"},
        "once": {"busy", "handler"},
        "busy": {"busy", "tiny", "handler"},
        "tiny": {"handler"},
        "handler": {"handled", "handler"},
        "handled": {"tiny", "handler"},
    }
    stack = []
    for i, entry in enumerate(told):
        if entry[0] == "+":
            parent = stack[-1] if stack else None
            expect(entry[1:] in may_call[parent], f"at {i}: {entry} inside {stack[-5:]}")
            stack.append(entry[1:])
        else:
            expect(stack and stack.pop() == entry[1:], f"at {i}: {entry} does not end {stack[-5:]}")
    expect(stack == [], f"never ended: {stack}")


def test_signals(folder):
    """Handlers that interrupt hooks, run on a stack of their own, and leave for good: what is there nests."""
    program = Program.of(folder, "signals", SIGNALS)
    for stack in ("alternate", "same"):
        for end in ("leaves", "returns"):
            trace = program.run(stack, end)
            for told in trace.told.values(): # the thread's, and those of its handlers that interrupted hooks
                check_nesting(told)
            (told,) = trace.streams().values()
            expect(trace.drops() == 0, f"{stack} {end}: dropped {trace.info['drops']}")
            expect(trace.left["unseen"] == 0, f"{stack} {end}: {trace.left}")
            expect(end == "returns" or trace.left["longjmp"] > 0, f"{stack} {end}: nothing was left")
            expect(told.count("+once") == 42, f"{told.count('+once')} of 42")

HOT = r"""
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#define PLAIN __attribute__((no_instrument_function))
static volatile int ticks;
__attribute__((noinline)) void tiny(void) { __asm__ volatile(""); }
__attribute__((noinline)) void handled(void) { tiny(); }
void handler(int number) { ticks++; handled(); }
PLAIN int main(int argc, char **argv)
{
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    long calls = 0;
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (; ticks < 2000; calls++) tiny();
    setitimer(ITIMER_REAL, &never, NULL);
    FILE *file = fopen("counts", "w");
    fprintf(file, "%d %ld", ticks, calls);
    fclose(file);
    return 0;
}
"""


def test_signals_in_a_hot_loop(folder):
    """Handlers at 10 kHz, while nearly all the time is spent in hooks: every call is there, also of those that interrupt them."""
    program = Program.of(folder, "hot", HOT)
    for options in ((), ("--depth", "9"), ("--rotate=4M",)):
        trace = program.run(options=options)
        with open(os.path.join(folder, "counts"), encoding="utf-8") as file:
            ticks, calls = map(int, file.read().split())
        counts = collections.Counter()
        for name in os.listdir(folder):
            if name.startswith("run.tbed"):
                path = os.path.join(folder, name)
                report = subprocess.run([TRACEBED, "report", "--json", path], capture_output=True, check=True).stdout
                for row in json.loads(report)["spans"]:
                    counts[row["name"].split("!")[-1]] += row["count"] - row.get("never_ended_count", 0)
                os.unlink(path)
        kinds = {stream["kind"] for stream in trace.info["streams"]}
        expect("handlers" in kinds, f"{options}: no handler interrupted a hook")
        expect(trace.drops() == 0, f"{options}: dropped {trace.info['drops']}")
        wanted = {"tiny": calls + ticks, "handled": ticks, "handler": ticks}
        expect(counts == wanted, f"{options}: {dict(counts)} instead of {wanted}")


STEPS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLAIN  __attribute__((no_instrument_function))
#define CALLED __attribute__((noinline)) void
static sigjmp_buf home;
static int leaves;
static long is_done;
CALLED tiny(void) { __asm__ volatile(""); }
CALLED other(void) { __asm__ volatile(""); }
CALLED handled(void) { tiny(); }
void handler(int number) { handled(); if (leaves) siglongjmp(home, 1); }
CALLED inner(void) { other(); __asm__ volatile("int3"); tiny(); __asm__ volatile("int3"); }
CALLED once(void) { if (sigsetjmp(home, 1) == 0) { tiny(); inner(); } tiny(); }
PLAIN static void program(int is_alternate)
{
    static char room[65536];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = handler, .sa_flags = is_alternate ? SA_ONSTACK : 0}, NULL);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    while (!*(volatile long *)&is_done) once();
    _exit(0);
}
PLAIN static int is_break(int pid)
{
    siginfo_t info;
    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
    return info.si_code == SI_KERNEL; /* not a step, nor one over a system call */
}
PLAIN int main(int argc, char **argv)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one); /* a step is two switches between the processes: quicker so */
    int status, steps = 0, is_first = 1, pid = fork();
    leaves = argv[2][0] == 'l';
    if (pid == 0) program(argv[1][0] == 'a');
    for (waitpid(pid, &status, 0); WIFSTOPPED(status); waitpid(pid, &status, 0)) {
        int number = 0, taken = 0;
        if (WSTOPSIG(status) != SIGTRAP) {
            number = WSTOPSIG(status); /* it was blocked */
        } else if (is_first && !is_done) {
            do {
                ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
                waitpid(pid, &status, 0);
            } while (!is_break(pid) && ++taken < steps);
            is_done = is_break(pid);
            steps++;
            number = is_done ? 0 : SIGALRM;
            is_first = leaves;
            if (is_done) ptrace(PTRACE_POKEDATA, pid, &is_done, 1);
        } else {
            is_first = 1;
        }
        ptrace(PTRACE_CONT, pid, NULL, (void *)(long)number);
    }
    return status != 0;
}
"""


def without(told, name):
    """What was told but for these calls and what they called."""
    depth, left = 0, []
    for entry in told:
        depth += entry == "+" + name
        if depth == 0:
            left.append(entry)
        depth -= entry == "-" + name
    return left


def test_steps(folder):
    """A handler after each instruction of a call's hooks, that returns or leaves for good."""
    if platform.machine() != "x86_64":  # int3 and single steps
        return
    program = Program.of(folder, "steps", STEPS)
    begin = ["+once", "+tiny", "-tiny", "+inner", "+other", "-other"]
    call, end = ["+tiny", "-tiny"], ["-inner", "+tiny", "-tiny", "-once"]
    for stack in ("alternate", "same"):
        for how in ("leaves", "returns"):
            trace = program.run(stack, how)
            (told,) = trace.streams().values()
            expect(trace.drops() == 0, f"{stack} {how}: dropped {trace.info['drops']}")
            handlers = told.count("+handler")
            expect(told.count("-handler") == handlers, f"{stack} {how}: handlers that never end")
            told = without(told, "handler")
            rounds = [part.split() for part in re.split("(?<=-once) ", " ".join(told))]
            expect(len(rounds) > 100, f"{stack} {how}: {len(rounds)} rounds")
            expect(abs(handlers - len(rounds)) <= 1, f"{stack} {how}: {handlers} handlers in {len(rounds)} rounds")
            for i, entries in enumerate(rounds):
                is_whole = entries == begin + call + end
                is_left = how == "leaves" and entries == begin + end
                expect(is_whole or is_left, f"{stack} {how}: {i} steps: {entries}")


def paths_of(told):
    """How often each path of calls was entered."""
    paths, stack = collections.Counter(), []
    for entry in told:
        if entry[0] == "-":
            stack.pop()
        else:
            stack.append(entry[1:])
            paths[tuple(stack)] += 1
    return paths


TINY_IN_THREADS = r"""
#include <pthread.h>
#define PLAIN __attribute__((no_instrument_function))
__attribute__((noinline)) void tiny(void) { __asm__ volatile(""); }
PLAIN void *run(void *argument) { for (int i = 0; i < 300000; i++) tiny(); return argument; }
PLAIN int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
"""


def test_threads_that_rotate(folder):
    """A thread that rotates waits for those that are in the middle of a hook."""
    program = Program.of(folder, "threads", TINY_IN_THREADS)
    trace, count, files = program.run(options=("--rotate=1M",)), 0, 0
    for name in os.listdir(folder):
        if name.startswith("run.tbed"):
            path = os.path.join(folder, name)
            report = subprocess.run([TRACEBED, "report", "--json", path], capture_output=True, check=True).stdout
            count += sum(row["count"] - row.get("never_ended_count", 0) for row in json.loads(report)["spans"])
            files += 1
    expect(files > 3 and trace.drops() == 0, f"{files} files, dropped {trace.info['drops']}")
    expect(count == 4 * 300000, f"{count} calls")


LIBRARIES = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
    void *before = NULL;
    int same = 0;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "./%s.so", i % 2 ? "two" : "one");
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        int (*function)(int) = (int (*)(int))dlsym(library, i % 2 ? "two" : "one");
        same += before == (void *)function;
        before = (void *)function;
        if (function(i) != i + 1) return 1;
        dlclose(library);
    }
    return same == 5 ? 0 : 77;
}
"""


def test_libraries(folder):
    """Libraries take each other's place: each call is of the one that was there."""
    path = os.path.join(folder, "libraries")
    text = '#include <stdexcept>\nextern "C" int %s(int n) { try { throw n; } catch (int m) { return m + 1; } }'
    for name in ("one", "two"):
        command = ["g++", "-O2", "-shared", "-fPIC", "-finstrument-functions", "-xc++", "-", "-o", f"{name}.so"]
        subprocess.run(command, cwd=folder, input=text % name, text=True, check=True)
    subprocess.run(["gcc", "-w", "-xc", "-", "-o", path], input=LIBRARIES, text=True, check=True)
    trace = os.path.join(folder, "run.tbed")
    command = [TRACEBED, "record", "-f", "-o", trace, "--functions", path]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    expect(run.returncode in (0, 77), f"status {run.returncode}: {run.stderr}")
    text = subprocess.run([TRACEBED, "dump", trace], capture_output=True, text=True, check=True).stdout
    found = re.findall(r" begin +(\w+)\.so!(\w+)", text)
    expect(found == [("one", "one"), ("two", "two")] * 3, f"{run.returncode}: {found}")


def test_tree(folder):
    """'tracebed tree' has each path of calls, as often as the calls logged it."""
    program = Program(folder, "tree", "gcc", ["-O2"])
    trace = program.run(7, 5000, "run")
    (log,) = [name for name in os.listdir(folder) if name.startswith("log.")]
    told, _ = told_by_log(program, os.path.join(folder, log), ())
    run = subprocess.run([TRACEBED, "tree", "--json", trace.path], capture_output=True, check=True)
    rows, found = json.loads(run.stdout)["rows"], collections.Counter()
    for row in rows:
        row["path"] = () if row["parent"] is None else (*rows[row["parent"]]["path"], row["name"].partition("!")[2])
        found[row["path"]] += row["count"] if row["path"] else 0
    found = collections.Counter({path: count for path, count in found.items() if count})
    expect(found == paths_of(told), f"{len(found)} paths, logged {len(paths_of(told))}")
    run = subprocess.run([TRACEBED, "tree", "--depth=2", trace.path], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    expect(len(lines) == 4 and lines[2].endswith("tree!main") and lines[3].endswith("tree!run_all"), run.stdout)


def test_warning(folder):
    run = subprocess.run(
        [TRACEBED, "record", "-f", "-o", os.path.join(folder, "w.tbed"), "--functions", "true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    expect(run.returncode == 0 and "not compiled with -finstrument-functions" in run.stderr, run.stderr)
    wrong = "--rotate 64; --rotate M; --rotate 0M; --rotate 1T; --rotate 1M,; --rotate 1M,0; --rotate -1s; "
    wrong += "--filter x; --depth 3; --functions --depth none; --max-size 3X; --max-size 100K; --ring 0; --ring 100T; "
    wrong += "--ring 3; --ring 255K; -o -"
    for options in wrong.split("; "):
        command = [TRACEBED, "record", *options.split(), "true"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        expect(run.returncode == 2 and run.stderr, f"{options}: {run.returncode} {run.stderr}")
    for options in ("--ruby --functions", "--ruby --light", "--functions --mmap", "--stacks --functions",
                    "--light --mmap", "--rotate 1M --ring 1M", "--rotate 1m,3 --command-line"):
        command = [TRACEBED, "record", *options.split(), "true"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        expect(run.returncode == 2 and run.stderr.count("tracebed: ") == 1, f"{options}: {run.returncode} {run.stderr}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
