/*
 * The names of ids, resolved once each. A trace has few names and very many events.
 *
 * The cache is bounded in what a hostile file can make of it: a short entry may resolve to 16 MiB, so long
 * texts are cut, and cut shorter once a lot has been kept.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_NBYTES_MAX       (64u << 10)
#define KEPT_NBYTES_MAX_LATER 256u
#define KEPT_TOTAL_NBYTES     (256u << 20)

struct entry {
    const struct tbed_reader *reader; /* NULL: free */
    uint32_t id;
    struct tool_text text;
};

static struct {
    struct entry *entries;
    size_t capacity, count; /* a power of two, at most half full */
    size_t total_nbytes;
} cache;

static size_t slot_of(const struct tbed_reader *reader, uint32_t id)
{
    uint64_t hash = ((uint64_t)id ^ ((uintptr_t)reader >> 4 << 30)) * 0x9E3779B97F4A7C15u;
    size_t slot = (hash >> 32) & (cache.capacity - 1);
    while (cache.entries[slot].reader != NULL &&
           (cache.entries[slot].id != id || cache.entries[slot].reader != reader))
        slot = (slot + 1) & (cache.capacity - 1);
    return slot;
}

static void grow(void)
{
    struct entry *old = cache.entries;
    size_t old_capacity = cache.capacity;
    cache.capacity = old_capacity > 0 ? old_capacity * 2 : 1024;
    cache.entries = tool_realloc(NULL, cache.capacity * sizeof *old);
    memset(cache.entries, 0, cache.capacity * sizeof *old);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].reader != NULL)
            cache.entries[slot_of(old[i].reader, old[i].id)] = old[i];
    free(old);
}

/* 'nbytes' cut back so that it does not end inside a code point. */
static size_t whole_code_points(const char *text, size_t nbytes)
{
    size_t end = nbytes;
    while (end > 0 && nbytes - end < 3 && ((uint8_t)text[end - 1] & 0xC0) == 0x80)
        end--;
    if (end > 0 && (uint8_t)text[end - 1] >= 0xC0)
        return tool_utf8_step((const uint8_t *)text + end - 1, nbytes - end + 1) > 0 ? nbytes : end - 1;
    return nbytes;
}

static struct tool_text resolve(const struct tbed_reader *reader, uint32_t id)
{
    static const char ellipsis[] = "…";
    char buffer[KEPT_NBYTES_MAX];
    size_t nbytes = 0;
    size_t limit = cache.total_nbytes < KEPT_TOTAL_NBYTES ? sizeof buffer : KEPT_NBYTES_MAX_LATER;
    enum tbed_status status = tbed_string_resolve(reader, id, buffer, limit, &nbytes);
    bool cut = nbytes >= limit;
    size_t kept = cut ? whole_code_points(buffer, limit - 1) : nbytes;
    char *text = tool_realloc(NULL, kept + sizeof ellipsis);
    memcpy(text, buffer, kept);
    memcpy(text + kept, cut ? ellipsis : "", cut ? sizeof ellipsis : 1);
    kept += cut ? sizeof ellipsis - 1 : 0;
    cache.total_nbytes += kept;
    return (struct tool_text){text, kept, status, cut};
}

struct tool_text tool_name_text(struct tbed_reader *reader, uint32_t id)
{
    if (cache.count * 2 >= cache.capacity)
        grow();
    struct entry *entry = &cache.entries[slot_of(reader, id)];
    if (entry->reader == NULL) {
        *entry = (struct entry){reader, id, resolve(reader, id)};
        cache.count++;
    }
    return entry->text;
}

const char *tool_name(struct tbed_reader *reader, uint32_t id)
{
    return tool_name_text(reader, id).text;
}

struct tool_text tool_name_whole(struct tbed_reader *reader, uint32_t id)
{
    static char *buffer;
    static size_t capacity;
    struct tool_text text = tool_name_text(reader, id);
    if (!text.cut)
        return text;
    size_t nbytes = 0;
    char none[1];
    tbed_string_resolve(reader, id, none, sizeof none, &nbytes);
    if (nbytes + 1 > capacity) {
        capacity = nbytes + 1;
        buffer = tool_realloc(buffer, capacity);
    }
    /* A file that is still written may give the id a longer meaning in between. */
    enum tbed_status status = tbed_string_resolve(reader, id, buffer, capacity, &nbytes);
    size_t end = nbytes < capacity ? nbytes : whole_code_points(buffer, capacity - 1);
    return (struct tool_text){buffer, end, status, false};
}
