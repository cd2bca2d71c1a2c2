/*
 * Logs of RTL_LOGFILE in other forms than the program writes on Linux: headers with a decimal comma or CRLF, and the
 * form of the document that describes the logs. Each comes back byte for byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/rtl_log/rtl_imported.h"

static void check_header(const char *log)
{
    int64_t ns;
    struct tbed_process_info process;
    struct imported imported = expect_back(log, strlen(log));
    assert_int_equal(imported.report.odd_counts[TBED_RTL_ODD_HEADER], 0);
    assert_int_equal(imported.report.odd_counts[TBED_RTL_ODD_FOREIGN], 0);
    assert_int_equal(tbed_ticks_to_realtime_ns(imported.reader, 1000000, &ns), TBED_OK);
    assert_int_equal(ns, 1005000000248000000);
    assert_true(tbed_process_get(imported.reader, 0, &process));
    assert_int_equal(process.pid, 4711);
    free_imported(&imported);
}

static void a_header_may_have_a_decimal_comma_and_crlf(void **state)
{
    (void)state;
    check_header("opening log file 1005000000,250000 seconds past January 1st 1970\n"
                 "corresponding to 3 ms after timer start\nProcess id is 4711\n"
                 "000001 1 { a\n000002 1 } a\nclosing log file at 000003");
    check_header("opening log file 1005000000.250000 seconds past January 1st 1970\r\n"
                 "corresponding to 3 ms after timer start\r\nProcess id is 4711\r\n"
                 "000001 1 { a\r\n000002 1 } a\r\nclosing log file at 000003");
    check_header("opening log file 1005000000,250000 seconds past January 1st 1970\r\n"
                 "corresponding to 3 ms after timer start\nProcess id is 4711\r\n000001 1 { a\n");
}

/* A colon after a scope's name, and the function in messages without a scope. */
static void the_documents_own_form_is_read(void **state)
{
    (void)state;
    static const char log[] = "001234 11 { desktop (cd100003) ::D::f : \n"
                              "002345 11 | desktop (cd100003) ::D::f : { calc\n"
                              "003456 11 | desktop (cd100003) ::D::f : } calc\n"
                              "003500 11 | : desktop (cd100003) ::D::g : Startup finished\n"
                              "003501 11 | : ::D::h : x : y\n"
                              "003502 11 | : vcl (ss112471) : no function\n"
                              "003503 11 { a :\n003504 11 } a :\n003505 11 {  : \n003506 11 }  : \n"
                              "004567 11 } desktop (cd100003) ::D::f : \n";
    static const struct expected expected[] = {
        {1234, 11, TBED_EVENT_BEGIN, "desktop (cd100003) ::D::f", NULL},
        {2345, 11, TBED_EVENT_BEGIN, "desktop (cd100003) ::D::f : calc", NULL},
        {3456, 11, TBED_EVENT_END, "desktop (cd100003) ::D::f : calc", NULL},
        {3500, 11, TBED_EVENT_MESSAGE, "desktop (cd100003) ::D::g", "Startup finished"},
        {3501, 11, TBED_EVENT_MESSAGE, "::D::h", "x : y"},
        {3502, 11, TBED_EVENT_MESSAGE, NULL, "vcl (ss112471) : no function"},
        {3503, 11, TBED_EVENT_BEGIN, "a", NULL},
        {3504, 11, TBED_EVENT_END, "a", NULL},
        {3505, 11, TBED_EVENT_BEGIN, " : ", NULL},
        {3506, 11, TBED_EVENT_END, " : ", NULL},
        {4567, 11, TBED_EVENT_END, "desktop (cd100003) ::D::f", NULL},
    };
    struct imported imported = expect_back(log, sizeof log - 1);
    struct tbed_merge *merge;
    struct tbed_event event;
    assert_int_equal(tbed_merge_open(imported.reader, NULL, 0, &merge), TBED_OK);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
        /* A message whose scope is in its text carries its line. */
        check_event(imported.reader, &event, &expected[i], expected[i].name != NULL ? 2 : 1);
    }
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
    tbed_merge_close(merge);
    free_imported(&imported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_may_have_a_decimal_comma_and_crlf),
        cmocka_unit_test(the_documents_own_form_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
