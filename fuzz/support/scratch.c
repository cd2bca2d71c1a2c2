/*
 * A folder in memory for files that must have names.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "fuzz/support/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

static char folder[] = "/dev/shm/tracebed-fuzz-XXXXXX";

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static void clean_up(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_folder(void)
{
    static bool is_ready;
    if (!is_ready) {
        /* Unnamed files of the library too. */
        REQUIRE(setenv("TMPDIR", "/dev/shm", 1) == 0);
        REQUIRE(mkdtemp(folder) != NULL && atexit(clean_up) == 0);
    }
    is_ready = true;
    return folder;
}

const char *scratch_path(const char *name)
{
    static char path[sizeof folder + 64];
    snprintf(path, sizeof path, "%s/%s", scratch_folder(), name);
    return path;
}

void scratch_put(const char *path, const void *bytes, size_t nbytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && (nbytes == 0 || write(fd, bytes, nbytes) == (ssize_t)nbytes) && close(fd) == 0);
}

void scratch_unpack(const char *const *names, size_t name_count, const uint8_t *data, size_t nbytes)
{
    for (size_t i = 0; i < name_count; i++)
        unlink(scratch_path(names[i]));
    for (size_t at = 0; nbytes - at >= 3;) {
        size_t length = data[at + 1] | (size_t)data[at + 2] << 8;
        const char *name = names[data[at] % name_count];
        at += 3;
        length = length < nbytes - at ? length : nbytes - at;
        scratch_put(scratch_path(name), data + at, length);
        at += length;
    }
}
