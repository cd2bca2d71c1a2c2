/*
 * Names looked up ahead; see names_ahead.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/names_ahead.h"

#include "reader/core/file/reader_state.h"
#include "reader/core/strings/text_budget.h"

#include <stdlib.h>

#define LOOKED_UP_BITS                                                                                       \
    16 /* of the number of ids that are remembered; others are looked up again, which is cheap */

bool tbed_names_ahead_open(struct tbed_names_ahead *ahead, struct tbed_reader *reader)
{
    *ahead = (struct tbed_names_ahead){reader, calloc((size_t)1 << LOOKED_UP_BITS, sizeof(uint32_t)),
                                       tbed_text_budget_use_count(reader->texts)};
    return ahead->looked_up != NULL;
}

void tbed_names_ahead_close(struct tbed_names_ahead *ahead)
{
    free(ahead->looked_up);
    ahead->looked_up = NULL;
}

static void look_up(struct tbed_names_ahead *ahead, uint32_t id)
{
    uint32_t *place = &ahead->looked_up[id * 2654435761u >> (32 - LOOKED_UP_BITS)];
    struct tbed_name name;
    struct tbed_id_info info;
    if (*place == id + 1 || id == TBED_ID_INVALID)
        return;
    *place = id + 1;
    tbed_name_get(ahead->reader, id, &name);
    tbed_id_resolve(ahead->reader, id, &info);
}

bool tbed_names_ahead_take_begin(struct tbed_names_ahead *ahead, uint32_t id, uint32_t category,
                                 struct tbed_arguments arguments, uint32_t argument_count)
{
    look_up(ahead, id);
    look_up(ahead, category);
    for (uint32_t i = 0; i < argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&arguments, &argument);
        look_up(ahead, argument.name_id);
        if (argument.type == TBED_ARG_ID && argument.value.u64 <= TBED_ID_MAX)
            look_up(ahead, argument.value.id);
    }
    return tbed_text_budget_use_count(ahead->reader->texts) == ahead->use_count;
}

bool tbed_names_ahead_take(struct tbed_names_ahead *ahead, const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_COUNTER)
        look_up(ahead, tbed_counter_unit(ahead->reader, event->id));
    return tbed_names_ahead_take_begin(ahead, event->id, event->category, event->arguments,
                                       event->argument_count);
}
