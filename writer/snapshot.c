/*
 * Snapshots: what a trace holds at one moment becomes a trace of its own, while others go on recording.
 *
 * The moment is a tick. Whatever has a greater tick is left out, so that the pages may be copied one after the other:
 * strings and records that an event needs were there before it. Blocks get new places, numbers and checksums.
 *
 * Source: spec/format.md, sections 4, 10 and 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/block.h"
#include "format/checksum.h"
#include "format/event.h"
#include "writer/private.h"

#define TRIES_MAX 8

struct kept { /* a block of the new file, not sealed yet */
    uint64_t offset, source_offset;
    uint64_t last_tick;
    uint32_t nbytes, used_nbytes;
    uint32_t kind, stream, sequence;
};

struct snapshot {
    const struct tbed_writer
        *writer; /* whose clock is the trace's; NULL: it is another program's, perhaps of another
                                         machine */
    const uint8_t *map;
    uint64_t nbytes;
    struct tbed_header_fields fields;
    uint64_t page_count; /* to copy */
    uint64_t cut_tick;
    uint64_t file_id; /* of the new file */
    uint8_t *out;
    uint64_t out_page_count;
    uint64_t left_out_count;
    bool was_lapped; /* half of the ring was taken anew meanwhile */
    struct kept *kept;
    size_t kept_count, kept_room;
    uint8_t *ordinals; /* string pages that are there, a bit each */
    struct tbed_error *error;
};

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

static const struct tbed_disk_header *source_header(const struct snapshot *snapshot)
{
    return (const struct tbed_disk_header *)(const void *)snapshot->map;
}

static bool keep(struct snapshot *snapshot, const struct kept *kept)
{
    if (snapshot->kept_count == snapshot->kept_room) {
        size_t room = snapshot->kept_room == 0 ? 1024 : 2 * snapshot->kept_room;
        struct kept *grown = tbed_pages_alloc(room * sizeof *grown);
        if (grown == NULL)
            return false;
        if (snapshot->kept != NULL) {
            memcpy(grown, snapshot->kept, snapshot->kept_count * sizeof *grown);
            tbed_pages_free(snapshot->kept, snapshot->kept_room * sizeof *grown);
        }
        snapshot->kept = grown;
        snapshot->kept_room = room;
    }
    snapshot->kept[snapshot->kept_count++] = *kept;
    return true;
}

/* ---- One block ---- */

/* The end of the events up to the cut, and the latest tick among them. */
static uint32_t cut_events(const uint8_t *block, uint32_t used_nbytes, uint64_t cut_tick,
                           uint64_t *last_tick_ret)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    uint32_t nbytes = 1u << fields.shift;
    const uint64_t *at =
        (const uint64_t *)(const void *)(block + tbed_block_words_offset(nbytes, fields.depth));
    const uint64_t *end = (const uint64_t *)(const void *)(block + used_nbytes);
    uint64_t base = fields.first_tick;
    *last_tick_ret = base;
    while (at < end) {
        size_t nwords;
        uint64_t word = tbed_word_load(at);
        if (word == 0 || tbed_event_check(word, at, end, &nwords) != TBED_OK)
            break;
        uint64_t tick = base + tbed_event_delta(word);
        if (tbed_event_tag(word) == TBED_TAG_TIME)
            base += tbed_event_time_ticks(word);
        else if (tick > cut_tick)
            break;
        else if (tick > *last_tick_ret)
            *last_tick_ret = tick;
        at += nwords;
    }
    return (uint32_t)((const uint8_t *)at - block);
}

/* Where the content of the copied block ends. False: it is damaged. */
static bool find_end(const struct snapshot *snapshot, const uint8_t *block,
                     const struct tbed_block_fields *fields, struct kept *kept)
{
    struct tbed_block_scan scan;
    kept->used_nbytes = fields->used_nbytes;
    kept->last_tick = fields->last_tick;
    if (fields->used_nbytes != 0) {
        uint32_t nbytes = fields->kind == TBED_BLOCK_CELLS ? 1u << fields->shift : kept->nbytes;
        if (tbed_block_content_check(block, fields, nbytes, false) != TBED_OK)
            return false;
    } else {
        if (tbed_block_scan(block, kept->nbytes, (enum tbed_block_kind)fields->kind, &scan) != TBED_OK)
            return false;
        kept->used_nbytes = scan.end_nbytes;
        kept->last_tick = scan.last_tick;
    }
    if (fields->kind == TBED_BLOCK_EVENTS && kept->last_tick > snapshot->cut_tick)
        kept->used_nbytes = cut_events(block, kept->used_nbytes, snapshot->cut_tick, &kept->last_tick);
    return true;
}

