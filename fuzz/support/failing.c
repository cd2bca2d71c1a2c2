/*
 * Injects failures into library calls at a point that the input chooses; see failing.h.
 *
 * The linker's option '--wrap=malloc' redirects calls of malloc() to __wrap_malloc(), and calls of __real_malloc() to
 * the original, which may be a sanitizer's.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "fuzz/support/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/layout.h"
#include "fuzz/support/fuzz.h"

static atomic_bool is_started;
static atomic_uint calls, failed_calls;
static uint32_t failing_call;
static bool all_later;
static int file_errno; /* the errno of failing file calls; 0: allocations fail instead */

/* ---- The plan ---- */

struct failing_plan failing_plan_of(const uint8_t bytes[FAILING_PLAN_NBYTES])
{
    return (struct failing_plan){.first = bytes[0] | (uint32_t)bytes[1] << 8,
                                 .run_count = bytes[2] + 1u,
                                 .all_later = bytes[3] % 2 == 1};
}

struct failing_plan failing_plan_cut(const uint8_t *data, size_t *nbytes)
{
    size_t rest = *nbytes % TBED_PAGE_NBYTES_MIN;
    if (rest < FAILING_PLAN_NBYTES)
        return (struct failing_plan){.run_count = 40};
    *nbytes -= rest;
    return failing_plan_of(data + *nbytes);
}

#ifndef FAILING_PLACES
#define FAILING_PLACES 0
#endif

/* Returns the number of places to try for each plan; 0: all. */
static uint32_t place_limit(void)
{
    const char *limit = getenv(FAILING_PLACES_VARIABLE);
    return limit != NULL ? (uint32_t)strtoul(limit, NULL, 10) : FAILING_PLACES;
}

static uint32_t random_below(uint64_t *state, uint32_t end)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % end);
}

void failing_try_places(const struct failing_plan *plan, bool (*step)(void *context, uint32_t place),
                        void *context)
{
    uint32_t limit = place_limit(), end = plan->run_count;
    bool is_sample = limit != 0 && limit < end;
    uint64_t state = plan->first; /* an input always tries the same places */
    for (uint32_t run = 0; run < (is_sample ? limit : end) && end > 0; run++) {
        uint32_t place = is_sample ? random_below(&state, end) : run;
        if (!step(context, plan->first + place))
            end = place;
    }
}

struct run {
    void (*step)(void *context);
    void *context;
};

/* Runs the step with call 'place' failing. Returns whether a call failed. */
static bool run_once(void *context, uint32_t place)
{
    const struct run *run = context;
    failing_call = place;
    calls = failed_calls = 0;
    run->step(run->context);
    REQUIRE(!is_started);
    return failed_calls > 0;
}

void failing_run(const struct failing_plan *plan, void (*step)(void *context), void *context)
{
    struct run run = {step, context};
    all_later = plan->all_later;
    failing_try_places(plan, run_once, &run);
}

void failing_start(void)
{
    file_errno = 0;
    is_started = true;
}

void failing_start_files(int system_errno)
{
    file_errno = system_errno;
    is_started = true;
}

void failing_stop(void)
{
    is_started = false;
}

uint32_t failing_count(void)
{
    return failed_calls;
}

/* ---- A reader ---- */

struct use {
    const uint8_t *data;
    size_t nbytes;
    failing_use *use;
    uint64_t expected;
};

static void use_once(void *context)
{
    const struct use *use = context;
    struct tbed_reader *reader = open_input(use->data, use->nbytes);
    REQUIRE(reader != NULL);
    failing_start();
    uint64_t seen = use->use(reader);
    failing_stop();
    REQUIRE(failing_count() > 0 || seen == use->expected);
    REQUIRE(use->use(reader) == use->expected);
    tbed_reader_close(reader);
}

void failing_use_trace(const uint8_t *data, size_t nbytes, failing_use *function)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct use use = {.data = data, .nbytes = nbytes, .use = function};
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return;
    use.expected = function(reader);
    tbed_reader_close(reader);
    failing_run(&plan, use_once, &use);
}

/* ---- The calls ---- */

