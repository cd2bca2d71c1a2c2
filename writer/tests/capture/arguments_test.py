"""
Arguments and results of C and C++ functions, recorded with 'tracebed record --functions --args', against what the program
itself printed about them.

    python3 writer/tests/capture/arguments_test.py [NAME...]

Check: functions-arguments test_kinds test_patterns test_refusals test_hostile_pointers test_faults test_signals
Needs: $b/programs

SPDX-License-Identifier: MIT
"""

import json
import os
import platform
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import functions_test
from cases import Failure

# A line for each function: how it is declared, how it is called, its arguments and its result as they should be recorded.
CALLS = [
    ("int integers(signed char a, short b, int c, long d)", "integers(-1, -2, 3, -4)", "return a + b + c + (int)d;",
     {"a": -1, "b": -2, "c": 3, "d": -4}, {"return": -4}),
    ("unsigned long unsigned_ones(unsigned char a, unsigned short b, unsigned c, unsigned long d)",
     "unsigned_ones(200, 60000, 4000000000u, ~0ul)", "return d - a - b - c;",
     {"a": 200, "b": 60000, "c": 4000000000, "d": 2**64 - 1}, {"return": 2**64 - 1 - 200 - 60000 - 4000000000}),
    ("long on_stack(int a, int b, int c, int d, int e, int f, short g, long h)", "on_stack(1, 2, 3, 4, 5, 6, -7, 8)",
     "return a + b + c + d + e + f + g * h;", {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": -7, "h": 8},
     {"return": -35}),
    ("bool boolean(bool a, bool b)", "boolean(true, false)", "return a != b;", {"a": True, "b": False}, {"return": True}),
    ("char character(char a, char b)", "character('x', '\\n')", "return a > b ? a : b;", {"a": "x", "b": 10},
     {"return": "x"}),
    ("Color enumerator(Color a, Level b)", "enumerator((Color)9, Level::low)", "return b == Level::low ? GREEN : a;",
     {"a": 9, "b": {"text": "low"}}, {"return": {"text": "GREEN"}}),
    ("double floating(float a, double b, int c)", "floating(1.5f, 2.25, 3)", "return a + b + c;",
     {"a": 1.5, "b": 2.25, "c": 3}, {"return": 6.75}),
    ("long double wide(long double a, float b)", "wide(0.125L, 1.5f)", "return a + b;", {"a": 0.125, "b": 1.5},
     {"return": 1.625}),
    ("const char *text(const char *a, char *b, const char *c)", "text(\"h\u00e9llo\", word, nullptr)", "return c ? c : a;",
     {"a": "h\u00e9llo", "b": "word", "c": 0}, {"return": "h\u00e9llo"}),
    ("void *pointer(void *a, int **b)", "pointer((void *)0x1234, nullptr)", "return b ? nullptr : a;",
     {"a": 0x1234, "b": 0}, {"return": 0x1234}),
    ("std::string string(const std::string &a, std::string b, std::string_view c)",
     "string(\"abc\", std::string(40, 'z'), \"view\")", "return a + b + std::string(c);",
     {"a": "abc", "b": "z" * 40, "c": "view"}, {"return": "abc" + "z" * 40 + "view"}),
    ("Point small(Point a, Pair b, Empty c, int d)", "small({1, 2.5}, {3, 4}, {}, 5)", "(void)c; return {a.x + b.left + d, a.y};",
     {"a.x": 1, "a.y": 2.5, "b.left": 3, "b.right": 4, "d": 5}, {"return.x": 9, "return.y": 2.5}),
    ("Four large(Four a, int b)", "large({{1, 2, 3, 4}}, 5)", "a.words[0] += b; return a;",
     {"a.words[0]": 1, "a.words[1]": 2, "a.words[2]": 3, "a.words[3]": 4, "b": 5},
     {"return.words[0]": 6, "return.words[1]": 2, "return.words[2]": 3, "return.words[3]": 4}),
    ("int bytes(Many a)", "bytes({{1, 2, 3, 4, 5}})", "return a.numbers[4];", {"a": "0100000002000000030000000400000005000000"},
     {"return": 5}),
    ("int &reference(int &a, const double &b, const Color &c)", "reference(number, 2.5, RED)",
     "a += (int)b + c; return a;", {"a": 40, "b": 2.5, "c": {"text": "RED"}}, {"return": 43}),
    ("int by_copy(Tracked a, int b)", "by_copy(Tracked(7), 8)", "return a.value + b;", {"a.value": 7, "b": 8}, {"return": 15}),
]

TYPES = """
#include <cstdio>
#include <string>
#include <string_view>
enum Color { RED = 1, GREEN = 2 };
enum class Level : short { low = -1, high = 7 };
struct Point { int x; double y; };
struct Pair { int left, right; };
struct Empty {};
struct Four { long words[4]; };
struct Many { int numbers[5]; };
struct Tracked { int value; Tracked(int v) : value(v) {} Tracked(const Tracked &o) : value(o.value) {} };
static char word[] = "word";
static int number = 40;
#if defined(__clang__)
#define KEPT __attribute__((noinline, optnone))
#else
#define KEPT __attribute__((noinline, noipa))
#endif
"""


def compile_program(folder, name, source, flags, compiler="g++"):
    path = os.path.join(folder, name)
    with open(path + ".cc", "w") as file:
        file.write(source)
    subprocess.run([compiler, "-std=c++17", "-g", *flags, path + ".cc", "-o", path], check=True)
    return path


def record(folder, program, *options, status=0):
    trace = os.path.join(folder, "trace.tbed")
    run = subprocess.run([str(cases.TRACEBED), "record", "-f", "-o", trace, "--functions", *options,
                          *([] if "--" in options else [program])], cwd=folder,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if run.returncode != status:
        raise Failure("record: exit status %d, not %d: %s" % (run.returncode, status, run.stderr))
    return trace, run.stdout, run.stderr


def shown(value):
    return {"text": value["text"]} if isinstance(value, dict) else value


def calls_by_name(folder, trace, which=0):
    """For each function: the arguments and the result of its first call, or of a later one."""
    found = {}
    for line in cases.output_of(folder, cases.TRACEBED, "dump", "--json", trace).splitlines():
        event = json.loads(line)
        if event.get("type") not in ("begin", "end"):
            continue
        values = {argument["name"]: shown(argument["value"]) for argument in event.get("args", [])}
        found.setdefault(event["name"].split("(")[0], {}).setdefault(event["type"], []).append(values)
    return {name: {kind: values[which] for kind, values in ends.items() if len(values) > which} for name, ends in found.items()}


# ---- Tests ----

WAYS = [("g++", "-O0", ["-pg", "-mfentry"]), ("g++", "-O2", ["-fpatchable-function-entry=5"]),
        ("clang++", "-O1", ["-fpatchable-function-entry=5"])]


def test_kinds(folder):
    source = TYPES + "".join("KEPT %s { %s }\n" % (call[0], call[2]) for call in CALLS)
    calls = "".join("(void)%s; " % call[1] for call in CALLS)
    source += "int main() { for (int i = 0; i < 3; i++) { number = 40; %s } puts(\"done\"); }\n" % calls
    for compiler, level, flags in WAYS:
        program = compile_program(folder, "kinds", source, [level, *flags], compiler)
        trace, output, _ = record(folder, program, "--args")
        if output != "done\n":
            raise Failure("the program printed %r" % output)
        for which in range(3):  # the first one is read in another way
            found = calls_by_name(folder, trace, which)
            for declaration, call, _, arguments, result in CALLS:
                name = call.split("(")[0]
                for kind, expected in (("begin", arguments), ("end", result)):
                    got = found.get(name, {}).get(kind)
                    if got != expected:
                        raise Failure("%s %s: %s of call %d of %s: %r, not %r" % (compiler, level, kind, which, declaration,
                                                                                  got, expected))


def test_patterns(folder):
    source = TYPES + "KEPT int one(int a) { return a; } KEPT int two(int b) { return b; }\n"
    program = compile_program(folder, "two", source + "int main() { return one(1) - two(1); }\n", ["-pg", "-mfentry"])
    trace, _, _ = record(folder, program, "--args=tw*")
    found = calls_by_name(folder, trace)
    if found["one"]["begin"] or found["two"]["begin"] != {"b": 1} or found["two"]["end"] != {"return": 1}:
        raise Failure("--args=tw*: %r" % found)
    _, _, errors = record(folder, program, "--args=twu", status=125)
    if "--args: no function matches 'twu'" not in errors or "'two'" not in errors:
        raise Failure(errors)
    trace, _, _ = record(folder, program, "--filter=one", "--args")
    found = calls_by_name(folder, trace)
    if list(found) != ["one"] or found["one"]["begin"] != {"a": 1}:
        raise Failure("--filter=one --args: %r" % found)


def test_refusals(folder):
    program = compile_program(folder, "hooks", "int main() { return 0; }\n", ["-finstrument-functions"])
    _, _, errors = record(folder, program, "--args", status=2)
    if "hooks are not given arguments" not in errors:
        raise Failure(errors)
    program = compile_program(folder, "bare", "int main() { return 0; }\n", ["-g0", "-pg", "-mfentry"])
    _, _, errors = record(folder, program, "--args")
    if "the arguments of the functions that match are unknown" not in errors:
        raise Failure(errors)
    for option in ("--minimum-duration=1ms", "--trigger=one@time=1ms"):
        _, _, errors = record(folder, program, "--args", option, status=2)
        if "before it is known how long it takes" not in errors or "take --minimum-duration for the trace" not in errors:
            raise Failure(f"--args {option}: {errors}")


def test_hostile_pointers(folder):
    """Texts that are not there, that end where memory ends, and that never end."""
    source = TYPES + """
#include <sys/mman.h>
#include <cstring>
#include <thread>
KEPT int look(const char *a, const std::string &b) { return a == nullptr || &b == nullptr; }
static int hash(const char *) { return 0; }
int main()
{
    char *pages = (char *)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    memset(pages, 'p', 4096);
    std::string fine("fine"), *gone = (std::string *)(pages + 4096);
    std::string all(1000, 'q');
    for (int i = 0; i < 3; i++) {
        look((const char *)1, fine);
        look(pages + 4090, *gone);
        look(pages + 4000, all);
    }
    std::thread other([&] { look("other", fine); });
    other.join();
    return hash(pages);
}
"""
    program = compile_program(folder, "hostile", source, ["-O1", "-pg", "-mfentry", "-pthread"])
    trace, _, _ = record(folder, program, "--filter=look", "--args")
    lines = cases.output_of(folder, cases.TRACEBED, "dump", "--json", trace).splitlines()
    begins = [json.loads(line) for line in lines]
    texts = [[argument["value"] for argument in event["args"]] for event in begins if event.get("type") == "begin"]
    expected = [[1, "fine"], ["pppppp\u2026", texts[1][1]], ["p" * 96 + "\u2026", "q" * 125 + "\u2026"]] * 3
    expected.append(["other", "fine"])
    if texts != expected or not isinstance(texts[1][1], int):
        raise Failure("%r, not %r" % (texts, expected))


FAULTS = """
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, noipa))
KEPT int look(const char *a) { return a == nullptr; }
static sigjmp_buf home;
static volatile int faults;
static void handler(int) { faults++; siglongjmp(home, 1); }
static void fault(const char *at) { if (sigsetjmp(home, 1) == 0) faults += *(volatile const char *)at; }
static int looks(const char *at) { return look(at) + look(at) + look(at); }
int main(int argc, char **)
{
    const char *gone = (const char *)8;
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    looks(gone);
    pthread_sigmask(SIG_UNBLOCK, &all, &now);
    printf("%d%d ", sigismember(&now, SIGSEGV), sigismember(&now, SIGBUS));
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    printf("%d%d ", sigismember(&now, SIGSEGV), sigismember(&now, SIGBUS));
    FILE *file = tmpfile();
    char *map = (char *)mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fileno(file), 0); /* past its end */
    looks(map);
    fflush(stdout);
    if (argc > 1) return *(volatile const char *)gone;
    struct sigaction action = {}, old;
    action.sa_handler = handler;
    sigaction(SIGSEGV, &action, &old);
    printf("%d ", old.sa_handler == SIG_DFL);
    fault(gone);
    looks(gone);
    fault(gone);
    looks(map);
    sigaction(SIGSEGV, nullptr, &old);
    printf("%d %d\\n", old.sa_handler == handler, faults);
}
"""


def test_faults(folder):
    """Texts that are gone, in a program that blocks SIGSEGV, maps a file that is cut, and has a handler; and one that dies."""
    program = compile_program(folder, "faults", FAULTS, ["-O1", "-pg", "-mfentry"])
    trace, output, _ = record(folder, program, "--filter=look", "--args")
    if output != "11 00 1 1 2\n":
        raise Failure("%r" % output)
    lines = cases.output_of(folder, cases.TRACEBED, "dump", "--json", trace).splitlines()
    begins = [event["args"][0]["value"] for event in map(json.loads, lines) if event.get("type") == "begin"]
    if begins != [8] * 3 + [begins[3]] * 3 + [8] * 3 + [begins[3]] * 3 or not isinstance(begins[3], int):
        raise Failure("%r" % begins)
    _, output, _ = record(folder, program, "--filter=look", "--args", "--", program, "die", status=128 + signal.SIGSEGV)
    if output != "11 00 ":
        raise Failure("%r" % output)


class WithArguments(functions_test.Program):
    HOOKS = "-pg", "-mfentry", "-g"


def test_signals(folder):
    """Handlers at 10 kHz that interrupt the reading of arguments, also such that leave for good: what is there nests."""
    program = WithArguments.of(folder, "signals", functions_test.SIGNALS)
    for stack, end in (("alternate", "leaves"), ("same", "returns")):
        trace = program.run(stack, end, options=["--args"])
        for told in trace.told.values():
            functions_test.check_nesting(told)
        (told,) = trace.streams().values()
        if trace.drops() != 0 or told.count("+once") != 42:
            raise Failure("%s %s: %d dropped, %d calls" % (stack, end, trace.drops(), told.count("+once")))


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("skipped: arguments are recorded on x86-64 only")
        sys.exit(0)
    sys.exit(cases.run_all(globals()))
