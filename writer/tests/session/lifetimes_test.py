"""
What runs before main() and after it is recorded: constructors, exit handlers, destructors of every kind.

    python3 writer/tests/session/lifetimes_test.py [NAME...]

Check: lifetimes
Needs: $b/programs release

SPDX-License-Identifier: MIT
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
from cases import BUILD, TRACEBED, need, output_of

# SAY(name) records where it is. Everything with the suffix _SUFFIX is a second copy, for a library.
LIFE = r"""
#include <pthread.h>
#include <stdlib.h>
__attribute__((constructor(101))) static void constructor_101(void) { SAY("constructor 101"); }
__attribute__((constructor)) static void constructor(void) { SAY("constructor"); }
__attribute__((destructor(101))) static void destructor_101(void) { SAY("destructor 101"); }
__attribute__((destructor(102))) static void destructor_102(void) { SAY("destructor 102"); }
__attribute__((destructor)) static void destructor(void) { SAY("destructor"); }
struct Early { Early() { SAY("early object"); } ~Early() { SAY("early object's end"); } };
static Early early __attribute__((init_priority(101)));
struct Object { Object() { SAY("object"); } ~Object() { SAY("object's end"); } };
static Object object;
struct Local { int touched; ~Local() { SAY("thread's object"); } };
static thread_local Local local;
static pthread_key_t first_key, last_key;
static void first_end(void *) { SAY("first key"); }
static void last_end(void *) { SAY("last key"); }
static void at_exit() { SAY("exit handler"); }
static void *thread(void *) {
    local.touched = 1;
    pthread_setspecific(first_key, &local);
    SAY("thread");
    pthread_key_create(&last_key, last_end);
    pthread_setspecific(last_key, &local);
    return NULL;
}
extern "C" void live(void);
void live(void) {
    pthread_t one;
    atexit(at_exit);
    pthread_key_create(&first_key, first_end); /* lower than the library's own key, if a trace starts later */
    pthread_create(&one, NULL, thread, NULL);
    pthread_join(one, NULL);
}
"""
BEFORE = ["constructor 101", "early object", "constructor", "object"]
INSIDE = ["thread", "thread's object", "first key", "last key"]
AFTER = ["exit handler", "object's end", "early object's end", "destructor", "destructor 102", "destructor 101"]

MAIN = "int main() { live(); return 0; }\n"
MACROS = '#include <tracebed/trace.h>\n#define SAY(name) TBED_INSTANT("life: " name)\n'
CATEGORY = ('#include <tracebed/trace.h>\nTBED_CATEGORY(life);\n'
            '#define SAY(name) TBED_INSTANT_IN(life, "life: " name)\n')
LOGFILE = '#include <tracebed/logfile.h>\n#define SAY(name) TBED_LOGFILE_TRACE("life: " name)\n'


def compile_program(folder, name, text, *options, links=(BUILD / "libtracebed.a",)):
    (folder / f"{name}.cc").write_text(text)
    output_of(folder, "g++", "-O1", "-w", *cases.includes("format", "writer", "writer/capture"), *options, f"{name}.cc",
              "-o", name, *links, "-pthread", "-ldl")
    return f"./{name}"


def said(folder, trace="run.tbed"):
    """Each name with its stream's number, in order of time."""
    lines = output_of(folder, TRACEBED, "dump", "--json", trace).splitlines()
    return [(re.search(r'life: ([^"\\]*)', line).group(1), json.loads(line)["stream"])
            for line in lines if "life: " in line]


def expect(folder, wanted, trace="run.tbed"):
    found = said(folder, trace)
    names = [name for name, _ in found]
    for name in wanted:
        need(names.count(name) == 1, f"'{name}' is recorded {names.count(name)} times, among {names}")
    need("cleanly closed" in output_of(folder, TRACEBED, "info", trace), "the trace is not closed")
    output_of(folder, TRACEBED, "verify", trace)
    streams = {stream for name, stream in found if name in INSIDE}
    need(len(streams) == 1, f"the thread's events are in {len(streams)} streams")


SHARED = [f"-L{BUILD}", "-ltracebed", f"-Wl,-rpath,{BUILD}"]


