/*
 * The places of a loaded module.
 *
 * Compilers list them in sections that are loaded with the module; only its file says where these are. Calls of mcount and
 * __fentry__ are usually not listed, and are found in the code: at the beginning of each function, with the address of
 * one of the two. Where functions begin is in the table for unwinding, which stripped modules have, too.
 *
 * What a module says is not trusted: a place is within the module's code, in a function's beginning, and has the bytes
 * that belong there.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "writer/capture/entries/entries.h"
#include "writer/capture/entries/entries_module.h"

/* As it is, and where its functions begin. */
struct search {
    struct functions_module module;
    functions_site_visit visit;
    void *context;
    size_t unusable_count;
};

static void found(struct search *search, const struct functions_site *site)
{
    uint32_t distance = (uint32_t)(site->address + 5 - site->function);
    bool is_near = site->kind == FUNCTIONS_BEFORE_ENTRY || distance < FUNCTIONS_DISTANCE_MAX;
    if (is_near && site->nbytes >= 5)
        search->visit(search->context, site);
    else
        search->unusable_count++;
}

#if defined(__x86_64__)

static const uint8_t mark[] = {0xF3, 0x0F, 0x1E, 0xFA}; /* endbr64 */

static bool is_marked(const uint8_t *code)
{
    return memcmp(code, mark, sizeof mark) == 0;
}

static uintptr_t relative(const uint8_t *at)
{
    int32_t offset;
    memcpy(&offset, at, sizeof offset);
    return (uintptr_t)at + sizeof offset + (uintptr_t)(intptr_t)offset;
}

/* A call of ours is there already, or a jump back to one. */
static bool is_patched(const struct functions_module *module, uintptr_t address)
{
    const uint8_t *code = (const uint8_t *)address;
    if (!functions_module_has_code(module, address - 5, 10))
        return false;
    if (code[0] == 0xEB && code[1] == 0xF9)
        code -= 5;
    return code[0] == 0xE8 && functions_near_is_ours(relative(code + 1));
}

/* ---- Listed places that do nothing: -fpatchable-function-entry ---- */

/* The length of an instruction that does nothing; 0: it is another one. */
static size_t nop_nbytes(const uint8_t *code)
{
    size_t at = 0;
    while (code[at] == 0x66 || code[at] == 0x2E)
        at++;
    if (code[at] == 0x90)
        return at + 1;
    if (code[at] != 0x0F || code[at + 1] != 0x1F)
        return 0;
    uint8_t form = code[at + 2];
    size_t displacement = form >> 6 == 1 ? 1 : form >> 6 == 2 ? 4 : 0;
    return at + 3 + ((form & 7) == 4) + displacement;
}

static size_t nops_nbytes(const struct functions_module *module, uintptr_t address)
{
    size_t nbytes = 0, one = 1;
    while (one > 0 && nbytes < 256 && functions_module_has_code(module, address + nbytes, 16)) {
        one = nop_nbytes((const uint8_t *)address + nbytes);
        nbytes += one;
    }
    return nbytes;
}

/*
 * The places are before a function's beginning, behind it, or both. The number of bytes behind it is at most what the
 * module's other functions have: what follows in one may do nothing, too, and yet be jumped to.
 */
static bool patchable_at(const struct functions_module *module, uintptr_t address,
                         struct functions_site *site, size_t *before_ret)
{
    size_t nbytes = nops_nbytes(module, address);
    uintptr_t function = functions_module_function(module, address + nbytes);
    bool is_behind_mark = function != 0 && function + sizeof mark == address && is_marked((void *)function);
    if (nbytes == 0 || function == 0 || (function < address && !is_behind_mark))
        return false;
    *before_ret = function > address ? function - address : 0;
    *site = (struct functions_site){
        .address = is_behind_mark ? address : function,
        .function = function,
        .nbytes = (uint32_t)(nbytes - *before_ret),
        .kind = FUNCTIONS_AT_ENTRY,
    };
    return true;
}

/* These sections may be at odd addresses. */
static uintptr_t listed(struct functions_section section, size_t index)
{
    uintptr_t address;
    memcpy(&address, (const uint8_t *)section.address + index * sizeof address, sizeof address);
    return address;
}

static void find_patchable(struct search *search)
{
    struct functions_section section = search->module.patchable;
    size_t count = section.nbytes / sizeof(uintptr_t), before;
    uint32_t behind = UINT32_MAX;
    struct functions_site site;
    for (size_t i = 0; i < count; i++)
        if (patchable_at(&search->module, listed(section, i), &site, &before) && site.nbytes < behind)
            behind = site.nbytes;
    for (size_t i = 0; i < count; i++) {
        if (!patchable_at(&search->module, listed(section, i), &site, &before)) {
            search->unusable_count += !is_patched(&search->module, listed(section, i));
            continue;
        }
        site.nbytes = behind;
        if (behind < 5 && behind >= 2 && before >= 5) {
            site.kind = FUNCTIONS_BEFORE_ENTRY;
            site.nbytes = 5;
        }
        found(search, &site);
    }
}

/* ---- XRay ---- */

struct xray_entry {
    int64_t address, function; /* relative to themselves */
    uint8_t kind, always, version, unused[13];
};
#define XRAY_ENTRY      0
#define XRAY_ENTRY_ARGS 3
#define XRAY_NBYTES     11

