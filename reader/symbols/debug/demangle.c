/*
 * Demangles names of C++ and Rust. Only in the symbol reader's process, because names may be hostile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/debug/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

static bool is_part(const char *word, size_t nbytes)
{
    static const char *const parts[] = {"cold", "part",     "constprop",  "isra",
                                        "llvm", "lto_priv", "localalias", "__uniq"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strlen(parts[i]) == nbytes && memcmp(parts[i], word, nbytes) == 0)
            return true;
    return false;
}

size_t tbed_function_nbytes(const char *name, size_t nbytes)
{
    const char *end = name + nbytes;
    for (const char *dot = name;
         nbytes > 1 && (dot = memchr(dot + 1, '.', (size_t)(end - dot) - 1)) != NULL;) {
        const char *next = memchr(dot + 1, '.', (size_t)(end - dot) - 1);
        if (is_part(dot + 1, (size_t)((next != NULL ? next : end) - dot) - 1))
            return (size_t)(dot - name);
    }
    return nbytes;
}

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
