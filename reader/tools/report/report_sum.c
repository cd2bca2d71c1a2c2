/*
 * tracebed report --sum: several files, or all files of a folder, as one, with a row for each of them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/number_text.h"
#include "reader/tools/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracebed/exchange.h>

/* What was found out about one file. */
struct report_file {
    char *path; /* owned */
    uint64_t self_ticks, span_ticks;
    uint64_t span_count, event_count, artifact_nbytes, damage_count;
};

/* ---- Which files ---- */

struct report_sum {
    struct report_file *items;
    size_t count, room, taken_count;
    size_t other_count; /* in folders: neither traces nor profiles */
    struct tbed_statistics *statistics;
    bool has_others, has_categories, has_off_cpu; /* others: files that are not profiles */
    char name[64];
};

static void add_file(struct report_sum *files, char *path)
{
    if (files->count == files->room) {
        files->room = files->room * 2 + 16;
        files->items = tool_realloc(files->items, files->room * sizeof *files->items);
    }
    files->items[files->count++] = (struct report_file){.path = path};
}

static char *path_in(const char *folder, const char *name)
{
    char *path = NULL;
    size_t nbytes = strlen(folder);
    bool has_slash = nbytes == 0 || folder[nbytes - 1] == '/';
    if (asprintf(&path, "%s%s%s", folder, has_slash ? "" : "/", name) < 0) {
        tool_complain("out of memory");
        exit(TOOL_TROUBLE);
    }
    return path;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A profile of several files is listed once, by its events. */
static bool is_report_file(const char *path)
{
    struct tbed_error error;
    const char *end = strrchr(path, '.');
    if (is_folder(path) ||
        (end != NULL && (strcmp(end, ".string_data") == 0 || strcmp(end, ".string_index") == 0)))
        return false;
    const struct tbed_format *format = tool_format(path);
    if (format != NULL)
        return format->has_profile;
    struct tbed_reader *reader = tool_open_quietly(path, &error);
    tbed_reader_close(reader);
    return reader != NULL;
}

/* False after a complaint. */
static bool add_folder(struct report_sum *files, const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    if (count < 0) {
        tool_complain("%s: %s", tool_path(folder), strerror(errno));
        return false;
    }
    for (int i = 0; i < count; i++) {
        char *path = path_in(folder, names[i]->d_name);
        bool is_hidden = names[i]->d_name[0] == '.';
        if (!is_hidden && is_report_file(path)) {
            add_file(files, path);
        } else {
            files->other_count += !is_hidden;
            free(path);
        }
        free(names[i]);
    }
    free(names);
    return true;
}

/* Folders that are traces of other tools are files here. */
static bool list_files(struct report_sum *files, char **paths, int count)
{
    for (int i = 0; i < count; i++) {
        if (is_folder(paths[i]) && tool_format(paths[i]) == NULL) {
            if (!add_folder(files, paths[i]))
                return false;
        } else {
            add_file(files, path_in("", paths[i]));
        }
    }
    if (files->count == 0)
        tool_complain("--sum: no traces and no profiles in %s", tool_path(paths[0]));
    return files->count > 0;
}

/* ---- One after the other ---- */

static uint64_t in_ns(const struct tbed_reader *reader, uint64_t ticks)
{
    struct tbed_trace_info info = {.clock = TBED_CLOCK_USER};
    if (reader != NULL)
        tbed_reader_info(reader, &info);
    return info.clock != TBED_CLOCK_USER ? tbed_round_u64(tbed_tick_span_to_ns(reader, ticks)) : ticks;
}

static void measure(struct report_file *file, const struct report *one)
{
    const struct tbed_span_row *span;
    const struct tbed_artifact_row *artifact;
    uint64_t self = 0;
    for (size_t i = 0; (span = tbed_statistics_span(one->statistics, i)) != NULL; i++)
        self += span->self_ticks;
    for (size_t i = 0; (artifact = tbed_statistics_artifact(one->statistics, i)) != NULL; i++)
        file->artifact_nbytes += artifact->value;
    file->self_ticks = in_ns(one->reader, self);
    file->span_ticks = in_ns(one->reader, one->totals.span_ticks);
    file->span_count = one->totals.span_count;
    file->event_count = one->totals.event_count;
    file->damage_count =
        one->reader != NULL ? tool_damage_count(one->reader) : one->totals.foreign_damage_count;
}

bool report_sum_take(struct report_sum *sum, const struct report *one)
{
    measure(&sum->items[sum->taken_count++], one);
    sum->has_others |= !one->is_profile;
    sum->has_categories |= one->has_categories;
    sum->has_off_cpu |= one->has_off_cpu;
    enum tbed_status status = tbed_statistics_sum_add(sum->statistics, one->statistics, one->reader);
    if (status == TBED_ERR_ARGUMENT)
        tool_complain("%s: counts something else than the files before it", tool_path(one->path));
    else if (status != TBED_OK)
        tool_complain("%s: %s", tool_path(one->path), tbed_status_text(status));
    return status == TBED_OK;
}

/* ---- The table of files ---- */

TABLE_GETTER(file_time, report_file, table_value_of(row->span_ticks))
TABLE_GETTER(file_self, report_file, table_value_of(row->self_ticks))
TABLE_GETTER(file_spans, report_file, table_value_of(row->span_count))
TABLE_GETTER(file_events, report_file, table_value_of(row->event_count))
TABLE_GETTER(file_artifacts, report_file, table_value_of(row->artifact_nbytes))
TABLE_GETTER(file_damage, report_file, table_value_of(row->damage_count))
TABLE_GETTER(file_name, report_file, table_text_of(row->path, strlen(row->path)))

static struct table_value file_share(const struct table *table, const void *of)
{
    const struct report *report = table->context;
    double all = (double)report->totals.span_ticks;
    return (struct table_value){
        .number = all > 0 ? 100 * (double)((const struct report_file *)of)->span_ticks / all : 0};
}

const struct table_column report_file_columns[REPORT_FILE_COLUMNS] = {
    {.key = "time", .unit = TABLE_TICKS, .get = file_time},
    {.key = "share", .field = "time_percent", .title = "time %", .unit = TABLE_PERCENT, .get = file_share},
    {.key = "self", .unit = TABLE_TICKS, .get = file_self},
    {.key = "spans", .unit = TABLE_COUNT, .get = file_spans},
    {.key = "events", .unit = TABLE_COUNT, .get = file_events},
    {.key = "artifacts", .unit = TABLE_BYTES, .get = file_artifacts},
    {.key = "damage", .field = "damage_count", .unit = TABLE_COUNT, .get = file_damage},
    {.key = "name", .title = "file", .unit = TABLE_TEXT, .is_in_order = true, .get = file_name},
};

void report_files_text(const struct report *report)
{
    const struct table *table = &report->tables[REPORT_FILES];
    struct report_file all = {.path = (char *)"", .span_ticks = report->totals.span_ticks};
    char name[64], figure[32];
    table_print_text(table, &report->options->columns);
    for (size_t i = 0; i < table->count; i++) {
        const struct report_file *file = table->rows[i];
        all.self_ticks += file->self_ticks;
        all.span_count += file->span_count;
        all.event_count += file->event_count;
        all.artifact_nbytes += file->artifact_nbytes;
        all.damage_count += file->damage_count;
    }
    snprintf(name, sizeof name, "all %s files", tool_format_count(figure, table->count));
    if (table->count > 1)
        table_print_total(table, &report->options->columns, &all, name);
}

/* ---- Everything ---- */

/* The sum keeps the statistics. False after a complaint. */
static bool finish(struct report_sum *sum, struct report *report)
{
    char figure[32];
    const char *plural = sum->count == 1 ? "" : "s", *others = sum->other_count == 1 ? "" : "s";
    snprintf(sum->name, sizeof sum->name, "%s file%s", tool_format_count(figure, sum->count), plural);
    report->path = sum->name;
    report->statistics = sum->statistics;
    report->is_profile = !sum->has_others;
    report->has_categories = sum->has_categories;
    report->has_off_cpu = sum->has_off_cpu;
    if (tbed_statistics_sum_end(sum->statistics) != TBED_OK) {
        tool_complain("out of memory");
        return false;
    }
    tbed_statistics_totals(sum->statistics, &report->totals);
    if (sum->other_count > 0)
        tool_complain("left out: %s file%s or folder%s without a trace",
                      tool_format_count(figure, sum->other_count), others, others);
    return true;
}

int report_sum_make(struct report *report, char **paths, int count, report_file_function report_file)
{
    struct report_sum *sum = report->options->sum = tool_realloc(NULL, sizeof *sum);
    int exit = TOOL_FINE;
    *sum = (struct report_sum){.items = NULL};
    if (!list_files(sum, paths, count) || tbed_statistics_sum_open(&sum->statistics) != TBED_OK)
        return TOOL_TROUBLE;
    for (size_t i = 0; i < sum->count && exit < TOOL_TROUBLE; i++) {
        int one = report_file(report->options, sum->items[i].path);
        exit = one > exit ? one : exit;
    }
    return exit < TOOL_TROUBLE && finish(sum, report) ? exit : TOOL_TROUBLE;
}

void report_sum_fill(const struct report_sum *sum, struct report *report)
{
    struct table *table = &report->tables[REPORT_FILES];
    if (report->options->artifacts)
        table->text_columns = "artifacts,events,name";
    table_fill(table, sum->items, sizeof *sum->items, sum->count, &report->options->sort,
               report->options->limit);
}

void report_sum_close(struct report_sum *sum)
{
    tbed_statistics_close(sum->statistics);
    for (size_t i = 0; i < sum->count; i++)
        free(sum->items[i].path);
    free(sum->items);
    free(sum);
}
