/*
 * Which files have a module's symbols: itself, if it is the same build, and a debug file that was split off.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbol_table.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL if it is no ELF file. The descriptor is not needed once the file is mapped. */
static Elf *open_elf(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf != NULL && (elf_kind(elf) != ELF_K_ELF || elf_cntl(elf, ELF_C_FDREAD) != 0)) {
        elf_end(elf);
        elf = NULL;
    }
    close(fd);
    return elf;
}

/* True if the file has this build-id. */
static bool build_matches(Elf *elf, const uint8_t *build_id, size_t nbytes)
{
    const void *found;
    ssize_t found_nbytes = dwelf_elf_gnu_build_id(elf, &found);
    return found_nbytes > 0 && (size_t)found_nbytes == nbytes && memcmp(found, build_id, nbytes) == 0;
}

static Elf *open_matching(const char *path, const uint8_t *build_id, size_t nbytes)
{
    Elf *elf = open_elf(path);
    if (elf != NULL && !build_matches(elf, build_id, nbytes)) {
        elf_end(elf);
        elf = NULL;
    }
    return elf;
}

/* DIRECTORY/.build-id/xx/yyyy.debug */
static Elf *open_by_build_id(const char *directory, const uint8_t *build_id, size_t nbytes)
{
    char path[PATH_MAX];
    if (nbytes < 2)
        return NULL;
    int at = snprintf(path, sizeof path, "%s/.build-id/%02x/", directory, build_id[0]);
    if (at < 0 || (size_t)at + 2 * nbytes + sizeof ".debug" > sizeof path)
        return NULL;
    for (size_t i = 1; i < nbytes; i++)
        at += sprintf(path + at, "%02x", build_id[i]);
    memcpy(path + at, ".debug", sizeof ".debug");
    return open_matching(path, build_id, nbytes);
}

/* The three places where a .gnu_debuglink may lead to. Without a build-id nothing tells that it is the right
 * one. */
static Elf *open_by_link(const char *directory, const char *module_path, Elf *module)
{
    const void *build_id;
    GElf_Word checksum;
    ssize_t nbytes = dwelf_elf_gnu_build_id(module, &build_id);
    const char *link = dwelf_elf_gnu_debuglink(module, &checksum);
    const char *slash = strrchr(module_path, '/');
    if (link == NULL || nbytes <= 0 || slash == NULL || strchr(link, '/') != NULL)
        return NULL;
    static const char *const prefixes[] = {"", "", NULL};
    static const char *const middles[] = {"", ".debug/", ""};
    for (size_t i = 0; i < 3; i++) {
        char path[PATH_MAX];
        const char *prefix = prefixes[i] != NULL ? prefixes[i] : directory;
        int length = snprintf(path, sizeof path, "%s%.*s/%s%s", prefix, (int)(slash - module_path),
                              module_path, middles[i], link);
        Elf *elf =
            length > 0 && (size_t)length < sizeof path ? open_matching(path, build_id, (size_t)nbytes) : NULL;
        if (elf != NULL)
            return elf;
    }
    return NULL;
}

static bool keep_file(struct symbol_table *table, Elf *elf)
{
    if (elf != NULL)
        table->files[table->file_count++] = elf;
    return elf != NULL;
}

/* The module itself. */
static Elf *open_module(struct symbol_table *table, const struct tbed_symbols_module *module)
{
    Elf *elf = module->path[0] == '/' ? open_elf(module->path) : NULL;
    if (elf == NULL) {
        table->state = TBED_SYMBOLS_NO_FILE;
        return NULL;
    }
    if (module->build_id_nbytes > 0 && !build_matches(elf, module->build_id, module->build_id_nbytes)) {
        table->state = TBED_SYMBOLS_MISMATCH;
        elf_end(elf);
        return NULL;
    }
    table->state = TBED_SYMBOLS_NO_SYMBOLS;
    keep_file(table, elf);
    return elf;
}

void tbed_symbol_table_open(struct symbol_table *table, const struct tbed_symbols_module *module,
                            const char *debug_directory)
{
    memset(table, 0, sizeof *table);
    Elf *elf = open_module(table, module);
    bool found = elf != NULL && tbed_symbol_table_read(table, elf, SHT_SYMTAB);
    if (!found) {
        Elf *debug = module->build_id_nbytes > 0
                         ? open_by_build_id(debug_directory, module->build_id, module->build_id_nbytes)
                         : NULL;
        if (debug == NULL && elf != NULL)
            debug = open_by_link(debug_directory, module->path, elf);
        found = keep_file(table, debug) && tbed_symbol_table_read(table, debug, SHT_SYMTAB);
    }
    if (elf != NULL)
        found |= tbed_symbol_table_read(table, elf, SHT_DYNSYM);
    if (found)
        table->state = TBED_SYMBOLS_FOUND;
    tbed_symbol_table_sort(table);
}
