/*
 * Programs that a recorded one starts and that cannot be recorded: without a dynamic loader, with more rights than its
 * user, for another processor or C library, without our environment, or inside a sandbox. 'tracebed record' mentions them at
 * the end.
 *
 * The functions that start programs are interposed. Each looks at the file before it passes the call on, which takes some
 * microseconds; if the program is not started after all, the note is taken back. This may run in a child of vfork(), in
 * its parent's memory, or in a signal handler: nothing is allocated and no lock is taken. Not seen: a program that makes
 * the system call itself. What system() and popen() start is a shell, which is not static
 * and is built for the program's own C library.
 *
 * Under 'record --ruby' nothing is recorded by this library: it is only there to see Ruby started without our RUBYOPT.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/launch/launch.h"
#include "writer/capture/shared/preload.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))

/* ---- The note ---- */

struct start {
    struct launch_notes *notes; /* NULL: there is nothing to note */
    struct launch_note what;
    struct launch_program program;
};

static bool has_notes, is_recorded, is_ruby_recorded;

/* NULL: it is not there. */
static const char *value_in(char *const *environment, const char *name)
{
    size_t nbytes = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, nbytes) == 0 && (*environment)[nbytes] == '=')
            return *environment + nbytes + 1;
    return NULL;
}

/* "ruby" and "ruby3.1", also as the interpreter of a script. */
static bool is_ruby(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, "ruby", 4) == 0 && strspn(name + 4, "0123456789.") == strlen(name + 4);
}

static bool is_ruby_left_out(const char *name, bool searches, char *const *environment,
                             struct launch_program *program)
{
    const char *options = value_in(environment, "RUBYOPT");
    bool is_set = options != NULL && strstr(options, "-rtracebed/auto") != NULL &&
                  value_in(environment, "TRACEBED_RUBY_FILE") != NULL;
    if (!is_ruby_recorded || is_set || launch_program_check(name, searches, program) != LAUNCH_FINE)
        return false;
    if (!program->is_ruby_script)
        return is_ruby(program->path);
    snprintf(program->path, sizeof program->path, "%s", name);
    return true;
}

static bool has_our_environment(char *const *environment)
{
    const char *preloaded = value_in(environment, "LD_PRELOAD");
    return preloaded != NULL && strstr(preloaded, "/libtracebed-") != NULL;
}

static enum launch_note_kind kind_of(const char *name, bool searches, char *const *environment,
                                     struct launch_program *program)
{
    switch (launch_program_check(name, searches, program)) {
    case LAUNCH_STATIC:
        return LAUNCH_NOTE_STATIC;
    case LAUNCH_OTHER_MACHINE:
        return LAUNCH_NOTE_OTHER_MACHINE;
    case LAUNCH_OTHER_LIBRARY:
        return LAUNCH_NOTE_OTHER_LIBRARY;
    case LAUNCH_FINE:
        if (program->is_privileged)
            return LAUNCH_NOTE_PRIVILEGED;
        return has_our_environment(environment) ? LAUNCH_NOTE_NONE : LAUNCH_NOTE_ENVIRONMENT;
    default: /* the kernel will say why */
        return LAUNCH_NOTE_NONE;
    }
}

static void begin(struct start *start, const char *name, bool searches, char *const *environment)
{
    int saved_errno = errno;
    start->notes = NULL;
    start->what.kind = LAUNCH_NOTE_NONE;
    if (name == NULL || !has_notes)
        return;
    start->what = (struct launch_note){.kind = is_recorded ? LAUNCH_NOTE_SANDBOX : LAUNCH_NOTE_NONE};
    if (tbed_is_sandboxed())
        snprintf(start->program.path, sizeof start->program.path, "%s", name);
    else if (is_recorded)
        start->what.kind = kind_of(name, searches, environment, &start->program);
    else if (is_ruby_left_out(name, searches, environment, &start->program))
        start->what.kind = LAUNCH_NOTE_RUBY;
    if (start->what.kind != LAUNCH_NOTE_NONE) {
        start->notes = launch_notes_find();
        launch_note_add(start->notes, &start->what, start->program.path);
    }
    errno = saved_errno;
}

