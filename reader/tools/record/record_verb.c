/*
 * tracebed record: runs a program with a recorder of allocations or of function calls preloaded.
 *
 * Not here: the recorders themselves (writer/capture).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "writer/recorded/recorded.h"

static const char help[] =
    "usage: tracebed record [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "\n"
    "Run PROGRAM and record every allocation made by it and by the processes it\n"
    "starts: when, where and how much was allocated, and when it was freed. PROGRAM\n"
    "needs no recompilation. Everything recorded survives a crash of the program.\n"
    "What it records itself, by the macros of tracebed, goes to the same trace,\n"
    "unless TRACEBED is set or it starts a trace of its own.\n"
    "\n"
    "Output:\n"
    "  -o, --output=FILE      write the trace to FILE (default: run.tbed)\n"
    "  -f, --force            replace FILE if it exists; without this option, a trace\n"
    "                         there is moved to FILE.old\n"
    "      --command-line     store the command line in the trace; anyone who gets\n"
    "                         the trace can read it\n"
    "  -v, --verbose          print a summary at the end (default on a terminal)\n"
    "\n"
    "Allocations:\n"
    "      --light            record only the call site, 8 bytes per allocation:\n"
    "                         no sizes, no frees\n"
    "      --mmap             also record anonymous mappings made by the program\n"
    "      --stacks[=N]       record N frames (default 64, at most 128) of the call\n"
    "                         stack of each allocation\n"
    "      --stacks=N,fp      follow frame pointers: faster, for programs that were\n"
    "                         compiled with them\n"
    "\n"
    "Function calls and Ruby:\n"
    "      --functions        record function calls instead of allocations; PROGRAM\n"
    "                         or its libraries must be compiled with\n"
    "                         -finstrument-functions, -pg (also -mfentry),\n"
    "                         -fpatchable-function-entry=5 or -fxray-instrument\n"
    "      --filter=PATTERN   with --functions, record only functions that match:\n"
    "                         'ns::*' by name, where '*' matches any text and '?'\n"
    "                         any character; '/REGEX/' by regular expression;\n"
    "                         'file:PATTERN' by source file, 'module:PATTERN' by\n"
    "                         program or library\n"
    "      --exclude=PATTERN  with --functions, skip functions that match; the last\n"
    "                         matching pattern decides; both may be repeated\n"
    "      --depth=N          with --functions, skip calls nested deeper than N\n"
    "      --minimum-duration=T\n"
    "                         with --functions or --ruby=none,calls, leave out calls\n"
    "                         that take less than T: 20us, 1.5ms; what they call\n"
    "                         takes less as well\n"
    "      --libcalls[=PATTERN]  record calls of library functions by the program, or\n"
    "                         by the modules that match; needs no recompilation, and\n"
    "                         implies --functions\n"
    "      --args[=PATTERN]   with --functions, also record the arguments and results\n"
    "                         of functions that match, or of all, as far as debug\n"
    "                         information tells their types (cc -g)\n"
    "      --trigger=PATTERN@ACTION[,ACTION]...\n"
    "                         with --functions, change what is recorded when a\n"
    "                         function that matches is called: trace_on, trace_off;\n"
    "                         until it returns: filter (record only it and what it\n"
    "                         calls), notrace (neither), depth=N, time=T\n"
    "      --ruby[=WHAT]      record Ruby programs: where objects are allocated;\n"
    "                         WHAT is a comma-separated list of light (default),\n"
    "                         full (with sizes and frees), none, stacks (of up to\n"
    "                         32 frames), and calls (of all methods, or as\n"
    "                         --filter, --exclude and --depth choose: 'Class#m*',\n"
    "                         'file:PATTERN')\n"
    "\n"
    "Threads:\n"
    "      --off-cpu          also record when the threads that are recorded were off\n"
    "                         their processors, waiting or preempted, as the kernel\n"
    "                         tells (perf_event_open); 'report --on-cpu' leaves this\n"
    "                         time out\n"
    "\n"
    "Clock:\n"
    "      --clock=WHICH      take times from WHICH: tsc, the processor's time stamp\n"
    "                         counter, or monotonic, the kernel's CLOCK_MONOTONIC\n"
    "                         (default: the counter of the processor, if that and the\n"
    "                         kernel say that it is steady)\n"
    "\n"
    "Limits:\n"
    "      --max-size=SIZE    limit the trace to SIZE (default: 64G); later events\n"
    "                         are dropped and counted\n"
    "      --ring=SIZE        keep only the newest events, in SIZE bytes\n"
    "      --rotate=SIZE[,N]  start a new file whenever the trace reaches SIZE, and\n"
    "                         keep the newest N closed files, FILE.000001 and so on;\n"
    "                         other processes write FILE.PID\n"
    "      --rotate=TIME[,N]  the same after TIME: 60s, 5m, 1h\n"
    "      --pack             pack the closed files, as 'tracebed pack' does\n"
    "\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n"
    "SIZE is a number of bytes, or a number with the suffix K, M, G or T.\n"
    "\n"
    "PROGRAM is searched for in PATH. It must be dynamically linked, or a script\n"
    "whose interpreter is. Programs that it starts and that cannot be recorded, such\n"
    "as static or setuid ones, run as usual and are listed at the end.\n"
    "\n"
    "Examples:\n"
    "  tracebed record -- cc -c big.c\n"
    "  tracebed record -o python.tbed python3 script.py\n"
    "  tracebed record --stacks=32 -- clang -O1 -c big.cpp\n"
    "  tracebed record --functions ./prog\n"
    "  tracebed record --ruby=full -- rake test\n"
    "\n"
    "Exit status: that of PROGRAM, or 128 plus the signal number if a signal killed\n"
    "it; 125 if PROGRAM succeeded but nothing was recorded because the recorder\n"
    "could not start, or no function or method matched a --filter; 127 if PROGRAM\n"
    "was not found; 126 if it cannot be executed; 2 if the usage is wrong or the\n"
    "program cannot be recorded, in which case it was not run.\n";

enum {
    OPTION_COMMAND_LINE = 2000,
    OPTION_LIGHT,
    OPTION_MMAP,
    OPTION_STACKS,
    OPTION_FUNCTIONS,
    OPTION_FILTER,
    OPTION_EXCLUDE,
    OPTION_DEPTH,
    OPTION_MINIMUM,
    OPTION_ARGS,
    OPTION_LIBCALLS,
    OPTION_TRIGGER,
    OPTION_MAX_SIZE,
    OPTION_RING,
    OPTION_ROTATE,
    OPTION_PACK,
    OPTION_RUBY,
    OPTION_OFF_CPU,
    OPTION_CLOCK,
};

struct options {
    const char *output, *clock; /* 'clock': NULL, "tsc" or "monotonic" */
    bool off_cpu, force, command_line, verbose, pack;
    struct record_allocations allocations;
    struct record_functions functions;
    struct record_limits limits;
    struct record_series series;
    bool is_ruby;
    struct record_ruby ruby;
};

