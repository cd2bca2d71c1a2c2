/*
 * The losses that recovery reports, to the byte and the tick: its LOST records are compared with what the undamaged
 * trace has in the same place.
 *
 * The clock is a counter, so every tick is known. Page 1 has cells; the pages of the thread are adjacent.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/checksum.h"
#include "format/event.h"
#include "format/file/directory.h"
#include "writer/tests/support.h"

enum { PAGE_NBYTES = 4096, CELL_COUNT = 8, EVENT_COUNT = 20000, LOSSES_MAX = 8 };
#define NEVER UINT64_MAX

struct trace {
    uint8_t *bytes;
    size_t nbytes;
};

static struct trace closed, killed; /* with the same events; 'killed' was never closed */
static struct trace synced;         /* with strings in small blocks, so the process has several cells pages */
static struct trace damaged;
static uint64_t now;

static uint64_t next_tick(void)
{
    return now += 10;
}

static struct trace fd_read(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    struct trace trace = {malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    assert_non_null(trace.bytes);
    assert_int_equal(pread(fd, trace.bytes, trace.nbytes, 0), trace.nbytes);
    return trace;
}

static struct trace path_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct trace trace = fd_read(fd);
    close(fd);
    return trace;
}

static void make_synced(void)
{
    const char *path = test_path("synced.tbed");
    struct tbed_writer *writer =
        test_writer_open(path, &(struct tbed_writer_options){.page_nbytes = PAGE_NBYTES, .no_helper = true});
    for (int i = 0; i < 20; i++) {
        char text[32];
        tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "text %d", i));
        assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    }
    tbed_writer_free(writer);
    synced = path_read(path);
}

/* Threads with one event each fill three cells pages. */
static int make_traces(void **state)
{
    (void)state;
    const char *path = test_path("original.tbed");
    struct tbed_writer_options options = {
        .page_nbytes = PAGE_NBYTES, .no_helper = true, .clock = TBED_CLOCK_USER, .user_clock = next_tick};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    for (uint32_t i = 0; i < EVENT_COUNT; i++)
        tbed_instant_record(recorder, 1000 + i);
    for (uint32_t i = 0; i < 20; i++)
        tbed_instant_record(tbed_recorder_open(writer, "short"), 1000 + EVENT_COUNT + i);
    killed = path_read(path);
    tbed_writer_free(writer);
    closed = path_read(path);
    make_synced();
    damaged.bytes = malloc(killed.nbytes + closed.nbytes + synced.nbytes + PAGE_NBYTES);
    return damaged.bytes != NULL ? 0 : -1;
}

static int free_traces(void **state)
{
    (void)state;
    free(closed.bytes);
    free(killed.bytes);
    free(synced.bytes);
    free(damaged.bytes);
    return 0;
}

static void begin_with(const struct trace *trace)
{
    memcpy(damaged.bytes, trace->bytes, trace->nbytes);
    damaged.nbytes = trace->nbytes;
}

static uint8_t *page_at(uint64_t page)
{
    return damaged.bytes + page * PAGE_NBYTES;
}

static struct tbed_block_fields fields_of(uint64_t page)
{
    return tbed_block_load(closed.bytes + page * PAGE_NBYTES);
}

/* Returns the page of the thread's block number CELL_COUNT - 1 + 'number'; those below CELL_COUNT are cells. */
static uint64_t page_of(uint32_t number)
{
    uint32_t sequence = CELL_COUNT - 1 + number;
    for (uint64_t page = 1; page < closed.nbytes / PAGE_NBYTES; page++) {
        struct tbed_block_fields fields = fields_of(page);
        if (fields.kind == TBED_BLOCK_EVENTS && fields.sequence == sequence)
            return page;
    }
    fail();
    return 0;
}

static void zero_page(uint64_t page)
{
    memset(page_at(page), 0, PAGE_NBYTES);
}

static uint8_t *entry_at(uint64_t page)
{
    return damaged.bytes + tbed_directory_entry_offset(PAGE_NBYTES, page);
}

static void zero_entry(uint64_t page)
{
    memset(entry_at(page), 0, TBED_ENTRY_NBYTES);
}

