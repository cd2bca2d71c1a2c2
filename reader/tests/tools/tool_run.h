/*
 * Runs the program `tracebed` and captures its output, for the tests of its commands, and makes traces for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOL_RUN_H
#define TRACEBED_TOOL_RUN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tracebed/writer.h>
#include <unistd.h>

struct run {
    int exit; /* -1: killed by a signal */
    char *out, *err;
};

/* How it is started; zeros are the usual: no input, output kept. */
struct run_with {
    const char *input;       /* a file */
    int input_fd;            /* instead, a pipe's end; 0: none */
    const char *output;      /* a file that output goes to; "": closed */
    const char *environment; /* one NAME=VALUE */
};

static char run_folder[] = "/tmp/tracebed-test-XXXXXX";

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(run_folder) == NULL;
}

static inline int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", run_folder);
    return system(command);
}

/* The path of a file in the test's own folder. Four may be in use at a time. */
static inline const char *in_folder(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", run_folder, name);
    return path;
}

static inline char *read_whole(const char *path, size_t *nbytes_ret)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t nbytes = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(nbytes + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, nbytes, file), nbytes);
    bytes[nbytes] = '\0';
    fclose(file);
    if (nbytes_ret != NULL)
        *nbytes_ret = nbytes;
    return bytes;
}

static inline void write_whole(const char *path, const void *bytes, size_t nbytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nbytes, file), nbytes);
    assert_int_equal(fclose(file), 0);
}

static inline void redirect(int to, const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(126);
}

static inline const char *program_path(void)
{
    static char path[512];
    const char *build = getenv("TBED_BUILD");
    snprintf(path, sizeof path, "%s/tracebed", build != NULL ? build : "build/release");
    return path;
}

static inline void become_program(const struct run_with *with, const char *out, const char *err,
                                  char **arguments)
{
    if (with->input_fd > 0)
        dup2(with->input_fd, STDIN_FILENO);
    else
        redirect(STDIN_FILENO, with->input != NULL ? with->input : "/dev/null", O_RDONLY);
    redirect(STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC);
    if (with->output != NULL && with->output[0] == '\0')
        close(STDOUT_FILENO);
    else
        redirect(STDOUT_FILENO, with->output != NULL ? with->output : out, O_WRONLY | O_CREAT | O_TRUNC);
    unsetenv("NO_COLOR");
    setenv("TZ", "UTC", 1);
    if (with->environment != NULL)
        putenv((char *)with->environment);
    alarm(60); /* a program that hangs is a failure, not a wait */
    execv(program_path(), arguments);
    _exit(127);
}

/* 'words': the arguments, NULL at the end. */
static inline struct run run_with(const struct run_with *with, const char *const words[])
{
    char out[512], err[512];
    char *arguments[32] = {(char *)"tracebed"};
    for (size_t i = 0; words[i] != NULL && i < 30; i++)
        arguments[i + 1] = (char *)words[i];
    snprintf(out, sizeof out, "%s/.out", run_folder);
    snprintf(err, sizeof err, "%s/.err", run_folder);
    write_whole(out, "", 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        become_program(with, out, err, arguments);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct run run = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole(out, NULL),
                      read_whole(err, NULL)};
    return run;
}

#define RUN(...) run_with(&(struct run_with){0}, (const char *const[]){__VA_ARGS__, NULL})

static inline void end_run(struct run *run)
{
    free(run->out);
    free(run->err);
}

static inline void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("expected \"%s\" in:\n%s", part, text);
}

static inline void assert_silent_on(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("did not expect \"%s\" in:\n%s", part, text);
}

