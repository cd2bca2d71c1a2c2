/*
 * Merges the rows of several profiles by label.
 *
 * Labels are sorted, so a run is merged into the labels of the earlier runs. A label keeps the number that it
 * got when it was first met; each run has an array indexed by that number, as long as the number of labels at
 * that time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/base/number_text.h"
#include <tracebed/compare.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A code location of a label. */
struct place {
    char *function, *file, *module; /* NULL: not known */
    uint32_t line;
};

struct label {
    char *text;         /* terminated */
    struct place place; /* as given by the first run that has the label */
    size_t nbytes;
    size_t number;    /* index in the runs' arrays */
    size_t run_count; /* runs that have it */
};

/* The figures of one run. */
struct cells {
    struct tbed_figures *figures;     /* by number */
    struct tbed_durations *durations; /* by number; empty where they are not known */
    size_t count;
};

/* Labels of one kind, sorted by their bytes, and the figures of the runs. */
struct table {
    struct label *labels;
    size_t label_count;
    struct cells *runs;
};

enum { ROWS, ARTIFACTS, TABLE_COUNT };

struct tbed_comparison {
    struct table tables[TABLE_COUNT];
    uint64_t *totals;
    size_t run_count, run_room;
    bool counts; /* of the profiles: the same for all */
    char unit[17];
};

/* A row being added. */
struct item {
    const char *label;
    size_t nbytes;
    struct tbed_id_info id; /* zeros where they are not known */
    struct tbed_figures figures;
    struct tbed_durations durations;
};

/* The contents of a table once the run has been added. */
struct merged {
    struct label *labels;
    size_t count;
    struct cells cells;
};

/* ---- Opening and closing ---- */

enum tbed_status tbed_comparison_open(struct tbed_comparison **comparison_ret)
{
    struct tbed_comparison *comparison = calloc(1, sizeof *comparison);
    if (comparison == NULL)
        return TBED_ERR_MEMORY;
    *comparison_ret = comparison;
    return TBED_OK;
}

static void free_label(struct label *label)
{
    free(label->text);
    free(label->place.function);
    free(label->place.file);
    free(label->place.module);
}

static void free_cells(struct cells *cells)
{
    for (size_t i = 0; cells->durations != NULL && i < cells->count; i++)
        free((void *)cells->durations[i].counts);
    free(cells->durations);
    free(cells->figures);
}

void tbed_comparison_close(struct tbed_comparison *comparison)
{
    if (comparison == NULL)
        return;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        struct table *table = &comparison->tables[i];
        for (size_t label = 0; label < table->label_count; label++)
            free_label(&table->labels[label]);
        for (size_t run = 0; run < comparison->run_count; run++)
            free_cells(&table->runs[run]);
        free(table->labels);
        free(table->runs);
    }
    free(comparison->totals);
    free(comparison);
}

/* ---- Adding a run ---- */

static int compare_labels(const char *left, size_t left_nbytes, const char *right, size_t right_nbytes)
{
    size_t common = left_nbytes < right_nbytes ? left_nbytes : right_nbytes;
    int order = common > 0 ? memcmp(left, right, common) : 0;
    return order != 0 ? order : (left_nbytes > right_nbytes) - (left_nbytes < right_nbytes);
}

static bool are_in_order(const struct item *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_labels(items[i - 1].label, items[i - 1].nbytes, items[i].label, items[i].nbytes) >= 0)
            return false;
    return true;
}

static char *copy_text(const char *text, size_t nbytes)
{
    char *copy = nbytes < SIZE_MAX ? malloc(nbytes + 1) : NULL;
    if (copy == NULL)
        return NULL;
    if (nbytes > 0)
        memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    return copy;
}

/* Copies a text that may be missing. False: no memory. */
static bool copy_known(const char *text, char **copy_ret)
{
    *copy_ret = text != NULL ? copy_text(text, strlen(text)) : NULL;
    return text == NULL || *copy_ret != NULL;
}

