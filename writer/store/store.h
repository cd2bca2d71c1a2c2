/*
 * What a process stores in the file besides events: the state.
 *
 * All of it is changed under 'state_lock'. A writer begins with its store, a store with its file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_STORE_H
#define TRACEBED_WRITER_STORE_H

#include "format/block.h"
#include "writer/base/table.h"
#include "writer/file/state.h"

/* A string or record block that is being filled; 'at' is the next free byte from its start (entries.c). */
struct tbed_block_writer {
    uint8_t *block;
    uint32_t nbytes;
    uint32_t at;
    uint32_t sequence; /* of the next block */
    enum tbed_block_kind kind;
    uint32_t string_page;
    const uint8_t *latest; /* the last block that was begun */
    bool was_short;        /* a sync ended the last block, which had no more than a cell has room for */
};

/* A page of cells that no other process takes from (shared_cells.c). */
struct tbed_cells {
    _Alignas(8) tbed_le64 own; /* as in the header page; 0: none */
    uint32_t sequence;         /* of the next page of cells */
    bool has_handlers; /* signal handlers have interrupted records: more cells are left for them; atomic */
};

/* intern.c */
struct tbed_intern {
    struct tbed_table *table;  /* atomic; NULL: none yet, or closed */
    struct tbed_table *closed; /* the same after closing */
    struct tbed_intern_texts *texts;
};

struct tbed_store {
    struct tbed_file file; /* first: tbed_file_of() */
    struct tbed_block_writer strings, records;
    struct tbed_cells cells;
    uint32_t spare_stream; /* a number whose STREAM record could not be stored; 0: none */
    struct tbed_intern intern;
    struct tbed_table *stacks; /* stack_write.c; NULL: none yet; atomic */
    struct tbed_table *types;  /* type_write.c; the same */
};

/* NULL stays NULL. */
static inline struct tbed_store *tbed_store_of(const struct tbed_writer *writer)
{
    return (struct tbed_store *)(uintptr_t)writer;
}

#endif
