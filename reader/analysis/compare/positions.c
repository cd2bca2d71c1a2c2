/*
 * How much the time of each position varies between runs that do the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/compare/point_list.h"
#include "reader/analysis/filter/filter.h"
#include "reader/analysis/stacks/stacks_parts.h"
#include "reader/core/base/number_text.h"

#include <stdlib.h>
#include <string.h>

struct position {
    uint64_t from, to, inside; /* with labels of the texts of all runs */
    uint64_t min, max;
    double mean, squares; /* the sum of squared distances from the mean */
};

/* The positions of a thread, in order of time. */
struct thread {
    struct position *positions; /* of the first run */
    size_t count;
    size_t shared; /* the same in all runs so far */
};

struct tbed_positions {
    struct stack_labels texts; /* of all runs; opened with the first reader, which it does not use */
    struct thread *threads;    /* of the first run; streams without points are left out */
    size_t thread_count;
    struct tbed_divergence *divergences; /* by run */
    size_t run_count;
};

/* A run being added. */
struct run {
    struct tbed_positions *all;
    struct tbed_reader *reader;
    const struct tbed_stacks_options *options;
    struct stack_labels labels; /* of this run's ids */
    struct stack_ids ids;
    struct point_items items; /* of the current stream */
    struct point_intervals intervals;
    uint64_t resolution;
    bool is_time;
    size_t thread; /* which one comes next */
    struct tbed_divergence divergence;
};

/* ---- Points of a stream ---- */

static uint64_t cut(const struct run *run, uint64_t tick)
{
    return tick - tick % run->resolution;
}

static enum tbed_status take_step(struct run *run, const struct tbed_step *step)
{
    bool is_span = step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN;
    bool is_instant = step->kind == TBED_STEP_EVENT && step->event->type == TBED_EVENT_INSTANT;
    if (!is_span && !is_instant)
        return TBED_OK;
    struct point_item item = {.is_instant = is_instant};
    item.begin_tick = cut(run, is_instant ? step->event->tick : step->span->begin_tick);
    item.end_tick = cut(run, is_instant ? step->event->tick : step->span->end_tick);
    if (item.begin_tick > item.end_tick)
        item.begin_tick = item.end_tick; /* no time, at its end */
    enum tbed_status status = tbed_stack_id_label(&run->ids, &run->labels,
                                                  is_instant ? step->event->id : step->span->id, &item.label);
    if (status == TBED_OK && !tbed_point_items_add(&run->items, &item))
        status = TBED_ERR_MEMORY;
    return status;
}

/* Places in code get their labels once for each stream; the numbers of the last one mean nothing any more. */
static void forget_ids(struct run *run)
{
    free(run->ids.slots);
    free(run->labels.place_ids.slots);
    run->ids = run->labels.place_ids = (struct stack_ids){0};
    run->labels.place_count = 0;
}