/*
 * Adds a label that no earlier run had. False: no memory; the parts that were allocated belong to the label
 * anyway.
 */
static bool make_label(const struct item *item, size_t number, struct label *label)
{
    *label = (struct label){.text = copy_text(item->label, item->nbytes),
                            .nbytes = item->nbytes,
                            .number = number,
                            .place.line = item->id.line};
    bool fits = copy_known(item->id.function, &label->place.function);
    fits &= copy_known(item->id.file, &label->place.file);
    return copy_known(item->id.module, &label->place.module) && fits && label->text != NULL;
}

/* Discards a run that could not be added: labels from 'first_new' on are its own. */
static void drop_merged(struct merged *merged, size_t first_new)
{
    for (size_t i = 0; i < merged->count; i++)
        if (merged->labels[i].number >= first_new)
            free_label(&merged->labels[i]);
    free(merged->labels);
    free_cells(&merged->cells);
}

/* False: no memory. */
static bool copy_durations(const struct tbed_durations *from, struct tbed_durations *to)
{
    if (from->count == 0)
        return true;
    struct tbed_duration_count *counts = calloc(from->count, sizeof *counts);
    if (counts == NULL)
        return false;
    memcpy(counts, from->counts, from->count * sizeof *counts);
    *to = (struct tbed_durations){counts, from->count};
    return true;
}

static bool put_item(struct merged *merged, const struct label *known, const struct item *item)
{
    struct label *label = &merged->labels[merged->count++];
    if (known != NULL)
        *label = *known;
    else if (!make_label(item, merged->cells.count++, label))
        return false;
    if (item != NULL) {
        label->run_count++;
        merged->cells.figures[label->number] = item->figures;
        merged->cells.figures[label->number].present = true;
        return copy_durations(&item->durations, &merged->cells.durations[label->number]);
    }
    return true;
}

/* Merges two sorted lists; 'merged' is independent of them, even if memory runs out. */
static bool merge_items(const struct table *table, const struct item *items, size_t count,
                        struct merged *merged)
{
    size_t most = table->label_count + count, old = 0, new = 0;
    *merged = (struct merged){.labels = calloc(most + 1, sizeof *merged->labels),
                              .cells = {.figures = calloc(most + 1, sizeof *merged->cells.figures),
                                        .durations = calloc(most + 1, sizeof *merged->cells.durations),
                                        .count = table->label_count}};
    if (merged->labels == NULL || merged->cells.figures == NULL || merged->cells.durations == NULL)
        return false;
    while (old < table->label_count || new < count) {
        const struct label *label = old < table->label_count ? &table->labels[old] : NULL;
        const struct item *item = new < count ? &items[new] : NULL;
        int order = label == NULL  ? 1
                    : item == NULL ? -1
                                   : compare_labels(label->text, label->nbytes, item->label, item->nbytes);
        if (!put_item(merged, order <= 0 ? label : NULL, order >= 0 ? item : NULL))
            return false;
        old += order <= 0;
        new += order >= 0;
    }
    return true;
}

static bool make_room(struct tbed_comparison *comparison)
{
    if (comparison->run_count < comparison->run_room)
        return true;
    size_t room = comparison->run_room == 0 ? 8 : comparison->run_room * 2;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        struct cells *runs = realloc(comparison->tables[i].runs, room * sizeof *runs);
        if (runs == NULL)
            return false;
        comparison->tables[i].runs = runs;
    }
    uint64_t *totals = realloc(comparison->totals, room * sizeof *totals);
    if (totals == NULL)
        return false;
    comparison->totals = totals;
    comparison->run_room = room;
    return true;
}

