/*
 * The records of a new trace: those of its sources, with new ids, and what was lost.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORD_COPY_H
#define TRACEBED_RECORD_COPY_H

#include "reader/exchange/traces/stream_copy.h"

struct records_out {
    struct trace_file *file;
    struct strings_out *strings;
    uint8_t *page; /* of the file's page size */
    uint32_t stream, sequence, used;
    bool has_block;
    bool has_binding;
    bool has_metadata;       /* METADATA is bound */
    uint64_t dropped_count;  /* too large for a page */
    uint64_t metadata_count; /* further METADATA, left out */
};

/* Appends a record of 'nbytes' that is zero behind its head. NULL if writing has failed or the record is too large. */
void *tbed_records_out_put(struct records_out *out, uint32_t type, size_t nbytes);

/* All records about the source's streams that the filter takes, and about its ids. */
void tbed_records_copy(struct records_out *out, struct copy_source *source);

/* The source's anchors, unless its ticks are converted. 'header' is the one that the header page has. */
struct tbed_anchor;
void tbed_records_copy_anchors(struct records_out *out, const struct copy_source *source,
                               const struct tbed_header_fields *header);

/*
 * LOST records for what the source lacks: its damage, its own LOST records, and gaps of a flight recorder. Events of the
 * stream 'stream' of the source, whose copy has 'block_count' blocks; stream 0: everything else. Returns how many.
 */
uint64_t tbed_records_copy_losses(struct records_out *out, const struct copy_source *source, uint32_t stream,
                                  uint32_t block_count);

/* Stores a binding of METADATA. */
void tbed_records_out_metadata(struct records_out *out, uint32_t string_id);

void tbed_records_out_close(struct records_out *out);

#endif
