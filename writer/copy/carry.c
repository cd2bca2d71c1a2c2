/*
 * What a file of a series takes over from the one before: all strings, and those records that later events can need.
 *
 * String pages keep their ordinals, so every id stays what it was. Records are written anew, without those that are
 * over: threads that have ended, units that are no longer loaded, what a later record repeats, anchors.
 *
 * Source: spec/format.md, sections 4, 7 and 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "format/block.h"
#include "format/file/directory.h"
#include "format/record.h"
#include "writer/base/kernel.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/copy/carry.h"
#include "writer/copy/copy.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/pages/pages.h"
#include "writer/store/entries.h"

struct last_word {    /* the last record about something */
    uint64_t subject; /* 0: free */
    const uint8_t *record;
};

struct carry {
    const struct tbed_store *store;
    struct tbed_copy copy;
    struct tbed_block_writer records; /* in 'copy.out' */
    struct last_word *last_words;     /* a hash table of a power of two slots */
    size_t last_word_room, last_word_count;
    struct tbed_error *error;
};

static bool fail(struct carry *carry, enum tbed_status status, int system_errno)
{
    *carry->error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return false;
}

/* ---- Records of the old file ---- */

typedef void visit_record(struct carry *carry, const uint8_t *record, uint64_t head);

static void visit_block(struct carry *carry, const uint8_t *block, uint32_t nbytes, visit_record *visit)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    while (at < nbytes) {
        uint64_t head = tbed_word_load(block + at);
        if (head == 0 || tbed_record_head_check(head, nbytes - at) != TBED_OK)
            return;
        visit(carry, block + at, head);
        at += tbed_record_head_nbytes(head);
    }
}

static void visit_page(struct carry *carry, const uint8_t *page, visit_record *visit)
{
    uint32_t page_nbytes = carry->copy.fields.page_nbytes;
    struct tbed_block_fields fields = tbed_block_load(page);
    if (fields.kind == TBED_BLOCK_RECORDS)
        visit_block(carry, page, page_nbytes, visit);
    if (fields.kind != TBED_BLOCK_CELLS)
        return;
    uint32_t cell_nbytes = 1u << fields.shift;
    for (uint32_t at = cell_nbytes; at < page_nbytes; at += cell_nbytes)
        if (tbed_block_load(page + at).kind == TBED_BLOCK_RECORDS)
            visit_block(carry, page + at, cell_nbytes, visit);
}

static void visit_all(struct carry *carry, visit_record *visit)
{
    for (uint64_t page = 1; page < carry->copy.page_count; page++)
        visit_page(carry, carry->copy.map + page * carry->copy.fields.page_nbytes, visit);
}

/* ---- What is over ---- */

/* The first fields of records that have them. */
static uint32_t field_of(const uint8_t *record, size_t index)
{
    return tbed_word32_load((const tbed_le32 *)(const void *)(record + TBED_RECORD_HEAD_NBYTES) + index);
}

enum about { ABOUT_UNLOAD, ABOUT_END, ABOUT_NAME, ABOUT_BIND };

static uint64_t subject_make(enum about about, uint32_t stream, uint32_t id)
{
    return (uint64_t)stream << 32 | (uint64_t)about << 30 | (id & TBED_ID_MAX);
}

/* The subject that the record may have the last word on; 0: none. */
static uint64_t subject_of(const uint8_t *record, uint32_t type)
{
    switch (type) {
    case TBED_RECORD_END:
        return subject_make(ABOUT_END, field_of(record, 0), 0);
    case TBED_RECORD_NAME:
        return subject_make(ABOUT_NAME, field_of(record, 0), 0);
    case TBED_RECORD_UNLOAD:
        return subject_make(ABOUT_UNLOAD, field_of(record, 0), field_of(record, 1));
    case TBED_RECORD_BIND:
        return field_of(record, 1) == 1 ? subject_make(ABOUT_BIND, 0, field_of(record, 0)) : 0;
    default:
        return 0;
    }
}

static struct last_word *last_word_find(const struct carry *carry, uint64_t subject)
{
    size_t at = (size_t)(subject * 0x9E3779B97F4A7C15u >> 20);
    for (;; at++) {
        struct last_word *slot = &carry->last_words[at & (carry->last_word_room - 1)];
        if (slot->subject == 0 || slot->subject == subject)
            return slot;
    }
}

static void count_subject(struct carry *carry, const uint8_t *record, uint64_t head)
{
    carry->last_word_count += subject_of(record, tbed_record_head_type(head)) != 0;
}

