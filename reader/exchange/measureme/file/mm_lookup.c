/*
 * The string index as a table from ids to records. It is built when it is first needed.
 *
 * The table takes 4 bytes an id if ids are dense, as rustc's are, and 8 bytes a record otherwise.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "reader/exchange/measureme/file/mm_internal.h"

struct mm_lookup {
    pthread_mutex_t lock;
    _Atomic bool is_ready;
    uint64_t max_id;      /* except METADATA */
    uint64_t metadata;    /* the number of its record + 1; 0: none */
    uint32_t *dense;      /* by id: the last record's number + 1 */
    uint64_t dense_count; /* one more than the highest id */
    uint64_t *sorted;     /* id << 32 | record's number */
    size_t sorted_count;
};

struct mm_lookup *tbed_mm_lookup_create(void)
{
    struct mm_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup != NULL)
        pthread_mutex_init(&lookup->lock, NULL);
    return lookup;
}

void tbed_mm_lookup_free(struct mm_lookup *lookup)
{
    if (lookup == NULL)
        return;
    pthread_mutex_destroy(&lookup->lock);
    free(lookup->dense);
    free(lookup->sorted);
    free(lookup);
}

/* ---- The index's records ---- */

static uint64_t index_count(const struct mm_file *file)
{
    uint64_t nbytes = file->streams[MM_STRING_INDEX].nbytes;
    return nbytes < MM_HEADER_NBYTES ? 0 : (nbytes - MM_HEADER_NBYTES) / file->format->index_nbytes;
}

static uint64_t index_address(const struct mm_file *file, uint64_t record)
{
    return MM_HEADER_NBYTES + record * file->format->index_nbytes;
}

/* There is one: the number of records follows from the number of bytes. */
static void record_take(struct mm_position *position, struct mm_index_record *record_ret)
{
    uint8_t bytes[MM_INDEX_NBYTES_MAX] = {0};
    size_t nbytes = position->file->format->index_nbytes;
    tbed_mm_position_take(position, bytes, nbytes);
    *record_ret = nbytes == 8 ? (struct mm_index_record){tbed_le32_at(bytes), tbed_le32_at(bytes + 4)}
                              : (struct mm_index_record){tbed_le64_at(bytes), tbed_le64_at(bytes + 8)};
}

bool mm_index_get(const struct mm_file *file, size_t index, struct mm_index_record *record_ret)
{
    struct mm_position position;
    if (index >= index_count(file))
        return false;
    tbed_mm_position_at(file, MM_STRING_INDEX, index_address(file, index), &position);
    record_take(&position, record_ret);
    return true;
}

bool mm_index_is_valid(const struct mm_file *file, const struct mm_index_record *record)
{
    const struct mm_format *format = file->format;
    bool is_given_meaning =
        format->index_has_regular ? record->id <= UINT32_MAX : record->id <= format->metadata_id;
    return is_given_meaning && record->address >= MM_HEADER_NBYTES &&
           record->address < file->streams[MM_STRING_DATA].nbytes;
}

/* ---- The table ---- */

/* Counts valid records and reports the others as damage. */
static uint64_t index_check(const struct mm_file *file)
{
    struct mm_lookup *lookup = file->lookup;
    struct mm_position position;
    struct mm_index_record record;
    uint64_t valid = 0;
    tbed_mm_position_at(file, MM_STRING_INDEX, MM_HEADER_NBYTES, &position);
    for (uint64_t i = 0, count = index_count(file); i < count; i++) {
        record_take(&position, &record);
        if (!mm_index_is_valid(file, &record)) {
            tbed_mm_damage_add(file, TBED_ERR_PROFILE_INDEX, tbed_mm_source_of(file, MM_STRING_INDEX),
                               mm_file_offset(file, MM_STRING_INDEX, index_address(file, i)), record.id);
        } else if (record.id == file->format->metadata_id) {
            lookup->metadata = i + 1;
        } else {
            lookup->max_id = record.id > lookup->max_id ? record.id : lookup->max_id;
            valid++;
        }
    }
    uint64_t rest = index_address(file, index_count(file));
    if (file->streams[MM_STRING_INDEX].nbytes > rest) {
        tbed_mm_damage_add(file, TBED_ERR_PROFILE_CUT, tbed_mm_source_of(file, MM_STRING_INDEX),
                           mm_file_offset(file, MM_STRING_INDEX, rest), 0);
    }
    return valid;
}