/* ---- The command line ---- */

static bool usage_unless(bool is_right, const char *what)
{
    if (!is_right)
        tool_usage(&tool_verb_record, what);
    return is_right;
}

/* The same for what is wrong; NULL: nothing. */
static bool usage_if(const char *wrong)
{
    return usage_unless(wrong == NULL, wrong);
}

static bool take_clock(struct options *options)
{
    static const char *const names[] = {"tsc", "monotonic"};
    size_t at;
    options->clock = optarg;
    return usage_if(
        tool_word_choose("--clock: unknown clock", names, sizeof names / sizeof names[0], optarg, &at));
}

/* False if the value is invalid; the complaint has been printed. */
static bool take(struct options *options, int option)
{
    switch (option) {
    case 'o':
        options->output = optarg;
        return true;
    case 'f':
        return options->force = true;
    case 'v':
        return options->verbose = true;
    case OPTION_COMMAND_LINE:
        return options->command_line = true;
    case OPTION_LIGHT:
        return options->allocations.light = true;
    case OPTION_MMAP:
        return options->allocations.mappings = true;
    case OPTION_STACKS:
        return usage_unless(
            record_stacks_parse(optarg, &options->allocations),
            "--stacks: expected a number of frames up to 128, 'fp', or both separated by a comma");
    case OPTION_FUNCTIONS:
        return options->functions.is_wanted = true;
    case OPTION_FILTER:
    case OPTION_EXCLUDE:
        return record_functions_add(&options->functions, optarg, option == OPTION_EXCLUDE);
    case OPTION_RUBY:
        return options->is_ruby = usage_if(record_ruby_parse(optarg, &options->ruby));
    case OPTION_OFF_CPU:
        return options->off_cpu = true;
    case OPTION_CLOCK:
        return take_clock(options);
    case OPTION_LIBCALLS:
        return record_functions_set_libcalls(&options->functions, optarg);
    case OPTION_ARGS:
        return record_functions_add_arguments(&options->functions, optarg);
    case OPTION_DEPTH:
        return record_functions_depth(&options->functions, optarg);
    case OPTION_MINIMUM:
        return record_functions_minimum(&options->functions, optarg);
    case OPTION_TRIGGER:
        return plan_rules_add_trigger(&options->functions.rules, optarg);
    case OPTION_MAX_SIZE:
        return record_size_parse("--max-size", optarg, &options->limits.max_nbytes);
    case OPTION_ROTATE:
        return record_series_parse(optarg, &options->series);
    case OPTION_PACK:
        return options->pack = true;
    default:
        return record_size_parse("--ring", optarg, &options->limits.ring_nbytes);
    }
}

