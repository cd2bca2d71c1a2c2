/*
 * Finds the files with a module's symbols and debug information: the module itself, if it is the same build, a
 * separate debug file, and a file shared by several debug files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/system/regular_file.h"
#include "reader/symbols/debug/symbol_table.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NBYTES_MAX ((off_t)4 << 30) /* libelf would read a file that it cannot map into memory */

/* NULL if it is not an ELF file. The descriptor is not needed once the file is mapped. */
static Elf *open_elf(const char *path)
{
    struct stat status;
    int fd;
    if (tbed_regular_open(path, &fd) != TBED_OK)
        return NULL;
    bool can_be_mapped = fstat(fd, &status) == 0 && status.st_size < FILE_NBYTES_MAX;
    Elf *elf = can_be_mapped ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
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

/* ---- Places ---- */

/* The next directory of a list; false past the last. */
static bool next_directory(const char **list, char directory[PATH_MAX])
{
    while (**list == ':')
        (*list)++;
    size_t nbytes = strcspn(*list, ":");
    if (nbytes == 0)
        return false;
    snprintf(directory, PATH_MAX, "%.*s", (int)(nbytes < PATH_MAX ? nbytes : PATH_MAX - 1), *list);
    *list += nbytes;
    return true;
}

/* DIRECTORY/.build-id/xx/yyyy.debug */
static Elf *open_by_build_id(const char *directories, const uint8_t *build_id, size_t nbytes,
                             char path[PATH_MAX])
{
    char directory[PATH_MAX];
    Elf *elf = NULL;
    while (elf == NULL && nbytes >= 2 && next_directory(&directories, directory)) {
        int at = snprintf(path, PATH_MAX, "%s/.build-id/%02x/", directory, build_id[0]);
        if (at < 0 || (size_t)at + 2 * nbytes + sizeof ".debug" > PATH_MAX)
            continue;
        for (size_t i = 1; i < nbytes; i++)
            at += sprintf(path + at, "%02x", build_id[i]);
        memcpy(path + at, ".debug", sizeof ".debug");
        elf = open_matching(path, build_id, nbytes);
    }
    return elf;
}

/* The checksum of .gnu_debuglink, over the whole file. */
static uint32_t file_crc32(Elf *elf)
{
    static uint32_t table[256];
    size_t nbytes = 0;
    const uint8_t *bytes = (const uint8_t *)elf_rawfile(elf, &nbytes);
    for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; bytes != NULL && i < nbytes; i++)
        sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xFF];
    return ~sum;
}

/* A debug file named by a link, verified by its build-id or, if it has none, by its checksum. */
static Elf *open_linked(const char *path, Elf *module, uint32_t checksum)
{
    const void *build_id;
    ssize_t nbytes = dwelf_elf_gnu_build_id(module, &build_id);
    if (nbytes > 0)
        return open_matching(path, build_id, (size_t)nbytes);
    Elf *elf = open_elf(path);
    if (elf != NULL && file_crc32(elf) != checksum) {
        elf_end(elf);
        elf = NULL;
    }
    return elf;
}

static Elf *open_in(const char *prefix, const char *module_path, const char *middle, const char *link,
                    Elf *module, uint32_t checksum, char path[PATH_MAX])
{
    const char *slash = strrchr(module_path, '/');
    int length = snprintf(path, PATH_MAX, "%s%.*s/%s%s", prefix, (int)(slash - module_path), module_path,
                          middle, link);
    return length > 0 && length < PATH_MAX ? open_linked(path, module, checksum) : NULL;
}

/* The places that a .gnu_debuglink may refer to: the module's folder, .debug in that, and a debug directory. */
static Elf *open_by_link(const char *directories, const char *module_path, Elf *module, char path[PATH_MAX])
{
    GElf_Word checksum;
    char directory[PATH_MAX];
    const char *link = dwelf_elf_gnu_debuglink(module, &checksum);
    if (link == NULL || strchr(module_path, '/') == NULL || strchr(link, '/') != NULL)
        return NULL;
    Elf *elf = open_in("", module_path, "", link, module, checksum, path);
    if (elf == NULL)
        elf = open_in("", module_path, ".debug/", link, module, checksum, path);
    while (elf == NULL && next_directory(&directories, directory))
        elf = open_in(directory, module_path, "", link, module, checksum, path);
    return elf;
}

