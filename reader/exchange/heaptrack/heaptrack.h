/*
 * Shared by the files of heaptrack's format.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_HEAPTRACK_H
#define TRACEBED_EXCHANGE_HEAPTRACK_H

#include "reader/analysis/memory/heap.h"
#include "reader/exchange/stacks/stack_sums.h"

struct heaptrack_number {
    uint64_t key; /* tbed_hashmap_key32() of an id */
    uint64_t number;
};

struct heaptrack_info { /* allocations of one size at one place */
    uint64_t key;       /* a hash of both */
    uint64_t nbytes, trace;
    uint64_t number;
};

struct heaptrack {
    struct heap_watch watch; /* first */
    struct export_out *out;
    struct tbed_reader *reader;
    struct frame_table frames;
    uint64_t string_count;
    TBED_VECTOR(uint64_t) strings; /* their numbers in the file, by text; 0: not yet */
    TBED_HASHMAP(struct heaptrack_number) traces, places;
    TBED_HASHMAP(struct heaptrack_info) infos;
    uint64_t trace_count, place_count, info_count;
    TBED_VECTOR(uint32_t) chain; /* of a stack that is being written */
    uint64_t event_count;
    bool is_out_of_memory;
};

/* Writes an allocation or a free, and before it what it refers to. */
void tbed_heaptrack_change(struct heap_watch *watch, uint32_t site_id, uint64_t nbytes, bool is_more);

/* "c 1f4": a letter and numbers of base 16. */
void tbed_heaptrack_line(struct tbed_text *text, char mode, const uint64_t *numbers, size_t count);

void tbed_heaptrack_free(struct heaptrack *heaptrack);

enum tbed_status tbed_export_heaptrack(const struct export_job *job, struct export_out *out);

#endif
