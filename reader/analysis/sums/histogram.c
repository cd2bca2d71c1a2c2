/*
 * The slow half of the histogram; see histogram.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/histogram.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

/* Lists have sizes of 16 << n and 24 << n bytes, by class, and come from slabs, which saves malloc()'s headers. */
#define SLAB_NBYTES ((size_t)1 << 20)

struct histogram_slab {
    struct histogram_slab *older;
    uint64_t pieces[];
};

static size_t class_nbytes(unsigned size_class)
{
    return (size_t)(size_class % 2 == 0 ? 16 : 24) << size_class / 2;
}

static bool add_slab(struct tbed_histograms *all)
{
    struct histogram_slab *slab = malloc(SLAB_NBYTES);
    if (slab == NULL)
        return false;
    slab->older = all->slabs;
    if (all->slabs == NULL)
        all->oldest = slab;
    all->slabs = slab;
    all->at = (uint8_t *)slab->pieces;
    all->end = (uint8_t *)slab + SLAB_NBYTES;
    return true;
}

static void *take_piece(struct tbed_histograms *all, unsigned size_class)
{
    size_t nbytes = class_nbytes(size_class);
    void *piece = all->unused[size_class];
    if (piece != NULL) {
        memcpy(&all->unused[size_class], piece, sizeof(void *));
        return piece;
    }
    if ((size_t)(all->end - all->at) < nbytes && !add_slab(all))
        return NULL;
    piece = all->at;
    all->at += nbytes;
    return piece;
}

static void give_piece(struct tbed_histograms *all, void *piece, unsigned size_class)
{
    memcpy(piece, &all->unused[size_class], sizeof(void *));
    all->unused[size_class] = piece;
}

void tbed_histogram_free(struct tbed_histograms *all, struct tbed_histogram *histogram)
{
    if (histogram->bucket_count == 0 && histogram->counts != NULL)
        give_piece(all, histogram->counts, histogram->size_class);
    else
        free(histogram->counts);
    *histogram = (struct tbed_histogram){.counts = NULL};
}

void tbed_histograms_take(struct tbed_histograms *all, struct tbed_histograms *from)
{
    if (from->slabs != NULL) {
        from->oldest->older = all->slabs;
        if (all->slabs == NULL)
            all->oldest = from->oldest;
        all->slabs = from->slabs;
        all->at = from->at;
        all->end = from->end;
    }
    *from = (struct tbed_histograms){.slabs = NULL};
}

void tbed_histograms_close(struct tbed_histograms *all)
{
    while (all->slabs != NULL) {
        struct histogram_slab *older = all->slabs->older;
        free(all->slabs);
        all->slabs = older;
    }
    *all = (struct tbed_histograms){.slabs = NULL};
}

/* ---- Tables ---- */

static unsigned octave_begin(unsigned bucket)
{
    return bucket & ~(TBED_HISTOGRAM_SUBS - 1);
}

static size_t table_nbytes(unsigned bucket_count, bool is_wide)
{
    return sizeof(uint32_t) * bucket_count * (is_wide ? 2 : 1);
}

/* Makes a table of all buckets from 'first' to before 'end'. False: no memory. */
static bool new_table(struct tbed_histogram *table, unsigned first, unsigned end, bool is_wide)
{
    *table = (struct tbed_histogram){.counts = calloc(1, table_nbytes(end - first, is_wide)),
                                     .first = (uint16_t)first,
                                     .bucket_count = (uint16_t)(end - first),
                                     .is_wide = is_wide};
    return table->counts != NULL;
}

/* Replaces the table by a larger one. */
static bool replace_table(struct tbed_histogram *histogram, unsigned first, unsigned end, bool is_wide)
{
    struct tbed_histogram old = *histogram, table;
    if (!new_table(&table, first, end, is_wide))
        return false;
    uint32_t *into = table.counts + (old.first - first);
    memcpy(into, old.counts, old.bucket_count * sizeof *into);
    if (old.is_wide)
        memcpy(into + table.bucket_count, old.counts + old.bucket_count, old.bucket_count * sizeof *into);
    free(old.counts);
    *histogram = table;
    return true;
}