static bool fails(bool is_of_file)
{
    if (!is_started || is_of_file != (file_errno != 0))
        return false;
    uint32_t call = calls++;
    bool goes_on = all_later && !(is_of_file && file_errno == EINTR); /* a call is not interrupted for ever */
    if (call != failing_call && !(goes_on && call > failing_call))
        return false;
    failed_calls++;
    errno = is_of_file ? file_errno : ENOMEM;
    return true;
}

static bool file_fails(void)
{
    return fails(true) && file_errno != FAILING_CHANGED;
}

#define FAILING_IF(condition, type, name, failure, parameters, arguments)                                    \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return (condition) ? (failure) : __real_##name arguments;                                            \
    }
#define FAILING(...)      FAILING_IF(fails(false), __VA_ARGS__)
#define FAILING_FILE(...) FAILING_IF(file_fails(), __VA_ARGS__)

FAILING(void *, malloc, NULL, (size_t nbytes), (nbytes))
FAILING(void *, calloc, NULL, (size_t count, size_t nbytes), (count, nbytes))
FAILING(void *, realloc, NULL, (void *old, size_t nbytes), (old, nbytes))
FAILING(char *, strdup, NULL, (const char *text), (text))
FAILING(int, vasprintf, -1, (char **text, const char *format, va_list values), (text, format, values))
FAILING(FILE *, open_memstream, NULL, (char **text, size_t *nbytes), (text, nbytes))
FAILING(void *, mmap, MAP_FAILED, (void *at, size_t nbytes, int access, int flags, int fd, off_t offset),
        (at, nbytes, access, flags, fd, offset))
FAILING(int, pthread_mutex_init, ENOMEM, (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes),
        (mutex, attributes))
FAILING(int, pthread_create, EAGAIN,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
        (thread, attributes, start, argument))

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int nbytes = __wrap_vasprintf(text, format, values);
    va_end(values);
    return nbytes;
}

FAILING_FILE(int, access, -1, (const char *path, int mode), (path, mode))
FAILING_FILE(int, dup, -1, (int fd), (fd))
FAILING_FILE(FILE *, fdopen, NULL, (int fd, const char *mode), (fd, mode))
FAILING_FILE(int, fstatfs, -1, (int fd, struct statfs *status), (fd, status))
FAILING_FILE(int, ftruncate, -1, (int fd, off_t nbytes), (fd, nbytes))
FAILING_FILE(ssize_t, getrandom, -1, (void *bytes, size_t nbytes, unsigned flags), (bytes, nbytes, flags))
FAILING_FILE(int, linkat, -1, (int from, const char *path, int to, const char *name, int flags),
             (from, path, to, name, flags))
FAILING_FILE(int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
FAILING_FILE(off_t, lseek, -1, (int fd, off_t offset, int whence), (fd, offset, whence))
FAILING_FILE(ssize_t, pwrite, -1, (int fd, const void *bytes, size_t nbytes, off_t offset),
             (fd, bytes, nbytes, offset))
FAILING_FILE(int, rename, -1, (const char *from, const char *to), (from, to))
FAILING_FILE(int, renameat2, -1, (int from, const char *path, int to, const char *name, unsigned flags),
             (from, path, to, name, flags))
FAILING_FILE(ssize_t, write, -1, (int fd, const void *bytes, size_t nbytes), (fd, bytes, nbytes))

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(values, mode_t) : 0;
    va_end(values);
    return file_fails() ? -1 : __real_open(path, flags, mode);
}

/* The stream is closed even if the call fails, as with the real fclose(). */
int __real_fclose(FILE *stream);
int __wrap_fclose(FILE *stream);
int __wrap_fclose(FILE *stream)
{
    bool has_failed = file_fails();
    int system_errno = errno, result = __real_fclose(stream);
    errno = has_failed ? system_errno : errno;
    return has_failed ? EOF : result;
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list values;
    va_start(values, command);
    void *argument = va_arg(values, void *);
    va_end(values);
    return file_fails() ? -1 : __real_fcntl(fd, command, argument);
}

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status)
{
    bool has_failed = fails(true);
    if (has_failed && file_errno != FAILING_CHANGED)
        return -1;
    int result = __real_fstat(fd, status);
    status->st_ino += has_failed;
    return result;
}

ssize_t __real_pread(int fd, void *bytes, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t nbytes, off_t offset)
{
    if (!fails(true))
        return __real_pread(fd, bytes, nbytes, offset);
    return file_errno != FAILING_CHANGED ? -1 : 0;
}