static void words_copy(uint8_t *to, const uint8_t *from, uint32_t nbytes)
{
    for (uint32_t i = 0; i < nbytes; i += 8) {
        uint64_t word = tbed_word_load(from + i);
        memcpy(to + i, &word, sizeof word);
    }
}

enum copied { COPIED, NOT_THERE, DAMAGED };

/* Copies to 'to', which is zero and stays so if nothing is copied. */
static enum copied copy_whole(const struct snapshot *snapshot, const uint8_t *from, uint8_t *to,
                              const struct tbed_block_place *place, struct kept *kept)
{
    struct tbed_block_fields fields = tbed_block_load(from);
    struct tbed_block_place now = *place;
    uint32_t field;
    uint64_t detail;
    now.next_stream = tbed_shared_load(&source_header(snapshot)->next_stream);
    now.next_string_page = tbed_shared_load(&source_header(snapshot)->next_string_page);
    if (fields.kind == TBED_BLOCK_NONE)
        return NOT_THERE;
    if (tbed_block_header_check(&fields, &now, &field, &detail) != TBED_OK)
        return DAMAGED;
    if (fields.kind == TBED_BLOCK_EVENTS && fields.first_tick > snapshot->cut_tick)
        return NOT_THERE;
    kept->nbytes = fields.kind == TBED_BLOCK_CELLS ? 1u << fields.shift : place->nbytes;
    kept->kind = fields.kind;
    kept->stream = fields.stream;
    kept->sequence = fields.sequence;
    words_copy(to, from, kept->nbytes);
    struct tbed_block_fields after = tbed_block_load(from);
    if (after.kind != fields.kind || after.generation != fields.generation)
        return NOT_THERE; /* a ring's page was given to others meanwhile */
    return find_end(snapshot, to, &fields, kept) ? COPIED : DAMAGED;
}

#define ORDINALS_NBYTES (((uint64_t)1 << 32) / TBED_PAGE_NBYTES_MIN / 8)

/* Of two pages with one ordinal the later is damaged. */
static bool ordinal_is_taken(struct snapshot *snapshot, const uint8_t *block, const struct kept *kept)
{
    bool is_page = kept->kind == TBED_BLOCK_CELLS || kept->offset % snapshot->fields.page_nbytes == 0;
    if (!is_page || (kept->kind != TBED_BLOCK_CELLS && kept->kind != TBED_BLOCK_STRINGS))
        return false;
    uint32_t ordinal = tbed_block_load(block).string_page; /* checked with the header */
    uint8_t *byte = &snapshot->ordinals[ordinal / 8], bit = (uint8_t)(1u << ordinal % 8);
    bool is_taken = (*byte & bit) != 0;
    *byte |= bit;
    return is_taken;
}

/* False: no memory. '*kind_ret' is NONE if nothing was copied. */
static bool copy_block(struct snapshot *snapshot, const uint8_t *from, uint8_t *to,
                       const struct tbed_block_place *place, uint32_t *kind_ret)
{
    struct kept kept = {.offset = (uint64_t)(to - snapshot->out),
                        .source_offset = (uint64_t)(from - snapshot->map),
                        .nbytes = place->nbytes};
    enum copied copied = copy_whole(snapshot, from, to, place, &kept);
    if (copied == COPIED && ordinal_is_taken(snapshot, to, &kept))
        copied = DAMAGED;
    *kind_ret = TBED_BLOCK_NONE;
    if (copied != COPIED) {
        memset(to, 0, place->nbytes);
        snapshot->left_out_count += copied == DAMAGED;
        return true;
    }
    struct tbed_disk_block *header = (struct tbed_disk_block *)(void *)to;
    memset(to + kept.used_nbytes, 0, kept.nbytes - kept.used_nbytes);
    header->page = tbed_le32_make((uint32_t)(kept.offset / snapshot->fields.page_nbytes));
    header->file_id = tbed_le64_make(snapshot->file_id);
    header->generation = tbed_le32_make(0);
    if (kept.kind == TBED_BLOCK_EVENTS)
        header->string_page = tbed_le32_make(0);
    *kind_ret = kept.kind;
    return keep(snapshot, &kept);
}

