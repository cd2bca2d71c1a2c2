/*
 * The functions of one unit of debug information and those inlined into them, as ranges of addresses.
 *
 * The tree is walked once, with an explicit stack; types and variables are ignored.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/debug_info.h"

#include <dwarf.h>
#include <stdlib.h>

#define DEPTH_MAX 256

struct level {
    Dwarf_Die die;
    uint32_t scope;      /* the innermost scope that contains it */
    size_t functions[2]; /* scopes whose ranges end where it does */
};

struct scope_walk {
    struct debug_unit *unit;
    size_t depth;
    struct level levels[DEPTH_MAX];
};

static bool may_hold_code(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

/* Adds a scope for a function that has code, and returns its number; otherwise 'outer'. */
static uint32_t add_scope(struct debug_unit *unit, struct level *level, uint32_t outer)
{
    bool is_inlined = dwarf_tag(&level->die) == DW_TAG_inlined_subroutine;
    uint32_t number = (uint32_t)unit->scopes.count;
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    bool has_code = false;
    level->functions[0] = unit->functions.count;
    while ((offset = dwarf_ranges(&level->die, offset, &base, &start, &end)) > 0) {
        struct scope_range *range = start < end ? TBED_VECTOR_PUSH(&unit->ranges) : NULL;
        if (range == NULL)
            continue;
        *range = (struct scope_range){start, end, number};
        has_code = true;
        struct function_range *function = is_inlined ? NULL : TBED_VECTOR_PUSH(&unit->functions);
        if (function != NULL)
            *function = (struct function_range){.start = start, .end = end, .first = unit->ranges.count - 1};
    }
    level->functions[1] = unit->functions.count;
    struct scope *scope = has_code ? TBED_VECTOR_PUSH(&unit->scopes) : NULL;
    if (scope == NULL)
        return outer;
    *scope = (struct scope){level->die, outer, is_inlined};
    return number;
}

/* Goes to the first child of 'die', if it has one. */
static void enter(struct scope_walk *walk, Dwarf_Die *die, uint32_t scope)
{
    if (walk->depth == DEPTH_MAX || dwarf_child(die, &walk->levels[walk->depth].die) != 0)
        return;
    walk->levels[walk->depth].scope = scope;
    walk->levels[walk->depth].functions[0] = walk->levels[walk->depth].functions[1] = 0;
    walk->depth++;
}

static void end_functions(struct debug_unit *unit, const struct level *level)
{
    for (size_t i = level->functions[0]; i < level->functions[1]; i++)
        unit->functions.items[i].end_index = unit->ranges.count;
}

/*
 * Continues after the innermost entry, whose children are all done. Offsets only increase, whatever the file
 * contains.
 */
static void advance(struct scope_walk *walk)
{
    for (; walk->depth > 0; walk->depth--) {
        struct level *level = &walk->levels[walk->depth - 1];
        Dwarf_Off before = dwarf_dieoffset(&level->die);
        end_functions(walk->unit, level);
        level->functions[0] = level->functions[1] = 0;
        if (dwarf_siblingof(&level->die, &level->die) == 0 && dwarf_dieoffset(&level->die) > before)
            return;
    }
}

static int compare_functions(const void *left, const void *right)
{
    const struct function_range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/*
 * With -gsplit-dwarf the functions are in a separate file; lines and addresses are not. If that file is missing,
 * there are no functions.
 */
static Dwarf_Die functions_of(const struct debug_unit *unit)
{
    Dwarf_Die split = {0};
    uint8_t type = DW_UT_compile;
    bool is_split = dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
                    type == DW_UT_skeleton && split.cu != NULL;
    return is_split ? split : unit->die;
}

void tbed_debug_unit_walk(struct debug_unit *unit)
{
    struct scope_walk *walk = malloc(sizeof *walk);
    if (unit->is_walked || walk == NULL) {
        free(walk);
        return;
    }
    unit->is_walked = true;
    walk->unit = unit;
    walk->depth = 0;
    Dwarf_Die functions = functions_of(unit);
    enter(walk, &functions, UINT32_MAX);
    while (walk->depth > 0) {
        struct level *level = &walk->levels[walk->depth - 1];
        size_t depth = walk->depth;
        int tag = dwarf_tag(&level->die);
        uint32_t scope = level->scope;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            scope = add_scope(unit, level, scope);
        if (may_hold_code(tag))
            enter(walk, &level->die, scope);
        if (walk->depth == depth)
            advance(walk);
    }
    if (unit->functions.count > 1)
        qsort(unit->functions.items, unit->functions.count, sizeof *unit->functions.items, compare_functions);
    free(walk);
}
