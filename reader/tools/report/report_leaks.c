/*
 * report --leaks: memory that was never freed, without what is suppressed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Files of suppressions ---- */

void report_suppressions_add(struct report_suppressions *suppressions, const char *path)
{
    size_t count = suppressions->path_count++;
    suppressions->paths = tool_realloc(suppressions->paths, (count + 1) * sizeof *suppressions->paths);
    suppressions->paths[count] = path;
}

/* False after a complaint. */
static bool read_file(const char *path, struct tool_buffer *text)
{
    char piece[4096];
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        for (size_t nbytes; (nbytes = fread(piece, 1, sizeof piece, file)) > 0;)
            tool_append(text, piece, nbytes);
        bool failed = ferror(file) != 0;
        int error = errno;
        fclose(file);
        if (!failed)
            return true;
        errno = error;
    }
    tool_complain("%s: %s", path, strerror(errno));
    return false;
}

static bool load(struct tbed_suppressions *list, const char *path)
{
    struct tool_buffer text = {0};
    size_t line = 0;
    bool fine = read_file(path, &text);
    enum tbed_status status = fine ? tbed_suppressions_add(list, text.bytes, text.nbytes, &line) : TBED_OK;
    if (status == TBED_ERR_ARGUMENT)
        tool_complain("%s: line %zu: expected 'leak:PATTERN' or a suppression of valgrind", path, line);
    else if (status != TBED_OK)
        tool_complain("%s: %s", path, tbed_status_text(status));
    free(text.bytes);
    return fine && status == TBED_OK;
}

bool report_suppressions_load(struct report_suppressions *suppressions)
{
    enum tbed_status status = tbed_suppressions_open(!suppressions->has_no_built_in, &suppressions->list);
    if (status != TBED_OK)
        tool_complain("--suppressions: %s", tbed_status_text(status));
    for (size_t i = 0; status == TBED_OK && i < suppressions->path_count; i++)
        if (!load(suppressions->list, suppressions->paths[i]))
            return false;
    return status == TBED_OK;
}

void report_suppressions_free(struct report_suppressions *suppressions)
{
    free(suppressions->paths);
    tbed_suppressions_close(suppressions->list);
}

/* ---- Rows ---- */

static void add_row(struct table *table, const void *row)
{
    if (table->count % 64 == 0)
        table->rows = tool_realloc(table->rows, (table->count + 64) * sizeof *table->rows);
    table->rows[table->count++] = row;
}

static void sort(const struct report *report, struct table *table)
{
    size_t limit = report->options->limit;
    table_sort(table, &report->options->sort);
    table->shown = table->count < limit ? table->count : limit;
}

/* Of the suppressions, those that match anything and those that the user gave. */
void report_collect_leaks(struct report *report)
{
    const struct tbed_allocation_site *site;
    const struct tbed_allocation_suppression *suppression;
    struct report_leaks *leaks = &report->leaks;
    leaks->skipped_count = tbed_suppressions_skipped_count(report->options->suppressions.list);
    for (size_t i = 0; (site = tbed_allocations_site(report->allocations, i)) != NULL; i++) {
        leaks->count += site->leak_count;
        leaks->nbytes += site->leak_nbytes;
        if (site->leak_count > 0)
            add_row(&report->tables[REPORT_LEAKS], site);
    }
    for (size_t i = 0; (suppression = tbed_allocations_suppression(report->allocations, i)) != NULL; i++) {
        leaks->suppressed_count += suppression->count;
        leaks->suppressed_nbytes += suppression->nbytes;
        if (suppression->site_count > 0 || !suppression->is_built_in)
            add_row(&report->tables[REPORT_SUPPRESSIONS], suppression);
    }
    sort(report, &report->tables[REPORT_LEAKS]);
    sort(report, &report->tables[REPORT_SUPPRESSIONS]);
}

/* ---- Printing ---- */

static void put_sum(uint64_t nbytes, uint64_t count, const char *what)
{
    char size[32], figure[32];
    printf("%s in %s %s %s", tool_format_bytes(size, (double)nbytes), tool_format_count(figure, count),
           count == 1 ? "block" : "blocks", what);
}

void report_leaks_text(const struct report *report)
{
    const struct report_leaks *leaks = &report->leaks;
    if (tbed_allocations_process(report->allocations, 0) == NULL) {
        puts("Nothing to report: no allocations and frees.");
        return;
    }
    put_sum(leaks->nbytes, leaks->count, leaks->count == 1 ? "was never freed" : "were never freed");
    if (leaks->suppressed_count > 0) {
        fputs("; ", stdout);
        put_sum(leaks->suppressed_nbytes, leaks->suppressed_count,
                leaks->suppressed_count == 1 ? "is suppressed" : "are suppressed");
    }
    puts(".");
    if (leaks->skipped_count > 0) {
        char figure[32];
        printf("%s %s about other errors than leaks %s skipped.\n",
               tool_format_count(figure, leaks->skipped_count),
               leaks->skipped_count == 1 ? "suppression" : "suppressions",
               leaks->skipped_count == 1 ? "is" : "are");
    }
    if (report->info.stack_count == 0 && leaks->count > 0 && report->options->by_stack)
        puts("No call stacks were recorded; with 'tracebed record --stacks', each leak has the way to it.");
    table_print_text(&report->tables[REPORT_LEAKS], &report->options->columns);
    table_print_text(&report->tables[REPORT_SUPPRESSIONS], &report->options->columns);
}

void report_leaks_json(struct tbed_json *json, const struct report *report)
{
    tbed_json_u64(json, "leak_count", report->leaks.count);
    tbed_json_u64(json, "leak_bytes", report->leaks.nbytes);
    tbed_json_u64(json, "suppressed_count", report->leaks.suppressed_count);
    tbed_json_u64(json, "suppressed_bytes", report->leaks.suppressed_nbytes);
    tbed_json_u64(json, "skipped_suppression_count", report->leaks.skipped_count);
}
