/*
 * tracebed export: a trace for other people's tools.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/exchange/export_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tracebed export --to=FORMAT [OPTION...] FILE... -o OUT\n"
    "\n"
    "Writes a trace in the format of another tool. What has no place there is left out, counted and told.\n"
    "FILE may be '-', standard input.\n"
    "\n"
    "  -t, --to=FORMAT           mm_profdata   for the tools of measureme: summarize, crox, flamegraph\n"
    "                            chrome        trace events as JSON, for Perfetto, chrome://tracing,\n"
    "                                          speedscope, Firefox; takes several FILEs\n"
    "                            rtl-log       the text log of OpenOffice's RTL_LOGFILE\n"
    "      --format=FORMAT       the same as --to\n"
    "  -o, --output=OUT          the file to write; of chrome and rtl-log also '-', standard output\n"
    "  -f, --force               replace OUT if it exists\n"
    "      --format-version=N    of mm_profdata: 8 or 9 (the usual)\n"
    "      --collapse-threads    of chrome: threads that follow one another share a row\n"
    "      --minimum-duration=D  of chrome: leave out shorter spans: 5ms, 300us, 1s; microseconds without a "
    "unit\n"
    "      --absolute            of chrome: whole microseconds since 1970, not time since the start\n"
    "      --rebase=ZERO         of rtl-log: 0 ms is when the program's timer started (timer, the usual), or "
    "the\n"
    "                            first line (first)\n"
    "      --tid=WHICH           of rtl-log: the system's numbers of threads (native), or 1, 2, 3 in order "
    "of their\n"
    "                            first lines (ordinal, the usual; of imported logs theirs are)\n"
    "      --quirks              of rtl-log: cut pieces of 4096 bytes and more to 4095 and a zero, as "
    "OpenOffice "
    "did\n"
    "      --color=WHEN          never, auto or always\n"
    "  -h, --help                this text\n"
    "\n"
    "Examples:\n"
    "  tracebed export --to=mm_profdata run.tbed -o run.mm_profdata\n"
    "  tracebed export --to=chrome --minimum-duration=100us a.tbed b.mm_profdata -o both.json\n"
    "  tracebed export --to=chrome run.tbed -o - | gzip > run.json.gz\n"
    "  tracebed export --to=rtl-log run.tbed -o run.log\n"
    "\n"
    "Exit status: 0 fine; 1 FILE is damaged (what is intact is exported); 2 wrong usage, or a file cannot be "
    "read\n"
    "or written; OUT is then not there.\n";

enum {
    OPTION_FORMAT_VERSION = 2000,
    OPTION_COLLAPSE,
    OPTION_MINIMUM,
    OPTION_ABSOLUTE,
    OPTION_REBASE,
    OPTION_TID,
    OPTION_QUIRKS
};

/* ---- measureme ---- */

static enum tool_exit export_measureme(const struct export_request *request)
{
    struct tbed_profile_export_options options = {
        .size = sizeof options, .version = request->version, .overwrite = request->overwrite};
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
    export_put_note(report.left_out_count, "event", "left out: the format has no such kind");
    export_put_note(report.argument_count, "argument", "of events left out");
    export_put_note(report.unknown_count, "span", "left out: its begin is not known");
    export_put_note(report.open_count, "span", "that never ended, written up to its thread's last event");
    export_put_note(report.clipped_count, "value", "cut to the 48 bits that the format has");
    export_put_note(report.unnamed_count, "event", "whose name has no text");
    return TOOL_FINE;
}

static const struct export_format formats[] = {
    {"mm_profdata", "for the tools of measureme", 8, 9, export_measureme, false, false, false},
    {"chrome", "trace events as JSON, for viewers", 0, 0, export_chrome, true, false, true},
    {"rtl-log", "the text log of RTL_LOGFILE", 0, 0, export_rtl_log, false, true, true},
};

/* ---- The verb ---- */

struct options {
    const char *to, *out;
    const struct export_format *format;
    bool overwrite, absolute, collapse_threads, quirks;
    uint64_t version, minimum_ns;
    enum tbed_rtl_rebase rebase;
    enum tbed_rtl_tid tid;
};

static const struct export_format *format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* Whole microseconds, or a number with a unit. */
static bool parse_duration(const char *text, uint64_t *ns_ret)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"", 1000}, {"ns", 1}, {"us", 1000}, {"µs", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0)
            return !__builtin_mul_overflow(value, units[i].ns, ns_ret);
    return false;
}

static int finish_files(struct export_request *request, char **paths, int exit)
{
    for (size_t i = 0; i < request->reader_count; i++) {
        if (exit == TOOL_FINE && tool_damage_count(request->readers[i]) > 0)
            exit = TOOL_FOUND;
        tool_tell_damage(paths[i], request->readers[i]);
        tool_places_close(&request->places[i]);
        tbed_reader_close(request->readers[i]);
    }
    free(request->places);
    free(request->readers);
    return tool_finish(exit);
}

