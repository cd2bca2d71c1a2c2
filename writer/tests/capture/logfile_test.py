"""
Programs that use the macros of RTL_LOGFILE, compiled here in every language that is promised, and the logs that are
exported of what they record.

    python3 writer/tests/capture/logfile_test.py [NAME...]

Check: logfile
Needs: $b/libtracebed.a build/tsan/libtracebed.a $b/tracebed
Slow: compiles dozens of programs with seven compilers

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import BUILD, ROOT, TRACEBED, Failure

FOLDERS = ["format/include", "writer/include", "writer/capture/include", "writer/capture/include/openoffice"]
INCLUDES = [f"-I{ROOT / folder}" for folder in FOLDERS]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
C = [("gcc", "c11"), ("gcc", "c17"), ("clang", "c11"), ("clang", "c17")]
CPP = [("g++", "c++17"), ("clang++", "c++17")]
LEVELS = ["-O0", "-O2"]


def expect(found, wanted, what):
    if found != wanted:
        raise Failure(f"{what}:\n{found}\nwanted:\n{wanted}")


def run(folder, *command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TRACEBED", "RTL_"))}
    result = subprocess.run([str(word) for word in command], cwd=folder, env={**clean, **environment}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.returncode, result.stdout


def run_well(folder, *command, **environment):
    status, output = run(folder, *command, **environment)
    if status != 0:
        raise Failure(f"{' '.join(map(str, command))}: {status}\n{output}")
    return output


def compiler(name, standard, *more):
    language = "c++" if standard.startswith("c++") else "c"
    return [name, f"-std={standard}", *WARNINGS, *INCLUDES, *more, "-x", language]


def build(folder, source, name, standard, *more, library=BUILD / "libtracebed.a"):
    (folder / "prog").unlink(missing_ok=True)
    run_well(folder, *compiler(name, standard, *more), source, "-x", "none", library, "-pthread", "-o", "prog")


def record(folder):
    """Runs the program with RTL_LOGFILE; the exported lines, without header, times and trailer."""
    for old in folder.glob("run_*"):
        old.unlink()
    run_well(folder, "./prog", RTL_LOGFILE="run")
    found = list(folder.glob("run_*"))
    if len(found) != 1 or not re.fullmatch(r"run_\d+\.tbed", found[0].name):
        raise Failure(f"not one run_PID.tbed: {found}")
    log = run_well(folder, TRACEBED, "export", "--to=rtl-log", found[0], "-o", "-")
    if "closing log file at" not in log.splitlines()[-1]:
        raise Failure(log)
    return [line.split(" ", 1)[1] for line in log.splitlines()[3:-1]]


# ---- The document's examples, in C and in C++ ----

DOCUMENT = """
#include <rtl/logfile.h>
static void OpenStartupscreen(void)
{
    RTL_LOGFILE_CONTEXT_AUTHOR (aInstance, "desktop", "cd100003", "::Desktop::OpenStartupscreen");
    RTL_LOGFILE_CONTEXT_TRACE (aInstance, "{ lengthy calculation");
    for (int i = 0; i < 10; i++) {
    }
    RTL_LOGFILE_CONTEXT_TRACE (aInstance, "} lengthy calculation");
}
static void CloseStartupscreen(void)
{
    RTL_LOGFILE_TRACE_AUTHOR ("desktop", "cd100003", "::Desktop::CloseStartupscreen : Startup finished");
}
int main(void)
{
    OpenStartupscreen();
    CloseStartupscreen();
    return RTL_LOGFILE_HASLOGFILE() ? 0 : 1;
}
"""
DOCUMENT_LINES = [
    "1 { desktop (cd100003) ::Desktop::OpenStartupscreen",
    "1 | desktop (cd100003) ::Desktop::OpenStartupscreen : { lengthy calculation",
    "1 | desktop (cd100003) ::Desktop::OpenStartupscreen : } lengthy calculation",
    "1 } desktop (cd100003) ::Desktop::OpenStartupscreen",
    "1 | desktop (cd100003) : ::Desktop::CloseStartupscreen : Startup finished",
]


def test_document(folder):
    (folder / "document.c").write_text(DOCUMENT)
    for name, standard in C + CPP:
        for level in LEVELS:
            build(folder, "document.c", name, standard, level, "-DTIMELOG")
            expect(record(folder), DOCUMENT_LINES, f"{name} -std={standard} {level}")


# ---- A program of OpenOffice's, as it is ----

def wanted_of_thread(thread):
    lines = ["{ vcl (ss112471) ::SVMain"]
    for number in range(200):
        odd, init = number % 2, "desktop (cd100003) ::Desktop::Init"
        lines += ["{ " + init, f"| {init} : {{ create service manager", f"| {init} : round {odd}",
                  f"| {init} : }} create service manager"]
        lines += [] if odd else [f"| {init} : first of 0"]
        lines += ["} " + init]
        lines += [f"{brace} unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()" for brace in "{}"]
        splash = "::SplashScreen::setValue (lo119109)"
        lines += ["{ " + splash, f"| {splash} : value={thread}", "} " + splash]
        url, how = ("odd", "copying") if odd else ("even", "nothing")
        outer, inner = f"sfx2 (mv76033) SfxMedium::Transfer_Impl, {how} to target", f"linguistic: LngSvcMgr::{url}"
        lines += ["{ " + outer, f"| {outer} : {url} 3 times", "{ " + inner, f"| {inner} : <- store config items {url}",
                  "} " + inner, "} " + outer]
        lines += ["| : PERFORMANCE - enter Main()",
                  "| : { creation ConfigItem [file=standard, version=6, mode=3]",
                  "| package (mg115289) : { ZipPackage::initialize",
                  '| dbaxml (Ocke.Janssen@sun.com) : ReadThroughComponent : parsing "content.xml"',
                  "| destop (lo119109) : desktop (lo119109) Acceptor::initialize()",
                  f"| : 100% of {number} in {thread}"]
    return lines + ["| : } creation ConfigItem", f"| : thread {thread}", "} vcl (ss112471) ::SVMain"]


def check_originals(folder):
    threads = collections.defaultdict(list)
    for line in record(folder):
        thread, rest = line.split(" ", 1)
        threads[thread].append(rest)
    for lines in threads.values():
        opened = []
        for line in lines:
            if line[0] == "{":
                opened.append(line[2:])
            elif line[0] == "}":
                expect(line[2:], opened.pop() if opened else None, "the scope that ends")
        expect(opened, [], "never closed")
    expect(sorted(threads.values()), sorted(wanted_of_thread(number) for number in range(4)), "the threads' lines")


def test_originals(folder):
    source = ROOT / "writer/tests/capture/logfile_originals.cxx"
    for name, standard in CPP:
        for level in LEVELS:
            build(folder, source, name, standard, level, "-DTIMELOG")
            check_originals(folder)
    build(folder, source, "clang++", "c++17", "-O1", "-g", "-fsanitize=thread", "-DTIMELOG",
          library=BUILD.parent / "tsan/libtracebed.a")
    check_originals(folder)


def test_originals_compiled_out(folder):
    """Only the PRODUCT forms are left; no warning."""
    source = ROOT / "writer/tests/capture/logfile_originals.cxx"
    for name, standard in CPP:
        # What only the macros looked at is unused now, as ever.
        build(folder, source, name, standard, "-O1", "-Wno-unused-parameter", "-Wno-unused-variable",
              "-Wno-unused-function")
        found = sorted(line.split(" ", 1)[1] for line in record(folder))
        product = re.compile(r"linguistic|SVMain|^\| : } creation|^\| : thread")
        expect(found, sorted(line for thread in range(4) for line in wanted_of_thread(thread) if product.search(line)),
               "the lines that are left")


OUT = """
#include HEADER
void f(int number, const char *text);
void f(int number, const char *text)
{
    (void)text;
    CONTEXT(one, "one");
    CONTEXT_AUTHOR(two, "module", "author", "two");
    CONTEXT_TRACE(one, "text");
    TRACE("text");
    TRACE_AUTHOR("module", "author", "text");
    NUMBERED
    if (number > 0)
        TRACE(text);
    else
        CONTEXT_TRACE(two, text);
}
"""
NUMBERED = """
    CONTEXT_TRACE1(one, "%d", number); CONTEXT_TRACE2(one, "%d%s", number, text);
    CONTEXT_TRACE3(one, "%d%s%d", number, text, 3);
    TRACE1("%d", number); TRACE2("%d%s", number, text); TRACE3("%d%s%d", number, text, 3);
    TRACE_AUTHOR1("module", "author", "%d", number); TRACE_AUTHOR2("module", "author", "%d%s", number, text);
    TRACE_AUTHOR3("module", "author", "%d%s%d", number, text, 3);
