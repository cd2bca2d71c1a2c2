/*
 * Symbols and frames at program counters, module by module. Answers are cached.
 *
 * The files are read by another process (symbol_process.h). If it dies while reading a module, only the module's
 * symbols are requested; if that fails too, nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/symbols/symbols_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 60000

/* ---- Open, close ---- */

const char *tbed_symbols_state_text(enum tbed_symbols_state state)
{
    switch (state) {
    case TBED_SYMBOLS_FOUND:
        return "its symbols were found";
    case TBED_SYMBOLS_NO_FILE:
        return "neither it nor its debug file was found";
    case TBED_SYMBOLS_MISMATCH:
        return "the file that is there now is another build";
    case TBED_SYMBOLS_NO_SYMBOLS:
        return "it is stripped, and no debug file was found";
    case TBED_SYMBOLS_UNREADABLE:
        return "its files could not be read";
    }
    return "unknown";
}

struct tbed_symbols *tbed_symbols_open(const struct tbed_symbols_options *given)
{
    struct tbed_symbols_options options;
    if (!tbed_options_take(&options, sizeof options, given))
        return NULL;
    struct tbed_symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL)
        return NULL;
    const char *directory = options.debug_directory != NULL ? options.debug_directory : "/usr/lib/debug";
    symbols->debug_directories = strdup(directory);
    symbols->wants = (options.no_demangle ? 0 : SYMBOL_WANT_DEMANGLE) |
                     (options.no_lines ? 0 : SYMBOL_WANT_FRAMES) |
                     (options.no_inlines ? 0 : SYMBOL_WANT_INLINES);
    symbols->debuginfod = options.debuginfod;
    symbols->process.debug_directories = symbols->debug_directories;
    symbols->process.timeout_ms = options.timeout_ms != 0 ? options.timeout_ms : TIMEOUT_MS;
    if (symbols->debug_directories == NULL) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

void tbed_symbols_close(struct tbed_symbols *symbols)
{
    if (symbols == NULL)
        return;
    tbed_symbol_process_end(&symbols->process);
    for (struct module *module = symbols->modules; module != NULL;) {
        struct module *next = module->next;
        tbed_hashmap_free(&module->places.map);
        free(module->debug_path);
        free(module->fetched_path);
        free(module);
        module = next;
    }
    tbed_symbols_keep_nothing(symbols);
    tbed_debuginfod_close(symbols);
    free(symbols->debug_directories);
    free(symbols);
}

/* ---- Modules and places ---- */

static bool is_module(const struct module *module, const struct tbed_symbols_module *wanted)
{
    return strcmp(module->path, wanted->path) == 0 && module->build_id_nbytes == wanted->build_id_nbytes &&
           (wanted->build_id_nbytes == 0 ||
            memcmp(module->build_id, wanted->build_id, wanted->build_id_nbytes) == 0);
}

/* NULL: no memory. The last one used is first. */
static struct module *find_module(struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted)
{
    struct module **link = &symbols->modules;
    while (*link != NULL && !is_module(*link, wanted))
        link = &(*link)->next;
    struct module *module = *link;
    if (module != NULL)
        *link = module->next;
    else
        module = calloc(1, sizeof *module);
    if (module == NULL)
        return NULL;
    if (module->path == NULL) {
        module->wants = symbols->wants;
        module->state = TBED_SYMBOLS_UNREADABLE;
        module->path = tbed_symbols_keep(symbols, strlen(wanted->path) + 1);
        module->build_id = tbed_symbols_keep(symbols, wanted->build_id_nbytes + 1);
        module->build_id_nbytes = wanted->build_id_nbytes;
        if (module->path == NULL || module->build_id == NULL) {
            free(module);
            return NULL;
        }
        memcpy(module->path, wanted->path, strlen(wanted->path) + 1);
        if (wanted->build_id_nbytes > 0)
            memcpy(module->build_id, wanted->build_id, wanted->build_id_nbytes);
    }
    module->next = symbols->modules;
    symbols->modules = module;
    return module;
}

/* NULL: not requested yet. */
static const struct place *find_place(const struct module *module, uint64_t pc)
{
    return pc + 1 != 0 ? TBED_HASHMAP_FIND(&module->places, pc + 1) : NULL;
}

/* ---- Answers ---- */

struct bytes {
    const char *at;
    size_t left;
};

static const char *cut(struct bytes *bytes, size_t nbytes)
{
    const char *at = bytes->at;
    if (nbytes > bytes->left)
        return NULL;
    bytes->at += nbytes;
    bytes->left -= nbytes;
    return at;
}

