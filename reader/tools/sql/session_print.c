/*
 * Prints the rows of a statement: as a table, as CSV or as a JSON object on each line.
 *
 * The widths of a table are those of its first rows, so that a long result is printed while it is made.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/sql/session.h"

#ifdef SQL_IS_BUILT

#include <unistd.h>

#define MEASURED_ROWS 500u
#define WIDTH_MAX     80u /* of a column on a terminal; elsewhere, of what is padded */

struct cell {
    size_t offset, nbytes; /* in the text of the printer */
    int type;
};

struct printer {
    struct session *session;
    sqlite3_stmt *statement;
    int column_count;
    size_t *widths;
    bool *are_numbers;
    struct tbed_text text; /* of the cells */
    struct cell *cells;
    size_t row_count;
    bool has_header;
    bool cuts;
};

/* ---- Tables ---- */

static void put_padding(size_t width)
{
    printf("%*s", (int)width, "");
}

static void put_cell(const struct printer *printer, int column, const struct cell *cell)
{
    const char *text = printer->text.bytes + cell->offset;
    size_t width = printer->widths[column], own = tool_text_width(text, cell->nbytes);
    bool is_null = cell->type == SQLITE_NULL, is_last = column + 1 == printer->column_count;
    size_t padding = own < width ? width - own : 0;
    if (column > 0)
        fputs("  ", stdout);
    if (printer->are_numbers[column])
        put_padding(padding);
    fputs(is_null ? tool_dim() : "", stdout);
    tool_print_text(stdout, text, cell->nbytes, printer->cuts ? width : 0);
    fputs(is_null ? tool_plain() : "", stdout);
    if (!printer->are_numbers[column] && !is_last)
        put_padding(padding);
}

static void put_row(const struct printer *printer, const struct cell *cells)
{
    for (int i = 0; i < printer->column_count; i++)
        put_cell(printer, i, &cells[i]);
    putchar('\n');
}

static void put_header(struct printer *printer)
{
    if (printer->session->result_count++ > 0)
        putchar('\n');
    fputs(tool_bold(), stdout);
    for (int i = 0; i < printer->column_count; i++) {
        const char *name = sqlite3_column_name(printer->statement, i);
        size_t nbytes = strlen(name), own = tool_text_width(name, nbytes);
        size_t padding = own < printer->widths[i] ? printer->widths[i] - own : 0;
        fputs(i > 0 ? "  " : "", stdout);
        if (printer->are_numbers[i])
            put_padding(padding);
        tool_print_text(stdout, name, nbytes, printer->cuts ? printer->widths[i] : 0);
        if (!printer->are_numbers[i] && i + 1 < printer->column_count)
            put_padding(padding);
    }
    printf("%s\n", tool_plain());
    printer->has_header = true;
}

static void measure(struct printer *printer)
{
    for (int i = 0; i < printer->column_count; i++) {
        const char *name = sqlite3_column_name(printer->statement, i);
        size_t width = tool_text_width(name, strlen(name));
        bool has_text = false, has_number = false;
        for (size_t row = 0; row < printer->row_count; row++) {
            const struct cell *cell = &printer->cells[row * (size_t)printer->column_count + (size_t)i];
            size_t own = tool_text_width(printer->text.bytes + cell->offset, cell->nbytes);
            width = own > width ? own : width;
            has_text = has_text || cell->type == SQLITE_TEXT || cell->type == SQLITE_BLOB;
            has_number = has_number || cell->type == SQLITE_INTEGER || cell->type == SQLITE_FLOAT;
        }
        printer->widths[i] = width < WIDTH_MAX ? width : WIDTH_MAX;
        printer->are_numbers[i] = has_number && !has_text;
    }
}

/* Prints the rows that were collected. */
static void flush_rows(struct printer *printer)
{
    if (printer->row_count == 0)
        return;
    tool_progress_end();
    if (!printer->has_header) {
        measure(printer);
        put_header(printer);
    }
    for (size_t row = 0; row < printer->row_count; row++)
        put_row(printer, &printer->cells[row * (size_t)printer->column_count]);
    printer->row_count = 0;
    printer->text.nbytes = 0;
}

static void put_hex(struct tbed_text *text, const unsigned char *bytes, size_t nbytes)
{
    char digits[3];
    tbed_text_puts(text, "x'");
    for (size_t i = 0; i < nbytes; i++) {
        snprintf(digits, sizeof digits, "%02x", bytes[i]);
        tbed_text_put(text, digits, 2);
    }
    tbed_text_puts(text, "'");
}

/* The text of a value. */
static void put_value(struct tbed_text *text, sqlite3_stmt *statement, int column, const char *null)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL)
        tbed_text_puts(text, null);
    else if (type == SQLITE_BLOB)
        put_hex(text, sqlite3_column_blob(statement, column),
                (size_t)sqlite3_column_bytes(statement, column));
    else
        tbed_text_put(text, (const char *)sqlite3_column_text(statement, column),
                      (size_t)sqlite3_column_bytes(statement, column));
}

static void take_row(struct printer *printer)
{
    size_t first = printer->row_count++ * (size_t)printer->column_count;
    for (int i = 0; i < printer->column_count; i++) {
        struct cell *cell = &printer->cells[first + (size_t)i];
        cell->type = sqlite3_column_type(printer->statement, i);
        cell->offset = printer->text.nbytes;
        put_value(&printer->text, printer->statement, i, "NULL");
        cell->nbytes = printer->text.nbytes - cell->offset;
    }
    tool_check_text(&printer->text);
    if (printer->row_count == MEASURED_ROWS || printer->has_header)
        flush_rows(printer);
}

