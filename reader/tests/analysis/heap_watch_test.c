/*
 * What a heap tells those who follow it: each change of live memory, and each block that ended with all that was ever
 * allocated for it, also if it has shrunk in between.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SITE = 7, OTHER_SITE = 9, BLOCK = 0x1000, MAPPING = 0x10000 };

struct change {
    uint32_t site;
    uint64_t nbytes;
    bool is_more;
};

struct follower {
    struct heap_watch watch; /* first */
    struct change changes[16];
    struct heap_block ended[4];
    size_t change_count, ended_count;
    uint64_t live_nbytes; /* by the changes */
};

static void note_change(struct heap_watch *watch, uint32_t site_id, uint64_t nbytes, bool is_more)
{
    struct follower *follower = (struct follower *)watch;
    assert_true(follower->change_count < 16);
    follower->changes[follower->change_count++] = (struct change){site_id, nbytes, is_more};
    follower->live_nbytes += is_more ? nbytes : -nbytes;
}

static void note_ended(struct heap_watch *watch, const struct heap_block *block)
{
    struct follower *follower = (struct follower *)watch;
    assert_true(follower->ended_count < 4);
    follower->ended[follower->ended_count++] = *block;
}

static void open_followed(struct heap *heap, struct follower *follower)
{
    *follower = (struct follower){.watch = {.ended = note_ended, .change = note_change}};
    tbed_heap_open(heap);
    heap->watch = &follower->watch;
}

static void take(struct heap *heap, struct heap_event event)
{
    static uint64_t tick;
    uint64_t newest = 0;
    event.tick = ++tick;
    assert_true(tbed_heap_take(heap, &event, &newest));
}

static void allocate(struct heap *heap, uint64_t address, uint64_t nbytes, uint32_t site)
{
    take(heap,
         (struct heap_event){.type = TBED_EVENT_ALLOC, .address = address, .nbytes = nbytes, .id = site});
}

static void resize(struct heap *heap, uint64_t address, uint64_t nbytes)
{
    take(heap, (struct heap_event){.type = TBED_EVENT_RESIZE, .address = address, .nbytes = nbytes});
}

static void release(struct heap *heap, uint64_t address)
{
    take(heap, (struct heap_event){.type = TBED_EVENT_FREE, .address = address});
}

static void expect_changes(const struct follower *follower, const struct change *expected, size_t count)
{
    assert_int_equal(follower->change_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(follower->changes[i].site, expected[i].site);
        assert_int_equal(follower->changes[i].nbytes, expected[i].nbytes);
        assert_int_equal(follower->changes[i].is_more, expected[i].is_more);
    }
}

static void each_change_of_live_memory_is_told_with_its_site(void **state)
{
    struct heap heap;
    struct follower follower;
    (void)state;
    open_followed(&heap, &follower);
    allocate(&heap, BLOCK, 100, SITE);
    resize(&heap, BLOCK, 40);
    resize(&heap, BLOCK, 60);
    allocate(&heap, BLOCK, 8, OTHER_SITE); /* replaces it */
    release(&heap, BLOCK);
    static const struct change expected[] = {{SITE, 100, true},     {SITE, 100, false},    {SITE, 40, true},
                                             {SITE, 40, false},     {SITE, 60, true},      {SITE, 60, false},
                                             {OTHER_SITE, 8, true}, {OTHER_SITE, 8, false}};
    expect_changes(&follower, expected, sizeof expected / sizeof *expected);
    assert_int_equal(follower.live_nbytes, 0);
    tbed_heap_close(&heap);
}

static void block_that_shrank_twice_ends_with_all_that_was_allocated(void **state)
{
    struct heap heap;
    struct follower follower;
    (void)state;
    open_followed(&heap, &follower);
    allocate(&heap, BLOCK, 100, SITE);
    resize(&heap, BLOCK, 40);
    resize(&heap, BLOCK, 30);
    resize(&heap, BLOCK, 35);
    release(&heap, BLOCK);
    assert_int_equal(follower.ended_count, 1);
    assert_int_equal(follower.ended[0].nbytes, 105);
    assert_int_equal(heap.shrunk.count, 0);
    tbed_heap_close(&heap);
}

static void block_at_the_address_of_one_that_shrank_has_its_own_size(void **state)
{
    struct heap heap;
    struct follower follower;
    (void)state;
    open_followed(&heap, &follower);
    allocate(&heap, BLOCK, 100, SITE);
    resize(&heap, BLOCK, 40);
    allocate(&heap, BLOCK, 8, SITE);
    release(&heap, BLOCK);
    assert_int_equal(follower.ended_count, 2);
    assert_true(follower.ended[0].is_replaced);
    assert_int_equal(follower.ended[0].nbytes, 100);
    assert_false(follower.ended[1].is_replaced);
    assert_int_equal(follower.ended[1].nbytes, 8);
    tbed_heap_close(&heap);
}

static void live_block_that_shrank_is_listed_with_both_sizes(void **state)
{
    struct heap heap;
    struct follower follower;
    (void)state;
    open_followed(&heap, &follower);
    allocate(&heap, BLOCK, 100, SITE);
    resize(&heap, BLOCK, 40);
    size_t count = 0;
    struct heap_block *blocks = tbed_heap_live(&heap, &count);
    assert_non_null(blocks);
    assert_int_equal(count, 1);
    assert_int_equal(blocks[0].nbytes, 100);
    assert_int_equal(blocks[0].live_nbytes, 40);
    free(blocks);
    tbed_heap_close(&heap);
}

static void what_blocks_shrink_by_is_kept_only_for_those_who_follow_ends(void **state)
{
    struct heap heap;
    struct follower follower;
    (void)state;
    open_followed(&heap, &follower);
    follower.watch.ended = NULL;
    allocate(&heap, BLOCK, 100, SITE);
    resize(&heap, BLOCK, 40);
    assert_int_equal(heap.shrunk.count, 0);
    assert_int_equal(follower.live_nbytes, 40);
    tbed_heap_close(&heap);
}

static void each_part_of_a_mapping_that_goes_is_told(void **state)
{
    struct heap heap;
    struct follower follower;
    (void)state;
    open_followed(&heap, &follower);
    take(&heap,
         (struct heap_event){
             .type = TBED_EVENT_ALLOC, .address = MAPPING, .nbytes = 0x3000, .id = SITE, .is_mapping = true});
    take(&heap, (struct heap_event){
                    .type = TBED_EVENT_FREE, .address = MAPPING, .nbytes = 0x1000, .is_mapping = true});
    assert_int_equal(follower.ended_count, 0);
    take(&heap,
         (struct heap_event){
             .type = TBED_EVENT_FREE, .address = MAPPING + 0x1000, .nbytes = 0x2000, .is_mapping = true});
    static const struct change expected[] = {
        {SITE, 0x3000, true}, {SITE, 0x1000, false}, {SITE, 0x2000, false}};
    expect_changes(&follower, expected, sizeof expected / sizeof *expected);
    assert_int_equal(follower.ended_count, 1);
    assert_int_equal(follower.ended[0].nbytes, 0x3000);
    assert_true(follower.ended[0].is_mapping);
    tbed_heap_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_of_live_memory_is_told_with_its_site),
        cmocka_unit_test(block_that_shrank_twice_ends_with_all_that_was_allocated),
        cmocka_unit_test(block_at_the_address_of_one_that_shrank_has_its_own_size),
        cmocka_unit_test(live_block_that_shrank_is_listed_with_both_sizes),
        cmocka_unit_test(what_blocks_shrink_by_is_kept_only_for_those_who_follow_ends),
        cmocka_unit_test(each_part_of_a_mapping_that_goes_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
