/*
 * Measures resolving the name or label of an id, compared with a plain table of pointers to texts, and how long the
 * most hostile string takes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench/support/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/reader.h>
#include <tracebed/writer.h>
#include <unistd.h>

enum { LABEL_COUNT = 1000, LEVELS = 40 };

struct table {
    size_t count; /* event ids, with LABEL_COUNT labels */
    uint32_t *ids;
    const char **texts; /* the limit: the results, by index */
    uint32_t *order;    /* indexes, shuffled */
    uint32_t doubled;   /* 2^LEVELS leaves */
    struct tbed_reader *reader;
};

/* ---- The trace ---- */

static void put_event_ids(struct tbed_writer *writer, struct table *table)
{
    uint32_t labels[LABEL_COUNT];
    char text[64];
    for (uint32_t i = 0; i < LABEL_COUNT; i++) {
        snprintf(text, sizeof text, "query_number_%u", i);
        labels[i] = tbed_string_intern(writer, text, strlen(text));
    }
    for (size_t i = 0; i < table->count; i++) {
        snprintf(text, sizeof text,
                 "\x1E"
                 "argument %zu",
                 i);
        struct tbed_component parts[] = {{NULL, 0, labels[i * 7919 % LABEL_COUNT]}, {text, strlen(text), 0}};
        table->ids[i] = tbed_string_alloc(writer, parts, 2);
    }
}

static void put_doubled(struct tbed_writer *writer, struct table *table)
{
    table->doubled = tbed_string_intern(writer, "x", 1);
    for (int i = 0; i < LEVELS; i++) {
        struct tbed_component twice[] = {{NULL, 0, table->doubled}, {NULL, 0, table->doubled}};
        table->doubled = tbed_string_alloc(writer, twice, 2);
    }
}

static bool table_make(struct table *table, const char *path)
{
    struct tbed_writer *writer;
    struct tbed_error error;
    struct tbed_reader_options options = {.size = sizeof options};
    table->ids = calloc(table->count, sizeof *table->ids);
    table->texts = calloc(table->count, sizeof *table->texts);
    table->order = calloc(table->count, sizeof *table->order);
    if (tbed_writer_open(path, NULL, &writer, &error) != TBED_OK)
        return false;
    put_event_ids(writer, table);
    put_doubled(writer, table);
    tbed_writer_close(writer);
    for (uint32_t i = 0; i < table->count; i++)
        table->order[i] = i;
    for (size_t i = table->count - 1; i > 0; i--) {
        size_t j = (i * 0x9E3779B97F4A7C15u >> 20) % (i + 1);
        uint32_t kept = table->order[i];
        table->order[i] = table->order[j];
        table->order[j] = kept;
    }
    return tbed_reader_open(path, &options, &table->reader, &error) == TBED_OK;
}

static void table_free(struct table *table)
{
    tbed_reader_close(table->reader);
    free(table->ids);
    free(table->texts);
    free(table->order);
}

/* ---- The loops: each sums the first bytes, so that every text is touched ---- */

static uint64_t plain(const struct table *table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < table->count; i++)
        sum += (uint8_t)*table->texts[table->order[i]];
    return sum;
}

static uint64_t names(const struct table *table)
{
    uint64_t sum = 0;
    struct tbed_name name;
    for (size_t i = 0; i < table->count; i++)
        if (tbed_name_get(table->reader, table->ids[table->order[i]], &name) == TBED_OK)
            sum += (uint8_t)*name.text;
    return sum;
}

static uint64_t labels(const struct table *table)
{
    uint64_t sum = 0;
    struct tbed_name label;
    for (size_t i = 0; i < table->count; i++)
        if (tbed_event_label(table->reader, table->ids[table->order[i]], &label) == TBED_OK)
            sum += (uint8_t)*label.text;
    return sum;
}

static uint64_t resolved(const struct table *table)
{
    uint64_t sum = 0;
    char text[128];
    size_t nbytes;
    for (size_t i = 0; i < table->count; i++)
        if (tbed_string_resolve(table->reader, table->ids[table->order[i]], text, sizeof text, &nbytes) ==
            TBED_OK)
            sum += (uint8_t)*text;
    return sum;
}

