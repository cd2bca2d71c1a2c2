/*
 * The helper thread as the system shows it: its name and signals, that it is not there where it is not wanted, that it
 * gives memory back to a quiet program and then sleeps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_NBYTES ((size_t)65536)
#define MANY        400u /* pages */
#define SLOW        60u
#define MIB         ((size_t)1 << 20)

/* The value of a line "key:\tvalue" in a file of /proc; "" where there is none. */
static const char *proc_value(const char *path, const char *key, char value[128])
{
    char line[4096];
    size_t nbytes = strlen(key);
    value[0] = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, nbytes) == 0 && line[nbytes] == ':')
            snprintf(value, 128, "%.100s", line + nbytes + 1 + strspn(line + nbytes + 1, " \t"));
    if (file != NULL)
        fclose(file);
    return value;
}

/* How many threads are called "tracebed"; the path of one's status. */
static int helper_count(char status_path[280])
{
    char value[128], path[280];
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        if (strcmp(proc_value(path, "Name", value), "tracebed\n") != 0)
            continue;
        count++;
        memcpy(status_path, path, sizeof path);
    }
    closedir(tasks);
    return count;
}

static void await_helper(char status_path[280])
{
    for (int tries = 0; helper_count(status_path) == 0; tries++) { /* it gets its name after it has started */
        assert_true(tries < 3000);
        usleep(10000);
    }
}

/* What of the trace is in this process's resident memory. */
static size_t resident_nbytes(const char *path)
{
    char line[4096];
    bool is_ours = false;
    size_t sum = 0, kib;
    FILE *file = fopen("/proc/self/smaps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, "-") != NULL && strstr(line, " rw-") != NULL)
            is_ours = strstr(line, path) != NULL;
        if (is_ours && sscanf(line, "Rss: %zu kB", &kib) == 1)
            sum += kib * 1024;
    }
    fclose(file);
    return sum;
}

static void fill_pages(struct tbed_recorder *recorder, size_t count)
{
    for (size_t i = 0; i < count * (PAGE_NBYTES / 8); i++)
        tbed_instant_record(recorder, (uint32_t)(i & 0xFFFF));
}

static void it_has_a_name_and_blocks_all_signals(void **state)
{
    (void)state;
    char status_path[280], value[128];
    struct tbed_writer *writer = test_writer_open(test_path("name.tbed"), NULL);
    fill_pages(tbed_recorder_open(writer, NULL), 40);
    await_helper(status_path);
    unsigned long long blocked = strtoull(proc_value(status_path, "SigBlk", value), NULL, 16);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        bool is_systems = signal == SIGKILL || signal == SIGSTOP || (signal >= 32 && signal < SIGRTMIN);
        assert_true(is_systems || (blocked >> (signal - 1) & 1) != 0);
    }
    tbed_writer_close(writer);
    assert_int_equal(helper_count(status_path), 0);
}

static void it_is_not_there_where_it_is_not_wanted(void **state)
{
    (void)state;
    char status_path[280];
    struct tbed_writer_options options = {.no_helper = true};
    struct tbed_writer *writer = test_writer_open(test_path("none.tbed"), &options);
    fill_pages(tbed_recorder_open(writer, NULL), 40);
    assert_int_equal(helper_count(status_path), 0);
    tbed_writer_close(writer);
}

/* The header, the block of records, the page that is being filled; the kernel enters some around each. */
#define RESIDENT_NBYTES MIB

static void await_release(const char *path, size_t nbytes)
{
    for (int tries = 0; resident_nbytes(path) > nbytes; tries++) {
        assert_true(tries < 600);
        usleep(100000);
    }
}

static void assert_sleeps(const char *status_path)
{
    char before[128], after[128];
    for (int tries = 0;; tries++) { /* it gives back, and then goes to sleep */
        proc_value(status_path, "voluntary_ctxt_switches", before);
        usleep(2500000);
        if (strcmp(proc_value(status_path, "voluntary_ctxt_switches", after), before) == 0)
            return;
        assert_true(tries < 10);
    }
}

static void quiet_programs_get_memory_back_and_no_wakeups(void **state)
{
    (void)state;
    char path[256], status_path[280];
    snprintf(path, sizeof path, "%s", test_path("quiet.tbed"));
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    fill_pages(recorder, MANY);
    await_helper(status_path);
    await_release(path, RESIDENT_NBYTES);
    assert_sleeps(status_path);
    /* A slow program gets a short lead: what is resident is what it has filled, and little more. */
    for (uint32_t i = 0; i < SLOW; i++) {
        fill_pages(recorder, 1);
        usleep(20000);
    }
    assert_true(resident_nbytes(path) < SLOW * PAGE_NBYTES + 6 * MIB + RESIDENT_NBYTES);
    fill_pages(recorder, MANY);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    free(test_events(reader, test_stream_named(reader, "main"), &count));
    assert_int_equal(count, (2 * MANY + SLOW) * (PAGE_NBYTES / 8));
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

#define LONG_NBYTES 60000 /* about one message a page */

/* It goes on recording, so that the helper does not find it quiet. */
static void busy_programs_do_not_keep_what_they_have_filled(void **state)
{
    (void)state;
    static char text[LONG_NBYTES];
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("busy.tbed"));
    memset(text, 'x', sizeof text);
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (size_t i = 0; i < 400 * MIB / PAGE_NBYTES; i++)
        tbed_message_record(recorder, TBED_SEVERITY_INFORMATION, text, sizeof text);
    for (int tries = 0; resident_nbytes(path) > 256 * MIB; tries++) {
        assert_true(tries < 600);
        tbed_message_record(recorder, TBED_SEVERITY_INFORMATION, text, sizeof text);
        usleep(10000);
    }
    tbed_writer_close(writer);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_a_name_and_blocks_all_signals),
        cmocka_unit_test(it_is_not_there_where_it_is_not_wanted),
        cmocka_unit_test(quiet_programs_get_memory_back_and_no_wakeups),
        cmocka_unit_test(busy_programs_do_not_keep_what_they_have_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
