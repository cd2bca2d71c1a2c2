/*
 * The slots of a loaded module, by its dynamic section, which the loader has just followed itself.
 *
 * Lazily bound calls, and those of modules that are bound at once, have relocations of their own kind (JUMP_SLOT). A module
 * compiled with -fno-plt has none of these; there, slots of the kind that is also used for function pointers are taken.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer/capture/shared/preload_slots.h"

#if defined(__x86_64__)
#define TYPE_CALL    R_X86_64_JUMP_SLOT
#define TYPE_POINTER R_X86_64_GLOB_DAT
#define TYPE_DATA    R_X86_64_64
#else
#define TYPE_CALL    R_AARCH64_JUMP_SLOT
#define TYPE_POINTER R_AARCH64_GLOB_DAT
#define TYPE_DATA    R_AARCH64_ABS64
#endif

struct dynamic {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *texts;
    const ElfW(Half) * versions;
    const uint8_t *needed; /* DT_VERNEED */
    const ElfW(Rela) * calls, *others;
    size_t calls_nbytes, others_nbytes, needed_count, kind;
};

bool preload_is_code_of(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

/* The loader has made addresses of most offsets, but not of all, and of none in the vdso and with another C library. */
static void take_entry(struct dynamic *dynamic, const ElfW(Dyn) * entry)
{
    uintptr_t given = entry->d_un.d_ptr;
    const void *address = (const void *)(given < dynamic->base ? given + dynamic->base : given);
    switch (entry->d_tag) {
    case DT_SYMTAB:
        dynamic->symbols = address;
        break;
    case DT_STRTAB:
        dynamic->texts = address;
        break;
    case DT_VERSYM:
        dynamic->versions = address;
        break;
    case DT_VERNEED:
        dynamic->needed = address;
        break;
    case DT_VERNEEDNUM:
        dynamic->needed_count = entry->d_un.d_val;
        break;
    case DT_JMPREL:
        dynamic->calls = address;
        break;
    case DT_PLTRELSZ:
        dynamic->calls_nbytes = entry->d_un.d_val;
        break;
    case DT_PLTREL:
        dynamic->kind = entry->d_un.d_val;
        break;
    case DT_RELA:
        dynamic->others = address;
        break;
    case DT_RELASZ:
        dynamic->others_nbytes = entry->d_un.d_val;
        break;
    default:
        break;
    }
}

static bool read_dynamic(const struct dl_phdr_info *info, struct dynamic *dynamic_ret)
{
    const ElfW(Dyn) *entry = NULL;
    *dynamic_ret = (struct dynamic){.base = info->dlpi_addr, .kind = DT_RELA};
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
        take_entry(dynamic_ret, entry);
    return dynamic_ret->symbols != NULL && dynamic_ret->texts != NULL && dynamic_ret->kind == DT_RELA;
}

/* The version that the symbol must have; NULL: any. */
static const char *version_of(const struct dynamic *dynamic, size_t symbol)
{
    const uint8_t *at = dynamic->needed;
    unsigned wanted = dynamic->versions != NULL ? dynamic->versions[symbol] & 0x7FFFu : 0;
    for (size_t i = 0; wanted > 1 && at != NULL && i < dynamic->needed_count; i++) {
        const ElfW(Verneed) *need = (const void *)at;
        const uint8_t *own = at + need->vn_aux;
        for (size_t j = 0; j < need->vn_cnt; j++) {
            const ElfW(Vernaux) *version = (const void *)own;
            if ((version->vna_other & 0x7FFFu) == wanted)
                return dynamic->texts + version->vna_name;
            own += version->vna_next;
        }
        at += need->vn_next;
    }
    return NULL;
}

static void each(const struct dynamic *dynamic, const ElfW(Rela) * list, size_t nbytes, uint32_t type,
                 void (*take)(void *context, const struct preload_slot *slot), void *context)
{
    for (size_t i = 0; list != NULL && i < nbytes / sizeof *list; i++) {
        size_t number = ELF64_R_SYM(list[i].r_info);
        const ElfW(Sym) *symbol = &dynamic->symbols[number];
        if (ELF64_R_TYPE(list[i].r_info) != type || symbol->st_shndx != SHN_UNDEF || list[i].r_addend != 0 ||
            (type != TYPE_CALL && ELF64_ST_TYPE(symbol->st_info) != STT_FUNC))
            continue;
        struct preload_slot slot = {.at = (uintptr_t *)(dynamic->base + list[i].r_offset),
                                    .name = dynamic->texts + symbol->st_name,
                                    .version = version_of(dynamic, number)};
        take(context, &slot);
    }
}

void preload_slots_each(const struct dl_phdr_info *info,
                        void (*take)(void *context, const struct preload_slot *slot), void *context)
{
    struct dynamic dynamic;
    if (!read_dynamic(info, &dynamic))
        return;
    if (dynamic.calls_nbytes > 0)
        each(&dynamic, dynamic.calls, dynamic.calls_nbytes, TYPE_CALL, take, context);
    else
        each(&dynamic, dynamic.others, dynamic.others_nbytes, TYPE_POINTER, take, context);
}

void preload_pointers_each(const struct dl_phdr_info *info,
                           void (*take)(void *context, const struct preload_slot *slot), void *context)
{
    struct dynamic dynamic;
    if (!read_dynamic(info, &dynamic))
        return;
    each(&dynamic, dynamic.calls, dynamic.calls_nbytes, TYPE_CALL, take, context);
    each(&dynamic, dynamic.others, dynamic.others_nbytes, TYPE_POINTER, take, context);
    each(&dynamic, dynamic.others, dynamic.others_nbytes, TYPE_DATA, take, context);
}

/* ---- The function behind a slot ---- */

static uintptr_t look_up(const struct preload_slot *slot, void *scope)
{
#ifdef __GLIBC__ /* musl ignores versions */
    if (slot->version != NULL)
        return (uintptr_t)dlvsym(scope, slot->name, slot->version);
#endif
    return (uintptr_t)dlsym(scope, slot->name);
}

/* What is found in the module itself is its entry for the address of another module's function. */
uintptr_t preload_slot_function(const struct preload_slot *slot, const struct dl_phdr_info *info)
{
    uintptr_t function = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    if (function != 0 && preload_is_code_of(info, function))
        function = look_up(slot, RTLD_DEFAULT);
    if (function != 0 && preload_is_code_of(info, function))
        function = look_up(slot, RTLD_NEXT);
    return function != 0 && !preload_is_code_of(info, function) ? function : 0;
}

/* ---- Writing to slots ---- */

static bool is_in(const struct dl_phdr_info *info, uint32_t type, uint32_t flags, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == type && (segment->p_flags & flags) == flags &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

void preload_slot_page_close(struct preload_slot_page *page)
{
    if (page->start != 0 && page->was_read_only)
        mprotect((void *)page->start, (size_t)sysconf(_SC_PAGESIZE), PROT_READ);
    page->start = 0;
}

bool preload_slot_page_open(struct preload_slot_page *page, uintptr_t address)
{
    size_t nbytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = address & ~(uintptr_t)(nbytes - 1);
    if (start == page->start)
        return true;
    preload_slot_page_close(page);
    if (!is_in(page->info, PT_LOAD, PF_W, address)) /* a relocation of code */
        return false;
    page->was_read_only = is_in(page->info, PT_GNU_RELRO, 0, address);
    if (page->was_read_only && mprotect((void *)start, nbytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    page->start = start;
    return true;
}
