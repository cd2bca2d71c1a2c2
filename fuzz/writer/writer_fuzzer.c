/*
 * Sequences of writer calls, compared with a model: a reader must find everything that was recorded, after a kill, a
 * snapshot, a rotation, a close and a second join.
 *
 * The input is a program of one byte each, see run_one(). The first byte chooses the options.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/stat.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

enum { RECORDERS = 4, EVENTS_MAX = 20000, NAMES = 16, BURST = 300 };

struct event {
    enum tbed_event_type type;
    uint32_t id;
};

/* One recorder of the model: its events, from the file that is running on. */
struct stream {
    struct tbed_recorder *recorder;
    uint32_t number;
    struct event events[EVENTS_MAX];
    size_t count, depth;
};

static struct {
    struct tbed_writer *writer;
    struct stream streams[RECORDERS];
    uint32_t names[NAMES];
    bool rotates;
    uint8_t choice;
} model;
static uint64_t ticks;

static uint64_t next_tick(void)
{
    return ++ticks;
}

static void check_names(struct tbed_reader *reader)
{
    char text[32], expected[32];
    size_t nbytes;
    for (int i = 0; i < NAMES; i++)
        if (model.names[i] != 0) {
            snprintf(expected, sizeof expected, "name %d", i);
            REQUIRE(tbed_string_resolve(reader, model.names[i], text, sizeof text, &nbytes) == TBED_OK);
            REQUIRE(strcmp(text, expected) == 0);
        }
}

static void check_stream(struct tbed_reader *reader, const struct stream *stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t tick = 0;
    REQUIRE(tbed_cursor_open(reader, stream->number, &cursor) == TBED_OK);
    for (size_t i = 0; i < stream->count; i++) {
        REQUIRE(tbed_cursor_next(cursor, &event) == TBED_OK);
        REQUIRE(event.type == stream->events[i].type && event.tick > tick);
        REQUIRE(event.type == TBED_EVENT_END || event.id == stream->events[i].id);
        tick = event.tick;
    }
    REQUIRE(tbed_cursor_next(cursor, &event) == TBED_END);
    tbed_cursor_close(cursor);
}

static void check_file(const char *path, bool is_closed)
{
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    REQUIRE(tbed_reader_open(path, NULL, &reader, NULL) == TBED_OK);
    tbed_reader_info(reader, &info);
    REQUIRE(info.shut == is_closed);
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    check_names(reader);
    for (int i = 0; i < RECORDERS; i++)
        if (model.streams[i].count > 0)
            check_stream(reader, &model.streams[i]);
    tbed_reader_close(reader);
}

/* Copies the file in its present state, which is what a kill would leave. */
static void check_killed(void)
{
    uint8_t buffer[65536];
    ssize_t nbytes;
    FILE *in = fopen(scratch_path("trace"), "rb");
    FILE *out = fopen(scratch_path("killed"), "wb");
    REQUIRE(in != NULL && out != NULL);
    while ((nbytes = (ssize_t)fread(buffer, 1, sizeof buffer, in)) > 0)
        REQUIRE(fwrite(buffer, 1, (size_t)nbytes, out) == (size_t)nbytes);
    REQUIRE(fclose(out) == 0 && fclose(in) == 0);
    check_file(scratch_path("killed"), false);
    REQUIRE(tbed_trace_seal(scratch_path("killed"), NULL) == TBED_OK);
    check_file(scratch_path("killed"), true);
}

static void check_snapshot(void)
{
    unlink(scratch_path("snapshot"));
    REQUIRE(tbed_snapshot(model.writer, scratch_path("snapshot"), NULL) == TBED_OK);
    check_file(scratch_path("snapshot"), true);
}

static void open_writer(bool join)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = !join,
                                          .join = join,
                                          .no_helper = true,
                                          .clock = TBED_CLOCK_USER,
                                          .user_clock = next_tick,
                                          .page_nbytes = 4096u << model.choice % 3,
                                          .rotate = model.rotates,
                                          .rotate_keep = model.rotates};
    REQUIRE(tbed_writer_open(scratch_path("trace"), &options, &model.writer, NULL) == TBED_OK);
}

