/*
 * Puts what is known about a function's arguments into one piece of memory, for the process that will read them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/debug_arguments.h"

#include <stdlib.h>
#include <string.h>

struct description {
    uint8_t bytes[LAUNCH_DESCRIPTION_NBYTES];
    size_t nbytes;
    bool is_full;
    struct launch_enumerator enumerators[LAUNCH_ENUMERATORS_MAX];
    uint32_t enumerator_count;
};

/* Returns the offset of the copy; 0 if there is no room for it. */
static uint32_t add(struct description *description, const void *bytes, size_t nbytes)
{
    size_t at = description->nbytes;
    if (description->is_full || nbytes > sizeof description->bytes - at) {
        description->is_full = true;
        return 0;
    }
    if (nbytes > 0)
        memcpy(description->bytes + at, bytes, nbytes);
    description->nbytes += nbytes;
    return (uint32_t)at;
}

static uint32_t add_text(struct description *description, const char *text)
{
    return add(description, text, strlen(text) + 1);
}

static bool take_enumerator(void *state, const char *name, int64_t value)
{
    struct description *description = state;
    struct launch_enumerator *enumerator = &description->enumerators[description->enumerator_count];
    *enumerator = (struct launch_enumerator){.value = value, .name = add_text(description, name)};
    return !description->is_full && ++description->enumerator_count < LAUNCH_ENUMERATORS_MAX;
}

static void add_enumerators(struct description *description, const struct debug_value *value,
                            struct launch_value *value_ret)
{
    static const uint8_t zeros[8] = {0};
    description->enumerator_count = 0;
    tbed_debug_enumerators(&value->type, take_enumerator, description);
    add(description, zeros, -description->nbytes % 8);
    value_ret->enumerator_count = description->enumerator_count;
    value_ret->enumerators = add(description, description->enumerators,
                                 description->enumerator_count * sizeof description->enumerators[0]);
}

static void add_value(struct description *description, const struct debug_value *value, size_t index)
{
    struct launch_value own = {.kind = (uint8_t)value->kind,
                               .base = (uint8_t)value->base,
                               .is_indirect = value->is_indirect,
                               .nbytes = value->nbytes,
                               .offset = value->offset,
                               .inner = value->inner,
                               .length_offset = value->length_offset};
    own.name = add_text(description, value->name);
    if (own.kind == LAUNCH_ENUMERATION)
        add_enumerators(description, value, &own);
    memcpy(description->bytes + sizeof(struct launch_arguments) + index * sizeof own, &own, sizeof own);
}

static struct launch_arguments *copy_of(const struct description *description)
{
    size_t nbytes = (description->nbytes + 7) & ~(size_t)7;
    uint32_t own_nbytes = (uint32_t)nbytes;
    struct launch_arguments *copy = description->is_full ? NULL : calloc(1, nbytes);
    if (copy == NULL)
        return NULL;
    memcpy(copy, description->bytes, description->nbytes);
    copy->nbytes = own_nbytes;
    return copy;
}

struct launch_arguments *tbed_debug_info_describe(struct debug_info *info, uint64_t pc, const char *symbol)
{
    static struct debug_signature signature;
    static struct description description;
    if (!tbed_debug_info_signature(info, pc, symbol, &signature))
        return NULL;
    size_t count = signature.argument_count + signature.result_count;
    struct launch_arguments header = {.argument_count = (uint16_t)signature.argument_count,
                                      .result_count = (uint16_t)signature.result_count,
                                      .is_cut = signature.is_cut};
    if (count == 0)
        return NULL;
    memset(description.bytes, 0, sizeof header + count * sizeof(struct launch_value));
    memcpy(description.bytes, &header, sizeof header);
    description.nbytes = sizeof header + count * sizeof(struct launch_value);
    description.is_full = false;
    for (size_t i = 0; i < count; i++)
        add_value(&description, &signature.values[i], i);
    return copy_of(&description);
}
