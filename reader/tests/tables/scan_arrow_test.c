/*
 * Tables as a stream of Arrow, taken by a consumer that follows the specification of the C data interface to the letter: each
 * array has the buffers that its format asks for, bits and offsets are consistent, all is released once, and children may be
 * moved out and outlive the stream. The values are those of the scan.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/arrow.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include <cmocka.h>

#define ROW_COUNT 20000u

static struct tbed_reader *reader;
static struct tbed_tables *tables;

/* ---- A trace ---- */

static void record(struct tbed_recorder *recorder, enum tbed_given_type type, uint64_t tick, uint32_t id)
{
    struct tbed_given_event event = {.type = type, .tick = tick, .id = id, .category = TBED_ID_INVALID};
    tbed_event_record_given(recorder, &event);
}

static int make_trace(void **state)
{
    static const char *const texts[] = {"one", "", "bad \xff byte", "\xe2\x82\xac"};
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .given_ticks = true, .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    (void)state;
    FILE *file = tmpfile();
    if (file == NULL || tbed_writer_open_fd(fileno(file), &options, &writer, NULL) != TBED_OK)
        return -1;
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 7);
    uint64_t tick = 1000;
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "label %u", i / 100);
        record(recorder, TBED_GIVEN_BEGIN, tick += 10, tbed_string_intern(writer, name, strlen(name)));
        tbed_message_record(recorder, TBED_SEVERITY_INFORMATION, texts[i % 4], strlen(texts[i % 4]));
        record(recorder, TBED_GIVEN_END, tick += i, 0);
    }
    record(recorder, TBED_GIVEN_BEGIN, tick += 10, tbed_string_intern(writer, "open", 4));
    tbed_writer_free(writer);
    enum tbed_status status = tbed_reader_open_fd(fileno(file), NULL, &reader, NULL);
    fclose(file);
    return status == TBED_OK && tbed_tables_of_reader(reader, &tables) == TBED_OK ? 0 : -1;
}

static int drop_trace(void **state)
{
    (void)state;
    tbed_tables_close(tables);
    tbed_reader_close(reader);
    return 0;
}

/* ---- A strict consumer ---- */

static void check_schema(const struct ArrowSchema *schema, const struct tbed_table *table, uint64_t columns)
{
    static const char *const formats[] = {
        [TBED_COLUMN_I64] = "l",  [TBED_COLUMN_U64] = "L",  [TBED_COLUMN_F64] = "g",
        [TBED_COLUMN_NAME] = "i", [TBED_COLUMN_TEXT] = "u",
    };
    int64_t child = 0;
    assert_string_equal(schema->format, "+s");
    assert_non_null(schema->release);
    assert_int_equal(schema->n_children, __builtin_popcountll(columns));
    for (size_t i = 0; i < table->column_count; i++) {
        if ((columns >> i & 1) == 0)
            continue;
        const struct ArrowSchema *column = schema->children[child++];
        assert_string_equal(column->name, table->columns[i].name);
        assert_string_equal(column->format, formats[table->columns[i].type]);
        assert_true(column->flags & ARROW_FLAG_NULLABLE && column->n_children == 0 &&
                    column->release != NULL);
        assert_true((column->dictionary != NULL) == (table->columns[i].type == TBED_COLUMN_NAME));
        if (column->dictionary != NULL)
            assert_string_equal(column->dictionary->format, "u");
    }
}

static void check_texts(const struct ArrowArray *array)
{
    const int32_t *offsets = array->buffers[1];
    assert_int_equal(array->n_buffers, 3);
    assert_int_equal(offsets[0], 0);
    for (int64_t i = 0; i < array->length; i++)
        assert_true(offsets[i] <= offsets[i + 1]);
    size_t nbytes = (size_t)offsets[array->length];
    if (nbytes > 0)
        assert_int_equal(tbed_utf8_valid_nbytes(array->buffers[2], nbytes), nbytes);
}

static bool is_null(const struct ArrowArray *array, int64_t row)
{
    const uint8_t *validity = array->buffers[0];
    return validity != NULL && (validity[row / 8] >> row % 8 & 1) == 0;
}

static void check_column(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t length)
{
    int64_t nulls = 0;
    assert_true(array->length == length && array->offset == 0 && array->n_children == 0);
    assert_non_null(array->release);
    for (int64_t i = 0; i < length; i++)
        nulls += is_null(array, i);
    assert_int_equal(array->null_count, nulls);
    if (strcmp(schema->format, "u") == 0)
        check_texts(array);
    else
        assert_true(array->n_buffers == 2 && array->buffers[1] != NULL);
    assert_true((array->dictionary != NULL) == (schema->dictionary != NULL));
    if (array->dictionary == NULL)
        return;
    check_texts(array->dictionary);
    for (int64_t i = 0; i < length; i++)
        assert_true(is_null(array, i) || ((const int32_t *)array->buffers[1])[i] < array->dictionary->length);
}

static void open_stream(const char *name, uint64_t columns, struct ArrowArrayStream *stream)
{
    struct tbed_scan_options options = {.size = sizeof options, .columns = columns, .thread_count = 1};
    struct tbed_scan *scan;
    assert_int_equal(tbed_scan_open(tables, tbed_table_find(name), &options, &scan, NULL), TBED_OK);
    assert_int_equal(tbed_scan_arrow(scan, stream), TBED_OK);
}

static struct tbed_scan *open_scan(const char *name)
{
    struct tbed_scan_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_scan *scan;
    assert_int_equal(tbed_scan_open(tables, tbed_table_find(name), &options, &scan, NULL), TBED_OK);
    return scan;
}

/* ---- The same values ---- */

