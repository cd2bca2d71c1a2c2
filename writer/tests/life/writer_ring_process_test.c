/*
 * Flight recorders of many processes, and what is not a thread that just runs: fork, kill, closed descriptors, given
 * ticks, tracks, deep spans, late names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE_NBYTES 4096u
#define PAGE_EVENTS ((PAGE_NBYTES - 64) / 8)
#define PAGES       8u
#define ROUND       (PAGES * PAGE_EVENTS) /* instants that fill a ring */

static struct tbed_writer *ring_open(const char *path, bool joins)
{
    struct tbed_writer_options options = {
        .page_nbytes = PAGE_NBYTES, .ring_nbytes = PAGES * PAGE_NBYTES, .no_helper = true, .join = joins};
    return test_writer_open(path, &options);
}

static void count_up(struct tbed_recorder *recorder, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        tbed_instant_record(recorder, from + i);
}

/* The stream's instants end with 'last', and each is one more than the one before; gives how many there are. */
static size_t check_counts(struct tbed_reader *reader, const char *name, uint32_t last)
{
    size_t count, instants = 0;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
    for (size_t i = 0; i < count; i++)
        if (events[i].type == TBED_EVENT_INSTANT)
            events[instants++] = events[i];
    for (size_t i = 1; i < instants; i++)
        assert_int_equal(events[i].id, events[i - 1].id + 1);
    assert_true(instants > 0);
    assert_int_equal(events[instants - 1].id, last);
    free(events);
    return instants;
}

/* ---- Processes that tell each other when ---- */

struct pipes {
    int to_parent[2], to_child[2];
};

static struct pipes pipes_open(void)
{
    struct pipes pipes;
    assert_int_equal(pipe(pipes.to_parent), 0);
    assert_int_equal(pipe(pipes.to_child), 0);
    return pipes;
}

static void tell(const int *ends)
{
    if (write(ends[1], "", 1) != 1)
        abort();
}

static void hear(const int *ends)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        abort();
}

static void pipes_close(const struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close(pipes->to_parent[i]);
        close(pipes->to_child[i]);
    }
}

static void end_by_kill(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    usleep(2000); /* a recorder that finds all pages held does not look again for a millisecond */
}

