/*
 * The inside of tables: what a table has to offer, and how its rows are put together. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_TABLE_H
#define TRACEBED_TABLES_TABLE_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/text.h"

#include <pthread.h>
#include <tracebed/analysis.h>
#include <tracebed/tables.h>

#define TABLE_COLUMNS_MAX 64

/* ---- Texts by code ---- */

/* Each text once, in the order in which they were added. Any thread may add and get; texts are valid until all is freed. */
struct table_name_piece;
struct table_name_entry {
    const char *text;
    size_t nbytes;
    uint32_t hash;
};
#define TABLE_NAME_SHELVES 26u

struct table_names {
    pthread_mutex_t lock;                                 /* to add */
    uint32_t count;                                       /* atomic */
    struct table_name_entry *shelves[TABLE_NAME_SHELVES]; /* by code; entries never move */
    struct table_name_piece *pieces;
    char *piece_at; /* what is free of the newest piece */
    size_t piece_room;
    size_t nbytes;   /* of all texts */
    uint32_t *slots; /* open addressing by hash; code + 1, 0: free */
    size_t slot_count;
};

void tbed_table_names_open(struct table_names *names);
/* The code of a text. False: no memory. */
bool tbed_table_names_add(struct table_names *names, const char *text, size_t nbytes, uint32_t *code_ret);
void tbed_table_names_get(const struct table_names *names, uint32_t code, const char **text_ret,
                          size_t *nbytes_ret);
void tbed_table_names_free(struct table_names *names);

/* ---- Rows ---- */

struct table_text_column {
    struct tbed_text bytes;
    uint32_t *offsets;
};

/* A batch that is being filled. Its arrays are kept from batch to batch. */
struct table_rows {
    const struct tbed_table *table;
    uint64_t columns;                                    /* those that are asked for */
    size_t count;                                        /* complete rows */
    struct tbed_column_values values[TABLE_COLUMNS_MAX]; /* what a batch points to */
    void *arrays[TABLE_COLUMNS_MAX]; /* 8 bytes an element; 4 for NAME and for offsets of TEXT */
    uint64_t *nulls[TABLE_COLUMNS_MAX];
    struct tbed_text texts[TABLE_COLUMNS_MAX];
    uint64_t null_columns; /* those with a null in this batch */
    struct table_names *names;
    bool is_out_of_memory;
};

/* False: no memory. */
bool tbed_table_rows_open(struct table_rows *rows, const struct tbed_table *table, uint64_t columns,
                          struct table_names *names);
void tbed_table_rows_free(struct table_rows *rows);
void tbed_table_rows_clear(struct table_rows *rows);

static inline bool table_rows_wants(const struct table_rows *rows, unsigned column)
{
    return (rows->columns >> column & 1) != 0;
}

/*
 * Each of these sets a column of the row that is being put together, if the column is asked for. A row must set all its
 * columns, in any order, before table_rows_end(). Type and column must match.
 */
static inline void table_put_i64(struct table_rows *rows, unsigned column, int64_t value)
{
    if (table_rows_wants(rows, column))
        ((int64_t *)rows->arrays[column])[rows->count] = value;
}

static inline void table_put_u64(struct table_rows *rows, unsigned column, uint64_t value)
{
    if (table_rows_wants(rows, column))
        ((uint64_t *)rows->arrays[column])[rows->count] = value;
}

static inline void table_put_f64(struct table_rows *rows, unsigned column, double value)
{
    if (table_rows_wants(rows, column))
        ((double *)rows->arrays[column])[rows->count] = value;
}

static inline void table_put_code(struct table_rows *rows, unsigned column, uint32_t code)
{
    if (table_rows_wants(rows, column))
        ((uint32_t *)rows->arrays[column])[rows->count] = code;
}

void tbed_table_put_null(struct table_rows *rows, unsigned column);
/* For NAME and TEXT; NULL text: null. */
void tbed_table_put_text(struct table_rows *rows, unsigned column, const char *text, size_t nbytes);
void tbed_table_put_string(struct table_rows *rows, unsigned column,
                           const char *text); /* terminated, or NULL */
/* For NAME and TEXT: the name of an id, as tbed_name_get() spells it; INVALID: null. */
void tbed_table_put_id(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                       uint32_t id);

