/*
 * tracebed/exchange.h: other people's traces in, ours out.
 *
 * Import makes a bed of a foreign file, so that every tool and every analysis has one thing to read.
 * What is damaged there is told and left out; what is whole is kept, in its order.
 *
 * Units:   as the file has them; nanoseconds become ticks of 1 ns.
 * Threads: a call uses threads of its own; calls for different files may run at once.
 *
 * Source: spec/measureme.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_H
#define TRACEBED_EXCHANGE_H

#include <stdio.h>
#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Formats ---- */

enum tbed_foreign_kind {
    TBED_FOREIGN_NONE,
    TBED_FOREIGN_PROFILE, /* measureme: .mm_profdata, or .events with .string_data and .string_index */
    TBED_FOREIGN_RTL_LOG, /* a log of OpenOffice's RTL_LOGFILE: text */
    TBED_FOREIGN_CHROME,  /* trace events as JSON; export only */
};

/* A foreign format. The library has one constant for each; later versions may add members at the end. */
struct tbed_format {
    enum tbed_foreign_kind kind;
    const char *name;       /* "mm_profdata": as in 'tracebed export --to=NAME' */
    const char *summary;    /* what it is, in a few words */
    const char *extensions; /* of the names that its files usually have: ".mm_profdata .events" */
    bool can_import, can_export;
    bool has_profile;                                /* tbed_profile_make_foreign() reads it in place */
    bool exports_many;                               /* one file from several traces */
    bool exports_to_stdout;                          /* to any stream, not just to a file */
    uint32_t export_version_min, export_version_max; /* that can be asked for; 0: it has no versions */
};

/* All formats, in a fixed order; NULL past the last. */
const struct tbed_format *tbed_format_get(size_t index);

/* The format of that name; NULL: there is none. */
const struct tbed_format *tbed_format_find(const char *name);

/*
 * The format of a file, by its first bytes; of one of three files that belong together, by those of any. NULL: it
 * cannot be imported; it may be a trace. Reads from the file's start; a descriptor's offset does not change.
 */
const struct tbed_format *tbed_format_of_file(const char *path);
const struct tbed_format *tbed_format_of_fd(int fd);

/* ---- Import ---- */

struct tbed_import_damage {
    enum tbed_status status;
    uint32_t file;   /* of a profile in three files: 0 .events, 1 .string_data, 2 .string_index; else 0 */
    uint64_t offset; /* in that file; UINT64_MAX: no place in it */
    uint64_t detail; /* the value found, where there is one */
};

/*
 * What a log of RTL_LOGFILE has that its program would not have written in a run that ended well, in classes. A line may
 * be of several. None of it is lost: tbed_export_rtl_log() gives every such line back as it was.
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
    X(THREADS, "threads", "line of a thread beyond the 65536 that are told apart")

enum tbed_rtl_odd {
#define TBED_RTL_ODD_ENUM(name, key, text) TBED_RTL_ODD_##name,
    TBED_RTL_ODD_LIST(TBED_RTL_ODD_ENUM)
#undef TBED_RTL_ODD_ENUM
        TBED_RTL_ODD_COUNT
};
#define TBED_RTL_ODD_ROOM 32                          /* later versions may know more classes */
const char *tbed_rtl_odd_key(enum tbed_rtl_odd odd);  /* "orphan": in metadata and JSON */
const char *tbed_rtl_odd_text(enum tbed_rtl_odd odd); /* what one is, in words */

/*
 * What was found and done. Fixed size; the first few damages, and how many there are in all.
 */
#define TBED_IMPORT_DAMAGE_KEPT 100
struct tbed_import_report {
    enum tbed_foreign_kind kind;
    uint64_t line_count, message_count;     /* of a log */
    uint64_t odd_counts[TBED_RTL_ODD_ROOM]; /* of a log; by enum tbed_rtl_odd */
    uint32_t version;     /* of the foreign format; below 6 it is in three files, from then on in one */
    uint64_t file_nbytes; /* of all its files */
    uint64_t event_count, interval_count, instant_count, integer_count;
    uint64_t string_count, binding_count, thread_count;
    uint64_t inverted_count;  /* intervals that end before they begin; kept */
    uint64_t unordered_count; /* events that end before the event in front of them, on their thread; kept */
    uint64_t unpaired_count;  /* starts without an end and ends without a start (format 0); left out */
    uint64_t drop_count;      /* what the bed had no room for, by all causes */
    uint64_t damage_count;
    struct tbed_import_damage damages[TBED_IMPORT_DAMAGE_KEPT];
};

struct tbed_import_options {
    size_t size;    /* sizeof(struct tbed_import_options); lets the struct grow */
    bool overwrite; /* replace an existing file; else that is ERR_EXISTS */
};

