/*
 * The frame of the program: commands and help, messages, colour, sources of input, and output errors. Users meet
 * these first, and when something has gone wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

static void no_arguments_print_usage_and_exit_2(void **state)
{
    (void)state;
    struct run run = run_with(&(struct run_with){0}, (const char *const[]){NULL});
    assert_int_equal(run.exit, 2);
    assert_string_equal(run.out, "");
    assert_says(run.err, "usage: tracebed COMMAND");
    end_run(&run);
}

static void help_lists_every_verb(void **state)
{
    static const char *const verbs[] = {"record", "info", "dump", "report", "strings", "verify"};
    static const char *const ways[] = {"-h", "--help", "help"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct run run = RUN(ways[i]);
        assert_int_equal(run.exit, 0);
        assert_string_equal(run.err, "");
        for (size_t j = 0; j < sizeof verbs / sizeof verbs[0]; j++)
            assert_says(run.out, verbs[j]);
        end_run(&run);
    }
}

static void help_of_a_verb_is_the_same_both_ways(void **state)
{
    static const char *const verbs[] = {"record", "info", "dump", "report", "strings", "verify"};
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        struct run first = RUN("help", verbs[i]), second = RUN(verbs[i], "-h"),
                   third = RUN(verbs[i], "--help");
        assert_int_equal(first.exit | second.exit | third.exit, 0);
        assert_true(strncmp(first.out, "usage: tracebed ", 16) == 0);
        assert_string_equal(first.out, second.out);
        assert_string_equal(first.out, third.out);
        assert_says(first.out, "Exit status");
        end_run(&first);
        end_run(&second);
        end_run(&third);
    }
}

static void version_names_program_and_format(void **state)
{
    (void)state;
    EXPECT(0, "tracebed " TBED_VERSION_STRING " (file format 1)\n", "", "--version");
}

static void unknown_verb_suggests_the_nearest(void **state)
{
    (void)state;
    EXPECT(2, "", "Did you mean 'tracebed verify'?", "verfy");
    EXPECT(2, "", "Did you mean 'tracebed strings'?", "str");
    EXPECT(2, "", "Run 'tracebed -h' for a list", "completely-different");
    EXPECT(2, "", "unknown command", "help", "nonsense");
    EXPECT(2, "", "unknown command ''", "");
}

static void file_in_place_of_a_verb_suggests_report(void **state)
{
    (void)state;
    EXPECT(2, "", "did you mean 'tracebed report ", make_small("lonely.tbed", true));
}

static void unknown_option_is_wrong_usage_in_every_verb(void **state)
{
    static const char *const verbs[] = {"info", "dump", "report", "strings", "verify"};
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        EXPECT(2, "", "--nonsense", verbs[i], "--nonsense", "x");
}

static void verb_without_file_says_so(void **state)
{
    static const char *const verbs[] = {"info", "dump", "report", "strings", "verify"};
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        EXPECT(2, "", "-h' for help", verbs[i]);
    EXPECT(2, "", "too many FILE operands", "info", "a", "b");
    EXPECT(2, "", "too many FILE operands", "dump", "a", "b");
}

/* ---- Files that are not traces ---- */

static void missing_file_is_named_with_the_reason(void **state)
{
    static const char *const verbs[] = {"info", "dump", "report", "strings", "verify"};
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        EXPECT(2, "", "nowhere.tbed: cannot be opened: No such file or directory", verbs[i],
               in_folder("nowhere.tbed"));
}

static void directory_is_told_to_be_one(void **state)
{
    (void)state;
    EXPECT(2, "", "it is a directory", "info", run_folder);
}

static void fifo_does_not_hang(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    EXPECT(2, "", "tracebed COMMAND - < FILE", "info", in_folder("fifo"));
}

static void device_is_no_regular_file(void **state)
{
    (void)state;
    EXPECT(2, "", "not a regular file", "dump", "/dev/zero");
}

static void file_without_permission_is_told(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    write_whole(in_folder("closed"), "x", 1);
    assert_int_equal(chmod(in_folder("closed"), 0), 0);
    EXPECT(2, "", "Permission denied", "info", in_folder("closed"));
}

