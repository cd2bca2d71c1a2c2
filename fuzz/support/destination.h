/*
 * Places where a call is to make a file that appears complete or not at all: what is there before, and whether it is
 * right afterwards.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_DESTINATION_H
#define TRACEBED_FUZZ_DESTINATION_H

#include <tracebed/format.h>

enum destination {
    DESTINATION_FREE,     /* nothing */
    DESTINATION_FILE,     /* a file */
    DESTINATION_FOLDER,   /* a folder */
    DESTINATION_LINK,     /* a symbolic link to a file */
    DESTINATION_FIFO,     /* a named pipe */
    DESTINATION_LONG,     /* a path longer than the system's */
    DESTINATION_NOWHERE,  /* in a folder that does not exist */
    DESTINATION_RELATIVE, /* the name alone, in the current folder */
    DESTINATION_GROUP, /* nothing, in a folder whose files get the folder's group, if the user may have that */
    DESTINATION_COUNT
};

/* Prepares it, in a folder of its own, and returns the path for the call. Valid until the next one. */
const char *destination_make(enum destination destination);

/* What the call must return if nothing else prevents it from making the file. */
enum tbed_status destination_status(enum destination destination, bool overwrite);

/*
 * Checks it after the call has returned 'status'. If it is TBED_OK, there is a new file, which returns true; nobody
 * may do with it what 'mode' does not allow to others. Otherwise everything is as it was. There is never anything else.
 */
bool destination_check(enum destination destination, enum tbed_status status, unsigned mode);

/* A path of the file, from anywhere. */
const char *destination_path(void);

#endif
