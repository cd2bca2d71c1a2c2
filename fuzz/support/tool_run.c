/*
 * Runs commands of the program in this process, and returns what they print.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "fuzz/support/tool_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tracebed/exchange.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/rich_trace.h"
#include "fuzz/support/scratch.h"
#include "reader/tools/defaults/defaults.h"
#include "reader/tools/shared/tool.h"

#define ARGUMENTS_MAX 32

static int here, own_stdout, output;
static FILE *nowhere;

/* Names of fonts, which the library keeps until the process ends. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig.so\n";
}

/* 'view' serves until a signal comes: here that is at once. */
int sigwait(const sigset_t *set, int *number)
{
    (void)set;
    *number = SIGTERM;
    return 0;
}

static void start(void)
{
    if (nowhere != NULL)
        return;
    static const char *const names[] = {"DEBUGINFOD_URLS", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        REQUIRE(unsetenv(names[i]) == 0);
    here = open(".", O_PATH | O_CLOEXEC);
    own_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    output = memfd_create("output", MFD_CLOEXEC);
    nowhere = fopen("/dev/null", "we");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    REQUIRE(here >= 0 && own_stdout >= 0 && output >= 0 && nowhere != NULL);
    REQUIRE(null >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO && close(null) == 0);
}

/* The program's folder and streams, or those of the fuzzer, which writes its files between two runs. */
static void enter(const char *path, FILE *errors, int to)
{
    REQUIRE(fflush(stdout) == 0 && dup2(to, STDOUT_FILENO) == STDOUT_FILENO);
    REQUIRE(path != NULL ? chdir(path) == 0 : fchdir(here) == 0);
    stderr = errors;
}

static const char *take_output(size_t *nbytes_ret)
{
    static char *text;
    off_t nbytes = lseek(output, 0, SEEK_END);
    REQUIRE(nbytes >= 0 && (text = realloc(text, (size_t)nbytes + 1)) != NULL);
    REQUIRE(pread(output, text, (size_t)nbytes, 0) == nbytes);
    REQUIRE(ftruncate(output, 0) == 0 && lseek(output, 0, SEEK_SET) == 0);
    *nbytes_ret = (size_t)nbytes;
    return text;
}

static struct tool_output run_main(const char *const *arguments, bool has_defaults)
{
    struct tool_output result;
    char *copies[ARGUMENTS_MAX + 2] = {strdup("tracebed")}, *passed[ARGUMENTS_MAX + 2];
    FILE *errors = stderr;
    int count = 1;
    for (; count <= ARGUMENTS_MAX && arguments[count - 1] != NULL; count++)
        copies[count] = strdup(arguments[count - 1]);
    memcpy(passed, copies, sizeof passed); /* getopt() changes their order */
    start();
    enter(scratch_folder(), nowhere, output);
    result.status = tool_main(count, passed, has_defaults);
    enter(NULL, errors, own_stdout);
    result.text = take_output(&result.nbytes);
    for (int i = 0; i < count; i++)
        free(copies[i]);
    return result;
}

struct tool_output tool_run(const char *const *arguments)
{
    return run_main(arguments, false);
}

struct tool_output tool_run_with_defaults(const char *const *arguments, const char *variable,
                                          const char *file)
{
    static const char path[] = "tracebed/options";
    REQUIRE(setenv("XDG_CONFIG_HOME", scratch_folder(), 1) == 0);
    REQUIRE(variable == NULL ? unsetenv("TRACEBED_OPTIONS") == 0
                             : setenv("TRACEBED_OPTIONS", variable, 1) == 0);
    REQUIRE(mkdir(scratch_path("tracebed"), 0700) == 0 || errno == EEXIST);
    if (file != NULL)
        tool_file_put(path, file, strlen(file));
    struct tool_output result = run_main(arguments, true);
    unlink(scratch_path(path));
    REQUIRE(setenv("TRACEBED_OPTIONS", "--no-defaults", 1) == 0);
    REQUIRE(defaults_load(NULL) == NULL); /* the next command has none */
    return result;
}

struct tool_output tool_complete_run(const char *const *arguments)
{
    struct tool_output result;
    int count = 0, status;
    while (arguments[count] != NULL)
        count++;
    start();
    REQUIRE(fflush(NULL) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        enter(scratch_folder(), nowhere, output);
        char *copies[ARGUMENTS_MAX + 1] = {NULL};
        for (int i = 0; i < count && i < ARGUMENTS_MAX; i++)
            copies[i] = strdup(arguments[i]);
        _exit(tool_complete(count, copies));
    }
    while (waitpid(pid, &status, 0) < 0)
        REQUIRE(errno == EINTR); /* the fuzzer's timer */
    REQUIRE(WIFEXITED(status));
    result.status = WEXITSTATUS(status);
    result.text = take_output(&result.nbytes);
    return result;
}

void tool_file_put(const char *name, const void *bytes, size_t nbytes)
{
    scratch_put(scratch_path(name), bytes, nbytes);
}

/* ---- Samples ---- */

static uint32_t intern(struct tbed_writer *writer, const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t id, uint64_t tick)
{
    struct tbed_argument value = {
        .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.u64 = tick};
    struct tbed_given_event event = {.type = type,
                                     .id = id,
                                     .category = TBED_ID_INVALID,
                                     .tick = tick,
                                     .begin_tick = tick / 2,
                                     .arguments = &value,
                                     .argument_count = type == TBED_GIVEN_COUNTER};
    tbed_event_record_given(recorder, &event);
}

static void record_sample(struct tbed_writer *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "main", 1);
    uint32_t outer = intern(writer, "outer"), inner = intern(writer, "inner\x1E"
                                                                     "argument");
    uint32_t stack = tbed_stack_intern(writer, TBED_ID_INVALID, outer);
    give(recorder, TBED_GIVEN_BEGIN, outer, 1000000);
    give(recorder, TBED_GIVEN_BEGIN, inner, 2000000);
    give(recorder, TBED_GIVEN_COUNTER, outer, 3000000);
    tbed_message_record(recorder, TBED_SEVERITY_WARNING, "a message", 9);
    tbed_alloc_record(recorder, stack, TBED_FUNCTION_MALLOC, 4096, 100);
    tbed_alloc_record(recorder, tbed_typed_intern(writer, stack, outer), TBED_FUNCTION_NEW, 8192, 24);
    give(recorder, TBED_GIVEN_END, outer, 5000000);
    give(recorder, TBED_GIVEN_INSTANT, inner, 6000000);
    recorder = tbed_recorder_open_given(writer, "other", 2);
    give(recorder, TBED_GIVEN_SPAN, inner, 7000000);
    give(recorder, TBED_GIVEN_BEGIN, outer, 8000000);
}

