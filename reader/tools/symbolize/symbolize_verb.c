/*
 * tracebed symbolize: store functions, files and lines in a trace.
 *
 * Only locations that the trace uses are looked up. The file is joined like any writer joins it, so its previous
 * contents stay readable whatever happens.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/shared/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracebed/symbols.h>
#include <tracebed/writer.h>

static const char help[] = "usage: tracebed symbolize [OPTION]... FILE\n"
                           "\n"
                           "Find the function, file and line of every code location used by FILE, including\n"
                           "inlined functions, and store them in FILE, so that it can be read on machines\n"
                           "without the programs and their debug files. Locations that are already stored\n"
                           "are not looked up again. Programs may keep recording into FILE meanwhile.\n"
                           "\n"
                           "  -o, --output=OUT    write a copy to OUT and leave FILE unchanged\n"
                           "  -f, --force         replace OUT if it exists\n"
                           "      --debug-dir=DIR also search DIR for debug files, as\n"
                           "                      DIR/.build-id/xx/yyyy.debug; may be repeated\n"
                           "      --debuginfod    query the servers in DEBUGINFOD_URLS for missing debug\n"
                           "                      files; without this option the network is not used\n"
                           "      --no-inlines    store only the innermost function of each location\n"
                           "      --inlines       also store the functions it was inlined into (default)\n"
                           "      --color=WHEN    use color: never, auto or always\n"
                           "  -h, --help          print this help\n"
                           "\n"
                           "Examples:\n"
                           "  tracebed symbolize run.tbed\n"
                           "  tracebed symbolize --debug-dir=/srv/debug run.tbed -o readable.tbed\n"
                           "\n"
                           "Exit status: 0 on success, even if some locations were not found or no server\n"
                           "could be reached; 1 if FILE or a debug file is damaged; 2 if the usage is wrong\n"
                           "or a file cannot be read or written.\n";

enum { OPTION_DEBUG_DIR = 2000, OPTION_DEBUGINFOD, OPTION_INLINES, OPTION_NO_INLINES };

#define FRAMES_AT_ONCE 64

struct symbolize {
    const char *path; /* read, and written */
    const char *from, *to;
    bool overwrite;
    struct tool_buffer debug_directories;
    struct tbed_symbols_options symbols_options;
    struct tbed_reader *reader;
    struct tbed_symbols *symbols;
    struct tbed_writer *writer;
    uint32_t *used; /* code locations that the file does not describe */
    size_t used_count;
    uint64_t found_count;
    uint64_t dropped_count; /* before anything was added */
    bool has_trouble;
};

/* ---- One place ---- */

static uint32_t intern(struct symbolize *work, const char *text)
{
    return text != NULL ? tbed_string_intern(work->writer, text, strlen(text)) : TBED_ID_INVALID;
}

static uint64_t count_drops(const struct symbolize *work)
{
    uint64_t count = 0;
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        count += tbed_writer_drop_count(work->writer, cause);
    return count;
}

/* Joins the file once there is something to add. False if that fails. */
static bool join(struct symbolize *work)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .join = true, .annotate = true, .no_helper = true};
    struct tbed_error error;
    if (work->writer != NULL)
        return true;
    if (tbed_writer_open(work->path, &options, &work->writer, &error) == TBED_OK) {
        work->dropped_count = count_drops(work);
        return true;
    }
    tool_complain_error(work->path, &error);
    if (work->to == NULL)
        tool_hint("Use -o OUT to write a copy.");
    return false;
}

static bool describe(struct symbolize *work, uint32_t location)
{
    struct tbed_frame frames[FRAMES_AT_ONCE];
    struct tbed_frame_names names[FRAMES_AT_ONCE];
    size_t count = tbed_id_frames(work->reader, location, frames, FRAMES_AT_ONCE);
    count = count < FRAMES_AT_ONCE ? count : FRAMES_AT_ONCE;
    if (count == 0)
        return true;
    if (!join(work))
        return false;
    for (size_t i = 0; i < count; i++)
        names[i] = (struct tbed_frame_names){intern(work, frames[i].function), intern(work, frames[i].file),
                                             frames[i].line};
    tbed_location_describe(work->writer, location, names, count);
    work->found_count++;
    return true;
}

