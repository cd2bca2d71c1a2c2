/*
 * Builds traces in memory for tests, byte by byte from the layout, so that any byte can be corrupted.
 *
 * A trace is its header page and blocks that the test begins, fills and seals one by one. Nothing here uses the
 * writing library; both follow spec/format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_BUILDER_H
#define TRACEBED_TRACE_BUILDER_H

#include "format/argument.h"
#include "format/block.h"
#include "format/event.h"
#include "format/record.h"
#include "format/string.h"

#include <tracebed/reader.h>

struct trace {
    uint8_t *bytes; /* aligned to a page */
    size_t nbytes;
    uint32_t page_nbytes;
    uint32_t page_count;
    bool keeps_directory; /* opening it does not make the directory agree with the blocks */
};

/* A block being filled. */
struct trace_block {
    struct trace *trace;
    uint8_t *bytes;
    uint32_t nbytes;
    uint32_t at;        /* where the next item goes */
    uint64_t last_tick; /* of its events so far */
};

#define TRACE_FILE_ID          UINT64_C(0x1122334455667788)
#define TRACE_TICKS_PER_SECOND UINT64_C(1000000000)
#define TRACE_NEXT_STREAM      100000
#define TRACE_CELL_SHIFT       9

/*
 * A trace of 'page_count' pages of 4096 bytes, the header page included; all claimed, state open. Directory pages are
 * added, and not counted: the pages that functions here take are numbered as if there were none.
 */
struct trace trace_make(uint32_t page_count);
struct trace trace_make_paged(uint32_t page_count, uint32_t page_nbytes);
uint32_t trace_page(const struct trace *trace, uint32_t page); /* its number in the file */
void trace_free(struct trace *trace);

static inline struct tbed_disk_header *trace_header(struct trace *trace)
{
    return (struct tbed_disk_header *)trace->bytes;
}

static inline struct tbed_disk_block *trace_block_header(struct trace_block *block)
{
    return (struct tbed_disk_block *)block->bytes;
}

/* Sets the header page's checksum right after a change. */
void trace_header_mend(struct trace *trace);

/*
 * Makes the directory from the blocks, and the closing checksum if it was right before. trace_open() does so, so that a test
 * that changes a block has nothing else to do.
 */
void trace_directory(struct trace *trace);

/* State shut, closing checksum. The test has to seal the blocks. */
void trace_shut(struct trace *trace);

/* Whole pages; strings take the ordinal from 'sequence'. First tick 1000. */
struct trace_block trace_block_begin(struct trace *trace, uint32_t page, enum tbed_block_kind kind,
                                     uint32_t stream, uint32_t sequence);
/* The same with spans open; 'depth' of them, begun at tick 100 + i with id 10 + i. */
struct trace_block trace_events_begin_deep(struct trace *trace, uint32_t page, uint32_t stream,
                                           uint32_t sequence, uint32_t depth);

/* A cells page of cells of 512 bytes, sealed; and a block in one of its cells. */
void trace_cells_page(struct trace *trace, uint32_t page, uint32_t stream, uint32_t sequence,
                      uint32_t ordinal);
struct trace_block trace_cell_begin(struct trace *trace, uint32_t page, uint32_t cell,
                                    enum tbed_block_kind kind, uint32_t stream, uint32_t sequence);

void trace_word(struct trace_block *block, uint64_t word);
/* An event 'delta' ticks after the block's first. */
void trace_event(struct trace_block *block, enum tbed_tag tag, uint32_t id, uint64_t delta);
/* EXTENDED: the words after the second. */
void trace_extended(struct trace_block *block, uint32_t id, uint64_t delta, struct tbed_extended_head head,
                    const uint64_t *words);
void trace_argument(struct trace_block *block, uint32_t type, uint32_t name_id, const void *value,
                    uint32_t nbytes);

/* An entry whose content is as given, terminator included; its id. */
uint32_t trace_content(struct trace_block *block, const void *content, uint32_t nbytes);
/* An entry of one text; its id. */
uint32_t trace_string(struct trace_block *block, const char *text);
/* An entry of references; its id. */
uint32_t trace_references(struct trace_block *block, const uint32_t *ids, size_t count);

/* A record of 32-bit fields after the first word. */
void trace_record(struct trace_block *block, uint32_t type, const uint32_t *fields, size_t field_count);
void trace_bind(struct trace_block *block, uint32_t first_id, uint32_t id_count, uint32_t string_id);
void trace_unit(struct trace_block *block, uint32_t first_id, uint32_t id_count, uint32_t name_id,
                uint64_t base);

/* Seals; also sets the checksum right of a block that was changed after it was sealed. */
void trace_seal(struct trace_block *block);

/* Opens what was built, which must succeed; 'skip_hashes' off. */
struct tbed_reader *trace_open(struct trace *trace);

/* Opens it, verifies, and closes: the first damage, or OK; '*count_ret' (may be NULL) is how many there were. */
enum tbed_status trace_verify(struct trace *trace, uint64_t *count_ret);

/* The status that opening ends with. */
enum tbed_status trace_open_status(const void *bytes, size_t nbytes);

/* All events of a stream, or of the merge if 'stream' is 0: how many; the first 'capacity' of them are kept. */
size_t trace_events(struct tbed_reader *reader, uint32_t stream, struct tbed_event *events, size_t capacity);

#endif
