/*
 * tracebed flame: draw a flame graph, or print folded stacks.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/flame/flame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char help[] =
    "usage: tracebed flame [OPTION]... FILE\n"
    "\n"
    "Draw where the time or the memory went as a flame graph: one SVG file for any\n"
    "browser. Click a frame to zoom, press '/' to search and Escape to reset. FILE\n"
    "may be '-' for standard input.\n"
    "\n"
    "  -o, --output=FILE   write to FILE, or to standard output if FILE is '-'\n"
    "                      (default: the trace's name with .svg)\n"
    "  -f, --force         replace FILE if it exists\n"
    "      --folded        print folded stacks, 'a;b;c N', instead; N is in\n"
    "                      nanoseconds or bytes\n"
    "  -w, --weight=WHAT   draw time (default), or memory by allocating stack: bytes,\n"
    "                      count, peak (live when the process had the most) or leaked\n"
    "                      (never freed)\n"
    "      --over-time     draw live memory over time as a chart instead\n"
    "      --diff=OLD      draw FILE, compared with the trace OLD: frames that took\n"
    "                      more time themselves are red, less blue;\n"
    "                      --folded prints 'a;b;c OLD NEW'\n"
    "      --normalized    with --diff, compare as if both had taken the same time\n"
    "      --per-thread    draw a root for each thread\n"
    "  -m, --minimum=P     hide frames below P percent (default: 0.02)\n"
    "      --root=NAME     name the root NAME instead of after its process\n"
    "  -j, --jobs=N        use N threads (default: one per processor)\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "Examples:\n"
    "  tracebed flame run.tbed                          # writes run.svg\n"
    "  tracebed flame --per-thread -o - run.tbed > x.svg\n"
    "  tracebed flame --diff=old.tbed new.tbed          # writes new.diff.svg\n"
    "  tracebed flame --weight=peak run.tbed            # recorded with --stacks\n"
    "  tracebed flame --over-time run.tbed              # writes run.memory.svg\n"
    "  tracebed flame --folded run.tbed | sort -k 2 -n -t ' '\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
    "drawn); 2 if the usage is wrong, a file cannot be read or written, or there is\n"
    "nothing to draw.\n";

enum {
    OPTION_FOLDED = 2000,
    OPTION_PER_THREAD,
    OPTION_ROOT,
    OPTION_DIFF,
    OPTION_NORMALIZED,
    OPTION_OVER_TIME
};

struct options {
    const char *output; /* NULL: by the trace's name */
    bool force, folded, has_minimum;
    struct tbed_stacks_options stacks;
};

/* ---- The command line ---- */

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct flame *flame, struct options *options, int option)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&flame->filter, option, optarg);
    switch (option) {
    case 'o':
        options->output = optarg;
        return NULL;
    case 'f':
        options->force = true;
        return NULL;
    case 'm':
        options->has_minimum = true;
        return tool_parse_percent(optarg, &flame->minimum) ? NULL
                                                           : tool_takes("-m takes a percentage", optarg);
    case 'w':
        return flame_weight_parse(optarg, &flame->weight);
    case 'j':
        return tool_parse_jobs(optarg, &flame->jobs);
    case OPTION_PER_THREAD:
        options->stacks.per_thread = true;
        return NULL;
    case OPTION_DIFF:
        flame->old.path = optarg;
        return NULL;
    case OPTION_OVER_TIME:
        flame->is_over_time = true;
        return NULL;
    case OPTION_NORMALIZED:
        flame->is_normalized = true;
        return NULL;
    case OPTION_ROOT:
        options->stacks.root = optarg;
        return NULL;
    default:
        options->folded = true;
        return NULL;
    }
}

/* A viewer goes by the name, and would take the SVG for a damaged picture. */
static bool ends_in_png(const char *path)
{
    size_t nbytes = strlen(path);
    return nbytes >= 4 && strcasecmp(path + nbytes - 4, ".png") == 0;
}