/* ---- Messages ---- */

/* For each module in use: why nothing, or not everything, was found in it. */
static void tell_modules(struct symbolize *work)
{
    uint32_t told = TBED_ID_INVALID;
    for (size_t i = 0; i < work->used_count; i++) {
        struct tbed_symbols_trouble trouble;
        if (!tbed_symbols_location_state(work->symbols, work->reader, work->used[i], &trouble) ||
            trouble.module_id == told)
            continue;
        told = trouble.module_id;
        if (trouble.text != NULL)
            tool_complain("%s", trouble.text);
        else if (trouble.state != TBED_SYMBOLS_FOUND)
            tool_complain("%s: %s", trouble.path, tbed_symbols_state_text(trouble.state));
        work->has_trouble |= trouble.text != NULL;
    }
    const char *trouble = tbed_symbols_debuginfod_trouble(work->symbols);
    if (trouble != NULL)
        tool_complain("cannot query debuginfod: %s", trouble);
}

static void tell_sum(const struct symbolize *work)
{
    char used[32], found[32];
    tool_put_output(work->to != NULL ? work->to : work->from, NULL);
    if (work->used_count == 0)
        puts("nothing to add: all places that it uses are known, or it uses none");
    else
        printf("%s of %s locations added\n", tool_format_count(found, work->found_count),
               tool_format_count(used, work->used_count));
}

/* ---- All ---- */

static int add_all(struct symbolize *work)
{
    tbed_names_prepare(work->reader, work->used, work->used_count, false);
    for (size_t i = 0; i < work->used_count; i++)
        if (!describe(work, work->used[i]))
            return TOOL_TROUBLE;
    if (work->writer != NULL && count_drops(work) > work->dropped_count) {
        tool_complain("%s: some locations could not be stored; run 'tracebed info' for the reason",
                      work->path);
        return TOOL_TROUBLE;
    }
    tell_modules(work);
    tell_sum(work);
    return work->has_trouble ? TOOL_FOUND : TOOL_FINE;
}

static int symbolize(struct symbolize *work)
{
    work->reader = tool_open(work->path);
    if (work->reader == NULL)
        return TOOL_TROUBLE;
    int exit = TOOL_TROUBLE;
    work->symbols = tbed_symbols_open(&work->symbols_options);
    if (tool_foreign_report(work->reader) != NULL)
        tool_complain("%s: profiles contain no code locations", work->path);
    else if (work->symbols == NULL || tbed_symbols_attach(work->symbols, work->reader) != TBED_OK ||
             tbed_native_code_find(work->reader, &work->used, &work->used_count) != TBED_OK)
        tool_complain("%s: out of memory", work->path);
    else
        exit = add_all(work);
    tool_tell_damage(work->path, work->reader);
    if (exit == TOOL_FINE && tool_damage_count(work->reader) > 0)
        exit = TOOL_FOUND;
    tbed_writer_free(work->writer);
    tbed_reader_close(work->reader);
    tbed_symbols_close(work->symbols);
    free(work->used);
    return exit;
}

/* Both the reader and the writer open the copy by its path, so it has a temporary name. */
static int symbolize_new(struct symbolize *work, struct new_file *file)
{
    struct tbed_error error;
    work->path = file->work;
    int exit = symbolize(work);
    if (exit == TOOL_TROUBLE) {
        tbed_new_file_abandon(file);
    } else if (tbed_new_file_commit(file, &error) != TBED_OK) {
        tool_complain_output(work->to, &error);
        exit = TOOL_TROUBLE;
    }
    return exit;
}

