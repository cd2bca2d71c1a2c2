/*
 * A run of a comparison: a file, opened, made a profile of, added, closed again. A foreign profile is read in place,
 * without importing it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "compare_verbs.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/exchange.h>
#include <tracebed/symbols.h>

struct tbed_comparison *compare_open(void)
{
    struct tbed_comparison *comparison = NULL;
    if (tbed_comparison_open(&comparison) != TBED_OK) {
        tool_complain("no memory left");
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
        tool_usage(verb, "only one of the files can be standard input");
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
    tool_complain("%s counts %s, and %s counts %s: they cannot be compared", tool_path(first->path),
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

/* ---- Traces ---- */

struct naming {
    struct tbed_reader *reader;
    struct tbed_symbols *symbols;
};

/* As report names them, so that a place in code has one name in all runs, wherever it was loaded. */
static size_t name_id(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct naming *naming = context;
    return tbed_location_text(naming->symbols, naming->reader, id, TBED_LOCATION_ALL, buffer, buffer_nbytes);
}

static bool load_trace(struct tbed_comparison *comparison, unsigned jobs, const struct compare_run *first,
                       struct compare_run *run)
{
    struct naming naming = {.reader = tool_open(run->path)};
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = jobs, .name = name_id, .name_context = &naming};
    struct tbed_profile *profile = NULL;
    if (naming.reader == NULL)
        return false;
    naming.symbols = tbed_symbols_open(NULL);
    enum tbed_status status = tbed_profile_make(naming.reader, &options, &profile);
    bool added = add_profile(comparison, status, profile, naming.reader, first, run);
    if (added) {
        struct tbed_trace_info info;
        tbed_reader_info(naming.reader, &info);
        run->drop_count = tool_drops_total(info.drops);
        run->damage_count = tool_damage_count(naming.reader);
        tool_tell_damage(run->path, naming.reader);
    }
    tbed_profile_close(profile);
    tbed_symbols_close(naming.symbols);
    tbed_reader_close(naming.reader);
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

bool compare_load(struct tbed_comparison *comparison, const char *path, unsigned jobs,
                  const struct compare_run *first, struct compare_run *run_ret)
{
    *run_ret = (struct compare_run){.path = path};
    bool is_foreign = strcmp(path, "-") != 0 && tbed_foreign_find(path) == TBED_FOREIGN_PROFILE;
    return is_foreign ? load_foreign(comparison, jobs, first, run_ret)
                      : load_trace(comparison, jobs, first, run_ret);
}
