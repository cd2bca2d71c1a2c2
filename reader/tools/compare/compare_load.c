/*
 * A run of a comparison: a file, opened, made a profile of, added, closed again. A foreign profile is read in place,
 * without importing it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/compare_verbs.h"
#include "reader/tools/shared/tool_places.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/exchange.h>

struct tbed_comparison *compare_open(void)
{
    struct tbed_comparison *comparison = NULL;
    if (tbed_comparison_open(&comparison) != TBED_OK) {
        tool_complain("out of memory");
        exit(TOOL_TROUBLE);
    }
    return comparison;
}

bool compare_check_paths(const struct tool_verb *verb, char **paths, size_t count)
{
    size_t inputs = 0;
    for (size_t i = 0; i < count; i++)
        inputs += strcmp(paths[i], "-") == 0;
    if (inputs > 1)
        tool_usage(verb, "only one FILE can be standard input");
    return inputs <= 1;
}

static const char *unit_of(const struct compare_run *run)
{
    return run->unit[0] != '\0' ? run->unit : "time";
}

static bool go_together(const struct compare_run *first, const struct compare_run *run)
{
    if (strcmp(first->unit, run->unit) == 0)
        return true;
    tool_complain("%s counts %s, and %s counts %s: cannot compare them", tool_path(first->path),
                  unit_of(first), tool_path(run->path), unit_of(run));
    return false;
}

/* Takes what 'made' and the profile say. */
static bool add_profile(struct tbed_comparison *comparison, enum tbed_status made,
                        struct tbed_profile *profile, const struct tbed_reader *reader,
                        const struct compare_run *first, struct compare_run *run)
{
    if (made == TBED_OK) {
        tbed_profile_totals(profile, &run->totals);
        if (run->totals.counts)
            snprintf(run->unit, sizeof run->unit, "%s", tbed_profile_unit(profile));
        if (first != NULL && !go_together(first, run))
            return false;
        made = tbed_comparison_add(comparison, profile, reader);
    }
    if (made != TBED_OK)
        tool_complain("%s: %s", tool_path(run->path), tbed_status_text(made));
    return made == TBED_OK;
}

/* ---- Traces, by label ---- */

static bool load_labels(struct tbed_comparison *comparison, struct tool_places *places, unsigned jobs,
                        const struct compare_run *first, struct compare_run *run)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = jobs,
                                            .name = tool_places_name,
                                            .name_context = places,
                                            .prepare = tool_places_prepare};
    struct tbed_profile *profile = NULL;
    enum tbed_status status = tbed_profile_make(places->reader, &options, &profile);
    bool added = add_profile(comparison, status, profile, places->reader, first, run);
    tbed_profile_close(profile);
    return added;
}

/* ---- Traces, by scope: as 'report' has them ---- */

static uint64_t ns_of(const struct tool_places *places, const struct compare_run *run, uint64_t ticks)
{
    return run->totals.counts ? ticks : (uint64_t)(tbed_tick_span_to_ns(places->reader, ticks) + 0.5);
}

/* The rows as a profile would have them; the total is the time in which any scope was open, over all threads. */
static struct tbed_profile_row *make_rows(const struct tool_places *places,
                                          const struct tbed_statistics *statistics, struct compare_run *run,
                                          struct tbed_comparison_run *made)
{
    const struct tbed_span_row *span;
    struct tbed_profile_row *rows = NULL;
    for (; (span = tbed_statistics_span(statistics, made->row_count)) != NULL; made->row_count++) {
        rows = tool_realloc(rows, (made->row_count + 1) * sizeof *rows);
        rows[made->row_count] = (struct tbed_profile_row){
            .label = span->name,
            .label_nbytes = span->name_nbytes,
            .total_ticks = ns_of(places, run, span->total_ticks),
            .self_ticks = ns_of(places, run, span->self_ticks),
            .count = span->count,
        };
        run->totals.span_count += span->count;
        run->totals.lost_count += span->unknown_count;
        run->totals.open_count += span->open_count;
        made->total += rows[made->row_count].self_ticks;
    }
    made->rows = rows;
    return rows;
}

