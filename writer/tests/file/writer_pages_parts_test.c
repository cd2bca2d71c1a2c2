/*
 * The pages under a writer, one piece at a time: the queue of pages to be sealed, and the marks and the census of a ring.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/pages/census.h"
#include "writer/pages/pages.h"
#include "writer/pages/ring.h"
#include "writer/tests/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "writer/file/file.h"

/* All pages but the header page are the ring's, and all their entries are in the header page. */
enum { PAGE_NBYTES = 4096, RING_PAGE_COUNT = 15, OUR_PROCESS = 1 };

static uint64_t words[(RING_PAGE_COUNT + 1) * PAGE_NBYTES / 8];
static struct tbed_live live;
static struct tbed_file file;

static int begin(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    memset(&live, 0, sizeof live);
    file = (struct tbed_file){.live = &live,
                              .map = (uint8_t *)words,
                              .map_nbytes = sizeof words,
                              .page_nbytes = PAGE_NBYTES,
                              .page_shift = 12,
                              .fd = -1,
                              .process = {.stream = OUR_PROCESS}};
    return 0;
}

static uint8_t *page_at(uint32_t page)
{
    return file.map + (uint64_t)page * PAGE_NBYTES;
}

static struct tbed_disk_entry *entry_at(uint32_t page)
{
    return tbed_entry_at(file.map, PAGE_NBYTES, page_at(page));
}

static void mark_page(uint32_t page, enum tbed_mark_state state, uint32_t process)
{
    struct tbed_mark mark = {.state = state, .count = 1, .process = process};
    tbed_word_store(tbed_mark_at(entry_at(page)), tbed_mark_word(mark));
}

/* ---- The queue ---- */

static void as_many_pages_as_there_is_room_for_wait_in_order(void **state)
{
    (void)state;
    assert_false(tbed_seal_queue_put(&file, page_at(1), 512)); /* there is no helper */
    file.helper_link.is_running = true;
    assert_false(tbed_seal_queue_put(&file, page_at(1) + 512, 512)); /* a cell */
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < TBED_SEAL_QUEUE_COUNT; i++)
            assert_true(tbed_seal_queue_put(&file, page_at(1 + i % RING_PAGE_COUNT), 512 + 8 * i));
        assert_false(tbed_seal_queue_put(&file, page_at(1), 512));
        for (uint32_t i = 0; i < TBED_SEAL_QUEUE_COUNT; i++) {
            uint64_t page = 1 + i % RING_PAGE_COUNT;
            assert_int_equal(file.seal_queue.slots[i], page << 32 | (512 + 8 * i));
        }
        file.seal_queue.tail += TBED_SEAL_QUEUE_COUNT; /* as if the helper had taken them */
    }
}

/* ---- Marks ---- */

static void a_page_is_ours_only_while_we_hold_it(void **state)
{
    (void)state;
    file.fields.ring_page_count = RING_PAGE_COUNT;
    mark_page(3, TBED_MARK_HELD, OUR_PROCESS);
    assert_true(tbed_ring_owns(&file, page_at(3)));
    mark_page(3, TBED_MARK_RELEASED, OUR_PROCESS);
    assert_false(tbed_ring_owns(&file, page_at(3)));
    mark_page(3, TBED_MARK_HELD, OUR_PROCESS + 1);
    assert_false(tbed_ring_owns(&file, page_at(3)));
}

/* ---- The census ---- */

enum { GIVEN_COUNT = 100 };

static int begin_census(void **state)
{
    struct tbed_error error;
    begin(state);
    file.fields.ring_page_count = RING_PAGE_COUNT;
    tbed_shared(&file)->ring_pages_given = tbed_le64_make(GIVEN_COUNT);
    snprintf(file.path, sizeof file.path, "%s", test_path("census"));
    unlink(file.path);
    file.fd = tbed_file_create(file.path);
    assert_true(file.fd >= 0);
    assert_int_equal(tbed_descriptor_remember(&file, &error), TBED_OK);
    tbed_census_open(&file);
    assert_non_null(file.census);
    return 0;
}

