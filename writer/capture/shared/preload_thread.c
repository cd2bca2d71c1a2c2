/*
 * The trace of this process, and the recorders of its threads.
 *
 * A thread gets its recorder with its first record. The destructor of a key closes it, in the last round of
 * destructors, so that what other destructors free is still recorded. Anything later (the C library's own last frees)
 * borrows a recorder that all such threads share, one at a time.
 *
 * Nothing is closed when the process ends: exit handlers and the destructors of libraries keep freeing until the very
 * end, and what is stored in the trace needs no closing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/base/say.h"
#include "writer/capture/launch/launch.h"
#include "writer/capture/shared/preload.h"
#include "writer/file/usable.h"
#include "writer/life/recorded_open.h"
#include "writer/recorded/recorded.h"

#define COMM_NBYTES 16 /* the size of a thread's name in the kernel */

enum { NOT_OPENED, OPENING, OPENED, OFF };
static uint32_t trace_state; /* atomic */
static bool has_key;
static pthread_key_t key;
static char process_comm[COMM_NBYTES];
static struct tbed_recorder *spare; /* atomic; for threads that have ended */

/* ---- The trace ---- */

static void tell_failure(const char *path, const struct tbed_error *error)
{
    char line[512];
    struct launch_note note = {
        .kind = LAUNCH_NOTE_NOT_STARTED, .status = error->status, .system_errno = error->system_errno};
    if (launch_notes_remember())
        launch_note_add(launch_notes_find(), &note, program_invocation_short_name);
    if (getenv(PRELOAD_ENV_VERBOSE) == NULL)
        return;
    int nbytes = snprintf(line, sizeof line, "tracebed: %.300s: %s; the program runs on unrecorded\n", path,
                          tbed_status_text(error->status));
    tbed_say(line, nbytes);
}

/* In a program with more rights than its user, the environment is under an attacker's control. */
static const char *trace_path(void)
{
    const char *path = getauxval(AT_SECURE) != 0 ? NULL : getenv(PRELOAD_ENV_FILE);
    return path != NULL && path[0] == '/' ? path : NULL;
}

/* Reads the words of PRELOAD_ENV_MODE; unknown ones are ignored. */
static void read_mode(void)
{
    const char *at = getenv(PRELOAD_ENV_MODE);
    for (; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, "light", 5) == 0)
            preload_mode.is_light = true;
        else if (strncmp(at, "fp", 2) == 0)
            preload_mode.by_frame_pointer = true;
        else if (strncmp(at, "mmap", 4) == 0)
            preload_mode.has_mappings = true;
        else if (strncmp(at, "stacks=", 7) == 0)
            preload_mode.frame_count = (uint32_t)strtoul(at + 7, NULL, 10) % (PRELOAD_FRAMES_MAX + 1);
    }
}

/* PR_SET_TSC survives exec. */
static bool clock_is_off(void)
{
    int state = 0;
    return prctl(PR_GET_TSC, &state) == 0 && state == PR_TSC_SIGSEGV;
}

static void recorder_end(void *round);

static bool open_writer(void)
{
    const char *path = trace_path();
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true, .guard = true};
    struct tbed_error error = {.status = TBED_OK};
    if (path == NULL || tbed_recorded_is_confined())
        return false;
    if (clock_is_off()) {
        error = (struct tbed_error){.status = TBED_ERR_CLOCK_DIFFERS};
        tell_failure(path, &error);
        return false;
    }
    read_mode();
    options.instants_are_allocations = preload_mode.is_light;
    preload_signals_begin();
    if (tbed_recorded_open(path, &options, &preload_writer, &error) != TBED_OK) {
        preload_writer = NULL;
        tell_failure(path, &error);
        return false;
    }
    prctl(PR_GET_NAME, process_comm);
    has_key = pthread_key_create(&key, recorder_end) == 0;
    return true;
}

