"""
Programs that confine themselves. Each has a filter that kills it for any system call which it does not make itself, so
it shows what the recorder does.

SPDX-License-Identifier: MIT
"""

import re
import shutil

from cases import BUILD, includes
from worlds import ROOT, TRACEBED, Skipped, World, build, dropped, need, need_readable, need_same, output_of, run

# Arguments: how to enter (prctl, syscall, tsync, strict, clock), what to do inside, and how often.
PROGRAM = r"""
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef MACROS
#include <tracebed/writer.h>
#define ENTER() tbed_sandbox_enter(tbed_default_writer(), 1 << 20)
#else
#define TBED_INSTANT_DYNAMIC(text)
#define ENTER()
#endif
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define START BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define KILL  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define MEMORY ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_munmap), ALLOW(SYS_mremap), ALLOW(SYS_exit_group), \
               ALLOW(SYS_write), ALLOW(SYS_prctl), ALLOW(SYS_seccomp)
#define THREADS ALLOW(SYS_clone), ALLOW(SYS_clone3), ALLOW(SYS_futex), ALLOW(SYS_mprotect), ALLOW(SYS_madvise), \
                ALLOW(SYS_exit), ALLOW(SYS_set_robust_list), ALLOW(SYS_rseq), ALLOW(SYS_rt_sigprocmask), \
                /* as malloc gives memory back */ ALLOW(SYS_openat), ALLOW(SYS_read), ALLOW(SYS_close)
#define FORKS   ALLOW(SYS_wait4)
#define HANDLERS ALLOW(SYS_rt_sigreturn), ALLOW(SYS_tgkill), ALLOW(SYS_gettid), ALLOW(SYS_getpid)

static long count;
static unsigned long sum;

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(9);
}

__attribute__((noinline)) static void one(long i)
{
    char name[32] = "name 0", *volatile block = malloc((size_t)(i % 300 + 1));
    block[0] = (char)i;
    name[5] = (char)('0' + i % 10);
    TBED_INSTANT_DYNAMIC(name);
    block = realloc(block, (size_t)(i % 700 + 1));
    sum += (unsigned char)block[0];
    free(block);
}

static void *work(void *unused)
{
    for (long i = 0; i < count; i++)
        one(i);
    return unused;
}

static void handler(int unused)
{
    (void)unused;
    one(7);
}

static void enter(const char *how, struct sock_fprog *program)
{
    long result = 0;
    ENTER();
    if (strcmp(how, "strict") == 0)
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (strcmp(how, "clock") == 0)
        result = prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        result = -1;
    else if (strcmp(how, "prctl") == 0)
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
    else if (strcmp(how, "twice") == 0)
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) |
                 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
    else if (strcmp(how, "stricter") == 0)
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) |
                 (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    else if (strcmp(how, "fails") == 0) /* the program is not confined and goes on as before */
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8) == 0;
    else
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                         strcmp(how, "tsync") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0, program);
    if (result != 0)
        say("cannot enter\n");
}

int main(int argc, char **argv)
{
    pthread_t before, inside;
    struct sock_filter memory[] = {START, MEMORY, KILL};
    struct sock_filter all[] = {START, MEMORY, THREADS, FORKS, HANDLERS, KILL};
    int is_alone = strcmp(argv[2], "alone") == 0;
    struct sock_fprog program = {.len = is_alone ? sizeof memory / sizeof *memory : sizeof all / sizeof *all,
                                 .filter = is_alone ? memory : all};
    int status = 0;
    count = 50;
    work(NULL);
    count = atol(argv[argc - 1]);
    signal(SIGUSR1, handler);
    if (strcmp(argv[2], "threads") == 0)
        pthread_create(&before, NULL, work, NULL);
    enter(argv[1], &program);
    work(NULL);
    if (strcmp(argv[2], "threads") == 0) {
        pthread_create(&inside, NULL, work, NULL);
        work(NULL);
        pthread_join(inside, NULL);
        pthread_join(before, NULL);
    }
    if (strcmp(argv[2], "forks") == 0) {
        pid_t child = fork();
        if (child == 0) {
            work(NULL);
            _exit(5);
        }
        waitpid(child, &status, 0);
        work(NULL);
    }
    if (strcmp(argv[2], "handlers") == 0)
        for (int i = 0; i < 100; i++)
            raise(SIGUSR1);
    say(status == 5 << 8 ? "child done\n" : "done\n");
    syscall(SYS_exit_group, 7);
}
"""
# What strict mode allows: no allocation that asks the kernel for memory, and the plainest exit.
STRICT = r"""
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void work(void)
{
    for (int i = 0; i < 1000; i++) {
        void *volatile block = malloc(100);
        block = realloc(block, 90);
        free(block);
    }
}
int main(void)
{
    work();
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    work();
    if (write(1, "strict\n", 7) == 7)
        syscall(SYS_exit, 3);
}
"""
LIBSECCOMP = r"""
#include <seccomp.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 0);
    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(brk), 0);
    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0);
    seccomp_load(filter);
    for (int i = 0; i < 100000; i++) {
        void *volatile block = malloc(100);
        block = realloc(block, 90);
        free(block);
    }
    return write(1, "libseccomp\n", 11) == 11 ? 3 : 4;
}
"""
# Confines itself as little as possible, but not for a recorder, and becomes another program.
BECOMES = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define DENY(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
int main(int argc, char **argv)
{
    (void)argc;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        DENY(SYS_flock), DENY(SYS_fallocate), DENY(SYS_fcntl), DENY(SYS_prctl), DENY(SYS_shmat), DENY(SYS_shmctl),
        DENY(SYS_rt_sigaction), DENY(SYS_getpid), DENY(SYS_ftruncate), DENY(SYS_membarrier),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 8;
    execv(argv[1], argv + 1);
    return 9;
}
"""
MODES = [[], ["--stacks"], ["--light"], ["--mmap"], ["--ring=1M"], ["--functions"], ["--max-size=512K"]]


def events(trace):
    output = output_of(trace.parent, TRACEBED, "verify", trace)
    return int(re.search(r"([\d,]+) events? in", output).group(1).replace(",", ""))


def confined(folder, program, *arguments, modes=MODES):
    """Runs it plain and recorded; gives what was recorded and what was dropped in the sandbox, over all modes."""
    trace, recorded, lost = folder / "run.tbed", 0, 0
    plain = run([program, *arguments], steps=1)
    need("cannot" not in plain.output and plain.status >= 0, f"plain {arguments}: {plain}")
    for mode in modes:
        traced = run([TRACEBED, "record", "-f", *mode, "-o", trace, "--", program, *arguments], steps=1)
        need_same(plain, traced, f"{mode} {arguments}")
        need_readable(trace)
        recorded += events(trace)
        lost += dropped(trace).get("sandbox", 0)
    return recorded, lost


def filters(how, what, *counts):
    def world(folder):
        program = build(folder, "program", PROGRAM, "-finstrument-functions")
        notes = [confined(folder, program, how, what, count) for count in counts]
        need(all(recorded > 0 for recorded, _ in notes), f"{notes}")
        return ", ".join(f"{recorded:,} events, {lost:,} dropped" for recorded, lost in notes)
    return world


def everything_is_recorded(folder):
    """What was prepared is enough for a program of usual size."""
    program = build(folder, "program", PROGRAM)
    recorded, lost = confined(folder, program, "prctl", "alone", 100_000, modes=[[]])
    need(recorded >= 300_000 and lost == 0, f"{recorded} events, {lost} dropped")
    recorded, lost = confined(folder, program, "fails", "alone", 1_000_000, modes=[[]])
    need(recorded >= 3_000_000 and lost == 0, f"not confined: {recorded} events, {lost} dropped")
    recorded, lost = confined(folder, program, "prctl", "alone", 1_000_000, modes=[[]])
    need(recorded + lost >= 3_000_150, f"{recorded} events, {lost} dropped")
    return f"of 3,000,150 events {recorded:,} recorded, {lost:,} dropped"


def strict(folder):
    program = build(folder, "program", STRICT)
    recorded, lost = confined(folder, program, modes=[[], ["--stacks"]])
    need(lost >= 2 * 3_000, f"{lost} dropped")
    return f"{recorded:,} events, {lost:,} dropped"


def libseccomp(folder):
    for name, flags in (("shared", []), ("static", ["-Wl,-Bstatic"])):
        try:
            program = build(folder, name, LIBSECCOMP, libraries=[*flags, "-lseccomp", "-Wl,-Bdynamic"])
        except Exception as problem:
            raise Skipped("libseccomp is not installed") from problem
        confined(folder, program, modes=[[]])
    return ""


def begins_inside(folder):
    """A program that is started inside a sandbox, by one that is seen to enter it and by one that is not."""
    echo = build(folder, "echo", '#include <stdio.h>\nint main(void) { puts("inside"); return 3; }')
    for name, flags, expected in (("seen", [], f"started inside a sandbox: {echo}"),
                                  ("unseen", ["-static"], "statically linked: ")):
        becomes = build(folder, name, BECOMES, *flags)
        command = ["sh", "-c", f"{becomes} {echo}; exit $?"]
        plain = run(command, steps=1)
        need(plain.status == 3, f"{plain}")
        for mode in MODES:
            traced = run([TRACEBED, "record", "-f", *mode, "-o", folder / "run.tbed", "--", *command], steps=1)
            need_same(plain, traced, f"{name} {mode}")
            need(expected in traced.errors, traced.errors)
    return ""


def manual(folder):
    """man(1) confines the programs that it starts, by libseccomp."""
    if shutil.which("man") is None:
        raise Skipped("there is no man")
    command = ["man", "-P", "cat", "-l", ROOT / "reader/tools/man/tracebed.1"]
    plain = run(command, steps=1)
    traced = run([TRACEBED, "record", "-o", folder / "run.tbed", "--", *command], steps=1)
    need_same(plain, traced, "record")
    need_readable(folder / "run.tbed")
    return f"exit status {plain.status}"


def macros(folder):
    """A program that uses the library and says that it is about to enter a sandbox."""
    program = build(folder, "program", PROGRAM, "-DMACROS", *includes("format", "writer"),
                    libraries=[BUILD / "libtracebed.a", "-lm"])
    notes = []
    for variables in ({}, {"TRACEBED_RING": "1M"}, {"TRACEBED_ROTATE": "1M"}):
        for arguments in (["prctl", "alone", 1000], ["tsync", "threads", 100_000], ["syscall", "forks", 1000],
                          ["prctl", "handlers", 200_000]):
            trace = folder / "run.tbed"
            plain = run([program, *arguments], steps=1)
            traced = run([program, *arguments], steps=1, environment={"TRACEBED": str(trace), **variables})
            need_same(plain, traced, f"{variables} {arguments}")
            need_readable(trace, (0, 1))
            notes.append(dropped(trace).get("sandbox", 0))
    need(notes[0] == 0 and max(notes) > 0, f"{notes}")
    return f"{sum(notes):,} dropped"


WORLDS = [
    World("seccomp: what is prepared", everything_is_recorded),
    World("seccomp: by prctl()", filters("prctl", "alone", 1000, 400_000)),
    World("seccomp: by the system call", filters("syscall", "alone", 1000)),
    World("seccomp: a filter, then strict mode", filters("stricter", "alone", 1)),
    World("seccomp: two filters", filters("twice", "alone", 1000)),
    World("seccomp: threads before and inside", filters("tsync", "threads", 1000, 100_000)),
    World("seccomp: forks inside", filters("syscall", "forks", 1000)),
    World("seccomp: signal handlers inside", filters("prctl", "handlers", 1000)),
    World("seccomp: clock off (PR_SET_TSC)", filters("clock", "forks", 1000)),
    World("seccomp: clock off, threads", filters("clock", "threads", 1000)),
    World("seccomp: strict mode", strict),
    World("seccomp: libseccomp", libseccomp),
    World("seccomp: programs started inside", begins_inside),
    World("seccomp: man", manual),
    World("seccomp: a program that uses the library", macros),
]
