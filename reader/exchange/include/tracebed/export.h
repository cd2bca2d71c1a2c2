/*
 * tracebed/export.h: traces for the viewers and engines that people already use.
 *
 * One call for all formats. An export streams: its memory does not grow with the trace, except where a format is a sum by
 * stack. What a format cannot hold is left out, and counted by kind.
 *
 * Threads: a call may start threads of its own. Calls for different outputs may run at the same time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXPORT_H
#define TRACEBED_EXPORT_H

#include <tracebed/exchange.h>
#include <tracebed/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tbed_compression {
    TBED_COMPRESSION_BY_NAME, /* gzip for a name that ends in ".gz", Zstandard for ".zst", otherwise none */
    TBED_COMPRESSION_NONE,
    TBED_COMPRESSION_GZIP,
    TBED_COMPRESSION_ZSTD,
};

struct tbed_export_options {
    size_t size;           /* sizeof(struct tbed_export_options) */
    bool overwrite;        /* replace an existing file; otherwise that is ERR_EXISTS */
    unsigned thread_count; /* 0: one per processor; the output is the same */
    enum tbed_compression compression;
    /* What to write of each trace, see <tracebed/filter.h>; NULL, or NULL for a trace: everything. Times stay the same. */
    const struct tbed_filter *const *filters;
    bool skip_instants, skip_counters;
    /* For sums by stack (pprof, folded, speedscope, callgrind): memory allocated instead of time. */
    bool by_memory;
    const bool *
        is_cancelled; /* if this becomes true, the call returns with ERR_CANCELLED soon; atomic; NULL: never */
    /* For tables (parquet, csv, ndjson): which one, see <tracebed/tables.h>. NULL: "spans", or for parquet all of them. */
    const char *table;
    const char *host; /* for parquet: the machine that the traces are from, in each row; NULL: unknown */
    /* For chrome: whole microseconds since 1970 instead of the time since the start. */
    bool absolute;
    /* For chrome: threads that follow one another in time share a row. */
    bool collapse_threads;
};

/*
 * What happened to events that a format cannot hold as they are: a key as in JSON, what is counted, and what became of it.
 * At the end, for later versions: add a line.
 */
#define TBED_EXPORT_NOTE_LIST(X)                                                                             \
    X(SKIPPED_INSTANTS, "skipped_instants", "instant", "omitted, as asked for")                              \
    X(SKIPPED_COUNTERS, "skipped_counters", "value", "of counters omitted, as asked for")                    \
    X(SPANS, "spans", "span", "omitted, not supported by the format")                                        \
    X(INSTANTS, "instants", "instant", "omitted, not supported by the format")                               \
    X(COUNTERS, "counters", "value", "of counters omitted, not supported by the format")                     \
    X(MESSAGES, "messages", "message", "omitted, not supported by the format")                               \
    X(ALLOCATIONS, "allocations", "allocation event", "omitted, not supported by the format")                \
    X(ASYNC, "async", "event", "of asynchronous spans omitted, not supported by the format")                 \
    X(FLOWS, "flows", "event", "of flows omitted, not supported by the format")                              \
    X(GAPS, "gaps", "gap", "omitted, not supported by the format")                                           \
    X(UNKNOWN, "unknown", "event", "of unknown types omitted")                                               \
    X(ARGUMENTS, "arguments", "argument", "of events omitted")                                               \
    X(UNPAIRED, "unpaired", "span", "omitted, without a known begin")                                        \
    X(OPEN, "open", "span", "that never ended, written up to its thread's last event")                       \
    X(INVERTED, "inverted", "span", "with an end before its begin, written without a duration")              \
    X(OVERLAPPING, "overlapping", "span", "not nested, written beside the others of the thread")             \
    X(DEEP, "deep", "span", "omitted, too deep for the format")                                              \
    X(FOLDED, "folded", "span", "summed up as <other>")                                                      \
    X(EARLY, "early", "event", "before the trace's start, written at it")                                    \
    X(CLIPPED, "clipped", "time", "or value beyond the format's range, written as the nearest")              \
    X(REPLACED, "replaced", "text", "with bytes that are not UTF-8, replaced by U+FFFD")                     \
    X(SHORTENED, "shortened", "text", "cut to the format's length")                                          \
    X(RENUMBERED, "renumbered", "process", "renumbered: its id occurs in an earlier file")                   \
    X(UNNAMED, "unnamed", "event", "without the text of its name")                                           \
    X(GZIP, "gzip", "trace", "compressed with gzip, because libzstd is not installed")                       \
    X(BY_MEMORY, "by_memory", "trace", "without spans: memory is summed up instead of time")                 \
    X(ALLOCATIONS_UNASKED, "allocations_unasked", "allocation event", "omitted: time is summed up")          \
    X(SPANS_UNASKED, "spans_unasked", "span", "omitted: memory is summed up")                                \
    X(NEGATIVE, "negative", "stack", "with less time than those in it, whose own time is written as 0")      \
    X(COMBINED, "combined", "span", "nested too deeply, summed up as <deeper>")                              \
    X(LIVE, "live", "allocation event", "written only as the size of live memory")                           \
    X(OFF_CPU, "off_cpu", "time", "off the processor omitted")