/* Only one kind of thing is recorded at a time: allocations, function calls, or Ruby. */
static bool check_kinds(const struct options *options)
{
    const struct record_allocations *allocations = &options->allocations;
    bool of_allocations = allocations->light || allocations->mappings || allocations->frame_count > 0;
    if (options->is_ruby && options->functions.is_wanted)
        tool_complain("--ruby and --functions cannot be used together");
    else if (of_allocations && (options->is_ruby || options->functions.is_wanted))
        tool_complain("--light, --mmap and --stacks cannot be used with %s",
                      options->is_ruby ? "--ruby" : "--functions");
    else if (allocations->light && allocations->mappings)
        tool_complain("--light and --mmap cannot be used together: a light trace does not record unmapping");
    else if (record_series_is_wanted(&options->series) && options->limits.ring_nbytes != 0)
        tool_complain("--rotate and --ring cannot be used together: a flight recorder is a single file");
    else if (options->pack && !record_series_is_wanted(&options->series))
        tool_complain("--pack needs --rotate, which closes files; 'tracebed pack' packs a single one");
    else if (options->off_cpu &&
             (record_series_is_wanted(&options->series) || options->limits.ring_nbytes != 0))
        tool_complain(
            "--off-cpu cannot be used with --rotate and --ring: the times are added to a trace that has "
            "everything");
    else if (record_series_is_wanted(&options->series) && options->command_line)
        tool_complain(
            "--rotate and --command-line cannot be used together: the first file of a series is created "
            "by the program itself");
    else
        return true;
    return false;
}

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
        {"functions", no_argument, NULL, OPTION_FUNCTIONS},
        {"filter", required_argument, NULL, OPTION_FILTER},
        {"exclude", required_argument, NULL, OPTION_EXCLUDE},
        {"depth", required_argument, NULL, OPTION_DEPTH},
        {"minimum-duration", required_argument, NULL, OPTION_MINIMUM},
        {"args", optional_argument, NULL, OPTION_ARGS},
        {"libcalls", optional_argument, NULL, OPTION_LIBCALLS},
        {"trigger", required_argument, NULL, OPTION_TRIGGER},
        {"max-size", required_argument, NULL, OPTION_MAX_SIZE},
        {"ring", required_argument, NULL, OPTION_RING},
        {"rotate", required_argument, NULL, OPTION_ROTATE},
        {"pack", no_argument, NULL, OPTION_PACK},
        {"ruby", optional_argument, NULL, OPTION_RUBY},
        {"off-cpu", no_argument, NULL, OPTION_OFF_CPU},
        {"clock", required_argument, NULL, OPTION_CLOCK},
        TOOL_COMMON_OPTIONS,
        {0},
    };
    int option, result = -1;
    while ((option = tool_option_next(&tool_verb_record, argc, argv, "+o:fvh", table, &result)) != -1)
        if (!take(options, option))
            return TOOL_TROUBLE;
    if (result >= 0)
        return result;
    if (strcmp(options->output, "-") == 0)
        return tool_usage(&tool_verb_record, "a trace cannot be written to standard output");
    if (!check_kinds(options) ||
        (options->is_ruby && !record_ruby_take_functions(&options->ruby, &options->functions)) ||
        !record_functions_check(&options->functions) || !record_limits_check(&options->limits))
        return tool_usage(&tool_verb_record, NULL);
    return optind < argc ? -1 : tool_usage(&tool_verb_record, "missing PROGRAM operand");
}