static bool count_in_table(struct tbed_histogram *table, unsigned bucket, uint64_t count)
{
    unsigned old_end = table->first + table->bucket_count;
    unsigned first = octave_begin(bucket) < table->first ? octave_begin(bucket) : table->first;
    unsigned end = bucket >= old_end ? octave_begin(bucket) + TBED_HISTOGRAM_SUBS : old_end;
    const uint32_t *known = tbed_histogram_place(table, bucket);
    bool is_wide = table->is_wide || count > UINT32_MAX - (known != NULL ? *known : 0);
    if ((end - first != table->bucket_count || is_wide != table->is_wide) &&
        !replace_table(table, first, end, is_wide))
        return false;
    uint32_t *low = &table->counts[bucket - first];
    count += *low;
    *low = (uint32_t)count;
    if (is_wide)
        low[table->bucket_count] += (uint32_t)(count >> 32);
    return true;
}

bool tbed_histogram_carry(struct tbed_histogram *table, unsigned bucket)
{
    if (!table->is_wide && !replace_table(table, table->first, table->first + table->bucket_count, true))
        return false;
    table->counts[bucket - table->first + table->bucket_count]++;
    return true;
}

/* ---- Lists ---- */

#define LIST_COUNT_BITS 20
#define LIST_COUNT_MAX  ((1u << LIST_COUNT_BITS) - 1)
#define LIST_ADDED_MAX  4096u

static unsigned list_bucket(uint32_t entry)
{
    return entry >> LIST_COUNT_BITS;
}

static unsigned list_room(const struct tbed_histogram *list)
{
    return list->counts != NULL ? (unsigned)(class_nbytes(list->size_class) / sizeof(uint32_t)) : 0;
}

