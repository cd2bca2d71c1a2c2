/*
 * tracebed tree: show which calls led to which, combining the calls of each path.
 *
 * Not here: printing calls one by one (tree_calls.c).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/tree/tree.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tracebed tree [OPTION]... FILE\n"
    "\n"
    "Print spans, such as function calls, as a tree: what they were nested in, how\n"
    "often, and how long they took. Spans with the same name in the same place form\n"
    "one line. FILE may be '-' for standard input.\n"
    "\n"
    "      --calls            print each span by itself, thread by thread, with its\n"
    "                         begin and duration (default for RTL_LOGFILE logs)\n"
    "      --paths            combine spans with the same name in the same place\n"
    "                         (default for all other traces)\n"
    "      --include-from=FILE\n"
    "                         with --calls, print only names that match a line of\n"
    "                         FILE, a POSIX extended regular expression\n"
    "      --exclude-from=FILE\n"
    "                         and of these, only names that match no line of FILE\n"
    "      --per-thread       print a tree for each thread\n"
    "  -d, --depth=N          print only N levels\n"
    "  -m, --minimum=P        hide what took less than P percent of its process or\n"
    "                         thread (default: 0)\n"
    "      --diff=OLD         print what changed since the trace OLD, where self time\n"
    "                         changed most first; --minimum hides paths in which\n"
    "                         it changed by less than P percent\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --json             print one JSON object\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "A span that never ended lasts until the last event of its stream and is marked\n"
    "'[never ended]'. --calls keeps the calls of one thread in memory.\n"
    "\n"
    "tracebed-tree(1) documents the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed tree run.tbed\n"
    "  tracebed tree soffice_4711.log\n"
    "  tracebed tree --diff=old.tbed --minimum=1 new.tbed\n"
    "  tracebed tree --per-thread --depth=3 --minimum=1 run.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
    "printed); 2 if the usage is wrong or the file cannot be read.\n";

enum { OPTION_PER_THREAD = 2000, OPTION_CALLS, OPTION_PATHS, OPTION_DIFF, OPTION_JSON };

/* ---- The command line ---- */

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct tree *tree, int option)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&tree->filter, option, optarg);
    switch (option) {
    case 'd':
        return tool_parse_u64(optarg, UINT32_MAX, &tree->depth_max)
                   ? NULL
                   : tool_takes("-d takes a number of levels", optarg);
    case 'm':
        return tool_parse_percent(optarg, &tree->minimum) ? NULL
                                                          : tool_takes("-m takes a percentage", optarg);
    case 'j':
        tree->has_jobs = true;
        return tool_parse_jobs(optarg, &tree->options.thread_count);
    case OPTION_PER_THREAD:
        tree->options.per_thread = true;
        return NULL;
    case OPTION_CALLS:
        tree->calls = true;
        return NULL;
    case OPTION_DIFF:
        tree->old.path = optarg;
        return NULL;
    case OPTION_PATHS:
        tree->paths = true;
        return NULL;
    case GROUP_OPTION_INCLUDE:
    case GROUP_OPTION_EXCLUDE:
        return group_take_option(&tree->group, option, optarg);
    default:
        tree->json = true;
        return NULL;
    }
}

static int parse(int argc, char **argv, struct tree *tree)
{
    static const struct option longs[] = {{"calls", no_argument, NULL, OPTION_CALLS},
                                          {"paths", no_argument, NULL, OPTION_PATHS},
                                          {"diff", required_argument, NULL, OPTION_DIFF},
                                          GROUP_OPTIONS,
                                          TOOL_FILTER_OPTIONS,
                                          {"per-thread", no_argument, NULL, OPTION_PER_THREAD},
                                          {"depth", required_argument, NULL, 'd'},
                                          {"minimum", required_argument, NULL, 'm'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_tree, argc, argv, "d:m:j:h" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = take_option(tree, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_tree, wrong);
    }
    if (exit >= 0)
        return exit;
    if (tree->calls &&
        (tree->paths || tree->options.per_thread || tree->minimum > 0 || tree->old.path != NULL))
        return tool_usage(&tool_verb_tree,
                          "--calls cannot be combined with --paths, --per-thread, --minimum or --diff");
    tree->paths |= tree->options.per_thread || tree->minimum > 0 || tree->old.path != NULL;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_tree, optind < argc ? "too many FILE operands" : "missing FILE operand");
    tree->path = argv[optind];
    if (tree->old.path != NULL && strcmp(tree->old.path, "-") == 0 && strcmp(tree->path, "-") == 0)
        return tool_usage(&tool_verb_tree, "only one FILE can be standard input");
    return -1;
}

