/*
 * Tables for programs: rows in JSON, and CSV as in RFC 4180. Figures are plain numbers, and the names of fields have their
 * units.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void table_field(const struct table *table, const struct table_column *column, char field[64])
{
    const char *name = column->field != NULL ? column->field : column->key;
    bool is_ticks = column->unit == TABLE_TICKS || column->unit == TABLE_DURATION;
    size_t nbytes = strcspn(name, "*"); /* before the unit */
    snprintf(field, 64, "%.*s%s%s", (int)nbytes, name,
             !is_ticks               ? ""
             : table->clock->is_time ? "_ns"
                                     : "_ticks",
             name + nbytes + (name[nbytes] == '*'));
}

uint64_t table_whole(const struct table *table, const struct table_column *column,
                     const struct table_value *value)
{
    const struct table_clock *clock = table->clock;
    bool is_ticks = column->unit == TABLE_TICKS || column->unit == TABLE_DURATION;
    if (!is_ticks || !clock->is_time || clock->reader == NULL)
        return value->whole;
    return tbed_round_u64(tbed_tick_span_to_ns(clock->reader, value->whole));
}

static bool is_number(const struct table_column *column)
{
    return column->has_fraction || column->unit == TABLE_NUMBER || column->unit == TABLE_PERCENT;
}

/* ---- JSON ---- */

static void json_value(struct tbed_json *json, const struct table *table, const struct table_column *column,
                       const void *row)
{
    char field[64];
    if (column->json != NULL) {
        column->json(json, table, row);
        return;
    }
    struct table_value value = column->get(table, row);
    table_field(table, column, field);
    if (column->unit == TABLE_TEXT && value.is_unknown)
        tbed_json_null(json, field);
    else if (column->unit == TABLE_TEXT)
        tbed_json_text(json, field, value.text, value.nbytes);
    else if (is_number(column))
        tbed_json_f64(json, field, value.number);
    else if (column->has_sign)
        tbed_json_i64(json, field, (int64_t)value.whole);
    else
        tbed_json_u64(json, field, table_whole(table, column, &value));
}

void table_print_json(struct tbed_json *json, const struct table *table, const struct table_keys *columns)
{
    const struct table_column *chosen[TABLE_KEYS_MAX];
    size_t count = table_choose(table, columns, table->data_columns, chosen);
    tbed_json_array_open(json, table->key);
    for (size_t i = 0; i < table->shown; i++) {
        tbed_json_object_open(json, NULL);
        for (size_t k = 0; k < count; k++)
            json_value(json, table, chosen[k], table->rows[i]);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

/* ---- CSV ---- */

/* Text in quotes if it needs them. Control bytes are escaped as in text, except for ends of lines. */
static void csv_text(const char *text, size_t nbytes)
{
    const char *end = text + nbytes;
    bool quotes = memchr(text, ',', nbytes) != NULL || memchr(text, '"', nbytes) != NULL ||
                  memchr(text, '\n', nbytes) != NULL;
    if (quotes)
        putchar('"');
    while (text < end) {
        size_t plain = 0;
        while (text + plain < end && text[plain] != '"' && text[plain] != '\n')
            plain++;
        tool_print_text(stdout, text, plain, 0);
        text += plain;
        if (text < end)
            fputs(*text++ == '"' ? "\"\"" : "\n", stdout);
    }
    if (quotes)
        putchar('"');
}

static void csv_number(double number)
{
    char digits[32];
    if (!isfinite(number)) {
        fputs(isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity", stdout);
        return;
    }
    tbed_format_f64(digits, number);
    fputs(digits, stdout);
}

static void csv_change(int64_t change)
{
    char digits[20];
    if (change < 0)
        putchar('-');
    fwrite(digits, 1, tbed_format_u64(digits, change < 0 ? 0 - (uint64_t)change : (uint64_t)change), stdout);
}

static void csv_value(const struct table *table, const struct table_column *column, const void *row)
{
    char digits[20];
    struct table_value value = column->get(table, row);
    if (value.is_unknown)
        return;
    if (column->unit == TABLE_TEXT)
        csv_text(value.text, value.nbytes);
    else if (is_number(column))
        csv_number(value.number);
    else if (column->has_sign)
        csv_change((int64_t)value.whole);
    else
        fwrite(digits, 1, tbed_format_u64(digits, table_whole(table, column, &value)), stdout);
}

/* The columns of all tables, each once, by the names of their fields. */
struct fields {
    char (*names)[64];
    size_t count, room;
};

static size_t find_field(const struct fields *fields, const char *name)
{
    size_t at = 0;
    while (at < fields->count && strcmp(fields->names[at], name) != 0)
        at++;
    return at;
}

static void add_field(struct fields *fields, const char *name)
{
    if (find_field(fields, name) < fields->count)
        return;
    if (fields->count == fields->room) {
        fields->room = fields->room * 2 + 32;
        fields->names = tool_realloc(fields->names, fields->room * sizeof *fields->names);
    }
    snprintf(fields->names[fields->count++], sizeof *fields->names, "%s", name);
}

static size_t choose(const struct table *table, const struct table_keys *columns,
                     const struct table_column *chosen[TABLE_KEYS_MAX])
{
    size_t count = 0;
    if (columns->count == 0 && !table->has_many_files)
        chosen[count++] = table_column_find(table, "trace");
    if (columns->count == 0)
        chosen[count++] = table_column_find(table, "table");
    return count + table_choose(table, columns, table->data_columns, chosen + count);
}

/* In the order of --columns, or else of the tables. */
static void collect_fields(struct fields *fields, const struct table *const *tables, size_t count,
                           const struct table_keys *columns)
{
    char name[64];
    for (size_t k = 0; k < columns->count; k++)
        for (size_t i = 0; i < count; i++) {
            const struct table_column *column = table_column_find(tables[i], columns->items[k].key);
            if (column == NULL)
                continue;
            table_field(tables[i], column, name);
            add_field(fields, name);
        }
    for (size_t i = 0; i < count && columns->count == 0; i++) {
        const struct table_column *chosen[TABLE_KEYS_MAX + 2];
        size_t chosen_count = choose(tables[i], columns, chosen);
        for (size_t k = 0; k < chosen_count; k++) {
            table_field(tables[i], chosen[k], name);
            add_field(fields, name);
        }
    }
}

static void csv_rows(const struct fields *fields, const struct table *table, const struct table_keys *columns)
{
    const struct table_column *chosen[TABLE_KEYS_MAX + 2],
        **places = tool_realloc(NULL, (fields->count + 1) * sizeof *places);
    size_t count = choose(table, columns, chosen);
    char name[64];
    memset(places, 0, fields->count * sizeof *places);
    for (size_t k = 0; k < count; k++) {
        table_field(table, chosen[k], name);
        places[find_field(fields, name)] = chosen[k];
    }
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++) {
        for (size_t k = 0; k < fields->count; k++) {
            if (k > 0)
                putchar(',');
            if (places[k] != NULL)
                csv_value(table, places[k], table->rows[i]);
        }
        fputs("\r\n", stdout);
    }
    free(places);
}

void table_print_csv(const struct table *const *tables, size_t count, const struct table_keys *columns,
                     bool has_header)
{
    struct fields fields = {.names = NULL};
    collect_fields(&fields, tables, count, columns);
    for (size_t k = 0; k < fields.count && has_header; k++)
        printf("%s%s", k > 0 ? "," : "", fields.names[k]);
    if (has_header)
        fputs("\r\n", stdout);
    for (size_t i = 0; i < count; i++)
        csv_rows(&fields, tables[i], columns);
    free(fields.names);
}