static void put_trace(const char *name)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    REQUIRE(tbed_writer_open(scratch_path(name), &options, &writer, NULL) == TBED_OK);
    record_sample(writer);
    tbed_writer_free(writer);
}

/* A trace with the clock of the machine. */
static void put_recorded(const char *path)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true, .page_nbytes = 4096};
    struct tbed_writer *writer;
    REQUIRE(tbed_writer_open(path, &options, &writer, NULL) == TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    tbed_span_begin(recorder, intern(writer, "now"));
    tbed_instant_record(recorder, intern(writer, "mark"));
    tbed_span_end(recorder);
    tbed_writer_close(writer);
}

static void *load(const char *path, size_t *nbytes_ret)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &status) == 0);
    void *bytes = malloc((size_t)status.st_size + 1);
    REQUIRE(bytes != NULL && read(fd, bytes, (size_t)status.st_size) == status.st_size && close(fd) == 0);
    *nbytes_ret = (size_t)status.st_size;
    return bytes;
}

static void make_samples(void)
{
    static const char *const profile[] = {"export", "--to=mm_profdata", "-f", "-op", "a", NULL};
    static const char *const log[] = {"export", "--to=rtl-log", "-f", "-ol", "a", NULL};
    static const char *const packed[] = {"pack", "-f", "-ok", "r", NULL};
    static const char suppressions[] = "# known\nleak:nothing\nleak:out*\n";
    static const char of_valgrind[] = "{\n  known\n  Memcheck:Leak\n  ...\n  fun:*load\n}\n"
                                      "{\n  other\n  Memcheck:Param\n  obj:*\n}\nleak:ns::*\n";
    static const char script[] = "-- all\nSELECT label, count(*) FROM spans GROUP BY 1;\n"
                                 "ATTACH 'b' AS other;\nSELECT * FROM other.messages;\n";
    put_trace("a");
    put_trace("b");
    rich_trace_put(scratch_path("r"));
    put_recorded(scratch_path("n"));
    tool_file_put("s", suppressions, sizeof suppressions - 1);
    tool_file_put("v", of_valgrind, sizeof of_valgrind - 1);
    tool_file_put("q", script, sizeof script - 1);
    REQUIRE(tool_run(profile).status == TOOL_FINE && tool_run(log).status == TOOL_FINE);
    REQUIRE(tool_run(packed).status == TOOL_FINE);
}

/* They are made once, and stored again each time, because a command may have changed them. */
void tool_samples_put(void)
{
    static const char names[][2] = {"a", "b", "n", "p", "l", "k", "r", "s", "v", "q"};
    static struct {
        void *bytes;
        size_t nbytes;
    } samples[sizeof names / sizeof names[0]];
    if (samples[0].bytes == NULL)
        make_samples();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (samples[i].bytes == NULL)
            samples[i].bytes = load(scratch_path(names[i]), &samples[i].nbytes);
        tool_file_put(names[i], samples[i].bytes, samples[i].nbytes);
    }
}
