/*
 * tracebed recover: save everything intact in a damaged trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/shared/tool.h"

#include <unistd.h>

#include <tracebed/writer.h>

static const char help[] =
    "usage: tracebed recover [-f] FILE -o OUT\n"
    "\n"
    "Save everything that is intact in FILE, a damaged trace, as OUT, a cleanly\n"
    "closed trace. Blocks are found by scanning, so FILE may lack its header, and its\n"
    "pages may be cut, overwritten, moved or missing. FILE is not changed. What is\n"
    "lost is printed, and recorded in OUT.\n"
    "\n"
    "  -o, --output=OUT    write the trace to OUT\n"
    "  -f, --force         replace OUT if it exists\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Example:\n"
    "  tracebed recover broken.tbed -o rescued.tbed\n"
    "\n"
    "Exit status: 0 if nothing is lost; 1 if something is, and OUT was written; 2 if\n"
    "there is nothing to recover, the usage is wrong, or a file cannot be read or\n"
    "written.\n";

static enum tbed_status copy(int from, int to, void *recovery, struct tbed_error *error_ret)
{
    int plain = tool_plain_file(from, error_ret);
    if (plain < 0)
        return error_ret->status;
    enum tbed_status status = tbed_trace_recover(plain, to, recovery, error_ret);
    close(plain);
    return status;
}

static void tell_header(const char *path, const struct tbed_recovery *recovery)
{
    if (recovery->header == TBED_RECOVERED_HEADER_COPY)
        tool_complain("%s: the header page is damaged; a copy of it was used", path);
    if (recovery->header == TBED_RECOVERED_HEADER_MADE_UP)
        tool_complain(
            "%s: the header page and all its copies are lost: times are unknown, and counted in ticks", path);
    if (recovery->counters_are_lost)
        tool_complain("%s: how many events were dropped while recording is unknown", path);
}

/* The new file says what was lost, this time and before. */
static void tell_losses(const char *path)
{
    struct tbed_error error;
    struct tbed_reader *reader = tool_open_quietly(path, &error);
    if (reader != NULL)
        tool_print_losses(stdout, reader, "lost: ");
    tbed_reader_close(reader);
}

static int tell(const struct tool_from_to *files, const struct tbed_recovery *recovery)
{
    char blocks[32], figure[32];
    tool_put_output(files->to, "recovered");
    printf("%s block%s", tool_format_count(blocks, recovery->block_count),
           recovery->block_count == 1 ? "" : "s");
    if (recovery->moved_count != 0)
        printf(", %s of them out of place", tool_format_count(figure, recovery->moved_count));
    printf("\n");
    tell_losses(files->to);
    tell_header(tool_path(files->from), recovery);
    bool is_lost = recovery->loss_count != 0 || recovery->counters_are_lost ||
                   recovery->header == TBED_RECOVERED_HEADER_MADE_UP;
    return tool_finish(is_lost ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tool_from_to files;
    struct tbed_recovery recovery;
    int exit = tool_from_to(&tool_verb_recover, argc, argv, &files);
    if (exit >= 0)
        return exit;
    return tool_copy(&files, copy, &recovery) == TBED_OK ? tell(&files, &recovery) : TOOL_TROUBLE;
}

const struct tool_verb tool_verb_recover = {"recover", "save everything intact in a damaged trace", help,
                                            run};
