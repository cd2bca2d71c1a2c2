/*
 * Sequences of writer calls, compared with a model: a reader must find everything that was recorded, in every thread
 * and forked child, and in a sandbox, after a kill, a snapshot, a rotation, a close and a second join.
 *
 * The input is a sequence of one-byte instructions, see run_one(). Its first byte chooses the options, and whether to
 * fork and start threads, which takes longer than everything else.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

enum {
    RECORDERS = 4,
    EVENTS_MAX = 20000,
    NAMES = 16,
    BURST = 300,
    SANDBOX_NBYTES = 1 << 18, /* for a burst, with names and a new recorder */
    THREADS = 2,
    FORKS_MAX = 3,
    THREADED_MAX = 6
};

struct event {
    enum tbed_event_type type;
    uint32_t id;
};

/* A recorder and the events that the model expects from it in the current file. */
struct stream {
    struct tbed_recorder *recorder;
    uint32_t number;
    struct event events[EVENTS_MAX];
    size_t count, depth;
};

/* What a forked child recorded. */
struct child {
    struct stream stream;
    uint32_t names[NAMES];
};

static struct {
    struct tbed_writer *writer;
    struct stream streams[RECORDERS];
    uint32_t names[NAMES], interned[NAMES]; /* 'interned': by this writer in this process; 'names': all ids */
    bool rotates, forks, threads;
    bool is_left_open; /* a child ended without closing the file */
    uint8_t choice;
    unsigned rotation_count, child_count, fork_count, threaded_count;
} model;

/* Memory that the processes share. */
static struct {
    uint64_t ticks;
    struct child children[FORKS_MAX];
} * shared;

static uint64_t next_tick(void)
{
    return __atomic_add_fetch(&shared->ticks, 1, __ATOMIC_RELAXED);
}

/* ---- Comparison with the model ---- */

static void check_names(struct tbed_reader *reader, const uint32_t *names)
{
    char text[32], expected[32];
    size_t nbytes;
    for (int i = 0; i < NAMES; i++)
        if (names[i] != 0) {
            snprintf(expected, sizeof expected, "name %d", i);
            REQUIRE(tbed_string_resolve(reader, names[i], text, sizeof text, &nbytes) == TBED_OK);
            REQUIRE(strcmp(text, expected) == 0);
        }
}

/* Checks that the file has the stream's first events, in order, and returns their number. */
static size_t check_first(struct tbed_reader *reader, const struct stream *stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = TBED_OK;
    uint64_t tick = 0;
    size_t count = 0;
    REQUIRE(tbed_cursor_open(reader, stream->number, &cursor) == TBED_OK);
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK) {
        REQUIRE(count < stream->count);
        REQUIRE(event.type == stream->events[count].type && event.tick > tick);
        REQUIRE(event.type == TBED_EVENT_END || event.id == stream->events[count].id);
        tick = event.tick;
        count++;
    }
    REQUIRE(status == TBED_END);
    tbed_cursor_close(cursor);
    return count;
}

static void check_stream(struct tbed_reader *reader, const struct stream *stream)
{
    if (stream->count > 0)
        REQUIRE(check_first(reader, stream) == stream->count);
}

static struct tbed_reader *open_verified(const char *path, bool is_closed)
{
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    REQUIRE(tbed_reader_open(path, NULL, &reader, NULL) == TBED_OK);
    tbed_reader_info(reader, &info);
    REQUIRE(info.shut == is_closed);
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    return reader;
}

static void check_file(const char *path, bool is_closed)
{
    struct tbed_reader *reader = open_verified(path, is_closed);
    check_names(reader, model.names);
    for (int i = 0; i < RECORDERS; i++)
        check_stream(reader, &model.streams[i]);
    for (unsigned i = 0; i < model.child_count; i++) {
        check_names(reader, shared->children[i].names);
        check_stream(reader, &shared->children[i].stream);
    }
    tbed_reader_close(reader);
}

/* Checks a trace that has no writers any more; one of them may have been killed. */
static void check_left(const char *path, bool is_left_open)
{
    check_file(path, !is_left_open);
    if (is_left_open) {
        REQUIRE(tbed_trace_seal(path, NULL) == TBED_OK);
        check_file(path, true);
    }
}

