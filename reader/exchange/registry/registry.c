/*
 * The registry of foreign formats. A new format is one line in this file's table.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/registry/registry.h"
#include "reader/core/system/regular_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order in which they are tried: the most reliably recognised first. */
/* clang-format off */
static const struct exchange_format *const formats[] = {
    &tbed_exchange_profile,
    &tbed_exchange_chrome,
    &tbed_exchange_spall,
    &tbed_exchange_uftrace,
    &tbed_exchange_ctf,
    &tbed_exchange_rtl_log,
    &tbed_exchange_parquet,
    &tbed_exchange_csv,
    &tbed_exchange_ndjson,
    &tbed_exchange_folded,
    &tbed_exchange_pprof,
    &tbed_exchange_callgrind,
    &tbed_exchange_speedscope,
    &tbed_exchange_heaptrack,
    &tbed_exchange_perfetto,
    &tbed_exchange_firefox,
    &tbed_exchange_otlp,
};
/* clang-format on */
#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

#define START_NBYTES 4096 /* bytes read to determine a file's format */
#define TRACE_MAGIC  "tracebed"
#define PACKED_MAGIC "tbedpack"

const struct tbed_format *tbed_format_get(size_t index)
{
    return index < FORMAT_COUNT ? &formats[index]->about : NULL;
}

const struct tbed_format *tbed_format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i]->about.name, name) == 0)
            return &formats[i]->about;
    return NULL;
}

const struct exchange_format *tbed_registry_of(const struct tbed_format *about)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (&formats[i]->about == about)
            return formats[i];
    return NULL;
}

/* ---- The format of a file ---- */

/* Reads its first bytes; 0: it is already a trace, or cannot be read. */
static size_t start_read(int fd, char start[START_NBYTES])
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    ssize_t nbytes = pread(fd, start, START_NBYTES, 0);
    size_t magic_nbytes = strlen(TRACE_MAGIC);
    bool is_trace = (size_t)nbytes >= magic_nbytes && (memcmp(start, TRACE_MAGIC, magic_nbytes) == 0 ||
                                                       memcmp(start, PACKED_MAGIC, magic_nbytes) == 0);
    if (nbytes <= 0 || is_trace)
        return 0;
    return (size_t)nbytes;
}

/* 'path' is NULL if there is only a descriptor. */
static const struct exchange_format *format_of(const char *path, int fd)
{
    char start[START_NBYTES];
    size_t nbytes = fd >= 0 ? start_read(fd, start) : 0;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const struct exchange_format *format = formats[i];
        /* The start decides even if there is no memory to look at what else the path leads to. */
        if ((nbytes > 0 && format->has_start != NULL && format->has_start(start, nbytes)) ||
            (path != NULL && format->has_path != NULL && format->has_path(path)))
            return format;
    }
    return NULL;
}

const struct exchange_format *tbed_registry_of_fd(int fd)
{
    return format_of(NULL, fd);
}

const struct exchange_format *tbed_registry_of_path(const char *path)
{
    int fd = -1;
    tbed_regular_open(path, &fd);
    const struct exchange_format *format = format_of(path, fd);
    if (fd >= 0)
        close(fd);
    return format;
}

static const struct tbed_format *about(const struct exchange_format *format)
{
    return format != NULL ? &format->about : NULL;
}

const struct tbed_format *tbed_format_of_file(const char *path)
{
    return about(tbed_registry_of_path(path));
}

const struct tbed_format *tbed_format_of_fd(int fd)
{
    return about(tbed_registry_of_fd(fd));
}
