/*
 * Golden files that the writing library records, with a clock that counts. Whatever differs between runs is replaced:
 * the file id, process and thread numbers, and the clocks of the header's anchor.
 *
 * If these files change, the writer's behaviour has changed. Review the change, then make the files again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "format/record.h"
#include "fuzz/support/mend.h"
#include "spec/golden/golden.h"

static uint64_t now;

static uint64_t count_ticks(void)
{
    return now += 10;
}

static struct tbed_writer *open_with(struct tbed_writer_options options, char *path, const char *folder)
{
    struct tbed_writer *writer;
    options.size = sizeof options;
    options.overwrite = true;
    options.no_helper = true;
    options.page_nbytes = GOLDEN_PAGE_NBYTES;
    options.max_file_nbytes = GOLDEN_NBYTES_MAX;
    options.process_name = "golden";
    options.first_reserved_id = 100;
    snprintf(path, 4096, "%s/recorded.part", folder);
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        golden_fail(path);
    return writer;
}

static struct tbed_writer *open_writer(char *path, const char *folder)
{
    struct tbed_writer_options options = {
        .clock = TBED_CLOCK_USER, .user_clock = count_ticks, .user_clock_unit = "instructions"};
    now = 1000000;
    return open_with(options, path, folder);
}

/* ---- Replacing what differs between runs ---- */

static bool was_given; /* its anchor, process and threads are replaced too */

static void settle_records(uint8_t *block, uint32_t nbytes)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    while (at < nbytes) {
        uint64_t head = tbed_word_load(block + at);
        struct tbed_disk_process *process = (struct tbed_disk_process *)(block + at);
        struct tbed_disk_stream *stream = (struct tbed_disk_stream *)(block + at);
        if (tbed_record_head_check(head, nbytes - at) != TBED_OK)
            return;
        if (tbed_record_head_type(head) == TBED_RECORD_PROCESS) {
            uint32_t number = tbed_le32_load(process->stream);
            process->pid = tbed_le32_make(1000 + number);
            process->parent_pid = tbed_le32_make(1000 + tbed_le32_load(process->forked_from));
        } else if (tbed_record_head_type(head) == TBED_RECORD_STREAM && tbed_le32_load(stream->tid) != 0) {
            stream->tid = tbed_le32_make(1000 + tbed_le32_load(stream->stream));
        }
        at += tbed_record_head_nbytes(head);
    }
}

static void settle_block(uint8_t *block, uint32_t nbytes)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)block;
    if (header->kind == TBED_BLOCK_NONE)
        return;
    header->file_id = tbed_le64_make(GOLDEN_FILE_ID);
    if (header->kind == TBED_BLOCK_RECORDS && !was_given)
        settle_records(block, nbytes);
    if (header->kind != TBED_BLOCK_CELLS)
        return;
    uint32_t cell_nbytes = 1u << header->shift;
    for (uint32_t at = cell_nbytes; at < nbytes; at += cell_nbytes)
        settle_block(block + at, cell_nbytes);
}

/* The file, without what was allocated ahead and never claimed. */
static void settle(uint8_t *bytes, size_t *nbytes)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)bytes;
    size_t claimed_nbytes = (size_t)tbed_le64_load(header->page_count) * GOLDEN_PAGE_NBYTES;
    if (*nbytes > claimed_nbytes)
        *nbytes = claimed_nbytes;
    header->file_id = tbed_le64_make(GOLDEN_FILE_ID);
    was_given = tbed_le64_load(header->anchor_monotonic_ns) == 0;
    if (!was_given) {
        header->anchor_realtime_ns = tbed_le64_make(1700000000000000000);
        header->anchor_monotonic_ns = tbed_le64_make(5000000);
    }
    for (size_t at = GOLDEN_PAGE_NBYTES; at < *nbytes; at += GOLDEN_PAGE_NBYTES)
        settle_block(bytes + at, GOLDEN_PAGE_NBYTES);
    mend_file(bytes, *nbytes, MEND_ALL);
}

