/*
 * Whatever traces contain, each of their tables becomes a Parquet file that a strict reader accepts, with as many rows as the
 * export counts.
 *
 * A trace may be followed by a plan (fuzz/support/failing.h) and the number of a table, which is then written while memory
 * runs out.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict_parquet.h"
#include "reader/exchange/columns/parquet/parquet_rows.h"

#include <sys/mman.h>
#include <unistd.h>

static void check_table(const struct column_export *export, const struct tbed_table *table)
{
    struct column_counts counts = {0};
    struct export_out out;
    uint64_t nbytes, row_count = 0;
    int fd = file_of_input(NULL, 0);
    REQUIRE(tbed_export_out_open(&out, fd, TBED_COMPRESSION_NONE) == TBED_OK);
    REQUIRE(tbed_parquet_table_write(export, table, TBED_COMPRESSION_NONE, &out, &counts) == TBED_OK);
    REQUIRE(tbed_export_out_close(&out, &nbytes, NULL) == TBED_OK);
    const uint8_t *bytes = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(bytes != MAP_FAILED);
    REQUIRE(is_parquet(bytes, nbytes, &row_count) && row_count == counts.row_count);
    munmap((void *)(uintptr_t)bytes, nbytes);
    close(fd);
}

/* ---- While memory runs out ---- */

#define RUNS_MAX 100

struct work {
    const struct column_export *export;
    const struct tbed_table *table;
};

static void write_failing(void *given)
{
    const struct work *work = given;
    struct column_counts counts = {0};
    struct export_out out;
    uint64_t nbytes;
    int fd = file_of_input(NULL, 0);
    failing_start();
    REQUIRE(tbed_export_out_open(&out, fd, TBED_COMPRESSION_NONE) == TBED_OK);
    enum tbed_status status =
        tbed_parquet_table_write(work->export, work->table, TBED_COMPRESSION_NONE, &out, &counts);
    enum tbed_status closed = tbed_export_out_close(&out, &nbytes, NULL);
    failing_stop();
    REQUIRE((status == TBED_OK && closed == TBED_OK) || failing_count() > 0);
    close(fd);
}

static void try_failures(const struct column_export *export, const uint8_t *after, size_t nbytes)
{
    if (nbytes <= FAILING_PLAN_NBYTES)
        return;
    struct failing_plan plan = failing_plan_of(after);
    struct work work = {export, tbed_table_get(after[FAILING_PLAN_NBYTES])};
    plan.run_count = plan.run_count < RUNS_MAX ? plan.run_count : RUNS_MAX;
    if (work.table != NULL && tbed_column_export_has(work.table))
        failing_run(&plan, write_failing, &work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_error error;
    struct tbed_export_result result = {0};
    const struct tbed_table *table;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct export_job job = {.readers = &reader,
                             .reader_count = 1,
                             .options = {.thread_count = 1},
                             .result = &result,
                             .error = &error};
    struct column_export export = {.job = &job};
    tbed_trace_key_get(reader, nbytes % 2 == 0 ? NULL : "host", &export.key);
    REQUIRE(tbed_tables_of_reader(reader, &export.tables) == TBED_OK);
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++)
        if (tbed_column_export_has(table))
            check_table(&export, table);
    size_t rest = nbytes % TBED_PAGE_NBYTES_MIN;
    try_failures(&export, data + nbytes - rest, rest);
    tbed_tables_close(export.tables);
    tbed_reader_close(reader);
    return 0;
}
