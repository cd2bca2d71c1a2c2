"""
Checks that the programs in the comments at the top of the headers compile without a warning in every language they
promise, run, and leave an intact trace; that the compiler checks formats and rejects mistakes; and that libraries loaded
at run time record into the same trace as the program.

Check: examples
Needs: $b/libtracebed.a $b/libtracebed.so $b/tracebed
Slow: compiles each example with every compiler and standard

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import subprocess
import sys

from cases import BUILD, ROOT, TRACEBED, includes, need, output_of, run_all

INCLUDES = includes("format", "writer", "writer/capture")
C = [("gcc", "c11"), ("gcc", "c17"), ("gcc", "gnu17"), ("clang", "c11"), ("clang", "c17")]
CPP = [("g++", "c++17"), ("clang++", "c++17")]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
HEADERS = {"writer/include/tracebed/trace.h": C + CPP, "writer/include/tracebed/trace.hpp": CPP,
           "writer/capture/include/tracebed/logfile.h": C + CPP}

# Each macro, on and off; the 37 events are those between start and stop.
EVERY_MACRO = r"""
#include <tracebed/writer.h>
TBED_CATEGORY(linux);
TBED_CATEGORY_SWITCH(gui);
TBED_CATEGORY_DECLARE(gui);
static void everything(const char *text, int number)
{
    static struct tbed_track gpu = TBED_TRACK("GPU queue");
    unsigned char byte = 7;
    bool truth = true;
    float ratio = 0.5f;
    const unsigned char *bytes = &byte;
    TBED_SPAN(__func__);
    TBED_SPAN_ARGS("arguments", "text", text, "number", number, "byte", byte, "truth", truth, "ratio", ratio,
                   "pointer", (void *)&gpu, "id", TBED_ID(5), "none", (void *)0);
    TBED_SPAN_IN(linux, "send");
    TBED_SPAN_IN(gui, "draw");
    TBED_SPAN_ARGS_IN(gui, "draw", "number", number);
    TBED_SPAN_DYNAMIC(text);
    TBED_LOG("nothing");
    TBED_LOG("%s %d %5.2f %p %c %llu %hhd %zu", text, number, (double)ratio, (const void *)bytes, 'c', 5ull, byte,
             sizeof gpu);
    TBED_LOG_AT(TBED_SEVERITY_ERROR, "%.*s", number, text);
    TBED_LOG_AT_IN(linux, TBED_SEVERITY_DEBUG, "%ld", 1L);
    TBED_LOG_IN(gui, "%x", 1u);
    TBED_BEGIN("pair");
    TBED_END();
    TBED_BEGIN_ARGS_IN(linux, "pair", "number", number);
    TBED_END_IN(linux);
    TBED_INSTANT("instant");
    TBED_INSTANT_IN(gui, "instant");
    TBED_INSTANT_ARGS("instant", "number", number);
    TBED_INSTANT_DYNAMIC(text);
    TBED_COUNTER_UNIT("heap", "bytes");
    TBED_COUNTER("heap", number);
    TBED_COUNTER("heap", ratio);
    TBED_COUNTER_IN(linux, "heap", sizeof gpu);
    TBED_ASYNC_BEGIN("request", number);
    TBED_ASYNC_END("request", number);
    TBED_FLOW_BEGIN("flow", &gpu);
    TBED_FLOW_STEP("flow", &gpu);
    TBED_FLOW_END("flow", &gpu);
    TBED_TRACK_BEGIN(&gpu, "frame");
    TBED_TRACK_INSTANT(&gpu, "vsync");
    TBED_TRACK_END(&gpu);
    if (number > 0)
        TBED_INSTANT("a statement");
    else
        TBED_LOG("another");
}
int main(void)
{
    TBED_THREAD_NAME("principal");
    everything("before", 1);
    tbed_start("run.tbed", NULL);
    everything("a.txt", 3);
    tbed_stop();
    everything("after", 1);
    return 0;
}
"""

# What must not compile, and what the compiler must say about it.
MISTAKES = {
    'TBED_LOG("%d", 1L);': "format",
    'TBED_LOG("%s %d", "text");': "format",
    'TBED_LOG("%d", 1, 2);': "format",
    'const char *name = "x"; TBED_INSTANT(name);': "constant|literal|matching",
    'TBED_SPAN_ARGS("x", "name");': "TBED_|declare|undeclared|expected",
}

# One source, built as two libraries; the program links with neither of them, nor with tracebed.
PLUGIN = """
#include <tracebed/writer.h>
TBED_CATEGORY(NAME);
void begin(const char *path) { tbed_start(path, NULL); }
void work(int number)
{
    TBED_SPAN_IN(NAME, "work");
    TBED_LOG("number %d", number);
}
void end(void) { tbed_stop(); }
"""

HOST = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void *open_it(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\\n", dlerror());
        exit(1);
    }
    return library;
}
static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        exit(2);
    return found;
}
static void *worker(void *argument)
{
    ((void (*)(int))find(argument, "work"))(2);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    void *one = open_it("./one.so"), *two = open_it("./two.so");
    ((void (*)(const char *))find(one, "begin"))("run.tbed");
    ((void (*)(int))find(one, "work"))(1);
    if (pthread_create(&thread, NULL, worker, two) != 0 || pthread_join(thread, NULL) != 0)
        return 3;
    dlclose(two); /* its category and its names go */
    two = open_it("./two.so");
    ((void (*)(int))find(two, "work"))(3);
    ((void (*)(void))find(one, "end"))();
    dlclose(one);
    dlclose(two);
    return 0;
}
"""


