/*
 * A report for people.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <stdlib.h>
#include <string.h>

/* "1 free", "2 frees" */
static void put_number(uint64_t count, const char *one, const char *many)
{
    char buffer[32];
    printf("%s %s", tool_format_count(buffer, count), count == 1 ? one : many);
}

/* ---- Allocations ---- */

static void put_table(const struct report *report, enum report_table table)
{
    table_print_text(&report->tables[table], &report->options->columns);
}

static void put_processes(const struct report *report)
{
    const struct table *table = &report->tables[REPORT_PROCESSES];
    struct tbed_allocation_process all = {.sums = report->sums};
    char figure[32], name[80];
    put_table(report, REPORT_PROCESSES);
    if (table->count < 2)
        return;
    all.sums.peak_nbytes = report->sums.peak_nbytes;
    snprintf(name, sizeof name, "all %s processes, each at its own peak",
             tool_format_count(figure, table->count));
    table_print_total(table, &report->options->columns, &all, name);
}

/* Why the sites of a module have no symbols. */
static void put_module_note(const struct tbed_symbols_trouble *trouble)
{
    if (trouble->state == TBED_SYMBOLS_FOUND && trouble->text == NULL)
        return;
    const char *text = trouble->text != NULL ? trouble->text : tbed_symbols_state_text(trouble->state);
    printf("%sno symbols for ", tool_dim());
    tool_print_text(stdout, trouble->path, strlen(trouble->path), 0);
    fputs(": ", stdout);
    tool_print_text(stdout, text, strlen(text), 0);
    bool has_none = trouble->state == TBED_SYMBOLS_NO_FILE || trouble->state == TBED_SYMBOLS_NO_SYMBOLS;
    printf("%s%s\n", has_none ? "; 'tracebed symbolize --debuginfod' can fetch one" : "", tool_plain());
}

/* Once for each module in the rows shown. */
static void put_module_notes(const struct report *report, const struct table *sites)
{
    uint32_t told[16];
    size_t told_count = 0;
    if (report->places.symbols == NULL || report->options->by == TBED_NAME_MODULE)
        return;
    for (size_t i = 0; i < sites->shown && told_count < 16; i++) {
        const struct tbed_allocation_site *site = sites->rows[i];
        struct tbed_symbols_trouble trouble;
        size_t known = 0;
        if (!tbed_symbols_location_state(report->places.symbols, report->reader, site->id, &trouble))
            continue;
        while (known < told_count && told[known] != trouble.module_id)
            known++;
        if (known < told_count)
            continue;
        told[told_count++] = trouble.module_id;
        put_module_note(&trouble);
    }
}

static void put_allocations(const struct report *report)
{
    if (report->options->leaks && report->allocations != NULL) {
        report_leaks_text(report);
        report_moments_text(report);
        put_module_notes(report, &report->tables[REPORT_LEAKS]);
        return;
    }
    if (report->tables[REPORT_PROCESSES].count == 0)
        return;
    put_processes(report);
    report_moments_text(report);
    put_table(report, REPORT_SITES);
    put_module_notes(report, &report->tables[REPORT_SITES]);
}

/* ---- The head ---- */

/* Prominent, because the figures below are too low. */
static void put_drops(const struct report *report)
{
    uint64_t total = tool_drops_total(report->info.drops);
    if (total == 0)
        return;
    printf("%s%sRECORDS ARE MISSING%s: ", tool_bold(), tool_red(), tool_plain());
    put_number(total, "could not be stored: ", "could not be stored: ");
    tool_print_drops(stdout, report->info.drops);
    fputs(". All figures are too low by them.\n", stdout);
}

static void put_warning(uint64_t count, const char *one, const char *many)
{
    if (count == 0)
        return;
    fputs(tool_red(), stdout);
    put_number(count, one, many);
    printf("%s\n", tool_plain());
}

/* Explains counts that are higher than those of the program's calls. */
static void put_inherited(uint64_t count)
{
    if (count == 0)
        return;
    put_number(count, "span was", "spans were");
    printf(" open at a fork, and %s in the child from its first event on.\n",
           count == 1 ? "counts" : "count");
}

