/*
 * The process that reads debug files may be in the hands of a hostile file, so its answers are checked like a file.
 *
 * The input is what that process sends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/symbols.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "reader/symbols/process/symbol_worker.h"

static const uint8_t *answer;
static size_t answer_nbytes;

/* Instead of the library's: runs in the forked process. */
_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories)
{
    char request[4096];
    (void)debug_directories;
    if (read(fd, request, sizeof request) > 0)
        (void)!write(fd, answer, answer_nbytes);
    _exit(0);
}

static void check_name(const char *name)
{
    REQUIRE(name == NULL || strlen(name) <= 4 * SYMBOL_TEXT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const uint64_t pcs[] = {16, 4096};
    struct tbed_symbols_options options = {.size = sizeof options, .timeout_ms = 100};
    struct tbed_symbols_module module = {.path = "/dev/null"};
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    struct tbed_frame frames[8];
    struct tbed_symbol symbol;
    enum tbed_symbols_state state;
    answer = data;
    answer_nbytes = nbytes;
    REQUIRE(symbols != NULL);
    tbed_symbols_resolve_many(symbols, &module, pcs, 2);
    for (int i = 0; i < 2; i++) {
        if (tbed_symbols_find(symbols, &module, pcs[i], &symbol, &state))
            check_name(symbol.name);
        REQUIRE(tbed_symbols_state_text(state) != NULL);
        size_t count = tbed_symbols_frames(symbols, &module, pcs[i], frames, 8);
        for (size_t j = 0; j < count && j < 8; j++)
            check_name(frames[j].function);
    }
    check_name(tbed_symbols_trouble(symbols, &module));
    tbed_symbols_close(symbols);
    return 0;
}
