/*
 * The walk over the blocks of events of a unit; see event_walk.h.
 *
 * Each function does both directions. The compiler makes two walks of them, because 'packs' is a constant in each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/event_walk.h"

#include "format/block.h"
#include "format/event.h"

#define TOKEN_NEW   0 /* no token has this number */
#define TOKEN_END   1 /* END of the innermost span */
#define TOKEN_FIRST 2

enum walk_miss { MISS_NEW, MISS_NUMBER, MISS_OTHER };

#define FIRST_MASK ((UINT64_C(1) << 33) - 1) /* tag and id of a word */

static inline uint64_t load(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

static inline void store(uint8_t *at, uint64_t word)
{
    memcpy(at, &word, 8);
}

/* ---- Tokens ---- */

static inline uint32_t token_slot(const struct event_walk *walk, uint64_t first, uint64_t second)
{
    uint64_t hash = (first ^ second * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);
    uint32_t slot = (uint32_t)(hash >> (64 - WALK_SLOTS_BITS)), token;
    while ((token = walk->slots[slot]) != 0 &&
           (walk->tokens[token].first != first || walk->tokens[token].second != second))
        slot = (slot + 1) % WALK_SLOTS;
    return slot;
}

static inline uint32_t token_add(struct event_walk *walk, uint64_t first, uint64_t second)
{
    uint32_t token = walk->token_count++;
    walk->tokens[token] = (struct walk_token){.first = first, .second = second};
    return token;
}

/* What a new token means. */
BOTH_WAYS bool token_new(struct event_walk *walk, uint64_t *first, uint64_t *second, bool packs)
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

static void run_put(struct event_walk *walk)
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

BOTH_WAYS uint32_t token_number(struct event_walk *walk, uint32_t token, bool packs)
{
    uint32_t low = column_byte(&walk->columns, COLUMN_TOKEN_LOW, (uint8_t)token, packs), high = 0;
    if (walk->token_count > 256)
        high = column_byte(&walk->columns, COLUMN_TOKEN_HIGH, (uint8_t)(token >> 8), packs);
    return low | high << 8;
}

BOTH_WAYS void token_put(struct event_walk *walk, struct walk_expected expected, uint32_t token, bool is_new)
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
BOTH_WAYS uint32_t token_get(struct event_walk *walk, struct walk_expected expected)
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

static inline uint32_t innermost(const struct event_walk *walk)
{
    return walk->span_count > 0 ? (uint32_t)walk->spans[walk->span_count - 1].id & TBED_ID_MAX : 0;
}

/* Where the next token's expectations are: by the last two events and the innermost span. */
static inline struct walk_expected *context(struct event_walk *walk)
{
    uint32_t key = walk->last ^ innermost(walk) * 0x85EBCA6Bu ^ walk->before * 0xC2B2AE35u;
    return &walk->expected[(key * 0x9E3779B1u) >> (32 - walk->context_bits)];
}

/* The token of the event whose words these are; TOKEN_NEW: there is no room for a new one. */
static inline uint32_t token_find(struct event_walk *walk, uint64_t word, uint64_t second, bool *is_new)
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

static inline void happened(struct event_walk *walk, uint32_t tag, uint32_t id, uint32_t token)
{
    walk->before = tag == TBED_TAG_END ? 0 : walk->last;
    walk->last = tag == TBED_TAG_BEGIN ? id * 2 : tag == TBED_TAG_END ? id * 2 + 1 : token * 2;
}

/* ---- Spans ---- */

static inline void span_push(struct event_walk *walk, uint32_t id)
{
    walk->spans[walk->span_count++] = (struct walk_span){walk->now, id};
}

static inline void span_pop(struct event_walk *walk)
{
    walk->span_count -= walk->span_count > 0;
}

/* ---- Second words and what follows ---- */

BOTH_WAYS uint64_t size_of(struct event_walk *walk, struct walk_token *token, uint64_t nbytes, bool packs)
{
    uint64_t code = packs && nbytes != token->size ? nbytes + 1 : 0;
    code = column_number(&walk->columns, COLUMN_SIZE, code, packs);
    if (!packs)
        nbytes = code != 0 ? code - 1 : token->size;
    return token->size = nbytes;
}

BOTH_WAYS uint64_t pair_alloc(struct event_walk *walk, struct walk_token *token, uint64_t second, bool packs)
{
    uint64_t nbytes = size_of(walk, token, tbed_pair_alloc_nbytes(second), packs);
    uint64_t address =
        address_of_alloc(&walk->columns, &walk->addresses, tbed_pair_alloc_address(second), nbytes, packs);
    if (nbytes >> 15 != 0 || (address & 7) != 0 || address >> 48 != 0)
        walk->columns.is_damaged = true;
    return nbytes << 45 | address >> 3;
}

/* The payload of a PAIR. */
BOTH_WAYS void pair(struct event_walk *walk, struct walk_token *token, uint8_t *at, bool packs)
{
    uint32_t subtype = (uint32_t)token->second;
    uint64_t word = packs ? load(at) : 0, payload = tbed_pair_payload(word);
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
    store(at, (uint64_t)subtype << 60 | (payload & 0x0FFFFFFFFFFFFFFFu));
}

/* The fixed words of records that this knows; returns how many. */
BOTH_WAYS uint32_t fixed_words(struct event_walk *walk, struct walk_token *token, uint32_t type, uint8_t *at,
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
    if (packs)
        memcpy(words, at, known * sizeof words[0]);
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
        words[3] = walk->now - column_number(columns, COLUMN_BEGIN, walk->now - words[3], packs);
    }
    if (!packs)
        memcpy(at, words, known * sizeof words[0]);
    return known;
}