/* ---- A module ---- */

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

static bool has_debug_information(Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name != NULL && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
            return header.sh_type != SHT_NOBITS;
    }
    return false;
}

static Elf *open_debug_file(const struct tbed_symbols_module *module, const struct symbol_places *places,
                            Elf *elf, char path[PATH_MAX])
{
    Elf *debug = NULL;
    if (places->debug_path != NULL && module->build_id_nbytes > 0) {
        snprintf(path, PATH_MAX, "%s", places->debug_path);
        debug = open_matching(path, module->build_id, module->build_id_nbytes);
    }
    if (debug == NULL && module->build_id_nbytes > 0)
        debug = open_by_build_id(places->debug_directories, module->build_id, module->build_id_nbytes, path);
    if (debug == NULL && elf != NULL)
        debug = open_by_link(places->debug_directories, module->path, elf, path);
    return debug;
}

/* For a module that is accepted, the debug file is searched by the module's own build-id. */
static struct tbed_symbols_module with_build_id(const struct tbed_symbols_module *module, Elf *elf)
{
    struct tbed_symbols_module known = *module;
    const void *build_id;
    ssize_t nbytes = elf != NULL && known.build_id_nbytes == 0 ? dwelf_elf_gnu_build_id(elf, &build_id) : 0;
    if (nbytes > 0) {
        known.build_id = build_id;
        known.build_id_nbytes = (size_t)nbytes;
    }
    return known;
}

void tbed_symbol_table_open(struct symbol_table *table, const struct tbed_symbols_module *wanted,
                            const struct symbol_places *places)
{
    char path[PATH_MAX];
    memset(table, 0, sizeof *table);
    Elf *elf = open_module(table, wanted);
    const struct tbed_symbols_module known = with_build_id(wanted, elf), *module = &known;
    bool found = elf != NULL && tbed_symbol_table_read(table, elf, SHT_SYMTAB);
    table->debug_file = elf != NULL && has_debug_information(elf) ? elf : NULL;
    if (!found || table->debug_file == NULL) {
        Elf *debug = open_debug_file(module, places, elf, path);
        if (keep_file(table, debug) && has_debug_information(debug))
            table->debug_file = debug;
        if (debug != NULL && !found)
            found = tbed_symbol_table_read(table, debug, SHT_SYMTAB);
    }
    if (elf != NULL)
        found |= tbed_symbol_table_read(table, elf, SHT_DYNSYM);
    if (table->debug_file != NULL)
        table->debug_path = strdup(table->debug_file == elf ? module->path : path);
    if (found || table->debug_file != NULL)
        table->state = TBED_SYMBOLS_FOUND;
    tbed_symbol_table_sort(table);
}

/* ---- Debug information ---- */

/* Opens the shared file made by dwz, by its path or by its build-id. */
static Elf *open_alternate(const struct symbol_table *table, const struct symbol_places *places,
                           const char *name, const void *build_id, size_t nbytes)
{
    char path[PATH_MAX];
    const char *slash = table->debug_path != NULL ? strrchr(table->debug_path, '/') : NULL;
    Elf *elf = open_by_build_id(places->debug_directories, build_id, nbytes, path);
    if (elf != NULL)
        return elf;
    int directory = name[0] != '/' && slash != NULL ? (int)(slash + 1 - table->debug_path) : 0;
    int length = snprintf(path, sizeof path, "%.*s%s", directory,
                          table->debug_path != NULL ? table->debug_path : "", name);
    return length > 0 && (size_t)length < sizeof path ? open_matching(path, build_id, nbytes) : NULL;
}

bool tbed_symbol_table_debug(struct symbol_table *table, const struct symbol_places *places,
                             struct debug_info *info)
{
    const char *name;
    const void *build_id;
    if (table->debug_file == NULL || !tbed_debug_info_open(info, table->debug_file))
        return false;
    ssize_t nbytes = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &build_id);
    Elf *elf = nbytes > 0 ? open_alternate(table, places, name, build_id, (size_t)nbytes) : NULL;
    if (keep_file(table, elf)) {
        info->alternate = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
        dwarf_setalt(info->dwarf, info->alternate);
    }
    return true;
}
