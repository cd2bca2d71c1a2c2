/*
 * tracebed pack: make a trace smaller.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/packed/pack_trace.h"
#include "reader/tools/shared/tool.h"

#include <string.h>

static const char help[] =
    "usage: tracebed pack [-f] FILE -o OUT\n"
    "\n"
    "Save FILE as OUT, a packed trace, which takes a fifth of the space or less.\n"
    "Every command reads a packed trace as it reads FILE, and with the same results;\n"
    "'tracebed unpack' restores FILE to the byte. FILE may be damaged, or not cleanly\n"
    "closed, but no program may be recording into it. It is not changed.\n"
    "\n"
    "  -o, --output=OUT    write the packed trace to OUT\n"
    "  -f, --force         replace OUT if it exists\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Example:\n"
    "  tracebed pack run.tbed -o run.packed.tbed\n"
    "\n"
    "Exit status: 0 on success; 2 if the usage is wrong or a file cannot be read or\n"
    "written.\n";

static enum tbed_status copy(int from, int to, void *report, struct tbed_error *error_ret)
{
    return tbed_trace_pack(from, to, 0, report, error_ret);
}

static int pack(const struct tool_from_to *files)
{
    struct pack_report report;
    char plain[32], packed[32];
    if (tool_is_written(files->from)) {
        tool_complain("%s: a program is recording into it", tool_path(files->from));
        tool_hint("'tracebed snapshot' saves what it has recorded so far.");
        return TOOL_TROUBLE;
    }
    if (tool_copy(files, copy, &report) != TBED_OK)
        return TOOL_TROUBLE;
    tool_put_output(files->to, "packed");
    printf("%s into %s, %.1f %%\n", tool_format_bytes(plain, (double)report.plain_nbytes),
           tool_format_bytes(packed, (double)report.packed_nbytes),
           100.0 * (double)report.packed_nbytes / (double)report.plain_nbytes);
    return tool_finish(TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tool_from_to files;
    int exit = tool_from_to(&tool_verb_pack, argc, argv, &files);
    return exit >= 0 ? exit : pack(&files);
}

const struct tool_verb tool_verb_pack = {"pack", "make a trace smaller", help, run};
