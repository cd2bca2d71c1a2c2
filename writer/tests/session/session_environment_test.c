/*
 * TRACEBED, TRACEBED_CATEGORIES and RTL_LOGFILE, in programs that are started with them: this one, as a child of itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracebed/logfile.h>

TBED_CATEGORY(env_net);

/* A program obeys RTL_LOGFILE because it uses a macro of logfile.h; see ninja/checks/check_environment.py. */
__attribute__((used)) static void use_logfile_macro(void)
{
    TBED_LOGFILE_TRACE("used");
}

/* ---- The child ---- */

static char *program;

static void become(const char *how)
{
    execl("/proc/self/exe", program, how, (char *)NULL);
    _exit(99);
}

/* Never a failure because of the trace. */
static int be_child(const char *how)
{
    TBED_SPAN_DYNAMIC(how);
    TBED_INSTANT_IN(env_net, "packet");
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exec") == 0)
        become("executed");
    for (int i = 0; strcmp(how, "much") == 0 && i < 100000; i++)
        TBED_INSTANT("again");
    if (strcmp(how, "start") == 0)
        return tbed_start("/no/such/file.tbed", NULL) == TBED_ERR_BUSY ? 0 : 1;
    if (strcmp(how, "spawn") == 0) {
        if (chdir("/") != 0)
            return 1;
        pid_t child = fork();
        if (child == 0)
            become("spawned");
        int status;
        return waitpid(child, &status, 0) == child ? status : 1;
    }
    return 0;
}

/* ---- Starting it ---- */

static char *complaints;

/* The wait status; what it said on standard error stays in 'complaints'. */
static int run_child(const char *how, const char *trace, const char *categories, pid_t *pid_ret)
{
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("complaints.txt"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDERR_FILENO);
        setenv("TRACEBED", trace, 1);
        if (categories != NULL)
            setenv("TRACEBED_CATEGORIES", categories, 1);
        become(how);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(complaints);
    complaints = calloc(1, 4096);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && read(fd, complaints, 4095) >= 0);
    close(fd);
    if (pid_ret != NULL)
        *pid_ret = child;
    return status;
}

static void run_well(const char *how, const char *trace)
{
    assert_int_equal(run_child(how, trace, NULL, NULL), 0);
    assert_string_equal(complaints, "");
}

/* How often each name was begun in the whole trace. */
static size_t begin_count(const char *path, const char *wanted, bool shut)
{
    struct tbed_reader *reader = test_reader_open(path, shut);
    struct tbed_stream_info info;
    size_t found = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        size_t count, nbytes;
        char name[64];
        struct tbed_event *events = test_events(reader, info.stream, &count);
        for (size_t k = 0; k < count; k++) {
            if (events[k].type != TBED_EVENT_BEGIN && events[k].type != TBED_EVENT_INSTANT)
                continue;
            assert_int_equal(tbed_string_resolve(reader, events[k].id, name, sizeof name, &nbytes), TBED_OK);
            found += strcmp(name, wanted) == 0;
        }
        free(events);
    }
    tbed_reader_close(reader);
    return found;
}

/* ---- Tests ---- */

static void a_program_is_recorded_to_its_end(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("run.tbed"));
    run_well("plain", path);
    assert_int_equal(begin_count(path, "plain", true), 1);
    run_well("plain", path); /* replaced */
    assert_int_equal(begin_count(path, "plain", true), 1);
    char appended[300];
    snprintf(appended, sizeof appended, "+%s", path);
    run_well("again", appended);
    assert_int_equal(begin_count(path, "plain", true), 1);
    assert_int_equal(begin_count(path, "again", true), 1);
    run_well("start", path);
    assert_int_equal(begin_count(path, "start", true), 1);
}

static void what_was_recorded_survives_a_kill(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("killed.tbed"));
    int status = run_child("kill", path, NULL, NULL);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(begin_count(path, "kill", false), 1);
    assert_int_equal(begin_count(path, "packet", false), 1);
}

