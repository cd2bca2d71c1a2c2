/*
 * All functions of a module, for 'tracebed record', which matches their names with patterns. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOL_LIST_H
#define TRACEBED_SYMBOL_LIST_H

#include <tracebed/symbols.h>

struct listed_function {
    uint64_t start, nbytes; /* as the ELF file has them */
    const char *symbol;     /* in the symbol table, without a version */
    const char *plain;      /* demangled, without the list of its arguments */
    const char *full;       /* demangled, with it and without the type of the result */
    const char *file;       /* NULL: unknown, or not asked for */
    uint32_t line;
    const void
        *arguments; /* their description (launch_arguments.h), not checked and not aligned; NULL: unknown */
    uint32_t arguments_nbytes;
};

enum list_detail { LIST_FILES = 1, LIST_ARGUMENTS = 2 };

/*
 * Calls 'take' for each function of the module, in ascending order. Each of 'details' (enum list_detail) reads the
 * debug information, which takes longer.
 *
 * Ownership: texts are valid during the call of 'take'.
 * Returns:   the state of the module's symbols; unless that is FOUND, nothing was listed.
 */
enum tbed_symbols_state tbed_symbols_list(struct tbed_symbols *symbols,
                                          const struct tbed_symbols_module *module, unsigned details,
                                          void (*take)(void *context, const struct listed_function *function),
                                          void *context);

#endif