/* One word, by what was in its place in the last record of this token. */
BOTH_WAYS uint64_t other_word(struct event_walk *walk, struct walk_token *token, uint32_t *index, uint8_t *at,
                              bool packs)
{
    uint64_t *last = &token->values[*index];
    uint64_t word = column_difference(&walk->columns, COLUMN_WORD, packs ? load(at) : 0, *last, packs);
    *last = word;
    *index = *index + 1 < WALK_VALUES ? *index + 1 : 0;
    if (!packs)
        store(at, word);
    return word;
}

/* Words of a record; where it has arguments, what looks like a text goes with the texts. */
BOTH_WAYS void other_words(struct event_walk *walk, struct walk_token *token, uint8_t *at, uint8_t *end,
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

BOTH_WAYS bool is_packed(uint32_t type)
{
    return type >= TBED_EXT_PACKED_MESSAGE && type != TBED_EXT_LEAVE && type < 32;
}

/* What follows the second word at 'at', up to 'end'. */
BOTH_WAYS void extended(struct event_walk *walk, struct walk_token *token, uint32_t id, uint8_t *at,
                        uint8_t *end, bool packs)
{
    struct tbed_extended_head head = tbed_extended_head_load(token->second);
    if (head.type == TBED_EXT_BEGIN)
        span_push(walk, id);
    else if (tbed_extended_ends_span(head.type))
        span_pop(walk);
    if (is_packed(head.type)) {
        column_bytes(&walk->columns, COLUMN_TEXT, at, (size_t)(end - at), packs);
        return;
    }
    at += 8 * fixed_words(walk, token, head.type, at, head.nwords - 1, packs);
    other_words(walk, token, at, end, head.argument_count > 0, packs);
}

/* ---- Events ---- */

/*
 * The number of bytes of the event at 'at' < 'end', or 0 if it is not regular: an event that the columns cannot express.
 * '*second_ret' is what its token has of the second word.
 */
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
    uint64_t second = load(at + 8);
    *second_ret = tag == TBED_TAG_PAIR ? tbed_pair_subtype(second) : second;
    if (tag == TBED_TAG_PAIR)
        return 16;
    struct tbed_extended_head head = tbed_extended_head_load(second);
    size_t nbytes = 8 + 8 * (size_t)head.nwords;
    if (head.nwords == 0 || nbytes > (size_t)(end - at))
        return 0;
    bool has_huge_size = (head.type == TBED_EXT_ALLOC && nbytes >= 32 && load(at + 24) == UINT64_MAX) ||
                         (head.type == TBED_EXT_REALLOC && nbytes >= 48 && load(at + 32) == UINT64_MAX);
    return has_huge_size ? 0 : (uint32_t)nbytes;
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
BOTH_WAYS void event(struct event_walk *walk, uint32_t number, uint32_t tag, uint32_t id, uint8_t *at,
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

/* Takes [at, end) apart, up to the first zero word or what is not regular, and returns where that is. */
static uint8_t *events_pack(struct event_walk *walk, uint8_t *at, uint8_t *end)
{
    uint64_t base = walk->now, second;
    uint32_t nbytes;
    for (; at < end; at += nbytes) {
        uint64_t word = load(at);
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

/* Puts [at, end) together. False: the columns are damaged. */
static bool events_unpack(struct event_walk *walk, uint8_t *at, uint8_t *end)
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
            store(at, first);
            continue;
        }
        walk->now += clock_advance(&walk->columns, &walk->clock, 0, false);
        uint64_t delta = walk->now - base;
        if (delta >> 31 != 0)
            return false;
        store(at, delta << 33 | first);
        if (tag == TBED_TAG_EXTENDED)
            store(at + 8, token->second);
        event(walk, number, tag, id, at, nbytes, false);
    }
    return !walk->columns.is_damaged;
}

/* ---- Blocks ---- */

/* The fields of a block's header, each by that of the block before; the ticks and the checksum are special. */
#define FIELD_FIRST_TICK 7
#define FIELD_DEPTH      8
#define FIELD_USED       9
#define FIELD_LAST_TICK  10
#define FIELD_CHECKSUM   11
static const struct {
    uint8_t offset, nbytes;
} fields[] = {{0, 4},  {4, 4},  {8, 8},  {16, 4}, {20, 4}, {24, 4},
              {28, 4}, {32, 8}, {40, 4}, {44, 4}, {48, 8}, {56, 8}};

/* 'before' and 'after' are the ticks of the last events of the block before and of this one. */
BOTH_WAYS void header(struct event_walk *walk, uint8_t *block, uint64_t before, uint64_t after,
                      uint64_t values[12], bool packs)
{
    struct columns *columns = &walk->columns;
    for (uint32_t i = 0; i < FIELD_CHECKSUM; i++) {
        uint64_t expected = walk->header[i], value = 0;
        if (packs)
            memcpy(&value, block + fields[i].offset, fields[i].nbytes);
        if (i == FIELD_FIRST_TICK)
            expected = before;
        else if (i == FIELD_LAST_TICK)
            expected = after;
        values[i] = value = column_difference(columns, COLUMN_BLOCK, value, expected, packs);
        if (packs)
            continue;
        if (fields[i].nbytes == 4 && value >> 32 != 0)
            columns->is_damaged = true;
        memcpy(block + fields[i].offset, &value, fields[i].nbytes);
    }
    column_bytes(columns, COLUMN_BLOCK, block + fields[FIELD_CHECKSUM].offset, 8, packs);
}

/* Where the content of a block with this header ends, unless it is damaged. */
static inline uint32_t content_limit(uint64_t used, uint32_t words_offset, uint32_t block_nbytes)
{
    bool is_possible = used % 8 == 0 && used >= words_offset && used <= block_nbytes;
    return is_possible ? (uint32_t)used : block_nbytes;
}

static inline bool stack_is_known(const struct event_walk *walk, const uint8_t *stored, uint32_t count)
{
    if (count > walk->span_count)
        return false;
    const struct walk_span *span = &walk->spans[walk->span_count - count];
    for (uint32_t i = 0; i < count; i++)
        if (load(stored + 16 * i) != span[i].tick || load(stored + 16 * i + 8) != span[i].id)
            return false;
    return true;
}

static void stack_load(struct event_walk *walk, const uint8_t *stored, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        walk->spans[i] = (struct walk_span){load(stored + 16 * i), load(stored + 16 * i + 8)};
    walk->span_count = count;
}

/* The stack that a block stores, where it is not the one that the walk has. */
BOTH_WAYS void stack(struct event_walk *walk, uint8_t *stored, uint32_t count, uint64_t tick, bool packs)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = stored + 16 * i;
        tick = column_difference(&walk->columns, COLUMN_BLOCK, packs ? load(at) : 0, tick, packs);
        uint64_t id = column_number(&walk->columns, COLUMN_BLOCK, packs ? load(at + 8) : 0, packs);
        if (packs)
            continue;
        store(at, tick);
        store(at + 8, id);
    }
}

