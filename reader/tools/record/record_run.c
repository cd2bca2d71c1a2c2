/*
 * Starts the program with the recorder preloaded, and waits for it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The library ---- */

static bool own_folder(char path[PATH_MAX])
{
    ssize_t nbytes = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (nbytes <= 0)
        return false;
    path[nbytes] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* The loader splits LD_PRELOAD at these characters and has no way to quote them. */
static bool can_be_preloaded(const char *path)
{
    return strpbrk(path, ": \t\n$") == NULL;
}

/* The temporary link, while it is needed. */
static char link_folder[] = "/tmp/tracebed-XXXXXX";
static char link_path[sizeof link_folder + NAME_MAX];

/* A library whose path the loader cannot parse is preloaded through a link with a plain path. */
static bool link_library(const char *name, char path[PATH_MAX])
{
    if (mkdtemp(link_folder) == NULL) {
        tool_complain("cannot create directory '%s': %s", link_folder, strerror(errno));
        return false;
    }
    snprintf(link_path, sizeof link_path, "%s/%s", link_folder, name);
    if (symlink(path, link_path) != 0) {
        tool_complain("cannot create link '%s': %s", link_path, strerror(errno));
        return false;
    }
    snprintf(path, PATH_MAX, "%s", link_path);
    return true;
}

void record_library_forget(void)
{
    if (link_path[0] == '\0')
        return;
    unlink(link_path);
    rmdir(link_folder);
}

bool record_library_find(const char *name, char path_ret[PATH_MAX])
{
    static const char *const places[] = {"", "/../lib/tracebed", "/../lib"};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (!own_folder(folder))
        folder[0] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s/%s", folder, places[i], name);
        if (access(path, R_OK) != 0 || realpath(path, path_ret) == NULL)
            continue;
        return can_be_preloaded(path_ret) || link_library(name, path_ret);
    }
    tool_complain("%s: not found in %s, nor in ../lib/tracebed or ../lib relative to it", name, folder);
    return false;
}

static bool list_has(const char *list, const char *item)
{
    size_t nbytes = strlen(item);
    while (*list != '\0') {
        size_t step = strcspn(list, ": ");
        if (step == nbytes && memcmp(list, item, nbytes) == 0)
            return true;
        list += step;
        list += strspn(list, ": ");
    }
    return false;
}

/*
 * AddressSanitizer refuses to run if its library is not the first, which matters to allocators only: ours passes every
 * call on to it. The last setting of an option counts.
 */
static void allow_sanitizers(void)
{
    const char *given = getenv("ASAN_OPTIONS"), *ours = "verify_asan_link_order=0";
    char *all = NULL;
    if (given == NULL || given[0] == '\0')
        setenv("ASAN_OPTIONS", ours, 1);
    else if (asprintf(&all, "%s:%s", given, ours) > 0)
        setenv("ASAN_OPTIONS", all, 1);
    free(all);
}

/* Our library comes first: after another preloaded allocator, the loader would never call ours. */
void record_environment_set(const char *library, const char *trace)
{
    const char *given = getenv("LD_PRELOAD");
    char *list = NULL;
    allow_sanitizers();
    if (trace != NULL)
        setenv("TRACEBED_PRELOAD_FILE", trace, 1);
    else
        unsetenv("TRACEBED_PRELOAD_FILE");
    if (given == NULL || given[0] == '\0')
        setenv("LD_PRELOAD", library, 1);
    else if (!list_has(given, library) && asprintf(&list, "%s:%s", library, given) > 0)
        setenv("LD_PRELOAD", list, 1);
    free(list);
}

/* ---- Signals ---- */

static volatile pid_t child;

/* Signals from the terminal reach the program directly; those sent to us by another process are forwarded. */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code <= 0)
        kill(child, signal_number);
}

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define PASSED_ON_COUNT (sizeof passed_on / sizeof passed_on[0])

/* A signal that we were started ignoring stays ignored, in the program as well. */
static void signals_take(void)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    for (size_t i = 0; i < PASSED_ON_COUNT; i++)
        if (sigaction(passed_on[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(passed_on[i], &action, NULL);
}

static void signals_block(sigset_t *old)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < PASSED_ON_COUNT; i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, old);
}

/* ---- The program ---- */

/* The two ends of a pipe on which a child waits until its parent has closed the other one. */
static void wait_for_parent(const int go_fds[2])
{
    char byte;
    if (go_fds[0] < 0)
        return;
    close(go_fds[1]);
    while (read(go_fds[0], &byte, 1) < 0 && errno == EINTR) {
    }
}

/* Runs in the child. A signal that arrived since the fork must not run our handler here; exec resets it first. */
static _Noreturn void become(char **argv, const sigset_t *mask, int error_fd)
{
    for (size_t i = 0; i < PASSED_ON_COUNT; i++) {
        struct sigaction action;
        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            action = (struct sigaction){.sa_handler = SIG_DFL};
            sigaction(passed_on[i], &action, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int error = errno;
    (void)!write(error_fd, &error, sizeof error);
    _exit(RECORD_NOT_FOUND);
}

/* The child's errno if exec failed; 0 once it succeeded. */
static int exec_error(int fd)
{
    int error = 0;
    ssize_t nbytes;
    do {
        nbytes = read(fd, &error, sizeof error);
    } while (nbytes < 0 && errno == EINTR);
    return nbytes == sizeof error ? error : 0;
}

static void wait_for_end(int *wait_status_ret)
{
    while (waitpid(child, wait_status_ret, 0) < 0 && errno == EINTR) {
    }
}

/* Lets the child go on, once the kernel follows it. False: it does not, and the child has been killed. */
static bool follow_child(const int go_fds[2], struct record_switches **switches_ret)
{
    if (switches_ret == NULL)
        return true;
    close(go_fds[0]);
    *switches_ret = child > 0 ? record_switches_open(child) : NULL;
    bool is_followed = child < 0 || *switches_ret != NULL;
    if (!is_followed)
        kill(child, SIGKILL);
    close(go_fds[1]);
    return is_followed;
}

bool record_program_run(char **argv, struct record_switches **switches_ret, int *wait_status_ret,
                        int *errno_ret)
{
    int pipe_fds[2], go_fds[2] = {-1, -1};
    sigset_t mask;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0 || (switches_ret != NULL && pipe2(go_fds, O_CLOEXEC) != 0)) {
        *errno_ret = errno;
        return false;
    }
    signals_take();
    signals_block(&mask);
    child = fork();
    int fork_errno = errno;
    if (child == 0) {
        wait_for_parent(go_fds);
        become(argv, &mask, pipe_fds[1]);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(pipe_fds[1]);
    if (!follow_child(go_fds, switches_ret)) {
        wait_for_end(wait_status_ret);
        *errno_ret = 0;
        return false;
    }
    *errno_ret = child < 0 ? fork_errno : exec_error(pipe_fds[0]);
    close(pipe_fds[0]);
    if (child > 0 && switches_ret != NULL)
        record_switches_follow(*switches_ret, child);
    if (child > 0)
        wait_for_end(wait_status_ret);
    return *errno_ret == 0;
}