def compile_command(compiler, standard, source, *more):
    language = "c++" if standard.startswith("c++") else "c"
    return [compiler, f"-std={standard}", "-O1", *WARNINGS, *INCLUDES, "-x", language, source, "-x", "none", *more]


def examples(text):
    """The indented parts of the head comment that are whole programs."""
    head = text[: text.index("*/")]
    lines = [line[3:] if line.startswith(" * ") else "" for line in head.splitlines()]
    block, found = [], []
    for line in [*lines, "end"]:
        if line.startswith("    ") or not line:
            block.append(line)
        else:
            found.append("\n".join(block))
            block = []
    return [block for block in found if "int main" in block]


def try_example(source, compiler, standard, folder):
    """Compiles and runs it; gives what 'tracebed verify' says of its trace."""
    (folder / "run.tbed").unlink(missing_ok=True)
    output_of(folder, *compile_command(compiler, standard, source, BUILD / "libtracebed.a", "-pthread", "-o", "prog"))
    output_of(folder, "./prog")
    return output_of(folder, TRACEBED, "verify", "run.tbed")


def test_head_comments(folder):
    for header, languages in HEADERS.items():
        found = examples((ROOT / header).read_text(encoding="utf-8"))
        need(found, f"{header}: no program in the comment at the top")
        for number, example in enumerate(found):
            source = folder / f"{pathlib.Path(header).name}.{number}.c"
            source.write_text(example, encoding="utf-8")
            for compiler, standard in languages:
                verified = try_example(source, compiler, standard, folder)
                need(" 0 events" not in verified, f"{source}, {compiler} -std={standard}: no events")


def test_every_macro(folder):
    source = folder / "every.c"
    source.write_text(EVERY_MACRO)
    for compiler, standard in C + CPP:
        verified = try_example(source, compiler, standard, folder)
        need(" 37 events in 2 streams" in verified, f"{compiler} -std={standard}: {verified}")


def test_mistakes(folder):
    for number, (mistake, reason) in enumerate(MISTAKES.items()):
        source = folder / f"mistake{number}.c"
        source.write_text(f"#include <tracebed/writer.h>\nvoid f(void);\nvoid f(void)\n{{\n    {mistake}\n}}\n")
        for compiler, standard in C + CPP:
            command = compile_command(compiler, standard, source, "-c", "-o", "/dev/null")
            command = [str(word) for word in command if word != "-Wpedantic"]
            run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            need(run.returncode != 0, f"{compiler} -std={standard} accepts: {mistake}")
            need(re.search(reason, run.stdout), f"{compiler} -std={standard}, of: {mistake}\n{run.stdout}")


def test_loaded_libraries(folder):
    for name in ("one", "two"):
        (folder / f"{name}.c").write_text(PLUGIN.replace("NAME", name))
        output_of(folder, "gcc", "-std=gnu17", "-O2", *INCLUDES, "-fPIC", "-shared", "-o", f"{name}.so", f"{name}.c",
                  f"-L{BUILD}", "-ltracebed", f"-Wl,-rpath,{BUILD}")
    (folder / "host.c").write_text(HOST)
    output_of(folder, "clang", "-O1", "-o", "host", "host.c", "-pthread", "-ldl")
    output_of(folder, "./host")
    output_of(folder, TRACEBED, "verify", "run.tbed")
    dump = output_of(folder, TRACEBED, "dump", "run.tbed")
    for text, count in {"number 1": 1, "number 2": 1, "number 3": 1, "[one]": 1, "[two]": 2, " end ": 3}.items():
        need(dump.count(text) == count, f"{text!r} is not {count} times in\n{dump}")


if __name__ == "__main__":
    sys.exit(run_all(globals()))
