/*
 * Files of uftrace's data directory, and their lines.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/uftrace/uftrace.h"

#include <stdio.h>
#include <string.h>

bool tbed_uftrace_map(struct uftrace *folder, const char *name, struct mapped_file *file_ret)
{
    char path[UFTRACE_PATH_NBYTES + UFTRACE_NAME_NBYTES + 2];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    *file_ret = (struct mapped_file){.nbytes = 0};
    enum tbed_status status = tbed_mapped_file_open(path, -1, file_ret, NULL);
    folder->is_out_of_memory |= status == TBED_ERR_MAP;
    if (status != TBED_OK)
        return false;
    folder->nbytes += file_ret->nbytes;
    return true;
}

bool tbed_uftrace_line(struct uftrace_text *text, struct uftrace_text *line_ret)
{
    if (text->nbytes == 0)
        return false;
    const char *newline = memchr(text->at, '\n', text->nbytes);
    size_t nbytes = newline != NULL ? (size_t)(newline - text->at) : text->nbytes;
    *line_ret = (struct uftrace_text){text->at, nbytes};
    size_t taken = nbytes + (newline != NULL);
    *text = (struct uftrace_text){text->at + taken, text->nbytes - taken};
    return true;
}
