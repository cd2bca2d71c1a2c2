/*
 * A report for people: right-aligned figures with units on the left, full names on the right.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Columns ---- */

#define COLUMN_WIDTH 11
#define SITE_COLUMNS 7

static void put_heading(const char *first, ...)
{
    va_list headings;
    printf("\n%s", tool_bold());
    va_start(headings, first);
    for (const char *text = first, *next; text != NULL; text = next) {
        next = va_arg(headings, const char *);
        if (next != NULL)
            printf("%*s", COLUMN_WIDTH, text);
        else
            printf("  %s", text);
    }
    va_end(headings);
    printf("%s\n", tool_plain());
}

static void put_column(const char *text)
{
    printf("%*s", COLUMN_WIDTH, text);
}

static void put_count(uint64_t count)
{
    char buffer[32];
    put_column(tool_format_count(buffer, count));
}

static void put_bytes(uint64_t nbytes)
{
    char buffer[32];
    put_column(tool_format_bytes(buffer, (double)nbytes));
}

/* Digits below this resolution are not shown. */
static double resolution_ns(const struct report *report)
{
    return tbed_tick_span_to_ns(report->reader, report->info.resolution_ticks);
}

static void put_ticks(const struct report *report, double ticks)
{
    char buffer[32];
    if (report->info.clock == TBED_CLOCK_USER)
        put_column(tool_format_count(buffer, (uint64_t)ticks));
    else
        put_column(tool_format_time(buffer, ticks * tbed_tick_span_to_ns(report->reader, 1000000) / 1e6,
                                    resolution_ns(report)));
}

/* A duration below the step of the clock was not measured. */
static void put_duration(const struct report *report, uint64_t ticks)
{
    char buffer[40] = "<";
    if (report->info.clock == TBED_CLOCK_USER || report->step_ticks <= 1 || ticks >= report->step_ticks) {
        put_ticks(report, (double)ticks);
        return;
    }
    tool_format_time(buffer + 1, tbed_tick_span_to_ns(report->reader, report->step_ticks),
                     resolution_ns(report));
    put_column(buffer);
}

static void put_share(double part, double whole)
{
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%.1f %%", whole > 0 ? 100 * part / whole : 0);
    put_column(buffer);
}

static void put_name(const char *name, size_t nbytes)
{
    fputs("  ", stdout);
    tool_print_text(stdout, name, nbytes, 0);
}

/* The innermost frame with its callers on the lines below; or a name on a single line. */
static void put_frames(const char *name, size_t nbytes)
{
    const char *end = name + nbytes, *line = memchr(name, '\n', nbytes);
    put_name(name, line != NULL ? (size_t)(line - name) : nbytes);
    while (line != NULL) {
        const char *from = line + 1;
        line = memchr(from, '\n', (size_t)(end - from));
        printf("\n%*s%s  ", SITE_COLUMNS * COLUMN_WIDTH, "", tool_dim());
        tool_print_text(stdout, from, (size_t)((line != NULL ? line : end) - from), 0);
        fputs(tool_plain(), stdout);
    }
}

static void put_rest(const struct report_table *table, const char *what)
{
    char left[32];
    if (table->shown < table->count)
        printf("%s%*s more %s; --limit=%zu shows all%s\n", tool_dim(), COLUMN_WIDTH,
               tool_format_count(left, table->count - table->shown), what, table->count, tool_plain());
}

/* "1 free", "2 frees" */
static void put_number(uint64_t count, const char *one, const char *many)
{
    char buffer[32];
    printf("%s %s", tool_format_count(buffer, count), count == 1 ? one : many);
}

/* ---- Tables ---- */

/* Notes on what the figures of a row do not show follow its name. */
static void put_span_notes(const struct tbed_span_row *row)
{
    char buffer[32];
    if (row->open_count == 0 && row->unknown_count == 0)
        return;
    printf("  %s[", tool_dim());
    if (row->open_count != 0)
        printf("%s never ended", tool_format_count(buffer, row->open_count));
    if (row->unknown_count != 0)
        printf("%s%s with an unknown begin", row->open_count != 0 ? ", " : "",
               tool_format_count(buffer, row->unknown_count));
    printf("]%s", tool_plain());
}

