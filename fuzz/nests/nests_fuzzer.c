/*
 * Which spans of a thread nest, for exports that hold their begins back: whatever spans there are, in whatever order, the text
 * of each comes out once, and of two that begin at the same time, that of the outer one first.
 *
 * The input: a byte of options (spans are unordered; few may be inside each other), a plan for failures
 * (fuzz/support/failing.h), then steps of three bytes: what happens, where a span begins and how long it is. The other bits of
 * the first byte say how long its text is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "reader/exchange/events/export_nest.h"

enum { BEGIN, END, WHOLE, WHOLE_WITHOUT_TRIM };

#define HEAD_NBYTES  (1 + FAILING_PLAN_NBYTES)
#define STEP_NBYTES  3
#define SPANS_MAX    1000u
#define HEIGHT_MAX   3u
#define UNIT_NBYTES  ((size_t)4 << 10)
#define TEXT_NBYTES  (64 * UNIT_NBYTES)
#define NUMBER_BYTES sizeof(uint32_t)

struct span {
    int64_t begin, end;
    size_t nbytes; /* of its text, which begins with its number */
    size_t place;  /* in which it came out, plus 1 */
};

struct work {
    const uint8_t *steps;
    size_t step_count;
    bool is_unordered, is_flat;
    struct export_nest nest;
    struct tbed_text out;
    struct span spans[SPANS_MAX];
    uint32_t span_count, open_count;
};

/* ---- Spans ---- */

static void take_whole(struct work *work, int64_t begin, int64_t end, size_t nbytes)
{
    static char bytes[TEXT_NBYTES];
    struct tbed_text text = {.bytes = bytes, .nbytes = nbytes, .room = sizeof bytes};
    if (work->span_count == SPANS_MAX || !tbed_export_nest_fits(&work->nest, begin, end))
        return;
    memcpy(bytes, &work->span_count, sizeof work->span_count);
    work->spans[work->span_count++] = (struct span){.begin = begin, .end = end, .nbytes = nbytes};
    tbed_export_nest_take(&work->nest, begin, end, &text, &work->out);
}

static void take_step(struct work *work, const uint8_t *step)
{
    int64_t begin = step[1], end = begin + 1 + step[2];
    switch (step[0] & 3) {
    case BEGIN:
        tbed_export_nest_begin(&work->nest, begin);
        work->open_count++;
        break;
    case END:
        if (work->open_count > 0)
            tbed_export_nest_end(&work->nest, end, &work->out);
        work->open_count -= work->open_count > 0;
        break;
    default:
        take_whole(work, begin, end, NUMBER_BYTES + (step[0] >> 2) * UNIT_NBYTES);
    }
    if ((step[0] & 3) != WHOLE_WITHOUT_TRIM)
        tbed_export_nest_trim(&work->nest, &work->out);
}

/* ---- What came out ---- */

static void find_places(struct work *work)
{
    uint32_t count = 0, number;
    for (size_t at = 0; at < work->out.nbytes; at += work->spans[number].nbytes) {
        REQUIRE(work->out.nbytes - at >= sizeof number);
        memcpy(&number, work->out.bytes + at, sizeof number);
        REQUIRE(number < work->span_count && work->spans[number].place == 0);
        work->spans[number].place = ++count;
    }
    REQUIRE(count == work->span_count);
}

/* The later one of two that fit, and begin together, is outside. */
static void check_order(const struct work *work)
{
    for (uint32_t i = 0; i < work->span_count; i++)
        for (uint32_t j = i + 1; j < work->span_count; j++)
            REQUIRE(work->spans[i].begin != work->spans[j].begin || work->spans[i].end > work->spans[j].end ||
                    work->spans[j].place < work->spans[i].place);
}

static void run(void *context)
{
    struct work *work = context;
    work->nest = (struct export_nest){.is_unordered = work->is_unordered,
                                      .height_max = work->is_flat ? HEIGHT_MAX : 0};
    work->out = (struct tbed_text){0};
    work->span_count = work->open_count = 0;
    failing_start();
    for (size_t i = 0; i < work->step_count; i++)
        take_step(work, work->steps + i * STEP_NBYTES);
    tbed_export_nest_finish(&work->nest, &work->out);
    failing_stop();
    bool is_fine = !work->nest.is_out_of_memory && !work->out.is_out_of_memory;
    REQUIRE(is_fine || failing_count() > 0);
    if (is_fine)
        find_places(work);
    if (is_fine && !work->is_unordered)
        check_order(work);
    tbed_export_nest_close(&work->nest);
    free(work->out.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static struct work work;
    if (nbytes < HEAD_NBYTES)
        return 0;
    struct failing_plan plan = failing_plan_of(data + 1);
    work = (struct work){.steps = data + HEAD_NBYTES,
                         .step_count = (nbytes - HEAD_NBYTES) / STEP_NBYTES,
                         .is_unordered = (data[0] & 1) != 0,
                         .is_flat = (data[0] & 2) != 0};
    failing_run(&plan, run, &work);
    return 0;
}
