/*
 * Declarations shared by the files of the export to measureme's format.
 *
 * Source: spec/measureme.md, "Export".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_H
#define TRACEBED_EXCHANGE_EXPORT_H

#include <tracebed/exchange.h>

#include "reader/core/base/hashmap.h"
#include "reader/exchange/measureme/export/page_writer.h"

/* Ids of formats 8 and 9. */
#define MM_ID_VIRTUAL_END UINT64_C(100000000)
#define MM_ID_METADATA    UINT64_C(100000001)
#define MM_ID_INVALID     UINT64_C(100000002)
#define MM_ID_FIRST       UINT64_C(100000003)

#define MM_TIME_MAX UINT64_C(0xFFFFFFFFFFFF)

/* What is written for a reference that may be part of a cycle. */
struct export_cut {
    uint64_t key;
    uint64_t profile_id; /* of a stand-in; 0: it is part of no cycle */
    bool is_whole;       /* nothing that refers to it has a text: a cycle, or too deep */
};

struct export_id_slot {
    uint64_t key; /* tbed_hashmap_key32() of the trace's id */
    uint64_t profile_id;
    bool is_named; /* has a text */
};

struct export
{
    struct tbed_reader *reader;
    const struct tbed_filter *filter; /* NULL: everything */
    bool skip_instants, skip_counters;
    uint32_t version;
    struct page_writer pages;
    struct tbed_export_report *report;
    bool is_out_of_memory;
    /* The profile's METADATA is not the trace's, so references to the trace's need another id. */
    bool makes_metadata;

    TBED_HASHMAP(struct export_id_slot) ids; /* facts about the trace's ids */
    uint64_t late_address;                   /* the address of the next string that is written on demand */
    uint8_t *late; /* strings written on demand while the others are being written */
    size_t late_nbytes, late_capacity;
    bool are_strings_written;
    uint32_t *names; /* by ascending id: strings that only name processes, threads and units */
    size_t name_count;
    /* Virtual ids in use whose bindings are ranges or locations: they get index records. */
    uint32_t *virtuals;
    size_t virtual_count, virtual_capacity;
    uint64_t kind_ids[3];                 /* strings by enum export_kind; 0: not written yet */
    TBED_HASHMAP(struct export_cut) cuts; /* ids that may be part of a cycle */
    bool has_whole_cut;
    struct export_texts *texts; /* of names with arguments; NULL: none yet */
};

enum export_kind { EXPORT_KIND_SPAN, EXPORT_KIND_INSTANT, EXPORT_KIND_COUNTER };

/* ---- Strings ---- */

/* Writes all strings of the trace, in order. False: no memory. */
bool tbed_export_strings(struct export *export);

/* Writes the index, last. 'metadata_id': the meaning of METADATA; 0: that of the trace. */
void tbed_export_index(struct export *export, uint64_t metadata_id);

/* The profile's id for an id of the trace. Writes its string first if it has none yet. */
struct export_id {
    uint64_t id;
    bool is_named;
};
struct export_id tbed_export_id(struct export *export, uint32_t trace_id);

/* The same for what an event shows: if the text is incomplete, as in a cycle, the stand-in that analyses show too. */
struct export_id tbed_export_name(struct export *export, uint32_t trace_id);

/* The concrete id that the trace's id is bound to; 0: it has no text. */
uint64_t tbed_export_bound(struct export *export, uint32_t trace_id);

/* Writes a new string. */
uint64_t tbed_export_text(struct export *export, const char *text, size_t nbytes);

/*
 * A name with arguments of an event, which stand behind those of the name: "name=value", or "value". Those of the begin come
 * first. Without arguments it is tbed_export_name().
 */
struct export_arguments {
    struct tbed_arguments at;
    uint32_t count;
};
struct export_id tbed_export_name_with(struct export *export, uint32_t trace_id,
                                       const struct export_arguments arguments[2]);
void tbed_export_texts_free(struct export_texts *texts); /* NULL is allowed */

/* A new string: a reference to another one, and a text. */
uint64_t tbed_export_joined(struct export *export, uint64_t id, const char *text, size_t nbytes);

/* The kind of events without a category. */
uint64_t tbed_export_kind(struct export *export, enum export_kind kind);

void tbed_export_free(struct export *export); /* everything it has allocated, except the pages */

/* ---- Events ---- */

enum tbed_status tbed_export_events(struct export *export);

#endif
