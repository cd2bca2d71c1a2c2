/*
 * A picture of traces as a PNG: `tracebed view --png`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_PICTURE_H
#define TRACEBED_VIEW_PICTURE_H

#include "reader/tools/view/view.h"

#define PICTURE_WIDTH_MIN    400
#define PICTURE_WIDTH_USUAL  1600
#define PICTURE_HEIGHT_MIN   200
#define PICTURE_HEIGHT_USUAL 1200
#define PICTURE_SIDE_MAX     8192
#define PICTURE_DEPTH_USUAL  32
#define PICTURE_DEPTH_MAX    4096

struct picture_options {
    const char *path; /* "-": standard output */
    bool overwrite, is_dark;
    uint64_t width, height, depth; /* 'height' is the most that it may take */
};

/* Draws and writes it. Returns -1, or the exit status after a complaint. */
int picture_make(struct view *view, const struct picture_options *options);

#endif
