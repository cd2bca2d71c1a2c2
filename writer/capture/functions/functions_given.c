/*
 * Arguments and results of calls: which functions have a description of theirs, and spans that begin and end with them.
 *
 * Descriptions are in the plans of modules (functions_plan.c). A thread remembers those of the functions that it called
 * last. The usual call does without a system call: what it was given is read and stored as one event, of which a signal
 * handler that never returns leaves all or nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "writer/base/memory.h"
#include "writer/capture/functions/functions.h"
#include "writer/capture/values/functions_arguments.h"

#define KNOWN_COUNT 64

struct known {
    uint64_t key; /* 0: free */
    struct launch_arguments *arguments;
};

bool functions_has_arguments;

static __thread struct known known_functions[KNOWN_COUNT] __attribute__((tls_model("initial-exec")));

/* Behind that of the filter, before those of the program. */
__attribute__((constructor(102))) static void start(void)
{
    functions_has_arguments = getenv(LAUNCH_ENV_ARGUMENTS) != NULL;
    if (functions_has_arguments) {
        preload_signals_begin();
        preload_reading_begin();
    }
}

/* ---- Descriptions ---- */

/* The mapped plan is a copy of this process. */
static struct launch_arguments *arguments_at(const struct launch_plan *plan, uint32_t offset)
{
    union {
        const struct launch_plan *plan;
        char *bytes;
    } start = {plan};
    return (void *)(start.bytes + offset);
}

static struct launch_arguments *planned_arguments(uintptr_t function)
{
    const struct launch_plan *plan;
    const struct launch_plan_function *planned = functions_planned(function, &plan);
    if (planned == NULL || planned->arguments == 0 || planned->arguments % 8 != 0)
        return NULL;
    size_t nbytes = sizeof *plan + plan->function_count * sizeof plan->functions[0] + plan->more_nbytes;
    struct launch_arguments *arguments = arguments_at(plan, planned->arguments);
    return planned->arguments < nbytes && launch_arguments_check(arguments, nbytes - planned->arguments)
               ? arguments
               : NULL;
}

static uint64_t key_of(uintptr_t function)
{
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    return version << 48 ^ (uint64_t)function ^ 1;
}

/*
 * The caller is in a hook, with signals blocked; a handler that interrupted the hook earlier has stored its entry
 * completely.
 */
static struct launch_arguments *arguments_of(struct preload_thread *thread, uintptr_t function)
{
    struct known *known = &known_functions[(function ^ function >> 6) % KNOWN_COUNT];
    uint64_t key = key_of(function);
    if (known->key == key)
        return known->arguments;
    preload_location_at(thread, function); /* makes the module known */
    struct launch_arguments *arguments = planned_arguments(function);
    known->key = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    known->arguments = arguments;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    known->key = key_of(function);
    return arguments;
}

/*
 * Signals are not blocked here: a handler may replace the entry, so its key is compared before and after its content is read.
 * False: it is not known.
 */
static bool recall(uintptr_t function, struct launch_arguments **arguments_ret)
{
    const struct known *known = &known_functions[(function ^ function >> 6) % KNOWN_COUNT];
    uint64_t key = key_of(function);
    if (__atomic_load_n(&known->key, __ATOMIC_RELAXED) != key)
        return false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *arguments_ret = __atomic_load_n(&known->arguments, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&known->key, __ATOMIC_RELAXED) == key;
}

static bool has_values(const struct launch_arguments *arguments, bool is_result)
{
    return arguments != NULL && (is_result ? arguments->result_count : arguments->argument_count) > 0;
}

bool functions_has_none(uintptr_t function, bool is_result)
{
    struct launch_arguments *arguments;
    return recall(function, &arguments) && !has_values(arguments, is_result);
}

/* ---- Spans ---- */

static struct functions_arguments *room_of(struct functions_thread *frames)
{
    if (frames->arguments == NULL) {
        functions_memory_prepare();
        frames->arguments = tbed_pages_alloc(sizeof *frames->arguments);
    }
    return frames->arguments;
}

static bool read_values(struct functions_arguments *to, struct preload_thread *thread,
                        struct launch_arguments *arguments, bool is_result,
                        const struct functions_values *values, bool is_quick)
{
    struct functions_registers registers = {
        .integers = values->general, .vectors = values->vectors, .stack = values->more, .x87 = values->x87};
    return functions_arguments_read(to, thread, arguments, is_result, &registers, is_quick);
}

bool functions_given_read(struct preload_thread *thread, struct functions_thread *frames,
                          const struct functions_values *values, bool is_result)
{
    struct launch_arguments *arguments;
    return frames->arguments != NULL && recall(values->function, &arguments) &&
           has_values(arguments, is_result) &&
           read_values(frames->arguments, thread, arguments, is_result, values, true);
}

void functions_begin_given(struct preload_thread *thread, struct functions_thread *frames, uint32_t location,
                           const struct functions_values *values)
{
    struct launch_arguments *arguments = arguments_of(thread, values->function);
    struct functions_arguments *room = has_values(arguments, false) ? room_of(frames) : NULL;
    if (room == NULL) {
        tbed_span_begin(thread->recorder, location);
        return;
    }
    read_values(room, thread, arguments, false, values, false);
    tbed_span_begin_args(thread->recorder, location, room->items, room->count);
}

void functions_end_given(struct preload_thread *thread, struct functions_thread *frames,
                         const struct functions_values *values)
{
    struct launch_arguments *arguments = arguments_of(thread, values->function);
    struct functions_arguments *room = has_values(arguments, true) ? room_of(frames) : NULL;
    if (room == NULL) {
        tbed_span_end(thread->recorder);
        return;
    }
    read_values(room, thread, arguments, true, values, false);
    tbed_span_end_args(thread->recorder, room->items, room->count);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
