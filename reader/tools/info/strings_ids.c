/*
 * A set of ids that counts how often each was added. Its size depends on the number of names, not of events.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/info/strings_ids.h"

#include <stdlib.h>

uint64_t used_ids_add(struct used_ids *used, uint32_t id)
{
    struct used_id *found = TBED_HASHMAP_ADD(&used->ids, tbed_hashmap_key32(id));
    if (found == NULL) {
        tool_complain("out of memory");
        exit(TOOL_TROUBLE);
    }
    return ++found->count;
}

void used_ids_free(struct used_ids *used)
{
    tbed_hashmap_free(&used->ids.map);
}
