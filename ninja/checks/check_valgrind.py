"""
Checks that memcheck finds nothing in a program that records in every way: threads, a fork, a signal handler, starts and
stops, joining, a flight recorder, given ticks, a snapshot. Skipped if valgrind is missing.

Check: valgrind
Needs: $b/libtracebed.a $b/tracebed
Slow: valgrind

SPDX-License-Identifier: MIT
"""

import shutil
import sys

from cases import BUILD, TRACEBED, includes, output_of, run_all

MEMCHECK = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99"]

PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tracebed/writer.h>
#include <unistd.h>

static void handle(int number)
{
    TBED_INSTANT("handled");
    TBED_LOG("signal %d", number);
}

static void *work(void *argument)
{
    int me = *(int *)argument;
    char *name = malloc(16); /* not one byte more may be read */
    memcpy(name, "a name of sixtee", 16);
    for (int i = 0; i < 2000; i++) {
        TBED_SPAN_ARGS("work", "i", i, "half", 0.5);
        TBED_LOG("thread %d, %.*s", me, 16, name);
        uint32_t id = tbed_string_intern(tbed_default_writer(), name, 1 + (size_t)i % 16);
        (void)id;
    }
    TBED_COUNTER("done", me);
    free(name);
    return NULL;
}

static int record_all(void)
{
    pthread_t threads[3];
    int numbers[3] = {1, 2, 3}, status = 1;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0)
            return 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pid_t pid = fork();
    if (pid == 0) {
        work(&numbers[0]);
        exit(7);
    }
    while (waitpid(pid, &status, 0) < 0)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 2;
}

static int run(const char *path, const struct tbed_writer_options *options)
{
    if (tbed_start(path, options) != TBED_OK)
        return 3;
    int result = record_all();
    struct tbed_error error;
    if (result == 0 && options != NULL && options->ring_nbytes != 0 &&
        tbed_snapshot(tbed_default_writer(), "snapshot.tbed", &error) != TBED_OK)
        result = 4;
    tbed_stop();
    return result;
}

static int give(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .given_ticks = true};
    struct tbed_writer *writer;
    if (tbed_writer_open("given.tbed", &options, &writer, NULL) != TBED_OK)
        return 5;
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "thread", 5);
    struct tbed_given_event event;
    memset(&event, 0, sizeof event);
    event.type = TBED_GIVEN_INSTANT;
    event.id = tbed_string_intern(writer, "given", 5);
    for (event.tick = 0; event.tick < 10000; event.tick++)
        tbed_event_record_given(recorder, &event);
    tbed_recorder_close(recorder);
    tbed_writer_free(writer);
    return 0;
}

int main(void)
{
    struct tbed_writer_options ring = {.size = sizeof ring, .ring_nbytes = 1 << 20};
    struct tbed_writer_options join = {.size = sizeof join, .join = true, .page_nbytes = 4096, .no_helper = true};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, NULL);
    int result = run("run.tbed", NULL);
    if (result == 0)
        result = run("ring.tbed", &ring);
    for (int i = 0; i < 2 && result == 0; i++)
        result = run("join.tbed", &join);
    return result != 0 ? result : give();
}
"""
TRACES = ["run.tbed", "ring.tbed", "snapshot.tbed", "join.tbed", "given.tbed"]


def test_memcheck_finds_nothing(folder):
    if shutil.which("valgrind") is None:
        return "skipped: valgrind is not installed"
    (folder / "prog.c").write_text(PROGRAM)
    output_of(folder, "gcc", "-g", "-O1", *includes("format", "writer"), "prog.c", BUILD / "libtracebed.a", "-pthread",
              "-o", "prog")
    output_of(folder, *MEMCHECK, "./prog")
    for trace in TRACES:
        output_of(folder, TRACEBED, "verify", trace)
    return None


if __name__ == "__main__":
    sys.exit(run_all(globals()))