static enum tbed_status add_items(struct tbed_comparison *comparison, struct item *const items[TABLE_COUNT],
                                  const size_t counts[TABLE_COUNT], uint64_t total)
{
    struct merged merged[TABLE_COUNT] = {0};
    bool fits = make_room(comparison);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (!are_in_order(items[i], counts[i]))
            return TBED_ERR_ARGUMENT;
    for (unsigned i = 0; i < TABLE_COUNT && fits; i++)
        fits = merge_items(&comparison->tables[i], items[i], counts[i], &merged[i]);
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        struct table *table = &comparison->tables[i];
        if (!fits) {
            drop_merged(&merged[i], table->label_count);
            continue;
        }
        free(table->labels);
        table->labels = merged[i].labels;
        table->label_count = merged[i].count;
        table->runs[comparison->run_count] = merged[i].cells;
    }
    if (fits)
        comparison->totals[comparison->run_count++] = total;
    return fits ? TBED_OK : TBED_ERR_MEMORY;
}

static struct item item_of_row(const struct tbed_reader *reader, struct tbed_span_row row,
                               struct tbed_durations durations)
{
    struct item item = {.label = row.name, .nbytes = row.name_nbytes, .durations = durations};
    if (reader != NULL && row.id != TBED_ID_INVALID)
        tbed_id_resolve(reader, row.id, &item.id);
    item.figures.of[TBED_FIGURE_SELF] = row.self_ticks;
    item.figures.of[TBED_FIGURE_TIME] = row.time_ticks;
    item.figures.of[TBED_FIGURE_INVOCATIONS] = row.invocation_count;
    item.figures.of[TBED_FIGURE_MISSES] = row.cache_misses;
    item.figures.of[TBED_FIGURE_HITS] = row.cache_hits;
    item.figures.of[TBED_FIGURE_BLOCKED] = row.blocked_ticks;
    item.figures.of[TBED_FIGURE_LOAD] = row.load_ticks;
    item.figures.of[TBED_FIGURE_HASHING] = row.hashing_ticks;
    item.figures.of[TBED_FIGURE_P50] = row.p50_ticks;
    return item;
}

/* The size of an artifact is stored as the first figure. */
static struct item item_of_artifact(struct tbed_artifact_row artifact)
{
    return (struct item){
        .label = artifact.name, .nbytes = artifact.name_nbytes, .figures = {.of = {artifact.value}}};
}

/*
 * Element 'index' of the caller's array of structs of 'stride' bytes each; fields that the caller does not know
 * are 0.
 */
static struct tbed_span_row row_at(const struct tbed_span_row *rows, size_t stride, size_t index)
{
    struct tbed_span_row row;
    tbed_sized_give(&row, sizeof row, (const char *)rows + index * stride, stride);
    return row;
}

static struct tbed_artifact_row artifact_at(const struct tbed_artifact_row *artifacts, size_t stride,
                                            size_t index)
{
    struct tbed_artifact_row artifact;
    tbed_sized_give(&artifact, sizeof artifact, (const char *)artifacts + index * stride, stride);
    return artifact;
}

enum tbed_status tbed_comparison_add_run_sized(struct tbed_comparison *comparison,
                                               const struct tbed_comparison_run *run, size_t run_nbytes,
                                               size_t row_nbytes, size_t artifact_nbytes)
{
    struct tbed_comparison_run known;
    if (!tbed_sized_take(&known, sizeof known, run, run_nbytes))
        return TBED_ERR_ARGUMENT;
    run = &known;
    size_t counts[TABLE_COUNT] = {run->row_count, run->artifact_count};
    struct item *items[TABLE_COUNT];
    enum tbed_status status = TBED_ERR_MEMORY;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        items[i] = calloc(counts[i] + 1, sizeof *items[i]);
    if (items[ROWS] != NULL && items[ARTIFACTS] != NULL) {
        for (size_t i = 0; i < run->row_count; i++)
            items[ROWS][i] =
                item_of_row(run->reader, row_at(run->rows, row_nbytes, i),
                            run->durations != NULL ? run->durations[i] : (struct tbed_durations){0});
        for (size_t i = 0; i < run->artifact_count; i++)
            items[ARTIFACTS][i] = item_of_artifact(artifact_at(run->artifacts, artifact_nbytes, i));
        status = add_items(comparison, items, counts, run->total);
    }
    free(items[ROWS]);
    free(items[ARTIFACTS]);
    return status;
}

