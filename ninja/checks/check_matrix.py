"""
Checks that the writer as two files (ninja/amalgamate.py) is at home in every compiler: each cell of a matrix compiles
it and a program that uses every macro, without a warning, runs the program, and has the reader compare what it recorded.

The matrix has these axes: gcc and clang; C11 to C23 and C++17 to C++23; optimization and LTO; the sanitizers;
-fno-exceptions -fno-rtti; x86-64, 32-bit x86 and arm64 (under qemu); glibc and musl. The full product would take an hour.
The cells are chosen so that each value of an axis meets each compiler, and each machine and library meets the oldest
or the newest standard. A cell whose compiler, libraries or emulator are missing is named as skipped. Under qemu the
program does not fork, because qemu 7 ignores MADV_WIPEONFORK without saying so.

Also checks that wrong calls are refused in words, and that tracebed.h leaves the C library's feature macros alone.

Check: matrix-gcc test_gcc test_wrong_calls_are_refused_in_words
Check: matrix-clang test_clang test_the_program_uses_every_macro
Check: matrix-machines test_other_machines_and_libraries
Needs: $b/tracebed
Slow: compiles the writer twenty times

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

from cases import ROOT, TRACEBED, Failure, need, output_of, run_all

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
# Debian has the kernel's headers of 32-bit x86 in the folder of x86-64; only gcc-multilib adds it to the search path.
X86 = ["-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"]
ARM64 = ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-gcc-12"]
ASAN = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TSAN = ["-O0", "-fsanitize=thread"]
BARE = ["-fno-exceptions", "-fno-rtti"]

# A writer: its compilers (the first that is there), its standard and options. What runs it, if not this machine. The
# C++ compilers, standards and options whose programs it is linked to, besides the C program with its own options.
CELLS = {
    "gcc": (["gcc"], ["-std=c11", "-O2"], None,
            [("g++", "-std=c++17", "-O2"), ("g++", "-std=c++2b", "-O0", *BARE)]),
    "gcc C23": (["gcc"], ["-std=c2x", "-O0", "-fPIC"], None, [("g++", "-std=c++20", "-O1", "-fPIC")]),
    "gcc gnu17, LTO": (["gcc"], ["-std=gnu17", "-O2", "-flto"], None, [("g++", "-std=c++20", "-O2", "-flto", *BARE)]),
    "gcc, address": (["gcc"], ["-std=c17", *ASAN], None, [("g++", "-std=c++17", *ASAN)]),
    "gcc, thread": (["gcc"], ["-std=c2x", *TSAN], None, [("g++", "-std=c++2b", *TSAN)]),
    "clang": (["clang"], ["-std=c11", "-O0"], None,
              [("clang++", "-std=c++17", "-O0", *BARE), ("clang++", "-std=c++2b", "-O1")]),
    "clang C23, LTO": (["clang"], ["-std=c2x", "-O1", "-flto"], None, [("clang++", "-std=c++20", "-O1", "-flto")]),
    "clang, address": (["clang"], ["-std=c2x", *ASAN], None, [("clang++", "-std=c++2b", *ASAN)]),
    "clang, thread": (["clang"], ["-std=c11", *TSAN], None, [("clang++", "-std=c++17", *TSAN, *BARE)]),
    "32 bits, gcc": (["gcc"], ["-std=c11", "-O1", *X86], None, [("g++", "-std=c++17", "-O1", *X86)]),
    "32 bits, gcc C23, i686": (["gcc"], ["-std=c2x", "-O0", "-march=i686", *X86], None, []),
    "32 bits, gcc, address": (["gcc"], ["-std=c17", *ASAN, *X86], None, []),
    "32 bits, clang": (["clang"], ["-std=c2x", "-O1", *X86], None, [("clang++", "-std=c++2b", "-O1", *X86, *BARE)]),
    "32 bits, clang i686": (["clang"], ["-std=c11", "-O0", "-march=i686", *X86], None, []),
    "musl": (["musl-gcc"], ["-std=c11", "-O1", "-static"], None, []),
    "musl C23, LTO": (["musl-gcc"], ["-std=c2x", "-O0", "-flto", "-static"], None, []),
    "arm64": (ARM64, ["-std=c17", "-O1", "-static", "-DNO_FORK"], "qemu-aarch64", []),
}

# In C and in C++, and with the header in front of _GNU_SOURCE. 46 events.
PROGRAM = r"""
#include "tracebed.h"
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TBED_CATEGORY_DECLARE(net);
TBED_CATEGORY(net);
TBED_CATEGORY_SWITCH(quiet);