/* ---- Printing ---- */

#define NAME_COLUMNS 32 /* on a terminal, figures that leave less for the name are not shown */

static const int figure_widths[] = {10, 8, 10, 10}; /* total, of all, self, count; a space is between them */
#define FIGURE_COUNT (sizeof figure_widths / sizeof figure_widths[0])

/* Prints the figures that the terminal has room for, and at least the first. Returns their width. */
static int print_figures(const char *const figures[FIGURE_COUNT])
{
    size_t width = tool_terminal_width();
    int used = 0;
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        if (i == 0 || width == 0 || (size_t)(used + 1 + figure_widths[i]) + NAME_COLUMNS <= width)
            used += printf("%s%*s", i > 0 ? " " : "", figure_widths[i], figures[i]);
        else
            break;
    return used;
}

static void print_row(const struct tree *tree, const struct tbed_stack_row *row, double part)
{
    char total[32], of_all[32], self[32], count[32];
    const char *kind = row_kind(row, tree->options.per_thread);
    snprintf(of_all, sizeof of_all, "%.1f %%", 100 * part);
    int used = print_figures((const char *const[]){tree_format_ticks(tree, total, row->span_ticks), of_all,
                                                   tree_format_ticks(tree, self, row->self_ticks),
                                                   tool_format_count(count, row->count)});
    used += printf("  %*s", (int)(row->depth < 60 ? 2 * row->depth : 120), "");
    used += kind != NULL ? (int)strlen(kind) + 4 : 0;
    tool_print_middle(stdout, row->label, row->label_nbytes, tool_name_width((size_t)used));
    if (kind != NULL)
        printf("  %s[%s]%s", tool_dim(), kind, tool_plain());
    if (row->open_count > 0)
        printf("  %s[%s never ended]%s", tool_dim(), tool_format_count(count, row->open_count), tool_plain());
    putchar('\n');
}

static void print_row_json(const struct tree *tree, struct tbed_json *json, size_t parent,
                           const struct tbed_stack_row *row)
{
    bool is_time = tree->info.clock != TBED_CLOCK_USER;
    tbed_json_object_open(json, NULL);
    tool_json_row_name(json, tree->reader, row->id, TBED_NAME_ALL, row->label, row->label_nbytes);
    if (row->parent == SIZE_MAX)
        tbed_json_null(json, "parent");
    else
        tbed_json_u64(json, "parent", parent);
    tbed_json_u64(json, "depth", row->depth);
    tbed_json_u64(json, "count", row->count);
    tbed_json_u64(json, "never_ended_count", row->open_count);
    double total = is_time ? tbed_tick_span_to_ns(tree->reader, row->span_ticks) : (double)row->span_ticks;
    bool is_negative = row->signed_self_ticks < 0 && row->self_ticks == 0;
    uint64_t self_ticks =
        is_negative ? 0 - (uint64_t)row->signed_self_ticks : (uint64_t)row->signed_self_ticks;
    double self = is_time ? tbed_tick_span_to_ns(tree->reader, self_ticks) : (double)self_ticks;
    tbed_json_u64(json, is_time ? "total_ns" : "total_ticks", tbed_round_u64(total));
    if (is_negative)
        tbed_json_i64(json, is_time ? "self_ns" : "self_ticks", -(int64_t)tbed_round_u64(self));
    else
        tbed_json_u64(json, is_time ? "self_ns" : "self_ticks", tbed_round_u64(self));
    tbed_json_object_close(json);
}

/* The state of a walk: the rows above, and how they were printed. */
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

