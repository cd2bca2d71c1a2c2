/*
 * The walk over the blocks of a unit; see unit_walk.h.
 *
 * Each function does both directions where it has 'packs', of which the compiler makes two.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/unit_walk.h"

#include "format/block.h"
#include "format/event.h"

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

static inline uint64_t field_load(const uint8_t *at, uint32_t nbytes)
{
    return nbytes == 4 ? tbed_le32_load(*(const tbed_le32 *)at) : walk_load(at);
}

static inline void field_store(uint8_t *at, uint32_t nbytes, uint64_t value)
{
    if (nbytes == 4)
        *(tbed_le32 *)at = tbed_le32_make((uint32_t)value);
    else
        walk_store(at, value);
}

/* 'before' and 'after' are the ticks of the last events of the block before and of this one. */
BOTH_WAYS void header(struct unit_walk *walk, uint8_t *block, uint64_t before, uint64_t after,
                      uint64_t values[12], bool packs)
{
    struct columns *columns = &walk->columns;
    for (uint32_t i = 0; i < FIELD_CHECKSUM; i++) {
        uint64_t expected = walk->header[i], value = 0;
        if (packs)
            value = field_load(block + fields[i].offset, fields[i].nbytes);
        if (i == FIELD_FIRST_TICK)
            expected = before;
        else if (i == FIELD_LAST_TICK)
            expected = after;
        values[i] = value = column_difference(columns, COLUMN_BLOCK, value, expected, packs);
        if (packs)
            continue;
        if (fields[i].nbytes == 4 && value >> 32 != 0)
            columns->is_damaged = true;
        field_store(block + fields[i].offset, fields[i].nbytes, value);
    }
    column_bytes(columns, COLUMN_BLOCK, block + fields[FIELD_CHECKSUM].offset, 8, packs);
}

/* Where the content of a block with this header ends, unless it is damaged. */
static inline uint32_t content_limit(uint64_t used, uint32_t words_offset, uint32_t block_nbytes)
{
    bool is_possible = used % 8 == 0 && used >= words_offset && used <= block_nbytes;
    return is_possible ? (uint32_t)used : block_nbytes;
}

static inline bool stack_is_known(const struct unit_walk *walk, const uint8_t *stored, uint32_t count)
{
    if (count > walk->span_count)
        return false;
    const struct walk_span *span = &walk->spans[walk->span_count - count];
    for (uint32_t i = 0; i < count; i++)
        if (walk_load(stored + 16 * i) != span[i].tick || walk_load(stored + 16 * i + 8) != span[i].id)
            return false;
    return true;
}

static void stack_load(struct unit_walk *walk, const uint8_t *stored, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        walk->spans[i] = (struct walk_span){walk_load(stored + 16 * i), walk_load(stored + 16 * i + 8)};
    walk->span_count = count;
}

/* The stack that a block stores, where it is not the one that the walk has. */
BOTH_WAYS void stack(struct unit_walk *walk, uint8_t *stored, uint32_t count, uint64_t tick, bool packs)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = stored + 16 * i;
        tick = column_difference(&walk->columns, COLUMN_BLOCK, packs ? walk_load(at) : 0, tick, packs);
        uint64_t id = column_value(&walk->columns, COLUMN_BLOCK, packs ? walk_load(at + 8) : 0, packs);
        if (packs)
            continue;
        walk_store(at, tick);
        walk_store(at + 8, id);
    }
}

static void stack_store(const struct unit_walk *walk, uint8_t *stored, uint32_t count)
{
    const struct walk_span *span = &walk->spans[walk->span_count - count];
    for (uint32_t i = 0; i < count; i++) {
        walk_store(stored + 16 * i, span[i].tick);
        walk_store(stored + 16 * i + 8, span[i].id);
    }
}

/* The number of bytes up to the last that is not zero. */
static uint32_t nonzero_nbytes(const uint8_t *at, uint32_t nbytes)
{
    while (nbytes >= 8 && walk_load(at + nbytes - 8) == 0)
        nbytes -= 8;
    while (nbytes > 0 && at[nbytes - 1] == 0)
        nbytes--;
    return nbytes;
}

static uint32_t first_entry_id(const struct unit_walk *walk, uint32_t ordinal, uint32_t offset)
{
    uint64_t address = (uint64_t)ordinal * walk->block_nbytes + offset;
    return TBED_ID_METADATA + (uint32_t)(address / 8);
}

/* What [at, end) is taken for depends on the kind in the header alone. */
static uint8_t *content_pack(struct unit_walk *walk, uint8_t *block, uint8_t *at, uint8_t *end)
{
    uint32_t ordinal = (uint32_t)(walk_load(block + 24) >> 32);
    switch (block[0]) {
    case TBED_BLOCK_EVENTS:
        return tbed_events_pack(walk, at, end);
    case TBED_BLOCK_STRINGS:
        return tbed_strings_pack(walk, at, end, first_entry_id(walk, ordinal, (uint32_t)(at - block)));
    case TBED_BLOCK_RECORDS:
        return tbed_records_pack(walk, at, end);
    default:
        return at;
    }
}

static bool content_unpack(struct unit_walk *walk, uint8_t *block, uint8_t *at, uint8_t *end)
{
    uint32_t ordinal = (uint32_t)(walk_load(block + 24) >> 32);
    switch (block[0]) {
    case TBED_BLOCK_EVENTS:
        return tbed_events_unpack(walk, at, end);
    case TBED_BLOCK_STRINGS:
        return tbed_strings_unpack(walk, at, end, first_entry_id(walk, ordinal, (uint32_t)(at - block)));
    case TBED_BLOCK_RECORDS:
        return tbed_records_unpack(walk, at, end);
    default:
        return at == end;
    }
}