def test_macros(folder):
    for links in [BUILD / "libtracebed.a"], SHARED:
        for head in MACROS, CATEGORY:
            program = compile_program(folder, "program", head + LIFE + MAIN, links=links)
            output_of(folder, program, TRACEBED="run.tbed")
            expect(folder, BEFORE + INSIDE + AFTER)


def test_start(folder):
    """A trace that main() starts is open to the end."""
    main = 'int main() { tbed_start("run.tbed", NULL); live(); return 0; }\n'
    program = compile_program(folder, "program", MACROS + LIFE + main)
    output_of(folder, program)
    expect(folder, INSIDE + AFTER)


def test_stopped(folder):
    """After tbed_stop() nothing is recorded, and nothing crashes."""
    main = ('int main() { tbed_start("run.tbed", NULL); live(); tbed_stop(); return 0; }\n')
    program = compile_program(folder, "program", MACROS + LIFE + main)
    output_of(folder, program)
    names = [name for name, _ in said(folder)]
    need(names == INSIDE, f"recorded: {names}")


def test_forked(folder):
    """A child that returns from main() records its destructors, too."""
    main = ('#include <sys/wait.h>\n#include <unistd.h>\n'
            'int main() { if (fork() == 0) return 0; wait(NULL); live(); return 0; }\n')
    program = compile_program(folder, "program", MACROS + LIFE + main)
    output_of(folder, program, TRACEBED="run.tbed")
    streams = [stream for name, stream in said(folder) if name == "destructor 101"]
    need(len(set(streams)) == 2, f"destructors of {len(streams)} processes")


LOADER = """
#include <dlfcn.h>
#include <stddef.h>
int main(int count, char **)
{
    void *library = dlopen("./plugin", RTLD_NOW);
    if (library == NULL)
        return 1;
    ((void (*)())dlsym(library, "live"))();
    return count > 1 ? dlclose(library) : 0;
}
"""


def test_plugins(folder):
    """A plugin with a writer of its own, unloaded by dlclose() or by the end of the program."""
    compile_program(folder, "plugin", MACROS + LIFE.replace("atexit(at_exit);", ""), "-shared", "-fPIC",
                    "-Wl,--exclude-libs,ALL")
    program = compile_program(folder, "program", LOADER, links=())
    for unloads in [], ["unload"]:
        output_of(folder, program, *unloads, TRACEBED="run.tbed")
        expect(folder, BEFORE + INSIDE + [name for name in AFTER if name != "exit handler"])


def test_logfile(folder):
    program = compile_program(folder, "program", LOGFILE + LIFE + MAIN)
    output_of(folder, program, RTL_LOGFILE="run.tbed.nopid")
    expect(folder, BEFORE + INSIDE + AFTER, "run.tbed.nopid")


EXCEPTIONS = r"""
#include <pthread.h>
static void inner(int n) { TBED_SPAN("life: inner"); if (n % 2) throw n; }
static void middle(int n) { TBED_SPAN_ARGS("life: middle", "n", n); inner(n); }
static void *ends(void *) { TBED_SPAN("life: ended"); middle(0); pthread_exit(NULL); }
int main()
{
    pthread_t thread;
    for (int n = 0; n < 10; n++) {
        TBED_SPAN("life: outer");
        try { middle(n); } catch (int) { TBED_INSTANT("life: caught"); }
    }
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    return 0;
}
"""


def test_exceptions(folder):
    """A span ends where an exception leaves it, or pthread_exit()."""
    program = compile_program(folder, "program", "#include <tracebed/trace.h>\n" + EXCEPTIONS)
    output_of(folder, program, TRACEBED="run.tbed")
    rows = json.loads(output_of(folder, TRACEBED, "report", "--json", "run.tbed"))["spans"]
    counts = {row["name"]: (row["count"], row["never_ended_count"]) for row in rows}
    wanted = {"life: outer": (10, 0), "life: middle": (11, 0), "life: inner": (11, 0), "life: ended": (1, 0)}
    need(counts == wanted, f"{counts}")
    output_of(folder, TRACEBED, "verify", "run.tbed")


