/*
 * Events of a block, taken apart and put together; see unit_walk.h.
 *
 * Each function does both directions. The compiler makes two walks of them, because 'packs' is a constant in each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/unit_walk.h"

#include "format/event.h"

#define TOKEN_NEW   0 /* no token has this number */
#define TOKEN_END   1 /* END of the innermost span */
#define TOKEN_FIRST 2

enum walk_miss { MISS_NEW, MISS_NUMBER, MISS_OTHER };

#define FIRST_MASK ((UINT64_C(1) << 33) - 1) /* tag and id of a word */

/* ---- Tokens ---- */

static inline uint32_t token_slot(const struct unit_walk *walk, uint64_t first, uint64_t second)
{
    uint64_t hash = (first ^ second * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);
    uint32_t slot = (uint32_t)(hash >> (64 - WALK_SLOTS_BITS)), token;
    while ((token = walk->slots[slot]) != 0 &&
           (walk->tokens[token].first != first || walk->tokens[token].second != second))
        slot = (slot + 1) % WALK_SLOTS;
    return slot;
}

static inline uint32_t token_add(struct unit_walk *walk, uint64_t first, uint64_t second)
{
    uint32_t token = walk->token_count++;
    walk->tokens[token] = (struct walk_token){.first = first, .second = second};
    return token;
}

/* What a new token means. */
BOTH_WAYS bool token_new(struct unit_walk *walk, uint64_t *first, uint64_t *second, bool packs)
{
    struct columns *columns = &walk->columns;
    uint32_t tag = column_byte(columns, COLUMN_NEW_TAG, (uint8_t)tbed_event_tag(*first), packs) & 7;
    uint64_t id = column_difference(columns, COLUMN_NEW_ID, tbed_event_id(*first), walk->last_id[tag], packs);
    walk->last_id[tag] = id;
    if (tag >= TBED_TAG_PAIR) {
        *second = column_difference(columns, COLUMN_NEW_SECOND, *second, walk->last_second, packs);
        walk->last_second = *second;
    }
    if (packs)
        return true;
    *first = id | (uint64_t)tag << TBED_ID_BITS;
    bool is_possible = tag != 0 && tag != 7 && id <= TBED_ID_MAX && (tag != TBED_TAG_PAIR || *second < 16) &&
                       (tag != TBED_TAG_EXTENDED || tbed_extended_head_load(*second).nwords != 0);
    return is_possible && walk->token_count < WALK_TOKENS;
}

static void run_put(struct unit_walk *walk)
{
    for (; walk->run >= 255; walk->run -= 255)
        column_byte(&walk->columns, COLUMN_RUN, 255, true);
    column_byte(&walk->columns, COLUMN_RUN, (uint8_t)walk->run, true);
    walk->run = 0;
}

static uint32_t run_get(struct columns *columns)
{
    uint32_t run = 0, byte;
    do
        run += byte = column_byte(columns, COLUMN_RUN, 0, false);
    while (byte == 255);
    return run;
}

BOTH_WAYS uint32_t token_number(struct unit_walk *walk, uint32_t token, bool packs)
{
    uint32_t low = column_byte(&walk->columns, COLUMN_TOKEN_LOW, (uint8_t)token, packs), high = 0;
    if (walk->token_count > 256)
        high = column_byte(&walk->columns, COLUMN_TOKEN_HIGH, (uint8_t)(token >> 8), packs);
    return low | high << 8;
}

BOTH_WAYS void token_put(struct unit_walk *walk, struct walk_expected expected, uint32_t token, bool is_new)
{
    struct columns *columns = &walk->columns;
    if (!is_new && expected.next == token) {
        walk->run++;
        return;
    }
    run_put(walk);
    if (is_new) {
        uint64_t first = walk->tokens[token].first, second = walk->tokens[token].second;
        column_byte(columns, COLUMN_MISS, MISS_NEW, true);
        token_new(walk, &first, &second, true);
    } else if (expected.other == token) {
        column_byte(columns, COLUMN_MISS, MISS_OTHER, true);
    } else {
        column_byte(columns, COLUMN_MISS, MISS_NUMBER, true);
        token_number(walk, token, true);
    }
}

