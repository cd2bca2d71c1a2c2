/*
 * Control leaves calls without their exits: longjmp() and unwinding, also out of a signal handler that interrupted a hook.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "writer/capture/functions/functions.h"
#include "writer/record/recorders.h"

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

/* How many words the event takes that begins here. */
static size_t event_nwords(const uint64_t *at)
{
    return (*at >> 30 & 7) == TBED_TAG_EXTENDED ? 1 + (at[1] >> 16 & 0xFFFF) : 1;
}

/* A word that is there counts, even if the hook was interrupted before it moved the cursor. */
static bool is_event_stored(struct tbed_recorder *recorder, uint64_t *before)
{
    const struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (recorder->cursor != before)
        return true;
    bool has_word = cold->block != NULL && (uint8_t *)before < cold->block + cold->block_nbytes;
    if (!has_word || __atomic_load_n(before, __ATOMIC_RELAXED) == 0)
        return false;
    recorder->cursor = before + event_nwords(before);
    return true;
}

/*
 * A handler interrupted a hook and never returns to it. The hook's event, which its first word commits, was stored or not:
 * makes frames and open spans agree with what was. What follows the first word is taken back if that is missing.
 */
static bool is_begin_at(const uint64_t *at)
{
    uint64_t tag = *at >> 30 & 7;
    return tag == TBED_TAG_BEGIN || (tag == TBED_TAG_EXTENDED && (at[1] & 0xFF) == TBED_EXT_BEGIN);
}

static void hook_abandon(struct preload_thread *thread, struct functions_thread *frames)
{
    struct tbed_recorder *recorder = thread->recorder;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    bool is_stored = is_event_stored(recorder, frames->hook_cursor);
    uint64_t word = is_stored ? *frames->hook_cursor : 0;
    bool is_begin = is_stored && is_begin_at(frames->hook_cursor);
    if (!is_stored && frames->hook_nwords > 0)
        memset(frames->hook_cursor + 1, 0, (frames->hook_nwords - 1) * sizeof word);
    frames->hook_nwords = 0;
    uint32_t change = is_begin ? 1 : is_stored ? -1u : 0;
    if (is_begin) {
        frames->frames[frames->hook_depth] = (struct functions_frame){.stack = frames->hook_stack};
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

void functions_left(uintptr_t stack, enum functions_leave how)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (thread->recorder == NULL || functions_stop_in_sandbox(thread))
        return;
    if (thread->guard != PRELOAD_FREE) {
        struct region region = signal_stack();
        bool stays = is_in(&region, stack) || stack < frames->hook_stack ||
                     (region.nbytes == 0 && functions_handler_stays(stack));
        functions_handler_left(thread, stays ? stack : UINTPTR_MAX, how);
        if (stays)
            return;
        if (frames->hook_stack != 0)
            hook_abandon(thread, frames);
        preload_guard_set(thread, PRELOAD_FREE);
    }
    cut_at(thread, frames, stack, how);
}
