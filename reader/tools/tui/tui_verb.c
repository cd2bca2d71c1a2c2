/*
 * tracebed tui: walk through the call tree in the terminal.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"
#include "reader/tools/tui/tui.h"

static const char help[] = "usage: tracebed tui [OPTION]... FILE\n"
                           "\n"
                           "Show the call tree of 'tracebed tree' in the terminal, to expand, sort and\n"
                           "search it. FILE may be '-' for standard input.\n"
                           "\n"
                           "      --per-thread       show a tree for each thread\n"
                           "  -j, --jobs=N           use N threads (default: one per processor)\n"
                           "      --color=WHEN       use color: never, auto or always\n"
                           "  -h, --help             print this help\n"
                           "\n" TOOL_FILTER_HELP "\n"
                           "Keys: arrows or hjkl move, expand and collapse; Enter or Space expands or\n"
                           "collapses the row, + and - also all rows below it; s sorts by total, self,\n"
                           "count or name; / searches for a part of a name, n and N for the next and the\n"
                           "previous one; g and G go to the ends; ? lists the keys; q quits.\n"
                           "\n"
                           "Examples:\n"
                           "  tracebed tui run.tbed\n"
                           "  tracebed tui --per-thread --begin=10% --inside=parse run.tbed\n"
                           "\n"
                           "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
                           "shown); 2 if the usage is wrong, the file cannot be read, or there is no\n"
                           "terminal.\n";

enum { OPTION_PER_THREAD = 2000 };

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct tui *tui, int option)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&tui->filter, option, optarg);
    if (option == 'j')
        return tool_parse_jobs(optarg, &tui->options.thread_count);
    tui->options.per_thread = true;
    return NULL;
}

static int parse(int argc, char **argv, struct tui *tui)
{
    static const struct option longs[] = {TOOL_FILTER_OPTIONS,
                                          {"per-thread", no_argument, NULL, OPTION_PER_THREAD},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_tui, argc, argv, "j:h" TOOL_FILTER_SHORTS, longs, &exit)) !=
           -1) {
        const char *wrong = take_option(tui, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_tui, wrong);
    }
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_tui, optind < argc ? "too many FILE operands" : "missing FILE operand");
    tui->path = argv[optind];
    return -1;
}

/* ---- The screen ---- */

/* A key that has no effect draws the screen as well: the terminal may have another size. */
static int show(struct tui *tui)
{
    enum tui_key key = TUI_KEY_OTHER;
    uint32_t character;
    tui_rows_make(&tui->rows, tui->stacks);
    for (size_t i = 0; i < tui->rows.count; i++)
        tui_row_open(&tui->rows, i, tui_row(&tui->rows, i)->depth < (tui->options.per_thread ? 2u : 1u));
    tui->message = "Type ? for help, q to quit";
    if (!tui_terminal_start())
        return TOOL_TROUBLE;
    while (!tui->is_over) {
        tui_terminal_size(&tui->height, &tui->width);
        tui_scroll(tui);
        if (tui->shows_help)
            tui_help_draw(tui);
        else
            tui_draw(tui);
        tui_terminal_show(key == TUI_KEY_REDRAW);
        key = tui_terminal_key(&character);
        tui_press(tui, key, character);
    }
    tui_terminal_end();
    return -1;
}

/* ---- The verb ---- */

static void tell_left_out(const struct tbed_stacks_totals *totals)
{
    if (totals->folded_count > 0)
        tool_hint("There are too many paths; %llu spans on the shortest are in '<other>'.",
                  (unsigned long long)totals->folded_count);
    if (totals->unknown_count > 0)
        tool_hint("%llu spans without a known begin are omitted.", (unsigned long long)totals->unknown_count);
}

static enum tbed_status make_stacks(struct tui *tui)
{
    tui->options.filter = tui->filter.filter;
    tool_progress_begin(tui->reader, false);
    enum tbed_status status = tbed_stacks_make(tui->reader, &tui->options, &tui->stacks);
    tool_progress_end();
    return status;
}

static int show_file(struct tui *tui)
{
    int exit = tool_filter_open(&tui->filter, tui->path, tui->reader, &tui->places, 0);
    if (exit >= 0)
        return exit;
    enum tbed_status status = make_stacks(tui);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(tui->path), tbed_status_text(status));
        return TOOL_TROUBLE;
    }
    struct tbed_stacks_totals totals;
    tbed_stacks_totals(tui->stacks, &totals);
    if (totals.span_count == 0)
        tool_filter_tell_no_spans(&tui->filter, tui->path);
    else if ((exit = show(tui)) >= 0)
        return exit;
    tell_left_out(&totals);
    tool_tell_orphans(tui->path, tui->reader);
    tool_tell_damage(tui->path, tui->reader);
    return tool_finish(tool_damage_count(tui->reader) > 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct tui tui = {.options = {.size = sizeof tui.options}};
    int exit = parse(argc, argv, &tui);
    if (exit < 0) {
        tui.reader = tool_open(tui.path);
        exit = TOOL_TROUBLE;
    }
    if (tui.reader != NULL) {
        tbed_reader_info(tui.reader, &tui.info);
        tool_places_open(&tui.places, tui.reader, TBED_NAME_ALL);
        exit = show_file(&tui);
        tool_places_close(&tui.places);
    }
    tui_rows_free(&tui.rows);
    tbed_stacks_close(tui.stacks);
    tool_filter_close(&tui.filter);
    tbed_reader_close(tui.reader);
    return exit;
}

const struct tool_verb tool_verb_tui = {"tui", "walk through the call tree in the terminal", help, run};
