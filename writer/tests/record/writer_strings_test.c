/*
 * The string table as the writer makes it, read back by the reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void interning_twice_gives_one_id(void **state)
{
    (void)state;
    const char *path = test_path("intern.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t first = tbed_string_intern(writer, "alpha", 5);
    assert_int_equal(tbed_string_intern(writer, "alpha", 5), first);
    assert_int_not_equal(tbed_string_intern(writer, "alphb", 5), first);
    uint32_t empty = tbed_string_intern(writer, "", 0);
    uint32_t with_nul = tbed_string_intern(writer, "a\0b", 3);
    assert_int_not_equal(with_nul, tbed_string_intern(writer, "a", 1));
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    assert_text(reader, first, "alpha");
    assert_text(reader, empty, "");
    char buffer[8];
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, with_nul, buffer, sizeof buffer, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 3);
    assert_memory_equal(buffer, "a\0b", 4);
    tbed_reader_close(reader);
}

/* The table grows beyond its first size; every id still means its own text. */
static void ten_thousand_strings_keep_their_ids(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    const char *path = test_path("many.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t *ids = calloc(COUNT, sizeof *ids);
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            int nbytes = snprintf(text, sizeof text, "string %d", i * 7919);
            uint32_t id = tbed_string_intern(writer, text, (size_t)nbytes);
            assert_true(round == 0 || id == ids[i]);
            ids[i] = id;
        }
    }
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "string %d", i * 7919);
        assert_text(reader, ids[i], text);
    }
    tbed_reader_close(reader);
    free(ids);
}

static void components_are_stored_as_the_seed_says(void **state)
{
    (void)state;
    const char *path = test_path("components.tbed");
    struct tbed_writer_options options = {.first_reserved_id = 100};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_component parts[] = {{.text = "abc", .nbytes = 3}, {.id = 42}, {.text = "def", .nbytes = 3}};
    uint32_t composed = tbed_string_alloc(writer, parts, 3);
    assert_true(tbed_id_reserve(writer, 1) >= 100);
    tbed_id_bind(writer, 42, 1, tbed_string_intern(writer, "-late-", 6));
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_string_component component;
    uint32_t at = 0;
    assert_int_equal(tbed_string_component_next(reader, composed, &at, &component), TBED_OK);
    assert_false(component.is_reference);
    static const uint8_t expected[] = {'a', 'b', 'c', 128, 0, 0, 42, 'd', 'e', 'f', 255};
    assert_memory_equal(component.text, expected, sizeof expected);
    assert_int_equal(tbed_string_component_next(reader, composed, &at, &component), TBED_OK);
    assert_true(component.is_reference);
    assert_int_equal(component.id, 42);
    assert_text(reader, composed, "abc-late-def");
    tbed_reader_close(reader);
}

