/*
 * The options of 'tracebed record --functions', and the check that the program has hooks.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILTER_NBYTES_MAX 4095 /* the library's limit for all patterns together */

/* ---- Options ---- */

void record_functions_add(struct record_functions *functions, const char *pattern, bool leaves_out)
{
    size_t nbytes = functions->filter != NULL ? strlen(functions->filter) : 0, more = strlen(pattern);
    functions->filter = tool_realloc(functions->filter, nbytes + more + 3);
    snprintf(functions->filter + nbytes, more + 3, "%s%s%s", nbytes > 0 ? "\n" : "", leaves_out ? "!" : "",
             pattern);
}

bool record_functions_depth(struct record_functions *functions, const char *text)
{
    char *end;
    errno = 0;
    unsigned long depth = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || errno != 0 || depth == 0 || depth > UINT32_MAX) {
        tool_complain("--depth: invalid number '%s'", text);
        return false;
    }
    functions->depth = (uint32_t)depth;
    return true;
}

bool record_functions_check(const struct record_functions *functions)
{
    if (!functions->is_wanted && (functions->filter != NULL || functions->depth != 0)) {
        tool_complain("--filter, --exclude and --depth require --functions");
        return false;
    }
    if (functions->filter != NULL && strlen(functions->filter) > FILTER_NBYTES_MAX) {
        tool_complain("--filter and --exclude: the patterns exceed %d bytes in total", FILTER_NBYTES_MAX);
        return false;
    }
    return true;
}

void record_functions_environment_set(const struct record_functions *functions)
{
    char text[32];
    snprintf(text, sizeof text, "%u", functions->depth);
    if (functions->filter != NULL)
        setenv("TRACEBED_FUNCTIONS_FILTER", functions->filter, 1);
    if (functions->depth != 0)
        setenv("TRACEBED_FUNCTIONS_DEPTH", text, 1);
}

/* ---- Hooks ---- */

struct hooks {
    bool is_elf, has_functions, has_mcount;
};

static void look_at_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct hooks *hooks)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++) {
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name == NULL || symbol.st_shndx != SHN_UNDEF)
            continue;
        hooks->has_functions |= strcmp(name, "__cyg_profile_func_enter") == 0;
        hooks->has_mcount |=
            strcmp(name, "mcount") == 0 || strcmp(name, "_mcount") == 0 || strcmp(name, "__fentry__") == 0;
    }
}

static struct hooks hooks_of(const char *path)
{
    struct hooks hooks = {false, false, false};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    hooks.is_elf = elf != NULL && elf_kind(elf) == ELF_K_ELF;
    while (hooks.is_elf && (section = elf_nextscn(elf, section)) != NULL)
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_DYNSYM)
            look_at_symbols(elf, section, &header, &hooks);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return hooks;
}

/* Only a warning: the program may start or load something that has hooks. */
void record_functions_warn(const char *name, const char *path)
{
    struct hooks hooks = hooks_of(path);
    if (!hooks.is_elf || hooks.has_functions)
        return;
    tool_complain("%s: not compiled with -finstrument-functions: its own calls will not be recorded", name);
    if (hooks.has_mcount)
        tool_hint("It was compiled with -pg, which tracebed does not use. Compile with: cc -g "
                  "-finstrument-functions");
    else
        tool_hint("Compile with: cc -g -finstrument-functions. Programs and libraries that it loads are "
                  "still recorded.");
}
