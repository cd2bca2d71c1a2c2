/*
 * Opening, refreshing and closing a reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "format/checksum.h"
#include "reader/core/file/directory_read.h"
#include "reader/core/names/id_info.h"
#include "reader/core/names/name_cache.h"
#include "reader/core/open/header_find.h"
#include "reader/core/records/metadata.h"
#include "reader/core/strings/text_budget.h"
#include "reader/core/system/regular_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

/* ---- The checks of the file in section 12 that do not prevent reading ---- */

static void check_shared_zeros(const struct tbed_reader *reader)
{
    const struct tbed_disk_header *header = tbed_reader_header(reader);
    const struct {
        size_t offset, end;
    } zeros[] = {
        {reader->header.fixed_nbytes, offsetof(struct tbed_disk_header, page_count)},
        {offsetof(struct tbed_disk_header, zero_528), offsetof(struct tbed_disk_header, next_stream)},
        {offsetof(struct tbed_disk_header, zero_612), offsetof(struct tbed_disk_header, ring_pages_given)},
        {offsetof(struct tbed_disk_header, zero_624), offsetof(struct tbed_disk_header, drops)},
        {offsetof(struct tbed_disk_header, drops[9]), offsetof(struct tbed_disk_header, closing_checksum)},
        {sizeof *header, TBED_ENTRIES_OFFSET},
    };
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        if (!tbed_bytes_are_zero(reader->map.bytes + zeros[i].offset, zeros[i].end - zeros[i].offset))
            tbed_damage_tell_file(reader, TBED_ERR_SHARED_ZERO, zeros[i].offset, 0);
}

static bool state_is_shut(const struct tbed_reader *reader)
{
    return tbed_word32_load(&tbed_reader_header(reader)->state) == TBED_STATE_SHUT;
}

static uint64_t pages_in_file(const struct tbed_reader *reader)
{
    return reader->map.nbytes / reader->header.page_nbytes;
}

/* What the last writer stores when it leaves. */
struct closing {
    bool is_shut;
    uint64_t checksum;
};

static struct closing closing_load(const struct tbed_reader *reader)
{
    struct closing closing = {.is_shut = state_is_shut(reader)};
    closing.checksum = tbed_word_load(&tbed_reader_header(reader)->closing_checksum);
    return closing;
}

/*
 * Returns whether no writer has joined since 'before' was loaded, not even one that has left again. If so, everything
 * loaded in between belongs to the shut file. writer/tests/models/live_model_test.c has a model of this.
 */
static bool is_still_shut(const struct tbed_reader *reader, const struct closing *before)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    struct closing now = closing_load(reader);
    return before->is_shut && now.is_shut && now.checksum == before->checksum;
}

/*
 * Sets whether the file is shut and, if it is, checks the closing checksum and the file's size. 'before' must have been
 * loaded before anything that is checked here.
 */
static void check_closing(struct tbed_reader *reader, const struct closing *before, bool directory_is_intact)
{
    uint64_t page_nbytes = reader->header.page_nbytes, in_file = pages_in_file(reader);
    uint64_t claimed = tbed_word_load(&tbed_reader_header(reader)->page_count);
    bool matches = before->is_shut && directory_is_intact &&
                   before->checksum == tbed_closing_checksum(reader->map.bytes, reader->map.bytes,
                                                             reader->header.page_nbytes,
                                                             claimed < in_file ? claimed : in_file);
    reader->shut = is_still_shut(reader, before);
    reader->believes_entries = !reader->shut || matches;
    if (reader->shut && directory_is_intact && !matches)
        tbed_damage_tell_file(reader, TBED_ERR_CLOSING_CHECKSUM,
                              offsetof(struct tbed_disk_header, closing_checksum), before->checksum);
    if (reader->shut && (claimed > UINT64_MAX / page_nbytes || claimed * page_nbytes != reader->map.nbytes))
        tbed_damage_tell_file(reader, TBED_ERR_FILE_SIZE, offsetof(struct tbed_disk_header, page_count),
                              reader->map.nbytes);
}

static bool state_is_known(const struct tbed_reader *reader)
{
    uint32_t state = tbed_word32_load(&tbed_reader_header(reader)->state);
    return state == TBED_STATE_OPEN || state == TBED_STATE_SHUT;
}

