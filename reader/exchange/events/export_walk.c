/*
 * The walk over everything that an export writes; see export_walk.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_walk.h"

#include "reader/core/base/workers.h"
#include "reader/core/names/id_info.h"
#include "reader/exchange/events/export_json.h"
#include "reader/exchange/events/export_live.h"
#include "reader/exchange/shared/message_put.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- What formats ask for ---- */

void tbed_export_note(const struct export_walk *walk, enum tbed_export_note note, uint64_t count)
{
    walk->job->result->notes[note] += count;
}

int64_t tbed_export_time(const struct export_walk *walk, uint64_t tick)
{
    int64_t ns;
    if (__builtin_add_overflow(tbed_ticks_to_ns(walk->reader, tick), walk->shift_ns, &ns))
        ns = walk->shift_ns < 0 ? INT64_MIN : INT64_MAX;
    if (ns == INT64_MAX)
        tbed_export_note(walk, TBED_EXPORT_NOTE_CLIPPED, 1);
    if (ns >= 0)
        return ns;
    tbed_export_note(walk, TBED_EXPORT_NOTE_EARLY, 1);
    return 0;
}

struct export_span tbed_export_span(const struct export_walk *walk, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    struct export_span of = {.end = tbed_export_time(walk, span->end_tick),
                             .is_open = step->kind == TBED_STEP_OPEN,
                             .is_inverted = span->begin_tick > span->end_tick};
    of.begin = of.is_inverted ? of.end : tbed_export_time(walk, span->begin_tick);
    of.is_aside = step->event != NULL && step->event->type == TBED_EVENT_END && step->event->of.end.leaves;
    return of;
}

const struct export_name *tbed_export_name_of(struct export_walk *walk, uint32_t id)
{
    return tbed_export_name_find(&walk->names, walk->reader, id);
}

const char *tbed_export_text_of(struct export_walk *walk, uint32_t id, size_t *nbytes_ret)
{
    *nbytes_ret = tbed_export_resolve(walk->reader, id, walk->names.buffer, &walk->names.is_out_of_memory);
    return walk->names.buffer;
}

const struct tbed_text *tbed_export_message_of(struct export_walk *walk, const struct tbed_event *event)
{
    walk->message.nbytes = 0;
    tbed_exchange_message(&walk->message, walk->reader, event, TBED_MESSAGE_ALL);
    return &walk->message;
}

const char *tbed_export_severity(uint32_t severity)
{
    static const char *const severities[] = {"none", "error", "warning", "information", "debug"};
    return severity <= TBED_SEVERITY_DEBUG ? severities[severity] : "unknown";
}

const char *tbed_export_process_name(struct export_walk *walk, size_t process, size_t *nbytes_ret)
{
    struct tbed_process_info info;
    char *crate = walk->names.buffer;
    *nbytes_ret = process == 0 ? tbed_export_crate(walk->reader, crate, 256) : 0;
    walk->names.is_out_of_memory |= *nbytes_ret == TBED_NO_MEMORY;
    if (*nbytes_ret > 0 && *nbytes_ret != TBED_NO_MEMORY)
        return crate;
    if (!tbed_process_get(walk->reader, process, &info) || info.name_id == TBED_ID_INVALID)
        return "";
    return tbed_export_text_of(walk, info.name_id, nbytes_ret);
}

/* ---- One trace ---- */

static bool is_over(struct export_walk *walk)
{
    walk->is_over |= walk->names.is_out_of_memory || walk->message.is_out_of_memory;
    walk->is_over |= walk->out != NULL && !tbed_export_out_spill(walk->out);
    return walk->is_over;
}

/* Counts it; false: it is not for the format. */
static bool counts(struct export_walk *walk, const struct export_visitor *visitor,
                   const struct tbed_step *step)
{
    const struct tbed_export_options *options = &walk->job->options;
    if (step->kind == TBED_STEP_UNKNOWN)
        tbed_export_note(walk, TBED_EXPORT_NOTE_UNPAIRED, 1);
    if (step->kind == TBED_STEP_UNKNOWN)
        return false;
    if (step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN) {
        walk->job->result->span_count++;
        tbed_export_note(walk, TBED_EXPORT_NOTE_OPEN, step->kind == TBED_STEP_OPEN);
        tbed_export_note(walk, TBED_EXPORT_NOTE_INVERTED, step->span->begin_tick > step->span->end_tick);
    }
    if (step->kind != TBED_STEP_EVENT)
        return true;
    switch (step->event->type) {
    case TBED_EVENT_INSTANT:
        tbed_export_note(walk, TBED_EXPORT_NOTE_SKIPPED_INSTANTS, options->skip_instants);
        return !options->skip_instants;
    case TBED_EVENT_COUNTER:
        tbed_export_note(walk, TBED_EXPORT_NOTE_SKIPPED_COUNTERS, options->skip_counters);
        return !options->skip_counters;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
        if (visitor->takes_allocations)
            return true;
        walk->allocation_count++;
        tbed_export_note(
            walk, options->skip_counters ? TBED_EXPORT_NOTE_SKIPPED_COUNTERS : TBED_EXPORT_NOTE_LIVE, 1);
        return true;
    case TBED_EVENT_UNKNOWN:
        tbed_export_note(walk, TBED_EXPORT_NOTE_UNKNOWN, 1);
        return false;
    default:
        return true;
    }
}

