/*
 * Export to a folder of the Common Trace Format, which appears complete or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/ctf/export/ctf_export.h"
#include "reader/exchange/shared/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MODE 0700

static void open_trace(void *context)
{
    struct ctf *ctf = context;
    if (ctf->walk.trace == 0 && !tbed_ctf_put_metadata(ctf))
        ctf->walk.is_over = true;
}

static enum tbed_status put_all(struct ctf *ctf)
{
    const struct export_visitor visitor = {.open_trace = open_trace,
                                           .open_thread = tbed_ctf_open_thread,
                                           .step = tbed_ctf_step,
                                           .close_thread = tbed_ctf_close_thread,
                                           .takes_allocations = true,
                                           .context = ctf};
    enum tbed_status status = tbed_export_walk(&ctf->walk, &visitor);
    if (ctf->fd >= 0)
        close(ctf->fd);
    errno = ctf->write_errno;
    if (status == TBED_OK && ctf->write_errno != 0)
        status = tbed_exchange_fail(ctf->walk.job->error, TBED_ERR_WRITE);
    else if (status == TBED_OK && (ctf->is_out_of_memory || ctf->packet.is_out_of_memory))
        status = tbed_exchange_fail(ctf->walk.job->error, TBED_ERR_MEMORY);
    ctf->walk.job->result->nbytes = ctf->nbytes;
    free(ctf->packet.bytes);
    return status;
}

/* ---- The folder ---- */

static bool is_ours(const char *name)
{
    return strcmp(name, "metadata") == 0 || strncmp(name, "stream-", strlen("stream-")) == 0;
}

/* Removes a folder of this format; one with other files in it stays. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (is_ours(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

/* Whether there is nothing in the way, or a folder of this format that may be replaced. */
static enum tbed_status check_path(const struct export_job *job, const char *to)
{
    struct stat status;
    if (lstat(to, &status) != 0)
        return TBED_OK;
    if (!job->options.overwrite)
        return TBED_ERR_EXISTS;
    if (!S_ISDIR(status.st_mode))
        return TBED_ERR_NOT_REGULAR;
    DIR *folder = opendir(to);
    const struct dirent *entry;
    bool has_others = folder == NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        has_others |=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !is_ours(entry->d_name);
    if (folder != NULL)
        closedir(folder);
    return has_others ? TBED_ERR_EXISTS : TBED_OK;
}

static enum tbed_status put_folder(const struct export_job *job, const char *work, const char *to)
{
    struct ctf ctf = {.walk = {.job = job},
                      .fd = -1,
                      .mode = tbed_new_file_mode_of_readers(job->readers, job->reader_count)};
    ctf.folder = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ctf.folder < 0)
        return tbed_exchange_fail(job->error, TBED_ERR_OPEN);
    enum tbed_status status = put_all(&ctf);
    close(ctf.folder);
    if (status != TBED_OK)
        return status;
    if (job->options.overwrite)
        remove_folder(to);
    errno = 0;
    if (rename(work, to) != 0)
        return tbed_exchange_fail(job->error,
                                  errno == ENOTEMPTY || errno == EEXIST ? TBED_ERR_EXISTS : TBED_ERR_WRITE);
    return TBED_OK;
}

enum tbed_status tbed_ctf_export(const struct export_job *job, const char *to)
{
    char work[NEW_FILE_PATH_NBYTES];
    size_t nbytes = strlen(to);
    enum tbed_status status = check_path(job, to);
    errno = 0;
    while (nbytes > 1 && to[nbytes - 1] == '/')
        nbytes--;
    int length = snprintf(work, sizeof work, "%.*s.XXXXXX", (int)nbytes, to);
    if (status == TBED_OK && (length < 0 || (size_t)length >= sizeof work))
        status = TBED_ERR_ARGUMENT;
    if (status == TBED_OK && mkdtemp(work) == NULL)
        status = TBED_ERR_OPEN;
    if (status != TBED_OK)
        return tbed_exchange_fail(job->error, status);
    chmod(work, FOLDER_MODE);
    status = put_folder(job, work, to);
    if (status != TBED_OK)
        remove_folder(work);
    return status;
}
