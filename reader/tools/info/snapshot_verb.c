/*
 * tracebed snapshot: save the current contents of a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/shared/tool.h"

#include <unistd.h>

#include <tracebed/writer.h>

static const char help[] =
    "usage: tracebed snapshot [-f] FILE -o OUT\n"
    "\n"
    "Save the current contents of FILE as OUT, a cleanly closed trace, while programs\n"
    "keep recording into FILE. For a flight recorder, these are its newest events.\n"
    "Damaged blocks are skipped, counted, and listed in OUT as lost.\n"
    "\n"
    "  -o, --output=OUT    write the trace to OUT\n"
    "  -f, --force         replace OUT if it exists\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Example:\n"
    "  tracebed snapshot flight.tbed -o incident.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if damaged blocks were skipped; 2 if the usage is\n"
    "wrong or a file cannot be read or written.\n";

static enum tbed_status copy(int from, int to, void *left_out_count, struct tbed_error *error_ret)
{
    int plain = tool_plain_file(from, error_ret);
    if (plain < 0)
        return error_ret->status;
    enum tbed_status status = tbed_trace_snapshot(plain, to, left_out_count, error_ret);
    close(plain);
    return status;
}

static int snapshot(const struct tool_from_to *files)
{
    uint64_t left_out_count = 0;
    char figure[32];
    if (tool_copy(files, copy, &left_out_count) != TBED_OK)
        return TOOL_TROUBLE;
    tool_put_written(files->to, "saved");
    if (left_out_count != 0)
        tool_complain("%s: skipped %s damaged or missing block%s; run 'tracebed verify' for details",
                      tool_path(files->from), tool_format_count(figure, left_out_count),
                      left_out_count == 1 ? "" : "s");
    return tool_finish(left_out_count != 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tool_from_to files;
    int exit = tool_from_to(&tool_verb_snapshot, argc, argv, &files);
    return exit >= 0 ? exit : snapshot(&files);
}

const struct tool_verb tool_verb_snapshot = {"snapshot", "save the current contents of a trace", help, run};