static bool copy_cells(struct snapshot *snapshot, const uint8_t *from, uint8_t *to,
                       struct tbed_block_place *place)
{
    struct tbed_block_fields fields = tbed_block_load(to);
    uint32_t kind;
    place->nbytes = 1u << fields.shift;
    place->cells_string_page = fields.string_page;
    for (place->cell = 1; place->cell < place->page_nbytes / place->nbytes; place->cell++) {
        size_t offset = (size_t)place->cell * place->nbytes;
        if (!copy_block(snapshot, from + offset, to + offset, place, &kind))
            return false;
    }
    return true;
}

static bool copy_page(struct snapshot *snapshot, uint64_t page)
{
    uint32_t page_nbytes = snapshot->fields.page_nbytes, kind;
    const uint8_t *from = snapshot->map + page * page_nbytes;
    uint8_t *to = snapshot->out + snapshot->out_page_count * page_nbytes;
    struct tbed_block_place place = {
        .file_id = snapshot->fields.file_id,
        .page_nbytes = page_nbytes,
        .page = (uint32_t)page,
        .nbytes = page_nbytes,
    };
    if (!copy_block(snapshot, from, to, &place, &kind))
        return false;
    if (kind == TBED_BLOCK_NONE)
        return true;
    snapshot->out_page_count++;
    return kind != TBED_BLOCK_CELLS || copy_cells(snapshot, from, to, &place);
}

/* A ring from its oldest page on, ahead of those who take pages. */
static bool copy_pages(struct snapshot *snapshot)
{
    uint64_t ring = snapshot->fields.ring_page_count;
    uint64_t given = tbed_shared_load(&source_header(snapshot)->ring_pages_given);
    for (uint64_t i = 0; i < ring; i++)
        if (!copy_page(snapshot, 1 + (given + i) % ring))
            return false;
    for (uint64_t page = ring + 1; page < snapshot->page_count; page++)
        if (!copy_page(snapshot, page))
            return false;
    return true;
}

/* ---- All blocks ---- */

/* Cells pages, the last kind, come first. */
static int compare_kept(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->source_offset < y->source_offset ? -1 : x->source_offset > y->source_offset;
}

static bool is_same(const struct kept *a, const struct kept *b)
{
    return a->kind == b->kind && a->stream == b->stream && a->sequence == b->sequence;
}

/* Of two that say that they are the same block the later in the source is damaged; with a cells page go its cells. */
static void leave_out_second(struct snapshot *snapshot)
{
    struct kept *kept = snapshot->kept;
    size_t count = 0;
    for (size_t i = 0; i < snapshot->kept_count; i++) {
        uint64_t in_page = kept[i].offset % snapshot->fields.page_nbytes;
        bool has_page = snapshot->out[kept[i].offset - in_page] != TBED_BLOCK_NONE;
        if (has_page && (count == 0 || !is_same(&kept[count - 1], &kept[i]))) {
            kept[count++] = kept[i];
            continue;
        }
        memset(snapshot->out + kept[i].offset, 0, kept[i].nbytes);
        snapshot->left_out_count++;
    }
    snapshot->kept_count = count;
}

/* The end of the blocks of one kind and stream that begin with 'first'; '*run_ret' is where the last gap ends. */
static size_t stream_end(const struct snapshot *snapshot, size_t first, size_t *run_ret)
{
    const struct kept *kept = snapshot->kept;
    size_t at = first + 1;
    *run_ret = first;
    for (; at < snapshot->kept_count && kept[at].kind == kept[first].kind &&
           kept[at].stream == kept[first].stream;
         at++)
        if (kept[at].sequence != kept[at - 1].sequence + 1)
            *run_ret = at;
    return at;
}

static void finish_block(struct snapshot *snapshot, const struct kept *kept, uint32_t sequence)
{
    uint8_t *block = snapshot->out + kept->offset;
    ((struct tbed_disk_block *)(void *)block)->sequence = tbed_le32_make(sequence);
    tbed_block_seal(block, kept->used_nbytes, kept->last_tick);
}

