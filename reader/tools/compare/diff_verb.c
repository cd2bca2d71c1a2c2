/*
 * tracebed diff: show what changed between two traces, by label.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/diff.h"
#include "reader/tools/compare/diff_calls.h"
#include "reader/tools/compare/sets.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT 30

/* The least changes that are marked. One run of each does not show how much runs differ anyway. */
#define SETS_THRESHOLD  0.02
#define CALLS_THRESHOLD 0.05

static const char help[] =
    "usage: tracebed diff [OPTION]... BEFORE AFTER\n"
    "  or:  tracebed diff [OPTION]... BEFORE... --with AFTER...\n"
    "\n"
    "Compare two traces by the labels of their spans: how much more or less time\n"
    "AFTER spent in each, largest change of self time first. With several runs of\n"
    "each, show which labels differ by more than the runs do among themselves. One\n"
    "file may be '-' for standard input.\n"
    "\n"
    "      --by=WHAT          group spans by scope, module, author or function, for\n"
    "                         names of the form 'MODULE (AUTHOR) FUNCTION'\n"
    "      --include-from=FILE\n"
    "                         compare only names that match a line of FILE, a POSIX\n"
    "                         extended regular expression; the others form one row\n"
    "      --exclude-from=FILE\n"
    "                         and of these, only names that match no line of FILE\n"
    "  -l, --limit=N          show N rows of each table; 0 shows all (default: 30,\n"
    "                         all with --json and --csv)\n"
    "  -s, --sort=KEY[,...]   sort by these columns: figures fall and names rise, or\n"
    "                         as '+' (rise) or '-' (fall) before KEY says; default:\n"
    "                         magnitude, the size of the change of self time; with\n"
    "                         --with and --calls marked,magnitude\n"
    "      --columns=KEY[,...]\n"
    "                         show these columns: self, self_percent, self_before,\n"
    "                         self_after, total, ..., count, misses, hits, blocked,\n"
    "                         load, hashing, state, name; of artifacts size, before,\n"
    "                         after; others with --with and --calls\n"
    "      --percent-above=P  hide labels whose self time changed by less than P\n"
    "                         percent of the total time of BEFORE\n"
    "      --with             compare the runs before this word with those after it;\n"
    "                         at least two of each\n"
    "      --of=FIGURE        with --with, compare self (self time, default), time,\n"
    "                         count, misses, hits, blocked, load, hashing or p50 (the\n"
    "                         median duration of a call)\n"
    "      --calls            compare the durations of single calls of two traces\n"
    "      --threshold=P      with --with and --calls, mark changes of at least P\n"
    "                         percent (default: 2 with --with, 5 with --calls)\n"
    "      --alpha=P          with --with and --calls, allow for a false mark in P\n"
    "                         percent of comparisons of equal runs (default: 1)\n"
    "      --keep-shift       with --with and --calls, compare times as they are,\n"
    "                         without taking out what all labels have in common\n"
    "      --exit-code        exit with status 1 if anything differs; see below\n"
    "      --csv              print rows as comma-separated values\n"
    "      --json             print one JSON object on one line\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "All figures are AFTER minus BEFORE. 'total' is the time from the first begin to\n"
    "the last end, summed over all threads. A label that occurs only in AFTER is\n"
    "'new', one that occurs only in BEFORE is 'gone'. Columns without changes are\n"
    "omitted. Artifacts are sizes recorded by the program.\n"
    "\n"
    "With --with, the column 'change %' has the change of the figure, 'from' and 'to'\n"
    "the interval in which it lies (with 99 percent, or 100 - alpha), and\n"
    "'deviations' its size in standard deviations of a run. 'p' is the probability\n"
    "of such a difference between equal runs, corrected for the number of labels.\n"
    "\n"
    "With --calls, 'calls %' is the median change of all pairs of calls, one of each\n"
    "trace, and 'effect' how many more of the pairs have the longer call in AFTER\n"
    "than in BEFORE: from -1 to 1. Nested calls are included, and marks are about\n"
    "calls: only several runs show how much runs differ when nothing has changed.\n"
    "\n"
    "tracebed-diff(1) documents all columns and the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed diff before.tbed after.tbed\n"
    "  tracebed diff --exclude=LLVM_ --percent-above=1 a.mm_profdata b.mm_profdata\n"
    "  tracebed diff --by=module old_4711.log new_4712.log\n"
    "  tracebed diff old-*.tbed --with new-*.tbed\n"
    "  tracebed diff --calls before.tbed after.tbed\n"
    "  tracebed diff --sort=-self_percent --csv before.tbed after.tbed\n"
    "  tracebed diff --exit-code --percent-above=1 before.tbed after.tbed\n"
    "  tracebed diff --json a.tbed b.tbed | jq '.rows[] | select(.state == \"new\")'\n"
    "\n"
    "Exit status: 0 on success, whether or not the traces differ; 1 if a file is\n"
    "damaged (everything intact is compared), or, with --exit-code, if a label that\n"
    "is not hidden, or without --percent-above an artifact, differs (with --with and\n"
    "--calls: if anything is marked); 2 if the usage is wrong, a file cannot be read,\n"
    "or the clocks of the files count different things.\n";

