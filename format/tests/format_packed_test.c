/*
 * Packed messages that were made up and then damaged: what the check says, and what is taken out of those that pass,
 * beside a slow reading of the specification, byte by byte.
 *
 * A record stands in memory of its own size, so that a sanitizer sees a look beyond it.
 *
 * Source: spec/format.md, section 6.4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/argument.h"
#include "format/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASE_COUNT     300000
#define NBYTES_MAX     256u
#define ARGUMENT_TEXT  7u
#define ARGUMENT_I32   10u
#define PACKED_MESSAGE 16u

static uint64_t random_state = 0x9E3779B97F4A7C15u;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % bound;
}

/* A record's fields, and the bytes of its values. */
struct record {
    uint32_t type, argument_count, nwords, aux;
    uint32_t present_nwords; /* after the second word, before the block's end */
    uint32_t nbytes;         /* size of the values */
    uint8_t bytes[NBYTES_MAX];
};

/* ---- Random records ---- */

static void add_bytes(struct record *record, uint32_t nbytes)
{
    for (uint32_t i = 0; i < nbytes; i++)
        record->bytes[record->nbytes++] = (uint8_t)random_below(256);
}

static void add_value(struct record *record, uint32_t type)
{
    if (type != ARGUMENT_TEXT) {
        add_bytes(record, type < ARGUMENT_TEXT ? 8 : 4);
        return;
    }
    uint32_t nbytes = random_below(4) == 0 ? 0 : random_below(20);
    record->bytes[record->nbytes] = (uint8_t)nbytes;
    memset(record->bytes + record->nbytes + 1, 0, 3);
    record->nbytes += 4;
    add_bytes(record, nbytes);
}

static struct record make_valid(void)
{
    static const uint8_t types[] = {1, 2, 3, 4, 5, 6, 7, 9, 10};
    struct record record = {.type = PACKED_MESSAGE, .argument_count = random_below(8)};
    record.aux = random_below(16);
    for (uint32_t i = 0; i < record.argument_count; i++) {
        uint32_t type = types[random_below(sizeof types)];
        record.aux |= type << (4 + 4 * i);
        add_value(&record, type);
    }
    record.nwords = 1 + (record.nbytes + 7) / 8;
    record.present_nwords = record.nwords - 1 + random_below(3);
    return record;
}

static void damage(struct record *record)
{
    switch (random_below(8)) {
    case 0: /* one type */
        record->aux = (record->aux & ~(15u << 4 * random_below(8))) | random_below(16) << 4 * random_below(8);
        break;
    case 1: /* all of them */
        record->aux = random_below(UINT32_MAX);
        break;
    case 2: /* off by one */
        record->nwords += random_below(2) == 0 ? 1 : UINT32_MAX;
        record->nwords &= 0xFFFF;
        break;
    case 3:
        record->nwords = random_below(4) == 0 ? random_below(65536) : random_below(20);
        break;
    case 4: /* too many, too few */
        record->argument_count = random_below(4) == 0 ? random_below(256) : random_below(10);
        break;
    case 5: /* cut */
        record->present_nwords = random_below(record->present_nwords + 1);
        break;
    case 6: /* a byte, possibly part of a text's size */
        record->bytes[random_below(record->nbytes + 1)] = (uint8_t)random_below(256);
        break;
    default: /* a text's size is huge */
        memset(record->bytes + 4 * random_below(record->nbytes / 4 + 1), 0xFF - (int)random_below(2), 4);
    }
}

/* ---- The slow reader ---- */

struct value {
    uint32_t type;
    uint64_t bits;  /* for a text, its size */
    uint32_t first; /* the text's first byte */
};

/* Reads 'nbytes' bytes, the lowest first; false: they are not all there. */
static bool take_number(const struct record *record, uint64_t *at, uint64_t end, uint32_t nbytes,
                        uint64_t *number_ret)
{
    *number_ret = 0;
    for (uint32_t i = 0; i < nbytes; i++, (*at)++) {
        if (*at >= end)
            return false;
        uint64_t byte = *at < NBYTES_MAX ? record->bytes[*at] : 0;
        *number_ret += byte << 8 * i;
    }
    return true;
}

