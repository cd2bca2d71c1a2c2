/*
 * Computes statistics of any trace. The figures of each row must be consistent, rows must be sorted, one thread must
 * count the same as three, and the assembler must produce the same spans.
 *
 * A byte of options, the number of threads plus 1 (0: three threads) and a byte that says what is done about times off the
 * processor follow the last complete page.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/compare.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

static struct tbed_analysis_options options;

struct sums {
    uint64_t spans, open, unknown;
};

static int compare_names(const struct tbed_span_row *a, const struct tbed_span_row *b)
{
    size_t common = a->name_nbytes < b->name_nbytes ? a->name_nbytes : b->name_nbytes;
    int order = memcmp(a->name, b->name, common);
    return order != 0 ? order : (a->name_nbytes > b->name_nbytes) - (a->name_nbytes < b->name_nbytes);
}

/* Without percentiles, these are 0. */
static void check_percentiles(const struct tbed_span_row *row)
{
    const uint64_t rising[] = {row->min_ticks, row->p50_ticks,  row->p90_ticks,
                               row->p99_ticks, row->p999_ticks, row->max_ticks};
    if (options.skip_percentiles)
        REQUIRE((row->p50_ticks | row->p90_ticks | row->p99_ticks | row->p999_ticks) == 0);
    else
        for (size_t i = 1; i < sizeof rising / sizeof rising[0]; i++)
            REQUIRE(rising[i - 1] <= rising[i]);
}

static void check_row(const struct tbed_span_row *row)
{
    REQUIRE(row->name[row->name_nbytes] == 0);
    REQUIRE(row->open_count <= row->count && row->invocation_count <= row->count);
    REQUIRE(row->count > 0 || row->total_ticks == 0);
    check_percentiles(row);
    uint64_t most;
    if (!__builtin_mul_overflow(row->count, row->max_ticks, &most)) /* otherwise the sums wrap */
        REQUIRE(row->total_ticks <= most && row->max_ticks <= row->total_ticks &&
                row->time_ticks <= row->total_ticks);
}

static struct sums check_spans(const struct tbed_statistics *statistics)
{
    struct sums sums = {0};
    const struct tbed_span_row *row, *before = NULL;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        check_row(row);
        REQUIRE(before == NULL || compare_names(before, row) < 0);
        before = row;
        sums.spans += row->count;
        sums.open += row->open_count;
        sums.unknown += row->unknown_count;
    }
    return sums;
}

static void check_others(const struct tbed_statistics *statistics,
                         const struct tbed_statistics_totals *totals)
{
    const struct tbed_instant_row *instant;
    const struct tbed_message_row *message;
    uint64_t instants = 0, messages = 0;
    for (size_t i = 0; (instant = tbed_statistics_instant(statistics, i)) != NULL; i++)
        instants += instant->count;
    for (size_t i = 0; (message = tbed_statistics_message(statistics, i)) != NULL; i++) {
        uint64_t by_severity = 0;
        for (size_t j = 0; j < sizeof message->severity_counts / sizeof message->severity_counts[0]; j++)
            by_severity += message->severity_counts[j];
        REQUIRE(by_severity == message->count);
        messages += message->count;
    }
    REQUIRE(instants == totals->instant_count && messages == totals->message_count);
    for (size_t i = 0; tbed_statistics_async(statistics, i) != NULL; i++)
        check_row(tbed_statistics_async(statistics, i));
    for (size_t i = 0; tbed_statistics_artifact(statistics, i) != NULL; i++)
        REQUIRE(tbed_statistics_artifact(statistics, i)->count > 0);
    for (size_t i = 0; tbed_statistics_counter(statistics, i) != NULL; i++)
        REQUIRE(tbed_statistics_counter(statistics, i)->count > 0);
}

/* ---- Options ---- */

enum { SKIP_PERCENTILES = 1, OWN_NAMES = 2, LONG_NAMES = 4, GROUPS = 8, SEPARATORS = 16 };

static unsigned choices;

