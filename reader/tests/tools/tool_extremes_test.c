/*
 * Times and numbers at the ends of their ranges: no conversion has an undefined result.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

/* One span from tick 0 to the last one there is, in milliseconds. */
static const char *longest_span(void)
{
    const char *path = in_folder("longest.tbed");
    struct tbed_writer *writer = open_given_writer(path, 1000);
    struct tbed_given_event event = {
        .type = TBED_GIVEN_SPAN, .id = 1, .category = TBED_ID_INVALID, .tick = UINT64_MAX};
    tbed_event_record_given(tbed_recorder_open_given(writer, NULL, 1), &event);
    tbed_writer_close(writer);
    return path;
}

static void a_duration_beyond_64_bits_is_the_longest_possible(void **state)
{
    (void)state;
    const char *path = longest_span();
    EXPECT(0, "\"duration_ns\":18446744073709551615,", "", "tree", "--calls", "--json", path);
    EXPECT(0, "\"total_ns\":18446744073709551615,", "", "report", "--json", path);
}

/* A log whose header has these numbers, imported and written back with time 0 at its first line. */
static void check_header(const char *numbers)
{
    char log[300];
    const char *path = in_folder("header.log");
    snprintf(log, sizeof log, "%s\nProcess id is 5\n000005 1 { a\n000006 1 } a\n", numbers);
    write_whole(path, log, strlen(log));
    struct run exported = RUN("export", "--to=rtl-log", path, "-o", "-");
    assert_int_equal(exported.exit, 0);
    assert_string_equal(exported.out, log);
    end_run(&exported);
    EXPECT(0, numbers, "", "export", "--to=rtl-log", "--rebase=first", path, "-o", "-");
}

static void numbers_beyond_32_bits_in_the_header_of_a_log_stay_as_they_are(void **state)
{
    (void)state;
    check_header("opening log file 1000.000000 seconds past January 1st 1970\n"
                 "corresponding to 18446744073709551616 ms after timer start");
    check_header("opening log file 18446744073709551.000000 seconds past January 1st 1970\n"
                 "corresponding to 5 ms after timer start");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_beyond_64_bits_is_the_longest_possible),
        cmocka_unit_test(numbers_beyond_32_bits_in_the_header_of_a_log_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
