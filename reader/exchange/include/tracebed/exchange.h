/*
 * tracebed/exchange.h: import and export of foreign trace formats.
 *
 * Importing converts a foreign file to a trace, which every tool and analysis can read. Everything intact is kept, in its
 * original order; damage is left out and reported.
 *
 * Units:   those of the file; nanoseconds become ticks of 1 ns.
 * Threads: a call may start threads of its own. Calls for different files may run at the same time.
 *
 * Source: spec/measureme.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_H
#define TRACEBED_EXCHANGE_H

#include <stdio.h>
#include <tracebed/filter.h>
#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Formats ---- */

enum tbed_foreign_kind {
    TBED_FOREIGN_NONE,
    TBED_FOREIGN_PROFILE, /* measureme: .mm_profdata, or .events with .string_data and .string_index */
    TBED_FOREIGN_RTL_LOG, /* a text log of OpenOffice's RTL_LOGFILE */
    TBED_FOREIGN_CHROME,  /* trace events as JSON */
    TBED_FOREIGN_PERFETTO,
    TBED_FOREIGN_FIREFOX,
    TBED_FOREIGN_OTLP,
    TBED_FOREIGN_CTF,
    TBED_FOREIGN_PPROF,
    TBED_FOREIGN_FOLDED,
    TBED_FOREIGN_SPEEDSCOPE,
    TBED_FOREIGN_CALLGRIND,
    TBED_FOREIGN_HEAPTRACK,
    TBED_FOREIGN_PARQUET,
    TBED_FOREIGN_CSV,
    TBED_FOREIGN_NDJSON,
    TBED_FOREIGN_SPALL,
    TBED_FOREIGN_UFTRACE,
};

/* A foreign format. The library has one constant for each; later versions may add members at the end. */
struct tbed_format {
    enum tbed_foreign_kind kind;
    const char *name;       /* "mm_profdata": as in 'tracebed export --to=NAME' */
    const char *summary;    /* a description in a few words */
    const char *extensions; /* the usual file name extensions: ".mm_profdata .events" */
    bool can_import, can_export;
    bool has_profile;                                /* tbed_statistics_make_foreign() can read it in place */
    bool exports_many;                               /* writes several traces to one file */
    bool exports_to_stdout;                          /* can be written to any stream, not only to a file */
    uint32_t export_version_min, export_version_max; /* the versions that can be written; 0: none */
    bool has_export;                                 /* tbed_export() of <tracebed/export.h> writes it */
    bool exports_folder;                             /* of several files */
    bool exports_memory;                             /* sums by stack, of time or of memory */
    bool compresses;                                 /* gzip and Zstandard by the name of the output */
    bool skips;                   /* the options that leave out instants and counters apply */
    bool takes_table, takes_host; /* these options apply */
    bool has_rows;                /* so do those for absolute times and for threads that share a row */
};

/* All formats, in a fixed order; NULL past the last. */
const struct tbed_format *tbed_format_get(size_t index);

/* The format with that name; NULL if there is none. */
const struct tbed_format *tbed_format_find(const char *name);

/*
 * The format of a file, determined by its first bytes. For a profile in three files, any of them will do. NULL if it
 * cannot be imported; it may be a trace. The file is read from its start; the offset of a descriptor does not change.
 */
const struct tbed_format *tbed_format_of_file(const char *path);
const struct tbed_format *tbed_format_of_fd(int fd);

/* ---- Import ---- */

struct tbed_import_damage {
    enum tbed_status status;
    /* For a profile in three files: 0 .events, 1 .string_data, 2 .string_index. For a folder: an index into 'files' of
       the report. Otherwise 0. */
    uint32_t file;
    uint64_t offset; /* in that file; UINT64_MAX: not a place in it */
    uint64_t detail; /* the value found, if there is one */
};

/*
 * Classes of lines in an RTL_LOGFILE log that its program would not write in a run that ends normally. A line may belong
 * to several. Nothing is lost: tbed_export_rtl_log() reproduces every such line byte for byte.
 */
