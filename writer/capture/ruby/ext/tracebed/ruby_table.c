/*
 * A hash table with open addressing, in plain memory, because it changes in the middle of garbage collections.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

#include <stdlib.h>

#define CAPACITY_MIN 256

static void put(struct ruby_table *table, struct ruby_entry entry)
{
    size_t at = ruby_table_slot(table, entry.key, entry.more);
    while (table->entries[at].key != 0)
        at = (at + 1) & (table->capacity - 1);
    table->entries[at] = entry;
    table->count++;
}

/* False: no memory, nothing has changed. */
static bool rebuild(struct ruby_table *table, size_t capacity)
{
    struct ruby_table old = *table;
    struct ruby_entry *entries = calloc(capacity, sizeof *entries);
    if (entries == NULL)
        return false;
    *table = (struct ruby_table){.entries = entries, .capacity = capacity};
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].key != 0)
            put(table, old.entries[i]);
    free(old.entries);
    return true;
}

bool ruby_table_add(struct ruby_table *table, struct ruby_entry entry)
{
    if (table->count >= table->capacity / 2 &&
        !rebuild(table, table->capacity > 0 ? 2 * table->capacity : CAPACITY_MIN))
        return false;
    put(table, entry);
    return true;
}

/* Entries after the hole that would be looked for before it move into it. */
void ruby_table_drop(struct ruby_table *table, struct ruby_entry *entry)
{
    size_t mask = table->capacity - 1, hole = (size_t)(entry - table->entries);
    for (size_t at = (hole + 1) & mask; table->entries[at].key != 0; at = (at + 1) & mask) {
        size_t home = ruby_table_slot(table, table->entries[at].key, table->entries[at].more);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole].key = 0;
    table->count--;
}

void ruby_table_drop_dead(struct ruby_table *table)
{
    for (size_t i = 0; i < table->capacity;) {
        struct ruby_entry *entry = &table->entries[i];
        if (entry->key != 0 && entry->keeper != 0 && !ruby_is_marked(entry->keeper))
            ruby_table_drop(table, entry); /* another entry may have moved here */
        else
            i++;
    }
}

void ruby_table_follow(struct ruby_table *table)
{
    for (size_t i = 0; i < table->capacity; i++) {
        struct ruby_entry *entry = &table->entries[i];
        if (entry->key == 0 || entry->keeper == 0)
            continue;
        VALUE now = rb_gc_location(entry->keeper);
        if (entry->key == entry->keeper)
            entry->key = now;
        entry->keeper = now;
    }
    if (table->capacity > 0 && !rebuild(table, table->capacity))
        ruby_table_clear(table);
}

void ruby_table_mark(const struct ruby_table *table)
{
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].key != 0 && table->entries[i].keeper != 0)
            rb_gc_mark(table->entries[i].keeper);
}

void ruby_table_clear(struct ruby_table *table)
{
    free(table->entries);
    *table = (struct ruby_table){0};
}
