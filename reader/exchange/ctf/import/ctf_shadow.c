/*
 * Stand-ins for traces with a refused file; see ctf_shadow.h.
 *
 * LTTng stores where the packets of a file are in index/NAME.idx: a header of big-endian u32 numbers (magic, major, minor,
 * size of an entry) and entries that begin with u64 offset and u64 packet size in bits. Without it nothing of a refused file
 * is known to be intact.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/ctf/import/ctf_shadow.h"

#include "reader/exchange/shared/mapped_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_MAGIC         0xC1F1DCC1u
#define INDEX_HEADER_NBYTES 16u

/* ---- What is refused ---- */

bool tbed_ctf_shadow_refuse(struct ctf_shadow *shadow, const struct ctf_folder *folder, const char *text,
                            size_t nbytes)
{
    const char *start = nbytes > 0 ? memchr(text, '\'', nbytes) : NULL;
    const char *end = start != NULL ? memrchr(text, '\'', nbytes) : NULL;
    size_t length = end > start ? (size_t)(end - start - 1) : 0;
    if (length == 0 || length >= CTF_PATH_NBYTES || shadow->count == CTF_REFUSED_MAX)
        return false;
    for (size_t i = 0; i < folder->count; i++) {
        const char *in = shadow->count > 0 ? shadow->folder.paths[i] : folder->paths[i];
        size_t in_nbytes = strlen(in);
        const char *name = start + 1 + in_nbytes + 1;
        if (length <= in_nbytes + 1 || memcmp(start + 1, in, in_nbytes) != 0 || name[-1] != '/' ||
            memchr(name, '/', length - in_nbytes - 1) != NULL)
            continue;
        struct ctf_refused *refused = &shadow->refused[shadow->count];
        int printed = snprintf(refused->path, CTF_PATH_NBYTES, "%s/%.*s", folder->paths[i],
                               (int)(length - in_nbytes - 1), name);
        for (size_t k = 0; k < shadow->count; k++)
            if (strcmp(shadow->refused[k].path, refused->path) == 0)
                return false;
        refused->offset = 0;
        shadow->count += printed < CTF_PATH_NBYTES;
        return printed < CTF_PATH_NBYTES;
    }
    return false;
}

static struct ctf_refused *refused_of(struct ctf_shadow *shadow, const char *path)
{
    for (size_t i = 0; i < shadow->count; i++)
        if (strcmp(shadow->refused[i].path, path) == 0)
            return &shadow->refused[i];
    return NULL;
}

/* ---- What of it is intact ---- */

