/*
 * The second half of an import: all events, sorted, are recorded track by track.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/event_import.h"
#include "reader/exchange/shared/import_drops.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIED_NBYTES_MAX ((size_t)1 << 20)
#define FROM_START_NS   UINT64_C(60000000000)

struct begun {
    uint64_t time;
    uint32_t id;
    bool is_open; /* it is known that it never ends */
};

struct recording {
    struct event_import *import;
    struct tbed_recorder *recorder;
    uint32_t track; /* EVENT_NONE: none yet */
    uint64_t shift; /* added to a time, gives the tick */
    uint64_t tick, last_tick;
    TBED_VECTOR(struct begun) stack;
    struct tbed_argument arguments[EVENT_ARGUMENTS_MAX];

    /* Events with the same time; only for tracks that are not in the order of ends. */
    char *tied;
    size_t tied_nbytes, tied_room, tied_count;
};

/* ---- Tracks ---- */

static uint32_t number_of_process(struct event_import *import, uint32_t index)
{
    struct event_process *process = &import->processes.items[index];
    const char *name = process->name != NULL ? process->name : "";
    if (!process->is_recorded && index == 0) /* the writer's own */
        tbed_process_describe_given(import->writer, 0, name, process->pid);
    else if (!process->is_recorded)
        process->number = tbed_process_record_given(import->writer, name, process->pid, 0, 0);
    process->is_recorded = true;
    return process->number;
}

/* Spans that never ended leave the stack after all others, the innermost first. */
static void close_track(struct recording *recording)
{
    bool has_open = false;
    if (recording->recorder == NULL)
        return;
    for (size_t i = 0; i < recording->stack.count; i++)
        has_open |= recording->stack.items[i].is_open;
    for (size_t i = has_open ? recording->stack.count : 0; i-- > 0;) {
        struct tbed_given_event leave = {.type = TBED_GIVEN_LEAVE,
                                         .tick = recording->last_tick > recording->tick ? recording->last_tick
                                                                                        : recording->tick};
        tbed_event_record_given(recording->recorder, &leave);
    }
    tbed_recorder_close(recording->recorder);
    recording->recorder = NULL;
    recording->stack.count = 0;
}

static void open_track(struct recording *recording, uint32_t index)
{
    struct event_import *import = recording->import;
    const struct event_track *track = &import->tracks.items[index];
    recording->track = index;
    recording->recorder = tbed_recorder_open_process(
        import->writer, number_of_process(import, track->process),
        track->name != NULL && track->name[0] != '\0' ? track->name : NULL, track->tid);
    recording->tick = recording->last_tick = 0;
    import->report->thread_count++;
}

/* ---- Events ---- */

static const enum tbed_given_type given_types[] = {
    [EVENT_ROW_SPAN] = TBED_GIVEN_SPAN,
    [EVENT_ROW_BEGIN] = TBED_GIVEN_BEGIN,
    [EVENT_ROW_END] = TBED_GIVEN_END,
    [EVENT_ROW_OPEN] = TBED_GIVEN_BEGIN,
    [EVENT_ROW_INSTANT] = TBED_GIVEN_INSTANT,
    [EVENT_ROW_COUNTER] = TBED_GIVEN_COUNTER,
    [EVENT_ROW_MESSAGE] = TBED_GIVEN_MESSAGE,
    [EVENT_ROW_ASYNC_BEGIN] = TBED_GIVEN_ASYNC_BEGIN,
    [EVENT_ROW_ASYNC_END] = TBED_GIVEN_ASYNC_END,
    [EVENT_ROW_FLOW_BEGIN] = TBED_GIVEN_FLOW_BEGIN,
    [EVENT_ROW_FLOW_STEP] = TBED_GIVEN_FLOW_STEP,
    [EVENT_ROW_FLOW_END] = TBED_GIVEN_FLOW_END,
};

static bool take_begin(struct recording *recording, const struct event_row *row)
{
    struct begun *begun = TBED_VECTOR_PUSH(&recording->stack);
    if (begun == NULL)
        return false;
    *begun = (struct begun){row->time, row->id, row->type == EVENT_ROW_OPEN};
    return true;
}

/* False: there is nothing to end. */
static bool take_end(struct recording *recording, const struct event_row *row)
{
    if (recording->stack.count == 0) {
        recording->import->report->unpaired_count++;
        return false;
    }
    uint32_t id = recording->stack.items[--recording->stack.count].id;
    if (row->id != TBED_ID_INVALID && row->id != id)
        tbed_event_note(recording->import, TBED_IMPORT_NOTE_NAMES);
    return true;
}

static enum tbed_status record(struct recording *recording, const struct event_row *row)
{
    if ((row->type == EVENT_ROW_BEGIN || row->type == EVENT_ROW_OPEN) && !take_begin(recording, row))
        return TBED_ERR_MEMORY;
    if (row->type == EVENT_ROW_END && !take_end(recording, row))
        return TBED_OK;
    tbed_event_row_arguments(row, recording->arguments);
    struct tbed_given_event event = {.type = given_types[row->type],
                                     .id = row->id,
                                     .category = row->category,
                                     .tick = row->time + recording->shift,
                                     .begin_tick = row->other + recording->shift,
                                     .key = row->other,
                                     .severity = row->severity,
                                     .arguments = recording->arguments,
                                     .argument_count = row->argument_count};
    if (row->type == EVENT_ROW_END && row->severity != 0)
        event.type = TBED_GIVEN_LEAVE; /* with an end of 0: never */
    recording->tick = event.tick;
    if (row->type == EVENT_ROW_OPEN && row->other + recording->shift > recording->last_tick)
        recording->last_tick = row->other + recording->shift;
    tbed_event_record_given(recording->recorder, &event);
    return TBED_OK;
}

