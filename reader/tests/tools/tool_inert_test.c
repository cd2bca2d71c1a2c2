/*
 * Nothing in a file, and no name of a file, may send control characters to a terminal. A trace, a log and file names have
 * them wherever a text can be, and every command shows them in every format.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include <tracebed/recorder.h>

/* An escape sequence, a new line, C1 controls as UTF-8 and as single bytes, bidirectional controls, separators, tags. */
#define HEAD "\x1b[2J\x1b]0;title\x07\nforged line\r\x08\x7f\x01"
#define TAIL                                                                                                 \
    "\xc2\x9b"                                                                                               \
    "31m\xd8\x9c\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x81\x81\"><script>&'"   \
    "\\,end"
#define EVIL HEAD TAIL

static const char evil_path[] = "evil" HEAD TAIL "\x9b.tbed";

static uint32_t put_code(struct tbed_writer *writer)
{
    static const uint8_t build_id[20] = {0xDE, 0xAD};
    struct tbed_unit_options native = {.size = sizeof native,
                                       .kind = TBED_UNIT_NATIVE,
                                       .base = 0x1000,
                                       .pc_count = 4096,
                                       .name = "unit" EVIL,
                                       .file = "file" EVIL,
                                       .build_id = build_id,
                                       .build_id_nbytes = sizeof build_id};
    struct tbed_unit_options bytecode = {.size = sizeof bytecode,
                                         .kind = TBED_UNIT_BYTECODE,
                                         .pc_count = 100,
                                         .name = "method" EVIL,
                                         .file = "script" EVIL,
                                         .first_line = 5};
    uint32_t unit = tbed_unit_register(writer, &native);
    struct tbed_frame_names frame = {intern(writer, "function" EVIL), intern(writer, "source" EVIL), 7};
    tbed_location_describe(writer, unit + 64, &frame, 1);
    tbed_unit_load_record(writer, unit, 0x7F0000000000, 0x10000);
    return tbed_stack_intern(writer, tbed_stack_intern(writer, TBED_ID_INVALID, unit + 64),
                             tbed_unit_register(writer, &bytecode) + 3);
}

static void put_events(struct tbed_writer *writer, struct tbed_recorder *recorder, uint32_t stack)
{
    uint32_t span = intern(writer, "span" EVIL), category = intern(writer, "category" EVIL);
    uint32_t counter = intern(writer, "counter" EVIL), format = intern(writer, "context" EVIL "\x1e%s" EVIL);
    uint32_t with_arguments = tbed_event_id_alloc(writer, span, (uint32_t[]){counter, category}, 2);
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_TEXT,
         .name_id = category,
         .nbytes = sizeof EVIL "\xff\x9b" - 1,
         .value.text = EVIL "\xff\x9b"},
        {.type = TBED_ARG_ID, .name_id = span, .nbytes = 8, .value.id = counter},
    };
    tbed_counter_describe(writer, counter, "items" EVIL);
    for (int i = 0; i < 4; i++) {
        tbed_span_begin_category(recorder, with_arguments, category, arguments, 2);
        tbed_span_begin_args(recorder, span, arguments, 2);
        tbed_instant_record_category(recorder, span, category, arguments, 2);
        tbed_counter_record_i64(recorder, counter, i);
        tbed_message_record(recorder, TBED_SEVERITY_ERROR, EVIL "\x9b", sizeof EVIL "\x9b" - 1);
        tbed_message_record_args(recorder, TBED_SEVERITY_WARNING, format, arguments, 2);
        tbed_async_begin(recorder, span, 7);
        tbed_async_end(recorder, span, 7);
        tbed_flow_record(recorder, TBED_EXT_FLOW_BEGIN, span, 8);
        tbed_alloc_record(recorder, stack, TBED_FUNCTION_MALLOC, 0x1000 + 64 * (uint64_t)i, 20);
        tbed_span_end(recorder);
        tbed_span_end(recorder);
    }
    tbed_free_record(recorder, stack, TBED_FUNCTION_MALLOC, 0x1000);
    tbed_span_begin(recorder, span); /* never ended */
}