/* ---- Before the program starts ---- */

/* Prefixes the message with NAME, and with the interpreter's path if that is the file at fault. */
static void complain(const char *name, const struct launch_program *program, const char *what)
{
    bool is_told = strcmp(name, program->path) == 0;
    tool_complain("%s%s%s: %s", name[0] != '\0' ? name : "''", is_told ? "" : ": ",
                  is_told ? "" : program->path, what);
}

/* Why there is no program argv[0]; argv[-1] is the word before it. */
static void explain_missing(char **argv)
{
    static const char *const with_value[] = {"--stacks", "--args", "--libcalls", "--ruby"};
    if (argv[0][0] != '\0' && strchr(argv[0], '/') == NULL && access(argv[0], X_OK) == 0)
        tool_hint("This folder has one: ./%s", argv[0]);
    if (strchr(argv[0], ' ') != NULL)
        tool_hint(
            "The program and its arguments are words of their own; a line for the shell is sh -c 'LINE'.");
    for (size_t i = 0; i < sizeof with_value / sizeof with_value[0]; i++)
        if (strcmp(argv[-1], with_value[i]) == 0)
            tool_hint("Is it the value of %s? That follows '=': %s=%s", argv[-1], argv[-1], argv[0]);
}

/* -1: it can be recorded. */
static int check_program(char **argv, const struct options *options)
{
    const char *name = argv[0];
    struct launch_program program;
    switch (launch_program_check(name, true, &program)) {
    case LAUNCH_MISSING:
        complain(name, &program, "not found");
        explain_missing(argv);
        return RECORD_NOT_FOUND;
    case LAUNCH_NOT_ALLOWED:
        complain(name, &program, "cannot be executed");
        return RECORD_NOT_EXECUTABLE;
    case LAUNCH_STATIC:
        complain(name, &program, "is statically linked, so the recorder cannot be preloaded");
        tool_hint("Link it dynamically, or use the macros of <tracebed/trace.h> and run it with "
                  "TRACEBED=run.tbed.");
        return TOOL_TROUBLE;
    case LAUNCH_OTHER_MACHINE:
        complain(name, &program, "is built for another architecture");
        return TOOL_TROUBLE;
    case LAUNCH_OTHER_LIBRARY:
        complain(name, &program, "is built for another C library than this tracebed");
        tool_hint(
            "One of them is built for musl, the other for glibc: build tracebed for the program's as well.");
        return TOOL_TROUBLE;
    case LAUNCH_FINE:
        break;
    }
    if (program.is_privileged) {
        complain(name, &program, "is a setuid program and will not be recorded");
        tool_hint("Run tracebed as the user that owns it.");
    }
    bool is_accepted =
        !options->functions.is_wanted || record_functions_accept(&options->functions, name, program.path);
    return is_accepted ? -1 : TOOL_TROUBLE;
}

