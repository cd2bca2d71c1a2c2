/*
 * How calls end without an exit, and whether an end is recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <string.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

/* The id of a text that is used repeatedly; INVALID if it cannot be stored. */
static uint32_t text_id(uint32_t *id, const char *text)
{
    if (*id == 0)
        *id = tbed_string_intern(preload_writer, text, strlen(text));
    return *id;
}

void functions_end_left(struct tbed_recorder *recorder, enum functions_leave how)
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
        functions_end_left(recorder, how);
    for (; frames->depth > depth; frames->depth--)
        if (functions_innermost_has_span(frames, recorder))
            functions_end_left(recorder, how);
}

bool functions_innermost_has_span(struct functions_thread *frames, struct tbed_recorder *recorder)
{
    const struct functions_frame *frame = &frames->frames[frames->depth - 1];
    functions_scopes_leave(frames);
    if (frame->stack & FUNCTIONS_PENDING) {
        if (functions_pending_is_short(frames, tbed_recorder_now(recorder)))
            return false;
        functions_pending_store(frames, recorder, frames->depth);
    }
    return !(frame->stack & FUNCTIONS_NO_SPAN);
}

bool functions_stop_in_sandbox(struct preload_thread *thread)
{
    if (!tbed_is_sandboxed())
        return false;
    preload_guard_set(thread, PRELOAD_STOPPED);
    preload_count_nested(thread);
    return true;
}
