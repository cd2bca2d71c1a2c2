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

static const char *demangle(const char *name, int options)
{
    static char *demangled;
    bool is_mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
    char *plain = is_mangled ? rust_demangle(name, options) : NULL;
    if (is_mangled && plain == NULL)
        plain = cplus_demangle_v3(name, options | DMGL_ANSI);
    if (plain == NULL)
        return name;
    free(demangled);
    demangled = plain;
    return plain;
}

const char *tbed_demangle(const char *name)
{
    return demangle(name, DMGL_PARAMS);
}

const char *tbed_demangle_plain(const char *name)
{
    return demangle(name, DMGL_NO_OPTS);
}

const char *tbed_demangle_full(const char *name)
{
    return demangle(name, DMGL_PARAMS | DMGL_RET_DROP);
}
