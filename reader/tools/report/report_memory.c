/*
 * Parts of a report on allocations: the names of sites, what options need, and live memory over time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <string.h>

#define BAR_WIDTH 30

/* ---- Stacks ---- */

/* A newline in the name of a frame would look like another frame. */
static void clean(char *text, size_t nbytes)
{
    for (char *at = text; (at = memchr(at, '\n', nbytes - (size_t)(at - text))) != NULL;)
        *at = ' ';
}

size_t report_stack_name(const struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    size_t nbytes = 0;
    uint32_t frame, parent = TBED_ID_INVALID;
    for (unsigned depth = 0; depth < TBED_STACK_DEPTH_MAX; depth++) {
        bool is_stack = tbed_stack_get(places->reader, id, &frame, &parent);
        size_t room = nbytes < buffer_nbytes ? buffer_nbytes - nbytes : 0;
        size_t own = tbed_id_text(places->reader, is_stack ? frame : id, places->part,
                                  room > 0 ? buffer + nbytes : NULL, room);
        if (own < room)
            clean(buffer + nbytes, own);
        nbytes += own;
        if (!is_stack || parent == TBED_ID_INVALID)
            break;
        if (nbytes < buffer_nbytes)
            buffer[nbytes] = '\n';
        nbytes++;
        id = parent;
    }
    return nbytes;
}

size_t report_file_name(const struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct tbed_id_info info;
    tbed_id_resolve(places->reader, id, &info);
    return (size_t)snprintf(buffer, buffer_nbytes, "%s", info.file != NULL ? info.file : "<no file>");
}

/* What follows the last 'mark' in the path, up to a slash or a file's suffix. NULL: there is none. */
static const char *part_behind(const char *path, const char *mark, int *nbytes_ret)
{
    const char *part = NULL;
    for (const char *at = path; (at = strstr(at, mark)) != NULL;)
        part = at += strlen(mark);
    size_t nbytes = part != NULL ? strcspn(part, "/") : 0;
    if (nbytes > 3 && part[nbytes] == '\0' && strncmp(part + nbytes - 3, ".rb", 3) == 0)
        nbytes -= 3;
    *nbytes_ret = nbytes < 256 ? (int)nbytes : 256;
    return nbytes > 0 ? part : NULL;
}

static bool is_version(const char *part)
{
    return *part >= '0' && *part <= '9';
}

/* Debian has gems without versions in vendor_ruby. Folders of Ruby's version there are not gems. */
size_t report_gem_name(const struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct tbed_id_info info;
    int nbytes;
    tbed_id_resolve(places->reader, id, &info);
    const char *path = info.file != NULL ? info.file : "", *gem = part_behind(path, "/gems/", &nbytes);
    if (gem == NULL)
        gem = part_behind(path, "/vendor_ruby/", &nbytes);
    if (gem != NULL && !is_version(gem))
        return (size_t)snprintf(buffer, buffer_nbytes, "%.*s", nbytes, gem);
    if (gem != NULL)
        return (size_t)snprintf(buffer, buffer_nbytes, "%s",
                                strstr(path, "/gems/") != NULL ? "rubygems" : "stdlib");
    const char *library = part_behind(path, "/ruby/", &nbytes);
    bool is_stdlib = (library != NULL && is_version(library)) || strncmp(path, "<internal:", 10) == 0;
    return (size_t)snprintf(buffer, buffer_nbytes, "%s", is_stdlib ? "stdlib" : "(none)");
}

struct tbed_name report_site_name(const struct report *report, const struct tbed_allocation_site *site,
                                  struct tool_buffer *text)
{
    if (site->name != NULL)
        return (struct tbed_name){.text = site->name, .nbytes = site->name_nbytes};
    size_t nbytes;
    while ((nbytes = report_stack_name(&report->places, site->id, text->bytes, text->capacity)) >=
           text->capacity) {
        text->capacity = 2 * nbytes + 256;
        text->bytes = tool_realloc(text->bytes, text->capacity);
    }
    return (struct tbed_name){.text = text->bytes, .nbytes = nbytes};
}

