/*
 * What the imports of sums by stack have in common: samples become spans of one thread, one after the other. Each frame is
 * a span, and the innermost one lasts as long as the sample's value says. Outer spans go on from one sample to the next as far
 * as their stacks agree; the innermost span is always the sample's own, so no time by label or by path changes, and the
 * sample's arguments have a place.
 *
 *     tbed_sample_import_open()
 *     tbed_sample_frame() ..., tbed_sample_argument() ..., tbed_sample_put()     for each sample
 *     tbed_sample_import_close()
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_SAMPLE_IMPORT_H
#define TRACEBED_EXCHANGE_SAMPLE_IMPORT_H

#include "reader/core/base/vector.h"
#include "reader/exchange/shared/import_trace.h"

#define SAMPLE_DEPTH_MAX     4096u
#define SAMPLE_ARGUMENTS_MAX 128u
#define SAMPLE_TICKS_MAX     (UINT64_C(1) << 62)

struct sample_import {
    struct import_trace trace;
    struct import_thread *thread;
    TBED_VECTOR(uint32_t) open;   /* the spans that are open, outermost first */
    TBED_VECTOR(uint32_t) frames; /* of the sample that is being put together */
    struct tbed_argument arguments[SAMPLE_ARGUMENTS_MAX];
    size_t argument_count;
    uint64_t tick;
};

/* Begins a trace in 'fd', a new file. Close it in any case. Errors: those of tbed_writer_open_fd(). */
enum tbed_status tbed_sample_import_open(struct sample_import *import, int fd,
                                         const struct import_start *start, const char *thread_name,
                                         struct tbed_import_report *report, struct tbed_error *error_ret);

/* Like tbed_import_trace_close(). */
enum tbed_status tbed_sample_import_close(struct sample_import *import, enum tbed_status status,
                                          struct tbed_error *error_ret);

/* The next frame of the sample, outermost first. Those that are too deep are counted. */
void tbed_sample_frame(struct sample_import *import, uint32_t id);

/* Of the sample. Those that are too many are counted. */
void tbed_sample_argument(struct sample_import *import, struct tbed_argument argument);

/* Takes the sample. One whose end is out of range is counted, and left out. */
void tbed_sample_put(struct sample_import *import, uint64_t value);

#endif