/* Records that another process added after the count need no slot: they are not over. */
static void note_last_word(struct carry *carry, const uint8_t *record, uint64_t head)
{
    uint64_t subject = subject_of(record, tbed_record_head_type(head));
    if (subject == 0 || carry->last_word_count == 0)
        return;
    carry->last_word_count--;
    *last_word_find(carry, subject) = (struct last_word){subject, record};
}

/* A later record is about the same subject. */
static bool is_followed(const struct carry *carry, const uint8_t *record, uint64_t subject)
{
    return last_word_find(carry, subject)->record > record;
}

static bool has_ended(const struct carry *carry, uint32_t stream)
{
    return last_word_find(carry, subject_make(ABOUT_END, stream, 0))->record != NULL;
}

static bool is_over(const struct carry *carry, const uint8_t *record, uint32_t type)
{
    switch (type) {
    case TBED_RECORD_ANCHOR:
    case TBED_RECORD_SERIES:
    case TBED_RECORD_UNLOAD:
        return true;
    case TBED_RECORD_LOAD:
        return is_followed(carry, record,
                           subject_of(record, TBED_RECORD_UNLOAD)); /* its fields are the same */
    case TBED_RECORD_STREAM:
    case TBED_RECORD_END:
        return has_ended(carry, field_of(record, 0));
    case TBED_RECORD_NAME:
        return has_ended(carry, field_of(record, 0)) || is_followed(carry, record, subject_of(record, type));
    case TBED_RECORD_BIND:
        return is_followed(carry, record, subject_of(record, type));
    default:
        return false;
    }
}

static bool last_words_find(struct carry *carry)
{
    visit_all(carry, count_subject);
    carry->last_word_room = 64;
    while (carry->last_word_room < 2 * carry->last_word_count)
        carry->last_word_room *= 2;
    carry->last_words = tbed_pages_alloc(carry->last_word_room * sizeof *carry->last_words);
    if (carry->last_words == NULL)
        return fail(carry, TBED_ERR_MEMORY, ENOMEM);
    visit_all(carry, note_last_word);
    return true;
}

/* ---- Records of the new file ---- */

static void records_begin(struct carry *carry)
{
    struct tbed_block_writer *records = &carry->records;
    uint32_t page_nbytes = carry->copy.fields.page_nbytes;
    uint64_t page = tbed_copy_page_next(&carry->copy);
    struct tbed_disk_block header = {
        .kind = TBED_BLOCK_RECORDS,
        .shift = (uint8_t)__builtin_ctz(page_nbytes),
        .page = tbed_le32_make((uint32_t)page),
        .file_id = tbed_le64_make(carry->copy.file_id),
        .stream = tbed_le32_make(carry->store->file.process.stream),
        .sequence = tbed_le32_make(records->sequence++),
        .first_tick = tbed_le64_make(tbed_clock_now(&carry->store->file.clock)),
    };
    records->block = carry->copy.out + page * page_nbytes;
    records->nbytes = page_nbytes;
    records->at = TBED_BLOCK_HEADER_NBYTES;
    memcpy(records->block, &header, sizeof header);
}

static void records_seal(const struct tbed_block_writer *records)
{
    if (records->block == NULL)
        return;
    uint64_t tick = tbed_le64_load(((struct tbed_disk_block *)(void *)records->block)->first_tick);
    tbed_block_seal_alone(records->block, records->at, tick);
}

static void record_put(struct carry *carry, const void *record, uint32_t type, uint32_t nbytes)
{
    struct tbed_block_writer *records = &carry->records;
    if (records->block == NULL || nbytes > records->nbytes - records->at) {
        records_seal(&carry->records);
        records_begin(carry);
    }
    uint8_t *room = records->block + records->at;
    memcpy(room + 8, (const uint8_t *)record + 8, nbytes - 8);
    tbed_word_store(room, tbed_record_head_make(type, nbytes));
    records->at += nbytes;
}

static void put_if_needed(struct carry *carry, const uint8_t *record, uint64_t head)
{
    if (!is_over(carry, record, tbed_record_head_type(head)))
        record_put(carry, record, tbed_record_head_type(head), tbed_record_head_nbytes(head));
}

static bool put_records(struct carry *carry, const struct tbed_disk_series *series)
{
    if (!last_words_find(carry))
        return false;
    record_put(carry, series, TBED_RECORD_SERIES, sizeof *series);
    visit_all(carry, put_if_needed);
    tbed_pages_free(carry->last_words, carry->last_word_room * sizeof *carry->last_words);
    return true;
}

