/*
 * Finds the traces of CTF in a folder. A trace is a folder with a file 'metadata'; LTTng puts several of them at different
 * depths below the folder of a session.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/ctf/import/ctf_import.h"
#include "reader/exchange/ctf/import/ctf_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX   6
#define ENTRIES_MAX 65536u

struct search {
    struct ctf_folder *folder;
    unsigned entry_count;
    bool is_out_of_memory;
};

/* Packets of metadata begin with a magic number, in either byte order; plain text with a comment. */
static bool is_metadata(const char *path)
{
    unsigned char start[10] = {0};
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t nbytes = is_regular ? pread(fd, start, sizeof start, 0) : -1;
    if (fd >= 0)
        close(fd);
    return nbytes == (ssize_t)sizeof start &&
           (memcmp(start, "\x57\x1d\xd1\x75", 4) == 0 || memcmp(start, "\x75\xd1\x1d\x57", 4) == 0 ||
            memcmp(start, "/* CTF 1.8", 10) == 0);
}

bool tbed_ctf_join(char to[CTF_PATH_NBYTES], const char *folder, const char *name)
{
    return (unsigned)snprintf(to, CTF_PATH_NBYTES, "%s/%s", folder, name) < CTF_PATH_NBYTES;
}

static void add(struct search *search, const char *path)
{
    struct ctf_folder *folder = search->folder;
    if (folder->count == CTF_TRACES_MAX)
        return;
    char(*paths)[CTF_PATH_NBYTES] = realloc(folder->paths, (folder->count + 1) * sizeof *paths);
    if (paths == NULL) {
        search->is_out_of_memory = true;
        return;
    }
    folder->paths = paths;
    snprintf(paths[folder->count++], CTF_PATH_NBYTES, "%s", path);
}

/* A session of LTTng has its traces in these, and what was rotated in the last. Other folders are not searched. */
static bool is_of_session(const char *name)
{
    return strcmp(name, "ust") == 0 || strcmp(name, "kernel") == 0 || strcmp(name, "archives") == 0;
}

static void search_in(struct search *search, const char *path, unsigned depth);

static void look_at(struct search *search, const char *path, const char *name, unsigned depth, bool is_trace)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return;
    if (S_ISREG(status.st_mode) && is_trace)
        search->folder->nbytes += (uint64_t)status.st_size;
    if (S_ISDIR(status.st_mode) && !is_trace && depth < DEPTH_MAX && (depth > 0 || is_of_session(name)))
        search_in(search, path, depth + 1);
}

static void search_in(struct search *search, const char *path, unsigned depth)
{
    char *inside = malloc(CTF_PATH_NBYTES);
    DIR *directory = inside != NULL ? opendir(path) : NULL;
    struct dirent *entry;
    search->is_out_of_memory |= inside == NULL;
    bool is_trace = directory != NULL && tbed_ctf_join(inside, path, "metadata") && is_metadata(inside);
    if (is_trace)
        add(search, path);
    while (directory != NULL && search->entry_count < ENTRIES_MAX && (entry = readdir(directory)) != NULL) {
        search->entry_count++;
        if (entry->d_name[0] != '.' && tbed_ctf_join(inside, path, entry->d_name))
            look_at(search, inside, entry->d_name, depth, is_trace);
    }
    if (directory != NULL)
        closedir(directory);
    free(inside);
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp(left, right);
}

bool tbed_ctf_folder_find(const char *path, struct ctf_folder *folder_ret)
{
    struct search search = {.folder = folder_ret};
    struct stat status;
    *folder_ret = (struct ctf_folder){.count = 0};
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return false;
    char *real = realpath(path, NULL); /* the library's messages have such paths */
    if (real != NULL && strlen(real) < CTF_PATH_NBYTES)
        search_in(&search, real, 0);
    free(real);
    if (folder_ret->count > 1)
        qsort(folder_ret->paths, folder_ret->count, sizeof *folder_ret->paths, compare_paths);
    if (folder_ret->count > 0 && !search.is_out_of_memory)
        return true;
    tbed_ctf_folder_free(folder_ret);
    return false;
}

bool tbed_ctf_folder_is(const char *path)
{
    struct ctf_folder folder;
    bool is_there = tbed_ctf_folder_find(path, &folder);
    tbed_ctf_folder_free(&folder);
    return is_there;
}

void tbed_ctf_folder_free(struct ctf_folder *folder)
{
    free(folder->paths);
    *folder = (struct ctf_folder){.count = 0};
}
