/*
 * report --retained: objects that survived garbage collections.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

static uint32_t sites[2];

static void collect(struct tbed_writer *writer, struct tbed_recorder *collector)
{
    tbed_span_begin(collector, intern(writer, "GC pause"));
    tbed_span_begin(collector, intern(writer, "minor GC: marking"));
    tbed_span_end(collector);
    tbed_span_begin(collector, intern(writer, "minor GC: sweeping"));
    tbed_span_end(collector);
    tbed_span_end(collector);
    tbed_span_begin(collector, intern(writer, "minor GC: lazy sweeping")); /* of the same collection */
    tbed_span_end(collector);
}

/* 0x1000 survives two collections, 0x2000 and 0x4000 one, 0x3000 is freed after one, 0x5000 sees none. */
static const char *record_collections(const char *file, const char *track)
{
    const char *path = in_folder(file);
    struct tbed_writer *writer = open_writer(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    struct tbed_recorder *collector = tbed_track_open(writer, track);
    sites[0] = intern(writer, "cache");
    sites[1] = intern(writer, "work");
    tbed_alloc_record(recorder, sites[0], TBED_FUNCTION_NEW, 0x1000, 40);
    collect(writer, collector);
    tbed_alloc_record(recorder, sites[0], TBED_FUNCTION_NEW, 0x2000, 100);
    tbed_alloc_record(recorder, sites[1], TBED_FUNCTION_NEW, 0x3000, 1000);
    tbed_alloc_record(recorder, sites[1], TBED_FUNCTION_NEW, 0x4000, 7);
    collect(writer, collector);
    tbed_free_record(recorder, sites[1], TBED_FUNCTION_NEW, 0x3000);
    tbed_alloc_record(recorder, sites[1], TBED_FUNCTION_NEW, 0x5000, 500);
    tbed_writer_close(writer);
    return path;
}

static void survivors_are_listed(void **state)
{
    const char *path = record_collections("retained.tbed", "garbage collector");
    (void)state;
    EXPECT(0, "\r\ncache,140,2,0\r\nwork,7,1,1\r\n", "", "report", "--retained", "--csv",
           "--columns=name,retained,retained_count,generation", path);
    EXPECT(0, "\r\ncache,40,1,0\r\n", "", "report", "--retained=2", "--csv",
           "--columns=name,retained,retained_count,generation", path);
    EXPECT(0, "\"sites\":[]", "", "report", "--retained=3", "--json", path);
}

static void survivors_of_one_class_are_added_up(void **state)
{
    const char *path = record_collections("class.tbed", "garbage collector");
    (void)state;
    EXPECT(0, "\r\n(unknown),147,3,0\r\n", "", "report", "--retained", "--by=class", "--csv",
           "--columns=name,retained,retained_count,generation", path);
}

static void trace_without_collections_is_refused(void **state)
{
    const char *path = record_collections("other.tbed", "another track");
    (void)state;
    EXPECT(2, "", "--retained: the trace has no garbage collections", "report", "--retained", path);
}

static void retained_is_refused_where_it_does_not_apply(void **state)
{
    const char *path = record_collections("refused.tbed", "garbage collector");
    (void)state;
    EXPECT(2, "", "--retained cannot be combined", "report", "--retained", "--leaks", path);
    EXPECT(2, "", "--retained cannot be combined", "report", "--retained", "--spans", path);
    EXPECT(2, "", "--retained takes a number", "report", "--retained=0", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_are_listed),
        cmocka_unit_test(survivors_of_one_class_are_added_up),
        cmocka_unit_test(trace_without_collections_is_refused),
        cmocka_unit_test(retained_is_refused_where_it_does_not_apply),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