/* Numbers from 0, without a gap. Of a ring's streams that have one, what stands before it is too old to be whole. */
static void finish_blocks(struct snapshot *snapshot)
{
    bool is_ring = snapshot->fields.ring_page_count != 0;
    struct kept *kept = snapshot->kept;
    if (snapshot->kept_count > 1)
        qsort(kept, snapshot->kept_count, sizeof *kept, compare_kept);
    leave_out_second(snapshot);
    for (size_t first = 0, end; first < snapshot->kept_count; first = end) {
        size_t run, from = first;
        end = stream_end(snapshot, first, &run);
        if (is_ring && kept[first].kind == TBED_BLOCK_EVENTS && snapshot->cut_tick != UINT64_MAX)
            for (from = run; first < from; first++)
                memset(snapshot->out + kept[first].offset, 0, kept[first].nbytes);
        for (size_t i = from; i < end; i++)
            finish_block(snapshot, &kept[i], (uint32_t)(i - from));
    }
}

static void finish_header(struct snapshot *snapshot)
{
    const struct tbed_disk_header *from = source_header(snapshot);
    struct tbed_disk_header *to = (struct tbed_disk_header *)(void *)snapshot->out;
    struct tbed_header_fields fields = snapshot->fields;
    fields.file_id = snapshot->file_id;
    fields.ring_page_count = 0;
    tbed_header_make(snapshot->out, &fields);
    to->page_count = tbed_le64_make(snapshot->out_page_count);
    to->next_stream = tbed_le64_make(tbed_shared_load(&from->next_stream));
    to->next_string_page = tbed_le64_make(tbed_shared_load(&from->next_string_page));
    to->next_reserved_id = tbed_le64_make(tbed_shared_load(&from->next_reserved_id));
    for (size_t i = 0; i < TBED_DROP_CAUSE_COUNT; i++)
        to->drops[i] = tbed_le64_make(tbed_shared_load(&from->drops[i]));
}

static uint64_t tick_now(const struct tbed_header_fields *fields)
{
    if (fields->clock == TBED_CLOCK_MONOTONIC && fields->anchor_monotonic_ns != 0)
        return tbed_monotonic_ns();
    bool is_counter =
        fields->clock == tbed_clock_pick(TBED_CLOCK_AUTO) && fields->clock != TBED_CLOCK_MONOTONIC;
    return is_counter && fields->anchor_monotonic_ns != 0 ? tbed_counter_read() : UINT64_MAX;
}

/* Where ticks are given, or nobody records, nothing is cut. */
static uint64_t cut_tick(const struct snapshot *snapshot)
{
    const struct tbed_writer *writer = snapshot->writer;
    if (writer != NULL)
        return writer->has_given_ticks ? UINT64_MAX : tbed_clock_now(writer);
    bool is_open = tbed_le32_load(source_header(snapshot)->state) == TBED_STATE_OPEN;
    return is_open ? tick_now(&snapshot->fields) : UINT64_MAX;
}

/* ---- Files ---- */

static enum tbed_status write_mapped(struct snapshot *snapshot, int fd)
{
    uint64_t given = tbed_shared_load(&source_header(snapshot)->ring_pages_given);
    snapshot->out_page_count = 1;
    snapshot->left_out_count = snapshot->kept_count = 0;
    memset(snapshot->ordinals, 0, ORDINALS_NBYTES);
    if (!copy_pages(snapshot))
        return fail(snapshot->error, TBED_ERR_MEMORY, ENOMEM);
    given = tbed_shared_load(&source_header(snapshot)->ring_pages_given) - given;
    snapshot->was_lapped = given > snapshot->fields.ring_page_count / 2;
    finish_blocks(snapshot);
    finish_header(snapshot);
    return tbed_file_shut(snapshot->out, snapshot->fields.page_nbytes, fd)
               ? TBED_OK
               : fail(snapshot->error, TBED_ERR_WRITE, errno);
}

