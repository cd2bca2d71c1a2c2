/*
 * tracebed/symbols.h: find functions, files and lines of native code.
 *
 * A trace stores a place in native code as an address in a module (a program or a shared library), with the module's path
 * and build-id. These functions find the symbol, the file and line, and the inlined functions at that address: in the
 * module itself if its build-id is that of the trace, otherwise in a separate debug file. They use elfutils and
 * libiberty.
 *
 * Results are cached. Resolving many addresses at once (tbed_symbols_resolve_many(), tbed_names_prepare()) is much faster
 * than resolving them one by one.
 *
 * Hostile files: the libraries that read debug files may crash on malformed ones. They therefore run in a process of
 * their own, which is forked for the first lookup and lives until tbed_symbols_close(). It can open files for reading and
 * nothing else: no network, no programs, 4 GiB of memory, and by default a minute per lookup. If it dies, only the
 * symbols of that module are tried, and if it dies again, nothing; tbed_symbols_trouble() returns the reason. If the
 * program ignores SIGCHLD or reaps all children, only that reason is lost. The process inherits no descriptors of the
 * program.
 *
 * Threads: a struct tbed_symbols belongs to one thread at a time.
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
    size_t size;                 /* sizeof(struct tbed_symbols_options) */
    const char *debug_directory; /* one or several, separated by colons; copied. NULL: /usr/lib/debug */
    bool no_demangle;            /* do not demangle names of C++ and Rust */
    bool no_lines;               /* find only symbols, which is faster */
    bool no_inlines;             /* find only the innermost function */
    /* Ask the servers in DEBUGINFOD_URLS for debug files that are not installed. Otherwise there is no network traffic,
     * whatever the environment says. */
    bool debuginfod;
    unsigned timeout_ms; /* per lookup; 0: 60,000 */
};

/* Returns NULL if memory is exhausted, elfutils is incompatible or the options are invalid. Free the result with
 * tbed_symbols_close(). */
struct tbed_symbols *tbed_symbols_open(const struct tbed_symbols_options *options);
void tbed_symbols_close(struct tbed_symbols *symbols);

enum tbed_symbols_state {
    TBED_SYMBOLS_FOUND,      /* the module has symbols */
    TBED_SYMBOLS_NO_FILE,    /* neither the module nor its debug file exists, or they cannot be read */
    TBED_SYMBOLS_MISMATCH,   /* the file at the module's path has another build-id */
    TBED_SYMBOLS_NO_SYMBOLS, /* the module exists but has no symbols */
    TBED_SYMBOLS_UNREADABLE, /* its files are damaged; see tbed_symbols_trouble() */
};

/* The state in words: "its files could not be read". Never NULL. Any thread. */
const char *tbed_symbols_state_text(enum tbed_symbols_state state);

struct tbed_symbols_module {
    const char *path; /* terminated */
    const uint8_t *build_id;
    size_t build_id_nbytes; /* 0: unknown; the file at 'path' is then used */
};

struct tbed_symbol {
    const char *name; /* valid until tbed_symbols_close(); demangled unless 'no_demangle' is set */
    uint64_t offset;  /* of the address from the start of the symbol */
    const char
        *function; /* the name without the suffix that marks parts and copies of a function (".cold") */
};

/*
 * tbed_symbols_find() finds the symbol at 'pc', an address of the module's ELF file. The locations of calls in traces
 * point into the call instruction, so pass them unchanged.
 *
 * Returns true and fills '*symbol_ret' if there is a symbol. '*state_ret' (which may be NULL) is set in either case.
 */
static inline bool tbed_symbols_find(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                                     uint64_t pc, struct tbed_symbol *symbol_ret,
                                     enum tbed_symbols_state *state_ret);

/*
 * tbed_symbols_frames() returns the functions at 'pc' with their files and lines, starting with the innermost (inlined)
 * one. The outermost has the 'function' of struct tbed_symbol as its name, so its name does not depend on debug
 * information. Inlined functions, and functions without a symbol, have their names from the debug information. Without
 * debug information, the symbol's function is the only frame.
 *
 * If an address has several symbols, the public name is used: "malloc", not "__libc_malloc" or "__GI___libc_malloc".
 *
 * Shape:     writes at most 'capacity' frames and returns how many there are; 0 if nothing is known.
 * Ownership: texts are valid until tbed_symbols_close().
 */
size_t tbed_symbols_frames(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                           uint64_t pc, struct tbed_frame *frames, size_t capacity);

/* Resolves all of these addresses in one pass over the module, and caches the results for the calls above. */
void tbed_symbols_resolve_many(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                               const uint64_t *pcs, size_t count);

/* Why a module's files could not be read, as in "the debug file X could not be read: its reader was killed by signal 11
 * (Segmentation fault)"; NULL if they could be. Valid until tbed_symbols_close(). */
const char *tbed_symbols_trouble(struct tbed_symbols *symbols, const struct tbed_symbols_module *module);

/* With 'debuginfod' of struct tbed_symbols_options: why no server could be reached, as in "http://localhost:8002:
 * Connection refused"; servers are not tried again after that. NULL if they answered or were not needed. Valid until
 * tbed_symbols_close(). */
const char *tbed_symbols_debuginfod_trouble(const struct tbed_symbols *symbols);

/* ---- Names in a trace ---- */

/*
 * Makes 'symbols' the reader's resolver. From then on, everything that is made from the reader has functions, files and
 * lines for native code that the file itself does not describe.
 *
 * Ownership: 'symbols' must stay open until the reader is closed or gets another resolver. Since the reader may call it
 *            from any thread, use it with no other reader, and call it yourself only while no other thread uses the
 *            reader.
 * Errors:    ERR_MEMORY.
 */
enum tbed_status tbed_symbols_attach(struct tbed_symbols *symbols, struct tbed_reader *reader);

/* What is known about the symbols of a module. */
struct tbed_symbols_trouble {
    uint32_t module_id; /* the first id of its unit, which identifies the module */
    const char *path;   /* valid until the reader is closed */
    enum tbed_symbols_state state;
    const char *text; /* from tbed_symbols_trouble(); NULL: none */
};
/* For the module that contains 'id'. Returns false if the file describes this place itself, or it is not native code. */
static inline bool tbed_symbols_location_state(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                                               uint32_t id, struct tbed_symbols_trouble *trouble_ret);

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

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