static uint64_t load_be(const uint8_t *at, unsigned nbytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < nbytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* The end of the last packet that the file has completely. */
static uint64_t intact_nbytes(const struct mapped_file *index, uint64_t nbytes)
{
    uint64_t end = 0;
    if (index->nbytes < INDEX_HEADER_NBYTES || load_be(index->bytes, 4) != INDEX_MAGIC)
        return 0;
    uint64_t entry_nbytes = load_be(index->bytes + 12, 4);
    if (entry_nbytes < 16)
        return 0;
    for (uint64_t at = INDEX_HEADER_NBYTES; index->nbytes - at >= entry_nbytes; at += entry_nbytes) {
        uint64_t offset = load_be(index->bytes + at, 8), packet = load_be(index->bytes + at + 8, 8) / 8;
        if (offset != end || packet == 0 || packet > nbytes - end)
            break;
        end += packet;
    }
    return end;
}

static bool write_all(int fd, const uint8_t *bytes, uint64_t nbytes)
{
    while (nbytes > 0) {
        ssize_t written = write(fd, bytes, nbytes < 1 << 20 ? (size_t)nbytes : 1 << 20);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        nbytes -= written > 0 ? (uint64_t)written : 0;
    }
    return true;
}

/* Copies what is intact of a file; nothing if there is none. */
static bool copy_intact(struct ctf_refused *refused, const char *folder, const char *name, const char *to)
{
    char inside[NAME_MAX + sizeof "index/.idx"], index_path[CTF_PATH_NBYTES];
    struct mapped_file index = {.nbytes = 0}, file = {.nbytes = 0};
    bool is_done = true;
    snprintf(inside, sizeof inside, "index/%.*s.idx", NAME_MAX, name);
    if (tbed_ctf_join(index_path, folder, inside) &&
        tbed_mapped_file_open(index_path, -1, &index, NULL) == TBED_OK &&
        tbed_mapped_file_open(refused->path, -1, &file, NULL) == TBED_OK)
        refused->offset = intact_nbytes(&index, file.nbytes);
    if (refused->offset > 0) {
        int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        is_done = fd >= 0 && write_all(fd, file.bytes, refused->offset);
        if (fd >= 0)
            close(fd);
    }
    tbed_mapped_file_close(&index);
    tbed_mapped_file_close(&file);
    return is_done;
}

/* ---- The folder ---- */

static bool shadow_trace(struct ctf_shadow *shadow, const char *from, const char *to)
{
    DIR *directory = mkdir(to, 0700) == 0 ? opendir(from) : NULL;
    struct dirent *entry;
    bool is_done = directory != NULL;
    while (is_done && (entry = readdir(directory)) != NULL) {
        char path[CTF_PATH_NBYTES], link[CTF_PATH_NBYTES];
        struct stat status;
        if (!tbed_ctf_join(path, from, entry->d_name) || !tbed_ctf_join(link, to, entry->d_name) ||
            lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        struct ctf_refused *refused = refused_of(shadow, path);
        char *real = refused == NULL ? realpath(path, NULL) : NULL;
        is_done = refused != NULL ? copy_intact(refused, from, entry->d_name, link)
                                  : real != NULL && symlink(real, link) == 0;
        free(real);
    }
    if (directory != NULL)
        closedir(directory);
    return is_done;
}

static bool is_refused_in(const struct ctf_shadow *shadow, const char *trace)
{
    size_t nbytes = strlen(trace);
    for (size_t i = 0; i < shadow->count; i++)
        if (strncmp(shadow->refused[i].path, trace, nbytes) == 0 && shadow->refused[i].path[nbytes] == '/')
            return true;
    return false;
}

static void remove_files(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory != NULL)
        closedir(directory);
    rmdir(path);
}

void tbed_ctf_shadow_remove(struct ctf_shadow *shadow)
{
    for (size_t i = 0; shadow->path[0] != '\0' && i < shadow->folder.count; i++)
        if (strncmp(shadow->folder.paths[i], shadow->path, strlen(shadow->path)) == 0)
            remove_files(shadow->folder.paths[i]);
    if (shadow->path[0] != '\0')
        rmdir(shadow->path);
    shadow->path[0] = '\0';
    tbed_ctf_folder_free(&shadow->folder);
}

bool tbed_ctf_shadow_make(struct ctf_shadow *shadow, const struct ctf_folder *folder)
{
    const char *place = getenv("TMPDIR");
    tbed_ctf_shadow_remove(shadow);
    shadow->folder.paths = malloc(folder->count * sizeof *folder->paths);
    snprintf(shadow->path, 256, "%s/tracebed-XXXXXX", place != NULL && strlen(place) < 200 ? place : "/tmp");
    if (shadow->folder.paths == NULL || mkdtemp(shadow->path) == NULL) {
        shadow->path[0] = '\0';
        return false;
    }
    memcpy(shadow->folder.paths, folder->paths, folder->count * sizeof *folder->paths);
    shadow->folder.count = folder->count;
    shadow->folder.nbytes = folder->nbytes;
    for (size_t i = 0; i < folder->count; i++) {
        if (!is_refused_in(shadow, folder->paths[i]))
            continue;
        snprintf(shadow->folder.paths[i], CTF_PATH_NBYTES, "%.256s/%zu", shadow->path, i);
        if (!shadow_trace(shadow, folder->paths[i], shadow->folder.paths[i]))
            return false;
    }
    return true;
}