static void programs_that_it_turns_into_or_starts_go_on(void **state)
{
    (void)state;
    char path[256], folder[256];
    snprintf(path, sizeof path, "%s", test_path("exec.tbed"));
    run_well("exec", path);
    assert_int_equal(begin_count(path, "exec", false), 1); /* a process that calls exec() does not close */
    assert_int_equal(begin_count(path, "executed", false), 1);
    /* by a relative path, from another folder */
    assert_non_null(getcwd(folder, sizeof folder));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(chdir(path), 0);
    *slash = '/';
    run_well("spawn", "./exec.tbed");
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(begin_count(path, "exec", true), 0);
    assert_int_equal(begin_count(path, "spawn", true), 1);
    assert_int_equal(begin_count(path, "spawned", true), 1);
}

static void each_process_may_have_a_file(void **state)
{
    (void)state;
    char pattern[256], path[300];
    pid_t pid;
    snprintf(pattern, sizeof pattern, "%s", test_path("100%%.%p.tbed"));
    assert_int_equal(run_child("plain", pattern, NULL, &pid), 0);
    snprintf(path, sizeof path, "%.*s100%%.%d.tbed", (int)(strrchr(pattern, '/') + 1 - pattern), pattern,
             (int)pid);
    assert_int_equal(begin_count(path, "plain", true), 1);
}

static void categories_come_from_the_environment(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("categories.tbed"));
    assert_int_equal(run_child("plain", path, "-env_*", NULL), 0);
    assert_int_equal(begin_count(path, "packet", true), 0);
    assert_int_equal(run_child("plain", path, "other,env_net", NULL), 0);
    assert_int_equal(begin_count(path, "packet", true), 1);
    assert_int_equal(run_child("plain", path, "other", NULL), 0);
    assert_int_equal(begin_count(path, "packet", true), 0);
    assert_int_equal(begin_count(path, "plain", true), 1);
}

static void assert_complaint(const char *trace, const char *reason)
{
    assert_int_equal(run_child("plain", trace, NULL, NULL), 0);
    if (strstr(complaints, reason) == NULL ||
        strstr(complaints, trace[0] == '+' ? trace + 1 : trace) == NULL ||
        strchr(complaints, '\n') != complaints + strlen(complaints) - 1)
        fail_msg("%s: %s", trace, complaints);
}

static void a_failure_is_told_and_fails_nothing(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("letter.txt"));
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "dear all", 8), 8);
    close(fd);
    assert_complaint(path, "left alone");
    assert_complaint("/no/such/folder/run.tbed", "No such file or directory");
    assert_complaint("/dev/full", "runs without a trace");
    assert_complaint("/", "runs without a trace");
    assert_complaint("run.%x.tbed", "%p is the process's number");
    char longer[6000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(run_child("plain", longer, NULL, NULL), 0);
    assert_non_null(strstr(complaints, "the program runs without a trace; "));
    assert_int_equal(complaints[strlen(complaints) - 1], '\n');
    assert_int_equal(run_child("plain", "", NULL, NULL), 0);
    assert_string_equal(complaints, "");
}

/* How many of them there are, and how often each name was begun in all. */
static size_t series_count(const char *path, const char *wanted, size_t *begin_count_ret)
{
    size_t count = 0;
    char name[300];
    *begin_count_ret = begin_count(path, wanted, true);
    for (;; count++) {
        snprintf(name, sizeof name, "%s.%06zu", path, count + 1);
        if (access(name, F_OK) != 0)
            return count;
        *begin_count_ret += begin_count(name, wanted, true);
    }
}

