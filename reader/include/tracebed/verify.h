/*
 * Verification of a trace on several threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VERIFY_H
#define TRACEBED_VERIFY_H

#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_verify_options {
    size_t size;           /* sizeof(struct tbed_verify_options) */
    unsigned thread_count; /* 0: one per processor */
};

/*
 * Does what tbed_reader_verify() does, with the same result whatever the number of threads: the same damage in the same
 * order. 'options' may be NULL.
 *
 * Errors: as tbed_reader_verify(); ERR_ARGUMENT.
 */
enum tbed_status tbed_reader_verify_with(struct tbed_reader *reader,
                                         const struct tbed_verify_options *options);

#ifdef __cplusplus
}
#endif

#endif
