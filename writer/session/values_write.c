/*
 * Events with values off the fast path of trace_packing_inline.h, and the ids of a site whose arguments have names.
 *
 * Source: spec/format.md, section 6.4.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/record/extended.h"
#include "writer/record/recorders.h"
#include "writer/record/spans.h"
#include "writer/store/texts.h"

static uint32_t names_resolve(const struct tbed_site *names, size_t count)
{
    uint32_t ids[TBED_VALUES_MAX];
    for (size_t i = 0; i < count; i++) {
        ids[i] = tbed_dynamic_id(names[i].text);
        if (ids[i] == TBED_ID_INVALID)
            return TBED_ID_INVALID;
    }
    return count == 1 ? ids[0] : tbed_names_intern(tbed_thread_self.writer, ids, count);
}

/* Whoever finds the id of the event finds that of the names. Without names, the next event tries again. */
uint32_t tbed_sites_resolve(struct tbed_site *sites, size_t count)
{
    uint64_t generation = (uint64_t)tbed_thread_self.generation << 32;
    uint32_t names = names_resolve(sites + 1, count), id = tbed_dynamic_id(sites->text);
    if (names == TBED_ID_INVALID || id == TBED_ID_INVALID)
        return id;
    if (sites->file != NULL)
        tbed_place_describe(id, sites->function, sites->file, sites->line);
    __atomic_store_n(&sites[1].state, generation | names, __ATOMIC_RELAXED);
    __atomic_store_n(&sites->state, generation | id, __ATOMIC_RELEASE);
    return id;
}

static void span_push(struct tbed_recorder *recorder, uint32_t id, uint64_t tick, bool is_stored)
{
    if (is_stored)
        tbed_span_push(recorder, id, tick);
    else
        tbed_span_push_dropped(recorder, id, tick);
}

static const char *slot_text(uint64_t bits)
{
    return bits != 0 ? (const char *)(uintptr_t)bits : "(null)";
}

/* Fills the sizes of the texts; returns their sum, of 64 bits: texts of almost 4 GiB must not add up to a small one. */
static uint64_t texts_measure(uint64_t kinds, const uint64_t *slots, uint32_t *sizes)
{
    uint64_t sum = 0;
    for (uint32_t types = (uint32_t)kinds; types != 0; types >>= 4) {
        uint64_t bits = *slots++;
        size_t nbytes;
        if (!TBED_TYPE_IS_TEXT(types & 15))
            continue;
        nbytes = (types & 15) == TBED_TYPE_MEASURED ? (size_t)*slots++ : strlen(slot_text(bits));
        *sizes = nbytes < UINT32_MAX ? (uint32_t)nbytes : UINT32_MAX - 1;
        sum += *sizes++;
    }
    return sum;
}

static void slots_pack(char *to, uint64_t kinds, const uint64_t *slots, const uint32_t *sizes)
{
    for (uint32_t types = (uint32_t)kinds; types != 0; types >>= 4) {
        uint32_t type = types & 15;
        uint64_t bits = *slots++;
        if (TBED_TYPE_IS_TEXT(type)) {
            uint32_t raw_nbytes = tbed_word32_order(*sizes);
            memcpy(to, &raw_nbytes, 4);
            tbed_text_copy(to + 4, slot_text(bits), *sizes);
            to += 4 + *sizes++;
            slots += type == TBED_TYPE_MEASURED;
        } else {
            bits = tbed_word_order(bits);
            memcpy(to, &bits, TBED_TYPE_NBYTES(type));
            to += TBED_TYPE_NBYTES(type);
        }
    }
}

/* For any types, and whether or not the block has room. 'fixed' is 0 for a message, and never for other events. */
void tbed_slots_record(uint32_t id, uint64_t head, uint64_t fixed, bool is_begin, uint64_t kinds,
                       const uint64_t *slots)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    uint32_t sizes[TBED_VALUES_MAX];
    uint64_t nbytes = TBED_KINDS_NBYTES(kinds) + texts_measure(kinds, slots, sizes);
    size_t first = fixed != 0 ? 3 : 2;
    uint64_t all_nwords = first + (nbytes + 7) / 8;
    size_t nwords = all_nwords > TBED_EXTENDED_NWORDS_MAX ? TBED_NWORDS_TOO_LARGE : (size_t)all_nwords;
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    uint64_t *at = tbed_recorder_room(recorder, nwords, tick);
    if (at != NULL) {
        tbed_record_head_store(at, head | (uint64_t)(nwords - 1) << 16);
        if (fixed != 0)
            at[2] = tbed_word_order(fixed);
        if (nbytes % 8 != 0)
            at[nwords - 1] = 0;
        slots_pack((char *)(at + first), kinds, slots, sizes);
        tbed_recorder_commit(recorder, at, nwords, tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
    }
    if (is_begin)
        span_push(recorder, id, tick, at != NULL);
    tbed_recorder_leave(recorder);
}