void preload_trace_open(void)
{
    struct preload_thread *thread = &preload_thread;
    uint32_t expected = NOT_OPENED;
    if (environ == NULL) /* the loader allocates, but the C library has not been started yet */
        return;
    if (!__atomic_compare_exchange_n(&trace_state, &expected, OPENING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    int saved_errno = errno;
    uint8_t guard = thread->guard;
    preload_guard_set(thread, PRELOAD_APART);
    uint32_t state = open_writer() ? OPENED : OFF;
    preload_guard_set(thread, guard);
    thread->since_resident =
        PRELOAD_RESIDENT_COUNT; /* the counter has its name before there are other threads */
    __atomic_store_n(&trace_state, state, __ATOMIC_RELEASE);
    errno = saved_errno;
}

/* A process that never allocates appears in the trace too. */
__attribute__((constructor)) static void start(void)
{
    preload_trace_open();
}

/* ---- Recorders ---- */

/* NULL: the thread only has its process's name. */
static const char *thread_name(char comm[COMM_NBYTES])
{
    bool has_own = !tbed_is_sandboxed() && prctl(PR_GET_NAME, comm) == 0 &&
                   strncmp(comm, process_comm, COMM_NBYTES) != 0;
    return has_own ? comm : NULL;
}

static struct tbed_recorder *recorder_borrow(void)
{
    struct tbed_recorder *recorder = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);
    return recorder != NULL ? recorder : tbed_recorder_open(preload_writer, "threads at their end");
}

static struct tbed_recorder *recorder_begin(struct preload_thread *thread)
{
    char comm[COMM_NBYTES];
    if (thread->has_ended)
        return recorder_borrow();
    if (has_key)
        pthread_setspecific(key, (void *)1);
    return tbed_recorder_open(preload_writer, thread_name(comm));
}

struct tbed_recorder *preload_recorder_get(struct preload_thread *thread)
{
    uint32_t state = __atomic_load_n(&trace_state, __ATOMIC_ACQUIRE);
    if (state == NOT_OPENED) {
        preload_trace_open();
        state = __atomic_load_n(&trace_state, __ATOMIC_ACQUIRE);
    }
    if (state != OPENED) {
        preload_guard_set(thread, PRELOAD_FREE);
        return NULL;
    }
    if (TBED_UNLIKELY(__atomic_load_n(&preload_clock_is_off, __ATOMIC_RELAXED))) {
        preload_guard_set(thread, PRELOAD_STOPPED);
        preload_count_nested(thread);
        return NULL;
    }
    thread->errno_at = &errno;
    int saved_errno = errno;
    preload_guard_set(thread, PRELOAD_APART);
    thread->recorder = recorder_begin(thread);
    preload_guard_set(thread, PRELOAD_RECORDING);
    errno = saved_errno;
    return thread->recorder;
}

void preload_recorder_give_back(struct preload_thread *thread)
{
    struct tbed_recorder *recorder = thread->recorder, *expected = NULL;
    thread->recorder = NULL;
    if (!__atomic_compare_exchange_n(&spare, &expected, recorder, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        tbed_recorder_close(recorder);
}

void preload_count_nested(const struct preload_thread *thread)
{
    if (thread->guard == PRELOAD_RECORDING && thread->recorder != NULL)
        tbed_recorder_drop_busy(thread->recorder);
    else if (thread->guard == PRELOAD_STOPPED)
        tbed_drop(tbed_file_of(preload_writer), TBED_DROP_SANDBOX, 1);
}

/* The destructor of the key; 'round' counts how often it has been called. */
static void recorder_end(void *round)
{
    struct preload_thread *thread = &preload_thread;
    struct tbed_recorder *recorder = thread->recorder;
    char comm[COMM_NBYTES];
    if (thread->guard != PRELOAD_FREE) /* the thread was cancelled inside the allocator */
        return;
    preload_guard_set(thread, PRELOAD_APART);
    if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, (void *)((uintptr_t)round + 1));
    } else {
        const char *name = thread_name(comm);
        if (name != NULL && recorder != NULL)
            tbed_recorder_name_set(recorder, name);
        thread->recorder = NULL;
        thread->has_ended = true;
        preload_stack_end(thread);
        tbed_recorder_close(recorder);
    }
    preload_guard_set(thread, PRELOAD_FREE);
}
