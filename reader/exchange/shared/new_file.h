/*
 * A file that appears complete or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_NEW_FILE_H
#define TRACEBED_EXCHANGE_NEW_FILE_H

#include <tracebed/reader.h>

#define NEW_FILE_PATH_NBYTES 4096

struct new_file {
    int fd;
    bool overwrite;
    bool is_discarded;               /* it is written for /dev/null */
    bool has_name;                   /* a temporary one, because it needs one or cannot be without */
    char path[NEW_FILE_PATH_NBYTES]; /* its final path */
    char work[NEW_FILE_PATH_NBYTES]; /* its temporary name */
};

/*
 * The permissions of a file that is made from others: its owner may read and write it, and nobody else may read it who
 * may not read all of these. A descriptor of -1 is a file of unknown permissions.
 */
unsigned tbed_new_file_mode(const int *fds, size_t count);
unsigned tbed_new_file_mode_of_readers(struct tbed_reader *const *readers, size_t count);

/*
 * Opens a file for reading and writing that will become 'path', in the same folder, with 'mode' less the umask.
 * For /dev/null it opens a file without a name, which is discarded in the end.
 *
 * Errors: ERR_EXISTS, if it may not be overwritten; ERR_IS_DIRECTORY and ERR_NOT_REGULAR, as these, links among them,
 *         are neither replaced nor followed; ERR_OPEN, ERR_ARGUMENT.
 */
enum tbed_status tbed_new_file_open(const char *path, bool overwrite, unsigned mode,
                                    struct new_file *file_ret, struct tbed_error *error_ret);

/* Gives the unfinished file a temporary name, for code that needs a path: 'work'. False, with errno, if that fails. */
bool tbed_new_file_name(struct new_file *file);

/* Exchanges the temporary name, which it must have, with 'path', which must exist. False, with errno, if that fails. */
bool tbed_new_file_exchange(struct new_file *file);

/* Gives the complete file its name. Closes it in any case. Errors: ERR_EXISTS, ERR_WRITE. */
enum tbed_status tbed_new_file_commit(struct new_file *file, struct tbed_error *error_ret);

/* Discards it. */
void tbed_new_file_abandon(struct new_file *file);

/*
 * Removes all temporary names, for the handler of a signal that ends the process. Files without a name, which nearly all
 * are, need nothing.
 */
void tbed_new_files_remove(void);

/* A file without a name, on disk if possible, otherwise in memory. -1 with errno. */
int tbed_nameless_file(void);

/* Fills the error, including errno, unless it is NULL; returns the status. */
enum tbed_status tbed_exchange_fail(struct tbed_error *error, enum tbed_status status);

#endif
