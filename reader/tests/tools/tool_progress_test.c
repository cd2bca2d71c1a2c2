/*
 * Progress on a terminal: shown after a while, cleared at the end and by a signal that ends the program, and never elsewhere.
 *
 * The program is made slow by a pipe that nobody reads: dump fills it and waits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <signal.h>

static const char *make_long(void)
{
    const char *path = in_folder("long.tbed");
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t id = intern(writer, "step");
    for (uint32_t i = 0; i < 50000; i++)
        tbed_instant_record(recorder, id);
    tbed_writer_close(writer);
    return path;
}

struct slow {
    pid_t pid;
    int terminal, out;
    char shown[4096];
    size_t shown_nbytes;
};

static struct slow start(const char *path)
{
    struct slow slow = {.terminal = posix_openpt(O_RDWR | O_NOCTTY)};
    int pipe_fds[2];
    assert_true(slow.terminal >= 0 && grantpt(slow.terminal) == 0 && unlockpt(slow.terminal) == 0);
    assert_int_equal(pipe(pipe_fds), 0);
    slow.pid = fork();
    assert_true(slow.pid >= 0);
    if (slow.pid == 0) {
        int terminal = open(ptsname(slow.terminal), O_RDWR | O_NOCTTY);
        dup2(pipe_fds[1], STDOUT_FILENO);
        dup2(terminal, STDERR_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        signal(SIGINT, SIG_DFL); /* a shell ignores it for what runs in the background */
        alarm(60);
        execl(program_path(), "tracebed", "dump", path, (char *)NULL);
        _exit(127);
    }
    close(pipe_fds[1]);
    slow.out = pipe_fds[0];
    return slow;
}

/* Reads from the terminal until it shows the text; false: it was closed before. */
static bool wait_for(struct slow *slow, const char *text)
{
    while (strstr(slow->shown, text) == NULL) {
        ssize_t got = read(slow->terminal, slow->shown + slow->shown_nbytes,
                           sizeof slow->shown - 1 - slow->shown_nbytes);
        if (got <= 0)
            return false;
        slow->shown_nbytes += (size_t)got;
        slow->shown[slow->shown_nbytes] = '\0';
    }
    return true;
}

static int finish(struct slow *slow)
{
    int status;
    assert_int_equal(waitpid(slow->pid, &status, 0), slow->pid);
    wait_for(slow, "no such text");
    close(slow->terminal);
    close(slow->out);
    return status;
}

static void assert_is_cleared(const struct slow *slow)
{
    static const char clear[] = "\r\033[K";
    size_t nbytes = sizeof clear - 1;
    assert_true(slow->shown_nbytes > nbytes);
    assert_memory_equal(slow->shown + slow->shown_nbytes - nbytes, clear, nbytes);
}

static void progress_is_shown_and_cleared(void **state)
{
    char buffer[65536];
    (void)state;
    struct slow slow = start(make_long());
    assert_true(wait_for(&slow, " %"));
    assert_says(slow.shown, "tracebed: read ");
    while (read(slow.out, buffer, sizeof buffer) > 0)
        ;
    int status = finish(&slow);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_is_cleared(&slow);
}

static void a_signal_clears_it_and_ends_the_program(void **state)
{
    (void)state;
    struct slow slow = start(make_long());
    assert_true(wait_for(&slow, " %"));
    assert_int_equal(kill(slow.pid, SIGINT), 0);
    int status = finish(&slow);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    assert_is_cleared(&slow);
}

static void nothing_is_shown_elsewhere(void **state)
{
    (void)state;
    EXPECT(0, NULL, "", "dump", make_long());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_shown_and_cleared),
        cmocka_unit_test(a_signal_clears_it_and_ends_the_program),
        cmocka_unit_test(nothing_is_shown_elsewhere),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
