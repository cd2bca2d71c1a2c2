/*
 * Spans that end by identity: off the fast path, and on another thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "tracebed/trace.h"
#include "writer/session/session.h"

uint64_t tbed_scope_begin_slow(struct tbed_recorder *recorder, uint32_t id)
{
    const struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    tbed_span_take_notes(recorder);
    tbed_span_begin(recorder, id);
    /* Not in a signal handler that interrupted a record, and not for a span that is so deep that it is only counted. */
    bool is_known = recorder->mark != TBED_MARK_BUSY && kept->deep_count == 0 && kept->top != kept->stack &&
                    kept->top[-1].id == id;
    return is_known ? kept->top[-1].begin_tick : 0;
}

/*
 * The ending thread records an instant, so that a log has "} NAME" with its number. The owner of the stream ends the span
 * itself.
 */
static void end_elsewhere(struct tbed_recorder *recorder, uint64_t begin_tick, uint32_t generation,
                          uint32_t id)
{
    static const char ended[] = TBED_SCOPE_ENDED;
    struct tbed_thread *self = &tbed_thread_self;
    if (!tbed_thread_enter() || self->generation != generation)
        return;
    uint64_t tick = tbed_recorder_now(self->recorder);
    uint32_t category = tbed_string_intern(self->writer, ended, sizeof ended - 1);
    tbed_instant_record_category(self->recorder, id, category, NULL, 0);
    struct tbed_session *session = begin_tick != 0 ? tbed_session_lock() : NULL;
    if (session == NULL)
        return;
    if (session->writer == self->writer && session->generation == generation)
        tbed_span_end_later(recorder, id, begin_tick, tick);
    tbed_session_unlock();
}

void tbed_scope_end_slow(struct tbed_recorder *recorder, uint64_t begin_tick, uint32_t generation,
                         uint32_t id)
{
    int kept_errno = errno;
    if (recorder != tbed_thread_self.recorder || generation != tbed_thread_self.generation)
        end_elsewhere(recorder, begin_tick, generation, id);
    else if (begin_tick != 0)
        tbed_span_end_of(recorder, id, begin_tick);
    else
        tbed_span_end(recorder);
    errno = kept_errno;
}
