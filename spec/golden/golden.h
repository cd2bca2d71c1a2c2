/*
 * Makes trace files byte by byte, to be golden: what is in them is in the code that made them, and nowhere
 * else.
 *
 * Not for recording: see <tracebed/writer.h>. Nothing is checked here, so that wrong files can be made as
 * well.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GOLDEN_H
#define TRACEBED_GOLDEN_H

#include "format/layout.h"

#define GOLDEN_PAGE_NBYTES 4096u
#define GOLDEN_CELL_NBYTES 512u
#define GOLDEN_NBYTES_MAX  (64u * 4096u)
#define GOLDEN_FILE_ID     0x676F6C64656E2E31u
#define GOLDEN_FIRST_TICK  1000000u

struct golden_file {
    uint8_t *bytes;
    size_t nbytes;
    uint32_t page_nbytes;
    uint32_t cells_used; /* the number of the newest cells page */
    size_t cells_offset;
    uint32_t cell_nbytes;
};

struct golden_block {
    uint8_t *at;
    uint32_t nbytes;
    uint32_t used_nbytes;
    uint32_t string_address; /* the address of the block's start in the string space */
    uint64_t last_tick;
    uint64_t base;
};

struct golden_start { /* the fields of a block's header; zero where the value does not matter */
    enum tbed_block_kind kind;
    uint32_t stream, sequence, generation, string_page, depth;
    uint64_t first_tick; /* 0: GOLDEN_FIRST_TICK */
};

/* Starts a file: a header page with clock 3, state open. The file owns the bytes, and the next file reuses them. */
void golden_begin(struct golden_file *file, uint32_t page_nbytes);
/* Adds an empty page; returns its offset. */
size_t golden_page_claim(struct golden_file *file);
struct golden_block golden_page(struct golden_file *file, const struct golden_start *start);
void golden_cells(struct golden_file *file, uint32_t cell_nbytes, uint32_t sequence, uint32_t string_page);
struct golden_block golden_cell(struct golden_file *file, const struct golden_start *start);
void golden_seal(struct golden_block *block);
/* Stores the numbers of streams and string pages, and closes the file. */
void golden_counts(struct golden_file *file, uint64_t next_stream, uint64_t next_string_page,
                   uint64_t next_reserved);
void golden_shut(struct golden_file *file);

/* ---- The content of blocks ---- */

void golden_word(struct golden_block *block, uint64_t word);
void golden_open_span(struct golden_block *block, uint64_t begin_tick, uint32_t id);
/* 'delta' is relative to the base. */
void golden_event(struct golden_block *block, enum tbed_tag tag, uint32_t id, uint64_t delta);
void golden_time(struct golden_block *block, uint32_t steps);
void golden_pair(struct golden_block *block, uint32_t id, uint64_t delta, uint64_t subtype, uint64_t payload);

struct golden_words {
    uint64_t at[600];
    uint32_t count;
    uint32_t argument_count;
};
void golden_fixed(struct golden_words *words, uint64_t word);
void golden_argument(struct golden_words *words, uint32_t type, uint32_t name_id, const void *value,
                     uint32_t nbytes);
void golden_argument_u64(struct golden_words *words, uint32_t type, uint32_t name_id, uint64_t value);
void golden_extended(struct golden_block *block, uint32_t id, uint64_t delta, uint32_t type, uint32_t aux,
                     const struct golden_words *words);

/* Returns the entry's id. */
uint32_t golden_content(struct golden_block *block, const void *content, uint32_t nbytes);
uint32_t golden_text(struct golden_block *block, const char *text);
uint32_t golden_reference(struct golden_block *block, const uint32_t *ids, uint32_t count);

void golden_record(struct golden_block *block, uint32_t type, const uint32_t *fields, uint32_t fields_nbytes);
#define GOLDEN_RECORD(block, type, ...)                                                                      \
    golden_record(block, type, (const uint32_t[]){__VA_ARGS__}, sizeof(const uint32_t[]){__VA_ARGS__})
#define GOLDEN_U64(value) (uint32_t)(value), (uint32_t)((uint64_t)(value) >> 32)

/* ---- Files ---- */

void golden_valid_write_all(const char *folder);
void golden_recorded_write_all(const char *folder);
void golden_invalid_write_all(const char *folder);

/* Writes FOLDER/NAME.tbed; exits if that fails. */
void golden_write(const char *folder, const char *name, const void *bytes, size_t nbytes);
void golden_file_write(const struct golden_file *file, const char *folder, const char *name);
_Noreturn void golden_fail(const char *what);

/* Writes a line of FOLDER/expected.txt; exits if that fails. */
void golden_expect(const char *folder, const char *line);

#endif