static void block_pack(struct unit_walk *walk, uint8_t *block)
{
    struct columns *columns = &walk->columns;
    uint32_t depth = (uint32_t)walk_load(block + 40), used = (uint32_t)(walk_load(block + 40) >> 32);
    uint32_t count = tbed_block_stored_count(walk->block_nbytes, depth);
    uint32_t offset = tbed_block_words_offset(walk->block_nbytes, depth);
    uint32_t limit = content_limit(used, offset, walk->block_nbytes);
    uint8_t *stored = block + TBED_BLOCK_HEADER_NBYTES;
    uint64_t before = walk->now, values[12] = {0};
    bool is_known = stack_is_known(walk, stored, count);
    if (!is_known)
        stack_load(walk, stored, count);
    walk->now = walk_load(block + 32);
    walk->clock.phase = 0;
    uint32_t end = (uint32_t)(content_pack(walk, block, block + offset, block + limit) - block);
    uint32_t rest_nbytes = nonzero_nbytes(block + end, walk->block_nbytes - end);
    header(walk, block, before, walk->now, values, true);
    memcpy(walk->header, values, sizeof values);
    column_value(columns, COLUMN_BLOCK, (limit - end) / 8, true);
    column_value(columns, COLUMN_BLOCK, rest_nbytes, true);
    column_bytes(columns, COLUMN_REST, block + end, rest_nbytes, true);
    column_byte(columns, COLUMN_BLOCK, is_known, true);
    if (!is_known)
        stack(walk, stored, count, values[FIELD_FIRST_TICK], true);
}

/* False: the columns are damaged. */
static bool block_unpack(struct unit_walk *walk, uint8_t *block)
{
    struct columns *columns = &walk->columns;
    uint64_t values[12] = {0};
    header(walk, block, walk->now, 0, values, false);
    uint32_t depth = (uint32_t)values[FIELD_DEPTH];
    uint32_t count = tbed_block_stored_count(walk->block_nbytes, depth);
    uint32_t offset = tbed_block_words_offset(walk->block_nbytes, depth);
    uint32_t limit = content_limit(values[FIELD_USED], offset, walk->block_nbytes);
    uint64_t missing = column_value(columns, COLUMN_BLOCK, 0, false);
    uint64_t rest_nbytes = column_value(columns, COLUMN_BLOCK, 0, false);
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
    if (!content_unpack(walk, block, block + offset, block + end))
        return false;
    column_bytes(columns, COLUMN_REST, block + end, rest_nbytes, false);
    memset(block + end + rest_nbytes, 0, walk->block_nbytes - end - rest_nbytes);
    values[FIELD_LAST_TICK] += walk->now;
    walk_store(block + fields[FIELD_LAST_TICK].offset, values[FIELD_LAST_TICK]);
    memcpy(walk->header, values, sizeof values);
    return !columns->is_damaged;
}

/* ---- Units ---- */

void tbed_unit_walk_init(struct unit_walk *walk)
{
    walk->tokens[TOKEN_END].first = (uint64_t)TBED_TAG_END << TBED_ID_BITS;
    walk->token_count = TOKEN_FIRST;
    walk->addresses.count = 1;
}

static void begin(struct unit_walk *walk, const struct pack_unit *unit, bool packs)
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
    walk->content = (struct walk_before){0};
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
    uint32_t depth = (uint32_t)walk_load(block + 40), used = (uint32_t)(walk_load(block + 40) >> 32), nbytes;
    uint32_t offset = tbed_block_words_offset(block_nbytes, depth);
    const uint8_t *at = block + offset, *end = block + content_limit(used, offset, block_nbytes);
    uint64_t base = walk_load(block + 32), now = base, second;
    size_t count = 0;
    for (; at < end && count < SAMPLE_TICKS; at += nbytes) {
        uint64_t word = walk_load(at);
        nbytes = tbed_event_regular_nbytes(at, end, word, &second);
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

static void find_clock(struct unit_walk *walk, const struct pack_unit *unit)
{
    uint32_t ticks[SAMPLE_BLOCKS * SAMPLE_TICKS];
    uint32_t blocks = unit->count < SAMPLE_BLOCKS ? unit->count : SAMPLE_BLOCKS;
    size_t count = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint8_t *block = unit->blocks[i * unit->count / blocks];
        if (block[0] == TBED_BLOCK_EVENTS)
            count += sample_block(block, unit->block_nbytes, ticks + count);
    }
    walk->clock = tbed_event_clock_find(ticks, count);
}

void tbed_unit_walk_pack(struct unit_walk *walk, const struct pack_unit *unit)
{
    begin(walk, unit, true);
    find_clock(walk, unit);
    for (uint32_t i = 0; i < unit->count; i++)
        block_pack(walk, unit->blocks[i]);
    tbed_events_pack_end(walk);
}

bool tbed_unit_walk_unpack(struct unit_walk *walk, const struct pack_unit *unit)
{
    begin(walk, unit, false);
    for (uint32_t i = 0; i < unit->count; i++)
        if (!block_unpack(walk, unit->blocks[i]))
            return false;
    if (!tbed_events_are_unpacked(walk))
        return false;
    for (uint32_t i = 0; i < COLUMN_COUNT; i++)
        if (walk->columns.c[i].at != walk->columns.c[i].end)
            return false;
    return true;
}