# The instructions of a machine begin and end spans by themselves, and leave them by an exception or a jump.
JUMPS = r"""
#include <csetjmp>
static jmp_buf target;
static void instruction(int depth, bool throws)
{
    TBED_BEGIN("life: instruction");
    if (depth == 0 && throws)
        throw depth;
    if (depth == 0)
        longjmp(target, 1);
    instruction(depth - 1, throws);
    TBED_END();
}
static void machine(bool throws)
{
    TBED_SPAN("life: machine");
    volatile uint32_t depth = TBED_DEPTH();
    if (throws) {
        try { instruction(5, true); } catch (int) { TBED_END_TO(depth); }
    } else if (setjmp(target) == 0) {
        instruction(5, false);
    } else {
        TBED_END_TO(depth);
    }
    TBED_SPAN("life: after");
}
int main()
{
    for (int n = 0; n < 10; n++) {
        TBED_SPAN("life: outer");
        machine(n % 2 == 0);
    }
    return 0;
}
"""


def rows_of(folder):
    rows = json.loads(output_of(folder, TRACEBED, "report", "--json", "run.tbed"))["spans"]
    output_of(folder, TRACEBED, "verify", "run.tbed")
    return {row["name"]: row for row in rows}


def test_jumps(folder):
    """TBED_END_TO() ends what an exception or a jump has left, and nothing else."""
    program = compile_program(folder, "program", "#include <tracebed/trace.h>\n" + JUMPS)
    output_of(folder, program, TRACEBED="run.tbed")
    rows = rows_of(folder)
    counts = {name: (row["count"], row["never_ended_count"], row["unknown_begin_count"]) for name, row in rows.items()}
    wanted = {"life: outer": (10, 0, 0), "life: machine": (10, 0, 0), "life: instruction": (60, 0, 0),
              "life: after": (10, 0, 0)}
    need(counts == wanted, f"{counts}")
    need(rows["life: machine"]["total_ns"] <= rows["life: outer"]["total_ns"], f"not nested: {rows}")
    need(rows["life: after"]["total_ns"] <= rows["life: machine"]["total_ns"], f"not nested: {rows}")


FORK = r"""
#include <sys/wait.h>
#include <unistd.h>
int main()
{
    TBED_SPAN("life: outer");
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        TBED_INSTANT("life: child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
"""


def test_fork(folder):
    """A span that is open at a fork is one of the child from its first event on, which is its last here: no time counts twice."""
    program = compile_program(folder, "program", "#include <tracebed/trace.h>\n" + FORK)
    output_of(folder, program, TRACEBED="run.tbed")
    row = rows_of(folder)["life: outer"]
    need((row["count"], row["never_ended_count"]) == (2, 0), f"{row}")
    need(row["total_ns"] == row["max_ns"] and row["max_ns"] >= 20000000, f"time counts twice: {row}")


# Each allocates a block of a size of its own.
ALLOCATES = r"""
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
#define SAY(name) (kept = malloc(100000 + strlen(name)), free(kept))
"""


def test_record(folder):
    program = compile_program(folder, "program", ALLOCATES + LIFE + MAIN, links=())
    output_of(folder, TRACEBED, "record", "-o", "run.tbed", "--", program)
    lines = output_of(folder, TRACEBED, "dump", "--json", "run.tbed").splitlines()
    sizes = [json.loads(line).get("size") for line in lines]
    for name in BEFORE + INSIDE + AFTER:
        wanted = sum(len(name) == len(other) for other in BEFORE + INSIDE + AFTER)
        need(sizes.count(100000 + len(name)) == wanted, f"the allocation of '{name}' is missing")


CALLS = '#define SAY(name) ((void)0)\n'


def test_functions(folder):
    """The calls themselves are what is recorded."""
    program = compile_program(folder, "program", CALLS + LIFE + MAIN, "-finstrument-functions", "-g", links=())
    output_of(folder, TRACEBED, "record", "--functions", "-o", "run.tbed", "--", program)
    text = output_of(folder, TRACEBED, "report", "--json", "run.tbed")
    for name in ["constructor_101", "constructor", "destructor_101", "destructor_102", "destructor", "Early::Early",
                 "Early::~Early", "Object::Object", "Object::~Object", "Local::~Local", "first_end", "last_end", "at_exit"]:
        need(re.search(rf'"{name}[ (\[]', text) is not None, f"the call of {name}() is missing")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