static void check_state(const struct tbed_reader *reader)
{
    uint32_t state = tbed_word32_load(&tbed_reader_header(reader)->state);
    if (!state_is_known(reader))
        tbed_damage_tell_file(reader, TBED_ERR_STATE, offsetof(struct tbed_disk_header, state), state);
}

/* The number of pages claimed or, if that is unknown or impossible, the number of pages in the file. */
static uint64_t page_count_get(const struct tbed_reader *reader)
{
    uint64_t claimed = tbed_word_load(&tbed_reader_header(reader)->page_count);
    uint64_t in_file = (reader->map.nbytes + reader->header.page_nbytes - 1) / reader->header.page_nbytes;
    if (!reader->has_counters)
        return in_file;
    if (claimed >= (uint64_t)reader->header.ring_page_count + 1 && claimed <= UINT32_MAX)
        return claimed;
    tbed_damage_tell_file(reader, TBED_ERR_PAGE_COUNT, offsetof(struct tbed_disk_header, page_count),
                          claimed);
    return in_file;
}

/* ---- Refreshing: at open, and on request ---- */

/*
 * Loads what the writers share. The count of pages is loaded before the file's size: a writer reserves the space
 * before it claims pages, so all claimed pages are inside the file, unless the machine crashed.
 */
static enum tbed_status look_at_header(struct tbed_reader *reader, struct tbed_error *error)
{
    /* If the fields before them are damaged, the shared ones are only believed if the state among them makes sense. */
    reader->has_counters = !reader->has_copy || state_is_known(reader);
    struct closing closing = closing_load(reader);
    uint64_t page_count = page_count_get(reader);
    enum tbed_status status = tbed_map_refresh(&reader->map, error);
    if (status != TBED_OK)
        return status;
    if (reader->map.nbytes < reader->header.page_nbytes)
        return fail(error, TBED_ERR_READ, 0);
    reader->page_count = page_count;
    reader->shut = closing.is_shut;
    check_state(reader);
    if (reader->has_counters)
        check_shared_zeros(reader);
    check_closing(reader, &closing, tbed_directory_check(reader, reader->page_count));
    return TBED_OK;
}

static void note_origin(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    if (reader->has_origin)
        return;
    tbed_reader_info(reader, &info);
    reader->has_origin = info.event_block_count > 0;
    reader->origin_tick = reader->has_origin ? info.first_tick : reader->header.anchor_ticks;
}

/* Builds a new index from the old one or, in a ring, where blocks may have been replaced, from scratch. */
static enum tbed_status start_index(const struct tbed_reader *reader, struct tbed_index *index_ret)
{
    bool is_ring = reader->header.ring_page_count != 0;
    if (reader->index.scanned_page_count == 0 || is_ring) {
        *index_ret = (struct tbed_index){0};
        return TBED_OK;
    }
    return tbed_index_copy(&reader->index, index_ret);
}

static enum tbed_status look(struct tbed_reader *reader, struct tbed_error *error)
{
    struct tbed_index index = {0};
    struct tbed_metadata *metadata = NULL;
    enum tbed_status status = look_at_header(reader, error);
    if (status != TBED_OK)
        return status;
    status = start_index(reader, &index);
    if (status == TBED_OK)
        status = tbed_index_update(reader, &index);
    if (status == TBED_OK)
        status = tbed_metadata_build(reader, &index, &metadata);
    if (status == TBED_OK)
        status = tbed_index_tell_gaps(reader, &index, &metadata->losses);
    if (status != TBED_OK) {
        tbed_index_free(&index);
        tbed_metadata_free(metadata);
        return fail(error, status, ENOMEM);
    }
    tbed_index_free(&reader->index);
    tbed_metadata_free(reader->metadata);
    reader->index = index;
    reader->metadata = metadata;
    reader->epoch++;
    note_origin(reader);
    return TBED_OK;
}

enum tbed_status tbed_reader_refresh(struct tbed_reader *reader, struct tbed_error *error_ret)
{
    struct tbed_error ignored;
    return look(reader, error_ret != NULL ? error_ret : &ignored);
}

/* ---- Opening and closing ---- */

