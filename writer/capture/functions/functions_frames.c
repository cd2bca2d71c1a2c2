/*
 * The frames of calls that have not ended, and how they end without an exit.
 *
 * The array belongs to a thread, comes from mmap(), and is freed with the thread. A forked child has a copy, with the
 * calls that were open in its parent.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

#define CAPACITY_MIN 1024

__thread struct functions_thread functions_thread __attribute__((tls_model("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

/* ---- Memory ---- */

static void frames_free(void *unused)
{
    struct functions_thread *frames = &functions_thread;
    struct functions_frame *pages = frames->frames;
    (void)unused;
    if (preload_thread.guard != PRELOAD_FREE) /* the thread was cancelled inside a hook */
        return;
    preload_guard_set(&preload_thread, PRELOAD_APART);
    size_t nbytes = frames->capacity * sizeof *pages;
    frames->depth = frames->capacity = 0;
    frames->frames = NULL;
    tbed_pages_free(pages, nbytes);
    preload_guard_set(&preload_thread, PRELOAD_FREE);
}

static void key_make(void)
{
    has_key = pthread_key_create(&key, frames_free) == 0;
}

/* The guard is already set, or our own signal mask keeps handlers out. */
bool functions_frames_grow(struct functions_thread *frames)
{
    size_t nbytes = frames->capacity * sizeof *frames->frames;
    size_t wanted = frames->capacity == 0 ? CAPACITY_MIN * sizeof *frames->frames : 2 * nbytes;
    if (wanted / sizeof *frames->frames > UINT32_MAX || tbed_is_sandboxed())
        return false;
    void *pages = frames->frames == NULL
                      ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mremap(frames->frames, nbytes, wanted, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED)
        return false;
    if (frames->frames == NULL) {
        uint8_t guard = preload_thread.guard;
        preload_guard_set(&preload_thread, PRELOAD_APART);
        pthread_once(&key_once, key_make);
        if (has_key)
            pthread_setspecific(key, frames);
        preload_guard_set(&preload_thread, guard);
    }
    frames->frames = pages;
    frames->capacity = (uint32_t)(wanted / sizeof *frames->frames);
    return true;
}

/* ---- Signals ---- */

void functions_signals_block(struct functions_signals *old_ret)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    memcpy(old_ret, &old, sizeof old);
}

void functions_signals_restore(const struct functions_signals *signals)
{
    sigset_t old;
    memcpy(&old, signals, sizeof old);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
_Static_assert(sizeof(sigset_t) <= sizeof(struct functions_signals), "the mask fits");

/* ---- Ends without an exit ---- */

/* The id of a text that is used repeatedly; INVALID if it cannot be stored. */
static uint32_t text_id(uint32_t *id, const char *text)
{
    if (*id == 0)
        *id = tbed_string_intern(preload_writer, text, strlen(text));
    return *id;
}

static void end_left(struct tbed_recorder *recorder, enum functions_leave how)
{
    static const char *const texts[FUNCTIONS_LEAVE_COUNT] = {"longjmp", "unwinding", "unseen"};
    static uint32_t name_id, ids[FUNCTIONS_LEAVE_COUNT];
    struct tbed_argument argument = {
        .name_id = text_id(&name_id, "left by"),
        .type = TBED_ARG_ID,
        .value.id = text_id(&ids[how], texts[how]),
    };
    tbed_span_end_args(recorder, &argument, 1);
}

void functions_frames_cut(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t depth,
                          enum functions_leave how)
{
    for (; frames->unframed > 0; frames->unframed--)
        end_left(recorder, how);
    for (; frames->depth > depth; frames->depth--)
        if (!(frames->frames[frames->depth - 1].stack & FUNCTIONS_NO_SPAN))
            end_left(recorder, how);
}

/* ---- Where control goes on ---- */

struct region {
    uintptr_t start, nbytes;
};

static bool is_in(const struct region *region, uintptr_t address)
{
    return address - region->start < region->nbytes;
}

/* The signal stack that the thread is running on; empty: it is not on one. */
static struct region signal_stack(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_ONSTACK))
        return (struct region){0, 0};
    return (struct region){(uintptr_t)stack.ss_sp, stack.ss_size};
}

/*
 * A handler interrupted a hook and never returns to it. The hook's event, one word, was stored or not: makes frames
 * and open spans agree with what was.
 */
static void hook_abandon(struct preload_thread *thread, struct functions_thread *frames)
{
    struct tbed_recorder *recorder = thread->recorder;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    bool is_stored = recorder->cursor != frames->hook_cursor;
    uint64_t word = is_stored ? *frames->hook_cursor : 0;
    bool is_begin = is_stored && (word >> 30 & 7) == TBED_TAG_BEGIN;
    uint32_t change = is_begin ? 1 : is_stored ? -1u : 0;
    if (is_begin) {
        frames->frames[frames->hook_depth] = (struct functions_frame){0, frames->hook_stack};
        kept->stack[frames->hook_open] = (struct tbed_open_span){.begin_tick = recorder->base + (word >> 33),
                                                                 .id = (uint32_t)word & TBED_ID_MAX};
    }
    frames->depth = frames->hook_depth + change;
    frames->hook_stack = 0;
    kept->top = kept->stack + (uint32_t)(frames->hook_open + change);
    tbed_recorder_leave(recorder);
}

/*
 * Returns how many frames remain. Stacks grow down; a frame on another stack is not deeper because its address is
 * lower.
 */
static uint32_t depth_at(const struct functions_thread *frames, uintptr_t stack)
{
    uint32_t depth = frames->depth;
    if ((uintptr_t)__builtin_frame_address(0) > stack) {
        struct region region = signal_stack();
        if (region.nbytes == 0 || is_in(&region, stack)) /* to another stack, made by the program */
            return depth;
        while (depth > 0 && is_in(&region, frames->frames[depth - 1].stack))
            depth--;
    }
    while (depth > 0 && frames->frames[depth - 1].stack < stack)
        depth--;
    return depth;
}

static void cut_at(struct preload_thread *thread, struct functions_thread *frames, uintptr_t stack,
                   enum functions_leave how)
{
    struct functions_signals signals;
    int saved_errno = errno;
    uint32_t depth = depth_at(frames, stack);
    if (depth < frames->depth || frames->unframed > 0) {
        functions_signals_block(&signals);
        preload_guard_set(thread, PRELOAD_RECORDING);
        functions_frames_cut(frames, thread->recorder, depth, how);
        preload_leave(thread);
        functions_signals_restore(&signals);
    }
    errno = saved_errno;
}

bool functions_stop_in_sandbox(struct preload_thread *thread)
{
    if (!tbed_is_sandboxed())
        return false;
    preload_guard_set(thread, PRELOAD_STOPPED);
    preload_count_nested(thread);
    return true;
}

void functions_left(uintptr_t stack, enum functions_leave how)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (thread->recorder == NULL || functions_stop_in_sandbox(thread))
        return;
    if (thread->guard != PRELOAD_FREE) {
        struct region region = signal_stack();
        if (is_in(&region, stack) || stack < frames->hook_stack) /* the jump stays within the handler */
            return;
        if (frames->hook_stack != 0)
            hook_abandon(thread, frames);
        preload_guard_set(thread, PRELOAD_FREE);
    }
    cut_at(thread, frames, stack, how);
}
