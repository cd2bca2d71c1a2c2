/*
 * tracebed/symbols.h: what stands at a program counter.
 *
 * A trace says where something happened as an address in a module (a program, a shared library), which it names by path
 * and build-id. This library finds the symbol there, the file and line, and the functions that were inlined: in the
 * module itself if its build-id is the trace's, else in a separate debug file. It is a library of its own,
 * libtracebed-symbols, on elfutils and libiberty; readers that need no symbols need none of them.
 *
 * What was asked for is kept. Asking for many addresses at once (tbed_symbols_resolve_many(), tbed_names_prepare())
 * saves most of the time; each one after another works as well.
 *
 * Hostile files. Libraries that read debug files may crash on wrong ones. So they run in a process of their own, which
 * is forked with the first question and lives until tbed_symbols_close(). It may open files for reading and nothing
 * else: no network, no programs, 4 GiB of memory, a minute for each question. When it dies, the module is asked for its
 * symbols alone, then for nothing, and tbed_symbols_trouble() tells. A program that ignores SIGCHLD, or reaps all
 * children, loses only the reason. The process holds copies of none of the program's descriptors.
 *
 * Threads: a 'struct tbed_symbols' belongs to one thread at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SYMBOLS_H
#define TRACEBED_SYMBOLS_H

#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_symbols;

struct tbed_symbols_options {
    size_t size;                 /* sizeof(struct tbed_symbols_options); lets the struct grow */
    const char *debug_directory; /* one or several, separated by ':'. NULL: /usr/lib/debug. Copied */
    bool no_demangle;            /* leave names of C++ and Rust as the file has them */
    bool no_lines;               /* symbols alone, which takes less time */
    bool no_inlines;             /* the innermost function only */
    bool debuginfod; /* ask the servers of DEBUGINFOD_URLS for debug files that are not here; else there is
                                  * no traffic, whatever the environment says */
    unsigned timeout_ms; /* for one question; 0: 60,000 */
};

/* NULL: no memory, an elfutils that does not fit, or options that are not allowed. Freed by tbed_symbols_close(). */
struct tbed_symbols *tbed_symbols_open(const struct tbed_symbols_options *options);
void tbed_symbols_close(struct tbed_symbols *symbols);

enum tbed_symbols_state {
    TBED_SYMBOLS_FOUND,      /* the module has symbols */
    TBED_SYMBOLS_NO_FILE,    /* neither the module nor its debug file is there, or they cannot be read */
    TBED_SYMBOLS_MISMATCH,   /* the file at the module's path is another build */
    TBED_SYMBOLS_NO_SYMBOLS, /* the module is there and has none */
    TBED_SYMBOLS_UNREADABLE, /* its files are damaged: tbed_symbols_trouble() */
};

/* The state in words: "another build is there". Never NULL. Any thread. */
const char *tbed_symbols_state_text(enum tbed_symbols_state state);

struct tbed_symbols_module {
    const char *path; /* terminated */
    const uint8_t *build_id;
    size_t build_id_nbytes; /* 0: not known; the file at 'path' is then taken for the right one */
};

struct tbed_symbol {
    const char *name; /* valid until tbed_symbols_close(); demangled unless that was declined */
    uint64_t offset;  /* of the address, from the symbol's start */
    const char
        *function; /* the name without what compilers append to parts and copies of a function (".cold") */
};

/*
 * tbed_symbols_find() finds the symbol at 'pc', an address as the module's ELF file has it. A location of a
 * call is inside the call instruction, so it is looked up as it stands.
 *
 * True and '*symbol_ret' if there is one. '*state_ret' (may be NULL) tells of the module in either case.
 */
static inline bool tbed_symbols_find(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                                     uint64_t pc, struct tbed_symbol *symbol_ret,
                                     enum tbed_symbols_state *state_ret);

/*
 * tbed_symbols_frames() gives the functions at 'pc', the innermost (inlined) one first, with their files and lines. The
 * last one is called as its symbol is, so that its name does not depend on debug information: 'function' of
 * tbed_symbols_find(). What was inlined has its name from the debug information, and so has a function without a symbol.
 * Without debug information the symbol's function is the one frame.
 *
 * Of several symbols at one address the one that programs call is taken: "malloc", not "__libc_malloc" or
 * "__GI___libc_malloc".
 *
 * Shape:     at most 'capacity' are written; returns how many there are. 0: nothing is known.
 * Ownership: texts are valid until tbed_symbols_close().
 */
size_t tbed_symbols_frames(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                           uint64_t pc, struct tbed_frame *frames, size_t capacity);

/* Looks for all of these at once, in one pass over the module, and keeps what is found for the calls above. */
void tbed_symbols_resolve_many(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                               const uint64_t *pcs, size_t count);

/* Why a module's files could not be read: "the debug file X could not be read: its reader was killed by signal 11
 * (Segmentation fault)". NULL: they could. Valid until tbed_symbols_close(). */
const char *tbed_symbols_trouble(struct tbed_symbols *symbols, const struct tbed_symbols_module *module);

/* With 'debuginfod' of struct tbed_symbols_options: why no server could be asked, "http://localhost:8002: Connection refused"; none is asked again then.
 * NULL: they answered, or nobody had to be asked. Valid until tbed_symbols_close(). */
const char *tbed_symbols_debuginfod_trouble(const struct tbed_symbols *symbols);

/* ---- Names in a trace ---- */

/*
 * Makes 'symbols' the reader's resolver: names of native code that the file does not describe then have functions, files
 * and lines, in everything that is made of the reader.
 *
 * Ownership: 'symbols' must stay open until the reader is closed or has another resolver. It serves this reader alone
 *            from then on, since the reader may call it from any thread; its trouble may be asked for when no other
 *            thread uses the reader.
 * Errors:    ERR_MEMORY.
 */
enum tbed_status tbed_symbols_attach(struct tbed_symbols *symbols, struct tbed_reader *reader);

/* What is known about the symbols of a module that a trace has code of. */
struct tbed_symbols_trouble {
    uint32_t module_id; /* the first id of its unit, which tells modules apart */
    const char *path;   /* valid until the reader is closed */
    enum tbed_symbols_state state;
    const char *text; /* as tbed_symbols_trouble() gives it; NULL: none */
};
/* That of the module around 'id'. False: the file describes this place itself, or it is not native code. */
static inline bool tbed_symbols_location_state(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                                               uint32_t id, struct tbed_symbols_trouble *trouble_ret);

/* ---- Structs that may grow: the size that the caller knows goes along, see "ABI" in format.h ---- */

bool tbed_symbols_find_sized(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                             uint64_t pc, struct tbed_symbol *symbol_ret, enum tbed_symbols_state *state_ret,
                             size_t symbol_nbytes);
static inline bool tbed_symbols_find(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                                     uint64_t pc, struct tbed_symbol *symbol_ret,
                                     enum tbed_symbols_state *state_ret)
{
    return tbed_symbols_find_sized(symbols, module, pc, symbol_ret, state_ret, sizeof *symbol_ret);
}

bool tbed_symbols_location_state_sized(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                                       uint32_t id, struct tbed_symbols_trouble *trouble_ret,
                                       size_t trouble_nbytes);
static inline bool tbed_symbols_location_state(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                                               uint32_t id, struct tbed_symbols_trouble *trouble_ret)
{
    return tbed_symbols_location_state_sized(symbols, reader, id, trouble_ret, sizeof *trouble_ret);
}

#ifdef __cplusplus
}
#endif
#endif
