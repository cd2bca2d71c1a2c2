/*
 * The arguments and the result of a function, from its entry in the debug information.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/debug_arguments.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#define PARAMETERS_MAX   64
#define ENUMERATORS_READ 65536

static bool type_of_entry(Dwarf_Die *die, Dwarf_Die *type_ret)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type_ret) != NULL;
}

/* Languages whose functions are called as C's are. */
static bool is_known_language(Dwarf_Die *function)
{
    Dwarf_Die unit;
    if (dwarf_diecu(function, &unit, NULL, NULL) == NULL)
        return false;
    switch (dwarf_srclang(&unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case 0x2c: /* C17 */
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2b: /* C++20 */
    case 0x2a: /* C++17 */
        return true;
    default:
        return false;
    }
}

/* Compilers change the arguments of functions that only they call: gcc says so in the name, clang in the entry. */
static bool is_changed(Dwarf_Die *function, const char *symbol)
{
    Dwarf_Attribute attribute;
    Dwarf_Word convention = DW_CC_normal;
    Dwarf_Attribute *found = dwarf_attr_integrate(function, DW_AT_calling_convention, &attribute);
    if (found != NULL && (dwarf_formudata(found, &convention) != 0 || convention != DW_CC_normal))
        return true;
    static const char *const marks[] = {".isra",   ".constprop", ".part", ".cold",
                                        ".resume", ".destroy",   ".actor"};
    for (size_t i = 0; symbol != NULL && i < sizeof marks / sizeof marks[0]; i++)
        if (strstr(symbol, marks[i]) != NULL)
            return true;
    return false;
}

/* The values of the result begin at 'capacity', behind those of the arguments, and are moved later. */
static bool place_result(Dwarf_Die *function, struct debug_convention *convention,
                         struct debug_signature *signature)
{
    Dwarf_Die die;
    struct debug_type type;
    bool takes_register = false;
    convention->values = signature->values + LAUNCH_VALUES_MAX;
    if (type_of_entry(function, &die)) {
        if (!tbed_debug_type_of(&die, &type))
            return false;
        tbed_debug_place_result(convention, &type, "return", &takes_register);
    }
    signature->result_count = convention->count;
    *convention = (struct debug_convention){.is_arm64 = convention->is_arm64,
                                            .integer_count = takes_register,
                                            .values = signature->values,
                                            .capacity = LAUNCH_VALUES_MAX};
    return true;
}

static void place_arguments(Dwarf_Die *function, struct debug_convention *convention,
                            struct debug_signature *signature)
{
    Dwarf_Die child, die;
    struct debug_type type;
    char unnamed[32];
    unsigned number = 0;
    if (dwarf_child(function, &child) != 0)
        return;
    do {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        const char *name = dwarf_diename(&child);
        snprintf(unnamed, sizeof unnamed, "argument %u", ++number);
        signature->is_cut = number > PARAMETERS_MAX || convention->count == convention->capacity ||
                            !type_of_entry(&child, &die) || !tbed_debug_type_of(&die, &type);
        if (!signature->is_cut)
            tbed_debug_place_argument(convention, &type, name != NULL ? name : unnamed);
    } while (!signature->is_cut && dwarf_siblingof(&child, &child) == 0);
}

static bool machine_of(struct debug_info *info, bool *is_arm64_ret)
{
    GElf_Ehdr header;
    if (gelf_getehdr(dwarf_getelf(info->dwarf), &header) == NULL || header.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    *is_arm64_ret = header.e_machine == EM_AARCH64;
    return header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64;
}

bool tbed_debug_info_signature(struct debug_info *info, uint64_t pc, const char *symbol,
                               struct debug_signature *signature_ret)
{
    Dwarf_Die function;
    struct debug_convention convention = {.capacity = LAUNCH_VALUES_MAX};
    memset(signature_ret, 0, sizeof *signature_ret);
    if (!machine_of(info, &convention.is_arm64) || !tbed_debug_info_function(info, pc, &function) ||
        !is_known_language(&function) || is_changed(&function, symbol) ||
        !place_result(&function, &convention, signature_ret))
        return false;
    place_arguments(&function, &convention, signature_ret);
    signature_ret->argument_count = convention.count;
    memmove(signature_ret->values + convention.count, signature_ret->values + LAUNCH_VALUES_MAX,
            signature_ret->result_count * sizeof signature_ret->values[0]);
    return true;
}

void tbed_debug_enumerators(const Dwarf_Die *type, bool (*take)(void *state, const char *name, int64_t value),
                            void *state)
{
    Dwarf_Die whole = *type, child;
    unsigned left = ENUMERATORS_READ;
    if (dwarf_child(&whole, &child) != 0)
        return;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Sword value;
        const char *name = dwarf_tag(&child) == DW_TAG_enumerator ? dwarf_diename(&child) : NULL;
        if (name == NULL || dwarf_formsdata(dwarf_attr(&child, DW_AT_const_value, &attribute), &value) != 0)
            continue;
        if (!take(state, name, value))
            return;
    } while (--left > 0 && dwarf_siblingof(&child, &child) == 0);
}
