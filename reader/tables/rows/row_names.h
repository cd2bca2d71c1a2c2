/*
 * The names of ids as codes of a scan, looked up once for each id.
 *
 * Threads: shared by all workers of a scan.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_ROW_NAMES_H
#define TRACEBED_TABLES_ROW_NAMES_H

#include "reader/core/names/label.h"
#include "reader/tables/base/table.h"

enum row_name {
    ROW_LABEL, /* as rows of statistics are called */
    ROW_NAME,  /* as tbed_name_get() spells it */
    ROW_FUNCTION,
    ROW_FILE,
    ROW_LINE, /* a number, not a text */
    ROW_NAME_KINDS
};

/* Ids below ROW_CODE_IDS are kept in a tree of two levels, up to a limit; others are looked up each time. */
#define ROW_LEAF_BITS 14
#define ROW_LEAF_MAX  768u /* 48 MiB */
#define ROW_CODE_IDS  (UINT64_C(1) << 30)

struct row_codes {
    uint32_t **leaves; /* atomic; a code + 1; 0: not known */
    uint32_t *made[ROW_LEAF_MAX];
    uint32_t made_count; /* atomic */
};

#define ROW_CODE_NULL   UINT32_MAX /* there is no such name */
#define ROW_CODE_FAILED 0u         /* no memory */

struct row_names;
/* Whether the label of an id is evidently that of another id. */
typedef bool (*row_label_same_function)(const struct row_names *names, uint64_t id, uint64_t *same_ret);

struct row_names {
    struct table_names *texts;
    const struct tbed_reader *reader;
    struct tbed_label_strings strings;
    row_label_same_function label_same;
    const void *context; /* of 'label_same' */
    struct row_codes codes[ROW_NAME_KINDS];
};

/* Opens those whose bits are set in 'kinds'. False: no memory; close it nevertheless. */
bool tbed_row_names_open(struct row_names *names, struct table_names *texts, const struct tbed_reader *reader,
                         unsigned kinds);
/* The same for a foreign file: labels are found, other names are kept for the caller. */
bool tbed_row_names_open_foreign(struct row_names *names, struct table_names *texts,
                                 const struct tbed_label_strings *strings, row_label_same_function label_same,
                                 const void *context, unsigned kinds);
void tbed_row_names_close(struct row_names *names);

uint32_t tbed_row_name_find(struct row_names *names, enum row_name kind, uint64_t id);

/* What is kept of an id; 0: nothing. */
static inline uint32_t row_code_known(const struct row_codes *codes, uint64_t id)
{
    if (id >= ROW_CODE_IDS)
        return 0;
    const uint32_t *leaf = __atomic_load_n(&codes->leaves[id >> ROW_LEAF_BITS], __ATOMIC_ACQUIRE);
    return leaf != NULL ? __atomic_load_n(&leaf[id % (1u << ROW_LEAF_BITS)], __ATOMIC_ACQUIRE) : 0;
}

static inline void row_code_prefetch(const struct row_codes *codes, uint64_t id)
{
    if (id >= ROW_CODE_IDS)
        return;
    const uint32_t *leaf = __atomic_load_n(&codes->leaves[id >> ROW_LEAF_BITS], __ATOMIC_RELAXED);
    if (leaf != NULL)
        __builtin_prefetch(&leaf[id % (1u << ROW_LEAF_BITS)]);
}

/* Keeps what row_code_known() then returns, if there is memory and the id is not too high. */
void tbed_row_code_keep(struct row_codes *codes, uint64_t id, uint32_t code);

/* The code + 1, or ROW_CODE_NULL, or ROW_CODE_FAILED. */
static inline uint32_t row_name_code(struct row_names *names, enum row_name kind, uint64_t id)
{
    uint32_t code = row_code_known(&names->codes[kind], id);
    return __builtin_expect(code != 0, 1) ? code : tbed_row_name_find(names, kind, id);
}

/* Sets a column of names, if it is asked for. */
static inline void row_put_code(struct table_rows *rows, unsigned column, uint32_t code)
{
    if (!table_rows_wants(rows, column))
        return;
    rows->is_out_of_memory |= code == ROW_CODE_FAILED;
    if (code == ROW_CODE_NULL || code == ROW_CODE_FAILED)
        tbed_table_put_null(rows, column);
    else
        table_put_code(rows, column, code - 1);
}

static inline void row_put_name(struct table_rows *rows, unsigned column, struct row_names *names,
                                enum row_name kind, uint32_t id)
{
    if (table_rows_wants(rows, column))
        row_put_code(rows, column, row_name_code(names, kind, id));
}

/* A text without an id. */
uint32_t tbed_row_text_code(struct table_names *texts, const char *text, size_t nbytes);

#endif