static bool cut_text(struct tbed_symbols *symbols, struct bytes *bytes, size_t nbytes, const char **text_ret)
{
    const char *text = cut(bytes, nbytes);
    *text_ret = NULL;
    if (text == NULL || nbytes == 0)
        return text != NULL;
    *text_ret = tbed_symbols_keep_text(symbols, text, strnlen(text, nbytes));
    return true;
}

static bool take_frames(struct tbed_symbols *symbols, struct bytes *bytes, struct place *place, size_t count)
{
    struct tbed_frame *frames = count > 0 ? tbed_symbols_keep(symbols, count * sizeof *frames) : NULL;
    if (count > 0 && frames == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct symbol_reply_frame frame;
        const char *head = cut(bytes, sizeof frame);
        if (head == NULL)
            return false;
        memcpy(&frame, head, sizeof frame);
        frames[i] = (struct tbed_frame){.line = frame.line, .is_inlined = i + 1 < count};
        if (!cut_text(symbols, bytes, frame.function_nbytes, &frames[i].function) ||
            !cut_text(symbols, bytes, frame.file_nbytes, &frames[i].file))
            return false;
    }
    place->frames = frames;
    place->frame_count = (uint32_t)count;
    return true;
}

/* False: the answer is invalid. */
static bool take_place(struct tbed_symbols *symbols, struct bytes *bytes, struct place *place)
{
    struct symbol_reply_place head;
    const char *at = cut(bytes, sizeof head);
    if (at == NULL)
        return false;
    memcpy(&head, at, sizeof head);
    place->offset = head.offset;
    return head.frame_count <= SYMBOL_FRAMES_MAX &&
           cut_text(symbols, bytes, head.symbol_nbytes, &place->symbol) &&
           cut_text(symbols, bytes, head.function_nbytes, &place->function) &&
           take_frames(symbols, bytes, place, (size_t)head.frame_count);
}

static bool take_answer(struct tbed_symbols *symbols, struct module *module, uint32_t wants,
                        const uint64_t *pcs, size_t count, const struct symbol_answer *answer)
{
    struct bytes bytes = {answer->bytes, answer->nbytes};
    for (size_t i = 0; i < count; i++) {
        struct place place = {.key = pcs[i] + 1, .wants = wants};
        if (!take_place(symbols, &bytes, &place))
            return false;
        struct place *kept = place.key != 0 ? TBED_HASHMAP_ADD(&module->places, place.key) : NULL;
        if (kept != NULL)
            *kept = place;
        else if (place.key != 0)
            return false;
    }
    return bytes.left == 0;
}

/* ---- Requests ---- */

static void note_files(struct module *module, struct symbol_answer *answer)
{
    if (!answer->has_files)
        return;
    module->state = answer->state < TBED_SYMBOLS_UNREADABLE ? (enum tbed_symbols_state)answer->state
                                                            : TBED_SYMBOLS_NO_FILE;
    module->has_debug = answer->has_debug;
    free(module->debug_path);
    module->debug_path = answer->debug_path;
    answer->debug_path = NULL;
}

/* One of its files cannot be read. Less is requested next time; after that, nothing. */
static void give_up(struct tbed_symbols *symbols, struct module *module, const char *why)
{
    const char *path = module->debug_path != NULL ? module->debug_path : module->path;
    const char *kind = strcmp(path, module->path) != 0 ? "the debug file " : "";
    size_t nbytes = strlen(kind) + strlen(path) + strlen(why) + 32;
    char *trouble = tbed_symbols_keep(symbols, nbytes);
    if (trouble != NULL)
        snprintf(trouble, nbytes, "%s%s could not be read: %s", kind, path, why);
    module->trouble = trouble;
    if (module->wants & SYMBOL_WANT_FRAMES) {
        module->wants &= ~(uint32_t)SYMBOL_WANT_FRAMES;
        return;
    }
    module->is_given_up = true;
    module->state = TBED_SYMBOLS_UNREADABLE;
}

