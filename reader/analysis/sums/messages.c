/*
 * Messages by format; see messages.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/messages.h"

#include <stdlib.h>

/* NULL: no memory. */
static struct stat_message *find(struct stat_messages *messages, uint32_t id)
{
    uint32_t index = tbed_number_map_find(&messages->by_id, id);
    if (index != NUMBER_MAP_NONE)
        return &messages->items[index];
    if (messages->count == messages->room) {
        size_t room = messages->room * 2 + 32;
        struct stat_message *items = realloc(messages->items, room * sizeof *items);
        if (items == NULL)
            return NULL;
        messages->items = items;
        messages->room = room;
    }
    if (!tbed_number_map_add(&messages->by_id, id, (uint32_t)messages->count))
        return NULL;
    messages->items[messages->count] = (struct stat_message){.id = id};
    return &messages->items[messages->count++];
}

bool tbed_stat_messages_count(struct stat_messages *messages, const struct tbed_event *event)
{
    uint32_t severity = event->of.message.severity;
    struct stat_message *message = find(messages, event->id);
    if (message != NULL)
        message->severity_counts[severity <= TBED_SEVERITY_DEBUG ? severity : TBED_SEVERITY_NONE]++;
    return message != NULL;
}

bool tbed_stat_messages_add(struct stat_messages *messages, const struct stat_messages *from)
{
    for (size_t i = 0; i < from->count; i++) {
        struct stat_message *message = find(messages, from->items[i].id);
        if (message == NULL)
            return false;
        for (unsigned k = 0; k < 5; k++)
            message->severity_counts[k] += from->items[i].severity_counts[k];
    }
    return true;
}

void tbed_stat_messages_clear(struct stat_messages *messages)
{
    messages->count = 0;
    tbed_number_map_clear(&messages->by_id);
}

void tbed_stat_messages_free(struct stat_messages *messages)
{
    free(messages->items);
    tbed_number_map_free(&messages->by_id);
}
