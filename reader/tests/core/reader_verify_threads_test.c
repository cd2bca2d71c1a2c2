/*
 * Verifying on several threads: the counts, and the damage with its order, are the same as on one thread, and they are
 * what cursors find.
 *
 * The trace has more blocks than are put together at once, in streams of different lengths. The attacks are words that
 * are replaced by random ones, some with the checksums corrected, so that events are damaged as well as blocks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "reader/tests/core/trace_builder.h"

#include <tracebed/verify.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PAGES = 2200, EVENTS_PER_PAGE = 40, STREAMS = 7 };

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void add_event(struct trace_block *block, uint32_t number, uint64_t delta)
{
    static const uint64_t words[] = {1, 2, 3, 4};
    switch (number % 11) {
    case 7:
        trace_event(block, TBED_TAG_PAIR, 5, delta);
        trace_word(block, (uint64_t)(1 + number % 5) << 60 | 77); /* some of the subtypes are unknown */
        break;
    case 8:
        trace_extended(block, 5, delta, (struct tbed_extended_head){TBED_EXT_REALLOC, 0, 5, 0}, words);
        break;
    case 9:
        trace_extended(block, 5, delta, (struct tbed_extended_head){100 + number % 100, 0, 3, 0}, words);
        break;
    case 10:
        trace_event(block, TBED_TAG_TIME, number % 3, 0); /* not allowed if it is 0 */
        break;
    default:
        trace_event(block, (enum tbed_tag)(TBED_TAG_BEGIN + number % 3), 5, delta);
    }
}

static struct trace large_trace(void)
{
    struct trace trace = trace_make(1 + PAGES);
    uint64_t random = 4711;
    uint32_t sequences[STREAMS] = {0};
    for (uint32_t page = 1; page <= PAGES; page++) {
        uint32_t stream = (uint32_t)(next_random(&random) % STREAMS) % (1 + page % STREAMS);
        struct trace_block block =
            trace_block_begin(&trace, page, TBED_BLOCK_EVENTS, 1 + stream, sequences[stream]++);
        for (uint32_t i = 0; i < EVENTS_PER_PAGE; i++)
            add_event(&block, i % 11 == 10 && page % 50 != 0 ? 31 : i, i % 7 == 3 ? i - 2 : i + page);
        if (page % 10 != 0)
            trace_seal(&block);
    }
    trace_directory(&trace);
    return trace;
}

static void damage_at_random(struct trace *trace, uint64_t random)
{
    for (int i = 0; i < 300; i++) {
        uint32_t page = trace_page(trace, 1 + (uint32_t)(next_random(&random) % PAGES));
        uint8_t *bytes = trace->bytes + (size_t)page * 4096;
        struct tbed_disk_block *block = (struct tbed_disk_block *)bytes;
        uint64_t word = next_random(&random);
        size_t at =
            next_random(&random) % 40 + (i % 4 != 0 ? 8 : 0); /* most of them leave the header intact */
        memcpy(bytes + 8 * at, &word, 8);
        uint32_t used = tbed_le32_load(block->used_nbytes);
        if (i % 3 != 0 && used >= 64 && used <= 4096)
            block->checksum = tbed_le64_make(tbed_block_checksum(bytes, used));
    }
}

struct counts {
    uint64_t events, unknown, decreases;
};

static struct counts count_with_cursors(struct tbed_reader *reader)
{
    struct counts counts = {0};
    for (uint32_t stream = 1; stream <= STREAMS; stream++) {
        struct tbed_cursor *cursor;
        struct tbed_event event;
        uint64_t last_tick = 0;
        assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK) {
            counts.events++;
            counts.unknown += event.type == TBED_EVENT_UNKNOWN;
            counts.decreases += event.tick < last_tick;
            last_tick = event.tick;
        }
        tbed_cursor_close(cursor);
    }
    return counts;
}

static void assert_same_counts(const struct tbed_trace_info *info, const struct tbed_trace_info *other)
{
    assert_int_equal(info->event_count, other->event_count);
    assert_int_equal(info->unknown_event_count, other->unknown_event_count);
    assert_int_equal(info->application_event_count, other->application_event_count);
    assert_int_equal(info->tick_decrease_count, other->tick_decrease_count);
    assert_int_equal(info->interrupted_record_count, other->interrupted_record_count);
}

static enum tbed_status verify(struct tbed_reader *reader, unsigned thread_count)
{
    const struct tbed_verify_options options = {.size = sizeof options, .thread_count = thread_count};
    return tbed_reader_verify_with(reader, &options);
}

/* Returns how many places there are. */
static uint64_t compare(struct trace *trace, unsigned thread_count)
{
    struct tbed_reader *one = trace_open(trace), *many = trace_open(trace);
    struct tbed_trace_info info, info_of_many;
    struct tbed_damage damage, other;
    assert_int_equal(verify(one, 1), verify(many, thread_count));
    tbed_reader_info(one, &info);
    tbed_reader_info(many, &info_of_many);
    assert_same_counts(&info, &info_of_many);
    uint64_t count = tbed_damage_count(one);
    assert_int_equal(tbed_damage_count(many), count);
    for (size_t i = 0; i < count; i++) {
        assert_true(tbed_damage_get(one, i, &damage) && tbed_damage_get(many, i, &other));
        assert_int_equal(damage.status, other.status);
        assert_int_equal(damage.offset, other.offset);
        assert_int_equal(damage.detail, other.detail);
        assert_int_equal(damage.sequence, other.sequence);
    }
    struct counts counts = count_with_cursors(one);
    assert_int_equal(tbed_damage_count(one), count); /* verify has found all that they report */
    assert_int_equal(info.event_count, counts.events);
    assert_int_equal(info.unknown_event_count + info.application_event_count, counts.unknown);
    assert_int_equal(info.tick_decrease_count, counts.decreases);
    tbed_reader_close(one);
    tbed_reader_close(many);
    return count;
}

static void any_number_of_threads_finds_the_same(void **state)
{
    struct trace trace = large_trace();
    (void)state;
    assert_in_range(compare(&trace, 4), 10, PAGES / 10); /* the TIME words that are not allowed */
    for (uint64_t round = 1; round <= 6; round++) {
        damage_at_random(&trace, round * 1234567);
        assert_in_range(compare(&trace, (unsigned)round), 200, 10000);
    }
    trace_free(&trace);
}

static void a_second_verification_counts_anew(void **state)
{
    struct trace trace = large_trace();
    struct tbed_reader *reader = trace_open(&trace);
    struct tbed_trace_info first, second;
    (void)state;
    enum tbed_status status = verify(reader, 2);
    tbed_reader_info(reader, &first);
    uint64_t count = tbed_damage_count(reader);
    assert_int_equal(verify(reader, 0), status);
    tbed_reader_info(reader, &second);
    assert_same_counts(&first, &second);
    assert_int_equal(tbed_damage_count(reader), count);
    tbed_reader_close(reader);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_finds_the_same),
        cmocka_unit_test(a_second_verification_counts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