/* TOKEN_NEW: it is damaged. */
BOTH_WAYS uint32_t token_get(struct unit_walk *walk, struct walk_expected expected)
{
    struct columns *columns = &walk->columns;
    if (walk->run == 0)
        walk->run = run_get(columns) + 1;
    if (--walk->run > 0)
        return expected.next;
    uint64_t first = 0, second = 0;
    switch (column_byte(columns, COLUMN_MISS, 0, false)) {
    case MISS_NEW:
        return token_new(walk, &first, &second, false) ? token_add(walk, first, second) : TOKEN_NEW;
    case MISS_OTHER:
        return expected.other;
    case MISS_NUMBER: {
        uint32_t token = token_number(walk, 0, false);
        return token < walk->token_count ? token : TOKEN_NEW;
    }
    default:
        return TOKEN_NEW;
    }
}

static inline uint32_t innermost(const struct unit_walk *walk)
{
    return walk->span_count > 0 ? (uint32_t)walk->spans[walk->span_count - 1].id & TBED_ID_MAX : 0;
}

/* Where the next token's expectations are: by the last two events and the innermost span. */
static inline struct walk_expected *context(struct unit_walk *walk)
{
    uint32_t key = walk->last ^ innermost(walk) * 0x85EBCA6Bu ^ walk->before * 0xC2B2AE35u;
    return &walk->expected[(key * 0x9E3779B1u) >> (32 - walk->context_bits)];
}

/* The token of the event whose words these are; TOKEN_NEW: there is no room for a new one. */
static inline uint32_t token_find(struct unit_walk *walk, uint64_t word, uint64_t second, bool *is_new)
{
    uint64_t first = word & FIRST_MASK;
    if (tbed_event_tag(word) == TBED_TAG_END && tbed_event_id(word) == innermost(walk))
        return TOKEN_END;
    uint32_t slot = token_slot(walk, first, second), token = walk->slots[slot];
    if (token != 0)
        return token;
    if (walk->token_count == WALK_TOKENS)
        return TOKEN_NEW;
    *is_new = true;
    token = token_add(walk, first, second);
    walk->slots[slot] = token;
    walk->slot_of[token] = slot;
    return token;
}

static inline void expect(struct walk_expected *expected, uint32_t token)
{
    if (expected->next == token)
        return;
    expected->other = expected->next;
    expected->next = token;
}

static inline void happened(struct unit_walk *walk, uint32_t tag, uint32_t id, uint32_t token)
{
    walk->before = tag == TBED_TAG_END ? 0 : walk->last;
    walk->last = tag == TBED_TAG_BEGIN ? id * 2 : tag == TBED_TAG_END ? id * 2 + 1 : token * 2;
}

/* ---- Spans ---- */

static inline void span_push(struct unit_walk *walk, uint32_t id)
{
    walk->spans[walk->span_count++] = (struct walk_span){walk->now, id};
}

static inline void span_pop(struct unit_walk *walk)
{
    walk->span_count -= walk->span_count > 0;
}

/* ---- Second words and what follows ---- */

BOTH_WAYS uint64_t size_of(struct unit_walk *walk, struct walk_token *token, uint64_t nbytes, bool packs)
{
    uint64_t code = packs && nbytes != token->size ? nbytes + 1 : 0;
    code = column_value(&walk->columns, COLUMN_SIZE, code, packs);
    if (!packs)
        nbytes = code != 0 ? code - 1 : token->size;
    return token->size = nbytes;
}

