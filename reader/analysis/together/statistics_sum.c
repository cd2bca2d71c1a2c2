/*
 * Statistics of several files as one: the rows of all are put together, and those with the same name added up.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/counts.h"
#include "reader/analysis/statistics/statistics_rows.h"
#include "reader/analysis/sums/histogram.h"
#include "reader/core/base/number_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- Times ---- */

/* To nanoseconds, unless they count something else, or are nanoseconds already. */
struct scale {
    const struct tbed_reader *reader;
};

static void to_ns(const struct scale *scale, uint64_t *ticks)
{
    if (scale->reader != NULL)
        *ticks = tbed_round_u64(tbed_tick_span_to_ns(scale->reader, *ticks));
}

static void scale_span(const struct scale *scale, struct tbed_span_row *row)
{
    uint64_t *const times[] = {&row->total_ticks,  &row->self_ticks, &row->min_ticks,     &row->max_ticks,
                               &row->p50_ticks,    &row->p90_ticks,  &row->p99_ticks,     &row->p999_ticks,
                               &row->time_ticks,   &row->load_ticks, &row->hashing_ticks, &row->blocked_ticks,
                               &row->off_cpu_ticks};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        to_ns(scale, times[i]);
}

static void scale_all(const struct scale *scale, struct tbed_statistics *part)
{
    for (size_t i = 0; i < part->span_count; i++)
        scale_span(scale, &part->spans[i]);
    for (size_t i = 0; i < part->async_count; i++)
        scale_span(scale, &part->asyncs[i]);
    for (size_t i = 0; i < part->durations.count; i++)
        to_ns(scale, &part->durations.counts[i].ticks);
    to_ns(scale, &part->totals.span_ticks);
}

/* ---- Rows put together ---- */

/* Appends rows, which are moved. False: no memory. */
static bool append(void *rows, size_t *count, const void *from, size_t more, size_t row_nbytes)
{
    void *old, *grown;
    memcpy(&old, rows, sizeof old);
    if (more == 0)
        return true;
    grown = realloc(old, (*count + more) * row_nbytes);
    if (grown == NULL)
        return false;
    memcpy((char *)grown + *count * row_nbytes, from, more * row_nbytes);
    memcpy(rows, &grown, sizeof grown);
    *count += more;
    return true;
}
#define APPEND(sum, part, rows, count)                                                                       \
    append(&(sum)->rows, &(sum)->count, (part)->rows, (part)->count, sizeof *(sum)->rows)

/* The durations of the rows of 'part' follow those of the rows before. Called before the spans are appended. */
static bool append_durations(struct tbed_statistics *sum, struct tbed_statistics *part)
{
    struct stat_durations *all = &sum->durations, *more = &part->durations;
    struct stat_row_durations *parts =
        realloc(all->parts, (sum->span_count + part->span_count + 1) * sizeof *parts);
    if (parts == NULL)
        return false;
    all->parts = parts;
    memset(parts + all->part_count, 0,
           (sum->span_count + part->span_count - all->part_count) * sizeof *parts);
    for (size_t i = 0; i < part->span_count && i < more->part_count; i++)
        parts[sum->span_count + i] =
            (struct stat_row_durations){more->parts[i].first + all->count, more->parts[i].count};
    all->part_count = sum->span_count + part->span_count;
    return append(&all->counts, &all->count, more->counts, more->count, sizeof *all->counts);
}

/* The versions of foreign formats are no sum: the highest stands for all. */
static void add_totals(struct tbed_statistics_totals *into, const struct tbed_statistics_totals *from)
{
    uint64_t version =
        from->foreign_version > into->foreign_version ? from->foreign_version : into->foreign_version;
    TBED_COUNTS_ADD(into, from);
    into->foreign_version = version;
}

/* Ids mean something in their own trace only. */
static void forget_ids(struct tbed_statistics *part)
{
    for (size_t i = 0; i < part->span_count; i++)
        part->spans[i].id = TBED_ID_INVALID;
    for (size_t i = 0; i < part->async_count; i++)
        part->asyncs[i].id = TBED_ID_INVALID;
    for (size_t i = 0; i < part->instant_count; i++)
        part->instants[i].id = TBED_ID_INVALID;
    for (size_t i = 0; i < part->counter_count; i++)
        part->counters[i].id = TBED_ID_INVALID;
    for (size_t i = 0; i < part->message_count; i++)
        part->messages[i].id = TBED_ID_INVALID;
}

