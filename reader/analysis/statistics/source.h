/*
 * The input of statistics: chunks of events, and ids that stand for texts. Both a trace's event blocks and the
 * pages of a foreign file are sources.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_MAKE_H
#define TRACEBED_STAT_MAKE_H

#include "reader/core/names/label.h"

#include <tracebed/analysis.h>

struct stat_worker;

/* Numbers from here on take the place of ids, for rows that do not stand for labels. */
#define STAT_KEY_FIRST (UINT64_C(1) << 62)

struct stat_source {
    const void *context;
    size_t chunk_count; /* numbered so that later events of a stream are in higher chunks */

    /*
     * Takes the spans of a chunk, the last first, and its other events in any order: see span_walk.h. 'recount'
     * only calls tbed_stat_take_hit(). Any thread.
     */
    void (*take)(struct stat_worker *worker, size_t chunk);
    void (*recount)(struct stat_worker *worker, size_t chunk);

    struct tbed_label_strings strings;

    /*
     * An optional shortcut, which may return false at any time: true if the id's label is the entire label of
     * another id. May be NULL.
     */
    bool (*label_of)(struct stat_worker *worker, uint64_t id, uint64_t *label_id_ret);

    /* True if the id is a code location or a key, which are named through name(). NULL: there are none. */
    bool (*is_named)(const void *context, uint64_t id);
    /*
     * Like tbed_name_function, or TBED_NO_MEMORY. Called by the thread that asked for the statistics, after the events.
     */
    size_t (*name)(const void *context, uint64_t id, char *buffer, size_t buffer_nbytes);
    bool has_ids_in_keys; /* their lower 32 bits */
    /* Like tbed_prepare_function; may be NULL. */
    void (*prepare)(const void *context, const uint32_t *ids, size_t count);

    /*
     * Called after all chunks: true if events were taken in a wrong way and everything must be repeated. NULL:
     * never.
     */
    bool (*must_repeat)(const void *context);

    struct tbed_reader *reader; /* of a trace, for names of messages and asynchronous spans; else NULL */
    const size_t *blocks;       /* of a trace: the event block that each chunk is */
    const struct tbed_filter *filter; /* applied by the source, except to asynchronous spans; NULL: none */
    uint64_t resolution;              /* ticks */
    const char *unit;                 /* what ticks count; NULL: time */
};

/* Errors: ERR_MEMORY. */
enum tbed_status tbed_stat_run(const struct stat_source *source, const struct tbed_analysis_options *options,
                               struct tbed_statistics **statistics_ret);

/* The format and damage of a foreign file, copied to the statistics. */
struct stat_origin {
    uint32_t version;
    uint64_t file_nbytes, damage_count, texts_left_out;
    const struct tbed_foreign_damage *damages; /* the first few */
    size_t kept_count;
};
void tbed_stat_set_origin(struct tbed_statistics *statistics, const struct stat_origin *origin);

#endif
