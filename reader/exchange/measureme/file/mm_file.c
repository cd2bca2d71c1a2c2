/*
 * Opening profiles, and access to their events in chunks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/exchange/measureme/file/mm_internal.h"

#define FIRST_REGULAR_4 UINT64_C(100000003)
#define OF_FORMAT_4     FIRST_REGULAR_4 - 2, FIRST_REGULAR_4 - 1, FIRST_REGULAR_4, false

static const struct mm_format formats[] = {
    {0, false, MM_SHAPE_PAIRED, 24, 8, MM_TAGGED, 0x80000000, UINT64_MAX, 0x80000001, true},
    {3, false, MM_SHAPE_24_NO_INTEGERS, 24, 8, MM_CLASSIC, 0x20000000, UINT64_MAX, 0x20000001, true},
    {4, false, MM_SHAPE_24_NO_INTEGERS, 24, 8, MM_CLASSIC, OF_FORMAT_4},
    {5, false, MM_SHAPE_24_NO_INTEGERS, 24, 8, MM_CLASSIC, OF_FORMAT_4},
    {6, true, MM_SHAPE_24_NO_INTEGERS, 24, 8, MM_CLASSIC, OF_FORMAT_4},
    {7, true, MM_SHAPE_24_NO_INTEGERS, 24, 8, MM_MARKED_4, OF_FORMAT_4},
    {8, true, MM_SHAPE_24, 24, 8, MM_MARKED_4, OF_FORMAT_4},
    {9, true, MM_SHAPE_32, 32, 16, MM_MARKED_8, OF_FORMAT_4},
};

static const char magics[][5] = {"MMES", "MMSD", "MMSI", "MMPD"};

/* Which magic the bytes start with, by enum mm_stream; MM_STREAM_COUNT: that of a paged file; -1: none. */
static int magic_of(const void *bytes, size_t nbytes)
{
    for (int i = 0; i <= MM_STREAM_COUNT && nbytes >= 4; i++)
        if (memcmp(bytes, magics[i], 4) == 0)
            return i;
    return -1;
}

bool mm_is_profile(const void *start, size_t nbytes)
{
    return magic_of(start, nbytes) >= 0;
}

bool mm_is_profile_path(const char *path)
{
    struct mm_source sources[MM_STREAM_COUNT] = {{.bytes = NULL}};
    bool is_profile = false;
    tbed_mm_sources_open(path, sources, NULL); /* as many as there are */
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        int magic = magic_of(sources[i].bytes, sources[i].nbytes);
        is_profile = is_profile || magic == i || (i == MM_EVENTS && magic >= 0);
        tbed_mm_source_unmap(&sources[i]);
    }
    return is_profile;
}

static enum tbed_status fail_at(struct tbed_error *error, enum tbed_status status, uint64_t offset,
                                uint64_t detail)
{
    if (error != NULL)
        *error = (struct tbed_error){.status = status, .offset = offset, .detail = detail};
    return status;
}

static enum tbed_status format_find(struct mm_file *file, const struct mm_source *source, bool paged,
                                    struct tbed_error *error)
{
    if (source->nbytes < MM_HEADER_NBYTES)
        return fail_at(error, TBED_ERR_PROFILE_CUT, source->nbytes, 0);
    uint32_t version = tbed_le32_at(source->bytes + 4);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].version == version && formats[i].paged == paged)
            file->format = &formats[i];
    return file->format != NULL ? TBED_OK : fail_at(error, TBED_ERR_PROFILE_VERSION, 4, version);
}

/* The version is that of the first valid header. */
static enum tbed_status format_get(struct mm_file *file, struct tbed_error *error)
{
    const struct mm_source *sources = file->sources;
    bool is_empty = true;
    if (magic_of(sources[MM_EVENTS].bytes, sources[MM_EVENTS].nbytes) == MM_STREAM_COUNT)
        return format_find(file, &sources[MM_EVENTS], true, error);
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        is_empty = is_empty && sources[i].nbytes == 0;
        if (magic_of(sources[i].bytes, sources[i].nbytes) == i)
            return format_find(file, &sources[i], false, error);
    }
    return tbed_mm_fail(error, is_empty ? TBED_ERR_EMPTY : TBED_ERR_NOT_A_TRACE, 0);
}

static enum tbed_status list(struct mm_file *file, struct tbed_error *error)
{
    enum tbed_status status = format_get(file, error);
    if (status != TBED_OK)
        return status;
    file->events.nbytes = file->format->event_nbytes;
    bool has_memory = file->format->paged ? tbed_mm_list_pages(file) : tbed_mm_list_three(file);
    if (has_memory && file->format->shape == MM_SHAPE_PAIRED)
        has_memory = tbed_mm_pair_events(file);
    return has_memory ? TBED_OK : tbed_mm_fail(error, TBED_ERR_MEMORY, ENOMEM);
}

