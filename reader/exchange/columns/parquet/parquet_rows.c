/*
 * A table of a trace as a Parquet file: batches of its scan become row groups, and each row says of which trace it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/parquet/parquet_rows.h"

#include "format/base/utf8.h"
#include "reader/exchange/columns/parquet/parquet_file.h"
#include "reader/tables/base/clean_text.h"
#include "reader/tables/base/table.h"

#include <string.h>

/*
 * Rows of a row group: enough for a dictionary and compression to pay, few enough that 25 columns of numbers take 26 MB while
 * they are collected, and that a range of time reads little.
 */
#define GROUP_ROWS    (128u << 10)
#define GROUP_NBYTES  (8u << 20)  /* of text, in a column */
#define TEXT_NBYTES   (64u << 20) /* longer texts are cut, for the sake of readers */
#define SECOND        INT64_C(1000000000)
#define KEY_COUNT_MAX 5

/* Columns that the table does not have. */
enum key { KEY_HOST, KEY_BOOT, KEY_FILE_ID, KEY_START, KEY_SECOND, KEY_COUNT };
_Static_assert(KEY_COUNT == KEY_COUNT_MAX && 64 + KEY_COUNT <= PARQUET_COLUMNS_MAX, "each has a column");

static const struct {
    const char *name;
    enum parquet_type type;
} keys[KEY_COUNT] = {
    [KEY_HOST] = {"host", PARQUET_TEXT},        [KEY_BOOT] = {"boot", PARQUET_INSTANT},
    [KEY_FILE_ID] = {"file_id", PARQUET_TEXT},  [KEY_START] = {"start_ns", PARQUET_I64},
    [KEY_SECOND] = {"second", PARQUET_INSTANT},
};

/*
 * What a table says twice: a span's end is ts + dur, and its name is its label with its arguments. Both take a fourth of the
 * bytes.
 */
static const struct {
    const char *table, *column;
} omitted[] = {{"spans", "name"}, {"spans", "end_ts"}};

struct writing {
    const struct column_export *export;
    const struct tbed_table *table;
    struct tbed_scan *scan;
    struct parquet_file file;
    struct parquet_names names;
    struct tbed_text clean;
    uint8_t sources[TABLE_COLUMNS_MAX]; /* the column of the table that each column of the file has */
    size_t own_count;                   /* of them; what follows are keys */
    size_t ts;                          /* the table's column "ts" */
    bool has_ts;
    uint64_t mask;
    struct column_counts *counts;
};

/* ---- Columns ---- */

static bool is_omitted(const struct tbed_table *table, const struct tbed_column *column)
{
    for (size_t i = 0; i < sizeof omitted / sizeof omitted[0]; i++)
        if (strcmp(omitted[i].table, table->name) == 0 && strcmp(omitted[i].column, column->name) == 0)
            return true;
    return false;
}

static void open_columns(struct writing *writing)
{
    static const enum parquet_type types[] = {
        [TBED_COLUMN_I64] = PARQUET_I64,   [TBED_COLUMN_U64] = PARQUET_U64,   [TBED_COLUMN_F64] = PARQUET_F64,
        [TBED_COLUMN_NAME] = PARQUET_TEXT, [TBED_COLUMN_TEXT] = PARQUET_TEXT,
    };
    struct parquet_file *file = &writing->file;
    const struct tbed_table *table = writing->table;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tbed_column *column = &table->columns[i];
        if (is_omitted(table, column))
            continue;
        struct parquet_column *own = &file->columns[writing->own_count];
        *own = (struct parquet_column){.name = column->name, .type = types[column->type]};
        own->names = column->type == TBED_COLUMN_NAME ? &writing->names : NULL;
        writing->sources[writing->own_count++] = (uint8_t)i;
        writing->mask |= UINT64_C(1) << i;
        if (column->type == TBED_COLUMN_I64 && strcmp(column->name, "ts") == 0) {
            writing->has_ts = true;
            writing->ts = i;
        }
    }
    file->column_count = writing->own_count;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (i != KEY_SECOND || writing->has_ts)
            file->columns[file->column_count++] =
                (struct parquet_column){.name = keys[i].name, .type = keys[i].type};
}

/* ---- Values ---- */

static bool is_null(const struct tbed_column_values *values, size_t row)
{
    return values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
}