static void a_series_and_a_ring_come_from_the_environment(void **state)
{
    (void)state;
    char path[256], spawned[300];
    size_t count;
    pid_t child;
    snprintf(path, sizeof path, "%s", test_path("series.tbed"));
    setenv("TRACEBED_ROTATE", "256K", 1);
    run_well("much", path);
    assert_true(series_count(path, "again", &count) >= 2);
    assert_int_equal(count, 100000);
    snprintf(path, sizeof path, "%s", test_path("kept.tbed"));
    setenv("TRACEBED_ROTATE", "1h,1", 1);
    assert_int_equal(run_child("exec", path, NULL, &child), 0); /* does not end its own */
    assert_int_equal(begin_count(path, "exec", false), 1);
    snprintf(spawned, sizeof spawned, "%s.%d", path, (int)child);
    assert_int_equal(begin_count(spawned, "executed", true), 1);
    unsetenv("TRACEBED_ROTATE");
    struct tbed_trace_info info;
    snprintf(path, sizeof path, "%s", test_path("ring.tbed"));
    setenv("TRACEBED_RING", "1M", 1);
    run_well("much", path);
    struct tbed_reader *reader = test_reader_open(path, true);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.ring_page_count * (uint64_t)info.page_nbytes, 1 << 20);
    tbed_reader_close(reader);
    unsetenv("TRACEBED_RING");
}

static uint32_t clock_of(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    tbed_reader_close(reader);
    return info.clock;
}