BOTH_WAYS uint64_t pair_alloc(struct unit_walk *walk, struct walk_token *token, uint64_t second, bool packs)
{
    uint64_t nbytes = size_of(walk, token, tbed_pair_alloc_nbytes(second), packs);
    uint64_t address =
        address_of_alloc(&walk->columns, &walk->addresses, tbed_pair_alloc_address(second), nbytes, packs);
    if (nbytes >> 15 != 0 || (address & 7) != 0 || address >> 48 != 0)
        walk->columns.is_damaged = true;
    return nbytes << 45 | address >> 3;
}

/* The payload of a PAIR. */
BOTH_WAYS void pair(struct unit_walk *walk, struct walk_token *token, uint8_t *at, bool packs)
{
    uint32_t subtype = (uint32_t)token->second;
    uint64_t word = packs ? walk_load(at) : 0, payload = tbed_pair_payload(word);
    if (subtype == TBED_PAIR_ALLOC)
        payload = pair_alloc(walk, token, word, packs);
    else if (subtype == TBED_PAIR_FREE)
        payload = address_of_free(&walk->columns, &walk->addresses, payload, packs);
    else {
        payload = column_difference(&walk->columns, COLUMN_COUNTER, payload, token->values[0], packs);
        token->values[0] = payload;
    }
    if (packs)
        return;
    if (payload >> 60 != 0)
        walk->columns.is_damaged = true;
    walk_store(at, (uint64_t)subtype << 60 | (payload & 0x0FFFFFFFFFFFFFFFu));
}

/* The fixed words of records that this knows; returns how many. */
BOTH_WAYS uint32_t fixed_words(struct unit_walk *walk, struct walk_token *token, uint32_t type, uint8_t *at,
                               uint32_t count, bool packs)
{
    struct columns *columns = &walk->columns;
    struct addresses *addresses = &walk->addresses;
    uint64_t words[4] = {0};
    uint32_t known = type == TBED_EXT_ALLOC                           ? 2
                     : type == TBED_EXT_REALLOC                       ? 4
                     : type == TBED_EXT_FREE || type == TBED_EXT_SPAN ? 1
                                                                      : 0;
    if (known == 0 || known > count)
        return 0;
    for (uint32_t i = 0; packs && i < known; i++)
        words[i] = walk_load(at + 8 * i);
    if (type == TBED_EXT_ALLOC) {
        words[1] = size_of(walk, token, words[1], packs);
        words[0] = address_of_alloc(columns, addresses, words[0], words[1], packs);
    } else if (type == TBED_EXT_FREE) {
        words[0] = address_of_free(columns, addresses, words[0], packs);
    } else if (type == TBED_EXT_SPAN) {
        words[0] = walk->now - clock_since(columns, &walk->clock, walk->now - words[0], packs);
    } else {
        words[2] = size_of(walk, token, words[2], packs);
        words[0] = address_of_free(columns, addresses, words[0], packs);
        words[1] = address_of_alloc(columns, addresses, words[1], words[2], packs);
        words[3] = walk->now - column_value(columns, COLUMN_BEGIN, walk->now - words[3], packs);
    }
    for (uint32_t i = 0; !packs && i < known; i++)
        walk_store(at + 8 * i, words[i]);
    return known;
}

/* One word, by what was in its place in the last record of this token. */
BOTH_WAYS uint64_t other_word(struct unit_walk *walk, struct walk_token *token, uint32_t *index, uint8_t *at,
                              bool packs)
{
    uint64_t *last = &token->values[*index];
    uint64_t word = column_difference(&walk->columns, COLUMN_WORD, packs ? walk_load(at) : 0, *last, packs);
    *last = word;
    *index = *index + 1 < WALK_VALUES ? *index + 1 : 0;
    if (!packs)
        walk_store(at, word);
    return word;
}

