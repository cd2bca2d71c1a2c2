/*
 * From an address in a process to a function: the mappings of sessions, and the symbols of modules.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/uftrace/uftrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX     65536u
#define LAST_NBYTES_MAX 65536u /* of a function whose size is unknown */

static const char *skip_hex(const char *at, const char *end, uint64_t *number_ret)
{
    uint64_t number = 0;
    for (; at < end; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        if (digit == 16)
            break;
        number = number << 4 | digit;
    }
    *number_ret = number;
    return at;
}

/* ---- Symbols ---- */

/* "ADDRESS TYPE NAME" or "ADDRESS SIZE TYPE NAME"; '?' marks an end. */
static bool parse_symbol(const struct uftrace_text *line, struct uftrace_symbol *symbol, char *type)
{
    const char *end = line->at + line->nbytes;
    const char *at = skip_hex(line->at, end, &symbol->address);
    symbol->nbytes = 0;
    if (at == line->at || end - at < 4 || *at++ != ' ')
        return false;
    if (at[1] != ' ') { /* a size; a type is one letter */
        const char *after = skip_hex(at, end, &symbol->nbytes);
        if (after == at || end - after < 4 || *after++ != ' ')
            return false;
        at = after;
    }
    *type = *at;
    if (at[1] != ' ')
        return false;
    at += 2;
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    symbol->name = (struct uftrace_text){at, (size_t)((tab != NULL ? tab : end) - at)};
    return symbol->name.nbytes > 0;
}

static int compare_symbols(const void *left, const void *right)
{
    uint64_t a = ((const struct uftrace_symbol *)left)->address;
    uint64_t b = ((const struct uftrace_symbol *)right)->address;
    return (a > b) - (a < b);
}

static bool ends_name(const struct uftrace_text *name)
{
    return (name->nbytes == 9 && memcmp(name->at, "__sym_end", 9) == 0) ||
           (name->nbytes == 12 && memcmp(name->at, "__dynsym_end", 12) == 0) ||
           (name->nbytes == 10 && memcmp(name->at, "__func_end", 10) == 0);
}

static void read_symbols(struct uftrace *folder, struct uftrace_module *module)
{
    struct uftrace_text text = {(const char *)module->symbol_file.bytes, module->symbol_file.nbytes};
    struct uftrace_text line;
    struct uftrace_symbol symbol = {0};
    uint64_t last = UINT64_MAX;
    char type = 0, last_type = 0;
    while (tbed_uftrace_line(&text, &line)) {
        size_t count = module->symbols.count;
        struct uftrace_symbol *before = count > 0 ? &module->symbols.items[count - 1] : NULL;
        if (line.nbytes == 0 || line.at[0] == '#' || !parse_symbol(&line, &symbol, &type) ||
            (symbol.address == last && type == last_type))
            continue;
        last = symbol.address;
        last_type = type;
        if (before != NULL && before->nbytes == 0 && symbol.address > before->address)
            before->nbytes = symbol.address - before->address;
        if (type == '?' || ends_name(&symbol.name))
            continue;
        struct uftrace_symbol *kept = TBED_VECTOR_PUSH(&module->symbols);
        if (kept == NULL) {
            folder->is_out_of_memory = true;
            return;
        }
        *kept = symbol;
    }
    if (module->symbols.count > 1)
        qsort(module->symbols.items, module->symbols.count, sizeof symbol, compare_symbols);
}

