/*
 * What the directory says about a page: stored by the page's owner when the page is claimed, begun, ended and sealed.
 *
 * The state is stored last, so a writer that is killed in between leaves an entry that says less than is there, and
 * never more.
 *
 * Source: spec/format.md, sections 3.3 and 4.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"
#include "writer/base/shared_words.h"
#include "writer/pages/pages.h"

static void words_store(uint8_t *to, const uint64_t *words, size_t count)
{
    for (size_t i = count; i-- > 0;)
        tbed_raw_word_store(to + 8 * i, words[i]);
}

/* Word by word: others may note the thread's last block in it, or try in vain to take the page, at any time. */
static struct tbed_disk_entry entry_copy(const struct tbed_disk_entry *entry)
{
    uint64_t words[TBED_ENTRY_NBYTES / 8];
    struct tbed_disk_entry copy;
    for (size_t i = 0; i < TBED_ENTRY_NBYTES / 8; i++)
        words[i] = tbed_raw_word_load((const uint8_t *)entry + 8 * i);
    memcpy(&copy, words, sizeof copy);
    return copy;
}

/* All words except the mark: that is zero and stays so, or a ring's (ring.c). */
static void fields_store(struct tbed_disk_entry *entry, const uint64_t *words)
{
    words_store((uint8_t *)entry + 16, words + 2, TBED_ENTRY_NBYTES / 8 - 2);
    tbed_raw_word_store(entry, words[0]);
}

void tbed_directory_page_begin(uint8_t *map, uint32_t page_nbytes, uint64_t page)
{
    uint64_t words[TBED_COPY_USED_NBYTES / 8];
    uint8_t *at = map + page * page_nbytes;
    tbed_directory_page_make(words, map, (uint32_t)page);
    if (tbed_raw_word_load(at) != words[0])
        words_store(at, words, TBED_COPY_USED_NBYTES / 8);
}

bool tbed_directory_page_is_fresh(const uint8_t *map, uint32_t page_nbytes, uint64_t page)
{
    uint64_t words[TBED_COPY_USED_NBYTES / 8];
    const uint8_t *at = map + page * page_nbytes;
    tbed_directory_page_make(words, map, (uint32_t)page);
    for (size_t i = 0; i < TBED_COPY_USED_NBYTES / 8; i++) {
        uint64_t word = tbed_raw_word_load(at + 8 * i);
        if (word != 0 && word != words[i])
            return false;
    }
    return tbed_bytes_are_zero(at + TBED_COPY_USED_NBYTES, page_nbytes - TBED_COPY_USED_NBYTES);
}

struct tbed_disk_entry *tbed_entry_at(uint8_t *map, uint32_t page_nbytes, const uint8_t *block)
{
    uint64_t page = (uint64_t)(block - map) / page_nbytes;
    return (struct tbed_disk_entry *)(void *)(map + tbed_directory_entry_offset(page_nbytes, page));
}

static void state_store(struct tbed_disk_entry *entry, enum tbed_entry_state state)
{
    __atomic_store_n(&entry->state, (uint8_t)state, __ATOMIC_RELEASE);
}

void tbed_entry_claim(struct tbed_disk_entry *entry, const struct tbed_disk_block *header)
{
    uint64_t words[TBED_ENTRY_NBYTES / 8];
    bool has_string_page = header->kind == TBED_BLOCK_STRINGS || header->kind == TBED_BLOCK_CELLS;
    struct tbed_disk_entry claimed = {
        .state = TBED_ENTRY_CLAIMED,
        .kind = header->kind,
        .sequence = header->sequence,
        .stream = header->stream,
        .first_tick = header->first_tick,
        .depth = has_string_page ? header->string_page : header->depth,
    };
    memcpy(words, &claimed, sizeof words);
    fields_store(entry, words);
}

void tbed_entry_clear(struct tbed_disk_entry *entry)
{
    static const uint64_t zeros[TBED_ENTRY_NBYTES / 8];
    tbed_word_store(entry, 0); /* first: what follows belongs to no block any more */
    fields_store(entry, zeros);
}

void tbed_entry_begin(struct tbed_disk_entry *entry)
{
    state_store(entry, TBED_ENTRY_BEGUN);
}

void tbed_entry_end(struct tbed_disk_entry *entry, uint32_t used_nbytes, const struct tbed_block_ticks *ticks)
{
    tbed_word32_store(&entry->used_nbytes, used_nbytes);
    tbed_word_store(&entry->last_tick, ticks->last);
    tbed_word_store(&entry->least_begin_tick, ticks->least_begin);
    state_store(entry, TBED_ENTRY_ENDED);
}

void tbed_entry_note_last(struct tbed_disk_entry *entry, uint32_t stream, struct tbed_mark mark)
{
    uint64_t last = (uint64_t)TBED_ENTRY_LAST << 16, first = tbed_word_load(entry);
    do {
        struct tbed_mark now = tbed_mark_load(entry);
        if (now.count != mark.count || !tbed_mark_has_block(now) ||
            tbed_word32_load(&entry->stream) != stream)
            return;
    } while (!tbed_shared_swap((tbed_le64 *)(void *)entry, &first, first | last));
}

void tbed_entry_seal(struct tbed_disk_entry *entry, uint64_t checksum)
{
    struct tbed_disk_entry sealed = entry_copy(entry);
    sealed.state = TBED_ENTRY_SEALED;
    sealed.checksum = tbed_le32_make((uint32_t)checksum);
    uint32_t check = tbed_entry_check_make(&sealed);
    tbed_word_store(&entry->checksum, (uint64_t)check << 32 | (uint32_t)checksum);
    state_store(entry, TBED_ENTRY_SEALED);
}

void tbed_entry_count_cell(struct tbed_disk_entry *entry)
{
    tbed_shared_add((tbed_le64 *)(void *)entry, (uint64_t)1 << 8 * offsetof(struct tbed_disk_entry, flags));
}