#define TBED_RTL_ODD_LIST(X)                                                                                 \
    X(HEADER, "header", "line of the header missing or damaged")                                             \
    X(TRAILER, "trailer", "log without a trailer: its program was killed, or the log is cut")                \
    X(CUT, "cut", "last line cut")                                                                           \
    X(CRLF, "crlf", "line ended by CR and LF")                                                               \
    X(NUL, "nul", "line with zero bytes")                                                                    \
    X(UTF8, "utf8", "line that is not UTF-8")                                                                \
    X(FOREIGN, "foreign", "line that is none of the log's forms")                                            \
    X(NUMBER, "number", "line whose time or thread is not written as the program does")                      \
    X(SEPARATOR, "separator", "message without ' : '")                                                       \
    X(ORPHAN, "orphan", "end of a scope that was not open on its thread")                                    \
    X(UNCLOSED, "unclosed", "scope that was never closed")                                                   \
    X(BACK, "back", "line with an earlier time than one in front of it")                                     \
    X(STEP, "step", "line after which the clock was set back below zero")                                    \
    X(WRAP, "wrap", "wrap of the time after 2^32 ms")                                                        \
    X(TRUNCATED, "truncated", "line that the program cut to 4095 bytes")                                     \
    X(LONG, "long", "piece of a line longer than any program writes")                                        \
    X(THREADS, "threads", "line of a thread beyond the 65536 that are distinguished")                        \
    X(ORPHAN_MESSAGE, "orphan_message", "message '}' that ends nothing open on its thread")

enum tbed_rtl_odd {
#define TBED_RTL_ODD_ENUM(name, key, text) TBED_RTL_ODD_##name,
    TBED_RTL_ODD_LIST(TBED_RTL_ODD_ENUM)
#undef TBED_RTL_ODD_ENUM
        TBED_RTL_ODD_COUNT
};
#define TBED_RTL_ODD_ROOM 32                          /* later versions may have more classes */
const char *tbed_rtl_odd_key(enum tbed_rtl_odd odd);  /* as in metadata and JSON: "orphan" */
const char *tbed_rtl_odd_text(enum tbed_rtl_odd odd); /* a description of the class */

/* What an import leaves out, by kind: what is counted, and why. Later versions may have more kinds. */
#define TBED_IMPORT_NOTE_LIST(X)                                                                             \
    X(LOST, "lost", "event", "lost while recording")                                                         \
    X(THREADS, "threads", "event", "of a thread beyond the 65536 that are distinguished")                    \
    X(ARGUMENTS, "arguments", "argument", "whose type or place is unknown")                                  \
    X(UNKNOWN, "unknown", "record", "of a kind that only its own program understands")                       \
    X(SCHEDULER, "scheduler", "record", "of the scheduler or of other events of perf")                       \
    X(KERNEL, "kernel", "file", "with events of the kernel")                                                 \
    X(TIMELESS, "timeless", "event", "without a time")                                                       \
    X(RANGE, "range", "event", "with a time out of range")                                                   \
    X(PHASES, "phases", "event", "of kinds that traces do not have: objects, samples, memory dumps")         \
    X(NAMES, "names", "name", "of an end that differs from its span's")                                      \
    X(VALUES, "values", "value", "of a counter that is not a number")                                        \
    X(METADATA, "metadata", "member", "of metadata without a place in a trace")                              \
    X(PACKETS, "packets", "packet", "of other data sources")                                                 \
    X(LOST_PACKETS, "lost_packets", "place", "where packets were lost when they were recorded")              \
    X(NEGATIVE, "negative", "sample", "whose value is negative, as differences of profiles have it")         \
    X(FRAMES, "frames", "frame",                                                                             \
      "of stacks deeper than 4,096, or of more than 128 that are inlined at one place")

