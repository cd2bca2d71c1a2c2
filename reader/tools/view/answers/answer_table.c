/*
 * table: where the time of a part of a trace went, by label and by thread; histogram: how long the calls of a label take.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/activity.h>
#include <tracebed/analysis.h>

#define ROWS_MAX    500
#define BUCKETS_MAX 64
#define LABELS_MAX  100 /* that histograms are made of at once */

static enum tbed_status make_statistics(struct answer *answer, const struct answer_part *part,
                                        bool has_durations, struct tbed_statistics **statistics_ret)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = answer->view->jobs,
                                            .name = tool_places_name,
                                            .name_context = &answer->trace->places,
                                            .prepare = tool_places_prepare,
                                            .filter = part->filter,
                                            .keep_durations = has_durations,
                                            .is_cancelled = answer->is_cancelled};
    return tbed_statistics_make(answer->trace->reader, &options, statistics_ret);
}

typedef enum tbed_status put_statistics(struct answer *answer, const struct answer_part *part,
                                        const struct tbed_statistics *statistics);

/* Answers with one object, whose members 'put' writes. */
static enum answer_status answer_with_statistics(struct answer *answer, bool has_durations,
                                                 put_statistics *put)
{
    struct answer_part part;
    enum answer_status answer_status;
    struct tbed_statistics *statistics = NULL;
    if (answer_part_open(answer, &part, &answer_status)) {
        enum tbed_status status = make_statistics(answer, &part, has_durations, &statistics);
        tbed_json_object_open(&answer->json, NULL);
        if (status == TBED_OK)
            status = put(answer, &part, statistics);
        tbed_json_object_close(&answer->json);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    tbed_statistics_close(statistics);
    answer_part_close(&part);
    return answer_status;
}

/* ---- The table ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct tbed_span_row *a = *(const struct tbed_span_row *const *)left;
    const struct tbed_span_row *b = *(const struct tbed_span_row *const *)right;
    if (a->self_ticks != b->self_ticks)
        return a->self_ticks > b->self_ticks ? -1 : 1;
    return a < b ? -1 : a > b; /* by name */
}

/* The rows, most self time first; the caller frees them. NULL: no memory. */
static const struct tbed_span_row **sort_rows(const struct tbed_statistics *statistics, size_t *count_ret)
{
    size_t count = 0;
    while (tbed_statistics_span(statistics, count) != NULL)
        count++;
    const struct tbed_span_row **rows = calloc(count + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < count; i++)
        rows[i] = tbed_statistics_span(statistics, i);
    if (rows != NULL && count > 1)
        qsort(rows, count, sizeof *rows, compare_rows);
    *count_ret = count;
    return rows;
}

static void put_figures(struct answer *answer, const struct tbed_span_row *row)
{
    struct tbed_json *json = &answer->json;
    tbed_json_u64(json, "count", row->count);
    tbed_json_u64(json, "open", row->open_count);
    tbed_json_u64(json, "unknown", row->unknown_count);
    tbed_json_u64(json, "total", row->total_ticks);
    tbed_json_u64(json, "self", row->self_ticks);
    tbed_json_u64(json, "min", row->min_ticks);
    tbed_json_u64(json, "p50", row->p50_ticks);
    tbed_json_u64(json, "p90", row->p90_ticks);
    tbed_json_u64(json, "p99", row->p99_ticks);
    tbed_json_u64(json, "max", row->max_ticks);
}

static void put_row(struct answer *answer, const struct tbed_span_row *row)
{
    struct tbed_json *json = &answer->json;
    tbed_json_object_open(json, NULL);
    answer_text(answer, "name", row->name, row->name_nbytes);
    tbed_json_u64(json, "id", row->id);
    put_figures(answer, row);
    tbed_json_object_close(json);
}

static enum tbed_status put_rows(struct answer *answer, const struct tbed_statistics *statistics)
{
    size_t count;
    const struct tbed_span_row **rows = sort_rows(statistics, &count);
    if (rows == NULL)
        return TBED_ERR_MEMORY;
    tbed_json_array_open(&answer->json, "rows");
    for (size_t i = 0; i < count && i < ROWS_MAX; i++)
        put_row(answer, rows[i]);
    tbed_json_array_close(&answer->json);
    tbed_json_u64(&answer->json, "left_out", count > ROWS_MAX ? count - ROWS_MAX : 0);
    free(rows);
    return TBED_OK;
}

static enum tbed_status put_threads(struct answer *answer, const struct answer_part *part)
{
    struct tbed_activity_options options = {.size = sizeof options,
                                            .thread_count = answer->view->jobs,
                                            .filter = part->filter,
                                            .is_cancelled = answer->is_cancelled};
    struct tbed_activity *activity;
    const struct tbed_activity_row *row;
    enum tbed_status status = tbed_activity_make(answer->trace->reader, &options, &activity);
    if (status != TBED_OK)
        return status;
    tbed_json_array_open(&answer->json, "threads");
    for (size_t i = 0; (row = tbed_activity_get(activity, i)) != NULL; i++) {
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "s", row->stream);
        tbed_json_u64(&answer->json, "busy", row->busy_ticks);
        tbed_json_u64(&answer->json, "idle", row->idle_ticks);
        tbed_json_u64(&answer->json, "spans", row->span_count);
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
    tbed_activity_close(activity);
    return TBED_OK;
}