static const char *make_evil_trace(void)
{
    const char *path = in_folder(evil_path);
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .no_helper = true, .process_name = "process" EVIL};
    struct tbed_writer *writer;
    struct tbed_error error;
    assert_int_equal(tbed_writer_open(path, &options, &writer, &error), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread" EVIL);
    tbed_metadata_set(writer, "{\"cmd\":\"" EVIL, sizeof "{\"cmd\":\"" EVIL - 1);
    put_events(writer, recorder, put_code(writer));
    struct tbed_recorder *track = tbed_track_open(writer, "track" EVIL);
    tbed_instant_record(track, tbed_string_alloc(writer, (struct tbed_component[]){{.id = 99}}, 1));
    tbed_writer_close(writer);
    return path;
}

static const char *make_evil_log(void)
{
    static const char log[] = "opening log file 997000001.623456 seconds past January 1st 1970\n"
                              "corresponding to 0 ms after timer start\nProcess id is 4711\n"
                              "000001 1 { module (author) ::name\x1b[2J\x9b" TAIL "\n"
                              "000002 1 | context\x1b[2J" TAIL " : text\x07\x9b" TAIL "\n"
                              "000002  1 | : odd\x1b[2J\r" TAIL "\n"
                              "000003 1 | : { pair" TAIL "\n000004 1 | : } pair" TAIL "\n"
                              "000005 1 } module (author) ::name\x1b[2J\x9b" TAIL "\n"
                              "nonsense\x1b[2J" TAIL "\n000006 1 } unopened\x1b[2J" TAIL "\n";
    const char *path = in_folder("evil" EVIL ".log");
    write_whole(path, log, sizeof log - 1);
    return path;
}

/* ---- Looking at output ---- */

/* Decodes the code point at 'at'; a byte that begins none is returned by itself. */
static size_t decode(const uint8_t *at, uint32_t *code_ret)
{
    size_t size = at[0] < 0xC0 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    uint32_t code = size == 1 ? at[0] : at[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            *code_ret = at[0];
            return 1;
        }
        code = code << 6 | (at[i] & 0x3Fu);
    }
    *code_ret = code;
    return size;
}

static bool is_obeyed(uint32_t code)
{
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code <= 0x9F) || code == 0x61C ||
           code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
}

static void expect_inert(const char *what, const char *text, size_t nbytes)
{
    uint32_t code;
    for (size_t i = 0; i < nbytes;) {
        size_t size = decode((const uint8_t *)text + i, &code);
        if (is_obeyed(code))
            fail_msg("%s: U+%04X at byte %zu:\n%.*s", what, code, i, (int)(i + 20 < nbytes ? i + 20 : nbytes),
                     text);
        i += size;
    }
    const char *forged = strstr(text, "\nforged line"); /* a newline that is not ours */
    if (forged != NULL)
        fail_msg("%s: a text begins a line", what);
}

static void look_at(const char *words, const char *path, const char *extra)
{
    char copy[256];
    const char *arguments[20];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        arguments[count++] = strcmp(word, "FILE") == 0 ? path : strcmp(word, "OTHER") == 0 ? extra : word;
    arguments[count] = NULL;
    struct run run = run_with(&(struct run_with){0}, arguments);
    if (run.exit < 0)
        fail_msg("%s: exit %d\n%s", words, run.exit, run.err);
    expect_inert(words, run.out, strlen(run.out));
    expect_inert(words, run.err, strlen(run.err));
    end_run(&run);
}