/* The copy gets its name after it was symbolized. */
static int symbolize_copy(struct symbolize *work)
{
    struct new_file file;
    struct tbed_error error;
    uint64_t left_out_count = 0;
    int from = tool_source_open(work->from);
    if (from < 0)
        return TOOL_TROUBLE;
    enum tbed_status status =
        tbed_new_file_open(work->to, work->overwrite, tbed_new_file_mode(&from, 1), &file, &error);
    if (status != TBED_OK) {
        tool_complain_output(work->to, &error);
        close(from);
        return TOOL_TROUBLE;
    }
    status = tbed_trace_snapshot(from, file.fd, &left_out_count, &error);
    close(from);
    if (status != TBED_OK || !tbed_new_file_name(&file)) {
        if (status == TBED_OK)
            tool_complain("%s: cannot be created: %s", work->to, strerror(errno));
        else
            tool_complain_open(work->from, &error);
        tbed_new_file_abandon(&file);
        return TOOL_TROUBLE;
    }
    int exit = symbolize_new(work, &file);
    if (exit == TOOL_TROUBLE)
        return exit;
    if (left_out_count > 0)
        tool_complain("%s: skipped damaged blocks; run 'tracebed verify' for details", work->from);
    return left_out_count > 0 ? TOOL_FOUND : exit;
}

/* ---- Options ---- */

static void add_debug_directory(struct symbolize *work, const char *directory)
{
    if (work->debug_directories.nbytes > 0)
        tool_append(&work->debug_directories, ":", 1);
    tool_append(&work->debug_directories, directory, strlen(directory));
}

static void take_option(struct symbolize *work, int option, const char *argument)
{
    switch (option) {
    case 'o':
        work->to = argument;
        break;
    case 'f':
        work->overwrite = true;
        break;
    case OPTION_DEBUG_DIR:
        add_debug_directory(work, argument);
        break;
    case OPTION_DEBUGINFOD:
        work->symbols_options.debuginfod = true;
        break;
    default:
        work->symbols_options.no_inlines = option == OPTION_NO_INLINES;
        break;
    }
}

/* Returns -1 to continue, or the exit status. */
static int take_options(struct symbolize *work, int argc, char **argv)
{
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"force", no_argument, NULL, 'f'},
        {"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
        {"debuginfod", no_argument, NULL, OPTION_DEBUGINFOD},
        {"inlines", no_argument, NULL, OPTION_INLINES},
        {"no-inlines", no_argument, NULL, OPTION_NO_INLINES},
        TOOL_COMMON_OPTIONS,
        {0},
    };
    int option, exit = -1;
    while ((option = tool_option_next(&tool_verb_symbolize, argc, argv, "ho:f", longs, &exit)) != -1)
        take_option(work, option, optarg);
    if (exit >= 0)
        return exit;
    if (optind + 1 != argc)
        return tool_usage(&tool_verb_symbolize, "missing FILE operand");
    work->path = work->from = argv[optind];
    if (strcmp(work->from, "-") == 0)
        return tool_usage(&tool_verb_symbolize, "FILE must be a file, because it is modified");
    return work->to != NULL && tool_is_input(work->to, work->from) ? TOOL_TROUBLE : -1;
}

static int run(int argc, char **argv)
{
    struct symbolize work = {.symbols_options = {.size = sizeof work.symbols_options}};
    int exit = take_options(&work, argc, argv);
    if (exit < 0) {
        add_debug_directory(&work, "/usr/lib/debug");
        tool_append(&work.debug_directories, "", 1);
        work.symbols_options.debug_directory = work.debug_directories.bytes;
        exit = tool_finish(work.to != NULL ? symbolize_copy(&work) : symbolize(&work));
    }
    free(work.debug_directories.bytes);
    return exit;
}

const struct tool_verb tool_verb_symbolize = {"symbolize", "store functions, files and lines in a trace",
                                              help, run};
