/*
 * The state that calls leave behind: in the calling thread, the descriptors, recorders, files and pages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "format/file/mark.h"
#include "writer/pages/pages.h"

enum { PAGE_NBYTES = 4096 };

static char path[256];

static struct tbed_writer *open_at(const char *name, struct tbed_writer_options options)
{
    snprintf(path, sizeof path, "%s", test_path(name));
    options.page_nbytes = PAGE_NBYTES;
    options.no_helper = true;
    return test_writer_open(path, &options);
}

static const char *closed_path(unsigned number)
{
    static char name[300];
    snprintf(name, sizeof name, "%s.%06u", path, number);
    return name;
}

static void record(struct tbed_recorder *recorder, int count)
{
    for (int i = 0; i < count; i++)
        tbed_instant_record(recorder, 1);
}

static void succeeds_in_a_child(int (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static uint64_t pages_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    return (uint64_t)status.st_size / PAGE_NBYTES;
}

/* ---- In the thread ---- */

static bool can_be_cancelled(void)
{
    int now, ignored;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &now);
    pthread_setcancelstate(now, &ignored);
    return now == PTHREAD_CANCEL_ENABLE;
}

static void a_thread_can_be_cancelled_after_each_call(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_at("cancel.tbed", (struct tbed_writer_options){.rotate_nbytes = 65536});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    assert_true(can_be_cancelled());
    record(recorder, 20000); /* enough to rotate */
    assert_int_equal(access(closed_path(1), F_OK), 0);
    assert_true(can_be_cancelled());
    assert_int_equal(tbed_rotate(writer, NULL), TBED_OK);
    assert_true(can_be_cancelled());
    assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    assert_true(can_be_cancelled());
    assert_int_equal(tbed_snapshot(writer, test_path("snapshot.tbed"), NULL), TBED_OK);
    assert_true(can_be_cancelled());
    tbed_writer_close(writer);
    assert_true(can_be_cancelled());
    tbed_writer_free(writer);
}

/* ---- In the recorder ---- */

/* With 'saw_close' still set, the next rotation would not wait for a record under way. */
static void a_recorder_that_has_rotated_clears_saw_close(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_at("mark.tbed", (struct tbed_writer_options){.rotate_nbytes = 65536});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    while (access(closed_path(1), F_OK) != 0)
        record(recorder, 1);
    assert_int_equal(recorder->saw_close, 0);
    tbed_writer_free(writer);
}

/* ---- In the folder and the descriptors ---- */

static int rotate_without_standard_input(void)
{
    struct tbed_writer *writer =
        open_at("stdin.tbed", (struct tbed_writer_options){.rotate = true, .rotate_keep = 1});
    close(0);
    for (int i = 0; i < 4; i++)
        if (tbed_rotate(writer, NULL) != TBED_OK)
            return 1;
    return fcntl(0, F_GETFD) >= 0 ? 2 : 0;
}

/* A rotation opens the files that it removes, to check that they are its own. */
static void a_rotation_leaves_no_descriptor_behind(void **state)
{
    (void)state;
    succeeds_in_a_child(rotate_without_standard_input);
}

/* With a low limit of descriptors, the writer cannot move its own to high numbers, and must work with number 0. */
static int work_with_descriptor_0(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .rotate = true, .no_helper = true};
    struct tbed_writer *writer;
    struct tbed_error error;
    struct rlimit limit = {8, 8};
    snprintf(path, sizeof path, "%s", test_path("zero.tbed"));
    close(0);
    setrlimit(RLIMIT_NOFILE, &limit);
    if (tbed_writer_open(path, &options, &writer, &error) != TBED_OK || fcntl(0, F_GETFD) < 0)
        return 1;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    record(recorder, 10);
    if (tbed_rotate(writer, &error) != TBED_OK)
        return 2;
    if (tbed_rotate(writer, &error) != TBED_OK) /* one of the two files has descriptor 0 */
        return 3;
    tbed_writer_free(writer);
    options = (struct tbed_writer_options){.size = sizeof options, .join = true, .no_helper = true};
    if (tbed_writer_open(path, &options, &writer, &error) != TBED_OK || fcntl(0, F_GETFD) < 0)
        return 4;
    tbed_writer_free(writer);
    int fd = open(closed_path(9), O_RDWR | O_CREAT | O_CLOEXEC, 0600), high = fcntl(fd, F_DUPFD_CLOEXEC, 1);
    close(fd);
    if (fd != 0 || tbed_writer_open_fd(high, NULL, &writer, &error) != TBED_OK || fcntl(0, F_GETFD) < 0)
        return 5;
    close(high);
    tbed_writer_free(writer);
    return fcntl(0, F_GETFD) >= 0 ? 6 : 0;
}

