/*
 * Selecting streams: --stream and --thread, each of which may be repeated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STREAMS_H
#define TRACEBED_STREAMS_H

#include "reader/tools/shared/tool.h"

struct streams_list {
    uint32_t *numbers;
    size_t count;
};

/* All zeros: every stream. */
struct streams {
    struct streams_list numbers, tids; /* requested */
    struct streams_list chosen;        /* the matching streams of the trace, set by streams_choose() */
};

/* Returns NULL, or what is wrong with the argument. 'option' is 's' or 't'. */
const char *streams_take_option(struct streams *streams, int option, const char *argument);

static inline bool streams_are_asked_for(const struct streams *streams)
{
    return streams->numbers.count + streams->tids.count > 0;
}

/* Fills 'chosen'. Returns -1, or the exit status after complaining that no stream matches. */
int streams_choose(struct streams *streams, const char *path, const struct tbed_reader *reader);
void streams_free(struct streams *streams);

#endif