static void empty_file_is_told_to_be_empty(void **state)
{
    (void)state;
    write_whole(in_folder("empty"), "", 0);
    EXPECT(2, "", "the file is empty", "info", in_folder("empty"));
}

static void other_kinds_of_files_are_recognised(void **state)
{
    static const struct {
        const char *bytes, *hint;
    } kinds[] = {{"MMPD\n\0\0\0", "It has format version 10"},
                 {"PERFILE2", "perf report"},
                 {"\x7f"
                  "ELF\2\1\1",
                  "tracebed record"},
                 {"\x1f\x8b\b\0\0\0\0", "gzip -dc"},
                 {"hello you", "neither a trace nor in a format that this command reads"},
                 {"hello you", "'tracebed import -h' lists the formats"}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        write_whole(in_folder("other"), kinds[i].bytes, 8);
        EXPECT(2, "", kinds[i].hint, "info", in_folder("other"));
    }
    EXPECT(2, "", "It is in the format folded: 'tracebed import", "snapshot",
           "reader/tests/exchange/imports/stacks.folded", "-o", in_folder("snapshot"));
}

static void escapes_in_file_names_do_not_reach_the_terminal(void **state)
{
    (void)state;
    struct run run = RUN("info", "evil\033]0;title\007\n\xC2\x9B"
                                 "2J.tbed");
    assert_int_equal(run.exit, 2);
    assert_says(run.err, "evil\\x1b]0;title\\x07\\x0a\\xc2\\x9b2J.tbed: cannot be opened");
    end_run(&run);
}

/* ---- Standard streams ---- */

static void standard_input_may_be_a_file_or_a_pipe(void **state)
{
    const char *path = make_small("input.tbed", true);
    int ends[2];
    (void)state;
    struct run file = run_with(&(struct run_with){.input = path}, (const char *const[]){"dump", "-", NULL});
    assert_int_equal(file.exit, 0);
    assert_int_equal(count_lines(file.out), 8);
    size_t nbytes;
    char *bytes = read_whole(path, &nbytes);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        ssize_t written = 0;
        for (size_t at = 0; at < nbytes && written >= 0; at += (size_t)written)
            written = write(ends[1], bytes + at, nbytes - at);
        _exit(0);
    }
    close(ends[1]);
    struct run piped =
        run_with(&(struct run_with){.input_fd = ends[0]}, (const char *const[]){"dump", "-", NULL});
    close(ends[0]);
    waitpid(pid, NULL, 0);
    assert_int_equal(piped.exit, 0);
    assert_string_equal(piped.out, file.out);
    free(bytes);
    end_run(&file);
    end_run(&piped);
}

static void empty_standard_input_is_told(void **state)
{
    (void)state;
    EXPECT(2, "", "standard input: ", "info", "-");
}

static void full_device_is_trouble(void **state)
{
    static const char *const verbs[] = {"info", "dump", "strings", "verify"};
    const char *path = make_small("full.tbed", true);
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        struct run run =
            run_with(&(struct run_with){.output = "/dev/full"}, (const char *const[]){verbs[i], path, NULL});
        assert_int_equal(run.exit, 2);
        assert_says(run.err, "write error on standard output: No space left on device");
        end_run(&run);
    }
}

static void closed_output_is_trouble_and_spoils_no_file(void **state)
{
    static const char *const verbs[] = {"info", "dump", "strings", "verify", "--version"};
    const char *path = make_small("closed.tbed", true);
    size_t before_nbytes, after_nbytes;
    char *before = read_whole(path, &before_nbytes);
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        struct run run =
            run_with(&(struct run_with){.output = ""}, (const char *const[]){verbs[i], path, NULL});
        assert_int_equal(run.exit, 2);
        assert_says(run.err, "write error on standard output");
        end_run(&run);
    }
    char *after = read_whole(path, &after_nbytes);
    assert_int_equal(before_nbytes, after_nbytes);
    assert_memory_equal(before, after, before_nbytes);
    free(before);
    free(after);
}

