"""
Worlds that are a kind of program: plugins that each carry a writer of their own, programs that cannot be recorded, and
such in which the recorder cannot start.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import shutil
import sys

from cases import TRACEBED, output_of
from worlds import ROOT, Skipped, World, build, need, need_readable, need_same, run

PLUGINS = 200
# The first of them records, in a thread of its own as well.
PLUGIN = r"""
#include "tracebed.h"
#include <pthread.h>
static void *work(void *unused)
{
    for (int i = 0; i < 100; i++)
        TBED_LOG("call %d", i);
    return unused;
}
void plugin(const char *trace)
{
    pthread_t thread;
    if (trace[0] != 0)
        tbed_start(trace, NULL);
    TBED_SPAN("plugin");
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    work(NULL);
    if (trace[0] != 0)
        tbed_stop();
}
"""
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int count = 0;
    char name[64];
    for (; count < atoi(argv[1]); count++) {
        snprintf(name, sizeof name, "./plugin%d.so", count);
        void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        void (*plugin)(const char *) = handle != NULL ? (void (*)(const char *))dlsym(handle, "plugin") : NULL;
        if (plugin == NULL) {
            printf("%s\n", dlerror());
            break;
        }
        plugin(count == 0 ? argv[argc - 1] : "");
    }
    printf("%d plugins\n", count);
    return 3;
}
"""


def plugins(folder):
    """Static thread-local storage is scarce: the loader refuses what needs it once it is used up."""
    output_of(ROOT, sys.executable, "ninja/amalgamate.py", folder)
    first = build(folder, "plugin0.so", PLUGIN, "-fPIC", "-shared", "-I", folder, libraries=[folder / "tracebed.c"])
    for number in range(1, PLUGINS):
        shutil.copy(first, folder / f"plugin{number}.so")
    host = build(folder, "host", HOST, libraries=["-ldl"])
    trace = folder / "run.tbed"
    plain = run([host, PLUGINS, ""], steps=1, cwd=folder)
    need(plain.status == 3 and plain.output == f"{PLUGINS} plugins\n", f"{plain}")
    traced = run([host, PLUGINS, trace], steps=1, cwd=folder)
    need_same(plain, traced, "recording")
    need_readable(trace)
    need("call 99" in output_of(folder, TRACEBED, "dump", trace), "nothing recorded")
    return f"{PLUGINS} loaded"


# Starts the program it is given in every way there is, and prints how each ended.
STARTER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void start(int way, char *path, char **arguments)
{
    char *name = strrchr(path, '/') + 1;
    switch (way) {
    case 0: execve(path, arguments, environ); break;
    case 1: execv(path, arguments); break;
    case 2: execvp(name, arguments); break;
    case 3: execvpe(name, arguments, environ); break;
    case 4: execl(path, name, "word", (char *)NULL); break;
    case 5: execlp(name, name, "word", (char *)NULL); break;
    case 6: execle(path, name, "word", (char *)NULL, environ); break;
    case 7: fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ); break;
    case 8: execveat(AT_FDCWD, path, arguments, environ, 0); break;
    }
    _exit(99);
}
int main(int argc, char **argv)
{
    char *arguments[] = {argv[1], "word", NULL};
    pid_t child;
    int status;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int way = 0; way < 12; way++) {
        if (way == 9)
            status = posix_spawn(&child, argv[1], NULL, NULL, arguments, environ);
        else if (way == 10)
            status = posix_spawnp(&child, strrchr(argv[1], '/') + 1, NULL, NULL, arguments, environ);
        else if ((child = way == 11 ? vfork() : fork()) == 0)
            start(way % 11, argv[1], arguments);
        waitpid(child, &status, 0);
        printf("way %d: %d\n", way, status);
    }
    return argc;
}
"""
SAYS = r"""
#include <stdio.h>
int main(int argc, char **argv)
{
    printf("%d %s\n", argc, argv[1]);
    return 4;
}
"""
WAYS = 12
GO = """
package main

import ("fmt"; "os")

