/*
 * Prints a diff as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/diff.h"

#include <math.h>
#include <string.h>

static int64_t change_of(const struct diff_row *row, enum tbed_figure figure)
{
    return tbed_figure_change(row->before.of[figure], row->after.of[figure]);
}

static double percent_of(uint64_t before, uint64_t after)
{
    double change = after >= before ? (double)(after - before) : -(double)(before - after);
    return 100 * change / (double)before;
}

static const char *state_of(const struct diff_row *row)
{
    return !row->before.present ? "new" : !row->after.present ? "gone" : "both";
}

/* ---- Text ---- */

/* More time is worse. */
static const char *color_of(int64_t change)
{
    return change > 0 ? tool_red() : change < 0 ? tool_green() : "";
}

/* Omits columns without a change in the shown rows, and misses if every call is a miss. */
static bool is_shown(const struct diff *diff, enum tbed_figure figure)
{
    bool changes = false, is_known = figure == TBED_FIGURE_MISSES;
    for (size_t i = 0; i < diff->row_shown; i++) {
        int64_t change = change_of(&diff->rows[i], figure);
        changes |= change != 0;
        is_known &= change == change_of(&diff->rows[i], TBED_FIGURE_INVOCATIONS);
    }
    return changes && !is_known;
}

/* The counts and times that are shown without a percentage. */
static const struct {
    enum tbed_figure figure;
    const char *heading;
} plain_columns[] = {
    {TBED_FIGURE_INVOCATIONS, "count"}, {TBED_FIGURE_MISSES, "misses"}, {TBED_FIGURE_HITS, "hits"},
    {TBED_FIGURE_BLOCKED, "blocked"},   {TBED_FIGURE_LOAD, "load"},     {TBED_FIGURE_HASHING, "hashing"},
};
#define PLAIN_COLUMN_COUNT (sizeof plain_columns / sizeof plain_columns[0])

static void put_percent(const struct diff_row *row, enum tbed_figure figure)
{
    char buffer[32];
    const char *state = state_of(row);
    if (*state != 'b')
        compare_put_column("", state);
    else if (row->before.of[figure] == 0)
        compare_put_column("", row->after.of[figure] == 0 ? "-" : "from 0");
    else
        compare_put_column(
            "", compare_format_percent(buffer, percent_of(row->before.of[figure], row->after.of[figure])));
}

static void put_row(const struct diff *diff, const struct diff_row *row, const bool *shown)
{
    char buffer[32];
    const struct compare_run *run = &diff->runs[0];
    for (enum tbed_figure figure = TBED_FIGURE_SELF; figure <= TBED_FIGURE_TIME; figure++) {
        int64_t change = change_of(row, figure);
        compare_put_column(color_of(change), compare_format_change(buffer, run, figure, change));
        put_percent(row, figure);
    }
    for (size_t i = 0; i < PLAIN_COLUMN_COUNT; i++)
        if (shown[i])
            compare_put_column("", compare_format_change(buffer, run, plain_columns[i].figure,
                                                         change_of(row, plain_columns[i].figure)));
    compare_put_label(row->label.label, row->label.label_nbytes);
    putchar('\n');
}

static void put_rows(const struct diff *diff)
{
    bool shown[PLAIN_COLUMN_COUNT];
    if (diff->row_count == 0)
        return;
    printf("\n%s%*s%*s%*s%*s", tool_bold(), COMPARE_COLUMN_WIDTH, "self", COMPARE_COLUMN_WIDTH, "self %",
           COMPARE_COLUMN_WIDTH, "total", COMPARE_COLUMN_WIDTH, "total %");
    for (size_t i = 0; i < PLAIN_COLUMN_COUNT; i++) {
        shown[i] = is_shown(diff, plain_columns[i].figure);
        if (shown[i])
            printf("%*s", COMPARE_COLUMN_WIDTH, plain_columns[i].heading);
    }
    printf("  label%s\n", tool_plain());
    for (size_t i = 0; i < diff->row_shown && !tool_output_failed(); i++)
        put_row(diff, &diff->rows[i], shown);
    compare_put_rest(diff->row_shown, diff->row_count, "labels");
}

