/*
 * Which tables there are. A new table is one line in this file's list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/events/event_tables.h"
#include "reader/tables/facts/facts.h"
#include "reader/tables/results/results.h"

static const struct table_source *const tables[] = {
    &tbed_table_spans,
    &tbed_table_events,
    &tbed_table_instants,
    &tbed_table_counters,
    &tbed_table_messages,
    &tbed_table_flows,
    &tbed_table_args,
    &tbed_table_processes,
    &tbed_table_threads,
    &tbed_table_strings,
    &tbed_table_bindings,
    &tbed_table_stacks,
    &tbed_table_locations,
    &tbed_table_frames,
    &tbed_table_units,
    &tbed_table_loads,
    &tbed_table_drops,
    &tbed_table_losses,
    &tbed_table_gaps,
    &tbed_table_damage,
    &tbed_table_info,
    &tbed_table_allocations,
    &tbed_table_label_statistics,
    &tbed_table_async_statistics,
    &tbed_table_instant_statistics,
    &tbed_table_counter_statistics,
    &tbed_table_message_statistics,
    &tbed_table_artifact_statistics,
    &tbed_table_tree,
    &tbed_table_thread_tree,
    &tbed_table_histogram,
    &tbed_table_activity,
    &tbed_table_sites,
    &tbed_table_stack_sites,
    &tbed_table_size_classes,
    &tbed_table_process_memory,
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