enum {
    OPTION_EXIT_CODE = COMPARE_OPTION_LAST,
    OPTION_WITH,
    OPTION_CALLS,
    OPTION_THRESHOLD,
    OPTION_ALPHA,
    OPTION_KEEP_SHIFT,
};

/* ---- Rows ---- */

static uint64_t size_of_change(uint64_t before, uint64_t after)
{
    return after > before ? after - before : before - after;
}

static uint64_t self_size(const struct diff_row *row)
{
    return size_of_change(row->before.of[TBED_FIGURE_SELF], row->after.of[TBED_FIGURE_SELF]);
}

static bool differs(const struct diff_row *row)
{
    return memcmp(row->before.of, row->after.of, sizeof row->before.of) != 0;
}

static bool is_wanted(const struct diff *diff, const struct diff_row *row)
{
    uint64_t whole = tbed_comparison_total(diff->comparison, 0);
    if (whole == 0)
        whole = tbed_comparison_total(diff->comparison, 1);
    return (double)self_size(row) * 100 >= diff->options->percent * (double)whole;
}

static void collect_rows(struct diff *diff)
{
    struct tbed_comparison_row label;
    while (tbed_comparison_row(diff->comparison, diff->label_count, &label))
        diff->label_count++;
    diff->rows = tool_realloc(NULL, diff->label_count * sizeof *diff->rows);
    for (size_t i = 0; i < diff->label_count; i++) {
        struct diff_row row = {.index = i,
                               .before = tbed_comparison_figures(diff->comparison, i, 0),
                               .after = tbed_comparison_figures(diff->comparison, i, 1)};
        tbed_comparison_row(diff->comparison, i, &row.label);
        if (!is_wanted(diff, &row))
            continue;
        diff->changed_count += differs(&row);
        diff->rows[diff->row_count++] = row;
    }
}

static void collect_artifacts(struct diff *diff)
{
    struct diff_artifact artifact = {0};
    size_t count = 0;
    while (tbed_comparison_artifact(diff->comparison, count, &artifact.label))
        count++;
    diff->artifacts = tool_realloc(NULL, count * sizeof *diff->artifacts);
    for (size_t i = 0; i < count; i++) {
        artifact = (struct diff_artifact){.index = i,
                                          .before = tbed_comparison_size(diff->comparison, i, 0),
                                          .after = tbed_comparison_size(diff->comparison, i, 1)};
        tbed_comparison_artifact(diff->comparison, i, &artifact.label);
        diff->artifacts_differ |= artifact.before != artifact.after;
        diff->artifacts[diff->artifact_count++] = artifact;
    }
}

