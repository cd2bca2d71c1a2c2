/*
 * The helper thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_HELPER_H
#define TRACEBED_WRITER_HELPER_H

#include <pthread.h>

#include "writer/store/store.h"

/* The part that recorders use is struct tbed_helper_link. */
struct tbed_helper {
    struct tbed_store *store;
    bool is_wanted;             /* the options allow it */
    struct tbed_helper_thread { /* a forked child finds it zeroed */
        pthread_t id;
        bool cannot_start;
        bool must_stop;
        bool has_memory;              /* there is something to give back */
        bool has_advised;             /* the kernel knows that a ring is filled */
        uint64_t released_nbytes;     /* the map below this was released */
        uint64_t lead_ns;             /* the time in which the program uses up the lead */
        uint64_t rate_ns, rate_pages; /* when, and at which claim, the rate was measured last */
        uint32_t quiet_claims;        /* the process's claims at 'quiet_ns' */
        uint64_t quiet_ns;            /* no page has been claimed since */
        uint64_t last_anchor_ns;
        uint32_t anchor_claims; /* the process's claims then */
    } thread;
};

/* Starts it if it is wanted and not running. */
void tbed_helper_start(struct tbed_helper *helper);
/* Stops it, waits for its end, and seals the pages that it left. */
void tbed_helper_stop(struct tbed_helper *helper);

#endif