static const char *format_bytes_change(char buffer[32], int64_t change)
{
    char size[32];
    if (change == 0)
        return "0";
    snprintf(buffer, 32, "%c%.30s", change < 0 ? '-' : '+', tool_format_bytes(size, fabs((double)change)));
    return buffer;
}

static void put_artifacts(const struct diff *diff)
{
    char buffer[32];
    if (diff->artifact_count == 0)
        return;
    printf("\n%s%*s%*s%*s%*s  artifact%s\n", tool_bold(), COMPARE_COLUMN_WIDTH, "size", COMPARE_COLUMN_WIDTH,
           "size %", COMPARE_COLUMN_WIDTH, "before", COMPARE_COLUMN_WIDTH, "after", tool_plain());
    for (size_t i = 0; i < diff->artifact_shown && !tool_output_failed(); i++) {
        const struct diff_artifact *row = &diff->artifacts[i];
        int64_t change = tbed_figure_change(row->before, row->after);
        compare_put_column(color_of(change), format_bytes_change(buffer, change));
        compare_put_column("", row->before == 0
                                   ? row->after == 0 ? "-" : "new"
                                   : compare_format_percent(buffer, percent_of(row->before, row->after)));
        compare_put_column("", tool_format_bytes(buffer, (double)row->before));
        compare_put_column("", tool_format_bytes(buffer, (double)row->after));
        compare_put_label(row->label.label, row->label.label_nbytes);
        putchar('\n');
    }
    compare_put_rest(diff->artifact_shown, diff->artifact_count, "artifacts");
}

static void put_run(const struct diff *diff, size_t i, const char *what)
{
    char buffer[32];
    const struct compare_run *run = &diff->runs[i];
    const char *path = tool_path(run->path);
    printf("%s%-6s ", tool_bold(), what);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: total %s", tool_plain(),
           compare_format(buffer, run, TBED_FIGURE_TIME, (double)tbed_comparison_total(diff->comparison, i)));
    if (run->unit[0] != '\0') {
        putchar(' ');
        tool_print_text(stdout, run->unit, strlen(run->unit), 0);
    }
    printf(", %s span%s", tool_format_count(buffer, run->totals.span_count),
           run->totals.span_count == 1 ? "" : "s");
    printf(" in %s stream%s%s\n", tool_format_count(buffer, run->totals.stream_count),
           run->totals.stream_count == 1 ? "" : "s",
           tool_filter_is_given(&diff->options->filter) ? " (only a part)" : "");
    compare_put_warnings(run);
}

static void put_total(const struct diff *diff)
{
    char buffer[32];
    uint64_t before = tbed_comparison_total(diff->comparison, 0);
    uint64_t after = tbed_comparison_total(diff->comparison, 1);
    int64_t change = tbed_figure_change(before, after);
    printf("change %s%s%s", color_of(change),
           compare_format_change(buffer, diff->runs, TBED_FIGURE_TIME, change),
           change != 0 ? tool_plain() : "");
    if (before != 0)
        printf(" (%s)", compare_format_percent(buffer, percent_of(before, after)));
    printf(", %s of ", tool_format_count(buffer, diff->changed_count));
    printf("%s label%s differ%s\n", tool_format_count(buffer, diff->row_count),
           diff->row_count == 1 ? "" : "s", diff->row_count == 1 ? "s" : "");
}

void diff_print_text(const struct diff *diff)
{
    char buffer[32];
    put_run(diff, 0, "before");
    put_run(diff, 1, "after");
    put_total(diff);
    put_rows(diff);
    put_artifacts(diff);
    if (diff->label_count == 0)
        fputs("Nothing to compare: neither has a span that ended.\n", stdout);
    else if (diff->row_count == 0)
        printf("--percent-above leaves none of %s labels.\n", tool_format_count(buffer, diff->label_count));
}

