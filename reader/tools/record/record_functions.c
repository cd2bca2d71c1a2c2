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

/* ---- Options ---- */

bool record_functions_add(struct record_functions *functions, const char *pattern, bool leaves_out)
{
    return plan_rules_add(&functions->rules, leaves_out ? "--exclude" : "--filter", pattern, leaves_out);
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
    if (functions->is_wanted || (functions->rules.count == 0 && functions->depth == 0))
        return true;
    tool_complain("--filter, --exclude and --depth require --functions");
    return false;
}

bool record_functions_begin(struct record_functions *functions)
{
    char text[32];
    snprintf(text, sizeof text, "%u", functions->depth);
    if (functions->depth != 0)
        setenv("TRACEBED_FUNCTIONS_DEPTH", text, 1);
    unsetenv(LAUNCH_ENV_PLANS); /* that of a recorder outside this one */
    return functions->rules.count == 0 || plan_server_start(&functions->server, &functions->rules);
}

bool record_functions_end(struct record_functions *functions, int result)
{
    bool is_run = result != TOOL_TROUBLE && result != RECORD_NOT_EXECUTABLE && result != RECORD_NOT_FOUND;
    bool is_fine = plan_server_stop(&functions->server, is_run);
    plan_rules_free(&functions->rules);
    return is_fine;
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
