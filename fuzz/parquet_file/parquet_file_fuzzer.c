/*
 * Row groups of any numbers, texts and nulls become a Parquet file that a strict reader accepts, however often an encoding
 * that was the smallest is used again. If memory runs out or a write fails, that is said.
 *
 * An input begins with a plan (fuzz/support/failing.h), a byte for the compression and one for each column's type. Each row group is
 * its number of rows in 2 bytes and a recipe of 4 bytes for each column, from which its values are made.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/rich_trace.h"
#include "fuzz/support/scratch.h"
#include "fuzz/support/strict_parquet.h"
#include "reader/exchange/columns/parquet/parquet_file.h"

#define COLUMN_COUNT 3
#define GROUP_NBYTES (2 + 4 * COLUMN_COUNT)
#define ROWS_MAX     4096
#define RUNS_MAX     100
#define WORK_MAX     200000                /* rows in all runs with a failure */
#define NAMES        (PARQUET_INSTANT + 1) /* a type of columns, besides those of enum parquet_type */

struct recipe {
    uint8_t nulls;  /* 0: none; 1: all; otherwise each row that is a multiple of it */
    uint8_t kind;   /* of enum values */
    uint8_t step;   /* between values */
    uint8_t nbytes; /* of texts, at least */
};

enum values { COUNTED, CONSTANT, SCATTERED, EXTREME, VALUES_COUNT };

struct input {
    const uint8_t *groups, *end;
    unsigned types[COLUMN_COUNT];
    enum tbed_compression compression;
    const struct tbed_scan *names;
    int file_errno; /* of failing writes; 0: memory runs out */
};

/* ---- Names ---- */

/* The names of a trace, and one that is no UTF-8, which is asked for. */
static const struct tbed_scan *scan_of_names(void)
{
    static struct tbed_scan *scan;
    struct tbed_constraint constraint = {.compare = TBED_EQUAL, .is_text = true, .text = "\xFF", .nbytes = 1};
    const struct tbed_scan_options options = {
        .size = sizeof options, .constraints = &constraint, .constraint_count = 1, .thread_count = 1};
    const struct tbed_table *spans = tbed_table_find("spans");
    struct tbed_tables *tables;
    struct tbed_batch batch;
    if (scan != NULL)
        return scan;
    while (strcmp(spans->columns[constraint.column].name, "label") != 0)
        constraint.column++;
    rich_trace_put(scratch_path("names"));
    REQUIRE(tbed_tables_open(scratch_path("names"), &tables, NULL) == TBED_OK);
    REQUIRE(tbed_scan_open(tables, spans, &options, &scan, NULL) == TBED_OK);
    while (tbed_scan_next(scan, &batch) == TBED_OK)
        continue;
    REQUIRE(tbed_scan_name_count(scan) > 1);
    return scan;
}

/* ---- Values ---- */

static uint64_t value_of(const struct recipe *recipe, uint64_t row)
{
    static const uint64_t extremes[] = {0, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 1};
    switch (recipe->kind % VALUES_COUNT) {
    case COUNTED:
        return row / 2 * recipe->step;
    case CONSTANT:
        return recipe->step;
    case SCATTERED:
        return (row + 1) * UINT64_C(0x9E3779B97F4A7C15) >> recipe->step % 64;
    default:
        return extremes[row % (sizeof extremes / sizeof extremes[0])];
    }
}

static bool put_value(struct parquet_column *column, const struct recipe *recipe, uint64_t row)
{
    char text[256 + 20];
    if (recipe->nulls == 1 || (recipe->nulls > 0 && row % recipe->nulls == 0))
        return tbed_parquet_column_put_null(column);
    uint64_t value = value_of(recipe, row);
    if (column->names != NULL)
        return tbed_parquet_column_put(column, value % tbed_scan_name_count(column->names->scan));
    if (column->type != PARQUET_TEXT)
        return tbed_parquet_column_put(column, value);
    memset(text, '0', recipe->nbytes);
    size_t nbytes = recipe->nbytes + tbed_format_u64(text + recipe->nbytes, value);
    return tbed_parquet_column_put_text(column, text, recipe->step > 0 ? nbytes : 0);
}

/* ---- The file ---- */

