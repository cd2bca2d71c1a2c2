/*
 * Types in debug information, as far as calling conventions and the display of values depend on them.
 *
 * Whatever the file contains, a walk has limits: chains of qualifiers, nesting, and the number of fields.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/debug_arguments.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define CHAIN_MAX       64
#define NESTING_MAX     8
#define ELEMENTS_MAX    16
#define MEMBERS_MAX     256
#define STEPS_MAX       256
#define CLASS_STEPS_MAX 4096

static bool is_alias(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

static bool target_of(Dwarf_Die *die, Dwarf_Die *target_ret)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), target_ret) != NULL;
}

/* Without typedefs and qualifiers. False: it is void, or there is no end. */
static bool peel(const Dwarf_Die *die, Dwarf_Die *type_ret)
{
    *type_ret = *die;
    for (int i = 0; i < CHAIN_MAX; i++) {
        if (!is_alias(dwarf_tag(type_ret)))
            return true;
        Dwarf_Die inner;
        if (!target_of(type_ret, &inner))
            return false;
        *type_ret = inner;
    }
    return false;
}

static uint64_t number(Dwarf_Die *die, unsigned attribute_name, uint64_t otherwise)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    Dwarf_Attribute *found = dwarf_attr_integrate(die, attribute_name, &attribute);
    return found != NULL && dwarf_formudata(found, &value) == 0 ? value : otherwise;
}

static bool has_flag(Dwarf_Die *die, unsigned attribute_name)
{
    Dwarf_Attribute attribute;
    bool is_set = false;
    return dwarf_formflag(dwarf_attr_integrate(die, attribute_name, &attribute), &is_set) == 0 && is_set;
}

/* ---- Scalars ---- */

/* 0: not a kind that is shown as a number. */
static enum launch_value_kind kind_of_base(Dwarf_Die *die, uint64_t nbytes)
{
    bool is_integer = nbytes == 1 || nbytes == 2 || nbytes == 4 || nbytes == 8;
    bool is_character = nbytes == 1 && dwarf_diename(die) != NULL && strcmp(dwarf_diename(die), "char") == 0;
    switch (number(die, DW_AT_encoding, 0)) {
    case DW_ATE_boolean:
        return nbytes == 1 ? LAUNCH_BOOLEAN : 0;
    case DW_ATE_float:
        return nbytes == 4 || nbytes == 8 || nbytes == 16 ? LAUNCH_FLOATING : 0;
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
        if (is_character)
            return LAUNCH_CHARACTER;
        return is_integer && number(die, DW_AT_encoding, 0) == DW_ATE_signed_char ? LAUNCH_SIGNED
                                                                                  : LAUNCH_UNSIGNED;
    case DW_ATE_signed:
        return is_integer ? LAUNCH_SIGNED : nbytes == 16 ? LAUNCH_BYTES : 0;
    case DW_ATE_unsigned:
    case DW_ATE_UTF:
        return is_integer ? LAUNCH_UNSIGNED : nbytes == 16 ? LAUNCH_BYTES : 0;
    default:
        return 0;
    }
}

static enum launch_value_kind kind_of_pointer(Dwarf_Die *die)
{
    Dwarf_Die target, plain;
    if (!target_of(die, &target) || !peel(&target, &plain))
        return LAUNCH_POINTER;
    if (dwarf_tag(&plain) == DW_TAG_subroutine_type)
        return LAUNCH_CODE;
    bool is_character = dwarf_tag(&plain) == DW_TAG_base_type && number(&plain, DW_AT_byte_size, 0) == 1 &&
                        kind_of_base(&plain, 1) == LAUNCH_CHARACTER;
    return is_character ? LAUNCH_TEXT : LAUNCH_POINTER;
}

/* ---- Aggregates ---- */

static uint64_t element_count(Dwarf_Die *array)
{
    Dwarf_Die child;
    uint64_t count = 1;
    if (dwarf_child(array, &child) != 0)
        return 0;
    for (int i = 0; i < CHAIN_MAX; i++) {
        if (dwarf_tag(&child) == DW_TAG_subrange_type) {
            uint64_t upper = number(&child, DW_AT_upper_bound, UINT64_MAX);
            uint64_t own = number(&child, DW_AT_count, upper == UINT64_MAX ? 0 : upper + 1);
            if (own == 0 || own > UINT32_MAX || count > UINT32_MAX)
                return 0;
            count *= own;
        }
        if (dwarf_siblingof(&child, &child) != 0)
            break;
    }
    return count;
}