static void stack_store(const struct event_walk *walk, uint8_t *stored, uint32_t count)
{
    const struct walk_span *span = &walk->spans[walk->span_count - count];
    for (uint32_t i = 0; i < count; i++) {
        store(stored + 16 * i, span[i].tick);
        store(stored + 16 * i + 8, span[i].id);
    }
}

/* The number of bytes up to the last that is not zero. */
static uint32_t nonzero_nbytes(const uint8_t *at, uint32_t nbytes)
{
    while (nbytes >= 8 && load(at + nbytes - 8) == 0)
        nbytes -= 8;
    while (nbytes > 0 && at[nbytes - 1] == 0)
        nbytes--;
    return nbytes;
}

static void block_pack(struct event_walk *walk, uint8_t *block)
{
    struct columns *columns = &walk->columns;
    uint32_t depth = (uint32_t)load(block + 40), used = (uint32_t)(load(block + 40) >> 32);
    uint32_t count = tbed_block_stored_count(walk->block_nbytes, depth);
    uint32_t offset = tbed_block_words_offset(walk->block_nbytes, depth);
    uint32_t limit = content_limit(used, offset, walk->block_nbytes);
    uint8_t *stored = block + TBED_BLOCK_HEADER_NBYTES;
    uint64_t before = walk->now, values[12] = {0};
    bool is_known = stack_is_known(walk, stored, count);
    if (!is_known)
        stack_load(walk, stored, count);
    walk->now = load(block + 32);
    walk->clock.phase = 0;
    uint32_t end = (uint32_t)(events_pack(walk, block + offset, block + limit) - block);
    uint32_t rest_nbytes = nonzero_nbytes(block + end, walk->block_nbytes - end);
    header(walk, block, before, walk->now, values, true);
    memcpy(walk->header, values, sizeof values);
    column_number(columns, COLUMN_BLOCK, (limit - end) / 8, true);
    column_number(columns, COLUMN_BLOCK, rest_nbytes, true);
    column_bytes(columns, COLUMN_REST, block + end, rest_nbytes, true);
    column_byte(columns, COLUMN_BLOCK, is_known, true);
    if (!is_known)
        stack(walk, stored, count, values[FIELD_FIRST_TICK], true);
}