/* More than fits into all the buffers between two programs. */
static const char *make_many(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer *writer = open_writer(path, true);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t id = intern(writer, "again");
    for (int i = 0; i < 100000; i++)
        tbed_instant_record(recorder, id);
    tbed_writer_close(writer);
    return path;
}

/* The reader of the pipe exits after one line, like `head -n 1`. */
static void broken_pipe_is_quiet(void **state)
{
    char path[512], command[2048];
    (void)state;
    snprintf(path, sizeof path, "%s", make_many("many.tbed"));
    snprintf(command, sizeof command, "{ %s dump %s 2>%s; echo $? >%s; } | head -n 1 >/dev/null",
             program_path(), path, in_folder("pipe.err"), in_folder("pipe.exit"));
    assert_int_equal(system(command), 0);
    char *err = read_whole(in_folder("pipe.err"), NULL), *exit = read_whole(in_folder("pipe.exit"), NULL);
    assert_string_equal(err, "");
    assert_string_equal(exit, "0\n");
    free(err);
    free(exit);
}

/* The file is truncated while it is being listed: a message, not a crash by SIGBUS. */
static void file_cut_while_it_is_read_is_told(void **state)
{
    char path[512], command[2048];
    (void)state;
    snprintf(path, sizeof path, "%s", make_many("shrinks.tbed"));
    snprintf(command, sizeof command,
             "{ %s dump %s 2>%s; echo $? >%s; } | { read -r line; : >%s; cat >/dev/null; }", program_path(),
             path, in_folder("cut.err"), in_folder("cut.exit"), path);
    assert_int_equal(system(command), 0);
    char *err = read_whole(in_folder("cut.err"), NULL), *exit = read_whole(in_folder("cut.exit"), NULL);
    assert_says(err, "shrinks.tbed: was cut short by another program while it was read");
    assert_string_equal(exit, "2\n");
    free(err);
    free(exit);
}

/* ---- Colour ---- */

static void color_is_only_where_it_is_wanted(void **state)
{
    const char *path = make_small("color.tbed", true);
    (void)state;
    struct run automatic = RUN("info", path), never = RUN("info", "--color=never", path);
    struct run always = RUN("info", "--color=always", path);
    assert_silent_on(automatic.out, "\033");
    assert_silent_on(never.out, "\033");
    assert_says(always.out, "\033[");
    end_run(&automatic);
    end_run(&never);
    end_run(&always);
    EXPECT(2, "", "--color: unknown value 'pink' (expected auto, never, always)", "info", "--color=pink",
           path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_arguments_print_usage_and_exit_2),
        cmocka_unit_test(help_lists_every_verb),
        cmocka_unit_test(help_of_a_verb_is_the_same_both_ways),
        cmocka_unit_test(version_names_program_and_format),
        cmocka_unit_test(unknown_verb_suggests_the_nearest),
        cmocka_unit_test(file_in_place_of_a_verb_suggests_report),
        cmocka_unit_test(unknown_option_is_wrong_usage_in_every_verb),
        cmocka_unit_test(verb_without_file_says_so),
        cmocka_unit_test(missing_file_is_named_with_the_reason),
        cmocka_unit_test(directory_is_told_to_be_one),
        cmocka_unit_test(fifo_does_not_hang),
        cmocka_unit_test(device_is_no_regular_file),
        cmocka_unit_test(file_without_permission_is_told),
        cmocka_unit_test(empty_file_is_told_to_be_empty),
        cmocka_unit_test(other_kinds_of_files_are_recognised),
        cmocka_unit_test(escapes_in_file_names_do_not_reach_the_terminal),
        cmocka_unit_test(standard_input_may_be_a_file_or_a_pipe),
        cmocka_unit_test(empty_standard_input_is_told),
        cmocka_unit_test(full_device_is_trouble),
        cmocka_unit_test(closed_output_is_trouble_and_spoils_no_file),
        cmocka_unit_test(broken_pipe_is_quiet),
        cmocka_unit_test(file_cut_while_it_is_read_is_told),
        cmocka_unit_test(color_is_only_where_it_is_wanted),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