static int end_census(void **state)
{
    (void)state;
    tbed_census_free(&file);
    close(file.fd);
    return 0;
}

/* A block of events that is sealed. */
static struct tbed_disk_entry *put_block(uint32_t page, uint32_t stream, uint32_t sequence, uint32_t age)
{
    struct tbed_disk_entry *entry = entry_at(page);
    entry->state = TBED_ENTRY_SEALED;
    entry->kind = TBED_BLOCK_EVENTS;
    entry->stream = tbed_le32_make(stream);
    entry->sequence = tbed_le32_make(sequence);
    entry->age = tbed_le32_make(age);
    mark_page(page, TBED_MARK_RELEASED, OUR_PROCESS);
    return entry;
}

static void expect_keep(uint32_t page, enum tbed_keep expected)
{
    assert_int_equal(tbed_census_keeps(&file, page, tbed_mark_load(entry_at(page))), expected);
}

/* Half of the ring is for two threads: four blocks for each. */
static void a_living_thread_keeps_its_newest_blocks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        put_block(1 + i, 20, 10 + i, 50);
    put_block(7, 21, 0, 50);
    assert_true(tbed_census_make(&file));
    expect_keep(1, TBED_KEEP_NOTHING);
    expect_keep(2, TBED_KEEP_NOTHING);
    expect_keep(3, TBED_KEEP_LIVING);
    expect_keep(5, TBED_KEEP_LIVING);
    expect_keep(6, TBED_KEEP_NEWEST);
    expect_keep(7, TBED_KEEP_NEWEST);
    expect_keep(8, TBED_KEEP_NOTHING);
}

/* The latest of its blocks counts, wherever in the ring it is. */
static void a_thread_that_ended_keeps_its_blocks_for_half_a_round(void **state)
{
    (void)state;
    put_block(1, 20, 0, 10);
    put_block(2, 20, 1, GIVEN_COUNT - RING_PAGE_COUNT / 2 + 1)->flags = tbed_le16_make(TBED_ENTRY_LAST);
    put_block(3, 21, 1, GIVEN_COUNT - RING_PAGE_COUNT / 2)->flags = tbed_le16_make(TBED_ENTRY_LAST);
    put_block(4, 21, 0, 10);
    assert_true(tbed_census_make(&file));
    expect_keep(1, TBED_KEEP_ENDED);
    expect_keep(2, TBED_KEEP_ENDED);
    expect_keep(3, TBED_KEEP_NOTHING);
    expect_keep(4, TBED_KEEP_NOTHING);
}

/* Both processes have the same slot in the census's table, which has 64. */
static void a_dead_process_does_not_hide_one_that_lives(void **state)
{
    enum { DEAD = 65, ALIVE = 129 };
    struct tbed_file other = {.process = {.stream = ALIVE}};
    (void)state;
    other.fd = open(file.path, O_RDWR | O_CLOEXEC);
    assert_true(other.fd >= 0);
    tbed_process_announce(&other);
    put_block(1, 20, 0, 0)->state = TBED_ENTRY_BEGUN;
    mark_page(1, TBED_MARK_HELD, DEAD);
    put_block(2, 21, 0, 0)->state = TBED_ENTRY_BEGUN;
    mark_page(2, TBED_MARK_HELD, ALIVE);
    assert_true(tbed_census_make(&file));
    expect_keep(1, TBED_KEEP_ENDED);
    expect_keep(2, TBED_KEEP_NEWEST);
    close(other.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(as_many_pages_as_there_is_room_for_wait_in_order, begin),
        cmocka_unit_test_setup(a_page_is_ours_only_while_we_hold_it, begin),
        cmocka_unit_test_setup_teardown(a_living_thread_keeps_its_newest_blocks, begin_census, end_census),
        cmocka_unit_test_setup_teardown(a_thread_that_ended_keeps_its_blocks_for_half_a_round, begin_census,
                                        end_census),
        cmocka_unit_test_setup_teardown(a_dead_process_does_not_hide_one_that_lives, begin_census,
                                        end_census),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