func main() { fmt.Println(len(os.Args), os.Args[1]); os.Exit(4) }
"""


def started(folder, program, expected, **variables):
    """Starts it from a recorded program in all ways; 'expected' must be in what 'record' prints, once."""
    starter = build(folder, "starter", STARTER, "-D_FORTIFY_SOURCE=0")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
    trace = folder / "run.tbed"
    plain = run([starter, program], steps=1, environment=environment)
    need(plain.output.count(f": {4 << 8}") == WAYS, f"{plain}")
    traced = run([TRACEBED, "record", "-f", "-o", trace, "--", starter, program], steps=1, environment=environment)
    need_same(plain, traced, "record")
    need_readable(trace)
    if expected is None:
        need(traced.errors == "", traced.errors)
    else:
        need(f"{expected}: {program} ({WAYS} times)" in traced.errors, traced.errors)
    return traced.errors.strip().splitlines()[-1].strip() if expected else ""


def dynamic(folder):
    return started(folder, build(folder, "dynamic", SAYS), None)


def static(folder):
    return started(folder, build(folder, "static", SAYS, "-static"), "statically linked")


def go(folder):
    if shutil.which("go") is None:
        raise Skipped("there is no Go compiler")
    (folder / "goes.go").write_text(GO)
    output_of(folder, "go", "build", "-o", "goes", "goes.go", HOME=str(folder), CGO_ENABLED="0")
    return started(folder, folder / "goes", "statically linked")


def for_all_users(folder):
    """The program and what it preloads, in a folder that every user reaches: the checkout may be in a private one."""
    for path in (TRACEBED, *pathlib.Path(TRACEBED).parent.glob("*.so")):
        shutil.copy(path, folder)
    return folder / pathlib.Path(TRACEBED).name


def setuid(folder):
    """The loader ignores LD_PRELOAD in a program that gains rights."""
    if os.geteuid() != 0:
        raise Skipped("takes root to make such a program")
    program = build(folder, "gains", SAYS)
    starter = build(folder, "starter", STARTER)
    program.chmod(0o4755)
    folder.chmod(0o777)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
    user = lambda: os.setuid(65534)  # noqa: E731
    tracebed = for_all_users(folder)
    plain = run([starter, program], steps=1, environment=environment, prepare=user)
    traced = run([tracebed, "record", "-o", folder / "run.tbed", "--", starter, program], steps=1,
                 environment=environment, prepare=user)
    need_same(plain, traced, "record")
    need(f"setuid, setgid or with capabilities: {program} ({WAYS} times)" in traced.errors, traced.errors)
    alone = run([tracebed, "record", "-f", "-o", folder / "run.tbed", "--", program, "word"], steps=1, prepare=user)
    need(alone.status == 4 and alone.output == "2 word\n", f"{alone}")
    return f"{WAYS} ways"


def cannot_start(folder):
    """The reason is printed, and the exit status says it, unless the program has one of its own."""
    if shutil.which("strace") is None:
        raise Skipped("there is no strace")
    trace, notes = folder / "run.tbed", []
    for error, text in (("EMFILE", "Too many open files"), ("EIO", "Input/output error"),
                        ("EACCES", "Permission denied"), ("ENOSPC", "No space left on device")):
        inject = ["strace", "-f", "-o", "/dev/null", "-P", trace, "-e", f"inject=openat:error={error}"]
        for program, status in (("true", 125), ("false", 1)):
            traced = run([*inject, TRACEBED, "record", "-f", "-o", trace.name, "--", program], steps=1, cwd=folder)
            if "ptrace" in traced.errors:
                raise Skipped("strace cannot trace here")
            need(traced.status == status, f"{error} {program}: exit status {traced.status}, expected {status}")
            need(f"{program}: the trace " in traced.errors and text in traced.errors, traced.errors)
        notes.append(error)
    return ", ".join(notes)


WORLDS = [
    World("200 plugins with a writer each", plugins),
    World("children: dynamic", dynamic),
    World("children: static", static),
    World("children: Go", go),
    World("children: setuid", setuid),
    World("the recorder cannot start", cannot_start),
]