static void take_back(const struct start *start)
{
    launch_note_remove(start->notes, &start->what, start->program.path);
}

/* ---- The environment ---- */

#define PRELOAD_PREFIX "LD_PRELOAD="

static bool names_us(const char *variable)
{
    return strncmp(variable, PRELOAD_PREFIX, sizeof PRELOAD_PREFIX - 1) == 0 &&
           strstr(variable, "/libtracebed-") != NULL;
}

static size_t copy_nbytes(char *const *environment)
{
    size_t count = 0, text_nbytes = 0;
    for (; environment != NULL && environment[count] != NULL; count++)
        text_nbytes += names_us(environment[count]) ? strlen(environment[count]) + 1 : 0;
    return (count + 1) * sizeof *environment + text_nbytes;
}

static bool is_ours(const char *path, size_t nbytes)
{
    return memmem(path, nbytes, "/libtracebed-", sizeof "/libtracebed-" - 1) != NULL;
}

/* Copies the variable without our libraries. The other ones keep their order; a colon or a blank is between two. */
static char *leave_us_out(const char *variable, char *text)
{
    const char *at = variable + sizeof PRELOAD_PREFIX - 1;
    char *to = text + sizeof PRELOAD_PREFIX - 1, *first = to;
    memcpy(text, PRELOAD_PREFIX, sizeof PRELOAD_PREFIX - 1);
    while (*(at += strspn(at, ": ")) != '\0') {
        size_t nbytes = strcspn(at, ": ");
        if (!is_ours(at, nbytes)) {
            if (to > first)
                *to++ = ':';
            memcpy(to, at, nbytes);
            to += nbytes;
        }
        at += nbytes;
    }
    *to = '\0';
    return text;
}

static char *const *copy_without_us(char *const *environment, char **copy)
{
    size_t count = 0;
    while (environment != NULL && environment[count] != NULL)
        count++;
    char *text = (char *)(copy + count + 1);
    for (size_t i = 0; i < count; i++) {
        copy[i] = environment[i];
        if (!names_us(environment[i]))
            continue;
        copy[i] = leave_us_out(environment[i], text);
        text += strlen(environment[i]) + 1;
    }
    copy[count] = NULL;
    return copy;
}

/* A loader ends the program if it is to load what needs another C library. The copy is on the caller's stack. */
#define FITTING(start, environment)                                                                          \
    ((start).what.kind == LAUNCH_NOTE_OTHER_LIBRARY                                                          \
         ? copy_without_us(environment, alloca(copy_nbytes(environment)))                                    \
         : (environment))

/* ---- The functions ---- */

/* The C standard has no conversion from an object pointer to a function pointer; POSIX guarantees this one. */
#define FIND(name)                                                                                           \
    static __typeof__(&name) real_##name;                                                                    \
    static void find_##name(void)                                                                            \
    {                                                                                                        \
        void *found = real_##name == NULL ? dlsym(RTLD_NEXT, #name) : NULL;                                  \
        if (found != NULL)                                                                                   \
            memcpy(&real_##name, &found, sizeof found);                                                      \
    }

FIND(execve)
FIND(execvpe)
FIND(fexecve)
#ifdef __GLIBC__
FIND(execveat)
#else /* musl has only the system call */
static void find_execveat(void) {}
#endif
FIND(posix_spawn)
FIND(posix_spawnp)

/* Early, since nothing may be looked up in a child of vfork(). */
__attribute__((constructor)) static void find_all(void)
{
    uint8_t guard = preload_lookup_begin(&preload_thread);
    has_notes = launch_notes_remember();
    is_recorded = getenv(PRELOAD_ENV_FILE) != NULL;
    is_ruby_recorded = getenv("TRACEBED_RUBY_FILE") != NULL;
    find_execve(), find_execvpe(), find_fexecve(), find_execveat();
    find_posix_spawn(), find_posix_spawnp();
    preload_lookup_end(&preload_thread, guard);
}

/* Around a call that returns only if it has failed. Its environment is 'fitting'. */
#define EXEC(name, searches, environment, function, ...)                                                     \
    do {                                                                                                     \
        struct start start;                                                                                  \
        begin(&start, name, searches, environment);                                                          \
        char *const *fitting = FITTING(start, environment);                                                  \
        find_##function();                                                                                   \
        int result = real_##function(__VA_ARGS__);                                                           \
        take_back(&start);                                                                                   \
        return result;                                                                                       \
    } while (0)

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment)
{
    EXEC(path, false, environment, execve, path, arguments, fitting);
}

