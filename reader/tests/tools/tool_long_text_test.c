/*
 * Strings are composed of strings, so a small file can hold texts of gigabytes, and any number of them. All commands
 * must come to an end, with little output and memory, and say how many texts they left out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <tracebed/recorder.h>

/* The limit, and the most that is free for 300 names: 2 KiB each time one is shown. */
#define OUTPUT_MAX ((size_t)64 << 20)

/* A string of 'fan' references to a string of 'fan' references … to 60 bytes. */
static uint32_t put_nest(struct tbed_writer *writer, int levels, size_t fan)
{
    static const char text[] = "123456789 123456789 123456789 123456789 123456789 123456789 ";
    struct tbed_component *components = calloc(fan, sizeof *components);
    uint32_t id = tbed_string_intern(writer, text, sizeof text - 1);
    for (; levels > 0; levels--) {
        for (size_t i = 0; i < fan; i++)
            components[i].id = id;
        id = tbed_string_alloc(writer, components, (uint32_t)fan);
    }
    free(components);
    return id;
}

static const char *make_trace(const char *name, int count, int levels, size_t fan)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", in_folder(name));
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true, .no_helper = true};
    struct tbed_writer *writer;
    struct tbed_error error;
    assert_int_equal(tbed_writer_open(path, &options, &writer, &error), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t nest = put_nest(writer, levels, fan);
    for (int i = 0; i < count; i++) {
        char first[16];
        int nbytes = snprintf(first, sizeof first, "%d ", i);
        struct tbed_component components[] = {{.text = first, .nbytes = (uint32_t)nbytes}, {.id = nest}};
        uint32_t id = tbed_string_alloc(writer, components, 2);
        for (int j = 0; j < 4; j++) {
            tbed_span_begin(recorder, id);
            tbed_instant_record(recorder, id);
            tbed_span_end(recorder);
        }
    }
    tbed_writer_close(writer);
    return path;
}

/* Returns how many bytes it printed or wrote. */
static size_t run_on(const char *words, const char *path, const char *output, const char *said)
{
    char copy[256];
    const char *arguments[20];
    size_t count = 0, nbytes;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        arguments[count++] = strcmp(word, "FILE") == 0 ? path : strcmp(word, "OUT") == 0 ? output : word;
    arguments[count] = NULL;
    struct run run = run_with(&(struct run_with){0}, arguments);
    if (run.exit != 0)
        fail_msg("%s: exit %d\n%s", words, run.exit, run.err);
    if (said != NULL)
        assert_says(run.err, said);
    else
        assert_silent_on(run.err, "left out");
    if (said != NULL && strstr(words, "--json") != NULL)
        assert_says(run.out, "\"texts_left_out\":");
    nbytes = strlen(run.out);
    end_run(&run);
    if (strstr(words, "OUT") != NULL) {
        size_t written;
        free(read_whole(output, &written));
        nbytes += written;
    }
    return nbytes;
}

/* Names of 4 MB: labels of that length are refused for their length alone. */
static void full_names_that_expand_are_left_out_above_the_limit(void **state)
{
    static const char *const commands[] = {
        "dump FILE",         "dump --json FILE",         "dump --json --order=stream FILE",
        "tree --calls FILE", "tree --calls --json FILE", "export --to=rtl-log -f FILE -o OUT"};
    (void)state;
    const char *path = make_trace("names.tbed", 300, 4, 16);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (run_on(commands[i], path, in_folder("out"), "were left out") > 2 * OUTPUT_MAX)
            fail_msg("%s: too much output", commands[i]);
}

/* Labels of 60 KB, each of which is allowed. */
static void labels_that_expand_are_left_out_above_the_limit(void **state)
{
    static const char *const commands[] = {"report FILE",
                                           "report --json FILE",
                                           "report -j 1 FILE",
                                           "tree FILE",
                                           "tree --json FILE",
                                           "tree --calls --json FILE",
                                           "flame -f FILE -o OUT",
                                           "flame --folded FILE",
                                           "diff FILE FILE",
                                           "diff --json FILE FILE",
                                           "aggregate FILE FILE",
                                           "aggregate --json FILE FILE",
                                           "export --to=chrome -f FILE -o OUT",
                                           "export --to=rtl-log -f FILE -o OUT"};
    (void)state;
    const char *path = make_trace("labels.tbed", 3000, 1, 1000);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (run_on(commands[i], path, in_folder("out"), "were left out") > 4 * OUTPUT_MAX)
            fail_msg("%s: too much output", commands[i]);
}

/* These are read in place, without a trace and its reader. */
static void labels_of_profiles_are_left_out_too(void **state)
{
    static const char *const commands[] = {"report FILE", "report --json FILE", "diff FILE FILE",
                                           "diff --json FILE FILE", "aggregate --json FILE FILE"};
    static char profile[512];
    (void)state;
    snprintf(profile, sizeof profile, "%s", in_folder("labels.mm_profdata"));
    run_on("export --to=mm_profdata -f FILE -o OUT", make_trace("labels.tbed", 3000, 1, 1000), profile, NULL);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (run_on(commands[i], profile, NULL, "were left out") > 4 * OUTPUT_MAX)
            fail_msg("%s: too much output", commands[i]);
}

static void an_export_that_keeps_references_leaves_nothing_out(void **state)
{
    (void)state;
    const char *path = make_trace("labels.tbed", 3000, 1, 1000);
    assert_true(run_on("export --to=mm_profdata -f FILE -o OUT", path, in_folder("out"), NULL) < 1 << 20);
}

static void long_names_of_usual_traces_are_complete(void **state)
{
    (void)state;
    const char *path = make_trace("usual.tbed", 300, 1, 100);
    assert_true(run_on("dump FILE", path, in_folder("out"), NULL) < OUTPUT_MAX * 2);
    run_on("report --json FILE", path, in_folder("out"), NULL);
    run_on("strings FILE", path, in_folder("out"), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_names_that_expand_are_left_out_above_the_limit),
        cmocka_unit_test(labels_that_expand_are_left_out_above_the_limit),
        cmocka_unit_test(labels_of_profiles_are_left_out_too),
        cmocka_unit_test(an_export_that_keeps_references_leaves_nothing_out),
        cmocka_unit_test(long_names_of_usual_traces_are_complete),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
