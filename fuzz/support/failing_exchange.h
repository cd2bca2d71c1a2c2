/*
 * Imports and exports that are made to fail: what they give and leave behind is compared with what they give when nothing
 * fails.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_FAILING_EXCHANGE_H
#define TRACEBED_FUZZ_FAILING_EXCHANGE_H

#include <tracebed/exchange.h>

#include "fuzz/support/destination.h"

#define FAILING_ERRNO_COUNT 4
extern const int failing_errnos[FAILING_ERRNO_COUNT]; /* of file calls */

/* An import or export, and its result. */
struct failing_work {
    enum tbed_status (*call)(struct failing_work *work, const char *to, struct tbed_error *error);
    enum destination destination;
    bool makes_file;
    const uint8_t *data;
    size_t nbytes;
    unsigned thread_count;
    int fd;                     /* the foreign file of an import */
    struct tbed_reader *reader; /* the trace of an export; that which an import opened */
    struct tbed_filter *filter; /* what is exported; NULL: everything */
    bool has_filter;
    int file_errno; /* the errno of failing file calls; 0: memory runs out */
    struct tbed_import_report report;
    enum tbed_status status;
    uint64_t sum; /* of what was made */
};

#define FAILING_SUM_START UINT64_C(0xCBF29CE484222325)
uint64_t failing_sum(uint64_t sum, const void *bytes, size_t nbytes);
uint64_t failing_sum_of_trace(struct tbed_reader *reader);

/* Runs the call, with the failures of the current run or without any, and checks the destination. */
void failing_work_run(struct failing_work *work, bool fails);

/* Requires the result of 'expected', unless it says that memory ran out. */
void failing_work_expect(const struct failing_work *work, const struct failing_work *expected);

/* No descriptor may be left open. */
struct failing_descriptors {
    unsigned count, highest;
};
struct failing_descriptors failing_descriptors_find(void);
void failing_descriptors_check(const struct failing_work *work, struct failing_descriptors before);

#endif
