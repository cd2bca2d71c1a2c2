"""
Programs compiled with sanitizers, by gcc and by clang, with the sanitizer's runtime as a shared library and linked into
the program. Each runs through a thread, a fork and an exec, and with a defect for the sanitizer to find.

SPDX-License-Identifier: MIT
"""

import os
import shutil
import subprocess

from worlds import TRACEBED, Failure, Skipped, World, build, need_readable, need_same, run

PROGRAM = r"""
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int shared;
static void *work(void *is_racing)
{
    for (int i = 0; i < 1000; i++) {
        char *block = malloc((size_t)i + 1);
        memset(block, 1, (size_t)i + 1);
        free(block);
        if (is_racing != NULL)
            shared++;
    }
    return NULL;
}
static int increment(int number)
{
    return number + 1;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 0, is_racing = strcmp(argv[1], "race") == 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    pthread_create(&thread, NULL, work, is_racing ? &shared : NULL);
    work(is_racing ? &shared : NULL);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        if (strcmp(argv[1], "again") != 0)
            execl(argv[0], argv[0], "again", NULL);
        _exit(4);
    }
    waitpid(child, &status, 0);
    void *aligned = NULL;
    char *volatile block = realloc(malloc(10), 1000);
    if (posix_memalign(&aligned, 64, 100) == 0)
        free(aligned);
    free(block);
    if (strcmp(argv[1], "use-after-free") == 0)
        block[3] = 1;
    if (strcmp(argv[1], "overflow") == 0)
        increment(INT_MAX);
    if (strcmp(argv[1], "uninitialized") == 0 && *(char *)malloc(1) != 0)
        shared++; /* nothing that can be seen: the byte may be a part of an address */
    block = NULL;
    if (strcmp(argv[1], "leak") == 0)
        block = malloc(1234), block = NULL;
    printf("child %d\n", status);
    return 7;
}
"""
DEFECTS = {"address": "use-after-free", "leak": "leak", "thread": "race", "undefined": "overflow",
           "memory": "uninitialized"}
STATIC = {"address": "-static-libasan", "leak": "-static-liblsan", "thread": "-static-libtsan",
          "undefined": "-static-libubsan"}
# One target sets the variable in which 'record' says that its library may come first, one has none.
MAKEFILE = """
all:
\t$(CC) -fsanitize=address -g program.c -o made -pthread
\t./made none; test $$? = 7
\tASAN_OPTIONS=detect_leaks=0 ./made leak; test $$? = 7
\tenv -u ASAN_OPTIONS ./made none; test $$? = 7
"""


def variants(compiler, kind):
    """Flags for a shared and for a static runtime, and where the loader finds the shared one."""
    if compiler == "gcc":
        return [([], {}), ([STATIC[kind]], {})]
    name = subprocess.run([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    return [([], {}), (["-shared-libsan"], {"LD_LIBRARY_PATH": os.path.dirname(name)})]


def compare(folder, program, environment, flags):
    """True: the program runs here at all."""
    trace = folder / "run.tbed"
    for defect in ("none", *DEFECTS.values()):
        plain = run([program, defect], steps=1, environment=environment)
        if plain.status < 0 or (defect == "none" and plain.status != 7):
            return False
        traced = run([TRACEBED, "record", "-f", *flags, "-o", trace, "--", program, defect], steps=1,
                     environment=environment)
        need_same(plain, traced, f"{program.name} {defect}")
        need_readable(trace)
    return True


def sanitizer(kind):
    def world(folder):
        done = []
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler) is None or (compiler, kind) == ("gcc", "memory"):
                continue
            for number, (more, environment) in enumerate(variants(compiler, kind)):
                name = f"{compiler}-{number}"
                os.environ["CC"] = compiler
                try:
                    program = build(folder, name, PROGRAM, f"-fsanitize={kind}", "-finstrument-functions", *more)
                except Failure:  # the runtime is not installed
                    continue
                if all(compare(folder, program, environment, [mode]) for mode in ("--stacks", "--functions")):
                    done.append(f"{name} {' '.join(more)}".strip())
        if not done:
            raise Skipped("no compiler makes such programs that run here")
        return ", ".join(done)
    return world


def makefile(folder):
    (folder / "program.c").write_text(PROGRAM)
    (folder / "Makefile").write_text(MAKEFILE)
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is not None:
            plain = run(["make", f"CC={compiler}"], steps=1, cwd=folder)
            traced = run([TRACEBED, "record", "-f", "--", "make", f"CC={compiler}"], steps=1, cwd=folder)
            need_same(plain, traced, compiler)
            need_readable(folder / "run.tbed")
    return ""


WORLDS = [
    *(World(f"sanitizer: {kind}", sanitizer(kind)) for kind in DEFECTS),
    World("sanitizer: a makefile that runs what it builds", makefile),
]
