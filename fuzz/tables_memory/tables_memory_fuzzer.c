/*
 * Scans every table of a trace while memory runs out. A scan must either return ERR_MEMORY or the same rows as with enough
 * memory, and every batch must keep the rules of <tracebed/tables.h>. Functions, files and lines of places in code may be
 * missing: tbed_id_resolve() says so.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Mutator: trace
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "reader/tests/tables/rows_text.h"

#define LABEL_NBYTES 32

struct use {
    const uint8_t *data;
    size_t nbytes;
    const struct tbed_table *table;
    unsigned thread_count;
    bool any_order;
    char label[LABEL_NBYTES]; /* for tables that are a function of one */
    uint64_t expected;
};

/* ---- Rows ---- */

static bool is_place(const char *column)
{
    static const char *const names[] = {"function", "file",   "line",      "module",
                                        "frame",    "frames", "is_inlined"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(column, names[i]) == 0)
            return true;
    return false;
}

static uint64_t mix_text(uint64_t seen, const char *text, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        seen = failing_mix(seen, (uint8_t)text[i]);
    return failing_mix(seen, nbytes);
}

static uint64_t mix_value(uint64_t seen, const struct tbed_scan *scan, enum tbed_column_type type,
                          const struct tbed_column_values *values, size_t row)
{
    const char *text;
    size_t nbytes;
    if (values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0)
        return failing_mix(seen, 7);
    switch (type) {
    case TBED_COLUMN_I64:
        return failing_mix(seen, (uint64_t)values->i64[row]);
    case TBED_COLUMN_U64:
        return failing_mix(seen, values->u64[row]);
    case TBED_COLUMN_F64:
        memcpy(&nbytes, &values->f64[row], sizeof nbytes);
        return failing_mix(seen, nbytes);
    case TBED_COLUMN_NAME:
        tbed_scan_name(scan, values->codes[row], &text, &nbytes);
        return mix_text(seen, text, nbytes);
    case TBED_COLUMN_TEXT:
        return mix_text(seen, values->text + values->offsets[row],
                        values->offsets[row + 1] - values->offsets[row]);
    }
    return seen;
}

/* Rows may come in any order. */
static uint64_t add_batch(uint64_t seen, const struct tbed_scan *scan, const struct tbed_table *table,
                          const struct tbed_batch *batch)
{
    for (size_t row = 0; row < batch->row_count; row++) {
        uint64_t of_row = 1;
        for (size_t i = 0; i < table->column_count; i++)
            if (!is_place(table->columns[i].name))
                of_row = mix_value(of_row, scan, table->columns[i].type, &batch->columns[i], row);
        seen += of_row;
    }
    return seen;
}

static enum tbed_status scan_rows(struct tbed_scan *scan, const struct tbed_table *table, uint64_t *seen)
{
    struct tbed_batch batch;
    enum tbed_status status;
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        REQUIRE(rows_text_broken(scan, table, &batch, 0) == NULL);
        *seen = add_batch(*seen, scan, table, &batch);
    }
    return status;
}

/* ---- A scan ---- */

static uint64_t scan_table(const struct use *use, struct tbed_reader *reader)
{
    const struct tbed_constraint label = {
        .is_text = true, .text = use->label, .nbytes = strlen(use->label)}; /* of the first column */
    struct tbed_scan_options options = {.size = sizeof options,
                                        .thread_count = use->thread_count,
                                        .any_order = use->any_order,
                                        .constraints = &label};
    struct tbed_tables *tables;
    struct tbed_scan *scan;
    uint64_t seen = 0;
    options.constraint_count = use->table->columns[0].is_parameter;
    enum tbed_status status = tbed_tables_of_reader(reader, &tables);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    status = tbed_scan_open(tables, use->table, &options, &scan, NULL);
    if (status == TBED_OK) {
        status = scan_rows(scan, use->table, &seen);
        tbed_scan_close(scan);
    }
    tbed_tables_close(tables);
    REQUIRE(status == TBED_END || status == TBED_ERR_MEMORY);
    return status == TBED_END ? seen : FAILING_NO_MEMORY;
}

/* The first label, if it is a short text. */
static void find_label(struct tbed_reader *reader, char label[LABEL_NBYTES])
{
    struct tbed_tables *tables;
    struct tbed_scan *scan;
    struct tbed_batch batch;
    const char *text;
    size_t nbytes;
    label[0] = '\0';
    REQUIRE(tbed_tables_of_reader(reader, &tables) == TBED_OK);
    REQUIRE(tbed_scan_open(tables, tbed_table_find("label_statistics"), NULL, &scan, NULL) == TBED_OK);
    if (tbed_scan_next(scan, &batch) == TBED_OK) {
        tbed_scan_name(scan, batch.columns[0].codes[0], &text, &nbytes);
        if (nbytes < LABEL_NBYTES && memchr(text, '\0', nbytes) == NULL) {
            memcpy(label, text, nbytes);
            label[nbytes] = '\0';
        }
    }
    tbed_scan_close(scan);
    tbed_tables_close(tables);
}

/* If a cursor has no memory to copy a block of a flight recorder, it skips the block as if it had been overwritten. */
static bool may_skip(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info.ring_page_count != 0;
}

static void scan_once(void *context)
{
    const struct use *use = context;
    struct tbed_reader *reader = open_input(use->data, use->nbytes);
    REQUIRE(reader != NULL);
    failing_start();
    uint64_t seen = scan_table(use, reader);
    failing_stop();
    REQUIRE(seen == use->expected ||
            (failing_count() > 0 && (seen == FAILING_NO_MEMORY || may_skip(reader))));
    tbed_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct tbed_reader *reader = open_input(data, nbytes);
    struct use use = {.data = data, .nbytes = nbytes};
    if (reader == NULL)
        return 0;
    find_label(reader, use.label);
    tbed_reader_close(reader);
    for (size_t i = 0; (use.table = tbed_table_get(i / 2)) != NULL; i++) {
        use.any_order = i % 2 == 0;
        use.thread_count = use.any_order ? 1 : 3;
        reader = open_input(data, nbytes);
        use.expected = scan_table(&use, reader);
        tbed_reader_close(reader);
        failing_run(&plan, scan_once, &use);
    }
    return 0;
}
