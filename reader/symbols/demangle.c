/*
 * Names of C++ and Rust as their sources have them. In the symbol reader's process only: names may be hostile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbol_worker.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

const char *tbed_demangle(const char *name)
{
    static char *demangled;
    bool is_mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
    char *plain = is_mangled ? rust_demangle(name, DMGL_PARAMS) : NULL;
    if (is_mangled && plain == NULL)
        plain = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
    if (plain == NULL)
        return name;
    free(demangled);
    demangled = plain;
    return plain;
}
