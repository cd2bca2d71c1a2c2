/*
 * Destinations for calls that create a file, which must appear complete or not at all. This sets up what exists at the
 * destination before the call and checks what exists there afterwards.
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

/* Prepares a destination in a folder of its own and returns its path, which is valid until the next call. */
const char *destination_make(enum destination destination);

/* Returns the status that the call must return if nothing else prevents it from creating the file. */
enum tbed_status destination_status(enum destination destination, bool overwrite);

/*
 * Checks the destination after the call has returned 'status'. After TBED_OK it must have a new file, which gives
 * others no permission that 'mode' does not, and true is returned. Otherwise it must be unchanged. Neither may leave
 * other files.
 */
bool destination_check(enum destination destination, enum tbed_status status, unsigned mode);

/* Returns an absolute path of the new file. */
const char *destination_path(void);

#endif