/* The row is complete. */
static inline void table_rows_end(struct table_rows *rows)
{
    rows->count++;
}

static inline bool table_rows_is_full(const struct table_rows *rows)
{
    return rows->count == TBED_BATCH_ROWS_MAX;
}

/* The bytes of row 'row' of a TEXT; there may be no array if all are empty. */
static inline const char *table_text_at(const struct tbed_column_values *values, size_t row)
{
    return values->text != NULL ? values->text + values->offsets[row] : "";
}

/* ---- Tables and scans ---- */

struct tbed_scan;

struct tbed_tables {
    struct tbed_reader *reader; /* atomic; NULL: a foreign file that has not been imported */
    bool owns_reader;
    void *foreign; /* a profile that is read in place, or NULL; see reader/tables/open */
    const struct table_foreign *foreign_calls;
    /* Of a foreign file, once it has been imported: the first places of damage, and how many there are. */
    struct tbed_damage *foreign_damages;
    size_t foreign_damages_kept;
    uint64_t foreign_damage_count;
    pthread_mutex_t lock;    /* of what follows */
    struct nesting *nesting; /* reader/tables/rows/nesting.h; NULL: not made yet */
    void (*free_nesting)(struct nesting *nesting);
};

/* What tables ask of a foreign file that is open in place. */
struct table_foreign {
    struct tbed_reader *(*import)(struct tbed_tables *tables, struct tbed_error *error_ret);
    uint64_t (*damage_count)(const struct tbed_tables *tables);
    uint64_t (*row_estimate)(const struct tbed_tables *tables); /* how many events it has */
    void (*close)(struct tbed_tables *tables);
    /* As tbed_statistics_make_foreign(). */
    enum tbed_status (*statistics)(const struct tbed_tables *tables,
                                   const struct tbed_analysis_options *options,
                                   struct tbed_statistics **statistics_ret);
    /* Whether a scan can be made without an import; then these are called instead of the table's own. */
    bool (*reads)(const struct tbed_scan *scan);
    enum tbed_status (*scan_open)(struct tbed_scan *scan);
    enum tbed_status (*scan_next)(struct tbed_scan *scan, struct tbed_batch *batch_ret);
    void (*scan_close)(struct tbed_scan *scan);
};

struct tbed_scan {
    struct tbed_tables *tables;
    struct tbed_reader *reader; /* NULL for a profile in place */
    const struct table_source *source;
    bool is_in_place;                 /* 'foreign_calls' read it */
    struct tbed_scan_options options; /* 'constraints' are a copy */
    struct table_names names;
    struct table_rows rows;
    void *state;     /* the table's; freed by its 'close' */
    bool is_stopped; /* atomic: nobody wants more rows */
};

static inline bool tbed_scan_is_stopped(const struct tbed_scan *scan)
{
    return __atomic_load_n(&scan->is_stopped, __ATOMIC_RELAXED);
}

/* The constraint TBED_EQUAL for a column; NULL: none. */
const struct tbed_constraint *tbed_scan_equal(const struct tbed_scan *scan, uint32_t column);
/* The least and the greatest number that the constraints allow in a column; nothing: INT64_MIN and INT64_MAX. */
void tbed_scan_range(const struct tbed_scan *scan, uint32_t column, int64_t *least_ret,
                     int64_t *greatest_ret);

/* Of a foreign file, what 'open', 'next' and 'fill' use is its import. */
struct table_source {
    struct tbed_table about;
    bool needs_statistics; /* only: 'foreign_calls' make them, so scan->reader may be NULL */
    uint64_t (*row_estimate)(struct tbed_tables *tables);
    /* Sets 'state', NULL is fine. Errors: ERR_MEMORY, ERR_ARGUMENT. */
    enum tbed_status (*open)(struct tbed_scan *scan);
    /*
     * One of these. 'fill' adds rows to scan->rows until it is full or there are no more, which is END; 'next' hands out a
     * batch of its own.
     */
    enum tbed_status (*fill)(struct tbed_scan *scan);
    enum tbed_status (*next)(struct tbed_scan *scan, struct tbed_batch *batch_ret);
    void (*close)(struct tbed_scan *scan); /* NULL: nothing to do */
};

#endif
