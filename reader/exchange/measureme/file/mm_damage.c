/*
 * The list of damage in a profile, in the order found.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "reader/exchange/measureme/file/mm_internal.h"

struct mm_damage_list {
    struct tbed_vector kept; /* struct mm_damage, at most MM_DAMAGE_KEPT */
    uint64_t count;
};

struct mm_damage_list *tbed_mm_damage_list_create(void)
{
    return calloc(1, sizeof(struct mm_damage_list));
}

void tbed_mm_damage_list_free(struct mm_damage_list *list)
{
    if (list != NULL)
        tbed_vector_free(&list->kept);
    free(list);
}

void tbed_mm_damage_add(const struct mm_file *file, enum tbed_status status, enum mm_stream source,
                        uint64_t offset, uint64_t detail)
{
    struct mm_damage_list *list = file->damages;
    list->count++;
    if (list->kept.count == MM_DAMAGE_KEPT)
        return;
    struct mm_damage *kept = tbed_vector_push(&list->kept, sizeof *kept);
    if (kept != NULL) /* if there is no memory, it is only counted */
        *kept = (struct mm_damage){.status = status, .file = source, .offset = offset, .detail = detail};
}

uint64_t tbed_mm_damage_count(const struct mm_damage_list *list)
{
    return list->count;
}

bool tbed_mm_damage_find(const struct mm_damage_list *list, size_t index, struct mm_damage *damage_ret)
{
    if (index >= list->kept.count)
        return false;
    *damage_ret = ((const struct mm_damage *)list->kept.items)[index];
    return true;
}
