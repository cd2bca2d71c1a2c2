/*
 * tracebed export: converts a trace to the format of another tool.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/exchange/export_verb.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/tables.h>

static const char help[] =
    "usage: tracebed export --to=FORMAT [OPTION]... FILE... -o OUT\n"
    "\n"
    "Convert a trace to the format of another tool. Events that the format cannot\n"
    "represent are omitted, counted and listed. FILE may be '-' for standard input.\n"
    "\n"
    "Formats:\n"
    "@export\n"
    "\n"
    "      --to=FORMAT           write one of these formats; --format is the same\n"
    "  -o, --output=OUT          write to OUT; '-' is standard output, except for\n"
    "                            mm_profdata and folders. What ends in .gz or .zst is\n"
    "                            compressed, except mm_profdata and rtl-log\n"
    "  -f, --force               replace OUT if it exists\n"
    "      --color=WHEN          use color: never, auto or always\n"
    "  -h, --help                print this help\n"
    "\n"
    "mm_profdata:\n"
    "      --format-version=N    write version 8 or 9 (default: 9)\n"
    "\n"
    "chrome:\n"
    "      --collapse-threads    let threads that follow one another share a row\n"
    "      --absolute            write whole microseconds since 1970 instead of the\n"
    "                            time since the start\n"
    "  -j, --jobs=N              use N threads (default: one per processor)\n"
    "\n"
    "parquet (accepts several FILEs; OUT is a folder, which may have other traces):\n"
    "      --host=NAME           the machine that the traces are from, a column of\n"
    "                            each table\n"
    "\n"
    "parquet, csv, ndjson:\n"
    "      --table=NAME          write this table (default: spans; for parquet all)\n"
    "\n"
    "folded, pprof, callgrind, speedscope and firefox (accept several FILEs):\n"
    "      --memory              sum up allocated memory instead of time; except with\n"
    "                            firefox, the default for traces of allocations\n"
    "                            without spans\n"
    "\n"
    "mm_profdata; chrome, perfetto, firefox, otlp, ctf (accept several FILEs):\n"
    "      --no-instants         leave out instants\n"
    "      --no-counters         leave out counters, and live memory\n"
    "\n"
    "rtl-log:\n"
    "      --rebase=ZERO         count milliseconds from the start of the program's\n"
    "                            timer (timer, the default) or from the first line\n"
    "                            (first)\n"
    "      --tid=WHICH           write the system's thread ids (native), or number\n"
    "                            threads in the order of their first lines (ordinal);\n"
    "                            default: ordinal, but an imported log keeps its own\n"
    "      --quirks              truncate text of 4096 bytes or more to 4095 bytes\n"
    "                            and a zero byte, as OpenOffice did\n"
    "      --exact               restore an imported log byte for byte, with its\n"
    "                            control characters (default: escaped as \\xHH)\n"
    "\n" TOOL_FILTER_HELP "\n"
    "Examples:\n"
    "  tracebed export --to=mm_profdata run.tbed -o run.mm_profdata\n"
    "  tracebed export --to=chrome --minimum-duration=1ms a.tbed b.tbed -o both.json\n"
    "  tracebed export --to=parquet --host=web3 *.tbed -o fleet\n"
    "  tracebed export --to=csv --table=messages run.tbed -o messages.csv.gz\n"
    "  tracebed export --to=perfetto run.tbed -o run.pftrace.gz\n"
    "  tracebed export --to=rtl-log run.tbed -o run.log\n"
    "  tracebed export --to=pprof --memory run.tbed -o run.pb.gz\n"
    "\n"
    "Exit status: 0 on success; 1 if a file is damaged (everything intact is\n"
    "exported); 2 if the usage is wrong or a file cannot be read or written, in which\n"
    "case OUT is not created.\n";

enum {
    OPTION_FORMAT_VERSION = 2000,
    OPTION_TO,
    OPTION_COLLAPSE,
    OPTION_ABSOLUTE,
    OPTION_NO_INSTANTS,
    OPTION_NO_COUNTERS,
    OPTION_REBASE,
    OPTION_TID,
    OPTION_QUIRKS,
    OPTION_EXACT,
    OPTION_TABLE,
    OPTION_HOST,
    OPTION_MEMORY,
};

#define SKIPPING                                                                                             \
    "mm_profdata, chrome, perfetto, firefox, otlp, ctf" /* formats of events, which may leave out some */