static int parse(int argc, char **argv, struct flame *flame, struct options *options)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"folded", no_argument, NULL, OPTION_FOLDED},
                                          {"per-thread", no_argument, NULL, OPTION_PER_THREAD},
                                          TOOL_FILTER_OPTIONS,
                                          {"minimum", required_argument, NULL, 'm'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"weight", required_argument, NULL, 'w'},
                                          {"diff", required_argument, NULL, OPTION_DIFF},
                                          {"over-time", no_argument, NULL, OPTION_OVER_TIME},
                                          {"normalized", no_argument, NULL, OPTION_NORMALIZED},
                                          {"root", required_argument, NULL, OPTION_ROOT},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_flame, argc, argv, "o:fm:w:j:h" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = take_option(flame, options, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_flame, wrong);
    }
    if (exit >= 0)
        return exit;
    if (flame->is_over_time && (flame->weight != FLAME_TIME || options->folded || options->has_minimum ||
                                options->stacks.per_thread || flame->old.path != NULL))
        return tool_usage(&tool_verb_flame,
                          "--over-time cannot be combined with --weight, --folded, --minimum, "
                          "--per-thread and --diff");
    if (flame->is_over_time)
        flame->weight = FLAME_BYTES;
    if (flame->weight != FLAME_TIME && options->stacks.per_thread)
        return tool_usage(&tool_verb_flame,
                          "--per-thread does not apply to --weight=bytes, count, peak and leaked");
    if (flame->weight != FLAME_TIME && tool_filter_asks_for_labels(&flame->filter))
        return tool_usage(&tool_verb_flame,
                          "--name, --exclude, --category and --minimum-duration do not apply to "
                          "--weight=bytes, count, peak and leaked");
    if (flame->weight != FLAME_TIME && flame->old.path != NULL)
        return tool_usage(&tool_verb_flame,
                          "--diff does not apply to --weight=bytes, count, peak and leaked");
    if (flame->is_normalized && flame->old.path == NULL)
        return tool_usage(&tool_verb_flame, "--normalized requires --diff");
    if (options->folded && options->has_minimum)
        return tool_usage(&tool_verb_flame,
                          "--minimum cannot be combined with --folded, which prints every stack");
    if (optind != argc - 1)
        return tool_usage(&tool_verb_flame,
                          optind < argc ? "too many FILE operands" : "missing FILE operand");
    if (options->output != NULL && ends_in_png(options->output))
        return tool_usage(&tool_verb_flame, "a flame graph is an SVG file; 'tracebed view --png' draws PNG");
    flame->path = argv[optind];
    if (flame->old.path != NULL && strcmp(flame->old.path, "-") == 0 && strcmp(flame->path, "-") == 0)
        return tool_usage(&tool_verb_flame, "only one FILE can be standard input");
    return -1;
}

/* ---- The output ---- */

/* "dir/run.tbed" becomes "dir/run.svg", or "dir/run.diff.svg" for a comparison. The caller frees it. */
static char *default_output(const struct flame *flame)
{
    const char *path = flame->path;
    const char *end = flame->is_over_time ? ".memory.svg" : flame->old.path != NULL ? ".diff.svg" : ".svg";
    const char *from = strcmp(path, "-") == 0 ? "flame" : path;
    const char *slash = strrchr(from, '/'), *name = slash != NULL ? slash + 1 : from;
    const char *dot = strrchr(name, '.');
    size_t nbytes = dot != NULL && dot > name ? (size_t)(dot - from) : strlen(from);
    char *output = tool_realloc(NULL, nbytes + strlen(end) + 1);
    memcpy(output, from, nbytes);
    memcpy(output + nbytes, end, strlen(end) + 1);
    return output;
}

/* A file that appears once it is complete, and has no more permissions than the trace. NULL after a complaint. */
static FILE *open_output(const struct flame *flame, const char *path, bool force, struct new_file *file)
{
    struct tbed_error error;
    if (strcmp(path, "-") == 0)
        return stdout;
    unsigned mode = tbed_new_file_mode_of_readers(&flame->reader, 1);
    if (tbed_new_file_open(path, force, mode, file, &error) != TBED_OK) {
        tool_complain_error(path, &error);
        if (error.status == TBED_ERR_EXISTS)
            tool_hint("Use -f to replace it, or -o FILE to choose another name.");
        return NULL;
    }
    int fd = dup(file->fd); /* the file's own is closed by its commit */
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        tool_complain("%s: cannot be written: %s", path, strerror(errno));
        tbed_new_file_abandon(file);
    }
    return out;
}

