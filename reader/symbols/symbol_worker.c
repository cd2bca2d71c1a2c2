/*
 * The symbol reader's process: takes a request, looks into the module's files, answers.
 *
 * Whatever goes wrong in here, the process ends; its parent tells, and starts another.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/symbols/symbol_worker.h"

#include "reader/symbols/symbol_table.h"

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
    char *answer;
    size_t answer_nbytes, answer_room;
};

void (*tbed_symbol_worker_hook)(const char *path);

/* ---- Bytes; without memory or a parent there is nothing to go on for ---- */

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

/* 'texts' are the path, terminated, the build-id, the debug file's path, terminated. */
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

static void tell_files(const struct worker *worker, const struct symbol_table *table)
{
    struct symbol_files_reply reply = {.state = (uint32_t)table->state,
                                       .has_debug = table->debug_file != NULL,
                                       .path_nbytes =
                                           table->debug_path != NULL ? strlen(table->debug_path) : 0};
    give(worker, &reply, sizeof reply);
    give(worker, table->debug_path, reply.path_nbytes);
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
 * The file's whole name, without "." and "..": "/build/Python/ceval.c" of "../Python/ceval.c" in "/build/static". Valid
 * until the next call.
 */
static const char *whole_path(const struct debug_frame *frame)
{
    static char given[2 * PATH_MAX], path[2 * PATH_MAX + 1];
    size_t at = 0;
    if (frame->file == NULL)
        return NULL;
    snprintf(given, sizeof given, "%s%s%s", frame->directory != NULL ? frame->directory : "",
             frame->directory != NULL ? "/" : "", frame->file);
    if (given[0] != '/')
        return given;
    for (const char *part = given; *part != '\0';) {
        part += strspn(part, "/");
        size_t nbytes = strcspn(part, "/");
        if (nbytes == 2 && memcmp(part, "..", 2) == 0) {
            while (at > 0 && path[--at] != '/')
                continue;
        } else if (nbytes > 0 && !(nbytes == 1 && part[0] == '.')) {
            path[at++] = '/';
            memcpy(path + at, part, nbytes);
            at += nbytes;
        }
        part += nbytes;
    }
    path[at] = '\0';
    return path;
}

static void append_frames(struct worker *worker, const struct debug_frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *function = plain_name(worker, frames[i].function);
        const char *file = whole_path(&frames[i]);
        struct symbol_reply_frame reply = {.line = frames[i].line,
                                           .function_nbytes = (uint16_t)text_nbytes(function),
                                           .file_nbytes = (uint16_t)text_nbytes(file)};
        append(worker, &reply, sizeof reply);
        append(worker, function, reply.function_nbytes);
        append(worker, file, reply.file_nbytes);
    }
}

static void append_place(struct worker *worker, struct worker_module *module, uint64_t pc)
{
    struct debug_frame frames[SYMBOL_FRAMES_MAX];
    bool inlines = worker->request.wants & SYMBOL_WANT_INLINES;
    const struct symbol *symbol = tbed_symbol_table_find(&module->table, pc);
    const char *name = symbol != NULL ? plain_name(worker, symbol->name) : NULL;
    struct symbol_reply_place reply = {.offset = symbol != NULL ? pc - symbol->start : 0,
                                       .symbol_nbytes = (uint32_t)text_nbytes(name)};
    if (module->has_debug && worker->request.wants & SYMBOL_WANT_FRAMES)
        reply.frame_count =
            (uint32_t)tbed_debug_info_frames(&module->debug, pc, frames, inlines ? SYMBOL_FRAMES_MAX : 1);
    append(worker, &reply, sizeof reply);
    append(worker, name, reply.symbol_nbytes);
    append_frames(worker, frames, reply.frame_count);
}

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
    tell_files(worker, &module->table);
    if (request->wants & SYMBOL_WANT_FRAMES && !module->is_debug_tried) {
        struct symbol_places places = places_of(worker);
        module->is_debug_tried = true;
        module->has_debug = tbed_symbol_table_debug(&module->table, &places, &module->debug);
    }
    worker->answer_nbytes = 0;
    for (uint64_t i = 0; i < request->pc_count; i++)
        append_place(worker, module, pcs[i]);
    struct symbol_reply reply = {worker->answer_nbytes};
    give(worker, &reply, sizeof reply);
    give(worker, worker->answer, worker->answer_nbytes);
    free(worker->texts);
    free(pcs);
}

_Noreturn void tbed_symbol_worker_run(int fd, const char *debug_directories)
{
    struct worker worker = {.fd = fd, .debug_directories = debug_directories};
    if (elf_version(EV_CURRENT) == EV_NONE)
        _exit(1);
    tbed_symbol_jail_enter();
    for (;;) {
        take(&worker, &worker.request, sizeof worker.request);
        tbed_symbol_jail_limit_time(REQUEST_SECONDS);
        answer(&worker);
    }
}
