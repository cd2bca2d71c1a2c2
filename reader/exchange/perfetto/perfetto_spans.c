/*
 * Spans of the Perfetto export. A span is written when it begins, so that spans inside come later. One that becomes known only
 * when it has ended is held back as long as its place among others is open (export_nest.h); one that does not nest gets a
 * track of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/perfetto.h"

#include <stdlib.h>

/* ---- Threads ---- */

/*
 * Whether spans of the stream leave their stack before or after their end, or times decrease: it is not known when they begin
 * whether they will nest.
 */
static bool is_disordered(struct tbed_reader *reader, uint32_t stream, bool *no_memory)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t previous = 0;
    bool found = false;
    *no_memory = tbed_cursor_open(reader, stream, &cursor) != TBED_OK;
    if (*no_memory)
        return false;
    while (!found && tbed_cursor_next(cursor, &event) == TBED_OK) {
        found = event.tick < previous || (event.type == TBED_EVENT_END && event.of.end.leaves);
        previous = event.tick;
    }
    tbed_cursor_close(cursor);
    return found;
}

void tbed_perfetto_open_thread(void *context)
{
    struct perfetto *perfetto = context;
    bool no_memory;
    perfetto->is_disordered = is_disordered(perfetto->walk.reader, perfetto->walk.thread->stream, &no_memory);
    perfetto->is_out_of_memory |= no_memory;
    perfetto->open_count = perfetto->lost_count = 0;
    tbed_export_nest_clear(&perfetto->nest);
    perfetto->nest.height_max = PERFETTO_DEPTH_MAX;
    tbed_perfetto_put_thread(perfetto);
}

void tbed_perfetto_close_thread(void *context)
{
    struct perfetto *perfetto = context;
    tbed_export_nest_finish(&perfetto->nest, &perfetto->out->text);
}

/* ---- Open spans ---- */

static void push(struct perfetto *perfetto, struct perfetto_open **items, size_t *count, size_t *room,
                 struct perfetto_open open)
{
    if (*count == *room) {
        size_t more = *room * 2 + 64;
        struct perfetto_open *grown = realloc(*items, more * sizeof *grown);
        perfetto->is_out_of_memory |= grown == NULL;
        if (grown == NULL)
            return;
        *items = grown;
        *room = more;
    }
    (*items)[(*count)++] = open;
}

static bool is_of(const struct perfetto_open *open, const struct tbed_assembled *span)
{
    return open->begin_tick == span->begin_tick && open->id == span->id;
}

/* Pops it and what is above. */
static void pop_to(struct perfetto *perfetto, size_t at, int64_t end)
{
    while (perfetto->open_count > at) {
        struct perfetto_open open = perfetto->open[--perfetto->open_count];
        if (!open.is_skipped)
            tbed_export_nest_end(&perfetto->nest, end, &perfetto->out->text);
        if (perfetto->open_count > at)
            push(perfetto, &perfetto->lost, &perfetto->lost_count, &perfetto->lost_room, open);
    }
}

/* Whether the begin of the span has been written, or skipped; it is forgotten then. */
static bool take_open(struct perfetto *perfetto, const struct tbed_step *step, int64_t end,
                      bool *is_skipped_ret)
{
    const struct tbed_assembled *span = step->span;
    size_t at = perfetto->open_count;
    /* An END may give another begin than the BEGIN had. */
    bool is_innermost = at > 0 && step->event != NULL && perfetto->open[at - 1].depth == step->depth;
    while (at > 0 && !is_of(&perfetto->open[at - 1], span))
        at--;
    if (at == 0 && is_innermost)
        at = perfetto->open_count;
    if (at > 0) {
        *is_skipped_ret = perfetto->open[at - 1].is_skipped;
        pop_to(perfetto, at - 1, end);
        return true;
    }
    for (at = perfetto->lost_count; at > 0; at--) {
        if (!is_of(&perfetto->lost[at - 1], span))
            continue;
        *is_skipped_ret = perfetto->lost[at - 1].is_skipped;
        perfetto->lost[at - 1] = perfetto->lost[--perfetto->lost_count];
        return true;
    }
    return false;
}

/* ---- Writing ---- */

static void put_begin(struct perfetto *perfetto, const struct tbed_assembled *span, uint64_t track,
                      int64_t ns, struct tbed_text *to)
{
    tbed_perfetto_begin_event(perfetto, PERFETTO_BEGIN, track);
    tbed_perfetto_put_name(perfetto, span->id, span->category);
    tbed_perfetto_put_own_arguments(perfetto, span->id);
    tbed_perfetto_put_arguments(perfetto, span->arguments, span->argument_count,
                                tbed_export_name_of(&perfetto->walk, span->id)->argument_count);
    tbed_perfetto_end_event(perfetto, ns, to);
}

