/*
 * Timelines: workers share the streams and read each from its end to its start, so that the time in which it is in any span
 * is known from what has been covered so far. Sums of counters are kept by stream and added in the order of streams: with
 * floating point, another order would give other sums. Those of different processes are never added.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/shared/labels.h"
#include "reader/analysis/timeline/part_sums.h"
#include "reader/core/base/vector.h"
#include "reader/core/base/workers.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 65536u

struct tbed_timeline {
    struct parts parts;
    struct tbed_timeline_spans *all;
    struct tbed_timeline_row *spans;
    TBED_VECTOR(struct tbed_timeline_counter) counters;
    size_t span_count;
    struct named_texts texts;
};

struct item {
    uint32_t stream, process;
    struct part_table counters;
};

struct worker {
    struct block_spans spans;
    struct part_table table;
    struct part_span *busy;
    struct item *item;     /* being read */
    uint64_t covered_from; /* a span is open from there to where reading began, or to a gap already counted */
    const struct parts *parts;
    bool is_out_of_memory;
};

struct job {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_analysis_options *options;
    struct tbed_timeline *timeline;
    struct item *items;
    struct worker *workers;
    unsigned worker_count;
    uint32_t *passages; /* struct look_back */
};

/* ---- Reading ---- */

static double number(const struct tbed_argument *argument)
{
    return argument->type == TBED_ARG_I64   ? (double)argument->value.i64
           : argument->type == TBED_ARG_F64 ? argument->value.f64
                                            : (double)argument->value.u64;
}

static void take_other(void *context, const struct block_spans *spans, const struct tbed_event *event,
                       size_t word)
{
    struct worker *worker = context;
    (void)spans;
    (void)word;
    if (event->type != TBED_EVENT_COUNTER)
        return;
    struct part_value *sums = tbed_part_table_get(&worker->item->counters, event->id, worker->parts->count);
    worker->is_out_of_memory |= sums == NULL;
    if (sums != NULL)
        tbed_part_value_take(&sums[tbed_parts_of(worker->parts, event->tick)], number(&event->counter_value));
}

static void take_span(struct worker *worker, const struct block_span *span)
{
    const struct parts *parts = worker->parts;
    uint64_t end = span->end_tick, begin = span->begin_tick < end ? span->begin_tick : end;
    if (span->kind == TBED_STEP_UNKNOWN)
        return;
    struct part_span *sums = tbed_part_table_get(&worker->table, span->id, parts->count);
    worker->is_out_of_memory |= sums == NULL;
    if (sums == NULL)
        return;
    sums[tbed_parts_of(parts, begin)].count++;
    worker->busy[tbed_parts_of(parts, begin)].count++;
    tbed_parts_add_time(parts, sums, begin, end);
    tbed_parts_add_time(parts, worker->busy, begin, end < worker->covered_from ? end : worker->covered_from);
    worker->covered_from = begin < worker->covered_from ? begin : worker->covered_from;
}

static void read_stream(const struct job *job, struct worker *worker)
{
    size_t first, count;
    worker->covered_from = UINT64_MAX;
    tbed_filter_blocks(job->options->filter, job->reader, worker->item->stream, &first, &count);
    for (size_t i = count; i-- > 0 && !worker->is_out_of_memory;) {
        enum tbed_status status = tbed_block_spans_read(&worker->spans, first + i);
        worker->is_out_of_memory |= status == TBED_ERR_MEMORY;
        for (size_t k = status == TBED_OK ? worker->spans.count : 0; k-- > 0;)
            take_span(worker, &worker->spans.items[k]);
    }
}

static void run_worker(struct tbed_work *work, unsigned index)
{
    const struct job *job = work->context;
    struct worker *worker = &job->workers[index];
    size_t at;
    while (!worker->is_out_of_memory && tbed_work_take(work, &at)) {
        worker->item = &job->items[at];
        read_stream(job, worker);
    }
}

/* ---- Names ---- */

/* The entries of a table, named and sorted; the caller frees them. NULL: no memory. */
static struct named *name_entries(const struct job *job, const struct part_table *table)
{
    struct named *names = calloc(table->count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < table->count; i++)
        names[i] = (struct named){.id = table->entries[i].id, .thing = table->entries[i].parts};
    if (names != NULL &&
        tbed_labels_resolve(&job->timeline->texts, job->reader, job->options, names, table->count) == TBED_OK)
        return names;
    free(names);
    return NULL;
}

/* ---- Rows ---- */

static struct tbed_timeline_spans *give_spans(const struct parts *parts, struct part_span *sums)
{
    struct tbed_timeline_spans *spans = calloc(parts->count, sizeof *spans);
    tbed_parts_settle(parts, sums);
    for (size_t i = 0; spans != NULL && i < parts->count; i++)
        spans[i] = (struct tbed_timeline_spans){sums[i].count, sums[i].ticks};
    return spans;
}