static bool put_group(struct parquet_file *file, const uint8_t *group)
{
    file->row_count = (size_t)(group[0] | group[1] << 8) % ROWS_MAX;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        struct recipe recipe;
        memcpy(&recipe, group + 2 + i * sizeof recipe, sizeof recipe);
        for (size_t row = 0; row < file->row_count; row++)
            if (!put_value(&file->columns[i], &recipe, row))
                return false;
    }
    return true;
}

/* Returns false if that failed. */
static bool put_file(const struct input *input, struct export_out *out)
{
    static const char *const pairs[][2] = {{"key", "value"}, {NULL, NULL}};
    struct parquet_names names = {.scan = input->names};
    struct parquet_file file = {.out = out, .column_count = COLUMN_COUNT, .compression = input->compression};
    file.scratch.names = &names;
    bool is_fine = tbed_block_packer_open(input->compression, &file.scratch.packer) == TBED_OK;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        bool is_name = input->types[i] == NAMES;
        file.columns[i] = (struct parquet_column){.name = "column",
                                                  .type = is_name ? PARQUET_TEXT : input->types[i],
                                                  .names = is_name ? &names : NULL};
    }
    for (const uint8_t *at = input->groups; is_fine && input->end - at >= GROUP_NBYTES; at += GROUP_NBYTES)
        is_fine = tbed_parquet_file_flush(&file) && put_group(&file, at);
    is_fine = is_fine && tbed_parquet_file_end(&file, pairs);
    tbed_parquet_file_free(&file);
    free(names.indexes);
    return is_fine;
}

static bool put_and_close(const struct input *input, int fd, uint64_t *nbytes_ret)
{
    struct export_out out;
    if (tbed_export_out_open(&out, fd, TBED_COMPRESSION_NONE) != TBED_OK)
        return false;
    bool is_fine = put_file(input, &out);
    return tbed_export_out_close(&out, nbytes_ret, NULL) == TBED_OK && is_fine;
}

static void put_failing(void *given)
{
    const struct input *input = given;
    uint64_t nbytes;
    int fd = file_of_input(NULL, 0);
    if (input->file_errno != 0)
        failing_start_files(input->file_errno);
    else
        failing_start();
    bool is_fine = put_and_close(input, fd, &nbytes);
    failing_stop();
    REQUIRE(is_fine == (failing_count() == 0));
    close(fd);
}

static uint64_t count_rows(const struct input *input)
{
    uint64_t count = 0;
    for (const uint8_t *at = input->groups; input->end - at >= GROUP_NBYTES; at += GROUP_NBYTES)
        count += (uint64_t)(at[0] | at[1] << 8) % ROWS_MAX;
    return count;
}

/* The strict reader does not unpack pages. */
static void check_file(struct input input)
{
    uint64_t nbytes, row_count;
    int fd = file_of_input(NULL, 0);
    input.compression = TBED_COMPRESSION_NONE;
    REQUIRE(put_and_close(&input, fd, &nbytes));
    const uint8_t *bytes = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(bytes != MAP_FAILED);
    REQUIRE(is_parquet(bytes, nbytes, &row_count) && row_count == count_rows(&input));
    munmap((void *)(uintptr_t)bytes, nbytes);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const enum tbed_compression compressions[] = {TBED_COMPRESSION_NONE, TBED_COMPRESSION_GZIP,
                                                         TBED_COMPRESSION_ZSTD};
    if (nbytes < FAILING_PLAN_NBYTES + 1 + COLUMN_COUNT)
        return 0;
    struct failing_plan plan = failing_plan_of(data);
    const uint8_t *at = data + FAILING_PLAN_NBYTES;
    plan.run_count = plan.run_count < RUNS_MAX ? plan.run_count : RUNS_MAX;
    struct input input = {
        .groups = at + 1 + COLUMN_COUNT, .end = data + nbytes, .compression = compressions[*at % 3]};
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        input.types[i] = at[1 + i] % (NAMES + 1);
    uint64_t most = 1 + WORK_MAX / (1 + count_rows(&input));
    plan.run_count = plan.run_count < most ? plan.run_count : (uint32_t)most;
    input.names = scan_of_names();
    check_file(input);
    failing_run(&plan, put_failing, &input);
    input.file_errno = ENOSPC;
    failing_run(&plan, put_failing, &input);
    return 0;
}
