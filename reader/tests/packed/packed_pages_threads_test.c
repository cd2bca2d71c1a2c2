/*
 * A packed file whose pages several threads take at once, forwards and backwards, with and without leases: each sees the
 * bytes of the plain file, also of units that were given back and unpacked again; what stays is still there at the end; a
 * damaged unit is refused to all of them, and costs nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader/core/container/packed_pages.h"

#define PAGE_NBYTES   65536u
#define UNIT_PAGES    16u
#define UNIT_COUNT    96u /* more than are kept, even without those that stay */
#define PAGE_COUNT    (UNIT_COUNT * UNIT_PAGES)
#define DAMAGED_UNIT  40u
#define THREAD_COUNT  4u
#define STAYING_PAGES 97u /* one of so many stays */

_Static_assert((size_t)PAGE_COUNT *PAGE_NBYTES > TBED_PACKED_IDLE_NBYTES, "no unit would be given back");

/* ---- The file ---- */

/* Pages of no known kind, so that they are packed as they are; with something at both ends. */
static void fill_page(uint8_t *page, uint32_t number)
{
    memset(page, 0, PAGE_NBYTES);
    page[0] = 0xFF;
    memcpy(page + 8, &number, sizeof number);
    memcpy(page + PAGE_NBYTES - 8, &number, sizeof number);
}

static size_t put_unit(struct tbed_packer *packer, uint8_t *at, uint32_t number, uint8_t *pages)
{
    uint8_t *blocks[UNIT_PAGES];
    struct tbed_packed_head head = {.count = UNIT_PAGES};
    for (uint32_t i = 0; i < UNIT_PAGES; i++) {
        head.pages[i] = number * UNIT_PAGES + i;
        blocks[i] = pages + (size_t)i * PAGE_NBYTES;
        fill_page(blocks[i], head.pages[i]);
    }
    struct pack_unit unit = {.blocks = blocks, .count = UNIT_PAGES, .block_nbytes = PAGE_NBYTES};
    uint8_t *packed = at + tbed_packed_head_nbytes(UNIT_PAGES);
    head.packed_nbytes = (uint32_t)tbed_unit_pack(packer, &unit, packed);
    head.checksum = tbed_packed_checksum(&head, packed);
    tbed_packed_head_store(at, TBED_PACKED_UNIT_MAGIC, &head);
    if (number == DAMAGED_UNIT)
        packed[head.packed_nbytes / 2] ^= 1;
    return (size_t)tbed_packed_unit_nbytes(&head);
}

/* Without an index, so the units are searched for. */
static uint8_t *make_file(size_t *nbytes_ret)
{
    struct tbed_packed_header header = {.page_nbytes = PAGE_NBYTES,
                                        .plain_nbytes = (uint64_t)PAGE_COUNT * PAGE_NBYTES};
    struct tbed_packer *packer;
    uint8_t *file = calloc(UNIT_COUNT + 2, PAGE_NBYTES), *pages = malloc((size_t)UNIT_PAGES * PAGE_NBYTES);
    size_t at = sizeof(struct tbed_disk_packed_header);
    assert_true(file != NULL && pages != NULL);
    assert_int_equal(tbed_packer_new(&packer), TBED_OK);
    tbed_packed_header_store((struct tbed_disk_packed_header *)file, &header);
    for (uint32_t i = 0; i < UNIT_COUNT; i++) {
        uint8_t *room = malloc((size_t)UNIT_PAGES * PAGE_NBYTES + 1024);
        assert_non_null(room);
        memset(room, 0, 1024);
        size_t nbytes = put_unit(packer, room, i, pages);
        assert_true(at + nbytes <= (size_t)UNIT_COUNT * PAGE_NBYTES);
        memcpy(file + at, room, nbytes);
        at += nbytes;
        free(room);
    }
    tbed_packer_free(packer);
    free(pages);
    *nbytes_ret = at;
    return file;
}

/* ---- The threads ---- */

struct visitor {
    struct tbed_packed *packed;
    pthread_t thread;
    bool goes_back;
    uint32_t wrong, refused, taken;
};

static bool is_right(const struct tbed_packed *packed, uint32_t page)
{
    const uint8_t *bytes = tbed_packed_plain(packed) + (size_t)page * PAGE_NBYTES;
    return bytes[0] == 0xFF && memcmp(bytes + 8, &page, sizeof page) == 0 &&
           memcmp(bytes + PAGE_NBYTES - 8, &page, sizeof page) == 0;
}

static bool stays(uint32_t page)
{
    return page % STAYING_PAGES == STAYING_PAGES / 2;
}

/* Holds its first page while it takes all others. */
static void *visit(void *argument)
{
    struct visitor *visitor = argument;
    uint32_t first = visitor->goes_back ? PAGE_COUNT - 1 : 0;
    struct tbed_lease long_lease;
    tbed_lease_begin(&long_lease, visitor->packed);
    tbed_packed_page_take(visitor->packed, first, false);
    for (uint32_t i = 0; i < PAGE_COUNT; i++) {
        uint32_t page = visitor->goes_back ? PAGE_COUNT - 1 - i : i;
        struct tbed_lease lease;
        tbed_lease_begin(&lease, visitor->packed);
        enum tbed_status status = tbed_packed_page_take(visitor->packed, page, stays(page));
        visitor->refused += status == TBED_ERR_PACKED_UNIT;
        visitor->taken += status == TBED_OK;
        visitor->wrong += status == TBED_OK && !is_right(visitor->packed, page);
        tbed_lease_end(&lease);
    }
    visitor->wrong += !is_right(visitor->packed, first);
    tbed_lease_end(&long_lease);
    return NULL;
}

static void run_visitors(struct tbed_packed *packed, uint32_t back_mask)
{
    struct visitor visitors[THREAD_COUNT];
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        visitors[i] = (struct visitor){.packed = packed, .goes_back = (back_mask >> i & 1) != 0};
        assert_int_equal(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]), 0);
    }
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        pthread_join(visitors[i].thread, NULL);
        assert_int_equal(visitors[i].wrong, 0);
        assert_int_equal(visitors[i].refused, UNIT_PAGES);
        assert_int_equal(visitors[i].taken, PAGE_COUNT - UNIT_PAGES);
    }
}

static void check_staying(const struct tbed_packed *packed)
{
    for (uint32_t page = STAYING_PAGES / 2; page < PAGE_COUNT; page += STAYING_PAGES)
        assert_true(page / UNIT_PAGES == DAMAGED_UNIT || is_right(packed, page));
}

/* ---- The tests ---- */

static void visit_all(uint32_t back_mask)
{
    size_t nbytes;
    uint8_t *file = make_file(&nbytes);
    struct tbed_packed *packed;
    struct tbed_error error;
    assert_int_equal(tbed_packed_open(-1, file, nbytes, &packed, &error), TBED_OK);
    run_visitors(packed, back_mask);
    check_staying(packed);
    tbed_packed_close(packed);
    free(file);
}

static void threads_that_go_forwards_see_all_pages(void **state)
{
    (void)state;
    visit_all(0);
}

static void threads_that_go_backwards_see_all_pages(void **state)
{
    (void)state;
    visit_all((1u << THREAD_COUNT) - 1);
}

static void threads_that_meet_see_all_pages(void **state)
{
    (void)state;
    visit_all(5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_go_forwards_see_all_pages),
        cmocka_unit_test(threads_that_go_backwards_see_all_pages),
        cmocka_unit_test(threads_that_meet_see_all_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