/* Runs it, and checks the exit code and that both outputs contain these texts (NULL: anything; "": must be empty). */
static inline void expect(const char *const words[], int exit, const char *out, const char *err)
{
    struct run run = run_with(&(struct run_with){0}, words);
    if (run.exit != exit)
        fail_msg("exit %d instead of %d\n%s\n%s", run.exit, exit, run.out, run.err);
    if (out != NULL && *out == '\0')
        assert_string_equal(run.out, "");
    else if (out != NULL)
        assert_says(run.out, out);
    if (err != NULL && *err == '\0')
        assert_string_equal(run.err, "");
    else if (err != NULL)
        assert_says(run.err, err);
    end_run(&run);
}
#define EXPECT(exit, out, err, ...) expect((const char *const[]){__VA_ARGS__, NULL}, exit, out, err)

static inline size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* ---- Traces ---- */

/* A clock that counts its own readings: traces come out the same every time. */
static inline uint64_t counting_clock(void)
{
    static uint64_t now = 1000;
    return now += 10;
}

/* A writer whose ticks are given; 'rate' of them a second, or 0: they count steps. */
static inline struct tbed_writer *open_given_writer(const char *path, uint64_t rate)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = rate,
                                          .user_clock_unit = rate == 0 ? "steps" : NULL};
    struct tbed_writer *writer = NULL;
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    return writer;
}

static inline struct tbed_writer *open_writer(const char *path, bool counting)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .clock = counting ? TBED_CLOCK_USER : TBED_CLOCK_MONOTONIC,
                                          .user_clock = counting ? counting_clock : NULL,
                                          .user_clock_unit = counting ? "steps" : NULL,
                                          .page_nbytes = 4096,
                                          .process_name = "test"};
    struct tbed_writer *writer = NULL;
    struct tbed_error error = {0};
    enum tbed_status status = tbed_writer_open(path, &options, &writer, &error);
    if (status != TBED_OK)
        fail_msg("%s: %s", path, tbed_status_text(error.status));
    return writer;
}

static inline uint32_t intern(struct tbed_writer *writer, const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

/* An allocation by a site of this name, which fails at address 0; 0 bytes: a free. */
struct heap_event {
    const char *site;
    uint64_t address, nbytes;
};

/* Each event is a step of the clock after the one before. */
static inline const char *make_heap(const char *name, const struct heap_event *events, size_t count)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (size_t i = 0; i < count; i++) {
        const struct heap_event *event = &events[i];
        uint32_t site = intern(writer, event->site);
        if (event->nbytes > 0)
            tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, event->address, event->nbytes);
        else
            tbed_free_record(recorder, site, TBED_FUNCTION_MALLOC, event->address);
    }
    tbed_writer_close(writer);
    return path;
}
#define HEAP(name, events) make_heap(name, events, sizeof(events) / sizeof(events)[0])

/* One thread, "main": a span with one in it, an instant, a counter, a message. 8 events. */
static inline void record_small(struct tbed_writer *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    struct tbed_argument argument = {
        .type = TBED_ARG_U64, .name_id = intern(writer, "bytes"), .value.u64 = 7};
    uint32_t queue = intern(writer, "queue");
    tbed_counter_describe(writer, queue, "items");
    tbed_span_begin(recorder, intern(writer, "load"));
    tbed_span_begin_args(recorder, intern(writer, "parse"), &argument, 1);
    tbed_instant_record(recorder, intern(writer, "tick"));
    tbed_span_end(recorder);
    tbed_counter_record_i64(recorder, queue, -3);
    tbed_message_record(recorder, TBED_SEVERITY_WARNING, "beware", 6);
    struct tbed_argument name = {
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 5, .value.text = "a.txt"};
    tbed_message_record_args(recorder, TBED_SEVERITY_NONE, intern(writer, "opening %s"), &name, 1);
    tbed_span_end(recorder);
    tbed_recorder_close(recorder);
}

static inline const char *make_small(const char *name, bool counting)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, counting);
    record_small(writer);
    tbed_writer_close(writer);
    return path;
}

/* The same by a process that dies without closing. */
static inline const char *make_unclosed(const char *name)
{
    const char *path = in_folder(name);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        record_small(open_writer(path, false));
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return path;
}

#endif