enum tbed_import_note {
#define TBED_IMPORT_NOTE_ENUM(name, key, what, explanation) TBED_IMPORT_NOTE_##name,
    TBED_IMPORT_NOTE_LIST(TBED_IMPORT_NOTE_ENUM)
#undef TBED_IMPORT_NOTE_ENUM
        TBED_IMPORT_NOTE_COUNT
};
#define TBED_IMPORT_NOTE_ROOM 32
const char *tbed_import_note_key(enum tbed_import_note note);         /* as in JSON: "lost" */
const char *tbed_import_note_what(enum tbed_import_note note);        /* "event": what is counted */
const char *tbed_import_note_explanation(enum tbed_import_note note); /* "lost while recording" */

/*
 * What an import has found and done. It lists the first places of damage, and counts all of them.
 */
#define TBED_IMPORT_FILES_KEPT  16
#define TBED_IMPORT_FILE_NBYTES 64
#define TBED_IMPORT_DAMAGE_KEPT 100
struct tbed_import_report {
    enum tbed_foreign_kind kind;
    uint64_t line_count, message_count;     /* for a log */
    uint64_t odd_counts[TBED_RTL_ODD_ROOM]; /* for a log; by enum tbed_rtl_odd */
    uint32_t version;     /* of the foreign format; up to version 5 it has three files, then one */
    uint64_t file_nbytes; /* of all files together */
    uint64_t event_count, interval_count, instant_count, integer_count;
    uint64_t string_count, binding_count, thread_count;
    uint64_t inverted_count;  /* intervals that end before they begin; kept */
    uint64_t unordered_count; /* events that end before the previous event of their thread; kept */
    uint64_t unpaired_count;  /* starts without an end, and ends without a start (format 0); left out */
    uint64_t drop_count;      /* records dropped when writing the trace, for any cause */
    uint64_t damage_count;
    struct tbed_import_damage damages[TBED_IMPORT_DAMAGE_KEPT];
    uint64_t notes[TBED_IMPORT_NOTE_ROOM]; /* left out; by enum tbed_import_note */
    /* Names of damaged files in a folder, terminated, perhaps cut; the last is for all others. Empty: none. */
    char files[TBED_IMPORT_FILES_KEPT][TBED_IMPORT_FILE_NBYTES];
};

struct tbed_import_options {
    size_t size;    /* sizeof(struct tbed_import_options) */
    bool overwrite; /* replace an existing file; otherwise that is ERR_EXISTS */
};

/*
 * tbed_import() converts the foreign file 'from' to the trace 'to'. For a profile in three files, name any one of them.
 *
 * 'to' appears complete, with mode 0600, when the import is done, or not at all. Damage in 'from' does not fail the call:
 * everything intact is imported, and the report describes the rest.
 *
 * Ownership: 'options', 'report_ret' and 'error_ret' may be NULL. After a failure, the report covers what was read.
 * Errors:    ERR_NOT_A_TRACE if 'from' is none of the formats above, ERR_PROFILE_VERSION, ERR_PROFILE_CUT (it ends within
 *            its first 8 bytes), ERR_EMPTY, ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY; for 'to' ERR_EXISTS,
 *            ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE, ERR_DISK_FULL.
 * Threads:   any.
 */
static inline enum tbed_status tbed_import(const char *from, const char *to,
                                           const struct tbed_import_options *options,
                                           struct tbed_import_report *report_ret,
                                           struct tbed_error *error_ret);

/* Like tbed_import(), from an open regular file, which the caller keeps: a profile in one file, or the events alone. */
static inline enum tbed_status tbed_import_fd(int from, const char *to,
                                              const struct tbed_import_options *options,
                                              struct tbed_import_report *report_ret,
                                              struct tbed_error *error_ret);

/*
 * Like tbed_import(), to an unnamed file that is opened for reading and vanishes when the reader is closed. It is created
 * in $TMPDIR, /var/tmp or /tmp, or in memory if those file systems have no unnamed files.
 */
