/*
 * The inside of this folder: files, names, scans, plans and cursors. Each source uses those above it in this order:
 *
 *     sql_names    texts that stay where they are
 *     sql_context  which files are open
 *     sql_scan     a scan of a table, with the names of its codes
 *     sql_plan     what SQLite asks for, as a text that it hands back
 *     sql_groups   rows in groups
 *     sql_kept     rows kept in memory, in order
 *     sql_table    the module of virtual tables
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SQL_INSIDE_H
#define TRACEBED_SQL_INSIDE_H

#include "reader/core/base/hashmap.h"
#include "reader/sql/sql.h"

#ifdef SQL_IS_BUILT

#define SQL_NAMES_MAX  ((size_t)16 << 20) /* of names that stay; others are copied for each row */
#define SQL_TERMS_MAX  12u
#define SQL_GROUPS_MAX 4u
#define SQL_BATCH_ROWS 1024u /* of batches that are made here */

/* ---- Names ---- */

/* A text that stays where it is while its file is open. */
struct sql_name {
    const char *text; /* NULL: there was no room for it */
    size_t nbytes;
    uint64_t hash; /* never 0 */
};

struct sql_names { /* zeroed: empty */
    TBED_HASHMAP(struct sql_name_slot) by_hash;
    struct sql_name_chunk *chunks;
    size_t nbytes; /* of all chunks */
};

/* Fills '*name_ret'; without memory, its text is NULL. */
void sql_names_intern(struct sql_names *names, const char *text, size_t nbytes, struct sql_name *name_ret);
void sql_names_free(struct sql_names *names);

/* ---- Files ---- */

struct sql_file {
    char *path;
    struct tbed_tables *tables;
    struct sql_names names;
    unsigned use_count; /* of virtual tables */
};

struct sql_context {
    unsigned reference_count;
    const bool *is_cancelled;
    size_t memory_max;
    struct sql_file **files;
    size_t file_count;
};

/* The file with this path, opened if it is not, with one more use. NULL: '*error_ret' is filled. */
struct sql_file *sql_file_use(struct sql_context *context, const char *path, struct tbed_error *error_ret);

/* ---- Virtual tables ---- */

struct sql_table {
    sqlite3_vtab base;
    struct sql_context *context;
    struct sql_file *file;
    const struct tbed_table *about;
    bool is_analysis; /* rows cost much more than reading them */
    int time_column;  /* rows that come in order rise in this column; -1: in none */
};

/* ---- Plans ---- */

/* A condition whose value SQLite gives to xFilter. */
struct sql_term {
    uint8_t column;
    char compare; /* '=', '<', 'l', '>', 'g', or 'i': one of a list */
};

struct sql_plan {
    uint64_t columns; /* asked for */
    bool in_order;
    bool is_distinct; /* one row of each group is enough */
    unsigned falling; /* a bit for each of 'groups' that falls */
    unsigned group_count;
    uint8_t groups[SQL_GROUPS_MAX]; /* rows come in the order of these columns */
    unsigned term_count;
    struct sql_term terms[SQL_TERMS_MAX];
};

int sql_plan_best(sqlite3_vtab *base, sqlite3_index_info *info); /* xBestIndex */
void sql_plan_read(struct sql_plan *plan, const char *text);

/* ---- Scans ---- */

/* What is read: a copy of all that a scan needs, so that it can be repeated. */
struct sql_request {
    struct sql_table *table;
    uint64_t columns;
    bool in_order;
    bool is_empty;    /* no row can match */
    bool is_repeated; /* one of many scans: threads would take longer than they help */
    size_t constraint_count;
    struct tbed_constraint constraints[2 * SQL_TERMS_MAX];
    char *texts[SQL_TERMS_MAX]; /* owned */
    size_t text_count;
};

/* Makes the request of a plan and its values. SQLITE_OK or SQLITE_NOMEM. */
int sql_request_make(struct sql_request *request, struct sql_table *table, const struct sql_plan *plan,
                     sqlite3_value **values);
