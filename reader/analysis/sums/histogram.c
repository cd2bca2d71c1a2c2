/*
 * The slow half of the histogram; see histogram.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/sums/histogram.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

/*
 * Lists have sizes of 16 << n and 24 << n bytes, by class. Small ones come from slabs, which saves malloc()'s headers; a
 * table is on its own.
 */
#define SLAB_NBYTES    ((size_t)1 << 20)
#define SLAB_CLASSES   11u /* up to 512 bytes */
#define CLASS_OF_TABLE TBED_HISTOGRAM_CLASSES

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

/* NULL: no memory. */
static struct tbed_histogram *new_list(struct tbed_histograms *all, unsigned size_class)
{
    struct tbed_histogram *list =
        size_class < SLAB_CLASSES ? take_piece(all, size_class) : malloc(class_nbytes(size_class));
    if (list != NULL)
        *list = (struct tbed_histogram){.size_class = (uint8_t)size_class};
    return list;
}

void tbed_histogram_free(struct tbed_histograms *all, struct tbed_histogram *histogram)
{
    if (histogram == NULL)
        return;
    unsigned size_class = histogram->size_class;
    if (size_class >= SLAB_CLASSES) {
        free(histogram);
        return;
    }
    memcpy(histogram, &all->unused[size_class], sizeof(void *));
    all->unused[size_class] = histogram;
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
    return sizeof(struct tbed_histogram) + sizeof(uint32_t) * bucket_count * (is_wide ? 2 : 1);
}

static struct tbed_histogram *new_table(unsigned first, unsigned bucket_count, bool is_wide)
{
    struct tbed_histogram *table = calloc(1, table_nbytes(bucket_count, is_wide));
    if (table != NULL)
        *table = (struct tbed_histogram){.first = (uint16_t)first,
                                         .bucket_count = (uint16_t)bucket_count,
                                         .size_class = CLASS_OF_TABLE,
                                         .is_wide = is_wide};
    return table;
}

/* Replaces the table by one that has all buckets from 'first' to before 'end', and perhaps wide counts. */
static bool replace_table(struct tbed_histogram **histogram, unsigned first, unsigned end, bool is_wide)
{
    struct tbed_histogram *old = *histogram;
    struct tbed_histogram *table = new_table(first, end - first, is_wide);
    if (table == NULL)
        return false;
    uint32_t *into = table->counts + (old->first - first);
    memcpy(into, old->counts, old->bucket_count * sizeof *into);
    if (old->is_wide)
        memcpy(into + table->bucket_count, old->counts + old->bucket_count, old->bucket_count * sizeof *into);
    free(old);
    *histogram = table;
    return true;
}

static bool count_in_table(struct tbed_histogram **histogram, unsigned bucket, uint64_t count)
{
    struct tbed_histogram *table = *histogram;
    unsigned first = table->first, end = first + table->bucket_count;
    bool is_wide = table->is_wide;
    first = octave_begin(bucket) < first ? octave_begin(bucket) : first;
    end = bucket >= end ? octave_begin(bucket) + TBED_HISTOGRAM_SUBS : end;
    if (first == table->first && end == first + table->bucket_count)
        is_wide |= count > UINT32_MAX - table->counts[bucket - first];
    else
        is_wide |= count > UINT32_MAX;
    if ((end - first != table->bucket_count || is_wide != table->is_wide) &&
        !replace_table(histogram, first, end, is_wide))
        return false;
    table = *histogram;
    uint32_t *low = &table->counts[bucket - first];
    count += *low;
    *low = (uint32_t)count;
    if (is_wide)
        low[table->bucket_count] += (uint32_t)(count >> 32);
    return true;
}

bool tbed_histogram_carry(struct tbed_histograms *all, struct tbed_histogram **histogram, unsigned bucket)
{
    struct tbed_histogram *table = *histogram;
    (void)all;
    if (!table->is_wide && !replace_table(histogram, table->first, table->first + table->bucket_count, true))
        return false;
    table = *histogram;
    table->counts[bucket - table->first + table->bucket_count]++;
    return true;
}

/* ---- Lists ---- */

#define LIST_COUNT_BITS 20
#define LIST_COUNT_MAX  ((1u << LIST_COUNT_BITS) - 1)
#define LIST_ADDED_MAX  4096u /* from then on a table is faster; its size is a small part of the events' */

static unsigned list_bucket(uint32_t entry)
{
    return entry >> LIST_COUNT_BITS;
}