static int close_output(FILE *out, const char *path, struct new_file *file, int exit)
{
    struct tbed_error error;
    if (out == stdout)
        return tool_finish(exit);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        tool_complain("%s: cannot be written: %s", path, strerror(errno));
        tbed_new_file_abandon(file);
        return TOOL_TROUBLE;
    }
    if (exit == TOOL_TROUBLE) {
        tbed_new_file_abandon(file);
    } else if (tbed_new_file_commit(file, &error) != TBED_OK) {
        tool_complain_error(path, &error);
        exit = TOOL_TROUBLE;
    }
    return exit;
}

/* ---- Notes on what is not shown ---- */

static void tell_count(const struct flame *flame, uint64_t count, const char *what)
{
    char figure[32];
    if (count > 0)
        tool_complain("%s: %s: %s", tool_path(flame->path), what, tool_format_count(figure, count));
}

static void tell_totals(const struct flame *flame)
{
    const struct tbed_stacks_totals *totals = &flame->totals;
    tell_count(flame, totals->open_count, "spans that never ended, drawn until their threads' last events");
    tell_count(flame, totals->unknown_count, "spans without a known begin, omitted");
    tell_count(flame, totals->folded_count, "spans on the shortest of too many paths, in '<other>'");
    tell_count(flame, totals->inverted_count, "spans that end before they begin, counted with no time");
    tell_count(flame, totals->overlap_count, "spans that overlap another one without nesting in it");
    tell_count(flame, totals->negative_count,
               "stacks with less time than the spans nested in them, whose own time is counted as 0");
    tell_count(flame, totals->deep_count, "spans nested too deeply, combined as <deeper>");
}

static void tell_no_spans(const struct flame *flame, bool is_folded)
{
    if (flame->weight != FLAME_TIME) {
        tool_complain("%s: no allocations to draw%s", tool_path(flame->path),
                      is_folded ? "" : ": nothing was written");
        return;
    }
    tool_complain("%s: no spans to draw%s", tool_path(flame->path), is_folded ? "" : ": nothing was written");
    if (flame->totals.other_count > 0)
        tool_hint("Run 'tracebed report %s' to see its contents; '--weight=bytes' draws "
                  "allocations.",
                  flame->path);
}

/* ---- The verb ---- */

static void put_drawn(const struct flame *flame, const char *output, const struct flame_drawn *drawn)
{
    char frames[32], narrow[32];
    tool_put_output(output, NULL);
    if (flame->is_over_time) {
        printf("%s parts of the time drawn\n", tool_format_count(frames, drawn->frame_count));
        return;
    }
    printf("%s frames drawn, %s too narrow\n", tool_format_count(frames, drawn->frame_count),
           tool_format_count(narrow, drawn->narrow_count));
}

static int put_all(struct flame *flame, const struct options *options, const char *output)
{
    struct flame_drawn drawn = {0};
    struct new_file file;
    if (strcmp(output, "-") != 0 && (tool_is_input(output, flame->path) ||
                                     (flame->old.path != NULL && tool_is_input(output, flame->old.path))))
        return TOOL_TROUBLE;
    flame->out = open_output(flame, output, options->force, &file);
    if (flame->out == NULL)
        return TOOL_TROUBLE;
    bool enough = true;
    if (flame->is_over_time)
        drawn.frame_count = flame_over_time(flame);
    else if (options->folded)
        enough = flame_folded(flame);
    else
        enough = flame_svg(flame, &drawn);
    int exit = close_output(flame->out, output, &file, enough ? TOOL_FINE : TOOL_TROUBLE);
    if (!enough)
        tool_complain("out of memory");
    if (exit != TOOL_FINE || flame->out == stdout)
        return exit;
    if (options->folded)
        tool_put_written(output, "folded");
    else
        put_drawn(flame, output, &drawn);
    return exit;
}

