/*
 * The symbol reader's process: takes a request, reads the module's files, answers.
 *
 * If anything goes wrong here, the process exits; its parent reports that, and starts another.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/symbols/process/symbol_worker.h"

#include "reader/symbols/debug/debug_arguments.h"
#include "reader/symbols/debug/demangle.h"
#include "reader/symbols/debug/symbol_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_SECONDS 60

struct worker_module {
    struct worker_module *next;
    char *key; /* as requested: path, build-id, debug path */
    size_t key_nbytes;
    struct symbol_table table;
    struct debug_info debug;
    bool is_debug_tried, has_debug;
};

struct worker {
    int fd;
    const char *debug_directories;
    struct worker_module *modules;
    struct symbol_request request;
    char *texts;
    char name[SYMBOL_TEXT_MAX + 1];
    char *answer;
    size_t answer_nbytes, answer_room;
};

void (*tbed_symbol_worker_hook)(const char *path);

static struct worker the_worker;

/* ---- Bytes; without memory or a parent, exit ---- */

static void *must_have(void *memory)
{
    if (memory == NULL)
        _exit(1);
    return memory;
}

static void take(const struct worker *worker, void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t got = read(worker->fd, (char *)bytes + at, nbytes - at);
        if (got == 0 || (got < 0 && errno != EINTR))
            _exit(0);
        at += got > 0 ? (size_t)got : 0;
    }
}

static void give(const struct worker *worker, const void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t put = write(worker->fd, (const char *)bytes + at, nbytes - at);
        if (put < 0 && errno != EINTR)
            _exit(0);
        at += put > 0 ? (size_t)put : 0;
    }
}

/* Writes in as few pieces as possible, since each wakes the parent. */
static void flush(struct worker *worker)
{
    give(worker, worker->answer, worker->answer_nbytes);
    worker->answer_nbytes = 0;
}

static void append(struct worker *worker, const void *bytes, size_t nbytes)
{
    if (nbytes > worker->answer_room - worker->answer_nbytes) {
        worker->answer_room = 2 * (worker->answer_room + nbytes) + 4096;
        worker->answer = must_have(realloc(worker->answer, worker->answer_room));
    }
    if (nbytes > 0)
        memcpy(worker->answer + worker->answer_nbytes, bytes, nbytes);
    worker->answer_nbytes += nbytes;
}

/* ---- Modules ---- */

static struct symbol_places places_of(const struct worker *worker)
{
    const struct symbol_request *request = &worker->request;
    const char *debug_path = worker->texts + request->path_nbytes + 1 + request->build_id_nbytes;
    return (struct symbol_places){worker->debug_directories,
                                  request->debug_path_nbytes > 0 ? debug_path : NULL};
}

/* 'texts' holds the path, terminated, the build-id, and the debug file's path, terminated. */
static struct worker_module *find_module(struct worker *worker, size_t key_nbytes)
{
    struct worker_module *module = worker->modules;
    while (module != NULL &&
           (module->key_nbytes != key_nbytes || memcmp(module->key, worker->texts, key_nbytes) != 0))
        module = module->next;
    if (module != NULL)
        return module;
    module = must_have(calloc(1, sizeof *module));
    module->key = must_have(malloc(key_nbytes));
    module->key_nbytes = key_nbytes;
    memcpy(module->key, worker->texts, key_nbytes);
    struct tbed_symbols_module wanted = {.path = worker->texts,
                                         .build_id =
                                             (uint8_t *)worker->texts + worker->request.path_nbytes + 1,
                                         .build_id_nbytes = worker->request.build_id_nbytes};
    struct symbol_places places = places_of(worker);
    tbed_symbol_table_open(&module->table, &wanted, &places);
    module->next = worker->modules;
    worker->modules = module;
    return module;
}

static void append_files(struct worker *worker, const struct symbol_table *table)
{
    struct symbol_files_reply reply = {.state = (uint32_t)table->state,
                                       .has_debug = table->debug_file != NULL,
                                       .path_nbytes =
                                           table->debug_path != NULL ? strlen(table->debug_path) : 0};
    append(worker, &reply, sizeof reply);
    append(worker, table->debug_path, reply.path_nbytes);
}

/* ---- Answers ---- */

static const char *plain_name(const struct worker *worker, const char *name)
{
    return name != NULL && worker->request.wants & SYMBOL_WANT_DEMANGLE ? tbed_demangle(name) : name;
}

static size_t text_nbytes(const char *text)
{
    size_t nbytes = text != NULL ? strlen(text) : 0;
    return nbytes < SYMBOL_TEXT_MAX ? nbytes : SYMBOL_TEXT_MAX;
}

