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

/* OUT appears, or is replaced, once the new file is complete. Complains. */
static enum tbed_status write_snapshot(int from, const struct tool_from_to *files, uint64_t *left_out_count)
{
    struct new_file file;
    struct tbed_error error;
    enum tbed_status status =
        tbed_new_file_open(files->to, files->overwrite, tbed_new_file_mode(&from, 1), &file, &error);
    if (status == TBED_OK) {
        status = tbed_trace_snapshot(from, file.fd, left_out_count, &error);
        bool is_of_output = status == TBED_ERR_WRITE || status == TBED_ERR_DISK_FULL;
        if (status != TBED_OK) {
            tbed_new_file_abandon(&file);
            is_of_output ? tool_complain_error(files->to, &error) : tool_complain_open(files->from, &error);
            return status;
        }
        status = tbed_new_file_commit(&file, &error);
    }
    if (status != TBED_OK)
        tool_complain_output(files->to, &error);
    return status;
}

static int snapshot(const struct tool_from_to *files)
{
    uint64_t left_out_count = 0;
    char figure[32];
    int from = tool_source_open(files->from);
    if (from < 0)
        return TOOL_TROUBLE;
    enum tbed_status status = write_snapshot(from, files, &left_out_count);
    close(from);
    if (status != TBED_OK)
        return TOOL_TROUBLE;
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