static unsigned list_room(unsigned size_class)
{
    return (unsigned)((class_nbytes(size_class) - sizeof(struct tbed_histogram)) / sizeof(uint32_t));
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

/* Makes the list, which is not empty, a table. */
static bool make_table(struct tbed_histograms *all, struct tbed_histogram **histogram)
{
    struct tbed_histogram *list = *histogram;
    unsigned first = octave_begin(list_bucket(list->counts[0]));
    unsigned last = octave_begin(list_bucket(list->counts[list->first - 1]));
    struct tbed_histogram *table = new_table(first, last + TBED_HISTOGRAM_SUBS - first, false);
    if (table == NULL)
        return false;
    for (unsigned i = 0; i < list->first; i++)
        table->counts[list_bucket(list->counts[i]) - first] = list->counts[i] & LIST_COUNT_MAX;
    tbed_histogram_free(all, list);
    *histogram = table;
    return true;
}

/* Whether a table takes no more memory than the list would with one more entry. */
static bool is_list_too_large(const struct tbed_histogram *list)
{
    unsigned first = octave_begin(list_bucket(list->counts[0]));
    unsigned last = octave_begin(list_bucket(list->counts[list->first - 1]));
    return list->size_class + 1u == TBED_HISTOGRAM_CLASSES ||
           table_nbytes(last + TBED_HISTOGRAM_SUBS - first, false) <= class_nbytes(list->size_class + 1u);
}

static bool grow_list(struct tbed_histograms *all, struct tbed_histogram **histogram)
{
    struct tbed_histogram *old = *histogram;
    struct tbed_histogram *list = new_list(all, old != NULL ? old->size_class + 1u : 0);
    if (list == NULL)
        return false;
    if (old != NULL) {
        list->first = old->first;
        list->added = old->added;
        memcpy(list->counts, old->counts, old->first * sizeof *list->counts);
        tbed_histogram_free(all, old);
    }
    *histogram = list;
    return true;
}

/* Adds to the list, which has room for one more entry. */
static void count_in_list(struct tbed_histogram *list, unsigned bucket, uint32_t count)
{
    unsigned at = list_find(list, bucket);
    list->added = (uint16_t)(list->added + count);
    if (at < list->first && list_bucket(list->counts[at]) == bucket) {
        list->counts[at] += count;
        return;
    }
    memmove(&list->counts[at + 1], &list->counts[at], (list->first - at) * sizeof *list->counts);
    list->counts[at] = bucket << LIST_COUNT_BITS | count;
    list->first++;
}

bool tbed_histogram_count(struct tbed_histograms *all, struct tbed_histogram **histogram, unsigned bucket,
                          uint64_t count)
{
    const struct tbed_histogram *list = *histogram;
    if (list == NULL && count > LIST_ADDED_MAX) {
        *histogram = new_table(octave_begin(bucket), TBED_HISTOGRAM_SUBS, false);
        return *histogram != NULL && count_in_table(histogram, bucket, count);
    }
    if (list != NULL && list->bucket_count == 0) {
        bool is_full = list->first == list_room(list->size_class);
        if ((count > LIST_ADDED_MAX - list->added || (is_full && is_list_too_large(list))) &&
            !make_table(all, histogram))
            return false;
    }
    list = *histogram;
    if (list != NULL && list->bucket_count != 0)
        return count_in_table(histogram, bucket, count);
    if ((list == NULL || list->first == list_room(list->size_class)) && !grow_list(all, histogram))
        return false;
    count_in_list(*histogram, bucket, (uint32_t)count);
    return true;
}

/* ---- Both ---- */

/* The number of entries, of which some may be zero, and each of them. */
static unsigned entry_count(const struct tbed_histogram *histogram)
{
    if (histogram == NULL)
        return 0;
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

bool tbed_histogram_merge(struct tbed_histograms *all, struct tbed_histogram **into,
                          const struct tbed_histogram *from)
{
    for (unsigned i = 0; i < entry_count(from); i++) {
        unsigned bucket;
        uint64_t count = entry_get(from, i, &bucket);
        if (count != 0 && !tbed_histogram_count(all, into, bucket, count))
            return false;
    }
    return true;
}

/* The middle of the bucket, or its only value. */
static uint64_t bucket_middle(unsigned bucket)
{
    unsigned octave = bucket / TBED_HISTOGRAM_SUBS, sub = bucket % TBED_HISTOGRAM_SUBS;
    if (octave <= 1)
        return bucket;
    unsigned shift = octave - 1;
    uint64_t low = (uint64_t)(TBED_HISTOGRAM_SUBS + sub) << shift;
    return low + ((uint64_t)1 << (shift - 1));
}

uint64_t tbed_histogram_percentile(const struct tbed_histogram *histogram, uint64_t count, double fraction)
{
    double wanted = (double)count * fraction;
    uint64_t rank = (uint64_t)wanted;
    rank += (double)rank < wanted || rank == 0; /* round up: the rank-th smallest, from 1 */
    uint64_t seen = 0, value = 0;
    for (unsigned i = 0; i < entry_count(histogram) && seen < rank; i++) {
        unsigned bucket;
        uint64_t here = entry_get(histogram, i, &bucket);
        if (here == 0)
            continue;
        value = bucket_middle(bucket);
        seen += here;
    }
    return value;
}