/* Returns the directory page that has the page's entry. */
static uint64_t directory_of(uint64_t page)
{
    return tbed_directory_entry_offset(PAGE_NBYTES, page) / PAGE_NBYTES;
}

/* Restores the state in which the writer left the page when it moved to the next. */
static void unseal(uint64_t page)
{
    struct tbed_disk_block *block = (struct tbed_disk_block *)(void *)page_at(page);
    block->used_nbytes = tbed_le32_make(0);
    block->last_tick = block->checksum = tbed_le64_make(0);
}

static struct tbed_lost_info loss_of(uint64_t page)
{
    struct tbed_block_fields fields = fields_of(page);
    return (struct tbed_lost_info){fields.stream,     (enum tbed_block_kind)fields.kind,
                                   fields.sequence,   1,
                                   fields.first_tick, fields.last_tick,
                                   fields.used_nbytes};
}

/* ---- Recovery ---- */

static int recover(const struct trace *trace, struct tbed_recovery *recovery)
{
    int from = memfd_create("trace", MFD_CLOEXEC), to = memfd_create("recovered", MFD_CLOEXEC);
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(pwrite(from, trace->bytes, trace->nbytes, 0), trace->nbytes);
    assert_int_equal(tbed_trace_recover(from, to, recovery, NULL), TBED_OK);
    close(from);
    return to;
}

static struct trace recovered_bytes(const struct trace *trace)
{
    struct tbed_recovery recovery;
    int fd = recover(trace, &recovery);
    struct trace bytes = fd_read(fd);
    close(fd);
    return bytes;
}

static void check_losses(struct tbed_reader *reader, const struct tbed_lost_info *expected, size_t count)
{
    struct tbed_lost_info lost;
    for (size_t i = 0; i < count; i++) {
        assert_true(tbed_lost_get(reader, i, &lost));
        assert_int_equal(lost.stream, expected[i].stream);
        assert_int_equal(lost.kind, expected[i].kind);
        assert_int_equal(lost.first_sequence, expected[i].first_sequence);
        assert_int_equal(lost.count, expected[i].count);
        assert_int_equal(lost.first_tick, expected[i].first_tick);
        assert_int_equal(lost.last_tick, expected[i].last_tick);
        assert_int_equal(lost.nbytes, expected[i].nbytes);
    }
    assert_false(tbed_lost_get(reader, count, &lost));
}

/* Expects these losses and no others, in this order, and 'drops' incomplete events. */
static void expect_losses(const struct tbed_lost_info *expected, size_t count, uint64_t drops)
{
    struct tbed_recovery recovery;
    struct tbed_reader *reader;
    uint64_t blocks = 0;
    int fd = recover(&damaged, &recovery);
    for (size_t i = 0; i < count; i++)
        blocks += expected[i].kind != TBED_BLOCK_NONE ? expected[i].count : 0;
    assert_int_equal(recovery.loss_count, count);
    assert_int_equal(recovery.lost_block_count, blocks);
    assert_int_equal(recovery.moved_count, 0);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    check_losses(reader, expected, count);
    assert_int_equal(test_drop_count(reader), drops);
    tbed_reader_close(reader);
    close(fd);
}

/* Expects the same recovered trace as without the damage. */
static void expect_nothing_lost(const struct trace *before)
{
    struct trace expected = recovered_bytes(before), found = recovered_bytes(&damaged);
    assert_int_equal(found.nbytes, expected.nbytes);
    assert_memory_equal(found.bytes, expected.bytes, expected.nbytes);
    free(expected.bytes);
    free(found.bytes);
}

/* ---- Missing pages ---- */

static void a_missing_page_is_described_by_its_entry(void **state)
{
    (void)state;
    begin_with(&closed);
    zero_page(page_of(3));
    struct tbed_lost_info lost = loss_of(page_of(3));
    expect_losses(&lost, 1, 0);
}

