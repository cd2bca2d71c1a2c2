/*
 * What the Chrome trace-event export writes for ids, as JSON that is built once for each.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_NAMES_H
#define TRACEBED_EXCHANGE_CHROME_NAMES_H

#include "reader/exchange/events/export_json.h"

struct chrome_name {
    uint32_t id;
    bool is_there;
    uint32_t argument_count;
    struct tbed_text label;   /* in quotes */
    struct tbed_text members; /* members of an object: the arguments of the id */
    struct tbed_text track;   /* these arguments, not quoted, with ", " between them */
    struct tbed_text details; /* members of an object: function, file, line and module, as far as known */
};

struct chrome_names {
    struct chrome_name *slots;
    bool is_out_of_memory;
};

/* False: no memory. */
bool tbed_chrome_names_open(struct chrome_names *names);
void tbed_chrome_names_close(struct chrome_names *names);
void tbed_chrome_names_clear(struct chrome_names *names);

/* Valid until the next call. 'buffer' has EXPORT_TEXT_MAX bytes. */
const struct chrome_name *tbed_chrome_name(struct chrome_names *names, const struct tbed_reader *reader,
                                           uint32_t id, char *buffer);

#endif
