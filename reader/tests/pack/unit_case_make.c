/*
 * Random blocks for unit_case.h: what writers store, with impossible things in between.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/checksum.h"
#include "format/event.h"
#include "format/layout.h"
#include "format/string.h"
#include "reader/tests/pack/unit_case.h"

struct maker {
    uint64_t random, tick, step, *word, *end;
    uint32_t ids, stack_count; /* how many different ids there are */
    uint64_t live[16];         /* addresses of allocations */
    uint32_t kind;
};

static uint64_t below(struct maker *maker, uint64_t limit)
{
    return unit_random(&maker->random) % limit;
}

static bool rarely(struct maker *maker)
{
    return below(maker, 200) == 0;
}

/* Numbers of all sizes, and the extremes. */
static uint64_t any(struct maker *maker)
{
    return rarely(maker) ? UINT64_MAX - below(maker, 3) : unit_random(&maker->random) >> below(maker, 64);
}

static void put(struct maker *maker, uint64_t word)
{
    if (maker->word < maker->end)
        *maker->word++ = word;
}

static uint32_t id(struct maker *maker)
{
    return rarely(maker) ? (uint32_t)any(maker) & TBED_ID_MAX
                         : TBED_ID_METADATA + 8 + (uint32_t)below(maker, maker->ids);
}

/* The first word of an event. */
static void put_first(struct maker *maker, uint32_t tag, uint64_t base)
{
    maker->tick += below(maker, 50) * maker->step / 4 + (rarely(maker) ? any(maker) % 100000000 : 0);
    put(maker, tbed_event_make(tag, id(maker), (maker->tick - base) & 0x7FFFFFFF));
}

static uint64_t *address(struct maker *maker)
{
    return &maker->live[below(maker, 16)];
}

static void put_pair(struct maker *maker, uint64_t base)
{
    uint64_t *live = address(maker);
    put_first(maker, TBED_TAG_PAIR, base);
    switch (below(maker, 4)) {
    case 0:
        *live = rarely(maker) ? any(maker) : 0x555500000000 + 16 * below(maker, 4096);
        put(maker, (uint64_t)TBED_PAIR_ALLOC << 60 | below(maker, 200) << 45 | (*live & 0xFFFFFFFFFFFF) >> 3);
        break;
    case 1:
        put(maker, (uint64_t)TBED_PAIR_FREE << 60 | (*live & 0x0FFFFFFFFFFFFFFF));
        break;
    default:
        put(maker, any(maker));
    }
}

static uint64_t second(uint32_t type, uint32_t arguments, uint32_t nwords, uint32_t aux)
{
    return tbed_extended_head_make((struct tbed_extended_head){type, arguments, nwords, aux});
}

static void put_words(struct maker *maker, uint32_t count)
{
    while (count-- > 0)
        put(maker, any(maker));
}

static void put_extended(struct maker *maker, uint64_t base)
{
    uint32_t type = (uint32_t)below(maker, 22), words = (uint32_t)below(maker, 5);
    put_first(maker, TBED_TAG_EXTENDED, base);
    if (type == TBED_EXT_ALLOC || type == TBED_EXT_REALLOC) {
        uint64_t old = *address(maker), new = *address(maker) = 0x555500000000 + 16 * below(maker, 4096);
        put(maker, second(type, 0, type == TBED_EXT_ALLOC ? 3 : 5, 1));
        if (type == TBED_EXT_REALLOC)
            put(maker, old);
        put(maker, new);
        put(maker, any(maker));
        if (type == TBED_EXT_REALLOC)
            put(maker, maker->tick - below(maker, 1000));
    } else if (type == TBED_EXT_FREE || type == TBED_EXT_SPAN) {
        put(maker, second(type, 0, 2, 0));
        put(maker, type == TBED_EXT_FREE ? *address(maker) : maker->tick - below(maker, 100) * maker->step);
    } else if (type == TBED_EXT_MESSAGE) {
        uint32_t nbytes = (uint32_t)below(maker, 40);
        put(maker, second(type, 2, 4 + (nbytes + 7) / 8, 1));
        put(maker, TBED_ARG_I64 | 8 << 8 | (uint64_t)id(maker) << 32);
        put(maker, any(maker));
        put(maker, TBED_ARG_TEXT | (uint64_t)nbytes << 8 | (uint64_t)TBED_ID_INVALID << 32);
        put_words(maker, (nbytes + 7) / 8);
    } else {
        put(maker, second(type, (uint32_t)below(maker, 3), 1 + words, (uint32_t)below(maker, 3)));
        put_words(maker, words);
    }
}