static enum tbed_status read_stream(struct run *run, uint32_t stream)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    run->items.count = 0;
    forget_ids(run);
    enum tbed_status status =
        tbed_assembler_open_filtered(run->reader, &stream, 1, run->options->filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (status == TBED_OK && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        status = take_step(run, &step);
    tbed_assembler_close(assembler);
    if (status == TBED_END)
        status = tbed_stack_labels_name(&run->labels);
    if (status == TBED_OK && !tbed_point_intervals_make(&run->items, &run->intervals))
        status = TBED_ERR_MEMORY;
    return status;
}

/* ---- Labels: from the run's numbers to those of all runs ---- */

static enum tbed_status translate(struct run *run, uint32_t label, uint32_t *label_ret)
{
    const struct stack_label *text = &run->labels.items[tbed_stack_label_named(&run->labels, label)];
    return tbed_stack_label_intern(&run->all->texts, text->text, text->nbytes, label_ret);
}

static enum tbed_status translate_point(struct run *run, uint64_t *point)
{
    uint32_t label = 0;
    enum tbed_status status = translate(run, point_label(*point), &label);
    *point = point_make(point_kind(*point), label);
    return status;
}

static enum tbed_status translate_interval(struct run *run, struct point_interval *interval)
{
    uint32_t label = 0;
    enum tbed_status status = translate_point(run, &interval->from);
    if (status == TBED_OK)
        status = translate_point(run, &interval->to);
    if (status != TBED_OK || interval->inside == POINT_NONE)
        return status;
    status = translate(run, (uint32_t)interval->inside, &label);
    interval->inside = label;
    return status;
}

/* ---- Adding up ---- */

static uint64_t value_of(const struct run *run, uint64_t ticks)
{
    return run->is_time ? tbed_round_u64(tbed_tick_span_to_ns(run->reader, ticks)) : ticks;
}

static void add_value(struct position *position, size_t run_count, uint64_t value)
{
    double distance = (double)value - position->mean;
    position->mean += distance / (double)(run_count + 1);
    position->squares += distance * ((double)value - position->mean);
    position->min = run_count == 0 || value < position->min ? value : position->min;
    position->max = run_count == 0 || value > position->max ? value : position->max;
}

static bool is_same(const struct position *position, const struct point_interval *interval)
{
    return position->from == interval->from && position->to == interval->to &&
           position->inside == interval->inside;
}

/* The first run says which positions there are. */
static bool begin_thread(struct run *run)
{
    struct tbed_positions *all = run->all;
    struct thread *threads = realloc(all->threads, (all->thread_count + 1) * sizeof *threads);
    if (threads == NULL)
        return false;
    all->threads = threads;
    struct thread *thread = &threads[all->thread_count];
    *thread = (struct thread){.count = run->intervals.count, .shared = run->intervals.count};
    thread->positions = calloc(thread->count + 1, sizeof *thread->positions);
    if (thread->positions == NULL)
        return false;
    for (size_t i = 0; i < thread->count; i++) {
        const struct point_interval *interval = &run->intervals.items[i];
        thread->positions[i] =
            (struct position){.from = interval->from, .to = interval->to, .inside = interval->inside};
    }
    all->thread_count++;
    return true;
}

/* Where two lists first differ. 'found' is the interval there, or NULL at the end. */
static void diverge(struct run *run, size_t thread, size_t number, const struct point_interval *found)
{
    struct tbed_divergence *divergence = &run->divergence;
    if (thread < run->all->thread_count && number < run->all->threads[thread].shared)
        run->all->threads[thread].shared = number;
    if (divergence->differs)
        return;
    const struct thread *expected = thread < run->all->thread_count ? &run->all->threads[thread] : NULL;
    const struct position *position =
        expected != NULL && number < expected->count ? &expected->positions[number] : NULL;
    bool from_differs = position != NULL && found != NULL && position->from != found->from;
    uint64_t wanted = position == NULL ? POINT_NONE : from_differs ? position->from : position->to;
    uint64_t is = found == NULL ? POINT_NONE : from_differs ? found->from : found->to;
    *divergence = (struct tbed_divergence){.differs = true, .thread = thread, .number = number};
    divergence->expected = point_kind(wanted);
    divergence->found = point_kind(is);
    if (wanted != POINT_NONE)
        divergence->expected_label = run->all->texts.items[point_label(wanted)].text;
    if (is != POINT_NONE)
        divergence->found_label = run->all->texts.items[point_label(is)].text;
}

static void add_thread(struct run *run)
{
    struct tbed_positions *all = run->all;
    size_t number = 0, count = run->intervals.count;
    struct thread *thread = run->thread < all->thread_count ? &all->threads[run->thread] : NULL;
    for (; thread != NULL && number < thread->count && number < count; number++) {
        const struct point_interval *interval = &run->intervals.items[number];
        if (!is_same(&thread->positions[number], interval))
            break;
        add_value(&thread->positions[number], all->run_count, value_of(run, interval->ticks));
    }
    if (thread == NULL || number < thread->count || number < count)
        diverge(run, run->thread, number, number < count ? &run->intervals.items[number] : NULL);
    run->thread++;
}

static enum tbed_status add_stream(struct run *run, uint32_t stream)
{
    enum tbed_status status = read_stream(run, stream);
    for (size_t i = 0; status == TBED_OK && i < run->intervals.count; i++)
        status = translate_interval(run, &run->intervals.items[i]);
    if (status != TBED_OK || run->intervals.count == 0)
        return status;
    if (run->all->run_count == 0 && !begin_thread(run))
        return TBED_ERR_MEMORY;
    add_thread(run);
    return TBED_OK;
}

static enum tbed_status add_streams(struct run *run)
{
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; status == TBED_OK && tbed_stream_get(run->reader, i, &stream); i++)
        if (tbed_filter_sums_stream(run->options->filter, run->reader, stream.stream))
            status = add_stream(run, stream.stream);
    for (; status == TBED_OK && run->thread < run->all->thread_count; run->thread++)
        diverge(run, run->thread, 0, NULL);
    return status;
}

