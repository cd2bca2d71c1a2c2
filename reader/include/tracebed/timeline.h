/*
 * tracebed/timeline.h: what happened when: spans and counters by parts of the time.
 *
 * Allocations have moments of their own, which begin at the same ticks: tbed_allocations_moment().
 *
 * Units:     ticks, as in analysis.h.
 * Ownership: rows are valid until the timeline is closed. It does not need its reader any more.
 * Threads:   any number of threads may share a timeline.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TIMELINE_H
#define TRACEBED_TIMELINE_H

#include <tracebed/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Spans in one part of the time. */
struct tbed_timeline_spans {
    uint64_t count; /* those that begin in it */
    uint64_t ticks; /* of all spans, also those that began before, as far as they are in this part */
};

/* The values that a counter got in one part of the time. */
struct tbed_timeline_values {
    uint64_t count;        /* 0: the others are 0, too */
    double min, mean, max; /* the mean of the values, however long each of them held */
};

/* The spans of one label; labels and what counts are those of the statistics. */
struct tbed_timeline_row {
    const char *name; /* terminated */
    size_t name_nbytes;
    uint32_t id;                             /* the lowest id with this label */
    const struct tbed_timeline_spans *parts; /* as many as the timeline has */
};

/* A counter of one process: several processes may have counters of the same name, such as their resident memory. */
struct tbed_timeline_counter {
    const char *name; /* terminated */
    size_t name_nbytes;
    uint32_t id;      /* the lowest id with this label in the process */
    uint32_t process; /* its number; 0: the thread has no STREAM record */
    const struct tbed_timeline_values *parts;
};

struct tbed_timeline;

/*
 * tbed_timeline_make() reads all event blocks. 'moment_count' of the options says how many parts the time is divided into;
 * it is at least 1 and at most 65,536. 'group' applies, and 'by' must be TBED_BY_LABEL. The time is that from the first to
 * the last tick of the trace, cut to the window of the filter. Events outside count in the first or the last part. The result
 * does not depend on the number of threads.
 *
 * Memory grows with the number of parts times that of names, and of counters of processes.
 *
 * Ownership: '*timeline_ret' is the caller's; free it with tbed_timeline_close(). It is untouched on failure. 'options' need
 *            not outlive the call.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT. Damage is not an error: everything readable is read, and the rest is added to the
 *            damage list.
 */
enum tbed_status tbed_timeline_make(struct tbed_reader *reader, const struct tbed_analysis_options *options,
                                    struct tbed_timeline **timeline_ret);
void tbed_timeline_close(struct tbed_timeline *timeline); /* NULL is allowed */

size_t tbed_timeline_part_count(const struct tbed_timeline *timeline);

/* The tick at which a part begins; that of the part after the last is where it ends. */
uint64_t tbed_timeline_tick(const struct tbed_timeline *timeline, size_t part);

/* All spans: 'ticks' is the time in which a stream is in any span, summed over streams. */
const struct tbed_timeline_spans *tbed_timeline_all(const struct tbed_timeline *timeline);

/* The rows, sorted by the bytes of their names, counters then by process; NULL past the last. */
const struct tbed_timeline_row *tbed_timeline_span(const struct tbed_timeline *timeline, size_t index);
const struct tbed_timeline_counter *tbed_timeline_counter_get(const struct tbed_timeline *timeline,
                                                              size_t index);

#ifdef __cplusplus
}
#endif
#endif
