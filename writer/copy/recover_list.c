/*
 * A growable array.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "writer/copy/recover.h"

void *tbed_list_push(struct tbed_list *list, size_t item_nbytes)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 64 : 2 * list->room;
        void *items = realloc(list->items, room * item_nbytes);
        if (items == NULL)
            return NULL;
        list->items = items;
        list->room = room;
    }
    return memset((uint8_t *)list->items + list->count++ * item_nbytes, 0, item_nbytes);
}
