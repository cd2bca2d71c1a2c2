/*
 * The rows of a profile, and what its users ask of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/profile/profile_rows.h"
#include "format/sized.h"

#include "reader/analysis/profile/profile_hits.h"

#include <stdlib.h>
#include <string.h>

struct ordered {
    const struct profile_label *label;
    const struct profile_cell *cells; /* of its row */
};

static int compare_ordered(const void *left, const void *right)
{
    const struct profile_label *a = ((const struct ordered *)left)->label;
    const struct profile_label *b = ((const struct ordered *)right)->label;
    int order = memcmp(a->text, b->text, a->nbytes < b->nbytes ? a->nbytes : b->nbytes);
    if (order != 0)
        return order;
    if (a->nbytes != b->nbytes)
        return a->nbytes < b->nbytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool is_same_label(const struct profile_label *left, const struct profile_label *right)
{
    return left->nbytes == right->nbytes && memcmp(left->text, right->text, left->nbytes) == 0;
}

/* Takes the texts over. */
static bool take_texts(struct tbed_profile *profile, struct profile_labels *labels)
{
    profile->texts = calloc(labels->count, sizeof *profile->texts);
    if (profile->texts == NULL)
        return false;
    for (uint32_t row = 1; row < labels->count; row++) {
        profile->texts[profile->text_count++] = labels->rows[row].text;
    }
    return true;
}

/* What a sum comes to that cannot be negative. */
static uint64_t settle(uint64_t signed_sum)
{
    return signed_sum > INT64_MAX ? 0 : signed_sum;
}

/* What one row's cells say, of all rows with its label. */
struct row_sums {
    struct profile_cell cells[PROFILE_KIND_COUNT];
};

static void add_row_cells(struct row_sums *sums, const struct profile_cell *cells)
{
    for (unsigned kind = 0; kind < PROFILE_KIND_COUNT; kind++) {
        struct profile_cell *sum = &sums->cells[kind];
        sum->total = kind < PROFILE_HIT ? sum->total + cells[kind].total
                                        : tbed_profile_sum(sum->total, cells[kind].total);
        sum->self += cells[kind].self;
        sum->count += cells[kind].count;
    }
}

static void fill_row(struct tbed_profile *profile, const struct profile_label *label,
                     const struct row_sums *sums)
{
    const struct profile_cell *cells = sums->cells;
    uint64_t self = cells[PROFILE_OTHER].self + cells[PROFILE_QUERY].self + cells[PROFILE_BLOCKED].self +
                    cells[PROFILE_LOAD].self + cells[PROFILE_HASHING].self;
    profile->totals.negative_count += self > INT64_MAX;
    profile->rows[profile->row_count++] = (struct tbed_profile_row){
        .label = label->text,
        .label_nbytes = label->nbytes,
        .total_ticks = cells[PROFILE_OTHER].total + cells[PROFILE_QUERY].total +
                       cells[PROFILE_BLOCKED].total + cells[PROFILE_LOAD].total,
        .self_ticks = settle(self),
        .count = cells[PROFILE_OTHER].count + cells[PROFILE_QUERY].count,
        .cache_misses = cells[PROFILE_QUERY].count,
        .cache_hits = tbed_profile_sum(cells[PROFILE_HIT].count, cells[PROFILE_HIT_COUNT].total),
        .blocked_ticks = cells[PROFILE_BLOCKED].total,
        .load_ticks = settle(cells[PROFILE_LOAD].self),
        .hashing_ticks = settle(cells[PROFILE_HASHING].self),
    };
}

static void make_row(struct tbed_profile *profile, const struct profile_label *label,
                     const struct row_sums *sums)
{
    const struct profile_cell *artifact = &sums->cells[PROFILE_ARTIFACT];
    uint64_t count = 0;
    for (unsigned kind = 0; kind < PROFILE_ARTIFACT; kind++)
        count += sums->cells[kind].count;
    if (count > 0)
        fill_row(profile, label, sums);
    if (artifact->count > 0)
        profile->artifacts[profile->artifact_count++] = (struct tbed_artifact_row){
            .label = label->text,
            .label_nbytes = label->nbytes,
            .count = artifact->count,
            .value = artifact->total,
        };
}

bool tbed_profile_make_rows(struct tbed_profile *profile, struct profile_labels *labels,
                            const struct profile_cell *cells)
{
    uint32_t count = labels->count - 1;
    struct ordered *ordered = calloc(labels->count, sizeof *ordered);
    profile->rows = calloc(labels->count, sizeof *profile->rows);
    profile->artifacts = calloc(labels->count, sizeof *profile->artifacts);
    if (ordered == NULL || profile->rows == NULL || profile->artifacts == NULL ||
        !take_texts(profile, labels)) {
        free(ordered);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        ordered[i] = (struct ordered){&labels->rows[i + 1], &cells[(size_t)(i + 1) * PROFILE_KIND_COUNT]};
    qsort(ordered, count, sizeof *ordered, compare_ordered);
    for (uint32_t i = 0, next; i < count; i = next) {
        struct row_sums sums = {0};
        for (next = i; next < count && is_same_label(ordered[i].label, ordered[next].label); next++)
            add_row_cells(&sums, ordered[next].cells);
        make_row(profile, ordered[i].label, &sums);
    }
    free(ordered);
    for (uint32_t row = 1; row < labels->count; row++)
        labels->rows[row].text = NULL; /* the profile's now */
    return true;
}

void tbed_profile_set_origin(struct tbed_profile *profile, const struct tbed_profile_origin *origin)
{
    profile->totals.version = origin->version;
    profile->totals.file_nbytes = origin->file_nbytes;
    profile->totals.damage_count = origin->damage_count;
    profile->damages = calloc(origin->kept_count + 1, sizeof *profile->damages);
    if (profile->damages == NULL)
        return; /* they are counted */
    if (origin->kept_count > 0)
        memcpy(profile->damages, origin->damages, origin->kept_count * sizeof *profile->damages);
    profile->damage_count = origin->kept_count;
}

/* ---- What users ask ---- */

void tbed_profile_close(struct tbed_profile *profile)
{
    if (profile == NULL)
        return;
    for (size_t i = 0; i < profile->text_count; i++)
        free(profile->texts[i]);
    free(profile->texts);
    free(profile->rows);
    free(profile->artifacts);
    free(profile->damages);
    free(profile);
}

void tbed_profile_totals_sized(const struct tbed_profile *profile, struct tbed_profile_totals *totals_ret,
                               size_t totals_nbytes)
{
    tbed_sized_give(totals_ret, totals_nbytes, &profile->totals, sizeof profile->totals);
}

const struct tbed_profile_row *tbed_profile_row(const struct tbed_profile *profile, size_t index)
{
    return index < profile->row_count ? &profile->rows[index] : NULL;
}

const struct tbed_artifact_row *tbed_profile_artifact(const struct tbed_profile *profile, size_t index)
{
    return index < profile->artifact_count ? &profile->artifacts[index] : NULL;
}

bool tbed_profile_damage_get_sized(const struct tbed_profile *profile, size_t index,
                                   struct tbed_profile_damage *damage_ret, size_t damage_nbytes)
{
    if (index >= profile->damage_count)
        return false;
    tbed_sized_give(damage_ret, damage_nbytes, &profile->damages[index], sizeof *damage_ret);
    return true;
}

const char *tbed_profile_unit(const struct tbed_profile *profile)
{
    return profile->unit;
}
