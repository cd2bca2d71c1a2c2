/*
 * Makes rows from cells, combining those with the same label or the same group of labels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/statistics_rows.h"

#include "format/base/sized.h"

#include <stdlib.h>
#include <string.h>

/* A label as its rows show it, and the position of its cells. */
struct ordered {
    const char *text;
    size_t nbytes;
    uint32_t row, id;
};

static int compare_ordered(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->nbytes < b->nbytes ? a->nbytes : b->nbytes);
    if (order != 0)
        return order;
    if (a->nbytes != b->nbytes)
        return a->nbytes < b->nbytes ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool is_same(const struct ordered *left, const struct ordered *right)
{
    return left->nbytes == right->nbytes && memcmp(left->text, right->text, left->nbytes) == 0;
}

/* ---- Texts ---- */

#define GROUP_ROOM 256u /* room for a group's name beyond the length of its label */

/* Replaces the label's text by the name of its group. False: no memory. */
static bool group_label(const struct tbed_analysis_options *options, struct named_texts *texts,
                        struct stat_label *label)
{
    size_t room = label->nbytes + GROUP_ROOM;
    char *text = tbed_named_texts_take(texts, room);
    if (text == NULL)
        return false;
    memcpy(text, label->text, label->nbytes + 1);
    label->nbytes = (uint32_t)options->group(options->group_context, text, label->nbytes, room);
    label->text = text;
    return true;
}

static bool group_labels(struct stat_maker *maker)
{
    struct stat_labels *labels = &maker->labels;
    for (uint32_t row = 1; maker->options->group != NULL && row < labels->count; row++)
        if (!group_label(maker->options, &labels->texts, &labels->rows[row]))
            return false;
    return true;
}

/* All labels, sorted. NULL: no memory. */
static struct ordered *order_labels(const struct stat_maker *maker)
{
    const struct stat_labels *labels = &maker->labels;
    struct ordered *ordered = calloc(labels->count, sizeof *ordered);
    for (uint32_t row = 1; ordered != NULL && row < labels->count; row++) {
        const struct stat_label *label = &labels->rows[row];
        uint32_t id = maker->source->reader != NULL ? (uint32_t)label->id : TBED_ID_INVALID;
        ordered[row - 1] = (struct ordered){label->text, label->nbytes, row, id};
    }
    if (ordered != NULL && labels->count > 2)
        qsort(ordered, labels->count - 1, sizeof *ordered, compare_ordered);
    return ordered;
}

/* ---- Figures ---- */

/* The sums of the cells of all rows with the same label. */
struct row_sums {
    struct stat_cell cells[STAT_SPAN_KINDS];
    struct stat_extra extra;
};

static void add_row(struct row_sums *sums, struct stat_cells *cells, uint32_t row)
{
    const struct stat_extra *extra = tbed_stat_extra_known(cells, row);
    for (uint32_t kind = 0; kind < STAT_SPAN_KINDS; kind++)
        if (row < cells->rooms[kind])
            tbed_stat_cell_add(cells, &sums->cells[kind], &cells->of_kind[kind][row]);
    if (extra != NULL)
        tbed_stat_extra_add(&sums->extra, extra);
}

/* The value of a sum that should not be negative: a negative one becomes 0. */
static uint64_t settle(uint64_t signed_sum)
{
    return signed_sum > INT64_MAX ? 0 : signed_sum;
}

static uint64_t percentile(const struct stat_cells *cells, const struct stat_cell *cell, double fraction)
{
    uint64_t resolution = cells->resolution > 0 ? cells->resolution : 1;
    uint64_t ticks = tbed_histogram_percentile(&cell->histogram, cell->count, fraction);
    ticks = (ticks + resolution / 2) / resolution * resolution;
    ticks = ticks < stat_cell_min(cell) ? stat_cell_min(cell) : ticks;
    return ticks > cell->max ? cell->max : ticks;
}

static void fill_percentiles(const struct stat_cells *cells, const struct stat_cell *all,
                             struct tbed_span_row *row)
{
    if (all->histogram.counts == NULL)
        return;
    row->p50_ticks = percentile(cells, all, 0.5);
    row->p90_ticks = percentile(cells, all, 0.9);
    row->p99_ticks = percentile(cells, all, 0.99);
    row->p999_ticks = percentile(cells, all, 0.999);
}

static void fill_kinds(const struct row_sums *sums, struct tbed_span_row *row)
{
    const struct stat_cell *cells = sums->cells;
    row->time_ticks = row->total_ticks - cells[STAT_HASHING].total;
    row->invocation_count = cells[STAT_OTHER].count + cells[STAT_QUERY].count;
    row->cache_misses = cells[STAT_QUERY].count;
    row->cache_hits = stat_sum(sums->extra.hit_count, sums->extra.counted_hits);
    row->blocked_ticks = cells[STAT_BLOCKED].total;
    row->load_ticks = settle(cells[STAT_LOAD].self);
    row->hashing_ticks = settle(cells[STAT_HASHING].self);
}

