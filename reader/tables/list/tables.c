/*
 * Which tables there are. A new table is one line in this file's list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

static const struct table_source *const tables[] = {
    &tbed_table_processes,
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
