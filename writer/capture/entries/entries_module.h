/*
 * What a loaded module says about its functions and the places in them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ENTRIES_MODULE_H
#define TRACEBED_ENTRIES_MODULE_H

#include "writer/capture/entries/entries.h"

struct functions_section {
    uintptr_t address, nbytes; /* mapped; 0, 0: there is none */
};

#define FUNCTIONS_SLOTS_MAX 8
struct functions_module {
    const struct dl_phdr_info *info;
    struct functions_section patchable;  /* addresses: -fpatchable-function-entry */
    struct functions_section hook_calls; /* addresses: -mrecord-mcount */
    struct functions_section xray;
    const int32_t *functions; /* pairs; the first is where a function begins, relative to 'functions_base' */
    size_t function_count;
    uintptr_t functions_base;
    uintptr_t slots[FUNCTIONS_SLOTS_MAX]; /* where the addresses of mcount and __fentry__ are */
    size_t slot_count;
};

/* False: it has no places, or cannot be looked at. */
bool functions_module_read(const struct dl_phdr_info *info, struct functions_module *module_ret);

/* Whether these bytes are code of the module. */
bool functions_module_has_code(const struct functions_module *module, uintptr_t address, size_t nbytes);

/* Where the last function that begins at or before this address begins; 0: there is none. */
uintptr_t functions_module_function(const struct functions_module *module, uintptr_t address);
/* The same for a number; behind the last one UINTPTR_MAX. */
uintptr_t functions_module_nth(const struct functions_module *module, size_t index);

bool functions_module_is_slot(const struct functions_module *module, uintptr_t slot);

#endif