/* Checks a copy of the file in its present state, which is what a kill would leave behind. */
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
    check_left(scratch_path("killed"), true);
}

static void make_snapshot(void)
{
    unlink(scratch_path("snapshot"));
    REQUIRE(tbed_snapshot(model.writer, scratch_path("snapshot"), NULL) == TBED_OK);
}

static void check_snapshot(void)
{
    make_snapshot();
    check_file(scratch_path("snapshot"), true);
}

/* ---- Opening, closing, rotating ---- */

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
    memset(model.interned, 0, sizeof model.interned);
    REQUIRE(tbed_writer_open(scratch_path("trace"), &options, &model.writer, NULL) == TBED_OK);
}

static const char *closed_path(void)
{
    char name[32];
    snprintf(name, sizeof name, "trace.%06u", model.rotation_count);
    return scratch_path(name);
}

static void forget_streams(void)
{
    for (int i = 0; i < RECORDERS; i++) {
        model.streams[i].recorder = NULL;
        model.streams[i].count = model.streams[i].depth = 0;
    }
    model.child_count = 0;
}

static void close_writer(void)
{
    tbed_writer_free(model.writer);
    check_left(scratch_path("trace"), model.is_left_open);
    model.is_left_open = false;
    unlink(closed_path()); /* the new writer numbers its closed files from the start */
    model.rotation_count = 0;
    forget_streams();
}

/* Joining a file keeps its names and begins new streams; a series begins a new file. */
static void close_and_join(void)
{
    close_writer();
    open_writer(!model.rotates);
    if (model.rotates) /* a new file */
        memset(model.names, 0, sizeof model.names);
}

/* Removes the events that are in the closed file from the model: the new file continues after them. */
static void check_rotated(enum tbed_status status, bool is_alone)
{
    if (status == TBED_ERR_BUSY && !is_alone) /* a thread was held up inside a record */
        return;
    REQUIRE(status == TBED_OK);
    model.rotation_count++;
    struct tbed_reader *reader = open_verified(closed_path(), true);
    for (int i = 0; i < RECORDERS; i++) {
        struct stream *stream = &model.streams[i];
        size_t count = stream->count > 0 ? check_first(reader, stream) : 0;
        REQUIRE(count == stream->count || !is_alone);
        stream->count -= count;
        memmove(stream->events, stream->events + count, stream->count * sizeof stream->events[0]);
    }
    tbed_reader_close(reader);
}

static void rotate(void)
{
    if (model.rotates)
        check_rotated(tbed_rotate(model.writer, NULL), true);
}

/* ---- Recording ---- */