/* ---- Pages ---- */

/* So many pages, and the directory pages among them. */
static uint64_t with_directory(uint32_t page_nbytes, uint64_t count)
{
    uint64_t all = count, before;
    do {
        before = all;
        all = count + tbed_directory_pages_below(page_nbytes, before);
    } while (all != before);
    return all;
}

/*
 * Records from so many blocks need no more pages when they are packed again in the same order. The records of a cells
 * page fit into one page.
 */
static uint64_t pages_needed(const struct carry *carry)
{
    uint64_t count = 2; /* the header, and the SERIES record */
    for (uint64_t page = 1; page < carry->copy.page_count; page++) {
        uint32_t kind = (uint8_t)tbed_word_load(carry->copy.map + page * carry->copy.fields.page_nbytes);
        /* A page of unknown kind counts, too: another process may be filling it. */
        bool may_be_cells = kind == TBED_BLOCK_CELLS || kind == TBED_BLOCK_NONE;
        count += may_be_cells ? 2 : kind != TBED_BLOCK_EVENTS;
    }
    return with_directory(carry->copy.fields.page_nbytes, count);
}

/* Makes room in the file and in memory, unless there is enough. */
static bool make_room(struct carry *carry, int fd, struct tbed_carried *carried)
{
    uint64_t nbytes =
        tbed_round_up(pages_needed(carry) * carry->copy.fields.page_nbytes, TBED_GROW_NBYTES_MIN);
    if (nbytes <= carried->room_nbytes)
        return true;
    tbed_carry_release(carry->store, carried);
    int result = tbed_file_extend(fd, 0, nbytes);
    if (result != 0)
        return fail(carry, result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE,
                    result);
    void *room = tbed_shared_map(fd, nbytes, PROT_READ | PROT_WRITE);
    if (room == NULL)
        return fail(carry, TBED_ERR_MAP, errno);
    carried->room = room;
    carried->room_nbytes = nbytes;
    tbed_guard_enter(&carry->store->file, room, nbytes, &carried->room_is_lost);
    return true;
}

void tbed_carry_release(const struct tbed_store *store, struct tbed_carried *carried)
{
    tbed_guard_leave(&store->file, carried->room);
    tbed_pages_free(carried->room, (size_t)carried->room_nbytes);
    carried->room = NULL;
    carried->room_nbytes = 0;
}

/* Takes over everything that processes share, except drops, which stay in the file that they happened in. */
static void finish_header(struct carry *carry)
{
    uint32_t half = carry->copy.fields.page_nbytes / 2;
    tbed_copy_finish_header(&carry->copy);
    memset(((struct tbed_disk_header *)(void *)carry->copy.out)->drops, 0,
           sizeof((struct tbed_disk_header *)(void *)carry->copy.out)->drops);
    memcpy(carry->copy.out + half, carry->copy.map + half, half);
}

/* ---- Going on in blocks that are half full ---- */

static uint64_t moved_offset(const struct carry *carry, const uint8_t *block)
{
    uint64_t offset = (uint64_t)(block - carry->copy.map);
    uint32_t page_nbytes = carry->copy.fields.page_nbytes;
    return (uint64_t)carry->copy.moved[offset / page_nbytes] * page_nbytes + offset % page_nbytes;
}

static uint32_t own_count(const struct carry *carry, enum tbed_block_kind kind)
{
    uint32_t count = 0;
    for (size_t i = 0; i < carry->copy.kept_count; i++)
        count += carry->copy.kept[i].kind == (uint32_t)kind &&
                 carry->copy.kept[i].stream == carry->store->file.process.stream;
    return count;
}

static void unseal(uint8_t *block)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)(void *)block;
    header->used_nbytes = tbed_le32_make(0);
    header->last_tick = header->checksum = tbed_le64_make(0);
}

/* The cells after the last one with strings are free again. */
static uint32_t next_free_cell(const struct carry *carry, uint64_t cells_offset)
{
    uint32_t next = 1, cell_nbytes = tbed_cell_nbytes(carry->copy.fields.page_nbytes);
    for (size_t i = 0; i < carry->copy.kept_count; i++) {
        const struct tbed_kept_block *kept = &carry->copy.kept[i];
        uint64_t in_page = kept->offset - cells_offset;
        if (kept->offset >= cells_offset && in_page < carry->copy.fields.page_nbytes &&
            in_page / cell_nbytes >= next)
            next = (uint32_t)(in_page / cell_nbytes) + 1;
    }
    return next;
}

