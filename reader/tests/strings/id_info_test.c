/*
 * The meaning and the name of an id: tbed_id_resolve(), tbed_name_get(), and a reader's resolver.
 *
 * Native code is looked up by a resolver in this test, which counts its calls. Real modules are tested in
 * symbols_test.c, and that all verbs agree in names_test.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/strings/string_table.h"

#include <stdlib.h>

#define NATIVE   1000u /* the first id of a native unit: pc 0x2000 */
#define BYTECODE 2000u
#define STACK    3000u
#define BOUND    4000u

struct fixture {
    struct table table;
    uint32_t libc, path, load, script, inner, outer, source, span;
};

static void add_frames(struct fixture *f, uint32_t id, const uint32_t *frames, uint32_t count)
{
    uint32_t fields[2 + 4 * 4] = {id, count};
    memcpy(fields + 2, frames, 16 * count);
    trace_record(&f->table.records, TBED_RECORD_FRAMES, fields, 2 + 4 * count);
}

static void begin(struct fixture *f)
{
    struct trace_block *strings = &f->table.strings, *records = &f->table.records;
    table_make(&f->table);
    f->libc = trace_string(strings, "/usr/lib/libc.so.6");
    f->path = trace_string(strings, "/usr/lib/libc.so.6");
    f->load = trace_string(strings, "load");
    f->script = trace_string(strings, "a.rb");
    f->inner = trace_string(strings, "f");
    f->outer = trace_string(strings, "outer");
    f->source = trace_string(strings, "/src/a.c");
    f->span = trace_string(strings, "step\x1E"
                                    "42");
    trace_unit(records, NATIVE, 100, f->libc, 0x2000); /* pc shift 2 */
    uint32_t bytecode[] = {BYTECODE, 100, TBED_UNIT_BYTECODE, 0, f->load, f->script, 7, 0, 0, 0};
    trace_record(records, TBED_RECORD_UNIT, bytecode, 10);
    uint32_t stacks[] = {STACK, 1, NATIVE + 1, TBED_ID_INVALID};
    trace_record(records, TBED_RECORD_STACKS, stacks, 4);
    trace_bind(records, BOUND, 1, f->span);
}

static void end(struct fixture *f)
{
    table_close(&f->table);
}

static void expect_name(const struct fixture *f, uint32_t id, const char *text)
{
    struct tbed_name name;
    char buffer[256];
    assert_int_equal(tbed_name_get(f->table.reader, id, &name), TBED_OK);
    assert_string_equal(name.text, text);
    assert_int_equal(tbed_id_text(f->table.reader, id, TBED_NAME_ALL, buffer, sizeof buffer), strlen(text));
    assert_string_equal(buffer, text);
}

static void expect_same(const char *found, const char *expected)
{
    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found, expected);
}

static void expect_info(const struct fixture *f, uint32_t id, const struct tbed_id_info *expected)
{
    struct tbed_id_info info;
    assert_int_equal(tbed_id_resolve(f->table.reader, id, &info), expected->kind != TBED_ID_KIND_UNKNOWN);
    assert_int_equal(info.kind, expected->kind);
    assert_int_equal(info.id, expected->id);
    expect_same(info.function, expected->function);
    expect_same(info.file, expected->file);
    assert_int_equal(info.line, expected->line);
    expect_same(info.module, expected->module);
    assert_int_equal(info.pc, expected->pc);
    assert_int_equal(info.frame_count, expected->frame_count);
}

/* ---- By what is in the file ---- */

static void an_id_is_a_string_or_a_place(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    table_open(&f.table);
    expect_info(&f, f.load, &(struct tbed_id_info){.kind = TBED_ID_KIND_STRING, .id = f.load});
    expect_info(&f, BOUND, &(struct tbed_id_info){.kind = TBED_ID_KIND_STRING, .id = f.span});
    expect_name(&f, BOUND,
                "step\x1E"
                "42");
    struct tbed_id_info native = {
        .kind = TBED_ID_KIND_NATIVE, .id = NATIVE + 1, .module = "libc.so.6", .pc = 0x2004};
    expect_info(&f, NATIVE + 1, &native);
    expect_info(&f, STACK, &native);
    expect_name(&f, STACK, "libc.so.6+0x2004");
    expect_info(&f, BYTECODE + 3,
                &(struct tbed_id_info){.kind = TBED_ID_KIND_CODE,
                                       .id = BYTECODE + 3,
                                       .function = "load",
                                       .file = "a.rb",
                                       .line = 7,
                                       .pc = 3,
                                       .frame_count = 1});
    expect_name(&f, BYTECODE + 3, "load a.rb:7");
    expect_info(&f, 5, &(struct tbed_id_info){.kind = TBED_ID_KIND_UNKNOWN, .id = 5});
    expect_info(&f, TBED_ID_INVALID,
                &(struct tbed_id_info){.kind = TBED_ID_KIND_UNKNOWN, .id = TBED_ID_INVALID});
    end(&f);
}

