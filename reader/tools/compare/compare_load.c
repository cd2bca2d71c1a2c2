/*
 * Adds a run to a comparison: opens a file, makes its statistics, adds them, and closes it. Foreign profiles are read
 * without importing them.
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

/* Fills the run from 'made' and the statistics. */
static bool add_run(struct tbed_comparison *comparison, enum tbed_status made,
                    const struct tbed_statistics *statistics, const struct tbed_reader *reader,
                    const struct compare_run *first, struct compare_run *run)
{
    if (made == TBED_OK) {
        const char *unit = tbed_statistics_unit(statistics);
        tbed_statistics_totals(statistics, &run->totals);
        snprintf(run->unit, sizeof run->unit, "%s", unit != NULL ? unit : "");
        if (first != NULL && !go_together(first, run))
            return false;
        made = tbed_comparison_add(comparison, statistics, reader);
    }
    if (made != TBED_OK)
        tool_complain("%s: %s", tool_path(run->path), tbed_status_text(made));
    return made == TBED_OK;
}

static struct tbed_analysis_options analysis_of(struct compare_options *options)
{
    return (struct tbed_analysis_options){.size = sizeof(struct tbed_analysis_options),
                                          .thread_count = options->jobs,
                                          .group = options->by_scope ? group_name : NULL,
                                          .group_context = (void *)&options->group,
                                          .filter = options->filter.filter,
                                          .skip_percentiles =
                                              !options->keep_durations && options->figure != TBED_FIGURE_P50,
                                          .keep_durations = options->keep_durations};
}

/* ---- Traces ---- */

static bool add_trace(struct tbed_comparison *comparison, struct tool_places *places,
                      struct compare_options *options, const struct compare_run *first,
                      struct compare_run *run)
{
    struct tbed_analysis_options analysis = analysis_of(options);
    struct tbed_statistics *statistics = NULL;
    tool_progress_begin(places->reader, false);
    enum tbed_status status = tbed_statistics_make(places->reader, &analysis, &statistics);
    tool_progress_end();
    bool added = add_run(comparison, status, statistics, places->reader, first, run);
    tbed_statistics_close(statistics);
    return added;
}

static bool load_trace(struct tbed_comparison *comparison, struct compare_options *options,
                       const struct compare_run *first, struct compare_run *run)
{
    struct tbed_reader *reader = tool_open(run->path);
    struct tool_places places; /* the names of report, wherever a module was loaded */
    struct tbed_trace_info info;
    if (reader == NULL)
        return false;
    tool_places_open(&places, reader, TBED_NAME_ALL);
    bool added = tool_filter_open(&options->filter, run->path, reader, &places, options->jobs) < 0 &&
                 add_trace(comparison, &places, options, first, run);
    if (added) {
        tbed_reader_info(reader, &info);
        run->window = options->filter.window;
        run->resolution_ns = tbed_tick_span_to_ns(reader, info.resolution_ticks);
        run->step_ns =
            info.clock == TBED_CLOCK_USER ? 0 : tbed_tick_span_to_ns(reader, tbed_clock_step(reader));
        run->drop_count = tool_drops_total(info.drops);
        run->damage_count = tool_damage_count(reader);
        run->texts_left_out = tbed_reader_texts_left_out(reader);
        tool_tell_damage(run->path, reader);
    }
    tool_filter_end(&options->filter);
    tool_places_close(&places);
    tbed_reader_close(reader);
    return added;
}

/* ---- Foreign files ---- */

static bool load_foreign(struct tbed_comparison *comparison, struct compare_options *options,
                         const struct compare_run *first, struct compare_run *run)
{
    struct tbed_analysis_options analysis = analysis_of(options);
    struct tbed_error error = {.offset = UINT64_MAX};
    struct tbed_statistics *statistics = NULL;
    tool_guard(run->path);
    if (tbed_statistics_make_foreign(run->path, &analysis, &statistics, &error) != TBED_OK) {
        tool_complain_open(run->path, &error);
        return false;
    }
    bool added = add_run(comparison, TBED_OK, statistics, NULL, first, run);
    if (added) {
        run->damage_count = run->totals.foreign_damage_count;
        run->texts_left_out = run->totals.foreign_texts_left_out;
        tool_tell_profile_damage(run->path, statistics);
    }
    tbed_statistics_close(statistics);
    return added;
}

bool compare_load(struct tbed_comparison *comparison, const char *path, struct compare_options *options,
                  const struct compare_run *first, struct compare_run *run_ret)
{
    *run_ret = (struct compare_run){.path = path};
    const struct tbed_format *format = tool_format(path);
    bool is_in_place = format != NULL && format->has_profile && !tool_filter_is_given(&options->filter);
    return is_in_place ? load_foreign(comparison, options, first, run_ret)
                       : load_trace(comparison, options, first, run_ret);
}
