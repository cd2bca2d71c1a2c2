/*
 * Symbols at program counters, module by module.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/symbols.h>

#include "reader/symbols/symbol_table.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct module {
    struct module *next;
    char *path;
    uint8_t *build_id;
    size_t build_id_nbytes;
    struct symbol_table table;
};

typedef char *(*demangle_function)(const char *name, char *buffer, size_t *nbytes, int *status);

struct tbed_symbols {
    char *debug_directory;
    struct module *modules; /* the last one used is first */
    bool may_demangle;
    void *cxx_library;
    demangle_function demangle;
    char *demangled; /* malloc()ed by the C++ library, which grows it */
    size_t demangled_room;
};

const char *tbed_symbols_state_text(enum tbed_symbols_state state)
{
    switch (state) {
    case TBED_SYMBOLS_FOUND:
        return "its symbols were found";
    case TBED_SYMBOLS_NO_FILE:
        return "neither it nor its debug file is there";
    case TBED_SYMBOLS_MISMATCH:
        return "another build is there";
    case TBED_SYMBOLS_NO_SYMBOLS:
        return "it has no symbols, and no debug file is there";
    }
    return "unknown";
}

struct tbed_symbols *tbed_symbols_open(const struct tbed_symbols_options *options)
{
    const char *directory = options != NULL ? options->debug_directory : NULL;
    struct tbed_symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL || elf_version(EV_CURRENT) == EV_NONE) {
        free(symbols);
        return NULL;
    }
    symbols->may_demangle = options == NULL || !options->no_demangle;
    symbols->debug_directory = strdup(directory != NULL ? directory : "/usr/lib/debug");
    if (symbols->debug_directory == NULL) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

static void free_module(struct module *module)
{
    tbed_symbol_table_close(&module->table);
    free(module->path);
    free(module->build_id);
    free(module);
}

void tbed_symbols_close(struct tbed_symbols *symbols)
{
    if (symbols == NULL)
        return;
    while (symbols->modules != NULL) {
        struct module *module = symbols->modules;
        symbols->modules = module->next;
        free_module(module);
    }
    free(symbols->demangled);
    if (symbols->cxx_library != NULL)
        dlclose(symbols->cxx_library);
    free(symbols->debug_directory);
    free(symbols);
}

/* NULL: no memory. */
static struct module *new_module(const struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted)
{
    struct module *module = calloc(1, sizeof *module);
    if (module == NULL)
        return NULL;
    module->path = strdup(wanted->path);
    module->build_id = malloc(wanted->build_id_nbytes + 1);
    module->build_id_nbytes = wanted->build_id_nbytes;
    if (module->path == NULL || module->build_id == NULL) {
        free(module->path);
        free(module->build_id);
        free(module);
        return NULL;
    }
    if (wanted->build_id_nbytes > 0)
        memcpy(module->build_id, wanted->build_id, wanted->build_id_nbytes);
    tbed_symbol_table_open(&module->table, wanted, symbols->debug_directory);
    return module;
}

static struct module *find_module(struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted)
{
    struct module **link = &symbols->modules;
    while (*link != NULL &&
           (strcmp((*link)->path, wanted->path) != 0 || (*link)->build_id_nbytes != wanted->build_id_nbytes ||
            (wanted->build_id_nbytes > 0 &&
             memcmp((*link)->build_id, wanted->build_id, wanted->build_id_nbytes) != 0)))
        link = &(*link)->next;
    struct module *module = *link;
    if (module != NULL)
        *link = module->next;
    else
        module = new_module(symbols, wanted);
    if (module != NULL) {
        module->next = symbols->modules;
        symbols->modules = module;
    }
    return module;
}

/* The C++ library is loaded when the first C++ name turns up, and done without where there is none. */
static const char *plain_name(struct tbed_symbols *symbols, const char *name)
{
    if (!symbols->may_demangle || strncmp(name, "_Z", 2) != 0)
        return name;
    if (symbols->cxx_library == NULL) {
        symbols->cxx_library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        void *function = symbols->cxx_library != NULL ? dlsym(symbols->cxx_library, "__cxa_demangle") : NULL;
        symbols->may_demangle = function != NULL;
        memcpy(&symbols->demangle, &function, sizeof function);
    }
    if (!symbols->may_demangle)
        return name;
    int status = 0;
    char *demangled = symbols->demangle(name, symbols->demangled, &symbols->demangled_room, &status);
    if (demangled == NULL)
        return name;
    symbols->demangled = demangled;
    return demangled;
}

bool tbed_symbols_find(struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted, uint64_t pc,
                       struct tbed_symbol *symbol_ret, enum tbed_symbols_state *state_ret)
{
    struct module *module = find_module(symbols, wanted);
    if (state_ret != NULL)
        *state_ret = module != NULL ? module->table.state : TBED_SYMBOLS_NO_FILE;
    if (module == NULL)
        return false;
    const struct symbol *symbol = tbed_symbol_table_find(&module->table, pc);
    if (symbol == NULL)
        return false;
    *symbol_ret = (struct tbed_symbol){plain_name(symbols, symbol->name), pc - symbol->start};
    return true;
}