static void settle_file(const char *path, const char *folder, const char *name)
{
    static uint64_t storage[2 * GOLDEN_NBYTES_MAX / 8];
    char valid[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t nbytes = fd >= 0 ? read(fd, storage, sizeof storage) : -1;
    if (nbytes < GOLDEN_PAGE_NBYTES || (size_t)nbytes == sizeof storage)
        golden_fail(path);
    close(fd);
    unlink(path);
    size_t settled_nbytes = (size_t)nbytes;
    settle((uint8_t *)storage, &settled_nbytes);
    snprintf(valid, sizeof valid, "%s/valid", folder);
    golden_write(valid, name, storage, settled_nbytes);
}

/* ---- recorded.tbed: everything that the writer's API can express ---- */

static uint32_t intern(struct tbed_writer *writer, const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void record_strings(struct tbed_writer *writer)
{
    struct tbed_component components[] = {
        {.text = "abc", .nbytes = 3}, {.id = 42}, {.text = "def", .nbytes = 3}};
    uint32_t seed = tbed_string_alloc(writer, components, 3);
    tbed_id_bind(writer, 42, 1, intern(writer, "-42-")); /* bound late: the string already refers to it */
    uint32_t range = tbed_id_reserve(writer, 10);
    tbed_id_bind(writer, range, 10, seed);
    uint32_t ids[] = {range + 3, tbed_id_reserve(writer, 1)};
    uint32_t strings[] = {intern(writer, "three"), intern(writer, "one")};
    tbed_id_bind_list(writer, ids, strings, 2);
    tbed_metadata_set(writer, "{\"made by\":\"golden\"}", 20);
    tbed_string_intern(writer, "not UTF-8: \xFF\xC3", 13);
    static char longer[5000];
    memset(longer, 'x', sizeof longer);
    tbed_string_intern(writer, longer, sizeof longer); /* longer than an entry can be */
}

static uint32_t record_units(struct tbed_writer *writer)
{
    static const uint8_t build_id[20] = {1, 2, 3, 4, 5};
    static const uint32_t lines[] = {0, 10, 4, 11, 9, 14};
    struct tbed_unit_options native = {.size = sizeof native,
                                       .kind = TBED_UNIT_NATIVE,
                                       .pc_shift = 4,
                                       .base = 0x401000,
                                       .pc_count = 1000,
                                       .name = "libgolden.so",
                                       .file = "/usr/lib/libgolden.so",
                                       .build_id = build_id,
                                       .build_id_nbytes = sizeof build_id,
                                       .share = true};
    struct tbed_unit_options bytecode = {.size = sizeof bytecode,
                                         .kind = TBED_UNIT_BYTECODE,
                                         .pc_count = 10,
                                         .name = "fib",
                                         .file = "fib.rb",
                                         .first_line = 10,
                                         .lines = lines,
                                         .line_count = 3};
    uint32_t first_id = tbed_unit_register(writer, &native);
    tbed_unit_load_record(writer, first_id, 0x7F0000401000, 1000);
    tbed_unit_unload_record(writer, first_id);
    return tbed_unit_register(writer, &bytecode);
}

static void record_arguments(struct tbed_recorder *recorder, uint32_t name, uint32_t format)
{
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_U64, .name_id = name, .value.u64 = UINT64_MAX},
        {.type = TBED_ARG_I64, .name_id = name, .value.i64 = -1},
        {.type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = 0.5},
        {.type = TBED_ARG_POINTER, .name_id = name, .value.u64 = 0x7FFFFFFFE000},
        {.type = TBED_ARG_BOOL, .name_id = name, .value.u64 = 1},
        {.type = TBED_ARG_ID, .name_id = name, .value.id = name},
        {.type = TBED_ARG_TEXT, .name_id = name, .nbytes = 5, .value.text = "h\xC3\xA9llo"},
        {.type = TBED_ARG_BYTES, .name_id = name, .nbytes = 3, .value.text = "\x00\x01\xFF"},
    };
    tbed_span_begin_args(recorder, name, arguments, 8);
    tbed_instant_record_args(recorder, name, arguments, 4);
    tbed_message_record_args(recorder, TBED_SEVERITY_WARNING, name, arguments + 4, 4);
    tbed_span_end_args(recorder, arguments + 6, 1);
    tbed_message_record_args(recorder, (enum tbed_severity)TBED_MESSAGE_CONTEXT, format, arguments + 1, 1);
    tbed_message_record(recorder, TBED_SEVERITY_ERROR, "said once", 9);
}

