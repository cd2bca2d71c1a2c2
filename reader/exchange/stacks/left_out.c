/*
 * Counts the events of a trace by kind; see left_out.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/stacks/left_out.h"

#include "reader/analysis/filter/filter.h"
#include "reader/core/base/vector.h"
#include "reader/core/base/workers.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <tracebed/analysis.h>

struct counting {
    const struct export_job *job;
    struct tbed_reader *reader;
    const struct tbed_filter *filter;
    unsigned taken;
    TBED_VECTOR(uint32_t) streams;
    enum tbed_status status; /* atomic */
};

void tbed_left_out_event(uint64_t *notes, const struct tbed_event *event, unsigned taken)
{
    static const uint8_t kinds[] = {
        [TBED_EVENT_INSTANT] = TBED_EXPORT_NOTE_INSTANTS, [TBED_EVENT_COUNTER] = TBED_EXPORT_NOTE_COUNTERS,
        [TBED_EVENT_MESSAGE] = TBED_EXPORT_NOTE_MESSAGES, [TBED_EVENT_ASYNC_BEGIN] = TBED_EXPORT_NOTE_ASYNC,
        [TBED_EVENT_ASYNC_END] = TBED_EXPORT_NOTE_ASYNC,  [TBED_EVENT_FLOW_BEGIN] = TBED_EXPORT_NOTE_FLOWS,
        [TBED_EVENT_FLOW_STEP] = TBED_EXPORT_NOTE_FLOWS,  [TBED_EVENT_FLOW_END] = TBED_EXPORT_NOTE_FLOWS,
        [TBED_EVENT_GAP] = TBED_EXPORT_NOTE_GAPS,         [TBED_EVENT_UNKNOWN] = TBED_EXPORT_NOTE_UNKNOWN,
    };
    bool is_allocation = event->type == TBED_EVENT_ALLOC || event->type == TBED_EVENT_FREE ||
                         event->type == TBED_EVENT_REALLOC || event->type == TBED_EVENT_RESIZE;
    if (is_allocation && (taken & LEFT_OUT_TAKES_ALLOCATIONS) == 0)
        notes[TBED_EXPORT_NOTE_ALLOCATIONS_UNASKED]++;
    else if (!is_allocation && event->type <= TBED_EVENT_UNKNOWN)
        notes[kinds[event->type]]++;
}

/* A stream that says when a thread was off its processor is left out of all sums. */
static void count_off_cpu(uint64_t *notes, const struct tbed_step *step)
{
    notes[TBED_EXPORT_NOTE_OFF_CPU] += step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN;
}

static void count_step(uint64_t *notes, const struct tbed_step *step, unsigned taken)
{
    bool takes_spans = (taken & LEFT_OUT_TAKES_SPANS) != 0;
    if (step->kind == TBED_STEP_EVENT)
        tbed_left_out_event(notes, step->event, taken);
    else if (step->kind == TBED_STEP_UNKNOWN)
        notes[TBED_EXPORT_NOTE_UNPAIRED]++;
    else if (step->kind != TBED_STEP_BEGIN && takes_spans)
        notes[TBED_EXPORT_NOTE_ARGUMENTS] += step->span->argument_count;
    else if (step->kind != TBED_STEP_BEGIN)
        notes[TBED_EXPORT_NOTE_SPANS_UNASKED]++;
}

static enum tbed_status count_stream(const struct counting *counting, uint32_t stream, uint64_t *notes)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(counting->reader, &stream, 1, counting->filter, &assembler);
    if (status != TBED_OK)
        return status;
    bool is_summed = tbed_filter_sums_stream(counting->filter, counting->reader, stream);
    while (!tbed_is_cancelled(counting->job->options.is_cancelled) &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (is_summed)
            count_step(notes, &step, counting->taken);
        else
            count_off_cpu(notes, &step);
    tbed_assembler_close(assembler);
    return status == TBED_OK ? TBED_ERR_CANCELLED : status == TBED_END ? TBED_OK : status;
}

static void run(struct tbed_work *work, unsigned worker)
{
    struct counting *counting = work->context;
    uint64_t notes[TBED_EXPORT_NOTE_COUNT] = {0};
    size_t item;
    (void)worker;
    while (tbed_work_take(work, &item)) {
        enum tbed_status status = count_stream(counting, counting->streams.items[item], notes);
        if (status != TBED_OK)
            __atomic_store_n(&counting->status, status, __ATOMIC_RELAXED);
    }
    for (size_t i = 0; i < TBED_EXPORT_NOTE_COUNT; i++)
        __atomic_fetch_add(&counting->job->result->notes[i], notes[i], __ATOMIC_RELAXED);
}

enum tbed_status tbed_left_out_count(const struct export_job *job, size_t index, unsigned taken)
{
    struct counting counting = {.job = job,
                                .reader = job->readers[index],
                                .filter = tbed_export_job_filter(job, index),
                                .taken = taken};
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(counting.reader, i, &stream); i++) {
        uint32_t *item = TBED_VECTOR_PUSH(&counting.streams);
        if (item == NULL)
            counting.status = TBED_ERR_MEMORY;
        else
            *item = stream.stream;
    }
    struct tbed_work work = {.item_count = counting.streams.count, .run = run, .context = &counting};
    if (counting.status == TBED_OK)
        tbed_work_run(&work, tbed_worker_count(job->options.thread_count, work.item_count));
    tbed_vector_free(&counting.streams.vector);
    errno = 0;
    return counting.status == TBED_OK ? TBED_OK : tbed_exchange_fail(job->error, counting.status);
}
