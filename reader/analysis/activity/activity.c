/*
 * Activity: workers share the streams and read each from its end to its start, so that the time in which it is in any
 * span is known from what has been covered so far.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/sums/histogram.h"
#include "reader/core/base/workers.h"

#include <stdlib.h>
#include <tracebed/activity.h>

struct tbed_activity {
    struct tbed_activity_row *rows;
    size_t count;
};

struct worker {
    struct block_spans spans;
    struct tbed_histograms histograms;
    struct tbed_histogram gaps; /* of the current stream */
    uint64_t covered_from;      /* what lies behind it has been counted */
    uint64_t resolution;
    bool has_begun, is_out_of_memory;
};

struct job {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_activity_options *options;
    struct tbed_activity_row *rows; /* of all streams; without events: 'last_tick' is below 'first_tick' */
    struct worker *workers;
    unsigned worker_count;
    uint32_t *passages; /* struct look_back */
};

/* ---- One stream ---- */

static void add_gap(struct worker *worker, struct tbed_activity_row *row, uint64_t begin, uint64_t end)
{
    uint64_t ticks = end - begin;
    if (ticks == 0)
        return;
    row->gap_count++;
    row->idle_ticks += ticks;
    if (ticks >= row->longest_gap_ticks) {
        row->longest_gap_ticks = ticks;
        row->longest_gap_tick = begin;
    }
    worker->is_out_of_memory |= !tbed_histogram_add(&worker->histograms, &worker->gaps, ticks);
}

static void take_span(struct worker *worker, struct tbed_activity_row *row, const struct block_span *span)
{
    uint64_t end = span->end_tick - span->end_tick % worker->resolution;
    uint64_t begin = span->begin_tick - span->begin_tick % worker->resolution;
    if (span->kind == TBED_STEP_UNKNOWN)
        return;
    row->span_count++;
    begin = begin < end ? begin : end;
    if (!worker->has_begun && end > worker->covered_from)
        worker->covered_from = end;
    worker->has_begun = true;
    if (end < worker->covered_from) {
        add_gap(worker, row, end, worker->covered_from);
        worker->covered_from = end;
    }
    if (begin < worker->covered_from) {
        row->busy_ticks += worker->covered_from - begin;
        worker->covered_from = begin;
    }
}

/* The time of the stream, cut to the window. False: it has no events there. */
static bool find_times(const struct job *job, struct tbed_activity_row *row, size_t first, size_t count)
{
    struct tbed_trace_info times = {.first_tick = UINT64_MAX};
    const struct tbed_filter *filter = job->options->filter;
    struct tbed_block block;
    for (size_t i = first; i < first + count; i++) {
        if (tbed_event_block_get(job->reader, i, &block) != TBED_OK || block.stream != row->stream)
            continue;
        uint64_t last = tbed_block_last_tick(&block);
        times.first_tick = block.first_tick < times.first_tick ? block.first_tick : times.first_tick;
        times.last_tick = last > times.last_tick ? last : times.last_tick;
    }
    if (times.first_tick > times.last_tick ||
        (filter != NULL &&
         ((filter->has_end && times.first_tick >= filter->end) || times.last_tick < filter->begin)))
        return false;
    tbed_filter_times(filter, &times);
    row->first_tick = times.first_tick;
    row->last_tick = times.last_tick;
    return true;
}

static uint64_t percentile(const struct worker *worker, const struct tbed_activity_row *row, double fraction)
{
    if (row->gap_count == 0)
        return 0;
    uint64_t ticks = tbed_histogram_percentile(&worker->gaps, row->gap_count, fraction);
    return ticks < row->longest_gap_ticks ? ticks : row->longest_gap_ticks;
}

static void finish(struct worker *worker, struct tbed_activity_row *row)
{
    uint64_t first = row->first_tick - row->first_tick % worker->resolution;
    if (first < worker->covered_from)
        add_gap(worker, row, first, worker->covered_from);
    row->p50_gap_ticks = percentile(worker, row, 0.5);
    row->p90_gap_ticks = percentile(worker, row, 0.9);
    row->p99_gap_ticks = percentile(worker, row, 0.99);
    tbed_histogram_free(&worker->histograms, &worker->gaps);
}

