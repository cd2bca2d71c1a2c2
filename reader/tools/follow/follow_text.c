/*
 * A picture of a running program as text.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/dump/dump.h"
#include "reader/tools/follow/follow.h"

#define NAME_COLUMNS_MAX 40 /* of a span in a thread's stack */
#define STACK_SPANS_MAX  6

/* "84,211/s"; of the first picture, nothing is known if the clock does not measure time. */
static const char *format_rate(const struct follow *follow, char buffer[48], uint64_t count)
{
    char number[32];
    if (follow->passed_ns == 0)
        return strcpy(buffer, "-");
    snprintf(buffer, 48, "%s/s",
             tool_format_count(number, (uint64_t)((double)count * 1e9 / (double)follow->passed_ns + 0.5)));
    return buffer;
}

static void put_share(const struct follow *follow, uint64_t ticks)
{
    if (follow->totals.ticks == 0)
        printf("%10s", "-");
    else
        printf("%8.1f %%", 100 * (double)ticks / (double)follow->totals.ticks);
}

static void put_name(struct follow *follow, uint32_t id, bool is_label, size_t columns)
{
    struct tbed_name label;
    follow->line.nbytes = 0;
    if (is_label && tbed_event_label(follow->reader, id, &label) == TBED_OK)
        tool_append(&follow->line, label.text, label.nbytes);
    else
        tool_append_name(&follow->line, follow->reader, id);
    tool_print_text(stdout, follow->line.bytes, follow->line.nbytes, columns);
}

static void put_head(struct follow *follow)
{
    char events[48], spans[48], size[32], growth[32], drops[32];
    const struct tbed_trace_info *info = &follow->info;
    uint64_t dropped = tool_drops_total(info->drops);
    const char *path = tool_path(follow->path);
    fputs(tool_bold(), stdout);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: %s, %s", tool_plain(), info->shut ? "closed" : "running",
           tool_format_bytes(size, (double)info->file_nbytes));
    if (follow->is_going_on)
        printf(" (+%s)", tool_format_bytes(growth, (double)follow->grown_nbytes));
    if (info->clock != TBED_CLOCK_USER)
        printf(", %s", tool_format_ns(growth, tbed_tick_span_to_ns(follow->reader, follow->totals.now_tick -
                                                                                       info->first_tick)));
    printf("\n  %s events, %s spans, %s%s%s dropped%s\n",
           format_rate(follow, events, follow->totals.event_count),
           format_rate(follow, spans, follow->totals.span_count), dropped > 0 ? tool_red() : "",
           dropped > 0 ? tool_format_count(drops, dropped) : "none", "", dropped > 0 ? tool_plain() : "");
}

static void put_spans(struct follow *follow)
{
    const struct tbed_follow_label *label;
    char rate[48], self[32];
    printf("\n%s%10s%12s%14s  span%s\n", tool_bold(), "self", "", "count", tool_plain());
    for (size_t i = 0; i < follow->limit && (label = tbed_follow_label(follow->follow, i)) != NULL; i++) {
        put_share(follow, label->self_ticks);
        printf("%12s%14s  ", tool_format_ticks(self, follow->reader, &follow->info, label->self_ticks),
               format_rate(follow, rate, label->count));
        put_name(follow, label->id, true, 0);
        putchar('\n');
    }
}

/* "main (1.20 s) > parse (3.4 ms)"; of a deep stack, the innermost. */
static void put_stack(struct follow *follow, const struct tbed_follow_thread *thread)
{
    char time[32];
    size_t first = thread->open_count > STACK_SPANS_MAX ? thread->open_count - STACK_SPANS_MAX : 0;
    if (first > 0)
        printf("… %zu > ", first);
    for (size_t i = first; i < thread->open_count; i++) {
        uint64_t begin = thread->open[i].begin_tick, now = follow->totals.now_tick;
        printf("%s", i > first ? " > " : "");
        put_name(follow, thread->open[i].id, true, NAME_COLUMNS_MAX);
        printf(" %s(%s)%s", tool_dim(),
               tool_format_ticks(time, follow->reader, &follow->info, now > begin ? now - begin : 0),
               tool_plain());
    }
}

static void put_thread_name(struct follow *follow, const struct tbed_stream_info *stream)
{
    follow->line.nbytes = 0;
    tool_append_thread(&follow->line, follow->reader, stream, "");
    tool_print_text(stdout, follow->line.bytes, follow->line.nbytes, 24);
}

/* Threads that have ended and recorded nothing meanwhile are not shown. */
static void put_threads(struct follow *follow)
{
    const struct tbed_follow_thread *thread;
    struct tbed_stream_info stream;
    char rate[48], left[32];
    size_t shown = 0, hidden = 0;
    printf("\n%s%10s%14s  thread%s\n", tool_bold(), "busy", "events", tool_plain());
    for (size_t i = 0; (thread = tbed_follow_thread(follow->follow, i)) != NULL; i++) {
        if ((thread->has_ended && thread->event_count == 0) || !tbed_stream_get(follow->reader, i, &stream))
            continue;
        if (shown == follow->limit) {
            hidden++;
            continue;
        }
        shown++;
        put_share(follow, thread->busy_ticks);
        printf("%14s  ", format_rate(follow, rate, thread->event_count));
        put_thread_name(follow, &stream);
        fputs(thread->has_ended ? "  [ended]" : thread->open_count > 0 ? "  " : "", stdout);
        if (!thread->has_ended)
            put_stack(follow, thread);
        putchar('\n');
    }
    if (hidden > 0)
        printf("%s%10s%14s  %s more%s\n", tool_dim(), "", "", tool_format_count(left, hidden), tool_plain());
}

/* The newest events of all threads, as 'dump' prints them. */
static void put_events(struct follow *follow)
{
    struct tbed_text text = {0};
    struct dump dump = {.reader = follow->reader,
                        .path = follow->path,
                        .info = follow->info,
                        .places = follow->places,
                        .out.text = &text};
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t tick = tbed_follow_newest_tick(follow->follow, (size_t)follow->limit), count = 0;
    if (follow->limit == 0 || tbed_merge_open(follow->reader, NULL, 0, &merge) != TBED_OK)
        return;
    streams_choose(&dump.all, follow->path, follow->reader);
    dump.shown = &dump.all;
    dump_text_prepare(&dump);
    tbed_merge_limit(merge, tick, UINT64_MAX);
    putchar('\n');
    while (count < follow->limit && tbed_merge_next(merge, &event) == TBED_OK)
        if (event.tick >= tick && event.tick <= follow->totals.now_tick) {
            dump_text_event(&dump, &event, 0);
            count++;
        }
    tool_check_text(&text);
    fwrite(text.bytes, 1, text.nbytes, stdout);
    free(text.bytes);
    free(dump.line.bytes);
    free(dump.name.bytes);
    tbed_merge_close(merge);
    dump_text_free(&dump);
    streams_free(&dump.all);
}

void follow_print_text(struct follow *follow)
{
    if (tool_terminal_width() > 0)
        fputs("\033[H\033[J", stdout);
    else if (follow->is_going_on)
        putchar('\n');
    put_head(follow);
    if (tbed_follow_label(follow->follow, 0) != NULL)
        put_spans(follow);
    put_threads(follow);
    put_events(follow);
}
