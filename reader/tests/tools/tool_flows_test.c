/*
 * tracebed flows: requests followed over threads, as rows, as a path and one by one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

enum { MAIN, WORKER };

static uint64_t now;

static uint64_t given_clock(void)
{
    return now;
}

struct recording {
    struct tbed_writer *writer;
    struct tbed_recorder *threads[2];
};

static void begin_span(const struct recording *recording, int thread, const char *name, uint64_t tick)
{
    now = tick;
    tbed_span_begin(recording->threads[thread], intern(recording->writer, name));
}

static void end_span(const struct recording *recording, int thread, uint64_t tick)
{
    now = tick;
    tbed_span_end(recording->threads[thread]);
}

static void point(const struct recording *recording, int thread, enum tbed_extended type, uint64_t key,
                  uint64_t tick)
{
    now = tick;
    tbed_flow_record(recording->threads[thread], type, intern(recording->writer, "request"), key);
}

static void record_requests(const struct recording *recording)
{
    for (uint64_t i = 0, start = 0; i < 2; i++, start += 10000) {
        begin_span(recording, MAIN, "accept", start + 900);
        point(recording, MAIN, TBED_EXT_FLOW_BEGIN, 7 + i, start + 1000);
        end_span(recording, MAIN, start + 2000);
        begin_span(recording, WORKER, "handle", start + 5000);
        point(recording, WORKER, TBED_EXT_FLOW_STEP, 7 + i, start + 6000);
        point(recording, WORKER, TBED_EXT_FLOW_END, 7 + i, start + 7500 - 100 * i);
        end_span(recording, WORKER, start + 8000);
    }
    begin_span(recording, MAIN, "accept", 20000);
    point(recording, MAIN, TBED_EXT_FLOW_BEGIN, 9, 20010);
    now = 20020;
    tbed_async_begin(recording->threads[MAIN], intern(recording->writer, "job"), 1);
    end_span(recording, MAIN, 20100);
    point(recording, WORKER, TBED_EXT_FLOW_STEP, 10, 20200);
    point(recording, WORKER, TBED_EXT_FLOW_END, 10, 20300);
    now = 20520;
    tbed_async_end(recording->threads[WORKER], intern(recording->writer, "job"), 1);
}

/*
 * Request 7: sent at 1,000 in "accept" (900 to 2,000), handled from 5,000 to 8,000 in "handle", with a step at 6,000 and its
 * end at 7,500. Request 8: the same, 10,000 later and 100 shorter. Request 9 never ends; 10 never began. "job" is an
 * asynchronous span, from "accept" to outside of all spans.
 */
static const char *make_requests(const char *name)
{
    const char *path = in_folder(name);
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .clock = TBED_CLOCK_USER,
                                          .user_clock = given_clock,
                                          .user_clock_unit = "steps",
                                          .page_nbytes = 4096};
    struct recording recording;
    now = 100;
    assert_int_equal(tbed_writer_open(path, &options, &recording.writer, NULL), TBED_OK);
    recording.threads[MAIN] = tbed_recorder_open(recording.writer, "main");
    recording.threads[WORKER] = tbed_recorder_open(recording.writer, "worker");
    record_requests(&recording);
    tbed_writer_close(recording.writer);
    return path;
}

static void rows_have_the_latency_and_count_what_is_left_over(void **state)
{
    const char *path = make_requests("rows.tbed");
    (void)state;
    EXPECT(0, "name,kind,count,mean_ticks,", "", "flows", "--csv", path);
    EXPECT(0, "request,flow,2,6450,6400,", "", "flows", "--csv", path);
    EXPECT(0, ",6500,12900,6900,6000,1,1,1,0\r\n", "", "flows", "--csv", path);
    EXPECT(0, "job,async,1,500,500,500,500,500,500,500,80,420,0,0,0,0\r\n", "", "flows", "--csv", path);
    EXPECT(0, " flow   request\n", "", "flows", path);
    EXPECT(0, "\"open_count\":1,\"lost_end_count\":1,\"lost_step_count\":1,", "", "flows", "--json", path);
}

static void a_name_and_a_key_choose_flows(void **state)
{
    const char *path = make_requests("names.tbed");
    (void)state;
    struct run run = RUN("flows", "--csv", path, "^req");
    assert_silent_on(run.out, "job");
    assert_says(run.out, "request,flow,2,");
    end_run(&run);
    EXPECT(0, "request,flow,1,6400,", "", "flows", "--csv", "--key=8", path);
    EXPECT(0, "no flows and no asynchronous spans", "", "flows", path, "nothing");
}

