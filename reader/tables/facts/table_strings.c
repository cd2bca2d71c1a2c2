/*
 * The tables of strings and of ids that are bound to them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

/* ---- Strings ---- */

enum { ID, TEXT, BYTES, COMPONENTS, REFERENCES, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "its id in the trace", false},
    [TEXT] = {"text", TBED_COLUMN_TEXT, NULL, "its text, with the texts of the strings that it refers to",
              false},
    [BYTES] = {"bytes", TBED_COLUMN_I64, "bytes",
               "the length of the text; NULL: a part is missing or too long", false},
    [COMPONENTS] = {"components", TBED_COLUMN_I64, NULL, "the texts and references that it consists of",
                    false},
    [REFERENCES] = {"references", TBED_COLUMN_I64, NULL, "the references among them", false},
};

/* Damage ends a string. */
static void put_components(struct table_rows *rows, const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_string_component component;
    uint32_t at = 0;
    int64_t count = 0, reference_count = 0;
    if (!table_rows_wants(rows, COMPONENTS) && !table_rows_wants(rows, REFERENCES))
        return;
    for (; tbed_string_component_next(reader, id, &at, &component) == TBED_OK; count++)
        reference_count += component.is_reference;
    table_put_i64(rows, COMPONENTS, count);
    table_put_i64(rows, REFERENCES, reference_count);
}

static void put_nbytes(struct table_rows *rows, const struct tbed_reader *reader, uint32_t id)
{
    size_t nbytes = 0;
    if (!table_rows_wants(rows, BYTES))
        return;
    enum tbed_status status = tbed_string_resolve(reader, id, NULL, 0, &nbytes);
    rows->is_out_of_memory |= status == TBED_ERR_MEMORY;
    if (status == TBED_OK)
        table_put_i64(rows, BYTES, (int64_t)nbytes);
    else
        tbed_table_put_null(rows, BYTES);
}

/* Long texts fill the batch early, so that it does not take gigabytes. */
static bool is_full(const struct table_rows *rows)
{
    return table_rows_is_full(rows) || rows->texts[TEXT].nbytes >= FACTS_BATCH_NBYTES;
}

static void put(struct table_rows *rows, const struct tbed_reader *reader, uint32_t id)
{
    table_put_i64(rows, ID, id);
    tbed_table_put_id(rows, TEXT, reader, id);
    put_nbytes(rows, reader, id);
    put_components(rows, reader, id);
    table_rows_end(rows);
}

/* '*at' is the latest id, 0 at first. Ids have to be found from the start, since not every number is one. */
static enum tbed_status fill(struct tbed_scan *scan)
{
    size_t *at = scan->state;
    int64_t least, greatest;
    tbed_scan_range(scan, ID, &least, &greatest);
    uint32_t id = (uint32_t)*at;
    while (!is_full(&scan->rows) && tbed_string_next(scan->reader, &id) && (int64_t)id <= greatest) {
        if ((int64_t)id >= least)
            put(&scan->rows, scan->reader, id);
        *at = id;
    }
    return TBED_OK;
}

static uint64_t estimate(struct tbed_tables *tables)
{
    struct tbed_trace_info info;
    if (tables->reader == NULL)
        return 1000;
    tbed_reader_info(tables->reader, &info);
    return info.string_block_count * (info.page_nbytes / 32);
}

const struct table_source tbed_table_strings = {
    .about = {"strings", "the strings of the trace, in order of their ids", columns, COLUMN_COUNT},
    .row_estimate = estimate,
    .open = tbed_facts_open_index,
    .fill = fill,
    .close = tbed_facts_close,
};

/* ---- Bindings ---- */

enum { FIRST_ID, ID_COUNT, STRING, BOUND_TEXT, BINDING_COLUMN_COUNT };

static const struct tbed_column binding_columns[BINDING_COLUMN_COUNT] = {
    [FIRST_ID] = {"first_id", TBED_COLUMN_I64, NULL, "the first of the ids that are bound", false},
    [ID_COUNT] = {"count", TBED_COLUMN_I64, NULL, "the number of these ids", false},
    [STRING] = {"string_id", TBED_COLUMN_I64, NULL, "what they are bound to", false},
    [BOUND_TEXT] = {"text", TBED_COLUMN_TEXT, NULL, "its text", false},
};

static bool bindings_are_full(const struct table_rows *rows)
{
    return table_rows_is_full(rows) || rows->texts[BOUND_TEXT].nbytes >= FACTS_BATCH_NBYTES;
}

static enum tbed_status fill_bindings(struct tbed_scan *scan)
{
    struct tbed_binding_info binding;
    struct table_rows *rows = &scan->rows;
    size_t *at = scan->state;
    for (; !bindings_are_full(rows) && tbed_binding_get(scan->reader, *at, &binding); (*at)++) {
        table_put_i64(rows, FIRST_ID, binding.first_id);
        table_put_i64(rows, ID_COUNT, binding.id_count);
        table_put_i64(rows, STRING, binding.string_id);
        tbed_table_put_id(rows, BOUND_TEXT, scan->reader, binding.string_id);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_bindings = {
    .about = {"bindings", "ids that are bound to strings or to other ids, in the order of the file",
              binding_columns, BINDING_COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill_bindings,
    .close = tbed_facts_close,
};