/* ---- JSON ---- */

static void json_percent(struct tbed_json *json, const char *key, bool is_number, uint64_t before,
                         uint64_t after)
{
    if (is_number && before != 0)
        tbed_json_f64(json, key, percent_of(before, after));
    else
        tbed_json_null(json, key);
}

static void json_change(struct tbed_json *json, const struct diff *diff, const struct diff_row *row,
                        enum tbed_figure figure)
{
    char key[48];
    tbed_json_i64(json, compare_key(key, diff->runs, figure, "_change"), change_of(row, figure));
}

static void json_both(struct tbed_json *json, const char *key, uint64_t before, uint64_t after)
{
    tbed_json_array_open(json, key);
    tbed_json_u64(json, NULL, before);
    tbed_json_u64(json, NULL, after);
    tbed_json_array_close(json);
}

static void json_row(struct tbed_json *json, const struct diff *diff, const struct diff_row *row)
{
    static const enum tbed_figure whole[] = {TBED_FIGURE_TIME, TBED_FIGURE_SELF, TBED_FIGURE_INVOCATIONS};
    bool in_both = row->before.present && row->after.present;
    char key[48];
    tbed_json_object_open(json, NULL);
    compare_json_name(json, diff->options, &row->label);
    tbed_json_string(json, "state", state_of(row));
    json_change(json, diff, row, TBED_FIGURE_TIME);
    json_percent(json, "time_percent_change", in_both, row->before.of[TBED_FIGURE_TIME],
                 row->after.of[TBED_FIGURE_TIME]);
    json_change(json, diff, row, TBED_FIGURE_SELF);
    json_percent(json, "self_percent_change", in_both, row->before.of[TBED_FIGURE_SELF],
                 row->after.of[TBED_FIGURE_SELF]);
    for (size_t i = 0; i < PLAIN_COLUMN_COUNT; i++)
        json_change(json, diff, row, plain_columns[i].figure);
    for (size_t i = 0; i < 3; i++)
        json_both(json, compare_key(key, diff->runs, whole[i], ""), row->before.of[whole[i]],
                  row->after.of[whole[i]]);
    tbed_json_object_close(json);
}

static void json_artifact(struct tbed_json *json, const struct diff *diff, const struct diff_artifact *row)
{
    tbed_json_object_open(json, NULL);
    compare_json_name(json, diff->options, &row->label);
    tbed_json_i64(json, "bytes_change", tbed_figure_change(row->before, row->after));
    json_both(json, "bytes", row->before, row->after);
    tbed_json_object_close(json);
}

void diff_print_json(const struct diff *diff)
{
    struct tbed_json json = {.out = stdout};
    uint64_t before = tbed_comparison_total(diff->comparison, 0);
    uint64_t after = tbed_comparison_total(diff->comparison, 1);
    bool counts = diff->runs[0].unit[0] != '\0';
    tbed_json_object_open(&json, NULL);
    compare_json_run(&json, "before", diff->options, &diff->runs[0], before);
    compare_json_run(&json, "after", diff->options, &diff->runs[1], after);
    tbed_json_i64(&json, counts ? "total_ticks_change" : "total_ns_change",
                  tbed_figure_change(before, after));
    json_percent(&json, "total_percent_change", true, before, after);
    tbed_json_array_open(&json, "rows");
    for (size_t i = 0; i < diff->row_shown; i++)
        json_row(&json, diff, &diff->rows[i]);
    tbed_json_array_close(&json);
    tbed_json_array_open(&json, "artifacts");
    for (size_t i = 0; i < diff->artifact_shown; i++)
        json_artifact(&json, diff, &diff->artifacts[i]);
    tbed_json_array_close(&json);
    tbed_json_object_open(&json, "left_out");
    tbed_json_u64(&json, "rows", diff->row_count - diff->row_shown);
    tbed_json_u64(&json, "artifacts", diff->artifact_count - diff->artifact_shown);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
