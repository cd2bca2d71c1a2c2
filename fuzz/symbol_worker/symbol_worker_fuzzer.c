/*
 * Runs the symbol worker in a thread of this process, without its sandbox: it finds a module's debug files, reads them
 * and answers requests. The answers must be complete and have the module's symbols. Then memory runs out while the
 * files are read.
 *
 * The input is a byte of request flags, a byte with the length of a build-id, the build-id, and files: for each its
 * place (enum place), two bytes of length, and its content, in which HERE is replaced by the folder of the files.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memmem() */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <tracebed/symbols.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "reader/symbols/debug/symbol_table.h"
#include "reader/symbols/process/symbol_worker.h"
#include "writer/capture/launch/launch_arguments.h"

#define HERE "/dev/shm/tracebed-fuzz-XXXXXX"

enum { WANT_FETCHED = 64, PCS_MAX = 300, PATH_NBYTES = 512, FILE_NBYTES_MAX = 65536 };

enum place { MODULE, BY_BUILD_ID, LINKED, LINKED_HIDDEN, LINKED_ELSEWHERE, FETCHED, SHARED, SPLIT, PLACES };

static struct {
    uint32_t wants;
    uint8_t build_id[256];
    size_t build_id_nbytes;
    char module[PATH_NBYTES], fetched[PATH_NBYTES], directories[PATH_NBYTES];
    uint64_t pcs[PCS_MAX];
    size_t pc_count;
    bool is_for_another_machine; /* a file is, so that arguments may be in registers that this one has not */
} question;

/* ---- Stubs for the sandbox, which this process could not leave again ---- */

static bool is_over; /* the worker's thread exits at the next request */

void tbed_symbol_jail_enter(void) {}

void tbed_symbol_jail_limit_time(unsigned seconds)
{
    REQUIRE(seconds > 0);
    if (is_over)
        pthread_exit(NULL);
}

/* ---- Files ---- */

