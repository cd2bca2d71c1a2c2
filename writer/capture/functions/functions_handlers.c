/*
 * Calls of signal handlers that interrupt a hook, which may be storing an event of its thread.
 *
 * They are stored in the stream of the thread's signal handlers, which the writer opens for the first of them: for as long as
 * one of their events is stored, the thread's recorder is marked as busy, as it would be inside a record of a macro. They have
 * frames and ranges of modules of their own, because the interrupted hook may be changing those of the thread. Other signals
 * are blocked meanwhile, so that a handler that never returns leaves nothing half done.
 *
 * Dropped and counted: what interrupts the opening of the trace or of the thread's recorder, and in sandboxes, where signals
 * cannot be blocked.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdint.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

struct storing {
    struct tbed_recorder *recorder;
    uint8_t mark; /* of the recorder: the hook may have marked it */
    struct functions_signals signals;
    int saved_errno;
};

/* False: it cannot be stored, and is counted. */
static bool begin(struct preload_thread *thread, struct functions_handler *handler, struct storing *storing)
{
    struct tbed_recorder *recorder = thread->recorder;
    bool is_usual = thread->guard == PRELOAD_RECORDING && recorder != NULL && !thread->has_ended &&
                    !handler->is_busy && !tbed_is_sandboxed();
    if (!is_usual || (recorder->mark != TBED_MARK_BUSY && recorder->mark != TBED_MARK_READY &&
                      recorder->mark != TBED_MARK_SLOW)) {
        preload_count_nested(thread);
        return false;
    }
    storing->saved_errno = errno;
    storing->recorder = recorder;
    functions_signals_block(&storing->signals);
    handler->is_busy = true;
    storing->mark = recorder->mark;
    tbed_recorder_mark_busy(recorder);
    return true;
}

static void finish(struct functions_handler *handler, const struct storing *storing)
{
    if (storing->mark != TBED_MARK_BUSY)
        tbed_recorder_leave(storing->recorder);
    handler->is_busy = false;
    functions_signals_restore(&storing->signals);
    errno = storing->saved_errno;
}

void functions_handler_enter(struct preload_thread *thread, uintptr_t function, uintptr_t stack)
{
    struct functions_handler *handler = &functions_thread.handler;
    struct storing storing;
    if (handler->depth == FUNCTIONS_HANDLER_FRAMES || handler->unframed > 0) {
        handler->unframed++;
        preload_count_nested(thread);
        return;
    }
    if (!begin(thread, handler, &storing))
        return;
    bool has_span = !functions_is_selective || functions_is_wanted(&handler->place, function, handler->depth);
    if (has_span)
        tbed_span_begin(storing.recorder, preload_location_at(&handler->place, function));
    handler->frames[handler->depth++] =
        (struct functions_frame){.function = function, .stack = has_span ? stack : stack | FUNCTIONS_NO_SPAN};
    finish(handler, &storing);
}

/* The caller has begun. */
static void cut(struct functions_handler *handler, struct tbed_recorder *recorder, uint32_t depth,
                enum functions_leave how)
{
    for (; handler->depth > depth; handler->depth--)
        if (!(handler->frames[handler->depth - 1].stack & FUNCTIONS_NO_SPAN))
            functions_end_left(recorder, how);
}

static uint32_t depth_of(const struct functions_handler *handler, uintptr_t function, uintptr_t stack,
                         bool is_jump)
{
    uint32_t depth = handler->depth;
    while (depth > 0 && !functions_is_exit_of(&handler->frames[depth - 1], function, stack, is_jump))
        depth--;
    return depth;
}

void functions_handler_exit(struct preload_thread *thread, uintptr_t function, uintptr_t stack, bool is_jump)
{
    struct functions_handler *handler = &functions_thread.handler;
    struct storing storing;
    uint32_t depth = depth_of(handler, function, stack, is_jump);
    if (handler->unframed > 0 || depth == 0) { /* the entry was not stored either */
        handler->unframed -= handler->unframed > 0;
        preload_count_nested(thread);
        return;
    }
    if (!begin(thread, handler, &storing))
        return;
    cut(handler, storing.recorder, depth, FUNCTIONS_VANISHED);
    handler->depth--;
    if (!(handler->frames[handler->depth].stack & FUNCTIONS_NO_SPAN))
        tbed_span_end(storing.recorder);
    finish(handler, &storing);
}

bool functions_handler_stays(uintptr_t stack)
{
    const struct functions_handler *handler = &functions_thread.handler;
    return handler->depth > 0 && stack < handler->frames[0].stack;
}

void functions_handler_left(struct preload_thread *thread, uintptr_t stack, enum functions_leave how)
{
    struct functions_handler *handler = &functions_thread.handler;
    struct storing storing;
    uint32_t depth = handler->depth;
    while (depth > 0 && handler->frames[depth - 1].stack < stack)
        depth--;
    if (depth == 0)
        handler->unframed = 0;
    if (depth == handler->depth || !begin(thread, handler, &storing))
        return;
    handler->unframed = 0;
    cut(handler, storing.recorder, depth, how);
    finish(handler, &storing);
}
