/*
 * tracebed tree: which calls led to which, all calls of the same path put together.
 *
 * Not here: the calls one by one ('tracebed dump --depth').
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/symbols.h>

static const char help[] =
    "usage: tracebed tree [OPTION...] FILE\n"
    "\n"
    "Prints spans, calls of functions for example, as a tree: what they were nested in, how often, and how "
    "long\n"
    "they took. Those of one name in the same place are one line. FILE may be '-', standard input.\n"
    "\n"
    "      --per-thread   a tree for each thread instead of all threads put together\n"
    "  -d, --depth N      only N levels of spans\n"
    "  -m, --minimum P    leave out what took less than P percent of its process or thread (default: 0)\n"
    "      --json         one JSON object\n"
    "      --color=WHEN   never, auto or always\n"
    "  -h, --help         this text\n"
    "\n"
    "With --json: total_ns and self_ns are ticks where the clock counts something else, and 'parent' is the\n"
    "number of a row, counted from 0.\n"
    "\n"
    "Examples:\n"
    "  tracebed tree run.tbed\n"
    "  tracebed tree --per-thread --depth=3 --minimum=1 run.tbed\n"
    "\n"
    "Exit codes: 0 fine; 1 the file is damaged (what is intact is printed); 2 wrong usage, or it cannot be\n"
    "read.\n";

enum { OPTION_PER_THREAD = 2000, OPTION_JSON };

struct tree {
    const char *path;
    bool json;
    uint64_t depth_max;
    double minimum; /* of the root */
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    struct tbed_stacks_options options;
    struct tbed_stacks *stacks;
    struct tbed_symbols *symbols; /* while the stacks are made */
    size_t *first, *next;         /* child, and its sibling, by row; the longest first; count: none */
    size_t count;
};

/* ---- The command line ---- */

static bool parse_percent(const char *text, double *part_ret)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !(percent >= 0) || percent > 100)
        return false;
    *part_ret = percent / 100;
    return true;
}

/* What is wrong with the option, or NULL. */
static const char *take_option(struct tree *tree, int option)
{
    switch (option) {
    case 'd':
        return tool_parse_u64(optarg, UINT32_MAX, &tree->depth_max) ? NULL : "-d takes a number of levels";
    case 'm':
        return parse_percent(optarg, &tree->minimum) ? NULL : "-m takes a percentage";
    case OPTION_PER_THREAD:
        tree->options.per_thread = true;
        return NULL;
    default:
        tree->json = true;
        return NULL;
    }
}

static int parse(int argc, char **argv, struct tree *tree)
{
    static const struct option longs[] = {{"per-thread", no_argument, NULL, OPTION_PER_THREAD},
                                          {"depth", required_argument, NULL, 'd'},
                                          {"minimum", required_argument, NULL, 'm'},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_tree, argc, argv, "d:m:h", longs, &exit)) != -1) {
        const char *wrong = take_option(tree, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_tree, wrong);
    }
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_tree, optind < argc ? "takes one FILE" : "which FILE?");
    tree->path = argv[optind];
    return -1;
}

/* ---- Order: the rows come by name, people want the longest first ---- */

struct longest {
    uint64_t ticks;
    size_t row;
};

static int by_ticks(const void *a, const void *b)
{
    const struct longest *left = a, *right = b;
    if (left->ticks != right->ticks)
        return left->ticks < right->ticks ? -1 : 1;
    return left->row > right->row ? -1 : left->row < right->row;
}

/* Rows by rising time, each put in front of its siblings. Roots are children of the row behind the last. */
static void link_rows(struct tree *tree)
{
    const struct tbed_stack_row *row;
    while (tbed_stacks_row(tree->stacks, tree->count) != NULL)
        tree->count++;
    struct longest *rows = tool_realloc(NULL, (tree->count + 1) * sizeof *rows);
    tree->first = tool_realloc(NULL, (tree->count + 1) * sizeof *tree->first);
    tree->next = tool_realloc(NULL, (tree->count + 1) * sizeof *tree->next);
    for (size_t i = 0; i <= tree->count; i++) {
        row = tbed_stacks_row(tree->stacks, i);
        rows[i] = (struct longest){row != NULL ? row->total_ticks : 0, i};
        tree->first[i] = tree->count;
    }
    qsort(rows, tree->count, sizeof *rows, by_ticks);
    for (size_t i = 0; i < tree->count; i++) {
        row = tbed_stacks_row(tree->stacks, rows[i].row);
        size_t parent = row->parent != SIZE_MAX ? row->parent : tree->count;
        tree->next[rows[i].row] = tree->first[parent];
        tree->first[parent] = rows[i].row;
    }
    free(rows);
}

/* ---- Printing ---- */

static const char *format_ticks(const struct tree *tree, char buffer[32], uint64_t ticks)
{
    if (tree->info.clock == TBED_CLOCK_USER)
        return tool_format_count(buffer, ticks);
    return tool_format_ns(buffer, tbed_tick_span_to_ns(tree->reader, ticks));
}

static void print_row(const struct tree *tree, const struct tbed_stack_row *row, double part)
{
    char total[32], self[32], count[32];
    printf("%10s %6.1f %% %10s %10s  %*s", format_ticks(tree, total, row->total_ticks), 100 * part,
           format_ticks(tree, self, row->self_ticks), tool_format_count(count, row->count),
           (int)(row->depth < 60 ? 2 * row->depth : 120), "");
    tool_print_text(stdout, row->label, row->label_nbytes, 0);
    putchar('\n');
}

