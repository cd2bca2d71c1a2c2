/*
 * Names of code locations for the commands.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool_places.h"

#include <stdlib.h>

void tool_places_open(struct tool_places *places, struct tbed_reader *reader, enum tbed_name_part part)
{
    struct tbed_symbols_options options = {.size = sizeof options};
    *places = (struct tool_places){reader, tbed_symbols_open(&options), part};
    if (places->symbols != NULL)
        tbed_symbols_attach(places->symbols, reader);
}

void tool_places_close(struct tool_places *places)
{
    if (places->symbols != NULL)
        tbed_reader_set_resolver(places->reader, NULL);
    tbed_symbols_close(places->symbols);
    places->symbols = NULL;
}

size_t tool_places_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct tool_places *places = context;
    return tbed_id_text(places->reader, id, places->part, buffer, buffer_nbytes);
}

void tool_places_prepare(void *context, const uint32_t *ids, size_t count)
{
    const struct tool_places *places = context;
    if (places->part != TBED_NAME_MODULE)
        tbed_names_prepare(places->reader, ids, count, false);
}

void tool_places_prepare_stacks(void *context, const uint32_t *ids, size_t count)
{
    const struct tool_places *places = context;
    tbed_names_prepare(places->reader, ids, count, true);
}

void tool_places_prepare_all(struct tool_places *places)
{
    uint32_t *ids;
    size_t count;
    if (places->symbols == NULL || tbed_native_code_find(places->reader, &ids, &count) != TBED_OK)
        return; /* each is looked up when it is named instead */
    tbed_names_prepare(places->reader, ids, count, false);
    free(ids);
}