static void adjacent_missing_pages_are_one_loss(void **state)
{
    (void)state;
    begin_with(&closed);
    struct tbed_lost_info lost = loss_of(page_of(3)), last = loss_of(page_of(5));
    lost.count = 3;
    lost.nbytes += loss_of(page_of(4)).nbytes + last.nbytes;
    lost.last_tick = last.last_tick;
    for (uint32_t i = 3; i <= 5; i++)
        zero_page(page_of(i));
    expect_losses(&lost, 1, 0);
}

static void missing_pages_that_are_not_adjacent_are_two_losses(void **state)
{
    (void)state;
    begin_with(&closed);
    zero_page(page_of(3));
    zero_page(page_of(5));
    expect_losses((struct tbed_lost_info[]){loss_of(page_of(3)), loss_of(page_of(5))}, 2, 0);
}

/* Each page is described both by its entry and by its header, and must be counted once. */
static void adjacent_damaged_pages_are_one_loss(void **state)
{
    (void)state;
    begin_with(&closed);
    struct tbed_lost_info lost = loss_of(page_of(3)), last = loss_of(page_of(4));
    page_at(page_of(3))[100] ^= 1;
    page_at(page_of(4))[100] ^= 1;
    lost.count = 2;
    lost.nbytes += last.nbytes;
    lost.last_tick = last.last_tick;
    expect_losses(&lost, 1, 0);
}

static void a_damaged_page_without_an_entry_is_described_by_its_header(void **state)
{
    (void)state;
    begin_with(&closed);
    page_at(page_of(3))[100] ^= 1;
    zero_entry(page_of(3));
    struct tbed_lost_info lost = loss_of(page_of(3));
    expect_losses(&lost, 1, 0);
}

/* The intact block is chosen. The damaged one, which has another page, adds no missing block. */
static void a_damaged_second_block_of_a_number_is_no_missing_block(void **state)
{
    (void)state;
    begin_with(&closed);
    uint64_t copy = damaged.nbytes / PAGE_NBYTES;
    memcpy(page_at(copy), page_at(page_of(3)), PAGE_NBYTES);
    ((struct tbed_disk_block *)(void *)page_at(copy))->page = tbed_le32_make((uint32_t)copy);
    page_at(copy)[100] ^= 1;
    damaged.nbytes += PAGE_NBYTES;
    struct tbed_lost_info lost = loss_of(page_of(3));
    lost.count = 0;
    expect_losses(&lost, 1, 0);
}

/* ---- Gaps ---- */

static struct tbed_lost_info gap_at(uint32_t number)
{
    struct tbed_lost_info lost = loss_of(page_of(number));
    lost.first_tick = fields_of(page_of(number - 1)).first_tick;
    lost.last_tick = fields_of(page_of(number + 1)).first_tick;
    lost.nbytes = 0;
    return lost;
}

/* The sequence numbers of the neighbours show that a page is missing, and their ticks show when. */
static void a_missing_page_without_an_entry_is_found_by_its_sequence(void **state)
{
    (void)state;
    begin_with(&closed);
    zero_page(page_of(3));
    zero_entry(page_of(3));
    struct tbed_lost_info lost = gap_at(3);
    expect_losses(&lost, 1, 0);
}

static void a_page_with_an_impossible_entry_is_counted(void **state)
{
    (void)state;
    struct tbed_lost_info lost[] = {
        {0, TBED_BLOCK_NONE, 0, 1, 0, NEVER, PAGE_NBYTES},
        gap_at(3),
    };
    begin_with(&closed);
    zero_page(page_of(3));
    memset(entry_at(page_of(3)), 0xFF, TBED_ENTRY_NBYTES);
    expect_losses(lost, 2, 0);
}

/* The counters of an unclosed trace are trusted: they tell how many pages there were. */
static void pages_without_a_directory_page_are_counted(void **state)
{
    (void)state;
    uint64_t directory = directory_of(page_of(30)), page = page_of(30);
    struct tbed_lost_info lost[] = {
        {0, TBED_BLOCK_NONE, 0, 1, 0, NEVER, PAGE_NBYTES},
        gap_at(30),
    };
    assert_true(directory > 0 && directory == directory_of(page + 1));
    begin_with(&killed);
    zero_page(directory);
    expect_losses(NULL, 0, 0);
    zero_page(page);
    expect_losses(lost, 2, 0);
}