static void bytes_that_are_not_utf8_are_escaped(void **state)
{
    (void)state;
    const char *path = test_path("bad.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t latin = tbed_string_intern(writer, "caf\xE9", 4);
    assert_int_equal(tbed_string_intern(writer, "caf\xE9", 4), latin);
    uint32_t cut = tbed_string_intern(writer, "\xE2\x82", 2);
    uint32_t euro = tbed_string_intern(writer, "\xE2\x82\xAC", 3);
    uint32_t surrogate = tbed_string_intern(writer, "\xED\xA0\x80!", 4);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_text(reader, latin, "caf\\xE9");
    assert_text(reader, cut, "\\xE2\\x82");
    assert_text(reader, euro, "\xE2\x82\xAC");
    assert_text(reader, surrogate, "\\xED\\xA0\\x80!");
    tbed_reader_close(reader);
}

/* Longer than any block: several entries behind one id, code points never cut in two. */
static void strings_longer_than_a_page_come_back_whole(void **state)
{
    (void)state;
    const char *path = test_path("long.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    static const size_t sizes[] = {3000, 4022, 4023, 4024, 4025, 8100, 100000, 1000000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    char *text = malloc(1000000);
    uint32_t ids[COUNT];
    for (size_t i = 0; i < 999999; i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 3);
    text[999999] = 'x';
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = tbed_string_intern(writer, text, sizes[i] / 3 * 3);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    char *buffer = malloc(1000001);
    for (size_t i = 0; i < COUNT; i++) {
        size_t nbytes;
        assert_int_equal(tbed_string_resolve(reader, ids[i], buffer, 1000001, &nbytes), TBED_OK);
        assert_int_equal(nbytes, sizes[i] / 3 * 3);
        assert_memory_equal(buffer, text, nbytes);
    }
    tbed_reader_close(reader);
    free(buffer);
    free(text);
}

static void lists_of_components_longer_than_a_page_come_back_whole(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    const char *path = test_path("longlist.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_component *parts = calloc(COUNT, sizeof *parts);
    uint32_t x = tbed_string_intern(writer, "x", 1);
    for (size_t i = 0; i < COUNT; i++)
        parts[i] = i % 2 != 0 ? (struct tbed_component){.id = x}
                              : (struct tbed_component){.text = "yz", .nbytes = 2};
    uint32_t id = tbed_string_alloc(writer, parts, COUNT);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    char *buffer = malloc(COUNT * 2);
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, id, buffer, COUNT * 2, &nbytes), TBED_OK);
    assert_int_equal(nbytes, COUNT / 2 * 3);
    for (size_t i = 0; i < nbytes; i++)
        assert_int_equal(buffer[i], "yzx"[i % 3]);
    tbed_reader_close(reader);
    free(buffer);
    free(parts);
}

static void reserved_ids_are_bound_late_singly_in_ranges_and_in_lists(void **state)
{
    (void)state;
    enum { LISTED = 1000 };
    const char *path = test_path("reserved.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t single = tbed_id_reserve(writer, 1);
    uint32_t range = tbed_id_reserve(writer, 50);
    uint32_t listed = tbed_id_reserve(writer, LISTED);
    uint32_t never = tbed_id_reserve(writer, 1);
    assert_int_equal(range, single + 1);
    assert_int_equal(listed, range + 50);
    uint32_t ids[LISTED], strings[LISTED];
    char text[16];
    for (uint32_t i = 0; i < LISTED; i++) {
        ids[i] = listed + i;
        strings[i] = tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "n%u", i));
    }
    tbed_id_bind_list(writer, ids, strings, LISTED);
    tbed_id_bind(writer, single, 1, strings[0]);
    tbed_id_bind(writer, single, 1, strings[1]); /* the last one counts */
    tbed_id_bind(writer, range, 50, strings[2]);
    tbed_metadata_set(writer, "{\"a\":1}", 7);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    assert_text(reader, single, "n1");
    assert_text(reader, range, "n2");
    assert_text(reader, range + 49, "n2");
    assert_text(reader, listed + 999, "n999");
    assert_text(reader, TBED_ID_METADATA, "{\"a\":1}");
    char buffer[32];
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, never, buffer, sizeof buffer, &nbytes),
                     TBED_ERR_STRING_UNBOUND);
    tbed_reader_close(reader);
}

static void what_cannot_be_bound_is_counted_and_left_out(void **state)
{
    (void)state;
    const char *path = test_path("unbindable.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t first = tbed_id_reserve(writer, 2);
    uint32_t text = tbed_string_intern(writer, "text", 4);
    uint32_t ids[] = {first, TBED_ID_INVALID, UINT32_MAX, first + 1};
    uint32_t strings[] = {text, text, text, UINT32_MAX};
    tbed_id_bind(writer, UINT32_MAX, 1, text);
    tbed_id_bind(writer, first, 0x20000001, text);
    tbed_id_bind(writer, first, 0, text);
    tbed_id_bind_list(writer, ids, strings, 4);
    tbed_unit_load_record(writer, UINT32_MAX, 1, 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 6);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_binding_info binding;
    assert_true(tbed_binding_get(reader, 0, &binding));
    assert_int_equal(binding.first_id, first);
    assert_false(tbed_binding_get(reader, 1, &binding));
    tbed_reader_close(reader);
}

/* Exhausted ids are a counted drop and INVALID, for good; no id is ever handed out twice. */
static void ids_run_out_without_wrapping(void **state)
{
    (void)state;
    const char *path = test_path("exhausted.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    assert_int_equal(tbed_id_reserve(writer, 0x10000000), 0);
    assert_int_equal(tbed_id_reserve(writer, 0x10000001), TBED_ID_INVALID);
    assert_int_equal(tbed_id_reserve(writer, 0x0FFFFFFF), 0x10000000);
    assert_int_equal(tbed_id_reserve(writer, 1), TBED_ID_MAX_RESERVED);
    assert_int_equal(tbed_id_reserve(writer, 1), TBED_ID_INVALID);
    assert_int_equal(tbed_id_reserve(writer, 0), TBED_ID_INVALID);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_IDS_EXHAUSTED), 3);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
}