static bool put_text(struct writing *writing, struct parquet_column *column, const char *bytes, size_t nbytes)
{
    const uint8_t *text = (const uint8_t *)bytes;
    if (nbytes > TEXT_NBYTES) {
        nbytes = tbed_utf8_cut_nbytes(text, TEXT_NBYTES);
        writing->counts->shortened_count++;
    }
    if (tbed_utf8_valid_nbytes(text, nbytes) == nbytes)
        return tbed_parquet_column_put_text(column, bytes, nbytes);
    writing->counts->replaced_count++;
    writing->clean.nbytes = 0;
    tbed_text_put_clean(&writing->clean, bytes, nbytes);
    return !writing->clean.is_out_of_memory &&
           tbed_parquet_column_put_text(column, writing->clean.bytes, writing->clean.nbytes);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool put_value(struct writing *writing, size_t at, const struct tbed_batch *batch, size_t row)
{
    const struct tbed_column_values *values = &batch->columns[writing->sources[at]];
    struct parquet_column *column = &writing->file.columns[at];
    if (is_null(values, row))
        return tbed_parquet_column_put_null(column);
    switch (writing->table->columns[writing->sources[at]].type) {
    case TBED_COLUMN_I64:
        return tbed_parquet_column_put(column, (uint64_t)values->i64[row]);
    case TBED_COLUMN_U64:
        return tbed_parquet_column_put(column, values->u64[row]);
    case TBED_COLUMN_F64:
        return tbed_parquet_column_put(column, bits_of(values->f64[row]));
    case TBED_COLUMN_NAME:
        return tbed_parquet_column_put(column, values->codes[row]);
    case TBED_COLUMN_TEXT:
        break;
    }
    return put_text(writing, column, table_text_at(values, row),
                    values->offsets[row + 1] - values->offsets[row]);
}

/* The second in which the row's time lies. */
static bool second_of(const struct writing *writing, const struct tbed_batch *batch, size_t row,
                      int64_t *second)
{
    const struct tbed_column_values *values = &batch->columns[writing->ts];
    int64_t time;
    if (!writing->export->key.has_start || is_null(values, row) ||
        __builtin_add_overflow(writing->export->key.start_ns, values->i64[row], &time))
        return false;
    int64_t part = time % SECOND;
    return !__builtin_sub_overflow(time, part < 0 ? part + SECOND : part, second);
}

static bool put_number_or_null(struct parquet_column *column, bool has, int64_t number)
{
    return has ? tbed_parquet_column_put(column, (uint64_t)number) : tbed_parquet_column_put_null(column);
}

static bool put_keys(struct writing *writing, const struct tbed_batch *batch, size_t row)
{
    const struct trace_key *key = &writing->export->key;
    struct parquet_column *columns = &writing->file.columns[writing->own_count];
    int64_t second = 0;
    bool has_host = key->host != NULL
                        ? tbed_parquet_column_put_text(&columns[KEY_HOST], key->host, strlen(key->host))
                        : tbed_parquet_column_put_null(&columns[KEY_HOST]);
    if (!has_host || !put_number_or_null(&columns[KEY_BOOT], key->has_boot, key->boot_ns) ||
        !tbed_parquet_column_put_text(&columns[KEY_FILE_ID], key->file_id, strlen(key->file_id)) ||
        !put_number_or_null(&columns[KEY_START], key->has_start, key->start_ns))
        return false;
    if (!writing->has_ts)
        return true;
    bool has_second = second_of(writing, batch, row, &second);
    return put_number_or_null(&columns[KEY_SECOND], has_second, second);
}

/* ---- Rows ---- */

static bool is_full(const struct writing *writing)
{
    if (writing->file.row_count >= GROUP_ROWS)
        return true;
    for (size_t i = 0; i < writing->own_count; i++)
        if (writing->file.columns[i].text.nbytes >= GROUP_NBYTES)
            return true;
    return false;
}

static bool put_row(struct writing *writing, const struct tbed_batch *batch, size_t row)
{
    for (size_t i = 0; i < writing->own_count; i++)
        if (!put_value(writing, i, batch, row))
            return false;
    if (!put_keys(writing, batch, row))
        return false;
    writing->file.row_count++;
    writing->counts->row_count++;
    return !is_full(writing) || tbed_parquet_file_flush(&writing->file);
}

static enum tbed_status put_rows(struct writing *writing)
{
    struct tbed_batch batch;
    enum tbed_status status;
    while ((status = tbed_scan_next(writing->scan, &batch)) == TBED_OK)
        for (size_t row = 0; row < batch.row_count; row++)
            if (!put_row(writing, &batch, row))
                return TBED_ERR_MEMORY;
    return status == TBED_END ? TBED_OK : status;
}

/* Names are replaced where they are written; here they are counted, each once. */
static void count_names(struct writing *writing)
{
    for (uint32_t i = 0; i < tbed_scan_name_count(writing->scan); i++) {
        const char *bytes;
        size_t nbytes;
        tbed_scan_name(writing->scan, i, &bytes, &nbytes);
        if (tbed_utf8_valid_nbytes((const uint8_t *)bytes, nbytes) != nbytes)
            writing->counts->replaced_count++;
    }
}

static enum tbed_status write_file(struct writing *writing)
{
    const char *const pairs[][2] = {{"tracebed.schema", "1"},
                                    {"tracebed.table", writing->table->name},
                                    {"tracebed.file_id", writing->export->key.file_id},
                                    {NULL, NULL}};
    enum tbed_status status = put_rows(writing);
    if (status != TBED_OK)
        return status;
    count_names(writing);
    return tbed_parquet_file_end(&writing->file, pairs) ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_parquet_table_write(const struct column_export *export, const struct tbed_table *table,
                                          enum tbed_compression compression, struct export_out *out,
                                          struct column_counts *counts)
{
    struct writing *writing = calloc(1, sizeof *writing);
    if (writing == NULL)
        return TBED_ERR_MEMORY;
    writing->export = export;
    writing->table = table;
    writing->counts = counts;
    writing->file.out = out;
    writing->file.compression = compression;
    writing->file.scratch.names = &writing->names;
    open_columns(writing);
    enum tbed_status status = tbed_block_packer_open(compression, &writing->file.scratch.packer);
    if (status == TBED_OK)
        status = tbed_column_export_scan(export, table, writing->mask, &writing->scan);
    writing->names.scan = writing->scan;
    if (status == TBED_OK)
        status = write_file(writing);
    tbed_scan_close(writing->scan);
    tbed_parquet_file_free(&writing->file);
    free(writing->names.indexes);
    free(writing->clean.bytes);
    free(writing);
    return status;
}