static uint32_t name(uint32_t index)
{
    char text[32];
    int nbytes = snprintf(text, sizeof text, "name %u", index);
    uint32_t id = tbed_string_intern(model.writer, text, (size_t)nbytes);
    uint32_t before = __atomic_exchange_n(&model.interned[index], id, __ATOMIC_RELAXED);
    REQUIRE(before == 0 || before == id);
    __atomic_store_n(&model.names[index], id, __ATOMIC_RELAXED);
    return id;
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

static void burst(struct stream *stream, unsigned what, uint32_t index)
{
    for (int i = 0; i < BURST; i++)
        record(stream, what == 6 ? (unsigned)i % 5 : 5, index);
}

/* In a sandbox, what fits into the pages that are ready is recorded without a system call. */
static void record_in_sandbox(struct stream *stream, uint8_t byte)
{
    uint64_t ready = tbed_sandbox_enter(model.writer, SANDBOX_NBYTES);
    REQUIRE(tbed_sandbox_enter(model.writer, 1) == 0); /* it is in one */
    if (ready >= SANDBOX_NBYTES)
        burst(stream, 6, byte & 15);
    tbed_sandbox_leave();
}

/* ---- Forks ---- */

static int child_run(struct child *child, struct stream *stream, uint8_t byte)
{
    child->stream.recorder = stream->recorder;
    child->stream.depth = stream->depth; /* the child inherits open spans */
    memset(model.interned, 0, sizeof model.interned);
    for (unsigned i = 0; i < 1 + byte % 8u; i++)
        record(&child->stream, (byte + i) % 6, (byte + i) % NAMES);
    if (byte & 4)
        burst(&child->stream, 6, byte & 15);
    memcpy(child->names, model.names, sizeof model.names);
    if (byte & 8)
        tbed_writer_free(model.writer);
    return 0;
}

/* In a series, a child has a file of its own, with only its own events. */
static void check_own_file(pid_t pid, const struct child *child, bool is_closed)
{
    char own[32];
    snprintf(own, sizeof own, "trace.%d", (int)pid);
    struct tbed_reader *reader = open_verified(scratch_path(own), is_closed);
    check_names(reader, child->names);
    check_stream(reader, &child->stream);
    tbed_reader_close(reader);
    unlink(scratch_path(own));
}

static void fork_child(struct stream *stream, uint8_t byte)
{
    if (!model.forks || model.fork_count == FORKS_MAX)
        return;
    struct child *child = &shared->children[model.child_count];
    child->stream.count = 0;
    int status;
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(child_run(child, stream, byte));
    while (waitpid(pid, &status, 0) != pid)
        REQUIRE(errno == EINTR); /* the fuzzer's timer interrupts the call */
    REQUIRE(status == 0);
    model.fork_count++;
    bool is_closed = byte & 8;
    if (model.rotates) {
        check_own_file(pid, child, is_closed);
    } else {
        model.child_count++;
        model.is_left_open |= !is_closed;
    }
}

/* ---- Threads ---- */

static void *thread_run(void *argument)
{
    burst(argument, 6, (uint32_t)((struct stream *)argument - model.streams));
    return NULL;
}

/* A snapshot that was taken while threads recorded has a prefix of each thread's events. */
static void check_early_snapshot(void)
{
    struct tbed_reader *reader = open_verified(scratch_path("snapshot"), true);
    for (int i = 0; i < RECORDERS; i++)
        if (model.streams[i].number != 0 && model.streams[i].count > 0)
            check_first(reader, &model.streams[i]);
    tbed_reader_close(reader);
}

/* Starts threads that record; meanwhile, this one rotates, takes a snapshot, forks, or just waits. */
static void run_threads(uint8_t byte)
{
    pthread_t threads[THREADS];
    unsigned meanwhile = byte >> 4;
    enum tbed_status status = TBED_OK;
    if (!model.threads || model.threaded_count++ >= THREADED_MAX)
        return;
    for (unsigned i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, thread_run, &model.streams[(byte + i) % RECORDERS]) == 0);
    if (meanwhile == 14 && model.rotates)
        status = tbed_rotate(model.writer, NULL);
    else if (meanwhile == 14)
        make_snapshot();
    else if (meanwhile == 15)
        fork_child(&model.streams[(byte + THREADS) % RECORDERS], byte);
    for (unsigned i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    if (meanwhile == 14 && model.rotates)
        check_rotated(status, false);
    else if (meanwhile == 14)
        check_early_snapshot();
}

/* The high four bits choose the action; the low four choose the stream and the name. */
static void run_one(uint8_t byte)
{
    struct stream *stream = &model.streams[byte % RECORDERS];
    unsigned what = byte >> 4;
    if (what < 6)
        record(stream, what, byte & 15);
    else if (what < 8) /* fills pages */
        burst(stream, what, byte & 15);
    else if (what == 8)
        check_killed();
    else if (what == 9)
        check_snapshot();
    else if (what == 10)
        close_and_join();
    else if (what == 11)
        rotate();
    else if (what == 12)
        fork_child(stream, byte);
    else if (what == 13 && !model.threads)
        record_in_sandbox(stream, byte);
    else
        run_threads(byte);
}

static void begin(uint8_t choice)
{
    if (shared == NULL) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(shared != MAP_FAILED);
    }
    forget_streams();
    memset(model.names, 0, sizeof model.names);
    model.fork_count = model.threaded_count = model.rotation_count = 0;
    model.is_left_open = false;
    model.choice = choice;
    model.rotates = choice & 4;
    model.forks = choice / 8 % 8 == 1 || choice / 8 % 8 == 3;
    model.threads = choice / 8 % 8 == 2 || choice / 8 % 8 == 3;
    open_writer(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes == 0)
        return 0;
    begin(data[0]);
    for (size_t i = 1; i < nbytes; i++)
        run_one(data[i]);
    close_writer();
    return 0;
}
