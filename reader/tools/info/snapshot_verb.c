/*
 * tracebed snapshot: save the current contents of a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracebed/writer.h>

static const char help[] =
    "usage: tracebed snapshot [-f] FILE -o OUT\n"
    "\n"
    "Save the current contents of FILE as OUT, a cleanly closed trace, while programs\n"
    "keep recording into FILE. For a flight recorder, these are its newest events.\n"
    "Damaged blocks are skipped and counted.\n"
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

static bool is_of_output(enum tbed_status status)
{
    return status == TBED_ERR_EXISTS || status == TBED_ERR_WRITE || status == TBED_ERR_DISK_FULL;
}

/* OUT is replaced only once the new file is complete. */
static enum tbed_status replace(const char *from, const char *to, uint64_t *left_out_count,
                                struct tbed_error *error)
{
    char part[4096];
    error->status = TBED_ERR_ARGUMENT;
    if (snprintf(part, sizeof part, "%s.%ld", to, (long)getpid()) >= (int)sizeof part)
        return TBED_ERR_ARGUMENT;
    enum tbed_status status = tbed_trace_snapshot(from, part, left_out_count, error);
    if (status != TBED_OK || rename(part, to) == 0)
        return status;
    *error = (struct tbed_error){.status = TBED_ERR_WRITE, .system_errno = errno};
    unlink(part);
    return TBED_ERR_WRITE;
}

/* Devices and symbolic links are not replaced. */
static bool is_other_than_file(const char *to)
{
    struct stat old;
    return lstat(to, &old) == 0 && !S_ISREG(old.st_mode);
}

static int snapshot(const char *from, const char *to, bool overwrite)
{
    struct tbed_error error;
    uint64_t left_out_count = 0;
    char figure[32];
    if (overwrite && is_other_than_file(to)) {
        error = (struct tbed_error){.status = TBED_ERR_NOT_REGULAR, .offset = UINT64_MAX};
        tool_complain_error(to, &error);
        return TOOL_TROUBLE;
    }
    tool_guard(from);
    enum tbed_status status = overwrite ? replace(from, to, &left_out_count, &error)
                                        : tbed_trace_snapshot(from, to, &left_out_count, &error);
    if (status != TBED_OK && !is_of_output(status)) {
        tool_complain_open(from, &error);
        return TOOL_TROUBLE;
    }
    if (status != TBED_OK) {
        tool_complain_error(to, &error);
        if (status == TBED_ERR_EXISTS)
            tool_hint("Use --force to replace it.");
        return TOOL_TROUBLE;
    }
    if (left_out_count != 0)
        tool_complain("%s: skipped %s damaged block%s; run 'tracebed verify' for details", tool_path(from),
                      tool_format_count(figure, left_out_count), left_out_count == 1 ? "" : "s");
    return tool_finish(left_out_count != 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tool_from_to files;
    int exit = tool_from_to(&tool_verb_snapshot, argc, argv, &files);
    return exit >= 0 ? exit : snapshot(files.from, files.to, files.overwrite);
}

const struct tool_verb tool_verb_snapshot = {"snapshot", "save the current contents of a trace", help, run};