static inline enum tbed_status tbed_import_open(const char *from, struct tbed_reader **reader_ret,
                                                struct tbed_import_report *report_ret,
                                                struct tbed_error *error_ret);
static inline enum tbed_status tbed_import_open_fd(int from, struct tbed_reader **reader_ret,
                                                   struct tbed_import_report *report_ret,
                                                   struct tbed_error *error_ret);

/* ---- Names of RTL_LOGFILE ---- */

struct tbed_rtl_part {
    const char *text; /* not terminated; into the name */
    size_t nbytes;    /* 0: missing */
};

struct tbed_rtl_fields {
    struct tbed_rtl_part module, author, function;
};

/*
 * Parses the name of a scope or the context of a message: "MODULE (AUTHOR) FUNCTION", "MODULE (AUTHOR)" or
 * "::FUNCTION (AUTHOR)". Any other text is taken as a function.
 */
void tbed_rtl_fields(const char *name, size_t nbytes, struct tbed_rtl_fields *fields_ret);

/*
 * If the name has no function, a message of the form "MODULE (AUTHOR) FUNCTION : …" or "::FUNCTION : …" may have one.
 * Fills the empty fields from the message and returns the length of that prefix; 0 if the message has none.
 */
size_t tbed_rtl_message_fields(const char *message, size_t nbytes, struct tbed_rtl_fields *fields);

/* Whether the trace was imported from such a log. */
bool tbed_rtl_is_of_log(const struct tbed_reader *reader);

/* How many lines of that class the log has that the trace was imported from; 0 if it was not. */
uint64_t tbed_rtl_odd_count(const struct tbed_reader *reader, enum tbed_rtl_odd odd);

/* ---- Export ---- */

struct tbed_profile_export_options {
    size_t size;
    uint32_t version; /* 8 or 9; 0: 9 */
    bool overwrite;
    const struct tbed_filter *filter; /* what to write, see <tracebed/filter.h>; NULL: everything */
    bool skip_instants, skip_counters;
};

/* What was written, and what was left out because the format cannot hold it. */
struct tbed_export_report {
    uint64_t event_count, string_count; /* written */
    uint64_t argument_count;            /* left out: arguments of events */
    uint64_t left_out_count; /* left out: messages, allocations, flows, asynchronous spans, unknown events */
    uint64_t clipped_count;  /* times or values that need more than 48 bits; written as the maximum */
    uint64_t open_count;     /* spans that never ended; written as ending with the stream's last event */
    uint64_t unnamed_count;  /* events whose id has no text; written with a stand-in such as "<id 42>" */
    uint64_t unknown_count;  /* left out: spans whose begin is unknown */
    uint64_t instant_count, counter_count; /* left out because the options skip them */
};

/* Writes the trace as .mm_profdata, for measureme's tools. Ownership and errors as for tbed_export_chrome(). */
static inline enum tbed_status tbed_export_profile(struct tbed_reader *reader, const char *path,
                                                   const struct tbed_profile_export_options *options,
                                                   struct tbed_export_report *report_ret,
                                                   struct tbed_error *error_ret);

/* ---- Export: Chrome trace events ---- */

/*
 * JSON for chrome://tracing, Perfetto, speedscope and Firefox's profiler: an object whose "traceEvents" contain, for any
 * number of traces:
 *   spans                             ph X; "args" has "never ended": true if they lasted to their stream's end
 *   spans ended by LEAVE              ph b, e, because they do not nest; "id" starts with "beside "
 *   instants, messages, gaps          ph i
 *   counters                          ph C
 *   asynchronous spans                ph b, e; "id" is the name's id and the key
 *   flows                             ph s, t, f
 *   processes, threads                ph M: process_name, process_sort_index, thread_name
 * A name is the text before the first U+001E. The parts behind it become "arg0", "arg1" and so on, and the event's own
 * arguments follow under their names. "cat" is the category. The format has no place for allocations.
 *
 * Times are microseconds since the start of the earliest trace, with three decimals. Several traces are aligned by their
 * wall clocks. If ticks do not measure time, one tick is written as a nanosecond.
 */