/* ---- From a profile ---- */

/* Converts ticks by the clock's rate. */
struct scale {
    const struct tbed_reader *reader; /* NULL: no conversion */
};

static struct scale scale_of(const struct tbed_reader *reader, bool counts)
{
    struct tbed_trace_info info = {.ticks_per_second = 1000000000};
    if (reader != NULL)
        tbed_reader_info(reader, &info);
    return (struct scale){counts || info.ticks_per_second == 1000000000 ? NULL : reader};
}

static uint64_t scaled(struct scale scale, uint64_t ticks)
{
    if (scale.reader == NULL)
        return ticks;
    return tbed_round_u64(tbed_tick_span_to_ns(scale.reader, ticks));
}

static void scale_row(struct scale scale, struct tbed_span_row *row)
{
    row->self_ticks = scaled(scale, row->self_ticks);
    row->time_ticks = scaled(scale, row->time_ticks);
    row->blocked_ticks = scaled(scale, row->blocked_ticks);
    row->load_ticks = scaled(scale, row->load_ticks);
    row->hashing_ticks = scaled(scale, row->hashing_ticks);
    row->p50_ticks = scaled(scale, row->p50_ticks);
}

static bool load_rows(const struct tbed_statistics *statistics, struct scale scale,
                      struct tbed_comparison_run *run)
{
    while (tbed_statistics_span(statistics, run->row_count) != NULL)
        run->row_count++;
    while (tbed_statistics_artifact(statistics, run->artifact_count) != NULL)
        run->artifact_count++;
    struct tbed_span_row *rows = calloc(run->row_count + 1, sizeof *rows);
    struct tbed_artifact_row *artifacts = calloc(run->artifact_count + 1, sizeof *artifacts);
    run->rows = rows;
    run->artifacts = artifacts;
    if (rows == NULL || artifacts == NULL)
        return false;
    for (size_t i = 0; i < run->row_count; i++) {
        rows[i] = *tbed_statistics_span(statistics, i);
        scale_row(scale, &rows[i]);
    }
    for (size_t i = 0; i < run->artifact_count; i++)
        artifacts[i] = *tbed_statistics_artifact(statistics, i);
    return true;
}

/* The durations of all rows, converted; nothing if there are none. They are in one piece. False: no memory. */
static bool load_durations(const struct tbed_statistics *statistics, struct scale scale,
                           struct tbed_comparison_run *run)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < run->row_count; i++)
        count += tbed_statistics_durations(statistics, i).count;
    if (count == 0)
        return true;
    struct tbed_durations *durations = calloc(run->row_count, sizeof *durations);
    struct tbed_duration_count *counts = calloc(count, sizeof *counts);
    run->durations = durations;
    if (durations == NULL || counts == NULL) {
        free(counts);
        return false;
    }
    for (size_t i = 0; i < run->row_count; i++) {
        struct tbed_durations of_row = tbed_statistics_durations(statistics, i);
        durations[i] = (struct tbed_durations){counts + at, of_row.count};
        for (size_t k = 0; k < of_row.count; k++)
            counts[at++] =
                (struct tbed_duration_count){scaled(scale, of_row.counts[k].ticks), of_row.counts[k].count};
    }
    return true;
}

static void free_run(struct tbed_comparison_run *run)
{
    if (run->durations != NULL)
        free((void *)run->durations[0].counts);
    free((void *)run->durations);
    free((void *)run->rows);
    free((void *)run->artifacts);
}

