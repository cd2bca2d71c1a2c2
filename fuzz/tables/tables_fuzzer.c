/*
 * Every table of a trace has the same rows in order and in any order, with one thread and with two; with constraints it has
 * those of them that hold.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/tables.h>

#include "fuzz/support/fuzz.h"

struct sum {
    uint64_t rows, hash;
    int64_t least, greatest; /* of the first column that is a number of 64 bits */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* Eight bytes at a time: a small file can have a text of 16 MiB, which several tables have. */
static uint64_t mix_text(uint64_t hash, const char *text, size_t nbytes)
{
    uint64_t word = 0;
    size_t at = 0;
    for (; nbytes - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    word = 0;
    if (at < nbytes)
        memcpy(&word, text + at, nbytes - at);
    return mix(mix(hash, word), nbytes);
}

static bool is_null(const struct tbed_column_values *values, size_t row)
{
    return values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
}

static uint64_t hash_value(uint64_t hash, const struct tbed_scan *scan,
                           const struct tbed_column_values *values, size_t row)
{
    const char *text;
    size_t nbytes;
    uint64_t bits;
    if (is_null(values, row))
        return mix(hash, 1);
    if (values->i64 != NULL)
        return mix(hash, (uint64_t)values->i64[row]);
    if (values->u64 != NULL)
        return mix(hash, values->u64[row]);
    if (values->f64 != NULL) {
        memcpy(&bits, &values->f64[row], sizeof bits);
        return mix(hash, bits);
    }
    if (values->codes != NULL) {
        REQUIRE(values->codes[row] < tbed_scan_name_count(scan));
        tbed_scan_name(scan, values->codes[row], &text, &nbytes);
        return mix_text(hash, text, nbytes);
    }
    REQUIRE(values->offsets[row] <= values->offsets[row + 1]);
    nbytes = values->offsets[row + 1] - values->offsets[row];
    return mix_text(hash, nbytes > 0 ? values->text + values->offsets[row] : NULL, nbytes);
}

static void add_row(struct sum *sum, const struct tbed_scan *scan, const struct tbed_table *table,
                    const struct tbed_batch *batch, size_t row)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < table->column_count; i++)
        hash = hash_value(hash, scan, &batch->columns[i], row);
    sum->hash += hash;
    sum->rows++;
    if (table->columns[0].type != TBED_COLUMN_I64 || is_null(&batch->columns[0], row))
        return;
    int64_t value = batch->columns[0].i64[row];
    sum->least = value < sum->least ? value : sum->least;
    sum->greatest = value > sum->greatest ? value : sum->greatest;
}

/* The rows of which the first column is in [least, greatest]; all of them if that is everything. */
static struct sum scan_all(struct tbed_tables *tables, const struct tbed_table *table, bool any_order,
                           unsigned threads, int64_t least, int64_t greatest)
{
    struct sum sum = {.least = INT64_MAX, .greatest = INT64_MIN};
    struct tbed_constraint range[2] = {{.compare = TBED_GREATER_EQUAL, .number = least},
                                       {.compare = TBED_LESS_EQUAL, .number = greatest}};
    bool is_all = least == INT64_MIN && greatest == INT64_MAX;
    struct tbed_scan_options options = {.size = sizeof options,
                                        .constraints = range,
                                        .constraint_count = is_all ? 0 : 2,
                                        .any_order = any_order,
                                        .thread_count = threads};
    struct tbed_scan *scan;
    struct tbed_batch batch;
    enum tbed_status status;
    REQUIRE(tbed_scan_open(tables, table, &options, &scan, NULL) == TBED_OK);
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        REQUIRE(batch.row_count > 0 && batch.row_count <= TBED_BATCH_ROWS_MAX);
        for (size_t row = 0; row < batch.row_count; row++) {
            const struct tbed_column_values *first = &batch.columns[0];
            if (is_all || (!is_null(first, row) && first->i64[row] >= least && first->i64[row] <= greatest))
                add_row(&sum, scan, table, &batch, row);
        }
    }
    REQUIRE(status == TBED_END);
    tbed_scan_close(scan);
    return sum;
}

/* Headers say which blocks have events at which times; damaged ones may say anything. */
static bool are_headers_right(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    enum tbed_status status = tbed_reader_verify(reader);
    tbed_reader_info(reader, &info);
    return status == TBED_OK && info.tick_decrease_count == 0;
}

/* A part of the times must not lose a row: with the rest, it is all that has a time. */
static void try_ranges(struct tbed_tables *tables, const struct tbed_table *table, struct sum all)
{
    int64_t middle = all.least / 2 + all.greatest / 2;
    if (table->columns[0].type != TBED_COLUMN_I64 || all.least >= all.greatest)
        return;
    struct sum timed = scan_all(tables, table, true, 1, INT64_MIN + 1, INT64_MAX);
    struct sum early = scan_all(tables, table, true, 1, INT64_MIN, middle);
    struct sum late = scan_all(tables, table, false, 1, middle + 1, INT64_MAX);
    if (all.least > INT64_MIN)
        REQUIRE(early.rows + late.rows == timed.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    struct tbed_tables *tables;
    const struct tbed_table *table;
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_tables_of_reader(reader, &tables) == TBED_OK);
    bool has_right_headers = are_headers_right(reader);
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++) {
        bool has_parameter = false;
        for (size_t column = 0; column < table->column_count; column++)
            has_parameter = has_parameter || table->columns[column].is_parameter;
        if (has_parameter)
            continue;
        struct sum ordered = scan_all(tables, table, false, 1, INT64_MIN, INT64_MAX);
        struct sum any = scan_all(tables, table, true, 2, INT64_MIN, INT64_MAX);
        REQUIRE(ordered.rows == any.rows);
        /* Beyond the limit of texts, chance decides which are left out. */
        REQUIRE(ordered.hash == any.hash || tbed_reader_texts_left_out(reader) > 0);
        if (has_right_headers)
            try_ranges(tables, table, ordered);
    }
    tbed_tables_close(tables);
    tbed_reader_close(reader);
    return 0;
}
