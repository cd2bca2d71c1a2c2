/*
 * tracebed merge: several traces in one.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/filter_time.h"
#include "reader/tools/traces/copy_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 4096

static const char help[] =
    "usage: tracebed merge [OPTION]... FILE... -o OUT\n"
    "\n"
    "Write all events of several traces to one new trace: those of the processes of a\n"
    "program, of a series, or of several machines. Streams, processes and ids get new\n"
    "numbers. FILE may be '-' for standard input.\n"
    "\n"
    "Traces with the ticks of one clock keep them. All others are put in order by\n"
    "wall-clock time, each by its own anchors, which removes the drift of its clock;\n"
    "the uncertainty that remains is printed, and stored in OUT.\n"
    "\n"
    "  -o, --output=OUT       write the trace to OUT\n"
    "  -f, --force            replace OUT if it exists\n"
    "      --same-clock       ticks are comparable: keep them\n"
    "      --same-start       all FILEs started at the same moment, whatever their\n"
    "                         wall clocks say\n"
    "      --offset=N:T       add T (such as 3s or -20ms) to the times of the Nth\n"
    "                         FILE; may be repeated\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n"
    "What a FILE lacks because it is damaged is noted in OUT; 'tracebed verify OUT'\n"
    "lists it.\n"
    "\n"
    "Examples:\n"
    "  tracebed merge series.tbed series.tbed.[0-9]* -o all.tbed\n"
    "  tracebed merge client.tbed server.tbed --offset=2:-3s -o both.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if a FILE is damaged or OUT could not hold all of\n"
    "it (everything intact is copied); 2 if the usage is wrong or a file cannot be\n"
    "read or written, in which case OUT is not created.\n";

enum { OPTION_SAME_CLOCK = 2000, OPTION_SAME_START, OPTION_OFFSET };

struct merge {
    char **paths;
    const char *to;
    size_t count, open_count;
    struct tbed_reader **readers;
    struct tbed_merge_options options;
    int64_t *offsets_ns;
    size_t last_offset; /* the highest number of a FILE in --offset */
};

/* ---- The command line ---- */

static const char *take_offset(struct merge *merge, const char *text)
{
    static const char expected[] = "--offset takes the number of a FILE and a time, such as 2:-1.5s";
    const char *colon = strchr(text, ':');
    char number[16];
    uint64_t file;
    struct filter_time time;
    if (colon == NULL || colon - text >= (ptrdiff_t)sizeof number)
        return tool_takes(expected, text);
    memcpy(number, text, (size_t)(colon - text));
    number[colon - text] = '\0';
    if (!tool_parse_u64(number, FILES_MAX, &file) || file == 0 ||
        filter_time_parse(colon + 1, &time) != NULL ||
        (time.kind != FILTER_TIME_PLAIN && time.kind != FILTER_TIME_NS))
        return tool_takes(expected, text);
    long double ns = time.kind == FILTER_TIME_PLAIN ? time.value * 1e9L : time.value;
    if (fabsl(ns) >= 0x1p62L)
        return tool_takes(expected, text);
    if (merge->offsets_ns == NULL) {
        merge->offsets_ns = tool_realloc(NULL, FILES_MAX * sizeof *merge->offsets_ns);
        memset(merge->offsets_ns, 0, FILES_MAX * sizeof *merge->offsets_ns);
    }
    merge->offsets_ns[file - 1] = llroundl(ns);
    merge->last_offset = file > merge->last_offset ? (size_t)file : merge->last_offset;
    return NULL;
}

static const char *take_option(struct merge *merge, int option)
{
    switch (option) {
    case OPTION_SAME_CLOCK:
    case OPTION_SAME_START:
        if (merge->options.time != TBED_MERGE_WALL_CLOCK)
            return "--same-clock and --same-start exclude each other";
        merge->options.time = option == OPTION_SAME_CLOCK ? TBED_MERGE_SAME_CLOCK : TBED_MERGE_SAME_START;
        return NULL;
    case OPTION_OFFSET:
        return take_offset(merge, optarg);
    case 'o':
        merge->to = optarg;
        return NULL;
    default:
        merge->options.overwrite = true;
        return NULL;
    }
}

static const char *check_files(const struct merge *merge)
{
    if (merge->count < 2)
        return merge->count == 0 ? "missing FILE operands" : "expected two or more FILE operands";
    if (merge->count > FILES_MAX)
        return "too many FILE operands";
    if (merge->to == NULL)
        return "missing option -o OUT";
    if (strcmp(merge->to, "-") == 0)
        return "a trace cannot be written to standard output";
    if (merge->last_offset > merge->count)
        return "--offset: there are not so many FILEs";
    if (merge->last_offset > 0 && merge->options.time == TBED_MERGE_SAME_CLOCK)
        return "--same-clock and --offset exclude each other";
    return NULL;
}

