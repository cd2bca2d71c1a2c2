/*
 * The rows of a flame graph of memory, and the words for what they show.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flame/flame.h"

static enum memory_weight weight_of(const struct flame *flame)
{
    switch (flame->weight) {
    case FLAME_PEAK:
        return MEMORY_PEAK;
    case FLAME_LEAKED:
        return MEMORY_LEAKED;
    case FLAME_COUNT:
        return MEMORY_COUNT;
    default:
        return MEMORY_BYTES;
    }
}

enum tbed_status flame_memory_make(struct flame *flame, const char *root)
{
    struct memory_rows_options options = {.weight = weight_of(flame),
                                          .root = root,
                                          .thread_count = flame->jobs,
                                          .filter = flame->filter.filter};
    enum tbed_status status = tbed_memory_rows_make(flame->reader, &options, &flame->memory);
    flame->totals.span_count = flame->memory.count;
    return status;
}

void flame_memory_close(struct flame *flame)
{
    tbed_memory_rows_close(&flame->memory);
    tbed_allocations_close(flame->allocations);
}

/* ---- Words ---- */

const char *flame_weight_parse(const char *text, enum flame_weight *weight_ret)
{
    static const char *const names[] = {"time", "bytes", "count", "peak", "leaked"};
    size_t at = *weight_ret;
    const char *problem =
        tool_word_choose("--weight: unknown weight", names, sizeof names / sizeof names[0], text, &at);
    *weight_ret = (enum flame_weight)at;
    return problem;
}

const char *flame_weight_text(enum flame_weight weight)
{
    static const char *const texts[] = {"", "allocated", "allocated", "live at the peak", "never freed"};
    return texts[weight];
}