static void put_durations(const struct report *report, const struct tbed_span_row *row)
{
    if (row->count == 0) {
        for (int i = 0; i < 5; i++)
            put_column("-");
        return;
    }
    put_duration(report, row->min_ticks);
    put_ticks(report, (double)row->total_ticks / (double)row->count);
    put_duration(report, row->p50_ticks);
    put_duration(report, row->p99_ticks);
    put_duration(report, row->max_ticks);
}

static void put_span(const struct report *report, const struct tbed_span_row *row, bool has_self)
{
    if (has_self) {
        put_ticks(report, (double)row->self_ticks);
        put_share((double)row->self_ticks, (double)report->self_ticks);
    }
    put_ticks(report, (double)row->total_ticks);
    put_count(row->count);
    put_durations(report, row);
    put_name(row->name, row->name_nbytes);
    put_span_notes(row);
    putchar('\n');
}

static void put_spans(const struct report *report)
{
    const struct report_table *table = &report->spans;
    if (table->count == 0)
        return;
    put_heading("self", "self %", "total", "count", "min", "mean", "p50", "p99", "max", "span", NULL);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++)
        put_span(report, table->rows[i], true);
    put_rest(table, "spans");
}

static void put_asyncs(const struct report *report)
{
    const struct report_table *table = &report->asyncs;
    if (table->count == 0)
        return;
    put_heading("total", "count", "min", "mean", "p50", "p99", "max", "asynchronous span", NULL);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++)
        put_span(report, table->rows[i], false);
    put_rest(table, "asynchronous spans");
}

static void put_instants(const struct report *report)
{
    const struct report_table *table = &report->instants;
    if (table->count == 0)
        return;
    put_heading("count", "instant", NULL);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++) {
        const struct tbed_instant_row *row = table->rows[i];
        put_count(row->count);
        put_frames(row->name, row->name_nbytes);
        putchar('\n');
    }
    put_rest(table, "instants");
}

static void put_value(double value)
{
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%.6g", value);
    put_column(buffer);
}

static void put_counters(const struct report *report)
{
    const struct report_table *table = &report->counters;
    if (table->count == 0)
        return;
    put_heading("last", "min", "max", "count", "counter", NULL);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++) {
        const struct tbed_counter_row *row = table->rows[i];
        uint32_t unit = report->reader != NULL ? tbed_counter_unit(report->reader, row->id) : TBED_ID_INVALID;
        put_value(row->last);
        put_value(row->min);
        put_value(row->max);
        put_count(row->count);
        put_name(row->name, row->name_nbytes);
        if (unit != TBED_ID_INVALID) {
            fputs(", ", stdout);
            tool_print_name(stdout, report->reader, unit, 0);
        }
        putchar('\n');
    }
    put_rest(table, "counters");
}

/* The context of a message's format is shown as in the message. */
static void put_format(const char *name, size_t nbytes)
{
    const char *unit = memchr(name, '\x1e', nbytes);
    if (unit == NULL || unit == name) {
        put_name(unit != NULL ? unit + 1 : name, unit != NULL ? nbytes - 1 : nbytes);
        return;
    }
    put_name(name, (size_t)(unit - name));
    fputs(" : ", stdout);
    tool_print_text(stdout, unit + 1, nbytes - (size_t)(unit + 1 - name), 0);
}

static void put_messages(const struct report *report)
{
    const struct report_table *table = &report->messages;
    if (table->count == 0)
        return;
    put_heading("count", "errors", "warnings", "message", NULL);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++) {
        const struct tbed_message_row *row = table->rows[i];
        put_count(row->count);
        put_count(row->severity_counts[TBED_SEVERITY_ERROR]);
        put_count(row->severity_counts[TBED_SEVERITY_WARNING]);
        put_format(row->name, row->name_nbytes);
        putchar('\n');
    }
    put_rest(table, "messages");
}