static void path_of(enum place place, char path[PATH_NBYTES])
{
    static const char *const names[PLACES] = {
        [MODULE] = "module",           [LINKED] = "linked",   [LINKED_HIDDEN] = ".debug/linked",
        [LINKED_ELSEWHERE] = "linked", [FETCHED] = "fetched", [SHARED] = "shared",
        [SPLIT] = "shared.dwo"};
    const char *here = scratch_folder();
    int at = snprintf(path, PATH_NBYTES, "%s%s", place == LINKED_ELSEWHERE ? here : "", here);
    if (place != BY_BUILD_ID) {
        snprintf(path + at, PATH_NBYTES - (size_t)at, "/%s", names[place]);
        return;
    }
    at += snprintf(path + at, PATH_NBYTES - (size_t)at, "/.build-id/%02x/", question.build_id[0]);
    for (size_t i = 1; i < question.build_id_nbytes && at + 10 < PATH_NBYTES; i++)
        at += snprintf(path + at, PATH_NBYTES - (size_t)at, "%02x", question.build_id[i]);
    snprintf(path + at, PATH_NBYTES - (size_t)at, ".debug");
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static bool is_for_another_machine(const uint8_t *data, size_t nbytes)
{
#if defined(__aarch64__)
    static const uint8_t own = EM_AARCH64;
#else
    static const uint8_t own = EM_X86_64;
#endif
    return nbytes > 19 && (data[18] != own || data[19] != 0); /* the ELF header's e_machine */
}

static void put_file(enum place place, const uint8_t *data, size_t nbytes)
{
    static char bytes[FILE_NBYTES_MAX];
    char path[PATH_NBYTES], *here = bytes;
    memcpy(bytes, data, nbytes);
    question.is_for_another_machine |= is_for_another_machine(data, nbytes);
    while ((here = memmem(here, nbytes - (size_t)(here - bytes), HERE, sizeof HERE - 1)) != NULL)
        memcpy(here, scratch_folder(), sizeof HERE - 1);
    path_of(place, path);
    make_folders(path);
    scratch_put(path, bytes, nbytes);
}

static void remove_files(void)
{
    char path[PATH_NBYTES];
    for (enum place place = 0; place < PLACES; place++) {
        path_of(place, path);
        unlink(path);
    }
}

static void take_input(const uint8_t *data, size_t nbytes)
{
    memset(&question, 0, sizeof question);
    question.wants = nbytes > 0 ? data[0] : 0;
    size_t id_nbytes = nbytes > 1 ? data[1] % 32 : 0, at = 2 + id_nbytes;
    if (nbytes >= at) {
        memcpy(question.build_id, data + 2, id_nbytes);
        question.build_id_nbytes = id_nbytes;
    }
    for (; nbytes > at && nbytes - at >= 3;) {
        size_t size = (size_t)data[at + 1] | (size_t)data[at + 2] << 8, left = nbytes - at - 3;
        size = size < left ? size : left;
        put_file(data[at] % PLACES, data + at + 3, size);
        at += 3 + size;
    }
    path_of(MODULE, question.module);
    if (question.wants & WANT_FETCHED)
        path_of(FETCHED, question.fetched);
    snprintf(question.directories, sizeof question.directories, ":/nowhere::%s", scratch_folder());
}

/* ---- The request ---- */

static void add_pc(uint64_t pc)
{
    if (question.pc_count < PCS_MAX && (question.pc_count == 0 || pc > question.pcs[question.pc_count - 1]))
        question.pcs[question.pc_count++] = pc;
}

/* Asks for addresses in all functions, in ascending order. */
static void choose_pcs(const struct symbol_table *table)
{
    add_pc(0);
    for (size_t i = 0; i < table->count; i++)
        for (uint64_t step = 0; step < 64 && table->symbols[i].start + step < table->symbols[i].end;
             step += 3)
            add_pc(table->symbols[i].start + step);
    add_pc(UINT64_MAX);
}

static void ask(int fd)
{
    struct symbol_request request = {.wants = question.wants,
                                     .path_nbytes = (uint32_t)strlen(question.module),
                                     .build_id_nbytes = (uint32_t)question.build_id_nbytes,
                                     .debug_path_nbytes = (uint32_t)strlen(question.fetched),
                                     .pc_count = question.pc_count};
    const struct {
        const void *bytes;
        size_t nbytes;
    } parts[] = {
        {&request, sizeof request},
        {question.module, request.path_nbytes + 1u},
        {question.build_id, question.build_id_nbytes},
        {question.fetched, request.debug_path_nbytes + 1u},
        {question.pcs, question.pc_count * sizeof *question.pcs},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        REQUIRE(parts[i].nbytes == 0 ||
                write(fd, parts[i].bytes, parts[i].nbytes) == (ssize_t)parts[i].nbytes);
}

/* ---- The answer ---- */

static void take(int fd, void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) { /* the fuzzer's timer interrupts reads */
        ssize_t got = recv(fd, (char *)bytes + at, nbytes - at, MSG_WAITALL);
        REQUIRE(got > 0 || (got < 0 && errno == EINTR));
        at += got > 0 ? (size_t)got : 0;
    }
}

static const char *cut(const char **at, const char *end, size_t nbytes)
{
    const char *start = *at;
    REQUIRE((size_t)(end - start) >= nbytes);
    *at += nbytes;
    return start;
}

/* File names must be normalized, without "//", "." and "..", so that reports from different machines agree. */
static void check_path(const char *path, size_t nbytes)
{
    REQUIRE(nbytes == 0 || (memmem(path, nbytes, "//", 2) == NULL && memmem(path, nbytes, "/./", 3) == NULL));
    REQUIRE(nbytes == 0 || path[0] != '/' || memmem(path, nbytes, "/../", 4) == NULL);
}

static void check_place(const char **at, const char *end, const struct symbol *symbol, uint64_t pc)
{
    struct symbol_reply_place place;
    memcpy(&place, cut(at, end, sizeof place), sizeof place);
    const char *name = cut(at, end, place.symbol_nbytes);
    cut(at, end, place.function_nbytes);
    REQUIRE((symbol != NULL) == (place.symbol_nbytes > 0) || symbol->name_nbytes == 0);
    REQUIRE(symbol == NULL || place.offset == pc - symbol->start);
    if (symbol != NULL && (question.wants & SYMBOL_WANT_DEMANGLE) == 0 &&
        symbol->name_nbytes <= SYMBOL_TEXT_MAX)
        REQUIRE(place.symbol_nbytes == symbol->name_nbytes &&
                memcmp(name, symbol->name, symbol->name_nbytes) == 0);
    REQUIRE(place.frame_count <= SYMBOL_FRAMES_MAX);
    REQUIRE(place.frame_count <= 1 || (question.wants & SYMBOL_WANT_INLINES) != 0);
    for (uint64_t i = 0; i < place.frame_count; i++) {
        struct symbol_reply_frame frame;
        memcpy(&frame, cut(at, end, sizeof frame), sizeof frame);
        cut(at, end, frame.function_nbytes);
        check_path(cut(at, end, frame.file_nbytes), frame.file_nbytes);
    }
}

static const char *cut_text(const char **at, const char *end)
{
    const char *zero = memchr(*at, 0, (size_t)(end - *at));
    REQUIRE(zero != NULL);
    return cut(at, end, (size_t)(zero - *at) + 1);
}

/* A description of arguments can be followed. */
static void check_description(const char *bytes, size_t nbytes)
{
    struct launch_arguments *arguments = malloc(nbytes);
    REQUIRE(nbytes <= LAUNCH_DESCRIPTION_NBYTES && arguments != NULL);
    memcpy(arguments, bytes, nbytes);
    REQUIRE(arguments->nbytes == nbytes);
    REQUIRE(question.is_for_another_machine || launch_arguments_check(arguments, nbytes));
    free(arguments);
}

static void check_function(const char **at, const char *end, const struct symbol *symbol)
{
    struct symbol_reply_function function;
    memcpy(&function, cut(at, end, sizeof function), sizeof function);
    REQUIRE(function.start == symbol->start && function.nbytes == symbol->end - symbol->start);
    const char *name = cut_text(at, end);
    REQUIRE(strlen(name) == symbol->name_nbytes && memcmp(name, symbol->name, symbol->name_nbytes) == 0);
    cut_text(at, end);
    cut_text(at, end);
    const char *file = cut_text(at, end);
    check_path(file, strlen(file));
    REQUIRE(function.arguments_nbytes == 0 || (question.wants & SYMBOL_WANT_ARGUMENTS) != 0);
    if (function.arguments_nbytes > 0)
        check_description(cut(at, end, function.arguments_nbytes), function.arguments_nbytes);
}

static void check_answer(int fd, const struct symbol_table *table)
{
    struct symbol_files_reply files;
    struct symbol_reply reply;
    char path[PATH_NBYTES];
    take(fd, &files, sizeof files);
    REQUIRE(files.state == (uint32_t)table->state && files.path_nbytes < sizeof path);
    take(fd, path, (size_t)files.path_nbytes);
    take(fd, &reply, sizeof reply);
    char *bytes = malloc((size_t)reply.nbytes + 1);
    REQUIRE(bytes != NULL);
    take(fd, bytes, (size_t)reply.nbytes);
    const char *at = bytes, *end = bytes + reply.nbytes;
    for (size_t i = 0; i < table->count && (question.wants & SYMBOL_WANT_LIST) != 0; i++)
        check_function(&at, end, &table->symbols[i]);
    for (size_t i = 0; i < question.pc_count; i++)
        check_place(&at, end, tbed_symbol_table_find(table, question.pcs[i]), question.pcs[i]);
    REQUIRE(at == end);
    free(bytes);
}

/* ---- Out of memory ---- */

struct files {
    const struct tbed_symbols_module *module;
    const struct symbol_places *places;
};

/* Symbols and frames may be missing, but nothing may crash or leak. */
static void read_files(void *context)
{
    const struct files *files = context;
    struct symbol_table table;
    struct debug_info info;
    struct debug_frame frames[2];
    failing_start();
    tbed_symbol_table_open(&table, files->module, files->places);
    bool has_debug = tbed_symbol_table_debug(&table, files->places, &info);
    for (size_t i = 0; has_debug && i < question.pc_count; i++) {
        uint64_t pc = question.pcs[i];
        for (size_t capacity = 0; capacity <= 2; capacity++)
            REQUIRE(tbed_debug_info_frames(&info, pc, frames, capacity) <= capacity);
        tbed_debug_info_is_one_function(&info, pc, question.pcs[question.pc_count / 2]);
    }
    failing_stop();
    if (has_debug)
        tbed_debug_info_close(&info);
    tbed_symbol_table_close(&table);
}

static void *work(void *fd)
{
    tbed_symbol_worker_run(*(const int *)fd, question.directories);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct symbol_table table = {0};
    pthread_t thread;
    int ends[2];
    if (nbytes > FILE_NBYTES_MAX)
        return 0;
    elf_version(EV_CURRENT);
    take_input(data, nbytes);
    struct tbed_symbols_module module = {
        .path = question.module, .build_id = question.build_id, .build_id_nbytes = question.build_id_nbytes};
    struct symbol_places places = {question.directories, question.fetched[0] != 0 ? question.fetched : NULL};
    tbed_symbol_table_open(&table, &module, &places);
    choose_pcs(&table);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    REQUIRE(pthread_create(&thread, NULL, work, &ends[1]) == 0);
    is_over = false;
    for (int i = 0; i < 2; i++) { /* the second request finds the module in the worker's cache */
        ask(ends[0]);
        check_answer(ends[0], &table);
    }
    is_over = true;
    ask(ends[0]);
    pthread_join(thread, NULL);
    tbed_symbol_worker_forget();
    close(ends[0]);
    close(ends[1]);
    tbed_symbol_table_close(&table);
    struct failing_plan plan = {.run_count = 24};
    struct files files = {&module, &places};
    failing_run(&plan, read_files, &files);
    remove_files();
    return 0;
}
