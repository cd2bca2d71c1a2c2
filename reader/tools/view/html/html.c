/*
 * A page with data, from the traces to the file; see html.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/html/html.h"

#include "reader/tools/view/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS         4
#define SPAN_NBYTES      4                  /* most take about as much, compressed */
#define TEXT_RATIO       6                  /* about how much smaller texts become */
#define EVENTS_SHARE     3                  /* events get at least one part in so many */
#define BLOCK_NBYTES_MAX 96                 /* of the markup around data */
#define NO_ROOM          TBED_ERR_DISK_FULL /* in the file that is made */

/* The file so far, and what it may have. */
struct making {
    struct view *view;
    const struct html_options *options;
    struct tbed_text page;
};

/* ---- Blocks of data ---- */

static void put_block(struct tbed_text *to, const char *name, size_t number, const struct tbed_text *packed)
{
    char head[BLOCK_NBYTES_MAX];
    snprintf(head, sizeof head, "<script type=\"text/plain\" id=\"data-%s-%zu\">", name, number);
    tbed_text_puts(to, head);
    html_base64(to, packed->bytes, packed->nbytes);
    tbed_text_puts(to, "</script>\n");
    to->is_out_of_memory |= packed->is_out_of_memory;
}

static void put_text(struct tbed_text *to, const char *name, size_t number, const struct tbed_text *plain)
{
    struct tbed_text packed = {.is_out_of_memory = plain->is_out_of_memory};
    html_deflate(&packed, plain->bytes, plain->nbytes);
    put_block(to, name, number, &packed);
    free(packed.bytes);
}

/* ---- A trace ---- */

static void put_spans(struct html_trace *trace, const struct html_spans *spans, struct tbed_text *to)
{
    struct tbed_text text = {0};
    char head[192];
    for (size_t i = 0; i < spans->id_count; i++)
        html_trace_note(trace, spans->ids[i]);
    snprintf(head, sizeof head,
             "{\"column\":%llu,\"span_count\":%llu,\"single_count\":%llu,\"unknown_count\":%llu,\"names\":",
             (unsigned long long)spans->column_ticks, (unsigned long long)spans->span_count,
             (unsigned long long)spans->single_count, (unsigned long long)spans->unknown_count);
    tbed_text_puts(&text, head);
    html_names_put(trace, &text);
    tbed_text_puts(&text, "}");
    put_text(to, "names", trace->number, &text);
    put_block(to, "spans", trace->number, &spans->packed);
    free(text.bytes);
}

/* Adds spans until the file is as large as it may be. Their names come on top, so the first attempt may be too large. */
static enum tbed_status add_spans(struct html_trace *trace, struct tbed_text *to, uint64_t most)
{
    size_t before = to->nbytes, id_count = trace->ids.count;
    uint64_t room = (most - before) / 4 * 3;
    for (unsigned i = 0;; i++) {
        struct html_spans spans;
        enum tbed_status status = html_spans_make(trace, room, &spans);
        if (status == TBED_OK)
            put_spans(trace, &spans, to);
        html_spans_free(&spans);
        if (status != TBED_OK || to->nbytes <= most || to->is_out_of_memory)
            return status;
        uint64_t excess = (to->nbytes - most) / 4 * 3 + room / 64; /* names do not become fewer as fast */
        if (i == ATTEMPTS || excess >= room)
            return NO_ROOM;
        room -= excess;
        to->nbytes = before;
        trace->ids.count = id_count;
    }
}

/* Events first: they get what the spans do not need, and if there is too little for both, a part of it. */
static enum tbed_status add_trace(struct html_trace *trace, struct tbed_text *to, uint64_t most)
{
    struct tbed_text facts = {0};
    struct html_events events;
    uint64_t room = most - to->nbytes, for_events = room / EVENTS_SHARE;
    enum tbed_status status = html_spans_count(trace);
    uint64_t span_count = trace->counts[0];
    if (span_count < (room - for_events) / SPAN_NBYTES)
        for_events = room - span_count * SPAN_NBYTES;
    if (status == TBED_OK)
        status = html_events_read(trace, for_events / 4 * TEXT_RATIO, &events);
    if (status != TBED_OK)
        return status;
    html_facts_put(trace, &events, &facts);
    put_text(to, "facts", trace->number, &facts);
    free(facts.bytes);
    html_events_free(&events);
    return to->nbytes < most ? add_spans(trace, to, most) : NO_ROOM;
}

/* ---- All of them ---- */

static int complain(const struct making *making, size_t number, enum tbed_status status, const char *why)
{
    if (status == NO_ROOM) {
        tool_complain("view: --size: what is known of the trace does not fit");
        tool_hint("Choose a larger size, or a part of the trace with -b and -e.");
    } else {
        tool_complain("%s: %s", tool_path(making->view->traces[number].path), why);
    }
    return TOOL_TROUBLE;
}

static void put_list(struct making *making)
{
    struct view_response response;
    view_respond(making->view, "trace", &response);
    put_text(&making->page, "trace", 0, &response.text);
    free(response.text.bytes);
}

static int make(struct making *making)
{
    struct tbed_text end = {0};
    html_page_end(&end);
    html_page_begin(&making->page);
    put_list(making);
    uint64_t most = making->options->nbytes - making->options->nbytes / 20 - end.nbytes;
    for (size_t i = 0; i < making->view->trace_count; i++) {
        struct html_trace trace;
        const char *why;
        uint64_t left = most > making->page.nbytes ? most - making->page.nbytes : 0;
        uint64_t share = making->page.nbytes + left / (making->view->trace_count - i);
        enum tbed_status status =
            html_trace_open(&trace, making->view, i, &why) ? TBED_OK : TBED_ERR_ARGUMENT;
        if (status == TBED_OK) {
            tool_progress_begin(making->view->traces[i].reader, false);
            status = add_trace(&trace, &making->page, share);
            tool_progress_end();
            why = tbed_status_text(status);
        }
        int exit = status == TBED_OK ? -1 : complain(making, i, status, why);
        html_trace_close(&trace);
        if (exit >= 0) {
            free(end.bytes);
            return exit;
        }
    }
    tbed_text_put(&making->page, end.bytes, end.nbytes);
    free(end.bytes);
    if (making->page.is_out_of_memory)
        tool_out_of_memory();
    return -1;
}

/* ---- The file ---- */

static bool write_page(void *context, int fd)
{
    const struct tbed_text *page = context;
    return view_write_all(fd, page->bytes, page->nbytes);
}

int html_make(struct view *view, const struct html_options *options)
{
    struct making making = {.view = view, .options = options};
    struct view_output output;
    if (!view_output_open(&output, view, options->path, options->overwrite))
        return TOOL_TROUBLE;
    view->is_for_file = true;
    int exit = make(&making);
    if (exit < 0)
        exit = view_output_write(&output, write_page, &making.page);
    else
        view_output_abandon(&output);
    free(making.page.bytes);
    return exit;
}