static void frames_name_a_place_by_its_innermost_function(void **state)
{
    struct fixture f;
    char buffer[64];
    (void)state;
    begin(&f);
    add_frames(&f, NATIVE + 1, (uint32_t[]){f.inner, f.source, 5, 0, f.outer, f.source, 9, 0}, 2);
    add_frames(&f, NATIVE + 2, (uint32_t[]){f.outer, TBED_ID_INVALID, 0, 0}, 1);
    add_frames(&f, 77, (uint32_t[]){f.outer, f.source, 3, 0}, 1); /* in no unit */
    table_open(&f.table);
    expect_info(&f, STACK,
                &(struct tbed_id_info){.kind = TBED_ID_KIND_NATIVE,
                                       .id = NATIVE + 1,
                                       .function = "f",
                                       .file = "/src/a.c",
                                       .line = 5,
                                       .module = "libc.so.6",
                                       .pc = 0x2004,
                                       .frame_count = 2});
    expect_name(&f, STACK, "f /src/a.c:5");
    expect_name(&f, NATIVE + 2, "libc.so.6!outer");
    expect_name(&f, 77, "outer /src/a.c:3");
    tbed_id_text(f.table.reader, STACK, TBED_NAME_FUNCTION, buffer, sizeof buffer);
    assert_string_equal(buffer, "outer /src/a.c");
    tbed_id_text(f.table.reader, STACK, TBED_NAME_MODULE, buffer, sizeof buffer);
    assert_string_equal(buffer, "libc.so.6");
    end(&f);
}

/* The place that uses a string as a name says nothing of what else means that string. */
static void a_string_is_its_text_wherever_it_is_used(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    add_frames(&f, f.span, (uint32_t[]){TBED_ID_INVALID, f.source, 12, 0}, 1);
    table_open(&f.table);
    expect_info(
        &f, f.span,
        &(struct tbed_id_info){
            .kind = TBED_ID_KIND_STRING, .id = f.span, .file = "/src/a.c", .line = 12, .frame_count = 1});
    expect_name(&f, f.span,
                "step\x1E"
                "42");
    expect_info(&f, BOUND, &(struct tbed_id_info){.kind = TBED_ID_KIND_STRING, .id = f.span});
    end(&f);
}

/* From a hostile file: a code location whose function is itself, and a cycle. */
static void places_cannot_name_each_other(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    add_frames(&f, NATIVE + 1, (uint32_t[]){NATIVE + 1, NATIVE + 2, 1, 0}, 1);
    add_frames(&f, NATIVE + 2, (uint32_t[]){NATIVE + 1, NATIVE + 1, 1, 0}, 1);
    uint32_t unit[] = {5000, 100, TBED_UNIT_NATIVE, 0, 5000, 5001, 0, 0, 0, 0};
    trace_record(&f.table.records, TBED_RECORD_UNIT, unit, 10);
    table_open(&f.table);
    expect_name(&f, NATIVE + 1, "libc.so.6+0x2004");
    expect_name(&f, NATIVE + 2, "libc.so.6+0x2008");
    expect_name(&f, 5000 + 16, "<unknown>+0x10");
    end(&f);
}

static void the_label_of_a_place_is_its_name(void **state)
{
    struct fixture f;
    struct tbed_name label;
    (void)state;
    begin(&f);
    table_open(&f.table);
    assert_int_equal(tbed_event_label(f.table.reader, BYTECODE, &label), TBED_OK);
    assert_int_equal(label.nbytes, strlen("load a.rb:7"));
    assert_memory_equal(label.text, "load a.rb:7", label.nbytes);
    assert_int_equal(tbed_event_label(f.table.reader, BOUND, &label), TBED_OK);
    assert_int_equal(label.nbytes, 4);
    assert_memory_equal(label.text, "step", 4);
    end(&f);
}