/*
 * The file's full name, without "." and "..": "/build/Python/ceval.c" for "../Python/ceval.c" in "/build/static".
 * Relative if the compiler was told to record no more. Valid until the next call.
 */
static const char *whole_path(const struct debug_frame *frame)
{
    static char given[2 * PATH_MAX], path[2 * PATH_MAX + 1];
    size_t at = 0, kept = 0; /* the length of leading ".." components */
    if (frame->file == NULL)
        return NULL;
    snprintf(given, sizeof given, "%s%s%s", frame->directory != NULL ? frame->directory : "",
             frame->directory != NULL ? "/" : "", frame->file);
    for (const char *part = given; *part != '\0';) {
        part += strspn(part, "/");
        size_t nbytes = strcspn(part, "/");
        bool is_up = nbytes == 2 && memcmp(part, "..", 2) == 0;
        bool is_nothing = nbytes == 0 || (nbytes == 1 && part[0] == '.') || (is_up && given[0] == '/');
        if (is_up && at > kept) {
            while (at > kept && path[--at] != '/')
                continue;
        } else if (!is_nothing) {
            if (at > 0 || given[0] == '/')
                path[at++] = '/';
            memcpy(path + at, part, nbytes);
            at += nbytes;
            kept = is_up ? at : kept;
        }
        part += nbytes;
    }
    path[at] = '\0';
    return path;
}

static uint32_t append_text(struct worker *worker, const char *text)
{
    size_t nbytes = text_nbytes(text);
    append(worker, text, nbytes);
    return (uint32_t)nbytes;
}

/* The first bytes of a symbol's name without its version. NULL: there is no symbol. */
static const char *symbol_name(struct worker *worker, const struct symbol *symbol, size_t nbytes)
{
    if (symbol == NULL || nbytes > SYMBOL_TEXT_MAX)
        return symbol != NULL ? symbol->name : NULL;
    memcpy(worker->name, symbol->name, nbytes);
    worker->name[nbytes] = '\0';
    return plain_name(worker, worker->name);
}

static const char *function_name(struct worker *worker, const struct symbol *symbol)
{
    size_t nbytes = symbol != NULL ? tbed_function_nbytes(symbol->name, symbol->name_nbytes) : 0;
    return symbol_name(worker, symbol, nbytes);
}

static void append_frame(struct worker *worker, const struct debug_frame *frame, const struct symbol *symbol)
{
    struct symbol_reply_frame reply = {.line = frame->line};
    size_t at = worker->answer_nbytes;
    append(worker, &reply, sizeof reply);
    const char *function =
        symbol != NULL ? function_name(worker, symbol) : plain_name(worker, frame->function);
    reply.function_nbytes = (uint16_t)append_text(worker, function);
    reply.file_nbytes = (uint16_t)append_text(worker, whole_path(frame));
    memcpy(worker->answer + at, &reply, sizeof reply);
}

/*
 * The name of a function. Debug information has the name in the source, which may be an internal one
 * ("__GI___libc_malloc") or missing, so the symbol's name is used. Inlined functions have no symbol, and a symbol
 * that begins outside the function is not its name.
 */
static bool is_named_by(struct worker_module *module, const struct debug_frame *frame,
                        const struct symbol *symbol, uint64_t pc)
{
    return symbol != NULL && !frame->is_inlined &&
           (frame->function == NULL || tbed_debug_info_is_one_function(&module->debug, pc, symbol->start));
}

static void append_place(struct worker *worker, struct worker_module *module, uint64_t pc)
{
    struct debug_frame frames[SYMBOL_FRAMES_MAX] = {0};
    bool inlines = worker->request.wants & SYMBOL_WANT_INLINES;
    const struct symbol *symbol = tbed_symbol_table_find(&module->table, pc);
    struct symbol_reply_place reply = {.offset = symbol != NULL ? pc - symbol->start : 0};
    size_t at = worker->answer_nbytes;
    append(worker, &reply, sizeof reply);
    reply.symbol_nbytes =
        append_text(worker, symbol_name(worker, symbol, symbol != NULL ? symbol->name_nbytes : 0));
    reply.function_nbytes = append_text(worker, function_name(worker, symbol));
    if (module->has_debug && worker->request.wants & SYMBOL_WANT_FRAMES)
        reply.frame_count =
            tbed_debug_info_frames(&module->debug, pc, frames, inlines ? SYMBOL_FRAMES_MAX : 1);
    if (reply.frame_count == 0 && symbol != NULL)
        reply.frame_count = 1; /* the function only, without a line */
    for (size_t i = 0; i < reply.frame_count; i++)
        append_frame(worker, &frames[i], is_named_by(module, &frames[i], symbol, pc) ? symbol : NULL);
    memcpy(worker->answer + at, &reply, sizeof reply);
}