/* Words of a record; where it has arguments, what looks like a text goes with the texts. */
BOTH_WAYS void other_words(struct unit_walk *walk, struct walk_token *token, uint8_t *at, uint8_t *end,
                           bool has_arguments, bool packs)
{
    uint32_t index = 1;
    while (at < end) {
        uint64_t word = other_word(walk, token, &index, at, packs);
        at += 8;
        uint32_t type = word & 0xFF, nbytes = (uint32_t)(word >> 8) & 0xFFFFFF;
        size_t padded = ((size_t)nbytes + 7) & ~(size_t)7;
        if (!has_arguments || padded > (size_t)(end - at))
            continue;
        if (type == TBED_ARG_TEXT || type == TBED_ARG_BYTES) {
            column_bytes(&walk->columns, COLUMN_TEXT, at, padded, packs);
            at += padded;
        } else if (nbytes == 8) { /* not an argument's header, even if it looks like one */
            other_word(walk, token, &index, at, packs);
            at += 8;
        }
    }
}

/* Records with packed values, also those that later versions may have. PACKED_BEGIN and PACKED_INSTANT: section 6.4. */
#define PACKED_END 32
BOTH_WAYS bool is_packed(uint32_t type)
{
    return type >= TBED_EXT_PACKED_MESSAGE && type != TBED_EXT_LEAVE && type != TBED_EXT_RESIZE &&
           type < PACKED_END;
}

/* What follows the second word at 'at', up to 'end'. */
BOTH_WAYS void extended(struct unit_walk *walk, struct walk_token *token, uint32_t id, uint8_t *at,
                        uint8_t *end, bool packs)
{
    struct tbed_extended_head head = tbed_extended_head_load(token->second);
    uint32_t index = 1;
    if (head.type == TBED_EXT_BEGIN || head.type == TBED_EXT_PACKED_BEGIN)
        span_push(walk, id);
    else if (tbed_extended_ends_span(head.type))
        span_pop(walk);
    if (is_packed(head.type)) {
        if ((head.type == TBED_EXT_PACKED_BEGIN || head.type == TBED_EXT_PACKED_INSTANT) && at < end) {
            other_word(walk, token, &index, at, packs);
            at += 8;
        }
        column_bytes(&walk->columns, COLUMN_TEXT, at, (size_t)(end - at), packs);
        return;
    }
    at += 8 * fixed_words(walk, token, head.type, at, head.nwords - 1, packs);
    other_words(walk, token, at, end, head.argument_count > 0, packs);
}

/* ---- Events ---- */

static inline uint32_t regular_nbytes(const uint8_t *at, const uint8_t *end, uint64_t word,
                                      uint64_t *second_ret)
{
    uint32_t tag = tbed_event_tag(word);
    *second_ret = 0;
    if (tag >= TBED_TAG_BEGIN && tag <= TBED_TAG_INSTANT)
        return 8;
    if (tag == TBED_TAG_TIME)
        return tbed_event_delta(word) == 0 ? 8 : 0;
    if (tag == 0 || tag == 7 || end - at < 16)
        return 0;
    uint64_t second = walk_load(at + 8);
    *second_ret = tag == TBED_TAG_PAIR ? tbed_pair_subtype(second) : second;
    if (tag == TBED_TAG_PAIR)
        return 16;
    struct tbed_extended_head head = tbed_extended_head_load(second);
    size_t nbytes = 8 + 8 * (size_t)head.nwords;
    if (head.nwords == 0 || nbytes > (size_t)(end - at))
        return 0;
    bool has_huge_size = (head.type == TBED_EXT_ALLOC && nbytes >= 32 && walk_load(at + 24) == UINT64_MAX) ||
                         (head.type == TBED_EXT_REALLOC && nbytes >= 48 && walk_load(at + 32) == UINT64_MAX);
    return has_huge_size ? 0 : (uint32_t)nbytes;
}

uint32_t tbed_event_regular_nbytes(const uint8_t *at, const uint8_t *end, uint64_t word, uint64_t *second_ret)
{
    return regular_nbytes(at, end, word, second_ret);
}

