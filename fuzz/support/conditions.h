/*
 * Conditions of a filter, chosen by an input.
 *
 * Behind the last whole page of the trace are seven bytes: the begin and the end of the window in parts of 255, the
 * least duration as a power of two, which conditions there are, which stream, and which labels are meant.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_CONDITIONS_H
#define TRACEBED_FUZZ_CONDITIONS_H

#include <tracebed/analysis.h>

enum { BEGIN = 1, END = 2, MINIMUM = 4, STREAM = 8, NAME = 16, EXCLUDE = 32, CATEGORY = 64, INSIDE = 128 };

struct conditions {
    unsigned kinds;
    uint64_t begin, end, minimum; /* ticks; end 0: none */
    uint32_t stream;              /* 0: all */
    const char *name, *exclude, *category, *inside;
};

/* 'statistics', of everything, has the labels for 'inside', and must outlive the conditions. */
struct conditions choose_conditions(const struct tbed_reader *reader,
                                    const struct tbed_statistics *statistics, const uint8_t *data,
                                    size_t nbytes);

/* The caller closes it. */
struct tbed_filter *filter_of_conditions(struct tbed_reader *reader, const struct conditions *c);

#endif