struct tbed_chrome_options {
    size_t size;    /* sizeof(struct tbed_chrome_options) */
    bool overwrite; /* replace an existing file; otherwise that is ERR_EXISTS */
    bool absolute;  /* write whole microseconds of CLOCK_REALTIME, rounded down, as measureme's crox does */
    /* Let a thread reuse the number of a thread of its process that ended before it began. */
    bool collapse_threads;
    uint64_t minimum_ns; /* leave out shorter spans */
    /* What to write of each trace, see <tracebed/filter.h>; NULL, or NULL for a trace: everything. Times stay the same. */
    const struct tbed_filter *const *filters;
    unsigned thread_count; /* 0: one per processor; the output is the same */
    bool skip_instants, skip_counters;
    const bool *is_cancelled; /* if this becomes true, the call returns with ERR_CANCELLED soon; atomic */
};

/* What was written, and what was left out. */
struct tbed_chrome_report {
    uint64_t event_count;      /* written, without metadata */
    uint64_t open_count;       /* among them: spans that never ended */
    uint64_t inverted_count;   /* among them: spans that end before they begin; written with duration 0 */
    uint64_t short_count;      /* left out: spans shorter than the minimum */
    uint64_t unpaired_count;   /* left out: ends whose begin is unknown */
    uint64_t allocation_count; /* left out: ALLOC, FREE, REALLOC; see 'live_count' */
    uint64_t unknown_count;    /* left out: events of later versions or of applications */
    uint64_t argument_count; /* left out: arguments of counters, which viewers would show as more counters */
    /* Processes whose pid an earlier trace uses for another process; they get a free one. */
    uint64_t renumbered_count;
    uint64_t clipped_count; /* among them: spans with a time above 63 bits, written as the highest possible */
    uint64_t instant_count, counter_count; /* left out because the options skip them */
    uint64_t span_count;                   /* among them: spans */
    uint64_t beside_count; /* among these: spans that do not nest in their thread; two events each */
    uint64_t live_count;   /* ALLOC, FREE, REALLOC, written as values of a counter of live memory */
};

/*
 * tbed_export_chrome() writes the traces to the file 'to', one after another. 'to' appears complete, or not at all.
 *
 * Ownership: all the caller's. 'options', 'report_ret' and 'error_ret' may be NULL.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT; for 'to' ERR_EXISTS, ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE.
 *            Damage is not an error; it is added to the readers' damage lists.
 * Source:    Google's "Trace Event Format".
 */
static inline enum tbed_status tbed_export_chrome(struct tbed_reader *const *readers, size_t reader_count,
                                                  const char *to, const struct tbed_chrome_options *options,
                                                  struct tbed_chrome_report *report_ret,
                                                  struct tbed_error *error_ret);

/* Like tbed_export_chrome(), to any stream, which the caller keeps. After a failure the output may be incomplete. */
static inline enum tbed_status tbed_export_chrome_stream(struct tbed_reader *const *readers,
                                                         size_t reader_count, FILE *out,
                                                         const struct tbed_chrome_options *options,
                                                         struct tbed_chrome_report *report_ret,
                                                         struct tbed_error *error_ret);

/* ---- Export: logs of RTL_LOGFILE ---- */

enum tbed_rtl_rebase { TBED_RTL_TIMER, TBED_RTL_FIRST };
enum tbed_rtl_tid { TBED_RTL_TID_AUTO, TBED_RTL_TID_NATIVE, TBED_RTL_TID_ORDINAL };

/*
 * The log that OpenOffice's RTL_LOGFILE would have written, in order of time over all threads:
 *   spans (BEGIN, END)  "{ name", "} name"
 *   messages            "| context : text", or "| : text" without a context
 *   instants            "| : name"
 * A trace that was imported from such a log is exported as the same log, byte for byte, including odd lines. Control
 * characters are the exception: they are written as \xHH, because a terminal would obey them, unless 'exact' is set.
 * Texts of other traces are always escaped, so that none of them begins a line of the log.
 */