/* The other options apply to every format. */
static const struct tool_option_scope scopes[] = {
    {OPTION_FORMAT_VERSION, "mm_profdata", NULL},
    {OPTION_COLLAPSE, "chrome", NULL},
    {OPTION_ABSOLUTE, "chrome", NULL},
    {'j', "chrome, parquet, csv, ndjson, folded, pprof, callgrind, speedscope, heaptrack", NULL},
    {OPTION_NO_INSTANTS, SKIPPING, NULL},
    {OPTION_NO_COUNTERS, SKIPPING, NULL},
    {OPTION_MEMORY, "folded, pprof, callgrind, speedscope, firefox", NULL},
    {OPTION_REBASE, "rtl-log", NULL},
    {OPTION_TID, "rtl-log", NULL},
    {OPTION_QUIRKS, "rtl-log", NULL},
    {OPTION_EXACT, "rtl-log", NULL},
    {OPTION_TABLE, "parquet, csv, ndjson", NULL},
    {OPTION_HOST, "parquet", NULL},
};

/* ---- measureme ---- */

static enum tool_exit export_measureme(const struct export_request *request)
{
    struct tbed_profile_export_options options = {.size = sizeof options,
                                                  .version = request->version,
                                                  .overwrite = request->overwrite,
                                                  .filter = request->filters[0],
                                                  .skip_instants = request->no_instants,
                                                  .skip_counters = request->no_counters};
    struct tbed_export_report report;
    struct tbed_error error;
    char events[32], strings[32];
    enum tool_exit exit;
    enum tbed_status status = tbed_export_profile(request->reader, request->to, &options, &report, &error);
    if (!export_went_well(request, status, &error, &exit))
        return exit;
    export_put_heading(request->to);
    printf("%s event%s, %s string%s\n", tool_format_count(events, report.event_count),
           report.event_count == 1 ? "" : "s", tool_format_count(strings, report.string_count),
           report.string_count == 1 ? "" : "s");
    export_put_note(report.left_out_count, "event", "omitted, not supported by the format");
    export_put_note(report.instant_count, "instant", "omitted, as asked for");
    export_put_note(report.counter_count, "value", "of counters omitted, as asked for");
    export_put_note(report.argument_count, "argument", "of events omitted");
    export_put_note(report.unknown_count, "span", "omitted, without a known begin");
    export_put_note(report.open_count, "span", "that never ended, written up to its thread's last event");
    export_put_note(report.clipped_count, "value", "cut to 48 bits, the limit of the format");
    export_put_note(report.unnamed_count, "event", "without the text of its name");
    return TOOL_FINE;
}

/* The formats with a function of their own; tbed_export() writes the others. */
static const struct {
    enum tbed_foreign_kind kind;
    enum tool_exit (*run)(const struct export_request *request);
} exporters[] = {
    {TBED_FOREIGN_PROFILE, export_measureme},
    {TBED_FOREIGN_RTL_LOG, export_rtl_log},
};

static enum tool_exit export_as(const struct tbed_format *format, const struct export_request *request)
{
    enum tool_exit (*run)(const struct export_request *request) = export_any;
    for (size_t i = 0; i < sizeof exporters / sizeof exporters[0]; i++)
        if (exporters[i].kind == format->kind)
            run = exporters[i].run;
    tool_progress_begin(request->reader, strcmp(request->to, "-") == 0);
    enum tool_exit exit = run(request);
    tool_progress_end();
    return exit;
}

/* ---- The verb ---- */

struct options {
    const char *to, *out, *table, *host;
    const struct tbed_format *format;
    bool memory; /* instead of time */
    bool overwrite, absolute, collapse_threads, no_instants, no_counters, quirks, exact;
    uint64_t version;
    unsigned jobs;
    struct tool_filter filter;
    enum tbed_rtl_rebase rebase;
    enum tbed_rtl_tid tid;
};

static int finish_files(struct export_request *request, char **paths, int exit)
{
    for (size_t i = 0; i < request->reader_count; i++) {
        if (exit == TOOL_FINE && tool_damage_count(request->readers[i]) > 0)
            exit = TOOL_FOUND;
        tool_tell_damage(paths[i], request->readers[i]);
        if (request->table == NULL && exit != TOOL_TROUBLE) /* a table need not have categories */
            tool_filter_tell_missed(request->filters[i], paths[i]);
        tool_places_close(&request->places[i]);
        tbed_filter_close(request->filters[i]);
        tbed_reader_close(request->readers[i]);
    }
    free(request->filters);
    free(request->places);
    free(request->readers);
    return tool_finish(exit);
}