enum tbed_status tbed_statistics_sum_add(struct tbed_statistics *sum, struct tbed_statistics *part,
                                         const struct tbed_reader *reader)
{
    struct tbed_trace_info info = {.clock = TBED_CLOCK_USER};
    if (reader != NULL)
        tbed_reader_info(reader, &info);
    struct scale scale = {info.clock != TBED_CLOCK_USER ? reader : NULL};
    bool is_first = sum->totals.event_count == 0 && sum->unit[0] == '\0' && sum->span_count == 0;
    if (!is_first && strcmp(sum->unit, part->unit) != 0)
        return TBED_ERR_ARGUMENT;
    memcpy(sum->unit, part->unit, sizeof sum->unit);
    scale_all(&scale, part);
    forget_ids(part);
    bool fine = append_durations(sum, part) && APPEND(sum, part, spans, span_count) &&
                APPEND(sum, part, asyncs, async_count) && APPEND(sum, part, instants, instant_count) &&
                APPEND(sum, part, counters, counter_count) && APPEND(sum, part, messages, message_count) &&
                APPEND(sum, part, artifacts, artifact_count);
    tbed_named_texts_move(&sum->texts, &part->texts);
    tbed_named_texts_move(&sum->message_texts, &part->message_texts);
    add_totals(&sum->totals, &part->totals);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

/* ---- Equal names ---- */

/* The start of every row. */
struct named_row {
    const char *name;
    size_t name_nbytes;
};
_Static_assert(
    offsetof(struct tbed_span_row, name_nbytes) == offsetof(struct named_row, name_nbytes) &&
        offsetof(struct tbed_instant_row, name_nbytes) == offsetof(struct named_row, name_nbytes) &&
        offsetof(struct tbed_counter_row, name_nbytes) == offsetof(struct named_row, name_nbytes) &&
        offsetof(struct tbed_message_row, name_nbytes) == offsetof(struct named_row, name_nbytes) &&
        offsetof(struct tbed_artifact_row, name_nbytes) == offsetof(struct named_row, name_nbytes),
    "rows begin with their names");

static int compare_names(const void *left, const void *right)
{
    const struct named_row *a = left, *b = right;
    size_t common = a->name_nbytes < b->name_nbytes ? a->name_nbytes : b->name_nbytes;
    int order = common > 0 ? memcmp(a->name, b->name, common) : 0;
    return order != 0 ? order : (a->name_nbytes > b->name_nbytes) - (a->name_nbytes < b->name_nbytes);
}

/* Sorts rows whose order of arrival does not matter, and adds those of the same name to the first. */
static void join(void *rows, size_t *count, size_t row_nbytes, void (*add)(void *into, const void *from))
{
    char *base = rows;
    size_t kept = 0;
    if (*count > 1)
        qsort(rows, *count, row_nbytes, compare_names);
    for (size_t i = 0; i < *count; i++) {
        char *row = base + i * row_nbytes, *last = kept > 0 ? base + (kept - 1) * row_nbytes : NULL;
        if (last != NULL && compare_names(last, row) == 0)
            add(last, row);
        else
            memmove(base + kept++ * row_nbytes, row, row_nbytes);
    }
    *count = kept;
}

static void add_span(void *into_row, const void *from_row)
{
    struct tbed_span_row *into = into_row;
    const struct tbed_span_row *from = from_row;
    uint64_t least = into->count == 0 || (from->count > 0 && from->min_ticks < into->min_ticks)
                         ? from->min_ticks
                         : into->min_ticks;
    into->max_ticks = from->max_ticks > into->max_ticks ? from->max_ticks : into->max_ticks;
    into->min_ticks = least;
    into->count += from->count;
    into->unknown_count += from->unknown_count;
    into->open_count += from->open_count;
    into->total_ticks += from->total_ticks;
    into->self_ticks += from->self_ticks;
    into->time_ticks += from->time_ticks;
    into->invocation_count += from->invocation_count;
    into->cache_misses += from->cache_misses;
    into->cache_hits = stat_sum(into->cache_hits, from->cache_hits);
    into->blocked_ticks += from->blocked_ticks;
    into->load_ticks += from->load_ticks;
    into->hashing_ticks += from->hashing_ticks;
    into->off_cpu_ticks += from->off_cpu_ticks;
}

static void add_instant(void *into, const void *from)
{
    ((struct tbed_instant_row *)into)->count += ((const struct tbed_instant_row *)from)->count;
}

/* There is no order of time between files: the higher of their last values stands for them. */
static void add_counter(void *into_row, const void *from_row)
{
    struct tbed_counter_row *into = into_row;
    const struct tbed_counter_row *from = from_row;
    into->count += from->count;
    into->last = from->last > into->last ? from->last : into->last;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
}

static void add_message(void *into_row, const void *from_row)
{
    struct tbed_message_row *into = into_row;
    const struct tbed_message_row *from = from_row;
    into->count += from->count;
    for (size_t i = 0; i < sizeof into->severity_counts / sizeof into->severity_counts[0]; i++)
        into->severity_counts[i] += from->severity_counts[i];
}

static void add_artifact(void *into_row, const void *from_row)
{
    struct tbed_artifact_row *into = into_row;
    const struct tbed_artifact_row *from = from_row;
    into->count += from->count;
    into->value = stat_sum(into->value, from->value);
}

/* ---- Percentiles ---- */

/* A duration of a row, which is known by its name. */
struct named_duration {
    struct named_row row;
    struct tbed_duration_count duration;
};

static int compare_durations(const void *left, const void *right)
{
    const struct named_duration *a = left, *b = right;
    int order = compare_names(a, b);
    return order != 0 ? order
                      : (a->duration.ticks > b->duration.ticks) - (a->duration.ticks < b->duration.ticks);
}

/* The duration that a fraction of all are at or below. */
static uint64_t percentile(const struct named_duration *durations, size_t count, uint64_t all,
                           double fraction)
{
    uint64_t rank = tbed_percentile_rank(all, fraction), seen = 0, found = 0;
    for (size_t i = 0; i < count && seen < rank; i++) {
        seen += durations[i].duration.count;
        found = durations[i].duration.ticks;
    }
    return found;
}

static uint64_t between(uint64_t ticks, const struct tbed_span_row *row)
{
    return ticks < row->min_ticks ? row->min_ticks : ticks > row->max_ticks ? row->max_ticks : ticks;
}

static void set_percentiles(struct tbed_span_row *row, const struct named_duration *durations, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += durations[i].duration.count;
    row->p50_ticks = between(percentile(durations, count, all, 0.5), row);
    row->p90_ticks = between(percentile(durations, count, all, 0.9), row);
    row->p99_ticks = between(percentile(durations, count, all, 0.99), row);
    row->p999_ticks = between(percentile(durations, count, all, 0.999), row);
}

/* All durations by name and time, before rows are joined. NULL: no memory. */
static struct named_duration *list_durations(const struct tbed_statistics *sum)
{
    const struct stat_durations *durations = &sum->durations;
    struct named_duration *list = malloc((durations->count + 1) * sizeof *list);
    size_t count = 0;
    for (size_t row = 0; list != NULL && row < durations->part_count; row++)
        for (size_t i = 0; i < durations->parts[row].count; i++)
            list[count++] = (struct named_duration){{sum->spans[row].name, sum->spans[row].name_nbytes},
                                                    durations->counts[durations->parts[row].first + i]};
    if (count > 1)
        qsort(list, count, sizeof *list, compare_durations);
    return list;
}

/* Both are in the order of their names. */
static void use_durations(struct tbed_statistics *sum, const struct named_duration *list, size_t count)
{
    for (size_t row = 0, at = 0; row < sum->span_count; row++) {
        size_t first = at;
        while (at < count && compare_names(&list[at], &sum->spans[row]) == 0)
            at++;
        if (at > first)
            set_percentiles(&sum->spans[row], list + first, at - first);
    }
}

enum tbed_status tbed_statistics_sum_end(struct tbed_statistics *sum)
{
    struct named_duration *list = list_durations(sum);
    if (list == NULL)
        return TBED_ERR_MEMORY;
    join(sum->spans, &sum->span_count, sizeof *sum->spans, add_span);
    join(sum->asyncs, &sum->async_count, sizeof *sum->asyncs, add_span);
    join(sum->instants, &sum->instant_count, sizeof *sum->instants, add_instant);
    join(sum->counters, &sum->counter_count, sizeof *sum->counters, add_counter);
    join(sum->messages, &sum->message_count, sizeof *sum->messages, add_message);
    join(sum->artifacts, &sum->artifact_count, sizeof *sum->artifacts, add_artifact);
    use_durations(sum, list, sum->durations.count);
    free(list);
    free(sum->durations.parts);
    free(sum->durations.counts);
    sum->durations = (struct stat_durations){.parts = NULL};
    return TBED_OK;
}

enum tbed_status tbed_statistics_sum_open(struct tbed_statistics **sum_ret)
{
    struct tbed_statistics *sum = calloc(1, sizeof *sum);
    if (sum == NULL)
        return TBED_ERR_MEMORY;
    *sum_ret = sum;
    return TBED_OK;
}
