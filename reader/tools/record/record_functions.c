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
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Options ---- */

bool record_functions_add(struct record_functions *functions, const char *pattern, bool leaves_out)
{
    return plan_rules_add(&functions->rules, leaves_out ? "--exclude" : "--filter", pattern, leaves_out);
}

bool record_functions_add_arguments(struct record_functions *functions, const char *pattern)
{
    return plan_rules_add(&functions->arguments, "--args", pattern != NULL ? pattern : "*", false);
}

#if defined(__x86_64__)
bool record_functions_set_libcalls(struct record_functions *functions, const char *pattern)
{
    functions->is_wanted = true;
    functions->libcalls = pattern != NULL ? pattern : "";
    return true;
}
#else
bool record_functions_set_libcalls(struct record_functions *functions, const char *pattern)
{
    (void)functions;
    (void)pattern;
    tool_complain("--libcalls: only on x86-64");
    return false;
}
#endif

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

bool record_functions_minimum(struct record_functions *functions, const char *text)
{
    if (plan_duration_parse(text, &functions->minimum_ns))
        return true;
    tool_complain("--minimum-duration: invalid duration '%s' (expected 20us, 1.5ms or seconds)", text);
    return false;
}

static bool leaves_out_short(const struct record_functions *functions)
{
    bool leaves_out = functions->minimum_ns != 0;
    for (size_t i = 0; i < functions->rules.count; i++)
        leaves_out |= functions->rules.list[i].action.minimum_ns != 0;
    return leaves_out;
}

bool record_functions_check(const struct record_functions *functions)
{
    bool has_options = functions->rules.count > 0 || functions->arguments.count > 0 ||
                       functions->depth != 0 || functions->minimum_ns != 0;
    if (functions->arguments.count > 0 && leaves_out_short(functions)) {
        tool_complain("--args cannot be combined with --minimum-duration or a trigger time=T: arguments are "
                      "stored when a call begins, before it is known how long it takes");
        tool_hint("'tracebed report' and other commands take --minimum-duration for the trace; --filter "
                  "records fewer functions.");
        return false;
    }
    if (functions->is_wanted || !has_options)
        return true;
    tool_complain(
        "--filter, --exclude, --depth, --minimum-duration, --trigger and --args require --functions");
    return false;
}

/* 0: not asked for; what a recorder outside this one was asked for does not count. */
static void set_number(const char *name, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    if (number != 0)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

bool record_functions_begin(struct record_functions *functions)
{
    set_number("TRACEBED_FUNCTIONS_DEPTH", functions->depth);
    set_number("TRACEBED_FUNCTIONS_MINIMUM", functions->minimum_ns);
    unsetenv(LAUNCH_ENV_PLANS); /* that of a recorder outside this one */
    unsetenv(LAUNCH_ENV_ARGUMENTS);
    unsetenv(LAUNCH_ENV_LIBCALLS);
    if (functions->libcalls != NULL)
        setenv(LAUNCH_ENV_LIBCALLS, functions->libcalls, 1);
    if (functions->arguments.count > 0) {
        functions->rules.arguments = &functions->arguments;
        setenv(LAUNCH_ENV_ARGUMENTS, "1", 1);
    }
    bool has_rules = functions->rules.count > 0 || functions->arguments.count > 0;
    return !has_rules || plan_server_start(&functions->server, &functions->rules);
}

bool record_functions_end(struct record_functions *functions, int result)
{
    bool is_run = result != TOOL_TROUBLE && result != RECORD_NOT_EXECUTABLE && result != RECORD_NOT_FOUND;
    return plan_server_stop(&functions->server, is_run);
}

void record_functions_free(struct record_functions *functions)
{
    plan_rules_free(&functions->rules);
    plan_rules_free(&functions->arguments);
}

/* ---- Hooks ---- */

/*
 * A program has hooks, or places that can be patched: undefined symbols and sections with these names. Only the latter give
 * arguments.
 */
static bool is_way(const char *name, bool is_section, bool with_arguments)
{
    static const char *const symbols[] = {"__cyg_profile_func_enter", "__fentry__", "mcount", "_mcount"};
    static const char *const sections[] = {"__patchable_function_entries", "__mcount_loc", "xray_instr_map"};
    const char *const *names = is_section ? sections : symbols;
    size_t count = is_section ? sizeof sections / sizeof *sections : sizeof symbols / sizeof *symbols;
    for (size_t i = with_arguments && !is_section ? 1 : 0; name != NULL && i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool has_hook(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, bool with_arguments)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++)
        if (symbol.st_shndx == SHN_UNDEF &&
            is_way(elf_strptr(elf, header->sh_link, symbol.st_name), false, with_arguments))
            return true;
    return false;
}

/* True for a file that is no ELF file, too. */
static bool can_be_recorded(const char *path, bool with_arguments)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    size_t names = 0;
    bool can = elf == NULL || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0;
    while (!can && (section = elf_nextscn(elf, section)) != NULL)
        can = gelf_getshdr(section, &header) != NULL &&
              (is_way(elf_strptr(elf, names, header.sh_name), true, with_arguments) ||
               (header.sh_type == SHT_DYNSYM && has_hook(elf, section, &header, with_arguments)));
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return can;
}

static bool can_give_arguments(const char *name, const char *path)
{
    if (!can_be_recorded(path, false) || can_be_recorded(path, true))
        return true;
    tool_complain("--args: %s is compiled with -finstrument-functions, whose hooks are not given arguments",
                  name);
    tool_hint("Compile with: cc -g -fpatchable-function-entry=5, or -pg -mfentry");
    return false;
}

/* What lacks hooks is only mentioned: the program may start or load something that can be recorded. */
bool record_functions_accept(const struct record_functions *functions, const char *name, const char *path)
{
    if (functions->arguments.count > 0 && !can_give_arguments(name, path))
        return false;
    if (functions->libcalls != NULL || can_be_recorded(path, false))
        return true;
    tool_complain("%s: not compiled with -finstrument-functions, -pg, -fpatchable-function-entry=5 or "
                  "-fxray-instrument: its own calls will not be recorded",
                  name);
    tool_hint(
        "Compile with: cc -g -fpatchable-function-entry=5. Programs and libraries that it loads are still "
        "recorded.");
    return true;
}
