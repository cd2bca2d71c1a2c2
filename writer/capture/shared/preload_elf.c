/*
 * What a loaded module contains: where its code is, its build-id, its file.
 *
 * Only memory that the loader has mapped is read, within the segments that the program headers declare.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/shared/preload.h"

#define PATH_NBYTES 4096

/* From the lowest executable address to the highest, as in the file. */
static bool code_span(const struct dl_phdr_info *info, uint64_t *start_ret, uint64_t *end_ret)
{
    uint64_t start = UINT64_MAX, end = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || segment->p_memsz == 0)
            continue;
        if (segment->p_vaddr < start)
            start = segment->p_vaddr;
        if (segment->p_vaddr + segment->p_memsz > end)
            end = segment->p_vaddr + segment->p_memsz;
    }
    *start_ret = start;
    *end_ret = end;
    return start < end;
}

static bool holds(const ElfW(Phdr) * outer, const ElfW(Phdr) * inner)
{
    return outer->p_type == PT_LOAD && (outer->p_flags & PF_R) && inner->p_vaddr >= outer->p_vaddr &&
           inner->p_memsz <= outer->p_filesz &&
           inner->p_vaddr - outer->p_vaddr <= outer->p_filesz - inner->p_memsz;
}

/* A note segment of a damaged or stripped file may lie where nothing is mapped. */
static bool is_mapped(const struct dl_phdr_info *info, const ElfW(Phdr) * inner)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (holds(&info->dlpi_phdr[i], inner))
            return true;
    return false;
}

static size_t padded(size_t nbytes, size_t alignment)
{
    return (nbytes + alignment - 1) & ~(alignment - 1);
}

static bool find_build_id(const uint8_t *at, size_t nbytes, size_t alignment, struct preload_module *module)
{
    ElfW(Nhdr) note;
    while (nbytes >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name_end = sizeof note + (size_t)note.n_namesz;
        size_t start = padded(name_end, alignment);
        size_t end = start + note.n_descsz;
        if (end > nbytes)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0 &&
            note.n_descsz <= PRELOAD_BUILD_ID_NBYTES) {
            memcpy(module->build_id, at + start, note.n_descsz);
            module->build_id_nbytes = (uint16_t)note.n_descsz;
            return true;
        }
        size_t step = padded(end, alignment);
        if (step >= nbytes)
            return false;
        at += step;
        nbytes -= step;
    }
    return false;
}

static void read_build_id(const struct dl_phdr_info *info, struct preload_module *module)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE || !is_mapped(info, segment))
            continue;
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        if (find_build_id(notes, segment->p_memsz, segment->p_align == 8 ? 8 : 4, module))
            return;
    }
}

/* Finds the tables for unwinding, if they lie in a segment. */
static void find_frames(const struct dl_phdr_info *info, struct preload_module *module)
{
    const ElfW(Phdr) *header = NULL;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = &info->dlpi_phdr[i];
    for (size_t i = 0; header != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *outer = &info->dlpi_phdr[i];
        if (!holds(outer, header))
            continue;
        module->frames_header = info->dlpi_addr + header->p_vaddr;
        module->frames_header_nbytes = header->p_memsz;
        module->image_start = info->dlpi_addr + outer->p_vaddr;
        module->image_nbytes = outer->p_filesz;
    }
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xCBF29CE484222325u;
    while (*text != '\0')
        hash = (hash ^ (unsigned char)*text++) * 0x100000001B3u;
    return hash;
}

/* musl's loader is its C library; it is found where the kernel has put it. */
static ElfW(Addr) loader_base(void)
{
#ifdef __GLIBC__
    return _r_debug.r_ldbase;
#else
    return getauxval(AT_BASE);
#endif
}

bool preload_module_read(const struct dl_phdr_info *info, struct preload_module *module_ret)
{
    uint64_t start, end;
    if (!code_span(info, &start, &end))
        return false;
    *module_ret = (struct preload_module){
        .start = info->dlpi_addr + start,
        .nbytes = end - start,
        .base = start,
        .name = info->dlpi_name,
        .name_hash = hash_text(info->dlpi_name != NULL ? info->dlpi_name : ""),
        .first_id = PRELOAD_NOT_REGISTERED,
        .is_linker = info->dlpi_addr == loader_base(),
    };
    read_build_id(info, module_ret);
    find_frames(info, module_ret);
    return true;
}

bool preload_is_program(const struct dl_phdr_info *info)
{
#ifdef __GLIBC__
    return info->dlpi_name == NULL || info->dlpi_name[0] == '\0';
#else /* it has a name with musl */
    return (uintptr_t)info->dlpi_phdr == getauxval(AT_PHDR);
#endif
}

/* ---- The file ---- */

static bool read_link(const char *link, char *path)
{
    ssize_t nbytes = tbed_is_sandboxed() ? 0 : readlink(link, path, PATH_NBYTES - 1);
    if (nbytes <= 0)
        return false;
    path[nbytes] = '\0';
    return path[0] == '/';
}

static bool is_deleted(const char *path)
{
    static const char mark[] = " (deleted)";
    size_t nbytes = strlen(path);
    return nbytes >= sizeof mark && strcmp(path + nbytes - (sizeof mark - 1), mark) == 0;
}

/*
 * The kernel knows the file even if the name is relative or a symbolic link, or if the program has changed its root.
 */
static bool path_by_mapping(const struct preload_module *module, char *path)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = module->start & ~(page - 1);
    uintptr_t end = (module->start + module->nbytes + page - 1) & ~(page - 1);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/map_files/%lx-%lx", (unsigned long)start, (unsigned long)end);
    return read_link(link, path) && !is_deleted(path);
}

void preload_module_path_find(const struct preload_module *module, char *path)
{
    if (path_by_mapping(module, path))
        return;
    if (module->name != NULL && module->name[0] != '\0')
        snprintf(path, PATH_NBYTES, "%s", module->name);
    else if (!read_link("/proc/self/exe", path))
        strcpy(path, "unknown");
}

const char *preload_module_path(const struct preload_module *module)
{
    static char path[PATH_NBYTES];
    preload_module_path_find(module, path);
    return path;
}
