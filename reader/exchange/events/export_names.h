/*
 * What exports write for the id of an event: its label, the arguments in its name and its place in the source. Each is made
 * once, as long as there is room for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_NAMES_H
#define TRACEBED_EXCHANGE_EXPORT_NAMES_H

#include "reader/core/base/text.h"

#include <tracebed/reader.h>

#define EXPORT_NAME_END 0x1E /* between the label and the arguments of a name */

struct export_name {
    uint32_t id;
    bool is_there;
    struct tbed_text label;     /* as in every other view */
    struct tbed_text arguments; /* EXPORT_NAME_END follows each */
    uint32_t argument_count;
    const char *function, *file, *module; /* NULL: unknown */
    uint32_t line;                        /* 0: unknown */
};

struct export_names {
    struct export_name *slots;
    char *buffer; /* EXPORT_TEXT_MAX bytes */
    bool is_out_of_memory;
};

/* False: no memory. */
bool tbed_export_names_open(struct export_names *names);
void tbed_export_names_close(struct export_names *names);
void tbed_export_names_clear(struct export_names *names); /* before another trace */

/* Valid until the next call. */
const struct export_name *tbed_export_name_find(struct export_names *names, const struct tbed_reader *reader,
                                                uint32_t id);

/* The next of its arguments: false after the last. '*at' is 0 at first. */
bool tbed_export_name_argument(const struct export_name *name, size_t *at, const char **text_ret,
                               size_t *nbytes_ret);

#endif