/* Returns a name that depends only on the id. A long name does not fit into the first buffer. */
static size_t own_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    char text[1000];
    REQUIRE(context == &choices);
    int nbytes = snprintf(text, sizeof text, "place%c%*u", choices & SEPARATORS ? 0x1E : ' ',
                          choices & LONG_NAMES ? 900 : 1, id % 4);
    return (size_t)snprintf(buffer, buffer_nbytes, "%.*s", nbytes, text);
}

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    REQUIRE(context == &choices && ids != NULL && count > 0);
}

/* The group is the first letter, or a name longer than the label. */
static size_t group(void *context, char *name, size_t nbytes, size_t room)
{
    REQUIRE(context == &options && nbytes < room);
    if (choices & LONG_NAMES)
        return (size_t)snprintf(name, room, "group of %c", nbytes > 0 ? name[0] : '-');
    name[nbytes > 0] = '\0';
    return nbytes > 0;
}

static void choose(unsigned byte, unsigned off_cpu)
{
    choices = byte;
    options = (struct tbed_analysis_options){.size = sizeof options,
                                             .skip_percentiles = (byte & SKIP_PERCENTILES) != 0,
                                             .count_off_cpu = off_cpu % 2 == 1,
                                             .without_off_cpu = off_cpu / 2 % 2 == 1};
    if (byte & OWN_NAMES) {
        options.name = own_name;
        options.name_context = &choices;
        options.prepare = byte & GROUPS ? NULL : prepare;
    }
    if (byte & GROUPS) {
        options.group = group;
        options.group_context = &options;
    }
}

/* ---- Comparison with other ways to count ---- */

static struct tbed_statistics *make(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_statistics *statistics;
    options.thread_count = thread_count;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    return statistics;
}

/* Compares field by field, since the rows have padding. */
static void compare_rows(const struct tbed_span_row *row, const struct tbed_span_row *other)
{
    REQUIRE(other != NULL && compare_names(row, other) == 0 && row->count == other->count);
    REQUIRE(row->id == other->id);
    REQUIRE(row->unknown_count == other->unknown_count && row->open_count == other->open_count);
    REQUIRE(row->total_ticks == other->total_ticks && row->self_ticks == other->self_ticks);
    REQUIRE(row->p50_ticks == other->p50_ticks && row->p999_ticks == other->p999_ticks);
    REQUIRE(row->cache_hits == other->cache_hits && row->cache_misses == other->cache_misses);
    REQUIRE(row->load_ticks == other->load_ticks && row->hashing_ticks == other->hashing_ticks);
}

static void compare_threads(const struct tbed_statistics *one, const struct tbed_statistics *three)
{
    for (size_t i = 0; tbed_statistics_span(one, i) != NULL; i++)
        compare_rows(tbed_statistics_span(one, i), tbed_statistics_span(three, i));
    for (size_t i = 0; tbed_statistics_async(one, i) != NULL; i++)
        compare_rows(tbed_statistics_async(one, i), tbed_statistics_async(three, i));
    for (size_t i = 0; tbed_statistics_counter(one, i) != NULL; i++) {
        const struct tbed_counter_row *a = tbed_statistics_counter(one, i),
                                      *b = tbed_statistics_counter(three, i);
        REQUIRE(b != NULL && a->count == b->count && memcmp(&a->last, &b->last, sizeof a->last) == 0);
    }
    for (size_t i = 0; tbed_statistics_message(one, i) != NULL; i++)
        REQUIRE(tbed_statistics_message(three, i) != NULL &&
                tbed_statistics_message(one, i)->count == tbed_statistics_message(three, i)->count);
}

static void compare_assembler(struct tbed_reader *reader, const struct tbed_statistics_totals *totals)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    uint64_t counts[TBED_STEP_EVENT + 1] = {0};
    REQUIRE(tbed_assembler_open(reader, NULL, 0, &assembler) == TBED_OK);
    enum tbed_status status;
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (step.span == NULL || !is_off_cpu_stream(reader, step.span->stream))
            counts[step.kind]++;
    REQUIRE(status == TBED_END && tbed_assembler_next(assembler, &step) == TBED_END);
    tbed_assembler_close(assembler);
    REQUIRE(counts[TBED_STEP_END] + counts[TBED_STEP_OPEN] == totals->span_count);
    REQUIRE(counts[TBED_STEP_UNKNOWN] == totals->unknown_begin_count);
}