/* False: the columns are damaged. */
static bool block_unpack(struct event_walk *walk, uint8_t *block)
{
    struct columns *columns = &walk->columns;
    uint64_t values[12] = {0};
    header(walk, block, walk->now, 0, values, false);
    uint32_t depth = (uint32_t)values[FIELD_DEPTH];
    uint32_t count = tbed_block_stored_count(walk->block_nbytes, depth);
    uint32_t offset = tbed_block_words_offset(walk->block_nbytes, depth);
    uint32_t limit = content_limit(values[FIELD_USED], offset, walk->block_nbytes);
    uint64_t missing = column_number(columns, COLUMN_BLOCK, 0, false);
    uint64_t rest_nbytes = column_number(columns, COLUMN_BLOCK, 0, false);
    uint8_t is_known = column_byte(columns, COLUMN_BLOCK, 0, false),
            *stored = block + TBED_BLOCK_HEADER_NBYTES;
    if (columns->is_damaged || missing > (limit - offset) / 8 || is_known > 1)
        return false;
    uint32_t end = limit - 8 * (uint32_t)missing;
    if (rest_nbytes > walk->block_nbytes - end || (is_known && count > walk->span_count))
        return false;
    if (is_known)
        stack_store(walk, stored, count);
    else {
        stack(walk, stored, count, values[FIELD_FIRST_TICK], false);
        stack_load(walk, stored, count);
    }
    walk->now = values[FIELD_FIRST_TICK];
    walk->clock.phase = 0;
    if (!events_unpack(walk, block + offset, block + end))
        return false;
    column_bytes(columns, COLUMN_REST, block + end, rest_nbytes, false);
    memset(block + end + rest_nbytes, 0, walk->block_nbytes - end - rest_nbytes);
    values[FIELD_LAST_TICK] += walk->now;
    store(block + fields[FIELD_LAST_TICK].offset, values[FIELD_LAST_TICK]);
    memcpy(walk->header, values, sizeof values);
    return !columns->is_damaged;
}

/* ---- Units ---- */

