/*
 * A file that appears complete or not at all.
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
    bool has_name;                   /* if files without a name are not supported */
    char path[NEW_FILE_PATH_NBYTES]; /* its final path */
    char work[NEW_FILE_PATH_NBYTES]; /* its temporary name */
};

/*
 * Opens a file for reading and writing that will become 'path', in the same folder, with 'mode' less the umask.
 *
 * Errors: ERR_EXISTS, if it may not be overwritten; ERR_IS_DIRECTORY and ERR_NOT_REGULAR, as these are never
 *         replaced; ERR_OPEN, ERR_ARGUMENT.
 */
enum tbed_status tbed_new_file_open(const char *path, bool overwrite, unsigned mode,
                                    struct new_file *file_ret, struct tbed_error *error_ret);

/* Gives the complete file its name. Closes it in any case. Errors: ERR_EXISTS, ERR_WRITE. */
enum tbed_status tbed_new_file_commit(struct new_file *file, struct tbed_error *error_ret);

/* Discards it. */
void tbed_new_file_abandon(struct new_file *file);

/* A file without a name, on disk if possible, otherwise in memory. -1 with errno. */
int tbed_nameless_file(void);

/* Fills the error, including errno, unless it is NULL; returns the status. */
enum tbed_status tbed_exchange_fail(struct tbed_error *error, enum tbed_status status);

#endif
