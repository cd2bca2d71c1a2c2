/*
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned mode_of(const struct view *view)
{
    struct tbed_reader **readers = tool_realloc(NULL, view->trace_count * sizeof(struct tbed_reader *));
    for (size_t i = 0; i < view->trace_count; i++)
        readers[i] = view->traces[i].reader;
    unsigned mode = tbed_new_file_mode_of_readers(readers, view->trace_count);
    free(readers);
    return mode;
}

bool view_output_open(struct view_output *output, const struct view *view, const char *path, bool overwrite)
{
    struct tbed_error error;
    *output = (struct view_output){.path = path, .is_file = strcmp(path, "-") != 0};
    if (!output->is_file ||
        tbed_new_file_open(path, overwrite, mode_of(view), &output->file, &error) == TBED_OK)
        return true;
    tool_complain_output(path, &error);
    return false;
}

void view_output_abandon(struct view_output *output)
{
    if (output->is_file)
        tbed_new_file_abandon(&output->file);
}

static int write_to_standard_output(bool (*write)(void *context, int fd), void *context)
{
    fflush(stdout);
    if (write(context, STDOUT_FILENO))
        return -1;
    if (errno != EPIPE)
        tool_complain("standard output: %s", errno != 0 ? strerror(errno) : "no memory");
    return TOOL_TROUBLE;
}

int view_output_write(struct view_output *output, bool (*write)(void *context, int fd), void *context)
{
    if (!output->is_file)
        return write_to_standard_output(write, context);
    struct tbed_error error = {.status = TBED_ERR_WRITE, .offset = UINT64_MAX};
    bool is_written = write(context, output->file.fd);
    error.system_errno = errno;
    if (is_written && tbed_new_file_commit(&output->file, &error) == TBED_OK) {
        tool_put_written(output->path, "drawn");
        return -1;
    }
    if (!is_written)
        tbed_new_file_abandon(&output->file);
    tool_complain_output(output->path, &error);
    return TOOL_TROUBLE;
}

bool view_write_all(int fd, const char *bytes, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t written = write(fd, bytes, nbytes);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        nbytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}