static void a_file_may_have_the_descriptor_0(void **state)
{
    (void)state;
    succeeds_in_a_child(work_with_descriptor_0);
}

static struct tbed_writer *with_many_strings(struct tbed_writer_options options)
{
    char text[400];
    struct tbed_writer *writer = open_at("many.tbed", options);
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 300; i++)
        tbed_string_intern(writer, text, sizeof text - (size_t)i);
    return writer;
}

/* The child's file begins with the parent's strings, so it is larger than 64 KiB from the start. */
static void a_childs_file_rotates_when_it_has_doubled(void **state)
{
    (void)state;
    struct tbed_writer *writer = with_many_strings((struct tbed_writer_options){.rotate_nbytes = 65536});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    pid_t child = fork();
    if (child == 0) {
        record(recorder, 5 * 504);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tbed_writer_free(writer);
    snprintf(path + strlen(path), 20, ".%d", (int)child);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(closed_path(1), F_OK), 0);
}

static int rotate_a_full_file(void)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct tbed_writer *writer = open_at("full.tbed", (struct tbed_writer_options){.rotate = true});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    record(recorder, 300000);
    uint64_t before = tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT);
    if (before == 0 || tbed_rotate(writer, NULL) != TBED_OK)
        return 1;
    record(recorder, 40000); /* they fit into the new file */
    return tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT) != 0 ? 2 : 0;
}

static void the_file_after_a_full_one_grows_immediately(void **state)
{
    (void)state;
    succeeds_in_a_child(rotate_a_full_file);
}

/* ---- In the file ---- */

static void strings_between_syncs_take_small_blocks(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_at("syncs.tbed", (struct tbed_writer_options){0});
    for (int i = 0; i < 14; i++) {
        char text[32];
        tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "text %d", i));
        assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    }
    tbed_writer_free(writer);
    assert_true(pages_of(path) <= 6); /* the header page, and seven blocks in each of the others */
}

static void units_of_different_files_are_different(void **state)
{
    (void)state;
    static const uint8_t build_id[4] = {1, 2, 3, 4};
    struct tbed_unit_options options = {.size = sizeof options,
                                        .kind = 1,
                                        .pc_count = 100,
                                        .name = "unit",
                                        .file = "a",
                                        .build_id = build_id,
                                        .build_id_nbytes = sizeof build_id,
                                        .share = true};
    struct tbed_writer *writer = open_at("units.tbed", (struct tbed_writer_options){0});
    struct tbed_writer *other =
        test_writer_open(path, &(struct tbed_writer_options){.join = true, .no_helper = true});
    uint32_t first = tbed_unit_register(writer, &options);
    assert_int_not_equal(first, TBED_ID_INVALID);
    assert_int_equal(tbed_unit_register(other, &options), first);
    options.file = "b";
    assert_int_not_equal(tbed_unit_register(other, &options), first);
    tbed_writer_free(other);
    tbed_writer_free(writer);
}

static void a_location_may_have_the_highest_ids(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_at("frames.tbed", (struct tbed_writer_options){0});
    struct tbed_frame_names frame = {.function_id = TBED_ID_MAX, .file_id = TBED_ID_MAX, .line = 1};
    tbed_location_describe(writer, TBED_ID_MAX, &frame, 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 0);
    frame.file_id++;
    tbed_location_describe(writer, TBED_ID_MAX, &frame, 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 1);
    frame = (struct tbed_frame_names){.function_id = TBED_ID_MAX + 1};
    tbed_location_describe(writer, 1, &frame, 1);
    tbed_location_describe(writer, TBED_ID_MAX + 1, &frame, 0);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 3);
    tbed_writer_free(writer);
}

static void unknown_causes_have_no_drops(void **state)
{
    (void)state;
    struct tbed_writer *writer = open_at("causes.tbed", (struct tbed_writer_options){0});
    tbed_shared(tbed_file_of(writer))->closing_checksum = tbed_le64_make(1); /* what follows the counts */
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_CAUSE_COUNT), 0);
    assert_int_equal(tbed_writer_drop_count(NULL, TBED_DROP_CLOSED), 0);
    tbed_writer_free(writer);
}

/* ---- In the pages of a flight recorder ---- */

/* Returns how many pages have the last block of a stream. Checks that exactly the ended blocks have an age. */
static unsigned last_blocks(void)
{
    unsigned count = 0;
    uint8_t header[PAGE_NBYTES];
    FILE *file = fopen(path, "rb");
    assert_true(file != NULL && fread(header, 1, sizeof header, file) == sizeof header);
    fclose(file);
    for (uint32_t page = 1; page < tbed_directory_first_count(PAGE_NBYTES); page++) {
        const struct tbed_disk_entry *entry =
            (const void *)(header + tbed_directory_entry_offset(PAGE_NBYTES, page));
        assert_int_equal(entry->kind == TBED_BLOCK_EVENTS && entry->state >= TBED_ENTRY_ENDED,
                         tbed_le32_load(entry->age) != 0);
        count += entry->kind == TBED_BLOCK_EVENTS && (tbed_le16_load(entry->flags) & TBED_ENTRY_LAST) != 0;
    }
    return count;
}

