/*
 * Reads and sorts the symbols of one module. symbol_files.c finds the files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/symbol_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* How far back to search for a symbol that contains others: cold parts, hand-written assembly. */
#define NESTED_MAX 16

static bool symbol_is_code(const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || name == NULL || name[0] == '\0' ||
        name[0] == '@')
        return false;
    /* "$x" and similar symbols mark instruction sets on arm64. */
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && name[0] != '$');
}

#define RANK_FUNCTION 64u
#define RANK_SIZED    32u

/*
 * Which of several names of an address is used: the one that programs call, "free" and not "__libc_free", "cfree" or
 * "__GI___libc_free". So functions come before labels, sized before unsized, current names before those that only old
 * programs use, names without leading underscores before others, and public before weak before private.
 */
static uint8_t symbol_rank(const GElf_Sym *symbol, const char *name, bool is_old)
{
    unsigned bind = GELF_ST_BIND(symbol->st_info);
    unsigned rank = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 0 : RANK_FUNCTION;
    rank += symbol->st_size != 0 ? RANK_SIZED : 0;
    rank += is_old ? 0 : 16;
    rank += name[0] != '_' ? 8 : name[1] != '_' ? 4 : 0;
    rank += bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0;
    return (uint8_t)rank;
}

/* The end of the section that holds the address: how far a symbol without a size may reach. */
static uint64_t section_end(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr header;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    if (section == NULL || gelf_getshdr(section, &header) == NULL || header.sh_addr > symbol->st_value)
        return symbol->st_value;
    return header.sh_size > UINT64_MAX - header.sh_addr ? UINT64_MAX : header.sh_addr + header.sh_size;
}

static bool add_symbol(struct symbol_table *table, const struct symbol *symbol)
{
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 1024 : table->room * 2;
        struct symbol *symbols = realloc(table->symbols, room * sizeof *symbols);
        if (symbols == NULL)
            return false;
        table->symbols = symbols;
        table->room = room;
    }
    table->symbols[table->count++] = *symbol;
    return true;
}

/* The versions of a table's symbols; NULL: there are none. */
static Elf_Data *versions_of(Elf *elf, Elf_Scn *symbols)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_GNU_versym &&
            header.sh_link == elf_ndxscn(symbols))
            return elf_getdata(section, NULL);
    }
    return NULL;
}

/*
 * .dynsym has versions in a table of its own, .symtab appends them to the name: "free@@GLIBC_2.2.5",
 * "cfree@GLIBC_2.2.5".
 */
static bool is_old(Elf_Data *versions, int index, const char *version)
{
    GElf_Versym number;
    if (version[0] == '@')
        return version[1] != '@';
    return versions != NULL && gelf_getversym(versions, index, &number) != NULL && (number & 0x8000) != 0;
}

static bool read_section(struct symbol_table *table, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL), *versions = versions_of(elf, section);
    size_t before = table->count;
    if (data == NULL || header->sh_entsize == 0)
        return false;
    size_t count = data->d_size / header->sh_entsize;
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            break;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (!symbol_is_code(&symbol, name))
            continue;
        uint64_t end = symbol.st_size == 0 ? section_end(elf, &symbol) : symbol.st_value + symbol.st_size;
        size_t nbytes = strcspn(name, "@");
        uint8_t rank = symbol_rank(&symbol, name, is_old(versions, (int)i, name + nbytes));
        struct symbol entry = {symbol.st_value, end, name, (uint32_t)nbytes, rank};
        if (end > symbol.st_value && !add_symbol(table, &entry))
            break;
    }
    return table->count > before;
}

bool tbed_symbol_table_read(struct symbol_table *table, Elf *elf, uint32_t type)
{
    bool found = false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == type)
            found |= read_section(table, elf, section, &header);
    }
    return found;
}

static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return strcmp(a->name, b->name); /* "open", not "open64" */
}

void tbed_symbol_table_sort(struct symbol_table *table)
{
    if (table->count > 1)
        qsort(table->symbols, table->count, sizeof *table->symbols, compare_symbols);
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (kept == 0 || table->symbols[i].start != table->symbols[kept - 1].start)
            table->symbols[kept++] = table->symbols[i];
    table->count = kept;
    /* A label extends to the next symbol. */
    for (size_t i = 0; i + 1 < kept; i++)
        if ((table->symbols[i].rank & RANK_SIZED) == 0 && table->symbols[i].end > table->symbols[i + 1].start)
            table->symbols[i].end = table->symbols[i + 1].start;
}

const struct symbol *tbed_symbol_table_find(const struct symbol_table *table, uint64_t pc)
{
    size_t low = 0, high = table->count; /* the first symbol past 'pc' is in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->symbols[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    const struct symbol *label = NULL;
    for (size_t back = 1; back <= NESTED_MAX && back <= low; back++) {
        const struct symbol *symbol = &table->symbols[low - back];
        if (pc >= symbol->end)
            continue;
        if (symbol->rank & RANK_SIZED)
            return symbol;
        if (label == NULL)
            label = symbol;
    }
    return label; /* not inside a function with a known size */
}

void tbed_symbol_table_close(struct symbol_table *table)
{
    for (size_t i = 0; i < table->file_count; i++)
        elf_end(table->files[i]);
    free(table->symbols);
    free(table->debug_path);
}
