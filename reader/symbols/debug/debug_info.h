/*
 * Debug information of one module: the lines and functions, including inlined ones, at an address.
 *
 * Runs only in the symbol reader's process (symbol_worker.h), because its input may be hostile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DEBUG_INFO_H
#define TRACEBED_DEBUG_INFO_H

#include "reader/core/base/vector.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of a function's code, or of one inlined into it. */
struct scope_range {
    uint64_t start, end;
    uint32_t scope;
};

struct scope { /* a function, or an inlined one */
    Dwarf_Die die;
    uint32_t parent; /* UINT32_MAX: none */
    bool is_inlined;
};

struct function_range { /* by rising start */
    uint64_t start, end;
    size_t first, end_index; /* its ranges and those of scopes inside, among the unit's */
};

struct debug_unit {
    Dwarf_Die die;
    bool is_walked;
    TBED_VECTOR(struct scope) scopes;
    TBED_VECTOR(struct scope_range) ranges;
    TBED_VECTOR(struct function_range) functions;
};

struct unit_range {
    uint64_t start, end;
    uint32_t unit;
};

struct debug_info {
    Dwarf *dwarf, *alternate;
    TBED_VECTOR(struct debug_unit) units;
    TBED_VECTOR(struct unit_range) ranges; /* by rising start */
};

struct debug_frame {
    const char *function;  /* as in the file, mangled; NULL: unknown. Valid while the information is open */
    const char *directory; /* the directory that 'file' is relative to; NULL: none */
    const char *file;      /* NULL: not known */
    uint32_t line;
    bool is_inlined; /* into the next frame */
};

/* Opens a module's debug file, or the module itself. False: it has no debug information. */
bool tbed_debug_info_open(struct debug_info *info, Elf *elf);
void tbed_debug_info_close(struct debug_info *info);

/*
 * The frames at 'pc', the innermost first: at most 'capacity', 1 without inlined ones. 0: unknown. If there are more
 * inlined ones, those next to the outermost are left out.
 */
size_t tbed_debug_info_frames(struct debug_info *info, uint64_t pc, struct debug_frame *frames,
                              size_t capacity);

/* True if both addresses are in the same function, perhaps in separate parts of it. */
bool tbed_debug_info_is_one_function(struct debug_info *info, uint64_t pc, uint64_t other_pc);

/* The entry of the function that begins at 'pc'. False: there is none. */
bool tbed_debug_info_function(struct debug_info *info, uint64_t pc, Dwarf_Die *function_ret);

/* debug_scopes.c: reads the unit's functions, once. */
void tbed_debug_unit_walk(struct debug_unit *unit);

#endif