/*
 * tbed_import() makes the bed 'to' from the foreign file 'from'; of a profile in three files, any one of them.
 *
 * 'to' appears whole, mode 0600, once the import is done, or not at all. Damage of 'from' does not fail the call: what
 * is whole is imported, and the report tells of the rest.
 *
 * Ownership: 'options', 'report_ret' and 'error_ret' may be NULL. The report is filled as far as the import came.
 * Errors:    ERR_NOT_A_TRACE if it is none of the kinds above, ERR_PROFILE_VERSION, ERR_PROFILE_CUT (it ends inside
 *            its first 8 bytes), ERR_EMPTY, ERR_OPEN, ERR_READ, ERR_MAP, ERR_MEMORY; of 'to' ERR_EXISTS,
 *            ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE, ERR_DISK_FULL.
 * Threads:   any.
 */
static inline enum tbed_status tbed_import(const char *from, const char *to,
                                           const struct tbed_import_options *options,
                                           struct tbed_import_report *report_ret,
                                           struct tbed_error *error_ret);

/* The same from an open regular file, which stays the caller's; a profile in one file, or events alone. */
static inline enum tbed_status tbed_import_fd(int from, const char *to,
                                              const struct tbed_import_options *options,
                                              struct tbed_import_report *report_ret,
                                              struct tbed_error *error_ret);

/*
 * The same into a file without a name, opened for reading; it is gone with the reader. It lies in $TMPDIR, /var/tmp
 * or /tmp, or in memory where files without a name cannot be had there.
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
    size_t nbytes;    /* 0: it has none */
};

struct tbed_rtl_fields {
    struct tbed_rtl_part module, author, function;
};

/*
 * The name of a scope, or the context of a message, taken apart: "MODULE (AUTHOR) FUNCTION", "MODULE (AUTHOR)" or
 * "::FUNCTION (AUTHOR)"; any other is a function as a whole.
 */
void tbed_rtl_fields(const char *name, size_t nbytes, struct tbed_rtl_fields *fields_ret);

/*
 * Where the name tells no function, a message "MODULE (AUTHOR) FUNCTION : …" or "::FUNCTION : …" may: fills the fields
 * that are empty and gives how many bytes of the message said so. 0: it does not.
 */
size_t tbed_rtl_message_fields(const char *message, size_t nbytes, struct tbed_rtl_fields *fields);

/* Whether the trace was made of such a log, by tbed_import_open() or an import to a file. */
bool tbed_rtl_is_of_log(const struct tbed_reader *reader);

/* ---- Export ---- */

struct tbed_profile_export_options {
    size_t size;
    uint32_t version; /* 8 or 9; 0: 9 */
    bool overwrite;
};

/* What an export left out, because the format has no place for it: counted, never silent. */
struct tbed_export_report {
    uint64_t event_count, string_count; /* written */
    uint64_t argument_count;            /* arguments of events, left out */
    uint64_t left_out_count; /* events: messages, allocations, flows, asynchronous spans, unknown ones */
    uint64_t clipped_count;  /* times or values that 48 bits cannot hold; written as the highest there is */
    uint64_t open_count;     /* spans that never ended: written up to the stream's last event */
    uint64_t unnamed_count;  /* events whose id has no text; written with a stand-in, "<id 42>" */
    uint64_t unknown_count;  /* spans whose begin is not known, left out */
};

/* Writes the trace as .mm_profdata, for measureme's own tools. */
static inline enum tbed_status tbed_export_profile(struct tbed_reader *reader, const char *path,
                                                   const struct tbed_profile_export_options *options,
                                                   struct tbed_export_report *report_ret,
                                                   struct tbed_error *error_ret);

/* ---- Export: Chrome trace events ---- */

/*
 * JSON that chrome://tracing, Perfetto's viewer, speedscope and Firefox's profiler open: an object whose "traceEvents"
 * are, of any number of traces:
 *   spans (SPAN; BEGIN with its END)  ph X, or B if they never ended
 *   instants, messages, gaps          ph i
 *   counters                          ph C
 *   asynchronous spans                ph b, e; "id" is the name's id and the key
 *   flows                             ph s, t, f
 *   processes, threads                ph M: process_name, process_sort_index, thread_name
 * A name is what stands before the first U+001E of a text, the parts behind it are "arg0", "arg1", …; the event's own
 * arguments follow by their names. "cat" is the category. Allocations have no place in that format.
 *
 * Times are microseconds from the start of the earliest trace, with three digits behind the point; traces stand
 * against one another as their wall clocks say. Where ticks are no time, one counts as a nanosecond.
 */
struct tbed_chrome_options {
    size_t size;    /* sizeof(struct tbed_chrome_options); lets the struct grow */
    bool overwrite; /* replace an existing file; else that is ERR_EXISTS */
    bool absolute;  /* whole microseconds of CLOCK_REALTIME, rounded down, as measureme's crox has them */
    bool collapse_threads; /* a thread that begins after another one of its process ended takes its place */
    uint64_t minimum_ns;   /* shorter spans are left out */
};

