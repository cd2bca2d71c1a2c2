/*
 * Profiles made byte by byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/measureme/profile_builder.h"

#include <stdlib.h>
#include <string.h>

void profile_bytes_add(struct profile_bytes *to, const void *bytes, size_t nbytes)
{
    if (to->nbytes + nbytes > to->room) {
        to->room = 2 * (to->nbytes + nbytes) + 64;
        to->bytes = realloc(to->bytes, to->room);
        if (to->bytes == NULL)
            abort();
    }
    if (nbytes > 0)
        memcpy(to->bytes + to->nbytes, bytes, nbytes);
    to->nbytes += nbytes;
}

static void add_le(struct profile_bytes *to, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);
        profile_bytes_add(to, &byte, 1);
    }
}

void profile_bytes_u32(struct profile_bytes *to, uint32_t value)
{
    add_le(to, value, 4);
}

void profile_bytes_free(struct profile_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct profile_bytes){.bytes = NULL};
}

void profile_start(struct profile *profile, uint32_t version)
{
    static const char *const magics[] = {"MMES", "MMSD", "MMSI"};
    *profile = (struct profile){.version = version, .next_regular = version == 0 ? 0x80000001 : 0x20000001};
    for (int i = 0; i < 3; i++) {
        profile_bytes_add(&profile->streams[i], magics[i], 4);
        add_le(&profile->streams[i], version, 4);
    }
}

void profile_free(struct profile *profile)
{
    for (int i = 0; i < 3; i++)
        profile_bytes_free(&profile->streams[i]);
}

/* ---- Strings ---- */

static void add_reference(struct profile_bytes *data, uint32_t version, uint64_t id)
{
    if (version <= 6) {
        uint8_t bytes[4] = {(uint8_t)(0x80 | id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};
        profile_bytes_add(data, bytes, 4);
    } else {
        profile_bytes_add(data, "\xFE", 1);
        add_le(data, id, version == 9 ? 8 : 4);
    }
}

uint64_t profile_entry(struct profile *profile, const struct profile_part *parts, size_t count)
{
    struct profile_bytes *data = &profile->streams[1];
    uint64_t address = data->nbytes;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].text == NULL) {
            add_reference(data, profile->version, parts[i].id);
            continue;
        }
        if (profile->version == 0) {
            profile_bytes_add(data, "\1", 1);
            add_le(data, strlen(parts[i].text), 2);
        }
        profile_bytes_add(data, parts[i].text, strlen(parts[i].text));
    }
    profile_bytes_add(data, profile->version == 0 ? "" : "\xFF", 1);
    return address;
}

uint64_t profile_text(struct profile *profile, const char *text)
{
    struct profile_part part = {.text = text};
    return profile_entry(profile, &part, 1);
}

void profile_bind(struct profile *profile, uint64_t id, uint64_t address)
{
    int width = profile->version == 9 ? 8 : 4;
    add_le(&profile->streams[2], id, width);
    add_le(&profile->streams[2], address, width);
}

uint64_t profile_regular(struct profile *profile, uint64_t address)
{
    if (profile->version >= 4)
        return address + 100000003;
    uint64_t id = profile->next_regular++;
    profile_bind(profile, id, address);
    return id;
}

uint64_t profile_metadata_id(uint32_t version)
{
    return version == 0 ? 0x80000000 : version == 3 ? 0x20000000 : 100000001;
}

/* ---- Events ---- */

void profile_half(struct profile *profile, uint32_t kind, uint32_t id, uint64_t thread, uint64_t ns,
                  unsigned type)
{
    struct profile_bytes *events = &profile->streams[0];
    add_le(events, kind, 4);
    add_le(events, id, 4);
    add_le(events, thread, 8);
    add_le(events, ns << 2 | type, 8);
}

static void add_event(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t first,
                      uint64_t second)
{
    struct profile_bytes *events = &profile->streams[0];
    int width = profile->version == 9 ? 8 : 4;
    add_le(events, kind, width);
    add_le(events, id, width);
    add_le(events, thread, 4);
    add_le(events, first, 4);
    add_le(events, second, 4);
    add_le(events, second >> 32, 2);
    add_le(events, first >> 32, 2);
}

