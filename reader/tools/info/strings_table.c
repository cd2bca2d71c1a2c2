/*
 * The tables of `tracebed strings`: a row for each entry, or for each binding.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/info/strings_table.h"

#include <stdlib.h>
#include <string.h>

/* ---- Columns ---- */

static const struct tbed_reader *reader_of(const struct table *table)
{
    return ((const struct query_trace *)table->context)->reader;
}

static struct table_value length_of(const struct tbed_reader *reader, uint32_t id)
{
    size_t nbytes = 0;
    enum tbed_status status = tbed_string_resolve(reader, id, NULL, 0, &nbytes);
    struct table_value value = table_value_of(nbytes);
    value.is_unknown = status != TBED_OK;
    return value;
}

static struct table_value text_of(const struct table *table, uint32_t id)
{
    struct query_trace *trace = (struct query_trace *)table->context;
    struct tool_buffer text = {0};
    enum tbed_status status = tool_append_whole_name(&text, trace->reader, id);
    struct table_value value = query_text(trace, text.bytes, text.nbytes);
    value.is_unknown = status != TBED_OK;
    free(text.bytes);
    return value;
}

/* Ids are not counts: no commas. */
static void show_id(struct tool_buffer *text, uint32_t id)
{
    char digits[16];
    tool_append(text, digits, (size_t)snprintf(digits, sizeof digits, "%u", id));
}

struct entry {
    uint32_t id;
};

TABLE_GETTER(entry_id, entry, table_value_of(row->id))
TABLE_GETTER(entry_bytes, entry, length_of(reader_of(table), row->id))
TABLE_GETTER(entry_text, entry, text_of(table, row->id))

static void show_entry_id(const struct table *table, const void *row, struct tool_buffer *text)
{
    (void)table;
    show_id(text, ((const struct entry *)row)->id);
}

TABLE_GETTER(binding_first, tbed_binding_info, table_value_of(row->first_id))
TABLE_GETTER(binding_count, tbed_binding_info, table_value_of(row->id_count))
TABLE_GETTER(binding_string, tbed_binding_info, table_value_of(row->string_id))
TABLE_GETTER(binding_text, tbed_binding_info, text_of(table, row->string_id))

static void show_first(const struct table *table, const void *row, struct tool_buffer *text)
{
    const struct tbed_binding_info *binding = row;
    (void)table;
    if (binding->first_id == TBED_ID_METADATA)
        tool_append(text, "metadata", strlen("metadata"));
    else
        show_id(text, binding->first_id);
}

static void show_string(const struct table *table, const void *row, struct tool_buffer *text)
{
    (void)table;
    show_id(text, ((const struct tbed_binding_info *)row)->string_id);
}

static const struct table_column entry_columns[] = {
    {.key = "string", .unit = TABLE_COUNT, .rises = true, .get = entry_id, .show = show_entry_id},
    {.key = "bytes", .field = "text_bytes", .unit = TABLE_COUNT, .get = entry_bytes},
    {.key = "text", .unit = TABLE_TEXT, .get = entry_text},
};

static const struct table_column binding_columns[] = {
    {.key = "bind", .unit = TABLE_COUNT, .rises = true, .get = binding_first, .show = show_first},
    {.key = "count", .unit = TABLE_COUNT, .get = binding_count},
    {.key = "string", .unit = TABLE_COUNT, .rises = true, .get = binding_string, .show = show_string},
    {.key = "text", .unit = TABLE_TEXT, .get = binding_text},
};

const struct table strings_entries = {
    .key = "strings",
    .what = "strings",
    .columns = entry_columns,
    .column_count = sizeof entry_columns / sizeof entry_columns[0],
    .text_columns = "string,bytes,text",
    .data_columns = "string,bytes,text",
};

const struct table strings_bindings = {
    .key = "bindings",
    .what = "bindings",
    .columns = binding_columns,
    .column_count = sizeof binding_columns / sizeof binding_columns[0],
    .text_columns = "bind,count,string,text",
    .data_columns = "bind,count,string,text",
};

/* ---- Rows, which the caller frees ---- */

static struct entry *list_entries(const struct tbed_reader *reader, const struct strings_shown *shown,
                                  size_t *count_ret)
{
    struct entry *rows = NULL;
    size_t count = 0, room = 0;
    for (uint32_t id = 0; tbed_string_next(reader, &id);) {
        if (!strings_shown_has(shown, id, 1))
            continue;
        if (count == room) {
            room = 2 * room + 64;
            rows = tool_realloc(rows, room * sizeof *rows);
        }
        rows[count++] = (struct entry){id};
    }
    *count_ret = count;
    return rows;
}

static struct tbed_binding_info *list_bindings(const struct tbed_reader *reader,
                                               const struct strings_shown *shown, size_t *count_ret)
{
    struct tbed_binding_info *rows = NULL, binding;
    size_t count = 0, room = 0;
    for (size_t i = 0; tbed_binding_get(reader, i, &binding); i++) {
        if (!strings_binding_is_shown(shown, &binding))
            continue;
        if (count == room) {
            room = 2 * room + 64;
            rows = tool_realloc(rows, room * sizeof *rows);
        }
        rows[count++] = binding;
    }
    *count_ret = count;
    return rows;
}

void strings_table_print(const struct query *query, struct query_trace *trace,
                         const struct strings_shown *shown, bool bindings)
{
    struct table table = bindings ? strings_bindings : strings_entries;
    size_t count;
    void *rows = bindings ? (void *)list_bindings(trace->reader, shown, &count)
                          : (void *)list_entries(trace->reader, shown, &count);
    table.context = trace;
    table.file = tool_path(trace->path);
    table.clock = &trace->clock;
    table_fill(&table, rows, bindings ? sizeof(struct tbed_binding_info) : sizeof(struct entry), count,
               &query->sort, SIZE_MAX);
    query_print(query, trace, &table);
    free(table.rows);
    free(rows);
}
