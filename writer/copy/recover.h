/*
 * The parts of tbed_trace_recover(): which trace it is, the blocks that are intact, what is missing, the new file.
 *
 * Recovery runs in programs of its own, never inside malloc(), so it may use it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_RECOVER_H
#define TRACEBED_WRITER_RECOVER_H

#include "format/block.h"
#include "format/file/directory.h"
#include "format/file/header.h"
#include "tracebed/recorder.h"

struct tbed_found { /* a block */
    /* In the source; UINT64_MAX: a new page for the cells of a cells page whose header is lost. */
    uint64_t offset;
    uint32_t page, cell, kind, shift;
    uint32_t stream, sequence, string_page;
    uint32_t used_nbytes;
    uint32_t
        there_nbytes; /* at most 'used_nbytes': so many bytes of it there are before another block or the end */
    uint64_t first_tick, last_tick;
    bool is_intact;      /* its content, from the start to 'used_nbytes' */
    bool is_sealed;      /* in the source */
    bool is_in_place;    /* in the source, where its numbers say it belongs */
    bool is_cut;         /* part of it is lost: it was damaged, or gone */
    bool is_interrupted; /* what followed is a record that was never committed */
    bool is_of_ring;     /* it has a generation */
    uint32_t new_page, new_sequence;
};

struct tbed_loss { /* a LOST record, in host order */
    uint32_t stream, kind, first_sequence, count;
    uint64_t first_tick, last_tick, nbytes;
};

struct tbed_list { /* zeros at first */
    void *items;
    size_t count, room;
};

struct tbed_recover {
    const uint8_t *map; /* the source */
    uint64_t nbytes;
    struct tbed_header_fields fields; /* of the trace that most of the source belongs to */
    uint32_t page_shift;
    bool is_ring;
    /* recover_entries.c */
    /* The header page, if it exists; its fixed part may be damaged. */
    const struct tbed_disk_header *header;
    bool counters_are_good;     /* those that the writers share, in 'header' */
    struct tbed_list directory; /* struct tbed_directory_part */

    struct tbed_list found;  /* struct tbed_found, by page and cell, one for each */
    struct tbed_list losses; /* struct tbed_loss */
    struct tbed_list known;  /* struct tbed_loss, of LOST records that are already there */
    uint64_t hash_budget;    /* bytes of blocks that may still be checked out of place */
    uint8_t *scratch;        /* a page, aligned */
    struct tbed_recovery result;
    struct tbed_error *error;
};

static inline struct tbed_found *tbed_found_at(const struct tbed_recover *recover, size_t index)
{
    return (struct tbed_found *)recover->found.items + index;
}

/*
 * Are blocks of events missing because later ones took their pages? Not where there are LOST records, which no recorder writes
 * into a ring: the numbers of such a file are those of one in append mode.
 */
static inline bool tbed_recover_was_overwritten(const struct tbed_recover *recover)
{
    return recover->is_ring && recover->known.count == 0;
}

/* recover_list.c: room for another item of 'item_nbytes', zeroed; NULL: no memory. */
void *tbed_list_push(struct tbed_list *list, size_t item_nbytes);

/* recover_header.c: sets 'fields', and 'header' of the result. Errors: NOT_A_TRACE if nothing says what trace it is. */
enum tbed_status tbed_recover_identify(struct tbed_recover *recover);

/* recover_entries.c: finds the parts of the directory. False: no memory. */
bool tbed_recover_directory(struct tbed_recover *recover);

struct tbed_directory_part { /* the header page, or a directory page */
    uint64_t offset;         /* of its first entry, in the source */
    uint32_t first_page;     /* whose entry that is */
    uint32_t count;
};

/* False: the entry cannot be right. */
bool tbed_recover_part_entry(const struct tbed_recover *recover, const struct tbed_directory_part *part,
                             uint32_t index, struct tbed_entry_fields *fields_ret);

/* The entry of a page. False: there is none that can be believed, or it does not say that the page was begun. */
bool tbed_recover_entry(const struct tbed_recover *recover, uint32_t page,
                        struct tbed_entry_fields *fields_ret);

/* recover_find.c: fills 'found' with all blocks, intact or damaged. False: no memory. */
bool tbed_recover_find(struct tbed_recover *recover);
/*
 * Copies [0, used) of an intact block, or as much as the source has of another one, to 'to', which has room for the
 * block.
 */
void tbed_recover_load(const struct tbed_recover *recover, const struct tbed_found *found, uint8_t *to);

/*
 * recover_mend.c: puts something valid in the place of damaged entries and records of a block whose sizes are valid up to
 * 'used_nbytes'. Returns whether there were any.
 */
bool tbed_recover_mend(uint8_t *block, enum tbed_block_kind kind, uint32_t used_nbytes);

/* recover_choose.c: keeps one block for each place, number and ordinal, and gives cells a page. False: no memory. */
bool tbed_recover_choose(struct tbed_recover *recover, struct tbed_list *damaged);

/* recover_losses.c: fills 'losses'. False: no memory. */
bool tbed_recover_losses(struct tbed_recover *recover, const struct tbed_list *damaged);

/* recover_write.c: writes the new file. */
enum tbed_status tbed_recover_write(struct tbed_recover *recover, int fd);

#endif
