/*
 * marks: instants and messages; plots: counters and memory in use; gaps: what is missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include <tracebed/window.h>

#define MARKS_MAX        20000
#define COLUMNS_MAX      8192
#define BLOCKS_MAX       4096 /* read for one answer; more are sampled */
#define GAP_COLUMNS      2048
#define GAPS_MAX         10000
#define EVENT_KIND_COUNT 4 /* of marks that are events */

static enum tbed_status make(struct answer *answer, const struct answer_part *part, uint64_t columns,
                             struct tbed_marks **marks_ret)
{
    struct tbed_marks_options options = {.size = sizeof options,
                                         .thread_count = answer->view->jobs,
                                         .filter = part->filter,
                                         .column_count = (uint32_t)columns,
                                         .mark_max = MARKS_MAX,
                                         .block_max = BLOCKS_MAX,
                                         .is_cancelled = answer->is_cancelled};
    return tbed_marks_make(answer->trace->reader, &options, marks_ret);
}

/* ---- Marks ---- */

static void put_mark(struct answer *answer, const struct tbed_mark_row *mark)
{
    struct tbed_json *json = &answer->json;
    answer_tick(answer, NULL, mark->first_tick);
    tbed_json_u64(json, NULL, mark->count);
    if (mark->id != TBED_ID_INVALID)
        tbed_json_u64(json, NULL, answer_note(answer, mark->id));
    else
        tbed_json_i64(json, NULL, -1); /* a message without a format */
    tbed_json_u64(json, NULL, mark->kind);
}

static void put_marks(struct answer *answer, const struct tbed_marks *marks)
{
    const struct tbed_mark_row *mark = tbed_marks_get(marks, 0);
    tbed_json_array_open(&answer->json, "streams");
    for (size_t i = 0; mark != NULL;) {
        uint32_t stream = mark->stream;
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "s", stream);
        tbed_json_array_open(&answer->json, "marks");
        for (; mark != NULL && mark->stream == stream; mark = tbed_marks_get(marks, ++i))
            if (mark->kind < EVENT_KIND_COUNT)
                put_mark(answer, mark);
        tbed_json_array_close(&answer->json);
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
}

static void put_info(struct answer *answer, const struct tbed_marks_info *info)
{
    answer_tick(answer, "b", info->begin_tick);
    answer_tick(answer, "e", info->end_tick);
    tbed_json_bool(&answer->json, "exact", info->read_count == info->block_count);
    tbed_json_u64(&answer->json, "blocks", info->block_count);
    tbed_json_u64(&answer->json, "read", info->read_count);
}

/* Makes marks of 'w' columns and writes an object about them with 'put'. */
static enum answer_status with_marks(struct answer *answer, uint64_t columns,
                                     void (*put)(struct answer *, const struct answer_part *,
                                                 const struct tbed_marks *))
{
    struct answer_part part;
    enum answer_status answer_status = ANSWER_BAD;
    struct tbed_marks *marks = NULL;
    bool is_fine = request_number(answer->request, "w", 1, COLUMNS_MAX, &columns);
    if (!is_fine)
        return ANSWER_BAD;
    if (answer_part_open(answer, &part, &answer_status)) {
        enum tbed_status status = make(answer, &part, columns, &marks);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK) {
        tbed_json_object_open(&answer->json, NULL);
        put(answer, &part, marks);
        answer_names(answer);
        tbed_json_object_close(&answer->json);
    }
    tbed_marks_close(marks);
    answer_part_close(&part);
    return answer_status;
}

static void put_all_marks(struct answer *answer, const struct answer_part *part,
                          const struct tbed_marks *marks)
{
    (void)part;
    struct tbed_marks_info info;
    tbed_marks_info(marks, &info);
    put_info(answer, &info);
    tbed_json_u64(&answer->json, "column", info.column_ticks);
    put_marks(answer, marks);
}

enum answer_status answer_marks(struct answer *answer)
{
    return with_marks(answer, 1600, put_all_marks);
}

/* ---- Plots ---- */

static void put_counter(struct answer *answer, const struct tbed_marks_info *info,
                        const struct tbed_mark_counter *counter)
{
    struct tbed_json *json = &answer->json;
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "id", counter->id);
    tbed_json_u64(json, "p", counter->process);
    tbed_json_null(json, "s");
    answer_name(answer, "name", counter->id);
    answer_unit(answer, counter->id);
    tbed_json_u64(json, "column", info->counter_column_ticks);
    tbed_json_array_open(json, "points");
    for (size_t i = 0; i < info->counter_column_count; i++) {
        const struct tbed_mark_values *values = &counter->columns[i];
        if (values->count == 0)
            continue;
        tbed_json_u64(json, NULL, i);
        tbed_json_f64(json, NULL, values->min);
        tbed_json_f64(json, NULL, values->mean);
        tbed_json_f64(json, NULL, values->max);
    }
    tbed_json_array_close(json);
    tbed_json_object_close(json);
}