static void index_fill(const struct mm_file *file)
{
    struct mm_lookup *lookup = file->lookup;
    struct mm_position position;
    struct mm_index_record record;
    tbed_mm_position_at(file, MM_STRING_INDEX, MM_HEADER_NBYTES, &position);
    for (uint64_t i = 0, count = index_count(file); i < count; i++) {
        record_take(&position, &record);
        if (!mm_index_is_valid(file, &record) || record.id == file->format->metadata_id)
            continue;
        if (lookup->dense != NULL)
            lookup->dense[record.id] = (uint32_t)i + 1;
        else
            lookup->sorted[lookup->sorted_count++] = record.id << 32 | i;
    }
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static void index_sort(struct mm_lookup *lookup)
{
    for (size_t i = 1; i < lookup->sorted_count; i++) {
        if (lookup->sorted[i - 1] > lookup->sorted[i]) {
            qsort(lookup->sorted, lookup->sorted_count, sizeof *lookup->sorted, compare_u64);
            return;
        }
    }
}

static void index_load(const struct mm_file *file)
{
    struct mm_lookup *lookup = file->lookup;
    uint64_t valid = index_check(file);
    bool has_memory = index_count(file) < UINT32_MAX;
    if (valid == 0)
        return;
    if (has_memory && lookup->max_id < 4 * valid + 1024) {
        lookup->dense_count = lookup->max_id + 1;
        lookup->dense = calloc(lookup->dense_count, sizeof *lookup->dense);
    } else if (has_memory) {
        lookup->sorted = malloc(valid * sizeof *lookup->sorted);
    }
    if (lookup->dense == NULL && lookup->sorted == NULL) {
        lookup->dense_count = 0;
        tbed_mm_damage_add(file, TBED_ERR_MEMORY, tbed_mm_source_of(file, MM_STRING_INDEX), UINT64_MAX,
                           valid);
        return;
    }
    index_fill(file);
    index_sort(lookup);
}

static struct mm_lookup *lookup_ready(const struct mm_file *file)
{
    struct mm_lookup *lookup = file->lookup;
    if (atomic_load_explicit(&lookup->is_ready, memory_order_acquire))
        return lookup;
    pthread_mutex_lock(&lookup->lock);
    if (!atomic_load_explicit(&lookup->is_ready, memory_order_relaxed))
        index_load(file);
    atomic_store_explicit(&lookup->is_ready, true, memory_order_release);
    pthread_mutex_unlock(&lookup->lock);
    return lookup;
}

/* ---- Lookups ---- */

/* The number + 1 of the last record for the id; 0: none. */
static uint64_t record_find(const struct mm_lookup *lookup, uint64_t id)
{
    if (id < lookup->dense_count)
        return lookup->dense[id];
    if (lookup->sorted_count == 0 || id > UINT32_MAX)
        return 0;
    size_t low = 0, high = lookup->sorted_count; /* below 'low': ids up to this one */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lookup->sorted[middle] >> 32 <= id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || lookup->sorted[low - 1] >> 32 != id)
        return 0;
    return (uint32_t)lookup->sorted[low - 1] + UINT64_C(1);
}

/*
 * The metadata is the first string that a profiler writes, but its record reaches the disk only with others: a killed rustc
 * leaves the one without the other.
 */
static bool starts_with_metadata(const struct mm_file *file)
{
    static const char *const starts[] = {"{ \"start_time\":", "{\"start_time\":"};
    char text[sizeof "{ \"start_time\":"];
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct mm_position position;
        size_t nbytes = strlen(starts[i]);
        if (file->streams[MM_STRING_DATA].nbytes < MM_HEADER_NBYTES + nbytes)
            continue;
        tbed_mm_position_at(file, MM_STRING_DATA, MM_HEADER_NBYTES, &position);
        tbed_mm_position_take(&position, text, nbytes);
        if (memcmp(text, starts[i], nbytes) == 0)
            return true;
    }
    return false;
}

bool mm_metadata_is_unlisted(const struct mm_file *file)
{
    return !file->format->index_has_regular && lookup_ready(file)->metadata == 0 &&
           starts_with_metadata(file);
}

bool mm_string_address(const struct mm_file *file, uint64_t id, uint64_t *address_ret)
{
    const struct mm_format *format = file->format;
    if (!format->index_has_regular && id >= format->first_regular_id) {
        uint64_t address = id - format->first_regular_id;
        *address_ret = address;
        return address >= MM_HEADER_NBYTES && address < file->streams[MM_STRING_DATA].nbytes;
    }
    const struct mm_lookup *lookup = lookup_ready(file);
    uint64_t found = id == format->metadata_id ? lookup->metadata : record_find(lookup, id);
    struct mm_index_record record;
    if (found == 0 && id == format->metadata_id && mm_metadata_is_unlisted(file)) {
        *address_ret = MM_HEADER_NBYTES;
        return true;
    }
    if (found == 0)
        return false;
    mm_index_get(file, (size_t)(found - 1), &record);
    *address_ret = record.address;
    return true;
}

bool mm_damage_get(const struct mm_file *file, size_t index, struct mm_damage *damage_ret)
{
    lookup_ready(file); /* building the index may add some */
    return tbed_mm_damage_find(file->damages, index, damage_ret);
}

void mm_info(const struct mm_file *file, struct mm_info *info_ret)
{
    const struct mm_format *format = file->format;
    const struct mm_lookup *lookup = lookup_ready(file);
    *info_ret = (struct mm_info){
        .version = format->version,
        .paged = format->paged,
        .event_count = file->events.count,
        .unmatched_start_count = file->events.unmatched_starts,
        .unmatched_end_count = file->events.unmatched_ends,
        .index_count = index_count(file),
        .damage_count = tbed_mm_damage_count(file->damages),
        .metadata_id = format->metadata_id,
        .invalid_id = format->invalid_id,
        .first_regular_id = format->first_regular_id,
        .max_virtual_id = lookup->max_id,
    };
    for (enum mm_stream stream = 0; stream < MM_STREAM_COUNT; stream++) {
        info_ret->file_nbytes += file->sources[stream].nbytes;
        info_ret->stream_nbytes[stream] = file->streams[stream].nbytes;
    }
}
