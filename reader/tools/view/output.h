/*
 * The file, or standard output, that a page or a picture is written to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_OUTPUT_H
#define TRACEBED_VIEW_OUTPUT_H

#include "reader/exchange/shared/new_file.h"
#include "reader/tools/view/view.h"

struct view_output {
    const char *path;
    bool is_file;
    struct new_file file;
};

/* 'path' "-": standard output. False after a complaint. Ends with view_output_write() or view_output_abandon(). */
bool view_output_open(struct view_output *output, const struct view *view, const char *path, bool overwrite);

/* Calls 'write', which returns false with errno, or errno 0 if memory ran out. Returns -1, or the exit status after a
 * complaint; if the reader of standard output is gone, there is none. */
int view_output_write(struct view_output *output, bool (*write)(void *context, int fd), void *context);
void view_output_abandon(struct view_output *output);

/* False with errno. */
bool view_write_all(int fd, const char *bytes, size_t nbytes);

#endif