static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {"x",     "64",    "0M",   "64MB",   " 64M",        "-1M", "64M,",
                                        "64M,0", "64M,x", "60ms", "64M,1,", "1000000000M", "M",   "1.5G"};
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("wrong.tbed"));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        for (int ring = 0; ring < 2; ring++) {
            const char *name = ring ? "TRACEBED_RING" : "TRACEBED_ROTATE";
            setenv(name, wrong[i], 1);
            assert_int_equal(run_child("plain", path, NULL, NULL), 0);
            assert_int_equal(strncmp(complaints, "tracebed: TRACEBED_R", 20), 0);
            assert_non_null(strstr(complaints, "the program runs without a trace\n"));
            assert_int_not_equal(access(path, F_OK), 0);
            unsetenv(name);
        }
    static const char *const wrong_times[] = {"x", "5", "0s", "10ms", "-1s", " 1s", "1s,", "1M"};
    for (size_t i = 0; i < sizeof wrong_times / sizeof wrong_times[0]; i++) {
        setenv("TRACEBED_SYNC", wrong_times[i], 1);
        assert_int_equal(run_child("plain", path, NULL, NULL), 0);
        assert_int_equal(strncmp(complaints, "tracebed: TRACEBED_SYNC=", 24), 0);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    setenv("TRACEBED_SYNC", "1h", 1);
    run_well("plain", path);
    unlink(path);
    unsetenv("TRACEBED_SYNC");
    static const char *const wrong_clocks[] = {"x", "TSC", "tsc ", "realtime", "monotonic,tsc"};
    for (size_t i = 0; i < sizeof wrong_clocks / sizeof wrong_clocks[0]; i++) {
        setenv("TRACEBED_CLOCK", wrong_clocks[i], 1);
        assert_int_equal(run_child("plain", path, NULL, NULL), 0);
        assert_int_equal(strncmp(complaints, "tracebed: TRACEBED_CLOCK=", 25), 0);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    setenv("TRACEBED_CLOCK", "monotonic", 1);
    run_well("plain", path);
    assert_int_equal(clock_of(path), TBED_CLOCK_MONOTONIC);
    unlink(path);
    unsetenv("TRACEBED_CLOCK");
    setenv("TRACEBED_RING", "1M", 1);
    setenv("TRACEBED_ROTATE", "1M", 1);
    assert_int_equal(run_child("plain", path, NULL, NULL), 0);
    assert_non_null(strstr(complaints, "together with TRACEBED_RING"));
    unsetenv("TRACEBED_RING");
    unsetenv("TRACEBED_ROTATE");
}

/* Standard error is a pipe that nobody reads, or a file that may not grow. */
static void a_complaint_that_cannot_be_written_kills_nobody(void **state)
{
    (void)state;
    for (int has_pipe = 0; has_pipe < 2; has_pipe++) {
        int ends[2], status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (has_pipe && pipe(ends) == 0 && close(ends[0]) == 0)
                dup2(ends[1], STDERR_FILENO);
            else
                dup2(open(test_path("full.txt"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDERR_FILENO);
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
            setenv("TRACEBED", "unrecorded.tbed", 1);
            setenv("TRACEBED_RING", "nonsense", 1);
            become("plain");
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* The trace of the child that ran last. */
static const char *path_of_child(const char *prefix, pid_t child)
{
    static char path[300];
    snprintf(path, sizeof path, "%s_%d.tbed", prefix, (int)child);
    return path;
}

static void a_prefix_gives_each_process_a_trace(void **state)
{
    (void)state;
    char prefix[256], whole[300];
    pid_t child;
    snprintf(prefix, sizeof prefix, "%s", test_path("log"));
    setenv("RTL_LOGFILE", prefix, 1);
    assert_int_equal(run_child("plain", "", NULL, &child), 0);
    assert_string_equal(complaints, "");
    assert_int_equal(begin_count(path_of_child(prefix, child), "plain", true), 1);
    assert_int_equal(run_child("spawn", "", NULL, &child), 0); /* what it starts has a trace of its own */
    assert_int_equal(begin_count(path_of_child(prefix, child), "spawn", true), 1);
    assert_int_equal(begin_count(path_of_child(prefix, child), "spawned", true), 0);
    snprintf(whole, sizeof whole, "%s", test_path("whole.nopid"));
    setenv("RTL_LOGFILE", whole, 1);
    setenv("TRACEBED_RING", "1M", 1);
    run_well("ring", "");
    unsetenv("TRACEBED_RING");
    assert_int_equal(begin_count(whole, "ring", true), 1);
    snprintf(prefix, sizeof prefix, "%s", test_path("asked.tbed"));
    run_well("plain", prefix); /* TRACEBED goes before */
    assert_int_equal(begin_count(prefix, "plain", true), 1);
    setenv("RTL_LOGFILE", "", 1);
    run_well("plain", "");
    unsetenv("RTL_LOGFILE");
}

static void what_is_there_is_no_log(void **state)
{
    (void)state;
    char path[256], longer[6000];
    snprintf(path, sizeof path, "%s", test_path("letter.nopid"));
    setenv("RTL_LOGFILE", path, 1);
    run_well("first", "");
    assert_int_equal(run_child("second", "", NULL, NULL), 0);
    assert_non_null(strstr(complaints, "letter.nopid"));
    assert_non_null(strstr(complaints,
                           "; the program runs without a trace; remove it, or name another file in "
                           "RTL_LOGFILE\n"));
    assert_int_equal(begin_count(path, "first", true), 1);
    assert_int_equal(begin_count(path, "second", true), 0);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    setenv("RTL_LOGFILE", longer, 1);
    assert_int_equal(run_child("plain", "", NULL, NULL), 0);
    snprintf(path, sizeof path, "%s; the program runs without a trace\n", strerror(ENAMETOOLONG));
    assert_non_null(strstr(complaints, path));
    unsetenv("RTL_LOGFILE");
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1)
        return be_child(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_recorded_to_its_end),
        cmocka_unit_test(what_was_recorded_survives_a_kill),
        cmocka_unit_test(programs_that_it_turns_into_or_starts_go_on),
        cmocka_unit_test(each_process_may_have_a_file),
        cmocka_unit_test(categories_come_from_the_environment),
        cmocka_unit_test(a_failure_is_told_and_fails_nothing),
        cmocka_unit_test(a_series_and_a_ring_come_from_the_environment),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(a_complaint_that_cannot_be_written_kills_nobody),
        cmocka_unit_test(a_prefix_gives_each_process_a_trace),
        cmocka_unit_test(what_is_there_is_no_log),
    };
    int failed = cmocka_run_group_tests_name("session_environment", tests, NULL, NULL);
    free(complaints);
    return failed;
}
