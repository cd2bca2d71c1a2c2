/*
 * tracebed import: converts a file of another tool to a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <string.h>
#include <unistd.h>

#define DAMAGE_TOLD_MAX 10

static const char help[] =
    "usage: tracebed import [OPTION]... FILE -o OUT\n"
    "\n"
    "Convert a file of another tool to a trace. All other commands read such files\n"
    "directly; importing a file once saves the conversion each time. FILE may be '-'\n"
    "for standard input.\n"
    "\n"
    "Formats:\n"
    "@import\n"
    "\n"
    "Profiles are read in versions 0 and 3 to 9. For a profile in three files, name\n"
    "any one of them. For uftrace and CTF, FILE is the folder; CTF needs\n"
    "babeltrace2's library. Samples of folded stacks and pprof become spans that\n"
    "follow one another.\n"
    "\n"
    "Nothing is corrected; anomalies are counted. The events of JSON and protobuf are\n"
    "sorted by time, others keep their order. Damage is reported with its location in\n"
    "FILE, and everything intact around it is imported. No line of a log is refused:\n"
    "'tracebed export --to=rtl-log' restores it byte for byte.\n"
    "\n"
    "  -o, --output=OUT    write the trace to OUT\n"
    "  -f, --force         replace OUT if it exists\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Examples:\n"
    "  tracebed import rustc-1234.mm_profdata -o rustc.tbed\n"
    "  tracebed import soffice_4711.log -o soffice.tbed\n"
    "  tracebed import uftrace.data -o program.tbed\n"
    "  zstd -dc big.mm_profdata.zst | tracebed import - -o big.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if FILE is damaged or OUT could not hold all of it\n"
    "(everything intact is imported); 2 if the usage is wrong or a file cannot be\n"
    "read or written, in which case OUT is not created.\n";

/* ---- What was found ---- */

static void put_counted(const char *before, uint64_t count, const char *what)
{
    char figure[32];
    printf("%s%s %s%s", before, tool_format_count(figure, count), what, count == 1 ? "" : "s");
}

static void put_note(uint64_t count, const char *what, const char *explanation)
{
    if (count == 0)
        return;
    put_counted("  ", count, what);
    printf(" %s\n", explanation);
}

static void put_log_summary(const char *to, const struct tbed_import_report *report)
{
    tool_put_output(to, "imported");
    put_counted("", report->line_count, "line");
    put_counted(" of ", report->thread_count, "thread");
    put_counted(": ", report->interval_count, "scope");
    put_counted(", ", report->message_count, "message");
    putchar('\n');
    tool_print_odd(report, "  ");
    put_note(report->drop_count, "record", "that the trace had no room for");
}

static void put_trace_summary(const char *to, const struct tbed_import_report *report)
{
    tool_put_output(to, "imported");
    put_counted("", report->event_count, "event");
    put_counted(" of ", report->thread_count, "thread");
    put_counted(", ", report->string_count, "string");
    put_counted("\n  ", report->interval_count, "span");
    put_counted(", ", report->instant_count, "instant");
    put_counted(", ", report->integer_count, "number");
    put_counted(", ", report->message_count, "message");
    putchar('\n');
    put_note(report->unordered_count, "event",
             "with an earlier time than its predecessor on the thread; kept in place");
    put_note(report->unpaired_count, "end", "without a begin; part of no span");
    tool_print_notes(report, "  left out: ");
    put_note(report->drop_count, "record", "that the trace had no room for");
}

static void put_summary(const char *to, const struct tbed_import_report *report)
{
    if (report->kind == TBED_FOREIGN_RTL_LOG) {
        put_log_summary(to, report);
        return;
    }
    if (report->kind != TBED_FOREIGN_PROFILE) {
        put_trace_summary(to, report);
        return;
    }
    tool_put_output(to, "imported");
    put_counted("", report->event_count, "event");
    put_counted(" of ", report->thread_count, "thread");
    put_counted(", ", report->string_count, "string");
    printf(", from format %u\n", report->version);
    put_counted("  ", report->interval_count, "interval");
    put_counted(", ", report->instant_count, "instant");
    put_counted(", ", report->integer_count, "number");
    putchar('\n');
    put_note(report->inverted_count, "interval", "with the end before the begin; kept unchanged");
    put_note(report->unordered_count, "event",
             "with an earlier end than its predecessor on the thread; kept in place");
    put_note(report->unpaired_count, "start or end", "without its counterpart; omitted");
    put_note(report->drop_count, "record", "that the trace had no room for");
}

static void tell_damage(const char *from, const struct tbed_import_report *report)
{
    char figure[32];
    if (report->damage_count == 0)
        return;
    fflush(stdout);
    tool_complain("%s: damaged in %s place%s; everything intact was imported", tool_path(from),
                  tool_format_count(figure, report->damage_count), report->damage_count == 1 ? "" : "s");
    size_t index = 0;
    for (; index < report->damage_count && index < DAMAGE_TOLD_MAX; index++) {
        fputs("  ", stderr);
        tool_print_foreign_damage(stderr, report, index);
    }
    if (index < report->damage_count)
        tool_hint("... and %s more; run 'tracebed verify %s' to list them",
                  tool_format_count(figure, report->damage_count - index), from);
}

/* ---- The verb ---- */

/* Returns whether the error is about the new file. */
static bool is_of_output(enum tbed_status status, const char *from)
{
    switch (status) {
    case TBED_ERR_EXISTS:
    case TBED_ERR_WRITE:
    case TBED_ERR_DISK_FULL:
        return true;
    case TBED_ERR_OPEN:
    case TBED_ERR_IS_DIRECTORY:
    case TBED_ERR_NOT_REGULAR:
        return strcmp(from, "-") == 0 || tool_format(from) != NULL;
    default:
        return false;
    }
}

static void complain(const char *from, const char *to, const struct tbed_error *error)
{
    if (error->status == TBED_ERR_NOT_A_TRACE) {
        tool_complain("%s: not a foreign trace in a known format", tool_path(from));
        tool_hint("'tracebed import -h' lists the formats; traces of tracebed need no import.");
        return;
    }
    if (!is_of_output(error->status, from)) {
        tool_complain_open(from, error);
        return;
    }
    tool_complain_output(to, error);
}

static enum tbed_status import_input(const char *to, const struct tbed_import_options *options,
                                     struct tbed_import_report *report, struct tbed_error *error)
{
    int fd = tool_input_file(error);
    if (fd < 0)
        return error->status;
    enum tbed_status status = tbed_import_fd(fd, to, options, report, error);
    close(fd);
    return status;
}

static int import_file(const char *from, const char *to, bool overwrite)
{
    struct tbed_import_options options = {.size = sizeof options, .overwrite = overwrite};
    struct tbed_import_report report;
    struct tbed_error error;
    tool_guard(from);
    enum tbed_status status = strcmp(from, "-") == 0 ? import_input(to, &options, &report, &error)
                                                     : tbed_import(from, to, &options, &report, &error);
    if (status != TBED_OK) {
        complain(from, to, &error);
        return TOOL_TROUBLE;
    }
    put_summary(to, &report);
    tell_damage(from, &report);
    return tool_finish(report.damage_count > 0 || report.drop_count > 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tool_from_to files;
    int exit = tool_from_to(&tool_verb_import, argc, argv, &files);
    return exit >= 0 ? exit : import_file(files.from, files.to, files.overwrite);
}

const struct tool_verb tool_verb_import = {"import", "convert a file of another tool to a trace", help, run};
