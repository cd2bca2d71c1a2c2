/*
 * Declarations shared by the files of the export as OpenTelemetry's JSON lines.
 *
 * Each line is a message of OTLP for one thread: TracesData with spans, LogsData with instants, messages, flows and gaps, or
 * MetricsData with values of counters. A resource is a process, a scope a thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_OTLP_H
#define TRACEBED_EXCHANGE_OTLP_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/json.h"
#include "reader/exchange/events/export_nest.h"
#include "reader/exchange/events/export_walk.h"

enum otlp_kind { OTLP_SPANS, OTLP_LOGS, OTLP_METRICS, OTLP_KIND_COUNT };

struct otlp_open { /* a span whose end is to come */
    uint64_t begin_tick, span_id;
    int64_t begin;
    size_t depth;
    uint32_t id;
};

struct otlp_async {
    uint64_t key; /* a hash of process, name and key */
    uint64_t begin_tick, span_id, number;
    uint32_t id, stream;
};

struct otlp {
    struct export_walk walk;
    struct export_out *out;
    struct tbed_text resource, scope;        /* of the thread, as JSON objects */
    struct tbed_text lines[OTLP_KIND_COUNT]; /* objects of the current lines, with commas between them */
    struct tbed_text held, released;
    uint64_t trace_id[2]; /* of the process */
    uint64_t file_id, span_count;
    struct otlp_open *open;
    size_t open_count, open_room;
    struct otlp_open *lost; /* those whose end comes after that of a span around them */
    size_t lost_count, lost_room;
    struct export_nest nest;
    bool has_async;
    TBED_HASHMAP(struct otlp_async) async;
    bool is_out_of_memory;
};

/* ---- otlp_lines.c ---- */

/* Opens an object of the kind. */
struct tbed_text *tbed_otlp_object(struct otlp *otlp, enum otlp_kind kind);
/* After an object: writes the line if it is long enough. */
void tbed_otlp_object_end(struct otlp *otlp, enum otlp_kind kind);
void tbed_otlp_put_lines(struct otlp *otlp);
/* The resource and scope of a thread; 'thread' is NULL for a process. */
void tbed_otlp_describe(struct otlp *otlp, uint64_t pid, const struct export_thread *thread);
void tbed_otlp_put_id(struct tbed_text *text, uint64_t id);
void tbed_otlp_put_time(struct otlp *otlp, struct tbed_text *text, const char *key, int64_t ns);
uint64_t tbed_otlp_mix(uint64_t hash, uint64_t value);

/* ---- otlp_attributes.c ---- */

struct otlp_attributes {
    struct otlp *otlp;
    struct tbed_text *text;
    bool needs_comma;
};
void tbed_otlp_begin_attributes(struct otlp_attributes *attributes, struct otlp *otlp,
                                struct tbed_text *text);
void tbed_otlp_end_attributes(struct otlp_attributes *attributes);
void tbed_otlp_put_text_attribute(struct otlp_attributes *attributes, const char *key, const char *text,
                                  size_t nbytes);
void tbed_otlp_put_u64_attribute(struct otlp_attributes *attributes, const char *key, uint64_t value);
void tbed_otlp_put_true_attribute(struct otlp_attributes *attributes, const char *key);
/* Those in the name, where it is in the source, and its category. */
void tbed_otlp_put_name_attributes(struct otlp_attributes *attributes, uint32_t id, uint32_t category);
void tbed_otlp_put_arguments(struct otlp_attributes *attributes, struct tbed_arguments arguments,
                             uint32_t count, uint32_t first);

/* ---- otlp_spans.c ---- */

void tbed_otlp_open_thread(void *context);
void tbed_otlp_close_thread(void *context);
void tbed_otlp_step(void *context, const struct tbed_step *step);
/* What all spans begin with. */
void tbed_otlp_begin_span(struct otlp *otlp, struct tbed_text *text, uint64_t span_id, uint32_t id,
                          int64_t begin, int64_t end);

/* ---- otlp_events.c ---- */

void tbed_otlp_put_event(struct otlp *otlp, const struct tbed_event *event);
void tbed_otlp_put_live(void *context, uint64_t pid, int64_t ns, uint64_t nbytes);

/* ---- otlp_async.c ---- */

void tbed_otlp_put_async(void *context);

#endif
