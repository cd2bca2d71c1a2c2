/*
 * tracebed export --to=chrome: calls the library and prints a summary.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/exchange/export_verb.h"

#include <string.h>
#include <tracebed/exchange.h>

static void put_report(const struct export_request *request, const struct tbed_chrome_report *report)
{
    bool piped = strcmp(request->to, "-") == 0;
    char events[32];
    if (!piped) {
        export_put_heading(request->to);
        printf("%s event%s\n", tool_format_count(events, report->event_count),
               report->event_count == 1 ? "" : "s");
    }
    export_tell_note(piped, report->instant_count, "instant", "omitted, as asked for");
    export_tell_note(piped, report->counter_count, "value", "of counters omitted, as asked for");
    export_tell_note(piped, report->allocation_count, "allocation event",
                     "omitted, not supported by the format");
    export_tell_note(piped, report->unknown_count, "event", "of unknown types omitted");
    export_tell_note(piped, report->unpaired_count, "span", "omitted, without a known begin");
    export_tell_note(piped, report->argument_count, "argument", "of counters omitted");
    export_tell_note(piped, report->open_count, "span",
                     "that never ended, written up to its thread's last event");
    export_tell_note(piped, report->inverted_count, "span",
                     "that end before they begin, written without a duration");
    export_tell_note(piped, report->clipped_count, "span", "with a time cut to 63 bits");
    export_tell_note(piped, report->renumbered_count, "process",
                     "renumbered: its id occurs in an earlier file");
}

enum tool_exit export_chrome(const struct export_request *request)
{
    struct tbed_chrome_options options = {.size = sizeof options,
                                          .overwrite = request->overwrite,
                                          .absolute = request->absolute,
                                          .collapse_threads = request->collapse_threads,
                                          .thread_count = request->jobs,
                                          .skip_instants = request->no_instants,
                                          .skip_counters = request->no_counters,
                                          .filters = (const struct tbed_filter *const *)request->filters};
    struct tbed_chrome_report report = {0};
    struct tbed_error error = {.offset = UINT64_MAX};
    enum tbed_status status;
    if (strcmp(request->to, "-") == 0)
        status = tbed_export_chrome_stream(request->readers, request->reader_count, stdout, &options, &report,
                                           &error);
    else
        status = tbed_export_chrome(request->readers, request->reader_count, request->to, &options, &report,
                                    &error);
    enum tool_exit exit;
    if (!export_went_well(request, status, &error, &exit))
        return exit;
    put_report(request, &report);
    return TOOL_FINE;
}