static void check_refusals(struct tbed_reader *reader)
{
    struct tbed_analysis_options none = {.size = 0};
    struct tbed_statistics *statistics = NULL;
    struct tbed_foreign_damage damage;
    REQUIRE(tbed_statistics_make(reader, &none, &statistics) == TBED_ERR_ARGUMENT && statistics == NULL);
    REQUIRE(tbed_statistics_make(reader, NULL, &statistics) == TBED_OK);
    REQUIRE(!tbed_statistics_damage_get(statistics, 0, &damage));
    tbed_statistics_close(statistics);
    tbed_statistics_close(NULL);
    tbed_assembler_close(NULL);
}

/* Returns statistics of a trace that counts time, which cannot be compared with a trace in another unit. */
static struct tbed_statistics *other_statistics(void)
{
    struct tbed_statistics *statistics;
    struct tbed_reader *reader;
    uint8_t *file = one_block_file(TBED_BLOCK_RECORDS, true, NULL, 0);
    REQUIRE(tbed_reader_open_memory(file, ONE_BLOCK_FILE_NBYTES, NULL, &reader, NULL) == TBED_OK);
    REQUIRE(tbed_statistics_make(reader, NULL, &statistics) == TBED_OK);
    tbed_reader_close(reader);
    return statistics;
}

/* A run must have the figures of its rows, and a run in another unit must be refused. */
static void compare_runs(struct tbed_reader *reader, const struct tbed_statistics *statistics)
{
    struct tbed_comparison *comparison;
    struct tbed_comparison_row row;
    REQUIRE(tbed_comparison_open(&comparison) == TBED_OK);
    REQUIRE(tbed_comparison_add(comparison, statistics, reader) == TBED_OK);
    REQUIRE(tbed_comparison_add(comparison, statistics, NULL) == TBED_OK);
    for (size_t i = 0; tbed_statistics_span(statistics, i) != NULL; i++) {
        const struct tbed_span_row *span = tbed_statistics_span(statistics, i);
        struct tbed_figures figures = tbed_comparison_figures(comparison, i, 1);
        REQUIRE(tbed_comparison_row(comparison, i, &row) && row.run_count == 2);
        REQUIRE(row.label_nbytes == span->name_nbytes && strcmp(row.label, span->name) == 0);
        REQUIRE(figures.of[TBED_FIGURE_SELF] == span->self_ticks && figures.present);
        REQUIRE(tbed_comparison_figures(comparison, i, 0).of[TBED_FIGURE_HITS] == span->cache_hits);
    }
    for (size_t i = 0; tbed_statistics_artifact(statistics, i) != NULL; i++) {
        REQUIRE(tbed_comparison_artifact(comparison, i, &row));
        REQUIRE(tbed_comparison_size(comparison, i, 0) == tbed_statistics_artifact(statistics, i)->value);
    }
    struct tbed_statistics *other = other_statistics();
    bool is_time = tbed_statistics_unit(statistics) == NULL;
    REQUIRE(tbed_comparison_add(comparison, other, NULL) == (is_time ? TBED_OK : TBED_ERR_ARGUMENT));
    REQUIRE(tbed_comparison_run_count(comparison) == 2 + (size_t)is_time);
    tbed_statistics_close(other);
    tbed_comparison_close(comparison);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_statistics_totals totals, others;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    choose(choice_at(data, nbytes, 0), choice_at(data, nbytes, 2));
    unsigned thread_count = choice_at(data, nbytes, 1);
    struct tbed_statistics *one = make(reader, 1),
                           *three = make(reader, thread_count > 0 ? thread_count - 1 : 3);
    tbed_statistics_totals(one, &totals);
    tbed_statistics_totals(three, &others);
    REQUIRE(memcmp(&totals, &others, sizeof totals) == 0);
    struct sums sums = check_spans(one);
    REQUIRE(sums.spans == totals.span_count && sums.open == totals.open_span_count);
    REQUIRE(sums.unknown == totals.unknown_begin_count);
    check_others(one, &totals);
    compare_threads(one, three);
    compare_assembler(reader, &totals);
    compare_runs(reader, one);
    check_refusals(reader);
    tbed_statistics_close(three);
    tbed_statistics_close(one);
    tbed_reader_close(reader);
    return 0;
}
