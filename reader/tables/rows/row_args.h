/*
 * The arguments of an event or a span, one after another: first those in its name, behind the label, which are called
 * "arg0", "arg1" …; then its own, of which those without a name go on counting.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_ROW_ARGS_H
#define TRACEBED_TABLES_ROW_ARGS_H

#include "reader/core/base/text.h"
#include "reader/tables/rows/row_names.h"

/* A span has those of its begin and those of its end. */
struct row_arguments {
    struct tbed_arguments of_begin, of_end;
    uint32_t begin_count, end_count;
};

struct row_arg {
    const char *key; /* not terminated */
    size_t key_nbytes;
    const struct tbed_argument *argument; /* NULL: a part of the name, */
    const char *text;                     /* which is this */
    size_t nbytes;
};

/* Returns false to stop. */
typedef bool (*row_arg_function)(void *context, const struct row_arg *arg);

/* Calls the function for each argument. False: no memory, or the function stopped. */
bool tbed_row_args_each(struct row_names *names, uint32_t id, const struct row_arguments *arguments,
                        row_arg_function function, void *context);

/* Whether there are any; 'names' must have been opened with ROW_NAME. */
bool tbed_row_args_exist(struct row_names *names, uint32_t id, const struct row_arguments *arguments);

/* Adds the arguments as an object of JSON, whose order is that above. False: no memory. */
bool tbed_row_args_json(struct row_names *names, uint32_t id, const struct row_arguments *arguments,
                        struct tbed_text *json);

/* Sets a column of texts to that object, or to null if there are no arguments; 'scratch' is the worker's. */
void tbed_row_args_put(struct table_rows *rows, unsigned column, struct row_names *names, uint32_t id,
                       const struct row_arguments *arguments, struct tbed_text *scratch);

/* Adds a value of an argument as text, without quotes. False: no memory. */
bool tbed_row_arg_text(const struct row_names *names, const struct row_arg *arg, struct tbed_text *text);

#endif