static enum tbed_status add_run(struct run *run)
{
    struct tbed_positions *all = run->all;
    struct tbed_trace_info info;
    tbed_reader_info(run->reader, &info);
    run->resolution = info.resolution_ticks > 0 ? info.resolution_ticks : 1;
    run->is_time = info.clock != TBED_CLOCK_USER && info.ticks_per_second != 1000000000;
    struct tbed_divergence *divergences =
        realloc(all->divergences, (all->run_count + 1) * sizeof *divergences);
    if (divergences == NULL)
        return TBED_ERR_MEMORY;
    all->divergences = divergences;
    enum tbed_status status = TBED_OK;
    if (all->texts.slots == NULL)
        status = tbed_stack_labels_open(&all->texts, run->reader, run->options);
    if (status == TBED_OK)
        status = tbed_stack_labels_open(&run->labels, run->reader, run->options);
    if (status == TBED_OK)
        status = add_streams(run);
    tbed_stack_labels_close(&run->labels);
    if (status == TBED_OK)
        all->divergences[all->run_count++] = run->divergence;
    return status;
}

/* ---- The public functions ---- */

enum tbed_status tbed_positions_open(struct tbed_positions **positions_ret)
{
    struct tbed_positions *positions = calloc(1, sizeof *positions);
    if (positions == NULL)
        return TBED_ERR_MEMORY;
    *positions_ret = positions;
    return TBED_OK;
}

void tbed_positions_close(struct tbed_positions *positions)
{
    if (positions == NULL)
        return;
    for (size_t i = 0; i < positions->thread_count; i++)
        free(positions->threads[i].positions);
    tbed_stack_labels_close(&positions->texts);
    free(positions->threads);
    free(positions->divergences);
    free(positions);
}

enum tbed_status tbed_positions_add(struct tbed_positions *positions, struct tbed_reader *reader,
                                    const struct tbed_stacks_options *options)
{
    struct tbed_stacks_options known;
    if (!tbed_options_take(&known, sizeof known, options))
        return TBED_ERR_ARGUMENT;
    struct run run = {.all = positions, .reader = reader, .options = &known};
    enum tbed_status status = add_run(&run);
    free(run.items.items);
    free(run.intervals.items);
    free(run.ids.slots);
    return status;
}

size_t tbed_positions_thread_count(const struct tbed_positions *positions)
{
    return positions->thread_count;
}

size_t tbed_positions_count(const struct tbed_positions *positions, size_t thread)
{
    return thread < positions->thread_count ? positions->threads[thread].shared : 0;
}

static const char *text_of(const struct tbed_positions *positions, uint64_t label)
{
    return positions->texts.items[label].text;
}

bool tbed_positions_get_sized(const struct tbed_positions *positions, size_t thread, size_t number,
                              struct tbed_position *position_ret, size_t position_nbytes)
{
    if (number >= tbed_positions_count(positions, thread))
        return false;
    const struct position *from = &positions->threads[thread].positions[number];
    struct tbed_position position = {.from = point_kind(from->from),
                                     .to = point_kind(from->to),
                                     .from_label = text_of(positions, point_label(from->from)),
                                     .to_label = text_of(positions, point_label(from->to)),
                                     .min = from->min,
                                     .max = from->max,
                                     .mean = from->mean};
    if (from->inside != POINT_NONE)
        position.inside = text_of(positions, from->inside);
    if (positions->run_count > 1)
        position.variance = from->squares / (double)(positions->run_count - 1);
    tbed_sized_give(position_ret, position_nbytes, &position, sizeof position);
    return true;
}

const struct tbed_divergence *tbed_positions_divergence(const struct tbed_positions *positions, size_t run)
{
    return run < positions->run_count ? &positions->divergences[run] : NULL;
}
