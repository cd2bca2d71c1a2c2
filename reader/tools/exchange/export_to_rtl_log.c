/*
 * tracebed export --to=rtl-log: calls the library and prints a summary.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/exchange/export_verb.h"

#include <string.h>
#include <tracebed/exchange.h>

static void put_report(const struct export_request *request, const struct tbed_rtl_report *report)
{
    char figure[32];
    export_put_heading(request->to);
    printf("%s line%s\n", tool_format_count(figure, report->line_count), report->line_count == 1 ? "" : "s");
    export_put_note(report->left_out_count, "event", "omitted, not supported by the format");
    export_put_note(report->argument_count, "argument", "of spans and instants omitted");
    if (report->process_count > 1)
        export_put_note(report->process_count, "process", "in one log, whose header describes the first");
}

enum tool_exit export_rtl_log(const struct export_request *request)
{
    struct tbed_rtl_options options = {.size = sizeof options,
                                       .overwrite = request->overwrite,
                                       .rebase = request->rebase,
                                       .tid = request->tid,
                                       .quirks = request->quirks,
                                       .exact = request->exact,
                                       .filter = request->filters[0]};
    struct tbed_rtl_report report = {0};
    struct tbed_error error = {.offset = UINT64_MAX};
    bool is_piped = strcmp(request->to, "-") == 0;
    enum tbed_status status =
        is_piped ? tbed_export_rtl_log_stream(request->reader, stdout, &options, &report, &error)
                 : tbed_export_rtl_log(request->reader, request->to, &options, &report, &error);
    enum tool_exit exit;
    if (!export_went_well(request, status, &error, &exit))
        return exit;
    char figure[32];
    if (!is_piped)
        put_report(request, &report);
    else if (report.left_out_count > 0)
        tool_complain("%s event%s omitted, not supported by the format",
                      tool_format_count(figure, report.left_out_count),
                      report.left_out_count == 1 ? "" : "s");
    return TOOL_FINE;
}
