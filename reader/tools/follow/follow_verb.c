/*
 * tracebed follow: show what a running program is doing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/filter_time.h"
#include "reader/tools/follow/follow.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_DEFAULT   10
#define INTERVAL_MIN_NS 1000000
#define INTERVAL_MAX_NS (UINT64_C(86400) * 1000000000)

static const char help[] = "usage: tracebed follow [OPTION]... FILE\n"
                           "\n"
                           "Show what a running program is doing, from the trace that it is writing: what\n"
                           "takes its time, what each thread is in, and the newest events. Ends when the\n"
                           "trace is closed, or at ctrl-C.\n"
                           "\n"
                           "  -i, --interval=TIME    show it every TIME, such as 500ms (default: 1s)\n"
                           "  -c, --count=N          end after showing it N times\n"
                           "  -l, --limit=N          show N rows of each table, at most 64 (default: 10)\n"
                           "      --no-symbols       show addresses instead of looking up symbols\n"
                           "      --json             print one JSON object each time, on one line\n"
                           "      --color=WHEN       use color: never, auto or always\n"
                           "  -h, --help             print this help\n"
                           "\n"
                           "On a terminal, each picture replaces the one before. Figures are those of the\n"
                           "time since then, at first of the last interval before the newest event. 'self'\n"
                           "is the time of spans without that of nested ones; a thread is busy while it\n"
                           "is in any span. A thread's time counts up to the newest event of all threads.\n"
                           "\n"
                           "tracebed-follow(1) documents the keys of --json.\n"
                           "\n"
                           "Examples:\n"
                           "  TRACEBED=run.tbed ./server & tracebed follow run.tbed\n"
                           "  tracebed follow -i 200ms -l 5 run.tbed\n"
                           "\n"
                           "Exit status: 0 on success; 1 if the trace is damaged (everything intact is\n"
                           "shown); 2 if the usage is wrong or the file cannot be read.\n";

enum { OPTION_JSON = 2000, OPTION_NO_SYMBOLS };

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* ---- The command line ---- */

static const char *take_interval(struct follow *follow, const char *text)
{
    struct filter_time time = {.kind = FILTER_TIME_NONE};
    bool is_fine = filter_duration_parse(text, &time) == NULL;
    long double ns = time.kind == FILTER_TIME_PLAIN ? time.value * 1e9L : time.value;
    if (!is_fine || ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS)
        return tool_takes("--interval takes a time from 1ms to a day, such as 0.5, 500ms or 2s", text);
    follow->interval_ns = (uint64_t)ns;
    return NULL;
}

static const char *take_option(struct follow *follow, int option)
{
    switch (option) {
    case 'i':
        return take_interval(follow, optarg);
    case 'c':
        return tool_parse_u64(optarg, UINT64_MAX, &follow->left) && follow->left > 0
                   ? NULL
                   : tool_takes("--count takes a number above 0", optarg);
    case 'l':
        return tool_parse_u64(optarg, TBED_FOLLOW_NEWEST_MAX, &follow->limit)
                   ? NULL
                   : tool_takes("--limit takes a number of rows up to 64", optarg);
    case OPTION_JSON:
        follow->json = true;
        return NULL;
    default:
        follow->no_symbols = true;
        return NULL;
    }
}

static int parse(int argc, char **argv, struct follow *follow)
{
    static const struct option longs[] = {{"interval", required_argument, NULL, 'i'},
                                          {"count", required_argument, NULL, 'c'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_follow, argc, argv, "i:c:l:h", longs, &exit)) != -1) {
        const char *wrong = take_option(follow, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_follow, wrong);
    }
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_follow,
                          optind < argc ? "too many FILE operands" : "missing FILE operand");
    follow->path = argv[optind];
    if (strcmp(follow->path, "-") == 0)
        return tool_usage(&tool_verb_follow, "standard input cannot be followed");
    return -1;
}

/* ---- Following ---- */

