/*
 * Tables of what records say, one file each: processes, threads, strings, drops and so on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_FACTS_H
#define TRACEBED_TABLES_FACTS_H

#include "reader/tables/base/table.h"

extern const struct table_source tbed_table_processes, tbed_table_threads;
extern const struct table_source tbed_table_strings, tbed_table_bindings;
extern const struct table_source tbed_table_stacks, tbed_table_locations, tbed_table_frames;
extern const struct table_source tbed_table_units, tbed_table_loads;
extern const struct table_source tbed_table_drops, tbed_table_losses, tbed_table_gaps;
extern const struct table_source tbed_table_damage, tbed_table_info;

/* A batch with this much text is handed out early. */
#define FACTS_BATCH_NBYTES ((size_t)4 << 20)

/* For tables whose state is the index of the next row: a size_t. */
enum tbed_status tbed_facts_open_index(struct tbed_scan *scan);
void tbed_facts_close(struct tbed_scan *scan); /* free(state) */

/* A tick as a time; 0: null. */
void tbed_facts_put_tick(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                         uint64_t tick);
/* An integer; 0: null. */
void tbed_facts_put_nonzero(struct table_rows *rows, unsigned column, uint64_t value);
/* An unsigned number in a signed column; those that do not fit are INT64_MAX. */
void tbed_facts_put_count(struct table_rows *rows, unsigned column, uint64_t value);
/* A number of ticks in nanoseconds, as the verbs round it. */
void tbed_facts_put_span(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                         uint64_t ticks);

/* False: there is no process with this number. */
bool tbed_facts_find_process(const struct tbed_reader *reader, uint32_t number,
                             struct tbed_process_info *process_ret);

/* What is known about a place in code: four columns from 'first' on, namely function, file, line and module. */
enum { FACTS_FUNCTION, FACTS_FILE, FACTS_LINE, FACTS_MODULE, FACTS_PLACE_COLUMNS };
void tbed_facts_put_place(struct table_rows *rows, unsigned first, const struct tbed_reader *reader,
                          uint32_t id);
#define FACTS_PLACE(first, which)                                                                            \
    [(first) + FACTS_FUNCTION] = {"function", TBED_COLUMN_NAME, NULL,                                        \
                                  "the innermost function at " which "; NULL: unknown", false},              \
               [(first) +                                                                                    \
                   FACTS_FILE] = {"file", TBED_COLUMN_NAME, NULL, "its source file; NULL: unknown", false},  \
               [(first) + FACTS_LINE] = {"line", TBED_COLUMN_I64, NULL, "its line; NULL: unknown", false},   \
               [(first) + FACTS_MODULE] = {"module", TBED_COLUMN_NAME, NULL,                                 \
                                           "the program or library; NULL: unknown", false}

/* The name of a kind of blocks, as the verbs have it. */
const char *tbed_facts_block_kind(enum tbed_block_kind kind);

#endif