enum tbed_status tbed_comparison_add(struct tbed_comparison *comparison,
                                     const struct tbed_statistics *statistics,
                                     const struct tbed_reader *reader)
{
    struct tbed_statistics_totals totals;
    tbed_statistics_totals(statistics, &totals);
    const char *unit = tbed_statistics_unit(statistics);
    bool counts = unit != NULL;
    unit = counts ? unit : "";
    if (comparison->run_count > 0 && (comparison->counts != counts || strcmp(comparison->unit, unit) != 0))
        return TBED_ERR_ARGUMENT;
    struct scale scale = scale_of(reader, counts);
    struct tbed_comparison_run run = {.total = scaled(scale, totals.span_ticks), .reader = reader};
    enum tbed_status status = TBED_ERR_MEMORY;
    if (load_rows(statistics, scale, &run) && load_durations(statistics, scale, &run))
        status = tbed_comparison_add_run(comparison, &run);
    free_run(&run);
    if (status == TBED_OK) {
        comparison->counts = counts;
        snprintf(comparison->unit, sizeof comparison->unit, "%s", unit);
    }
    return status;
}

/* ---- Reading the result ---- */

size_t tbed_comparison_run_count(const struct tbed_comparison *comparison)
{
    return comparison->run_count;
}

uint64_t tbed_comparison_total(const struct tbed_comparison *comparison, size_t run)
{
    return run < comparison->run_count ? comparison->totals[run] : 0;
}

static bool get_row(const struct table *table, size_t index, struct tbed_comparison_row *row_ret,
                    size_t row_nbytes)
{
    if (index >= table->label_count)
        return false;
    const struct label *label = &table->labels[index];
    const struct place *place = &label->place;
    struct tbed_comparison_row row = {label->text, label->nbytes, label->run_count, place->function,
                                      place->file, place->module, place->line};
    tbed_sized_give(row_ret, row_nbytes, &row, sizeof row);
    return true;
}

static struct tbed_figures get_figures(const struct tbed_comparison *comparison, unsigned kind, size_t index,
                                       size_t run)
{
    const struct table *table = &comparison->tables[kind];
    if (index >= table->label_count || run >= comparison->run_count)
        return (struct tbed_figures){0};
    const struct cells *cells = &table->runs[run];
    size_t number = table->labels[index].number;
    return number < cells->count ? cells->figures[number] : (struct tbed_figures){0};
}

bool tbed_comparison_row_sized(const struct tbed_comparison *comparison, size_t index,
                               struct tbed_comparison_row *row_ret, size_t row_nbytes)
{
    return get_row(&comparison->tables[ROWS], index, row_ret, row_nbytes);
}

bool tbed_comparison_artifact_sized(const struct tbed_comparison *comparison, size_t index,
                                    struct tbed_comparison_row *row_ret, size_t row_nbytes)
{
    return get_row(&comparison->tables[ARTIFACTS], index, row_ret, row_nbytes);
}

void tbed_comparison_figures_sized(const struct tbed_comparison *comparison, size_t index, size_t run,
                                   struct tbed_figures *figures_ret, size_t figures_nbytes)
{
    struct tbed_figures figures = get_figures(comparison, ROWS, index, run);
    tbed_sized_give(figures_ret, figures_nbytes, &figures, sizeof figures);
}

struct tbed_durations tbed_comparison_durations(const struct tbed_comparison *comparison, size_t index,
                                                size_t run)
{
    const struct table *table = &comparison->tables[ROWS];
    if (index >= table->label_count || run >= comparison->run_count)
        return (struct tbed_durations){0};
    const struct cells *cells = &table->runs[run];
    size_t number = table->labels[index].number;
    return number < cells->count ? cells->durations[number] : (struct tbed_durations){0};
}

uint64_t tbed_comparison_size(const struct tbed_comparison *comparison, size_t index, size_t run)
{
    return get_figures(comparison, ARTIFACTS, index, run).of[0];
}
