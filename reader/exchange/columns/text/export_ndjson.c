/*
 * A table of a trace as NDJSON: an object for each row, one a line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/core/base/json.h"
#include "reader/exchange/columns/text/table_lines.h"

static void put_text(struct table_lines *text, struct tbed_json *json, const char *key, const char *bytes,
                     size_t nbytes)
{
    if (tbed_utf8_valid_nbytes((const uint8_t *)bytes, nbytes) != nbytes)
        text->counts.replaced_count++;
    tbed_json_text(json, key, bytes, nbytes);
}

static void put_value(struct table_lines *text, struct tbed_json *json, const struct tbed_column *column,
                      const struct tbed_column_values *values, size_t row)
{
    const char *bytes;
    size_t nbytes;
    switch (column->type) {
    case TBED_COLUMN_I64:
        tbed_json_i64(json, column->name, values->i64[row]);
        break;
    case TBED_COLUMN_U64:
        tbed_json_u64(json, column->name, values->u64[row]);
        break;
    case TBED_COLUMN_F64:
        tbed_json_f64(json, column->name, values->f64[row]);
        break;
    case TBED_COLUMN_NAME:
    case TBED_COLUMN_TEXT:
        tbed_table_lines_get(text, column->type, values, row, &bytes, &nbytes);
        put_text(text, json, column->name, bytes, nbytes);
        break;
    }
}

static void put_head(struct table_lines *text)
{
    (void)text;
}

static void put_row(struct table_lines *text, const struct tbed_batch *batch, size_t row)
{
    struct tbed_json json = {.text = &text->out->text};
    tbed_json_object_open(&json, NULL);
    for (size_t i = 0; i < text->table->column_count; i++) {
        const struct tbed_column *column = &text->table->columns[i];
        if (table_lines_is_null(&batch->columns[i], row))
            tbed_json_null(&json, column->name);
        else
            put_value(text, &json, column, &batch->columns[i], row);
    }
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

static enum tbed_status export_file(const struct export_job *job, struct export_out *out)
{
    return tbed_table_lines_export(job, out, put_head, put_row);
}

const struct exchange_format tbed_exchange_ndjson = {
    .about = {.kind = TBED_FOREIGN_NDJSON,
              .name = "ndjson",
              .summary = "a table as lines of JSON",
              .extensions = ".ndjson .jsonl",
              .can_export = true,
              .has_export = true,
              .exports_to_stdout = true,
              .compresses = true,
              .takes_table = true},
    .export_file = export_file,
};
