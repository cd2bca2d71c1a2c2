/*
 * 'tracebed record' as its user sees it: exit codes, messages, which files it leaves, and that the program it
 * runs keeps its input, output and signals.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[4096], program[PATH_MAX];

static int set_up(void **state)
{
    char relative[512];
    const char *build = getenv("TBED_BUILD");
    (void)state;
    snprintf(relative, sizeof relative, "%s/tracebed", build != NULL ? build : "build/release");
    if (realpath(relative, program) == NULL)
        return -1;
    snprintf(folder, sizeof folder, "%s", test_path("record"));
    mkdir(folder, 0700);
    return 0;
}

static void enter_folder(void)
{
    if (chdir(folder) != 0 || (unlink("run.tbed") != 0 && errno != ENOENT))
        _exit(98);
}

static void enter_folder_keep_trace(void)
{
    if (chdir(folder) != 0)
        _exit(98);
}

static const char *in_folder(const char *name)
{
    static char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Arguments up to NULL; the outcome is compared with 'status' and, where not NULL, searched for 'message'. */
static void record(void (*prepare)(void), int status, const char *message, const char *const *arguments)
{
    const char *argv[16] = {program, "record"};
    for (size_t i = 0; arguments[i] != NULL; i++)
        argv[i + 2] = arguments[i];
    struct preload_command command = {.argv = argv, .prepare = prepare};
    struct preload_outcome outcome = preload_run(&command);
    if (!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != status ||
        (message != NULL && strstr(outcome.output, message) == NULL))
        fail_msg("status %#x, not exit %d with '%s':\n%s", outcome.status, status, message ? message : "",
                 outcome.output);
    if (message != NULL && message[0] == '\0' && outcome.nbytes > 0)
        fail_msg("something was said:\n%s", outcome.output);
    free(outcome.output);
}
#define RECORD(status, message, ...)                                                                         \
    record(enter_folder, status, message, (const char *[]){__VA_ARGS__, NULL})

static void assert_no_trace(void)
{
    assert_int_not_equal(access(in_folder("run.tbed"), F_OK), 0);
}

static void script_write(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(in_folder(name), 0755);
}

/* ---- ---- */

static void exit_status_and_output_are_the_programs(void **state)
{
    (void)state;
    RECORD(0, "", "true");
    RECORD(7, "out", "--", "sh", "-c", "echo out; exit 7");
    RECORD(128 + SIGKILL, NULL, "sh", "-c", "kill -KILL $$");
    RECORD(128 + SIGSEGV, NULL, "sh", "-c", "kill -SEGV $$");
    tbed_reader_close(test_reader_open(in_folder("run.tbed"), true));
    RECORD(0, "\x1b no\xff escape\n", "printf", "\\033 no\\377 escape\\n");
}

static void what_we_allocate_is_not_the_programs(void **state)
{
    (void)state;
    RECORD(0, "", "true");
    struct preload_command command = {.argv = (const char *[]){program, "dump", in_folder("run.tbed"), NULL}};
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    assert_null(strstr(outcome.output, "preload"));
    free(outcome.output);
}

static void options_of_the_program_are_not_ours(void **state)
{
    (void)state;
    RECORD(0, "-f -v", "echo", "-f", "-v");
    RECORD(0, "", "-o", "other.tbed", "true");
    assert_int_equal(access(in_folder("other.tbed"), F_OK), 0);
    assert_no_trace();
    unlink(in_folder("other.tbed"));
}

static void usage_is_told(void **state)
{
    (void)state;
    RECORD(2, "missing PROGRAM operand", "-v");
    RECORD(2, "unrecognized option", "--nonsense", "true");
    RECORD(0, "usage: tracebed record", "-h");
    assert_no_trace();
}

static void what_cannot_be_started_leaves_no_trace(void **state)
{
    (void)state;
    script_write("orphan", "#!/nowhere/interpreter -x\n");
    RECORD(127, "nosuchprogram: not found", "nosuchprogram");
    RECORD(127, "./nosuchprogram: not found", "./nosuchprogram");
    RECORD(127, "orphan: not found\n  This folder has one: ./orphan\n", "orphan");
    RECORD(127, "'': not found", "");
    RECORD(126, "/etc/passwd: cannot be executed", "/etc/passwd");
    RECORD(126, "/: cannot be executed", "/");
    RECORD(127, "./orphan: /nowhere/interpreter: not found", "./orphan");
    assert_no_trace();
}

