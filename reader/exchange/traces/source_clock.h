/*
 * The clocks of the sources of a merge.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SOURCE_CLOCK_H
#define TRACEBED_SOURCE_CLOCK_H

#include <tracebed/copy.h>

/* Do the ticks of both come from one clock of one machine, since the same start of it? */
bool tbed_clocks_are_one(const struct tbed_reader *reader, const struct tbed_reader *other);

/* May the ticks of both be compared, if the caller says that they come from one clock? */
bool tbed_clocks_are_alike(const struct tbed_reader *reader, const struct tbed_reader *other);

#endif