static void read_stream(const struct job *job, struct worker *worker, struct tbed_activity_row *row)
{
    size_t first, count;
    tbed_filter_blocks(job->options->filter, job->reader, row->stream, &first, &count);
    if (!find_times(job, row, first, count))
        return;
    worker->covered_from = row->last_tick - row->last_tick % worker->resolution;
    worker->has_begun = false;
    for (size_t i = count; i-- > 0 && !worker->is_out_of_memory;) {
        enum tbed_status status = tbed_block_spans_read(&worker->spans, first + i);
        worker->is_out_of_memory |= status == TBED_ERR_MEMORY;
        for (size_t k = status == TBED_OK ? worker->spans.count : 0; k-- > 0;)
            take_span(worker, row, &worker->spans.items[k]);
    }
    finish(worker, row);
}

static void run_worker(struct tbed_work *work, unsigned index)
{
    const struct job *job = work->context;
    struct worker *worker = &job->workers[index];
    size_t at;
    while (!worker->is_out_of_memory && tbed_work_take(work, &at))
        read_stream(job, worker, &job->rows[at]);
}

/* ---- All streams ---- */

static bool list_streams(struct job *job)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_stream_get(job->reader, count, &stream))
        count++;
    job->rows = calloc(count + 1, sizeof *job->rows);
    for (size_t i = 0; job->rows != NULL && i < count && tbed_stream_get(job->reader, i, &stream); i++)
        if (tbed_filter_has_stream(job->options->filter, stream.stream))
            job->rows[job->work.item_count++] =
                (struct tbed_activity_row){.stream = stream.stream, .first_tick = 1};
    return job->rows != NULL;
}

static bool run(struct job *job, uint64_t resolution)
{
    job->passages = calloc(tbed_event_block_count(job->reader) + 1, sizeof *job->passages);
    if (!list_streams(job) || job->passages == NULL)
        return false;
    job->worker_count = tbed_worker_count(job->options->thread_count, job->work.item_count);
    job->workers = calloc(job->worker_count, sizeof *job->workers);
    if (job->workers == NULL)
        return false;
    for (unsigned i = 0; i < job->worker_count; i++) {
        struct worker *worker = &job->workers[i];
        worker->resolution = resolution > 0 ? resolution : 1;
        worker->spans.reader = worker->spans.back.reader = job->reader;
        worker->spans.back.passages = job->passages;
        worker->spans.filter = job->options->filter;
        worker->spans.has_categories = job->options->filter != NULL;
    }
    job->work.run = run_worker;
    job->work.context = job;
    tbed_work_run(&job->work, job->worker_count);
    bool fine = !tbed_filter_has_failed(job->options->filter);
    for (unsigned i = 0; i < job->worker_count; i++)
        fine &= !job->workers[i].is_out_of_memory;
    return fine;
}

static void close_job(struct job *job)
{
    for (unsigned i = 0; job->workers != NULL && i < job->worker_count; i++) {
        tbed_block_spans_free(&job->workers[i].spans);
        tbed_histogram_free(&job->workers[i].histograms, &job->workers[i].gaps);
        tbed_histograms_close(&job->workers[i].histograms);
    }
    free(job->workers);
    free(job->passages);
    free(job->rows);
}

enum tbed_status tbed_activity_make(struct tbed_reader *reader, const struct tbed_activity_options *given,
                                    struct tbed_activity **activity_ret)
{
    struct tbed_activity_options options;
    struct tbed_trace_info info;
    if (!tbed_options_take(&options, sizeof options, given))
        return TBED_ERR_ARGUMENT;
    struct job job = {.reader = reader, .options = &options};
    struct tbed_activity *activity = calloc(1, sizeof *activity);
    tbed_reader_info(reader, &info);
    bool fine = activity != NULL && run(&job, info.resolution_ticks);
    if (fine) {
        for (size_t i = 0; i < job.work.item_count; i++)
            if (job.rows[i].first_tick <= job.rows[i].last_tick)
                job.rows[activity->count++] = job.rows[i];
        activity->rows = job.rows;
        job.rows = NULL;
        *activity_ret = activity;
    } else {
        tbed_activity_close(activity);
    }
    close_job(&job);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

void tbed_activity_close(struct tbed_activity *activity)
{
    if (activity == NULL)
        return;
    free(activity->rows);
    free(activity);
}

const struct tbed_activity_row *tbed_activity_get(const struct tbed_activity *activity, size_t index)
{
    return index < activity->count ? &activity->rows[index] : NULL;
}
