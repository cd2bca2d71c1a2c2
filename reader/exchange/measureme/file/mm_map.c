/*
 * Maps the files of a profile: one, or three in the same folder.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/core/system/regular_file.h"
#include "reader/exchange/measureme/file/mm_internal.h"

static const char *const extensions[MM_STREAM_COUNT] = {".events", ".string_data", ".string_index"};

enum tbed_status tbed_mm_fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    if (error != NULL)
        *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

enum tbed_status tbed_mm_source_map(int fd, struct mm_source *source_ret, struct tbed_error *error_ret)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tbed_mm_fail(error_ret, TBED_ERR_READ, errno);
    if (S_ISDIR(st.st_mode))
        return tbed_mm_fail(error_ret, TBED_ERR_IS_DIRECTORY, 0);
    if (!S_ISREG(st.st_mode))
        return tbed_mm_fail(error_ret, TBED_ERR_NOT_REGULAR, 0);
    if ((uint64_t)st.st_size > SIZE_MAX / 2)
        return tbed_mm_fail(error_ret, TBED_ERR_MAP, EFBIG);
    if (st.st_size == 0) {
        *source_ret = (struct mm_source){.bytes = (const uint8_t *)""};
        return TBED_OK;
    }
    void *address = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED)
        return tbed_mm_fail(error_ret, TBED_ERR_MAP, errno);
    *source_ret = (struct mm_source){.bytes = address, .nbytes = (size_t)st.st_size, .is_mapped = true};
    return TBED_OK;
}

void tbed_mm_source_unmap(struct mm_source *source)
{
    if (source->is_mapped)
        munmap((void *)source->bytes, source->nbytes);
    *source = (struct mm_source){.bytes = NULL};
}

void tbed_mm_source_release(const struct mm_source *source)
{
    if (source->is_mapped)
        madvise((void *)source->bytes, source->nbytes, MADV_DONTNEED);
}

static enum tbed_status source_open(const char *path, struct mm_source *source_ret,
                                    struct tbed_error *error_ret)
{
    int fd;
    enum tbed_status status = tbed_regular_open(path, &fd);
    if (status != TBED_OK)
        return tbed_mm_fail(error_ret, status, status == TBED_ERR_OPEN ? errno : 0);
    status = tbed_mm_source_map(fd, source_ret, error_ret);
    close(fd);
    return status;
}

/* The stream indicated by a path's extension; MM_STREAM_COUNT: none. */
static enum mm_stream extension_of(const char *path)
{
    size_t length = strlen(path);
    for (enum mm_stream stream = 0; stream < MM_STREAM_COUNT; stream++) {
        size_t nbytes = strlen(extensions[stream]);
        if (length > nbytes && strcmp(path + length - nbytes, extensions[stream]) == 0)
            return stream;
    }
    return MM_STREAM_COUNT;
}

/* Opens the other files of the set. String files that cannot be opened count as missing. */
static enum tbed_status set_open(const char *path, enum mm_stream given,
                                 struct mm_source sources[MM_STREAM_COUNT], struct tbed_error *error_ret)
{
    size_t stem = strlen(path) - strlen(extensions[given]);
    size_t room = stem + sizeof ".string_index";
    char *other = malloc(room);
    enum tbed_status status = other == NULL ? tbed_mm_fail(error_ret, TBED_ERR_MEMORY, ENOMEM) : TBED_OK;
    for (enum mm_stream stream = 0; stream < MM_STREAM_COUNT && status == TBED_OK; stream++) {
        if (stream == given)
            continue;
        memcpy(other, path, stem);
        memcpy(other + stem, extensions[stream], strlen(extensions[stream]) + 1);
        status = source_open(other, &sources[stream], stream == MM_EVENTS ? error_ret : NULL);
        if (stream != MM_EVENTS)
            status = TBED_OK;
    }
    free(other);
    return status;
}

enum tbed_status tbed_mm_sources_open(const char *path, struct mm_source sources_ret[MM_STREAM_COUNT],
                                      struct tbed_error *error_ret)
{
    struct mm_source source = {.bytes = NULL};
    enum tbed_status status = source_open(path, &source, error_ret);
    if (status != TBED_OK)
        return status;
    enum mm_stream given = extension_of(path);
    bool is_paged = source.nbytes >= 4 && memcmp(source.bytes, "MMPD", 4) == 0;
    /* A trace is recognised regardless of other files in its folder. */
    bool is_trace = source.nbytes >= 8 && memcmp(source.bytes, "tracebed", 8) == 0;
    if (is_paged || is_trace || given == MM_STREAM_COUNT) {
        sources_ret[MM_EVENTS] = source;
        return TBED_OK;
    }
    sources_ret[given] = source;
    return set_open(path, given, sources_ret, error_ret);
}