static int export_files(char **paths, size_t count, const struct options *options)
{
    struct export_request request = {.to = options->out,
                                     .overwrite = options->overwrite,
                                     .version = (uint32_t)options->version,
                                     .absolute = options->absolute,
                                     .collapse_threads = options->collapse_threads,
                                     .minimum_ns = options->minimum_ns,
                                     .rebase = options->rebase,
                                     .tid = options->tid,
                                     .quirks = options->quirks};
    request.readers = tool_realloc(NULL, count * sizeof *request.readers);
    request.places = tool_realloc(NULL, count * sizeof *request.places);
    for (; request.reader_count < count; request.reader_count++) {
        request.reader = tool_open(paths[request.reader_count]);
        if (request.reader == NULL)
            return finish_files(&request, paths, TOOL_TROUBLE);
        request.readers[request.reader_count] = request.reader;
        tool_places_open(&request.places[request.reader_count], request.reader, TBED_NAME_ALL);
        tool_places_prepare_all(&request.places[request.reader_count]);
    }
    request.reader = request.readers[0];
    return finish_files(&request, paths, options->format->run(&request));
}

static const char *take_rtl_option(struct options *options, int option, const char *argument)
{
    if (option == OPTION_QUIRKS) {
        options->quirks = true;
        return NULL;
    }
    if (option == OPTION_REBASE) {
        options->rebase = strcmp(argument, "first") == 0 ? TBED_RTL_FIRST : TBED_RTL_TIMER;
        bool is_known = options->rebase == TBED_RTL_FIRST || strcmp(argument, "timer") == 0;
        return is_known ? NULL : "--rebase takes timer or first";
    }
    options->tid = strcmp(argument, "native") == 0 ? TBED_RTL_TID_NATIVE : TBED_RTL_TID_ORDINAL;
    bool is_known = options->tid == TBED_RTL_TID_NATIVE || strcmp(argument, "ordinal") == 0;
    return is_known ? NULL : "--tid takes native or ordinal";
}

/* NULL, or what is wrong. */
static const char *take_option(struct options *options, int option, const char *argument)
{
    if (option == 't') {
        options->format = format_find(argument);
        return options->format != NULL ? NULL : "--to takes mm_profdata, chrome or rtl-log";
    }
    if (option == OPTION_REBASE || option == OPTION_TID || option == OPTION_QUIRKS)
        return take_rtl_option(options, option, argument);
    if (option == 'o')
        options->out = argument;
    else if (option == 'f')
        options->overwrite = true;
    else if (option == OPTION_COLLAPSE)
        options->collapse_threads = true;
    else if (option == OPTION_ABSOLUTE)
        options->absolute = true;
    else if (option == OPTION_MINIMUM)
        return parse_duration(argument, &options->minimum_ns) ? NULL
                                                              : "--minimum-duration takes a time such as 5ms";
    else if (!tool_parse_u64(argument, UINT32_MAX, &options->version) || options->version == 0)
        return "--format-version takes a number";
    return NULL;
}

static const char *check_options(const struct options *options, int file_count)
{
    const struct export_format *format = options->format;
    if (format == NULL)
        return "which format? --to=mm_profdata, --to=chrome or --to=rtl-log";
    if (options->version != 0 &&
        (options->version < format->version_min || options->version > format->version_max))
        return format->version_max > 0 ? "--format-version takes 8 or 9"
                                       : "--format-version does not apply to this format";
    if (options->out == NULL)
        return "missing option -o OUT";
    if (!format->takes_stdout && strcmp(options->out, "-") == 0)
        return "mm_profdata needs a file: its -o takes no '-'";
    if (!format->is_chrome && (options->absolute || options->collapse_threads || options->minimum_ns > 0))
        return "--absolute, --collapse-threads and --minimum-duration are options of --to=chrome";
    if (!format->is_rtl_log &&
        (options->rebase != TBED_RTL_TIMER || options->tid != TBED_RTL_TID_AUTO || options->quirks))
        return "--rebase, --tid and --quirks are options of --to=rtl-log";
    if (format->is_chrome && file_count > 1)
        return NULL;
    return file_count == 1 ? NULL : file_count > 1 ? "too many FILE operands" : "missing FILE operand";
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"to", required_argument, NULL, 't'},
                                          {"format", required_argument, NULL, 't'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"format-version", required_argument, NULL, OPTION_FORMAT_VERSION},
                                          {"collapse-threads", no_argument, NULL, OPTION_COLLAPSE},
                                          {"minimum-duration", required_argument, NULL, OPTION_MINIMUM},
                                          {"rebase", required_argument, NULL, OPTION_REBASE},
                                          {"tid", required_argument, NULL, OPTION_TID},
                                          {"quirks", no_argument, NULL, OPTION_QUIRKS},
                                          {"absolute", no_argument, NULL, OPTION_ABSOLUTE},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    struct options options = {0};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_export, argc, argv, "t:o:fh", longs, &exit)) != -1) {
        const char *trouble = take_option(&options, option, optarg);
        if (trouble != NULL)
            return tool_usage(&tool_verb_export, trouble);
    }
    if (exit >= 0)
        return exit;
    const char *trouble = check_options(&options, argc - optind);
    if (trouble != NULL)
        return tool_usage(&tool_verb_export, trouble);
    for (int i = optind; i < argc && strcmp(options.out, "-") != 0; i++)
        if (tool_is_input(options.out, argv[i]))
            return TOOL_TROUBLE;
    return export_files(argv + optind, (size_t)(argc - optind), &options);
}

const struct tool_verb tool_verb_export = {"export", "a trace for other people's tools", help, run};