/* ---- Allocations ---- */

/* The pid of a process; 0 is not printed. */
static uint32_t pid_of(const struct report *report, uint32_t process)
{
    struct tbed_process_info info;
    for (size_t i = 0; tbed_process_get(report->reader, i, &info); i++)
        if (info.stream == process)
            return info.pid;
    return 0;
}

static void put_process_name(const struct report *report, const struct tbed_allocation_process *process)
{
    struct tool_buffer name = {0};
    if (process->name_id != TBED_ID_INVALID)
        tool_append_name(&name, report->reader, process->name_id);
    if (name.nbytes == 0)
        tool_append(&name, "unknown", strlen("unknown"));
    put_name(name.bytes, name.nbytes);
    free(name.bytes);
    if (process->pid != 0)
        printf(" (%u)", process->pid);
}

/* One note on a row; the first opens the bracket. */
static void put_note(bool *open, uint64_t count, const char *text)
{
    char buffer[32];
    if (count == 0)
        return;
    printf("%s%s %s", *open ? ", " : "  [", tool_format_count(buffer, count), text);
    *open = true;
}

/* Anything unusual; counts of 0 are not mentioned. */
static void put_process_notes(const struct report *report, const struct tbed_allocation_process *process)
{
    bool open = false;
    fputs(tool_dim(), stdout);
    if (process->forked_from != 0) {
        uint32_t pid = pid_of(report, process->forked_from);
        printf(pid != 0 ? "  [forked from %u" : "  [forked", pid);
        open = true;
    }
    put_note(&open, process->sums.failed_count, "failed");
    put_note(&open, process->unknown_free_count, "freed that were not seen to be allocated");
    put_note(&open, process->sums.replaced_count, "replaced with no free seen");
    printf("%s%s", open ? "]" : "", tool_plain());
}

static void put_peak_time(const struct report *report, const struct tbed_allocation_process *process)
{
    char buffer[32];
    uint64_t tick = process->peak_tick;
    if (process->sums.peak_nbytes == 0)
        put_column("-");
    else if (report->info.clock == TBED_CLOCK_USER)
        put_count(tick - report->info.first_tick);
    else
        put_column(
            tool_format_ns(buffer, (double)(tbed_ticks_to_ns(report->reader, tick) -
                                            tbed_ticks_to_ns(report->reader, report->info.first_tick))));
}

static void put_process_sums(const struct tbed_allocation_sums *sums)
{
    put_bytes(sums->live_nbytes);
    put_count(sums->live_count);
    put_bytes(sums->nbytes);
    put_count(sums->count);
    put_count(sums->freed_count);
    put_count(sums->temporary_count);
}

static void put_process(const struct report *report, const struct tbed_allocation_process *process)
{
    put_bytes(process->sums.peak_nbytes);
    put_peak_time(report, process);
    put_process_sums(&process->sums);
    put_process_name(report, process);
    put_process_notes(report, process);
    putchar('\n');
}

static void put_processes(const struct report *report)
{
    const struct report_table *table = &report->processes;
    put_heading("peak", "peak at", "live", "live count", "bytes", "count", "freed", "temporary", "process",
                NULL);
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++)
        put_process(report, table->rows[i]);
    put_rest(table, "processes");
    if (table->count < 2)
        return;
    put_bytes(report->sums.peak_nbytes);
    put_column("");
    put_process_sums(&report->sums);
    printf("  all %zu processes, each at its own peak\n", table->count);
}