/* ---- Parts of a page ---- */

static void an_unsealed_page_is_recovered_completely(void **state)
{
    (void)state;
    begin_with(&closed);
    unseal(page_of(3));
    expect_nothing_lost(&closed);
}

/* The entry has the size of the block. The loss begins at the last event that is left. */
static void only_the_zeroed_end_of_a_page_is_lost(void **state)
{
    (void)state;
    enum { KEPT_NBYTES = 1000 };
    uint64_t page = page_of(3);
    begin_with(&closed);
    unseal(page);
    memset(page_at(page) + KEPT_NBYTES, 0, PAGE_NBYTES - KEPT_NBYTES);
    entry_at(page)[0] = TBED_ENTRY_ENDED;
    struct tbed_lost_info lost = loss_of(page);
    lost.count = 0;
    lost.first_tick += ((KEPT_NBYTES - TBED_BLOCK_HEADER_NBYTES) / 8 - 1) * 10;
    lost.nbytes -= KEPT_NBYTES;
    expect_losses(&lost, 1, 0);
}

/* No entry has the size of the block, so it is unknown how much is lost. */
static void a_damaged_word_ends_an_unsealed_page(void **state)
{
    (void)state;
    begin_with(&killed);
    uint64_t page = 0;
    for (uint64_t i = 1; i < killed.nbytes / PAGE_NBYTES; i++) {
        struct tbed_block_fields fields = tbed_block_load(page_at(i));
        if (fields.kind == TBED_BLOCK_EVENTS && fields.used_nbytes == 0)
            page = i;
    }
    assert_int_not_equal(page, 0);
    expect_losses(NULL, 0, 0);
    struct tbed_lost_info lost = loss_of(page);
    lost.count = 0;
    lost.last_tick = NEVER;
    lost.nbytes = 0;
    memset(page_at(page) + 128, 0x01, 8); /* no event has the tag 0 */
    expect_losses(&lost, 1, 0);
}

/* The first word of a record is stored last, and makes it complete. */
static void an_incomplete_record_is_a_dropped_event(void **state)
{
    (void)state;
    uint64_t page = page_of(3), at = 1000;
    begin_with(&closed);
    unseal(page);
    zero_entry(page);
    memset(page_at(page) + at, 0, PAGE_NBYTES - at);
    page_at(page)[at + 8] = 7;
    expect_losses(NULL, 0, 1);
}

/* ---- Cells ---- */

static void a_missing_cell_is_also_a_loss_of_its_page(void **state)
{
    (void)state;
    struct tbed_block_fields page = fields_of(1);
    uint32_t cell_nbytes = 1u << page.shift;
    assert_int_equal(page.kind, TBED_BLOCK_CELLS);
    for (uint32_t cell = 1; cell < PAGE_NBYTES / cell_nbytes; cell++) {
        uint8_t *at = page_at(1) + cell * cell_nbytes;
        begin_with(&closed);
        struct tbed_block_fields fields = tbed_block_load(at), next = tbed_block_load(at + cell_nbytes);
        if (fields.kind != TBED_BLOCK_EVENTS || fields.used_nbytes != cell_nbytes)
            continue;
        assert_int_equal(next.sequence, 1);
        struct tbed_lost_info lost[] = {
            {fields.stream, TBED_BLOCK_EVENTS, 0, 1, 0, next.first_tick, 0},
            {page.stream, TBED_BLOCK_CELLS, page.sequence, 0, page.first_tick, NEVER, cell_nbytes},
        };
        memset(at, 0, cell_nbytes);
        expect_losses(lost, 2, 0);
        return;
    }
    fail();
}

static uint64_t cells_page_numbered(uint32_t sequence)
{
    for (uint64_t page = 1; page < closed.nbytes / PAGE_NBYTES; page++)
        if (fields_of(page).kind == TBED_BLOCK_CELLS && fields_of(page).sequence == sequence)
            return page;
    fail();
    return 0;
}

