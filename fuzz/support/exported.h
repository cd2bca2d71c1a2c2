/*
 * What an export writes, in memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_EXPORTED_H
#define TRACEBED_FUZZ_EXPORTED_H

#include <tracebed/export.h>

struct exported {
    uint8_t *bytes; /* followed by a zero; the caller frees them */
    size_t nbytes;
    struct tbed_export_result result;
};

/* Two exports of the traces must succeed, and be the same. */
struct exported export_twice(enum tbed_foreign_kind kind, struct tbed_reader *const *readers, size_t count,
                             const struct tbed_export_options *options);

/* An export that is cancelled from the start must say so, if it usually writes 'usual_count' > 0 and there is a stream. */
void export_cancelled(enum tbed_foreign_kind kind, struct tbed_reader *const *readers, size_t count,
                      struct tbed_export_options options, uint64_t usual_count);

/* The format of this kind. */
const struct tbed_format *format_of_kind(enum tbed_foreign_kind kind);

#endif