EXPORTED int execv(const char *path, char *const *arguments)
{
    EXEC(path, false, environ, execve, path, arguments, fitting);
}

EXPORTED int execvp(const char *name, char *const *arguments)
{
    EXEC(name, true, environ, execvpe, name, arguments, fitting);
}

EXPORTED int execvpe(const char *name, char *const *arguments, char *const *environment)
{
    EXEC(name, true, environment, execvpe, name, arguments, fitting);
}

/* The path of what a descriptor is open for, and something below it. */
static const char *path_of(int fd, const char *below, char path[PATH_MAX])
{
    char link[40];
    if (below[0] == '/' || fd == AT_FDCWD)
        return below;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t nbytes = tbed_is_sandboxed() ? 0 : readlink(link, path, PATH_MAX - 1);
    path[nbytes > 0 ? nbytes : 0] = '\0';
    size_t at = strlen(path);
    if (below[0] != '\0')
        snprintf(path + at, PATH_MAX - at, "/%s", below);
    return path;
}

EXPORTED int fexecve(int fd, char *const *arguments, char *const *environment)
{
    char path[PATH_MAX];
    EXEC(path_of(fd, "", path), false, environment, fexecve, fd, arguments, fitting);
}

#ifdef __GLIBC__
EXPORTED int execveat(int fd, const char *below, char *const *arguments, char *const *environment, int flags)
{
    char path[PATH_MAX];
    EXEC(path_of(fd, below, path), false, environment, execveat, fd, below, arguments, fitting, flags);
}
#endif

/* The arguments of execl() and its like as an array. */
#define COLLECT(arguments, first, rest)                                                                      \
    do {                                                                                                     \
        va_list copy;                                                                                        \
        size_t count = 1;                                                                                    \
        va_copy(copy, rest);                                                                                 \
        while (va_arg(copy, char *) != NULL)                                                                 \
            count++;                                                                                         \
        va_end(copy);                                                                                        \
        arguments = alloca((count + 1) * sizeof *arguments);                                                 \
        arguments[0] = (char *)(uintptr_t)(first);                                                           \
        for (size_t i = 1; i <= count; i++)                                                                  \
            arguments[i] = va_arg(rest, char *);                                                             \
    } while (0)

EXPORTED int execl(const char *path, const char *first, ...)
{
    va_list rest;
    char **arguments;
    va_start(rest, first);
    COLLECT(arguments, first, rest);
    va_end(rest);
    EXEC(path, false, environ, execve, path, arguments, fitting);
}

EXPORTED int execlp(const char *name, const char *first, ...)
{
    va_list rest;
    char **arguments;
    va_start(rest, first);
    COLLECT(arguments, first, rest);
    va_end(rest);
    EXEC(name, true, environ, execvpe, name, arguments, fitting);
}

EXPORTED int execle(const char *path, const char *first, ...)
{
    va_list rest;
    char **arguments;
    va_start(rest, first);
    COLLECT(arguments, first, rest);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    EXEC(path, false, environment, execve, path, arguments, fitting);
}

EXPORTED int posix_spawn(pid_t *pid_ret, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const *arguments,
                         char *const *environment)
{
    struct start start;
    begin(&start, path, false, environment);
    find_posix_spawn();
    char *const *fitting = FITTING(start, environment);
    int error = real_posix_spawn(pid_ret, path, actions, attributes, arguments, fitting);
    if (error != 0)
        take_back(&start);
    return error;
}

EXPORTED int posix_spawnp(pid_t *pid_ret, const char *name, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const *arguments,
                          char *const *environment)
{
    struct start start;
    begin(&start, name, true, environment);
    find_posix_spawnp();
    char *const *fitting = FITTING(start, environment);
    int error = real_posix_spawnp(pid_ret, name, actions, attributes, arguments, fitting);
    if (error != 0)
        take_back(&start);
    return error;
}
