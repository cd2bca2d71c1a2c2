"""
Worlds in which system calls of the recorder fail, one after the other. A library in front of the C library lets the
n-th call of a function fail, or all from the n-th on, if it is the recorder that calls. The program's own calls are
passed on.

SPDX-License-Identifier: MIT
"""

import itertools
import re

from cases import BUILD, includes
from worlds import PROGRAM, TRACEBED, World, build, need, need_readable, need_same, run

# FAULT="function n errno all": 'all' is 1 if later calls fail as well. How many calls there were is printed at the end
# of the process, if FAULT_COUNT is set.
FAULTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static char wanted[64];
static int number, failure, fails_all, count, is_read;
static void read_wanted(void)
{
    const char *text = getenv("FAULT");
    if (!is_read && text != NULL)
        sscanf(text, "%63s %d %d %d", wanted, &number, &failure, &fails_all);
    is_read = 1;
}
static int fails(const char *name, void *caller)
{
    Dl_info info;
    read_wanted();
    if (strcmp(name, wanted) != 0)
        return 0;
    if (dladdr(caller, &info) == 0 || strstr(info.dli_fname, "libtracebed") == NULL)
        return 0;
    int own = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (own != number && (own < number || !fails_all))
        return 0;
    errno = failure;
    return 1;
}
__attribute__((destructor)) static void tell(void)
{
    char line[64];
    if (getenv("FAULT_COUNT") != NULL && write(2, line, (size_t)sprintf(line, "FAULTS %d\n", count)) < 0)
        return;
}
#define CALL(name, failed) \
    long fault_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
    long fault_##name(long a, long b, long c, long d, long e, long f) \
    { \
        static long (*real)(long, long, long, long, long, long); \
        if (real == NULL) \
            *(void **)&real = dlsym(RTLD_NEXT, #name); \
        return fails(#name, __builtin_return_address(0)) ? (failed) : real(a, b, c, d, e, f); \
    }
#define NUMBER(name, failed) \
    int fault_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
    int fault_##name(long a, long b, long c, long d, long e, long f) \
    { \
        static int (*real)(long, long, long, long, long, long); \
        if (real == NULL) \
            *(void **)&real = dlsym(RTLD_NEXT, #name); \
        return fails(#name, __builtin_return_address(0)) ? (failed) : real(a, b, c, d, e, f); \
    }
CALL(pread, -1) CALL(pwrite, -1) CALL(readlink, -1) CALL(getrandom, -1)
NUMBER(open, -1) NUMBER(fstat, -1) NUMBER(stat, -1) NUMBER(lstat, -1) NUMBER(ftruncate, -1) NUMBER(fallocate, -1)
NUMBER(flock, -1) NUMBER(madvise, -1) NUMBER(msync, -1) NUMBER(fsync, -1) NUMBER(linkat, -1)
NUMBER(renameat2, -1) NUMBER(unlink, -1) NUMBER(getrlimit, -1) NUMBER(statvfs, -1) NUMBER(pthread_create, EAGAIN)
NUMBER(pthread_sigmask, EINVAL) NUMBER(sigaction, -1) NUMBER(clock_gettime, -1) NUMBER(prctl, -1) NUMBER(access, -1)
NUMBER(fchmod, -1) NUMBER(fdatasync, -1) NUMBER(shmget, -1) NUMBER(pthread_key_create, EAGAIN)
/* In a coverage build our library contains gcov's runtime, which retries fcntl() until it gets the lock of its file. */
static int is_of_gcov(int fd)
{
    char name[32], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    long nbytes = syscall(SYS_readlink, name, path, sizeof path);
    return nbytes > 5 && memcmp(path + nbytes - 5, ".gcda", 5) == 0;
}
int fault_fcntl(int fd, int command, long argument) __asm__("fcntl");
int fault_fcntl(int fd, int command, long argument)
{
    static int (*real)(int, int, long);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fcntl");
    if (is_of_gcov(fd))
        return real(fd, command, argument);
    return fails("fcntl", __builtin_return_address(0)) ? -1 : real(fd, command, argument);
}
#ifdef MEMORY /* not under 'record', whose library interposes these as well */
CALL(mmap, -1) NUMBER(munmap, -1)
#endif
long fault_syscall(long call, ...) __asm__("syscall");
long fault_syscall(long call, ...)
{
    static long (*real)(long, ...);
    va_list list;
    long at[6];
    va_start(list, call);
    for (int i = 0; i < 6; i++)
        at[i] = va_arg(list, long);
    va_end(list);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    if (call == SYS_membarrier && fails("membarrier", __builtin_return_address(0)))
        return -1;
    return real(call, at[0], at[1], at[2], at[3], at[4], at[5]);
}
"""
EINTR, EIO, ENOMEM, EACCES, EINVAL, EMFILE, ENOSPC, ENOSYS = 4, 5, 12, 13, 22, 24, 28, 38
CALLS = {
    "open": (EMFILE, EACCES), "fstat": (EIO,), "stat": (EIO,), "lstat": (EACCES,), "ftruncate": (EIO, EINTR),
    "fallocate": (EINTR, ENOSPC, EIO), "flock": (EINTR, EIO), "fcntl": (EMFILE, EINTR), "pread": (EIO, EINTR),
    "madvise": (EINVAL, ENOMEM), "mmap": (ENOMEM,), "munmap": (ENOMEM,), "msync": (EIO, EINTR), "fsync": (EIO,),
    "linkat": (EACCES,), "renameat2": (EINVAL, EACCES), "unlink": (EACCES,), "getrlimit": (EINVAL,),
    "statvfs": (EIO,), "pthread_create": (0,), "pthread_sigmask": (0,), "sigaction": (EINVAL,),
    "clock_gettime": (EINVAL,), "prctl": (EINVAL,), "readlink": (EACCES,), "getrandom": (ENOSYS, EINTR),
    "membarrier": (ENOSYS,), "fdatasync": (EIO,), "shmget": (ENOSPC,), "pthread_key_create": (0,),
}
NUMBERS_MAX = 12  # then only some
# With threads, a child, and in the second round a series of files that is synced.
ARGUMENTS = ("events=3000", "threads=2", "forks")
ROUNDS = ({}, {"TRACEBED_ROTATE": "256K", "TRACEBED_SYNC": "1s"})


def program_of(folder, macros):
    if not macros:
        return build(folder, "program", PROGRAM)
    return build(folder, "program-with-macros", PROGRAM, "-DMACROS", *includes("format", "writer"),
                 libraries=[BUILD / "libtracebed_nonshared.a", BUILD / "libtracebed.so.0", f"-Wl,-rpath,{BUILD}", "-lm"])


class Recorder:
    """A program and how it is recorded."""

    def __init__(self, folder, macros):
        self.macros, self.trace = macros, folder / "run.tbed"
        self.library = build(folder, "faults.so", FAULTS, "-shared", "-fPIC", "-fno-builtin", "-w",
                             *(["-DMEMORY"] if macros else []), libraries=["-ldl"])
        self.program = [program_of(folder, macros), *ARGUMENTS]
        self.plain = run(self.program)

    def traced(self, fault, variables):
        """The words of a command, run with this fault."""
        for path in self.trace.parent.glob("run.tbed*"):
            path.unlink()
        environment = {**variables, "FAULT": fault, "FAULT_COUNT": "1"}
        if self.macros:
            return run(self.program, environment={**environment, "LD_PRELOAD": self.library, "TRACEBED": self.trace})
        # The shell is recorded too. It starts the program with the library behind the recorder's.
        shell = ["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD {self.library}" exec "$@"', "sh", *self.program]
        return run([TRACEBED, "record", "-f", "-o", self.trace, "--", *shell], environment=environment)

    def check(self, fault, variables):
        traced = self.traced(fault, variables)
        what = f"{fault} {' '.join(variables)}"
        need(traced.output == self.plain.output, f"{what}: prints\n{traced.output}{traced.errors}")
        need(traced.status == self.plain.status, f"{what}: exit status {traced.status}\n{traced.errors}")
        if self.trace.exists() and self.trace.stat().st_size > 0:
            need_readable(self.trace, (0, 1))
        return traced


def numbers(count):
    """Those of some calls; all of them if there are not too many."""
    if count <= NUMBERS_MAX:
        return range(1, count + 1)
    step = (count - NUMBERS_MAX // 2) // (NUMBERS_MAX // 2) + 1
    return [*range(1, NUMBERS_MAX // 2 + 1), *range(NUMBERS_MAX // 2 + 1, count + 1, step)]


def failing(macros):
    def world(folder):
        recorder, runs, calls = Recorder(folder, macros), 0, 0
        for (call, errors), variables in itertools.product(CALLS.items(), ROUNDS if macros else ROUNDS[:1]):
            counted = recorder.check(f"{call} 0 0 0", variables)
            count = max([int(found) for found in re.findall(r"FAULTS (\d+)", counted.errors)], default=0)
            calls += count > 0
            for number, error, every in itertools.product(numbers(count), errors, (0, 1)):
                recorder.check(f"{call} {number} {error} {every}", variables)
                runs += 1
        return f"{runs} runs, {calls} kinds of calls"
    return world


WORLDS = [
    World("failing system calls: record", failing(False)),
    World("failing system calls: TRACEBED=", failing(True)),
]