void profile_interval(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t begin,
                      uint64_t end)
{
    if (profile->version > 0) {
        add_event(profile, kind, id, thread, begin, end);
        return;
    }
    profile_half(profile, (uint32_t)kind, (uint32_t)id, thread, begin, 0);
    profile_half(profile, (uint32_t)kind, (uint32_t)id, thread, end, 1);
}

void profile_instant(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t time)
{
    if (profile->version > 0)
        add_event(profile, kind, id, thread, time, 0xFFFFFFFFFFFF);
    else
        profile_half(profile, (uint32_t)kind, (uint32_t)id, thread, time, 2);
}

void profile_integer(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t value)
{
    add_event(profile, kind, id, thread, value, 0xFFFFFFFFFFFE);
}

/* ---- Pages ---- */

void profile_file_start(struct profile_bytes *file, uint32_t version)
{
    profile_bytes_add(file, "MMPD", 4);
    add_le(file, version, 4);
}

void profile_page(struct profile_bytes *file, uint8_t tag, const void *bytes, size_t nbytes)
{
    profile_bytes_add(file, &tag, 1);
    add_le(file, nbytes, 4);
    profile_bytes_add(file, bytes, nbytes);
}

struct profile_bytes profile_paged(const struct profile *profile, size_t page_nbytes)
{
    struct profile_bytes file = {.bytes = NULL};
    size_t at[3] = {0};
    bool is_done = false;
    profile_file_start(&file, profile->version);
    while (!is_done) {
        is_done = true;
        for (int i = 0; i < 3; i++) {
            size_t left = profile->streams[i].nbytes - at[i];
            size_t nbytes = left < page_nbytes ? left : page_nbytes;
            if (nbytes > 0)
                profile_page(&file, (uint8_t)i, profile->streams[i].bytes + at[i], nbytes);
            at[i] += nbytes;
            is_done = is_done && left == nbytes;
        }
    }
    return file;
}

/* ---- A sample ---- */

static void sample_events(struct profile *profile, uint64_t kind, const uint64_t ids[4])
{
    profile_instant(profile, kind, ids[0], 1, 150);
    profile_interval(profile, kind, ids[1], 1, 120, 200);
    profile_interval(profile, kind, 3, 2, 0x123456789AB, 0x223456789AB);
    profile_interval(profile, kind, ids[2], 1, 100, 300);
    profile_interval(profile, kind, 4242, 1, 400, 399);
    profile_interval(profile, kind, ids[3], 0xFFFFFFFF, 0, 0xFFFFFFFFFFFD);
    if (profile->version >= 8)
        profile_integer(profile, kind, ids[0], 1, 0x7FFFFFFFFFFF);
}

void profile_sample(struct profile *profile, uint32_t version)
{
    profile_start(profile, version);
    profile_bind(
        profile, profile_metadata_id(version),
        profile_text(profile, "{ \"start_time\": 12, \"process_id\": 34, \"cmd\": \"made by hand\" }"));
    uint64_t kind = profile_regular(profile, profile_text(profile, "Query"));
    uint64_t ids[4];
    ids[0] = profile_regular(profile, profile_text(profile, "a\xC3\xA9\xE2\x86\x92\xF0\x9F\x8E\x82z"));
    ids[1] = profile_regular(profile, profile_text(profile, ""));
    struct profile_part label[] = {{.id = ids[0]}, {.text = "\x1E"}, {.id = kind}};
    struct profile_part nested[] = {{.text = "x"}, {.id = 0x00FFFF07}, {.id = 3}, {.text = "\xC3\xBF"}};
    if (version == 0) {
        label[0].text = nested[1].text = "left";
        label[2].text = nested[2].text = "right";
    }
    ids[2] = profile_regular(profile, profile_entry(profile, label, 3));
    ids[3] = profile_regular(profile, profile_entry(profile, nested, 4));
    uint64_t first = profile_text(profile, "bound first"), last = profile_text(profile, "bound last");
    profile_bind(profile, 3, first);
    profile_bind(profile, 0, first);
    profile_bind(profile, 3, last);
    sample_events(profile, kind, ids);
}
