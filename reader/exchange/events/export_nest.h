/*
 * Which spans of a thread nest, for formats whose viewers keep a stack: a begin pushes, an end pops, and at equal times the
 * begin of the outer span has to be written first.
 *
 * Whole spans are known only when they have ended, after all spans inside them. What was written for the begin of such a span
 * is therefore held back until a span around it shows whether it begins at the same time. Memory is bounded: after
 * EXPORT_NEST_NBYTES of begins held back, the oldest are given out, and a later span that contains them counts as one that
 * does not nest.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_NEST_H
#define TRACEBED_EXCHANGE_EXPORT_NEST_H

#include "reader/core/base/text.h"

#define EXPORT_NEST_NBYTES (8u << 20)
#define EXPORT_NEST_SPANS  (256u << 10)

struct export_nest_span {
    int64_t begin, end;
    uint32_t nbytes; /* of what is held back */
    uint32_t height; /* spans one inside the other, this one included */
};

struct export_nest { /* zeroed: empty; of one thread */
    struct export_nest_span
        *spans; /* ended and not inside another one so far: disjoint, in ascending order */
    size_t count, room;
    int64_t *open; /* the begins of open spans */
    size_t open_count, open_room;
    struct tbed_text held; /* of all 'spans', in their order */
    bool has_given_out;
    int64_t given_out_end; /* of the spans that were given out early */
    bool is_unordered;     /* equal times do not matter: only what is inside what */
    uint32_t height_max;   /* what is higher does not nest; 0: no limit */
    bool is_out_of_memory;
};

void tbed_export_nest_close(struct export_nest *nest);

/* For another thread; keeps the memory. What is held back must have been given out. */
void tbed_export_nest_clear(struct export_nest *nest);

/* A span has begun, and its begin has been written. */
void tbed_export_nest_begin(struct export_nest *nest, int64_t begin);

/* The innermost of these has ended. What is held back of the spans inside is appended to 'out'. */
void tbed_export_nest_end(struct export_nest *nest, int64_t end, struct tbed_text *out);

/* Whether a whole span nests with what there was so far. 'end' > 'begin'. */
bool tbed_export_nest_fits(const struct export_nest *nest, int64_t begin, int64_t end);

/* A whole span that fits: holds back the text of its begin. That of the spans inside is appended to 'out'. */
void tbed_export_nest_take(struct export_nest *nest, int64_t begin, int64_t end, const struct tbed_text *text,
                           struct tbed_text *out);

/* Bounds the memory: perhaps appends what has been held back longest to 'out'. Call it after the functions above. */
void tbed_export_nest_trim(struct export_nest *nest, struct tbed_text *out);

/* Appends everything that is held back. */
void tbed_export_nest_finish(struct export_nest *nest, struct tbed_text *out);

#endif