static void print_row_json(const struct tree *tree, struct tool_json *json, size_t parent,
                           const struct tbed_stack_row *row)
{
    bool is_time = tree->info.clock != TBED_CLOCK_USER;
    tool_json_object_open(json, NULL);
    tool_json_text(json, "name", row->label, row->label_nbytes);
    if (row->parent == SIZE_MAX)
        tool_json_null(json, "parent");
    else
        tool_json_u64(json, "parent", parent);
    tool_json_u64(json, "depth", row->depth);
    tool_json_u64(json, "count", row->count);
    double total = is_time ? tbed_tick_span_to_ns(tree->reader, row->total_ticks) : (double)row->total_ticks;
    double self = is_time ? tbed_tick_span_to_ns(tree->reader, row->self_ticks) : (double)row->self_ticks;
    tool_json_f64(json, "total_ns", total);
    tool_json_f64(json, "self_ns", self);
    tool_json_object_close(json);
}

/* Where a walk is: the rows above, and what they were printed as. */
struct above {
    size_t row, printed;
    uint64_t root_ticks;
};

static bool is_wanted(const struct tree *tree, const struct tbed_stack_row *row, uint64_t root_ticks)
{
    uint32_t roots = tree->options.per_thread ? 2 : 1;
    double part = root_ticks > 0 ? (double)row->total_ticks / (double)root_ticks : 1;
    return row->depth < roots + tree->depth_max && (row->depth < roots || part >= tree->minimum);
}

/* Down to the first child, else to the next sibling of the nearest row that has one; no recursion. */
static void walk(const struct tree *tree, struct tool_json *json)
{
    struct above *above = NULL;
    size_t room = 0, depth = 0, printed = 0, at = tree->first[tree->count];
    while (!tool_output_failed()) {
        const struct tbed_stack_row *row = at < tree->count ? tbed_stacks_row(tree->stacks, at) : NULL;
        if (row == NULL && depth == 0)
            break;
        if (row == NULL) {
            at = tree->next[above[--depth].row];
            continue;
        }
        bool is_root = row->depth < (tree->options.per_thread ? 2u : 1u);
        uint64_t root_ticks = is_root ? row->total_ticks : above[depth - 1].root_ticks;
        if (!is_wanted(tree, row, root_ticks)) {
            at = tree->next[at];
            continue;
        }
        if (json != NULL)
            print_row_json(tree, json, depth > 0 ? above[depth - 1].printed : 0, row);
        else
            print_row(tree, row, root_ticks > 0 ? (double)row->total_ticks / (double)root_ticks : 0);
        if (depth == room) {
            room = 2 * room + 64;
            above = tool_realloc(above, room * sizeof *above);
        }
        above[depth++] = (struct above){at, printed++, root_ticks};
        at = tree->first[at];
    }
    free(above);
}

static void print_all(const struct tree *tree)
{
    struct tbed_stacks_totals totals;
    tbed_stacks_totals(tree->stacks, &totals);
    if (tree->json) {
        struct tool_json json = {.out = stdout};
        tool_json_object_open(&json, NULL);
        tool_json_string(&json, "file", tree->path);
        tool_json_u64(&json, "spans", totals.span_count);
        tool_json_u64(&json, "never_ended", totals.open_count);
        tool_json_u64(&json, "begin_unknown", totals.unknown_count);
        tool_json_array_open(&json, "rows");
        walk(tree, &json);
        tool_json_array_close(&json);
        tool_json_object_close(&json);
        putchar('\n');
        return;
    }
    printf("%10s %8s %10s %10s  %s\n", "total", "of all", "self", "count", "span");
    walk(tree, NULL);
    if (totals.span_count == 0 && totals.open_count == 0)
        tool_hint("It has no spans; 'tracebed report' tells what it has.");
    if (totals.open_count > 0)
        tool_hint("%llu spans never ended: what they had inside stands where they would.",
                  (unsigned long long)totals.open_count);
    if (totals.unknown_count > 0)
        tool_hint("%llu spans without a known begin are left out.", (unsigned long long)totals.unknown_count);
}

/* ---- The verb ---- */

static size_t name_place(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct tree *tree = context;
    return tbed_location_text(tree->symbols, tree->reader, id, TBED_LOCATION_SYMBOL, buffer, buffer_nbytes);
}

static int make(struct tree *tree)
{
    tree->symbols = tbed_symbols_open(NULL);
    tree->options.name = name_place;
    tree->options.name_context = tree;
    enum tbed_status status = tbed_stacks_make(tree->reader, &tree->options, &tree->stacks);
    tbed_symbols_close(tree->symbols);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(tree->path), tbed_status_text(status));
        return TOOL_TROUBLE;
    }
    link_rows(tree);
    print_all(tree);
    tool_tell_damage(tree->path, tree->reader);
    return tool_finish(tool_damage_count(tree->reader) > 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tree tree = {.depth_max = UINT32_MAX, .options = {.size = sizeof tree.options}};
    int exit = parse(argc, argv, &tree);
    if (exit >= 0)
        return exit;
    tree.reader = tool_open(tree.path);
    if (tree.reader == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(tree.reader, &tree.info);
    exit = make(&tree);
    tbed_stacks_close(tree.stacks);
    tbed_reader_close(tree.reader);
    free(tree.first);
    free(tree.next);
    return exit;
}

const struct tool_verb tool_verb_tree = {"tree", "print what was called by what, and how long it took", help,
                                         run};
