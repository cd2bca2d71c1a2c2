/*
 * Small logs of RTL_LOGFILE in reader/tests/logs, one for each kind of oddity, and the exact output of every verb
 * that shows scopes: NAME.log and NAME.expected. Each log must be reproduced exactly.
 *
 * To inspect or accept a change: the test writes the actual output next to the program, as tracebed_golden_NAME.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#define FOLDER "reader/tests/logs/"

static void say(FILE *out, const char *const words[])
{
    struct run run = run_with(&(struct run_with){0}, words);
    fputs("$ tracebed", out);
    for (size_t i = 0; words[i] != NULL; i++)
        fprintf(out, " %s", words[i]);
    fprintf(out, "\n%s%s", run.out, run.err);
    if (run.exit != 0)
        fprintf(out, "exit %d\n", run.exit);
    end_run(&run);
}
#define SAY(out, ...) say(out, (const char *const[]){__VA_ARGS__, NULL})

static void expect_same(const char *name, const char *found, size_t nbytes)
{
    char path[600];
    snprintf(path, sizeof path, "%s_golden_%s", program_path(), name);
    write_whole(path, found, nbytes);
    char expected_path[512];
    size_t expected_nbytes;
    snprintf(expected_path, sizeof expected_path, FOLDER "%s.expected", name);
    char *expected = read_whole(expected_path, &expected_nbytes);
    if (nbytes != expected_nbytes || memcmp(expected, found, nbytes) != 0)
        fail_msg("compare %s with %s", expected_path, path);
    free(expected);
    unlink(path);
}

/* The oddities found; the first line is skipped, since it contains the name of a folder. */
static void say_import(FILE *out, const char *log)
{
    struct run run = RUN("import", log, "-f", "-o", in_folder("golden.tbed"));
    fputs(strchr(run.out, '\n') + 1, out);
    end_run(&run);
}

static void check_log(const char *name)
{
    char log[512], back[512], *found;
    size_t nbytes, log_nbytes, back_nbytes;
    snprintf(log, sizeof log, FOLDER "%s.log", name);
    snprintf(back, sizeof back, "%s", in_folder("back.log"));
    FILE *out = open_memstream(&found, &nbytes);
    assert_non_null(out);
    say_import(out, log);
    SAY(out, "tree", log);
    SAY(out, "tree", "--paths", "--per-thread", log);
    SAY(out, "report", log);
    SAY(out, "report", "--by=module", log);
    SAY(out, "flame", "--folded", log);
    SAY(out, "diff", "--by=author", log, FOLDER "canonical.log");
    SAY(out, "export", "--to=chrome", log, "-o", "-");
    assert_int_equal(fclose(out), 0);
    expect_same(name, found, nbytes);
    free(found);
    EXPECT(0, NULL, NULL, "export", "--to=rtl-log", "--exact", in_folder("golden.tbed"), "-f", "-o", back);
    char *first = read_whole(log, &log_nbytes), *second = read_whole(back, &back_nbytes);
    assert_int_equal(back_nbytes, log_nbytes);
    assert_memory_equal(second, first, log_nbytes);
    free(first);
    free(second);
}

static void a_canonical_log_is_as_it_was(void **state)
{
    (void)state;
    check_log("canonical");
}

static void an_odd_log_is_as_it_was(void **state)
{
    (void)state;
    check_log("odd");
}

static void a_cut_log_is_as_it_was(void **state)
{
    (void)state;
    check_log("cut");
}

static void an_unbalanced_log_is_as_it_was(void **state)
{
    (void)state;
    check_log("unbalanced");
}

static void a_log_whose_scopes_cross_is_as_it_was(void **state)
{
    (void)state;
    check_log("crossing");
}

static void a_log_whose_time_goes_back_is_as_it_was(void **state)
{
    (void)state;
    check_log("times");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_canonical_log_is_as_it_was),
        cmocka_unit_test(an_odd_log_is_as_it_was),
        cmocka_unit_test(a_cut_log_is_as_it_was),
        cmocka_unit_test(an_unbalanced_log_is_as_it_was),
        cmocka_unit_test(a_log_whose_scopes_cross_is_as_it_was),
        cmocka_unit_test(a_log_whose_time_goes_back_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