/* More references than an entry holds: one level more, and no end to it. */
static void strings_of_more_parts_than_an_entry_holds_come_back_whole(void **state)
{
    (void)state;
    enum { NBYTES = 10000000, COUNT = 300000 };
    const char *path = test_path("huge.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096};
    struct tbed_writer *writer = test_writer_open(path, &options);
    char *text = malloc(NBYTES), *buffer = malloc(NBYTES + 1);
    struct tbed_component *parts = calloc(COUNT, sizeof *parts);
    for (size_t i = 0; i < NBYTES; i++)
        text[i] = (char)('a' + i * 31 % 25);
    for (size_t i = 0; i < COUNT; i++)
        parts[i] = (struct tbed_component){.text = text + i, .nbytes = 1};
    uint32_t long_id = tbed_string_intern(writer, text, NBYTES);
    assert_int_equal(tbed_string_intern(writer, text, NBYTES), long_id);
    uint32_t list_id = tbed_string_alloc(writer, parts, COUNT);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, long_id, buffer, NBYTES + 1, &nbytes), TBED_OK);
    assert_int_equal(nbytes, NBYTES);
    assert_true(memcmp(buffer, text, NBYTES) == 0);
    assert_int_equal(tbed_string_resolve(reader, list_id, buffer, NBYTES + 1, &nbytes), TBED_OK);
    assert_int_equal(nbytes, COUNT);
    assert_true(memcmp(buffer, text, COUNT) == 0);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
    free(parts);
    free(buffer);
    free(text);
}

/* A string that is cut off by the limit costs one drop, of the limit's cause, and gives no id. */
static void a_string_without_room_is_one_drop_and_no_id(void **state)
{
    (void)state;
    enum { NBYTES = 1 << 20 };
    const char *path = test_path("noroom.tbed");
    struct tbed_writer_options options = {.page_nbytes = 4096, .max_file_nbytes = 1 << 19};
    struct tbed_writer *writer = test_writer_open(path, &options);
    char *text = malloc(NBYTES);
    memset(text, 'x', NBYTES);
    uint32_t before = tbed_string_intern(writer, "before", 6);
    uint32_t reserved = tbed_id_reserve(writer, 1);
    struct tbed_component component = {.text = text, .nbytes = NBYTES};
    assert_int_equal(tbed_string_intern(writer, text, NBYTES), TBED_ID_INVALID);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT), 1);
    assert_false(tbed_string_alloc_reserved(writer, reserved, &component, 1));
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT), 2);
    assert_int_equal(tbed_string_intern(writer, "before", 6), before);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_binding_info binding;
    assert_text(reader, before, "before");
    assert_false(tbed_binding_get(reader, 0, &binding));
    assert_int_equal(test_drop_count(reader), 2);
    tbed_reader_close(reader);
    free(text);
}

static void a_string_after_the_close_is_one_drop_and_no_id(void **state)
{
    (void)state;
    struct tbed_writer *writer = test_writer_open(test_path("closed.tbed"), NULL);
    tbed_writer_close(writer);
    assert_int_equal(tbed_string_intern(writer, "after", 5), TBED_ID_INVALID);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_CLOSED), 1);
    tbed_writer_free(writer);
}