/* ---- By a resolver ---- */

struct asked {
    size_t frames, prepares, pcs;
    char path[64];
};

static size_t give_frames(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                          struct tbed_frame *frames, size_t capacity)
{
    struct asked *asked = context;
    asked->frames++;
    assert_int_equal(unit->first_id, NATIVE);
    snprintf(asked->path, sizeof asked->path, "%s", path);
    if (pc != 0x2004)
        return 0;
    if (capacity > 0)
        frames[0] = (struct tbed_frame){.function = "live", .file = "/src/live.c", .line = 3};
    return 1;
}

static void prepare(void *context, const struct tbed_unit_info *unit, const char *path, const uint64_t *pcs,
                    size_t count)
{
    struct asked *asked = context;
    (void)unit;
    (void)path;
    asked->prepares++;
    asked->pcs += count;
    for (size_t i = 1; i < count; i++)
        assert_true(pcs[i - 1] < pcs[i]);
}

static void a_resolver_names_what_the_file_does_not(void **state)
{
    struct fixture f;
    struct asked asked = {0};
    struct tbed_name before;
    struct tbed_resolver resolver = {
        .size = sizeof resolver, .context = &asked, .frames = give_frames, .prepare = prepare};
    (void)state;
    begin(&f);
    add_frames(&f, NATIVE + 2, (uint32_t[]){f.outer, f.source, 9, 0}, 1);
    table_open(&f.table);
    assert_int_equal(tbed_name_get(f.table.reader, NATIVE + 1, &before), TBED_OK);
    assert_int_equal(tbed_reader_set_resolver(f.table.reader, &resolver), TBED_OK);
    expect_name(&f, NATIVE + 1, "live /src/live.c:3");
    assert_string_equal(before.text, "libc.so.6+0x2004"); /* what was handed out stays */
    expect_name(&f, NATIVE + 3, "libc.so.6+0x200c");
    size_t count = asked.frames;
    expect_name(&f, NATIVE + 2, "outer /src/a.c:9");
    expect_name(&f, BYTECODE, "load a.rb:7");
    expect_name(&f, f.load, "load");
    assert_int_equal(asked.frames, count); /* the file knows these */
    assert_int_equal(tbed_reader_set_resolver(f.table.reader, NULL), TBED_OK);
    expect_name(&f, NATIVE + 1, "libc.so.6+0x2004");
    resolver.frames = NULL;
    assert_int_equal(tbed_reader_set_resolver(f.table.reader, &resolver), TBED_ERR_ARGUMENT);
    end(&f);
}

static void many_are_asked_for_together(void **state)
{
    struct fixture f;
    struct asked asked = {0};
    struct tbed_resolver resolver = {
        .size = sizeof resolver, .context = &asked, .frames = give_frames, .prepare = prepare};
    (void)state;
    begin(&f);
    add_frames(&f, NATIVE + 2, (uint32_t[]){f.outer, f.source, 9, 0}, 1);
    table_open(&f.table);
    const uint32_t ids[] = {NATIVE + 9, f.load,     STACK, NATIVE + 1,      NATIVE + 2,
                            BYTECODE,   NATIVE + 9, BOUND, TBED_ID_INVALID, NATIVE + 4};
    tbed_names_prepare(f.table.reader, ids, sizeof ids / sizeof *ids, true); /* there is no resolver */
    assert_int_equal(tbed_reader_set_resolver(f.table.reader, &resolver), TBED_OK);
    tbed_names_prepare(f.table.reader, ids, sizeof ids / sizeof *ids, true);
    assert_int_equal(asked.prepares, 1);
    assert_int_equal(asked.pcs, 3); /* 1, 4 and 9 */
    assert_int_equal(asked.frames, 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_a_string_or_a_place),
        cmocka_unit_test(frames_name_a_place_by_its_innermost_function),
        cmocka_unit_test(a_string_is_its_text_wherever_it_is_used),
        cmocka_unit_test(places_cannot_name_each_other),
        cmocka_unit_test(the_label_of_a_place_is_its_name),
        cmocka_unit_test(a_resolver_names_what_the_file_does_not),
        cmocka_unit_test(many_are_asked_for_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