static double sum_ns(const struct table *table, uint64_t (*sum)(const struct table *))
{
    uint64_t begin = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    bench_sink = sum(table);
    return (double)(bench_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)table->count;
}

static const struct {
    const char *name;
    uint64_t (*sum)(const struct table *);
} rows[] = {{"name, kept", names}, {"label", labels}, {"resolved", resolved}};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static void measure_lookups(const struct bench_options *options, const struct table *table)
{
    struct bench_pairs pairs[ROW_COUNT] = {0};
    struct tbed_name name;
    for (size_t i = 0; i < table->count; i++)
        if (tbed_name_get(table->reader, table->ids[i], &name) == TBED_OK)
            table->texts[i] = name.text;
    uint64_t wanted = plain(table);
    for (size_t row = 0; row < ROW_COUNT; row++)
        for (unsigned round = 0; round < options->rounds; round++) {
            double limit = sum_ns(table, plain), ns = sum_ns(table, rows[row].sum);
            if (bench_sink == wanted)
                bench_pair_add(&pairs[row], limit, ns);
        }
    for (size_t row = 0; row < ROW_COUNT; row++)
        bench_row(rows[row].name, "ns/id", &pairs[row], (struct bench_goal){BENCH_NO_GOAL, 0});
}

/* ---- The hostile string ---- */

enum question { QUESTION_TEXT, QUESTION_LENGTH, QUESTION_EQUAL, QUESTION_LABEL, QUESTION_COUNT };
static const char *const questions[] = {"2^40 leaves: text", "2^40 leaves: length",
                                        "2^40 leaves: equal to itself", "2^40 leaves: label"};

static bool ask(const struct table *table, enum question question)
{
    char text[128];
    size_t nbytes;
    uint64_t length;
    bool equal;
    struct tbed_name label;
    switch (question) {
    case QUESTION_TEXT:
        return tbed_string_resolve(table->reader, table->doubled, text, sizeof text, &nbytes) ==
               TBED_ERR_STRING_COMPONENTS;
    case QUESTION_LENGTH:
        return tbed_string_length(table->reader, table->doubled, NULL, &length) == TBED_OK &&
               length == UINT64_C(1) << LEVELS;
    case QUESTION_EQUAL:
        return tbed_string_equals(table->reader, table->doubled, table->doubled, NULL, &equal) == TBED_OK &&
               equal;
    default: /* the first time: the reader keeps it */
        return tbed_event_label(table->reader, table->doubled, &label) == TBED_ERR_STRING_COMPONENTS;
    }
}

static void measure_hostile(const struct bench_options *options, const struct table *table)
{
    for (enum question question = 0; question < QUESTION_COUNT; question++) {
        struct bench_pairs pairs = {0};
        unsigned rounds = question == QUESTION_LABEL ? 1 : options->rounds;
        for (unsigned round = 0; round < rounds; round++) {
            uint64_t begin = bench_ns(CLOCK_MONOTONIC);
            bool is_right = ask(table, question);
            if (is_right)
                bench_pair_add(&pairs, 10, (double)(bench_ns(CLOCK_MONOTONIC) - begin) / 1e6);
        }
        bench_row(questions[question], "ms", &pairs, (struct bench_goal){BENCH_VALUE_AT_MOST, 10});
    }
}

int main(int argc, char **argv)
{
    struct bench_options options;
    if (!bench_options_parse(argc, argv, "Measures resolving names, labels and hostile strings.", &options))
        return 0;
    const size_t counts[] = {1000, options.quick ? 100000 : 1000000};
    for (size_t i = 0; i < 2; i++) {
        struct table table = {.count = counts[i]};
        char title[128], path[4096];
        snprintf(path, sizeof path, "%s", bench_path(&options, "strings.tbed"));
        snprintf(title, sizeof title, "Names of %zu ids in random order: the limit is a table of pointers",
                 table.count);
        bench_table_head(title);
        if (table_make(&table, path)) {
            measure_lookups(&options, &table);
            if (i == 0)
                measure_hostile(&options, &table);
            table_free(&table);
        }
        unlink(path);
    }
    return 0;
}
