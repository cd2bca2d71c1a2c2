/*
 * A hostile file may control the process that reads debug files, so its answers are checked like a file. Memory may run
 * out meanwhile.
 *
 * The input is a byte of options, a byte for what that process does after its answer, a byte that chooses the call that
 * fails (0: none), and the answer. The process gives this answer to every request, or only to the first.
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <string.h>
#include <tracebed/symbols.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "reader/symbols/process/symbol_worker.h"
#include "reader/symbols/symbol_list.h"

enum {
    DEBUGINFOD = 1,
    NO_LINES = 2,
    NO_DEMANGLE = 4,
    NO_INLINES = 8,
    BUILD_ID = 16,
    MANY_ANSWERS = 32,
    OWN_DIRECTORY = 64,
    NO_SERVERS = 128,
};

enum afterwards { LEAVE, CRASH, TAKE_TOO_MUCH_TIME, HANG, AFTERWARDS };

#define PADDED 128u /* in the same byte: zeros follow the answer */

static unsigned choices;
static enum afterwards afterwards;
static bool is_padded;
static const uint8_t *answer;
static size_t answer_nbytes;

/* Replaces the library's worker, in the forked process. */
_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories)
{
    char request[4096];
    static const char zeros[1 << 18];
    failing_stop();
    REQUIRE((strcmp(debug_directories, "/nowhere") == 0) == ((choices & OWN_DIRECTORY) != 0));
    signal(SIGABRT, SIG_DFL);
    do
        if (read(fd, request, sizeof request) <= 0 || write(fd, answer, answer_nbytes) < 0 ||
            (is_padded && write(fd, zeros, sizeof zeros) < 0))
            _exit(0);
    while ((choices & MANY_ANSWERS) != 0);
    if (afterwards == CRASH)
        raise(SIGKILL);
    if (afterwards == TAKE_TOO_MUCH_TIME) {
        signal(SIGXCPU, SIG_DFL);
        raise(SIGXCPU);
    }
    while (afterwards == HANG)
        pause();
    _exit(0);
}

static void check_name(const char *name)
{
    REQUIRE(name == NULL || strlen(name) <= 4 * SYMBOL_TEXT_MAX);
}

static void look_up(struct tbed_symbols *symbols, const struct tbed_symbols_module *module, uint64_t pc)
{
    struct tbed_frame frames[8];
    struct tbed_symbol symbol;
    enum tbed_symbols_state state;
    if (tbed_symbols_find(symbols, module, pc, &symbol, &state)) {
        check_name(symbol.name);
        check_name(symbol.function);
    }
    REQUIRE(strcmp(tbed_symbols_state_text(state), "unknown") != 0);
    size_t count = tbed_symbols_frames(symbols, module, pc, frames, 8);
    REQUIRE(count <= SYMBOL_FRAMES_MAX);
    for (size_t j = 0; j < count && j < 8; j++) {
        check_name(frames[j].function);
        check_name(frames[j].file);
    }
}

static void take_function(void *context, const struct listed_function *function)
{
    const char *const texts[] = {function->symbol, function->plain, function->full, function->file};
    size_t *count = context;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        REQUIRE(i == 3 || texts[i] != NULL); /* only the file may be unknown */
    REQUIRE((function->arguments != NULL) == (function->arguments_nbytes > 0));
    ++*count;
}

static void list_functions(struct tbed_symbols *symbols, const struct tbed_symbols_module *module)
{
    size_t count = 0;
    enum tbed_symbols_state state = tbed_symbols_list(
        symbols, module, choices & NO_LINES ? 0 : LIST_FILES | LIST_ARGUMENTS, take_function, &count);
    REQUIRE(state == TBED_SYMBOLS_FOUND || count == 0);
}

static void use_symbols(void *context)
{
    static const uint64_t pcs[] = {4096, 16, 16, UINT64_MAX};
    const struct tbed_symbols_options *options = context;
    struct tbed_symbols_module modules[] = {
        {.path = "/dev/null"}, {.path = "/dev/null"}, {.path = "/dev/zero"}};
    if (choices & BUILD_ID) {
        modules[0].build_id = modules[1].build_id = (const uint8_t *)"01234567";
        modules[0].build_id_nbytes = modules[1].build_id_nbytes = 8;
        modules[1].build_id = (const uint8_t *)"76543210";
    }
    failing_start();
    struct tbed_symbols *symbols = tbed_symbols_open(options);
    for (size_t i = 0; symbols != NULL && i < sizeof modules / sizeof modules[0]; i++) {
        tbed_symbols_resolve_many(symbols, &modules[i], pcs, sizeof pcs / sizeof pcs[0]);
        for (size_t j = 0; j < sizeof pcs / sizeof pcs[0]; j++)
            look_up(symbols, &modules[i], pcs[j]);
        look_up(symbols, &modules[0], 17);
        list_functions(symbols, &modules[i]);
        check_name(tbed_symbols_trouble(symbols, &modules[i]));
    }
    failing_stop();
    REQUIRE(symbols != NULL || failing_count() > 0);
    if (symbols != NULL && !(choices & DEBUGINFOD))
        REQUIRE(tbed_symbols_debuginfod_trouble(symbols) == NULL);
    tbed_symbols_close(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_symbols_options none = {.size = 0};
    if (nbytes < 3)
        return 0;
    choices = data[0];
    afterwards = data[1] % AFTERWARDS;
    is_padded = data[1] >= PADDED;
    struct failing_plan plan = {.first = data[2] > 0 ? data[2] - 1u : UINT32_MAX, .run_count = 1};
    answer = data + 3;
    answer_nbytes = nbytes - 3;
    if (choices & NO_SERVERS)
        unsetenv("DEBUGINFOD_URLS");
    else
        setenv("DEBUGINFOD_URLS", " ", 1); /* no servers: elfutils' client is not what is tested */
    struct tbed_symbols_options options = {
        .size = sizeof options,
        .debug_directory = choices & OWN_DIRECTORY ? "/nowhere" : NULL,
        .no_demangle = (choices & NO_DEMANGLE) != 0,
        .no_lines = (choices & NO_LINES) != 0,
        .no_inlines = (choices & NO_INLINES) != 0,
        .debuginfod = (choices & DEBUGINFOD) != 0,
        .timeout_ms = 50,
    };
    failing_run(&plan, use_symbols, &options);
    REQUIRE(tbed_symbols_open(&none) == NULL);
    REQUIRE(strcmp(tbed_symbols_state_text((enum tbed_symbols_state)99), "unknown") == 0);
    tbed_symbols_close(NULL);
    return 0;
}