/* The reader is the last of the request. Returns -1, or the exit status after a complaint. */
static int open_filter(struct export_request *request, const char *path, struct tool_filter *filter)
{
    size_t at = request->reader_count - 1;
    int exit = tool_filter_open(filter, path, request->reader, &request->places[at], 0);
    request->filters[at] = filter->filter; /* each trace has one of its own */
    filter->filter = NULL;
    return exit;
}

static int export_files(char **paths, size_t count, struct options *options)
{
    struct export_request request = {.to = options->out,
                                     .format = options->format,
                                     .table = options->table,
                                     .host = options->host,
                                     .memory = options->memory,
                                     .overwrite = options->overwrite,
                                     .version = (uint32_t)options->version,
                                     .absolute = options->absolute,
                                     .jobs = options->jobs,
                                     .collapse_threads = options->collapse_threads,
                                     .no_instants = options->no_instants,
                                     .no_counters = options->no_counters,
                                     .rebase = options->rebase,
                                     .tid = options->tid,
                                     .quirks = options->quirks,
                                     .exact = options->exact};
    request.paths = paths;
    request.readers = tool_realloc(NULL, count * sizeof *request.readers);
    request.places = tool_realloc(NULL, count * sizeof *request.places);
    request.filters = tool_realloc(NULL, count * sizeof *request.filters);
    while (request.reader_count < count) {
        size_t at = request.reader_count;
        request.reader = tool_open(paths[at]);
        if (request.reader == NULL)
            return finish_files(&request, paths, TOOL_TROUBLE);
        request.readers[at] = request.reader;
        tool_places_open(&request.places[at], request.reader, TBED_NAME_ALL);
        tool_places_prepare_all(&request.places[at]);
        request.reader_count++;
        int exit = open_filter(&request, paths[at], &options->filter);
        if (exit >= 0)
            return finish_files(&request, paths, exit);
    }
    request.reader = request.readers[0];
    return finish_files(&request, paths, export_as(options->format, &request));
}

static const char *take_rtl_option(struct options *options, int option, const char *argument)
{
    static const char *const zeros[] = {"timer", "first"}, *const tids[] = {"native", "ordinal"};
    const char *problem = NULL;
    size_t at = 0;
    if (option == OPTION_QUIRKS) {
        options->quirks = true;
    } else if (option == OPTION_EXACT) {
        options->exact = true;
    } else if (option == OPTION_REBASE) {
        problem = tool_word_choose("--rebase: unknown value", zeros, 2, argument, &at);
        options->rebase = at == 1 ? TBED_RTL_FIRST : TBED_RTL_TIMER;
    } else {
        problem = tool_word_choose("--tid: unknown value", tids, 2, argument, &at);
        options->tid = at == 1 ? TBED_RTL_TID_ORDINAL : TBED_RTL_TID_NATIVE;
    }
    return problem;
}

#define FORMATS_MAX 32
#define TABLES_MAX  64

static const char *take_format(struct options *options, const char *argument)
{
    const struct tbed_format *formats[FORMATS_MAX], *format;
    const char *names[FORMATS_MAX];
    size_t count = 0, at;
    for (size_t i = 0; (format = tbed_format_get(i)) != NULL && count < FORMATS_MAX; i++)
        if (format->can_export) {
            formats[count] = format;
            names[count++] = format->name;
        }
    const char *problem = tool_word_choose("--to: unknown format", names, count, argument, &at);
    if (problem == NULL)
        options->format = formats[at];
    return problem;
}

