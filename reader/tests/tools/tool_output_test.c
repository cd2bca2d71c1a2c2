/*
 * Files that commands write. They appear under their names only when complete, are never written through a link, and
 * have permissions no wider than those of the trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Every command that writes a file, from IN to OUT. */
static const char *const writers[][8] = {
    {"export", "--to=chrome", "IN", "-o", "OUT"},
    {"export", "--to=rtl-log", "IN", "-o", "OUT"},
    {"export", "--to=mm_profdata", "IN", "-o", "OUT"},
    {"flame", "IN", "-o", "OUT"},
    {"flame", "--folded", "IN", "-o", "OUT"},
    {"snapshot", "IN", "-o", "OUT"},
    {"recover", "IN", "-o", "OUT"},
    {"symbolize", "IN", "-o", "OUT"},
    {"import", "IN.log", "-o", "OUT"},
};
#define WRITER_COUNT (sizeof writers / sizeof writers[0])

static const char log_text[] = "opening log file 997000001.623456 seconds past January 1st 1970\n"
                               "corresponding to 0 ms after timer start\nProcess id is 4711\n"
                               "000001 1 { a\n000002 1 } a\n";

/* Paths that stay valid, unlike those of in_folder(). */
static char in[64], in_log[64], out[64], precious[64];

static int make_paths(void **state)
{
    int failed = make_folder(state);
    snprintf(in, sizeof in, "%s/in.tbed", run_folder);
    snprintf(in_log, sizeof in_log, "%s/in.log", run_folder);
    snprintf(out, sizeof out, "%s/out", run_folder);
    snprintf(precious, sizeof precious, "%s/precious", run_folder);
    return failed;
}

static void make_inputs(unsigned mode)
{
    make_small("in.tbed", false);
    write_whole(in_log, log_text, sizeof log_text - 1);
    assert_int_equal(chmod(in, mode), 0);
    assert_int_equal(chmod(in_log, mode), 0);
}

static void fill_in(const char *const from[8], bool force, const char *words[12])
{
    size_t count = 0;
    words[count++] = from[0];
    if (force)
        words[count++] = "-f";
    for (size_t i = 1; from[i] != NULL; i++)
        words[count++] = strcmp(from[i], "IN") == 0       ? in
                         : strcmp(from[i], "IN.log") == 0 ? in_log
                         : strcmp(from[i], "OUT") == 0    ? out
                                                          : from[i];
    words[count] = NULL;
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *folder = opendir(run_folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* ---- What they say ---- */

/* All say it in the same form, on standard output: the file, and what was done. Some need optional libraries. */
static void a_command_says_which_file_it_wrote(void **state)
{
    static const char *const more[][8] = {
        {"cut", "IN", "-o", "OUT"},
        {"merge", "spec/golden/valid/events.tbed", "spec/golden/valid/given.tbed", "-o", "OUT"},
        {"pack", "IN", "-o", "PACKED"},
        {"unpack", "PACKED", "-o", "OUT"},
        {"view", "--png=OUT", "IN"},
        {"view", "--html=OUT", "IN"},
    };
    char packed[96], png[96], html[96], said[128];
    const char *words[12];
    (void)state;
    make_inputs(0600);
    snprintf(packed, sizeof packed, "%s.packed", out);
    snprintf(png, sizeof png, "--png=%s", out);
    snprintf(html, sizeof html, "--html=%s", out);
    for (size_t i = 0; i < WRITER_COUNT + sizeof more / sizeof more[0]; i++) {
        fill_in(i < WRITER_COUNT ? writers[i] : more[i - WRITER_COUNT], false, words);
        const char *to = out;
        for (size_t j = 0; words[j] != NULL; j++) {
            to = strcmp(words[j], "PACKED") == 0 && j > 1 ? packed : to;
            words[j] = strcmp(words[j], "PACKED") == 0       ? packed
                       : strcmp(words[j], "--png=OUT") == 0  ? png
                       : strcmp(words[j], "--html=OUT") == 0 ? html
                                                             : words[j];
        }
        struct run run = run_with(&(struct run_with){0}, words);
        snprintf(said, sizeof said, "%s: ", to);
        bool is_left_out = run.exit == 2 && strstr(run.err, "built without lib") != NULL;
        if (!is_left_out && (run.exit < 0 || run.exit > 1 || strncmp(run.out, said, strlen(said)) != 0))
            fail_msg("%s: status %d, '%s', '%s'", words[0], run.exit, run.out, run.err);
        end_run(&run);
        unlink(out);
    }
    unlink(packed);
}

/* ---- Links ---- */

static void nothing_is_written_through_a_link(void **state)
{
    (void)state;
    make_inputs(0600);
    const char *words[12];
    for (size_t i = 0; i < WRITER_COUNT; i++)
        for (int force = 0; force < 2; force++) {
            write_whole(precious, "precious", 8);
            unlink(out);
            assert_int_equal(symlink("precious", out), 0);
            fill_in(writers[i], force, words);
            expect(words, 2, NULL, force ? "regular" : "exists");
            char *kept = read_whole(precious, NULL);
            assert_string_equal(kept, "precious");
            free(kept);
            unlink(out);
            assert_int_equal(symlink("dangling", out), 0);
            expect(words, 2, NULL, NULL);
            assert_int_equal(access(in_folder("dangling"), F_OK), -1);
        }
    unlink(out);
}

static void file_is_replaced_only_with_force(void **state)
{
    (void)state;
    make_inputs(0600);
    const char *words[12];
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        write_whole(out, "old", 3);
        fill_in(writers[i], false, words);
        expect(words, 2, NULL, "exists");
        fill_in(writers[i], true, words);
        expect(words, 0, NULL, NULL);
        char *new = read_whole(out, NULL);
        assert_string_not_equal(new, "old");
        free(new);
        unlink(out);
    }
}

/* ---- Permissions ---- */

static void output_has_no_more_permissions_than_the_input(void **state)
{
    static const unsigned modes[] = {0600, 0400, 0640, 0604, 0644, 0666, 0777};
    (void)state;
    mode_t old = umask(022);
    const char *words[12];
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
        for (size_t i = 0; i < WRITER_COUNT; i++) {
            make_inputs(modes[m]);
            fill_in(writers[i], true, words);
            expect(words, 0, NULL, NULL);
            unsigned most = strcmp(writers[i][0], "import") == 0 ? 0600 : 0600 | (modes[m] & 0644);
            assert_int_equal(mode_of(out), most);
            unlink(out);
        }
    umask(old);
}

/* Standard input of unknown permissions. */
static void output_made_from_a_pipe_is_private(void **state)
{
    (void)state;
    make_inputs(0644);
    mode_t old = umask(0);
    int ends[2];
    size_t nbytes;
    char *bytes = read_whole(in, &nbytes);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(write(ends[1], bytes, nbytes) != (ssize_t)nbytes);
    }
    close(ends[1]);
    struct run run = run_with(&(struct run_with){.input_fd = ends[0]},
                              (const char *const[]){"export", "--to=chrome", "-", "-o", out, NULL});
    assert_int_equal(run.exit, 0);
    assert_int_equal(mode_of(out), 0600);
    end_run(&run);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    unlink(out);
    free(bytes);
    umask(old);
}

