/*
 * Starts a program in each way that there is, in a child each time, and waits for it.
 *
 *   preload_starts_helper [sandbox | bare | no-path | plain] PROGRAM...
 *
 * sandbox: first enters a filter of system calls, which allows all of them. bare: with an empty environment. no-path:
 * only by execlp(), without PATH.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAY_COUNT 10

static char **environment;
static char folder[PATH_MAX], base[PATH_MAX];

static void become(unsigned way, char *program)
{
    char *arguments[] = {program, NULL};
    int fd = open(way == 6 ? folder : program, O_RDONLY | O_CLOEXEC);
    switch (way) {
    case 0:
        execve(program, arguments, environment);
        break;
    case 1:
        execv(program, arguments);
        break;
    case 2:
        execvp(base, arguments);
        break;
    case 3:
        execvpe(base, arguments, environment);
        break;
    case 4:
        fexecve(fd, arguments, environment);
        break;
    case 5:
        execveat(AT_FDCWD, program, arguments, environment, 0);
        break;
    case 6:
        execveat(fd, base, arguments, environment, 0);
        break;
    case 7:
        execl(program, program, "one", "two", (char *)NULL);
        break;
    case 8:
        execlp(base, program, (char *)NULL);
        break;
    default:
        execle(program, program, "one", (char *)NULL, environment);
        break;
    }
    _exit(errno == 0 ? 1 : 0); /* refused, with a reason */
}

static void start(unsigned way, char *program)
{
    pid_t pid = fork();
    if (pid == 0)
        become(way, program);
    waitpid(pid, NULL, 0);
}

static void spawn(char *program)
{
    char *arguments[] = {program, NULL};
    pid_t pid;
    if (posix_spawn(&pid, program, NULL, NULL, arguments, environment) == 0)
        waitpid(pid, NULL, 0);
    if (posix_spawnp(&pid, base, NULL, NULL, arguments, environment) == 0)
        waitpid(pid, NULL, 0);
}

static int enter_sandbox(void)
{
    struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
    struct sock_fprog program = {.len = 1, .filter = &allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void start_all(char *program)
{
    char copy[PATH_MAX], other[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", program);
    snprintf(other, sizeof other, "%s", program);
    snprintf(folder, sizeof folder, "%s", dirname(copy));
    snprintf(base, sizeof base, "%s", basename(other));
    setenv("PATH", folder, 1);
    for (unsigned way = 0; way < WAY_COUNT; way++)
        start(way, program);
    spawn(program);
}

int main(int count, char **arguments)
{
    static char *nothing[] = {NULL};
    const char *how = count > 1 ? arguments[1] : "";
    if (strcmp(how, "sandbox") == 0 && !enter_sandbox())
        return 1;
    if (strcmp(how, "no-path") == 0) {
        unsetenv("PATH");
        execlp("true", "true", (char *)NULL);
        return 1;
    }
    setenv("PATH", "/nowhere", 1);
    environment = strcmp(how, "bare") == 0 ? nothing : environ;
    for (int i = 2; i < count; i++) {
        start_all(arguments[i]);
        environment = strcmp(how, "bare") == 0 ? nothing : environ;
    }
    return 0;
}
