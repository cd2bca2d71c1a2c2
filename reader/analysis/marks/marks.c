/*
 * Marks: workers share the streams. Each reads the blocks of a stream, or a sample of them, and joins events by column.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/marks/mark_rows.h"
#include "reader/core/base/workers.h"

#include <pthread.h>

struct tbed_marks {
    struct tbed_marks_info info;
    mark_vector marks;
    struct counter {
        struct counter_key key;
        struct tbed_mark_values *columns;
    } * counters;
    size_t counter_count;
};

struct stream_marks {
    uint32_t stream, process;
    size_t first, count; /* its blocks in the window */
    uint64_t before;     /* blocks of the streams before it */
    bool is_read;
    mark_vector marks;
};

struct worker {
    struct job *job;
    struct block_spans spans;
    struct mark_slots slots;
    struct counter_table counters;
    uint32_t process; /* of the stream that is being read */
    uint64_t read_count, bad_count;
    enum tbed_status status;
};

struct job {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_marks_options *options;
    uint64_t begin_tick, end_tick;
    uint64_t column_ticks; /* as asked for */
    pthread_mutex_t lock;  /* of the next */
    uint64_t wide_ticks;   /* columns of marks, of all streams that were read */
    size_t mark_count;     /* of these */
    uint64_t block_count, step;
    struct stream_marks *streams;
    struct worker *workers;
    unsigned worker_count;
    uint32_t *passages; /* struct look_back */
};

/* ---- Events ---- */

static double number_of(const struct tbed_argument *value)
{
    switch (value->type) {
    case TBED_ARG_I64:
        return (double)value->value.i64;
    case TBED_ARG_F64:
        return value->value.f64;
    default:
        return (double)value->value.u64;
    }
}

static void take_counter(struct worker *worker, const struct tbed_event *event)
{
    const struct job *job = worker->job;
    double value = number_of(&event->counter_value);
    uint64_t ticks = event->tick > job->begin_tick ? event->tick - job->begin_tick : 0;
    struct counter_sums sums = {1, value, value, value};
    struct counter_key key = {worker->process, event->id};
    tbed_counter_table_add(&worker->counters, key, (size_t)(ticks / job->column_ticks), &sums);
}

static enum tbed_mark_kind kind_of_message(const struct tbed_event *event)
{
    switch (event->of.message.severity) {
    case TBED_SEVERITY_ERROR:
        return TBED_MARK_ERROR;
    case TBED_SEVERITY_WARNING:
        return TBED_MARK_WARNING;
    default:
        return TBED_MARK_MESSAGE;
    }
}

static void take_event(void *context, const struct block_spans *spans, const struct tbed_event *event,
                       size_t word)
{
    struct worker *worker = context;
    struct tbed_mark_row mark = {.stream = spans->block.stream,
                                 .first_tick = event->tick,
                                 .last_tick = event->tick,
                                 .count = 1,
                                 .id = event->id};
    (void)word;
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        mark.kind = TBED_MARK_INSTANT;
        break;
    case TBED_EVENT_MESSAGE:
        mark.kind = kind_of_message(event);
        break;
    case TBED_EVENT_GAP:
        mark.kind = TBED_MARK_DROP;
        mark.count = event->of.gap.count;
        mark.id = TBED_ID_INVALID;
        break;
    case TBED_EVENT_COUNTER:
        take_counter(worker, event);
        return;
    default:
        return;
    }
    tbed_mark_slots_add(&worker->slots, &mark);
}

/* ---- Streams ---- */

static void widen_all(struct job *job)
{
    job->wide_ticks *= 2;
    job->mark_count = 0;
    for (size_t i = 0; i < job->work.item_count; i++) {
        struct stream_marks *stream = &job->streams[i];
        if (!stream->is_read)
            continue;
        tbed_marks_widen(&stream->marks, job->begin_tick, job->wide_ticks);
        job->mark_count += stream->marks.count;
    }
}

/* Streams with too many marks would not have fewer together with others, so wider columns are certain. */
static void finish_stream(struct job *job, struct stream_marks *stream)
{
    pthread_mutex_lock(&job->lock);
    if (job->wide_ticks != job->column_ticks)
        tbed_marks_widen(&stream->marks, job->begin_tick, job->wide_ticks);
    stream->is_read = true;
    job->mark_count += stream->marks.count;
    while (job->options->mark_max != 0 && job->mark_count > job->options->mark_max &&
           job->wide_ticks <= (job->end_tick - job->begin_tick) / 2)
        widen_all(job);
    pthread_mutex_unlock(&job->lock);
}

