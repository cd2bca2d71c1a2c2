/*
 * Makes rows from cells, combining those with the same label or the same group of labels.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/statistics/statistics_rows.h"

#include "format/base/sized.h"

#include <stdlib.h>
#include <string.h>

/* By text, then by id. */
static int compare_labels(const void *left, const void *right, void *context)
{
    const struct stat_labels *labels = context;
    const struct stat_label *a = &labels->rows[*(const uint32_t *)left];
    const struct stat_label *b = &labels->rows[*(const uint32_t *)right];
    int order = tbed_text_order(a->text, a->nbytes, b->text, b->nbytes);
    return order != 0 ? order : a->id < b->id ? -1 : a->id > b->id;
}

static bool is_same(const struct stat_label *left, const struct stat_label *right)
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

/* The rows of all labels, sorted. NULL: no memory. */
static uint32_t *order_labels(struct stat_labels *labels)
{
    uint32_t *order = calloc(labels->count, sizeof *order);
    for (uint32_t row = 1; order != NULL && row < labels->count; row++)
        order[row - 1] = row;
    if (order != NULL && labels->count > 2)
        qsort_r(order, labels->count - 1, sizeof *order, compare_labels, labels);
    return order;
}

/* Adds rows with the same label to the first of them, and returns how many rows remain in the order. */
static uint32_t join_labels(struct stat_maker *maker, struct stat_cells *asyncs, uint32_t *order)
{
    const struct stat_label *rows = maker->labels.rows;
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < maker->labels.count; i++) {
        if (count == 0 || !is_same(&rows[order[count - 1]], &rows[order[i]])) {
            order[count++] = order[i];
            continue;
        }
        tbed_stat_cells_join(&maker->workers[0].cells, order[count - 1], order[i]);
        tbed_stat_cells_join(asyncs, order[count - 1], order[i]);
    }
    return count;
}

/* ---- Rows of other events than spans ---- */

/* Makes up to three rows of one label; the lists have room. */
static void make_other(struct tbed_statistics *statistics, const struct stat_maker *maker, uint32_t number)
{
    const struct stat_cells *cells = &maker->workers[0].cells;
    const struct stat_label *label = &maker->labels.rows[number];
    const struct stat_extra *extra = tbed_stat_extra_known(cells, number);
    uint32_t id = stat_label_id(maker, label);
    uint64_t instant_count =
        number < cells->rooms[STAT_OTHER] ? cells->of_kind[STAT_OTHER][number].instant_count : 0;
    if (instant_count > 0)
        statistics->instants[statistics->instant_count++] = (struct tbed_instant_row){
            label->text, label->nbytes, id, instant_count, stat_label_part(maker, label)};
    if (extra != NULL && extra->counter_count > 0)
        statistics->counters[statistics->counter_count++] = (struct tbed_counter_row){
            label->text,        label->nbytes,     id, extra->counter_count, extra->counter_last,
            extra->counter_min, extra->counter_max};
    if (extra != NULL && extra->artifact_count > 0)
        statistics->artifacts[statistics->artifact_count++] = (struct tbed_artifact_row){
            label->text, label->nbytes, extra->artifact_count, extra->artifact_value};
}

static bool have_lists(struct tbed_statistics *statistics, size_t count)
{
    statistics->instants = calloc(count, sizeof *statistics->instants);
    statistics->counters = calloc(count, sizeof *statistics->counters);
    statistics->artifacts = calloc(count, sizeof *statistics->artifacts);
    return statistics->instants != NULL && statistics->counters != NULL && statistics->artifacts != NULL;
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

bool tbed_stat_make_rows(struct tbed_statistics *statistics, struct stat_maker *maker,
                         struct stat_cells *asyncs)
{
    struct stat_cells *cells = &maker->workers[0].cells;
    bool fine = group_labels(maker) && have_lists(statistics, maker->labels.count) &&
                make_messages(statistics, maker);
    uint32_t *order = fine ? order_labels(&maker->labels) : NULL, count = 0;
    statistics->texts = maker->labels.texts;
    maker->labels.texts = (struct named_texts){.pieces = NULL};
    if (order == NULL)
        return false;
    count = join_labels(maker, asyncs, order);
    for (uint32_t i = 0; i < count; i++)
        make_other(statistics, maker, order[i]);
    fine = tbed_stat_make_span_rows(maker, asyncs, order, count, &statistics->asyncs,
                                    &statistics->async_count, NULL) &&
           tbed_stat_make_span_rows(maker, cells, order, count, &statistics->spans, &statistics->span_count,
                                    maker->options->keep_durations ? &statistics->durations : NULL);
    for (size_t i = 0; i < statistics->async_count; i++)
        statistics->asyncs[i].self_ticks = 0;
    statistics->totals.negative_count = maker->workers[0].totals.negative_count;
    free(order);
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
    free(statistics->durations.parts);
    free(statistics->durations.counts);
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

struct tbed_durations tbed_statistics_durations(const struct tbed_statistics *statistics, size_t index)
{
    const struct stat_durations *durations = &statistics->durations;
    if (index >= durations->part_count || durations->parts[index].count == 0)
        return (struct tbed_durations){0};
    const struct stat_row_durations *part = &durations->parts[index];
    return (struct tbed_durations){durations->counts + part->first, part->count};
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
