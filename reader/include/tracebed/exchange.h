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

#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Import ---- */

enum tbed_foreign_kind {
    TBED_FOREIGN_NONE,    /* nothing that can be imported; it may be a bed */
    TBED_FOREIGN_PROFILE, /* measureme: .mm_profdata, or .events with .string_data and .string_index */
};

/* What a file is, by its first bytes and its name. Never fails: NONE. */
enum tbed_foreign_kind tbed_foreign_find(const char *path);

struct tbed_import_damage {
    enum tbed_status status;
    uint32_t file; /* of a format in several files: which; else 0 */
    uint64_t offset, detail;
};

/*
 * What was found and done. Fixed size; the first few damages, and how many there are in all.
 */
#define TBED_IMPORT_DAMAGE_KEPT 16
struct tbed_import_report {
    uint32_t version; /* of the foreign format */
    uint64_t event_count, interval_count, instant_count, integer_count;
    uint64_t string_count, binding_count, thread_count;
    uint64_t inverted_count;   /* intervals that end before they begin; kept */
    uint64_t unordered_count;  /* events that end before the event in front of them, on their thread; kept */
    uint64_t unpaired_count;   /* starts without an end and ends without a start (format 0); starts are kept */
    uint64_t drop_count;       /* what the bed had no room for, by all causes */
    uint64_t damage_count;
    struct tbed_import_damage damages[TBED_IMPORT_DAMAGE_KEPT];
};

struct tbed_import_options {
    size_t size;    /* sizeof(struct tbed_import_options); lets the struct grow */
    bool overwrite; /* replace an existing file; else that is ERR_EXISTS */
};

/*
 * tbed_import() makes the bed 'to' from the foreign file 'from'.
 *
 * Errors: ERR_NOT_A_TRACE if it is none of the kinds above, ERR_PROFILE_VERSION; else what opening and writing
 *         can come to. 'to' is removed again if the call fails. 'report_ret' and 'error_ret' may be NULL.
 */
enum tbed_status tbed_import(const char *from, const char *to, const struct tbed_import_options *options,
                             struct tbed_import_report *report_ret, struct tbed_error *error_ret);

/* The same into a file without a name, opened for reading; it is gone with the reader. */
enum tbed_status tbed_import_open(const char *from, const struct tbed_import_options *options,
                                  struct tbed_reader **reader_ret, struct tbed_import_report *report_ret,
                                  struct tbed_error *error_ret);

/* ---- Export ---- */

struct tbed_profile_export_options {
    size_t size;
    uint32_t version; /* 8 or 9; 0: 9 */
    bool overwrite;
};

/* What an export left out, because the format has no place for it: counted, never silent. */
struct tbed_export_report {
    uint64_t event_count, string_count; /* written */
    uint64_t left_out_count;            /* events: messages, allocations, flows, asynchronous spans, unknown ones */
    uint64_t clipped_count;             /* times or values that 48 bits cannot hold; written as the highest there is */
    uint64_t open_count;                /* spans that never ended: written up to the stream's last event */
    uint64_t unnamed_count;             /* events whose id has no text; written with a stand-in, "<id 42>" */
};

/* Writes the trace as .mm_profdata, for measureme's own tools. */
enum tbed_status tbed_export_profile(struct tbed_reader *reader, const char *path,
                                     const struct tbed_profile_export_options *options,
                                     struct tbed_export_report *report_ret, struct tbed_error *error_ret);

#ifdef __cplusplus
}
#endif
#endif
