/*
 * The calling conventions of C and C++ on x86-64 (System V) and arm64 (AAPCS64): which registers and places on the stack
 * hold an argument or a result.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/debug_arguments.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_SHOWN_MAX 4 /* a struct with more is shown as bytes */
#define BYTES_SHOWN_MAX  LAUNCH_VALUE_NBYTES_MAX

/* Where the eight bytes of a whole argument are. */
struct place {
    enum launch_value_base base[2];
    uint32_t offset[2];
    bool is_indirect; /* a pointer to the argument is there */
    uint32_t
        step; /* of a place with more than 16 bytes, or one that is a copy of memory: 0; in registers: 8 */
};

/* ---- Values ---- */

static struct debug_value *append(struct debug_convention *convention, const char *name)
{
    if (convention->count == convention->capacity)
        return NULL;
    struct debug_value *value = &convention->values[convention->count++];
    memset(value, 0, sizeof *value);
    snprintf(value->name, sizeof value->name, "%s", name);
    return value;
}

/* Sets where the byte 'at' of the argument is. */
static void locate(struct debug_value *value, const struct place *place, uint32_t at)
{
    uint32_t half = place->step != 0 && !place->is_indirect ? at / 8 : 0;
    value->base = place->base[half];
    value->is_indirect = place->is_indirect;
    if (place->is_indirect) {
        value->offset = place->offset[0];
        value->inner = at;
    } else {
        value->offset = place->offset[half] + at - half * 8;
    }
}

static void append_scalar(struct debug_convention *convention, const struct debug_type *type,
                          const char *name, const struct place *place, uint32_t at)
{
    struct debug_value *value = append(convention, name);
    if (value == NULL)
        return;
    value->kind = type->kind;
    value->nbytes = (uint32_t)type->nbytes;
    value->type = type->die;
    locate(value, place, at);
}

/* A struct in registers is at most 16 bytes, in two parts if need be. */
static void append_bytes(struct debug_convention *convention, uint64_t nbytes, const char *name,
                         const struct place *place)
{
    uint32_t left = nbytes < BYTES_SHOWN_MAX ? (uint32_t)nbytes : BYTES_SHOWN_MAX, at = 0;
    while (left > 0) {
        char part[DEBUG_NAME_MAX + 1];
        uint32_t some = place->step != 0 && !place->is_indirect && left > 8 ? 8 : left;
        snprintf(part, sizeof part, at > 0 ? "%.*s+8" : "%.*s", DEBUG_NAME_MAX - 2, name);
        struct debug_value *value = append(convention, part);
        if (value == NULL)
            return;
        value->kind = LAUNCH_BYTES;
        value->nbytes = some;
        locate(value, place, at);
        at += some;
        left -= some;
    }
}

/* The count lies in the same registers, or in the same memory, as the pointer. */
static bool append_string(struct debug_convention *convention, const struct debug_type *type,
                          const char *name, const struct place *place)
{
    uint32_t pointer, length;
    if (!tbed_debug_string_offsets(type, &pointer, &length) ||
        (!place->is_indirect && place->base[0] != place->base[1]))
        return false;
    struct debug_value *value = append(convention, name), other = {.offset = 0};
    if (value == NULL)
        return true;
    value->kind = LAUNCH_STRING;
    value->nbytes = 8;
    locate(value, place, pointer);
    locate(&other, place, length);
    value->length_offset = place->is_indirect ? length : other.offset;
    return true;
}

static void append_aggregate(struct debug_convention *convention, const struct debug_type *type,
                             const char *name, const struct place *place)
{
    struct debug_fields fields;
    if (append_string(convention, type, name, place))
        return;
    tbed_debug_fields_of(type, name, &fields);
    bool are_shown = !fields.is_cut && fields.count <= FIELDS_SHOWN_MAX;
    for (size_t i = 0; i < fields.count; i++)
        are_shown &= fields.items[i].is_exact;
    if (!are_shown)
        append_bytes(convention, type->nbytes, name, place);
    for (size_t i = 0; are_shown && i < fields.count; i++)
        append_scalar(convention, &fields.items[i].type, fields.items[i].name, place, fields.items[i].offset);
}

/* What a reference refers to is shown, if it is a scalar or a string. False: the address is. */
static bool append_referred(struct debug_convention *convention, const struct debug_type *type,
                            const char *name, const struct place *place)
{
    Dwarf_Attribute attribute;
    Dwarf_Die reference = type->die, die;
    struct debug_type target;
    struct place behind = *place;
    if (!type->is_reference || place->is_indirect ||
        dwarf_formref_die(dwarf_attr_integrate(&reference, DW_AT_type, &attribute), &die) == NULL ||
        !tbed_debug_type_of(&die, &target) || target.is_reference)
        return false;
    behind.is_indirect = true;
    if (target.is_aggregate)
        return append_string(convention, &target, name, &behind);
    append_scalar(convention, &target, name, &behind, 0);
    return true;
}

