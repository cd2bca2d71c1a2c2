/*
 * What the symbol reader's process gives up before it reads a file: signal handlers, open files, unlimited memory and
 * time, the network, starting programs, writing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/system/regular_file.h"
#include "reader/symbols/process/symbol_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define MEMORY_NBYTES (UINT64_C(4) << 30) /* in addition to what the parent had mapped */

static void limit(int what, uint64_t most)
{
    struct rlimit old, new = {most, most};
    if (getrlimit(what, &old) != 0)
        return;
    if (old.rlim_max != RLIM_INFINITY && old.rlim_max < most)
        new = (struct rlimit){old.rlim_max, old.rlim_max};
    setrlimit(what, &new);
}

static uint64_t mapped_nbytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* If the machine runs out of memory before the limit is reached, this process should be killed first. */
static void be_the_first_to_go(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, "1000", 4);
    (void)ignored;
    close(fd);
}

void tbed_symbol_jail_limit_time(unsigned seconds)
{
    struct rusage used;
    struct rlimit time;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &time) != 0)
        return;
    rlim_t most = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds;
    time.rlim_cur = time.rlim_max < most ? time.rlim_max : most;
    setrlimit(RLIMIT_CPU, &time);
}

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__i386__)
#define OWN_ARCHITECTURE AUDIT_ARCH_I386
#endif

/* ---- Opening files ---- */

/*
 * libdw opens files by itself: the separate parts of split debug information, and what a dwz link refers to. Their paths
 * are those of the debug file, which may name a FIFO or a device. So an open() that does not say O_NONBLOCK or O_PATH,
 * which none of our own lacks, arrives here, and is done as all others are. It is the call openat, or in musl's library
 * open, where the kernel has that.
 */
#if defined(__x86_64__)
#define RESULT(context)       ((context)->uc_mcontext.gregs[REG_RAX])
#define PATH(context, number) ((context)->uc_mcontext.gregs[(number) == __NR_open ? REG_RDI : REG_RSI])
#elif defined(__aarch64__)
#define RESULT(context)       ((context)->uc_mcontext.regs[0])
#define PATH(context, number) ((context)->uc_mcontext.regs[1])
#elif defined(__i386__)
#define RESULT(context)       ((context)->uc_mcontext.gregs[REG_EAX])
#define PATH(context, number) ((context)->uc_mcontext.gregs[(number) == __NR_open ? REG_EBX : REG_ECX])
#endif

#ifdef RESULT
static void open_for_library(int number, siginfo_t *info, void *given)
{
    ucontext_t *context = given;
    int fd = -1, own_errno = errno;
    (void)number;
    (void)info; /* not every machine needs it */
    const char *path = (const char *)(uintptr_t)PATH(context, info->si_syscall);
    enum tbed_status status = tbed_regular_open(path, &fd);
    int failure = status == TBED_ERR_OPEN ? errno : EACCES;
    RESULT(context) = status == TBED_OK ? fd : -failure;
    errno = own_errno;
}

static void look_at_opens(void)
{
    struct sigaction action = {.sa_sigaction = open_for_library, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
}
#endif

/* ---- Calls ---- */

/* These calls fail. A list of allowed calls would have to include those of every C library and sanitizer. */
static void deny_calls(void)
{
#ifdef OWN_ARCHITECTURE
#define DENY(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), REFUSE
#define REFUSE     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
/* Files are opened for reading only, and after a look at their type. O_ACCMODE has O_PATH in it where musl defines it. */
#define LOOK(call, flags)                                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 6),                                                  \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[flags])),                      \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1), REFUSE,           \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_NONBLOCK | O_PATH, 1, 0),                                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
        REFUSE,
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* calls of x32 */
        REFUSE,
        DENY(socket),
        DENY(socketpair),
        DENY(connect),
        DENY(bind),
        DENY(sendto),
        DENY(execve),
        DENY(execveat),
        DENY(clone3),
        DENY(clone),
        DENY(kill),
        DENY(ptrace),
        DENY(process_vm_readv),
        DENY(process_vm_writev),
        DENY(unlinkat),
        DENY(renameat),
        DENY(renameat2),
        DENY(linkat),
        DENY(symlinkat),
        DENY(fchmodat),
        DENY(fchownat),
        DENY(mkdirat),
        DENY(truncate),
        DENY(io_uring_setup),
#ifdef __NR_socketcall
        DENY(socketcall),
        DENY(truncate64),
        DENY(chown32),
#endif
#ifdef __NR_open
        DENY(creat),
        DENY(unlink),
        DENY(rename),
        DENY(link),
        DENY(symlink),
        DENY(chmod),
        DENY(chown),
        DENY(mkdir),
        DENY(rmdir),
        DENY(fork),
        DENY(vfork),
        LOOK(open, 1),
#endif
        LOOK(openat, 2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    look_at_opens();
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

/* closefrom(), which not every C library has. */
void tbed_symbol_jail_close(int first)
{
    struct dirent *entry;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        _exit(1);
    while ((entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);
        if (fd >= first && fd != dirfd(folder))
            close(fd);
    }
    closedir(folder);
}

void tbed_symbol_jail_enter(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    be_the_first_to_go();
    limit(RLIMIT_AS, mapped_nbytes() + MEMORY_NBYTES);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 64);
    deny_calls();
}
