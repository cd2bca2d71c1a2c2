/*
 * Symbols, lines and inlined functions of any ELF file, read in this process. Crashes in elfutils are possible: outside
 * of this target, a process of its own reads these files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "reader/symbols/debug/demangle.h"
#include "reader/symbols/debug/symbol_table.h"

static void look_up(struct symbol_table *table, struct debug_info *info, uint64_t pc)
{
    struct debug_frame frames[16];
    const struct symbol *symbol = tbed_symbol_table_find(table, pc);
    if (symbol != NULL)
        REQUIRE(symbol->start <= pc &&
                tbed_function_nbytes(symbol->name, symbol->name_nbytes) <= symbol->name_nbytes);
    if (info == NULL)
        return;
    size_t count = tbed_debug_info_frames(info, pc, frames, 16);
    REQUIRE(count <= 16);
    for (size_t i = 0; i < count; i++)
        REQUIRE(frames[i].function == NULL || tbed_demangle(frames[i].function) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct symbol_places places = {.debug_directories = "/nowhere"};
    struct symbol_table table = {0};
    struct debug_info info = {0};
    struct tbed_symbols_module module = {.path = scratch_path("module")};
    elf_version(EV_CURRENT);
    scratch_put(module.path, data, nbytes);
    tbed_symbol_table_open(&table, &module, &places);
    bool has_debug = tbed_symbol_table_debug(&table, &places, &info);
    for (size_t i = 0; i < table.count && i < 50; i++)
        look_up(&table, has_debug ? &info : NULL, table.symbols[i].start);
    for (uint64_t pc = 0; pc < 0x3000; pc += 0xFF)
        look_up(&table, has_debug ? &info : NULL, pc);
    if (has_debug)
        tbed_debug_info_close(&info);
    tbed_symbol_table_close(&table);
    return 0;
}