/* A copy of the program, and the header that names its loader. */
static int open_copy(const char *from, const char *to, ElfW(Phdr) * segment_ret, off_t *at_ret)
{
    char command[16384];
    ElfW(Ehdr) header;
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
    int fd = open(to, O_RDWR);
    assert_true(pread(fd, &header, sizeof header, 0) == sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        *at_ret = (off_t)(header.e_phoff + i * sizeof *segment_ret);
        assert_true(pread(fd, segment_ret, sizeof *segment_ret, *at_ret) == sizeof *segment_ret);
        if (segment_ret->p_type == PT_INTERP)
            return fd;
    }
    fail();
    return -1;
}

/* The same program, whose loader has been crossed out of its headers. */
static void make_static(const char *from, const char *to)
{
    ElfW(Phdr) segment;
    off_t at;
    int fd = open_copy(from, to, &segment, &at);
    segment.p_type = PT_NULL;
    assert_true(pwrite(fd, &segment, sizeof segment, at) == sizeof segment);
    close(fd);
}

#ifdef __GLIBC__
#define OTHER_LOADER "/lib/ld-musl-any.so.1"
#else
#define OTHER_LOADER "/lib/ld-linux.so.2"
#endif

/* The same program, whose loader is another C library's. */
static void make_other(const char *from, const char *to, const char *loader)
{
    ElfW(Phdr) segment;
    off_t at;
    int fd = open_copy(from, to, &segment, &at);
    size_t nbytes = strlen(loader) + 1;
    assert_true(segment.p_filesz >= nbytes);
    assert_true(pwrite(fd, loader, nbytes, (off_t)segment.p_offset) == (ssize_t)nbytes);
    close(fd);
}

static void static_and_foreign_programs_are_refused(void **state)
{
    (void)state;
    make_static(preload_path("preload_calls_helper"), in_folder("fixed"));
    script_write("script", "#! ./fixed argument\n");
    RECORD(2, "./fixed: is statically linked", "./fixed");
    RECORD(2, "./script: ./fixed: is statically linked", "./script");
    int fd = open(in_folder("fixed"), O_RDWR);
    ElfW(Half) machine = EM_SPARC;
    assert_true(pwrite(fd, &machine, sizeof machine, offsetof(ElfW(Ehdr), e_machine)) == sizeof machine);
    close(fd);
    RECORD(2, "./fixed: is built for another architecture", "./fixed");
    assert_no_trace();
}

static void programs_of_another_c_library_are_refused(void **state)
{
    (void)state;
    make_other(preload_path("preload_calls_helper"), in_folder("other"), OTHER_LOADER);
    RECORD(2, "./other: is built for another C library", "./other");
    assert_no_trace();
}

#if defined __GLIBC__ && defined __x86_64__
/* Whatever the user preloads as well stays. The loader has musl's name, but is the one that runs the program. */
static void programs_of_another_c_library_start_without_our_libraries(void **state)
{
    char loader[64];
    (void)state;
    snprintf(loader, sizeof loader, "/tmp/ld-musl-%d", (int)getpid());
    assert_int_equal(symlink("/lib64/ld-linux-x86-64.so.2", loader), 0);
    make_other("/usr/bin/printenv", in_folder("other"), loader);
    script_write("script", "#!/bin/sh\necho list:\n"
                           "LD_PRELOAD=\"$LD_PRELOAD:libm.so.6 /a/libtracebed-functions.so:libdl.so.2:"
                           "/b/libtracebed-preload.so\" exec ./other LD_PRELOAD\n");
    RECORD(0, "list:\nlibm.so.6:libdl.so.2\n", "./script");
    script_write("script", "#!/bin/sh\necho list:\nLD_PRELOAD=\"$LD_PRELOAD\" exec ./other LD_PRELOAD\n");
    RECORD(0, "list:\n\n", "./script");
    unlink(loader);
}
#endif

static void scripts_are_recorded(void **state)
{
    (void)state;
    script_write("script", "#!/bin/sh\necho script $1 | sort\nexit 5\n");
    RECORD(5, "events", "-v", "./script", "one");
    script_write("script", "echo no interpreter named\n");
    RECORD(0, "no interpreter named", "./script");
}

static struct tbed_trace_info info_of(const char *name)
{
    struct tbed_reader *reader = test_reader_open(in_folder(name), true);
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    tbed_reader_close(reader);
    return info;
}