static void fill_tables(struct diff *diff)
{
    const struct compare_options *options = diff->options;
    collect_rows(diff);
    collect_artifacts(diff);
    diff_open_tables(diff);
    table_fill(&diff->tables[DIFF_LABELS], diff->rows, sizeof *diff->rows, diff->row_count, &options->sort,
               options->limit);
    table_fill(&diff->tables[DIFF_ARTIFACTS], diff->artifacts, sizeof *diff->artifacts, diff->artifact_count,
               &options->sort, options->limit);
    diff_choose_columns(diff);
}

/* ---- Two files ---- */

static int exit_code(const struct diff *diff, bool wants_exit_code)
{
    bool differ = diff->changed_count > 0 || (diff->artifacts_differ && diff->options->percent <= 0);
    bool damaged = diff->runs[0].damage_count > 0 || diff->runs[1].damage_count > 0;
    return damaged || (wants_exit_code && differ) ? TOOL_FOUND : TOOL_FINE;
}

static bool load(struct tbed_comparison *comparison, struct diff *diff, char **paths)
{
    for (unsigned i = 0; i < 2; i++)
        if (!compare_load(comparison, paths[i], diff->options, i > 0 ? diff->runs : NULL, &diff->runs[i]))
            return false;
    return true;
}

static int diff_files(struct compare_options *options, char **paths, bool wants_exit_code)
{
    struct tbed_comparison *comparison = compare_open();
    struct diff diff = {.options = options, .comparison = comparison};
    int exit = TOOL_TROUBLE;
    if (load(comparison, &diff, paths)) {
        fill_tables(&diff);
        if (options->json)
            diff_print_json(&diff);
        else if (options->csv)
            compare_print_csv(diff.tables, DIFF_TABLE_COUNT, DIFF_TABLE_COUNT, &options->columns);
        else
            diff_print_text(&diff);
        exit = exit_code(&diff, wants_exit_code);
    }
    compare_free_rows(diff.tables, DIFF_TABLE_COUNT);
    free(diff.rows);
    free(diff.artifacts);
    tbed_comparison_close(comparison);
    return exit;
}

/* ---- Options ---- */

struct command {
    struct compare_options options;
    struct sets sets; /* of one run each without --with */
    bool wants_exit_code, has_with, calls;
    bool has_test_option, has_threshold;
};

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct command *command, int option)
{
    struct sets *sets = &command->sets;
    command->has_test_option |=
        option == OPTION_THRESHOLD || option == OPTION_ALPHA || option == OPTION_KEEP_SHIFT;
    switch (option) {
    case 1: /* an operand */
        sets->paths[sets->run_count++] = optarg;
        return NULL;
    case OPTION_WITH:
        if (command->has_with)
            return "--with can be given only once";
        command->has_with = true;
        sets->before_count = sets->run_count;
        return NULL;
    case OPTION_CALLS:
        command->calls = true;
        return NULL;
    case OPTION_EXIT_CODE:
        command->wants_exit_code = true;
        return NULL;
    case OPTION_KEEP_SHIFT:
        sets->keep_shift = true;
        return NULL;
    case OPTION_THRESHOLD:
        command->has_threshold = true;
        return tool_parse_percent(optarg, &sets->threshold)
                   ? NULL
                   : tool_takes("--threshold takes a percentage", optarg);
    case OPTION_ALPHA:
        return tool_parse_percent(optarg, &sets->alpha) && sets->alpha > 0 && sets->alpha < 1
                   ? NULL
                   : tool_takes("--alpha takes a percentage between 0 and 100", optarg);
    default:
        return compare_take_option(&command->options, option, optarg);
    }
}

