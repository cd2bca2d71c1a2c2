/*
 * Which tables there are. A new table is one line in this file's list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"
#include "reader/tables/rows/rows.h"

static const struct table_source *const tables[] = {
    &tbed_table_processes, &tbed_table_threads,   &tbed_table_strings, &tbed_table_bindings,
    &tbed_table_stacks,    &tbed_table_locations, &tbed_table_frames,  &tbed_table_units,
    &tbed_table_loads,     &tbed_table_drops,     &tbed_table_losses,  &tbed_table_gaps,
    &tbed_table_damage,    &tbed_table_info,      &tbed_table_spans,   &tbed_table_processes,
};
#define TABLE_COUNT (sizeof tables / sizeof tables[0])

const struct tbed_table *tbed_table_get(size_t index)
{
    return index < TABLE_COUNT ? &tables[index]->about : NULL;
}

const struct tbed_table *tbed_table_find(const char *name)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (strcmp(tables[i]->about.name, name) == 0)
            return &tables[i]->about;
    return NULL;
}