static void go_on(struct carry *carry, struct tbed_carried *carried)
{
    const struct tbed_store *store = carry->store;
    const struct tbed_file *file = &store->file;
    carried->strings = store->strings;
    carried->strings.sequence = own_count(carry, TBED_BLOCK_STRINGS);
    carried->cells_sequence = own_count(carry, TBED_BLOCK_CELLS);
    if (store->strings.block != NULL) {
        uint64_t offset = moved_offset(carry, store->strings.block);
        unseal(carry->copy.out + offset);
        carried->strings.block = file->map + offset;
    }
    if (tbed_cells_page(store) != NULL) {
        carried->cells_offset = moved_offset(carry, tbed_cells_page(store));
        carried->cells_next = next_free_cell(carry, carried->cells_offset);
    }
    carried->records = carry->records;
    carried->records.block = file->map + (carry->records.block - carry->copy.out);
}

static bool fill(struct carry *carry, const struct tbed_disk_series *series, bool goes_on,
                 struct tbed_carried *carried)
{
    struct tbed_copy *copy = &carry->copy;
    if (!tbed_copy_pages(copy))
        return fail(carry, TBED_ERR_MEMORY, ENOMEM);
    tbed_copy_finish_blocks(copy);
    if (copy->left_out_count != 0) /* some ids would lead nowhere */
        return fail(carry, TBED_ERR_BLOCK_CHECKSUM, 0);
    if (!put_records(carry, series))
        return false;
    if (goes_on)
        go_on(carry, carried);
    else
        records_seal(&carry->records);
    finish_header(carry);
    carried->page_count = copy->out_page_count;
    carried->backed_pages = carried->room_nbytes / copy->fields.page_nbytes;
    return true;
}

static struct carry carry_begin(const struct tbed_store *store, struct tbed_error *error)
{
    const struct tbed_file *file = &store->file;
    struct carry carry = {.store = store, .error = error};
    carry.copy.map = file->map;
    carry.copy.fields = file->fields;
    carry.copy.page_count = tbed_shared_load(&tbed_shared(file)->page_count);
    uint64_t backed_pages = __atomic_load_n(&file->growth.backed_pages, __ATOMIC_ACQUIRE);
    if (carry.copy.page_count > backed_pages) /* somebody has overwritten the header */
        carry.copy.page_count = backed_pages;
    carry.records.kind = TBED_BLOCK_RECORDS;
    *error = (struct tbed_error){.status = TBED_OK};
    return carry;
}

/* Pages that threads claim from now on need room only if they hold strings or records, and there is some to spare. */
enum tbed_status tbed_carry_prepare(const struct tbed_store *store, int fd, struct tbed_carried *carried,
                                    struct tbed_error *error)
{
    struct carry carry = carry_begin(store, error);
    if (make_room(&carry, fd, carried))
        madvise(carried->room, (size_t)carried->room_nbytes, MADV_POPULATE_WRITE);
    return error->status;
}

enum tbed_status tbed_carry(const struct tbed_store *store, int fd, uint64_t file_id,
                            const struct tbed_disk_series *series, bool goes_on, struct tbed_carried *carried,
                            struct tbed_error *error)
{
    const struct tbed_file *file = &store->file;
    struct carry carry = carry_begin(store, error);
    struct tbed_copy *copy = &carry.copy;
    copy->fields.file_id = tbed_le64_load(tbed_shared(file)->file_id);
    copy->file_id = file_id;
    copy->strings_only = true;
    copy->out_page_count = 1;
    if (goes_on && tbed_cells_page(store) != NULL)
        copy->cells_page = (uint64_t)(tbed_cells_page(store) - file->map) >> file->page_shift;
    carried->moved_nbytes = (size_t)copy->page_count * sizeof *copy->moved;
    carried->moved = copy->moved = tbed_pages_alloc(carried->moved_nbytes);
    bool is_filled =
        copy->moved != NULL ? make_room(&carry, fd, carried) : fail(&carry, TBED_ERR_MEMORY, ENOMEM);
    copy->out = carried->room;
    if (is_filled)
        is_filled = fill(&carry, series, goes_on, carried);
    if (is_filled && (carried->room_is_lost || tbed_is_lost(file)))
        is_filled = fail(&carry, TBED_ERR_WRITE, EIO);
    tbed_carry_release(store, carried);
    tbed_copy_free(copy);
    if (!is_filled)
        tbed_pages_free(carried->moved, carried->moved_nbytes);
    return error->status;
}