struct tbed_rtl_options {
    size_t size;    /* sizeof(struct tbed_rtl_options) */
    bool overwrite; /* replace an existing file; otherwise that is ERR_EXISTS */
    /* Where 0 ms is: at the start of the program's timer, or at the first line. */
    enum tbed_rtl_rebase rebase;
    /* Thread numbers: the system's, or 1, 2, 3 in order of their first lines. AUTO: those of an imported log, otherwise
     * ordinal. */
    enum tbed_rtl_tid tid;
    bool quirks; /* cut pieces of 4096 bytes and more to 4095 bytes and a zero byte, as the program did */
    bool exact;  /* write the texts of an imported log verbatim, with their control characters */
    /* What to write, see <tracebed/filter.h>; NULL: everything. A span that is cut has lines where it was cut. */
    const struct tbed_filter *filter;
};

/* What was written, and what was left out. */
struct tbed_rtl_report {
    uint64_t line_count; /* written, without header and trailer */
    /* Left out: counters, allocations, flows, asynchronous and complete spans, gaps, unknown events. */
    uint64_t left_out_count;
    uint64_t argument_count; /* left out: arguments of spans and instants */
    uint64_t process_count;  /* in the trace; the header describes the first */
};

/*
 * tbed_export_rtl_log() writes the log 'to', which appears complete, or not at all.
 *
 * Ownership: all the caller's. 'options', 'report_ret' and 'error_ret' may be NULL.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_NO_TIME if ticks do not measure time; for 'to' ERR_EXISTS, ERR_IS_DIRECTORY,
 *            ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE. Damage is not an error; it is added to the reader's damage list.
 */
static inline enum tbed_status tbed_export_rtl_log(struct tbed_reader *reader, const char *to,
                                                   const struct tbed_rtl_options *options,
                                                   struct tbed_rtl_report *report_ret,
                                                   struct tbed_error *error_ret);

/* Like tbed_export_rtl_log(), to any stream, which the caller keeps. After a failure the output may be incomplete. */
static inline enum tbed_status tbed_export_rtl_log_stream(struct tbed_reader *reader, FILE *out,
                                                          const struct tbed_rtl_options *options,
                                                          struct tbed_rtl_report *report_ret,
                                                          struct tbed_error *error_ret);

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

enum tbed_status tbed_import_sized(const char *from, const char *to,
                                   const struct tbed_import_options *options,
                                   struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                   size_t report_nbytes);
static inline enum tbed_status tbed_import(const char *from, const char *to,
                                           const struct tbed_import_options *options,
                                           struct tbed_import_report *report_ret,
                                           struct tbed_error *error_ret)
{
    return tbed_import_sized(from, to, options, report_ret, error_ret, sizeof *report_ret);
}

enum tbed_status tbed_import_fd_sized(int from, const char *to, const struct tbed_import_options *options,
                                      struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                      size_t report_nbytes);
static inline enum tbed_status tbed_import_fd(int from, const char *to,
                                              const struct tbed_import_options *options,
                                              struct tbed_import_report *report_ret,
                                              struct tbed_error *error_ret)
{
    return tbed_import_fd_sized(from, to, options, report_ret, error_ret, sizeof *report_ret);
}

enum tbed_status tbed_import_open_sized(const char *from, struct tbed_reader **reader_ret,
                                        struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                        size_t report_nbytes);
static inline enum tbed_status tbed_import_open(const char *from, struct tbed_reader **reader_ret,
                                                struct tbed_import_report *report_ret,
                                                struct tbed_error *error_ret)
{
    return tbed_import_open_sized(from, reader_ret, report_ret, error_ret, sizeof *report_ret);
}