void sql_request_free(struct sql_request *request);

struct sql_scan { /* zeroed: closed */
    struct tbed_scan *scan;
    struct sql_file *file;
    struct sql_name *names; /* of the codes so far; one without hash has not been looked up */
    size_t name_room;
};

enum tbed_status sql_scan_open(struct sql_scan *scan, const struct sql_request *request,
                               struct tbed_error *error_ret);
void sql_scan_close(struct sql_scan *scan);
/* NULL: no memory. Valid until the next call. */
const struct sql_name *sql_scan_name_slow(struct sql_scan *scan, uint32_t code);

static inline const struct sql_name *sql_scan_name(struct sql_scan *scan, uint32_t code)
{
    return code < scan->name_room && scan->names[code].hash != 0 ? &scan->names[code]
                                                                 : sql_scan_name_slow(scan, code);
}

static inline bool sql_is_null(const struct tbed_column_values *values, size_t row)
{
    return values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
}

/* ---- Rows that are made here ---- */

/* A batch of SQL_BATCH_ROWS at most, with room for the columns that are asked for. */
struct sql_rows { /* zeroed: no room */
    struct tbed_column_values values[64];
    void *arrays[64];
    uint64_t *nulls[64];
    char *texts[64];
    size_t text_nbytes[64], text_rooms[64];
    size_t count;
};

bool sql_rows_open(struct sql_rows *rows, const struct tbed_table *table, uint64_t columns);
void sql_rows_clear(struct sql_rows *rows);
void sql_rows_free(struct sql_rows *rows);
void sql_rows_null(struct sql_rows *rows, unsigned column, enum tbed_column_type type);
/* A value by its bits: an int64_t, a uint64_t, a double or a code. */
void sql_rows_bits(struct sql_rows *rows, unsigned column, enum tbed_column_type type, uint64_t bits);
bool sql_rows_text(struct sql_rows *rows, unsigned column, const char *text, size_t nbytes);

/* The bits of a value that is not null and not a TEXT. */
static inline uint64_t sql_bits(const struct tbed_column_values *values, enum tbed_column_type type,
                                size_t row)
{
    uint64_t bits = 0;
    if (type == TBED_COLUMN_NAME)
        return values->codes[row];
    if (type == TBED_COLUMN_F64)
        memcpy(&bits, &values->f64[row], sizeof bits);
    else
        bits = type == TBED_COLUMN_U64 ? values->u64[row] : (uint64_t)values->i64[row];
    return bits;
}

/* ---- Groups ---- */

struct sql_groups;

/* Rows in the order of the plan's columns. NULL: no memory. 'request' is kept. */
struct sql_groups *sql_groups_open(const struct sql_plan *plan, const struct sql_request *request);
enum tbed_status sql_groups_next(struct sql_groups *groups, struct tbed_batch *batch_ret,
                                 struct tbed_error *error_ret);
struct sql_scan *sql_groups_scan(struct sql_groups *groups); /* for the names of the batch */
void sql_groups_close(struct sql_groups *groups);            /* NULL is allowed */

/* ---- Kept rows ---- */

struct sql_kept;

/*
 * Reads a table once, for plans that look up rows again and again. '*kept_ret' is NULL if the rows do not fit.
 * sql_kept_seek() chooses the rows that may match the values of the request, which has the plan's constraints.
 */
enum tbed_status sql_kept_make(struct sql_table *table, const struct sql_plan *plan,
                               struct sql_kept **kept_ret, struct tbed_error *error_ret);
void sql_kept_seek(struct sql_kept *kept, const struct sql_request *request);
enum tbed_status sql_kept_next(struct sql_kept *kept, struct tbed_batch *batch_ret);
struct sql_scan *sql_kept_scan(struct sql_kept *kept);
void sql_kept_close(struct sql_kept *kept); /* NULL is allowed */

/* ---- What is installed ---- */

extern const sqlite3_module sql_module;
int sql_functions_install(sqlite3 *db);

#endif
#endif