/* True once there is an answer, or none can be expected. */
static bool ask_once(struct tbed_symbols *symbols, struct module *module, const uint64_t *pcs, size_t count,
                     uint32_t wants)
{
    char trouble[SYMBOL_TROUBLE_NBYTES] = "its reader sent an invalid answer";
    struct symbol_question question = {.wants = wants & (module->wants | ~(uint32_t)SYMBOL_WANT_FRAMES),
                                       .path = module->path,
                                       .build_id = module->build_id,
                                       .build_id_nbytes = module->build_id_nbytes,
                                       .debug_path = module->fetched_path,
                                       .pcs = pcs,
                                       .pc_count = count};
    struct symbol_answer answer = {0};
    bool was_fresh = symbols->process.answered_count == 0 || symbols->process.pid == 0;
    bool is_answered = tbed_symbol_process_ask(&symbols->process, &question, &answer, trouble);
    note_files(module, &answer);
    if (is_answered && !take_answer(symbols, module, wants, pcs, count, &answer)) {
        tbed_symbol_process_end(&symbols->process);
        is_answered = false;
        was_fresh = true;
    }
    free(answer.debug_path);
    free(answer.bytes);
    if (!is_answered && was_fresh) /* otherwise an earlier module may have been the cause */
        give_up(symbols, module, trouble);
    return is_answered;
}

static void ask(struct tbed_symbols *symbols, struct module *module, const uint64_t *pcs, size_t count,
                uint32_t wants)
{
    /* One request for a module that can be read; at most four for one that cannot. */
    bool is_done = false;
    while (!is_done && !module->is_given_up)
        is_done = ask_once(symbols, module, pcs, count, wants);
    if (symbols->debuginfod && !module->is_fetch_tried && is_done && !module->has_debug) {
        module->is_fetch_tried = true;
        module->fetched_path = tbed_debuginfod_fetch(symbols, module);
        if (module->fetched_path != NULL)
            ask_once(symbols, module, pcs, count, wants);
    }
}

/* Collects those that are not known yet, ascending and without duplicates; returns their number. */
static int compare_pcs(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static bool is_known(const struct module *module, uint64_t pc, uint32_t wants)
{
    const struct place *place = find_place(module, pc);
    return place != NULL && (wants & ~place->wants) == 0;
}

static void resolve(struct tbed_symbols *symbols, struct module *module, const uint64_t *pcs, size_t count,
                    uint32_t wants)
{
    uint64_t *unknown = malloc(count * sizeof *unknown + 1);
    size_t unknown_count = 0, kept = 0;
    for (size_t i = 0; unknown != NULL && i < count; i++)
        if (!is_known(module, pcs[i], wants))
            unknown[unknown_count++] = pcs[i];
    if (unknown_count > 1)
        qsort(unknown, unknown_count, sizeof *unknown, compare_pcs);
    for (size_t i = 0; i < unknown_count; i++)
        if (kept == 0 || unknown[i] != unknown[kept - 1])
            unknown[kept++] = unknown[i];
    if (kept > 0)
        ask(symbols, module, unknown, kept, wants);
    free(unknown);
}

/* NULL: nothing is known. */
static const struct place *look_up(struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted,
                                   uint64_t pc, uint32_t wants, enum tbed_symbols_state *state_ret)
{
    struct module *module = find_module(symbols, wanted);
    if (module != NULL && !is_known(module, pc, wants))
        resolve(symbols, module, &pc, 1, wants);
    if (state_ret != NULL)
        *state_ret = module != NULL ? module->state : TBED_SYMBOLS_UNREADABLE;
    return module != NULL ? find_place(module, pc) : NULL;
}

void tbed_symbols_resolve_many(struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted,
                               const uint64_t *pcs, size_t count)
{
    struct module *module = find_module(symbols, wanted);
    if (module != NULL)
        resolve(symbols, module, pcs, count, symbols->wants);
}

bool tbed_symbols_find_sized(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                             uint64_t pc, struct tbed_symbol *symbol_ret, enum tbed_symbols_state *state_ret,
                             size_t symbol_nbytes)
{
    const struct place *place =
        look_up(symbols, module, pc, symbols->wants & SYMBOL_WANT_DEMANGLE, state_ret);
    if (place == NULL || place->symbol == NULL || place->function == NULL)
        return false;
    struct tbed_symbol symbol = {place->symbol, place->offset, place->function};
    tbed_sized_give(symbol_ret, symbol_nbytes, &symbol, sizeof symbol);
    return true;
}

size_t tbed_symbols_frames(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                           uint64_t pc, struct tbed_frame *frames, size_t capacity)
{
    const struct place *place = look_up(symbols, module, pc, symbols->wants, NULL);
    size_t count = place != NULL ? place->frame_count : 0;
    for (size_t i = 0; i < count && i < capacity; i++)
        frames[i] = place->frames[i];
    return count;
}

const char *tbed_symbols_trouble(struct tbed_symbols *symbols, const struct tbed_symbols_module *wanted)
{
    const struct module *module = find_module(symbols, wanted);
    return module != NULL ? module->trouble : NULL;
}