static void put_site(const struct report *report, const struct tbed_allocation_site *site,
                     const struct tbed_name *name)
{
    const struct tbed_allocation_sums *sums = &site->sums;
    char failed[32];
    put_bytes(sums->nbytes);
    put_count(sums->count);
    put_bytes(sums->live_nbytes);
    put_count(sums->live_count);
    put_bytes(sums->peak_nbytes);
    put_share((double)sums->peak_nbytes, (double)report->sums.peak_nbytes);
    put_count(sums->temporary_count);
    put_frames(name->text, name->nbytes);
    if (sums->failed_count != 0)
        printf("  %s[%s failed]%s", tool_dim(), tool_format_count(failed, sums->failed_count), tool_plain());
    putchar('\n');
}

/* Why the sites of a module have no symbols. */
static void put_module_note(const struct tbed_symbols_trouble *trouble)
{
    if (trouble->state == TBED_SYMBOLS_FOUND && trouble->text == NULL)
        return;
    const char *text = trouble->text != NULL ? trouble->text : tbed_symbols_state_text(trouble->state);
    printf("%sno symbols of ", tool_dim());
    tool_print_text(stdout, trouble->path, strlen(trouble->path), 0);
    fputs(": ", stdout);
    tool_print_text(stdout, text, strlen(text), 0);
    printf("%s\n", tool_plain());
}

/* Once for each module in the rows shown. */
static void put_module_notes(const struct report *report)
{
    uint32_t told[16];
    size_t told_count = 0;
    if (report->places.symbols == NULL || report->options->by == TBED_NAME_MODULE)
        return;
    for (size_t i = 0; i < report->sites.shown && told_count < 16; i++) {
        const struct tbed_allocation_site *site = report->sites.rows[i];
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
    static const char *const names[] = {
        [TBED_NAME_ALL] = "site", [TBED_NAME_FUNCTION] = "symbol", [TBED_NAME_MODULE] = "module"};
    const struct report_table *table = &report->sites;
    if (report->processes.count == 0)
        return;
    put_processes(report);
    report_moments_text(report);
    if (table->count == 0)
        return;
    put_heading("bytes", "count", "live", "live count", "at peak", "peak %", "temporary",
                report->options->by_stack ? "stack" : names[report->options->by], NULL);
    struct tool_buffer text = {0};
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++) {
        struct tbed_name name = report_site_name(report, table->rows[i], &text);
        put_site(report, table->rows[i], &name);
    }
    free(text.bytes);
    put_rest(table, "sites");
    put_module_notes(report);
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
    char step[32];
    bool is_needed = false;
    for (size_t i = 0; i < report->spans.shown; i++) {
        const struct tbed_span_row *row = report->spans.rows[i];
        is_needed |= row->count > 0 && row->min_ticks < report->step_ticks;
    }
    if (is_needed && report->step_ticks > 1 && report->info.clock != TBED_CLOCK_USER)
        printf("The clock has steps of %s; shorter times were not measured.\n",
               tool_format_time(step, tbed_tick_span_to_ns(report->reader, report->step_ticks),
                                resolution_ns(report)));
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

static void put_head(const struct report *report)
{
    const struct tool_filter *filter = &report->options->filter;
    const char *path = tool_path(report->path);
    fputs(tool_bold(), stdout);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: ", tool_plain());
    if (report->statistics != NULL)
        put_number(report->totals.event_count, "event", "events");
    else
        put_number(report->info.event_block_count, "block of events", "blocks of events");
    fputs(" in ", stdout);
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
    return report->spans.count + report->asyncs.count + report->instants.count + report->counters.count +
               report->messages.count + report->processes.count ==
           0;
}

void report_print_text(const struct report *report)
{
    if (report->reader != NULL)
        put_head(report);
    else
        report_profile_head(report);
    if (report->is_profile)
        report_profile_text(report);
    else
        put_spans(report);
    put_asyncs(report);
    if (!report->has_categories) {
        put_instants(report);
        put_counters(report);
    }
    put_messages(report);
    put_allocations(report);
    if (has_no_rows(report))
        fputs("Nothing to report: no spans, no allocations. 'tracebed dump' shows what there is.\n", stdout);
}