/* Nothing is left out without being counted here. */
struct tbed_chrome_report {
    uint64_t event_count;      /* written; metadata apart */
    uint64_t open_count;       /* of them: spans that never ended */
    uint64_t inverted_count;   /* of them: spans that end before they begin, written with no duration */
    uint64_t short_count;      /* left out: spans shorter than asked for */
    uint64_t unpaired_count;   /* left out: ends whose begin is not known */
    uint64_t allocation_count; /* left out: ALLOC, FREE, REALLOC */
    uint64_t unknown_count;    /* left out: events of later versions, or applications' own */
    uint64_t argument_count;   /* left out: arguments of counters, which would look like more counters */
    uint64_t
        renumbered_count; /* processes that have another one's pid in an earlier trace: they get a free one */
};

/*
 * tbed_export_chrome() writes the traces into the file 'to', one after another. 'to' appears whole, or not at all.
 *
 * Ownership: all the caller's. 'options', 'report_ret' and 'error_ret' may be NULL.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT; of 'to' ERR_EXISTS, ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE.
 *            Damage is no error: it joins the readers' damage lists.
 * Source:    Google's "Trace Event Format".
 */
static inline enum tbed_status tbed_export_chrome(struct tbed_reader *const *readers, size_t reader_count,
                                                  const char *to, const struct tbed_chrome_options *options,
                                                  struct tbed_chrome_report *report_ret,
                                                  struct tbed_error *error_ret);

/* The same into a stream of any kind, which stays the caller's; after a failure it may have got a part. */
static inline enum tbed_status tbed_export_chrome_stream(struct tbed_reader *const *readers,
                                                         size_t reader_count, FILE *out,
                                                         const struct tbed_chrome_options *options,
                                                         struct tbed_chrome_report *report_ret,
                                                         struct tbed_error *error_ret);

/* ---- Export: logs of RTL_LOGFILE ---- */

enum tbed_rtl_rebase { TBED_RTL_TIMER, TBED_RTL_FIRST };
enum tbed_rtl_tid { TBED_RTL_TID_AUTO, TBED_RTL_TID_NATIVE, TBED_RTL_TID_ORDINAL };

/*
 * The text that OpenOffice's RTL_LOGFILE would have written, in order of time over all threads:
 *   spans (BEGIN, END)  "{ name", "} name"
 *   messages            "| context : text", or "| : text" without a context
 *   instants            "| : name"
 * A trace that was imported from such a log gives that log back, byte for byte, odd lines included.
 */
struct tbed_rtl_options {
    size_t size;                 /* sizeof(struct tbed_rtl_options); lets the struct grow */
    bool overwrite;              /* replace an existing file; else that is ERR_EXISTS */
    enum tbed_rtl_rebase rebase; /* 0 ms is where the program's timer started, or the first line */
    enum tbed_rtl_tid
        tid; /* the system's numbers, or 1, 2, 3 by first line; AUTO: of imported logs theirs, else ordinal */
    bool quirks; /* cut pieces of 4096 bytes and more to 4095 bytes and a zero, as the program did */
};

/* Nothing is left out without being counted here. */
struct tbed_rtl_report {
    uint64_t line_count; /* written; header and trailer apart */
    uint64_t
        left_out_count; /* events: counters, allocations, flows, asynchronous and whole spans, gaps, unknown ones */
    uint64_t argument_count; /* left out: arguments of spans and instants */
    uint64_t process_count;  /* in the trace; the header tells of the first */
};

/*
 * tbed_export_rtl_log() writes the log 'to', which appears whole, or not at all.
 *
 * Ownership: all the caller's. 'options', 'report_ret' and 'error_ret' may be NULL.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT, ERR_NO_TIME where ticks are no time; of 'to' ERR_EXISTS, ERR_IS_DIRECTORY,
 *            ERR_NOT_REGULAR, ERR_OPEN, ERR_WRITE. Damage is no error: it joins the reader's damage list.
 */
static inline enum tbed_status tbed_export_rtl_log(struct tbed_reader *reader, const char *to,
                                                   const struct tbed_rtl_options *options,
                                                   struct tbed_rtl_report *report_ret,
                                                   struct tbed_error *error_ret);

/* The same into a stream of any kind, which stays the caller's; after a failure it may have got a part. */
static inline enum tbed_status tbed_export_rtl_log_stream(struct tbed_reader *reader, FILE *out,
                                                          const struct tbed_rtl_options *options,
                                                          struct tbed_rtl_report *report_ret,
                                                          struct tbed_error *error_ret);

/* ---- Structs that may grow: the size that the caller knows goes along, see "ABI" in format.h ---- */

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