static void an_existing_trace_is_moved_unless_forced(void **state)
{
    (void)state;
    RECORD(0, "", "true");
    struct tbed_reader *reader = test_reader_open(in_folder("run.tbed"), true);
    struct tbed_trace_info before, after;
    tbed_reader_info(reader, &before);
    tbed_reader_close(reader);
    record(enter_folder_keep_trace, 0, "run.tbed: moved the trace that was there to run.tbed.old",
           (const char *[]){"true", NULL});
    assert_true(info_of("run.tbed.old").file_id == before.file_id);
    record(enter_folder_keep_trace, 0, "", (const char *[]){"-f", "true", NULL});
    reader = test_reader_open(in_folder("run.tbed"), true);
    tbed_reader_info(reader, &after);
    tbed_reader_close(reader);
    assert_true(before.file_id != after.file_id);
    RECORD(2, "/nowhere/run.tbed: ", "-o", "/nowhere/run.tbed", "true");
}

static bool trace_contains(const char *text)
{
    FILE *file = fopen(in_folder("run.tbed"), "r");
    assert_non_null(file);
    char *bytes = malloc(4u << 20);
    size_t nbytes = fread(bytes, 1, 4u << 20, file);
    bool found = memmem(bytes, nbytes, text, strlen(text)) != NULL;
    fclose(file);
    free(bytes);
    return found;
}

static void the_command_line_is_stored_only_when_asked(void **state)
{
    (void)state;
    RECORD(0, NULL, "echo", "my-secret");
    assert_false(trace_contains("my-secret"));
    RECORD(0, NULL, "--command-line", "echo", "my-\"secret");
    struct tbed_reader *reader = test_reader_open(in_folder("run.tbed"), true);
    assert_text(reader, TBED_ID_METADATA, "{\"cmd\":[\"echo\",\"my-\\\"secret\"]}");
    tbed_reader_close(reader);
}

/* Each process has files of its own, all of them sealed. */
static void a_series_of_files_has_everything(void **state)
{
    size_t count = 0;
    (void)state;
    RECORD(0, "", "--rotate=256K", "sh", "-c", "python3 -c '[str(i) * 600 for i in range(20000)]'; exit 0");
    tbed_reader_close(test_reader_open(in_folder("run.tbed"), true));
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, "run.tbed.", 9) != 0)
            continue;
        tbed_reader_close(test_reader_open(in_folder(entry->d_name), true));
        unlink(in_folder(entry->d_name));
        count++;
    }
    closedir(directory);
    assert_true(count >= 2);
}

/* A trace is made by us, the files of a series by the program. */
static void a_trace_has_the_clock_that_was_asked_for(void **state)
{
    (void)state;
    RECORD(0, "", "true");
    struct tbed_trace_info usual = info_of("run.tbed");
    assert_int_not_equal(usual.clock_reason, TBED_CLOCK_ASKED_FOR);
    RECORD(0, "", "--clock=monotonic", "true");
    struct tbed_trace_info asked = info_of("run.tbed");
    assert_int_equal(asked.clock, TBED_CLOCK_MONOTONIC);
    assert_int_equal(asked.clock_reason, TBED_CLOCK_ASKED_FOR);
    RECORD(0, "", "--clock=monotonic", "--rotate=1M", "true");
    asked = info_of("run.tbed");
    assert_int_equal(asked.clock, TBED_CLOCK_MONOTONIC);
    assert_int_equal(asked.clock_reason, TBED_CLOCK_ASKED_FOR);
    if (usual.clock_reason == TBED_CLOCK_NOT_STEADY || usual.clock == TBED_CLOCK_ARM64_VIRTUAL)
        RECORD(2, "no steady time stamp counter", "--clock=tsc", "true");
    else
        RECORD(0, "", "--clock=tsc", "true");
    RECORD(2, "expected tsc, monotonic", "--clock=hpet", "true");
}

static void libraries_that_the_user_preloads_are_kept(void **state)
{
    (void)state;
    const char *argv[] = {program, "record", "sh", "-c", "echo $LD_PRELOAD", NULL};
    const char *theirs = preload_path("preload_library_a.so");
    char variable[8192];
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s", theirs);
    struct preload_command command = {.argv = argv, .prepare = enter_folder, .variable = variable};
    struct preload_outcome outcome = preload_run(&command);
    char *ours = strstr(outcome.output, "/libtracebed-preload.so:");
    if (outcome.status != 0 || ours == NULL || strstr(ours, theirs) == NULL)
        fail_msg("status %#x:\n%s", outcome.status, outcome.output);
    free(outcome.output);
}

