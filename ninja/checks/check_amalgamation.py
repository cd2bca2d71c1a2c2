"""
Checks that a program needs nothing but the writer as two files (ninja/amalgamate.py): 'cc prog.c tracebed.c -o prog'
works in a folder that contains nothing else, in every language it promises, without a warning, and what the program
records can be read. Checks that it works beside the shared library in one process.

Check: amalgamation
Needs: $b/libtracebed.so $b/tracebed
Slow: compiles the writer with six compilers

SPDX-License-Identifier: MIT
"""

import re
import subprocess
import sys

from cases import BUILD, ROOT, TRACEBED, Failure, includes, need, output_of, run_all

STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
C = [("gcc", "c11"), ("gcc", "c17"), ("gcc", "gnu17"), ("clang", "c11"), ("clang", "c17"), ("clang", "gnu17")]
CPP = [("g++", "gcc"), ("clang++", "clang")]

# 11 events in each of two threads, 6 in the child.
PROGRAM = r"""
#include "tracebed.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *argument)
{
    const char *name = (const char *)argument;
    for (int i = 0; i < 3; i++) {
        TBED_SPAN_ARGS("work", "name", name, "i", i);
        TBED_LOG("i is %d of %s", i, name);
    }
    TBED_COUNTER("done", 3);
    TBED_INSTANT("end of work");
    return NULL;
}

int main(void)
{
    char second[] = "second", first[] = "first", child[] = "child";
    pthread_t thread;
    int status = 1;
    if (tbed_start("run.tbed", NULL) != TBED_OK || pthread_create(&thread, NULL, work, second) != 0)
        return 1;
    pthread_join(thread, NULL);
    work(first);
    pid_t pid = fork();
    if (pid == 0) {
        TBED_BEGIN("in the child");
        TBED_LOGFILE_TRACE("traced %s", child);
        TBED_LOG("%s", child);
        TBED_INSTANT("once");
        TBED_COUNTER("done", 1);
        TBED_END();
        _exit(7);
    }
    waitpid(pid, &status, 0);
    tbed_stop();
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 2;
}
"""
CPP_PROGRAM = r"""
#define TIMELOG
#define TBED_RTL_LOGFILE
#include "tracebed.hpp"
#include <string>
#include <thread>

static void work(const std::string &name)
{
    TBED_SPAN_ARGS("work", "name", name);
    tracebed::span inner("inner " + name);
    TBED_LOG("%s", name.c_str());
    RTL_LOGFILE_CONTEXT_AUTHOR(log, "module", "author", "::work");
    RTL_LOGFILE_CONTEXT_TRACE1(log, "traced %s", name.c_str());
}

int main()
{
    tracebed::session session("run.tbed");
    work("first");
    std::thread(work, "second").join();
    return session.status() == TBED_OK ? 0 : 1;
}
"""

PLUGIN = r"""
#include <tracebed/writer.h>
void record(const char *path);
void record(const char *path)
{
    enum tbed_status status = tbed_start(path, NULL);
    TBED_INSTANT("from the plugin");
    TBED_LOG("plugin %d", 1);
    if (status == TBED_OK)
        tbed_stop();
}
"""

# Has its own writer; the plugin uses the shared library and is linked or loaded.
HOST = r"""
#include "tracebed.h"
#include <dlfcn.h>
void record(const char *path);
int main(void)
{
    tbed_start("run.tbed", NULL);
    TBED_INSTANT("from the program");
#ifdef LOADED
    void *plugin = dlopen("./plugin.so", RTLD_NOW);
    if (plugin == NULL)
        return 1;
    ((void (*)(const char *))dlsym(plugin, "record"))("plugin.tbed");
#else
    record("plugin.tbed");
#endif
    TBED_INSTANT("from the program");
    tbed_stop();
    return 0;
}
"""


def expect(folder, trace, events, texts):
    """The trace is intact, has so many events, and its dump each text so often."""
    told = output_of(folder, TRACEBED, "verify", trace)
    if f" {events} events in " not in told or "drop" in told:
        raise Failure(f"{trace}: wanted {events} events: {told}")
    dump = output_of(folder, TRACEBED, "dump", trace)
    for text, count in texts.items():
        if dump.count(text) != count:
            raise Failure(f"{text!r} is not {count} times in\n{dump}")


def make(folder, **programs):
    """The two files of the writing library, beside programs."""
    output_of(ROOT, sys.executable, "ninja/amalgamate.py", folder)
    for name, text in programs.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_c(folder):
    make(folder, prog_c=PROGRAM)
    for compiler, *options in [["cc"], *([name, f"-std={standard}", *STRICT] for name, standard in C)]:
        (folder / "run.tbed").unlink(missing_ok=True)
        output_of(folder, compiler, *options, "prog.c", "tracebed.c", "-o", "prog")
        output_of(folder, "./prog")
        expect(folder, "run.tbed", 28, {"traced child": 1, "i is 2 of first": 1, "i is 2 of second": 1,
                                        "end of work": 2, "once": 1})
        info = output_of(folder, TRACEBED, "info", "run.tbed")
        need(len(re.findall(r"^ +\d+ +\d+ +(?:\d+|-) +prog$", info, re.M)) == 2, f"{compiler} {options}: {info}")


def test_cpp(folder):
    make(folder, prog_cpp=CPP_PROGRAM)
    for cpp, c in CPP:
        (folder / "run.tbed").unlink(missing_ok=True)
        output_of(folder, c, *STRICT, "-c", "tracebed.c", "-o", "tracebed.o")
        output_of(folder, cpp, "-std=c++17", *STRICT, "prog.cpp", "tracebed.o", "-o", "prog")
        output_of(folder, "./prog")
        expect(folder, "run.tbed", 16, {"inner first": 2, "inner second": 2, "traced first": 1, "traced second": 1})


def test_compiled_as_cpp_it_says_what_to_do(folder):
    make(folder)
    for cpp, _ in CPP:
        run = subprocess.run([cpp, "-x", "c++", "-c", "tracebed.c"], cwd=folder,
                             capture_output=True, text=True)
        errors = [line for line in run.stderr.splitlines() if "error:" in line]
        need(run.returncode != 0 and len(errors) == 1 and "cc -c tracebed.c" in errors[0], run.stderr)


def test_beside_the_library(folder):
    make(folder, plugin_c=PLUGIN, host_c=HOST)
    output_of(folder, "gcc", *includes("format", "writer"), "-fPIC", "-shared", "plugin.c", "-o", "plugin.so", f"-L{BUILD}", "-ltracebed",
        f"-Wl,-rpath,{BUILD}")
    # Linked: the program's writer serves both, into one trace. Loaded: each has its own.
    output_of(folder, "gcc", *STRICT, "host.c", "tracebed.c", "./plugin.so", f"-Wl,-rpath-link,{BUILD}", "-o", "linked")
    output_of(folder, "gcc", *STRICT, "-DLOADED", "host.c", "tracebed.c", "-o", "loaded")
    output_of(folder, "./linked")
    expect(folder, "run.tbed", 4, {"from the program": 2, "from the plugin": 1, "plugin 1": 1})
    output_of(folder, "./loaded")
    expect(folder, "run.tbed", 2, {"from the program": 2, "from the plugin": 0})
    expect(folder, "plugin.tbed", 2, {"from the plugin": 1, "plugin 1": 1})


if __name__ == "__main__":
    sys.exit(run_all(globals()))
