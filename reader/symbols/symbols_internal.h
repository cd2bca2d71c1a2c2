/*
 * The state of the symbol library in the user's process. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOLS_INTERNAL_H
#define TRACEBED_SYMBOLS_INTERNAL_H

#include "reader/core/base/hashmap.h"
#include "reader/symbols/process/symbol_process.h"

#include <tracebed/symbols.h>

struct place {      /* what is known of a program counter */
    uint64_t key;   /* the program counter + 1; the highest address has no key */
    uint32_t wants; /* passed by the caller */
    uint32_t frame_count;
    const char *symbol; /* NULL: none */
    const char *function;
    uint64_t offset;
    struct tbed_frame *frames;
};

struct module {
    struct module *next;
    char *path; /* NULL: new */
    uint8_t *build_id;
    size_t build_id_nbytes;
    enum tbed_symbols_state state;
    uint32_t wants; /* that its files can be read with */
    bool is_given_up;
    bool has_debug, is_fetch_tried;
    char *debug_path, *fetched_path;
    const char *trouble; /* NULL: none */
    TBED_HASHMAP(struct place) places;
};

struct tbed_symbols {
    char *debug_directories;
    uint32_t wants;
    bool debuginfod;
    void *debuginfod_library, *debuginfod_client;
    const char *debuginfod_trouble; /* why servers are no longer asked; NULL: no reason */
    struct symbol_process process;
    struct module *modules;
    struct chunk *chunks;
};

/* symbol_memory.c: memory that lives until tbed_symbols_close(). NULL: no memory or, for a text, an empty one. */
void *tbed_symbols_keep(struct tbed_symbols *symbols, size_t nbytes);
const char *tbed_symbols_keep_text(struct tbed_symbols *symbols, const char *text, size_t nbytes);
void tbed_symbols_keep_nothing(struct tbed_symbols *symbols); /* frees it */

/*
 * debuginfod.c: the path, from malloc(), of a debug file from the servers configured by the user. NULL: they do not
 * have it, or could not be asked.
 */
char *tbed_debuginfod_fetch(struct tbed_symbols *symbols, const struct module *module);
void tbed_debuginfod_close(struct tbed_symbols *symbols);

#endif
