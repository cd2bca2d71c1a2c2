/*
 * Lines and functions at addresses, by libdw.
 *
 * Ranges of units, and of the functions of units in use, are sorted once; looking up an address then takes binary
 * searches. libdw's own functions for this (dwfl_module_addrinfo, dwarf_getscopes) search everything for each
 * address.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/debug_info.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* How far back to search for a range inside which others begin. */
#define NESTED_MAX 16

/* ---- Units ---- */

static int compare_ranges(const void *left, const void *right)
{
    const struct unit_range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static void add_unit(struct debug_info *info, const Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    struct debug_unit *unit = TBED_VECTOR_PUSH(&info->units);
    if (unit == NULL)
        return;
    unit->die = *die;
    while ((offset = dwarf_ranges(&unit->die, offset, &base, &start, &end)) > 0) {
        struct unit_range *range = start < end ? TBED_VECTOR_PUSH(&info->ranges) : NULL;
        if (range != NULL)
            *range = (struct unit_range){start, end, (uint32_t)info->units.count - 1};
    }
}

bool tbed_debug_info_open(struct debug_info *info, Elf *elf)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    memset(info, 0, sizeof *info);
    info->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (info->dwarf == NULL)
        return false;
    while (dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            add_unit(info, &die);
    if (info->ranges.count > 1)
        qsort(info->ranges.items, info->ranges.count, sizeof *info->ranges.items, compare_ranges);
    if (info->ranges.count > 0)
        return true;
    tbed_debug_info_close(info);
    return false;
}

void tbed_debug_info_close(struct debug_info *info)
{
    for (size_t i = 0; i < info->units.count; i++) {
        tbed_vector_free(&info->units.items[i].scopes.vector);
        tbed_vector_free(&info->units.items[i].ranges.vector);
        tbed_vector_free(&info->units.items[i].functions.vector);
    }
    tbed_vector_free(&info->units.vector);
    tbed_vector_free(&info->ranges.vector);
    dwarf_end(info->dwarf);
    dwarf_end(info->alternate);
    memset(info, 0, sizeof *info);
}

static struct debug_unit *find_unit(struct debug_info *info, uint64_t pc)
{
    size_t low = 0, high = info->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (info->ranges.items[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 1; back <= NESTED_MAX && back <= low; back++)
        if (pc < info->ranges.items[low - back].end)
            return &info->units.items[info->ranges.items[low - back].unit];
    return NULL;
}

/* ---- Functions ---- */

static const struct function_range *find_function(const struct debug_unit *unit, uint64_t pc)
{
    size_t low = 0, high = unit->functions.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->functions.items[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 1; back <= NESTED_MAX && back <= low; back++)
        if (pc < unit->functions.items[low - back].end)
            return &unit->functions.items[low - back];
    return NULL;
}

/* The innermost scope; inner scopes come after outer ones. UINT32_MAX: none. */
static uint32_t find_scope(const struct debug_unit *unit, uint64_t pc)
{
    const struct function_range *function = find_function(unit, pc);
    uint32_t found = UINT32_MAX;
    for (size_t i = function != NULL ? function->first : 0; function != NULL && i < function->end_index; i++)
        if (pc >= unit->ranges.items[i].start && pc < unit->ranges.items[i].end)
            found = unit->ranges.items[i].scope;
    return found < unit->scopes.count ? found : UINT32_MAX;
}

static const char *scope_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
        name = dwarf_formstring(&attribute);
    return name != NULL ? name : dwarf_diename(die);
}

/*
 * A relative name is relative to the compiler's working directory. libdw has already prepended that directory to
 * names directly in it, which is only visible if the directory is relative too. Prepending it again gives the doubled
 * path that addr2line prints.
 */
static void set_file(struct debug_unit *unit, const char *file, struct debug_frame *frame)
{
    Dwarf_Attribute attribute;
    frame->file = file;
    if (file == NULL || file[0] == '/')
        return;
    const char *directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
    size_t nbytes = directory != NULL ? strlen(directory) : 0;
    if (nbytes > 0 && (strncmp(file, directory, nbytes) != 0 || file[nbytes] != '/'))
        frame->directory = directory;
}

/* Where an inlined function was called from. */
static void call_site(struct debug_unit *unit, Dwarf_Die *die, struct debug_frame *frame)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0, file = 0;
    Dwarf_Files *files;
    size_t file_count;
    Dwarf_Die own_unit; /* a split unit has a table of files of its own */
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) == 0 && line <= UINT32_MAX)
        frame->line = (uint32_t)line;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) == 0 &&
        dwarf_diecu(die, &own_unit, NULL, NULL) != NULL &&
        dwarf_getsrcfiles(&own_unit, &files, &file_count) == 0 && file < file_count)
        set_file(unit, dwarf_filesrc(files, (size_t)file, NULL, NULL), frame);
}

static void line_at(struct debug_unit *unit, uint64_t pc, struct debug_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, pc);
    int number = 0;
    if (line == NULL || dwarf_lineno(line, &number) != 0)
        return;
    frame->line = number > 0 ? (uint32_t)number : 0;
    set_file(unit, dwarf_linesrc(line, NULL, NULL), frame);
}

/* The last one on the way out to the enclosing function. */
static struct scope *outermost_inlined(const struct debug_unit *unit, struct scope *scope)
{
    while (scope->parent != UINT32_MAX && unit->scopes.items[scope->parent].is_inlined)
        scope = &unit->scopes.items[scope->parent];
    return scope;
}

size_t tbed_debug_info_frames(struct debug_info *info, uint64_t pc, struct debug_frame *frames,
                              size_t capacity)
{
    struct debug_unit *unit = find_unit(info, pc);
    size_t count = 0;
    if (unit == NULL || capacity == 0)
        return 0;
    tbed_debug_unit_walk(unit);
    uint32_t at = find_scope(unit, pc);
    frames[0] = (struct debug_frame){0};
    line_at(unit, pc, &frames[0]);
    while (at != UINT32_MAX) {
        struct scope *scope = &unit->scopes.items[at];
        frames[count].function = scope_name(&scope->die);
        frames[count++].is_inlined = scope->is_inlined;
        if (!scope->is_inlined || count == capacity)
            return count;
        if (count + 1 == capacity)
            scope = outermost_inlined(unit, scope);
        frames[count] = (struct debug_frame){0};
        call_site(unit, &scope->die, &frames[count]);
        at = scope->parent;
    }
    return count > 0 ? count : frames[0].line != 0;
}

bool tbed_debug_info_is_one_function(struct debug_info *info, uint64_t pc, uint64_t other_pc)
{
    struct debug_unit *unit = find_unit(info, pc);
    if (unit == NULL || find_unit(info, other_pc) != unit)
        return false;
    tbed_debug_unit_walk(unit);
    const struct function_range *function = find_function(unit, pc), *other = find_function(unit, other_pc);
    return function != NULL && other != NULL &&
           unit->ranges.items[function->first].scope == unit->ranges.items[other->first].scope;
}

bool tbed_debug_info_function(struct debug_info *info, uint64_t pc, Dwarf_Die *function_ret)
{
    struct debug_unit *unit = find_unit(info, pc);
    if (unit == NULL)
        return false;
    tbed_debug_unit_walk(unit);
    const struct function_range *function = find_function(unit, pc);
    if (function == NULL || function->start != pc)
        return false;
    *function_ret = unit->scopes.items[unit->ranges.items[function->first].scope].die;
    return true;
}