/* Every command with text output, in every format; those that write a file are looked at by the file. */
static const char *const commands[] = {
    "info FILE",
    "info --json FILE",
    "dump FILE",
    "dump --json FILE",
    "dump --order=stream FILE",
    "dump --depth --absolute FILE",
    "dump --no-symbols FILE",
    "dump --json --order=stream FILE",
    "strings FILE",
    "strings --json FILE",
    "strings --raw FILE",
    "strings --bindings FILE",
    "strings --bindings --json FILE",
    "strings --unresolved FILE",
    "strings --tree=536870920 FILE",
    "strings --tree=OTHER FILE",
    "report FILE",
    "report --json FILE",
    "report --spans FILE",
    "report --allocations FILE",
    "report --no-symbols FILE",
    "report --over-time=3 FILE",
    "report --by=stack FILE",
    "report --by=function FILE",
    "report --by=module FILE",
    "report --by=site FILE",
    "report --by=scope FILE",
    "report --by=author FILE",
    "report --by=stack --json FILE",
    "report --include-from=OTHER FILE",
    "tree FILE",
    "tree --json FILE",
    "tree --calls FILE",
    "tree --calls --json FILE",
    "tree --paths FILE",
    "tree --per-thread FILE",
    "flame --folded FILE",
    "flame --folded --per-thread FILE",
    "flame --folded --weight=bytes FILE",
    "flame -o - FILE",
    "flame --weight=bytes -o - FILE",
    "flame --per-thread -o - FILE",
    "flame --root=OTHER -o - FILE",
    "diff FILE FILE",
    "diff --json FILE FILE",
    "diff FILE OTHER",
    "aggregate FILE FILE",
    "aggregate --json FILE FILE",
    "aggregate FILE OTHER",
    "verify FILE",
    "verify --json FILE",
    "verify FILE OTHER",
    "export --to=chrome FILE -o -",
    "export --to=rtl-log FILE -o -",
    "export --to=rtl-log --quirks FILE -o OTHER",
    "export --to=mm_profdata FILE -o OTHER",
    "import FILE -o OTHER",
    "snapshot FILE -o OTHER",
    "recover FILE -o OTHER",
    "symbolize FILE",
    "symbolize FILE -o OTHER",
    "record -o OTHER -- FILE",
    "FILE",
    "help FILE",
    "report --sort=OTHER FILE",
    "report --OTHER",
    "dump -s OTHER FILE",
};

static void look_at_all(const char *path, const char *other)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        look_at(commands[i], path, other);
}

static void no_command_passes_controls_of_a_trace(void **state)
{
    (void)state;
    char path[512], other[512];
    snprintf(path, sizeof path, "%s", make_evil_trace());
    snprintf(other, sizeof other, "%s", in_folder("missing" EVIL));
    look_at_all(path, other);
}

static void no_command_passes_controls_of_a_log(void **state)
{
    (void)state;
    char path[512], other[512];
    snprintf(path, sizeof path, "%s", make_evil_log());
    snprintf(other, sizeof other, "%s", in_folder("missing" EVIL));
    look_at_all(path, other);
}

static void no_command_passes_controls_of_a_profile(void **state)
{
    (void)state;
    char path[512], profile[512], other[512];
    snprintf(path, sizeof path, "%s", make_evil_trace());
    snprintf(profile, sizeof profile, "%s", in_folder("evil" EVIL ".mm_profdata"));
    EXPECT(0, NULL, NULL, "export", "--to=mm_profdata", "-f", path, "-o", profile);
    snprintf(other, sizeof other, "%s", in_folder("missing" EVIL));
    look_at_all(profile, other);
}

/* Damage is reported in words of our own, but with the names of files. */
static void no_command_passes_controls_of_a_damaged_file(void **state)
{
    (void)state;
    char path[512];
    size_t nbytes;
    snprintf(path, sizeof path, "%s", make_evil_trace());
    char *bytes = read_whole(path, &nbytes);
    for (size_t at = 65536 + 64; at < nbytes; at += 9973)
        bytes[at] ^= 0x10;
    write_whole(path, bytes, nbytes);
    free(bytes);
    look_at_all(path, path);
}

static void files_that_are_written_as_text_are_inert(void **state)
{
    static const char *const formats[][2] = {{"--to=chrome", "out.json"}, {"--to=rtl-log", "out.log"}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *path = make_evil_trace(), *out = in_folder(formats[i][1]);
        size_t nbytes;
        EXPECT(0, NULL, NULL, "export", formats[i][0], "-f", path, "-o", out);
        char *text = read_whole(out, &nbytes);
        expect_inert(formats[i][0], text, nbytes);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_command_passes_controls_of_a_trace),
        cmocka_unit_test(no_command_passes_controls_of_a_log),
        cmocka_unit_test(no_command_passes_controls_of_a_profile),
        cmocka_unit_test(no_command_passes_controls_of_a_damaged_file),
        cmocka_unit_test(files_that_are_written_as_text_are_inert),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