static void put_events(struct maker *maker, uint64_t first_tick)
{
    uint64_t base = maker->tick = first_tick;
    while (maker->word < maker->end) {
        uint64_t what = below(maker, 12);
        if (what < 8)
            put_first(maker, TBED_TAG_BEGIN + (uint32_t)(what % 3), base);
        else if (what < 10)
            put_pair(maker, base);
        else
            put_extended(maker, base);
        if (maker->tick - base >= 1 << 30) {
            put(maker, tbed_event_make(TBED_TAG_TIME, 1, 0));
            base += UINT64_C(1) << 31;
        }
        if (below(maker, 20000) == 0)
            put(maker, any(maker)); /* also what is no event */
    }
}

static void put_strings(struct maker *maker)
{
    while (maker->end - maker->word > 8) {
        uint32_t nbytes = 1 + (uint32_t)below(maker, 40);
        uint8_t *text = (uint8_t *)(maker->word + 1);
        memset(text, 0, 48);
        for (uint32_t i = 0; i < nbytes; i++)
            text[i] = (uint8_t)(rarely(maker) ? any(maker) : 'a' + below(maker, 4));
        if (nbytes > 6)
            memcpy(text + 2, "\xA0\x00\x00\x08", 4);
        text[nbytes - 1] = TBED_STRING_TERMINATOR;
        uint32_t hash = rarely(maker) ? 1 : tbed_string_hash(text, nbytes);
        *maker->word = nbytes | (uint64_t)hash << 32;
        maker->word += 1 + (nbytes + 7) / 8;
    }
}

static void put_records(struct maker *maker)
{
    while (maker->end - maker->word > 40) {
        uint64_t words = 1 + below(maker, 8);
        put(maker, (1 + below(maker, 16)) | words * 8 << 32);
        put_words(maker, (uint32_t)words - 1);
    }
}

static void make_block(struct maker *maker, uint8_t *block, uint32_t block_nbytes)
{
    uint64_t header[8] = {0};
    uint32_t stored = maker->kind == TBED_BLOCK_EVENTS ? maker->stack_count : 0;
    uint32_t content = 64 + 16 * stored;
    memset(block, 0, block_nbytes);
    maker->word = (uint64_t *)(block + content);
    maker->end = maker->word + below(maker, (block_nbytes - content) / 8 + 1);
    for (uint32_t i = 0; i < stored * 2; i++)
        ((uint64_t *)(block + 64))[i] = any(maker);
    header[0] = maker->kind | below(maker, 100) << 32;
    header[1] = 42;
    header[2] = 7 | below(maker, 100) << 32;
    header[4] = maker->tick;
    header[5] = stored;
    if (maker->kind == TBED_BLOCK_EVENTS)
        put_events(maker, header[4]);
    else if (maker->kind == TBED_BLOCK_STRINGS)
        put_strings(maker);
    else
        put_records(maker);
    bool is_sealed = !rarely(maker);
    uint32_t used = (uint32_t)((uint8_t *)maker->word - block);
    header[5] |= is_sealed ? (uint64_t)used << 32 : 0;
    header[6] = is_sealed ? maker->tick : 0;
    memcpy(block, header, sizeof header);
    if (is_sealed)
        header[7] = tbed_block_checksum(block, used);
    memcpy(block, header, sizeof header);
}

void unit_case_make(struct unit_case *unit, uint64_t seed)
{
    struct maker maker = {.random = seed};
    static const uint64_t steps[] = {1, 2, 10, 26, 1000, 1000000};
    maker.ids = 1 + (uint32_t)(below(&maker, 2) ? below(&maker, 20) : below(&maker, 100000));
    maker.step = 4 * steps[below(&maker, 6)];
    maker.kind = 1 + (uint32_t)below(&maker, 6) % 3;
    maker.stack_count = (uint32_t)below(&maker, 4);
    for (uint32_t i = 0; i < unit->unit.count; i++)
        make_block(&maker, unit->blocks[i], unit->unit.block_nbytes);
}