static enum tbed_status write_to(struct snapshot *snapshot, int fd)
{
    uint64_t out_nbytes = snapshot->page_count * snapshot->fields.page_nbytes;
    int result = tbed_file_extend(fd, 0, out_nbytes);
    if (result != 0)
        return fail(snapshot->error,
                    result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE, result);
    snapshot->out = mmap(NULL, out_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (snapshot->out == MAP_FAILED)
        return fail(snapshot->error, TBED_ERR_MAP, errno);
    enum tbed_status status = write_mapped(snapshot, fd);
    munmap(snapshot->out, out_nbytes);
    return status;
}

static void close_source(struct snapshot *snapshot)
{
    if (snapshot->map != NULL)
        munmap((void *)(uintptr_t)snapshot->map, snapshot->nbytes);
    snapshot->map = NULL;
}

static enum tbed_status open_source(struct snapshot *snapshot, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail(snapshot->error, TBED_ERR_OPEN, errno);
    if (!S_ISREG(status.st_mode))
        return fail(snapshot->error, S_ISDIR(status.st_mode) ? TBED_ERR_IS_DIRECTORY : TBED_ERR_NOT_REGULAR,
                    0);
    if (status.st_size == 0)
        return fail(snapshot->error, TBED_ERR_EMPTY, 0);
    void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return fail(snapshot->error, TBED_ERR_MAP, errno);
    snapshot->map = map;
    snapshot->nbytes = (uint64_t)status.st_size;
    return tbed_header_check(map, snapshot->nbytes, &snapshot->fields, snapshot->error);
}

/* The pages that both were claimed and are in the file. */
static enum tbed_status count_pages(struct snapshot *snapshot)
{
    uint64_t in_file = snapshot->nbytes / snapshot->fields.page_nbytes;
    uint64_t claimed = tbed_shared_load(&source_header(snapshot)->page_count);
    snapshot->page_count = claimed < in_file ? claimed : in_file;
    if (snapshot->page_count > snapshot->fields.ring_page_count)
        return TBED_OK;
    fail(snapshot->error, TBED_ERR_PAGE_COUNT, 0);
    snapshot->error->offset = offsetof(struct tbed_disk_header, page_count);
    return TBED_ERR_PAGE_COUNT;
}

/* First the moment, then the pages that there are: what was recorded before is in them. */
static enum tbed_status write_moment(struct snapshot *snapshot, int source_fd, int fd)
{
    snapshot->cut_tick = cut_tick(snapshot);
    close_source(snapshot);
    enum tbed_status status = open_source(snapshot, source_fd);
    if (status == TBED_OK)
        status = count_pages(snapshot);
    return status == TBED_OK ? write_to(snapshot, fd) : status;
}

static enum tbed_status write_new(struct snapshot *snapshot, int source_fd, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? fail(snapshot->error, TBED_ERR_EXISTS, 0)
                               : fail(snapshot->error, TBED_ERR_OPEN, errno);
    enum tbed_status status;
    int tries = 0;
    do { /* a small ring may be gone before it is copied */
        status = ftruncate(fd, 0) == 0 ? write_moment(snapshot, source_fd, fd)
                                       : fail(snapshot->error, TBED_ERR_WRITE, errno);
    } while (status == TBED_OK && snapshot->was_lapped && ++tries < TRIES_MAX);
    if (status != TBED_OK)
        unlink(path);
    close(fd);
    return status;
}

static enum tbed_status snapshot_fd(const struct tbed_writer *writer, int fd, const char *path,
                                    uint64_t *left_out_ret, struct tbed_error *error)
{
    struct snapshot snapshot = {.writer = writer, .error = error, .file_id = tbed_file_id_make()};
    enum tbed_status status = open_source(&snapshot, fd);
    snapshot.ordinals = tbed_pages_alloc(ORDINALS_NBYTES);
    if (status == TBED_OK)
        status =
            snapshot.ordinals != NULL ? write_new(&snapshot, fd, path) : fail(error, TBED_ERR_MEMORY, ENOMEM);
    tbed_pages_free(snapshot.ordinals, ORDINALS_NBYTES);
    if (snapshot.kept != NULL)
        tbed_pages_free(snapshot.kept, snapshot.kept_room * sizeof *snapshot.kept);
    close_source(&snapshot);
    if (left_out_ret != NULL)
        *left_out_ret = snapshot.left_out_count;
    return status;
}

enum tbed_status tbed_trace_snapshot(const char *trace_path, const char *path, uint64_t *left_out_ret,
                                     struct tbed_error *error_ret)
{
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    int fd = open(trace_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(error, TBED_ERR_OPEN, errno);
    enum tbed_status status = snapshot_fd(NULL, fd, path, left_out_ret, error);
    close(fd);
    return status;
}

enum tbed_status tbed_snapshot(struct tbed_writer *writer, const char *path, struct tbed_error *error_ret)
{
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (!tbed_writer_is_usable(writer) || path == NULL)
        return fail(error, TBED_ERR_ARGUMENT, 0);
    int cancel_state = tbed_cancel_disable();
    int fd = tbed_file_duplicate(writer);
    enum tbed_status status =
        fd >= 0 ? snapshot_fd(writer, fd, path, NULL, error) : fail(error, TBED_ERR_OPEN, errno);
    if (fd >= 0)
        close(fd);
    tbed_cancel_restore(cancel_state);
    return status;
}