/* ---- CSV ---- */

static void put_csv(const char *text, size_t nbytes)
{
    bool needs_quotes =
        nbytes > 0 && (memchr(text, '"', nbytes) != NULL || memchr(text, ',', nbytes) != NULL ||
                       memchr(text, '\n', nbytes) != NULL || memchr(text, '\r', nbytes) != NULL);
    if (!needs_quotes) {
        fwrite(text, 1, nbytes, stdout);
        return;
    }
    putchar('"');
    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] == '"')
            putchar('"');
        putchar(text[i]);
    }
    putchar('"');
}

static void put_csv_header(struct printer *printer)
{
    if (printer->session->result_count++ > 0)
        fputs("\r\n", stdout);
    for (int i = 0; i < printer->column_count; i++) {
        const char *name = sqlite3_column_name(printer->statement, i);
        fputs(i > 0 ? "," : "", stdout);
        put_csv(name, strlen(name));
    }
    fputs("\r\n", stdout);
    printer->has_header = true;
}

static void put_csv_row(struct printer *printer)
{
    for (int i = 0; i < printer->column_count; i++) {
        printer->text.nbytes = 0;
        put_value(&printer->text, printer->statement, i, "");
        tool_check_text(&printer->text);
        fputs(i > 0 ? "," : "", stdout);
        put_csv(printer->text.bytes, printer->text.nbytes);
    }
    fputs("\r\n", stdout);
}

/* ---- JSON ---- */

/* The name of a column; a second one with the same name gets a number. */
static const char *json_key(struct printer *printer, int column)
{
    int same = 1;
    const char *name = sqlite3_column_name(printer->statement, column);
    for (int i = 0; i < column; i++)
        same += strcmp(sqlite3_column_name(printer->statement, i), name) == 0;
    printer->text.nbytes = 0;
    tbed_json_quote(&printer->text, name, strlen(name));
    /* Keys are written without escapes, so the quotes of a key in JSON are dropped again. */
    printer->text.nbytes -= printer->text.nbytes > 0;
    if (same > 1) {
        tbed_text_puts(&printer->text, "_");
        tbed_text_i64(&printer->text, same);
    }
    tbed_text_put(&printer->text, "", 1);
    tool_check_text(&printer->text);
    return printer->text.bytes + 1;
}

static void put_json_value(struct tbed_json *json, sqlite3_stmt *statement, int column, const char *key)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        tbed_json_i64(json, key, sqlite3_column_int64(statement, column));
        break;
    case SQLITE_FLOAT:
        tbed_json_f64(json, key, sqlite3_column_double(statement, column));
        break;
    case SQLITE_TEXT:
        tbed_json_text(json, key, (const char *)sqlite3_column_text(statement, column),
                       (size_t)sqlite3_column_bytes(statement, column));
        break;
    case SQLITE_BLOB:
        tbed_json_hex(json, key, sqlite3_column_blob(statement, column),
                      (size_t)sqlite3_column_bytes(statement, column));
        break;
    default:
        tbed_json_null(json, key);
    }
}

static void put_json_row(struct printer *printer)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    for (int i = 0; i < printer->column_count; i++)
        put_json_value(&json, printer->statement, i, json_key(printer, i));
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

/* ---- All rows ---- */

static void put_any_row(struct printer *printer)
{
    switch (printer->session->format) {
    case SESSION_TABLE:
        take_row(printer);
        return;
    case SESSION_CSV:
        put_csv_row(printer);
        break;
    case SESSION_JSON:
        put_json_row(printer);
        break;
    }
}

static struct tbed_reader *reader_of(const struct session *session)
{
    const char *path;
    struct tbed_tables *tables = sql_context_get(session->context, 0, &path);
    /* A profile in place has no reader before it is imported. */
    return tables != NULL && tool_format(path) == NULL ? tbed_tables_reader(tables, NULL) : NULL;
}

static int print_rows(struct printer *printer)
{
    int code;
    bool is_csv = printer->session->format == SESSION_CSV;
    struct tbed_reader *reader = reader_of(printer->session);
    if (reader != NULL)
        tool_progress_begin(reader, printer->session->format != SESSION_TABLE);
    while ((code = sqlite3_step(printer->statement)) == SQLITE_ROW && !tool_output_failed()) {
        if (is_csv && !printer->has_header)
            put_csv_header(printer);
        put_any_row(printer);
    }
    tool_progress_end();
    if (printer->session->format == SESSION_TABLE)
        flush_rows(printer);
    else if (is_csv && code == SQLITE_DONE && !printer->has_header && printer->column_count > 0)
        put_csv_header(printer);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

int session_print(struct session *session, sqlite3_stmt *statement)
{
    struct printer printer = {.session = session,
                              .statement = statement,
                              .column_count = sqlite3_column_count(statement),
                              .cuts = isatty(STDOUT_FILENO) == 1};
    size_t count = (size_t)printer.column_count;
    printer.widths = tool_realloc(NULL, (count + 1) * sizeof *printer.widths);
    printer.are_numbers = tool_realloc(NULL, count + 1);
    printer.cells = tool_realloc(NULL, (count * MEASURED_ROWS + 1) * sizeof *printer.cells);
    int code = print_rows(&printer);
    free(printer.widths);
    free(printer.are_numbers);
    free(printer.cells);
    free(printer.text.bytes);
    return code;
}

#endif
