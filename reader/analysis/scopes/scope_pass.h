/*
 * Scopes of the statistics that a block alone does not tell: pairs of messages, and how long what never ended was open.
 * The streams that have any are read a second time, in order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SCOPE_PASS_H
#define TRACEBED_SCOPE_PASS_H

#include "reader/analysis/spans/name_table.h"
#include <tracebed/analysis.h>

/* In 'names' pairs stand under the numbers of their names with this bit, which no id has. */
#define SCOPE_PASS_PAIR (1u << TBED_ID_BITS)

static inline bool tbed_is_pair_id(uint32_t id)
{
    return (id & SCOPE_PASS_PAIR) != 0;
}

/* The first three are given; the rest starts with zeros. */
struct scope_pass {
    struct tbed_reader *reader;
    const struct tbed_analysis_options *options;
    struct name_table *names; /* what blocks told: is added to */
    uint64_t pair_count, orphan_count;

    struct tbed_scopes *scopes; /* keeps the names of pairs */
    struct scope_pass_name {
        struct name_slot *slot;
        const char *text;
        size_t nbytes;
    } * pairs; /* by number */
    size_t pair_room;
    uint64_t resolution;
    uint64_t mark; /* the time up to here has been given away */
};

/* Reads the streams of the blocks that are marked SPAN_MARK_SCOPES. Errors: ERR_MEMORY. */
enum tbed_status tbed_scope_pass(struct scope_pass *pass, const uint8_t *block_marks, size_t block_count);
void tbed_scope_pass_close(struct scope_pass *pass);

/* The text of an id or of a pair, as the options name and group it. A tbed_name_function of the pass. */
size_t tbed_scope_pass_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes);

/* A tbed_prepare_function of the pass: tells the options' one of the ids that are no pairs. */
void tbed_scope_pass_prepare(void *context, const uint32_t *ids, size_t count);

#endif