/* The tables that need no parameter. */
static const char *take_table(struct options *options, const char *argument)
{
    const struct tbed_table *table;
    const char *names[TABLES_MAX];
    size_t count = 0, at;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL && count < TABLES_MAX; i++) {
        bool has_parameter = false;
        for (size_t j = 0; j < table->column_count; j++)
            has_parameter |= table->columns[j].is_parameter;
        if (!has_parameter)
            names[count++] = table->name;
    }
    const char *problem = tool_word_choose("--table: unknown table", names, count, argument, &at);
    if (problem == NULL)
        options->table = names[at];
    return problem;
}

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct options *options, int option, const char *argument)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&options->filter, option, argument);
    if (option == OPTION_TO)
        return take_format(options, argument);
    if (option == OPTION_REBASE || option == OPTION_TID || option == OPTION_QUIRKS || option == OPTION_EXACT)
        return take_rtl_option(options, option, argument);
    if (option == 'j')
        return tool_parse_jobs(argument, &options->jobs);
    if (option == 'o')
        options->out = argument;
    else if (option == 'f')
        options->overwrite = true;
    else if (option == OPTION_HOST)
        options->host = argument;
    else if (option == OPTION_TABLE)
        return take_table(options, argument);
    else if (option == OPTION_COLLAPSE)
        options->collapse_threads = true;
    else if (option == OPTION_ABSOLUTE)
        options->absolute = true;
    else if (option == OPTION_NO_INSTANTS)
        options->no_instants = true;
    else if (option == OPTION_MEMORY)
        options->memory = true;
    else if (option == OPTION_NO_COUNTERS)
        options->no_counters = true;
    else if (!tool_parse_u64(argument, UINT32_MAX, &options->version) || options->version == 0)
        return "--format-version: expected a number";
    return NULL;
}

/* NULL, or what is wrong with the version. */
static const char *check_version(const struct options *options)
{
    static char problem[128];
    const struct tbed_format *format = options->format;
    if (options->version == 0 ||
        (options->version >= format->export_version_min && options->version <= format->export_version_max))
        return NULL;
    snprintf(problem, sizeof problem,
             "--format-version: the format cannot be written in version %llu (expected %u to %u)",
             (unsigned long long)options->version, format->export_version_min, format->export_version_max);
    return problem;
}

static const char *check_options(const struct options *options, int file_count)
{
    const struct tbed_format *format = options->format;
    const char *problem = check_version(options);
    if (problem != NULL)
        return problem;
    if (options->out == NULL)
        return "missing option -o OUT";
    if (!format->exports_to_stdout && strcmp(options->out, "-") == 0)
        return "this format cannot be written to standard output";
    if (options->memory && (options->no_instants || options->no_counters))
        return "--no-instants and --no-counters do not apply to --memory, which has neither";
    if (file_count == 0)
        return "missing FILE operand";
    return file_count == 1 || format->exports_many ? NULL : "too many FILE operands";
}

/* Returns -1 to continue, with 'optind' at the first file, or the exit status. */
static int take_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {{"to", required_argument, NULL, OPTION_TO},
                                          {"format", required_argument, NULL, OPTION_TO},
                                          {"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"format-version", required_argument, NULL, OPTION_FORMAT_VERSION},
                                          {"collapse-threads", no_argument, NULL, OPTION_COLLAPSE},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_FILTER_OPTIONS,
                                          {"rebase", required_argument, NULL, OPTION_REBASE},
                                          {"tid", required_argument, NULL, OPTION_TID},
                                          {"quirks", no_argument, NULL, OPTION_QUIRKS},
                                          {"exact", no_argument, NULL, OPTION_EXACT},
                                          {"table", required_argument, NULL, OPTION_TABLE},
                                          {"host", required_argument, NULL, OPTION_HOST},
                                          {"absolute", no_argument, NULL, OPTION_ABSOLUTE},
                                          {"memory", no_argument, NULL, OPTION_MEMORY},
                                          {"no-instants", no_argument, NULL, OPTION_NO_INSTANTS},
                                          {"no-counters", no_argument, NULL, OPTION_NO_COUNTERS},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_export, argc, argv, "o:fj:h" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *trouble = take_option(options, option, optarg);
        if (trouble != NULL)
            return tool_usage(&tool_verb_export, trouble);
    }
    if (exit >= 0)
        return exit;
    if (options->format == NULL)
        return tool_usage(&tool_verb_export, "missing option --to=FORMAT");
    if (!tool_options_apply(scopes, sizeof scopes / sizeof scopes[0], options->format->name, NULL))
        return TOOL_TROUBLE;
    const char *trouble = check_options(options, argc - optind);
    if (trouble != NULL)
        return tool_usage(&tool_verb_export, trouble);
    for (int i = optind; i < argc && strcmp(options->out, "-") != 0; i++)
        if (tool_is_input(options->out, argv[i]))
            return TOOL_TROUBLE;
    return -1;
}

static int run(int argc, char **argv)
{
    struct options options = {0};
    int exit = take_options(&options, argc, argv);
    if (exit < 0)
        exit = export_files(argv + optind, (size_t)(argc - optind), &options);
    tool_filter_close(&options.filter);
    return exit;
}

const struct tool_verb tool_verb_export = {"export", "convert a trace to the format of another tool", help,
                                           run};
