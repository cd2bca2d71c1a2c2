/*
 * Checks a description of arguments: once, before it is followed at every call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/capture/launch/launch_arguments.h"

#include <string.h>

_Static_assert(sizeof(struct launch_value) == 40, "a value has no padding");
_Static_assert(sizeof(struct launch_enumerator) == 16, "neither has an enumerator");
_Static_assert(sizeof(struct launch_arguments) == 16, "nor the header");

static bool is_text(const struct launch_arguments *arguments, uint32_t offset)
{
    return offset < arguments->nbytes &&
           memchr((const char *)arguments + offset, 0, arguments->nbytes - offset) != NULL;
}

static bool has_enumerators(const struct launch_arguments *arguments, const struct launch_value *value)
{
    uint64_t end =
        (uint64_t)value->enumerators + (uint64_t)value->enumerator_count * sizeof(struct launch_enumerator);
    if (value->enumerators % 8 != 0 || value->enumerator_count > LAUNCH_ENUMERATORS_MAX ||
        end > arguments->nbytes)
        return false;
    const struct launch_enumerator *list = (const void *)((const char *)arguments + value->enumerators);
    for (uint32_t i = 0; i < value->enumerator_count; i++)
        if (!is_text(arguments, list[i].name))
            return false;
    return true;
}

static bool is_number(uint32_t nbytes)
{
    return nbytes == 1 || nbytes == 2 || nbytes == 4 || nbytes == 8;
}

static bool has_size(const struct launch_value *value)
{
    switch (value->kind) {
    case LAUNCH_SIGNED:
    case LAUNCH_UNSIGNED:
    case LAUNCH_ENUMERATION:
        return is_number(value->nbytes);
    case LAUNCH_BOOLEAN:
    case LAUNCH_CHARACTER:
        return value->nbytes == 1;
    case LAUNCH_FLOATING:
        return value->nbytes == 4 || value->nbytes == 8 || value->nbytes == 16;
    case LAUNCH_POINTER:
    case LAUNCH_CODE:
    case LAUNCH_TEXT:
    case LAUNCH_STRING:
        return value->nbytes == 8;
    case LAUNCH_BYTES:
        return value->nbytes >= 1 && value->nbytes <= LAUNCH_VALUE_NBYTES_MAX;
    default:
        return false;
    }
}

static bool has_place(const struct launch_value *value)
{
#if defined(__aarch64__)
    static const uint32_t limits[] = {64, 128, LAUNCH_STACK_NBYTES_MAX, 0};
#else
    static const uint32_t limits[] = {48, 128, LAUNCH_STACK_NBYTES_MAX, 16};
#endif
    if (value->base >= LAUNCH_VALUE_BASE_COUNT)
        return false;
    uint32_t limit = limits[value->base], nbytes = value->is_indirect ? 8 : value->nbytes;
    bool has_length = value->kind != LAUNCH_STRING || value->is_indirect ||
                      (limit >= 8 && value->length_offset <= limit - 8);
    return limit >= nbytes && value->offset <= limit - nbytes && has_length;
}

bool launch_arguments_check(const struct launch_arguments *arguments, size_t nbytes)
{
    if (nbytes < sizeof *arguments || arguments->nbytes > nbytes || arguments->nbytes < sizeof *arguments ||
        arguments->argument_count > LAUNCH_VALUES_MAX || arguments->result_count > LAUNCH_VALUES_MAX)
        return false;
    uint32_t count = (uint32_t)arguments->argument_count + arguments->result_count;
    if (count * sizeof arguments->values[0] > arguments->nbytes - sizeof *arguments)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct launch_value *value = &arguments->values[i];
        if (!has_size(value) || !has_place(value) || !is_text(arguments, value->name) ||
            (value->enumerator_count > 0 && !has_enumerators(arguments, value)))
            return false;
    }
    return true;
}
