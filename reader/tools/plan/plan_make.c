/*
 * Makes the plan of a module: a sealed memory file with the functions that are treated differently from the rest.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/tools/shared/tool.h"

struct making {
    struct plan_rules *rules;
    const char *path;
    struct launch_plan head;
    struct tool_buffer functions;
};

static void take_function(void *context, const struct listed_function *listed)
{
    struct making *making = context;
    struct launch_plan_function function = {
        .start = listed->start,
        .nbytes = listed->nbytes < UINT32_MAX ? (uint32_t)listed->nbytes : UINT32_MAX,
        .flags = plan_rules_flags(making->rules, making->path, listed),
    };
    if (function.flags == plan_rules_default(making->rules) || making->head.function_count == UINT32_MAX)
        return;
    tool_append(&making->functions, (const char *)&function, sizeof function);
    making->head.function_count++;
}

enum tbed_symbols_state plan_module_list(const struct plan_module *module, struct tbed_symbols *symbols,
                                         bool with_files,
                                         void (*take)(void *context, const struct listed_function *function),
                                         void *context)
{
    struct tbed_symbols_module wanted = {
        .path = module->path, .build_id = module->build_id, .build_id_nbytes = module->build_id_nbytes};
    return tbed_symbols_list(symbols, &wanted, with_files, take, context);
}

static enum launch_plan_status status_of(enum tbed_symbols_state state)
{
    switch (state) {
    case TBED_SYMBOLS_FOUND:
        return LAUNCH_PLAN_MADE;
    case TBED_SYMBOLS_MISMATCH:
        return LAUNCH_PLAN_OTHER_BUILD;
    case TBED_SYMBOLS_NO_SYMBOLS:
        return LAUNCH_PLAN_NO_SYMBOLS;
    default:
        return LAUNCH_PLAN_NO_FILE;
    }
}

static bool store(int fd, const void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t put = write(fd, (const char *)bytes + at, nbytes - at);
        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? (size_t)put : 0;
    }
    return true;
}

/* -1: it could not be made. Nobody can change it or cut it once it is sealed. */
static int make_file(const struct making *making)
{
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int fd = memfd_create("tracebed plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && store(fd, &making->head, sizeof making->head) &&
        store(fd, making->functions.bytes, making->functions.nbytes) && fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void plan_module_make(struct plan_module *module, struct plan_rules *rules, struct tbed_symbols *symbols)
{
    struct making making = {.rules = rules, .path = module->path, .head = {.magic = LAUNCH_PLAN_MAGIC}};
    enum tbed_symbols_state state =
        plan_module_list(module, symbols, rules->has_files, take_function, &making);
    module->status = status_of(state);
    module->fd = module->status == LAUNCH_PLAN_MADE ? make_file(&making) : -1;
    if (module->status == LAUNCH_PLAN_MADE && module->fd < 0)
        module->status = LAUNCH_PLAN_NO_FILE;
    free(making.functions.bytes);
}