/* The number of entries below the bucket. */
static unsigned list_find(const struct tbed_histogram *list, unsigned bucket)
{
    unsigned low = 0, high = list->first;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (list_bucket(list->counts[middle]) < bucket)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes the list a table that has also the bucket. */
static bool make_table(struct tbed_histograms *all, struct tbed_histogram *histogram, unsigned bucket)
{
    struct tbed_histogram list = *histogram, table;
    unsigned lowest = bucket, highest = bucket;
    if (list.first > 0) {
        lowest = list_bucket(list.counts[0]) < bucket ? list_bucket(list.counts[0]) : bucket;
        highest = list_bucket(list.counts[list.first - 1]);
        highest = highest > bucket ? highest : bucket;
    }
    if (!new_table(&table, octave_begin(lowest), octave_begin(highest) + TBED_HISTOGRAM_SUBS, false))
        return false;
    for (unsigned i = 0; i < list.first; i++)
        table.counts[list_bucket(list.counts[i]) - table.first] = list.counts[i] & LIST_COUNT_MAX;
    tbed_histogram_free(all, &list);
    *histogram = table;
    return true;
}

/*
 * Whether the list must become a table: it is full, and a table takes no more memory than a longer list; or it is used so
 * often that a table is a small part of what the trace needs for its spans.
 */
static bool must_be_table(const struct tbed_histogram *list, uint64_t count)
{
    if (count > LIST_ADDED_MAX - list->added)
        return true;
    if (list->first == 0)
        return false;
    unsigned first = octave_begin(list_bucket(list->counts[0]));
    unsigned last = octave_begin(list_bucket(list->counts[list->first - 1]));
    size_t nbytes = table_nbytes(last + TBED_HISTOGRAM_SUBS - first, false);
    unsigned next_class = list->size_class + 1u;
    return nbytes <= (size_t)list->added * 4 ||
           (list->first == list_room(list) &&
            (next_class == TBED_HISTOGRAM_CLASSES || nbytes <= class_nbytes(next_class)));
}

static bool grow_list(struct tbed_histograms *all, struct tbed_histogram *list)
{
    unsigned size_class = list->counts != NULL ? list->size_class + 1u : 0;
    uint32_t *counts = take_piece(all, size_class);
    if (counts == NULL)
        return false;
    if (list->counts != NULL) {
        memcpy(counts, list->counts, list->first * sizeof *counts);
        give_piece(all, list->counts, list->size_class);
    }
    list->counts = counts;
    list->size_class = (uint8_t)size_class;
    return true;
}

static bool count_in_list(struct tbed_histograms *all, struct tbed_histogram *list, unsigned bucket,
                          uint32_t count)
{
    unsigned at = list_find(list, bucket);
    bool is_new = at == list->first || list_bucket(list->counts[at]) != bucket;
    if (is_new && list->first == list_room(list) && !grow_list(all, list))
        return false;
    list->added = (uint16_t)(list->added + count);
    if (!is_new) {
        list->counts[at] += count;
        return true;
    }
    memmove(&list->counts[at + 1], &list->counts[at], (list->first - at) * sizeof *list->counts);
    list->counts[at] = bucket << LIST_COUNT_BITS | count;
    list->first++;
    return true;
}

bool tbed_histogram_count(struct tbed_histograms *all, struct tbed_histogram *histogram, unsigned bucket,
                          uint64_t count)
{
    if (histogram->bucket_count == 0 && must_be_table(histogram, count) &&
        !make_table(all, histogram, bucket))
        return false;
    if (histogram->bucket_count == 0)
        return count_in_list(all, histogram, bucket, (uint32_t)count);
    return count_in_table(histogram, bucket, count);
}

/* ---- Both ---- */

/* The number of entries, of which some may be zero, and each of them. */
static unsigned entry_count(const struct tbed_histogram *histogram)
{
    return histogram->bucket_count != 0 ? histogram->bucket_count : histogram->first;
}

static uint64_t entry_get(const struct tbed_histogram *histogram, unsigned index, unsigned *bucket_ret)
{
    uint32_t low = histogram->counts[index];
    if (histogram->bucket_count == 0) {
        *bucket_ret = list_bucket(low);
        return low & LIST_COUNT_MAX;
    }
    *bucket_ret = histogram->first + index;
    if (!histogram->is_wide)
        return low;
    return (uint64_t)histogram->counts[histogram->bucket_count + index] << 32 | low;
}

bool tbed_histogram_merge(struct tbed_histograms *all, struct tbed_histogram *into,
                          struct tbed_histogram *from)
{
    bool fine = true;
    if (into->counts == NULL) {
        *into = *from;
        *from = (struct tbed_histogram){.counts = NULL};
        return true;
    }
    for (unsigned i = 0; i < entry_count(from) && fine; i++) {
        unsigned bucket;
        uint64_t count = entry_get(from, i, &bucket);
        fine = count == 0 || tbed_histogram_count(all, into, bucket, count);
    }
    tbed_histogram_free(all, from);
    return fine;
}

uint64_t tbed_histogram_middle(unsigned bucket)
{
    unsigned octave = bucket / TBED_HISTOGRAM_SUBS, sub = bucket % TBED_HISTOGRAM_SUBS;
    if (octave <= 1)
        return bucket;
    unsigned shift = octave - 1;
    uint64_t low = (uint64_t)(TBED_HISTOGRAM_SUBS + sub) << shift;
    return low + ((uint64_t)1 << (shift - 1));
}

bool tbed_histogram_next(const struct tbed_histogram *histogram, unsigned *at, unsigned *bucket_ret,
                         uint64_t *count_ret)
{
    while (*at < entry_count(histogram)) {
        *count_ret = entry_get(histogram, (*at)++, bucket_ret);
        if (*count_ret != 0)
            return true;
    }
    return false;
}

unsigned tbed_histogram_percentile_bucket(const struct tbed_histogram *histogram, uint64_t count,
                                          double fraction)
{
    uint64_t rank = tbed_percentile_rank(count, fraction), seen = 0;
    unsigned found = 0;
    for (unsigned i = 0; i < entry_count(histogram) && seen < rank; i++) {
        unsigned bucket;
        uint64_t here = entry_get(histogram, i, &bucket);
        seen += here;
        found = here != 0 ? bucket : found;
    }
    return found;
}

uint64_t tbed_histogram_percentile(const struct tbed_histogram *histogram, uint64_t count, double fraction)
{
    return tbed_histogram_middle(tbed_histogram_percentile_bucket(histogram, count, fraction));
}
