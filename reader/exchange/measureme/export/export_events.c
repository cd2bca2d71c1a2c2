/*
 * Writes the events of a trace as raw events of a profile: spans when they end, ordered by time over all streams.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter.h"
#include "reader/exchange/measureme/export/export.h"

#include <stdlib.h>
#include <tracebed/analysis.h>

#define MARK_INSTANT UINT64_C(0xFFFFFFFFFFFF)
#define MARK_INTEGER UINT64_C(0xFFFFFFFFFFFE)
#define END_MAX      UINT64_C(0xFFFFFFFFFFFD) /* end of an interval */

struct track {
    uint32_t stream, thread;
    bool
        is_left_out; /* it says when a thread was off its processor: in a profile, it would be the program's time */
};

struct events {
    struct export *export;
    struct track *tracks; /* by ascending stream */
    size_t track_count;
    struct track *last;
};

struct raw { /* one event of the profile */
    uint64_t kind, id;
    uint32_t thread;
    uint64_t begin, end;
};

/* ---- Tracks ---- */

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Threads are identified by their number alone: if several streams have the same number, the first keeps it. */
static bool number_threads(struct events *events)
{
    uint32_t *taken = calloc(events->track_count + 1, sizeof *taken);
    uint32_t next = 1;
    if (taken == NULL)
        return false;
    for (size_t i = 0; i < events->track_count; i++)
        taken[i] = events->tracks[i].thread;
    qsort(taken, events->track_count, sizeof *taken, compare_numbers);
    bool *is_used = calloc(events->track_count + 1, sizeof *is_used);
    for (size_t i = 0; is_used != NULL && i < events->track_count; i++) {
        struct track *track = &events->tracks[i];
        uint32_t *slot = bsearch(&track->thread, taken, events->track_count, sizeof *taken, compare_numbers);
        while (slot > taken && slot[-1] == *slot)
            slot--;
        if (!is_used[slot - taken]) {
            is_used[slot - taken] = true;
            continue;
        }
        while (bsearch(&next, taken, events->track_count, sizeof *taken, compare_numbers) != NULL)
            next++;
        track->thread = next++;
    }
    bool is_done = is_used != NULL;
    free(is_used);
    free(taken);
    return is_done;
}

static bool open_tracks(struct events *events)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_stream_get(events->export->reader, count, &stream))
        count++;
    events->tracks = calloc(count + 1, sizeof *events->tracks);
    if (events->tracks == NULL)
        return false;
    for (size_t i = 0; tbed_stream_get(events->export->reader, i, &stream); i++)
        events->tracks[i] =
            (struct track){.stream = stream.stream,
                           .thread = stream.tid,
                           .is_left_out = !tbed_filter_sums_stream(events->export->filter,
                                                                   events->export->reader, stream.stream)};
    events->track_count = count;
    return number_threads(events);
}

static const struct track *track_of(struct events *events, uint32_t stream)
{
    struct track *track = events->last;
    if (track == NULL || track->stream != stream)
        track =
            bsearch(&stream, events->tracks, events->track_count, sizeof *events->tracks, compare_numbers);
    events->last = track;
    return track;
}

static uint32_t thread_of(struct events *events, uint32_t stream)
{
    const struct track *track = track_of(events, stream);
    return track != NULL ? track->thread : 0;
}

/* ---- Raw events ---- */

