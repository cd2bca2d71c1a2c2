/*
 * tracebed/symbols.h: what stands at a program counter.
 *
 * A trace says where something happened as an address in a module (a program, a shared library), which it
 * names by path and build-id. This library finds the symbol there: in the module itself if its build-id is
 * the trace's, else in a separate debug file. It is a library of its own, libtracebed-symbols, on elfutils;
 * readers that need no symbols need neither.
 *
 * A module's symbols are read once, when first asked for, into one sorted array; a lookup is a binary search.
 * Reading the same locations on another machine works as far as the same builds are found there.
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
    const char *debug_directory; /* NULL: /usr/lib/debug. Copied */
    bool no_demangle;            /* leave C++ names as the file has them */
};

/* NULL: no memory, or an elfutils that does not fit. Freed by tbed_symbols_close(). */
struct tbed_symbols *tbed_symbols_open(const struct tbed_symbols_options *options);
void tbed_symbols_close(struct tbed_symbols *symbols);

enum tbed_symbols_state {
    TBED_SYMBOLS_FOUND,      /* the module has symbols */
    TBED_SYMBOLS_NO_FILE,    /* neither the module nor its debug file is there, or they cannot be read */
    TBED_SYMBOLS_MISMATCH,   /* the file at the module's path is another build */
    TBED_SYMBOLS_NO_SYMBOLS, /* the module is there and has none */
};

/* The state in words: "another build is there". Never NULL. Any thread. */
const char *tbed_symbols_state_text(enum tbed_symbols_state state);

struct tbed_symbols_module {
    const char *path; /* terminated */
    const uint8_t *build_id;
    size_t build_id_nbytes; /* 0: not known; the file at 'path' is then taken for the right one */
};

struct tbed_symbol {
    const char *name; /* valid until the next call; demangled unless that was declined */
    uint64_t offset;  /* of the address, from the symbol's start */
};

/*
 * tbed_symbols_find() finds the symbol at 'pc', an address as the module's ELF file has it. A location of a
 * call is inside the call instruction, so it is looked up as it stands.
 *
 * True and '*symbol_ret' if there is one. '*state_ret' (may be NULL) tells of the module in either case.
 */
bool tbed_symbols_find(struct tbed_symbols *symbols, const struct tbed_symbols_module *module, uint64_t pc,
                       struct tbed_symbol *symbol_ret, enum tbed_symbols_state *state_ret);

/* How much of a location to tell. */
enum tbed_location_part {
    TBED_LOCATION_ALL,    /* "libc.so.6!malloc+0x1d"; "module+0x1234" where there is no symbol */
    TBED_LOCATION_SYMBOL, /* "libc.so.6!malloc"; "module" where there is no symbol */
    TBED_LOCATION_MODULE, /* "libc.so.6" */
};

/*
 * tbed_location_text() tells what an id means to a person, as snprintf() would: at most 'buffer_nbytes'
 * bytes, terminated; returns the whole length.
 *
 * Native locations as above; the module is the last part of its name. Bytecode is "name file:line", without
 * the line for SYMBOL and the file alone for MODULE. An id that is no location is its string. 'symbols' may
 * be NULL: then no symbols are looked for.
 */
size_t tbed_location_text(struct tbed_symbols *symbols, const struct tbed_reader *reader, uint32_t id,
                          enum tbed_location_part part, char *buffer, size_t buffer_nbytes);

#ifdef __cplusplus
}
#endif
#endif
