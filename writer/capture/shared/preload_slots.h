/*
 * The slots through which a loaded module reaches functions of other modules, which the loader has filled with their
 * addresses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_SLOTS_H
#define TRACEBED_PRELOAD_SLOTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct preload_slot {
    uintptr_t *at;
    const char *name;
    const char *version; /* NULL: any */
};

/* Calls 'take' for each slot through which the module calls functions of others. */
void preload_slots_each(const struct dl_phdr_info *info,
                        void (*take)(void *context, const struct preload_slot *slot), void *context);

/* The same, and for each pointer to such a function in the module's data. */
void preload_pointers_each(const struct dl_phdr_info *info,
                           void (*take)(void *context, const struct preload_slot *slot), void *context);

/* Whether the address is in the module's code. */
bool preload_is_code_of(const struct dl_phdr_info *info, uintptr_t address);

/*
 * The function that the slot leads to; 0: unknown. A slot that the loader has not filled yet would be overwritten by the
 * first call, so its function is looked up, with the version that the module needs.
 */
uintptr_t preload_slot_function(const struct preload_slot *slot, const struct dl_phdr_info *info);

/* One page of a module's slots, which is writable until the next is opened. Begins with the module. */
struct preload_slot_page {
    const struct dl_phdr_info *info;
    uintptr_t start; /* 0: none */
    bool was_read_only;
};

/* False: the page with this address cannot be written. */
bool preload_slot_page_open(struct preload_slot_page *page, uintptr_t address);
void preload_slot_page_close(struct preload_slot_page *page);

#endif
