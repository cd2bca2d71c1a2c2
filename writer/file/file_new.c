/*
 * New files: their ids and their names.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "writer/file/file.h"

uint64_t tbed_file_id_make(void)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof id, GRND_NONBLOCK) != (ssize_t)sizeof id || id == 0)
        id = (tbed_monotonic_ns() * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid() << 32) | 1;
    return id;
}

bool tbed_path_can_grow(const struct tbed_file *file)
{
    return file->path[0] != 0 && strlen(file->path) + TBED_NAME_GROWTH_NBYTES < sizeof file->path;
}

int tbed_file_create(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    fd = tbed_descriptor_raise(fd);
    tbed_descriptor_lock(fd, LOCK_SH);
    return fd;
}

int tbed_file_create_unnamed(const char *path, char *folder)
{
    size_t nbytes = (size_t)(strrchr(path, '/') - path) + 1; /* the path is absolute */
    memcpy(folder, path, nbytes);
    folder[nbytes] = 0;
    int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    fd = tbed_descriptor_raise(fd);
    tbed_descriptor_lock(fd, LOCK_SH);
    return fd;
}

bool tbed_file_name(int fd, const char *path)
{
    char by_descriptor[32];
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, by_descriptor, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
