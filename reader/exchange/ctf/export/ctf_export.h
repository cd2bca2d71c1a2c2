/*
 * Declarations shared by the files of the export in the Common Trace Format, version 1.8.
 *
 * A trace is a folder with 'metadata', a description of all events as text, and a file of packets for each thread. What an
 * event has is in its fields, so that a reader needs no knowledge of tracebed; a span's end has its duration.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_EXPORT_H
#define TRACEBED_EXCHANGE_CTF_EXPORT_H

#include "reader/exchange/events/export_walk.h"

/* In the order of the metadata. */
enum ctf_event {
    CTF_SPAN_BEGIN,
    CTF_SPAN_END,
    CTF_SPAN, /* a whole one */
    CTF_INSTANT,
    CTF_COUNTER_I64,
    CTF_COUNTER_U64,
    CTF_COUNTER_F64,
    CTF_MESSAGE,
    CTF_ALLOC,
    CTF_FREE,
    CTF_REALLOC,
    CTF_ASYNC_BEGIN,
    CTF_ASYNC_END,
    CTF_FLOW_BEGIN,
    CTF_FLOW_STEP,
    CTF_FLOW_END,
    CTF_RECORDS_DROPPED,
};

struct ctf_packet_place { /* where what is known at its end goes */
    size_t begin, end, content, packet, discarded;
};

struct ctf {
    struct export_walk walk;
    int folder;
    unsigned mode; /* of files */
    uint32_t file_count;
    int fd; /* of the thread; -1: it has no packet so far */
    int write_errno;
    uint64_t nbytes;
    struct tbed_text packet; /* the current one; empty: none */
    struct ctf_packet_place place;
    uint64_t packet_count, discarded_count; /* of the thread */
    uint64_t first_ns, last_ns;             /* of the packet, of the thread */
    struct tbed_text text;
    bool is_out_of_memory;
};

/* ---- ctf_packets.c ---- */

bool tbed_ctf_put_metadata(struct ctf *ctf);
/* False: it could not be written; see 'write_errno'. */
bool tbed_ctf_write_file(struct ctf *ctf, int fd, const char *bytes, size_t nbytes);
int tbed_ctf_open_file(struct ctf *ctf, const char *name);
void tbed_ctf_open_thread(void *context);
void tbed_ctf_close_thread(void *context);
/* Between these, the fields of the event are put. */
void tbed_ctf_begin_event(struct ctf *ctf, enum ctf_event event, int64_t ns);
void tbed_ctf_end_event(struct ctf *ctf);

static inline void ctf_put_number(struct tbed_text *text, uint64_t value, unsigned nbytes)
{
    char bytes[8];
    for (unsigned i = 0; i < nbytes; i++)
        bytes[i] = (char)(value >> 8 * i);
    tbed_text_put(text, bytes, nbytes);
}

void tbed_ctf_put_text(struct ctf *ctf, const char *text, size_t nbytes);

/* ---- ctf_events.c ---- */

void tbed_ctf_step(void *context, const struct tbed_step *step);

/* ---- ctf_export.c: for the registry of formats, see exchange_format.h ---- */

enum tbed_status tbed_ctf_export(const struct export_job *job, const char *to);

#endif