static void a_cells_page_without_its_header_is_rebuilt_from_its_entry(void **state)
{
    (void)state;
    for (uint32_t sequence = 0; sequence < 3; sequence++) {
        uint64_t page = cells_page_numbered(sequence);
        begin_with(&closed);
        memset(page_at(page), 0, 1u << fields_of(page).shift);
        expect_nothing_lost(&closed);
    }
}

static void string_page_set(struct tbed_disk_block *block, uint32_t string_page)
{
    uint32_t used_nbytes = tbed_le32_load(block->used_nbytes);
    block->string_page = tbed_le32_make(string_page);
    if (used_nbytes != 0)
        block->checksum = tbed_le64_make(tbed_block_checksum(block, used_nbytes));
}

/* No id of a string is in such a page, so a block that names it counts as missing, whether its entry is there or not. */
static void a_block_with_an_impossible_string_page_is_not_used(void **state)
{
    (void)state;
    uint32_t cell_count = PAGE_NBYTES >> fields_of(1).shift;
    for (uint32_t i = 0; i < 2 * cell_count; i++) {
        size_t at = PAGE_NBYTES + ((i / 2) << fields_of(1).shift);
        uint32_t kind = tbed_block_load(killed.bytes + at).kind;
        if (kind != TBED_BLOCK_CELLS && kind != TBED_BLOCK_STRINGS)
            continue;
        struct trace results[2];
        for (int is_zero = 0; is_zero < 2; is_zero++) {
            begin_with(&killed);
            string_page_set((struct tbed_disk_block *)(void *)(damaged.bytes + at),
                            (uint32_t)((UINT64_C(1) << 32) / PAGE_NBYTES));
            if (is_zero)
                memset(damaged.bytes + at, 0, TBED_BLOCK_HEADER_NBYTES);
            if (i % 2 != 0)
                zero_entry(1);
            results[is_zero] = recovered_bytes(&damaged);
        }
        assert_int_equal(results[0].nbytes, results[1].nbytes);
        assert_memory_equal(results[0].bytes, results[1].bytes, results[0].nbytes);
        free(results[0].bytes);
        free(results[1].bytes);
    }
}

/* The owner of the page is unknown then: the page gets the stream of its first cell, and its sequence is missing. */
static void a_cells_page_without_header_and_entry_loses_only_its_sequence(void **state)
{
    (void)state;
    struct tbed_block_fields first = fields_of(cells_page_numbered(0)),
                             last = fields_of(cells_page_numbered(2));
    uint64_t page = cells_page_numbered(1);
    struct tbed_lost_info lost = {first.stream, TBED_BLOCK_CELLS, 1, 1, first.first_tick, last.first_tick, 0};
    begin_with(&closed);
    memset(page_at(page), 0, 1u << first.shift);
    zero_entry(page);
    expect_losses(&lost, 1, 0);
}

/* Two pages of the process are left; the third gets the missing sequence number. */
static void a_rebuilt_cells_page_takes_the_free_sequence(void **state)
{
    (void)state;
    begin_with(&synced);
    for (uint64_t page = 1; page < synced.nbytes / PAGE_NBYTES; page++) {
        struct tbed_block_fields fields = tbed_block_load(page_at(page));
        if (fields.kind != TBED_BLOCK_CELLS || fields.sequence != 1)
            continue;
        memset(page_at(page), 0, 1u << fields.shift);
        zero_entry(page);
        expect_losses(NULL, 0, 0);
        return;
    }
    fail();
}

/* The entry's checksum does not match, so its sequence number is not used. */
static void an_impossible_entry_gives_its_page_no_sequence(void **state)
{
    (void)state;
    begin_with(&closed);
    memset(page_at(1), 0, 1u << fields_of(1).shift);
    entry_at(1)[4] = 9;
    expect_losses(NULL, 0, 0);
}

/* Page 1 is the first page of a part of the directory. */
static void a_rebuilt_cells_page_has_the_stream_of_its_entry(void **state)
{
    (void)state;
    struct tbed_block_fields page = fields_of(1);
    uint32_t cell = 0, cell_nbytes = 1u << page.shift;
    begin_with(&closed);
    while (tbed_block_load(page_at(1) + cell * cell_nbytes).stream == page.stream)
        cell++;
    memset(page_at(1), 0, cell * cell_nbytes);
    struct trace recovered = recovered_bytes(&damaged);
    struct tbed_block_fields made = tbed_block_load(recovered.bytes + PAGE_NBYTES);
    assert_int_equal(made.kind, TBED_BLOCK_CELLS);
    assert_int_equal(made.stream, page.stream);
    free(recovered.bytes);
}

