/*
 * Spans and their depths; see drawn_spans.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/drawn_spans.h"

/* The spans of a stream in the order of the assembler. */
static size_t list_stream(struct drawn_list *list, struct tbed_reader *reader,
                          const struct tbed_filter *filter, uint32_t stream, struct listed *spans)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    size_t count = 0;
    assert_int_equal(tbed_assembler_open_filtered(reader, &stream, 1, filter, &assembler), TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        list->unknown_count += step.kind == TBED_STEP_UNKNOWN;
        if (step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN) {
            assert_true(count < DRAWN_MAX);
            spans[count] = listed_of(&step);
            if (spans[count].begin > spans[count].end)
                spans[count].begin = spans[count].end;
            count++;
        }
    }
    tbed_assembler_close(assembler);
    return count;
}

/* Around a span are later ones that contain it, and everything up to the first that does not is left. */
static void find_depths(struct drawn_list *list, const struct listed *spans, size_t count,
                        uint32_t depth_count)
{
    size_t around[DRAWN_DEPTHS], depth = 0;
    for (size_t i = count; i-- > 0;) {
        while (depth > 0 && (spans[around[depth - 1]].begin > spans[i].begin ||
                             spans[around[depth - 1]].end < spans[i].end))
            depth--;
        assert_true(depth < DRAWN_DEPTHS && list->count < DRAWN_MAX);
        if (depth_count == 0 || depth < depth_count)
            list->items[list->count++] = (struct drawn){spans[i], (uint32_t)depth};
        else
            list->deeper_count++;
        around[depth++] = i;
    }
}

void drawn_list_make(struct drawn_list *list, struct tbed_reader *reader, const struct tbed_filter *filter,
                     uint32_t depth_count)
{
    struct listed *spans = calloc(DRAWN_MAX, sizeof *spans);
    *list = (struct drawn_list){.items = calloc(DRAWN_MAX, sizeof *list->items)};
    assert_true(spans != NULL && list->items != NULL);
    for (uint32_t stream = 1; stream <= STREAMS; stream++) {
        size_t count = list_stream(list, reader, filter, stream, spans);
        find_depths(list, spans, count, depth_count);
    }
    free(spans);
}