static void end_well(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static pid_t fork_child(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* ---- Fork ---- */

/* A child has pages of its own, with the spans that were open; neither takes the other's. */
static void forked_child_has_pages_of_its_own(void **state)
{
    (void)state;
    const char *path = test_path("fork.tbed");
    struct tbed_writer *writer = ring_open(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "parent");
    uint32_t outer = tbed_string_intern(writer, "outer", 5);
    tbed_span_begin(recorder, outer);
    count_up(recorder, 0, 10);
    struct pipes pipes = pipes_open();
    pid_t child = fork_child();
    if (child == 0) {
        tbed_recorder_name_set(recorder, "child");
        count_up(recorder, 1000, 3 * ROUND);
        tell(pipes.to_parent);
        hear(pipes.to_child);
        tbed_span_end(recorder);
        tbed_writer_close(writer);
        _exit(0);
    }
    hear(pipes.to_parent);
    struct tbed_reader *reader = test_reader_open(path, false);
    assert_int_equal(check_counts(reader, "parent", 9), 10);
    check_counts(reader, "child", 1000 + 3 * ROUND - 1);
    tbed_reader_close(reader);
    count_up(recorder, 10, 3 * ROUND);
    tell(pipes.to_child);
    end_well(child);
    tbed_span_end(recorder);
    tbed_writer_close(writer);
    reader = test_reader_open(path, true);
    check_counts(reader, "parent", 10 + 3 * ROUND - 1);
    check_counts(reader, "child", 1000 + 3 * ROUND - 1);
    for (int i = 0; i < 2; i++) {
        size_t count;
        struct tbed_event *events =
            test_events(reader, test_stream_named(reader, i == 0 ? "parent" : "child"), &count);
        assert_int_equal(events[count - 1].type, TBED_EVENT_END);
        assert_int_equal(events[count - 1].id, outer);
        free(events);
    }
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
    pipes_close(&pipes);
}

/*
 * One of two processes that share a ring is killed; its events stay until their turn comes, then the other takes its
 * page.
 */
static void survivor_gets_the_pages_of_who_was_killed(void **state)
{
    (void)state;
    for (int kills_parent = 0; kills_parent < 2; kills_parent++) {
        const char *path = test_path(kills_parent ? "parent.tbed" : "child.tbed");
        struct pipes pipes = pipes_open();
        pid_t first = fork_child();
        if (first == 0) {
            struct tbed_writer *writer = ring_open(path, false);
            struct tbed_recorder *recorder = tbed_recorder_open(writer, "old");
            count_up(recorder, 0, 10);
            pid_t second = fork();
            bool survives = kills_parent == (second == 0);
            if (second == 0)
                tbed_recorder_name_set(recorder, "new");
            if (!survives)
                count_up(recorder, 10, 10);
            if (!survives)
                kill(getpid(), SIGKILL);
            if (second != 0)
                waitpid(second, NULL, 0);
            else /* until the parent is gone */
                hear(pipes.to_child);
            count_up(recorder, 100, 2);
            struct tbed_reader *reader = test_reader_open(path, false);
            check_counts(reader, kills_parent ? "old" : "new", 19);
            tbed_reader_close(reader);
            usleep(2000);
            count_up(recorder, 102, 4 * ROUND);
            tbed_writer_close(writer);
            tell(pipes.to_parent);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(first, &status, 0), first);
        assert_true(kills_parent ? WIFSIGNALED(status) : status == 0);
        tell(pipes.to_child);
        hear(pipes.to_parent);
        assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
        struct tbed_reader *reader = test_reader_open(path, true);
        const char *name = kills_parent ? "new" : "old";
        size_t first_block, block_count;
        check_counts(reader, name, 102 + 4 * ROUND - 1);
        tbed_stream_blocks(reader, test_stream_named(reader, name), &first_block, &block_count);
        assert_int_equal(block_count, PAGES); /* the other's too */
        assert_int_equal(test_drop_count(reader), 0);
        tbed_reader_close(reader);
        pipes_close(&pipes);
    }
}

/* ---- Processes that join ---- */

static void record_joined(const char *path, int number, struct pipes *pipes)
{
    char name[16];
    struct tbed_writer *writer = ring_open(path, true);
    snprintf(name, sizeof name, "p%d", number);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, name);
    count_up(recorder, 0, 5);
    tell(pipes->to_parent);
    hear(pipes->to_child);
    count_up(recorder, 5, 5);
    tbed_writer_close(writer);
    _exit(0);
}

/* Pages held by living processes stay, whichever process comes round to them; those of the killed one are reused. */
static void one_of_several_that_joined_is_killed(void **state)
{
    enum { JOINED = 4, KILLED = 2 };
    (void)state;
    const char *path = test_path("joined.tbed");
    struct tbed_writer *writer = ring_open(path, false);
    struct tbed_recorder *own = tbed_recorder_open(writer, "own");
    struct pipes pipes[JOINED];
    pid_t children[JOINED];
    char name[16];
    for (int i = 0; i < JOINED; i++) {
        pipes[i] = pipes_open();
        children[i] = fork_child();
        if (children[i] == 0)
            record_joined(path, i, &pipes[i]);
        hear(pipes[i].to_parent);
    }
    end_by_kill(children[KILLED]);
    count_up(own, 0, 6 * ROUND);
    struct tbed_reader *reader = test_reader_open(path, false);
    assert_int_equal(tbed_event_block_count(reader), PAGES);
    size_t first, count;
    tbed_stream_blocks(reader, test_stream_named(reader, "own"), &first, &count);
    assert_int_equal(count, PAGES - (JOINED - 1));
    tbed_reader_close(reader);
    for (int i = 0; i < JOINED; i++) {
        tell(pipes[i].to_child);
        if (i != KILLED)
            end_well(children[i]);
        pipes_close(&pipes[i]);
    }
    tbed_writer_close(writer);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    reader = test_reader_open(path, true);
    check_counts(reader, "own", 6 * ROUND - 1);
    for (int i = 0; i < JOINED; i++) {
        snprintf(name, sizeof name, "p%d", i);
        if (i != KILLED)
            assert_int_equal(check_counts(reader, name, 9), 10);
    }
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

/* A program that closes all descriptors is still seen to live: its page stays, and it goes on. */
static void closed_descriptors_do_not_end_the_lock(void **state)
{
    (void)state;
    const char *path = test_path("descriptors.tbed");
    struct tbed_writer *writer = ring_open(path, false);
    struct pipes pipes = pipes_open();
    pid_t child = fork_child();
    if (child == 0) {
        struct tbed_writer *joined = ring_open(path, true);
        struct tbed_recorder *recorder = tbed_recorder_open(joined, "closes");
        count_up(recorder, 0, 10);
        for (int fd = 3; fd < 100; fd++)
            if (fd != pipes.to_parent[1] && fd != pipes.to_child[0])
                close(fd);
        count_up(recorder, 10, 10);
        tell(pipes.to_parent);
        hear(pipes.to_child);
        count_up(recorder, 20, 3 * ROUND); /* grows nothing, takes pages */
        tell(pipes.to_parent);
        hear(pipes.to_child);
        tbed_writer_close(joined);
        _exit(0);
    }
    struct tbed_recorder *own = tbed_recorder_open(writer, "own");
    for (uint32_t turn = 0; turn < 2; turn++) {
        hear(pipes.to_parent);
        count_up(own, turn * 4 * ROUND, 4 * ROUND);
        struct tbed_reader *reader = test_reader_open(path, false);
        check_counts(reader, "closes", turn == 0 ? 19 : 20 + 3 * ROUND - 1);
        tbed_reader_close(reader);
        tell(pipes.to_child);
    }
    end_well(child);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    check_counts(reader, "own", 8 * ROUND - 1);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
    pipes_close(&pipes);
}

/* ---- Other streams and events ---- */

static void given_ticks_go_round(void **state)
{
    enum { EVENTS = 4 * ROUND };
    (void)state;
    const char *path = test_path("given.tbed"), *to = test_path("given_snapshot.tbed");
    struct tbed_writer_options options = {.page_nbytes = PAGE_NBYTES,
                                          .ring_nbytes = PAGES * PAGE_NBYTES,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "given", 77);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct tbed_given_event event = {
            .type = TBED_GIVEN_INSTANT, .id = i, .tick = 1000 + 10 * (uint64_t)i};
        tbed_event_record_given(recorder, &event);
    }
    assert_int_equal(tbed_snapshot(writer, to, NULL), TBED_OK);
    tbed_writer_close(writer);
    for (int i = 0; i < 2; i++) {
        struct tbed_reader *reader = test_reader_open(i == 0 ? path : to, true);
        size_t count;
        struct tbed_event *events = test_events(reader, test_stream_named(reader, "given"), &count);
        assert_in_range(count, ROUND / 2, ROUND);
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(events[k].id, EVENTS - count + k);
            assert_int_equal(events[k].tick, 1000 + 10 * (uint64_t)events[k].id);
        }
        free(events);
        tbed_reader_close(reader);
    }
}