/* ---- Classes that are passed by reference ---- */

struct class_walk {
    uint32_t step_count;
};

static bool is_class(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Whether the function's first argument besides 'this' is a reference to its class: it copies or moves. */
static bool is_copying(Dwarf_Die *function, const Dwarf_Die *class)
{
    Dwarf_Die child, reference, target, plain;
    if (dwarf_child(function, &child) != 0)
        return false;
    for (int i = 0; i < CHAIN_MAX; i++) {
        bool is_given = dwarf_tag(&child) == DW_TAG_formal_parameter && !has_flag(&child, DW_AT_artificial);
        if (is_given)
            return target_of(&child, &reference) &&
                   (dwarf_tag(&reference) == DW_TAG_reference_type ||
                    dwarf_tag(&reference) == DW_TAG_rvalue_reference_type) &&
                   target_of(&reference, &target) && peel(&target, &plain) &&
                   dwarf_dieoffset(&plain) == dwarf_dieoffset((Dwarf_Die *)class);
        if (dwarf_siblingof(&child, &child) != 0)
            break;
    }
    return false;
}

/* A constructor that copies or moves, or a destructor, that the program has written; or a virtual function. */
static bool is_own_function(Dwarf_Die *function, const Dwarf_Die *class)
{
    const char *name = dwarf_diename(function), *own = dwarf_diename((Dwarf_Die *)class);
    if (number(function, DW_AT_virtuality, 0) != 0)
        return true;
    if (name == NULL || own == NULL || number(function, DW_AT_defaulted, 0) == DW_DEFAULTED_in_class)
        return false;
    size_t nbytes = strcspn(own, "<");
    bool is_constructor = strncmp(name, own, nbytes) == 0 && name[nbytes] == '\0';
    return name[0] == '~' || (is_constructor && is_copying(function, class));
}

static bool is_passed_by_reference(struct class_walk *walk, const Dwarf_Die *class, int depth);

static bool part_is_passed_by_reference(struct class_walk *walk, Dwarf_Die *part, int depth)
{
    Dwarf_Die target, plain;
    for (int i = 0; i < NESTING_MAX; i++, part = &plain) {
        if (!target_of(part, &target) || !peel(&target, &plain))
            return false;
        if (dwarf_tag(&plain) != DW_TAG_array_type)
            break;
    }
    return is_class(dwarf_tag(&plain)) && is_passed_by_reference(walk, &plain, depth + 1);
}

/* gcc does not say, so its functions and parts have to be looked at. */
static bool is_passed_by_reference(struct class_walk *walk, const Dwarf_Die *class, int depth)
{
    Dwarf_Die whole = *class, child;
    uint64_t convention = number(&whole, DW_AT_calling_convention, 0);
    if (convention == DW_CC_pass_by_reference || convention == DW_CC_pass_by_value)
        return convention == DW_CC_pass_by_reference;
    if (depth > NESTING_MAX || dwarf_child(&whole, &child) != 0)
        return false;
    do {
        int tag = dwarf_tag(&child);
        bool is_part =
            tag == DW_TAG_inheritance || (tag == DW_TAG_member && !has_flag(&child, DW_AT_external) &&
                                          !has_flag(&child, DW_AT_declaration));
        if (tag == DW_TAG_inheritance && number(&child, DW_AT_virtuality, 0) != 0)
            return true;
        if ((tag == DW_TAG_subprogram && is_own_function(&child, class)) ||
            (is_part && part_is_passed_by_reference(walk, &child, depth)))
            return true;
    } while (++walk->step_count < CLASS_STEPS_MAX && dwarf_siblingof(&child, &child) == 0);
    return false;
}

static bool is_by_reference(const Dwarf_Die *die)
{
    struct class_walk walk = {.step_count = 0};
    return is_passed_by_reference(&walk, die, 0);
}

static bool array_type_of(Dwarf_Die *die, struct debug_type *type_ret, int depth);

static bool type_of(Dwarf_Die *given, struct debug_type *type_ret, int depth)
{
    Dwarf_Die die;
    if (!peel(given, &die))
        return false;
    *type_ret = (struct debug_type){.die = die, .nbytes = number(&die, DW_AT_byte_size, 8)};
    switch (dwarf_tag(&die)) {
    case DW_TAG_base_type:
        type_ret->kind = kind_of_base(&die, type_ret->nbytes);
        return type_ret->kind != 0;
    case DW_TAG_enumeration_type:
        type_ret->kind = LAUNCH_ENUMERATION;
        return type_ret->nbytes == 1 || type_ret->nbytes == 2 || type_ret->nbytes == 4 ||
               type_ret->nbytes == 8;
    case DW_TAG_pointer_type:
        type_ret->kind = kind_of_pointer(&die);
        return type_ret->nbytes == 8;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        type_ret->kind = LAUNCH_POINTER;
        type_ret->is_reference = true;
        return type_ret->nbytes == 8;
    case DW_TAG_unspecified_type: /* nullptr_t */
        type_ret->kind = LAUNCH_POINTER;
        type_ret->nbytes = 8;
        return true;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        type_ret->kind = LAUNCH_BYTES;
        type_ret->is_aggregate = true;
        type_ret->nbytes = number(&die, DW_AT_byte_size, UINT64_MAX);
        type_ret->is_by_reference = is_by_reference(&die);
        return type_ret->nbytes <= INT32_MAX && !has_flag(&die, DW_AT_declaration);
    case DW_TAG_array_type:
        return array_type_of(&die, type_ret, depth);
    default: /* pointers to members, vectors, complex numbers */
        return false;
    }
}

static bool array_type_of(Dwarf_Die *die, struct debug_type *type_ret, int depth)
{
    Dwarf_Die target;
    struct debug_type element;
    uint64_t count = element_count(die);
    if (depth >= NESTING_MAX || has_flag(die, DW_AT_GNU_vector) || !target_of(die, &target) ||
        !type_of(&target, &element, depth + 1) || count > INT32_MAX ||
        (element.nbytes != 0 && count > INT32_MAX / element.nbytes))
        return false;
    *type_ret = (struct debug_type){
        .die = *die, .nbytes = count * element.nbytes, .kind = LAUNCH_BYTES, .is_aggregate = true};
    return true;
}

bool tbed_debug_type_of(Dwarf_Die *die, struct debug_type *type_ret)
{
    return type_of(die, type_ret, 0);
}

/* ---- Fields ---- */

struct field_walk {
    struct debug_fields *fields;
    uint32_t step_count;
};

static void add_fields(struct field_walk *walk, const struct debug_type *type, const char *name,
                       uint64_t offset, bool is_exact, int depth);

static void add_scalar(struct field_walk *walk, const struct debug_type *type, const char *name,
                       uint64_t offset, bool is_exact)
{
    struct debug_fields *fields = walk->fields;
    uint64_t alignment = type->nbytes;
    fields->is_unaligned |= alignment != 0 && offset % alignment != 0;
    if (fields->count == DEBUG_FIELDS_MAX || offset > INT32_MAX) {
        fields->is_cut = true;
        return;
    }
    struct debug_field *field = &fields->items[fields->count++];
    *field = (struct debug_field){.type = *type, .offset = (uint32_t)offset, .is_exact = is_exact};
    snprintf(field->name, sizeof field->name, "%s", name);
}

static void add_elements(struct field_walk *walk, const struct debug_type *type, const char *name,
                         uint64_t offset, bool is_exact, int depth)
{
    Dwarf_Die target, array = type->die;
    struct debug_type element;
    char part[DEBUG_NAME_MAX + 1];
    if (!target_of(&array, &target) || !type_of(&target, &element, depth) || element.nbytes == 0) {
        walk->fields->is_cut = true;
        return;
    }
    uint64_t count = type->nbytes / element.nbytes;
    for (uint64_t i = 0; i < count && i < ELEMENTS_MAX && !walk->fields->is_cut; i++) {
        snprintf(part, sizeof part, "%.*s[%u]", DEBUG_NAME_MAX - 8, name, (unsigned)i);
        add_fields(walk, &element, part, offset + i * element.nbytes, is_exact, depth + 1);
    }
    walk->fields->is_cut |= count > ELEMENTS_MAX;
}

/* A member, or a base class, whose fields are named like its own. */
static void add_member(struct field_walk *walk, Dwarf_Die *member, const char *name, uint64_t offset,
                       bool is_exact, int depth)
{
    Dwarf_Die target;
    struct debug_type type;
    char path[2 * DEBUG_NAME_MAX];
    bool is_base = dwarf_tag(member) == DW_TAG_inheritance;
    const char *own = is_base ? NULL : dwarf_diename(member);
    bool is_known = target_of(member, &target) && type_of(&target, &type, depth);
    uint64_t place = number(member, DW_AT_data_member_location, UINT64_MAX);
    if (place == UINT64_MAX) /* in a union it is left out */
        place = 0;
    if (!is_known || place > INT32_MAX || (is_base && number(member, DW_AT_virtuality, 0) != 0)) {
        walk->fields->is_cut = true;
        return;
    }
    bool is_bits = dwarf_hasattr(member, DW_AT_bit_size) != 0;
    snprintf(path, sizeof path, "%s%s%s", name, own != NULL ? "." : "", own != NULL ? own : "");
    path[DEBUG_NAME_MAX] = '\0';
    add_fields(walk, &type, path, offset + place, is_exact && !is_bits, depth + 1);
}

static void add_members(struct field_walk *walk, const struct debug_type *type, const char *name,
                        uint64_t offset, bool is_exact, int depth)
{
    Dwarf_Die whole = type->die, child;
    bool is_union = dwarf_tag(&whole) == DW_TAG_union_type;
    if (dwarf_child(&whole, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        bool is_static = has_flag(&child, DW_AT_external) || has_flag(&child, DW_AT_declaration);
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || (tag == DW_TAG_member && is_static))
            continue;
        add_member(walk, &child, name, offset, is_exact && !is_union, depth);
    } while (!walk->fields->is_cut && dwarf_siblingof(&child, &child) == 0);
}

static void add_fields(struct field_walk *walk, const struct debug_type *type, const char *name,
                       uint64_t offset, bool is_exact, int depth)
{
    Dwarf_Die die = type->die;
    uint32_t pointer, length;
    if (depth > NESTING_MAX || walk->fields->is_cut || ++walk->step_count > STEPS_MAX)
        walk->fields->is_cut = true;
    else if (!type->is_aggregate)
        add_scalar(walk, type, name, offset, is_exact);
    else if (dwarf_tag(&die) == DW_TAG_array_type)
        add_elements(walk, type, name, offset, is_exact, depth);
    else if (is_exact && depth > 0 && tbed_debug_string_offsets(type, &pointer, &length))
        walk->fields->is_cut = true; /* strings inside structs are not shown as text */
    else
        add_members(walk, type, name, offset, is_exact, depth);
}

void tbed_debug_fields_of(const struct debug_type *type, const char *name, struct debug_fields *fields_ret)
{
    struct field_walk walk = {.fields = fields_ret};
    fields_ret->count = 0;
    fields_ret->is_cut = fields_ret->is_unaligned = false;
    add_fields(&walk, type, name, 0, true, 0);
}

/* ---- Strings ---- */

static bool find_members(const struct debug_type *type, const char *const names[2], uint32_t offsets_ret[2])
{
    Dwarf_Die whole = type->die, child;
    unsigned found = 0, left = MEMBERS_MAX;
    if (dwarf_child(&whole, &child) != 0)
        return false;
    do {
        const char *name = dwarf_tag(&child) == DW_TAG_member ? dwarf_diename(&child) : NULL;
        for (unsigned i = 0; name != NULL && i < 2; i++) {
            uint64_t offset = number(&child, DW_AT_data_member_location, UINT64_MAX);
            if (strcmp(name, names[i]) != 0 || type->nbytes < 16 || offset > type->nbytes - 8)
                continue;
            offsets_ret[i] = (uint32_t)offset;
            found |= 1u << i;
        }
    } while (found != 3 && --left > 0 && dwarf_siblingof(&child, &child) == 0);
    return found == 3;
}

/* And the word ends there: not "char16_t". */
static bool begins_with(const char *name, const char *prefix)
{
    size_t nbytes = strlen(prefix);
    return strncmp(name, prefix, nbytes) == 0 && (name[nbytes] == ',' || name[nbytes] == '>');
}

bool tbed_debug_string_offsets(const struct debug_type *type, uint32_t *pointer_ret, uint32_t *length_ret)
{
    static const char *const members[][2] = {{"_M_dataplus", "_M_string_length"},
                                             {"_M_str", "_M_len"},
                                             {"__data_", "__size_"},
                                             {"__data", "__size"}};
    Dwarf_Die die = type->die;
    uint32_t offsets[2];
    const char *name = type->is_aggregate ? dwarf_diename(&die) : NULL;
    if (name == NULL ||
        (!begins_with(name, "basic_string<char") && !begins_with(name, "basic_string_view<char")))
        return false;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!find_members(type, members[i], offsets))
            continue;
        *pointer_ret = offsets[0];
        *length_ret = offsets[1];
        return true;
    }
    return false;
}