enum colour { RED, GREEN = 7 };

static struct tbed_track track = TBED_TRACK("a track");

static void spans(void)
{
    char name[16];
    *(char *)mempcpy(name, "made ", 5) = 0; /* declared only with _GNU_SOURCE */
    strcat(name, "here");
    TBED_SPAN();
    TBED_SPAN("named");
    TBED_SPAN_IN(net, "in a category");
    TBED_SPAN_ARGS("with arguments", "int", -1, "text", name);
    TBED_SPAN_ARGS_IN(net, "with both", "size", sizeof name);
    TBED_SPAN_DYNAMIC(name);
    TBED_SPAN_DYNAMIC_IN(net, name);
}

static void values(void)
{
    unsigned char bytes[] = "bytes";
    TBED_INSTANT_ARGS("integers", "char", (char)65, "signed char", (signed char)-2, "short", (short)-3, "unsigned",
                      4000000000u, "long", -5L, "long long", -6000000000ll, "unsigned long long", UINT64_MAX, "enum",
                      GREEN);
    TBED_INSTANT_ARGS("others", "float", 1.5f, "double", 2.5, "long double", 3.5L, "true", (bool)1, "pointer",
                      (void *)64, "array", "literal", "unsigned char", bytes, "id",
                      TBED_ID(tbed_string_intern(tbed_default_writer(), "of an id", 8)));
    TBED_INSTANT_ARGS_IN(net, "one", "null", (const char *)NULL);
}