static void store_command_line(struct tbed_writer *writer, char **argv)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    if (out == NULL)
        return;
    struct tbed_json json = {.out = out};
    tbed_json_object_open(&json, NULL);
    tbed_json_array_open(&json, "cmd");
    for (; *argv != NULL; argv++)
        tbed_json_string(&json, NULL, *argv);
    tbed_json_array_close(&json);
    tbed_json_object_close(&json);
    if (fclose(out) == 0)
        tbed_metadata_set(writer, text, nbytes);
    free(text);
}

static enum tbed_clock clock_of(const struct options *options)
{
    if (options->clock == NULL)
        return TBED_CLOCK_AUTO;
    return strcmp(options->clock, "tsc") == 0 ? TBED_CLOCK_X86_TSC : TBED_CLOCK_MONOTONIC;
}

static bool cannot_create(const struct options *options, const struct tbed_error *error)
{
    if (error->status == TBED_ERR_ARGUMENT && clock_of(options) == TBED_CLOCK_X86_TSC) {
        tool_complain("--clock=tsc: this processor has no steady time stamp counter");
        return false;
    }
    tool_complain_error(options->output, error);
    if (error->status == TBED_ERR_EXISTS)
        tool_hint("It is not a trace. Use -f to replace it, or -o FILE to write another file.");
    else if (error->status == TBED_ERR_OPEN && error->system_errno == ENOENT)
        tool_hint("Its folder does not exist.");
    else if (error->status == TBED_ERR_OPEN)
        tool_hint("Use -o FILE to write it elsewhere.");
    return false;
}

/* Creates and closes the trace before the program starts; every process of the program then joins it. */
static bool create_trace(const struct options *options, char **argv, char path_ret[PATH_MAX])
{
    struct tbed_writer *writer;
    struct tbed_error error = {.status = TBED_OK};
    struct tbed_writer_options writer_options = {
        .size = sizeof writer_options,
        .overwrite = options->force,
        .no_helper = true,
        .max_file_nbytes = options->limits.max_nbytes,
        .ring_nbytes = options->limits.ring_nbytes,
        .process_name = "tracebed record",
        .clock = clock_of(options),
    };
    if (tbed_writer_open(options->output, &writer_options, &writer, &error) != TBED_OK)
        return cannot_create(options, &error);
    if (options->command_line)
        store_command_line(writer, argv);
    tbed_writer_close(writer);
    if (realpath(options->output, path_ret) != NULL) {
        if (record_series_is_wanted(&options->series)) /* the first process creates it */
            unlink(path_ret);
        return true;
    }
    tool_complain("%s: %s", options->output, strerror(errno));
    return false;
}

/* An older trace is moved away, unless --force replaces it. */
static bool prepare_trace(const struct options *options, char **argv, char path_ret[PATH_MAX], char **old_ret)
{
    *old_ret = NULL;
    if (!options->force && !record_old_move(options->output, old_ret))
        return false;
    if (create_trace(options, argv, path_ret))
        return true;
    record_old_move_back(options->output, *old_ret);
    free(*old_ret);
    return false;
}

/* ---- Recording ---- */

static int cannot_start(const char *name, int error)
{
    tool_complain("cannot run '%s': %s", name, strerror(error));
    return error == ENOENT ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
}

/* A trace that is there has its clock; the files of a series are made by the program. */
static void clock_environment_set(const struct options *options, const char *name)
{
    if (options->clock != NULL)
        setenv(name, options->clock, 1);
    else
        unsetenv(name);
}

static void set_file_environment(const struct options *options, const char *most, const char *rotate,
                                 const char *clock)
{
    record_limits_environment_set(&options->limits, most);
    record_series_environment_set(&options->series, rotate);
    clock_environment_set(options, clock);
}

