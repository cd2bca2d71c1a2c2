/*
 * flame: time by stack, of a part of a trace, or compared with another file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"
#include "reader/tools/view/answers/tree.h"

#include <tracebed/analysis.h>
#include <tracebed/compare.h>

static enum tbed_status make_stacks(struct answer *answer, struct view_trace *trace,
                                    const struct answer_part *part, struct tbed_stacks **stacks_ret)
{
    struct tbed_stacks_options options = {.size = sizeof options,
                                          .thread_count = answer->view->jobs,
                                          .name = tool_places_name,
                                          .name_context = &trace->places,
                                          .prepare = tool_places_prepare,
                                          .filter = part->filter,
                                          .is_cancelled = answer->is_cancelled};
    return tbed_stacks_make(trace->reader, &options, stacks_ret);
}

static enum tbed_status put_one(struct answer *answer, const struct answer_part *part)
{
    struct tbed_stacks *stacks;
    struct tree tree = {0};
    const struct tbed_stack_row *row;
    enum tbed_status status = make_stacks(answer, answer->trace, part, &stacks);
    if (status != TBED_OK)
        return status;
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++)
        tree_add(&tree, &(struct tree_node){.parent = row->parent,
                                            .label = row->label,
                                            .label_nbytes = row->label_nbytes,
                                            .total = row->total_ticks,
                                            .self = row->self_ticks,
                                            .count = row->count});
    status = tree_put(&tree, answer, false);
    tree_free(&tree);
    tbed_stacks_close(stacks);
    return status;
}

static enum tbed_status put_differences(struct answer *answer, struct view_trace *old_trace,
                                        const struct tbed_stacks *old, const struct tbed_stacks *new)
{
    struct tbed_stack_differences *differences;
    const struct tbed_stack_difference *row;
    struct tree tree = {0};
    enum tbed_status status =
        tbed_stack_differences_make(old, old_trace->reader, new, answer->trace->reader, &differences);
    if (status != TBED_OK)
        return status;
    for (size_t i = 0; (row = tbed_stack_differences_row(differences, i)) != NULL; i++)
        tree_add(&tree, &(struct tree_node){.parent = row->parent,
                                            .label = row->label,
                                            .label_nbytes = row->label_nbytes,
                                            .total = row->after.total,
                                            .self = row->after.self,
                                            .count = row->after.count,
                                            .old_total = row->before.total});
    status = tree_put(&tree, answer, true);
    tree_free(&tree);
    tbed_stack_differences_close(differences);
    return status;
}

/* The other file has a window of its own, 'ab' and 'ae', in its own ticks. */
static enum answer_status compare(struct answer *answer, const struct answer_part *part,
                                  struct view_trace *old_trace)
{
    struct answer old = {
        .view = answer->view, .request = answer->request, .is_cancelled = answer->is_cancelled};
    struct answer_part old_part;
    struct tbed_stacks *old_stacks = NULL, *stacks = NULL;
    enum answer_status answer_status;
    answer_use_trace(&old, old_trace);
    if ((old.info.clock == TBED_CLOCK_USER) != (answer->info.clock == TBED_CLOCK_USER)) {
        answer_leave_trace(&old);
        return answer_refuse(answer, ANSWER_BAD, "the clocks of the files count different things");
    }
    if (answer_part_open_as(&old, &old_part, &(struct answer_part_kind){"ab", "ae", false, NULL},
                            &answer_status)) {
        enum tbed_status status = make_stacks(&old, old_trace, &old_part, &old_stacks);
        if (status == TBED_OK)
            status = make_stacks(answer, answer->trace, part, &stacks);
        if (status == TBED_OK)
            status = put_differences(answer, old_trace, old_stacks, stacks);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    tbed_stacks_close(old_stacks);
    tbed_stacks_close(stacks);
    answer_part_close(&old_part);
    answer_leave_trace(&old);
    return answer_status;
}

enum answer_status answer_flame(struct answer *answer)
{
    struct answer_part part;
    enum answer_status answer_status;
    uint64_t against = UINT64_MAX;
    if (!request_number(answer->request, "against", 0, answer->view->trace_count - 1, &against))
        return ANSWER_BAD;
    tbed_json_object_open(&answer->json, NULL);
    if (answer_part_open(answer, &part, &answer_status)) {
        if (against != UINT64_MAX) {
            answer_status = compare(answer, &part, &answer->view->traces[against]);
        } else {
            enum tbed_status status = put_one(answer, &part);
            answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
        }
    }
    answer_part_close(&part);
    bool is_time = answer->info.clock != TBED_CLOCK_USER;
    tbed_json_string(&answer->json, "unit", against != UINT64_MAX && is_time ? "ns" : "ticks");
    tbed_json_object_close(&answer->json);
    return answer_status;
}