/* Ids of the application's own, handed out ones, METADATA; before or after what refers to them. */
static void strings_are_allocated_under_reserved_ids(void **state)
{
    (void)state;
    const char *path = test_path("under.tbed");
    struct tbed_writer_options options = {.first_reserved_id = 1000};
    struct tbed_writer *writer = test_writer_open(path, &options);
    uint32_t handed_out = tbed_id_reserve(writer, 1);
    struct tbed_component parts[] = {
        {.text = "<", .nbytes = 1}, {.id = handed_out}, {.id = 999}, {.text = ">", .nbytes = 1}};
    struct tbed_component one = {.text = "one", .nbytes = 3}, two = {.text = "two", .nbytes = 3};
    assert_true(tbed_string_alloc_reserved(writer, 7, parts, 4));
    assert_true(tbed_string_alloc_reserved(writer, handed_out, &one, 1));
    assert_true(tbed_string_alloc_reserved(writer, 999, &one, 1));
    assert_true(tbed_string_alloc_reserved(writer, 999, &two, 1)); /* the last one counts */
    assert_true(tbed_string_alloc_reserved(writer, 0, NULL, 0));
    assert_true(tbed_string_alloc_reserved(writer, TBED_ID_MAX_RESERVED, &two, 1));
    assert_true(tbed_string_alloc_reserved(writer, TBED_ID_METADATA, &one, 1));
    assert_false(tbed_string_alloc_reserved(writer, TBED_ID_INVALID, &one, 1));
    assert_false(tbed_string_alloc_reserved(writer, TBED_ID_MAX, &one, 1));
    assert_false(tbed_string_alloc_reserved(writer, UINT32_MAX, &one, 1));
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_TOO_LARGE), 3);
    tbed_writer_close(writer);
    assert_false(tbed_string_alloc_reserved(writer, 7, &one, 1));
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_text(reader, 7, "<onetwo>");
    assert_text(reader, 0, "");
    assert_text(reader, TBED_ID_MAX_RESERVED, "two");
    assert_text(reader, TBED_ID_METADATA, "one");
    tbed_reader_close(reader);
}

/* A label and its arguments, which are references: what repeats is stored once. */
static void event_ids_are_a_label_and_arguments(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    const char *path = test_path("eventid.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t label = tbed_string_intern(writer, "typeck", 6),
             argument = tbed_string_intern(writer, "foo::bar", 8);
    uint32_t late = tbed_id_reserve(writer, 1);
    uint32_t arguments[] = {argument, late, label};
    uint32_t *many = calloc(MANY, sizeof *many);
    for (size_t i = 0; i < MANY; i++)
        many[i] = label;
    uint32_t none = tbed_event_id_alloc(writer, label, NULL, 0);
    uint32_t three = tbed_event_id_alloc(writer, label, arguments, 3);
    uint32_t eight = tbed_event_id_alloc(writer, label, many, 8),
             nine = tbed_event_id_alloc(writer, label, many, 9);
    uint32_t all = tbed_event_id_alloc(writer, late, many, MANY);
    assert_int_equal(tbed_event_id_alloc(writer, label, many, SIZE_MAX / 8), TBED_ID_INVALID);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_NO_MEMORY), 1);
    assert_int_equal(tbed_event_id_alloc(NULL, label, arguments, 3), TBED_ID_INVALID);
    tbed_id_bind(writer, late, 1, argument);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_string_component component;
    uint32_t at = 0;
    assert_text(reader, none, "typeck");
    assert_text(reader, three,
                "typeck\x1E"
                "foo::bar\x1E"
                "foo::bar\x1E"
                "typeck");
    assert_text(reader, eight,
                "typeck\x1Etypeck\x1Etypeck\x1Etypeck\x1Etypeck\x1Etypeck\x1Etypeck\x1Etypeck\x1Etypeck");
    assert_int_equal(tbed_string_component_next(reader, three, &at, &component), TBED_OK);
    assert_true(component.is_reference);
    assert_int_equal(component.id, label);
    assert_int_equal(tbed_string_component_next(reader, three, &at, &component), TBED_OK);
    assert_false(component.is_reference);
    assert_int_equal(component.nbytes, 1);
    char *buffer = malloc(MANY * 8);
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, nine, buffer, MANY * 8, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 6 + 9 * 7);
    assert_int_equal(tbed_string_resolve(reader, all, buffer, MANY * 8, &nbytes), TBED_OK);
    assert_int_equal(nbytes, 8 + MANY * 7);
    tbed_reader_close(reader);
    free(buffer);
    free(many);
}

/* ---- Who binds ---- */

struct late {
    struct tbed_writer *writer;
    uint32_t first, count;
};

