/*
 * An update of the index in progress: index_pages.c finds blocks, and index.c sorts them in. For these two files only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_INDEX_UPDATE_H
#define TRACEBED_INDEX_UPDATE_H

#include "reader/core/file/directory_read.h"

struct tbed_ghost {
    uint32_t kind;
    uint32_t stream;
    uint32_t sequence;
};

struct tbed_pending { /* pages, or a cell, without a block */
    uint32_t page;
    uint32_t page_count; /* with any directory pages between them; 0: a cell */
    uint16_t cell;
    uint8_t shift;
    uint32_t string_page; /* for a cell, its page's ordinal */
};

/* What an update has found, before that is merged into the index. */
struct tbed_index_update {
    struct tbed_reader *reader;
    struct tbed_index *index;
    struct tbed_vector fresh[TBED_BLOCK_CELLS + 1];
    bool no_memory;
    struct tbed_extent known;        /* of the file */
    struct tbed_directory_part part; /* of the directory, that was used last; zeroed: none */
};

void tbed_index_look_at_pending(struct tbed_index_update *update);
void tbed_index_look_at_new_pages(struct tbed_index_update *update);

/* Cells are read once it is settled that their page counts. */
void tbed_index_look_at_cells(struct tbed_index_update *update);

#endif
