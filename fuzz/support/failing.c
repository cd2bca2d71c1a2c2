/*
 * Calls that fail because memory has run out, at a place that the input chooses.
 *
 * The linker's option '--wrap=malloc' sends calls of malloc() to __wrap_malloc(), and those of __real_malloc() to the
 * function itself, which may be a sanitizer's.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "fuzz/support/failing.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "format/layout.h"
#include "fuzz/support/fuzz.h"

static atomic_bool is_started;
static atomic_uint calls, failed_calls;
static uint32_t failing_call;
static bool all_later;

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

void failing_run(const struct failing_plan *plan, void (*step)(void *context), void *context)
{
    all_later = plan->all_later;
    for (uint32_t run = 0; run < plan->run_count; run++) {
        failing_call = plan->first + run;
        calls = failed_calls = 0;
        step(context);
        REQUIRE(!is_started);
        if (failed_calls == 0)
            break;
    }
}

void failing_start(void)
{
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

static bool fails(void)
{
    if (!is_started)
        return false;
    uint32_t call = calls++;
    if (call != failing_call && !(all_later && call > failing_call))
        return false;
    failed_calls++;
    errno = ENOMEM;
    return true;
}

#define FAILING(type, name, failure, parameters, arguments)                                                  \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails() ? (failure) : __real_##name arguments;                                                \
    }

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