static void put_plots(struct answer *answer, const struct answer_part *part, const struct tbed_marks *marks)
{
    struct tbed_marks_info info;
    struct tbed_mark_counter counter;
    tbed_marks_info(marks, &info);
    put_info(answer, &info);
    tbed_json_array_open(&answer->json, "plots");
    for (size_t i = 0; tbed_marks_counter(marks, i, &counter); i++)
        put_counter(answer, &info, &counter);
    answer_memory_plot(answer, part, info.counter_column_count);
    tbed_json_array_close(&answer->json);
    tbed_json_u64(&answer->json, "left_out", info.counters_left_out);
}

enum answer_status answer_plots(struct answer *answer)
{
    return with_marks(answer, 1600, put_plots);
}

/* ---- Gaps ---- */

struct gaps {
    struct answer *answer;
    size_t count;
};

static void put_gap(struct gaps *gaps, const char *what, uint32_t stream, uint64_t begin_tick,
                    uint64_t end_tick, uint64_t count, const char *text)
{
    struct tbed_json *json = &gaps->answer->json;
    if (gaps->count++ >= GAPS_MAX)
        return;
    tbed_json_object_open(json, NULL);
    if (stream != 0)
        tbed_json_u64(json, "s", stream);
    else
        tbed_json_null(json, "s");
    answer_tick(gaps->answer, "b", begin_tick);
    answer_tick(gaps->answer, "e", end_tick < UINT64_MAX ? end_tick : gaps->answer->end_tick);
    tbed_json_string(json, "what", what);
    tbed_json_u64(json, "count", count);
    tbed_json_string(json, "text", text);
    tbed_json_object_close(json);
}

static bool is_in(const struct answer_part *part, uint64_t first_tick, uint64_t last_tick)
{
    return first_tick < part->end_tick && last_tick >= part->begin_tick;
}

static void put_damage(struct gaps *gaps, const struct answer_part *part)
{
    const struct tbed_reader *reader = gaps->answer->trace->reader;
    struct tbed_damage damage;
    char text[192];
    for (size_t i = 0; tbed_damage_get(reader, i, &damage); i++) {
        bool has_time = damage.kind == TBED_BLOCK_EVENTS && damage.stream != 0 && damage.last_tick != 0;
        if (!has_time || !is_in(part, damage.first_tick, damage.last_tick))
            continue;
        snprintf(text, sizeof text, "Page %llu is damaged: %s.", (unsigned long long)damage.page,
                 tbed_status_text(damage.status));
        put_gap(gaps, "damaged", damage.stream, damage.first_tick, damage.last_tick, 1, text);
    }
}

static void put_lost(struct gaps *gaps, const struct answer_part *part)
{
    struct tbed_lost_info lost;
    for (size_t i = 0; tbed_lost_get(gaps->answer->trace->reader, i, &lost); i++)
        if (lost.kind == TBED_BLOCK_EVENTS && lost.stream != 0 &&
            is_in(part, lost.first_tick, lost.last_tick))
            put_gap(gaps, "lost", lost.stream, lost.first_tick, lost.last_tick, lost.count,
                    "Events were lost before the trace was recovered.");
}

static void put_overwritten(struct gaps *gaps, const struct answer_part *part)
{
    struct tbed_ring_gap gap;
    for (size_t at = 0; tbed_ring_gap_next(gaps->answer->trace->reader, &at, &gap);)
        if (is_in(part, gap.first_tick, gap.last_tick))
            put_gap(gaps, "overwritten", gap.stream, gap.first_tick, gap.last_tick, gap.block_count,
                    "The flight recorder has no room for the events in between.");
}

static void put_drops(struct gaps *gaps, const struct tbed_marks *marks)
{
    const struct tbed_mark_row *mark;
    char text[96];
    for (size_t i = 0; (mark = tbed_marks_get(marks, i)) != NULL; i++) {
        if (mark->kind != TBED_MARK_DROP)
            continue;
        snprintf(text, sizeof text, "%llu event%s dropped.", (unsigned long long)mark->count,
                 mark->count == 1 ? " was" : "s were");
        put_gap(gaps, "dropped", mark->stream, mark->first_tick, mark->last_tick, mark->count, text);
    }
}

/* Events that report drops are looked for only if the trace says that there are any. */
static enum tbed_status find_drops(struct answer *answer, const struct answer_part *part,
                                   struct tbed_marks **marks_ret)
{
    return tool_drops_total(answer->info.drops) > 0 ? make(answer, part, GAP_COLUMNS, marks_ret) : TBED_OK;
}

enum answer_status answer_gaps(struct answer *answer)
{
    struct answer_part part;
    enum answer_status answer_status;
    struct tbed_marks *marks = NULL;
    struct gaps gaps = {.answer = answer};
    if (answer_part_open_plain(answer, &part, &answer_status)) {
        enum tbed_status status = find_drops(answer, &part, &marks);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK) {
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_array_open(&answer->json, "gaps");
        put_damage(&gaps, &part);
        put_lost(&gaps, &part);
        put_overwritten(&gaps, &part);
        if (marks != NULL)
            put_drops(&gaps, marks);
        tbed_json_array_close(&answer->json);
        tbed_json_u64(&answer->json, "left_out", gaps.count > GAPS_MAX ? gaps.count - GAPS_MAX : 0);
        tbed_json_object_close(&answer->json);
    }
    tbed_marks_close(marks);
    answer_part_close(&part);
    return answer_status;
}
