/*
 * What a loaded module says about its functions and the places in them: sections by its file, the rest by what is mapped.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "writer/capture/entries/entries_module.h"

/* ---- Segments ---- */

static bool is_in_segment(const struct dl_phdr_info *info, uint32_t flag, uintptr_t address, size_t nbytes)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t offset = address - info->dlpi_addr - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & flag) && nbytes <= segment->p_memsz &&
            offset <= segment->p_memsz - nbytes)
            return true;
    }
    return false;
}

bool functions_module_has_code(const struct functions_module *module, uintptr_t address, size_t nbytes)
{
    return is_in_segment(module->info, PF_X, address, nbytes);
}

static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, uint32_t type)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == type)
            return &info->dlpi_phdr[i];
    return NULL;
}

/* ---- Sections, which only the file lists ---- */

#define SECTIONS_MAX 4096
#define NAME_NBYTES  32

static bool read_at(int fd, uint64_t offset, void *to, size_t nbytes)
{
    ssize_t got;
    do
        got = pread(fd, to, nbytes, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got > 0 && (size_t)got == nbytes;
}

static void take_section(struct functions_module *module, const char *name, const ElfW(Shdr) * section)
{
    struct functions_section found = {module->info->dlpi_addr + section->sh_addr, section->sh_size};
    struct functions_section *to = strcmp(name, "__patchable_function_entries") == 0 ? &module->patchable
                                   : strcmp(name, "__mcount_loc") == 0               ? &module->hook_calls
                                   : strcmp(name, "xray_instr_map") == 0             ? &module->xray
                                                                                     : NULL;
    if (to != NULL && is_in_segment(module->info, PF_R, found.address, found.nbytes))
        *to = found;
}

static void read_sections(int fd, struct functions_module *module)
{
    ElfW(Ehdr) header;
    ElfW(Shdr) section, names;
    char name[NAME_NBYTES];
    if (!read_at(fd, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_shentsize != sizeof section || header.e_shnum > SECTIONS_MAX ||
        !read_at(fd, header.e_shoff + header.e_shstrndx * sizeof names, &names, sizeof names))
        return;
    for (size_t i = 0; i < header.e_shnum; i++) {
        memset(name, 0, sizeof name);
        if (!read_at(fd, header.e_shoff + i * sizeof section, &section, sizeof section))
            return;
        if (!(section.sh_flags & SHF_ALLOC) || section.sh_type != SHT_PROGBITS)
            continue;
        ssize_t got = pread(fd, name, sizeof name - 1, (off_t)(names.sh_offset + section.sh_name));
        if (got > 0)
            take_section(module, name, &section);
    }
}

/* ---- The table for unwinding ---- */

struct frames_header {
    uint8_t version, pointer_form, count_form, table_form;
    int32_t frames;
    uint32_t count;
    int32_t table[];
};
#define COUNT_FORM 0x03 /* 4 bytes */
#define TABLE_FORM 0x3B /* pairs of 4 bytes, relative to the header */

static void read_functions(struct functions_module *module)
{
    const ElfW(Phdr) *segment = segment_of(module->info, PT_GNU_EH_FRAME);
    if (segment == NULL || segment->p_memsz < sizeof(struct frames_header))
        return;
    uintptr_t address = module->info->dlpi_addr + segment->p_vaddr;
    if (address % sizeof(int32_t) != 0 || !is_in_segment(module->info, PF_R, address, segment->p_memsz))
        return;
    const struct frames_header *header = (const struct frames_header *)address;
    if (header->version != 1 || header->count_form != COUNT_FORM || header->table_form != TABLE_FORM ||
        header->count > (segment->p_memsz - sizeof *header) / (2 * sizeof(int32_t)))
        return;
    module->functions = header->table;
    module->function_count = header->count;
    module->functions_base = address;
}

uintptr_t functions_module_nth(const struct functions_module *module, size_t index)
{
    if (index >= module->function_count)
        return UINTPTR_MAX;
    return module->functions_base + (uintptr_t)(intptr_t)module->functions[2 * index];
}

uintptr_t functions_module_function(const struct functions_module *module, uintptr_t address)
{
    size_t low = 0, high = module->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions_module_nth(module, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? functions_module_nth(module, low - 1) : 0;
}

/* ---- Where the addresses of mcount and __fentry__ are ---- */

struct dynamic {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2];
    size_t nbytes[2];
};

static uintptr_t pointer_of(const struct dl_phdr_info *info, uintptr_t value)
{
    return value < info->dlpi_addr ? info->dlpi_addr + value : value; /* the loader adds it for most */
}

static void read_dynamic(const struct dl_phdr_info *info, struct dynamic *dynamic)
{
    const ElfW(Phdr) *segment = segment_of(info, PT_DYNAMIC);
    *dynamic = (struct dynamic){.symbols = NULL};
    if (segment == NULL)
        return;
    const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(info->dlpi_addr + segment->p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t pointer = pointer_of(info, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            dynamic->symbols = (const ElfW(Sym) *)pointer;
        else if (entry->d_tag == DT_STRTAB)
            dynamic->names = (const char *)pointer;
        else if (entry->d_tag == DT_RELA)
            dynamic->relocations[0] = (const ElfW(Rela) *)pointer;
        else if (entry->d_tag == DT_RELASZ)
            dynamic->nbytes[0] = entry->d_un.d_val;
        else if (entry->d_tag == DT_JMPREL)
            dynamic->relocations[1] = (const ElfW(Rela) *)pointer;
        else if (entry->d_tag == DT_PLTRELSZ)
            dynamic->nbytes[1] = entry->d_un.d_val;
    }
}

static bool is_hook(const char *name)
{
    return strcmp(name, "__fentry__") == 0 || strcmp(name, "mcount") == 0 || strcmp(name, "_mcount") == 0;
}

static void read_slots(struct functions_module *module)
{
    struct dynamic dynamic;
    read_dynamic(module->info, &dynamic);
    if (dynamic.symbols == NULL || dynamic.names == NULL)
        return;
    for (size_t table = 0; table < 2; table++) {
        const ElfW(Rela) *at = dynamic.relocations[table];
        size_t count = at != NULL ? dynamic.nbytes[table] / sizeof *at : 0;
        for (size_t i = 0; i < count && module->slot_count < FUNCTIONS_SLOTS_MAX; i++) {
            size_t symbol = ELF64_R_SYM(at[i].r_info);
            if (symbol != 0 && is_hook(dynamic.names + dynamic.symbols[symbol].st_name))
                module->slots[module->slot_count++] = module->info->dlpi_addr + at[i].r_offset;
        }
    }
}

bool functions_module_is_slot(const struct functions_module *module, uintptr_t slot)
{
    for (size_t i = 0; i < module->slot_count; i++)
        if (module->slots[i] == slot)
            return true;
    return false;
}

/* ---- All of it ---- */

bool functions_module_read(const struct dl_phdr_info *info, struct functions_module *module_ret)
{
    struct functions_module *module = module_ret;
    *module = (struct functions_module){.info = info};
    const char *path = preload_is_program(info) ? "/proc/self/exe" : info->dlpi_name;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        read_sections(fd, module);
        close(fd);
    }
    read_slots(module);
    read_functions(module);
    return module->patchable.nbytes + module->hook_calls.nbytes + module->xray.nbytes + module->slot_count >
           0;
}