static void put_end(struct perfetto *perfetto, const struct tbed_step *step, uint64_t track, int64_t ns)
{
    const struct tbed_assembled *span = step->span;
    tbed_perfetto_begin_event(perfetto, PERFETTO_END, track);
    if (step->event != NULL && step->event->type == TBED_EVENT_END)
        tbed_perfetto_put_arguments(perfetto, step->event->arguments, step->event->argument_count,
                                    tbed_export_name_of(&perfetto->walk, span->id)->argument_count +
                                        span->argument_count);
    if (step->kind == TBED_STEP_OPEN)
        tbed_perfetto_put_flag(perfetto, "never ended");
    tbed_perfetto_end_event(perfetto, ns, &perfetto->out->text);
}

static void take_begin(struct perfetto *perfetto, const struct tbed_assembled *span, size_t depth)
{
    bool is_skipped = perfetto->open_count >= PERFETTO_DEPTH_MAX;
    push(perfetto, &perfetto->open, &perfetto->open_count, &perfetto->open_room,
         (struct perfetto_open){
             .begin_tick = span->begin_tick, .depth = depth, .id = span->id, .is_skipped = is_skipped});
    if (is_skipped)
        return;
    int64_t ns = tbed_export_time(&perfetto->walk, span->begin_tick);
    put_begin(perfetto, span, perfetto->thread_track, ns, &perfetto->out->text);
    tbed_export_nest_begin(&perfetto->nest, ns);
}

static void put_aside(struct perfetto *perfetto, const struct tbed_step *step, const struct export_span *span)
{
    const struct tbed_text *label = &tbed_export_name_of(&perfetto->walk, step->span->id)->label;
    uint64_t track = tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_ASIDE, perfetto->aside_count++, 0, 0);
    tbed_perfetto_put_track(perfetto, track, perfetto->thread_track, label->bytes, label->nbytes);
    put_begin(perfetto, step->span, track, span->begin, &perfetto->out->text);
    put_end(perfetto, step, track, span->end);
    tbed_export_note(&perfetto->walk, TBED_EXPORT_NOTE_OVERLAPPING, 1);
}

/* A span whose begin has not been written. */
static void put_whole(struct perfetto *perfetto, const struct tbed_step *step, const struct export_span *span)
{
    if (span->end <= span->begin) {
        put_begin(perfetto, step->span, perfetto->thread_track, span->begin, &perfetto->out->text);
        put_end(perfetto, step, perfetto->thread_track, span->end);
        return;
    }
    if (span->is_aside || !tbed_export_nest_fits(&perfetto->nest, span->begin, span->end)) {
        put_aside(perfetto, step, span);
        return;
    }
    perfetto->held.nbytes = 0;
    put_begin(perfetto, step->span, perfetto->thread_track, span->begin, &perfetto->held);
    tbed_export_nest_take(&perfetto->nest, span->begin, span->end, &perfetto->held, &perfetto->out->text);
    put_end(perfetto, step, perfetto->thread_track, span->end);
}

static void take_end(struct perfetto *perfetto, const struct tbed_step *step)
{
    struct export_span span = tbed_export_span(&perfetto->walk, step);
    bool is_skipped = false;
    if (step->span->is_whole || !take_open(perfetto, step, span.end, &is_skipped))
        put_whole(perfetto, step, &span);
    else if (is_skipped)
        tbed_export_note(&perfetto->walk, TBED_EXPORT_NOTE_DEEP, 1);
    else
        put_end(perfetto, step, perfetto->thread_track, span.end);
}

void tbed_perfetto_step(void *context, const struct tbed_step *step)
{
    struct perfetto *perfetto = context;
    switch (step->kind) {
    case TBED_STEP_BEGIN:
        if (!perfetto->is_disordered)
            take_begin(perfetto, step->span, step->depth);
        break;
    case TBED_STEP_END:
    case TBED_STEP_OPEN:
        take_end(perfetto, step);
        break;
    default:
        tbed_perfetto_put_event(perfetto, step->event);
    }
    tbed_export_nest_trim(&perfetto->nest, &perfetto->out->text);
    perfetto->walk.is_over |= perfetto->is_out_of_memory || perfetto->nest.is_out_of_memory;
}