void tbed_event_walk_init(struct event_walk *walk)
{
    walk->tokens[TOKEN_END].first = (uint64_t)TBED_TAG_END << TBED_ID_BITS;
    walk->token_count = TOKEN_FIRST;
    walk->addresses.count = 1;
}

static void begin(struct event_walk *walk, const struct pack_unit *unit, bool packs)
{
    uint32_t size_bits = 31 - (uint32_t)__builtin_clz(unit->count * unit->block_nbytes);
    if (packs)
        for (uint32_t i = TOKEN_FIRST; i < walk->token_count; i++)
            walk->slots[walk->slot_of[i]] = 0;
    addresses_begin(&walk->addresses, packs);
    walk->columns.bits = walk->columns.bit_count = 0;
    walk->columns.is_damaged = false;
    walk->block_nbytes = unit->block_nbytes;
    memset(walk->header, 0, sizeof walk->header);
    walk->now = 0;
    walk->run = walk->last = walk->before = 0;
    walk->context_bits = size_bits - 4 < WALK_CONTEXT_BITS ? size_bits - 4 : WALK_CONTEXT_BITS;
    walk->token_count = TOKEN_FIRST;
    walk->span_count = 0;
    memset(walk->last_id, 0, sizeof walk->last_id);
    walk->last_second = 0;
    memset(walk->expected, 0, sizeof walk->expected[0] << walk->context_bits);
}

#define SAMPLE_BLOCKS 4
#define SAMPLE_TICKS  256 /* of each */

/* Ticks from event to event at the start of a block; returns how many. */
static size_t sample_block(const uint8_t *block, uint32_t block_nbytes, uint32_t ticks[SAMPLE_TICKS])
{
    uint32_t depth = (uint32_t)load(block + 40), used = (uint32_t)(load(block + 40) >> 32), nbytes;
    uint32_t offset = tbed_block_words_offset(block_nbytes, depth);
    const uint8_t *at = block + offset, *end = block + content_limit(used, offset, block_nbytes);
    uint64_t base = load(block + 32), now = base, second;
    size_t count = 0;
    for (; at < end && count < SAMPLE_TICKS; at += nbytes) {
        uint64_t word = load(at);
        nbytes = regular_nbytes(at, end, word, &second);
        if (nbytes == 0)
            break;
        if (tbed_event_tag(word) == TBED_TAG_TIME) {
            base += tbed_event_time_ticks(word);
            continue;
        }
        uint64_t tick = base + tbed_event_delta(word);
        if ((tick - now) >> 32 == 0)
            ticks[count++] = (uint32_t)(tick - now);
        now = tick;
    }
    return count;
}

static void find_clock(struct event_walk *walk, const struct pack_unit *unit)
{
    uint32_t ticks[SAMPLE_BLOCKS * SAMPLE_TICKS];
    uint32_t blocks = unit->count < SAMPLE_BLOCKS ? unit->count : SAMPLE_BLOCKS;
    size_t count = 0;
    for (uint32_t i = 0; i < blocks; i++)
        count += sample_block(unit->blocks[i * unit->count / blocks], unit->block_nbytes, ticks + count);
    walk->clock = tbed_event_clock_find(ticks, count);
}

void tbed_event_walk_pack(struct event_walk *walk, const struct pack_unit *unit)
{
    begin(walk, unit, true);
    find_clock(walk, unit);
    for (uint32_t i = 0; i < unit->count; i++)
        block_pack(walk, unit->blocks[i]);
    if (walk->run > 0)
        run_put(walk);
    if (walk->columns.bit_count > 0)
        column_bits(&walk->columns, 0, 8 - walk->columns.bit_count, true);
}

bool tbed_event_walk_unpack(struct event_walk *walk, const struct pack_unit *unit)
{
    begin(walk, unit, false);
    for (uint32_t i = 0; i < unit->count; i++)
        if (!block_unpack(walk, unit->blocks[i]))
            return false;
    if (walk->run > 1)
        return false;
    walk->columns.c[COLUMN_BITS].at += walk->columns.bit_count > 0;
    for (uint32_t i = 0; i < COLUMN_COUNT; i++)
        if (walk->columns.c[i].at != walk->columns.c[i].end)
            return false;
    return true;
}
