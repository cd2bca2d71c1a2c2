/*
 * Messages counted by the id of their format, and by severity. Rows of messages are by the complete format.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MESSAGES_H
#define TRACEBED_MESSAGES_H

#include "reader/analysis/shared/number_map.h"

#include <tracebed/analysis.h>

struct stat_message {
    uint32_t id;
    uint64_t severity_counts[5];
};

/* Must be zeroed before use. */
struct stat_messages {
    struct stat_message *items;
    size_t count, room;
    struct number_map by_id;
};

/* False: no memory. */
bool tbed_stat_messages_count(struct stat_messages *messages, const struct tbed_event *event);
bool tbed_stat_messages_add(struct stat_messages *messages, const struct stat_messages *from);
void tbed_stat_messages_clear(struct stat_messages *messages);
void tbed_stat_messages_free(struct stat_messages *messages);

#endif