static enum tbed_status read_slowly(const struct record *record, struct value *values)
{
    if (record->nwords == 0 || record->nwords - 1 > record->present_nwords)
        return TBED_ERR_EVENT_LENGTH;
    uint64_t at = 0, end = 8 * (uint64_t)(record->nwords - 1);
    for (uint32_t i = 0; i < 7; i++) {
        uint32_t type = record->aux >> (4 + 4 * i) & 15;
        if ((type != 0) != (i < record->argument_count))
            return TBED_ERR_EVENT_ARGUMENT; /* too few or too many types, or a hole */
        if (type == 0)
            continue;
        if (type == 8 || type > ARGUMENT_I32)
            return TBED_ERR_EVENT_ARGUMENT;
        values[i] = (struct value){.type = type > 8 ? type - 8 : type};
        if (!take_number(record, &at, end, type < ARGUMENT_TEXT ? 8 : 4, &values[i].bits))
            return TBED_ERR_EVENT_ARGUMENT;
        if (type == ARGUMENT_I32 && values[i].bits >= 0x80000000u)
            values[i].bits += 0xFFFFFFFF00000000u;
        values[i].first = (uint32_t)at;
        if (type == ARGUMENT_TEXT)
            at += values[i].bits;
        if (at > end)
            return TBED_ERR_EVENT_ARGUMENT;
    }
    return record->argument_count <= 7 && end - at < 8 ? TBED_OK : TBED_ERR_EVENT_ARGUMENT;
}

/* ---- Both ---- */

static void assert_values(const struct record *record, const struct value *values, const uint64_t *words)
{
    const uint8_t *at = (const uint8_t *)(words + 2);
    for (uint32_t i = 0; i < record->argument_count; i++) {
        struct tbed_argument argument;
        at = tbed_packed_take(at, record->aux >> (4 + 4 * i) & 15, &argument);
        assert_int_equal(argument.type, values[i].type);
        assert_int_equal(argument.name_id, TBED_ID_INVALID);
        if (argument.type == ARGUMENT_TEXT) {
            assert_int_equal(argument.nbytes, values[i].bits);
            assert_memory_equal(argument.value.text, record->bytes + values[i].first, argument.nbytes);
        } else {
            assert_int_equal(argument.nbytes, 8);
            assert_int_equal(argument.value.u64, values[i].bits);
        }
    }
}

static enum tbed_status compare(const struct record *record)
{
    struct value values[7];
    size_t count = 2 + (size_t)record->present_nwords, nwords;
    uint64_t *words = malloc(8 * count);
    uint64_t word = UINT64_C(1) << 33 | UINT64_C(6) << 30 | 1;
    assert_non_null(words);
    words[0] = tbed_word_order(word);
    words[1] = tbed_word_order(record->type | record->argument_count << 8 | (uint64_t)record->nwords << 16 |
                               (uint64_t)record->aux << 32);
    memcpy(words + 2, record->bytes, 8 * (count - 2));
    enum tbed_status expected = read_slowly(record, values);
    enum tbed_status found = tbed_event_check(word, words, words + count, &nwords);
    assert_string_equal(tbed_status_name(found), tbed_status_name(expected));
    if (found == TBED_OK) {
        assert_int_equal(nwords, 1 + record->nwords);
        assert_values(record, values, words);
    }
    free(words);
    return found;
}

static void damaged_records_are_told_and_others_read(void **state)
{
    (void)state;
    size_t good = 0, bad_length = 0, bad_argument = 0;
    for (int i = 0; i < CASE_COUNT; i++) {
        struct record record = make_valid();
        assert_int_equal(compare(&record), TBED_OK);
        for (uint32_t k = 1 + random_below(3); k-- > 0;)
            damage(&record);
        enum tbed_status status = compare(&record);
        good += status == TBED_OK;
        bad_length += status == TBED_ERR_EVENT_LENGTH;
        bad_argument += status == TBED_ERR_EVENT_ARGUMENT;
    }
    assert_true(good > CASE_COUNT / 50 && bad_length > CASE_COUNT / 50 && bad_argument > CASE_COUNT / 50);
    assert_int_equal(good + bad_length + bad_argument, CASE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_records_are_told_and_others_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