static void events(int key)
{
    uint32_t depth = TBED_DEPTH();
    TBED_BEGIN("begun");
    TBED_END_TO(depth);
    TBED_BEGIN_IN(net, "begun in");
    TBED_END_IN(net);
    TBED_BEGIN_ARGS("begun with", "key", key);
    TBED_END();
    TBED_BEGIN_ARGS_IN(net, "begun in with", "key", key);
    TBED_END_IN(net);
    TBED_INSTANT("instant");
    TBED_INSTANT_IN(net, "instant in");
    TBED_INSTANT_DYNAMIC("dynamic");
    TBED_COUNTER_UNIT("heap", "bytes");
    TBED_COUNTER("heap", key);
    TBED_COUNTER_IN(net, "packets", 2.5);
    TBED_LOG("plain");
    TBED_LOG("%d %s %.1f %c", key, "text", 1.5, 'c');
    TBED_LOG_IN(net, "%.*s", 2, "cut");
    TBED_LOG_AT(TBED_SEVERITY_ERROR, "error %u", 1u);
    TBED_LOG_AT_IN(net, TBED_SEVERITY_WARNING, "%d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    TBED_ASYNC_BEGIN("async", key);
    TBED_ASYNC_END("async", key);
    TBED_FLOW_BEGIN("flow", key);
    TBED_FLOW_STEP("flow", key);
    TBED_FLOW_END("flow", key);
    TBED_TRACK_BEGIN(&track, "on the track");
    TBED_TRACK_INSTANT(&track, "there");
    TBED_TRACK_END(&track);
}

static void *in_thread(void *unused)
{
    TBED_THREAD_NAME("second");
    TBED_SPAN("in the thread");
    return unused;
}

int main(void)
{
    pthread_t thread;
    int status = 1;
    if (TBED_IS_ON(net) || tbed_start("run.tbed", NULL) != TBED_OK || !TBED_IS_ON(net) || !TBED_IS_ON(quiet))
        return 1;
    spans();
    values();
    events(3);
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
#ifndef NO_FORK
    pid_t pid = fork();
    if (pid == 0) {
        TBED_INSTANT("in the child");
        _exit(7);
    }
    waitpid(pid, &status, 0);
#else
    status = 7 << 8;
#endif
    tbed_stop();
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 3;
}
"""
TOLD = [
    "begin        spans  at macros.c", "begin        named  at macros.c", 'with arguments  at macros.c', 'int=-1 text="made here"',
    "begin        made here", 'char=65 signed char=-2 short=-3 unsigned=4000000000 long=-5 long long=-6000000000 '
    'unsigned long long=18446744073709551615 enum=7', 'float=1.5 double=2.5 long double=3.5 true=true pointer=0x40 '
    'array="literal" unsigned char="bytes" id="of an id"', 'null="(null)"', "heap = 3 bytes", "packets = 2.5",
    "info: 3 text 1.5 c", "info: cu", "error: error 1", "warning: 1 2 3 4 5 6 7 8 9", "on the track", "in the thread",
    "in the child",
]

# What only C++ has; 12 events.
CPP_PROGRAM = r"""
#include "tracebed.hpp"
#include <string>

enum class scoped : unsigned char { SMALL, LARGE = 200 };
struct bits {
    unsigned three : 3;
};

namespace space
{
struct thing {
    int run(int number)
    {
        TBED_SPAN();
        return number;
    }
};
} // namespace space

static void function()
{
}

int main()
{
    tracebed::session session("run.tbed");
    std::string text = "a string";
    const std::string_view view = text;
    bits field{5};
    {
        TBED_SPAN_ARGS("strings", "string", text, "view", view, "temporary", text + "!", "scoped", scoped::LARGE, "field",
                       field.three, "nullptr", nullptr, "wide", L'w');
        TBED_INSTANT_ARGS("function", "address", function);
        TBED_SPAN_DYNAMIC(text + " made");
        TBED_INSTANT_DYNAMIC(view);
        TBED_COUNTER("scoped", scoped::LARGE);
    }
    tracebed::span named("in " + text), own;
    own.end();
    named.end();
#ifdef __cpp_lib_format
    tracebed::log("{} and {}", text, 5);
#else
    TBED_LOG("%s and %d", text.c_str(), 5);
#endif
    return space::thing().run(session.status());
}
"""
CPP_TOLD = [
    'string="a string" view="a string" temporary="a string!" scoped=200 field=5 nullptr=0x0 wide=119',
    "begin        a string made", "instant      a string", "scoped = 200", "begin        in a string  at prog.cpp",
    "begin        main  at prog.cpp", "a string and 5", "begin        space::thing::run  at prog.cpp",
]

# A call, the words of the error, and whether it is one in C++ alone.
WRONG = [
    ('TBED_SPAN_ARGS("load", "bytes")', "each argument needs a name and a value", False),
    ('TBED_SPAN_ARGS("load", "bytes", 1, "path")', "each argument needs a name and a value", False),
    ('TBED_SPAN_ARGS("load")', "use the macro without _ARGS", False),
    ('TBED_INSTANT_ARGS("load", "bytes", 1, "path")', "each argument needs a name and a value", False),
    ('TBED_BEGIN_ARGS("load"' + ', "n", 1' * 9 + ")", "an event has at most 8 arguments", False),
    ('TBED_SPAN_ARGS("load"' + ', "n", 1' * 20 + ")", "an event has at most 8 arguments", False),
    ('TBED_SPAN("load", "bytes")', "use TBED_SPAN_ARGS", False),
    ('TBED_LOG("many"' + ", 1" * 17 + ")", "a message has at most 16 values", False),
    ('TBED_LOG("%d", "text")', "format", False),
    ("TBED_SPAN(std_string)", "a name is a string literal; for names made at run time, use TBED_SPAN_DYNAMIC", True),
    ("TBED_INSTANT(pointer)", "a name is a string literal", True),
    ('TBED_INSTANT_ARGS("object", "value", object)', "not a value that an event can store", True),
]


def there(compiler):
    return shutil.which(compiler) is not None


def works(folder, compiler, options, runner):
    """Whether these options make programs that run here."""
    source = "int main(void) { return 0; }\n"
    if compiler.endswith("++"):
        source = "#include <string>\n" + source
    name = f"probe{abs(hash((compiler, *options)))}"
    command = [compiler, *options, "-x", "c++" if compiler.endswith("++") else "c", "-", "-o", name]
    try:
        made = subprocess.run(command, cwd=folder, input=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              text=True)
        return made.returncode == 0 and subprocess.run([*runner, f"./{name}"], cwd=folder).returncode == 0
    except OSError:
        return False


def expect(folder, events, texts, cell):
    told = output_of(folder, TRACEBED, "verify", "run.tbed")
    need(f" {events} events in " in told and "drop" not in told, f"{cell}: wanted {events} events: {told}")
    dump = output_of(folder, TRACEBED, "dump", "run.tbed")
    for text in texts:
        need(text in dump, f"{cell}: {text!r} is not in\n{dump}")


def run_program(folder, program, runner, events, texts, cell):
    inside = folder / f"{program}.run"
    inside.mkdir()
    output_of(inside, *runner, f"../{program}", TSAN_OPTIONS="report_bugs=1", ASAN_OPTIONS="detect_leaks=0")
    expect(inside, events, texts, cell)


def run_cell(folder, cell):
    """Returns what was skipped, and what is wrong."""
    try:
        return cell_skipped(folder, cell), []
    except (Failure, subprocess.SubprocessError) as problem:
        return [], [f"{cell}: {problem}"]


def cell_skipped(folder, cell):
    compilers, options, emulator, others = CELLS[cell]
    compiler = next((name for name in compilers if there(name)), None)
    runner = [emulator] if emulator is not None else []
    stem = re.sub(r"\W+", "_", cell)
    if compiler is None or not works(folder, compiler, options, runner):
        return [cell]
    skipped = []
    output_of(folder, compiler, *options, *STRICT, "-c", "tracebed.c", "-o", f"{stem}.o")
    output_of(folder, compiler, *options, *STRICT, "macros.c", f"{stem}.o", "-o", stem)
    forks = emulator is None
    run_program(folder, stem, runner, 46 if forks else 45, TOLD if forks else TOLD[:-1], cell)
    for number, (cpp, *cpp_options) in enumerate(others):
        name = f"{cell}, {cpp} {cpp_options[0]}"
        if not there(cpp) or not works(folder, cpp, cpp_options, runner):
            skipped.append(name)
            continue
        for source, events, texts in [("macros.cpp", 46, TOLD), ("prog.cpp", 14, CPP_TOLD)]:
            program = f"{stem}_{number}_{source.split('.')[0]}"
            output_of(folder, cpp, *cpp_options, *STRICT, source, f"{stem}.o", "-o", program)
            run_program(folder, program, runner, events, texts, name)
    return skipped


def make(folder):
    output_of(ROOT, sys.executable, "ninja/amalgamate.py", folder)
    (folder / "macros.c").write_text(PROGRAM)
    (folder / "macros.cpp").write_text(PROGRAM)
    (folder / "prog.cpp").write_text(CPP_PROGRAM)


def run_cells(folder, begins):
    """Those whose names begin with one of these."""
    make(folder)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda cell: run_cell(folder, cell), filter(lambda cell: cell.startswith(begins), CELLS)))
    skipped = [name for left_out, _ in results for name in left_out]
    problems = [problem for _, wrong in results for problem in wrong]
    need(not problems, "\n".join(problems))
    return f"skipped: {'; '.join(skipped)}" if skipped else ""


def test_gcc(folder):
    return run_cells(folder, "gcc")


def test_clang(folder):
    return run_cells(folder, "clang")


def test_other_machines_and_libraries(folder):
    return run_cells(folder, ("32 bits", "musl", "arm64"))


def test_the_program_uses_every_macro(folder):
    header = (ROOT / "writer/include/tracebed/trace.h").read_text()
    macros = set(re.findall(r"^#define (TBED_[A-Z_]*[A-Z])\(", header, re.M))
    unused = sorted(macro for macro in macros if not re.search(rf"\b{macro}\b", PROGRAM))
    need(not unused, f"the program does not use {', '.join(unused)}")


def test_wrong_calls_are_refused_in_words(folder):
    make(folder)
    program = '#include "tracebed.h"\n%svoid work(void);\nvoid work(void)\n{\n%s%s;\n}\n'
    objects = "    const char *pointer = \"\";\n    std::string std_string;\n    struct { int field; } object{1};\n"
    compilers = [("gcc", "c11"), ("clang", "c11"), ("g++", "c++17"), ("clang++", "c++17")]
    for compiler, standard in compilers:
        for call, words, is_cpp in WRONG:
            if not there(compiler) or (is_cpp and "++" not in compiler):
                continue
            text = program % ("#include <string>\n" if is_cpp else "", objects if is_cpp else "", call)
            run = subprocess.run([compiler, f"-std={standard}", "-Wall", "-Werror=format", "-fsyntax-only", "-x",
                                  "c++" if "++" in compiler else "c", "-"], cwd=folder, input=text,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            need(run.returncode != 0, f"{compiler} accepts {call}")
            need(words in run.stdout, f"{compiler}, {call}: {words!r} is not in\n{run.stdout}")


if __name__ == "__main__":
    sys.exit(run_all(globals()))