enum tbed_export_note {
#define TBED_EXPORT_NOTE_ENUM(name, key, what, explanation) TBED_EXPORT_NOTE_##name,
    TBED_EXPORT_NOTE_LIST(TBED_EXPORT_NOTE_ENUM)
#undef TBED_EXPORT_NOTE_ENUM
        TBED_EXPORT_NOTE_COUNT
};
#define TBED_EXPORT_NOTE_ROOM 48                               /* later versions may have more */
const char *tbed_export_note_key(enum tbed_export_note note);  /* "open" */
const char *tbed_export_note_what(enum tbed_export_note note); /* what is counted, in the singular: "span" */
const char *tbed_export_note_explanation(enum tbed_export_note note); /* "that never ended, …" */

struct tbed_export_result {
    uint64_t written_count; /* what the format calls events, samples or rows */
    const char *written;    /* what they are, in the singular: "event", "stack", "row" */
    uint64_t span_count;    /* of the trace, among them; for a sum by stack, those that were summed up */
    uint64_t nbytes;        /* of output, compressed if it is */
    uint64_t notes[TBED_EXPORT_NOTE_ROOM]; /* by enum tbed_export_note */
};

/*
 * tbed_export() writes the traces as 'format' to 'to', which appears complete, or not at all: a file or, for a format that
 * writes several files ('exports_folder'), a new folder.
 *
 * Ownership: all the caller's. 'options', 'result_ret' and 'error_ret' may be NULL.
 * Errors:    ERR_ARGUMENT: the format cannot be written, or not for several traces, or an option does not apply to it;
 *            ERR_MEMORY, ERR_CANCELLED; ERR_NO_LIBRARY: the compression needs a library that is not installed; for 'to'
 *            ERR_EXISTS (in a folder of tables, 'detail' is the file id of the trace that it has), ERR_IS_DIRECTORY,
 *            ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE. Damage is not an error; it is added to the readers' damage lists.
 */
static inline enum tbed_status tbed_export(const struct tbed_format *format,
                                           struct tbed_reader *const *readers, size_t reader_count,
                                           const char *to, const struct tbed_export_options *options,
                                           struct tbed_export_result *result_ret,
                                           struct tbed_error *error_ret);

/* The same to an open descriptor, for instance a pipe, which the caller keeps. After a failure the output may be
 * incomplete. */
static inline enum tbed_status tbed_export_fd(const struct tbed_format *format,
                                              struct tbed_reader *const *readers, size_t reader_count, int fd,
                                              const struct tbed_export_options *options,
                                              struct tbed_export_result *result_ret,
                                              struct tbed_error *error_ret);

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

enum tbed_status tbed_export_sized(const struct tbed_format *format, struct tbed_reader *const *readers,
                                   size_t reader_count, const char *to,
                                   const struct tbed_export_options *options,
                                   struct tbed_export_result *result_ret, struct tbed_error *error_ret,
                                   size_t result_nbytes);
static inline enum tbed_status tbed_export(const struct tbed_format *format,
                                           struct tbed_reader *const *readers, size_t reader_count,
                                           const char *to, const struct tbed_export_options *options,
                                           struct tbed_export_result *result_ret,
                                           struct tbed_error *error_ret)
{
    return tbed_export_sized(format, readers, reader_count, to, options, result_ret, error_ret,
                             sizeof *result_ret);
}

enum tbed_status tbed_export_fd_sized(const struct tbed_format *format, struct tbed_reader *const *readers,
                                      size_t reader_count, int fd, const struct tbed_export_options *options,
                                      struct tbed_export_result *result_ret, struct tbed_error *error_ret,
                                      size_t result_nbytes);
static inline enum tbed_status tbed_export_fd(const struct tbed_format *format,
                                              struct tbed_reader *const *readers, size_t reader_count, int fd,
                                              const struct tbed_export_options *options,
                                              struct tbed_export_result *result_ret,
                                              struct tbed_error *error_ret)
{
    return tbed_export_fd_sized(format, readers, reader_count, fd, options, result_ret, error_ret,
                                sizeof *result_ret);
}

#ifdef __cplusplus
}
#endif
#endif
