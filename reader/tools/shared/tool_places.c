/*
 * What places in code are called, for the verbs.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool_places.h"
#include "reader/tools/symbolize/used_locations.h"

void tool_places_open(struct tool_places *places, struct tbed_reader *reader, enum tbed_location_part part)
{
    struct tbed_symbols_options options = {.size = sizeof options, .no_lines = part != TBED_LOCATION_ALL};
    *places = (struct tool_places){reader, tbed_symbols_open(&options), part};
}

void tool_places_close(struct tool_places *places)
{
    tbed_symbols_close(places->symbols);
    places->symbols = NULL;
}

size_t tool_places_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct tool_places *places = context;
    return tbed_location_text(places->symbols, places->reader, id, places->part, buffer, buffer_nbytes);
}

void tool_places_prepare(void *context, const uint32_t *ids, size_t count)
{
    const struct tool_places *places = context;
    if (places->part != TBED_LOCATION_MODULE)
        tbed_locations_resolve_many(places->symbols, places->reader, ids, count);
}

void tool_places_prepare_stacks(void *context, const uint32_t *ids, size_t count)
{
    const struct tool_places *places = context;
    struct used_locations used = {0};
    if (!used_locations_open(&used))
        return; /* then each is looked for when it is told */
    for (size_t i = 0; i < count; i++)
        used_locations_add(places->reader, &used, ids[i]);
    tool_places_prepare(context, used.ids, used.count);
    used_locations_free(&used);
}