static void read_stream(struct job *job, struct worker *worker, struct stream_marks *stream)
{
    worker->process = stream->process;
    worker->slots.begin_tick = job->begin_tick;
    worker->slots.column_ticks = job->column_ticks;
    for (size_t i = 0; i < stream->count && worker->status == TBED_OK; i++) {
        if ((stream->before + i) % job->step != 0)
            continue;
        enum tbed_status status = tbed_block_spans_read(&worker->spans, stream->first + i);
        worker->read_count++;
        worker->bad_count += status != TBED_OK || worker->spans.is_damaged;
        if (status == TBED_ERR_MEMORY || worker->counters.is_out_of_memory)
            worker->status = TBED_ERR_MEMORY;
        else if (tbed_is_cancelled(job->options->is_cancelled))
            worker->status = TBED_ERR_CANCELLED;
    }
    if (!tbed_mark_slots_take(&worker->slots, &stream->marks))
        worker->status = TBED_ERR_MEMORY;
    finish_stream(job, stream);
}

static void run_worker(struct tbed_work *work, unsigned index)
{
    struct job *job = work->context;
    struct worker *worker = &job->workers[index];
    size_t at;
    while (worker->status == TBED_OK && tbed_work_take(work, &at))
        read_stream(job, worker, &job->streams[at]);
}

static bool list_streams(struct job *job)
{
    struct tbed_stream_info info;
    size_t count = 0;
    while (tbed_stream_get(job->reader, count, &info))
        count++;
    job->streams = calloc(count + 1, sizeof *job->streams);
    for (size_t i = 0; job->streams != NULL && i < count && tbed_stream_get(job->reader, i, &info); i++) {
        struct stream_marks *stream = &job->streams[job->work.item_count];
        if (!tbed_filter_has_stream(job->options->filter, info.stream))
            continue;
        stream->stream = info.stream;
        stream->process = info.process;
        stream->before = job->block_count;
        tbed_filter_blocks(job->options->filter, job->reader, info.stream, &stream->first, &stream->count);
        job->block_count += stream->count;
        job->work.item_count++;
    }
    return job->streams != NULL;
}

static void find_times(struct job *job)
{
    tbed_filter_window(job->options->filter, job->reader, &job->begin_tick, &job->end_tick);
    uint64_t ticks = job->end_tick - job->begin_tick, columns = job->options->column_count;
    job->wide_ticks = job->column_ticks = ticks / columns + (ticks % columns != 0);
}

static bool open_worker(struct job *job, struct worker *worker)
{
    worker->job = job;
    worker->spans.reader = worker->spans.back.reader = job->reader;
    worker->spans.back.passages = job->passages;
    worker->spans.filter = job->options->filter;
    worker->spans.other = take_event;
    worker->spans.other_context = worker;
    worker->counters.column_count = job->options->column_count;
    return tbed_mark_slots_open(&worker->slots, job->options->column_count);
}

static enum tbed_status run(struct job *job)
{
    job->passages = calloc(tbed_event_block_count(job->reader) + 1, sizeof *job->passages);
    if (!list_streams(job) || job->passages == NULL)
        return TBED_ERR_MEMORY;
    job->step = job->options->block_max != 0 && job->block_count > job->options->block_max
                    ? (job->block_count - 1) / job->options->block_max + 1
                    : 1;
    job->worker_count = tbed_worker_count(job->options->thread_count, job->work.item_count);
    job->workers = calloc(job->worker_count, sizeof *job->workers);
    bool fine = job->workers != NULL;
    for (unsigned i = 0; fine && i < job->worker_count; i++)
        fine = open_worker(job, &job->workers[i]);
    if (!fine)
        return TBED_ERR_MEMORY;
    job->work.run = run_worker;
    job->work.context = job;
    tbed_work_run(&job->work, job->worker_count);
    enum tbed_status status = tbed_filter_has_failed(job->options->filter) ? TBED_ERR_MEMORY : TBED_OK;
    for (unsigned i = 0; i < job->worker_count; i++)
        if (job->workers[i].status != TBED_OK && status != TBED_ERR_MEMORY)
            status = job->workers[i].status;
    return status;
}

/* ---- The result ---- */

static enum tbed_status collect_marks(struct tbed_marks *marks, struct job *job)
{
    for (size_t i = 0; i < job->work.item_count; i++) {
        mark_vector *own = &job->streams[i].marks;
        struct tbed_mark_row *to = own->count > 0 ? TBED_VECTOR_EXTEND(&marks->marks, own->count) : NULL;
        if (own->count > 0 && to == NULL)
            return TBED_ERR_MEMORY;
        if (own->count > 0)
            memcpy(to, own->items, own->count * sizeof *to);
        tbed_vector_free(&own->vector);
    }
    marks->info.column_ticks = job->wide_ticks;
    return TBED_OK;
}

static int compare_counters(const void *left, const void *right)
{
    const struct counter *a = left, *b = right;
    if (a->key.id != b->key.id)
        return a->key.id < b->key.id ? -1 : 1;
    return a->key.process < b->key.process ? -1 : a->key.process > b->key.process;
}