static void *bind_each(void *argument)
{
    const struct late *late = argument;
    char text[32];
    for (uint32_t i = 0; i < late->count; i++) {
        uint32_t id =
            tbed_string_intern(late->writer, text, (size_t)snprintf(text, sizeof text, "late %u", i));
        tbed_id_bind(late->writer, late->first + i, 1, id);
    }
    return NULL;
}

static void assert_bound(struct tbed_reader *reader, uint32_t first, uint32_t count)
{
    char text[32];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "late %u", i);
        assert_text(reader, first + i, text);
    }
}

/* Recorded with ids that mean nothing yet; another thread knows what they mean. */
static void another_thread_binds_late(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    const char *path = test_path("latethread.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct late late = {writer, tbed_id_reserve(writer, COUNT), COUNT};
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "early");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, bind_each, &late), 0);
    for (uint32_t i = 0; i < COUNT; i++)
        tbed_instant_record(recorder, late.first + i);
    pthread_join(thread, NULL);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_bound(reader, late.first, COUNT);
    tbed_reader_close(reader);
}

/* A process that joined: ids are the file's, so what one reserved another may bind, and none gets them twice. */
static void another_process_binds_late(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    const char *path = test_path("lateprocess.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t first = tbed_id_reserve(writer, COUNT);
    struct tbed_component parts[] = {
        {.text = "(", .nbytes = 1}, {.id = first + 9}, {.text = ")", .nbytes = 1}};
    uint32_t composed = tbed_string_alloc(writer, parts, 3);
    pid_t child = fork();
    if (child == 0) {
        struct tbed_writer_options join = {.join = true};
        struct late late = {test_writer_open(path, &join), first, COUNT};
        bind_each(&late);
        bool is_apart = tbed_id_reserve(late.writer, 10) == first + COUNT;
        tbed_writer_close(late.writer);
        _exit(is_apart ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(tbed_id_reserve(writer, 1), first + COUNT + 10);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_bound(reader, first, COUNT);
    assert_text(reader, composed, "(late 9)");
    tbed_reader_close(reader);
}

static void units_resolve_to_name_and_pc_and_line(void **state)
{
    (void)state;
    const char *path = test_path("units.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    static const uint32_t lines[] = {0, 10, 4, 11, 9, 14};
    static const uint8_t build_id[20] = {1, 2, 3};
    struct tbed_unit_options bytecode = {.size = sizeof bytecode,
                                         .kind = TBED_UNIT_BYTECODE,
                                         .pc_count = 12,
                                         .name = "fib",
                                         .file = "/x/fib.rb",
                                         .first_line = 10,
                                         .lines = lines,
                                         .line_count = 3};
    struct tbed_unit_options native = {.size = sizeof native,
                                       .kind = TBED_UNIT_NATIVE,
                                       .pc_shift = 2,
                                       .base = 0x1000,
                                       .pc_count = 0x801,
                                       .name = "libx.so",
                                       .file = "/lib/libx.so",
                                       .build_id = build_id,
                                       .build_id_nbytes = 20,
                                       .share = true};
    uint32_t fib = tbed_unit_register(writer, &bytecode);
    uint32_t lib = tbed_unit_register(writer, &native);
    assert_int_equal(tbed_unit_register(writer, &native), lib); /* shared */
    assert_int_equal(lib, fib + 12);
    struct tbed_unit_options empty = native;
    empty.pc_count = 0;
    assert_int_equal(tbed_unit_register(writer, &empty), TBED_ID_INVALID);
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        assert_int_equal(tbed_writer_drop_count(writer, (enum tbed_drop_cause)cause), 0);
    const struct tbed_unit handed = {.first_id = lib, .id_count = 0x201, .pc_shift = 2, .base = 0x1000},
                           none = {.first_id = TBED_ID_INVALID, .id_count = 0x201, .base = 0x1000};
    assert_int_equal(tbed_unit_location(&handed, 0x1000), lib);
    assert_int_equal(tbed_unit_location(&handed, 0x100f), lib + 3);
    assert_int_equal(tbed_unit_location(&handed, 0x1803), lib + 0x200);
    assert_int_equal(tbed_unit_location(&handed, 0x1804), TBED_ID_INVALID);
    assert_int_equal(tbed_unit_location(&handed, 0xfff), TBED_ID_INVALID);
    assert_int_equal(tbed_unit_location(&handed, 0x1000 + (UINT64_C(1) << 34)), TBED_ID_INVALID);
    assert_int_equal(tbed_unit_location(&none, 0x1000), TBED_ID_INVALID);
    tbed_unit_load_record(writer, lib, 0x7f0000001000, 0x801);
    tbed_unit_unload_record(writer, lib);
    tbed_writer_close(writer);

    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_unit_info unit;
    struct tbed_load_info load;
    uint64_t pc;
    assert_true(tbed_location_find(reader, fib + 5, &unit, &pc));
    assert_int_equal(pc, 5);
    assert_int_equal(tbed_location_line(reader, &unit, pc), 11);
    assert_text(reader, fib + 5, "fib+0x5");
    assert_true(tbed_location_find(reader, lib + 3, &unit, &pc));
    assert_int_equal(pc, 0x100c);
    assert_int_equal(unit.id_count, 0x201);
    assert_int_equal(unit.build_id_nbytes, 20);
    assert_memory_equal(unit.build_id, build_id, 20);
    assert_false(tbed_location_find(reader, lib + 0x201, &unit, &pc));
    assert_true(tbed_load_get(reader, 0, &load));
    assert_int_equal(load.address, 0x7f0000001000);
    tbed_reader_close(reader);
}

/* Without 'first_reserved_id': each bind claims the ids up to its own. */
static void ids_that_the_application_has_bound_are_not_handed_out(void **state)
{
    (void)state;
    struct tbed_writer *writer = test_writer_open(test_path("fixed.tbed"), NULL);
    uint32_t text = tbed_string_intern(writer, "text", 4);
    struct tbed_component component = {.text = "own", .nbytes = 3};
    static const uint32_t ids[] = {40, 37};
    const uint32_t texts[] = {text, text};
    tbed_id_bind(writer, 0, 10, text);
    assert_int_equal(tbed_id_reserve(writer, 5), 10);
    tbed_id_bind(writer, 12, 1, text); /* it was handed out, so nothing is claimed */
    assert_int_equal(tbed_id_reserve(writer, 1), 15);
    assert_true(tbed_string_alloc_reserved(writer, 30, &component, 1));
    assert_int_equal(tbed_id_reserve(writer, 1), 31);
    tbed_id_bind_list(writer, ids, texts, 2);
    assert_int_equal(tbed_id_reserve(writer, 1), 41);
    tbed_id_bind(writer, TBED_ID_METADATA, 1, text);
    assert_int_equal(tbed_id_reserve(writer, 1), 42);
    tbed_id_bind(writer, TBED_ID_MAX_RESERVED, 1, text);
    assert_int_equal(tbed_id_reserve(writer, 1), TBED_ID_INVALID);
    tbed_writer_close(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interning_twice_gives_one_id),
        cmocka_unit_test(ten_thousand_strings_keep_their_ids),
        cmocka_unit_test(components_are_stored_as_the_seed_says),
        cmocka_unit_test(bytes_that_are_not_utf8_are_escaped),
        cmocka_unit_test(strings_longer_than_a_page_come_back_whole),
        cmocka_unit_test(lists_of_components_longer_than_a_page_come_back_whole),
        cmocka_unit_test(reserved_ids_are_bound_late_singly_in_ranges_and_in_lists),
        cmocka_unit_test(what_cannot_be_bound_is_counted_and_left_out),
        cmocka_unit_test(ids_run_out_without_wrapping),
        cmocka_unit_test(strings_of_more_parts_than_an_entry_holds_come_back_whole),
        cmocka_unit_test(a_string_without_room_is_one_drop_and_no_id),
        cmocka_unit_test(a_string_after_the_close_is_one_drop_and_no_id),
        cmocka_unit_test(strings_are_allocated_under_reserved_ids),
        cmocka_unit_test(event_ids_are_a_label_and_arguments),
        cmocka_unit_test(another_thread_binds_late),
        cmocka_unit_test(another_process_binds_late),
        cmocka_unit_test(units_resolve_to_name_and_pc_and_line),
        cmocka_unit_test(ids_that_the_application_has_bound_are_not_handed_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
