/*
 * tracebed doctor: what its checks use: adding a line, and looking for files and programs.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/doctor/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void doctor_tell(struct doctor *doctor, const char *subject, enum doctor_state state, const char *remedy,
                 const char *format, ...)
{
    va_list arguments;
    struct doctor_line line = {.subject = subject, .state = state};
    va_start(arguments, format);
    if (vasprintf(&line.text, format, arguments) < 0 ||
        (remedy != NULL && (line.remedy = strdup(remedy)) == NULL))
        tool_out_of_memory();
    va_end(arguments);
    doctor->lines = tool_realloc(doctor->lines, (doctor->count + 1) * sizeof *doctor->lines);
    doctor->lines[doctor->count++] = line;
}

const char *doctor_program(void)
{
    static char path[PATH_MAX];
    ssize_t nbytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[nbytes > 0 ? nbytes : 0] = '\0';
    return path;
}

static bool has(const char *folder, size_t folder_nbytes, const char *name, int mode)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s/%s", (int)folder_nbytes, folder, name) < 0)
        tool_out_of_memory();
    bool is_there = access(path, mode) == 0;
    free(path);
    return is_there;
}

bool doctor_has_beside(const char *path)
{
    const char *program = doctor_program(), *slash = strrchr(program, '/');
    return slash != NULL && has(program, (size_t)(slash - program), path, R_OK);
}

bool doctor_has_program(const char *name)
{
    const char *at = getenv("PATH");
    for (size_t nbytes; at != NULL && *at != '\0'; at += nbytes + (at[nbytes] == ':')) {
        nbytes = strcspn(at, ":");
        if (nbytes > 0 && has(at, nbytes, name, X_OK))
            return true;
    }
    return false;
}
