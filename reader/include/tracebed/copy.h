/*
 * tracebed/copy.h: traces made from traces: a part of one, or several in one.
 *
 * Events keep their arguments, and ids their meaning. The new trace has only the strings that it needs. It is in append
 * mode, closed cleanly, and has a file id of its own. It has no SERIES and UNLOAD records.
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

#ifdef __cplusplus
}
#endif
#endif
