/*
 * The slots of a loaded module, by its dynamic section, which the loader has just followed itself.
 *
 * Lazily bound calls, and those of modules that are bound at once, have relocations of their own kind (JUMP_SLOT). A module
 * compiled with -fno-plt has none of these; there, slots of the kind that is also used for function pointers are taken.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "writer/capture/libcalls/libcalls.h"

#if defined(__x86_64__)
#define TYPE_CALL    R_X86_64_JUMP_SLOT
#define TYPE_POINTER R_X86_64_GLOB_DAT
#else
#define TYPE_CALL    R_AARCH64_JUMP_SLOT
#define TYPE_POINTER R_AARCH64_GLOB_DAT
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

bool functions_is_code_of(const struct dl_phdr_info *info, uintptr_t address)
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
                 void (*take)(void *context, const struct functions_slot *slot), void *context)
{
    for (size_t i = 0; list != NULL && i < nbytes / sizeof *list; i++) {
        size_t number = ELF64_R_SYM(list[i].r_info);
        const ElfW(Sym) *symbol = &dynamic->symbols[number];
        if (ELF64_R_TYPE(list[i].r_info) != type || symbol->st_shndx != SHN_UNDEF ||
            (type == TYPE_POINTER && ELF64_ST_TYPE(symbol->st_info) != STT_FUNC))
            continue;
        struct functions_slot slot = {.at = (uintptr_t *)(dynamic->base + list[i].r_offset),
                                      .name = dynamic->texts + symbol->st_name,
                                      .version = version_of(dynamic, number)};
        take(context, &slot);
    }
}

void functions_slots_each(const struct dl_phdr_info *info,
                          void (*take)(void *context, const struct functions_slot *slot), void *context)
{
    struct dynamic dynamic;
    if (!read_dynamic(info, &dynamic))
        return;
    if (dynamic.calls_nbytes > 0)
        each(&dynamic, dynamic.calls, dynamic.calls_nbytes, TYPE_CALL, take, context);
    else
        each(&dynamic, dynamic.others, dynamic.others_nbytes, TYPE_POINTER, take, context);
}
