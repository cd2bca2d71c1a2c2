/*
 * The names of one frame of a call stack, as suppressions compare them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SUPPRESSION_FRAME_H
#define TRACEBED_SUPPRESSION_FRAME_H

struct suppression_frame { /* NULL: unknown */
    const char *function, *file;
    const char *module;   /* its path */
    const char *together; /* MODULE!FUNCTION */
};

#endif
