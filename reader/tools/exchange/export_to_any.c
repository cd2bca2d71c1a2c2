/*
 * tracebed export for the formats that one call of the library writes: calls it and prints a summary.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/exchange/export_verb.h"

#include <string.h>
#include <tracebed/export.h>
#include <unistd.h>

static void put_result(const struct export_request *request, const struct tbed_export_result *result)
{
    bool is_piped = strcmp(request->to, "-") == 0;
    char count[32], nbytes[32];
    if (!is_piped) {
        export_put_heading(request->to);
        printf("%s %s%s, %s\n", tool_format_count(count, result->written_count), result->written,
               result->written_count == 1 ? "" : "s", tool_format_bytes(nbytes, (double)result->nbytes));
    }
    for (unsigned i = 0; i < TBED_EXPORT_NOTE_COUNT; i++)
        export_tell_note(is_piped, result->notes[i], tbed_export_note_what(i),
                         tbed_export_note_explanation(i));
}

enum tool_exit export_any(const struct export_request *request)
{
    struct tbed_export_options options = {.size = sizeof options,
                                          .overwrite = request->overwrite,
                                          .thread_count = request->jobs,
                                          .filters = (const struct tbed_filter *const *)request->filters,
                                          .skip_instants = request->no_instants,
                                          .skip_counters = request->no_counters,
                                          .by_memory = request->memory,
                                          .table = request->table,
                                          .host = request->host,
                                          .absolute = request->absolute,
                                          .collapse_threads = request->collapse_threads};
    struct tbed_export_result result = {0};
    struct tbed_error error = {.offset = UINT64_MAX};
    enum tbed_status status;
    if (strcmp(request->to, "-") == 0)
        status = tbed_export_fd(request->format, request->readers, request->reader_count, STDOUT_FILENO,
                                &options, &result, &error);
    else
        status = tbed_export(request->format, request->readers, request->reader_count, request->to, &options,
                             &result, &error);
    enum tool_exit exit;
    if (!export_went_well(request, status, &error, &exit))
        return exit;
    put_result(request, &result);
    return TOOL_FINE;
}