static void append_values(struct debug_convention *convention, const struct debug_type *type,
                          const char *name, const struct place *place)
{
    if (append_referred(convention, type, name, place))
        return;
    if (type->is_aggregate)
        append_aggregate(convention, type, name, place);
    else
        append_scalar(convention, type, name, place, 0);
}

/* ---- Where a type goes ---- */

enum class { CLASS_NONE, CLASS_VECTOR, CLASS_INTEGER, CLASS_MEMORY };

static bool is_floating(const struct debug_type *type)
{
    return type->kind == LAUNCH_FLOATING;
}

static uint32_t alignment_of(const struct debug_type *type)
{
    struct debug_fields fields;
    if (!type->is_aggregate)
        return type->nbytes == 16 ? 16 : 8;
    tbed_debug_fields_of(type, "", &fields);
    for (size_t i = 0; i < fields.count; i++)
        if (fields.items[i].type.nbytes == 16)
            return 16;
    return 8;
}

/* System V: the class of each eight bytes. */
static void classify(const struct debug_type *type, enum class classes_ret[2])
{
    struct debug_fields fields;
    classes_ret[0] = classes_ret[1] = CLASS_NONE;
    tbed_debug_fields_of(type, "", &fields);
    if (type->nbytes > 16 || fields.is_cut || fields.is_unaligned) {
        classes_ret[0] = CLASS_MEMORY;
        return;
    }
    for (size_t i = 0; i < fields.count; i++) {
        const struct debug_field *field = &fields.items[i];
        enum class own = is_floating(&field->type) ? CLASS_VECTOR : CLASS_INTEGER;
        if (own == CLASS_VECTOR && field->type.nbytes == 16) /* long double */
            classes_ret[0] = CLASS_MEMORY;
        for (uint32_t at = field->offset / 8; at < 2 && at * 8 < field->offset + field->type.nbytes; at++)
            if (own > classes_ret[at])
                classes_ret[at] = own;
    }
    if (classes_ret[0] == CLASS_MEMORY)
        classes_ret[1] = CLASS_NONE;
}

/* AAPCS64: up to four numbers of one floating type go in vector registers, each in its own. 0: it is no such struct. */
static uint32_t homogeneous_count(const struct debug_type *type, struct debug_fields *fields)
{
    tbed_debug_fields_of(type, "", fields);
    if (!type->is_aggregate || fields->is_cut || fields->count == 0 || fields->count > 4)
        return 0;
    uint64_t nbytes = fields->items[0].type.nbytes;
    for (size_t i = 0; i < fields->count; i++)
        if (!is_floating(&fields->items[i].type) || fields->items[i].type.nbytes != nbytes ||
            !fields->items[i].is_exact)
            return 0;
    return (uint32_t)fields->count;
}

static struct place on_stack(struct debug_convention *convention, const struct debug_type *type)
{
    uint32_t alignment = alignment_of(type);
    convention->stack_nbytes = (convention->stack_nbytes + alignment - 1) & ~(alignment - 1);
    struct place place = {.base = {LAUNCH_STACK, LAUNCH_STACK},
                          .offset = {convention->stack_nbytes, convention->stack_nbytes + 8}};
    convention->stack_nbytes += ((uint32_t)type->nbytes + 7) & ~7u;
    return place;
}

static uint32_t integer_max(const struct debug_convention *convention)
{
    return convention->is_arm64 ? 8 : 6;
}

static struct place pointer_to(struct debug_convention *convention)
{
    static const struct debug_type pointer = {.nbytes = 8, .kind = LAUNCH_POINTER};
    struct place place;
    if (convention->integer_count < integer_max(convention))
        place = (struct place){.base = {LAUNCH_INTEGERS}, .offset = {8 * convention->integer_count++}};
    else
        place = on_stack(convention, &pointer);
    place.is_indirect = true;
    return place;
}

/* Takes registers for both halves, or none if there are not enough. */
static bool in_registers(struct debug_convention *convention, const enum class classes[2],
                         struct place *place_ret)
{
    uint32_t integers = convention->integer_count, vectors = convention->vector_count;
    *place_ret = (struct place){.step = 8};
    for (int i = 0; i < 2; i++) {
        place_ret->base[i] = classes[i] == CLASS_VECTOR ? LAUNCH_VECTORS : LAUNCH_INTEGERS;
        if (classes[i] == CLASS_VECTOR)
            place_ret->offset[i] = 16 * vectors++;
        else if (classes[i] == CLASS_INTEGER)
            place_ret->offset[i] = 8 * integers++;
    }
    if (integers > integer_max(convention) || vectors > 8)
        return false;
    convention->integer_count = integers;
    convention->vector_count = vectors;
    return true;
}

