/*
 * Names the native code locations of any trace from symbols. Whatever modules the trace has, every location must get
 * the function and line that the symbols give, unless the trace itself describes it.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/symbols.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "reader/symbols/process/symbol_worker.h"

enum { IDS_MAX = 200, TEXT_NBYTES = 65536, LINE = 77 };

static void put(char **at, const void *bytes, size_t nbytes)
{
    memcpy(*at, bytes, nbytes);
    *at += nbytes;
}

/* Replaces the library's worker: all code is in one function. */
_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories)
{
    static char request[1 << 20], answer[1 << 20];
    struct symbol_request head;
    (void)debug_directories;
    for (;;) {
        ssize_t got = read(fd, request, sizeof request);
        if (got < (ssize_t)sizeof head)
            _exit(0);
        memcpy(&head, request, sizeof head);
        struct symbol_files_reply files = {.state = TBED_SYMBOLS_FOUND, .has_debug = 1};
        struct symbol_reply_place place = {.symbol_nbytes = 8, .function_nbytes = 8, .frame_count = 1};
        struct symbol_reply_frame frame = {.line = LINE, .function_nbytes = 8};
        struct symbol_reply reply = {.nbytes = head.pc_count * (sizeof place + 16 + sizeof frame + 8)};
        char *at = answer;
        if (reply.nbytes > sizeof answer / 2)
            _exit(0);
        put(&at, &files, sizeof files);
        put(&at, &reply, sizeof reply);
        for (uint64_t i = 0; i < head.pc_count; i++) {
            put(&at, &place, sizeof place);
            put(&at, "functionfunction", 16);
            put(&at, &frame, sizeof frame);
            put(&at, "function", 8);
        }
        if (write(fd, answer, (size_t)(at - answer)) < 0)
            _exit(0);
    }
}

static void check_id(struct tbed_symbols *symbols, struct tbed_reader *reader, uint32_t id)
{
    static char text[TEXT_NBYTES];
    struct tbed_symbols_trouble trouble;
    struct tbed_location location;
    tbed_id_text(reader, id, TBED_NAME_ALL, text, sizeof text);
    if (!tbed_symbols_location_state(symbols, reader, id, &trouble))
        return;
    REQUIRE(trouble.state == TBED_SYMBOLS_FOUND && trouble.text == NULL && trouble.path != NULL);
    REQUIRE(tbed_location_resolve(reader, id, &location) && location.unit.first_id == trouble.module_id);
    REQUIRE(strstr(text, "function") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_symbols_options options = {.size = sizeof options, .timeout_ms = 500};
    struct tbed_reader *reader = open_input(data, nbytes);
    uint32_t *ids;
    size_t count;
    if (reader == NULL)
        return 0;
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    REQUIRE(symbols != NULL && tbed_symbols_attach(symbols, reader) == TBED_OK);
    REQUIRE(tbed_native_code_find(reader, &ids, &count) == TBED_OK);
    count = count < IDS_MAX ? count : IDS_MAX;
    tbed_names_prepare(reader, ids, count, true);
    for (size_t i = 0; i < count; i++)
        check_id(symbols, reader, ids[i]);
    free(ids);
    tbed_reader_close(reader);
    tbed_symbols_close(symbols);
    return 0;
}