/* Reports what is wrong with a packed file as a whole. Errors: ERR_PACKED_HEADER: its pages are not those of the trace. */
static enum tbed_status check_packed(const struct tbed_reader *reader, struct tbed_error *error)
{
    if (reader->map.packed == NULL)
        return TBED_OK;
    if (reader->map.packed_page_nbytes != reader->header.page_nbytes)
        return fail(error, TBED_ERR_PACKED_HEADER, 0);
    const struct tbed_packed_file *file = tbed_packed_file(reader->map.packed);
    if (file->problem != TBED_OK)
        tbed_damage_tell_file(reader, file->problem, file->problem_offset, file->nbytes);
    return TBED_OK;
}

/* Takes ownership of the map, on success and on failure. */
static enum tbed_status open_map(struct tbed_map *map, const struct tbed_reader_options *options,
                                 struct tbed_reader **reader_ret, struct tbed_error *error)
{
    struct tbed_reader *reader = calloc(1, sizeof *reader);
    struct tbed_damage_list *damage = malloc(sizeof *damage);
    struct tbed_name_cache *names = tbed_name_cache_make();
    struct tbed_text_budget *texts = tbed_text_budget_make();
    if (reader == NULL || damage == NULL || names == NULL || texts == NULL ||
        !tbed_damage_list_make(damage)) {
        free(reader);
        free(damage);
        tbed_name_cache_free(names);
        tbed_text_budget_free(texts);
        tbed_map_close(map);
        return fail(error, TBED_ERR_MEMORY, ENOMEM);
    }
    reader->map = *map;
    reader->damage = damage;
    reader->names = names;
    reader->texts = texts;
    reader->read_count_at = &reader->read_count;
    reader->skip_hashes = options->skip_hashes;
    enum tbed_status status = tbed_header_find(reader, error);
    if (status == TBED_OK)
        status = check_packed(reader, error);
    if (status == TBED_OK)
        status = look(reader, error);
    if (status != TBED_OK)
        tbed_reader_close(reader);
    else
        *reader_ret = reader;
    return status;
}

enum tbed_status tbed_reader_open_fd(int fd, const struct tbed_reader_options *given,
                                     struct tbed_reader **reader_ret, struct tbed_error *error_ret)
{
    struct tbed_map map;
    struct tbed_reader_options options;
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (!tbed_options_take(&options, sizeof options, given))
        return fail(error, TBED_ERR_ARGUMENT, 0);
    enum tbed_status status = tbed_map_open(&map, fd, options.copy, error);
    return status == TBED_OK ? open_map(&map, &options, reader_ret, error) : status;
}

enum tbed_status tbed_reader_open(const char *path, const struct tbed_reader_options *options,
                                  struct tbed_reader **reader_ret, struct tbed_error *error_ret)
{
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    struct tbed_reader_options taken;
    int fd;
    if (!tbed_options_take(&taken, sizeof taken, options))
        return fail(error, TBED_ERR_ARGUMENT, 0);
    enum tbed_status status = tbed_regular_open(path, &fd);
    if (status != TBED_OK)
        return fail(error, status, status == TBED_ERR_OPEN ? errno : 0);
    status = tbed_reader_open_fd(fd, options, reader_ret, error);
    close(fd);
    return status;
}

enum tbed_status tbed_reader_open_memory(const void *bytes, size_t nbytes,
                                         const struct tbed_reader_options *given,
                                         struct tbed_reader **reader_ret, struct tbed_error *error_ret)
{
    struct tbed_map map;
    struct tbed_reader_options options;
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (!tbed_options_take(&options, sizeof options, given) || (uintptr_t)bytes % 8 != 0)
        return fail(error, TBED_ERR_ARGUMENT, 0);
    enum tbed_status status = tbed_map_memory(&map, bytes, nbytes, error);
    return status == TBED_OK ? open_map(&map, &options, reader_ret, error) : status;
}

void tbed_reader_close(struct tbed_reader *reader)
{
    if (reader == NULL)
        return;
    tbed_index_free(&reader->index);
    tbed_metadata_free(reader->metadata);
    tbed_damage_list_free(reader->damage);
    free(reader->damage);
    tbed_name_cache_free(reader->names);
    tbed_text_budget_free(reader->texts);
    tbed_lookup_free(reader->lookup);
    tbed_map_close(&reader->map);
    free(reader);
}
