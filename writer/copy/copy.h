/*
 * Copying a trace's blocks into another file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_COPY_H
#define TRACEBED_WRITER_COPY_H

#include "format/file/header.h"

struct tbed_kept_block { /* of the new file, not sealed yet */
    uint64_t offset, source_offset;
    uint64_t last_tick;
    uint32_t nbytes, used_nbytes;
    uint32_t kind, stream, sequence;
    bool is_late; /* begins after the cut: not copied */
    /* Damaged or missing: not copied, but it has a number. Only the next field and those above are valid. */
    bool is_lost;
    uint64_t first_tick;
};

struct tbed_copy {
    const uint8_t *map; /* the source */
    struct tbed_header_fields fields;
    uint64_t page_count;     /* to copy */
    uint64_t cut_tick;       /* later events are left out */
    uint64_t file_id;        /* of the new file */
    bool strings_only;       /* and cells pages that have any */
    uint64_t cells_page;     /* a cells page that is copied even if it has none; 0: none */
    uint32_t *moved;         /* NULL, or page_count zeros: the number that each copied page has now */
    uint8_t *out;            /* zeros */
    uint64_t out_page_count; /* starts at 1 */
    uint64_t left_out_count; /* damaged blocks, and those that are gone */
    bool believes_entries;   /* a reader finds blocks by their entries; set when the copy begins */
    bool tells_losses;       /* they get numbers, and LOST records */
    uint64_t unknown_count;  /* of these, pages and cells of which nothing else is known */
    struct tbed_kept_block *kept;
    size_t kept_count, kept_room;
    uint8_t *ordinals; /* the ordinals that were copied, a bit each */
};

const struct tbed_disk_header *tbed_copy_source_header(const struct tbed_copy *copy);
/* Starts over if called again. False: no memory. */
bool tbed_copy_pages(struct tbed_copy *copy);
/* The number of the new file's next page that is not a directory page. */
uint64_t tbed_copy_page_next(struct tbed_copy *copy);
/* Makes the header page, numbers the blocks from 0 without gaps, and seals them. */
void tbed_copy_finish_blocks(struct tbed_copy *copy);
/* Notes the pages in [from, claimed) that were begun; 'nbytes' of the source are mapped. False: no memory. */
bool tbed_copy_note_cut(struct tbed_copy *copy, uint64_t from, uint64_t claimed, uint64_t nbytes);
/* How many pages tbed_copy_put_losses() will take, directory pages included, after tbed_copy_finish_blocks(). */
uint64_t tbed_copy_loss_pages(const struct tbed_copy *copy);
/* Stores LOST records of what was left out. */
void tbed_copy_put_losses(struct tbed_copy *copy);
/* Stores what the header page says of the blocks: the counters and the directory. */
void tbed_copy_finish_header(struct tbed_copy *copy);
void tbed_copy_free(struct tbed_copy *copy);

#endif