static enum tbed_status put_table(struct answer *answer, const struct answer_part *part,
                                  const struct tbed_statistics *statistics)
{
    enum tbed_status status = put_rows(answer, statistics);
    return status == TBED_OK ? put_threads(answer, part) : status;
}

enum answer_status answer_table(struct answer *answer)
{
    return answer_with_statistics(answer, false, put_table);
}

/* ---- The histogram ---- */

static uint64_t bit_width(uint64_t value)
{
    return value == 0 ? 0 : 64 - (uint64_t)__builtin_clzll(value);
}

/* Ranges of durations: 8 for each power of 2, or of several where there would be too many. */
static uint64_t bucket_of(uint64_t ticks, uint64_t least_bits, unsigned shift)
{
    uint64_t bits = bit_width(ticks), below = bits > 4 ? bits - 4 : 0;
    uint64_t first_below = least_bits > 4 ? least_bits - 4 : 0;
    uint64_t eighths = (below - first_below) * 8 + (ticks >> below);
    return eighths >> shift;
}

struct bucket {
    uint64_t low, high, count;
};

/* As few as fit: finer steps are joined until then. */
static size_t fill_buckets(const struct tbed_durations *durations, struct bucket buckets[BUCKETS_MAX])
{
    size_t count;
    for (unsigned shift = 0;; shift++) {
        uint64_t last = UINT64_MAX;
        count = 0;
        for (size_t i = 0; i < durations->count; i++) {
            const struct tbed_duration_count *duration = &durations->counts[i];
            uint64_t number = bucket_of(duration->ticks, bit_width(durations->counts[0].ticks), shift);
            if (number != last && count++ < BUCKETS_MAX)
                buckets[count - 1] = (struct bucket){.low = duration->ticks};
            last = number;
            if (count > BUCKETS_MAX)
                break;
            buckets[count - 1].high = duration->ticks;
            buckets[count - 1].count += duration->count;
        }
        if (count <= BUCKETS_MAX)
            return count;
    }
}

static void put_buckets(struct answer *answer, const struct tbed_statistics *statistics, size_t index)
{
    struct tbed_durations durations = tbed_statistics_durations(statistics, index);
    struct bucket buckets[BUCKETS_MAX];
    size_t count = fill_buckets(&durations, buckets);
    tbed_json_array_open(&answer->json, "buckets");
    for (size_t i = 0; i < count; i++) {
        tbed_json_array_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, NULL, buckets[i].low);
        tbed_json_u64(&answer->json, NULL, buckets[i].high);
        tbed_json_u64(&answer->json, NULL, buckets[i].count);
        tbed_json_array_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
}

/* The filter takes only this label, whatever it is called here. */
static enum tbed_status put_histogram(struct answer *answer, const struct answer_part *part,
                                      const struct tbed_statistics *statistics)
{
    const struct tbed_span_row *row = tbed_statistics_span(statistics, 0);
    (void)part;
    if (row != NULL)
        put_figures(answer, row);
    else
        tbed_json_u64(&answer->json, "count", 0);
    put_buckets(answer, statistics, 0);
    return TBED_OK;
}

enum answer_status answer_histogram(struct answer *answer)
{
    if (request_text(answer->request, "label") == NULL && request_text(answer->request, "id") == NULL) {
        request_refuse(answer->request, "label", "it is missing");
        return ANSWER_BAD;
    }
    return answer_with_statistics(answer, true, put_histogram);
}

/* ---- The histograms of the labels with the most self time ---- */

static size_t index_of(const struct tbed_statistics *statistics, const struct tbed_span_row *row)
{
    size_t index = 0;
    while (tbed_statistics_span(statistics, index) != row)
        index++;
    return index;
}

static enum tbed_status put_histograms(struct answer *answer, const struct answer_part *part,
                                       const struct tbed_statistics *statistics)
{
    (void)part;
    size_t count;
    const struct tbed_span_row **rows = sort_rows(statistics, &count);
    if (rows == NULL)
        return TBED_ERR_MEMORY;
    tbed_json_array_open(&answer->json, "labels");
    for (size_t i = 0; i < count && i < LABELS_MAX; i++) {
        tbed_json_object_open(&answer->json, NULL);
        answer_text(answer, "name", rows[i]->name, rows[i]->name_nbytes);
        put_figures(answer, rows[i]);
        put_buckets(answer, statistics, index_of(statistics, rows[i]));
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
    free(rows);
    return TBED_OK;
}

enum answer_status answer_histograms(struct answer *answer)
{
    return answer_with_statistics(answer, true, put_histograms);
}
