/*
 * Opening: which files are refused and why, the file checks of section 12, and files on disk that grow while they are
 *          being read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "reader/tests/core/trace_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder of its own, and a path in it. */
static char folder[64];
static char path[128];

static int folder_make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tracebed-reader-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int folder_remove(void **state)
{
    (void)state;
    unlink(path);
    rmdir(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t nbytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, nbytes), nbytes);
    close(fd);
}

static void expect_open_error(enum tbed_status status, int system_errno)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {0};
    assert_string_equal(tbed_status_name(tbed_reader_open(path, NULL, &reader, &error)),
                        tbed_status_name(status));
    assert_int_equal(error.status, status);
    assert_int_equal(error.system_errno, system_errno);
    assert_null(reader);
}

static void missing_file_is_told_with_errno(void **state)
{
    (void)state;
    expect_open_error(TBED_ERR_OPEN, ENOENT);
}

static void empty_file_is_refused(void **state)
{
    (void)state;
    write_file("", 0);
    expect_open_error(TBED_ERR_EMPTY, 0);
}

static void directory_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    expect_open_error(TBED_ERR_IS_DIRECTORY, 0);
}

static void fifo_without_a_writer_is_refused_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_open_error(TBED_ERR_NOT_REGULAR, 0);
}

static void socket_is_refused(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    expect_open_error(TBED_ERR_NOT_REGULAR, 0);
    close(fd);
}

static void device_is_refused(void **state)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    (void)state;
    assert_int_equal(tbed_reader_open("/dev/null", NULL, &reader, &error), TBED_ERR_NOT_REGULAR);
}

static void options_of_no_size_are_refused(void **state)
{
    struct tbed_reader_options options = {.size = 0};
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    (void)state;
    assert_int_equal(tbed_reader_open("/dev/null", &options, &reader, &error), TBED_ERR_ARGUMENT);
}

static void bytes_that_are_not_aligned_are_refused(void **state)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    struct trace trace = trace_make(1);
    (void)state;
    assert_int_equal(tbed_reader_open_memory(trace.bytes + 4, 4092, NULL, &reader, &error),
                     TBED_ERR_ARGUMENT);
    trace_free(&trace);
}

/* ---- The header ---- */

static void header_page_alone_is_a_trace(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    assert_int_equal(trace_verify(&trace, NULL), TBED_OK);
    trace_shut(&trace);
    assert_int_equal(trace_verify(&trace, NULL), TBED_OK);
    trace_free(&trace);
}

static void every_cut_of_the_header_page_is_refused(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    assert_int_equal(trace_open_status(trace.bytes, 0), TBED_ERR_EMPTY);
    for (size_t nbytes = 1; nbytes < 4096; nbytes++)
        assert_int_equal(trace_open_status(trace.bytes, nbytes), TBED_ERR_HEADER_CUT);
    trace_free(&trace);
}

static void another_magic_is_refused(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    trace.bytes[0] = 'T';
    assert_int_equal(trace_open_status(trace.bytes, trace.nbytes), TBED_ERR_NOT_A_TRACE);
    assert_int_equal(trace_open_status(trace.bytes, 1), TBED_ERR_NOT_A_TRACE);
    trace_free(&trace);
}

/* Changes a 32-bit field of the constant part of the header, corrects the checksum, and expects 'status'. */
static void expect_field(size_t offset, uint32_t value, enum tbed_status status)
{
    struct trace trace = trace_make(1);
    *(tbed_le32 *)(trace.bytes + offset) = tbed_le32_make(value);
    trace_header_mend(&trace);
    assert_string_equal(tbed_status_name(trace_open_status(trace.bytes, trace.nbytes)),
                        tbed_status_name(status));
    trace_free(&trace);
}