/* Takes ownership of the sources, even on failure. */
static enum tbed_status open_sources(struct mm_source sources[MM_STREAM_COUNT], struct mm_file **file_ret,
                                     struct tbed_error *error)
{
    struct mm_file *file = calloc(1, sizeof *file);
    struct mm_lookup *lookup = tbed_mm_lookup_create();
    struct mm_damage_list *damages = tbed_mm_damage_list_create();
    if (file == NULL || lookup == NULL || damages == NULL) {
        free(file);
        tbed_mm_lookup_free(lookup);
        tbed_mm_damage_list_free(damages);
        for (int i = 0; i < MM_STREAM_COUNT; i++)
            tbed_mm_source_unmap(&sources[i]);
        return tbed_mm_fail(error, TBED_ERR_MEMORY, ENOMEM);
    }
    memcpy(file->sources, sources, sizeof file->sources);
    file->lookup = lookup;
    file->damages = damages;
    enum tbed_status status = list(file, error);
    if (status == TBED_OK)
        *file_ret = file;
    else
        mm_close(file);
    return status;
}

enum tbed_status mm_open(const char *path, struct mm_file **file_ret, struct tbed_error *error_ret)
{
    struct mm_source sources[MM_STREAM_COUNT] = {{.bytes = NULL}};
    enum tbed_status status = tbed_mm_sources_open(path, sources, error_ret);
    if (status == TBED_OK)
        return open_sources(sources, file_ret, error_ret);
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        tbed_mm_source_unmap(&sources[i]);
    return status;
}

enum tbed_status mm_open_fd(int fd, struct mm_file **file_ret, struct tbed_error *error_ret)
{
    struct mm_source sources[MM_STREAM_COUNT] = {{.bytes = NULL}};
    enum tbed_status status = tbed_mm_source_map(fd, &sources[MM_EVENTS], error_ret);
    return status == TBED_OK ? open_sources(sources, file_ret, error_ret) : status;
}

enum tbed_status mm_open_memory(const void *const bytes[MM_STREAM_COUNT],
                                const size_t nbytes[MM_STREAM_COUNT], struct mm_file **file_ret,
                                struct tbed_error *error_ret)
{
    struct mm_source sources[MM_STREAM_COUNT] = {{.bytes = NULL}};
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        if (bytes[i] != NULL)
            sources[i] = (struct mm_source){.bytes = bytes[i], .nbytes = nbytes[i]};
    return open_sources(sources, file_ret, error_ret);
}

void mm_close(struct mm_file *file)
{
    if (file == NULL)
        return;
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        tbed_mm_source_unmap(&file->sources[i]);
        free(file->streams[i].segments.items);
        free(file->streams[i].copies.items);
    }
    free(file->events.runs.items);
    tbed_mm_lookup_free(file->lookup);
    tbed_mm_damage_list_free(file->damages);
    free(file);
}

/* ---- Events ---- */

uint64_t mm_event_count(const struct mm_file *file)
{
    return file->events.count;
}

enum mm_shape mm_event_shape(const struct mm_file *file)
{
    return file->format->shape;
}

size_t mm_chunk_count(const struct mm_file *file)
{
    return file->events.runs.count;
}

struct mm_chunk mm_chunk_get(const struct mm_file *file, size_t index)
{
    const struct mm_events *events = &file->events;
    const struct mm_run *run = (const struct mm_run *)events->runs.items + index;
    uint64_t behind = index + 1 < events->runs.count ? run[1].first : events->count;
    return (struct mm_chunk){
        .bytes = tbed_mm_place(file, MM_EVENTS, run->place),
        .event_count = (uint32_t)(behind - run->first),
        .event_nbytes = events->nbytes,
        .first = run->first,
        .offset = run->offset,
    };
}

void mm_release(const struct mm_file *file, const struct mm_chunk *chunk)
{
    const struct mm_source *source = &file->sources[MM_EVENTS];
    uintptr_t base = (uintptr_t)source->bytes, begin = (uintptr_t)chunk->bytes;
    uintptr_t end = begin + (uintptr_t)chunk->event_count * chunk->event_nbytes;
    if (!source->is_mapped || begin < base || end > base + source->nbytes)
        return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    begin &= ~(page - 1); /* the bytes before it on its first page have usually been read, too */
    end &= ~(page - 1);
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}