static enum tbed_status give_counter(struct tbed_marks *marks, const struct counter_table *table, size_t at)
{
    struct counter *counter = &marks->counters[marks->counter_count];
    counter->key = table->keys[at];
    counter->columns = calloc(table->column_count, sizeof *counter->columns);
    if (counter->columns == NULL)
        return TBED_ERR_MEMORY;
    marks->counter_count++;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct counter_sums *sums = &table->columns[at][i];
        if (sums->count > 0)
            counter->columns[i] =
                (struct tbed_mark_values){sums->count, sums->min, sums->sum / (double)sums->count, sums->max};
    }
    return TBED_OK;
}

static enum tbed_status collect_counters(struct tbed_marks *marks, struct job *job)
{
    struct counter_table *all = &job->workers[0].counters;
    for (unsigned i = 1; i < job->worker_count; i++) {
        const struct counter_table *more = &job->workers[i].counters;
        for (size_t k = 0; k < more->count; k++)
            for (size_t column = 0; column < more->column_count; column++)
                tbed_counter_table_add(all, more->keys[k], column, &more->columns[k][column]);
        all->left_out += more->left_out;
    }
    marks->counters = calloc(all->count + 1, sizeof *marks->counters);
    enum tbed_status status = marks->counters != NULL && !all->is_out_of_memory ? TBED_OK : TBED_ERR_MEMORY;
    for (size_t i = 0; status == TBED_OK && i < all->count; i++)
        status = give_counter(marks, all, i);
    if (status == TBED_OK && marks->counter_count > 1)
        qsort(marks->counters, marks->counter_count, sizeof *marks->counters, compare_counters);
    marks->info.counters_left_out = all->left_out;
    return status;
}

static enum tbed_status collect(struct tbed_marks *marks, struct job *job)
{
    marks->info = (struct tbed_marks_info){.begin_tick = job->begin_tick,
                                           .end_tick = job->end_tick,
                                           .counter_column_ticks = job->column_ticks,
                                           .counter_column_count = job->options->column_count,
                                           .block_count = job->block_count};
    for (unsigned i = 0; i < job->worker_count; i++) {
        marks->info.read_count += job->workers[i].read_count;
        marks->info.bad_block_count += job->workers[i].bad_count;
    }
    enum tbed_status status = collect_marks(marks, job);
    return status == TBED_OK ? collect_counters(marks, job) : status;
}

static void close_job(struct job *job)
{
    for (unsigned i = 0; job->workers != NULL && i < job->worker_count; i++) {
        tbed_block_spans_free(&job->workers[i].spans);
        tbed_counter_table_free(&job->workers[i].counters);
        free(job->workers[i].slots.slots);
    }
    for (size_t i = 0; job->streams != NULL && i < job->work.item_count; i++)
        tbed_vector_free(&job->streams[i].marks.vector);
    free(job->workers);
    free(job->streams);
    free(job->passages);
    pthread_mutex_destroy(&job->lock);
}

enum tbed_status tbed_marks_make(struct tbed_reader *reader, const struct tbed_marks_options *given,
                                 struct tbed_marks **marks_ret)
{
    struct tbed_marks_options options;
    if (!tbed_options_take(&options, sizeof options, given) || options.column_count == 0 ||
        options.column_count > TBED_MARKS_COLUMNS_MAX)
        return TBED_ERR_ARGUMENT;
    struct job job = {.reader = reader, .options = &options};
    struct tbed_marks *marks = calloc(1, sizeof *marks);
    find_times(&job);
    pthread_mutex_init(&job.lock, NULL);
    enum tbed_status status = marks != NULL ? run(&job) : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        status = collect(marks, &job);
    if (status == TBED_OK)
        *marks_ret = marks;
    else
        tbed_marks_close(marks);
    close_job(&job);
    return status;
}

void tbed_marks_close(struct tbed_marks *marks)
{
    if (marks == NULL)
        return;
    for (size_t i = 0; i < marks->counter_count; i++)
        free(marks->counters[i].columns);
    free(marks->counters);
    tbed_vector_free(&marks->marks.vector);
    free(marks);
}

const struct tbed_mark_row *tbed_marks_get(const struct tbed_marks *marks, size_t index)
{
    return index < marks->marks.count ? &marks->marks.items[index] : NULL;
}

bool tbed_marks_counter_sized(const struct tbed_marks *marks, size_t index,
                              struct tbed_mark_counter *counter_ret, size_t counter_nbytes)
{
    if (index >= marks->counter_count)
        return false;
    const struct counter *found = &marks->counters[index];
    struct tbed_mark_counter counter = {found->key.id, found->key.process, found->columns};
    tbed_sized_give(counter_ret, counter_nbytes, &counter, sizeof counter);
    return true;
}

void tbed_marks_info_sized(const struct tbed_marks *marks, struct tbed_marks_info *info_ret,
                           size_t info_nbytes)
{
    tbed_sized_give(info_ret, info_nbytes, &marks->info, sizeof marks->info);
}
