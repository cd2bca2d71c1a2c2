/*
 * What 'tracebed cut' and 'tracebed merge' print; see copy_text.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/traces/copy_text.h"

#include <string.h>

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

void copy_put_report(const char *to, const char *what, const struct tbed_copy_report *report)
{
    char nbytes[32];
    tool_put_output(to, what);
    put_counted("", report->event_count, "event");
    put_counted(" of ", report->stream_count, "stream");
    put_counted(", ", report->string_count, "string");
    printf(", %s\n", tool_format_bytes(nbytes, (double)report->nbytes));
    put_note(report->loss_count, "gap", "noted: events or other blocks that the source lacks");
    put_note(report->unknown_count, "span", "omitted, without a known begin");
    put_note(report->closed_count, "span", "that never ended, ended where events are missing");
    put_note(report->dropped_count, "event or string", "omitted, too large");
    put_note(report->metadata_count, "metadata text", "omitted: a trace has one");
}

bool copy_is_incomplete(const struct tbed_copy_report *report)
{
    return report->unknown_count + report->closed_count + report->dropped_count > 0;
}

void copy_complain(const char *from, const char *to, const struct tbed_error *error)
{
    if (error->status == TBED_ERR_BUSY) {
        tool_complain("%s: a flight recorder that was not closed", tool_path(from));
        tool_hint("Run 'tracebed snapshot' first.");
        return;
    }
    tool_complain_output(to, error);
}
