/*
 * Which streams a verb is asked for: --stream and --thread, each as often as one likes.
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

/* Starts with zeros: all streams. */
struct streams {
    struct streams_list numbers, tids; /* asked for */
    struct streams_list chosen;        /* of the trace, by streams_choose() */
};

/* NULL if it was understood, else what is wrong. 'option' is 's' or 't'. */
const char *streams_take_option(struct streams *streams, int option, const char *argument);

static inline bool streams_are_asked_for(const struct streams *streams)
{
    return streams->numbers.count + streams->tids.count > 0;
}

/* Lists those that are wanted. -1; or what to exit with: has complained that none of them is there. */
int streams_choose(struct streams *streams, const char *path, const struct tbed_reader *reader);
void streams_free(struct streams *streams);

#endif