static void fields_of_the_header_out_of_range_are_refused(void **state)
{
    (void)state;
    expect_field(8, 2, TBED_ERR_VERSION);
    expect_field(12, 4095, TBED_ERR_PAGE_SIZE);
    expect_field(12, 2048, TBED_ERR_PAGE_SIZE);
    expect_field(12, 2097152, TBED_ERR_PAGE_SIZE);
    expect_field(12, 65536, TBED_ERR_HEADER_CUT);
    expect_field(16, 0x80, TBED_OK); /* a compatible flag that is not known */
    expect_field(24, 1, TBED_ERR_FLAGS);
    expect_field(28, 1, TBED_ERR_FLAGS);
    expect_field(40, 0x1FFFFFFE, TBED_ERR_ID_SPACE);
    expect_field(44, 0, TBED_ERR_ID_SPACE);
    expect_field(48, 0x7FFFFFFF, TBED_ERR_ID_SPACE);
    expect_field(56, 0, TBED_ERR_CLOCK);
    expect_field(56, 5, TBED_ERR_CLOCK);
    expect_field(60, 1, TBED_ERR_HEADER_SIZE);
    expect_field(112, 1000000000, TBED_OK);
    expect_field(112, 1000000001, TBED_ERR_CLOCK);
    expect_field(116, 1, TBED_OK);
    expect_field(116, 5, TBED_ERR_CLOCK);
    expect_field(116, 0x100, TBED_ERR_HEADER_ZERO);
    expect_field(244, 1, TBED_ERR_HEADER_ZERO);
}

static void file_id_of_zero_is_refused(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    trace_header(&trace)->file_id = tbed_le64_make(0);
    trace_header_mend(&trace);
    assert_int_equal(trace_open_status(trace.bytes, trace.nbytes), TBED_ERR_FILE_ID);
    trace_free(&trace);
}

static void every_flipped_bit_of_what_never_changes_is_refused(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    for (size_t bit = 0; bit < 256 * 8; bit++) {
        trace.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(trace_open_status(trace.bytes, trace.nbytes), TBED_OK);
        trace.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    trace_free(&trace);
}

/* ---- The checks that do not prevent reading ---- */

static void expect_damage(struct trace *trace, enum tbed_status status)
{
    uint64_t count;
    assert_string_equal(tbed_status_name(trace_verify(trace, &count)), tbed_status_name(status));
    assert_int_equal(count, 1);
    trace_free(trace);
}

static void unknown_state_is_told(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    trace_header(&trace)->state = tbed_le32_make(0);
    expect_damage(&trace, TBED_ERR_STATE);
}

static void every_flipped_bit_of_a_shut_header_page_is_told(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    trace_shut(&trace);
    for (size_t bit = 256 * 8; bit < 4096 * 8; bit++) {
        trace.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(trace_verify(&trace, NULL), TBED_OK);
        trace.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    trace_free(&trace);
}

static void closing_checksum_that_does_not_match_is_told(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    trace_shut(&trace);
    trace.bytes[4000] = 1; /* in the unit table, which has no checks of its own */
    expect_damage(&trace, TBED_ERR_CLOSING_CHECKSUM);
}

static void reserved_bytes_of_the_shared_region_are_told(void **state)
{
    static const uint32_t offsets[] = {256, 511, 528, 575, 612, 624, 712, 767, 776, 1023};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct trace trace = trace_make(1);
        trace.bytes[offsets[i]] = 1;
        expect_damage(&trace, TBED_ERR_SHARED_ZERO);
    }
}

static void size_that_a_shut_file_was_not_closed_with_is_told(void **state)
{
    struct trace trace = trace_make(2);
    (void)state;
    trace_header(&trace)->page_count = tbed_le64_make(1);
    trace_shut(&trace);
    expect_damage(&trace, TBED_ERR_FILE_SIZE);
}

static void count_of_pages_below_the_ring_is_told(void **state)
{
    struct trace trace = trace_make(1);
    (void)state;
    trace_header(&trace)->ring_page_count = tbed_le32_make(4);
    trace_header_mend(&trace);
    expect_damage(&trace, TBED_ERR_PAGE_COUNT);
    trace = trace_make(1);
    trace_header(&trace)->page_count = tbed_le64_make(0);
    expect_damage(&trace, TBED_ERR_PAGE_COUNT);
    trace = trace_make(1);
    trace_header(&trace)->page_count = tbed_le64_make(UINT64_C(1) << 32);
    expect_damage(&trace, TBED_ERR_PAGE_COUNT);
}

static void blocks_are_read_although_the_count_of_pages_is_impossible(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 1, 1);
    trace_seal(&block);
    trace_header(&trace)->page_count = tbed_le64_make(0);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 1);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void info_says_what_the_header_says(void **state)
{
    struct trace trace = trace_make(1);
    struct tbed_trace_info info;
    (void)state;
    trace_header(&trace)->writer_count = tbed_le64_make(2);
    trace_header(&trace)->drops[TBED_DROP_TOO_LARGE] = tbed_le64_make(77);
    struct tbed_reader *reader = trace_open(&trace);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.file_nbytes, 4096);
    assert_int_equal(info.page_nbytes, 4096);
    assert_int_equal(info.page_count, 1);
    assert_int_equal(info.file_id, TRACE_FILE_ID);
    assert_int_equal(info.writer_count, 2);
    assert_int_equal(info.drops[TBED_DROP_TOO_LARGE], 77);
    assert_int_equal(info.clock, TBED_CLOCK_MONOTONIC);
    assert_false(info.shut);
    assert_int_equal(info.first_tick, 0);
    assert_int_equal(info.last_tick, 0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- Files on disk ---- */

static void file_is_read_mapped_and_copied_alike(void **state)
{
    struct tbed_reader_options copied = {.size = sizeof copied, .copy = true};
    const struct tbed_reader_options *options[] = {NULL, &copied};
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 1, 1);
    trace_seal(&block);
    write_file(trace.bytes, trace.nbytes);
    for (size_t i = 0; i < 2; i++) {
        struct tbed_reader *reader;
        struct tbed_error error;
        assert_int_equal(tbed_reader_open(path, options[i], &reader, &error), TBED_OK);
        assert_int_equal(trace_events(reader, 1, NULL, 0), 1);
        assert_int_equal(tbed_reader_refresh(reader, &error), TBED_OK);
        assert_int_equal(trace_events(reader, 1, NULL, 0), 1);
        tbed_reader_close(reader);
    }
    trace_free(&trace);
}

