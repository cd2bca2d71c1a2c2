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

/*
 * How far the first pass over the events is: how many event blocks have been read so far, by any thread, and how many there are.
 * A block that is refused counts each time it is read.
 * Any thread may call this while another one uses the reader, but not while that refreshes it.
 */
void tbed_reader_progress(const struct tbed_reader *reader, uint64_t *read_count_ret,
                          uint64_t *all_count_ret);

#ifdef __cplusplus
}
#endif

#endif