/* ---- All functions ---- */

static void append_terminated(struct worker *worker, const char *text)
{
    append_text(worker, text);
    append(worker, "", 1);
}

/* Returns their size; 0: nothing is known about them. */
static uint32_t append_arguments(struct worker *worker, struct worker_module *module,
                                 const struct symbol *symbol)
{
    struct launch_arguments *arguments = NULL;
    if (module->has_debug && worker->request.wants & SYMBOL_WANT_ARGUMENTS)
        arguments = tbed_debug_info_describe(&module->debug, symbol->start, symbol->name);
    uint32_t nbytes = arguments != NULL ? arguments->nbytes : 0;
    append(worker, arguments, nbytes);
    free(arguments);
    return nbytes;
}

static void append_function(struct worker *worker, struct worker_module *module, const struct symbol *symbol)
{
    size_t at = worker->answer_nbytes;
    struct symbol_reply_function reply = {.start = symbol->start, .nbytes = symbol->end - symbol->start};
    struct debug_frame frame = {0};
    size_t nbytes = tbed_function_nbytes(symbol->name, symbol->name_nbytes);
    if (module->has_debug && tbed_debug_info_frames(&module->debug, symbol->start, &frame, 1) > 0)
        reply.line = frame.line;
    append(worker, &reply, sizeof reply);
    append(worker, symbol->name, symbol->name_nbytes);
    append(worker, "", 1);
    nbytes = nbytes < SYMBOL_TEXT_MAX ? nbytes : SYMBOL_TEXT_MAX;
    memcpy(worker->name, symbol->name, nbytes);
    worker->name[nbytes] = '\0';
    append_terminated(worker, tbed_demangle_plain(worker->name));
    append_terminated(worker, tbed_demangle_full(worker->name));
    append_terminated(worker, whole_path(&frame));
    reply.arguments_nbytes = append_arguments(worker, module, symbol);
    memcpy(worker->answer + at, &reply, sizeof reply);
}

static void append_functions(struct worker *worker, struct worker_module *module)
{
    for (size_t i = 0; i < module->table.count; i++)
        append_function(worker, module, &module->table.symbols[i]);
}

/* ---- Requests ---- */

static void answer(struct worker *worker)
{
    const struct symbol_request *request = &worker->request;
    size_t key_nbytes =
        (size_t)request->path_nbytes + 1 + request->build_id_nbytes + request->debug_path_nbytes + 1;
    worker->texts = must_have(malloc(key_nbytes));
    uint64_t *pcs = must_have(malloc((size_t)request->pc_count * sizeof *pcs + 1));
    take(worker, worker->texts, key_nbytes);
    take(worker, pcs, (size_t)request->pc_count * sizeof *pcs);
    if (tbed_symbol_worker_hook != NULL)
        tbed_symbol_worker_hook(worker->texts);
    struct worker_module *module = find_module(worker, key_nbytes);
    append_files(worker, &module->table);
    if (request->wants & SYMBOL_WANT_FRAMES && !module->is_debug_tried) {
        struct symbol_places places = places_of(worker);
        flush(worker);
        module->is_debug_tried = true;
        module->has_debug = tbed_symbol_table_debug(&module->table, &places, &module->debug);
    }
    struct symbol_reply reply = {0};
    size_t at = worker->answer_nbytes;
    append(worker, &reply, sizeof reply);
    if (request->wants & SYMBOL_WANT_LIST)
        append_functions(worker, module);
    for (uint64_t i = 0; i < request->pc_count; i++)
        append_place(worker, module, pcs[i]);
    reply.nbytes = worker->answer_nbytes - at - sizeof reply;
    memcpy(worker->answer + at, &reply, sizeof reply);
    flush(worker);
    free(worker->texts);
    free(pcs);
}

_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories)
{
    struct worker *worker = &the_worker;
    worker->fd = fd;
    worker->debug_directories = debug_directories;
    if (elf_version(EV_CURRENT) == EV_NONE)
        _exit(1);
    tbed_symbol_jail_enter();
    for (;;) {
        take(worker, &worker->request, sizeof worker->request);
        tbed_symbol_jail_limit_time(REQUEST_SECONDS);
        answer(worker);
    }
}

void tbed_symbol_worker_forget(void)
{
    for (struct worker_module *module = the_worker.modules, *next; module != NULL; module = next) {
        next = module->next;
        if (module->has_debug)
            tbed_debug_info_close(&module->debug);
        tbed_symbol_table_close(&module->table);
        free(module->key);
        free(module);
    }
    free(the_worker.answer);
    the_worker = (struct worker){0};
}
