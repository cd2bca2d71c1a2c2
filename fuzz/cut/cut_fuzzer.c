/*
 * A part of any trace as a trace: it is intact, all ways to read it agree, and it has what the assembler shows of
 * the part, if the trace is intact. A merge of both has the events of both.
 *
 * fuzz/support/conditions.h says what the bytes behind the last whole page mean.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/filter/corpus fuzz/export_chrome/corpus fuzz/statistics/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/copy.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/conditions.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

/* Is everything known of all spans? In a trace that was not closed, a block may be missing without damage. */
static bool is_intact(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    struct tbed_lost_info lost;
    bool is_good = tbed_reader_verify(reader) == TBED_OK;
    tbed_reader_info(reader, &info);
    return is_good && info.shut && info.tick_decrease_count == 0 && info.ring_page_count == 0 &&
           !tbed_lost_get(reader, 0, &lost);
}

/* ---- Steps ---- */

struct kinds {
    uint64_t spans, open, unknown;
};

struct sums {
    struct kinds all,
        on_cpu; /* 'on_cpu': without the streams that say when threads were off their processors */
    uint64_t ticks, labels, begins, events[TBED_EVENT_UNKNOWN + 1];
};

static void count(struct kinds *kinds, enum tbed_step_kind kind)
{
    kinds->spans += kind == TBED_STEP_END || kind == TBED_STEP_OPEN;
    kinds->open += kind == TBED_STEP_OPEN;
    kinds->unknown += kind == TBED_STEP_UNKNOWN;
}

/* A number for the label; unreadable ones have one number, because a copy makes them one id. */
static uint64_t label_number(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_name name;
    uint64_t hash = 14695981039346656037u;
    if (tbed_event_label(reader, id, &name) != TBED_OK)
        return id < TBED_ID_METADATA ? id : 0;
    for (size_t i = 0; i < name.nbytes; i++)
        hash = (hash ^ (uint8_t)name.text[i]) * 1099511628211u;
    return hash;
}

static void add(struct sums *sums, const struct tbed_reader *reader, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    if (step->kind == TBED_STEP_EVENT) {
        sums->events[step->event->type]++;
        sums->labels += label_number(reader, step->event->id);
        return;
    }
    sums->begins += step->kind == TBED_STEP_BEGIN;
    count(&sums->all, step->kind);
    if (!is_off_cpu_stream(reader, span->stream))
        count(&sums->on_cpu, step->kind);
    if (step->kind == TBED_STEP_BEGIN || step->kind == TBED_STEP_UNKNOWN)
        return;
    sums->ticks += span->end_tick > span->begin_tick ? span->end_tick - span->begin_tick : 0;
    sums->labels += label_number(reader, span->id) * (span->begin_tick | 1);
}

static struct sums sum_steps(struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    struct sums sums = {0};
    REQUIRE(tbed_assembler_open_filtered(reader, NULL, 0, filter, &assembler) == TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK)
        add(&sums, reader, &step);
    tbed_assembler_close(assembler);
    sums.begins = 0; /* a span that is cut at the begin has none, or a new one */
    return sums;
}

/* ---- The cut ---- */

static struct tbed_statistics *make(struct tbed_reader *reader)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *statistics = NULL;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    return statistics;
}

/* All ways to read the cut agree. */
static void check_statistics(struct tbed_reader *cut, const struct sums *sums)
{
    struct tbed_statistics *statistics = make(cut);
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(statistics, &totals);
    REQUIRE(totals.span_count == sums->on_cpu.spans && totals.open_span_count == sums->on_cpu.open);
    REQUIRE(totals.unknown_begin_count == sums->on_cpu.unknown);
    REQUIRE(totals.instant_count == sums->events[TBED_EVENT_INSTANT]);
    REQUIRE(totals.counter_count == sums->events[TBED_EVENT_COUNTER]);
    REQUIRE(totals.message_count == sums->events[TBED_EVENT_MESSAGE]);
    REQUIRE(totals.bad_block_count + totals.damaged_block_count == 0);
    tbed_statistics_close(statistics);
}

/* A merge; NULL: it is refused. */
static struct tbed_reader *merge(struct tbed_reader *const *readers, size_t count,
                                 const struct tbed_merge_options *options, struct tbed_copy_report *report)
{
    struct tbed_reader *merged;
    const char *path = scratch_path("merged.tbed");
    size_t source = 0;
    enum tbed_status status = tbed_traces_merge(readers, count, path, options, report, &source, NULL);
    REQUIRE(status == TBED_OK || status == TBED_ERR_ARGUMENT || status == TBED_ERR_WRITE ||
            status == TBED_ERR_NO_TIME || status == TBED_ERR_CLOCK_DIFFERS);
    REQUIRE(source < count);
    if (status != TBED_OK)
        return NULL;
    REQUIRE(tbed_reader_open(path, NULL, &merged, NULL) == TBED_OK);
    REQUIRE(tbed_reader_verify(merged) == TBED_OK);
    return merged;
}

