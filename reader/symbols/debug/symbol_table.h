/*
 * One module in the symbol reader's process: its files, its sorted symbols, its debug information.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOL_TABLE_H
#define TRACEBED_SYMBOL_TABLE_H

#include "reader/symbols/debug/debug_info.h"

#include <libelf.h>
#include <tracebed/symbols.h>

struct symbol {
    uint64_t start, end;
    const char *name;     /* in a file that is kept open; may be followed by "@VERSION" */
    uint32_t name_nbytes; /* without a version */
    uint8_t rank;         /* of several at one address, the highest is kept */
};

#define SYMBOL_FILES 3 /* the module, its debug file, and the file that several of these share */
struct symbol_table {
    enum tbed_symbols_state state;
    struct symbol *symbols;
    size_t count, room;
    Elf *files[SYMBOL_FILES];
    size_t file_count;
    Elf *debug_file;  /* of 'files': the one with debug information; NULL: none */
    char *debug_path; /* its name */
};

struct symbol_places {
    const char *debug_directories; /* separated by ':' */
    const char *debug_path;        /* path of a fetched debug file; NULL: none */
};

/* symbol_files.c: finds the files and reads the module's symbols. Failures are stored as the table's state. */
void tbed_symbol_table_open(struct symbol_table *table, const struct tbed_symbols_module *module,
                            const struct symbol_places *places);
void tbed_symbol_table_close(struct symbol_table *table);

/*
 * symbol_files.c: opens the debug information, and the file that it shares with other modules. False: there is none.
 */
bool tbed_symbol_table_debug(struct symbol_table *table, const struct symbol_places *places,
                             struct debug_info *info);

/* The symbol that contains 'pc'; NULL: none. */
const struct symbol *tbed_symbol_table_find(const struct symbol_table *table, uint64_t pc);

/* Adds the symbols of a file's .symtab or .dynsym ('type': SHT_SYMTAB, SHT_DYNSYM). False: it has none. */
bool tbed_symbol_table_read(struct symbol_table *table, Elf *elf, uint32_t type);

/* Sorts the symbols, and removes duplicates. */
void tbed_symbol_table_sort(struct symbol_table *table);

#endif