static void the_path_says_where_the_time_went(void **state)
{
    const char *path = make_requests("path.tbed");
    (void)state;
    struct run run = RUN("flows", "--path", path, "request");
    const char *waiting = strstr(run.out, "waiting"), *handle = strstr(run.out, "running");
    assert_int_equal(run.exit, 0);
    assert_true(waiting != NULL && handle != NULL);
    end_run(&run);
    EXPECT(0, "request,flow,waiting,3,handle,2,6000,46.5", "", "flows", "--path", "--csv", path, "request");
    EXPECT(0, "request,flow,running,3,handle,2,4900,37.9", "", "flows", "--path", "--csv", path, "request");
    EXPECT(0, "request,flow,running,2,accept,2,2000,15.5", "", "flows", "--path", "--csv", path, "request");
    EXPECT(0, "\"what\":\"waiting\",\"stream\":3,\"span\":null,", "", "flows", "--path", "--json", path,
           "job");
    EXPECT(0, "2 more; --limit=N shows more\n", "", "flows", "--path", "-l1", path, "request");
}

static void single_flows_show_what_they_did(void **state)
{
    const char *path = make_requests("single.tbed");
    (void)state;
    EXPECT(0, "\n       6,500  request 7\n              at 1,000, from ", "", "flows", "--slowest", "-l1",
           path, "request");
    EXPECT(0, "       1,000  running in accept, ", "", "flows", "--slowest", "-l1", path, "request");
    EXPECT(0, "       3,000  waiting for handle, ", "", "flows", "--slowest", "-l1", path, "request");
    EXPECT(0, "         420  waiting for (outside of all spans), ", "", "flows", "--slowest", path, "job");
    EXPECT(0,
           "\"slowest\":[{\"name\":\"request\",\"kind\":\"flow\",\"key\":8,\"begin_ticks\":11000,\"duration_"
           "ticks\":"
           "6400,\"begin_stream\":2,\"end_stream\":3,\"point_count\":3,\"stretches\":[{\"what\":\"running\","
           "\"span\":\"accept\",\"stream\":2,\"begin_ticks\":11000,\"duration_ticks\":1000},",
           "", "flows", "--slowest", "--json", "--key=8", path);
    EXPECT(0, "1,request,7,waiting,3,handle,2000,3000\r\n", "", "flows", "--slowest", "--csv", path,
           "request");
}

static void a_filter_leaves_out_points_and_spans(void **state)
{
    const char *path = make_requests("filter.tbed");
    (void)state;
    EXPECT(0, "request,flow,1,6500,", "", "flows", "--csv", "-e", "9000", path, "request");
    EXPECT(0, "request,flow,0,,,,,,,0,0,0,2,0,0,0\r\n", "", "flows", "--csv", "-t", "main", "-e", "15000",
           path, "request");
    EXPECT(0, "request,flow,waiting,3,handle,1,4000,", "", "flows", "--csv", "--path", "--exclude=accept",
           "--key=7", path);
}

static void threads_are_busy_and_have_gaps(void **state)
{
    const char *path = make_requests("threads.tbed");
    (void)state;
    EXPECT(0, " main,900,20100,3,2300,16900,2,8032,8896,8896,8900,2000\r\n", "", "threads", "--csv", "-t",
           "main", path);
    EXPECT(0, "busy %", "", "threads", path);
    EXPECT(0, "\"busy_ticks\":6000,", "", "threads", "--json", path);
    EXPECT(0, " main,5900,20100,2,1200,13000,2,", "", "threads", "--csv", "-t", "main", "-b", "5000", "-e",
           "20000", path);
    EXPECT(2, "", "--csv cannot be combined with --json", "threads", "--csv", "--json", path);
    EXPECT(2, "", "missing FILE operand", "threads");
    EXPECT(2, "", "too many operands", "threads", path, "a");
}

static void wrong_options_are_refused(void **state)
{
    const char *path = make_requests("usage.tbed");
    (void)state;
    EXPECT(2, "", "--path cannot be combined with --slowest", "flows", "--path", "--slowest", path);
    EXPECT(2, "", "--csv cannot be combined with --json", "flows", "--csv", "--json", path);
    EXPECT(2, "", "--key takes a number", "flows", "--key=x", path);
    EXPECT(2, "", "--limit takes a number", "flows", "-l", "many", path);
    EXPECT(2, "", "missing FILE operand", "flows");
    EXPECT(2, "", "too many operands", "flows", path, "a", "b");
    EXPECT(2, "",
           "tracebed: flows: NAME: invalid regular expression '(': Unmatched ( or \\(\n"
           "  Run 'tracebed flows -h' for help.\n",
           "flows", "missing.tbed", "(");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_latency_and_count_what_is_left_over),
        cmocka_unit_test(a_name_and_a_key_choose_flows),
        cmocka_unit_test(the_path_says_where_the_time_went),
        cmocka_unit_test(single_flows_show_what_they_did),
        cmocka_unit_test(a_filter_leaves_out_points_and_spans),
        cmocka_unit_test(threads_are_busy_and_have_gaps),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests_name("tool_flows", tests, make_folder, remove_folder);
}
