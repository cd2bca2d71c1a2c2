/*
 * Records every kind of event, with names and values that are hard on formats, for export_events_test.py:
 *
 *     kinds_program PATH
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <tracebed/writer.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_NBYTES (1u << 20)

static struct tbed_writer *writer;

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

/* Names that end texts, lists or lines somewhere. The last is a megabyte long. */
static const char *const names[] = {
    "plain",           "quo\"te", "back\\slash", "new\nline\ttab", "semi;colon",
    "\x01\x1b[31mred", "",        "n\xC3\xA4me", "</script>",      "a|b,c=d{e}"};
#define NAME_COUNT (sizeof names / sizeof names[0])

static uint32_t long_name(void)
{
    char *text = malloc(LONG_NBYTES);
    memset(text, 'x', LONG_NBYTES);
    uint32_t id = tbed_string_intern(writer, text, LONG_NBYTES);
    free(text);
    return id;
}

static void record_arguments(struct tbed_recorder *recorder)
{
    static const char bad[] = "a\x00\xff\x80 b\n\"";
    const struct tbed_argument arguments[] = {
        {.type = TBED_ARG_U64, .name_id = intern("most"), .value.u64 = UINT64_MAX},
        {.type = TBED_ARG_I64, .name_id = intern("least"), .value.i64 = INT64_MIN},
        {.type = TBED_ARG_F64, .name_id = intern("nan"), .value.f64 = (double)NAN},
        {.type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = 0.1},
        {.type = TBED_ARG_BOOL, .name_id = intern("quo\"te"), .value.u64 = 1},
        {.type = TBED_ARG_POINTER, .name_id = intern("at"), .value.u64 = UINT64_MAX},
        {.type = TBED_ARG_TEXT, .name_id = intern("bad"), .nbytes = sizeof bad - 1, .value.text = bad},
        {.type = TBED_ARG_BYTES, .name_id = intern("raw"), .nbytes = sizeof bad - 1, .value.text = bad},
    };
    tbed_span_begin_args(recorder,
                         intern("with arguments\x1e"
                                "own"),
                         arguments, sizeof arguments / sizeof arguments[0]);
    tbed_span_end(recorder);
    tbed_instant_record_args(recorder, intern("instant"), arguments, sizeof arguments / sizeof arguments[0]);
}

static void record_counters(struct tbed_recorder *recorder)
{
    const struct tbed_argument huge = {
        .type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = UINT64_MAX};
    tbed_counter_record_category(recorder, intern("huge"), intern("category"), &huge);
    tbed_counter_record_i64(recorder, intern("low"), INT64_MIN);
    tbed_counter_record_f64(recorder, intern("ratio"), 0.5);
    tbed_counter_record_i64(recorder,
                            intern("bytes\x1e"
                                   "eth0"),
                            10);
    tbed_counter_record_i64(recorder,
                            intern("bytes\x1e"
                                   "lo"),
                            20);
}

static void record_others(struct tbed_recorder *recorder)
{
    static const char text[] = "say \"hi\"\n\xff;";
    uint32_t site = intern("site");
    for (uint32_t severity = TBED_SEVERITY_NONE; severity <= TBED_SEVERITY_DEBUG; severity++)
        tbed_message_record(recorder, severity, text, sizeof text - 1);
    tbed_async_begin(recorder, intern("request"), 7);
    tbed_flow_record(recorder, TBED_EXT_FLOW_BEGIN, intern("flow"), UINT64_MAX);
    tbed_flow_record(recorder, TBED_EXT_FLOW_STEP, intern("flow"), UINT64_MAX);
    tbed_flow_record(recorder, TBED_EXT_FLOW_END, intern("flow"), UINT64_MAX);
    tbed_async_end(recorder, intern("request"), 7);
    tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, 0x1000, 100);
    tbed_alloc_record(recorder, site, TBED_FUNCTION_MALLOC, 0x2000, 1000);
    tbed_free_record(recorder, site, TBED_FUNCTION_MALLOC, 0x1000);
}

static void record_names(struct tbed_recorder *recorder)
{
    tbed_span_begin(recorder, intern("outer"));
    for (size_t i = 0; i < NAME_COUNT; i++) {
        uint32_t id = intern(names[i]);
        tbed_span_begin(recorder, id);
        tbed_instant_record(recorder, id);
        tbed_span_end(recorder);
    }
    tbed_span_begin(recorder, long_name());
    tbed_span_end(recorder);
    tbed_span_end(recorder);
    for (unsigned i = 0; i < 600; i++) /* deeper than Perfetto goes */
        tbed_span_begin(recorder, intern("deep"));
    for (unsigned i = 0; i < 600; i++)
        tbed_span_end(recorder);
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    if (argc != 2 || tbed_writer_open(argv[1], &options, &writer, NULL) != TBED_OK)
        return 2;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread \"one\"\n");
    record_names(recorder);
    record_arguments(recorder);
    record_counters(recorder);
    record_others(recorder);
    tbed_span_begin(recorder, intern("open"));
    pid_t child = fork();
    if (child == 0) {
        tbed_span_begin(recorder, intern("in the child"));
        tbed_span_end(recorder);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tbed_writer_close(writer);
    return 0;
}
