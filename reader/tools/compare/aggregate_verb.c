/*
 * tracebed aggregate: show the variation over several runs of the same work, by label.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/aggregate.h"
#include "reader/tools/positions/positions_table.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT 30

static const char help[] =
    "usage: tracebed aggregate [OPTION]... FILE...\n"
    "\n"
    "Combine many runs of the same work by the labels of their spans: how much time\n"
    "each took, how much it varies between runs, which runs are outliers, and which\n"
    "counts differ that should not. One FILE may be '-' for standard input.\n"
    "\n"
    "      --of=FIGURE        tabulate self (self time, default), time, count,\n"
    "                         misses, hits, blocked, load, hashing or p50 (the\n"
    "                         median duration of a call); --json has all but p50\n"
    "      --positions        tabulate the intervals of each thread between begins\n"
    "                         and ends of spans, in runs that do exactly the same\n"
    "  -s, --sort=KEY[,...]   sort by these columns: figures fall, and names and runs\n"
    "                         rise, or as '+' (rise) or '-' (fall) before KEY says;\n"
    "                         default: variance\n"
    "      --columns=KEY[,...]\n"
    "                         show these columns of each table that has any: mean,\n"
    "                         stddev, cv, median, min, max, variance, outliers, runs,\n"
    "                         differ, name; of runs run, total, vs_median, spans;\n"
    "                         with --positions thread, position, interval, inside\n"
    "      --by=WHAT          group spans by scope, module, author or function, for\n"
    "                         names of the form 'MODULE (AUTHOR) FUNCTION'\n"
    "      --include-from=FILE\n"
    "                         use only names that match a line of FILE, a POSIX\n"
    "                         extended regular expression; the others form one row\n"
    "      --exclude-from=FILE\n"
    "                         and of these, only names that match no line of FILE\n"
    "  -l, --limit=N          show N rows of each table; 0 shows all (default: 30,\n"
    "                         all with --json and --csv)\n"
    "      --percent-above=P  hide labels whose mean self time is below P percent of\n"
    "                         the mean total time\n"
    "      --csv              print rows as comma-separated values\n"
    "      --json             print one JSON object on one line\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "A label that does not occur in a run counts as 0 there. 'std dev' is that of a\n"
    "sample (n - 1), and 'cv' is the coefficient of variation, std dev / mean.\n"
    "\n"
    "An outlier is a run further from the median than 3.5 robust standard deviations\n"
    "(the modified z-score of Iglewicz and Hoaglin): 1.4826 times the median absolute\n"
    "deviation, or, if that is 0, 1.2533 times the mean absolute deviation. Fewer\n"
    "than 5 runs have no outliers. Counts that differ between runs follow the label.\n"
    "\n"
    "tracebed-aggregate(1) documents the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed aggregate run-*.tbed\n"
    "  tracebed aggregate --sort=cv --name=mir_ *.mm_profdata\n"
    "  tracebed aggregate --positions --sort=cv run-*.tbed\n"
    "  tracebed aggregate --columns=name,median,cv --csv run-*.tbed\n"
    "  tracebed aggregate --json *.tbed | jq '.rows[] | select(.counts_differ)'\n"
    "\n"
    "Exit status: 0 on success; 1 if a file is damaged (everything intact is used);\n"
    "2 if the usage is wrong, a file cannot be read, or the clocks of the files count\n"
    "different things.\n";

enum { OPTION_POSITIONS = COMPARE_OPTION_LAST };

/* ---- Rows ---- */

static bool do_counts_differ(const struct aggregate *aggregate, size_t index)
{
    struct tbed_figures first = tbed_comparison_figures(aggregate->comparison, index, 0);
    for (size_t run = 1; run < aggregate->run_count; run++) {
        struct tbed_figures other = tbed_comparison_figures(aggregate->comparison, index, run);
        for (enum tbed_figure figure = TBED_FIGURE_INVOCATIONS; figure <= TBED_FIGURE_HITS; figure++)
            if (first.of[figure] != other.of[figure])
                return true;
    }
    return false;
}

