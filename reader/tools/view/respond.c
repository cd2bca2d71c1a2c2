/*
 * Finds what answers a request, and makes the response.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include <stdlib.h>
#include <string.h>

struct call {
    const char *path;
    const char *parameters; /* see request_allows() */
    bool has_trace;         /* that of the parameter f */
    bool is_long;           /* may take long: see view_turn_begin() */
    enum answer_status (*answer)(struct answer *answer);
};

static const struct call calls[] = {
    {"trace", "since", false, false, answer_trace},
    {"window", ANSWER_PART " w depth max sketch seq page", true, false, answer_window},
    {"table", ANSWER_PART " seq page", true, true, answer_table},
    {"histogram", ANSWER_CALLS " seq page", true, true, answer_histogram},
    {"histograms", ANSWER_PART " seq page", true, true, answer_histograms},
    {"flame", ANSWER_PART " against ab ae seq page", true, true, answer_flame},
    {"marks", ANSWER_PART " w", true, false, answer_marks},
    {"plots", ANSWER_PART " w", true, false, answer_plots},
    {"gaps", "f b e streams", true, false, answer_gaps},
    {"span", "f s b depth id quick seq page", true, true, answer_span},
    {"search", "f b e streams q regex in max seq page", true, true, answer_search},
    {"name", "f id", true, false, answer_name_of},
    {"source", "f id", true, false, answer_source},
    {"flows", "f b e streams max seq page", true, true, answer_flows},
    {"critical", "f id seq page", true, true, answer_critical},
    {"memory", "f b e by of seq page", true, true, answer_memory},
    {"memory_flame", "f b e of seq page", true, true, answer_memory_flame},
};

static const struct call *find_call(const char *path)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i].path, path) == 0)
            return &calls[i];
    return NULL;
}

static enum answer_status answer_of(struct answer *answer, const struct call *call)
{
    uint64_t file = 0;
    if (!request_allows(answer->request, call->parameters))
        return ANSWER_BAD;
    if (!call->has_trace)
        return call->answer(answer);
    if (!request_number(answer->request, "f", 0, answer->view->trace_count - 1, &file))
        return ANSWER_BAD;
    answer_use_trace(answer, &answer->view->traces[file]);
    enum answer_status status = call->answer(answer);
    answer_leave_trace(answer);
    return status;
}

/* At most one of a page is answered at a time, so that those of which the page does not wait for the answer do not add up. */
static enum answer_status answer_in_turn(struct answer *answer, const struct call *call)
{
    struct request *request = answer->request;
    uint64_t page = request_page(request), sequence = 0;
    if (!call->is_long || page == 0)
        return answer_of(answer, call);
    if (!request_number(request, "seq", 0, UINT64_MAX, &sequence))
        return ANSWER_BAD;
    struct view_turn *turn = view_turn_begin(answer->view, page + (uint64_t)(call - calls), sequence);
    if (turn == NULL)
        return answer_refuse(answer, ANSWER_CANCELLED, "there is a newer request");
    answer->is_cancelled = &turn->is_cancelled;
    enum answer_status status = answer_of(answer, call);
    view_turn_end(answer->view, turn);
    return status;
}

/* Without memory even for this, the text is empty. */
static void put_problem(struct answer *answer)
{
    free(answer->text.bytes);
    answer->text = (struct tbed_text){0};
    answer->json = (struct tbed_json){.text = &answer->text};
    tbed_json_object_open(&answer->json, NULL);
    tbed_json_string(&answer->json, "error", answer->request->problem);
    tbed_json_object_close(&answer->json);
    tbed_json_line(&answer->json);
}

static enum answer_status respond(struct answer *answer, struct view_response *response)
{
    struct request *request = answer->request;
    const struct call *call = find_call(request->path);
    if (call != NULL)
        return view_wait_open(answer->view) ? answer_in_turn(answer, call)
                                            : answer_refuse(answer, ANSWER_CANCELLED, "the server ends");
    if (!view_page_file(*request->path != '\0' ? request->path : "index.html", response))
        return answer_refuse(answer, ANSWER_NONE, "there is nothing at this address");
    return request_allows(request, "") ? ANSWER_OK : ANSWER_BAD;
}

void view_respond(struct view *view, const char *target, struct view_response *response_ret)
{
    struct request *request = calloc(1, sizeof *request);
    struct answer answer = {.view = view, .request = request, .is_cancelled = &view->is_ending};
    *response_ret = (struct view_response){.status = ANSWER_FAILED};
    if (request == NULL)
        return;
    answer.json.text = &answer.text;
    enum answer_status status = request_parse(request, target) ? respond(&answer, response_ret) : ANSWER_BAD;
    if (response_ret->bytes == NULL)
        tbed_json_line(&answer.json);
    if (status == ANSWER_OK && answer.text.is_out_of_memory)
        status = answer_fail(&answer, TBED_ERR_MEMORY);
    if (status != ANSWER_OK) {
        *response_ret = (struct view_response){0};
        put_problem(&answer);
    }
    response_ret->status = status;
    response_ret->text = answer.text;
    tbed_vector_free(&answer.ids.vector);
    free(request);
}