/* Moves the histograms of the sums into one. */
static struct stat_cell all_kinds(struct stat_cells *cells, struct row_sums *sums)
{
    struct stat_cell all = {0};
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++)
        tbed_stat_cell_add(cells, &all, &sums->cells[kind]);
    return all;
}

static void fill_span(struct tbed_statistics *statistics, struct stat_cells *cells,
                      const struct ordered *label, struct row_sums *sums, struct tbed_span_row *row)
{
    struct stat_cell all = all_kinds(cells, sums);
    statistics->totals.negative_count += all.self > INT64_MAX;
    *row = (struct tbed_span_row){
        .name = label->text,
        .name_nbytes = label->nbytes,
        .id = label->id,
        .count = all.count,
        .unknown_count = sums->extra.unknown_count,
        .open_count = sums->extra.open_count,
        .total_ticks = all.total,
        .self_ticks = settle(all.self),
        .min_ticks = stat_cell_min(&all),
        .max_ticks = all.max,
    };
    fill_percentiles(cells, &all, row);
    fill_kinds(sums, row);
    tbed_histogram_free(&cells->histograms, &all.histogram);
}

static bool is_span(const struct row_sums *sums)
{
    uint64_t count = sums->extra.unknown_count + sums->extra.hit_count + sums->extra.hit_marks;
    for (unsigned kind = 0; kind < STAT_SPAN_KINDS; kind++)
        count += sums->cells[kind].count;
    return count > 0;
}

/* Makes up to four rows of one label; the lists have room. */
static void make_rows(struct tbed_statistics *statistics, struct stat_cells *cells,
                      const struct ordered *label, struct row_sums *sums)
{
    const struct stat_extra *extra = &sums->extra;
    uint64_t instant_count = sums->cells[STAT_OTHER].instant_count;
    if (instant_count > 0)
        statistics->instants[statistics->instant_count++] =
            (struct tbed_instant_row){label->text, label->nbytes, label->id, instant_count};
    if (extra->counter_count > 0)
        statistics->counters[statistics->counter_count++] = (struct tbed_counter_row){
            label->text,         label->nbytes,      label->id,         extra->counter_count,
            extra->counter_last, extra->counter_min, extra->counter_max};
    if (extra->artifact_count > 0)
        statistics->artifacts[statistics->artifact_count++] = (struct tbed_artifact_row){
            label->text, label->nbytes, extra->artifact_count, extra->artifact_value};
    if (is_span(sums))
        fill_span(statistics, cells, label, sums, &statistics->spans[statistics->span_count++]);
}

static bool have_lists(struct tbed_statistics *statistics, size_t count)
{
    statistics->spans = calloc(count, sizeof *statistics->spans);
    statistics->asyncs = calloc(count, sizeof *statistics->asyncs);
    statistics->instants = calloc(count, sizeof *statistics->instants);
    statistics->counters = calloc(count, sizeof *statistics->counters);
    statistics->artifacts = calloc(count, sizeof *statistics->artifacts);
    return statistics->spans != NULL && statistics->asyncs != NULL && statistics->instants != NULL &&
           statistics->counters != NULL && statistics->artifacts != NULL;
}

/* ---- Messages ---- */

static void make_message(const struct named *name, struct tbed_message_row *row)
{
    static const char inline_text[] = "<inline text>";
    *row = (struct tbed_message_row){.name = name->text, .name_nbytes = name->nbytes, .id = name->id};
    if (name->id == TBED_ID_INVALID) {
        row->name = inline_text;
        row->name_nbytes = sizeof inline_text - 1;
    }
}

static void add_severities(struct tbed_message_row *row, const struct stat_message *message)
{
    for (unsigned i = 0; i < 5; i++) {
        row->count += message->severity_counts[i];
        row->severity_counts[i] += message->severity_counts[i];
    }
}

/* The name of a format after grouping. */
struct message_names {
    const struct tbed_reader *reader;
    const struct tbed_analysis_options *options;
};

static size_t message_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct message_names *names = context;
    const struct tbed_analysis_options *options = names->options;
    size_t nbytes = tbed_named_text(names->reader, options, id, buffer, buffer_nbytes);
    return options->group != NULL && nbytes < buffer_nbytes
               ? options->group(options->group_context, buffer, nbytes, buffer_nbytes)
               : nbytes;
}

static bool make_messages(struct tbed_statistics *statistics, const struct stat_maker *maker)
{
    const struct stat_messages *messages = &maker->workers[0].messages;
    struct message_names context = {maker->source->reader, maker->options};
    struct tbed_analysis_options options = *maker->options;
    struct named *names = calloc(messages->count + 1, sizeof *names);
    statistics->messages = calloc(messages->count + 1, sizeof *statistics->messages);
    options.name = message_name;
    options.name_context = &context;
    options.prepare = NULL;
    for (size_t i = 0; names != NULL && i < messages->count; i++)
        names[i] = (struct named){.id = messages->items[i].id, .thing = &messages->items[i]};
    bool fine = names != NULL && statistics->messages != NULL &&
                tbed_named_resolve(&statistics->message_texts, context.reader, &options, names,
                                   messages->count) == TBED_OK;
    for (size_t i = 0, count; fine && i < messages->count; i += count) {
        struct tbed_message_row *row = &statistics->messages[statistics->message_count++];
        count = tbed_named_group(names, messages->count, i);
        make_message(&names[i], row);
        for (size_t k = 0; k < count; k++)
            add_severities(row, names[i + k].thing);
    }
    free(names);
    return fine;
}

