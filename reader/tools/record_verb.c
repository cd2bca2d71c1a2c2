/*
 * tracebed record: runs a program with the allocation recorder preloaded.
 *
 * Not here: the recorder itself (writer/capture/preload).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "record_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tracebed/writer.h>
#include <unistd.h>

static const char help[] =
    "usage: tracebed record [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs PROGRAM and records every allocation of it and of the processes it starts: when, where from, how "
    "much,\n"
    "and when it was freed. Nothing has to be compiled in. What was recorded survives a crash of the "
    "program.\n"
    "\n"
    "  -o, --output FILE   the trace; default: run.tbed\n"
    "  -f, --force         replace FILE if it exists\n"
    "      --light         only where each allocation comes from, 8 bytes each: no sizes, no frees\n"
    "      --mmap          anonymous mappings too, that the program makes itself\n"
    "      --stacks[=N]    who called, N frames (16; at most 128) of each allocation\n"
    "      --stacks=N,fp   the same by frame pointers: for programs that were built with them, faster\n"
    "      --command-line  store the command line in the trace, which others may get to read\n"
    "  -v, --verbose       a summary at the end, even if standard error is no terminal\n"
    "      --color=WHEN    never, auto or always\n"
    "  -h, --help          this text\n"
    "\n"
    "PROGRAM is looked up in PATH. It must be linked dynamically, as nearly all are; scripts are fine. "
    "Setuid\n"
    "programs run unrecorded. Its input, output and signals are its own.\n"
    "\n"
    "Examples:\n"
    "  tracebed record -- cc -c big.c\n"
    "  tracebed record -o python.tbed python3 script.py\n"
    "  tracebed record --stacks=32 -- clang -O1 -c big.cpp\n"
    "  tracebed report run.tbed\n"
    "\n"
    "Exit codes: those of PROGRAM, 128 + the signal's number if it was killed; 127 PROGRAM was not found; "
    "126 it\n"
    "cannot be executed; 2 wrong usage, or it cannot be recorded, and was not run.\n";

enum { OPTION_COMMAND_LINE = 2000, OPTION_LIGHT, OPTION_MMAP, OPTION_STACKS };

struct options {
    const char *output;
    bool force, command_line, verbose;
    struct record_allocations allocations;
};

/* ---- The command line ---- */

/* -1: go on. */
static int parse(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"output", required_argument, NULL, 'o'},
        {"force", no_argument, NULL, 'f'},
        {"verbose", no_argument, NULL, 'v'},
        {"command-line", no_argument, NULL, OPTION_COMMAND_LINE},
        {"light", no_argument, NULL, OPTION_LIGHT},
        {"mmap", no_argument, NULL, OPTION_MMAP},
        {"stacks", optional_argument, NULL, OPTION_STACKS},
        TOOL_COMMON_OPTIONS,
        {0},
    };
    int option, result = -1;
    while ((option = tool_option_next(&tool_verb_record, argc, argv, "+o:fvh", table, &result)) != -1) {
        if (option == 'o')
            options->output = optarg;
        else if (option == 'f')
            options->force = true;
        else if (option == 'v')
            options->verbose = true;
        else if (option == OPTION_LIGHT)
            options->allocations.light = true;
        else if (option == OPTION_MMAP)
            options->allocations.mappings = true;
        else if (option == OPTION_STACKS && !record_stacks_parse(optarg, &options->allocations))
            return tool_usage(&tool_verb_record,
                              "--stacks takes a number of frames up to 128, or fp, or both");
        else if (option == OPTION_COMMAND_LINE)
            options->command_line = true;
    }
    if (result >= 0)
        return result;
    return optind < argc ? -1 : tool_usage(&tool_verb_record, "which program?");
}

/* ---- Before ---- */