"""
WORDS = re.compile(r"\b(CONTEXT_TRACE|CONTEXT_AUTHOR|CONTEXT|TRACE_AUTHOR|TRACE)([123]?)\(")


def test_compiled_out(folder):
    """Costs nothing: no name of ours is in the object; and there is no warning."""
    for header, prefix, define in (("<rtl/logfile.hxx>", "RTL_LOGFILE_", "-DIGNORED"),
                                   ("<tracebed/logfile.h>", "TBED_LOGFILE_", "-DTBED_NO_LOGFILE")):
        numbered = NUMBERED if prefix.startswith("RTL") else ""
        source = OUT.replace("HEADER", header).replace("NUMBERED", numbered)
        (folder / "out.c").write_text(WORDS.sub(lambda word: f"{prefix}{word.group(1)}{word.group(2)}(", source))
        for name, standard in C + CPP:
            run_well(folder, *compiler(name, standard, "-O0", define), "-c", "out.c", "-o", "out.o")
            names = run_well(folder, "nm", "out.o")
            expect(re.findall(r"\S*(?:logfile|tbed_(?!literal|value))\S*", names), [], f"{name} -std={standard}: left")


# ---- What must not compile ----

REFUSED = {
    'TBED_LOGFILE_TRACE("%d", 1L);': "format",
    'TBED_LOGFILE_TRACE_AUTHOR("m", "a", "%s %d", "text");': "format",
    'TBED_LOGFILE_TRACE("%d%n", 1, &number);': "refused",
    'TBED_LOGFILE_TRACE("%ln", &large);': "refused",
    'TBED_LOG("%hhn%d", &small, 1);': "refused",
    'RTL_LOGFILE_TRACE2("%d%n", 1, &number);': "refused",
}
TAKEN = [
    'TBED_LOGFILE_TRACE("100%%n %d", 1);',
    'TBED_LOGFILE_TRACE("100%n");',  # a text
    'TBED_LOGFILE_TRACE("%p", (void *)&number);',
    'TBED_LOGFILE_TRACE(number > 0 ? "a" : "b");',
]


def test_refused(folder):
    for statement in [*REFUSED, *TAKEN]:
        (folder / "mistake.c").write_text(
            "#include <rtl/logfile.h>\nint number; long large; signed char small;\nvoid f(void);\n"
            f"void f(void)\n{{\n    {statement}\n}}\n")
        for name, standard in C + CPP:
            command = compiler(name, standard, "-O2", "-DTIMELOG")
            status, output = run(folder, *command, "-c", "mistake.c", "-o", "mistake.o")
            if (status == 0) != (statement in TAKEN) or not re.search(REFUSED.get(statement, ""), output):
                raise Failure(f"{name} -std={standard}: {statement}: {status}\n{output}")


# ---- What C++ writes ----

SHAPES = r"""
#include <tracebed/logfile.h>
#include <memory>
#include <string>
enum shape { CIRCLE = 7 };
static const char name_of_file[] = "static array";
template <typename NUMBER> static NUMBER twice(NUMBER number)
{
    TBED_LOGFILE_CONTEXT(log, __func__);
    TBED_LOGFILE_CONTEXT_TRACE(log, "twice %s", std::to_string(number).c_str());
    return number + number;
}
static void same_length(bool saves)
{
    TBED_LOGFILE_CONTEXT(log, saves ? "save" : "load");
    TBED_LOGFILE_TRACE(saves ? "save" : "load");
    TBED_LOGFILE_TRACE_AUTHOR(saves ? "save" : "load", "author", "%d", 1);
}
struct member {
    tbed_logfile_scope scope = {};
    explicit member(const std::string &name) { TBED_LOGFILE_BEGIN(scope, name.c_str()); }
    ~member() { TBED_LOGFILE_END(scope); }
};
static void jump(int where)
{
    for (int i = 0; i < 3; i++) {
        TBED_LOGFILE_CONTEXT_AUTHOR(log, "module", "author", name_of_file);
        if (i == where)
            continue;
        switch (i) {
        case 1: {
            TBED_LOGFILE_CONTEXT(inner, "case");
            break;
        }
        default:
            TBED_LOGFILE_TRACE("default");
        }
    }
}
int main()
{
    if (!TBED_LOGFILE_ARE_FIXED_(TBED_LOGFILE_NONE_, "literal", __func__))
        return 2;
    if (TBED_LOGFILE_SITE_(TBED_LOGFILE_TEXT, "module", "author", TBED_LOGFILE_PICK_(true, __func__, "%s")) == nullptr)
        return 3;
    auto lambda = [](const char *text) { TBED_LOGFILE_TRACE("%s", text); };
    lambda("in a lambda");
    TBED_LOGFILE_TRACE("%d %ld", twice(2), twice(3L));
    same_length(true);
    same_length(false);
    same_length(true);
    TBED_LOGFILE_TRACE("%d %c %p %5.2f", CIRCLE, 'c', static_cast<void *>(nullptr), 0.5);
    auto owned = std::make_unique<member>("owned");
    owned.reset();
    jump(0);
    try {
        TBED_LOGFILE_CONTEXT(log, "thrown through");
        throw 1;
    } catch (int) {
        TBED_LOGFILE_TRACE("caught");
    }
    if (owned == nullptr)
        TBED_LOGFILE_CONTEXT(at_once, "at once");
    return 0;
}
"""
SHAPES_LINES = """| : in a lambda
{ twice
| twice : twice 2
} twice
{ twice
| twice : twice 3
} twice
| : 4 6
{ save
| : save
| save (author) : 1
} save
{ load
| : load
| load (author) : 1
} load
{ save
| : save
| save (author) : 1
} save
| : 7 c (nil)  0.50
{ owned
} owned
{ module (author) static array
} module (author) static array
{ module (author) static array
{ case
} case
} module (author) static array
{ module (author) static array
| : default
} module (author) static array
{ thrown through
} thrown through
| : caught
{ at once
} at once"""


def test_shapes(folder):
    (folder / "shapes.cxx").write_text(SHAPES)
    wanted = ["1 " + line for line in SHAPES_LINES.splitlines()]
    for name, standard in CPP:
        for level in LEVELS:
            build(folder, "shapes.cxx", name, standard, level)
            found = record(folder)
            if found[1:7] != wanted[1:7]:  # in which order values are evaluated is the compiler's affair
                found[1:4], found[4:7] = found[4:7], found[1:4]
            expect(found, wanted, f"{name} {level}")


# ---- Objects that end in any order ----

LIFETIMES = r"""
#include <rtl/logfile.hxx>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <unistd.h>
using ::rtl::Logfile;
static void idle()
{
    static Logfile *first = 0;
    if (first == 0)
        first = new Logfile("first idle"); /* never deleted */
}
static void timer()
{
    RTL_LOGFILE_CONTEXT(log, "timer");
    idle();
    usleep(2000);
}
static void load(int i)
{
    RTL_LOGFILE_CONTEXT_AUTHOR(log, "sfx2", "mv76033", "load");
    if (i == 1)
        timer();
}
/* A set of objects, one of which is replaced at a time. */
static void shuffle(int count)
{
    Logfile *kept[8] = {0};
    char name[32];
    unsigned random = 1;
    for (int i = 0; i < count; i++) {
        random = random * 1103515245 + 12345;
        Logfile *&one = kept[random >> 16 & 7];
        sprintf(name, "object %d", i);
        Logfile *old = one;
        one = new Logfile(name);
        delete old;
    }
    for (int i = 0; i < 8; i++)
        delete kept[i];
}
int main(int count, char **arguments)
{
    if (count > 2) {
        shuffle(atoi(arguments[2]));
        return 0;
    }
    {
        RTL_LOGFILE_CONTEXT(log, "main");
        for (int i = 0; i < 3; i++)
            load(i);
    }
    Logfile *a = new Logfile("A"), *b = new Logfile("B");
    delete a;
    RTL_LOGFILE_CONTEXT_TRACE((*b), "still b");
    delete b;
    Logfile *other = new Logfile("ended elsewhere");
    std::thread thread([&] {
        RTL_LOGFILE_CONTEXT(log, "in thread");
        delete other;
        RTL_LOGFILE_TRACE("there");
    });
    thread.join();
    {
        RTL_LOGFILE_CONTEXT(log, "last");
    }
    if (count > 1)
        _exit(0); /* like a kill: nothing is closed */
    return 0;
}
"""
LIFETIMES_LINES = """1 { main
1 { sfx2 (mv76033) load
1 } sfx2 (mv76033) load
1 { sfx2 (mv76033) load
1 { timer
1 { first idle
1 } timer
1 } sfx2 (mv76033) load
1 { sfx2 (mv76033) load
1 } sfx2 (mv76033) load
1 } main
1 { A
1 { B
1 } A
1 | B : still b
1 } B
1 { ended elsewhere
2 { in thread
2 } ended elsewhere
2 | : there
2 } in thread
1 { last
1 } last"""


def lines_and_spans(folder, *arguments):
    """The lines of the log, and how often each span was called and how many of these never ended."""
    for old in folder.glob("run_*"):
        old.unlink()
    run_well(folder, "./prog", *arguments, RTL_LOGFILE="run")
    trace, = folder.glob("run_*.tbed")
    log = run_well(folder, TRACEBED, "export", "--to=rtl-log", trace, "-o", "-")
    rows = json.loads(run_well(folder, TRACEBED, "report", "--json", trace))["spans"]
    lines = [line.split(" ", 1)[1] for line in log.splitlines()[3:] if not line.startswith("closing")]
    return lines, {row["name"]: (row["count"], row["never_ended_count"]) for row in rows}


def test_lifetimes(folder):
    """The end of an object is its own, whatever else is open; also if the process is killed then."""
    (folder / "lifetimes.cxx").write_text(LIFETIMES)
    for name, standard in CPP:
        build(folder, "lifetimes.cxx", name, standard, "-O2", "-DTIMELOG")
        for arguments in (), ("killed",):
            lines, spans = lines_and_spans(folder, *arguments)
            expect(lines, LIFETIMES_LINES.splitlines(), f"{name} {arguments}")
            expect({span: count for span, count in spans.items() if count != (1, 0)},
                   {"first idle": (1, 1), "sfx2 (mv76033) load": (3, 0)}, f"{name} {arguments}: spans")


def test_any_order(folder):
    """Far more objects than a stack could hold if those that have ended stayed on it."""
    (folder / "lifetimes.cxx").write_text(LIFETIMES)
    build(folder, "lifetimes.cxx", "g++", "c++17", "-O2", "-DTIMELOG")
    lines, spans = lines_and_spans(folder, "any", "3000000" if os.environ.get("TBED_LONG") else "30000")
    expect(sum(count for count, _ in spans.values()), len(lines) // 2, "spans")
    expect([span for span, count in spans.items() if count != (1, 0)], [], "not once, or never ended")
    opened = set()
    for line in lines:
        (opened.add if line[2] == "{" else opened.remove)(line[4:])
    expect(opened, set(), "still open")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