/* ---- Interruptions ---- */

/* Some file systems have no files without a name: O_TMPFILE fails, as it would there. */
static void lose_unnamed_files(void)
{
    const unsigned flag = O_TMPFILE & ~O_DIRECTORY;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(125);
}

static pid_t start_program(const char *const words[], bool is_nameless)
{
    char *arguments[12] = {(char *)"tracebed"};
    for (size_t i = 0; words[i] != NULL; i++)
        arguments[i + 1] = (char *)words[i];
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
        redirect(STDERR_FILENO, "/dev/null", O_WRONLY);
        if (!is_nameless)
            lose_unnamed_files();
        execv(program_path(), arguments);
        _exit(127);
    }
    return pid;
}

static int end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* A trace that takes a while to copy and to draw. */
static void make_large(void)
{
    struct tbed_writer *writer = open_writer(in, false);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    char name[32];
    for (int i = 0; i < 400000; i++) {
        snprintf(name, sizeof name, "span %d", i % 5000);
        tbed_span_begin(recorder, intern(writer, name));
        tbed_span_end(recorder);
    }
    tbed_writer_close(writer);
}

static void killed_command_leaves_nothing(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};
    (void)state;
    size_t interrupted = 0;
    const char *words[12];
    make_inputs(0600);
    make_large();
    size_t before = count_files();
    for (size_t i = 0; i < WRITER_COUNT; i++)
        for (unsigned step = 0; step < 16; step++) {
            int number = signals[step % 4];
            if (number == SIGKILL && strcmp(writers[i][0], "symbolize") == 0)
                continue; /* its copy has a temporary name, because a writer joins it by a path */
            bool is_nameless = number == SIGKILL || step % 8 < 4; /* nobody can remove a name then */
            fill_in(writers[i], true, words);
            pid_t pid = start_program(words, is_nameless);
            usleep(1000 + step * 1500);
            kill(pid, number);
            int status = end_of(pid);
            bool is_finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            assert_true(is_finished || (WIFSIGNALED(status) && WTERMSIG(status) == number));
            interrupted += !is_finished;
            if (is_finished)
                assert_int_equal(count_files(), before + 1);
            else if (access(out, F_OK) != 0 && count_files() != before) /* else it was complete by then */
                fail_msg("%s, signal %d: left a file", writers[i][0], number);
            unlink(out);
        }
    assert_true(interrupted > 0);
}

static void without_unnamed_files_output_is_the_same(void **state)
{
    (void)state;
    make_inputs(0644);
    mode_t old = umask(022);
    const char *words[12];
    size_t before = count_files();
    for (size_t i = 0; i < WRITER_COUNT; i++)
        for (int force = 0; force < 2; force++) {
            if (force)
                write_whole(out, "old", 3);
            fill_in(writers[i], force, words);
            int status = end_of(start_program(words, false));
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            assert_int_equal(mode_of(out), strcmp(writers[i][0], "import") == 0 ? 0600 : 0644);
            assert_int_equal(count_files(), before + 1);
            unlink(out);
        }
    umask(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_says_which_file_it_wrote),
        cmocka_unit_test(nothing_is_written_through_a_link),
        cmocka_unit_test(file_is_replaced_only_with_force),
        cmocka_unit_test(output_has_no_more_permissions_than_the_input),
        cmocka_unit_test(output_made_from_a_pipe_is_private),
        cmocka_unit_test(killed_command_leaves_nothing),
        cmocka_unit_test(without_unnamed_files_output_is_the_same),
    };
    return cmocka_run_group_tests(tests, make_paths, remove_folder);
}