static bool add_statistics(struct tbed_comparison *comparison, const struct tool_places *places,
                           const struct tbed_statistics *statistics, const struct compare_run *first,
                           struct compare_run *run)
{
    struct tbed_trace_info info;
    struct tbed_comparison_run made = {0};
    tbed_reader_info(places->reader, &info);
    run->totals.counts = info.clock == TBED_CLOCK_USER;
    run->totals.stream_count = info.stream_count;
    snprintf(run->unit, sizeof run->unit, "%s", run->totals.counts ? info.clock_unit : "");
    if (first != NULL && !go_together(first, run))
        return false;
    struct tbed_profile_row *rows = make_rows(places, statistics, run, &made);
    enum tbed_status status = tbed_comparison_add_run(comparison, &made);
    free(rows);
    if (status != TBED_OK)
        tool_complain("%s: %s", tool_path(run->path), tbed_status_text(status));
    return status == TBED_OK;
}

static bool load_scopes(struct tbed_comparison *comparison, struct tool_places *places,
                        const struct compare_options *options, const struct compare_run *first,
                        struct compare_run *run)
{
    struct tbed_analysis_options analysis = {.size = sizeof analysis,
                                             .thread_count = options->jobs,
                                             .name = tool_places_name,
                                             .name_context = places,
                                             .prepare = tool_places_prepare,
                                             .group = group_name,
                                             .group_context = (void *)&options->group,
                                             .count_open = tbed_rtl_is_of_log(places->reader)};
    struct tbed_statistics *statistics;
    enum tbed_status status = tbed_statistics_make(places->reader, &analysis, &statistics);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(run->path), tbed_status_text(status));
        return false;
    }
    bool added = add_statistics(comparison, places, statistics, first, run);
    tbed_statistics_close(statistics);
    if (analysis.count_open) {
        run->open_count = run->totals.open_count;
        run->totals.open_count = 0;
    }
    return added;
}

static bool load_trace(struct tbed_comparison *comparison, const struct compare_options *options,
                       const struct compare_run *first, struct compare_run *run)
{
    struct tbed_reader *reader = tool_open(run->path);
    struct tool_places places; /* as report names them: one name in all runs, wherever a module was loaded */
    struct tbed_trace_info info;
    if (reader == NULL)
        return false;
    tool_places_open(&places, reader, TBED_NAME_ALL);
    bool by_scope = options->by_scope || tbed_rtl_is_of_log(reader);
    bool added = by_scope ? load_scopes(comparison, &places, options, first, run)
                          : load_labels(comparison, &places, options->jobs, first, run);
    if (added) {
        tbed_reader_info(reader, &info);
        run->resolution_ns = tbed_tick_span_to_ns(reader, info.resolution_ticks);
        run->drop_count = tool_drops_total(info.drops);
        run->damage_count = tool_damage_count(reader);
        tool_tell_damage(run->path, reader);
    }
    tool_places_close(&places);
    tbed_reader_close(reader);
    return added;
}

/* ---- Foreign files ---- */

static bool load_foreign(struct tbed_comparison *comparison, unsigned jobs, const struct compare_run *first,
                         struct compare_run *run)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = jobs};
    struct tbed_error error = {.offset = UINT64_MAX};
    struct tbed_profile *profile = NULL;
    tool_guard(run->path);
    if (tbed_profile_make_foreign(run->path, &options, &profile, &error) != TBED_OK) {
        tool_complain_open(run->path, &error);
        return false;
    }
    bool added = add_profile(comparison, TBED_OK, profile, NULL, first, run);
    if (added) {
        run->damage_count = run->totals.damage_count;
        tool_tell_profile_damage(run->path, profile);
    }
    tbed_profile_close(profile);
    return added;
}

/* A profile has labels, and no scopes to group. */
static const struct tool_option_scope scopes[] = {
    {COMPARE_OPTION_BY, "trace, rtl-log", NULL},
    {GROUP_OPTION_INCLUDE, "trace, rtl-log", NULL},
    {GROUP_OPTION_EXCLUDE, "trace, rtl-log", NULL},
};

bool compare_load(struct tbed_comparison *comparison, const char *path, const struct compare_options *options,
                  const struct compare_run *first, struct compare_run *run_ret)
{
    *run_ret = (struct compare_run){.path = path};
    const struct tbed_format *format = tool_format(path);
    bool has_profile = format != NULL && format->has_profile;
    if (!tool_options_apply(scopes, sizeof scopes / sizeof scopes[0], tool_format_name(format), path))
        return false;
    return has_profile ? load_foreign(comparison, options->jobs, first, run_ret)
                       : load_trace(comparison, options, first, run_ret);
}