static void scalar_classes(const struct debug_type *type, enum class classes_ret[2])
{
    classes_ret[0] = is_floating(type) ? CLASS_VECTOR : CLASS_INTEGER;
    classes_ret[1] = type->nbytes > 8 && !is_floating(type) ? CLASS_INTEGER : CLASS_NONE;
}

/* ---- x86-64 ---- */

static void place_x86(struct debug_convention *convention, const struct debug_type *type, const char *name)
{
    enum class classes[2];
    struct place place;
    if (type->is_aggregate)
        classify(type, classes);
    else
        scalar_classes(type, classes);
    if (is_floating(type) && type->nbytes == 16)
        classes[0] = CLASS_MEMORY;
    if (classes[0] == CLASS_NONE && classes[1] == CLASS_NONE) /* an empty struct takes no place */
        return;
    if (classes[0] == CLASS_MEMORY || !in_registers(convention, classes, &place))
        place = on_stack(convention, type);
    append_values(convention, type, name, &place);
}

/* ---- arm64 ---- */

static void place_homogeneous(struct debug_convention *convention, const struct debug_fields *fields,
                              const struct debug_type *type, const char *name)
{
    struct debug_fields named;
    if (convention->vector_count + fields->count > 8) {
        convention->vector_count = 8;
        struct place place = on_stack(convention, type);
        append_values(convention, type, name, &place);
        return;
    }
    tbed_debug_fields_of(type, name, &named);
    for (size_t i = 0; i < named.count; i++) {
        struct place place = {.base = {LAUNCH_VECTORS}, .offset = {16 * convention->vector_count++}};
        append_scalar(convention, &named.items[i].type, named.items[i].name, &place, 0);
    }
}

static void place_arm64(struct debug_convention *convention, const struct debug_type *type, const char *name)
{
    struct debug_fields fields;
    struct place place;
    enum class classes[2] = {CLASS_INTEGER, type->nbytes > 8 ? CLASS_INTEGER : CLASS_NONE};
    if (homogeneous_count(type, &fields) > 0) {
        place_homogeneous(convention, &fields, type, name);
        return;
    }
    if (type->is_aggregate && type->nbytes > 16) {
        place = pointer_to(convention);
        append_values(convention, type, name, &place);
        return;
    }
    if (!type->is_aggregate)
        scalar_classes(type, classes);
    if (alignment_of(type) == 16 && classes[0] == CLASS_INTEGER)
        convention->integer_count = (convention->integer_count + 1) & ~1u;
    if (!in_registers(convention, classes, &place)) {
        *(classes[0] == CLASS_VECTOR ? &convention->vector_count : &convention->integer_count) = 8;
        place = on_stack(convention, type);
    }
    append_values(convention, type, name, &place);
}

/* ---- Arguments and results ---- */

bool tbed_debug_place_argument(struct debug_convention *convention, const struct debug_type *type,
                               const char *name)
{
    if (type->is_by_reference) {
        struct place place = pointer_to(convention);
        append_values(convention, type, name, &place);
    } else if (type->nbytes == 0) {
        return true;
    } else if (convention->is_arm64) {
        place_arm64(convention, type, name);
    } else {
        place_x86(convention, type, name);
    }
    return true;
}

static bool is_in_memory(const struct debug_convention *convention, const struct debug_type *type)
{
    enum class classes[2];
    struct debug_fields fields;
    if (!type->is_aggregate || type->is_by_reference)
        return type->is_by_reference;
    if (convention->is_arm64)
        return type->nbytes > 16 && homogeneous_count(type, &fields) == 0;
    classify(type, classes);
    return classes[0] == CLASS_MEMORY;
}

/* A struct that holds a long double alone is returned in an x87 register. */
static bool has_long_double(const struct debug_type *type)
{
    struct debug_fields fields;
    tbed_debug_fields_of(type, "", &fields);
    for (size_t i = 0; i < fields.count; i++)
        if (is_floating(&fields.items[i].type) && fields.items[i].type.nbytes == 16)
            return true;
    return false;
}

void tbed_debug_place_result(struct debug_convention *convention, const struct debug_type *type,
                             const char *name, bool *takes_register_ret)
{
    static const struct place pointer = {.base = {LAUNCH_INTEGERS}, .offset = {0}, .is_indirect = true},
                              x87 = {.base = {LAUNCH_X87}, .offset = {0}};
    *takes_register_ret = false;
    if (is_in_memory(convention, type)) {
        *takes_register_ret = !convention->is_arm64;
        if (!convention->is_arm64) /* there x8 has its address, which is lost by the return */
            append_values(convention, type, name, &pointer);
    } else if (!convention->is_arm64 && is_floating(type) && type->nbytes == 16) {
        append_scalar(convention, type, name, &x87, 0);
    } else if (convention->is_arm64 || !type->is_aggregate || !has_long_double(type)) {
        tbed_debug_place_argument(convention, type, name);
    }
}