/* The pages of threads that have ended are reused first. */
static void the_last_block_of_a_thread_is_marked_in_its_entry(void **state)
{
    (void)state;
    struct tbed_writer *writer =
        open_at("ring.tbed", (struct tbed_writer_options){.ring_nbytes = 12 * PAGE_NBYTES});
    struct tbed_recorder *ended = tbed_recorder_open(writer, "ended"),
                         *other = tbed_recorder_open(writer, "other");
    record(ended, 600);
    record(other, 600);
    assert_int_equal(last_blocks(), 0);
    tbed_recorder_close(ended);
    assert_int_equal(last_blocks(), 1);
    tbed_writer_free(writer);
}

/*
 * The page with the mark may be reused before the others of its thread, so a census marks these too. Here the recorder that
 * goes on takes all free pages, and then looks for one that may be reused.
 */
static void a_census_marks_all_blocks_of_a_thread_that_has_ended(void **state)
{
    (void)state;
    struct tbed_writer *writer =
        open_at("census.tbed", (struct tbed_writer_options){.ring_nbytes = 12 * PAGE_NBYTES});
    struct tbed_recorder *ended = tbed_recorder_open(writer, "ended"),
                         *other = tbed_recorder_open(writer, "other");
    record(ended, 3 * PAGE_NBYTES / 8);
    tbed_recorder_close(ended);
    unsigned most = last_blocks();
    assert_int_equal(most, 1);
    for (unsigned i = 0; i < 12 * PAGE_NBYTES / 8; i++) {
        record(other, 1);
        unsigned now = i % 16 == 0 ? last_blocks() : 0;
        most = now > most ? now : most;
    }
    assert_true(most > 1);
    tbed_writer_free(writer);
}

/* The page may have been reused by another block meanwhile, whose entry must not be marked. */
static void an_entry_is_marked_only_for_its_own_block(void **state)
{
    (void)state;
    static const struct {
        struct tbed_mark now;
        uint32_t stream;
        bool is_marked;
    } cases[] = {
        {{TBED_MARK_HELD, 5, 1}, 7, true},   {{TBED_MARK_RELEASED, 5, 1}, 7, true},
        {{TBED_MARK_TAKEN, 5, 1}, 7, false}, {{TBED_MARK_HELD, 6, 1}, 7, false},
        {{TBED_MARK_HELD, 5, 1}, 8, false},  {{TBED_MARK_NEW, 5, 1}, 7, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        union {
            struct tbed_disk_entry entry;
            uint64_t words[TBED_ENTRY_NBYTES / 8];
        } at = {.entry = {.state = TBED_ENTRY_ENDED,
                          .kind = TBED_BLOCK_EVENTS,
                          .sequence = tbed_le32_make(9),
                          .stream = tbed_le32_make(cases[i].stream)}};
        *tbed_mark_at(&at) = tbed_mark_word(cases[i].now);
        tbed_entry_note_last(&at.entry, 7, (struct tbed_mark){TBED_MARK_HELD, 5, 1});
        assert_int_equal(tbed_le16_load(at.entry.flags), cases[i].is_marked ? TBED_ENTRY_LAST : 0);
        assert_int_equal(at.entry.state, TBED_ENTRY_ENDED);
        assert_int_equal(at.entry.kind, TBED_BLOCK_EVENTS);
        assert_int_equal(tbed_le32_load(at.entry.sequence), 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_can_be_cancelled_after_each_call),
        cmocka_unit_test(a_recorder_that_has_rotated_clears_saw_close),
        cmocka_unit_test(a_rotation_leaves_no_descriptor_behind),
        cmocka_unit_test(a_file_may_have_the_descriptor_0),
        cmocka_unit_test(a_childs_file_rotates_when_it_has_doubled),
        cmocka_unit_test(the_file_after_a_full_one_grows_immediately),
        cmocka_unit_test(strings_between_syncs_take_small_blocks),
        cmocka_unit_test(units_of_different_files_are_different),
        cmocka_unit_test(a_location_may_have_the_highest_ids),
        cmocka_unit_test(unknown_causes_have_no_drops),
        cmocka_unit_test(the_last_block_of_a_thread_is_marked_in_its_entry),
        cmocka_unit_test(a_census_marks_all_blocks_of_a_thread_that_has_ended),
        cmocka_unit_test(an_entry_is_marked_only_for_its_own_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