static void record_values(struct tbed_recorder *recorder, uint32_t name, uint32_t location)
{
    tbed_counter_record_i64(recorder, name, -5);
    tbed_counter_record_i64(recorder, name, INT64_MAX);
    tbed_counter_record_f64(recorder, name, 2.5);
    tbed_async_begin(recorder, name, 77);
    tbed_async_end(recorder, name, 77);
    tbed_flow_record(recorder, TBED_EXT_FLOW_BEGIN, name, 78);
    tbed_flow_record(recorder, TBED_EXT_FLOW_STEP, name, 78);
    tbed_flow_record(recorder, TBED_EXT_FLOW_END, name, 78);
    tbed_alloc_record(recorder, location, TBED_FUNCTION_MALLOC, 0x555555559300, 24);
    tbed_alloc_record(recorder, location + 1, TBED_FUNCTION_CALLOC, 0x555555559400, 1 << 20);
    uint64_t begin_tick = tbed_recorder_now(recorder);
    tbed_realloc_record(recorder, location + 2, 0x555555559400, 0x555555569400, 2 << 20, begin_tick);
    tbed_free_record(recorder, location, TBED_FUNCTION_MALLOC, 0x555555559300);
    tbed_free_record(recorder, location, TBED_FUNCTION_NEW, 0x555555569400);
    for (uint64_t slot = 0; slot < 80; slot += 20)
        tbed_alloc_record(recorder, location, TBED_FUNCTION_UNKNOWN, 0x555555570000 + slot * 40, 40);
    tbed_resize_record(recorder, TBED_ID_INVALID, 0x555555570000 + 40 * 40, 4000);
    tbed_resize_record(recorder, location, 0x555555570000 + 40 * 40, 400);
    tbed_resize_record(recorder, location, 0x555555580000, 80);
    /* Slots 0, 1 (which is empty) and 60 of 128. */
    tbed_free_slots_record(recorder, location, 0x555555570000, 40,
                           (const uint64_t[]){UINT64_C(1) << 60 | 3, 0}, 2);
}

static void write_recorded(const char *folder)
{
    char path[4096];
    struct tbed_writer *writer = open_writer(path, folder);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t name = intern(writer, "work");
    record_strings(writer);
    uint32_t location = record_units(writer);
    tbed_counter_describe(writer, name, "bytes");
    tbed_span_begin(recorder, name);
    tbed_instant_record(recorder, location + 4);
    record_arguments(recorder, name, tbed_string_intern(writer, "a scope\x1evalue=%d", 16));
    record_values(recorder, name, location);
    now += UINT64_C(5) << 31; /* TIME */
    tbed_span_end(recorder);
    tbed_span_end(recorder); /* one end more than begins */
    tbed_recorder_name_set(recorder, "renamed");
    struct tbed_recorder *track = tbed_track_open(writer, "request 1");
    tbed_instant_record(track, name);
    tbed_recorder_close(track);
    tbed_writer_close(writer);
    settle_file(path, folder, "recorded");
    golden_expect(folder, "valid/recorded - 20 5 32");
}

/* ---- given.tbed: events with given ticks ---- */

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t category,
                 uint64_t begin_tick, uint64_t tick)
{
    struct tbed_argument value = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = tick};
    struct tbed_given_event event = {.type = type,
                                     .id = 42,
                                     .category = category,
                                     .tick = tick,
                                     .begin_tick = begin_tick,
                                     .arguments = &value,
                                     .argument_count = type == TBED_GIVEN_COUNTER};
    tbed_event_record_given(recorder, &event);
}

