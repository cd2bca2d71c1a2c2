/*
 * Activity: workers share the streams and read each from its end to its start, so that the time in which it is in any
 * span is known from what has been covered so far. This needs spans in the order of their ends. A stream in which they are
 * not, because of LEAVE events or ticks that decrease, is read again, and its busy stretches of time are kept.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/sums/histogram.h"
#include "reader/core/base/vector.h"
#include "reader/core/base/workers.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/activity.h>

struct tbed_activity {
    struct tbed_activity_row *rows;
    size_t count;
};

/* The stream was in spans all the time from 'begin' to 'end', which may be the same. */
struct stretch {
    uint64_t begin, end;
};

struct worker {
    struct block_spans spans;
    TBED_VECTOR(struct stretch) stretches; /* of a stream that is read again, the latest first */
    struct tbed_histograms histograms;
    struct tbed_histogram gaps; /* of the current stream */
    uint64_t covered_from;      /* what lies behind it has been counted */
    uint64_t resolution;
    uint64_t last_end; /* of the span before */
    bool has_begun, is_unordered;
    enum tbed_status status;
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
    if (!tbed_histogram_add(&worker->histograms, &worker->gaps, ticks))
        worker->status = TBED_ERR_MEMORY;
}

/* What lies before the stretches of time that have been taken, or overlaps the earliest of them. */
static void take_stretch(struct worker *worker, struct tbed_activity_row *row, struct stretch stretch)
{
    if (!worker->has_begun && stretch.end > worker->covered_from)
        worker->covered_from = stretch.end;
    worker->is_unordered |= worker->has_begun && stretch.end > worker->last_end;
    worker->last_end = stretch.end;
    worker->has_begun = true;
    if (stretch.end < worker->covered_from) {
        add_gap(worker, row, stretch.end, worker->covered_from);
        worker->covered_from = stretch.end;
    }
    if (stretch.begin < worker->covered_from) {
        row->busy_ticks += worker->covered_from - stretch.begin;
        worker->covered_from = stretch.begin;
    }
}

/* Keeps a stretch in its place, as one with those that it overlaps. */
static void keep_stretch(struct worker *worker, struct tbed_activity_row *row, struct stretch stretch)
{
    size_t count = worker->stretches.count, first, behind = count;
    (void)row;
    struct stretch *items = worker->stretches.items;
    while (behind > 0 && items[behind - 1].end < stretch.begin)
        behind--;
    for (first = behind; first > 0 && items[first - 1].begin <= stretch.end; first--) {
        const struct stretch *other = &items[first - 1];
        if (stretch.begin == stretch.end && other->begin == other->end)
            break; /* the same point, or it divides a gap */
        stretch.begin = other->begin < stretch.begin ? other->begin : stretch.begin;
        stretch.end = other->end > stretch.end ? other->end : stretch.end;
    }
    if (first == behind && TBED_VECTOR_PUSH(&worker->stretches) == NULL) {
        worker->status = TBED_ERR_MEMORY;
        return;
    }
    items = worker->stretches.items;
    memmove(&items[first + 1], &items[behind], (count - behind) * sizeof *items);
    items[first] = stretch;
    worker->stretches.count = first + 1 + count - behind;
}

typedef void (*take_function)(struct worker *worker, struct tbed_activity_row *row, struct stretch stretch);

