/*
 * Cuts traces at every length: never a crash, all complete pages before the cut are read, and each page behind it that
 * had been begun is reported.
 *
 * The bytes end directly before an inaccessible page, so that a read past the cut is detected.
 *
 * Slow: 13 s; it cuts traces at every length
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"
#include "reader/tests/golden/golden_file.h"

#define PAGES_MAX 16

struct whole {
    struct golden_bytes golden;
    uint32_t page_nbytes;
    uint64_t page_count;
    bool shut;
    size_t events_before[PAGES_MAX + 1]; /* events in the first pages */
};

static void count_events(struct whole *whole, struct tbed_reader *reader)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        for (uint64_t page = event.offset / whole->page_nbytes + 1; page <= PAGES_MAX; page++)
            whole->events_before[page]++;
    tbed_merge_close(merge);
}

static struct whole whole_load(const char *name)
{
    struct whole whole = {.golden = golden_load(name)};
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    enum tbed_status status =
        tbed_reader_open_memory(whole.golden.bytes, whole.golden.nbytes, NULL, &reader, NULL);
    assert_int_equal(status, TBED_OK);
    tbed_reader_info(reader, &info);
    whole.page_nbytes = info.page_nbytes;
    whole.page_count = info.page_count;
    whole.shut = info.shut;
    assert_true(info.page_count <= PAGES_MAX);
    count_events(&whole, reader);
    tbed_reader_close(reader);
    return whole;
}

/* The entry of the damage list at 'index', or OK. */
static enum tbed_status damage_at(const struct tbed_reader *reader, size_t index, uint64_t *offset_ret)
{
    struct tbed_damage damage = {.status = TBED_OK, .offset = UINT64_MAX};
    tbed_damage_get(reader, index, &damage);
    *offset_ret = damage.offset;
    return damage.status;
}

/* Was the page begun? */
static bool is_begun(const struct whole *whole, uint64_t page)
{
    uint64_t offset = tbed_directory_entry_offset(whole->page_nbytes, page);
    return tbed_entry_load(whole->golden.bytes + offset).state >= TBED_ENTRY_BEGUN;
}

static void check_damages(const struct tbed_reader *reader, const struct whole *whole, size_t nbytes)
{
    uint64_t offset, whole_page_count = nbytes / whole->page_nbytes;
    bool is_short = nbytes < whole->page_count * whole->page_nbytes;
    size_t count = 0;
    if (whole->shut && is_short)
        assert_int_equal(damage_at(reader, count++, &offset), TBED_ERR_FILE_SIZE);
    for (uint64_t page = whole_page_count; page < whole->page_count; page++) {
        bool is_cut = page == whole_page_count && (whole->shut || nbytes % whole->page_nbytes != 0);
        if (!is_cut && !is_begun(whole, page))
            continue;
        assert_int_equal(damage_at(reader, count++, &offset), TBED_ERR_BLOCK_CUT);
        assert_int_equal(offset, page * whole->page_nbytes);
    }
    assert_int_equal(tbed_damage_count(reader), count);
}

static void check_opened(struct tbed_reader *reader, const struct whole *whole, size_t nbytes)
{
    check_damages(reader, whole, nbytes);
    assert_int_equal(golden_event_count(reader), whole->events_before[nbytes / whole->page_nbytes]);
}

static void check_refused(const struct tbed_error *error, size_t nbytes)
{
    assert_int_equal(error->status, nbytes == 0 ? TBED_ERR_EMPTY : TBED_ERR_HEADER_CUT);
    assert_int_equal(error->offset, nbytes);
}

static void check_cut(const struct whole *whole, size_t nbytes)
{
    struct golden_bytes cut = golden_alloc(nbytes);
    struct tbed_reader *reader;
    struct tbed_error error = {.status = TBED_OK};
    memcpy(cut.bytes, whole->golden.bytes, nbytes);
    if (tbed_reader_open_memory(cut.bytes, nbytes, NULL, &reader, &error) == TBED_OK) {
        assert_true(nbytes >= whole->page_nbytes);
        check_opened(reader, whole, nbytes);
        tbed_reader_verify(reader);
        tbed_reader_close(reader);
    } else {
        assert_true(nbytes < whole->page_nbytes);
        check_refused(&error, nbytes);
    }
    golden_free(&cut);
}

static void trace_may_be_cut_anywhere(void **state)
{
    struct whole whole = whole_load(*state);
    size_t step = golden_step(11);
    for (size_t nbytes = 0; nbytes <= whole.golden.nbytes; nbytes++)
        if (nbytes % step == 0 || nbytes < 600 || nbytes % whole.page_nbytes <= 80)
            check_cut(&whole, nbytes);
    golden_free(&whole.golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"recorded may be cut anywhere", trace_may_be_cut_anywhere, NULL, NULL, (void *)"valid/recorded"},
        {"recursion may be cut anywhere", trace_may_be_cut_anywhere, NULL, NULL, (void *)"valid/recursion"},
        {"killed may be cut anywhere", trace_may_be_cut_anywhere, NULL, NULL, (void *)"valid/killed"},
    };
    return cmocka_run_group_tests_name("cut traces", tests, NULL, NULL);
}
