/*
 * Which object was allocated where. This table is what costs other tools their memory, so it is kept only on request:
 * 32 bytes an entry, at most half full.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

static struct ruby_table objects; /* object -> location */

void ruby_objects_add(VALUE object, uint32_t location)
{
    struct ruby_entry *entry = ruby_table_find(&objects, object, 0);
    if (entry != NULL)
        entry->value = location;
    else
        ruby_table_add(&objects, (struct ruby_entry){object, 0, object, location});
}

void ruby_objects_drop(VALUE object)
{
    struct ruby_entry *entry = ruby_table_find(&objects, object, 0);
    if (entry != NULL)
        ruby_table_drop(&objects, entry);
}

uint32_t ruby_objects_find(VALUE object)
{
    struct ruby_entry *entry = SPECIAL_CONST_P(object) ? NULL : ruby_table_find(&objects, object, 0);
    return entry != NULL ? (uint32_t)entry->value : TBED_ID_INVALID;
}

void ruby_objects_follow(void)
{
    ruby_table_follow(&objects);
}

void ruby_objects_clear(void)
{
    ruby_table_clear(&objects);
}