static int parse(int argc, char **argv, struct merge *merge)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"same-clock", no_argument, NULL, OPTION_SAME_CLOCK},
                                          {"same-start", no_argument, NULL, OPTION_SAME_START},
                                          {"offset", required_argument, NULL, OPTION_OFFSET},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_merge, argc, argv, "o:fh", longs, &exit)) != -1) {
        const char *problem = take_option(merge, option);
        if (problem != NULL)
            return tool_usage(&tool_verb_merge, problem);
    }
    if (exit >= 0)
        return exit;
    merge->paths = argv + optind;
    merge->count = (size_t)(argc - optind);
    const char *problem = check_files(merge);
    if (problem != NULL)
        return tool_usage(&tool_verb_merge, problem);
    for (size_t i = 0; i < merge->count; i++)
        if (tool_is_input(merge->to, merge->paths[i]))
            return TOOL_TROUBLE;
    return -1;
}

/* ---- The merge ---- */

static void complain(const struct merge *merge, size_t source, const struct tbed_error *error)
{
    const char *path = tool_path(merge->paths[source]);
    switch (error->status) {
    case TBED_ERR_NO_TIME:
        tool_complain("%s: it has no wall-clock time to put its events in order by", path);
        tool_hint("Use --same-clock or --same-start if that is known otherwise.");
        break;
    case TBED_ERR_CLOCK_DIFFERS:
        tool_complain("%s: its clock differs from that of %s", path, tool_path(merge->paths[0]));
        break;
    case TBED_ERR_ARGUMENT:
        tool_complain("%s: the same trace twice, or more streams or ids than a trace can have", path);
        break;
    default:
        copy_complain(path, merge->to, error);
        break;
    }
}

static void put_clock(const struct merge *merge, size_t index)
{
    struct tbed_clock_quality quality;
    char uncertainty[32];
    tbed_clock_quality_get(merge->readers[index], &quality);
    fputs("  ", stdout);
    tool_print_text(stdout, tool_path(merge->paths[index]), strlen(tool_path(merge->paths[index])), 0);
    tool_format_ns(uncertainty, (double)quality.uncertainty_ns);
    if (!quality.has_wall_clock)
        puts(": no wall-clock time");
    else if (quality.anchor_count == 1)
        printf(": 1 anchor, drift unknown, times to %s\n", uncertainty);
    else
        printf(": %u anchors, drift %+.1f ppm, times to %s\n", quality.anchor_count, quality.drift_ppm,
               uncertainty);
}

static void put_clocks(const struct merge *merge, const struct tbed_copy_report *report)
{
    char uncertainty[32];
    if (report->is_one_clock) {
        puts("  one clock: the order is exact");
        return;
    }
    for (size_t i = 0; i < merge->count; i++)
        put_clock(merge, i);
    tool_format_ns(uncertainty, (double)report->uncertainty_ns);
    if (merge->options.time == TBED_MERGE_SAME_START)
        puts("  put in order as if all had started at the same moment");
    else
        printf("  events of different files less than %s apart may be in the wrong order, and more if the\n"
               "  wall clocks of their machines differ\n",
               uncertainty);
}

static int merge_files(const struct merge *merge)
{
    struct tbed_merge_options options = merge->options;
    struct tbed_copy_report report = {0};
    struct tbed_error error = {.offset = UINT64_MAX};
    size_t source;
    bool is_whole = true;
    options.size = sizeof options;
    options.shifts_ns = merge->offsets_ns;
    tool_progress_begin_all(merge->readers, merge->count);
    enum tbed_status status =
        tbed_traces_merge(merge->readers, merge->count, merge->to, &options, &report, &source, &error);
    tool_progress_end();
    if (status != TBED_OK) {
        complain(merge, source, &error);
        return TOOL_TROUBLE;
    }
    copy_put_report(merge->to, "merged", &report);
    put_clocks(merge, &report);
    fflush(stdout);
    for (size_t i = 0; i < merge->count; i++) {
        tool_tell_damage(merge->paths[i], merge->readers[i]);
        is_whole &= tool_damage_count(merge->readers[i]) == 0;
    }
    return tool_finish(is_whole && !copy_is_incomplete(&report) ? TOOL_FINE : TOOL_FOUND);
}

static int run(int argc, char **argv)
{
    struct merge merge = {0};
    int exit = parse(argc, argv, &merge);
    if (exit < 0)
        merge.readers = tool_realloc(NULL, merge.count * sizeof *merge.readers);
    for (size_t i = 0; exit < 0 && i < merge.count; i++) {
        merge.readers[i] = tool_open(merge.paths[i]);
        if (merge.readers[i] == NULL)
            exit = TOOL_TROUBLE;
        else
            merge.open_count++;
    }
    if (exit < 0)
        exit = merge_files(&merge);
    for (size_t i = 0; i < merge.open_count; i++)
        tbed_reader_close(merge.readers[i]);
    free(merge.readers);
    free(merge.offsets_ns);
    return exit;
}

const struct tool_verb tool_verb_merge = {"merge", "write several traces to one new trace", help, run};
