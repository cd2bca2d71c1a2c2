/*
 * What rows of statistics stand for if not for labels: threads, times, files. Such a key takes the place of an id, above all
 * ids, and is named when all events have been read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ROW_KEYS_H
#define TRACEBED_ROW_KEYS_H

#include "reader/analysis/statistics/source.h"
#include "reader/analysis/trace/argument_sets.h"

struct row_keys {
    struct tbed_reader *reader;
    enum tbed_row_key by;
    uint64_t first_tick, width; /* of the times */
    const struct tbed_analysis_options *options;
    struct argument_sets *arguments;
};

/* What a row's key follows from, of a span or an instant. */
struct row_key_parts {
    uint64_t tick;
    uint32_t stream, id, category;
    uint32_t arguments; /* a number from argument_sets.h */
};

/* Errors: ERR_ARGUMENT for an unknown key, or if there would be too many times. */
enum tbed_status tbed_row_keys_open(struct row_keys *keys, struct tbed_reader *reader,
                                    const struct tbed_analysis_options *options,
                                    struct argument_sets *arguments);

/* The key, or the id itself. */
static inline uint64_t row_key(const struct row_keys *keys, struct row_key_parts of)
{
    switch (keys->by) {
    case TBED_BY_LABEL:
        return of.id;
    case TBED_BY_THREAD:
    case TBED_BY_PROCESS:
        return STAT_KEY_FIRST | of.stream;
    case TBED_BY_CATEGORY:
        return STAT_KEY_FIRST | of.category;
    case TBED_BY_TIME:
        return STAT_KEY_FIRST | (of.tick > keys->first_tick ? (of.tick - keys->first_tick) / keys->width : 0);
    default:
        return STAT_KEY_FIRST | (uint64_t)of.arguments << 32 | of.id;
    }
}

/* Like tbed_name_function; TBED_NO_MEMORY is possible. */
size_t tbed_row_key_name(const struct row_keys *keys, uint64_t key, char *buffer, size_t buffer_nbytes);

/* Whether keys have the ids of events in them. */
static inline bool row_keys_have_ids(const struct row_keys *keys)
{
    return keys->by == TBED_BY_ARGUMENTS || keys->by == TBED_BY_LOCATION || keys->by == TBED_BY_FILE;
}

#endif
