/*
 * Events of more than one word: written in full behind the cursor, then committed by their first word.
 *
 * Source: spec/format.md, sections 6.1 to 6.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/record/extended.h"

#define ARGUMENT_COUNT_MAX 255

static bool argument_is_inline(const struct tbed_argument *argument)
{
    return argument->type == TBED_ARG_TEXT || argument->type == TBED_ARG_BYTES;
}

/* 64 bits, because a size of almost 4 GiB must not wrap around to a small one. */
static uint64_t argument_nwords(const struct tbed_argument *argument)
{
    return argument_is_inline(argument) ? 1 + ((uint64_t)argument->nbytes + 7) / 8 : 2;
}

static uint64_t arguments_nwords(const struct tbed_argument *arguments, size_t count)
{
    uint64_t nwords = 0;
    for (size_t i = 0; i < count; i++)
        nwords += argument_nwords(&arguments[i]);
    return nwords;
}

static uint64_t *argument_put(uint64_t *to, const struct tbed_argument *argument)
{
    uint32_t nbytes = argument_is_inline(argument) ? argument->nbytes : 8;
    *to++ = tbed_word_order(argument->type | (uint64_t)nbytes << 8 |
                            (uint64_t)(argument->name_id & TBED_ID_MAX) << 32);
    if (!argument_is_inline(argument)) {
        *to++ = tbed_word_order(argument->type == TBED_ARG_ID ? argument->value.id : argument->value.u64);
        return to;
    }
    if (nbytes > 0) {
        to[(nbytes - 1) / 8] = 0;
        memcpy(to, argument->value.text, nbytes);
    }
    return to + ((size_t)nbytes + 7) / 8;
}

/* Writes the record. The recorder has been entered. False: dropped, and counted. */
bool tbed_extended_put(struct tbed_recorder *recorder, uint64_t tick,
                       const struct tbed_extended_event *record)
{
    uint64_t all_nwords =
        2 + record->fixed_count + arguments_nwords(record->arguments, record->argument_count);
    bool is_too_large = record->argument_count > ARGUMENT_COUNT_MAX || all_nwords > TBED_EXTENDED_NWORDS_MAX;
    size_t nwords = is_too_large ? TBED_NWORDS_TOO_LARGE : (size_t)all_nwords;
    uint64_t *at = tbed_recorder_room(recorder, nwords, tick);
    if (at == NULL)
        return false;
    tbed_record_head_store(at, (uint64_t)record->type | (uint64_t)record->argument_count << 8 |
                                   (uint64_t)(nwords - 1) << 16 | (uint64_t)record->aux << 32);
    uint64_t *to = at + 2;
    for (size_t i = 0; i < record->fixed_count; i++)
        *to++ = tbed_word_order(record->fixed[i]);
    for (size_t i = 0; i < record->argument_count; i++)
        to = argument_put(to, &record->arguments[i]);
    tbed_recorder_commit(recorder, at, nwords,
                         tbed_event_word(recorder, TBED_TAG_EXTENDED, record->id, tick));
    return true;
}

void tbed_extended_record(struct tbed_recorder *recorder, const struct tbed_extended_event *record)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    tbed_extended_put(recorder, tbed_recorder_now(recorder), record);
    tbed_recorder_leave(recorder);
}

/* Whatever is not the usual case. */
void tbed_pair_record_slow(struct tbed_recorder *recorder, uint32_t id, uint64_t second)
{
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    uint64_t *at = tbed_recorder_room(recorder, 2, tick);
    if (at != NULL) {
        at[1] = tbed_word_order(second);
        tbed_recorder_commit(recorder, at, 2, tbed_event_word(recorder, TBED_TAG_PAIR, id, tick));
    }
    tbed_recorder_leave(recorder);
}