static void set_environment(struct options *options, const char *library, const char *trace)
{
    setenv(TBED_ENV_FILE, trace, 1);
    set_file_environment(options, TBED_ENV_MAX, TBED_ENV_ROTATE, TBED_ENV_CLOCK);
    tbed_recorded_filters_set();
    if (options->is_ruby) {
        record_ruby_environment_set(&options->ruby, library, trace);
        set_file_environment(options, "TRACEBED_RUBY_MAX", "TRACEBED_RUBY_ROTATE", "TRACEBED_RUBY_CLOCK");
        record_ruby_watch();
        return;
    }
    record_environment_set(library, trace);
    record_allocations_set(&options->allocations);
}

static bool run_program(char **argv, const struct options *options, const char *trace,
                        struct record_switches **switches_ret, int *wait_status_ret, int *errno_ret)
{
    struct record_packing packing;
    int held_fd = record_old_hold(trace);
    if (options->pack)
        record_packing_start(&packing, trace);
    bool is_run = record_program_run(argv, switches_ret, wait_status_ret, errno_ret);
    if (options->pack)
        record_packing_stop(&packing);
    if (held_fd >= 0)
        close(held_fd);
    return is_run;
}

static int record(char **argv, struct options *options)
{
    char library[PATH_MAX], trace[PATH_MAX], *old;
    int wait_status = 0, error = 0;
    const char *name = options->functions.is_wanted ? RECORD_FUNCTIONS_LIBRARY : RECORD_ALLOCATIONS_LIBRARY;
    bool is_found = options->is_ruby ? record_ruby_find(library) : record_library_find(name, library);
    if (!is_found || !prepare_trace(options, argv, trace, &old))
        return TOOL_TROUBLE;
    set_environment(options, library, trace);
    const struct launch_notes *notes = launch_notes_make();
    struct record_switches *switches = NULL;
    struct record_switches **switches_at = options->off_cpu ? &switches : NULL;
    bool is_run = run_program(argv, options, trace, switches_at, &wait_status, &error);
    if (!is_run) {
        unlink(trace);
        record_old_move_back(options->output, old);
        free(old);
        record_switches_close(switches);
        return error == 0 ? TOOL_TROUBLE : cannot_start(argv[0], error);
    }
    free(old);
    bool is_recorded = record_finish(options->output, record_series_is_wanted(&options->series),
                                     options->is_ruby, notes, options->verbose);
    if (is_recorded && switches != NULL)
        is_recorded = record_switches_add(switches, trace);
    record_switches_close(switches);
    if (options->pack)
        record_packing_finish(trace);
    int status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    return status == 0 && !is_recorded ? RECORD_NOT_STARTED : status;
}

static bool is_run(int result)
{
    return result != TOOL_TROUBLE && result != RECORD_NOT_EXECUTABLE && result != RECORD_NOT_FOUND;
}

static int run_accepted(char **argv, struct options *options)
{
    int result = check_program(argv, options);
    if (result >= 0)
        return result;
    if (!record_functions_begin(&options->functions))
        return TOOL_TROUBLE;
    result = record(argv, options);
    record_library_forget();
    bool is_matched = record_functions_end(&options->functions, result);
    if (options->is_ruby)
        is_matched = record_ruby_end(&options->ruby, options->output, is_run(result));
    return result == 0 && !is_matched ? RECORD_NOT_STARTED : result;
}

static int run(int argc, char **argv)
{
    struct options options = {.output = "run.tbed", .verbose = isatty(STDERR_FILENO)};
    int result = parse(argc, argv, &options);
    if (result < 0)
        result = run_accepted(argv + optind, &options);
    record_functions_free(&options.functions);
    free(options.ruby.patterns);
    return result;
}

const struct tool_verb tool_verb_record = {
    .name = "record",
    .summary = "run a program and record its allocations or function calls",
    .help = help,
    .run = run,
};
