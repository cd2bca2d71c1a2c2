/*
 * Events of more than one word. Nothing here is public.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_EXTENDED_H
#define TRACEBED_WRITER_EXTENDED_H

#include <stdint.h>

#include "tracebed/writer.h"

struct tbed_extended_event {
    enum tbed_extended type;
    uint32_t aux, id;
    uint64_t fixed[4];
    size_t fixed_count;
    const struct tbed_argument *arguments;
    size_t argument_count;
};

#define TBED_EXTENDED_NWORDS_MAX 65536           /* nwords has 16 bits and does not count the first word */
#define TBED_NWORDS_TOO_LARGE    (SIZE_MAX / 16) /* too large for any block, and dropped as such */

/* Stores the event; the recorder has been entered. False: dropped and counted. */
bool tbed_extended_put(struct tbed_recorder *recorder, uint64_t tick,
                       const struct tbed_extended_event *event);
/* Enters the recorder, stores the event with the current tick, and leaves. */
void tbed_extended_record(struct tbed_recorder *recorder, const struct tbed_extended_event *event);
/* The category as events store it; TBED_ID_INVALID: none. */
static inline uint32_t tbed_category_aux(uint32_t category)
{
    return category == TBED_ID_INVALID ? 0 : category & TBED_ID_MAX;
}

/* Stores a PAIR in all but the usual case. */
void tbed_pair_record_slow(struct tbed_recorder *recorder, uint32_t id, uint64_t second);

static inline void tbed_pair_record(struct tbed_recorder *recorder, uint32_t id, uint64_t subtype,
                                    uint64_t payload)
{
    uint64_t second = subtype << 60 | payload;
    if (!tbed_words_record(recorder, TBED_TAG_PAIR, id & TBED_ID_MAX, 0, 2, 2,
                           tbed_words_of(second, 0, 0, 0)))
        tbed_pair_record_slow(recorder, id, second);
}

#endif
