/*
 * A file that appears whole or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_NEW_FILE_H
#define TRACEBED_EXCHANGE_NEW_FILE_H

#include <tracebed/format.h>

#define NEW_FILE_PATH_NBYTES 4096

struct new_file {
    int fd;
    bool overwrite;
    bool has_name;                   /* where files without a name cannot be made */
    char path[NEW_FILE_PATH_NBYTES]; /* where it will be */
    char work[NEW_FILE_PATH_NBYTES]; /* its name until then */
};

/*
 * Opens one for reading and writing that will be 'path', in the same folder, with 'mode' less the umask.
 *
 * Errors: ERR_EXISTS, if it may not be overwritten; ERR_IS_DIRECTORY, ERR_NOT_REGULAR: what is there is never
 *         replaced; ERR_OPEN, ERR_ARGUMENT.
 */
enum tbed_status tbed_new_file_open(const char *path, bool overwrite, unsigned mode,
                                    struct new_file *file_ret, struct tbed_error *error_ret);

/* It is complete: appears under its path. Closes it, whatever comes of it. Errors: ERR_EXISTS, ERR_WRITE. */
enum tbed_status tbed_new_file_commit(struct new_file *file, struct tbed_error *error_ret);

/* It never was. */
void tbed_new_file_abandon(struct new_file *file);

/* A file without a name, on disk where that can be had, else in memory. -1 with errno. */
int tbed_nameless_file(void);

/* Fills the error if there is one to fill, errno included; gives the status back. */
enum tbed_status tbed_exchange_fail(struct tbed_error *error, enum tbed_status status);

#endif
