/*
 * What a profile is made from: chunks of events, and ids that mean texts. A bed's event blocks are a source, and
 * so are the pages of a foreign file, as they are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_MAKE_H
#define TRACEBED_PROFILE_MAKE_H

#include "reader/core/names/label.h"

#include <tracebed/analysis.h>

struct profile_worker;

struct profile_source {
    const void *context;
    size_t chunk_count; /* numbered so that a stream's later events stand in higher chunks */

    /*
     * Takes the events of a chunk, the last first: tbed_profile_take_span() and its neighbours of profile_take.h.
     * 'recount' asks for tbed_profile_take_hit() alone. Any thread.
     */
    void (*take)(struct profile_worker *worker, size_t chunk);
    void (*recount)(struct profile_worker *worker, size_t chunk);

    struct tbed_label_strings strings;

    /* A short cut, which may always say no: true if the id's label is all of that of another id. NULL: there is none.
 */
    bool (*label_of)(struct profile_worker *worker, uint64_t id, uint64_t *label_id_ret);

    /* True if the id is a location whose name the caller wants to say, by name(). NULL: there are none. */
    bool (*is_named)(const void *context, uint64_t id);
    /* As tbed_name_function. The thread that asked for the profile, after the events. */
    size_t (*name)(const void *context, uint64_t id, char *buffer, size_t buffer_nbytes);
    /* As tbed_prepare_function; NULL: nobody is told. */
    void (*prepare)(const void *context, const uint32_t *ids, size_t count);

    bool counts;      /* ticks are no time, */
    const char *unit; /* but these */
};

/* Makes a profile. Errors: ERR_MEMORY. */
enum tbed_status tbed_profile_run(const struct profile_source *source, unsigned thread_count,
                                  struct tbed_profile **profile_ret);

/* What a foreign file is, and what is wrong with it: becomes the profile's. */
struct tbed_profile_origin {
    uint32_t version;
    uint64_t file_nbytes, damage_count;
    const struct tbed_profile_damage *damages; /* the first few */
    size_t kept_count;
};
void tbed_profile_set_origin(struct tbed_profile *profile, const struct tbed_profile_origin *origin);

#endif
