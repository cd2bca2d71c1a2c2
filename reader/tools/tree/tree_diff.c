/*
 * tracebed tree --diff: print what changed between two traces, by path.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/tree/tree.h"

#include <math.h>
#include <stdlib.h>

/* A path, and what it is sorted by: the largest change of self time in it and below it. */
struct path {
    const struct tbed_stack_difference *row;
    uint64_t largest;
    size_t first, next; /* child and sibling, largest first; 'count': none */
};

struct tree_diff {
    const struct tree *tree;
    struct path *paths; /* and one behind them, whose children are the roots */
    size_t count, hidden_count;
};

static uint64_t size_of(int64_t change)
{
    return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static int64_t total_change(const struct tbed_stack_difference *row)
{
    return tbed_figure_change(row->before.total, row->after.total);
}

static int64_t self_change(const struct tbed_stack_difference *row)
{
    return tbed_figure_change(row->before.self, row->after.self);
}

static const char *state_of(const struct tbed_stack_difference *row)
{
    return !row->before.present ? "new" : !row->after.present ? "gone" : "both";
}

/* ---- Order ---- */

static int compare_paths(const void *left, const void *right, void *context)
{
    const struct path *paths = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (paths[a].largest != paths[b].largest)
        return paths[a].largest < paths[b].largest ? -1 : 1;
    uint64_t x = size_of(total_change(paths[a].row)), y = size_of(total_change(paths[b].row));
    if (x != y)
        return x < y ? -1 : 1;
    return a > b ? -1 : a < b;
}

/* Takes paths by ascending change and puts each before its siblings. */
static void link_paths(struct tree_diff *diff)
{
    size_t *order = tool_realloc(NULL, (diff->count + 1) * sizeof *order);
    for (size_t i = 0; i < diff->count; i++)
        order[i] = i;
    qsort_r(order, diff->count, sizeof *order, compare_paths, diff->paths);
    for (size_t i = 0; i < diff->count; i++) {
        struct path *path = &diff->paths[order[i]];
        struct path *parent = &diff->paths[path->row->parent != SIZE_MAX ? path->row->parent : diff->count];
        path->next = parent->first;
        parent->first = order[i];
    }
    free(order);
}

static void load_paths(struct tree_diff *diff, const struct tbed_stack_differences *differences)
{
    while (tbed_stack_differences_row(differences, diff->count) != NULL)
        diff->count++;
    diff->paths = tool_realloc(NULL, (diff->count + 1) * sizeof *diff->paths);
    for (size_t i = 0; i <= diff->count; i++)
        diff->paths[i] = (struct path){
            .row = tbed_stack_differences_row(differences, i), .first = diff->count, .next = diff->count};
    for (size_t i = diff->count; i-- > 0;) { /* children follow their parents */
        struct path *path = &diff->paths[i];
        uint64_t own = size_of(self_change(path->row));
        path->largest = own > path->largest ? own : path->largest;
        struct path *parent = path->row->parent != SIZE_MAX ? &diff->paths[path->row->parent] : NULL;
        if (parent != NULL && path->largest > parent->largest)
            parent->largest = path->largest;
    }
    link_paths(diff);
}

/* ---- Text ---- */

static const char *format_value(const struct tree *tree, char buffer[32], double value)
{
    if (tree->info.clock == TBED_CLOCK_USER)
        return tool_format_count(buffer, (uint64_t)value);
    return tool_format_time(buffer, value, tbed_tick_span_to_ns(tree->reader, tree->info.resolution_ticks));
}

static void put_change(const struct tree *tree, int64_t change)
{
    char value[32], signed_value[40];
    const char *color = change > 0 ? tool_red() : change < 0 ? tool_green() : "";
    format_value(tree, value, fabs((double)change));
    snprintf(signed_value, sizeof signed_value, "%s%s", change > 0 ? "+" : "-", value);
    printf(" %s%11s%s", color, change == 0 ? "0" : signed_value, *color != '\0' ? tool_plain() : "");
}

static void put_percent(const struct tbed_stack_difference *row)
{
    char buffer[32];
    double before = (double)row->before.total, change = (double)row->after.total - before;
    const char *text = state_of(row);
    if (*text == 'b') {
        snprintf(buffer, sizeof buffer, "%+.1f %%", 100 * change / before);
        text = before > 0 ? buffer : "-";
    }
    printf(" %9s", text);
}

#define FIGURES_WIDTH 57 /* columns before a name */

static void put_row(const struct tree *tree, const struct tbed_stack_difference *row)
{
    char value[32];
    int64_t count = tbed_figure_change(row->before.count, row->after.count);
    printf("%11s", format_value(tree, value, (double)row->after.total));
    put_change(tree, total_change(row));
    put_percent(row);
    put_change(tree, self_change(row));
    char signed_count[40];
    snprintf(signed_count, sizeof signed_count, "%s%s", count > 0 ? "+" : "-",
             tool_format_count(value, size_of(count)));
    int indent = (int)(row->depth < 60 ? 2 * row->depth : 120);
    printf(" %9s  %*s", count == 0 ? "0" : signed_count, indent, "");
    tool_print_middle(stdout, row->label, row->label_nbytes, tool_name_width(FIGURES_WIDTH + (size_t)indent));
    putchar('\n');
}

/* ---- JSON ---- */

static void json_pair(struct tbed_json *json, const char *key, uint64_t before, uint64_t after)
{
    tbed_json_array_open(json, key);
    tbed_json_u64(json, NULL, before);
    tbed_json_u64(json, NULL, after);
    tbed_json_array_close(json);
}

static void json_row(const struct tree *tree, struct tbed_json *json, size_t parent,
                     const struct tbed_stack_difference *row)
{
    bool counts = tree->info.clock == TBED_CLOCK_USER;
    struct tbed_id_info unknown = {0};
    tbed_json_object_open(json, NULL);
    tool_json_known_name(json, row->label, row->label_nbytes, &unknown);
    if (row->parent == SIZE_MAX)
        tbed_json_null(json, "parent");
    else
        tbed_json_u64(json, "parent", parent);
    tbed_json_u64(json, "depth", row->depth);
    tbed_json_string(json, "state", state_of(row));
    tbed_json_i64(json, counts ? "total_ticks_change" : "total_ns_change", total_change(row));
    tbed_json_i64(json, counts ? "self_ticks_change" : "self_ns_change", self_change(row));
    json_pair(json, counts ? "total_ticks" : "total_ns", row->before.total, row->after.total);
    json_pair(json, counts ? "self_ticks" : "self_ns", row->before.self, row->after.self);
    json_pair(json, "count", row->before.count, row->after.count);
    tbed_json_object_close(json);
}

/* ---- The walk ---- */

/* The rows above, and how they were printed. */
struct above {
    size_t row, printed;
    double root_total; /* of BEFORE or, if it is new, of AFTER */
};

static bool is_wanted(const struct tree_diff *diff, const struct path *path, double root_total)
{
    const struct tree *tree = diff->tree;
    uint32_t roots = tree->options.per_thread ? 2 : 1;
    if (path->row->depth < roots)
        return true;
    return path->row->depth < roots + tree->depth_max && (double)path->largest >= tree->minimum * root_total;
}

static double root_total_of(const struct tbed_stack_difference *row)
{
    return (double)(row->before.total > 0 ? row->before.total : row->after.total);
}

/* Moves to the first child, or else to the next sibling of the nearest row that has one, without recursion. */
static void walk(struct tree_diff *diff, struct tbed_json *json)
{
    struct above *above = NULL;
    size_t room = 0, depth = 0, printed = 0, at = diff->paths[diff->count].first;
    while (!tool_output_failed()) {
        const struct path *path = &diff->paths[at];
        if (at == diff->count && depth == 0)
            break;
        if (at == diff->count) {
            at = diff->paths[above[--depth].row].next;
            continue;
        }
        bool is_root = path->row->depth < (diff->tree->options.per_thread ? 2u : 1u);
        double root_total = is_root ? root_total_of(path->row) : above[depth - 1].root_total;
        if (!is_wanted(diff, path, root_total)) {
            diff->hidden_count++;
            at = path->next;
            continue;
        }
        if (json != NULL)
            json_row(diff->tree, json, depth > 0 ? above[depth - 1].printed : 0, path->row);
        else
            put_row(diff->tree, path->row);
        if (depth == room) {
            room = 2 * room + 64;
            above = tool_realloc(above, room * sizeof *above);
        }
        above[depth++] = (struct above){at, printed++, root_total};
        at = path->first;
    }
    free(above);
}

/* ---- Both traces ---- */

static void json_trace(struct tbed_json *json, const char *key, const struct tree *tree, bool is_old,
                       const struct tbed_stacks_totals *totals)
{
    const struct tbed_reader *reader = is_old ? tree->old.reader : tree->reader;
    const struct tool_filter_window *window = is_old ? &tree->old.window : &tree->filter.window;
    tbed_json_object_open(json, key);
    tool_json_file(json, is_old ? tree->old.path : tree->path, reader);
    tool_filter_json(json, &tree->filter, window);
    tbed_json_u64(json, "span_count", totals->span_count);
    tbed_json_u64(json, "never_ended_count", totals->open_count);
    tbed_json_u64(json, "unknown_begin_count", totals->unknown_count);
    tbed_json_u64(json, "folded_count", totals->folded_count);
    tbed_json_u64(json, "damage_count", tool_damage_count(reader));
    tbed_json_object_close(json);
}

static void put_trace(const char *what, const struct tree *tree, const char *path,
                      const struct tbed_stacks_totals *totals)
{
    char buffer[32];
    printf("%s%-6s ", tool_bold(), what);
    tool_print_text(stdout, tool_path(path), strlen(tool_path(path)), 0);
    printf("%s: %s span%s%s\n", tool_plain(), tool_format_count(buffer, totals->span_count),
           totals->span_count == 1 ? "" : "s", tool_filter_is_given(&tree->filter) ? " (only a part)" : "");
}

static void print_json(struct tree_diff *diff, const struct tbed_stacks_totals *totals)
{
    const struct tree *tree = diff->tree;
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    json_trace(&json, "before", tree, true, &tree->old.totals);
    json_trace(&json, "after", tree, false, totals);
    tbed_json_array_open(&json, "rows");
    walk(diff, &json);
    tbed_json_array_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

static void print_text(struct tree_diff *diff, const struct tbed_stacks_totals *totals)
{
    const struct tree *tree = diff->tree;
    put_trace("before", tree, tree->old.path, &tree->old.totals);
    put_trace("after", tree, tree->path, totals);
    printf("\n%s%11s %11s %9s %11s %9s  span%s\n", tool_bold(), "total", "change", "change %", "self change",
           "count", tool_plain());
    walk(diff, NULL);
    uint64_t folded_count = totals->folded_count + tree->old.totals.folded_count;
    if (folded_count > 0)
        tool_hint("There are too many paths; %llu spans on the shortest are in '<other>'.",
                  (unsigned long long)folded_count);
    if (totals->span_count == 0 && tree->old.totals.span_count == 0)
        tool_hint("Neither has spans; run 'tracebed report' to see their contents.");
}

enum tbed_status tree_diff(struct tree *tree)
{
    struct tree_diff diff = {.tree = tree};
    struct tbed_stack_differences *differences = NULL;
    struct tbed_stacks_totals totals;
    tbed_stacks_totals(tree->stacks, &totals);
    enum tbed_status status = tbed_stack_differences_make(tree->old.stacks, tree->old.reader, tree->stacks,
                                                          tree->reader, &differences);
    if (status != TBED_OK)
        return status;
    load_paths(&diff, differences);
    if (tree->json)
        print_json(&diff, &totals);
    else
        print_text(&diff, &totals);
    free(diff.paths);
    tbed_stack_differences_close(differences);
    return TBED_OK;
}
