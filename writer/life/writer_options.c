/*
 * Checking a writer's options: which go together.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/life/writer_options.h"

#include "writer/base/clock.h"

#define SYNC_INTERVAL_NS_MIN 1000000u

/* A reader refuses files with any other unit. */
static bool unit_is_allowed(const char *unit)
{
    size_t nbytes = 0;
    for (; unit != NULL && unit[nbytes] != 0; nbytes++)
        if (nbytes == 16 || unit[nbytes] < 0x20 || unit[nbytes] > 0x7E)
            return false;
    return true;
}

/* 0, or a rate that readers accept. */
static bool rate_is_allowed(uint64_t ticks_per_second)
{
    return ticks_per_second == 0 || (ticks_per_second >= 1000 && ticks_per_second <= 1000000000000);
}

static bool given_is_allowed(const struct tbed_writer_options *options)
{
    return !options->given_ticks ||
           (!options->join && options->clock == TBED_CLOCK_AUTO && options->user_clock == NULL &&
            rate_is_allowed(options->given_ticks_per_second) &&
            options->given_resolution_ns <= TBED_RESOLUTION_NS_MAX);
}

bool tbed_options_want_rotation(const struct tbed_writer_options *options)
{
    return options->rotate || options->rotate_nbytes != 0 || options->rotate_interval_ns != 0;
}

/* A process that rotates is alone in its file, and needs a clock and a name for it. */
static bool rotation_is_allowed(const struct tbed_writer_options *options, const char *path)
{
    if (!tbed_options_want_rotation(options))
        return options->rotate_keep == 0;
    return path != NULL && !options->join && !options->given_ticks && options->ring_nbytes == 0 &&
           options->rotate_keep <= 1000000;
}

/* The interval is the helper's business. */
static bool sync_is_allowed(const struct tbed_writer_options *options)
{
    return options->sync_interval_ns == 0 ||
           (options->sync_interval_ns >= SYNC_INTERVAL_NS_MIN && !options->no_helper && !options->annotate);
}

bool tbed_options_are_allowed(const struct tbed_writer_options *options, const char *path)
{
    uint32_t page_nbytes = options->page_nbytes;
    bool has_page_size =
        page_nbytes == 0 || ((page_nbytes & (page_nbytes - 1)) == 0 && page_nbytes >= TBED_PAGE_NBYTES_MIN &&
                             page_nbytes <= TBED_PAGE_NBYTES_MAX);
    bool has_clock = (options->clock == TBED_CLOCK_USER) == (options->user_clock != NULL);
    bool has_known_clock = options->clock == TBED_CLOCK_AUTO || options->clock == TBED_CLOCK_MONOTONIC ||
                           options->clock == TBED_CLOCK_USER || options->clock == tbed_clock_of_machine();
    return has_page_size && has_clock && has_known_clock &&
           options->first_reserved_id <= TBED_ID_MAX_RESERVED && !(options->overwrite && options->join) &&
           (options->join || !options->annotate) && unit_is_allowed(options->user_clock_unit) &&
           given_is_allowed(options) && rotation_is_allowed(options, path) && sync_is_allowed(options);
}
