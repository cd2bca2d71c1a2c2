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

#define PLAN_DESCRIPTIONS_MAX ((uint32_t)1 << 30)

struct making {
    struct plan_rules *rules;
    const char *path;
    struct tool_buffer functions, descriptions;
    struct launch_plan head; /* last: it has room for functions, which is not used */
};

/*
 * Returns its place among the descriptions, plus 1; 0: there is none. Whether it can be followed is checked where it is
 * (writer/capture/functions).
 */
static uint32_t add_description(struct making *making, const struct listed_function *listed)
{
    static const char zeros[8] = {0};
    size_t at = making->descriptions.nbytes;
    if (listed->arguments == NULL || listed->arguments_nbytes > PLAN_DESCRIPTIONS_MAX - at)
        return 0;
    making->rules->arguments->described_count++;
    tool_append(&making->descriptions, listed->arguments, listed->arguments_nbytes);
    tool_append(&making->descriptions, zeros, -making->descriptions.nbytes % 8);
    return (uint32_t)at + 1;
}

/* The descriptions follow the functions. */
static void settle_descriptions(struct making *making)
{
    struct launch_plan_function *functions = (void *)making->functions.bytes;
    uint32_t start = (uint32_t)(sizeof making->head + making->functions.nbytes);
    for (uint32_t i = 0; i < making->head.function_count; i++)
        if (functions[i].arguments != 0)
            functions[i].arguments += start - 1;
    making->head.more_nbytes = (uint32_t)making->descriptions.nbytes;
}

static void take_function(void *context, const struct listed_function *listed)
{
    struct making *making = context;
    struct launch_plan_function function = {
        .start = listed->start,
        .nbytes = listed->nbytes < UINT32_MAX ? (uint32_t)listed->nbytes : UINT32_MAX,
        .flags = plan_rules_flags(making->rules, making->path, listed),
    };
    if (plan_rules_want_arguments(making->rules, making->path, listed))
        function.arguments = add_description(making, listed);
    plan_triggers_set(making->rules, making->path, listed, &function);
    bool is_usual = function.flags == plan_rules_default(making->rules) && function.arguments == 0;
    if (is_usual || making->head.function_count == UINT32_MAX)
        return;
    tool_append(&making->functions, (const char *)&function, sizeof function);
    making->head.function_count++;
}

enum tbed_symbols_state plan_module_list(const struct plan_module *module, struct tbed_symbols *symbols,
                                         unsigned details,
                                         void (*take)(void *context, const struct listed_function *function),
                                         void *context)
{
    struct tbed_symbols_module wanted = {
        .path = module->path, .build_id = module->build_id, .build_id_nbytes = module->build_id_nbytes};
    return tbed_symbols_list(symbols, &wanted, details, take, context);
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
        store(fd, making->functions.bytes, making->functions.nbytes) &&
        store(fd, making->descriptions.bytes, making->descriptions.nbytes) &&
        fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static unsigned details_of(const struct plan_rules *rules)
{
    bool has_files = rules->has_files || (rules->arguments != NULL && rules->arguments->has_files);
    return (has_files ? LIST_FILES : 0) | (rules->arguments != NULL ? LIST_ARGUMENTS : 0);
}

void plan_module_make(struct plan_module *module, struct plan_rules *rules, struct tbed_symbols *symbols)
{
    struct making making = {.rules = rules, .path = module->path, .head = {.magic = LAUNCH_PLAN_MAGIC}};
    enum tbed_symbols_state state =
        plan_module_list(module, symbols, details_of(rules), take_function, &making);
    settle_descriptions(&making);
    module->status = status_of(state);
    module->fd = module->status == LAUNCH_PLAN_MADE ? make_file(&making) : -1;
    if (module->status == LAUNCH_PLAN_MADE && module->fd < 0)
        module->status = LAUNCH_PLAN_NO_FILE;
    free(making.functions.bytes);
    free(making.descriptions.bytes);
}