static void find_xray(struct search *search)
{
    static const uint8_t sled[] = {0xEB, 0x09};
    struct functions_section section = search->module.xray;
    struct xray_entry entry;
    for (size_t i = 0; i < section.nbytes / sizeof entry; i++) {
        uintptr_t at = section.address + i * sizeof entry;
        memcpy(&entry, (const void *)at, sizeof entry);
        if (entry.kind != XRAY_ENTRY && entry.kind != XRAY_ENTRY_ARGS)
            continue;
        uintptr_t address = at + (uintptr_t)entry.address;
        uintptr_t function = at + offsetof(struct xray_entry, function) + (uintptr_t)entry.function;
        bool is_code = entry.version == 2 && function <= address &&
                       functions_module_has_code(&search->module, function, address - function + XRAY_NBYTES);
        if (is_code && memcmp((void *)address, sled, sizeof sled) == 0)
            found(search,
                  &(struct functions_site){address, function, XRAY_NBYTES, false, FUNCTIONS_AT_ENTRY});
        else
            search->unusable_count += !is_patched(&search->module, address);
    }
}

/* ---- Calls of mcount and __fentry__ ---- */

/* jmp *slot, perhaps behind a mark and a prefix */
static uintptr_t slot_of_stub(const struct functions_module *module, uintptr_t stub)
{
    if (!functions_module_has_code(module, stub, 16))
        return 0;
    const uint8_t *code = (const uint8_t *)stub;
    code += is_marked(code) ? sizeof mark : 0;
    code += code[0] == 0xF2;
    return code[0] == 0xFF && code[1] == 0x25 ? relative(code + 2) : 0;
}

/* The length of the call of one of the two; 0: there is none. */
static uint32_t hook_call_nbytes(const struct functions_module *module, uintptr_t address)
{
    const uint8_t *code = (const uint8_t *)address;
    if (!functions_module_has_code(module, address, 6))
        return 0;
    if (code[0] == 0xE8)
        return functions_module_is_slot(module, slot_of_stub(module, relative(code + 1))) ? 5 : 0;
    if (code[0] == 0xFF && code[1] == 0x15)
        return functions_module_is_slot(module, relative(code + 2)) ? 6 : 0;
    return 0;
}

static enum functions_kind kind_of_call(uintptr_t function, uintptr_t address)
{
    static const uint8_t push[] = {0x41, 0x52};                      /* push %r10 */
    static const uint8_t realign[] = {0x4C, 0x8D, 0x54, 0x24, 0x08}; /* lea 8(%rsp), %r10 */
    const uint8_t *code = (const uint8_t *)function;
    code += is_marked(code) ? sizeof mark : 0;
    if ((uintptr_t)code == address)
        return FUNCTIONS_AT_ENTRY;
    if ((uintptr_t)code + sizeof push == address && memcmp(code, push, sizeof push) == 0)
        return FUNCTIONS_BEHIND_PUSH;
    if (memcmp(code, realign, sizeof realign) == 0)
        return FUNCTIONS_REALIGNED;
    return FUNCTIONS_BEHIND_FRAME;
}

static bool hook_at(struct search *search, uintptr_t function, uintptr_t address)
{
    static const uint8_t nop[] = {0x0F, 0x1F, 0x44, 0x00, 0x00}; /* -mnop-mcount */
    uint32_t nbytes = hook_call_nbytes(&search->module, address);
    bool is_call = nbytes > 0;
    if (!is_call && search->module.hook_calls.nbytes > 0 &&
        functions_module_has_code(&search->module, address, sizeof nop) &&
        memcmp((void *)address, nop, sizeof nop) == 0)
        nbytes = sizeof nop;
    if (nbytes > 0)
        found(search,
              &(struct functions_site){address, function, nbytes, is_call, kind_of_call(function, address)});
    return nbytes > 0;
}

static void find_listed_hooks(struct search *search)
{
    struct functions_section section = search->module.hook_calls;
    for (size_t i = 0; i < section.nbytes / sizeof(uintptr_t); i++) {
        uintptr_t address = listed(section, i),
                  function = functions_module_function(&search->module, address);
        if (function == 0 || !hook_at(search, function, address))
            search->unusable_count += !is_patched(&search->module, address);
    }
}

static void find_hooks(struct search *search)
{
    const struct functions_module *module = &search->module;
    for (size_t i = 0; i < module->function_count && module->slot_count > 0; i++) {
        uintptr_t function = functions_module_nth(module, i), end = functions_module_nth(module, i + 1);
        uintptr_t limit = function + FUNCTIONS_DISTANCE_MAX;
        for (uintptr_t at = function; at < end && at < limit; at++)
            if (hook_call_nbytes(module, at) > 0 && hook_at(search, function, at))
                break;
    }
}

static void find_all(struct search *search)
{
    find_patchable(search);
    find_xray(search);
    if (search->module.hook_calls.nbytes > 0)
        find_listed_hooks(search);
    else
        find_hooks(search);
}

#else

static void find_all(struct search *search)
{
    (void)search;
}

#endif

size_t functions_sites_each(const struct dl_phdr_info *info, functions_site_visit visit, void *context)
{
    struct search search = {.visit = visit, .context = context};
    if (!functions_module_read(info, &search.module))
        return 0;
    find_all(&search);
    return search.unusable_count;
}
