/*
 * Which locations a trace uses: one walk over its events.
 *
 * A bit for each reserved id tells what was seen: 64 MiB of addresses, of which only what is touched becomes memory. So
 * every id and every stack is looked at once.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/symbolize/used_locations.h"
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SEEN_NBYTES (((size_t)TBED_ID_MAX_RESERVED + 1) / 8)

/* Is it new? Of other ids than reserved ones: no. */
static bool see(struct used_locations *used, uint32_t id)
{
    if (id > TBED_ID_MAX_RESERVED)
        return false;
    uint64_t bit = UINT64_C(1) << id % 64;
    bool is_new = (used->seen[id / 64] & bit) == 0;
    used->seen[id / 64] |= bit;
    return is_new;
}

static void keep(struct used_locations *used, uint32_t id)
{
    if (used->count == used->room) {
        used->room = used->room == 0 ? 256 : 2 * used->room;
        used->ids = tool_realloc(used->ids, used->room * sizeof *used->ids);
    }
    used->ids[used->count++] = id;
}

bool used_locations_open(struct used_locations *used)
{
    void *seen =
        mmap(NULL, SEEN_NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (seen == MAP_FAILED)
        return false;
    *used = (struct used_locations){.seen = seen};
    return true;
}

void used_locations_add(struct tbed_reader *reader, struct used_locations *used, uint32_t id)
{
    while (see(used, id)) {
        struct tbed_location location;
        uint32_t direct, parent;
        if (tbed_location_resolve(reader, id, &location) && location.source == TBED_FRAMES_NONE &&
            (location.id == id || see(used, location.id)))
            keep(used, location.id);
        if (!tbed_stack_get(reader, id, &direct, &parent))
            return;
        id = parent;
    }
}

static void use_event(struct tbed_reader *reader, struct used_locations *used, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    used_locations_add(reader, used, event->id);
    for (uint32_t i = 0; i < event->argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        if (argument.type == TBED_ARG_ID && argument.value.id <= TBED_ID_MAX)
            used_locations_add(reader, used, (uint32_t)argument.value.id);
    }
}

static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

bool used_locations_find(struct tbed_reader *reader, struct used_locations *used)
{
    struct tbed_stream_info stream;
    if (!used_locations_open(used))
        return false;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        struct tbed_event event;
        if (tbed_cursor_open(reader, stream.stream, &cursor) != TBED_OK)
            return false;
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            use_event(reader, used, &event);
        tbed_cursor_close(cursor);
    }
    if (used->count > 1)
        qsort(used->ids, used->count, sizeof *used->ids, compare_ids);
    return true;
}

void used_locations_free(struct used_locations *used)
{
    free(used->ids);
    if (used->seen != NULL)
        munmap(used->seen, SEEN_NBYTES);
    *used = (struct used_locations){0};
}