static void copy_does_not_see_later_changes(void **state)
{
    struct tbed_reader_options options = {.size = sizeof options, .copy = true};
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct tbed_reader *reader;
    struct tbed_error error;
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 1, 1);
    trace_seal(&block);
    write_file(trace.bytes, trace.nbytes);
    assert_int_equal(tbed_reader_open(path, &options, &reader, &error), TBED_OK);
    assert_int_equal(truncate(path, 0), 0); /* would be SIGBUS for a map */
    assert_int_equal(trace_events(reader, 1, NULL, 0), 1);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void file_that_shrinks_is_told_by_refresh(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct tbed_reader *reader;
    struct tbed_error error;
    struct tbed_block read;
    (void)state;
    trace_seal(&block);
    write_file(trace.bytes, trace.nbytes);
    assert_int_equal(tbed_reader_open(path, NULL, &reader, &error), TBED_OK);
    assert_int_equal(truncate(path, 4096), 0);
    assert_int_equal(tbed_reader_refresh(reader, &error), TBED_OK);
    assert_int_equal(tbed_event_block_get(reader, 0, &read), TBED_ERR_BLOCK_CUT);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(tbed_reader_refresh(reader, &error), TBED_ERR_READ);
    tbed_reader_close(reader);
    trace_free(&trace);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_file_is_told_with_errno),
        TEST(empty_file_is_refused),
        TEST(directory_is_refused),
        TEST(fifo_without_a_writer_is_refused_without_waiting),
        TEST(socket_is_refused),
        TEST(device_is_refused),
        TEST(options_of_no_size_are_refused),
        TEST(bytes_that_are_not_aligned_are_refused),
        TEST(header_page_alone_is_a_trace),
        TEST(every_cut_of_the_header_page_is_refused),
        TEST(another_magic_is_refused),
        TEST(fields_of_the_header_out_of_range_are_refused),
        TEST(file_id_of_zero_is_refused),
        TEST(every_flipped_bit_of_what_never_changes_is_refused),
        TEST(unknown_state_is_told),
        TEST(every_flipped_bit_of_a_shut_header_page_is_told),
        TEST(closing_checksum_that_does_not_match_is_told),
        TEST(reserved_bytes_of_the_shared_region_are_told),
        TEST(size_that_a_shut_file_was_not_closed_with_is_told),
        TEST(count_of_pages_below_the_ring_is_told),
        TEST(blocks_are_read_although_the_count_of_pages_is_impossible),
        TEST(info_says_what_the_header_says),
        TEST(file_is_read_mapped_and_copied_alike),
        TEST(copy_does_not_see_later_changes),
        TEST(file_that_shrinks_is_told_by_refresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
