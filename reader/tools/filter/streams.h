/*
 * Selecting streams: --stream, --thread and --process, each of which may be repeated.
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

/* A thread or process as it was asked for: by its id or by its name. */
struct streams_word {
    const char *text;
    bool is_process;
};

/* All zeros: every stream. */
struct streams {
    struct streams_list numbers; /* of streams that were asked for */
    struct streams_word *words;
    size_t word_count;
    struct streams_list chosen; /* the matching streams of the trace, set by streams_choose() */
};

/* Returns NULL, or what is wrong with the argument. 'option' is 's', 't' or 'p'. */
const char *streams_take_option(struct streams *streams, int option, const char *argument);

/*
 * A stream matches if it has one of the numbers, or if its thread is one of those asked for and its process, too: threads
 * are only restricted if some were asked for, and so are processes.
 */
static inline bool streams_are_asked_for(const struct streams *streams)
{
    return streams->numbers.count + streams->word_count > 0;
}

/* Fills 'chosen'. Returns -1, or the exit status after complaining that no stream matches. */
int streams_choose(struct streams *streams, const char *path, const struct tbed_reader *reader);
void streams_free(struct streams *streams);

#endif