enum tbed_status tbed_import_open_fd_sized(int from, struct tbed_reader **reader_ret,
                                           struct tbed_import_report *report_ret,
                                           struct tbed_error *error_ret, size_t report_nbytes);
static inline enum tbed_status tbed_import_open_fd(int from, struct tbed_reader **reader_ret,
                                                   struct tbed_import_report *report_ret,
                                                   struct tbed_error *error_ret)
{
    return tbed_import_open_fd_sized(from, reader_ret, report_ret, error_ret, sizeof *report_ret);
}

enum tbed_status tbed_export_profile_sized(struct tbed_reader *reader, const char *path,
                                           const struct tbed_profile_export_options *options,
                                           struct tbed_export_report *report_ret,
                                           struct tbed_error *error_ret, size_t report_nbytes);
static inline enum tbed_status tbed_export_profile(struct tbed_reader *reader, const char *path,
                                                   const struct tbed_profile_export_options *options,
                                                   struct tbed_export_report *report_ret,
                                                   struct tbed_error *error_ret)
{
    return tbed_export_profile_sized(reader, path, options, report_ret, error_ret, sizeof *report_ret);
}

enum tbed_status tbed_export_chrome_sized(struct tbed_reader *const *readers, size_t reader_count,
                                          const char *to, const struct tbed_chrome_options *options,
                                          struct tbed_chrome_report *report_ret, struct tbed_error *error_ret,
                                          size_t report_nbytes);
static inline enum tbed_status tbed_export_chrome(struct tbed_reader *const *readers, size_t reader_count,
                                                  const char *to, const struct tbed_chrome_options *options,
                                                  struct tbed_chrome_report *report_ret,
                                                  struct tbed_error *error_ret)
{
    return tbed_export_chrome_sized(readers, reader_count, to, options, report_ret, error_ret,
                                    sizeof *report_ret);
}

enum tbed_status tbed_export_chrome_stream_sized(struct tbed_reader *const *readers, size_t reader_count,
                                                 FILE *out, const struct tbed_chrome_options *options,
                                                 struct tbed_chrome_report *report_ret,
                                                 struct tbed_error *error_ret, size_t report_nbytes);
static inline enum tbed_status tbed_export_chrome_stream(struct tbed_reader *const *readers,
                                                         size_t reader_count, FILE *out,
                                                         const struct tbed_chrome_options *options,
                                                         struct tbed_chrome_report *report_ret,
                                                         struct tbed_error *error_ret)
{
    return tbed_export_chrome_stream_sized(readers, reader_count, out, options, report_ret, error_ret,
                                           sizeof *report_ret);
}

enum tbed_status tbed_export_rtl_log_sized(struct tbed_reader *reader, const char *to,
                                           const struct tbed_rtl_options *options,
                                           struct tbed_rtl_report *report_ret, struct tbed_error *error_ret,
                                           size_t report_nbytes);
static inline enum tbed_status tbed_export_rtl_log(struct tbed_reader *reader, const char *to,
                                                   const struct tbed_rtl_options *options,
                                                   struct tbed_rtl_report *report_ret,
                                                   struct tbed_error *error_ret)
{
    return tbed_export_rtl_log_sized(reader, to, options, report_ret, error_ret, sizeof *report_ret);
}

enum tbed_status tbed_export_rtl_log_stream_sized(struct tbed_reader *reader, FILE *out,
                                                  const struct tbed_rtl_options *options,
                                                  struct tbed_rtl_report *report_ret,
                                                  struct tbed_error *error_ret, size_t report_nbytes);
static inline enum tbed_status tbed_export_rtl_log_stream(struct tbed_reader *reader, FILE *out,
                                                          const struct tbed_rtl_options *options,
                                                          struct tbed_rtl_report *report_ret,
                                                          struct tbed_error *error_ret)
{
    return tbed_export_rtl_log_stream_sized(reader, out, options, report_ret, error_ret, sizeof *report_ret);
}

#ifdef __cplusplus
}
#endif
#endif