/* ---- Headers ---- */

/* Shifts all pages by an odd number of bytes, behind a copy of another trace's header. */
static void a_shifted_trace_is_identified_by_most_copies_of_its_header(void **state)
{
    (void)state;
    struct tbed_recovery recovery;
    damaged.bytes[0] = 0;
    memcpy(damaged.bytes + 1, synced.bytes, TBED_HEADER_COPY_NBYTES);
    memcpy(damaged.bytes + 1 + TBED_HEADER_COPY_NBYTES, closed.bytes, closed.nbytes);
    damaged.nbytes = 1 + TBED_HEADER_COPY_NBYTES + closed.nbytes;
    int fd = recover(&damaged, &recovery);
    struct trace recovered = fd_read(fd);
    const struct tbed_disk_header *header = (const void *)recovered.bytes,
                                  *original = (const void *)closed.bytes;
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_COPY);
    assert_int_equal(recovery.loss_count, 0);
    assert_int_equal(tbed_le64_load(header->file_id), tbed_le64_load(original->file_id));
    assert_int_equal(recovered.nbytes, closed.nbytes);
    free(recovered.bytes);
    close(fd);
}

static void a_block_in_place_of_a_directory_page_is_ignored(void **state)
{
    (void)state;
    uint64_t directory = directory_of(page_of(30));
    begin_with(&killed);
    memcpy(page_at(directory), page_at(page_of(3)), PAGE_NBYTES);
    ((struct tbed_disk_block *)(void *)page_at(directory))->page = tbed_le32_make((uint32_t)directory);
    expect_losses(NULL, 0, 0);
}

/*
 * The header of a page has the file id, the page size and the sequence number, which shows what is missing before it.
 */
static void the_header_of_a_page_alone_is_recovered(void **state)
{
    (void)state;
    struct tbed_block_fields fields = fields_of(page_of(3));
    struct tbed_lost_info expected[] = {
        {fields.stream, TBED_BLOCK_EVENTS, 0, fields.sequence, 0, fields.first_tick, 0},
        {fields.stream, TBED_BLOCK_EVENTS, fields.sequence, 0, fields.first_tick, NEVER, 0},
    };
    struct tbed_recovery recovery;
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    begin_with(&closed);
    unseal(page_of(3));
    memmove(damaged.bytes, page_at(page_of(3)), TBED_BLOCK_HEADER_NBYTES);
    damaged.nbytes = TBED_BLOCK_HEADER_NBYTES;
    int fd = recover(&damaged, &recovery);
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_MADE_UP);
    assert_int_equal(recovery.block_count, 1);
    assert_int_equal(recovery.moved_count, 1);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.page_nbytes, PAGE_NBYTES);
    check_losses(reader, expected, 2);
    tbed_reader_close(reader);
    close(fd);
}

/* A header page with a correct checksum says that pages are larger than the file. Readers believe a copy, too. */
static void a_header_page_that_the_file_has_no_room_for_is_not_believed(void **state)
{
    (void)state;
    struct tbed_recovery expected, found;
    begin_with(&closed);
    close(recover(&damaged, &expected));
    struct tbed_disk_header *header = (struct tbed_disk_header *)(void *)damaged.bytes;
    assert_true(damaged.nbytes < TBED_PAGE_NBYTES_MAX);
    header->page_nbytes = tbed_le32_make(TBED_PAGE_NBYTES_MAX);
    header->checksum = tbed_le64_make(tbed_header_checksum(header, TBED_HEADER_FIXED_NBYTES));
    close(recover(&damaged, &found));
    assert_int_equal(found.header, TBED_RECOVERED_HEADER_COPY);
    assert_int_equal(found.block_count, expected.block_count);
    assert_int_equal(found.moved_count, 0);
    assert_int_equal(found.loss_count, 0);
}