static struct tbed_timeline_values *give_values(const struct parts *parts, const struct part_value *sums)
{
    struct tbed_timeline_values *values = calloc(parts->count, sizeof *values);
    for (size_t i = 0; values != NULL && i < parts->count; i++)
        if (sums[i].count > 0)
            values[i] = (struct tbed_timeline_values){sums[i].count, sums[i].min,
                                                      sums[i].sum / (double)sums[i].count, sums[i].max};
    return values;
}

static bool make_span_rows(struct job *job, const struct part_table *table)
{
    struct tbed_timeline *timeline = job->timeline;
    struct named *names = name_entries(job, table);
    timeline->spans = calloc(table->count + 1, sizeof *timeline->spans);
    bool fine = names != NULL && timeline->spans != NULL;
    for (size_t i = 0, count; fine && i < table->count; i += count) {
        count = tbed_named_group(names, table->count, i);
        for (size_t k = 1; k < count; k++)
            tbed_part_spans_add(names[i].thing, names[i + k].thing, timeline->parts.count);
        struct tbed_timeline_row *row = &timeline->spans[timeline->span_count++];
        *row = (struct tbed_timeline_row){names[i].text, names[i].nbytes, names[i].id,
                                          give_spans(&timeline->parts, names[i].thing)};
        fine = row->parts != NULL;
    }
    free(names);
    return fine;
}

/* The counters of a process. */
static bool make_counter_rows(struct job *job, const struct part_table *table, uint32_t process)
{
    struct tbed_timeline *timeline = job->timeline;
    struct named *names = name_entries(job, table);
    bool fine = names != NULL;
    for (size_t i = 0, count; fine && i < table->count; i += count) {
        count = tbed_named_group(names, table->count, i);
        for (size_t k = 1; k < count; k++)
            tbed_part_values_add(names[i].thing, names[i + k].thing, timeline->parts.count);
        struct tbed_timeline_values *values = give_values(&timeline->parts, names[i].thing);
        struct tbed_timeline_counter *row = values != NULL ? TBED_VECTOR_PUSH(&timeline->counters) : NULL;
        fine = row != NULL;
        if (fine)
            *row =
                (struct tbed_timeline_counter){names[i].text, names[i].nbytes, names[i].id, process, values};
        else
            free(values);
    }
    free(names);
    return fine;
}

/* Adds the sums of all workers to the first. */
static bool join_spans(const struct job *job)
{
    struct worker *first = &job->workers[0];
    size_t part_count = job->timeline->parts.count;
    bool fine = !first->is_out_of_memory;
    for (unsigned i = 1; i < job->worker_count && fine; i++) {
        struct worker *worker = &job->workers[i];
        fine = !worker->is_out_of_memory;
        tbed_part_spans_add(first->busy, worker->busy, part_count);
        for (size_t k = 0; k < worker->table.count && fine; k++) {
            const struct part_entry *entry = &worker->table.entries[k];
            struct part_span *sums = tbed_part_table_get(&first->table, entry->id, part_count);
            fine = sums != NULL;
            if (fine)
                tbed_part_spans_add(sums, entry->parts, part_count);
        }
    }
    return fine;
}

static bool add_counters(const struct item *item, struct part_table *all, size_t part_count)
{
    for (size_t i = 0; i < item->counters.count; i++) {
        const struct part_entry *entry = &item->counters.entries[i];
        struct part_value *sums = tbed_part_table_get(all, entry->id, part_count);
        if (sums == NULL)
            return false;
        tbed_part_values_add(sums, entry->parts, part_count);
    }
    return true;
}

/* By process, then by stream. */
static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static int compare_counters(const void *left, const void *right)
{
    const struct tbed_timeline_counter *a = left, *b = right;
    int order = tbed_text_order(a->name, a->name_nbytes, b->name, b->name_nbytes);
    return order != 0 ? order : a->process < b->process ? -1 : a->process > b->process;
}

static bool make_counters(struct job *job)
{
    struct tbed_timeline *timeline = job->timeline;
    size_t count = job->work.item_count, end;
    bool fine = true;
    if (count > 1)
        qsort(job->items, count, sizeof *job->items, compare_items);
    for (size_t i = 0; fine && i < count; i = end) {
        struct part_table table = {.item_nbytes = sizeof(struct part_value)};
        for (end = i; fine && end < count && job->items[end].process == job->items[i].process; end++)
            fine = add_counters(&job->items[end], &table, timeline->parts.count);
        fine = fine && (table.count == 0 || make_counter_rows(job, &table, job->items[i].process));
        tbed_part_table_free(&table);
    }
    if (timeline->counters.count > 1)
        qsort(timeline->counters.items, timeline->counters.count, sizeof *timeline->counters.items,
              compare_counters);
    return fine;
}

static bool make_rows(struct job *job)
{
    struct tbed_timeline *timeline = job->timeline;
    bool fine = join_spans(job) && make_span_rows(job, &job->workers[0].table) && make_counters(job);
    if (fine)
        timeline->all = give_spans(&timeline->parts, job->workers[0].busy);
    return fine && timeline->all != NULL;
}

/* ---- The entire job ---- */

