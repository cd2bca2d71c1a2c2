/*
 * The frames of a location: those that its file has, else those of its module's debug information.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbols_internal.h"

#include <stdlib.h>
#include <string.h>

/* NULL: it has no text, or nobody keeps it. */
static const char *keep_id(struct tbed_symbols *symbols, const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_name name;
    char text[4096];
    size_t nbytes;
    if (id == TBED_ID_INVALID)
        return NULL;
    enum tbed_status status = tbed_name_get(reader, id, &name);
    if (status == TBED_OK)
        return name.nbytes > 0 ? name.text : NULL;
    if (status != TBED_ERR_CACHE_FULL || symbols == NULL ||
        tbed_string_resolve(reader, id, text, sizeof text, &nbytes) != TBED_OK)
        return NULL;
    return tbed_symbols_keep_text(symbols, text, strlen(text));
}

bool tbed_location_module(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                          const struct tbed_unit_info *unit, struct tbed_symbols_module *module_ret)
{
    const char *path = keep_id(symbols, reader, unit->file_id);
    *module_ret =
        (struct tbed_symbols_module){path != NULL ? path : "", unit->build_id, unit->build_id_nbytes};
    return unit->kind == TBED_UNIT_NATIVE;
}

size_t tbed_location_frames(struct tbed_symbols *symbols, const struct tbed_reader *reader, uint32_t id,
                            struct tbed_frame *frames, size_t capacity)
{
    struct tbed_location location;
    struct tbed_frame_info info;
    struct tbed_symbols_module module;
    if (!tbed_location_resolve(reader, id, &location))
        return 0;
    for (size_t i = 0; i < capacity && tbed_location_frame(&location, i, &info); i++)
        frames[i] = (struct tbed_frame){.function = keep_id(symbols, reader, info.function_id),
                                        .file = keep_id(symbols, reader, info.file_id),
                                        .line = info.line,
                                        .is_inlined = i + 1 < location.frame_count};
    if (location.source != TBED_FRAMES_NONE || symbols == NULL ||
        !tbed_location_module(symbols, reader, &location.unit, &module))
        return location.frame_count;
    return tbed_symbols_frames(symbols, &module, location.pc, frames, capacity);
}

/* ---- Many ---- */

struct wanted {
    uint32_t first_id; /* of the unit */
    uint64_t pc;
};

static int compare_wanted(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    if (a->first_id != b->first_id)
        return a->first_id < b->first_id ? -1 : 1;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static void resolve_unit(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                         const struct wanted *wanted, size_t count)
{
    struct tbed_unit_info unit;
    struct tbed_symbols_module module;
    uint64_t pc, *pcs = malloc(count * sizeof *pcs);
    for (size_t i = 0; pcs != NULL && i < count; i++)
        pcs[i] = wanted[i].pc;
    if (pcs != NULL && tbed_location_find(reader, wanted->first_id, &unit, &pc) &&
        tbed_location_module(symbols, reader, &unit, &module))
        tbed_symbols_resolve_many(symbols, &module, pcs, count);
    free(pcs);
}

void tbed_locations_resolve_many(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                                 const uint32_t *ids, size_t count)
{
    struct wanted *wanted = symbols != NULL ? malloc(count * sizeof *wanted + 1) : NULL;
    size_t wanted_count = 0;
    for (size_t i = 0; wanted != NULL && i < count; i++) {
        struct tbed_location location;
        if (tbed_location_resolve(reader, ids[i], &location) && location.source == TBED_FRAMES_NONE)
            wanted[wanted_count++] = (struct wanted){location.unit.first_id, location.pc};
    }
    if (wanted_count > 1)
        qsort(wanted, wanted_count, sizeof *wanted, compare_wanted);
    for (size_t first = 0, end = 0; first < wanted_count; first = end) {
        while (end < wanted_count && wanted[end].first_id == wanted[first].first_id)
            end++;
        resolve_unit(symbols, reader, wanted + first, end - first);
    }
    free(wanted);
}