/* A block with its correct checksum that is larger than its page comes first, and is no page of a trace. */
static void pages_at_odd_offsets_are_recovered_without_any_copy_of_the_header(void **state)
{
    (void)state;
    enum { BLOCK_COUNT = 3, FALSE_NBYTES = 2 * PAGE_NBYTES };
    struct tbed_recovery recovery;
    begin_with(&closed);
    memcpy(page_at(0), page_at(page_of(2)), FALSE_NBYTES);
    struct tbed_disk_block *block = (struct tbed_disk_block *)(void *)page_at(0);
    block->file_id = tbed_le64_make(99);
    block->used_nbytes = tbed_le32_make(FALSE_NBYTES);
    block->checksum = tbed_le64_make(tbed_block_checksum(page_at(0), FALSE_NBYTES));
    memmove(page_at(0) + 1, page_at(0), FALSE_NBYTES);
    for (uint32_t i = 0; i < BLOCK_COUNT; i++)
        memcpy(page_at(2 + i) + 1, closed.bytes + page_of(3 + i) * PAGE_NBYTES, PAGE_NBYTES);
    damaged.nbytes = FALSE_NBYTES + BLOCK_COUNT * PAGE_NBYTES + 1;
    close(recover(&damaged, &recovery));
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_MADE_UP);
    assert_int_equal(recovery.block_count, BLOCK_COUNT);
}

/* ---- Snapshots of a damaged trace ---- */

static enum tbed_status snapshot(struct tbed_reader **reader_ret, struct tbed_error *error)
{
    int from = memfd_create("trace", MFD_CLOEXEC), to = memfd_create("snapshot", MFD_CLOEXEC);
    uint64_t left_out;
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(pwrite(from, damaged.bytes, damaged.nbytes, 0), damaged.nbytes);
    enum tbed_status status = tbed_trace_snapshot(from, to, &left_out, error);
    if (status == TBED_OK) {
        assert_int_equal(left_out, 1);
        assert_int_equal(tbed_reader_open_fd(to, NULL, reader_ret, NULL), TBED_OK);
    }
    close(from);
    close(to);
    return status;
}

/* An entry with a stream that was never begun is not trusted, so nothing is known about its page. */
static void a_page_of_a_stream_that_never_existed_is_counted(void **state)
{
    (void)state;
    struct tbed_lost_info unknown = {0, TBED_BLOCK_NONE, 0, 1, 0, NEVER, 0};
    struct tbed_reader *reader;
    struct tbed_error error;
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        begin_with(&killed);
        uint64_t next =
            tbed_le64_load(((const struct tbed_disk_header *)(const void *)damaged.bytes)->next_stream);
        struct tbed_disk_entry *entry = (struct tbed_disk_entry *)(void *)entry_at(page_of(3));
        zero_page(page_of(3));
        entry->state = TBED_ENTRY_BEGUN;
        entry->stream = tbed_le32_make((uint32_t)next + beyond);
        assert_int_equal(snapshot(&reader, &error), TBED_OK);
        check_losses(reader, &unknown, 1);
        tbed_reader_close(reader);
    }
}

/* The entries of pages 17 and later are in page 16, so only page 15 is known to be missing. */
static void pages_behind_a_cut_are_reported_as_far_as_their_entries_are_there(void **state)
{
    (void)state;
    struct tbed_reader *reader;
    struct tbed_error error;
    begin_with(&killed);
    assert_int_equal(directory_of(17), 16);
    damaged.nbytes = 15 * PAGE_NBYTES;
    assert_int_equal(snapshot(&reader, &error), TBED_OK);
    struct tbed_lost_info lost;
    assert_true(tbed_lost_get(reader, 0, &lost));
    assert_int_equal(lost.first_sequence, fields_of(15).sequence);
    assert_int_equal(lost.count, 1);
    assert_false(tbed_lost_get(reader, 1, &lost));
    tbed_reader_close(reader);
}