/* ---- Options ---- */

bool report_needs_lifetimes(const struct report_options *options)
{
    static const char *const keys[] = {"lifetime", "lifetime_p50", "lifetime_p99", "lifetime_max"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (table_keys_have(&options->sort, keys[i]) || table_keys_have(&options->columns, keys[i]))
            return true;
    return options->lifetimes;
}

/* ---- Instants that are allocations ---- */

static bool process_counts_allocations(const struct tbed_reader *reader, uint32_t number)
{
    struct tbed_process_info process;
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++)
        if (process.stream == number)
            return process.instants_are_allocations;
    return false;
}

/* Instants that are none have names. */
static bool has_named_instants(const struct report *report)
{
    const struct tbed_instant_row *row;
    struct tbed_id_info info;
    for (size_t i = 0; (row = tbed_statistics_instant(report->statistics, i)) != NULL; i++)
        if (tbed_id_resolve(report->reader, row->id, &info) && info.kind == TBED_ID_KIND_STRING)
            return true;
    return false;
}

bool report_counts_allocations(const struct report *report)
{
    struct tbed_stream_info stream;
    bool has_any = false;
    if (report->reader == NULL || report->statistics == NULL || report->is_sum)
        return false;
    for (size_t i = 0; tbed_stream_get(report->reader, i, &stream); i++) {
        if (stream.block_count == 0 || stream.kind == TBED_STREAM_OFF_CPU)
            continue;
        if (!process_counts_allocations(report->reader, stream.process))
            return false;
        has_any = true;
    }
    return has_any && (report->options->key != TBED_BY_LABEL || !has_named_instants(report));
}

bool report_retained_applies(const struct report *report)
{
    const struct tbed_allocation_process *process;
    bool applies = report->options->survived_min == 0 || report->allocations == NULL;
    for (size_t i = 0; !applies && (process = tbed_allocations_process(report->allocations, i)) != NULL; i++)
        applies |= process->collection_count > 0;
    if (!applies) {
        tool_complain("%s: --retained: the trace has no garbage collections", tool_path(report->path));
        tool_hint("Record some with: tracebed record --ruby=full");
    }
    return applies;
}

/* ---- Over time ---- */

static double moment_ns(const struct report *report, const struct tbed_allocation_moment *moment)
{
    return (double)(tbed_ticks_to_ns(report->reader, moment->tick) -
                    tbed_ticks_to_ns(report->reader, report->info.first_tick));
}

static void put_moment(const struct report *report, const struct tbed_allocation_moment *moment,
                       uint64_t most)
{
    char from[32], least[32], mean[32], peak[32], live[32], count[32];
    if (report->info.clock == TBED_CLOCK_USER)
        tool_format_count(from, moment->tick - report->info.first_tick);
    else
        tool_format_ns(from, moment_ns(report, moment));
    printf("%11s%11s%11s%11s%11s%11s  ", from, tool_format_bytes(least, (double)moment->least_nbytes),
           tool_format_bytes(mean, (double)moment->mean_nbytes),
           tool_format_bytes(peak, (double)moment->peak_nbytes),
           tool_format_bytes(live, (double)moment->live_nbytes), tool_format_count(count, moment->count));
    table_put_bar(most > 0 ? (double)moment->peak_nbytes / (double)most : 0, BAR_WIDTH);
    putchar('\n');
}

void report_moments_text(const struct report *report)
{
    const struct tbed_allocation_moment *moment;
    uint64_t most = 0;
    for (size_t i = 0; (moment = tbed_allocations_moment(report->allocations, i)) != NULL; i++)
        most = moment->peak_nbytes > most ? moment->peak_nbytes : most;
    if (report->options->moment_count > 0)
        printf("\n%s%11s%11s%11s%11s%11s%11s%s\n", tool_bold(), "from", "least", "mean", "peak", "live",
               "count", tool_plain());
    for (size_t i = 0; (moment = tbed_allocations_moment(report->allocations, i)) != NULL; i++)
        put_moment(report, moment, most);
}