/* Spans that are nested, overlapping, equal, inverted, from tick 0, to the last tick; then ticks step back. */
static void give_spans(struct tbed_recorder *recorder, uint32_t category)
{
    static const uint64_t spans[][2] = {{20, 30}, {10, 40},        {35, 50},   {35, 50},
                                        {70, 60}, {0, 80},         {80, 80},   {0, 0},
                                        {5, 3},   {1, UINT64_MAX}, {100, 200}, {UINT64_MAX, 150}};
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        give(recorder, TBED_GIVEN_SPAN, i % 3 != 0 ? category : TBED_ID_INVALID, spans[i][0], spans[i][1]);
}

static void write_given(const char *folder)
{
    char path[4096];
    struct tbed_writer_options options = {.given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = 1700000000000000000,
                                          .given_resolution_ns = 1000,
                                          .process_pid = 4242};
    struct tbed_writer *writer = open_with(options, path, folder);
    struct tbed_recorder *main_thread = tbed_recorder_open_given(writer, "main", 1);
    struct tbed_recorder *worker = tbed_recorder_open_given(writer, NULL, 2);
    uint32_t category = intern(writer, "Query");
    struct tbed_component answer = {.text = "answer", .nbytes = 6};
    tbed_string_alloc_reserved(writer, 41, &answer, 1);
    uint32_t argument_ids[] = {41, 41};
    tbed_id_bind(writer, 42, 1, tbed_event_id_alloc(writer, intern(writer, "label"), argument_ids, 2));
    give_spans(main_thread, category);
    give(worker, TBED_GIVEN_BEGIN, category, 0, 1000);
    give(worker, TBED_GIVEN_BEGIN, TBED_ID_INVALID, 0, 1010);
    for (uint64_t i = 0; i < 200; i++) { /* over cells and pages */
        give(worker, TBED_GIVEN_SPAN, category, 1020 + i, 1030 + i);
        give(worker, TBED_GIVEN_INSTANT, i % 2 != 0 ? category : TBED_ID_INVALID, 0, 1025 + i);
    }
    give(worker, TBED_GIVEN_COUNTER, category, 0, 1400);
    give(worker, TBED_GIVEN_END, TBED_ID_INVALID, 0, 1300);
    tbed_instant_record(worker, category); /* at the latest tick given */
    give(worker, TBED_GIVEN_END, TBED_ID_INVALID, 0, UINT64_C(1) << 40);
    tbed_writer_close(writer);
    settle_file(path, folder, "given");
    golden_expect(folder, "valid/given - 6 2 418");
}

/* ---- A flight recorder ---- */

static void wait_for(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        golden_fail("a child that records");
}

static struct tbed_writer *open_ring(char *path, const char *folder)
{
    struct tbed_writer_options options = {.given_ticks = true,
                                          .given_ticks_per_second = 1000000000,
                                          .given_realtime_ns = 1700000000000000000,
                                          .process_pid = 4242,
                                          .ring_nbytes = 4 * GOLDEN_PAGE_NBYTES};
    return open_with(options, path, folder);
}

/* Fills the ring more than twice, inside spans that began long ago, while another thread is idle in its own page. */
static void record_round(struct tbed_writer *writer)
{
    struct tbed_recorder *quiet = tbed_recorder_open_given(writer, "quiet", 2);
    struct tbed_recorder *busy = tbed_recorder_open_given(writer, "busy", 1);
    uint32_t outer = intern(writer, "outer");
    give(quiet, TBED_GIVEN_INSTANT, TBED_ID_INVALID, 0, 900);
    tbed_id_bind(writer, 42, 1, intern(writer, "inner"));
    give(busy, TBED_GIVEN_BEGIN, outer, 0, 1000);
    for (uint64_t i = 0; i < 4000; i++)
        give(busy, i % 2 == 0 ? TBED_GIVEN_BEGIN : TBED_GIVEN_END, TBED_ID_INVALID, 0, 1010 + 10 * i);
    give(busy, TBED_GIVEN_INSTANT, intern(writer, "late"), 0, 50000);
}

