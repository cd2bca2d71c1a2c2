/*
 * Shows what a command prints in a pager, if it prints to a terminal. less(1) prints what fits on the screen and ends.
 *
 * The pager is a child, and the program waits for it at its end, so that the shell gets the program's exit status.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Commands that only print. The others write files, draw the screen themselves or run a program. */
static bool prints(const char *command)
{
    static const char *const names[] = {"info",    "dump",  "report",  "diff",    "aggregate",
                                        "tree",    "flows", "threads", "slowest", "histogram",
                                        "strings", "help",  "-h",      "--help",  "verify"};
    const size_t count = sizeof names / sizeof names[0];
    return tool_word_find(names, count, command) < count;
}

/* Is there a program of this name, up to 'nbytes'? */
static bool is_executable(const char *name, size_t nbytes)
{
    const char *path = memchr(name, '/', nbytes) != NULL ? "" : getenv("PATH");
    char file[4096];
    for (const char *at = path; at != NULL; at = strchr(at, ':')) {
        at += *at == ':';
        size_t folder_nbytes = strcspn(at, ":");
        int length = snprintf(file, sizeof file, "%.*s%s%.*s", (int)folder_nbytes, at,
                              folder_nbytes > 0 ? "/" : "", (int)nbytes, name);
        if (length > 0 && (size_t)length < sizeof file && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* A command for the shell; NULL: none, or its program is missing. */
static const char *pager_command(void)
{
    const char *command = getenv("TRACEBED_PAGER");
    if (command == NULL)
        command = getenv("PAGER");
    if (command == NULL)
        command = "less -FRX";
    size_t nbytes = strcspn(command, " ");
    bool is_cat = nbytes == 3 && strncmp(command, "cat", 3) == 0;
    return nbytes == 0 || is_cat || !is_executable(command, nbytes) ? NULL : command;
}

static void run_pager(const char *command, const int ends[2])
{
    if (dup2(ends[0], STDIN_FILENO) < 0)
        _exit(TOOL_TROUBLE);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(TOOL_TROUBLE);
}

void tool_pager_begin(const char *command_of_ours)
{
    const char *term = getenv("TERM"), *command = pager_command();
    int ends[2];
    if (!prints(command_of_ours) || !isatty(STDOUT_FILENO) || command == NULL || term == NULL ||
        strcmp(term, "dumb") == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t pager = fork();
    if (pager == 0)
        run_pager(command, ends);
    if (pager > 0)
        tool_pager_take(pager, ends[1]);
    close(ends[0]);
    close(ends[1]);
}