static enum tbed_status walk_stream(struct export_walk *walk, const struct export_visitor *visitor)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(walk->reader, &walk->thread->stream, 1, walk->filter, &assembler);
    if (status != TBED_OK)
        return status;
    visitor->open_thread(visitor->context);
    while (!is_over(walk) && (status = tbed_assembler_next(assembler, &step)) == TBED_OK) {
        if (counts(walk, visitor, &step))
            visitor->step(visitor->context, &step);
        if (tbed_is_cancelled(walk->job->options.is_cancelled))
            status = TBED_ERR_CANCELLED;
        if (status != TBED_OK)
            break;
    }
    tbed_assembler_close(assembler);
    if (status == TBED_END)
        visitor->close_thread(visitor->context);
    return status == TBED_END ? TBED_OK : status;
}

struct live_target {
    struct export_walk *walk;
    const struct export_visitor *visitor;
    uint64_t pid;
};

static bool put_live(void *context, uint64_t tick, uint64_t nbytes)
{
    struct live_target *target = context;
    target->visitor->live(target->visitor->context, target->pid, tbed_export_time(target->walk, tick),
                          nbytes);
    return !is_over(target->walk) && !tbed_is_cancelled(target->walk->job->options.is_cancelled);
}

static enum tbed_status walk_live(struct export_walk *walk, const struct export_visitor *visitor)
{
    enum tbed_status status = TBED_OK;
    struct tbed_process_info info;
    walk->thread = NULL;
    if (walk->allocation_count == 0 || walk->job->options.skip_counters)
        return TBED_OK;
    for (size_t i = 0; i <= walk->threads.process_count && status == TBED_OK && !is_over(walk); i++) {
        struct live_target target = {.walk = walk, .visitor = visitor};
        bool has_process = tbed_process_get(walk->reader, i, &info);
        target.pid = has_process ? walk->threads.pids[i] : 0;
        status =
            tbed_export_live(walk->reader, has_process ? info.stream : 0, walk->filter, put_live, &target);
    }
    return status;
}

static enum tbed_status walk_trace(struct export_walk *walk, const struct export_visitor *visitor)
{
    uint64_t *renumbered = &walk->job->result->notes[TBED_EXPORT_NOTE_RENUMBERED];
    walk->allocation_count = 0;
    tbed_export_names_clear(&walk->names);
    enum tbed_status status =
        tbed_export_threads_make(walk->reader, walk->filter, false, &walk->taken, renumbered, &walk->threads);
    if (status == TBED_OK)
        visitor->open_trace(visitor->context);
    for (size_t i = 0; i < walk->threads.count && status == TBED_OK && !is_over(walk); i++) {
        walk->thread = walk->threads.rows[i];
        status = walk_stream(walk, visitor);
    }
    if (status == TBED_OK)
        status = walk_live(walk, visitor);
    if (status == TBED_OK && visitor->close_trace != NULL)
        visitor->close_trace(visitor->context);
    tbed_export_threads_free(&walk->threads);
    walk->threads = (struct export_threads){0};
    return status;
}

/* ---- All traces ---- */

static void find_realtime(struct export_walk *walk, const struct export_start *starts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (starts[i].has_realtime && (!walk->has_realtime || starts[i].realtime_ns < walk->realtime_ns)) {
            walk->realtime_ns = starts[i].realtime_ns;
            walk->has_realtime = true;
        }
}

static enum tbed_status walk_all(struct export_walk *walk, const struct export_visitor *visitor,
                                 struct export_start *starts)
{
    const struct export_job *job = walk->job;
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; status == TBED_OK && i < job->reader_count; i++)
        status = tbed_export_start_find(job->readers[i], &starts[i]);
    find_realtime(walk, starts, job->reader_count);
    for (size_t i = 0; i < job->reader_count && status == TBED_OK && !is_over(walk); i++) {
        walk->trace = i;
        walk->reader = job->readers[i];
        walk->filter = tbed_export_job_filter(job, i);
        walk->shift_ns = tbed_export_start_shift(&starts[i], starts, job->reader_count);
        status = walk_trace(walk, visitor);
    }
    return status;
}

enum tbed_status tbed_export_walk(struct export_walk *walk, const struct export_visitor *visitor)
{
    struct export_start *starts = calloc(walk->job->reader_count + 1, sizeof *starts);
    enum tbed_status status = TBED_ERR_MEMORY;
    if (tbed_export_names_open(&walk->names) && starts != NULL)
        status = walk_all(walk, visitor, starts);
    if (status == TBED_OK && (walk->names.is_out_of_memory || walk->message.is_out_of_memory))
        status = TBED_ERR_MEMORY;
    tbed_export_names_close(&walk->names);
    free(walk->message.bytes);
    free(walk->taken.items);
    free(starts);
    errno = 0;
    return status != TBED_OK ? tbed_exchange_fail(walk->job->error, status) : TBED_OK;
}
