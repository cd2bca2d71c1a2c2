/*
 * What small processes leave to those before them: anchors of the clock, which one of all that use an open file stores now
 * and then; and units that a process finds by the loader's name.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include "writer/file/file.h"
#include "writer/life/writer.h"
#include "writer/store/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_US 150000u /* readers use no anchors that are closer together than 100 ms */

/* ---- Anchors ---- */

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Whether a process that is forked now would store one, after it has recorded something. */
static bool child_takes_anchor(struct tbed_writer *writer)
{
    pid_t child = fork();
    if (child == 0) {
        tbed_instant_record(tbed_recorder_open(writer, "child"), 1); /* joins, and stores its anchor */
        _exit(tbed_hold_takes_anchor(tbed_file_of(writer)));
    }
    return status_of(child);
}

static void a_storm_of_children_shares_one_anchor(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("storm.tbed"));
    struct tbed_writer *writer = test_writer_open(path, &(struct tbed_writer_options){.no_helper = true});
    struct tbed_file *file = tbed_file_of(writer);
    tbed_hold_takes_anchor(file); /* now, at the latest */
    unsigned count = 0;
    for (unsigned i = 0; i < 20; i++)
        count += child_takes_anchor(writer);
    assert_in_range(count, 0, 2); /* unless the machine is very slow */
    usleep(LONG_US);
    assert_true(tbed_hold_takes_anchor(file));
    assert_false(tbed_hold_takes_anchor(file));
    usleep(LONG_US);
    assert_false(child_takes_anchor(writer)); /* its first event was with one */
    assert_false(tbed_hold_takes_anchor(file));
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, false)); /* the children did not close it */
    tbed_writer_free(writer);
}

/* The page in which they see it lives as long as one of them. */
static void a_child_outlives_its_parent_with_the_anchors(void **state)
{
    (void)state;
    char path[256];
    int ends[2];
    snprintf(path, sizeof path, "%s", test_path("outlives.tbed"));
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct tbed_writer *writer = test_writer_open(path, &(struct tbed_writer_options){.no_helper = true});
        if (fork() != 0)
            _exit(0); /* as if killed: it does not close */
        struct tbed_recorder *recorder = tbed_recorder_open(writer, "orphan");
        tbed_instant_record(recorder, 1);
        usleep(LONG_US);
        char is_fine = tbed_hold_takes_anchor(tbed_file_of(writer)) && !child_takes_anchor(writer);
        tbed_instant_record(recorder, 2);
        tbed_writer_close(writer);
        _exit(write(ends[1], &is_fine, 1) != 1);
    }
    char is_fine = 0;
    assert_int_equal(status_of(parent), 0);
    assert_int_equal(read(ends[0], &is_fine, 1), 1);
    assert_true(is_fine);
    close(ends[0]);
    close(ends[1]);
    size_t count;
    struct tbed_reader *reader = test_reader_open(path, false);
    free(test_events(reader, test_stream_named(reader, "orphan"), &count));
    assert_int_equal(count, 2);
    tbed_reader_close(reader);
}

/* Flight recorders and series have files or locks of their own: each process compares the clocks. */
static void where_nothing_is_shared_each_process_takes_one(void **state)
{
    (void)state;
    struct tbed_writer_options ring = {.no_helper = true, .ring_nbytes = 1 << 20};
    struct tbed_writer *writer = test_writer_open(test_path("ring.tbed"), &ring);
    for (unsigned i = 0; i < 3; i++)
        assert_true(tbed_hold_takes_anchor(tbed_file_of(writer)));
    tbed_writer_close(writer);
    tbed_writer_free(writer);
}

/* ---- Units ---- */

static struct tbed_unit_options unit_of(const char *file, const char *build_id, uint64_t nbytes)
{
    return (struct tbed_unit_options){.size = sizeof(struct tbed_unit_options),
                                      .kind = TBED_UNIT_NATIVE,
                                      .base = 0x1000,
                                      .pc_count = nbytes,
                                      .name = "libx.so",
                                      .file = file,
                                      .build_id = (const uint8_t *)build_id,
                                      .build_id_nbytes = (uint32_t)strlen(build_id),
                                      .share = true};
}

static void units_are_found_by_another_name_only_if_all_else_is_equal(void **state)
{
    (void)state;
    const char *path = test_path("units.tbed");
    struct tbed_writer_options options = {.size = sizeof options, .join = true, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options), *other;
    struct tbed_unit_options real = unit_of("/real/libx.so", "0123456789", 4096), loaded = real;
    loaded.file = "/link/libx.so";
    assert_int_equal(tbed_unit_look(writer, &loaded), TBED_ID_INVALID);
    uint32_t first_id = tbed_unit_register(writer, &real);
    assert_int_equal(tbed_unit_look(writer, &real), first_id);
    assert_int_equal(tbed_unit_look(writer, &loaded), TBED_ID_INVALID);
    tbed_unit_add_key(writer, &loaded, first_id);
    assert_int_equal(tbed_writer_open(path, &options, &other, NULL), TBED_OK); /* as another program does */
    assert_int_equal(tbed_unit_look(other, &loaded), first_id);
    assert_int_equal(tbed_unit_register(other, &real), first_id);
    struct tbed_unit_options replaced[] = {unit_of("/link/libx.so", "9876543210", 4096),
                                           unit_of("/link/libx.so", "0123456789", 8192),
                                           unit_of("/link/liby.so", "0123456789", 4096)};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(tbed_unit_look(other, &replaced[i]), TBED_ID_INVALID);
    struct tbed_unit_options moved = loaded;
    moved.base = 0x2000;
    assert_int_equal(tbed_unit_look(other, &moved), TBED_ID_INVALID);
    tbed_writer_close(other);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_unit_info info;
    assert_true(tbed_unit_get(reader, 0, &info));
    assert_text(reader, info.file_id, "/real/libx.so");
    assert_false(tbed_unit_get(reader, 1, &info));
    tbed_reader_close(reader);
    tbed_writer_free(other);
    tbed_writer_free(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_storm_of_children_shares_one_anchor),
        cmocka_unit_test(a_child_outlives_its_parent_with_the_anchors),
        cmocka_unit_test(where_nothing_is_shared_each_process_takes_one),
        cmocka_unit_test(units_are_found_by_another_name_only_if_all_else_is_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
