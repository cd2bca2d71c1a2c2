/*
 * Marks of any trace, of all events or of some: they are within the window and in their order, there are not too many, and
 * one thread finds the same as three. Without a filter, every event that a cursor gives is in one of them.
 *
 * fuzz/support/conditions.h says what the bytes behind the last whole page mean; the number of columns and those of marks
 * and of blocks depend on the size of the input.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/filter/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/analysis.h>
#include <tracebed/window.h>

#include "fuzz/support/conditions.h"
#include "fuzz/support/fuzz.h"

/* How many events of each kind there are; of drops, how many events. */
struct counts {
    uint64_t marks[TBED_MARK_KIND_COUNT], values;
};

/* As far as there are numbers. */
static uint64_t plus(uint64_t one, uint64_t other)
{
    uint64_t sum;
    return __builtin_add_overflow(one, other, &sum) ? UINT64_MAX : sum;
}

/* ---- What a cursor gives ---- */

static enum tbed_mark_kind kind_of_message(const struct tbed_event *event)
{
    uint32_t severity = event->of.message.severity;
    return severity == TBED_SEVERITY_ERROR     ? TBED_MARK_ERROR
           : severity == TBED_SEVERITY_WARNING ? TBED_MARK_WARNING
                                               : TBED_MARK_MESSAGE;
}

static void count_event(struct counts *counts, const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_INSTANT)
        counts->marks[TBED_MARK_INSTANT]++;
    else if (event->type == TBED_EVENT_MESSAGE)
        counts->marks[kind_of_message(event)]++;
    else if (event->type == TBED_EVENT_GAP)
        counts->marks[TBED_MARK_DROP] = plus(counts->marks[TBED_MARK_DROP], event->of.gap.count);
    else if (event->type == TBED_EVENT_COUNTER)
        counts->values++;
}

static struct counts count_events(struct tbed_reader *reader)
{
    struct counts counts = {0};
    struct tbed_stream_info stream;
    struct tbed_event event;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        REQUIRE(tbed_cursor_open(reader, stream.stream, &cursor) == TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count_event(&counts, &event);
        tbed_cursor_close(cursor);
    }
    return counts;
}

/* ---- Marks ---- */

static void check_mark(const struct tbed_mark_row *mark, const struct tbed_mark_row *before,
                       const struct tbed_marks_info *info)
{
    REQUIRE(mark->count > 0 && mark->kind < TBED_MARK_KIND_COUNT && mark->first_tick <= mark->last_tick);
    if (before == NULL || before->stream != mark->stream || mark->first_tick < info->begin_tick ||
        before->first_tick < info->begin_tick)
        return;
    uint64_t column = (mark->first_tick - info->begin_tick) / info->column_ticks;
    uint64_t last = (before->first_tick - info->begin_tick) / info->column_ticks;
    REQUIRE(last < column || (last == column && before->kind < mark->kind));
}

static void count_marks(const struct tbed_marks *marks, const struct tbed_marks_info *info,
                        struct counts *counts, size_t *mark_count_ret)
{
    const struct tbed_mark_row *mark, *before = NULL;
    for (*mark_count_ret = 0; (mark = tbed_marks_get(marks, *mark_count_ret)) != NULL; ++*mark_count_ret) {
        check_mark(mark, before, info);
        counts->marks[mark->kind] = plus(counts->marks[mark->kind], mark->count);
        before = mark;
    }
}

static void count_values(const struct tbed_marks *marks, const struct tbed_marks_info *info,
                         struct counts *counts)
{
    struct tbed_mark_counter counter;
    uint64_t last = 0;
    for (size_t i = 0; tbed_marks_counter(marks, i, &counter); i++) {
        uint64_t key = (uint64_t)counter.id << 32 | counter.process;
        REQUIRE(i == 0 || key > last);
        last = key;
        for (size_t column = 0; column < info->counter_column_count; column++)
            counts->values += counter.columns[column].count;
    }
    counts->values += info->counters_left_out;
}

