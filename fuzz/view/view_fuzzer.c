/*
 * Whatever is asked about any trace, the server of 'tracebed view' answers with JSON and a status that says so, without a
 * network.
 *
 * The bytes behind the last whole page of the trace are the request, such as "window?b=1&e=2". Without them, all questions
 * are asked.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "format/layout.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"
#include "reader/tools/view/view.h"

#define SPANS_MAX 4

static bool is_json(const struct view_response *response)
{
    return response->bytes == NULL && is_json_lines(response->text.bytes, response->text.nbytes);
}

/* Returns the status. */
static unsigned ask(struct view *view, const char *target)
{
    struct view_response response;
    view_respond(view, target, &response);
    unsigned status = response.status;
    bool is_file = response.bytes != NULL;
    REQUIRE(status == 200 || status == 400 || status == 404 || status == 409 || status == 500);
    REQUIRE(is_file ? status == 200 : is_json(&response));
    free(response.text.bytes);
    return status;
}

static void ask_everything(struct view *view)
{
    static const char *const targets[] = {"trace",
                                          "trace?since=0",
                                          "window?w=7&max=20",
                                          "window?b=1&e=1000&w=100&depth=2",
                                          "table",
                                          "table?n=a&x=b&minimum=2",
                                          "histogram?label=a",
                                          "histograms",
                                          "flame",
                                          "flame?against=0&ab=1&ae=90",
                                          "gaps",
                                          "marks?w=3",
                                          "plots?w=3",
                                          "flows?max=5",
                                          "memory",
                                          "memory?by=stack&of=bytes",
                                          "memory?by=function&of=leaks",
                                          "memory_flame?of=bytes",
                                          "search?q=a&max=3",
                                          "search?q=.&regex=1&in=names,messages,arguments&max=3"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        REQUIRE(ask(view, targets[i]) != 400 || strncmp(targets[i], "memory", 6) == 0);
}

/* Every span that a window shows is found. */
static void ask_for_spans(struct view *view)
{
    struct tbed_assembler *assembler;
    struct tbed_reader *reader = view->traces[0].reader;
    struct tbed_trace_info info;
    struct tbed_step step;
    char target[128];
    tbed_reader_info(reader, &info);
    REQUIRE(tbed_assembler_open(reader, NULL, 0, &assembler) == TBED_OK);
    for (size_t i = 0; i < SPANS_MAX && tbed_assembler_next(assembler, &step) == TBED_OK;) {
        if (step.kind != TBED_STEP_END)
            continue;
        const struct tbed_assembled *span = step.span;
        uint64_t begin = span->begin_tick < span->end_tick ? span->begin_tick : span->end_tick;
        snprintf(target, sizeof target, "span?s=%u&b=%llu&id=%u", span->stream,
                 (unsigned long long)(begin - info.first_tick), span->id);
        REQUIRE(begin < info.first_tick || ask(view, target) == 200);
        snprintf(target, sizeof target, "name?id=%u", span->id);
        ask(view, target);
        snprintf(target, sizeof target, "source?id=%u", span->id);
        ask(view, target);
        snprintf(target, sizeof target, "critical?id=%u", span->id);
        ask(view, target);
        i++;
    }
    tbed_assembler_close(assembler);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    size_t rest = nbytes % TBED_PAGE_NBYTES_MIN;
    char target[TBED_PAGE_NBYTES_MIN + 1];
    struct tbed_reader *reader = open_input(data, nbytes - rest);
    if (reader == NULL)
        return 0;
    tbed_reader_limit_text(reader, 1 << 20);
    struct view view = {.jobs = 1, .no_symbols = true};
    struct view_trace *trace = calloc(1, sizeof *trace);
    REQUIRE(trace != NULL);
    trace->path = "x";
    trace->reader = reader;
    trace->places = (struct tool_places){.reader = reader, .part = TBED_NAME_ALL};
    view_start(&view, trace, 1);
    memcpy(target, data + nbytes - rest, rest);
    target[rest] = '\0';
    if (rest > 0) {
        ask(&view, target);
    } else {
        ask_everything(&view);
        ask_for_spans(&view);
    }
    view_close(&view);
    return 0;
}
