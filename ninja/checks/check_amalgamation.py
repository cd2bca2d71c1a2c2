"""
Checks that the writer as two files (ninja/amalgamate.py) is all that a program needs: 'cc prog.c tracebed.c -o prog' in
a folder that holds nothing else, in every language it promises, without a warning; what the programs record is read
back. And that it stands beside the shared library in one process.

Check: amalgamation
Needs: $b/libtracebed.so $b/tracebed
Slow: compiles the writer with six compilers

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
TRACEBED = BUILD / "tracebed"
STRICT = ["-Wall", "-Wextra", "-Werror"]
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

# With its own writer; the plugin comes with the shared library, linked or loaded.
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


class Failed(Exception):
    pass


def run(folder, *command):
    command = [str(word) for word in command]
    result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise Failed(f"{' '.join(command)}:\n{result.stdout}")
    return result.stdout


def expect(folder, trace, events, texts):
    """The trace is intact, has so many events, and its dump each text so often."""
    told = run(folder, TRACEBED, "verify", trace)
    if f" {events} events in " not in told or "drop" in told:
        raise Failed(f"{trace}: wanted {events} events: {told}")
    dump = run(folder, TRACEBED, "dump", trace)
    for text, count in texts.items():
        if dump.count(text) != count:
            raise Failed(f"{text!r} is not {count} times in\n{dump}")


def try_c(folder, *command):
    (folder / "run.tbed").unlink(missing_ok=True)
    run(folder, *command)
    run(folder, "./prog")
    expect(folder, "run.tbed", 28, {"traced child": 1, "i is 2 of first": 1, "i is 2 of second": 1, "end of work": 2, "once": 1})
    processes = len(re.findall(r"^ +\d+ +\d+ +(?:\d+|-) +prog$", run(folder, TRACEBED, "info", "run.tbed"), re.M))
    if processes != 2:
        raise Failed(f"{processes} processes of {' '.join(command)}")


def try_cpp(folder, cpp, c):
    (folder / "run.tbed").unlink(missing_ok=True)
    run(folder, c, *STRICT, "-c", "tracebed.c", "-o", "tracebed.o")
    run(folder, cpp, "-std=c++17", *STRICT, "prog.cpp", "tracebed.o", "-o", "prog")
    run(folder, "./prog")
    expect(folder, "run.tbed", 16, {"inner first": 2, "inner second": 2, "traced first": 1, "traced second": 1})


def try_beside_the_library(folder):
    includes = [f"-I{ROOT}/{part}/include" for part in ("format", "writer")]
    run(folder, "gcc", *includes, "-fPIC", "-shared", "plugin.c", "-o", "plugin.so", f"-L{BUILD}", "-ltracebed",
        f"-Wl,-rpath,{BUILD}")
    # Linked: the program's writer serves both, into one trace. Loaded: each has its own.
    run(folder, "gcc", *STRICT, "host.c", "tracebed.c", "./plugin.so", f"-Wl,-rpath-link,{BUILD}", "-o", "linked")
    run(folder, "gcc", *STRICT, "-DLOADED", "host.c", "tracebed.c", "-o", "loaded")
    run(folder, "./linked")
    expect(folder, "run.tbed", 4, {"from the program": 2, "from the plugin": 1, "plugin 1": 1})
    run(folder, "./loaded")
    expect(folder, "run.tbed", 2, {"from the program": 2, "from the plugin": 0})
    expect(folder, "plugin.tbed", 2, {"from the plugin": 1, "plugin 1": 1})


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(ROOT, sys.executable, "ninja/amalgamate.py", folder)
        for source, text in {"prog.c": PROGRAM, "prog.cpp": CPP_PROGRAM, "plugin.c": PLUGIN, "host.c": HOST}.items():
            (folder / source).write_text(text)
        try:
            try_c(folder, "cc", "prog.c", "tracebed.c", "-o", "prog")
            for compiler, standard in C:
                try_c(folder, compiler, f"-std={standard}", *STRICT, "prog.c", "tracebed.c", "-o", "prog")
            for cpp, c in CPP:
                try_cpp(folder, cpp, c)
            try_beside_the_library(folder)
        except Failed as failed:
            print(failed)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