/* Makes the stacks, or the rows. Returns -1 to continue, or the exit status after a complaint. */
static int make(struct flame *flame, const struct options *options)
{
    int exit = -1;
    tool_progress_begin(flame->reader, false);
    enum tbed_status status = flame->is_over_time ? flame_over_time_make(flame)
                              : flame->weight != FLAME_TIME
                                  ? flame_memory_make(flame, options->stacks.root)
                                  : tbed_stacks_make(flame->reader, &options->stacks, &flame->stacks);
    tool_progress_end();
    if (status == TBED_OK && flame->old.path != NULL) {
        exit = old_stacks_open(&flame->old, &flame->filter, options->stacks, flame->path, &flame->info);
        status = exit < 0 ? flame_diff_make(flame, options->folded) : TBED_OK;
    }
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(flame->path), tbed_status_text(status));
        return TOOL_TROUBLE;
    }
    if (flame->weight == FLAME_TIME)
        tbed_stacks_totals(flame->stacks, &flame->totals);
    return exit;
}

static int draw(struct flame *flame, const struct options *options)
{
    int exit = make(flame, options);
    if (exit >= 0)
        return exit;
    exit = flame->totals.span_count > 0 || options->folded ? TOOL_FINE : TOOL_TROUBLE;
    char *output = options->output != NULL ? NULL : default_output(flame);
    const char *name = options->output != NULL ? options->output : options->folded ? "-" : output;
    if (flame->totals.span_count == 0)
        tell_no_spans(flame, options->folded);
    if (flame->totals.span_count > 0 || options->folded) {
        exit = put_all(flame, options, name);
        tell_totals(flame);
    }
    free(output);
    tool_tell_damage(flame->path, flame->reader);
    bool is_damaged = tool_damage_count(flame->reader) > 0;
    if (flame->old.reader != NULL) {
        tool_tell_damage(flame->old.path, flame->old.reader);
        is_damaged |= tool_damage_count(flame->old.reader) > 0;
    }
    if (exit == TOOL_FINE && is_damaged)
        exit = TOOL_FOUND;
    return tool_finish(exit);
}

static const char *title_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : tool_path(path);
}

static int run(int argc, char **argv)
{
    struct flame flame = {.minimum = 0.0002};
    struct options options = {.stacks = {.size = sizeof options.stacks}};
    int exit = parse(argc, argv, &flame, &options);
    if (exit < 0 && (flame.reader = tool_open(flame.path)) == NULL)
        exit = TOOL_TROUBLE;
    if (exit < 0) {
        flame.title = title_of(flame.path);
        flame.old_title = flame.old.path != NULL ? title_of(flame.old.path) : NULL;
        tbed_reader_info(flame.reader, &flame.info);
        flame.root_depth = options.stacks.per_thread ? 2 : 1;
    }
    if (exit < 0) {
        tool_places_open(&flame.places, flame.reader,
                         flame.weight == FLAME_TIME ? TBED_NAME_ALL : TBED_NAME_FUNCTION);
        exit = tool_filter_open(&flame.filter, flame.path, flame.reader, &flame.places, 0);
    }
    if (exit < 0) {
        options.stacks.thread_count = flame.jobs;
        options.stacks.filter = flame.filter.filter;
        options.stacks.name = tool_places_name;
        options.stacks.name_context = &flame.places;
        options.stacks.prepare = tool_places_prepare;
        exit = draw(&flame, &options);
    }
    tool_places_close(&flame.places);
    tbed_stacks_close(flame.stacks);
    old_stacks_close(&flame.old);
    free(flame.olds);
    free(flame.rows);
    flame_memory_close(&flame);
    tool_filter_close(&flame.filter);
    tbed_reader_close(flame.reader);
    return exit;
}

const struct tool_verb tool_verb_flame = {"flame", "draw a flame graph of time or memory", help, run};