static void compare_text(const struct ArrowArray *array, int64_t index, const char *text, size_t nbytes)
{
    const int32_t *offsets = array->buffers[1];
    const char *own = (const char *)array->buffers[2] + offsets[index];
    size_t own_nbytes = (size_t)(offsets[index + 1] - offsets[index]);
    if (memchr(text, '\xff', nbytes) != NULL) {
        assert_true(own_nbytes == nbytes + 2 && memmem(own, own_nbytes, "\xef\xbf\xbd", 3) != NULL);
    } else {
        assert_int_equal(own_nbytes, nbytes);
        assert_true(nbytes == 0 || memcmp(own, text, nbytes) == 0);
    }
}

static void compare_value(const struct tbed_scan *scan, enum tbed_column_type type,
                          const struct tbed_column_values *values, const struct ArrowArray *array, size_t row)
{
    const char *text;
    size_t nbytes;
    bool has_none = values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
    assert_int_equal(is_null(array, (int64_t)row), has_none);
    if (has_none)
        return;
    switch (type) {
    case TBED_COLUMN_I64:
    case TBED_COLUMN_U64:
    case TBED_COLUMN_F64:
        assert_memory_equal((const char *)array->buffers[1] + row * 8, (const char *)values->i64 + row * 8,
                            8);
        break;
    case TBED_COLUMN_NAME:
        tbed_scan_name(scan, values->codes[row], &text, &nbytes);
        compare_text(array->dictionary, ((const int32_t *)array->buffers[1])[row], text, nbytes);
        break;
    case TBED_COLUMN_TEXT:
        compare_text(array, (int64_t)row, values->text + values->offsets[row],
                     values->offsets[row + 1] - values->offsets[row]);
        break;
    }
}

static void compare_batch(const struct tbed_scan *scan, const struct tbed_table *table,
                          const struct tbed_batch *batch, const struct ArrowArray *array)
{
    assert_int_equal(array->length, batch->row_count);
    for (size_t i = 0; i < table->column_count; i++) {
        struct tbed_column_values values = batch->columns[i];
        if (table->columns[i].type == TBED_COLUMN_U64)
            values.i64 = (const int64_t *)(const void *)values.u64;
        if (table->columns[i].type == TBED_COLUMN_F64)
            values.i64 = (const int64_t *)(const void *)values.f64;
        for (size_t row = 0; row < batch->row_count; row++)
            compare_value(scan, table->columns[i].type, &values, array->children[i], row);
    }
}

static void compare_table(const struct tbed_table *table)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct tbed_batch batch;
    uint64_t all = table->column_count < 64 ? (UINT64_C(1) << table->column_count) - 1 : UINT64_MAX;
    struct tbed_scan *scan = open_scan(table->name);
    open_stream(table->name, 0, &stream);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    check_schema(&schema, table, all);
    while (tbed_scan_next(scan, &batch) == TBED_OK) {
        assert_int_equal(stream.get_next(&stream, &array), 0);
        assert_non_null(array.release);
        assert_true(array.n_buffers == 1 && array.buffers[0] == NULL &&
                    array.n_children == schema.n_children);
        for (int64_t i = 0; i < array.n_children; i++)
            check_column(schema.children[i], array.children[i], array.length);
        compare_batch(scan, table, &batch, &array);
        array.release(&array);
        assert_null(array.release);
    }
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        assert_int_equal(stream.get_next(&stream, &array), 0);
        assert_null(array.release);
    }
    assert_null(stream.get_last_error(&stream));
    schema.release(&schema);
    stream.release(&stream);
    assert_null(stream.release);
    tbed_scan_close(scan);
}

static void stream_has_the_values_of_the_scan(void **state)
{
    (void)state;
    compare_table(tbed_table_find("spans"));
    compare_table(tbed_table_find("messages"));
    compare_table(tbed_table_find("threads"));
    compare_table(tbed_table_find("allocations")); /* which is empty */
}

static void columns_that_are_not_asked_for_are_no_children(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    (void)state;
    open_stream("spans", 0xA, &stream);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    check_schema(&schema, tbed_table_find("spans"), 0xA);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_int_equal(array.n_children, 2);
    array.release(&array);
    schema.release(&schema);
    stream.release(&stream);
}

/* A consumer may move children out and release the rest: the stream, the tables and the other children. */
static void moved_children_outlive_the_stream(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, moved_schema;
    struct ArrowArray array, moved;
    (void)state;
    open_stream("spans", 0, &stream);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    moved = *array.children[3];
    array.children[3]->release = NULL;
    moved_schema = *schema.children[3];
    schema.children[3]->release = NULL;
    int64_t length = array.length;
    array.release(&array);
    schema.release(&schema);
    stream.release(&stream);
    check_column(&moved_schema, &moved, length);
    compare_text(moved.dictionary, ((const int32_t *)moved.buffers[1])[0], "label 0", 7);
    moved.release(&moved);
    moved_schema.release(&moved_schema);
}

static void cancelled_scan_is_an_error(void **state)
{
    bool is_cancelled = false;
    struct tbed_scan_options options = {.size = sizeof options, .is_cancelled = &is_cancelled};
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct tbed_scan *scan;
    (void)state;
    assert_int_equal(tbed_scan_open(tables, tbed_table_find("threads"), &options, &scan, NULL), TBED_OK);
    assert_int_equal(tbed_scan_arrow(scan, &stream), TBED_OK);
    is_cancelled = true;
    assert_int_equal(stream.get_next(&stream, &array), ECANCELED);
    assert_null(array.release);
    assert_string_equal(stream.get_last_error(&stream), "cancelled");
    stream.release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_has_the_values_of_the_scan),
        cmocka_unit_test(columns_that_are_not_asked_for_are_no_children),
        cmocka_unit_test(moved_children_outlive_the_stream),
        cmocka_unit_test(cancelled_scan_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_trace, drop_trace);
}
