/*
 * tracebed/copy.h: traces made from traces: a part of one, or several in one.
 *
 * Events keep their arguments, and ids their meaning. The new trace has only the strings that it needs; ids of strings
 * that cannot be read become TBED_ID_INVALID. It is in append mode, closed cleanly, and has a file id of its own. It has no
 * SERIES and UNLOAD records.
 *
 * What the source lacks, because it is damaged or was a flight recorder, is described in the new trace by LOST records,
 * which tbed_lost_get() lists.
 *
 * Threads: any number of copies may be made from one reader at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COPY_H
#define TRACEBED_COPY_H

#include <tracebed/filter.h>
#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_copy_report {
    uint64_t event_count;
    uint64_t stream_count; /* streams with events */
    uint64_t string_count;
    uint64_t nbytes;     /* of the new file */
    uint64_t loss_count; /* LOST records */
    /* Spans whose begin is not known, and that could not be copied because a span around them goes on. */
    uint64_t unknown_count;
    uint64_t closed_count;  /* spans that never ended, and now end where events of their stream are missing */
    uint64_t dropped_count; /* events and strings that are too large for a page of the new trace */
    uint64_t metadata_count; /* further metadata, left out: a trace has one */
    /* Of a merge. Events of different sources that are less than this apart may be in the wrong order; 0: one clock. */
    uint64_t uncertainty_ns;
    bool is_one_clock; /* all ticks come from one clock, and are kept */
};

/* ---- A part of a trace ---- */

struct tbed_cut_options {
    size_t size;                      /* sizeof(struct tbed_cut_options) */
    const struct tbed_filter *filter; /* what is copied; NULL: everything */
    bool overwrite;                   /* replace an existing file; otherwise that is ERR_EXISTS */
};

/*
 * tbed_trace_cut() writes the part of a trace that a filter takes to a new file.
 *
 * Analyses of the new trace have the results that analyses of the source have with this filter. A span that is cut is
 * recorded as it counts: one that began before the window and ends in it is a SPAN event from the begin of the window to
 * its end; one that goes on beyond the window ends with it; one that never ended is open from the start, and stays so.
 * Threads and processes of the filter's streams are copied even if they have no events in the window; so are drop
 * counters, which have no time.
 *
 * Ownership: 'options', 'report_ret' and 'error_ret' may be NULL.
 * Errors:    ERR_EXISTS, ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE, ERR_DISK_FULL, ERR_MAP, ERR_MEMORY,
 *            ERR_ARGUMENT; ERR_BUSY for a flight recorder that is being written: make a snapshot first. After a failure, or
 *            if the process is killed, there is no new file. Damage is not an error: everything readable is copied.
 */
static inline enum tbed_status tbed_trace_cut(struct tbed_reader *reader, const char *path,
                                              const struct tbed_cut_options *options,
                                              struct tbed_copy_report *report_ret,
                                              struct tbed_error *error_ret);

/* ---- Several traces in one ---- */

/*
 * How well the times of a trace are known on the wall clock of its machine.
 *
 * The trace has anchors: ticks together with the time of CLOCK_REALTIME when they were read. Between two of them a time is
 * known as precisely as they were read, for which one microsecond is assumed. With a single anchor nothing is known of
 * the rate of the clock except what the header says, for which an error of 100 ppm is assumed. Whether the wall clocks
 * of two machines agree is not recorded in a trace.
 */
struct tbed_clock_quality {
    bool has_wall_clock;   /* if not, the rest is 0 */
    uint32_t anchor_count; /* those that readers use */
    double
        drift_ppm; /* by how much ticks are faster than the header says, in millionths; with one anchor, unknown: 0 */
    uint64_t uncertainty_ns; /* of the times of its events */
};
static inline void tbed_clock_quality_get(const struct tbed_reader *reader,
                                          struct tbed_clock_quality *quality_ret);

enum tbed_merge_time {
    TBED_MERGE_WALL_CLOCK = 0, /* by the anchors, unless all sources have the ticks of one clock */
    TBED_MERGE_SAME_CLOCK = 1, /* ticks are comparable, and kept */
    TBED_MERGE_SAME_START = 2, /* all sources started at the same moment */
};

struct tbed_merge_options {
    size_t size; /* sizeof(struct tbed_merge_options) */
    enum tbed_merge_time time;
    const int64_t *shifts_ns; /* added to the times of each source; NULL: nothing */
    bool overwrite;
};

/*
 * tbed_traces_merge() writes all events of several traces to one new trace, with the streams, processes and ids of the
 * sources under new numbers.
 *
 * Sources have the ticks of one clock if their anchors say that they come from the same clock since the same start of
 * the machine; their order is then exact. Otherwise the ticks of the new trace are nanoseconds, each source's by its own
 * anchors, which removes the drift of its clock, and its resolution is that of the least precise source.
 *
 * Unless a source has metadata, the metadata of the new trace are a JSON object: "merged" has for each source "file_id",
 * "first_stream" (what was added to its numbers of streams), "first_id" (the same for reserved ids), "anchors",
 * "drift_ppm" and "uncertainty_ns"; "one_clock" and "uncertainty_ns" are as in the report.
 *
 * Errors: those of tbed_trace_cut(); ERR_NO_TIME: a source, '*source_ret', has no wall-clock time; ERR_CLOCK_DIFFERS: it was
 *         to have the clock of the first, and does not, or it was to be shifted; ERR_ARGUMENT: no sources, or one twice, or
 *         more streams or ids than a trace can have. 'source_ret' may be NULL.
 */
static inline enum tbed_status tbed_traces_merge(struct tbed_reader *const *readers, size_t count,
                                                 const char *path, const struct tbed_merge_options *options,
                                                 struct tbed_copy_report *report_ret, size_t *source_ret,
                                                 struct tbed_error *error_ret);

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

enum tbed_status tbed_trace_cut_sized(struct tbed_reader *reader, const char *path,
                                      const struct tbed_cut_options *options,
                                      struct tbed_copy_report *report_ret, struct tbed_error *error_ret,
                                      size_t report_nbytes);
static inline enum tbed_status tbed_trace_cut(struct tbed_reader *reader, const char *path,
                                              const struct tbed_cut_options *options,
                                              struct tbed_copy_report *report_ret,
                                              struct tbed_error *error_ret)
{
    return tbed_trace_cut_sized(reader, path, options, report_ret, error_ret, sizeof *report_ret);
}

void tbed_clock_quality_get_sized(const struct tbed_reader *reader, struct tbed_clock_quality *quality_ret,
                                  size_t quality_nbytes);
static inline void tbed_clock_quality_get(const struct tbed_reader *reader,
                                          struct tbed_clock_quality *quality_ret)
{
    tbed_clock_quality_get_sized(reader, quality_ret, sizeof *quality_ret);
}

enum tbed_status tbed_traces_merge_sized(struct tbed_reader *const *readers, size_t count, const char *path,
                                         const struct tbed_merge_options *options,
                                         struct tbed_copy_report *report_ret, size_t *source_ret,
                                         struct tbed_error *error_ret, size_t report_nbytes);
static inline enum tbed_status tbed_traces_merge(struct tbed_reader *const *readers, size_t count,
                                                 const char *path, const struct tbed_merge_options *options,
                                                 struct tbed_copy_report *report_ret, size_t *source_ret,
                                                 struct tbed_error *error_ret)
{
    return tbed_traces_merge_sized(readers, count, path, options, report_ret, source_ret, error_ret,
                                   sizeof *report_ret);
}

#ifdef __cplusplus
}
#endif
#endif