static bool is_wanted(const struct aggregate *aggregate, const struct aggregate_row *row)
{
    if (aggregate->options->percent <= 0)
        return true;
    struct tbed_spread self = aggregate_spread(aggregate, row->index, TBED_FIGURE_SELF);
    return self.mean * 100 >= aggregate->options->percent * aggregate->total.mean;
}

static void count_outliers(struct aggregate *aggregate, const struct tbed_spread *spread)
{
    for (size_t run = 0; spread->outlier_count > 0 && run < aggregate->run_count; run++)
        aggregate->outlier_counts[run] += tbed_spread_is_outlier(spread, aggregate->values[run]);
}

static void collect_rows(struct aggregate *aggregate)
{
    struct tbed_comparison_row label;
    while (tbed_comparison_row(aggregate->comparison, aggregate->label_count, &label))
        aggregate->label_count++;
    aggregate->rows = tool_realloc(NULL, aggregate->label_count * sizeof *aggregate->rows);
    for (size_t i = 0; i < aggregate->label_count; i++) {
        struct aggregate_row row = {.index = i, .counts_differ = do_counts_differ(aggregate, i)};
        tbed_comparison_row(aggregate->comparison, i, &row.label);
        if (!is_wanted(aggregate, &row))
            continue;
        row.spread = aggregate_spread(aggregate, i, aggregate->options->figure);
        count_outliers(aggregate, &row.spread);
        aggregate->differ_count += row.counts_differ;
        aggregate->rows[aggregate->row_count++] = row;
    }
}

static void collect_artifacts(struct aggregate *aggregate, size_t *count_ret)
{
    struct tbed_comparison_row label;
    size_t count = 0;
    while (tbed_comparison_artifact(aggregate->comparison, count, &label))
        count++;
    aggregate->artifacts = tool_realloc(NULL, count * sizeof *aggregate->artifacts);
    for (size_t i = 0; i < count; i++) {
        aggregate->artifacts[i] = (struct aggregate_row){.index = i, .spread = aggregate_sizes(aggregate, i)};
        tbed_comparison_artifact(aggregate->comparison, i, &aggregate->artifacts[i].label);
    }
    *count_ret = count;
}

static void fill_tables(struct aggregate *aggregate)
{
    static const struct table_keys as_given = {.count = 0};
    const struct compare_options *options = aggregate->options;
    size_t artifact_count;
    collect_rows(aggregate);
    collect_artifacts(aggregate, &artifact_count);
    aggregate_open_tables(aggregate);
    table_fill(&aggregate->tables[AGGREGATE_LABELS], aggregate->rows, sizeof *aggregate->rows,
               aggregate->row_count, &options->sort, options->limit);
    table_fill(&aggregate->tables[AGGREGATE_ARTIFACTS], aggregate->artifacts, sizeof *aggregate->artifacts,
               artifact_count, &options->sort, options->limit);
    table_fill(&aggregate->tables[AGGREGATE_RUNS], aggregate->runs, sizeof *aggregate->runs,
               aggregate->run_count, &as_given, options->limit);
}

static void spread_totals(struct aggregate *aggregate)
{
    for (size_t run = 0; run < aggregate->run_count; run++)
        aggregate->values[run] = tbed_comparison_total(aggregate->comparison, run);
    tbed_spread_make(aggregate->values, aggregate->run_count, aggregate->scratch, &aggregate->total);
}

/* ---- Many files ---- */

static bool load(struct tbed_comparison *comparison, struct aggregate *aggregate, char **paths)
{
    for (size_t i = 0; i < aggregate->run_count; i++)
        if (!compare_load(comparison, paths[i], aggregate->options, i > 0 ? aggregate->runs : NULL,
                          &aggregate->runs[i]))
            return false;
    return true;
}