/* ---- Events of the same time ---- */

/*
 * A trace has spans in the order of their ends, and of those that end together the inner one first. Where a file lists spans
 * by their ends, its order is kept. Where it lists them by their begins, the events of a track with the same time are
 * collected, and its spans put in the reverse order of their begins; of two with the same bounds, the outer one comes first
 * in such a file.
 */
static int compare_tied(const void *left, const void *right)
{
    const struct event_row *a = *(struct event_row *const *)left, *b = *(struct event_row *const *)right;
    if (a->other != b->other)
        return a->other > b->other ? -1 : 1;
    return (a < b) - (a > b);
}

/* Cannot fail: a whole span does not go to the stack. */
static void record_spans(struct recording *recording, struct event_row **spans, size_t *at, size_t count,
                         uint64_t least_begin)
{
    for (; *at < count && spans[*at]->other >= least_begin; ++*at)
        record(recording, spans[*at]);
}

/* 'list' has room for all rows. */
static enum tbed_status record_in_order(struct recording *recording, struct event_row **list)
{
    enum tbed_status status = TBED_OK;
    size_t count = 0, recorded = 0;
    struct event_row *row;
    for (size_t at = 0; at < recording->tied_nbytes; at += row->nbytes) {
        row = (struct event_row *)(void *)(recording->tied + at);
        if (row->type == EVENT_ROW_SPAN)
            list[count++] = row;
    }
    qsort(list, count, sizeof(struct event_row *), compare_tied);
    for (size_t at = 0; at < recording->tied_nbytes && status == TBED_OK; at += row->nbytes) {
        row = (struct event_row *)(void *)(recording->tied + at);
        size_t depth = recording->stack.count;
        if (row->type == EVENT_ROW_END && depth > 0)
            record_spans(recording, list, &recorded, count, recording->stack.items[depth - 1].time);
        if (row->type != EVENT_ROW_SPAN)
            status = record(recording, row);
    }
    record_spans(recording, list, &recorded, count, 0);
    return status;
}

static enum tbed_status record_tied(struct recording *recording)
{
    enum tbed_status status = TBED_OK;
    if (recording->tied_count == 1) {
        status = record(recording, (const struct event_row *)(const void *)recording->tied);
    } else if (recording->tied_count > 1) {
        struct event_row **list = malloc(recording->tied_count * sizeof(struct event_row *));
        status = list != NULL ? record_in_order(recording, list) : TBED_ERR_MEMORY;
        free(list);
    }
    recording->tied_nbytes = recording->tied_count = 0;
    return status;
}

static bool keep_tied(struct recording *recording, const struct event_row *row)
{
    size_t needed = recording->tied_nbytes + row->nbytes;
    if (needed > recording->tied_room) {
        char *grown = realloc(recording->tied, needed * 2);
        if (grown == NULL)
            return false;
        recording->tied = grown;
        recording->tied_room = needed * 2;
    }
    memcpy(recording->tied + recording->tied_nbytes, row, row->nbytes);
    recording->tied_nbytes = needed;
    recording->tied_count++;
    return true;
}

static bool is_tied(const struct recording *recording, const struct event_row *row)
{
    const struct event_row *first = (const struct event_row *)(const void *)recording->tied;
    return recording->tied_count > 0 && first->track == row->track && first->time == row->time &&
           recording->tied_nbytes < TIED_NBYTES_MAX;
}

static enum tbed_status take_row(void *context, const struct event_row *row)
{
    struct recording *recording = context;
    enum tbed_status status = is_tied(recording, row) ? TBED_OK : record_tied(recording);
    if (status != TBED_OK)
        return status;
    if (row->track != recording->track) {
        close_track(recording);
        open_track(recording, row->track);
    }
    if (!tbed_event_is_by_begin(&recording->import->tracks.items[row->track]))
        return record(recording, row);
    return keep_tied(recording, row) ? TBED_OK : TBED_ERR_MEMORY;
}

/* ---- Driver ---- */

/*
 * A file whose times begin within a minute counts from a start of its own, and they become ticks; others (since boot, since
 * 1970, negative ones) begin with the trace. No span begins at tick 0, which would mean that its begin is unknown.
 */
static uint64_t shift_of(const struct event_import *import)
{
    uint64_t zero = EVENT_TIME(0), first = import->first_time;
    bool is_from_start = first >= zero && first - zero < FROM_START_NS;
    uint64_t origin = is_from_start || first == UINT64_MAX ? zero : first;
    return (import->first_begin == origin) - origin;
}

enum tbed_status tbed_event_import_finish(struct event_import *import, struct tbed_error *error)
{
    struct recording recording = {.import = import, .track = EVENT_NONE, .shift = shift_of(import)};
    enum tbed_status status = import->status;
    if (status == TBED_OK)
        status = tbed_event_rows_take(&import->rows, take_row, &recording);
    if (status == TBED_OK)
        status = record_tied(&recording);
    close_track(&recording);
    for (uint32_t i = 0; i < import->processes.count && status == TBED_OK; i++)
        number_of_process(import, i);
    tbed_vector_free(&recording.stack.vector);
    free(recording.tied);
    if (status != TBED_OK) {
        if (status == TBED_ERR_MEMORY)
            errno = ENOMEM;
        return tbed_exchange_fail(error, status);
    }
    return tbed_import_count_drops(import->writer, import->report, error);
}
