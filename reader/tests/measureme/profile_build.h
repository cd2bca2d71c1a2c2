/*
 * Makes small profiles of measureme, formats 8 and 9, for the tests of import and export.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_BUILD_H
#define TRACEBED_PROFILE_BUILD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROFILE_METADATA UINT64_C(100000001)
#define PROFILE_FIRST    UINT64_C(100000003)
#define PROFILE_INSTANT  UINT64_C(0xFFFFFFFFFFFF)
#define PROFILE_INTEGER  UINT64_C(0xFFFFFFFFFFFE)

struct profile_bytes {
    uint8_t *bytes;
    size_t nbytes, capacity;
};

struct profile {
    uint32_t version;
    size_t page_nbytes;              /* at most; 0: 262144 */
    struct profile_bytes streams[3]; /* events, strings, index */
    size_t event_count;
};

static inline void profile_put(struct profile_bytes *to, const void *bytes, size_t nbytes)
{
    if (to->nbytes + nbytes > to->capacity) {
        to->capacity = (to->nbytes + nbytes) * 2;
        to->bytes = realloc(to->bytes, to->capacity);
        if (to->bytes == NULL)
            abort();
    }
    if (nbytes > 0)
        memcpy(to->bytes + to->nbytes, bytes, nbytes);
    to->nbytes += nbytes;
}

static inline void profile_number(struct profile_bytes *to, uint64_t value, unsigned nbytes)
{
    for (unsigned i = 0; i < nbytes; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);
        profile_put(to, &byte, 1);
    }
}

static inline struct profile profile_start(uint32_t version)
{
    static const char magics[3][5] = {"MMES", "MMSD", "MMSI"};
    struct profile profile = {.version = version};
    for (int i = 0; i < 3; i++) {
        profile_put(&profile.streams[i], magics[i], 4);
        profile_number(&profile.streams[i], version, 4);
    }
    return profile;
}

static inline void profile_end(struct profile *profile)
{
    for (int i = 0; i < 3; i++)
        free(profile->streams[i].bytes);
}

/* The id of the entry that begins here; pieces follow, then profile_terminate(). */
static inline uint64_t profile_here(const struct profile *profile)
{
    return PROFILE_FIRST + profile->streams[1].nbytes;
}

static inline void profile_text(struct profile *profile, const char *text)
{
    profile_put(&profile->streams[1], text, strlen(text));
}

static inline void profile_reference(struct profile *profile, uint64_t id)
{
    profile_put(&profile->streams[1], "\xFE", 1);
    profile_number(&profile->streams[1], id, profile->version >= 9 ? 8 : 4);
}

static inline void profile_terminate(struct profile *profile)
{
    profile_put(&profile->streams[1], "\xFF", 1);
}

static inline uint64_t profile_string(struct profile *profile, const char *text)
{
    uint64_t id = profile_here(profile);
    profile_text(profile, text);
    profile_terminate(profile);
    return id;
}

/* 'id' means the string 'string_id'. */
static inline void profile_bind(struct profile *profile, uint64_t id, uint64_t string_id)
{
    unsigned nbytes = profile->version >= 9 ? 8 : 4;
    profile_number(&profile->streams[2], id, nbytes);
    profile_number(&profile->streams[2], string_id - PROFILE_FIRST, nbytes);
}

static inline void profile_metadata(struct profile *profile, const char *text)
{
    profile_bind(profile, PROFILE_METADATA, profile_string(profile, text));
}

static inline void profile_event(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread,
                                 uint64_t begin, uint64_t end)
{
    struct profile_bytes *to = &profile->streams[0];
    unsigned nbytes = profile->version >= 9 ? 8 : 4;
    profile_number(to, kind, nbytes);
    profile_number(to, id, nbytes);
    profile_number(to, thread, 4);
    profile_number(to, begin, 4);
    profile_number(to, end, 4);
    profile_number(to, begin >> 32 << 16 | end >> 32, 4);
    profile->event_count++;
}

/* Strings and index go over the ends of pages, events do not. */
static inline void profile_pages(const struct profile *profile, int stream, struct profile_bytes *to)
{
    const struct profile_bytes *from = &profile->streams[stream];
    size_t most = profile->page_nbytes != 0 ? profile->page_nbytes : 262144;
    size_t event_nbytes = profile->version >= 9 ? 32 : 24;
    for (size_t at = 0, nbytes; at < from->nbytes; at += nbytes) {
        size_t header = at == 0 ? 8 : 0;
        nbytes =
            stream == 0 ? header + (most > event_nbytes ? most / event_nbytes - 1 : 1) * event_nbytes : most;
        if (nbytes > from->nbytes - at)
            nbytes = from->nbytes - at;
        profile_number(to, (uint64_t)stream, 1);
        profile_number(to, nbytes, 4);
        profile_put(to, from->bytes + at, nbytes);
    }
}

/* The file: strings, index, events, so that a cut costs events. The caller frees it. */
static inline struct profile_bytes profile_file(const struct profile *profile)
{
    struct profile_bytes file = {0};
    profile_put(&file, "MMPD", 4);
    profile_number(&file, profile->version, 4);
    profile_pages(profile, 1, &file);
    profile_pages(profile, 2, &file);
    profile_pages(profile, 0, &file);
    return file;
}

/* The bytes of one stream of a paged file, its pages joined. The caller frees it. */
static inline struct profile_bytes profile_depage(const char *path, int stream)
{
    struct profile_bytes joined = {0};
    FILE *file = fopen(path, "rb");
    uint8_t header[8], page[5];
    if (file == NULL || fread(header, 1, 8, file) != 8)
        abort();
    while (fread(page, 1, 5, file) == 5) {
        size_t nbytes = page[1] | (size_t)page[2] << 8 | (size_t)page[3] << 16 | (size_t)page[4] << 24;
        uint8_t *bytes = malloc(nbytes + 1);
        if (bytes == NULL || fread(bytes, 1, nbytes, file) != nbytes)
            abort();
        if (page[0] == stream)
            profile_put(&joined, bytes, nbytes);
        free(bytes);
    }
    fclose(file);
    return joined;
}

#endif