static void store(uint8_t *at, uint64_t value, unsigned nbytes)
{
    for (unsigned i = 0; i < nbytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void put_raw(struct export *export, const struct raw *raw)
{
    uint8_t bytes[32];
    unsigned id_nbytes = export->version >= 9 ? 8 : 4;
    uint8_t *at = bytes;
    store(at, raw->kind, id_nbytes);
    store(at += id_nbytes, raw->id, id_nbytes);
    store(at += id_nbytes, raw->thread, 4);
    store(at += 4, raw->begin, 4);
    store(at += 4, raw->end, 4);
    store(at += 4, raw->begin >> 32 << 16 | raw->end >> 32, 4);
    tbed_page_put_whole(&export->pages, MM_EVENTS, bytes, (size_t)(at + 4 - bytes));
    export->report->event_count++;
}

static uint64_t clip(struct export *export, uint64_t value, uint64_t max)
{
    export->report->clipped_count += value > max;
    return value > max ? max : value;
}

static uint64_t time_of(const struct events *events, uint64_t tick, uint64_t max)
{
    int64_t ns = tbed_ticks_to_ns(events->export->reader, tick);
    events->export->report->clipped_count += ns < 0;
    return ns < 0 ? 0 : clip(events->export, (uint64_t)ns, max);
}

static void put_event(struct events *events, uint32_t stream, uint32_t id, uint32_t category,
                      enum export_kind kind, const uint64_t times[2],
                      const struct export_arguments arguments[2])
{
    struct export *export = events->export;
    struct export_id profile_id = tbed_export_name_with(export, id, arguments);
    struct raw raw = {
        .id = profile_id.id, .thread = thread_of(events, stream), .begin = times[0], .end = times[1]};
    raw.kind =
        category == TBED_ID_INVALID ? tbed_export_kind(export, kind) : tbed_export_name(export, category).id;
    export->report->unnamed_count += !profile_id.is_named;
    put_raw(export, &raw);
}

/* Those of the event that ends the span, unless the span is that event. */
static struct export_arguments end_arguments(const struct tbed_step *step)
{
    if (step->event == NULL || step->event->type != TBED_EVENT_END)
        return (struct export_arguments){0};
    return (struct export_arguments){step->event->arguments, step->event->argument_count};
}

static void put_span(struct events *events, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    const struct export_arguments arguments[2] = {{span->arguments, span->argument_count},
                                                  end_arguments(step)};
    uint64_t times[2] = {time_of(events, span->begin_tick, MM_TIME_MAX),
                         time_of(events, span->end_tick, END_MAX)};
    put_event(events, span->stream, span->id, span->category, EXPORT_KIND_SPAN, times, arguments);
}

/* ---- Events of the trace ---- */

static void leave_out(struct events *events, const struct tbed_event *event)
{
    events->export->report->left_out_count++;
    events->export->report->argument_count += event->argument_count;
}

static void put_counter(struct events *events, const struct tbed_event *event)
{
    struct export *export = events->export;
    const struct tbed_argument *value = &event->counter_value;
    bool is_integer = value->type == TBED_ARG_U64 || (value->type == TBED_ARG_I64 && value->value.i64 >= 0);
    if (!is_integer) {
        leave_out(events, event);
        return;
    }
    uint64_t times[2] = {clip(export, value->value.u64, MM_TIME_MAX), MARK_INTEGER};
    put_event(events, event->stream, event->id, event->category, EXPORT_KIND_COUNTER, times,
              (const struct export_arguments[2]){{event->arguments, event->argument_count}});
}

/* Whether the options skip it; then it is counted. */
static bool is_skipped(const struct export *export, const struct tbed_event *event)
{
    bool is_instant = export->skip_instants && event->type == TBED_EVENT_INSTANT;
    bool is_counter = export->skip_counters && event->type == TBED_EVENT_COUNTER;
    export->report->instant_count += is_instant;
    export->report->counter_count += is_counter;
    return is_instant || is_counter;
}

static void export_event(struct events *events, const struct tbed_event *event)
{
    uint64_t times[2] = {0, MARK_INSTANT};
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        times[0] = time_of(events, event->tick, MM_TIME_MAX);
        put_event(events, event->stream, event->id, event->category, EXPORT_KIND_INSTANT, times,
                  (const struct export_arguments[2]){{event->arguments, event->argument_count}});
        break;
    case TBED_EVENT_COUNTER:
        put_counter(events, event);
        break;
    default:
        leave_out(events, event);
        break;
    }
}

static void export_step(struct events *events, const struct tbed_step *step)
{
    struct tbed_export_report *report = events->export->report;
    switch (step->kind) {
    case TBED_STEP_BEGIN:
        break;
    case TBED_STEP_OPEN:
        report->open_count++;
        put_span(events, step);
        break;
    case TBED_STEP_END:
        put_span(events, step);
        break;
    case TBED_STEP_UNKNOWN:
        report->argument_count += step->event != NULL ? step->event->argument_count : 0;
        report->unknown_count++;
        break;
    case TBED_STEP_EVENT:
        if (!is_skipped(events->export, step->event))
            export_event(events, step->event);
    }
}

static bool is_left_out(struct events *events, const struct tbed_step *step)
{
    const struct track *track =
        track_of(events, step->span != NULL ? step->span->stream : step->event->stream);
    return track != NULL && track->is_left_out;
}

static enum tbed_status export_steps(struct events *events)
{
    struct export *export = events->export;
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(export->reader, NULL, 0, export->filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (!export->is_out_of_memory && export->pages.failed_errno == 0 &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (!is_left_out(events, &step))
            export_step(events, &step);
        else
            export->report->left_out_count += step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN;
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

enum tbed_status tbed_export_events(struct export *export)
{
    struct events events = {.export = export};
    enum tbed_status status = open_tracks(&events) ? export_steps(&events) : TBED_ERR_MEMORY;
    free(events.tracks);
    return export->is_out_of_memory ? TBED_ERR_MEMORY : status;
}