static void forget_streams(void)
{
    for (int i = 0; i < RECORDERS; i++) {
        model.streams[i].recorder = NULL;
        model.streams[i].count = model.streams[i].depth = 0;
    }
}

/* Names are the same in the file that is joined; streams are new. */
static void close_and_join(void)
{
    tbed_writer_free(model.writer);
    check_file(scratch_path("trace"), true);
    forget_streams();
    open_writer(!model.rotates);
    if (model.rotates) /* a new file */
        memset(model.names, 0, sizeof model.names);
}

static void rotate(void)
{
    if (!model.rotates)
        return;
    REQUIRE(tbed_rotate(model.writer, NULL) == TBED_OK);
    for (int i = 0; i < RECORDERS; i++)
        model.streams[i].count = 0; /* the events are in the closed file */
}

static uint32_t name(uint32_t index)
{
    char text[32];
    int nbytes = snprintf(text, sizeof text, "name %u", index);
    return model.names[index] = tbed_string_intern(model.writer, text, (size_t)nbytes);
}

static void note(struct stream *stream, enum tbed_event_type type, uint32_t id)
{
    stream->events[stream->count++] = (struct event){type, id};
    stream->number = tbed_recorder_stream(stream->recorder);
}

static void record(struct stream *stream, unsigned what, uint32_t index)
{
    struct tbed_argument argument = {
        .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.u64 = index};
    if (stream->count == EVENTS_MAX)
        return;
    if (stream->recorder == NULL)
        stream->recorder = tbed_recorder_open(model.writer, "stream");
    uint32_t id = name(index);
    if (what == 0) {
        tbed_span_begin(stream->recorder, id);
        note(stream, TBED_EVENT_BEGIN, id);
        stream->depth++;
    } else if (what == 1 && stream->depth > 0) {
        tbed_span_end(stream->recorder);
        note(stream, TBED_EVENT_END, id);
        stream->depth--;
    } else if (what == 2) {
        tbed_instant_record_args(stream->recorder, id, &argument, 1);
        note(stream, TBED_EVENT_INSTANT, id);
    } else if (what == 3) {
        tbed_counter_record_i64(stream->recorder, id, -(int64_t)index);
        note(stream, TBED_EVENT_COUNTER, id);
    } else if (what == 4) {
        tbed_message_record_args(stream->recorder, TBED_SEVERITY_WARNING, id, &argument, 1);
        note(stream, TBED_EVENT_MESSAGE, id);
    } else {
        tbed_instant_record(stream->recorder, id);
        note(stream, TBED_EVENT_INSTANT, id);
    }
}

/* The high four bits say what to do; the low four on which stream, and with which name. */
static void run_one(uint8_t byte)
{
    struct stream *stream = &model.streams[byte % RECORDERS];
    unsigned what = byte >> 4;
    if (what < 6)
        record(stream, what, byte & 15);
    else if (what < 8) /* fills pages */
        for (int i = 0; i < BURST; i++)
            record(stream, what == 6 ? (unsigned)i % 5 : 5, byte & 15);
    else if (what == 8)
        check_killed();
    else if (what == 9)
        check_snapshot();
    else if (what == 10)
        close_and_join();
    else if (what == 11)
        rotate();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes == 0)
        return 0;
    memset(&model, 0, sizeof model);
    model.choice = data[0];
    model.rotates = data[0] & 4;
    open_writer(false);
    for (size_t i = 1; i < nbytes; i++)
        run_one(data[i]);
    tbed_writer_free(model.writer);
    check_file(scratch_path("trace"), true);
    for (int i = 1; i < 10 && model.rotates; i++) { /* the closed files of the series */
        char closed[32];
        snprintf(closed, sizeof closed, "trace.%06d", i);
        unlink(scratch_path(closed));
    }
    return 0;
}