static bool open_worker(struct worker *worker, const struct job *job)
{
    worker->parts = &job->timeline->parts;
    worker->spans.reader = worker->spans.back.reader = job->reader;
    worker->spans.back.passages = job->passages;
    worker->spans.filter = job->options->filter;
    worker->spans.has_categories = job->options->filter != NULL;
    worker->spans.other = take_other;
    worker->spans.other_context = worker;
    worker->table.item_nbytes = sizeof(struct part_span);
    worker->busy = calloc(worker->parts->count, sizeof *worker->busy);
    return worker->busy != NULL;
}

static bool list_items(struct job *job)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_stream_get(job->reader, count, &stream))
        count++;
    job->items = calloc(count + 1, sizeof *job->items);
    for (size_t i = 0; job->items != NULL && i < count && tbed_stream_get(job->reader, i, &stream); i++)
        if (tbed_filter_sums_stream(job->options->filter, job->reader, stream.stream))
            job->items[job->work.item_count++] =
                (struct item){stream.stream, stream.process, {.item_nbytes = sizeof(struct part_value)}};
    return job->items != NULL;
}

static bool run(struct job *job)
{
    job->passages = calloc(tbed_event_block_count(job->reader) + 1, sizeof *job->passages);
    if (!list_items(job) || job->passages == NULL)
        return false;
    job->worker_count = tbed_worker_count(job->options->thread_count, job->work.item_count);
    job->workers = calloc(job->worker_count, sizeof *job->workers);
    if (job->workers == NULL)
        return false;
    for (unsigned i = 0; i < job->worker_count; i++)
        if (!open_worker(&job->workers[i], job))
            return false;
    job->work.run = run_worker;
    job->work.context = job;
    tbed_work_run(&job->work, job->worker_count);
    return make_rows(job) && !tbed_filter_has_failed(job->options->filter);
}

static void close_job(struct job *job)
{
    for (unsigned i = 0; job->workers != NULL && i < job->worker_count; i++) {
        tbed_block_spans_free(&job->workers[i].spans);
        tbed_part_table_free(&job->workers[i].table);
        free(job->workers[i].busy);
    }
    for (size_t i = 0; job->items != NULL && i < job->work.item_count; i++)
        tbed_part_table_free(&job->items[i].counters);
    free(job->workers);
    free(job->items);
    free(job->passages);
}

static struct parts divide(const struct tbed_reader *reader, const struct tbed_analysis_options *options)
{
    struct tbed_trace_info info;
    size_t count = options->moment_count;
    tbed_reader_info(reader, &info);
    tbed_filter_times(options->filter, &info);
    uint64_t time = info.last_tick > info.first_tick ? info.last_tick - info.first_tick : 0;
    return (struct parts){.first_tick = info.first_tick,
                          .each = time / count + (time / count < UINT64_MAX),
                          .count = count,
                          .resolution = info.resolution_ticks};
}

enum tbed_status tbed_timeline_make(struct tbed_reader *reader, const struct tbed_analysis_options *given,
                                    struct tbed_timeline **timeline_ret)
{
    struct tbed_analysis_options options;
    if (tbed_analysis_options_load(given, &options) != TBED_OK || options.moment_count == 0 ||
        options.moment_count > PARTS_MAX || options.by != TBED_BY_LABEL)
        return TBED_ERR_ARGUMENT;
    struct tbed_timeline *timeline = calloc(1, sizeof *timeline);
    struct job job = {.reader = reader, .options = &options, .timeline = timeline};
    if (timeline == NULL)
        return TBED_ERR_MEMORY;
    timeline->parts = divide(reader, &options);
    bool fine = run(&job);
    close_job(&job);
    if (fine)
        *timeline_ret = timeline;
    else
        tbed_timeline_close(timeline);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

void tbed_timeline_close(struct tbed_timeline *timeline)
{
    if (timeline == NULL)
        return;
    for (size_t i = 0; i < timeline->span_count; i++)
        free((void *)timeline->spans[i].parts);
    for (size_t i = 0; i < timeline->counters.count; i++)
        free((void *)timeline->counters.items[i].parts);
    free(timeline->spans);
    tbed_vector_free(&timeline->counters.vector);
    free(timeline->all);
    tbed_named_texts_free(&timeline->texts);
    free(timeline);
}

/* ---- Queries ---- */

size_t tbed_timeline_part_count(const struct tbed_timeline *timeline)
{
    return timeline->parts.count;
}

uint64_t tbed_timeline_tick(const struct tbed_timeline *timeline, size_t part)
{
    return tbed_parts_tick(&timeline->parts, part);
}

const struct tbed_timeline_spans *tbed_timeline_all(const struct tbed_timeline *timeline)
{
    return timeline->all;
}

const struct tbed_timeline_row *tbed_timeline_span(const struct tbed_timeline *timeline, size_t index)
{
    return index < timeline->span_count ? &timeline->spans[index] : NULL;
}

const struct tbed_timeline_counter *tbed_timeline_counter_get(const struct tbed_timeline *timeline,
                                                              size_t index)
{
    return index < timeline->counters.count ? &timeline->counters.items[index] : NULL;
}
