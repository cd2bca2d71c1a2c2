/*
 * A log of RTL_LOGFILE of any bytes becomes a bed in which verify finds nothing, and comes back from it byte for byte.
 * Its scopes are told of once when they begin and once when they end, and add up to what statistics and stacks count.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/mman.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

static void go_back(struct tbed_reader *reader, const uint8_t *data, size_t nbytes)
{
    char *log = NULL;
    size_t log_nbytes = 0;
    FILE *out = open_memstream(&log, &log_nbytes);
    REQUIRE(out != NULL);
    REQUIRE(tbed_export_rtl_log_stream(reader, out, NULL, NULL, NULL) == TBED_OK);
    REQUIRE(fclose(out) == 0 && log_nbytes == nbytes && memcmp(log, data, nbytes) == 0);
    free(log);
}

/* What the steps of all scopes come to. */
struct told {
    uint64_t begin_count, end_count, orphan_count;
    uint64_t ticks; /* cut to whole ms */
};

static void take_step(void *context, const struct tbed_scope_step *step)
{
    struct told *told = context;
    if (step->change == TBED_SCOPE_ORPHAN) {
        told->orphan_count++;
    } else if (step->change == TBED_SCOPE_BEGIN) {
        step->scope->tag = ++told->begin_count;
        REQUIRE(step->depth == 0 || (step->parent != NULL && step->parent->tag != 0));
    } else if (step->change == TBED_SCOPE_LEFT) {
        REQUIRE(step->scope->tag != 0);
    } else {
        REQUIRE(step->change != TBED_SCOPE_UNKNOWN && step->was_begun && step->scope->tag != 0);
        REQUIRE(step->end_tick >= step->scope->begin_tick);
        told->ticks += (step->end_tick / 1000000 - step->scope->begin_tick / 1000000) * 1000000;
        told->end_count++;
        step->scope->tag = 0; /* not again */
    }
}

static struct told walk_scopes(struct tbed_reader *reader)
{
    struct told told = {0};
    const struct tbed_scopes_options options = {
        .size = sizeof options, .step = take_step, .step_context = &told};
    struct tbed_scopes *scopes;
    struct tbed_stream_info stream;
    REQUIRE(tbed_scopes_open(reader, &options, &scopes) == TBED_OK);
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        struct tbed_event event;
        REQUIRE(tbed_cursor_open(reader, stream.stream, &cursor) == TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            REQUIRE(tbed_scopes_take(scopes, &event, tbed_cursor_depth(cursor)) == TBED_OK);
        tbed_scopes_finish(scopes);
        tbed_cursor_close(cursor);
    }
    tbed_scopes_close(scopes);
    REQUIRE(told.begin_count == told.end_count);
    return told;
}

static void count_scopes(struct tbed_reader *reader)
{
    struct told told = walk_scopes(reader);
    const struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .count_open = true};
    const struct tbed_stacks_options stack_options = {
        .size = sizeof stack_options, .thread_count = 1, .count_open = true};
    struct tbed_statistics *statistics;
    struct tbed_statistics_totals totals;
    struct tbed_stacks *stacks;
    struct tbed_stacks_totals stack_totals;
    const struct tbed_span_row *row;
    uint64_t count = 0, ticks = 0;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    tbed_statistics_totals(statistics, &totals);
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        count += row->count;
        ticks += row->total_ticks;
        REQUIRE(row->open_count <= row->count && row->unknown_count == 0);
    }
    REQUIRE(count == told.end_count && ticks == told.ticks && totals.orphan_count == told.orphan_count);
    tbed_statistics_close(statistics);
    REQUIRE(tbed_stacks_make(reader, &stack_options, &stacks) == TBED_OK);
    tbed_stacks_totals(stacks, &stack_totals);
    REQUIRE(stack_totals.span_count == told.end_count);
    tbed_stacks_close(stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    int fd = memfd_create("log", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && setenv("TMPDIR", "/dev/shm", 1) == 0);
    REQUIRE(nbytes == 0 || write(fd, data, nbytes) == (ssize_t)nbytes);
    const struct tbed_format *format = tbed_format_of_fd(fd);
    if (format != NULL && format->kind == TBED_FOREIGN_RTL_LOG) {
        REQUIRE(tbed_import_open_fd(fd, &reader, &report, NULL) == TBED_OK);
        REQUIRE(report.drop_count == 0);
        REQUIRE(tbed_reader_verify(reader) == TBED_OK);
        go_back(reader, data, nbytes);
        count_scopes(reader);
        tbed_reader_close(reader);
    }
    close(fd);
    return 0;
}
