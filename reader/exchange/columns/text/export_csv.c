/*
 * A table of a trace as CSV: RFC 4180 with lines that end in a line feed.
 *
 * NULL is an empty field; an empty text is "".
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/exchange/columns/text/table_lines.h"
#include "reader/tables/base/clean_text.h"

#include <math.h>
#include <stdio.h>

static bool needs_quotes(const char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] == ',' || bytes[i] == '"' || (uint8_t)bytes[i] <= ' ')
            return true;
    return nbytes == 0;
}

static void put_quoted(struct tbed_text *out, const char *bytes, size_t nbytes)
{
    tbed_text_puts(out, "\"");
    while (nbytes > 0) {
        const char *quote = memchr(bytes, '"', nbytes);
        size_t piece = quote != NULL ? (size_t)(quote - bytes) + 1 : nbytes;
        tbed_text_put(out, bytes, piece);
        if (quote != NULL)
            tbed_text_puts(out, "\"");
        bytes += piece;
        nbytes -= piece;
    }
    tbed_text_puts(out, "\"");
}

static void put_text(struct table_lines *text, const char *bytes, size_t nbytes)
{
    struct tbed_text *out = &text->out->text;
    if (tbed_utf8_valid_nbytes((const uint8_t *)bytes, nbytes) != nbytes) {
        text->counts.replaced_count++;
        text->clean.nbytes = 0;
        tbed_text_put_clean(&text->clean, bytes, nbytes);
        bytes = text->clean.bytes;
        nbytes = text->clean.nbytes;
    }
    if (needs_quotes(bytes, nbytes))
        put_quoted(out, bytes, nbytes);
    else
        tbed_text_put(out, bytes, nbytes);
}

static void put_f64(struct tbed_text *out, double value)
{
    char digits[40];
    if (isnan(value))
        tbed_text_puts(out, "NaN");
    else if (isinf(value))
        tbed_text_puts(out, value < 0 ? "-Infinity" : "Infinity");
    else
        tbed_text_put(out, digits, (size_t)snprintf(digits, sizeof digits, "%.17g", value));
}

static void put_value(struct table_lines *text, enum tbed_column_type type,
                      const struct tbed_column_values *values, size_t row)
{
    struct tbed_text *out = &text->out->text;
    const char *bytes;
    size_t nbytes;
    switch (type) {
    case TBED_COLUMN_I64:
        tbed_text_i64(out, values->i64[row]);
        break;
    case TBED_COLUMN_U64:
        tbed_text_u64(out, values->u64[row]);
        break;
    case TBED_COLUMN_F64:
        put_f64(out, values->f64[row]);
        break;
    case TBED_COLUMN_NAME:
    case TBED_COLUMN_TEXT:
        tbed_table_lines_get(text, type, values, row, &bytes, &nbytes);
        put_text(text, bytes, nbytes);
        break;
    }
}

static void put_head(struct table_lines *text)
{
    for (size_t i = 0; i < text->table->column_count; i++) {
        tbed_text_puts(&text->out->text, i > 0 ? "," : "");
        tbed_text_puts(&text->out->text, text->table->columns[i].name);
    }
    tbed_text_puts(&text->out->text, "\n");
}

static void put_row(struct table_lines *text, const struct tbed_batch *batch, size_t row)
{
    for (size_t i = 0; i < text->table->column_count; i++) {
        const struct tbed_column_values *values = &batch->columns[i];
        tbed_text_puts(&text->out->text, i > 0 ? "," : "");
        if (!table_lines_is_null(values, row))
            put_value(text, text->table->columns[i].type, values, row);
    }
    tbed_text_puts(&text->out->text, "\n");
}

static enum tbed_status export_file(const struct export_job *job, struct export_out *out)
{
    return tbed_table_lines_export(job, out, put_head, put_row);
}

const struct exchange_format tbed_exchange_csv = {
    .about = {.kind = TBED_FOREIGN_CSV,
              .name = "csv",
              .summary = "a table as comma-separated values",
              .extensions = ".csv",
              .can_export = true,
              .has_export = true,
              .exports_to_stdout = true,
              .compresses = true,
              .takes_table = true},
    .export_file = export_file,
};
