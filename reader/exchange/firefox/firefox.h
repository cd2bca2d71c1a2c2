/*
 * Declarations shared by the files of the export to the Firefox Profiler's processed format, version 50.
 *
 * A thread is a table of markers, column by column, so each column is spooled until the thread is complete. Spans are
 * intervals; everything else that happens at one time is an instant.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FIREFOX_H
#define TRACEBED_EXCHANGE_FIREFOX_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/json.h"
#include "reader/exchange/events/export_walk.h"
#include "reader/exchange/firefox/spool.h"

#define FIREFOX_VERSION "50"

enum firefox_column {
    FIREFOX_DATA,
    FIREFOX_NAME,
    FIREFOX_START,
    FIREFOX_END,
    FIREFOX_PHASE,
    FIREFOX_CATEGORY,
    FIREFOX_COLUMN_COUNT,
};

enum firefox_phase {
    FIREFOX_INSTANT,
    FIREFOX_INTERVAL,
    FIREFOX_INTERVAL_START, /* paired by name with an end, in the viewer */
    FIREFOX_INTERVAL_END,
};

struct firefox_text { /* an id, and its place in a list of texts */
    uint64_t key;
    uint32_t index;
};

struct firefox_counter { /* of live memory */
    struct spool times, counts;
    uint64_t pid, count, last_nbytes;
};

struct firefox {
    struct export_walk walk;
    struct export_out *out;
    struct spool columns[FIREFOX_COLUMN_COUNT];
    uint64_t marker_count;
    struct spool strings; /* of the thread */
    uint32_t string_count;
    TBED_HASHMAP(struct firefox_text) names;      /* of the thread, by id */
    TBED_HASHMAP(struct firefox_text) categories; /* of the trace, by id */
    struct tbed_text category_texts;              /* as JSON objects, with commas before them */
    TBED_HASHMAP(struct firefox_text) category_hashes;
    uint32_t category_count;
    size_t thread_count;
    struct spool counters; /* as JSON */
    struct firefox_counter counter;
    uint64_t counter_count;
    TBED_HASHMAP(struct firefox_text) mains; /* the first thread of each process, by pid + 1 */
    struct tbed_text text;
    bool is_out_of_memory;
    int write_errno;
};

/* ---- firefox_markers.c ---- */

void tbed_firefox_step(void *context, const struct tbed_step *step);

/* ---- firefox_tables.c ---- */

uint32_t tbed_firefox_name(struct firefox *firefox, uint32_t id);
uint32_t tbed_firefox_fixed_name(struct firefox *firefox, const char *name);
uint32_t tbed_firefox_category(struct firefox *firefox, uint32_t id);
void tbed_firefox_put_ms(struct tbed_text *text, int64_t ns);
void tbed_firefox_open_thread(void *context);
void tbed_firefox_close_thread(void *context);
void tbed_firefox_put_live(void *context, uint64_t pid, int64_t ns, uint64_t nbytes);
void tbed_firefox_end_counter(struct firefox *firefox);

/* ---- firefox_memory.c ---- */

/* Writes the threads of memory by call stack instead. */
enum tbed_status tbed_firefox_put_memory(struct firefox *firefox);

#endif