static int aggregate_files(struct aggregate *aggregate, char **paths)
{
    struct tbed_comparison *comparison = compare_open();
    size_t count = aggregate->run_count;
    int exit = TOOL_TROUBLE;
    aggregate->comparison = comparison;
    aggregate->runs = tool_realloc(NULL, count * sizeof *aggregate->runs);
    aggregate->values = tool_realloc(NULL, count * sizeof *aggregate->values);
    aggregate->scratch = tool_realloc(NULL, count * sizeof *aggregate->scratch);
    aggregate->outlier_counts = tool_realloc(NULL, count * sizeof *aggregate->outlier_counts);
    memset(aggregate->outlier_counts, 0, count * sizeof *aggregate->outlier_counts);
    if (load(comparison, aggregate, paths)) {
        spread_totals(aggregate);
        fill_tables(aggregate);
        if (aggregate->options->json)
            aggregate_print_json(aggregate);
        else if (aggregate->options->csv)
            compare_print_csv(aggregate->tables, AGGREGATE_TABLE_COUNT, AGGREGATE_RUNS,
                              &aggregate->options->columns);
        else
            aggregate_print_text(aggregate);
        exit = TOOL_FINE;
        for (size_t i = 0; i < count; i++)
            exit = aggregate->runs[i].damage_count > 0 ? TOOL_FOUND : exit;
    }
    compare_free_rows(aggregate->tables, AGGREGATE_TABLE_COUNT);
    free(aggregate->rows);
    free(aggregate->artifacts);
    free(aggregate->runs);
    free(aggregate->values);
    free(aggregate->scratch);
    free(aggregate->outlier_counts);
    tbed_comparison_close(comparison);
    return exit;
}

/* ---- Options ---- */

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct compare_options *options, struct aggregate *aggregate, int option,
                               const char *argument)
{
    switch (option) {
    case OPTION_POSITIONS:
        aggregate->by_position = true;
        return NULL;
    default:
        return compare_take_option(options, option, argument);
    }
}

/* Returns NULL, or what is wrong. */
static const char *check(struct compare_options *options, const struct aggregate *aggregate)
{
    if (!aggregate->by_position)
        return compare_parse_keys(options, aggregate_tables, AGGREGATE_TABLE_COUNT, AGGREGATE_SORTED_COUNT);
    if (options->has_figure || options->by_scope || options->percent > 0)
        return "--positions cannot be combined with --of, --by, --include-from, --exclude-from or "
               "--percent-above";
    return compare_parse_keys(options, &positions_columns, 1, 1);
}

/* Returns -1 to continue, with 'optind' at the first file, or the exit status. */
static int take_options(struct compare_options *options, struct aggregate *aggregate, int argc, char **argv)
{
    static const struct option long_options[] = {
        COMPARE_OPTIONS, {"positions", no_argument, NULL, OPTION_POSITIONS}, {0}};
    int option, exit = -1;
    while ((option = tool_option_next(&tool_verb_aggregate, argc, argv, COMPARE_SHORT_OPTIONS, long_options,
                                      &exit)) != -1) {
        const char *problem = take_option(options, aggregate, option, optarg);
        if (problem != NULL)
            return tool_usage(&tool_verb_aggregate, problem);
    }
    if (exit >= 0)
        return exit;
    const char *problem = check(options, aggregate);
    if (problem == NULL && optind == argc)
        problem = "missing FILE operands";
    if (problem != NULL)
        return tool_usage(&tool_verb_aggregate, problem);
    aggregate->run_count = (size_t)(argc - optind);
    return compare_check_paths(&tool_verb_aggregate, argv + optind, aggregate->run_count) ? -1 : TOOL_TROUBLE;
}

static int aggregate_positions(const struct aggregate *aggregate, char **paths)
{
    struct positions_table table = {
        .options = aggregate->options, .paths = paths, .run_count = aggregate->run_count};
    return positions_aggregate(&table);
}

static int run(int argc, char **argv)
{
    struct compare_options options = {0};
    struct aggregate aggregate = {.options = &options};
    int exit = take_options(&options, &aggregate, argc, argv);
    if (options.limit == 0)
        options.limit = options.json || options.csv ? SIZE_MAX : TEXT_LIMIT;
    if (exit < 0)
        exit = tool_finish(aggregate.by_position ? aggregate_positions(&aggregate, argv + optind)
                                                 : aggregate_files(&aggregate, argv + optind));
    compare_free_options(&options);
    return exit;
}

const struct tool_verb tool_verb_aggregate = {
    .name = "aggregate",
    .summary = "show the variation over several runs",
    .help = help,
    .run = run,
};