/* Moves to the first child, or else to the next sibling of the nearest row that has one, without recursion. */
static void walk(const struct tree *tree, struct tbed_json *json)
{
    struct above *above = NULL;
    size_t room = 0, depth = 0, printed = 0, at = tree->links.first[tree->links.count];
    while (!tool_output_failed()) {
        const struct tbed_stack_row *row = at < tree->links.count ? tbed_stacks_row(tree->stacks, at) : NULL;
        if (row == NULL && depth == 0)
            break;
        if (row == NULL) {
            at = tree->links.next[above[--depth].row];
            continue;
        }
        bool is_root = row->depth < (tree->options.per_thread ? 2u : 1u);
        uint64_t root_ticks = is_root ? row->total_ticks : above[depth - 1].root_ticks;
        if (!is_wanted(tree, row, root_ticks)) {
            at = tree->links.next[at];
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
        at = tree->links.first[at];
    }
    free(above);
}

static void print_all(const struct tree *tree)
{
    struct tbed_stacks_totals totals;
    tbed_stacks_totals(tree->stacks, &totals);
    if (tree->json) {
        struct tbed_json json = {.out = stdout};
        tbed_json_object_open(&json, NULL);
        tool_json_file(&json, tree->path, tree->reader);
        tree_put_part(tree, &json);
        tbed_json_u64(&json, "span_count", totals.span_count);
        tbed_json_u64(&json, "never_ended_count", totals.open_count);
        tbed_json_u64(&json, "unknown_begin_count", totals.unknown_count);
        tbed_json_u64(&json, "folded_count", totals.folded_count);
        tbed_json_array_open(&json, "rows");
        walk(tree, &json);
        tbed_json_array_close(&json);
        tbed_json_u64(&json, "damage_count", tool_damage_count(tree->reader));
        tool_json_texts_left_out(&json, tbed_reader_texts_left_out(tree->reader));
        tbed_json_object_close(&json);
        putchar('\n');
        return;
    }
    tree_put_part(tree, NULL);
    print_figures((const char *const[]){"total", "of all", "self", "count"});
    puts("  span");
    walk(tree, NULL);
    if (totals.span_count == 0)
        tool_filter_tell_no_spans(&tree->filter, tree->path);
    if (totals.folded_count > 0)
        tool_hint("There are too many paths; %llu spans on the shortest are in '<other>'.",
                  (unsigned long long)totals.folded_count);
    if (totals.unknown_count > 0)
        tool_hint("%llu spans without a known begin are omitted.", (unsigned long long)totals.unknown_count);
}

/* ---- The verb ---- */

static enum tbed_status tree_paths(struct tree *tree)
{
    tool_progress_begin(tree->reader, false);
    enum tbed_status status = tbed_stacks_make(tree->reader, &tree->options, &tree->stacks);
    tool_progress_end();
    if (status != TBED_OK)
        return status;
    if (tree->old.path != NULL)
        return TBED_OK;
    tree->links = row_links_make(tree->stacks, ROWS_BY_TOTAL);
    print_all(tree);
    return TBED_OK;
}

static int print(struct tree *tree)
{
    bool calls = tree->calls || (!tree->paths && tbed_rtl_is_of_log(tree->reader));
    if (!calls && (tree->group.include.is_given || tree->group.exclude.is_given))
        return tool_usage(&tool_verb_tree, "--include-from and --exclude-from require --calls");
    if (calls && tree->has_jobs)
        return tool_usage(&tool_verb_tree, "--jobs requires --paths: single calls are printed by one thread");
    tool_places_open(&tree->places, tree->reader, TBED_NAME_ALL);
    int exit = tool_filter_open(&tree->filter, tree->path, tree->reader, &tree->places, 0);
    if (exit >= 0) {
        tool_places_close(&tree->places);
        return exit;
    }
    tree->options.filter = tree->filter.filter;
    enum tbed_status status = calls ? tree_calls(tree) : tree_paths(tree);
    if (status == TBED_OK && tree->old.path != NULL) {
        exit = old_stacks_open(&tree->old, &tree->filter, tree->options, tree->path, &tree->info);
        status = exit < 0 ? tree_diff(tree) : TBED_OK;
    }
    if (calls && tree->json)
        tool_json_end_lines(tree->reader);
    tool_places_close(&tree->places);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(tree->path), tbed_status_text(status));
        return TOOL_TROUBLE;
    }
    if (exit >= 0)
        return exit;
    tool_tell_orphans(tree->path, tree->reader);
    tool_tell_damage(tree->path, tree->reader);
    bool is_damaged = tool_damage_count(tree->reader) > 0;
    if (tree->old.reader != NULL) {
        tool_tell_damage(tree->old.path, tree->old.reader);
        is_damaged |= tool_damage_count(tree->old.reader) > 0;
    }
    return tool_finish(is_damaged ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tree tree = {.depth_max = UINT32_MAX, .options = {.size = sizeof tree.options}};
    int exit = parse(argc, argv, &tree);
    if (exit < 0) {
        tree.reader = tool_open(tree.path);
        exit = TOOL_TROUBLE;
    }
    if (tree.reader != NULL) {
        tbed_reader_info(tree.reader, &tree.info);
        exit = print(&tree);
    }
    tbed_stacks_close(tree.stacks);
    old_stacks_close(&tree.old);
    tool_filter_close(&tree.filter);
    tbed_reader_close(tree.reader);
    group_free(&tree.group);
    row_links_free(&tree.links);
    return exit;
}

const struct tool_verb tool_verb_tree = {"tree", "show which calls led to which, and how long they took",
                                         help, run};
