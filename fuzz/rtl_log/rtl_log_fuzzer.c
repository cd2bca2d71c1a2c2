/*
 * Whatever an RTL_LOGFILE log contains, verify finds nothing wrong with the imported trace, and exporting it returns
 * the log byte for byte, or with other options as many lines. The sums over its spans equal those of statistics and
 * stacks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

static void go_back(struct tbed_reader *reader, const uint8_t *data, size_t nbytes)
{
    char *log = NULL;
    size_t log_nbytes = 0;
    FILE *out = open_memstream(&log, &log_nbytes);
    struct tbed_rtl_options options = {.size = sizeof options, .exact = true};
    REQUIRE(out != NULL);
    REQUIRE(tbed_export_rtl_log_stream(reader, out, &options, NULL, NULL) == TBED_OK);
    REQUIRE(fclose(out) == 0 && log_nbytes == nbytes && memcmp(log, data, nbytes) == 0);
    free(log);
}

static void vary(struct tbed_reader *reader, uint8_t choice)
{
    struct tbed_rtl_report all, report;
    char *log = NULL;
    size_t log_nbytes = 0;
    struct tbed_rtl_options options = {.size = sizeof options};
    FILE *out = open_memstream(&log, &log_nbytes);
    REQUIRE(out != NULL && tbed_export_rtl_log_stream(reader, out, &options, &all, NULL) == TBED_OK);
    options.rebase = choice % 2;
    options.tid = choice / 2 % 3;
    options.quirks = choice / 8 % 2;
    options.exact = choice / 16 % 2;
    REQUIRE(tbed_export_rtl_log_stream(reader, out, &options, &report, NULL) == TBED_OK);
    REQUIRE(fclose(out) == 0 && report.line_count == all.line_count);
    free(log);
}

/* The report and the trace must agree on the numbers of odd lines of each class. */
static void check_odd(const struct tbed_reader *reader, const struct tbed_import_report *report)
{
    REQUIRE(tbed_rtl_is_of_log(reader));
    for (enum tbed_rtl_odd odd = 0; odd < TBED_RTL_ODD_COUNT; odd++) {
        REQUIRE(tbed_rtl_odd_key(odd) != NULL && tbed_rtl_odd_text(odd) != NULL);
        REQUIRE(tbed_rtl_odd_count(reader, odd) == report->odd_counts[odd]);
    }
    REQUIRE(tbed_rtl_odd_key(TBED_RTL_ODD_COUNT) == NULL && tbed_rtl_odd_text(TBED_RTL_ODD_COUNT) == NULL);
    REQUIRE(tbed_rtl_odd_count(reader, TBED_RTL_ODD_COUNT) == 0);
}

/* Sums over the assembler's steps. */
struct told {
    uint64_t begin_count, end_count;
    uint64_t ticks; /* truncated to milliseconds */
};

static void take_step(struct told *told, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    told->begin_count += step->kind == TBED_STEP_BEGIN;
    if (step->kind != TBED_STEP_END && step->kind != TBED_STEP_OPEN)
        return;
    REQUIRE(span->was_begun);
    told->end_count++;
    if (span->end_tick > span->begin_tick)
        told->ticks += (span->end_tick / 1000000 - span->begin_tick / 1000000) * 1000000;
}

static struct told walk_spans(struct tbed_reader *reader)
{
    struct told told = {0};
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status;
    REQUIRE(tbed_assembler_open(reader, NULL, 0, &assembler) == TBED_OK);
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        take_step(&told, &step);
    REQUIRE(status == TBED_END);
    tbed_assembler_close(assembler);
    return told;
}

static void count_spans(struct tbed_reader *reader)
{
    struct told told = walk_spans(reader);
    const struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    const struct tbed_stacks_options stack_options = {.size = sizeof stack_options, .thread_count = 1};
    struct tbed_statistics *statistics;
    struct tbed_stacks *stacks;
    struct tbed_stacks_totals stack_totals;
    const struct tbed_span_row *row;
    uint64_t count = 0, ticks = 0;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        count += row->count;
        ticks += row->total_ticks;
        REQUIRE(row->open_count <= row->count);
    }
    REQUIRE(count == told.end_count && ticks == told.ticks);
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
    int fd = file_of_input(data, nbytes);
    scratch_folder(); /* sets where imports are stored */
    const struct tbed_format *format = tbed_format_of_fd(fd);
    if (format != NULL && format->kind == TBED_FOREIGN_RTL_LOG) {
        REQUIRE(tbed_import_open_fd(fd, &reader, &report, NULL) == TBED_OK);
        REQUIRE(report.drop_count == 0);
        REQUIRE(tbed_reader_verify(reader) == TBED_OK);
        check_odd(reader, &report);
        go_back(reader, data, nbytes);
        for (unsigned choice = 0; choice < 32; choice += 1 + (unsigned)(nbytes % 7))
            vary(reader, (uint8_t)choice);
        count_spans(reader);
        tbed_reader_close(reader);
    }
    close(fd);
    return 0;
}