/* The time of the stream, cut to the window. False: it has no events there. */
static bool find_times(const struct job *job, struct tbed_activity_row *row, size_t first, size_t count)
{
    struct tbed_trace_info times = {.first_tick = UINT64_MAX};
    const struct tbed_filter *filter = job->options->filter;
    struct tbed_block block;
    for (size_t i = first; i < first + count; i++) {
        struct tbed_lease lease;
        tbed_lease_begin(&lease, job->reader->map.packed);
        bool is_there =
            tbed_event_block_get(job->reader, i, &block) == TBED_OK && block.stream == row->stream;
        uint64_t last = is_there ? tbed_block_last_tick(&block) : 0;
        tbed_lease_end(&lease);
        if (!is_there)
            continue;
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

/* Gives all spans of some blocks to 'take', the last one first. */
static void read_spans(struct worker *worker, struct tbed_activity_row *row, size_t first, size_t count,
                       take_function take)
{
    for (size_t i = count; i-- > 0 && worker->status == TBED_OK;) {
        enum tbed_status status = tbed_block_spans_read(&worker->spans, first + i);
        if (status == TBED_ERR_MEMORY || status == TBED_ERR_CANCELLED)
            worker->status = status;
        for (size_t k = status == TBED_OK ? worker->spans.count : 0; k-- > 0 && worker->status == TBED_OK;) {
            const struct block_span *span = &worker->spans.items[k];
            uint64_t end = span->end_tick - span->end_tick % worker->resolution;
            uint64_t begin = span->begin_tick - span->begin_tick % worker->resolution;
            if (span->kind == TBED_STEP_UNKNOWN)
                continue;
            row->span_count++;
            take(worker, row, (struct stretch){begin < end ? begin : end, end});
        }
    }
}

static void begin_stream(struct worker *worker, const struct tbed_activity_row *row)
{
    worker->covered_from = row->last_tick - row->last_tick % worker->resolution;
    worker->has_begun = worker->is_unordered = false;
}

/* Reads a stream whose spans are not in the order of their ends. */
static void read_again(struct worker *worker, struct tbed_activity_row *row, size_t first, size_t count)
{
    *row = (struct tbed_activity_row){
        .stream = row->stream, .first_tick = row->first_tick, .last_tick = row->last_tick};
    tbed_histogram_free(&worker->histograms, &worker->gaps);
    worker->stretches.count = 0;
    read_spans(worker, row, first, count, keep_stretch);
    begin_stream(worker, row);
    for (size_t i = 0; i < worker->stretches.count; i++)
        take_stretch(worker, row, worker->stretches.items[i]);
}

static void read_stream(const struct job *job, struct worker *worker, struct tbed_activity_row *row)
{
    size_t first, count;
    tbed_filter_blocks(job->options->filter, job->reader, row->stream, &first, &count);
    if (!find_times(job, row, first, count))
        return;
    begin_stream(worker, row);
    read_spans(worker, row, first, count, take_stretch);
    if (worker->is_unordered && worker->status == TBED_OK)
        read_again(worker, row, first, count);
    finish(worker, row);
}

static void run_worker(struct tbed_work *work, unsigned index)
{
    const struct job *job = work->context;
    struct worker *worker = &job->workers[index];
    size_t at;
    while (worker->status == TBED_OK && tbed_work_take(work, &at))
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
        if (tbed_filter_sums_stream(job->options->filter, job->reader, stream.stream))
            job->rows[job->work.item_count++] =
                (struct tbed_activity_row){.stream = stream.stream, .first_tick = 1};
    return job->rows != NULL;
}

static enum tbed_status run(struct job *job, uint64_t resolution)
{
    job->passages = calloc(tbed_event_block_count(job->reader) + 1, sizeof *job->passages);
    if (!list_streams(job) || job->passages == NULL)
        return TBED_ERR_MEMORY;
    job->worker_count = tbed_worker_count(job->options->thread_count, job->work.item_count);
    job->workers = calloc(job->worker_count, sizeof *job->workers);
    if (job->workers == NULL)
        return TBED_ERR_MEMORY;
    for (unsigned i = 0; i < job->worker_count; i++) {
        struct worker *worker = &job->workers[i];
        worker->resolution = resolution > 0 ? resolution : 1;
        worker->spans.reader = worker->spans.back.reader = job->reader;
        worker->spans.back.passages = job->passages;
        worker->spans.filter = job->options->filter;
        worker->spans.is_cancelled = job->options->is_cancelled;
        worker->spans.has_categories = job->options->filter != NULL;
    }
    job->work.run = run_worker;
    job->work.context = job;
    tbed_work_run(&job->work, job->worker_count);
    enum tbed_status status = tbed_filter_has_failed(job->options->filter) ? TBED_ERR_MEMORY : TBED_OK;
    for (unsigned i = 0; i < job->worker_count; i++)
        if (job->workers[i].status != TBED_OK && status != TBED_ERR_MEMORY)
            status = job->workers[i].status;
    return status;
}

static void close_job(struct job *job)
{
    for (unsigned i = 0; job->workers != NULL && i < job->worker_count; i++) {
        tbed_block_spans_free(&job->workers[i].spans);
        tbed_histogram_free(&job->workers[i].histograms, &job->workers[i].gaps);
        tbed_histograms_close(&job->workers[i].histograms);
        tbed_vector_free(&job->workers[i].stretches.vector);
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
    enum tbed_status status = activity != NULL ? run(&job, info.resolution_ticks) : TBED_ERR_MEMORY;
    if (status == TBED_OK) {
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
    return status;
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
