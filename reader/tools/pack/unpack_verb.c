/*
 * tracebed unpack: restore a packed trace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/packed/pack_trace.h"
#include "reader/tools/shared/tool.h"

#include <string.h>

static const char help[] = "usage: tracebed unpack [-f] [--partly] FILE -o OUT\n"
                           "\n"
                           "Restore the trace that FILE was packed from, to the byte, and save it as OUT.\n"
                           "All checksums are verified: if FILE is damaged, nothing is written, unless\n"
                           "--partly is given. No command needs this to read a packed trace; programs and\n"
                           "commands that append to a trace do.\n"
                           "\n"
                           "  -o, --output=OUT    write the trace to OUT\n"
                           "  -f, --force         replace OUT if it exists\n"
                           "      --partly        write what is intact in a damaged FILE, and zeros for the\n"
                           "                      rest\n"
                           "      --color=WHEN    use color: never, auto or always\n"
                           "  -h, --help          print this help\n"
                           "\n"
                           "Example:\n"
                           "  tracebed unpack run.packed.tbed -o run.tbed\n"
                           "\n"
                           "Exit status: 0 on success; 1 if FILE is damaged, and --partly was given; 2 if\n"
                           "the usage is wrong or a file cannot be read or written.\n";

enum { OPTION_PARTLY = 2000 };

static enum tbed_status copy(int from, int to, void *report, struct tbed_error *error_ret)
{
    return tbed_trace_unpack(from, to, 0, false, report, error_ret);
}

static enum tbed_status copy_partly(int from, int to, void *report, struct tbed_error *error_ret)
{
    return tbed_trace_unpack(from, to, 0, true, report, error_ret);
}

static int unpack(const struct tool_from_to *files, bool partly)
{
    struct pack_report report;
    char figure[32];
    if (tool_copy(files, partly ? copy_partly : copy, &report) != TBED_OK)
        return TOOL_TROUBLE;
    tool_put_written(files->to, "unpacked");
    if (report.lost_page_count != 0)
        tool_complain("%s: %s page%s lost; run 'tracebed verify' for details", tool_path(files->from),
                      tool_format_count(figure, report.lost_page_count),
                      report.lost_page_count == 1 ? " is" : "s are");
    else if (report.problem != TBED_OK)
        tool_complain("%s: %s", tool_path(files->from), tbed_status_text(report.problem));
    return tool_finish(report.problem != TBED_OK || report.lost_page_count != 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"partly", no_argument, NULL, OPTION_PARTLY},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    struct tool_from_to files = {0};
    int option, exit;
    bool partly = false;
    while ((option = tool_option_next(&tool_verb_unpack, argc, argv, "o:fh", longs, &exit)) != -1) {
        partly |= option == OPTION_PARTLY;
        files.overwrite |= option == 'f';
        if (option == 'o')
            files.to = optarg;
    }
    if (exit < 0)
        exit = tool_from_to_take(&tool_verb_unpack, argc, argv, &files);
    return exit >= 0 ? exit : unpack(&files, partly);
}

const struct tool_verb tool_verb_unpack = {"unpack", "restore a packed trace", help, run};