static void a_snapshot_has_the_highest_string_page_that_is_possible(void **state)
{
    (void)state;
    uint32_t last = (uint32_t)((UINT64_C(1) << 32) / PAGE_NBYTES) - 2, cell_nbytes = 1u << fields_of(1).shift;
    uint64_t left_out;
    begin_with(&killed);
    ((struct tbed_disk_header *)(void *)damaged.bytes)->next_string_page = tbed_le64_make(last + 1);
    for (uint32_t cell = 0; cell < PAGE_NBYTES / cell_nbytes; cell++) {
        struct tbed_disk_block *block = (struct tbed_disk_block *)(void *)(page_at(1) + cell * cell_nbytes);
        if (block->kind == TBED_BLOCK_CELLS || block->kind == TBED_BLOCK_STRINGS)
            string_page_set(block, last);
    }
    int from = memfd_create("trace", MFD_CLOEXEC), to = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(pwrite(from, damaged.bytes, damaged.nbytes, 0), damaged.nbytes);
    assert_int_equal(tbed_trace_snapshot(from, to, &left_out, NULL), TBED_OK);
    assert_int_equal(left_out, 0);
    close(from);
    close(to);
}

static void an_impossible_page_count_is_reported_with_its_offset(void **state)
{
    (void)state;
    struct tbed_error error;
    begin_with(&killed);
    ((struct tbed_disk_header *)(void *)damaged.bytes)->page_count = tbed_le64_make(0);
    assert_int_equal(snapshot(NULL, &error), TBED_ERR_PAGE_COUNT);
    assert_int_equal(error.offset, offsetof(struct tbed_disk_header, page_count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_page_is_described_by_its_entry),
        cmocka_unit_test(adjacent_missing_pages_are_one_loss),
        cmocka_unit_test(missing_pages_that_are_not_adjacent_are_two_losses),
        cmocka_unit_test(adjacent_damaged_pages_are_one_loss),
        cmocka_unit_test(a_damaged_page_without_an_entry_is_described_by_its_header),
        cmocka_unit_test(a_damaged_second_block_of_a_number_is_no_missing_block),
        cmocka_unit_test(a_missing_page_without_an_entry_is_found_by_its_sequence),
        cmocka_unit_test(a_page_with_an_impossible_entry_is_counted),
        cmocka_unit_test(pages_without_a_directory_page_are_counted),
        cmocka_unit_test(an_unsealed_page_is_recovered_completely),
        cmocka_unit_test(only_the_zeroed_end_of_a_page_is_lost),
        cmocka_unit_test(a_damaged_word_ends_an_unsealed_page),
        cmocka_unit_test(an_incomplete_record_is_a_dropped_event),
        cmocka_unit_test(a_missing_cell_is_also_a_loss_of_its_page),
        cmocka_unit_test(a_cells_page_without_its_header_is_rebuilt_from_its_entry),
        cmocka_unit_test(a_block_with_an_impossible_string_page_is_not_used),
        cmocka_unit_test(a_cells_page_without_header_and_entry_loses_only_its_sequence),
        cmocka_unit_test(a_rebuilt_cells_page_takes_the_free_sequence),
        cmocka_unit_test(an_impossible_entry_gives_its_page_no_sequence),
        cmocka_unit_test(a_rebuilt_cells_page_has_the_stream_of_its_entry),
        cmocka_unit_test(a_shifted_trace_is_identified_by_most_copies_of_its_header),
        cmocka_unit_test(a_block_in_place_of_a_directory_page_is_ignored),
        cmocka_unit_test(the_header_of_a_page_alone_is_recovered),
        cmocka_unit_test(a_header_page_that_the_file_has_no_room_for_is_not_believed),
        cmocka_unit_test(pages_at_odd_offsets_are_recovered_without_any_copy_of_the_header),
        cmocka_unit_test(a_page_of_a_stream_that_never_existed_is_counted),
        cmocka_unit_test(pages_behind_a_cut_are_reported_as_far_as_their_entries_are_there),
        cmocka_unit_test(a_snapshot_has_the_highest_string_page_that_is_possible),
        cmocka_unit_test(an_impossible_page_count_is_reported_with_its_offset),
    };
    return cmocka_run_group_tests(tests, make_traces, free_traces);
}