/* "NAME" or, where the trouble is in another file, "NAME: FILE". */
static void complain(const char *name, const struct record_program *program, const char *what)
{
    bool is_told = strcmp(name, program->path) == 0;
    tool_complain("%s%s%s: %s", name[0] != '\0' ? name : "''", is_told ? "" : ": ",
                  is_told ? "" : program->path, what);
}

/* -1: it can be recorded. */
static int check_program(const char *name)
{
    struct record_program program;
    switch (record_program_check(name, &program)) {
    case RECORD_MISSING:
        complain(name, &program, "not found");
        return RECORD_NOT_FOUND;
    case RECORD_NOT_ALLOWED:
        complain(name, &program, "cannot be executed");
        return RECORD_NOT_EXECUTABLE;
    case RECORD_STATIC:
        complain(name, &program, "is linked statically, so that the recorder cannot be loaded into it");
        tool_hint("Link it dynamically, or build <tracebed/writer.h> into it.");
        return TOOL_TROUBLE;
    case RECORD_OTHER_MACHINE:
        complain(name, &program, "is for another kind of processor, or 32-bit");
        return TOOL_TROUBLE;
    case RECORD_FINE:
        break;
    }
    if (program.is_privileged) {
        complain(name, &program, "has more rights than you (setuid) and will run unrecorded");
        tool_hint("Record it as the user whose rights it takes.");
    }
    return -1;
}

static void store_command_line(struct tbed_writer *writer, char **argv)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    if (out == NULL)
        return;
    struct tool_json json = {.out = out};
    tool_json_object_open(&json, NULL);
    tool_json_array_open(&json, "cmd");
    for (; *argv != NULL; argv++)
        tool_json_string(&json, NULL, *argv);
    tool_json_array_close(&json);
    tool_json_object_close(&json);
    if (fclose(out) == 0)
        tbed_metadata_set(writer, text, nbytes);
    free(text);
}

/* The trace exists, and is closed, before the program starts: every process of it joins by itself. */
static bool create_trace(const struct options *options, char **argv, char path_ret[PATH_MAX])
{
    struct tbed_writer *writer;
    struct tbed_error error = {.status = TBED_OK};
    struct tbed_writer_options writer_options = {
        .size = sizeof writer_options,
        .overwrite = options->force,
        .no_helper = true,
        .process_name = "tracebed record",
    };
    if (tbed_writer_open(options->output, &writer_options, &writer, &error) != TBED_OK) {
        tool_complain_error(options->output, &error);
        if (error.status == TBED_ERR_EXISTS)
            tool_hint("-f replaces it; -o FILE writes another.");
        return false;
    }
    if (options->command_line)
        store_command_line(writer, argv);
    tbed_writer_close(writer);
    if (realpath(options->output, path_ret) != NULL)
        return true;
    tool_complain("%s: %s", options->output, strerror(errno));
    return false;
}

/* ---- The whole ---- */

static int cannot_start(const char *name, int error)
{
    tool_complain("%s: cannot be started: %s", name, strerror(error));
    return error == ENOENT ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
}

static int record(char **argv, const struct options *options)
{
    char library[PATH_MAX], trace[PATH_MAX];
    int wait_status = 0, error = 0;
    if (!record_library_find(library) || !create_trace(options, argv, trace))
        return TOOL_TROUBLE;
    record_environment_set(library, trace);
    record_allocations_set(&options->allocations);
    if (!record_program_run(argv, &wait_status, &error)) {
        unlink(trace);
        return cannot_start(argv[0], error);
    }
    record_finish(options->output, options->verbose);
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int run(int argc, char **argv)
{
    struct options options = {.output = "run.tbed", .verbose = isatty(STDERR_FILENO)};
    int result = parse(argc, argv, &options);
    if (result >= 0)
        return result;
    argv += optind;
    result = check_program(argv[0]);
    if (result >= 0)
        return result;
    result = record(argv, &options);
    record_library_forget();
    return result;
}

const struct tool_verb tool_verb_record = {
    .name = "record",
    .summary = "run a program and record its allocations",
    .help = help,
    .run = run,
};
