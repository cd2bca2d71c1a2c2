/*
 * The header page: made and checked. Pure functions over bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_HEADER_H
#define TRACEBED_HEADER_H

#include "format/layout.h"

struct tbed_header_fields { /* the fields that never change, in host order */
    uint32_t fixed_nbytes;  /* what they take of the header page; not for tbed_header_make() */
    uint32_t page_nbytes;
    uint64_t file_id;
    uint32_t ring_page_count;
    enum tbed_clock clock;
    uint64_t ticks_per_second;
    uint64_t anchor_ticks;
    int64_t anchor_realtime_ns;
    uint64_t anchor_monotonic_ns;
    char clock_unit[17];
    uint32_t resolution_ns; /* 0: a tick */
    enum tbed_clock_reason clock_reason;
};

/* Fills the first 776 bytes of a new, zeroed header page: state open, one page claimed, stream 1 next. */
void tbed_header_make(void *page, const struct tbed_header_fields *fields);

/*
 * Makes those checks that concern the fields that never change, on the first 448 bytes of a header page or a copy of
 * them.
 */
enum tbed_status tbed_header_fixed_check(const void *bytes, struct tbed_header_fields *fields_ret,
                                         struct tbed_error *error_ret);

/*
 * Makes the file checks of section 12 that stop the reading, on the first 'nbytes' bytes of a file. If 'nbytes' is less
 * than a page, the result is HEADER_CUT, provided that the fields that are there pass.
 */
enum tbed_status tbed_header_check(const void *bytes, size_t nbytes, struct tbed_header_fields *fields_ret,
                                   struct tbed_error *error_ret);

#endif