/* Returns NULL, or what is wrong. */
static const char *check_operands(const struct command *command)
{
    size_t count = command->sets.run_count, before = command->sets.before_count;
    if (command->options.has_figure && !command->has_with)
        return "--of requires --with";
    if (command->options.percent > 0 && command->options.figure > TBED_FIGURE_TIME)
        return "--percent-above applies to --of=self and time";
    if (command->has_with && command->calls)
        return "--calls cannot be combined with --with";
    if (command->has_with)
        return before >= 2 && count - before >= 2 ? NULL
                                                  : "--with requires two or more FILE operands on each side";
    if (command->has_test_option && !command->calls)
        return "--threshold, --alpha and --keep-shift require --with or --calls";
    if (count != 2)
        return count < 2
                   ? "expected two FILE operands"
                   : "too many FILE operands; put --with between the runs to be compared, or use 'tracebed "
                     "aggregate'";
    return NULL;
}

static const char *parse_keys(struct command *command)
{
    struct compare_options *options = &command->options;
    if (command->has_with)
        return compare_parse_keys(options, &sets_columns, 1, 1);
    if (command->calls)
        return compare_parse_keys(options, &diff_calls_columns, 1, 1);
    return compare_parse_keys(options, diff_tables, DIFF_TABLE_COUNT, DIFF_TABLE_COUNT);
}

/* Returns -1 to continue, or the exit status. */
static int take_options(struct command *command, int argc, char **argv)
{
    static const struct option long_options[] = {COMPARE_OPTIONS,
                                                 {"exit-code", no_argument, NULL, OPTION_EXIT_CODE},
                                                 {"with", no_argument, NULL, OPTION_WITH},
                                                 {"calls", no_argument, NULL, OPTION_CALLS},
                                                 {"threshold", required_argument, NULL, OPTION_THRESHOLD},
                                                 {"alpha", required_argument, NULL, OPTION_ALPHA},
                                                 {"keep-shift", no_argument, NULL, OPTION_KEEP_SHIFT},
                                                 {0}};
    int option, exit = -1;
    /* '-': operands come in their places among the options. */
    while ((option = tool_option_next(&tool_verb_diff, argc, argv, "-" COMPARE_SHORT_OPTIONS, long_options,
                                      &exit)) != -1) {
        const char *problem = take_option(command, option);
        if (problem != NULL)
            return tool_usage(&tool_verb_diff, problem);
    }
    if (exit >= 0)
        return exit;
    while (optind < argc)
        command->sets.paths[command->sets.run_count++] = argv[optind++];
    const char *problem = parse_keys(command);
    if (problem == NULL)
        problem = check_operands(command);
    if (problem != NULL)
        return tool_usage(&tool_verb_diff, problem);
    return compare_check_paths(&tool_verb_diff, command->sets.paths, command->sets.run_count) ? -1
                                                                                              : TOOL_TROUBLE;
}

static int diff_calls(struct command *command)
{
    const struct sets *sets = &command->sets;
    struct diff_calls diff = {.options = &command->options,
                              .alpha = sets->alpha,
                              .threshold = command->has_threshold ? sets->threshold : CALLS_THRESHOLD,
                              .keep_shift = sets->keep_shift,
                              .paths = sets->paths};
    return diff_calls_compare(&diff, command->wants_exit_code);
}

static int compare(struct command *command)
{
    if (command->has_with)
        return sets_compare(&command->sets, command->wants_exit_code);
    if (command->calls)
        return diff_calls(command);
    return diff_files(&command->options, command->sets.paths, command->wants_exit_code);
}

static int run(int argc, char **argv)
{
    struct command command = {.sets = {.alpha = 0.01, .threshold = SETS_THRESHOLD}};
    struct compare_options *options = &command.options;
    command.sets.options = options;
    command.sets.paths = tool_realloc(NULL, (size_t)argc * sizeof *command.sets.paths);
    int exit = take_options(&command, argc, argv);
    if (options->limit == 0)
        options->limit = options->json || options->csv ? SIZE_MAX : TEXT_LIMIT;
    if (exit < 0)
        exit = tool_finish(compare(&command));
    free(command.sets.paths);
    compare_free_options(options);
    return exit;
}

const struct tool_verb tool_verb_diff = {
    .name = "diff",
    .summary = "show what changed between two traces",
    .help = help,
    .run = run,
};