/* It has the events of both. */
static void check_merge(struct tbed_reader *reader, struct tbed_reader *cut)
{
    struct tbed_copy_report report;
    struct tbed_reader *readers[] = {reader, cut};
    struct tbed_merge_options options = {
        .size = sizeof options, .time = TBED_MERGE_SAME_CLOCK, .overwrite = true};
    struct tbed_reader *merged = merge(readers, 2, &options, &report);
    if (merged == NULL)
        return;
    struct sums sums = sum_steps(merged, NULL), first = sum_steps(reader, NULL),
                second = sum_steps(cut, NULL);
    check_statistics(merged, &sums);
    if (is_intact(reader) && report.unknown_count + report.closed_count + report.dropped_count == 0) {
        REQUIRE(sums.all.spans == first.all.spans + second.all.spans);
        REQUIRE(sums.all.open == first.all.open + second.all.open);
        REQUIRE(sums.all.unknown == first.all.unknown + second.all.unknown &&
                sums.ticks == first.ticks + second.ticks);
        for (size_t i = 0; i <= TBED_EVENT_UNKNOWN; i++)
            REQUIRE(sums.events[i] == first.events[i] + second.events[i]);
    }
    tbed_reader_close(merged);
}

/* A trace with a clock of its own, on the wall clock. */
static struct tbed_reader *open_other(void)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000,
                                          .given_realtime_ns = 1700000000000000000,
                                          .given_resolution_ns = 1000000};
    struct tbed_given_event event = {
        .type = TBED_GIVEN_INSTANT, .id = TBED_ID_INVALID, .category = TBED_ID_INVALID, .tick = 5};
    struct tbed_writer *writer;
    struct tbed_reader *other;
    const char *path = scratch_path("other.tbed");
    REQUIRE(tbed_writer_open(path, &options, &writer, NULL) == TBED_OK);
    tbed_event_record_given(tbed_recorder_open_given(writer, "other", 1), &event);
    tbed_writer_free(writer);
    REQUIRE(tbed_reader_open(path, NULL, &other, NULL) == TBED_OK);
    return other;
}

/* The same with other ticks, which anchors of all kinds give, and with another trace. */
static void check_converted_merge(struct tbed_reader *reader, struct tbed_reader *cut,
                                  enum tbed_merge_time time, const int64_t *shifts_ns)
{
    struct tbed_copy_report report;
    struct tbed_reader *readers[] = {reader, cut, open_other()};
    struct tbed_merge_options options = {
        .size = sizeof options, .time = time, .shifts_ns = shifts_ns, .overwrite = true};
    struct tbed_reader *merged = merge(readers, 3, &options, &report);
    if (merged != NULL) {
        struct sums sums = sum_steps(merged, NULL);
        check_statistics(merged, &sums);
    }
    tbed_reader_close(merged);
    tbed_reader_close(readers[2]);
}

static void check_merges(struct tbed_reader *reader, struct tbed_reader *cut)
{
    static const int64_t shifts_ns[] = {0, -3000000000, INT64_MAX}, one_shift_ns[] = {0, 0, 5};
    check_merge(reader, cut);
    check_converted_merge(reader, cut, TBED_MERGE_SAME_START, NULL);
    check_converted_merge(reader, cut, TBED_MERGE_SAME_START, shifts_ns);
    check_converted_merge(reader, cut, TBED_MERGE_WALL_CLOCK, NULL);
    check_converted_merge(reader, cut, TBED_MERGE_WALL_CLOCK, shifts_ns);
    check_converted_merge(reader, cut, TBED_MERGE_SAME_CLOCK, one_shift_ns);
}

static void check(struct tbed_reader *reader, const struct tbed_filter *filter, const char *path,
                  const struct tbed_copy_report *report)
{
    struct tbed_reader *cut;
    REQUIRE(tbed_reader_open(path, NULL, &cut, NULL) == TBED_OK);
    REQUIRE(tbed_reader_verify(cut) == TBED_OK);
    struct sums sums = sum_steps(cut, NULL);
    check_statistics(cut, &sums);
    if (is_intact(reader) && report->unknown_count + report->closed_count + report->dropped_count == 0) {
        struct sums expected = sum_steps(reader, filter);
        REQUIRE(memcmp(&expected, &sums, sizeof sums) == 0);
    }
    check_merges(reader, cut);
    tbed_reader_close(cut);
}

static void check_refusals(struct tbed_reader *reader, const char *existing)
{
    struct tbed_cut_options cut = {.size = 0};
    struct tbed_merge_options merge = {.size = 0},
                              odd = {.size = sizeof odd, .time = TBED_MERGE_SAME_START + 1};
    REQUIRE(tbed_trace_cut(reader, existing, NULL, NULL, NULL) == TBED_ERR_EXISTS);
    REQUIRE(tbed_trace_cut(reader, existing, &cut, NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_traces_merge(&reader, 1, existing, &merge, NULL, NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_traces_merge(&reader, 1, existing, &odd, NULL, NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_traces_merge(NULL, 0, existing, NULL, NULL, NULL, NULL) == TBED_ERR_ARGUMENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    struct tbed_copy_report report;
    if (reader == NULL)
        return 0;
    struct tbed_statistics *all = make(reader);
    struct conditions conditions = choose_conditions(reader, all, data, nbytes);
    struct tbed_filter *filter = filter_of_conditions(reader, &conditions);
    struct tbed_cut_options options = {.size = sizeof options, .filter = filter, .overwrite = true};
    const char *path = scratch_path("cut.tbed");
    enum tbed_status status = tbed_trace_cut(reader, path, &options, &report, NULL);
    REQUIRE(status == TBED_OK || status == TBED_ERR_BUSY || status == TBED_ERR_WRITE);
    if (status == TBED_OK) {
        check(reader, filter, path, &report);
        check_refusals(reader, path);
    }
    tbed_filter_close(filter);
    tbed_statistics_close(all);
    tbed_reader_close(reader);
    return 0;
}
