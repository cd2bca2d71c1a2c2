/*
 * The summary that 'tracebed export' prints for every format.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/exchange/export_verb.h"

#include <errno.h>
#include <string.h>

void export_put_note(uint64_t count, const char *what, const char *explanation)
{
    char figure[32];
    if (count > 0)
        printf("  %s %s%s %s\n", tool_format_count(figure, count), what, count == 1 ? "" : "s", explanation);
}

void export_tell_note(bool is_piped, uint64_t count, const char *what, const char *explanation)
{
    char figure[32];
    if (!is_piped)
        export_put_note(count, what, explanation);
    else if (count > 0)
        tool_complain("%s %s%s %s", tool_format_count(figure, count), what, count == 1 ? "" : "s",
                      explanation);
}

void export_put_heading(const char *to)
{
    tool_put_output(to, "exported");
}

static const char *path_of_id(const struct export_request *request, uint64_t file_id)
{
    struct tbed_trace_info info;
    size_t last = request->reader_count - 1;
    for (size_t i = 0; i < last; i++) {
        tbed_reader_info(request->readers[i], &info);
        if (info.file_id == file_id)
            return tool_path(request->paths[i]);
    }
    return tool_path(request->paths[last]);
}

bool export_went_well(const struct export_request *request, enum tbed_status status,
                      const struct tbed_error *error, enum tool_exit *exit_ret)
{
    tool_progress_end();
    if (status == TBED_OK)
        return true;
    *exit_ret = TOOL_FINE;
    if (status == TBED_ERR_WRITE && tool_output_failed())
        return false; /* tool_finish() complains */
    bool is_piped = strcmp(request->to, "-") == 0;
    if (is_piped && status == TBED_ERR_WRITE && error->system_errno == EPIPE)
        return false; /* nobody reads any more, which is no error */
    *exit_ret = TOOL_TROUBLE;
    if (is_piped && status == TBED_ERR_WRITE) {
        tool_complain("write error on standard output: %s", strerror(error->system_errno));
        return false;
    }
    if (status == TBED_ERR_EXISTS && request->format->exports_folder) {
        tool_complain("%s: has the trace %s already", request->to, path_of_id(request, error->detail));
        tool_hint("Use --force to replace it.");
        return false;
    }
    tool_complain_output(request->to, error);
    return false;
}