static void recording_in_a_recorded_program_goes_to_its_own_trace(void **state)
{
    (void)state;
    RECORD(9, "", program, "record", "-f", "-o", "inner.tbed", "sh", "-c", "exit 9");
    tbed_reader_close(test_reader_open(in_folder("inner.tbed"), true));
    tbed_reader_close(test_reader_open(in_folder("run.tbed"), true));
}

static void signals_sent_to_us_reach_the_program(void **state)
{
    (void)state;
    RECORD(3, "got it", "sh", "-c",
           "trap 'echo got it; exit 3' TERM; kill -TERM $PPID; i=0; while [ $i -lt 100 ]; do sleep 0.05; "
           "i=$((i + 1)); done");
    RECORD(128 + SIGINT, NULL, "sh", "-c", "kill -INT $PPID; exec sleep 5");
}

static void ignored_signals_stay_ignored(void **state)
{
    (void)state;
    char command[8192];
    snprintf(command, sizeof command,
             "trap '' HUP INT; exec '%s' record sh -c 'kill -HUP $$; kill -INT $$; kill -HUP $PPID; exit 4'",
             program);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct preload_command with_traps = {.argv = argv, .prepare = enter_folder};
    struct preload_outcome outcome = preload_run(&with_traps);
    assert_int_equal(WEXITSTATUS(outcome.status), 4);
    free(outcome.output);
}

static void processes_that_are_left_behind_are_told(void **state)
{
    (void)state;
    RECORD(0, "run.tbed: still being recorded by 1 background process", "sh", "-c",
           "sleep 2 >/dev/null 2>&1 & sleep 0.3"); /* time for the one left behind to begin recording */
    tbed_reader_close(test_reader_open(in_folder("run.tbed"), false));
}

static void a_trace_that_was_damaged_meanwhile_is_left_open(void **state)
{
    (void)state;
    RECORD(0, "'tracebed verify run.tbed' lists the damage", "sh", "-c",
           "dd if=/dev/zero of=run.tbed bs=65536 seek=1 count=1 conv=notrunc 2>/dev/null");
}

static void a_program_that_loses_its_environment_is_told(void **state)
{
    (void)state;
    RECORD(0, "processes: 1", "-v", "env", "-i", "true");
}

static void setuid_programs_are_told_of(void **state)
{
    (void)state;
    char command[16384];
    if (geteuid() != 0)
        skip();
    snprintf(command, sizeof command,
             "cd '%s' && cp /bin/true privileged && chown 65534 privileged && "
             "chmod 4755 privileged",
             folder);
    assert_int_equal(system(command), 0);
    RECORD(0, "./privileged: is a setuid program", "./privileged");
}

int main(void)
{
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1); /* no folder in it that this user may not look into */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(exit_status_and_output_are_the_programs, set_up),
        cmocka_unit_test_setup(what_we_allocate_is_not_the_programs, set_up),
        cmocka_unit_test_setup(options_of_the_program_are_not_ours, set_up),
        cmocka_unit_test_setup(usage_is_told, set_up),
        cmocka_unit_test_setup(what_cannot_be_started_leaves_no_trace, set_up),
        cmocka_unit_test_setup(static_and_foreign_programs_are_refused, set_up),
        cmocka_unit_test_setup(programs_of_another_c_library_are_refused, set_up),
#if defined __GLIBC__ && defined __x86_64__
        cmocka_unit_test_setup(programs_of_another_c_library_start_without_our_libraries, set_up),
#endif
        cmocka_unit_test_setup(scripts_are_recorded, set_up),
        cmocka_unit_test_setup(an_existing_trace_is_moved_unless_forced, set_up),
        cmocka_unit_test_setup(the_command_line_is_stored_only_when_asked, set_up),
        cmocka_unit_test_setup(a_series_of_files_has_everything, set_up),
        cmocka_unit_test_setup(a_trace_has_the_clock_that_was_asked_for, set_up),
        cmocka_unit_test_setup(libraries_that_the_user_preloads_are_kept, set_up),
        cmocka_unit_test_setup(recording_in_a_recorded_program_goes_to_its_own_trace, set_up),
        cmocka_unit_test_setup(signals_sent_to_us_reach_the_program, set_up),
        cmocka_unit_test_setup(ignored_signals_stay_ignored, set_up),
        cmocka_unit_test_setup(processes_that_are_left_behind_are_told, set_up),
        cmocka_unit_test_setup(a_trace_that_was_damaged_meanwhile_is_left_open, set_up),
        cmocka_unit_test_setup(a_program_that_loses_its_environment_is_told, set_up),
        cmocka_unit_test_setup(setuid_programs_are_told_of, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