static bool is_same_mark(const struct tbed_mark_row *a, const struct tbed_mark_row *b)
{
    return a->stream == b->stream && a->kind == b->kind && a->first_tick == b->first_tick &&
           a->last_tick == b->last_tick && a->count == b->count && a->id == b->id;
}

static void compare(const struct tbed_marks *one, const struct tbed_marks *three,
                    const struct tbed_marks_info *info)
{
    const struct tbed_mark_row *mark, *same;
    struct tbed_mark_counter counter, other;
    for (size_t i = 0; (mark = tbed_marks_get(one, i)) != NULL; i++) {
        same = tbed_marks_get(three, i);
        REQUIRE(same != NULL && is_same_mark(mark, same));
    }
    if (info->counters_left_out > 0)
        return; /* which ones is not said */
    for (size_t i = 0; tbed_marks_counter(one, i, &counter); i++) {
        REQUIRE(tbed_marks_counter(three, i, &other) && other.id == counter.id &&
                other.process == counter.process);
        for (size_t column = 0; column < info->counter_column_count; column++) {
            const struct tbed_mark_values *a = &counter.columns[column], *b = &other.columns[column];
            REQUIRE(a->count == b->count);
            REQUIRE(a->mean != a->mean || (a->min == b->min && a->max == b->max)); /* some are no numbers */
        }
    }
}

/* ---- All of it ---- */

static struct tbed_marks *make(struct tbed_reader *reader, struct tbed_marks_options options,
                               unsigned threads)
{
    struct tbed_marks *marks;
    options.size = sizeof options;
    options.thread_count = threads;
    REQUIRE(tbed_marks_make(reader, &options, &marks) == TBED_OK);
    return marks;
}

static void check(struct tbed_reader *reader, struct tbed_marks_options options)
{
    struct tbed_marks *one = make(reader, options, 1), *three = make(reader, options, 3);
    struct tbed_marks_info info, other;
    struct counts counts = {0};
    size_t count;
    tbed_marks_info(one, &info);
    tbed_marks_info(three, &other);
    REQUIRE(info.column_ticks == other.column_ticks && info.read_count == other.read_count);
    REQUIRE(info.read_count <= info.block_count && info.bad_block_count <= info.read_count);
    count_marks(one, &info, &counts, &count);
    count_values(one, &info, &counts);
    REQUIRE(tbed_marks_get(three, count) == NULL);
    REQUIRE(options.mark_max == 0 || count <= options.mark_max ||
            info.column_ticks > (info.end_tick - info.begin_tick) / 2);
    compare(one, three, &info);
    if (options.filter == NULL && options.block_max == 0) {
        struct counts events = count_events(reader);
        REQUIRE(counts.values == events.values);
        for (unsigned kind = 0; kind < TBED_MARK_KIND_COUNT; kind++)
            REQUIRE(counts.marks[kind] == events.marks[kind]);
    }
    tbed_marks_close(one);
    tbed_marks_close(three);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_marks_options none = {.size = 0};
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_marks *refused = NULL;
    struct tbed_statistics *all;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_marks_make(reader, &none, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    tbed_marks_close(NULL);
    REQUIRE(tbed_statistics_make(reader, &options, &all) == TBED_OK);
    struct conditions conditions = choose_conditions(reader, all, data, nbytes);
    struct tbed_filter *filter = filter_of_conditions(reader, &conditions);
    uint32_t columns = (uint32_t)(1 + nbytes * 7 % 500);
    check(reader, (struct tbed_marks_options){.column_count = columns});
    check(reader, (struct tbed_marks_options){.column_count = columns, .mark_max = 1 + nbytes % 16});
    check(reader, (struct tbed_marks_options){
                      .column_count = columns, .mark_max = nbytes % 16, .block_max = 2, .filter = filter});
    tbed_filter_close(filter);
    tbed_statistics_close(all);
    tbed_reader_close(reader);
    return 0;
}