/* ---- All of them ---- */

/* 'asyncs' contains only cells of spans, which have no self time. */
static void make_async(struct tbed_statistics *statistics, struct stat_cells *asyncs,
                       const struct ordered *label, struct row_sums *sums)
{
    if (!is_span(sums))
        return;
    struct tbed_span_row *row = &statistics->asyncs[statistics->async_count++];
    fill_span(statistics, asyncs, label, sums, row);
    row->self_ticks = 0;
}

bool tbed_stat_make_rows(struct tbed_statistics *statistics, struct stat_maker *maker,
                         struct stat_cells *asyncs)
{
    uint32_t count = maker->labels.count - 1;
    struct stat_cells *cells = &maker->workers[0].cells;
    bool fine = group_labels(maker) && have_lists(statistics, count + 1) && make_messages(statistics, maker);
    struct ordered *ordered = fine ? order_labels(maker) : NULL;
    fine = ordered != NULL;
    statistics->texts = maker->labels.texts;
    maker->labels.texts = (struct named_texts){NULL};
    for (uint32_t i = 0, next; fine && i < count; i = next) {
        struct row_sums sums = {0}, async_sums = {0};
        for (next = i; next < count && is_same(&ordered[i], &ordered[next]); next++) {
            add_row(&sums, cells, ordered[next].row);
            add_row(&async_sums, asyncs, ordered[next].row);
        }
        make_rows(statistics, cells, &ordered[i], &sums);
        make_async(statistics, asyncs, &ordered[i], &async_sums);
    }
    free(ordered);
    return fine && !cells->is_out_of_memory && !asyncs->is_out_of_memory;
}

void tbed_stat_set_origin(struct tbed_statistics *statistics, const struct stat_origin *origin)
{
    statistics->totals.foreign_version = origin->version;
    statistics->totals.foreign_nbytes = origin->file_nbytes;
    statistics->totals.foreign_damage_count = origin->damage_count;
    statistics->totals.foreign_texts_left_out = origin->texts_left_out;
    statistics->damages = calloc(origin->kept_count + 1, sizeof *statistics->damages);
    if (statistics->damages == NULL)
        return; /* they are counted */
    if (origin->kept_count > 0)
        memcpy(statistics->damages, origin->damages, origin->kept_count * sizeof *statistics->damages);
    statistics->damage_count = origin->kept_count;
}

/* ---- Queries ---- */

void tbed_statistics_close(struct tbed_statistics *statistics)
{
    if (statistics == NULL)
        return;
    tbed_named_texts_free(&statistics->texts);
    tbed_named_texts_free(&statistics->message_texts);
    free(statistics->spans);
    free(statistics->asyncs);
    free(statistics->instants);
    free(statistics->counters);
    free(statistics->messages);
    free(statistics->artifacts);
    free(statistics->damages);
    free(statistics);
}

void tbed_statistics_totals_sized(const struct tbed_statistics *statistics,
                                  struct tbed_statistics_totals *totals_ret, size_t totals_nbytes)
{
    tbed_sized_give(totals_ret, totals_nbytes, &statistics->totals, sizeof statistics->totals);
}

const struct tbed_span_row *tbed_statistics_span(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->span_count ? &statistics->spans[index] : NULL;
}

const struct tbed_span_row *tbed_statistics_async(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->async_count ? &statistics->asyncs[index] : NULL;
}

const struct tbed_instant_row *tbed_statistics_instant(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->instant_count ? &statistics->instants[index] : NULL;
}

const struct tbed_counter_row *tbed_statistics_counter(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->counter_count ? &statistics->counters[index] : NULL;
}

const struct tbed_message_row *tbed_statistics_message(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->message_count ? &statistics->messages[index] : NULL;
}

const struct tbed_artifact_row *tbed_statistics_artifact(const struct tbed_statistics *statistics,
                                                         size_t index)
{
    return index < statistics->artifact_count ? &statistics->artifacts[index] : NULL;
}

const char *tbed_statistics_unit(const struct tbed_statistics *statistics)
{
    return statistics->unit[0] != '\0' ? statistics->unit : NULL;
}

bool tbed_statistics_damage_get_sized(const struct tbed_statistics *statistics, size_t index,
                                      struct tbed_foreign_damage *damage_ret, size_t damage_nbytes)
{
    if (index >= statistics->damage_count)
        return false;
    tbed_sized_give(damage_ret, damage_nbytes, &statistics->damages[index], sizeof *damage_ret);
    return true;
}