/* The first picture is of the last interval before the newest event, so it has rates as all others have. */
static enum tbed_status join(struct follow *follow)
{
    struct tbed_trace_info info;
    struct tbed_follow_totals totals;
    tbed_reader_info(follow->reader, &info);
    if (info.clock == TBED_CLOCK_USER)
        return tbed_follow_open(follow->reader, &follow->follow);
    double interval_ticks = (double)follow->interval_ns * (double)info.ticks_per_second / 1e9;
    uint64_t ticks = info.last_tick - info.first_tick;
    ticks = interval_ticks < (double)ticks ? (uint64_t)interval_ticks : ticks;
    enum tbed_status status = tbed_follow_open_at(follow->reader, info.last_tick - ticks, &follow->follow);
    if (status != TBED_OK)
        return status;
    tbed_follow_totals(follow->follow, &totals);
    follow->passed_ns = (uint64_t)tbed_tick_span_to_ns(follow->reader, totals.ticks);
    return TBED_OK;
}

static int follow_open(struct follow *follow)
{
    follow->reader = tool_open(follow->path);
    if (follow->reader == NULL)
        return TOOL_TROUBLE;
    if (tool_foreign_report(follow->reader) != NULL) {
        tool_complain("%s: not a trace; only a trace can be followed", tool_path(follow->path));
        return TOOL_TROUBLE;
    }
    follow->places = (struct tool_places){.reader = follow->reader, .part = TBED_NAME_ALL};
    if (!follow->no_symbols)
        tool_places_open(&follow->places, follow->reader, TBED_NAME_ALL);
    enum tbed_status status = join(follow);
    if (status != TBED_OK)
        tool_complain("%s: %s", tool_path(follow->path), tbed_status_text(status));
    return status == TBED_OK ? -1 : TOOL_TROUBLE;
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits until the interval is over, or for ctrl-C. */
static void wait_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void show(struct follow *follow)
{
    struct tbed_trace_info info;
    tbed_reader_info(follow->reader, &info);
    follow->grown_nbytes = info.file_nbytes - follow->info.file_nbytes;
    follow->info = info;
    tbed_follow_totals(follow->follow, &follow->totals);
    if (follow->json)
        follow_print_json(follow);
    else
        follow_print_text(follow);
    fflush(stdout);
}

static int go_on(struct follow *follow)
{
    struct tbed_error error;
    uint64_t last_ns = clock_ns();
    follow->info.file_nbytes = 0;
    for (;;) {
        show(follow);
        if (--follow->left == 0 || follow->info.shut || is_interrupted || tool_output_failed())
            return TOOL_FINE;
        wait_until(last_ns + follow->interval_ns);
        if (is_interrupted)
            return TOOL_FINE;
        uint64_t now_ns = clock_ns();
        follow->passed_ns = now_ns - last_ns;
        follow->is_going_on = true;
        last_ns = now_ns;
        if (tbed_follow_update(follow->follow, &error) != TBED_OK) {
            tool_complain_open(follow->path, &error);
            return TOOL_TROUBLE;
        }
    }
}

static int run(int argc, char **argv)
{
    struct follow follow = {.interval_ns = 1000000000, .left = UINT64_MAX, .limit = LIMIT_DEFAULT};
    struct sigaction action = {.sa_handler = on_interrupt}, before;
    int exit = parse(argc, argv, &follow);
    if (exit < 0)
        exit = follow_open(&follow);
    if (exit < 0) {
        is_interrupted = 0;
        sigaction(SIGINT, &action, &before);
        exit = go_on(&follow);
        sigaction(SIGINT, &before, NULL);
        if (exit == TOOL_FINE && tool_damage_count(follow.reader) > 0)
            exit = TOOL_FOUND;
        tool_tell_damage(follow.path, follow.reader);
        exit = tool_finish(exit);
    }
    free(follow.line.bytes);
    tbed_follow_close(follow.follow);
    tool_places_close(&follow.places);
    tbed_reader_close(follow.reader);
    return exit;
}

const struct tool_verb tool_verb_follow = {
    .name = "follow", .summary = "show what a running program is doing", .help = help, .run = run};