/* Says so if the clock is coarser than some of the times. */
static void put_step(const struct report *report)
{
    bool is_needed = false;
    const struct table *spans = &report->tables[REPORT_SPANS];
    for (size_t i = 0; i < spans->shown; i++) {
        const struct tbed_span_row *row = spans->rows[i];
        is_needed |= row->count > 0 && table_is_below_step(&report->clock, row->min_ticks);
    }
    if (is_needed)
        table_put_step(&report->clock);
}

static void put_gaps(const struct report *report)
{
    uint64_t count = report->reader != NULL ? tool_count_gone(report->reader) : 0;
    put_warning(count, "block of events is missing between others; the flight recorder has no room for all.",
                "blocks of events are missing between others; the flight recorder has no room for all.");
    if (count != 0)
        tool_print_gaps(stdout, report->reader, &report->info, "  ");
}

static void put_warnings(const struct report *report)
{
    const struct tbed_statistics_totals *totals = &report->totals;
    put_drops(report);
    put_gaps(report);
    put_warning(totals->bad_block_count, "block of events could not be read.",
                "blocks of events could not be read.");
    put_warning(totals->damaged_block_count, "block of events could be read only in part.",
                "blocks of events could be read only in part.");
    put_warning(totals->decrease_count, "event has a time before that of the event before it.",
                "events have a time before that of the event before them.");
    put_warning(totals->unknown_count, "event is of a type that this version does not know.",
                "events are of types that this version does not know.");
    put_warning(totals->unnamed_open_count, "span never ended, and nothing names it.",
                "spans never ended, and nothing names them.");
}

static uint64_t count_allocation_events(const struct report *report)
{
    const struct tbed_allocation_process *process;
    uint64_t count = 0;
    for (size_t i = 0; (process = tbed_allocations_process(report->allocations, i)) != NULL; i++)
        count += process->event_count;
    return count;
}

static void put_head(const struct report *report)
{
    const struct tool_filter *filter = &report->options->filter;
    const char *path = tool_path(report->path);
    fputs(tool_bold(), stdout);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: ", tool_plain());
    if (report->statistics != NULL)
        put_number(report->totals.event_count, "event in ", "events in ");
    else if (report->allocations != NULL) /* nothing else was counted */
        put_number(count_allocation_events(report), "allocation event in ", "allocation events in ");
    tool_filter_put_time(filter, report->reader, &report->info);
    if (report->info.clock == TBED_CLOCK_USER)
        fputs(" (all times below are in this unit)", stdout);
    fputs(", ", stdout);
    tool_filter_put_streams(filter, &report->info);
    puts(tool_filter_is_given(filter) ? " (only a part)" : "");
    put_inherited(report->totals.inherited_count);
    put_step(report);
    put_warnings(report);
    if (report->is_profile)
        report_profile_warnings(report);
}

static bool has_no_rows(const struct report *report)
{
    size_t count = 0;
    for (unsigned i = REPORT_SPANS; i <= REPORT_PROCESSES; i++)
        count += report->tables[i].count;
    return count == 0;
}

void report_print_text(const struct report *report)
{
    if (report->reader != NULL)
        put_head(report);
    else
        report_profile_head(report);
    bool is_default = report->options->columns.count == 0;
    if (report->is_sum)
        report_files_text(report);
    if (report->options->artifacts) {
        if (is_default)
            report_artifacts_text(report);
        else
            put_table(report, REPORT_ARTIFACTS);
        return;
    }
    if (report->is_profile && is_default)
        report_profile_text(report);
    else
        put_table(report, REPORT_SPANS);
    put_table(report, REPORT_ASYNCS);
    if (!report->has_categories || !is_default) {
        put_table(report, REPORT_INSTANTS);
        put_table(report, REPORT_COUNTERS);
    }
    put_table(report, REPORT_MESSAGES);
    report_over_time_text(report);
    put_allocations(report);
    if (!has_no_rows(report) || (report->options->leaks && report->allocations != NULL))
        return;
    fputs("Nothing to report: no spans, no allocations", stdout);
    puts(tool_filter_is_given(&report->options->filter)
             ? " in the chosen part, or none with the chosen name. Without these options, all is shown."
             : ". 'tracebed dump' shows what there is.");
}