/* Deeper than a block stores: the innermost spans come back with their begins, and the depth is right. */
static void spans_deeper_than_a_block_stores(void **state)
{
    enum { DEPTH = 3 * PAGE_NBYTES / 64 };
    (void)state;
    const char *path = test_path("deep.tbed");
    struct tbed_writer *writer = ring_open(path, false);
    struct tbed_recorder *track = tbed_track_open(writer, "track");
    uint64_t ticks[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++) {
        ticks[i] = tbed_recorder_now(track);
        tbed_span_begin(track, i);
    }
    count_up(track, 0, 3 * ROUND);
    struct tbed_reader *reader = test_reader_open(path, false);
    size_t first, count;
    tbed_stream_blocks(reader, test_stream_named(reader, "track"), &first, &count);
    assert_in_range(count, PAGES - 1, PAGES);
    for (size_t i = first; i < first + count; i++) {
        struct tbed_block block;
        assert_int_equal(tbed_event_block_get(reader, i, &block), TBED_OK);
        assert_int_equal(block.depth, DEPTH);
        assert_int_equal(block.stored_count, PAGE_NBYTES / 64);
        for (uint32_t k = 0; k < block.stored_count; k++) {
            uint64_t begin_tick;
            uint32_t id;
            tbed_block_open_span(&block, k, &begin_tick, &id);
            uint32_t span = DEPTH - block.stored_count + k;
            assert_int_equal(id, span);
            assert_true(begin_tick >= ticks[span] && (span + 1 == DEPTH || begin_tick <= ticks[span + 1]));
        }
    }
    tbed_reader_close(reader);
    for (uint32_t i = 0; i < DEPTH; i++)
        tbed_span_end(track);
    tbed_writer_close(writer);
    reader = test_reader_open(path, true);
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "track"), &count);
    for (uint32_t i = 0; i < DEPTH; i++) {
        assert_int_equal(events[count - DEPTH + i].type, TBED_EVENT_END);
        assert_int_equal(events[count - DEPTH + i].id, DEPTH - 1 - i);
    }
    free(events);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

/* Names are behind the ring: they stay when all that used them is gone, and later ones are found in older events. */
static void names_outlive_the_ring(void **state)
{
    enum { NAMES = 2000 };
    (void)state;
    const char *path = test_path("names.tbed");
    struct tbed_writer *writer = ring_open(path, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "before");
    uint32_t reserved = tbed_id_reserve(writer, 1), ids[NAMES];
    char text[32];
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "name %u", i);
        ids[i] = tbed_string_intern(writer, text, strlen(text));
        for (uint32_t k = 0; k < 8; k++)
            tbed_instant_record(recorder, ids[i]);
    }
    tbed_instant_record(recorder, reserved);
    tbed_id_bind(writer, reserved, 1, tbed_string_intern(writer, "late", 4));
    tbed_recorder_name_set(recorder, "after");
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "after"), &count);
    assert_text(reader, events[count - 1].id, "late");
    assert_in_range(count, ROUND / 2, ROUND);
    for (size_t i = 0; i + 1 < count; i++) {
        snprintf(text, sizeof text, "name %zu", NAMES - 1 - (count - 2 - i) / 8);
        assert_text(reader, events[i].id, text);
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "name %u", i);
        assert_text(reader, ids[i], text);
    }
    free(events);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forked_child_has_pages_of_its_own),
        cmocka_unit_test(survivor_gets_the_pages_of_who_was_killed),
        cmocka_unit_test(one_of_several_that_joined_is_killed),
        cmocka_unit_test(closed_descriptors_do_not_end_the_lock),
        cmocka_unit_test(given_ticks_go_round),
        cmocka_unit_test(spans_deeper_than_a_block_stores),
        cmocka_unit_test(names_outlive_the_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