static struct uftrace_symbol *symbol_at(struct uftrace_module *module, uint64_t address)
{
    size_t low = 0, high = module->symbols.count;
    while (low < high) { /* the last that does not begin above it */
        size_t middle = low + (high - low) / 2;
        if (module->symbols.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    struct uftrace_symbol *symbol = low > 0 ? &module->symbols.items[low - 1] : NULL;
    uint64_t nbytes = symbol == NULL ? 0 : symbol->nbytes != 0 ? symbol->nbytes : LAST_NBYTES_MAX;
    bool is_inside = symbol != NULL && address - symbol->address < nbytes;
    return is_inside ? symbol : NULL;
}

/* "F: ADDRESS NAME", and about this function "A: SPECIFICATION" and "R: SPECIFICATION". */
static void read_debug(struct uftrace_module *module)
{
    struct uftrace_text text = {(const char *)module->debug_file.bytes, module->debug_file.nbytes};
    struct uftrace_text line;
    struct uftrace_symbol *symbol = NULL;
    while (tbed_uftrace_line(&text, &line)) {
        if (line.nbytes < 4 || line.at[1] != ':' || line.at[2] != ' ')
            continue;
        struct uftrace_text rest = {line.at + 3, line.nbytes - 3};
        uint64_t address;
        if (line.at[0] == 'F') {
            skip_hex(rest.at, rest.at + rest.nbytes, &address);
            symbol = symbol_at(module, address);
            if (symbol != NULL && symbol->address != address)
                symbol = NULL;
        }
        if (line.at[0] == 'A' && symbol != NULL)
            symbol->entry = rest;
        if (line.at[0] == 'R' && symbol != NULL)
            symbol->exit = rest;
    }
}

/* ---- Modules ---- */

static bool map_part(struct uftrace *folder, const struct uftrace_text *path, const char *extension,
                     struct mapped_file *file)
{
    char name[UFTRACE_NAME_NBYTES];
    const char *slash = memrchr(path->at, '/', path->nbytes);
    const char *base = slash != NULL ? slash + 1 : path->at;
    size_t nbytes = (size_t)(path->at + path->nbytes - base);
    if (nbytes == 0 || nbytes + strlen(extension) >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s%s", (int)nbytes, base, extension);
    return tbed_uftrace_map(folder, name, file);
}

/* The module with that path, whose files are read when it is met first. UINT32_MAX: no memory. */
static uint32_t module_find(struct uftrace *folder, const struct uftrace_text *path)
{
    for (size_t i = 0; i < folder->modules.count; i++) {
        const struct uftrace_text *known = &folder->modules.items[i].path;
        if (known->nbytes == path->nbytes && memcmp(known->at, path->at, path->nbytes) == 0)
            return (uint32_t)i;
    }
    struct uftrace_module *module =
        folder->modules.count < MODULES_MAX ? TBED_VECTOR_PUSH(&folder->modules) : NULL;
    if (module == NULL) {
        folder->is_out_of_memory |= folder->modules.count < MODULES_MAX;
        return UINT32_MAX;
    }
    module->path = *path;
    map_part(folder, path, ".sym", &module->symbol_file);
    map_part(folder, path, ".dbg", &module->debug_file);
    read_symbols(folder, module);
    read_debug(module);
    return (uint32_t)folder->modules.count - 1;
}

/* ---- Mappings ---- */

static void add_mapping(struct uftrace *folder, struct uftrace_session *session,
                        const struct uftrace_text *path, const struct uftrace_mapping *mapping)
{
    uint32_t module = module_find(folder, path);
    struct uftrace_mapping *kept = module != UINT32_MAX ? TBED_VECTOR_PUSH(&session->mappings) : NULL;
    folder->is_out_of_memory |= module != UINT32_MAX && kept == NULL;
    if (kept == NULL)
        return;
    *kept = *mapping;
    kept->module = module;
}

/* "START-END PERMISSIONS OFFSET DEVICE INODE PATH [build-id:ID]". */
static void read_mapping(struct uftrace *folder, struct uftrace_session *session,
                         const struct uftrace_text *line)
{
    const char *end = line->at + line->nbytes;
    struct uftrace_mapping mapping = {0};
    const char *at = skip_hex(line->at, end, &mapping.start);
    if (at == end || *at++ != '-')
        return;
    skip_hex(at, end, &mapping.end);
    const char *path = memchr(at, '/', (size_t)(end - at));
    if (path == NULL || mapping.end <= mapping.start)
        return;
    const char *stop = memchr(path, ' ', (size_t)(end - path));
    struct uftrace_text text = {path, (size_t)((stop != NULL ? stop : end) - path)};
    add_mapping(folder, session, &text, &mapping);
}

void tbed_uftrace_map_session(struct uftrace *folder, struct uftrace_session *session)
{
    char name[UFTRACE_NAME_NBYTES];
    struct uftrace_text line;
    snprintf(name, sizeof name, "sid-%.*s.map", (int)(session->sid.nbytes < 64 ? session->sid.nbytes : 64),
             session->sid.at);
    if (strchr(name, '/') != NULL || !tbed_uftrace_map(folder, name, &session->map_file)) {
        tbed_import_damaged(folder->report, TBED_ERR_FOREIGN_FILE, tbed_import_file(folder->report, name),
                            UINT64_MAX, 0);
        return;
    }
    struct uftrace_text text = {(const char *)session->map_file.bytes, session->map_file.nbytes};
    while (!folder->is_out_of_memory && tbed_uftrace_line(&text, &line))
        read_mapping(folder, session, &line);
}

void tbed_uftrace_load_library(struct uftrace *folder, struct uftrace_session *session,
                               const struct uftrace_text *path, uint64_t base, uint64_t time)
{
    struct uftrace_mapping mapping = {.start = base, .end = UINT64_MAX, .time = time};
    if (path->nbytes > 0)
        add_mapping(folder, session, path, &mapping);
}

/* ---- Lookup ---- */

static uint32_t parent_of(const struct uftrace *folder, uint32_t pid)
{
    for (size_t i = 0; i < folder->tasks.count; i++)
        if (folder->tasks.items[i].tid == pid)
            return folder->tasks.items[i].parent;
    return 0;
}

/* The latest session of the process; a forked child has its parent's. */
static const struct uftrace_session *session_of(const struct uftrace *folder, uint32_t pid, uint64_t time)
{
    const struct uftrace_session *found = NULL;
    for (unsigned generation = 0; found == NULL && pid != 0 && generation < 64; generation++) {
        for (size_t i = 0; i < folder->sessions.count; i++) {
            const struct uftrace_session *session = &folder->sessions.items[i];
            if (session->pid == pid &&
                (found == NULL || (session->time <= time && session->time >= found->time)))
                found = session;
        }
        pid = parent_of(folder, pid);
    }
    return found != NULL || folder->sessions.count == 0 ? found : &folder->sessions.items[0];
}

/* uftrace of today keeps symbols relative to the mapping; before, or without relocation, they are addresses. */
static struct uftrace_symbol *in_mapping(struct uftrace *folder, const struct uftrace_mapping *mapping,
                                         uint64_t address)
{
    struct uftrace_module *module = &folder->modules.items[mapping->module];
    struct uftrace_symbol *symbol = symbol_at(module, address - mapping->start);
    return symbol != NULL ? symbol : symbol_at(module, address);
}

struct uftrace_symbol *tbed_uftrace_symbol(struct uftrace *folder, const struct uftrace_task *task,
                                           uint64_t time, uint64_t address)
{
    const struct uftrace_session *session = session_of(folder, task->pid, time);
    struct uftrace_symbol *found = NULL;
    for (size_t i = session != NULL ? session->mappings.count : 0; found == NULL && i-- > 0;) {
        const struct uftrace_mapping *mapping = &session->mappings.items[i];
        if (address >= mapping->start && address < mapping->end && mapping->time <= time)
            found = in_mapping(folder, mapping, address);
    }
    return found;
}
