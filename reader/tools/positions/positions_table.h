/*
 * Shared by the files of 'tracebed aggregate --positions': positions_load.c reads the runs and collects the positions,
 * positions_table.c prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_POSITIONS_TABLE_H
#define TRACEBED_POSITIONS_TABLE_H

#include "reader/tools/compare/aggregate.h"

struct positions_row {
    size_t thread, number;
};

struct positions_table {
    struct compare_options *options;
    char **paths;
    size_t run_count;

    struct tbed_positions *positions;
    struct tool_filter_window *windows; /* by run: of the options in it */
    struct tbed_trace_info info;        /* of the first run */
    double resolution_ns;
    struct positions_row *rows; /* by thread and time */
    size_t row_count;
    struct table table;
    struct table_clock clock;
    struct tool_buffer *intervals; /* two: the texts of the current one and of the one before */
    bool is_damaged;
};

/* Returns the exit status. */
int positions_aggregate(struct positions_table *table);

/* positions_table.c: what the table consists of. */
extern const struct table positions_columns;

void positions_print_text(const struct positions_table *table);
void positions_print_json(const struct positions_table *table);

#endif
