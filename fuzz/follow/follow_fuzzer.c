/*
 * Whatever a trace contains, it can be followed while it grows: what each update says agrees with itself, and an update of a
 * file that has not changed finds nothing new. As in fuzz/refresh, the file begins with the first half of its pages, and
 * bytes behind its last whole page are changes: 2 bytes of the offset in units of 8, and the 8 bytes to store there.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/refresh/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <unistd.h>

#include <tracebed/follow.h>

#include "format/layout.h"
#include "fuzz/support/fuzz.h"

enum { PAGE = TBED_PAGE_NBYTES_MIN, CHANGE = 10, CHANGES_MAX = 4 };

static uint64_t check(const struct tbed_follow *follow, uint64_t before_tick)
{
    const struct tbed_follow_thread *thread;
    const struct tbed_follow_label *label;
    struct tbed_follow_totals totals;
    uint64_t events = 0, spans = 0, counted = 0, self_ticks = UINT64_MAX;
    tbed_follow_totals(follow, &totals);
    for (size_t i = 0; (thread = tbed_follow_thread(follow, i)) != NULL; i++) {
        events += thread->event_count;
        spans += thread->span_count;
        REQUIRE(thread->open_count == 0 || thread->open[thread->open_count - 1].id <= TBED_ID_MAX);
        REQUIRE(thread->event_count == 0 || thread->last_tick <= totals.now_tick);
    }
    for (size_t i = 0; (label = tbed_follow_label(follow, i)) != NULL; i++) {
        counted += label->count;
        REQUIRE(label->self_ticks <= self_ticks);
        self_ticks = label->self_ticks;
    }
    REQUIRE(events == totals.event_count && spans == totals.span_count && counted <= spans);
    REQUIRE(totals.now_tick >= before_tick && tbed_follow_newest_tick(follow, 5) <= totals.now_tick);
    return totals.now_tick;
}

static void follow_changes(struct tbed_reader *reader, int fd, const uint8_t *at, const uint8_t *end,
                           size_t nbytes)
{
    struct tbed_follow *follow;
    struct tbed_follow_totals totals;
    REQUIRE(tbed_follow_open(reader, &follow) == TBED_OK);
    uint64_t now_tick = check(follow, 0);
    for (int i = 0; i <= CHANGES_MAX; i++, at += CHANGE) {
        if (tbed_follow_update(follow, NULL) == TBED_OK)
            now_tick = check(follow, now_tick);
        if (end - at < CHANGE)
            break;
        uint64_t offset = 8 * ((uint64_t)at[0] | (uint64_t)at[1] << 8);
        if (offset + 8 <= nbytes)
            REQUIRE(pwrite(fd, at + 2, 8, (off_t)offset) == 8);
    }
    if (tbed_follow_update(follow, NULL) == TBED_OK && tbed_follow_update(follow, NULL) == TBED_OK) {
        tbed_follow_totals(follow, &totals);
        REQUIRE(totals.event_count == 0 && totals.ticks == 0);
    }
    tbed_follow_close(follow);
}

static void join_at(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    struct tbed_follow *follow;
    tbed_reader_info(reader, &info);
    uint64_t begin_tick = info.first_tick + (info.last_tick - info.first_tick) / 2;
    REQUIRE(tbed_follow_open_at(reader, begin_tick, &follow) == TBED_OK);
    check(follow, begin_tick);
    tbed_follow_close(follow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader;
    size_t whole = nbytes / PAGE * PAGE, first = whole / PAGE / 2 * PAGE;
    int fd = file_of_input(data, first);
    if (tbed_reader_open_fd(fd, NULL, &reader, NULL) == TBED_OK) {
        join_at(reader);
        REQUIRE(pwrite(fd, data + first, whole - first, (off_t)first) == (ssize_t)(whole - first));
        follow_changes(reader, fd, data + whole, data + nbytes, whole);
        tbed_reader_close(reader);
    }
    close(fd);
    return 0;
}
