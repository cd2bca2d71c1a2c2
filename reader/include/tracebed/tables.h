/*
 * tracebed/tables.h: a trace as tables of columns.
 *
 * SQL, Parquet, CSV, Arrow and Python take their rows from these tables, so that all of them agree. A scan reads the map in
 * place and fills batches of columns; columns that are not asked for are not made, and blocks that cannot contain a row that
 * is asked for are not read.
 *
 * Memory: a scan keeps one batch for each thread, and the names that it has met. It does not grow with the trace, except in
 *         tables that are the result of an analysis, whose memory <tracebed/analysis.h> states.
 *
 * Times are nanoseconds: those of columns "ts" since the trace's first tick, as tbed_ticks_to_ns() gives them. With a clock of the
 * application's own (TBED_CLOCK_USER) they are ticks.
 *
 * Threads: any number of threads may scan the same tables. A scan belongs to one thread at a time; it starts threads of its
 *          own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_H
#define TRACEBED_TABLES_H

#include <tracebed/filter.h>
#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Which tables there are ---- */

enum tbed_column_type {
    TBED_COLUMN_I64,
    TBED_COLUMN_U64,
    TBED_COLUMN_F64,
    TBED_COLUMN_NAME, /* text that repeats: each row has a code, and tbed_scan_name() returns the text of a code */
    TBED_COLUMN_TEXT, /* text that may be different in each row */
};

struct tbed_column {
    const char *name; /* "dur" */
    enum tbed_column_type type;
    const char *unit;    /* "ns", "bytes"; NULL: none */
    const char *summary; /* a description in a few words */
    /* The table is a function of this column: a scan needs a constraint TBED_EQUAL for it, as histogram("parse"). */
    bool is_parameter;
};

struct tbed_table {
    const char *name; /* "spans" */
    const char *summary;
    const struct tbed_column *columns;
    size_t column_count; /* at most 64 */
};

/* All tables, in a fixed order; NULL past the last. */
const struct tbed_table *tbed_table_get(size_t index);

/* The table with that name; NULL if there is none. */
const struct tbed_table *tbed_table_find(const char *name);

/* ---- Opening ---- */

struct tbed_tables;

/*
 * tbed_tables_open() opens a trace, or a foreign file that can be imported. A profile of measureme is read in place where that
 * suffices, and imported when a table needs it.
 *
 * Ownership: '*tables_ret' is the caller's; close it with tbed_tables_close() after all its scans. 'error_ret' may be NULL.
 * Errors:    those of tbed_reader_open() and tbed_import_open().
 */
enum tbed_status tbed_tables_open(const char *path, struct tbed_tables **tables_ret,
                                  struct tbed_error *error_ret);

/* The tables of an open reader, which the caller closes after them. Errors: ERR_MEMORY. */
enum tbed_status tbed_tables_of_reader(struct tbed_reader *reader, struct tbed_tables **tables_ret);

void tbed_tables_close(struct tbed_tables *tables); /* NULL is allowed */

/*
 * The reader behind the tables. A profile that is read in place is imported first; this can take seconds, and fail: NULL,
 * with '*error_ret' filled.
 */
struct tbed_reader *tbed_tables_reader(struct tbed_tables *tables, struct tbed_error *error_ret);

/* About how many rows a table has, without reading them; often too many, never 0. */
uint64_t tbed_table_row_estimate(struct tbed_tables *tables, const struct tbed_table *table);

/* ---- Scans ---- */

enum tbed_compare { TBED_EQUAL, TBED_LESS, TBED_LESS_EQUAL, TBED_GREATER, TBED_GREATER_EQUAL };

/* A condition on a column. A number is compared with columns of numbers, a text with NAME and TEXT, byte by byte. */
struct tbed_constraint {
    uint32_t column; /* its index in the table */
    enum tbed_compare compare;
    bool is_text;
    int64_t number;
    const char *text; /* not terminated; valid while the scan is open */
    size_t nbytes;
};

struct tbed_scan_options {
    size_t size;      /* sizeof(struct tbed_scan_options) */
    uint64_t columns; /* a bit for the index of each column to fill; 0: all */
    /*
     * All have to hold. They are advice: a scan uses those that let it skip blocks or rows, and may return rows for which one
     * does not hold, so check each row. Those for parameters are obeyed.
     */
    const struct tbed_constraint *constraints;
    size_t constraint_count;
    /* Rows may come in any order, which lets several threads read. Otherwise in the order that the table's summary states, for
     * events and spans that of their times: for spans that of their ends. */
    bool any_order;
    unsigned thread_count;            /* 0: one per processor */
    const struct tbed_filter *filter; /* what counts; NULL: everything. Made for tbed_tables_reader() */
    const bool
        *is_cancelled; /* if this becomes true, the scan ends with ERR_CANCELLED; atomic; NULL: never */
};

/* The values of a column, in an array with an element for each row; all NULL if the column is not asked for. */
struct tbed_column_values {
    const int64_t *i64;
    const uint64_t *u64;
    const double *f64;
    const uint32_t *codes; /* NAME: for tbed_scan_name() */
    /* TEXT: row i has the bytes from offsets[i] to offsets[i + 1]. They may be any bytes, zeros and invalid UTF-8 too. */
    const uint32_t *offsets;
    const char *text;
    /* Bit i % 64 of word i / 64 is set if row i has no value; its element is 0 then. NULL: every row has one. */
    const uint64_t *nulls;
};

struct tbed_batch {
    size_t row_count;                         /* at least 1, at most TBED_BATCH_ROWS_MAX */
    const struct tbed_column_values *columns; /* an element for each column of the table */
};
#define TBED_BATCH_ROWS_MAX 8192u

struct tbed_scan;

/*
 * tbed_scan_open() begins to read a table.
 *
 * Ownership: '*scan_ret' is the caller's; close it with tbed_scan_close(). The options and what they point to, except the
 *            filter and the texts of constraints, need not outlive the call.
 * Errors:    ERR_MEMORY; ERR_ARGUMENT: a parameter has no constraint; those of an import. 'error_ret' may be NULL.
 */
enum tbed_status tbed_scan_open(struct tbed_tables *tables, const struct tbed_table *table,
                                const struct tbed_scan_options *options, struct tbed_scan **scan_ret,
                                struct tbed_error *error_ret);

/*
 * tbed_scan_next() returns the next batch of rows.
 *
 * Ownership: the batch is valid until the next call. Names are valid until the scan is closed.
 * Errors:    END after the last batch; ERR_MEMORY, ERR_CANCELLED. Damage is not an error: it is added to the damage list of
 *            tbed_tables_reader(), and counted by tbed_tables_damage_count().
 */
enum tbed_status tbed_scan_next(struct tbed_scan *scan, struct tbed_batch *batch_ret);
void tbed_scan_close(struct tbed_scan *scan); /* NULL is allowed */

/* The text of a code, and how many codes there are so far: they count from 0. A text keeps its code during a scan. */
void tbed_scan_name(const struct tbed_scan *scan, uint32_t code, const char **text_ret, size_t *nbytes_ret);
uint32_t tbed_scan_name_count(const struct tbed_scan *scan);

/* How many places are damaged, as far as they have been read. */
uint64_t tbed_tables_damage_count(const struct tbed_tables *tables);

#ifdef __cplusplus
}
#endif
#endif