/* The number of bytes of an event with this token. */
static inline uint32_t token_nbytes(const struct walk_token *token)
{
    uint32_t tag = tbed_event_tag(token->first);
    return tag < TBED_TAG_PAIR    ? 8
           : tag == TBED_TAG_PAIR ? 16
                                  : 8 + 8 * tbed_extended_head_load(token->second).nwords;
}

/* What follows the first word of an event, and what the event does to the walk. */
BOTH_WAYS void event(struct unit_walk *walk, uint32_t number, uint32_t tag, uint32_t id, uint8_t *at,
                     uint32_t nbytes, bool packs)
{
    happened(walk, tag, id, number);
    if (tag == TBED_TAG_BEGIN)
        span_push(walk, id);
    else if (tag == TBED_TAG_END)
        span_pop(walk);
    else if (tag == TBED_TAG_PAIR)
        pair(walk, &walk->tokens[number], at + 8, packs);
    else if (tag == TBED_TAG_EXTENDED)
        extended(walk, &walk->tokens[number], id, at + 16, at + nbytes, packs);
}

uint8_t *tbed_events_pack(struct unit_walk *walk, uint8_t *at, uint8_t *end)
{
    uint64_t base = walk->now, second;
    uint32_t nbytes;
    for (; at < end; at += nbytes) {
        uint64_t word = walk_load(at);
        nbytes = regular_nbytes(at, end, word, &second);
        if (nbytes == 0)
            return at;
        bool is_new = false;
        struct walk_expected *expected = context(walk);
        uint32_t token = token_find(walk, word, second, &is_new), tag = tbed_event_tag(word);
        if (token == TOKEN_NEW)
            return at;
        token_put(walk, *expected, token, is_new);
        expect(expected, token);
        if (tag == TBED_TAG_TIME) {
            base += tbed_event_time_ticks(word);
            continue;
        }
        uint64_t tick = base + tbed_event_delta(word);
        clock_advance(&walk->columns, &walk->clock, tick - walk->now, true);
        walk->now = tick;
        event(walk, token, tag, tbed_event_id(word), at, nbytes, true);
    }
    return at;
}

bool tbed_events_unpack(struct unit_walk *walk, uint8_t *at, uint8_t *end)
{
    uint64_t base = walk->now;
    uint32_t nbytes;
    for (; at < end; at += nbytes) {
        struct walk_expected *expected = context(walk);
        uint32_t number = token_get(walk, *expected);
        if (number == TOKEN_NEW)
            return false;
        expect(expected, number);
        const struct walk_token *token = &walk->tokens[number];
        uint64_t first = token->first | (number == TOKEN_END ? innermost(walk) : 0);
        uint32_t tag = tbed_event_tag(first), id = tbed_event_id(first);
        nbytes = token_nbytes(token);
        if (nbytes > (size_t)(end - at))
            return false;
        if (tag == TBED_TAG_TIME) {
            base += tbed_event_time_ticks(first);
            walk_store(at, first);
            continue;
        }
        walk->now += clock_advance(&walk->columns, &walk->clock, 0, false);
        uint64_t delta = walk->now - base;
        if (delta >> 31 != 0)
            return false;
        walk_store(at, delta << 33 | first);
        if (tag == TBED_TAG_EXTENDED)
            walk_store(at + 8, token->second);
        event(walk, number, tag, id, at, nbytes, false);
    }
    return !walk->columns.is_damaged;
}

void tbed_events_pack_end(struct unit_walk *walk)
{
    if (walk->run > 0)
        run_put(walk);
    if (walk->columns.bit_count > 0)
        column_bits(&walk->columns, 0, 8 - walk->columns.bit_count, true);
}

bool tbed_events_are_unpacked(struct unit_walk *walk)
{
    walk->columns.c[COLUMN_BITS].at += walk->columns.bit_count > 0;
    return walk->run <= 1;
}