static void write_ring(const char *folder)
{
    char path[4096];
    struct tbed_writer *writer = open_ring(path, folder);
    record_round(writer);
    tbed_writer_close(writer);
    settle_file(path, folder, "recorder");
    golden_expect(folder, "valid/recorder - 6 1 1492");
}

static void write_ring_killed(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/recorded.part", folder);
    pid_t child = fork();
    if (child == 0) {
        record_round(open_ring(path, folder));
        _exit(0);
    }
    wait_for(child);
    settle_file(path, folder, "recorder_killed");
    golden_expect(folder, "valid/recorder_killed - 6 1 1492");
}

/* ---- Other life cycles of a writer ---- */

static void write_empty(const char *folder)
{
    char path[4096];
    tbed_writer_close(open_writer(path, folder));
    settle_file(path, folder, "empty");
    golden_expect(folder, "valid/empty - 1 0 0");
}

/* Recursion deeper than a block stores, across several blocks, down and up again. */
static void write_recursion(const char *folder)
{
    char path[4096];
    struct tbed_writer *writer = open_writer(path, folder);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "deep");
    uint32_t name = intern(writer, "fib");
    for (int depth = 0; depth < 1000; depth++)
        tbed_span_begin(recorder, name);
    for (int depth = 0; depth < 990; depth++)
        tbed_span_end(recorder);
    tbed_writer_close(writer); /* ten are still open */
    settle_file(path, folder, "recursion");
    golden_expect(folder, "valid/recursion - 3 0 1990");
}

/* Threads too short for a page of their own. */
static void write_cells(const char *folder)
{
    char path[4096];
    struct tbed_writer *writer = open_writer(path, folder);
    uint32_t name = intern(writer, "task");
    for (int thread = 0; thread < 12; thread++) {
        struct tbed_recorder *recorder = tbed_recorder_open(writer, thread % 2 == 0 ? "even" : "odd");
        for (int i = 0; i <= thread; i++) {
            tbed_span_begin(recorder, name);
            tbed_instant_record(recorder, 3);
            tbed_span_end(recorder);
        }
        tbed_recorder_close(recorder);
    }
    tbed_writer_close(writer);
    settle_file(path, folder, "cells");
    golden_expect(folder, "valid/cells - 4 0 234");
}

static void write_fork(const char *folder)
{
    char path[4096];
    struct tbed_writer *writer = open_writer(path, folder);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_span_begin(recorder, intern(writer, "around"));
    tbed_span_begin(recorder, intern(writer, "before"));
    pid_t child = fork();
    if (child == 0) {
        tbed_instant_record(recorder, intern(writer, "in the child"));
        tbed_span_end(recorder); /* ends a span that its parent began, and exits inside another */
        tbed_writer_close(writer);
        _exit(0);
    }
    wait_for(child);
    tbed_span_end(recorder);
    tbed_span_end(recorder);
    tbed_writer_close(writer);
    settle_file(path, folder, "fork");
    golden_expect(folder, "valid/fork - 6 0 6");
}

/* A program that is killed; with 'seals', the same trace after recovery. */
static void write_killed(const char *folder, const char *name, bool seals)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/recorded.part", folder);
    pid_t child = fork();
    if (child == 0) {
        struct tbed_writer *writer = open_writer(path, folder);
        struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
        uint32_t id = intern(writer, "killed");
        for (int i = 0; i < 600; i++)
            tbed_span_begin(recorder, id);
        _exit(0);
    }
    wait_for(child);
    if (seals && tbed_trace_seal(path, NULL) != TBED_OK)
        golden_fail(path);
    settle_file(path, folder, name);
}

void golden_recorded_write_all(const char *folder)
{
    write_recorded(folder);
    write_given(folder);
    write_ring(folder);
    write_ring_killed(folder);
    write_empty(folder);
    write_recursion(folder);
    write_cells(folder);
    write_fork(folder);
    write_killed(folder, "killed", false);
    write_killed(folder, "recovered", true);
    golden_expect(folder, "valid/killed - 3 0 600");
    golden_expect(folder, "valid/recovered - 3 0 600");
}
