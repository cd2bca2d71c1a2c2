/*
 * Leaks and suppressions against an oracle that is slow and obvious: the frames of each block one by one, and patterns as
 * regular expressions; also where each allocation of the analysis fails in turn.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/core/failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "reader/analysis/leaks/mangled.h"
#include "reader/analysis/leaks/suppressions.h"

#include <regex.h>
#include <tracebed/analysis.h>
#include <tracebed/writer.h>

#define LOCATIONS 60u /* half of them in each module; every fifth has no function */
#define STACKS    300u
#define BLOCKS    2000u

static const char *const modules[] = {"/opt/lib/one.so", "/opt/two"};
static uint32_t first_location[2], stacks[STACKS];

struct block {
    uint32_t stack, nbytes;
    bool is_live;
};
static struct block blocks[BLOCKS];

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 11;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

/* ---- A random trace ---- */

static struct tbed_frame_names names(struct tbed_writer *writer, uint32_t number)
{
    char function[32], file[32];
    snprintf(function, sizeof function, "ns::call_%u", number % 9);
    snprintf(file, sizeof file, "src/dir%u/part.c", number % 4);
    return (struct tbed_frame_names){tbed_string_intern(writer, function, strlen(function)),
                                     tbed_string_intern(writer, file, strlen(file)), number};
}

static void describe(struct tbed_writer *writer)
{
    for (size_t module = 0; module < 2; module++) {
        struct tbed_unit_options unit = {.size = sizeof unit,
                                         .kind = TBED_UNIT_NATIVE,
                                         .name = modules[module],
                                         .pc_count = LOCATIONS / 2};
        first_location[module] = tbed_unit_register(writer, &unit);
        for (uint32_t i = 0; i < LOCATIONS / 2; i++) {
            struct tbed_frame_names frames[] = {names(writer, i + 7), names(writer, i)};
            if (i % 5 != 4)
                tbed_location_describe(writer, first_location[module] + i, frames + i % 2, 2 - i % 2);
        }
    }
}

static uint32_t random_location(void)
{
    return first_location[random_below(2)] + random_below(LOCATIONS / 2);
}

/* Every eighth is a plain location. */
static void make_stacks(struct tbed_writer *writer)
{
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t above = i > 0 ? random_below(i) : 0;
        bool has_parent = i > 0 && above % 8 != 7 && random_below(6) > 0;
        stacks[i] = i % 8 == 7 ? random_location()
                               : tbed_stack_intern(writer, has_parent ? stacks[above] : TBED_ID_INVALID,
                                                   random_location());
    }
}

static struct tbed_reader *finish(struct tbed_writer *writer, int fd)
{
    struct tbed_reader *reader;
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    close(fd);
    return reader;
}

static struct tbed_writer *begin(int *fd_ret)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    struct tbed_writer *writer;
    *fd_ret = memfd_create("leaks", MFD_CLOEXEC);
    assert_int_equal(tbed_writer_open_fd(*fd_ret, &options, &writer, NULL), TBED_OK);
    return writer;
}

static struct tbed_reader *record(void)
{
    int fd;
    struct tbed_writer *writer = begin(&fd);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    describe(writer);
    make_stacks(writer);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i] = (struct block){stacks[random_below(STACKS)], random_below(100), random_below(3) > 0};
        tbed_alloc_record(recorder, blocks[i].stack, TBED_FUNCTION_MALLOC, 16 * (i + 1), blocks[i].nbytes);
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        if (!blocks[i].is_live)
            tbed_free_record(recorder, 1, TBED_FUNCTION_MALLOC, 16 * (i + 1));
    return finish(writer, fd);
}

/* ---- The oracle ---- */

static bool oracle_matches(const char *pattern, const char *text)
{
    char expression[256];
    size_t at = 0;
    regex_t regex;
    if (text == NULL || *text == '\0')
        return false;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '*')
            expression[at++] = '.';
        else if (strchr(".+!()", *pattern) != NULL)
            expression[at++] = '\\';
        expression[at++] = *pattern;
    }
    expression[at] = '\0';
    assert_int_equal(regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

/* The first pattern that matches the innermost function that any matches; -1: none. */
static int oracle_location(const struct tbed_reader *reader, uint32_t id, const char *const *patterns,
                           int count)
{
    struct tbed_frame frames[4] = {0};
    const char *module = modules[id - first_location[1] < LOCATIONS / 2];
    size_t frame_count = tbed_id_frames(reader, id, frames, 4);
    for (size_t i = 0; i < frame_count || i == 0; i++) {
        char together[128];
        snprintf(together, sizeof together, "%s!%s", strrchr(module, '/') + 1,
                 frames[i].function != NULL ? frames[i].function : "");
        for (int j = 0; j < count; j++)
            if (oracle_matches(patterns[j], frames[i].function) ||
                oracle_matches(patterns[j], frames[i].file) || oracle_matches(patterns[j], module) ||
                oracle_matches(patterns[j], together))
                return j;
    }
    return -1;
}

static int oracle(const struct tbed_reader *reader, uint32_t id, const char *const *patterns, int count)
{
    uint32_t location, parent;
    for (; tbed_stack_get(reader, id, &location, &parent); id = parent) {
        int found = oracle_location(reader, location, patterns, count);
        if (found >= 0 || parent == TBED_ID_INVALID)
            return found;
    }
    return oracle_location(reader, id, patterns, count);
}

static struct tbed_suppressions *suppressions_of(const char *const *patterns, int count, bool with_built_in)
{
    struct tbed_suppressions *suppressions;
    char line[128];
    size_t number;
    assert_int_equal(tbed_suppressions_open(with_built_in, &suppressions), TBED_OK);
    for (int i = 0; i < count; i++) {
        int nbytes = snprintf(line, sizeof line, "leak:%s", patterns[i]);
        assert_int_equal(tbed_suppressions_add(suppressions, line, (size_t)nbytes, &number), TBED_OK);
    }
    return suppressions;
}

/* Each id is a site of its own. */
static size_t name_number(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    (void)context;
    return (size_t)snprintf(buffer, buffer_nbytes, "%u", id);
}

static void expect_leaks(const struct tbed_reader *reader, const struct tbed_allocations *allocations,
                         const char *const *patterns, int count)
{
    const struct tbed_allocation_site *site;
    const struct tbed_allocation_suppression *row;
    struct tbed_allocation_suppression expected[16] = {0};
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        int by = oracle(reader, site->id, patterns, count);
        uint64_t live_count = 0, live_nbytes = 0;
        for (size_t j = 0; j < BLOCKS; j++)
            if (blocks[j].is_live && blocks[j].stack == site->id) {
                live_count++;
                live_nbytes += blocks[j].nbytes;
            }
        assert_int_equal(site->leak_count, by < 0 ? live_count : 0);
        assert_int_equal(site->leak_nbytes, by < 0 ? live_nbytes : 0);
        if (by < 0)
            continue;
        expected[by].site_count += live_count > 0;
        expected[by].count += live_count;
        expected[by].nbytes += live_nbytes;
    }
    for (int i = 0; (row = tbed_allocations_suppression(allocations, (size_t)i)) != NULL; i++) {
        assert_string_equal(row->pattern, patterns[i]);
        assert_false(row->is_built_in);
        assert_int_equal(row->site_count, expected[i].site_count);
        assert_int_equal(row->count, expected[i].count);
        assert_int_equal(row->nbytes, expected[i].nbytes);
    }
    assert_null(tbed_allocations_suppression(allocations, (size_t)count));
}

static struct tbed_allocations *analyse(struct tbed_reader *reader,
                                        const struct tbed_suppressions *suppressions)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .name = name_number, .suppressions = suppressions};
    struct tbed_allocations *allocations;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    return allocations;
}

static void random_stacks_agree_with_their_frames_one_by_one(void **state)
{
    static const char *const patterns[][4] = {
        {"call_3", "dir2/*.c", "^two!$", "^ns::call_7$"},
        {"^/opt/lib", "call_1$", "", ""},
        {"nothing", "one.so!*8", "src*part.c$", ""},
        {"^one.so!$", "^ns*_2$", "l_5", "^src/dir0*"},
        {"*", "", "", ""},
    };
    (void)state;
    struct tbed_reader *reader = record();
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        int count = 0;
        while (count < 4 && *patterns[i][count] != '\0')
            count++;
        struct tbed_suppressions *suppressions = suppressions_of(patterns[i], count, false);
        struct tbed_allocations *allocations = analyse(reader, suppressions);
        expect_leaks(reader, allocations, patterns[i], count);
        tbed_allocations_close(allocations);
        tbed_suppressions_close(suppressions);
    }
    struct tbed_allocations *allocations = analyse(reader, NULL);
    expect_leaks(reader, allocations, NULL, 0);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
}

/* ---- Suppressions of valgrind ---- */

static struct tbed_suppressions *blocks_of(const char *text)
{
    struct tbed_suppressions *suppressions;
    size_t line;
    assert_int_equal(tbed_suppressions_open(false, &suppressions), TBED_OK);
    assert_int_equal(tbed_suppressions_add(suppressions, text, strlen(text), &line), TBED_OK);
    return suppressions;
}

/* The functions of a stack, the innermost first, inlined ones too, and their modules. */
struct oracle_frame {
    char function[64];
    const char *module;
};

static size_t frames_of(const struct tbed_reader *reader, uint32_t id, struct oracle_frame *all)
{
    size_t count = 0;
    uint32_t location, parent;
    snprintf(all[count].function, sizeof all[count].function, "malloc");
    all[count++].module = "/usr/libexec/valgrind/vgpreload";
    for (bool is_stack = true; is_stack && id != TBED_ID_INVALID; id = parent) {
        struct tbed_frame frames[4] = {0};
        is_stack = tbed_stack_get(reader, id, &location, &parent);
        location = is_stack ? location : id;
        size_t frame_count = tbed_id_frames(reader, location, frames, 4);
        for (size_t i = 0; i < frame_count || i == 0; i++) {
            snprintf(all[count].function, sizeof all[count].function, "%s",
                     frames[i].function != NULL ? frames[i].function : "");
            all[count++].module = modules[location - first_location[1] < LOCATIONS / 2];
        }
    }
    return count;
}

static bool oracle_line(const char *line, const struct oracle_frame *frame)
{
    char expression[64], *at = expression;
    regex_t regex;
    const char *text = strncmp(line, "fun:", 4) == 0 ? frame->function : frame->module;
    if (*text == '\0')
        return false;
    *at++ = '^';
    for (line += 4; *line != '\0'; line++) {
        if (strchr("*?", *line) != NULL)
            *at++ = '.';
        if (*line != '?')
            *at++ = *line;
    }
    snprintf(at, 2, "$");
    assert_int_equal(regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool oracle_block(const char *const *lines, const struct oracle_frame *frames, size_t count)
{
    if (*lines == NULL)
        return true;
    if (strcmp(*lines, "...") == 0)
        return oracle_block(lines + 1, frames, count) ||
               (count > 0 && oracle_block(lines, frames + 1, count - 1));
    return count > 0 && oracle_line(*lines, frames) && oracle_block(lines + 1, frames + 1, count - 1);
}

static void blocks_of_valgrind_agree_with_their_frames_one_by_one(void **state)
{
    static const char *const blocks_lines[][8] = {
        {"fun:malloc", "fun:ns::call_3"},
        {"...", "fun:*call_?", "obj:/opt/two", "obj:/opt/*"},
        {"fun:*", "obj:*one*", "...", "fun:ns::call_7", "..."},
        {"obj:*vgpreload*", "...", "...", "obj:/opt/two", "...", "fun:*_8"},
        {"fun:ns::call_1"},
    };
    char text[1024] = "";
    (void)state;
    struct tbed_reader *reader = record();
    for (size_t i = 0; i < sizeof blocks_lines / sizeof blocks_lines[0]; i++) {
        size_t at = strlen(text);
        at += (size_t)snprintf(text + at, sizeof text - at, "{\n block%zu\n Memcheck:Leak\n", i);
        for (const char *const *line = blocks_lines[i]; *line != NULL; line++)
            at += (size_t)snprintf(text + at, sizeof text - at, "  %s\n", *line);
        snprintf(text + at, sizeof text - at, "}\n");
    }
    struct tbed_suppressions *suppressions = blocks_of(text);
    struct tbed_allocations *allocations = analyse(reader, suppressions);
    const struct tbed_allocation_site *site;
    size_t found[5] = {0}, none = 0;
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        struct oracle_frame frames[STACKS + 1];
        size_t count = frames_of(reader, site->id, frames), by = 0;
        while (by < 5 && !oracle_block(blocks_lines[by], frames, count))
            by++;
        assert_int_equal(site->leak_count, by == 5 ? site->sums.live_count : 0);
        if (by < 5)
            found[by] += site->sums.live_count;
        else
            none += site->sums.live_count;
    }
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(tbed_allocations_suppression(allocations, i)->count, found[i]);
    assert_true(found[0] > 0 && found[1] > 0 && found[2] > 0 && found[3] > 0 && none > 0);
    assert_int_equal(found[4], 0); /* it does not begin with the allocating function */
    tbed_allocations_close(allocations);
    tbed_suppressions_close(suppressions);
    tbed_reader_close(reader);
}

#define BLOCK "{\n  a name\n  Memcheck:Leak\n"

static void blocks_of_valgrind_have_their_syntax(void **state)
{
    static const struct {
        const char *text;
        size_t line, count, skipped; /* line: of the error; 0: none */
    } cases[] = {
        {BLOCK "fun:a\n}\n", 0, 1, 0},
        {BLOCK " # why\n match-leak-kinds: definite\n\n fun:a\r\n ...\n obj:b\n }", 0, 1, 0},
        {"leak:x\n" BLOCK "fun:a\n}\nleak:y\n" BLOCK "fun:b\n}\n", 0, 4, 0},
        {"{\n  x\n  Addrcheck,Memcheck:Leak\n  fun:a\n}\n", 0, 1, 0},
        {"{\n  x\n  Memcheck:Param\n  write(buf)\n  fun:a\n}\n{\n  y\n  Helgrind:Race\n  fun:a\n}\n", 0, 0,
         2},
        {"{\n  x\n  drd:Leak\n  fun:a\n}\n", 0, 0, 1},
        {"{\n  x\n  Memcheck:Leaks\n  fun:a\n}\n", 0, 0, 1},
        {BLOCK "}\n", 4, 0, 0},
        {BLOCK "fun:\n}\n", 4, 0, 0},
        {BLOCK "fun:a\nmatch-leak-kinds: all\n}\n", 5, 0, 0},
        {BLOCK "fun:a\nnonsense\n}\n", 5, 0, 0},
        {BLOCK "fun:a\n", 4, 0, 0},
        {"leak:x\n{ x\n", 2, 0, 0},
        {"{\n  name\n  Leak\n fun:a\n}\n", 3, 0, 0},
        {"}\n", 1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tbed_suppressions *suppressions;
        size_t line;
        assert_int_equal(tbed_suppressions_open(false, &suppressions), TBED_OK);
        enum tbed_status status =
            tbed_suppressions_add(suppressions, cases[i].text, strlen(cases[i].text), &line);
        assert_int_equal(status, cases[i].line == 0 ? TBED_OK : TBED_ERR_ARGUMENT);
        if (cases[i].line != 0)
            assert_int_equal(line, cases[i].line);
        assert_int_equal(tbed_suppressions_count(suppressions), cases[i].count);
        assert_int_equal(tbed_suppressions_skipped_count(suppressions), cases[i].skipped);
        assert_int_equal(tbed_suppressions_add(suppressions, "leak:z", 6, &line), TBED_OK);
        tbed_suppressions_close(suppressions);
    }
}

static void names_of_cpp_are_compared_as_they_are_mangled(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"_ZN3foo3barEi", "foo::bar(int)", true},
        {"_ZN3foo3barEi", "foo::bar(char)", true},
        {"_ZN3foo3barEi", "foo::barn(int)", false},
        {"_ZN3foo3barEi", "xfoo::bar(int)", false},
        {"_ZN3foo3barEi", "foo::bar::baz(int)", false},
        {"_ZN3foo*", "foo::bar::baz(int)", true},
        {"_ZN3foo*", "foot::bar(int)", false},
        {"_ZN3foo3b*", "foo::bar(int)", true},
        {"_ZN3foo3b*", "foo::car(int)", false},
        {"_ZNK3foo3barEv", "foo::bar() const", true},
        {"_ZN3FooC1Ei", "Foo::Foo(int)", true},
        {"_ZN3FooC2ERKS_", "Foo::~Foo()", false},
        {"_ZN3FooD0Ev", "Foo::~Foo()", true},
        {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)",
         true},
        {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vectors(int)", false},
        {"_ZN3foo4makeIcEEPT_i", "char* foo::make<char>(int)", true},
        {"_Z5leak1v", "leak1()", true},
        {"_Z5leak*", "leak1()", true},
        {"_Z5leak1v", "leak12()", false},
        {"_Z5leak1v", "leak1::leak2()", false},
        {"_ZSt4sortv", "std::sort()", true},
        {"_Z*", "leak1()", false},
        {"_ZN3*", "foo::bar()", false},
        {"_ZN", "foo::bar()", false},
        {"_Z99999999999999999999foo", "foo()", false},
        {"3foo", "foo()", false},
        {"_ZN3foo3barEi", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (tbed_mangled_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("%s: %s", cases[i].pattern, cases[i].name);
    assert_true(tbed_glob_matches("a*b?", "axxbc"));
    assert_true(tbed_glob_matches("*", ""));
    assert_true(tbed_glob_matches("a**b", "aab"));
    assert_false(tbed_glob_matches("a*b?", "axxb"));
    assert_false(tbed_glob_matches("?", ""));
    assert_false(tbed_glob_matches("ab", "abc"));
}

static void whatever_allocation_fails_is_reported(void **state)
{
    static const char *const patterns[] = {"call_3", "^two!$"};
    static const char block[] = BLOCK "...\nfun:*_5\n}\n";
    size_t line;
    (void)state;
    struct tbed_reader *reader = record();
    struct tbed_suppressions *suppressions = suppressions_of(patterns, 2, true);
    assert_int_equal(tbed_suppressions_add(suppressions, block, sizeof block - 1, &line), TBED_OK);
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = 1,
                                            .by_stack = true,
                                            .name = name_number,
                                            .suppressions = suppressions};
    struct tbed_allocations *allocations = NULL;
    int failed = -1;
    for (bool was_reached = true; was_reached; failed++) {
        calls_left = failed + 1;
        enum tbed_status status = tbed_allocations_make(reader, &options, &allocations);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(status, was_reached ? TBED_ERR_MEMORY : TBED_OK);
    }
    assert_true(failed > 25);
    assert_true(tbed_allocations_suppression(allocations, 0)->count > 0);
    tbed_allocations_close(allocations);
    tbed_suppressions_close(suppressions);
    tbed_reader_close(reader);
}

/* ---- The syntax ---- */

static void patterns_are_those_of_leak_sanitizer(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"foo", "a_foo_b", true},
        {"foo", "fo", false},
        {"^foo", "foobar", true},
        {"^foo", "afoo", false},
        {"bar$", "foobar", true},
        {"bar$", "barfoo", false},
        {"^foo$", "foo", true},
        {"^foo$", "foofoo", false},
        {"foo$", "foofoo", true},
        {"f*r", "xfoobary", true},
        {"^f*r$", "foobar", true},
        {"^f*r$", "foobars", false},
        {"^*a$", "bbba", true},
        {"a*b*c", "a1b2c3", true},
        {"a*b*c", "a1c2b3", false},
        {"*", "x", true},
        {"*", "", false},
        {"^$", "x", false},
        {"^a*a$", "a", false},
        {"^a**a$", "aa", true},
        {"aab", "aaab", true},
        {"^ab*ab$", "abcabab", true},
        {"operator!=", "operator!=", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tbed_suppressions *suppressions = suppressions_of(&cases[i].pattern, 1, false);
        struct suppression_frame frame = {.function = cases[i].text};
        assert_int_equal(tbed_suppressions_match(suppressions, &frame) == 0, cases[i].matches);
        tbed_suppressions_close(suppressions);
    }
}

static void a_file_may_have_comments_and_its_wrong_lines_are_found(void **state)
{
    static const struct {
        const char *text;
        size_t nbytes, line; /* 0: none is wrong */
    } cases[] = {
        {"", 0, 0},
        {"# why\n\n  leak:a \r\nleak:b", 24, 0},
        {"leak:a\nrace:b\n", 14, 2},
        {"leak:\n", 6, 1},
        {"leak:a\n\n\nleak", 13, 4},
        {"leak:a\0b\n", 9, 1},
    };
    struct tbed_suppressions *suppressions;
    size_t line;
    bool is_built_in;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(tbed_suppressions_open(false, &suppressions), TBED_OK);
        enum tbed_status status = tbed_suppressions_add(suppressions, cases[i].text, cases[i].nbytes, &line);
        assert_int_equal(status, cases[i].line == 0 ? TBED_OK : TBED_ERR_ARGUMENT);
        if (cases[i].line != 0)
            assert_int_equal(line, cases[i].line);
        assert_int_equal(tbed_suppressions_count(suppressions), i == 1 ? 2 : 0);
        if (i == 1)
            assert_string_equal(tbed_suppressions_text(suppressions, 0, &is_built_in), "a");
        tbed_suppressions_close(suppressions);
    }
    tbed_suppressions_close(NULL);
}

static void making_a_list_may_run_out_of_memory(void **state)
{
    static const char text[] = "leak:a\nleak:b\n" BLOCK "fun:a\n...\n}\n";
    struct tbed_suppressions *suppressions = NULL;
    enum tbed_status status = TBED_ERR_MEMORY;
    size_t line;
    (void)state;
    for (int i = 0; status != TBED_OK; i++) {
        calls_left = i;
        status = tbed_suppressions_open(true, &suppressions);
        calls_left = -1;
        assert_true(status == TBED_OK || status == TBED_ERR_MEMORY);
    }
    size_t before = tbed_suppressions_count(suppressions);
    status = TBED_ERR_MEMORY;
    for (int i = 0; status != TBED_OK; i++) {
        assert_int_equal(tbed_suppressions_count(suppressions), before);
        calls_left = i;
        status = tbed_suppressions_add(suppressions, text, sizeof text - 1, &line);
        calls_left = -1;
        assert_true(status == TBED_OK || status == TBED_ERR_MEMORY);
    }
    assert_int_equal(tbed_suppressions_count(suppressions), before + 3);
    tbed_suppressions_close(suppressions);
}

/* ---- What is built in ---- */

/*
 * One block of each size by a function, or code without one, of a module; without a module, by what could not be stored.
 * Returns how many leaked.
 */
static uint64_t count_leaks(const char *module, const char *function, const uint32_t *sizes, size_t count)
{
    int fd;
    struct tbed_writer *writer = begin(&fd);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    struct tbed_unit_options unit = {
        .size = sizeof unit, .kind = TBED_UNIT_NATIVE, .name = module, .pc_count = 1};
    uint32_t id = module != NULL ? tbed_unit_register(writer, &unit) : TBED_ID_INVALID;
    struct tbed_frame_names frame = {TBED_ID_INVALID, TBED_ID_INVALID, 0};
    if (function != NULL) {
        frame.function_id = tbed_string_intern(writer, function, strlen(function));
        tbed_location_describe(writer, id, &frame, 1);
    }
    for (size_t i = 0; i < count; i++)
        tbed_alloc_record(recorder, id, TBED_FUNCTION_MALLOC, 0x1000000 * (i + 1), sizes[i]);
    struct tbed_reader *reader = finish(writer, fd);
    struct tbed_suppressions *suppressions = suppressions_of(NULL, 0, true);
    struct tbed_allocations *allocations = analyse(reader, suppressions);
    uint64_t leaks = tbed_allocations_site(allocations, 0)->leak_count;
    uint64_t suppressed = 0;
    for (size_t i = 0; tbed_allocations_suppression(allocations, i) != NULL; i++) {
        assert_true(tbed_allocations_suppression(allocations, i)->is_built_in);
        suppressed += tbed_allocations_suppression(allocations, i)->count;
    }
    assert_int_equal(leaks + suppressed, count);
    tbed_allocations_close(allocations);
    tbed_suppressions_close(suppressions);
    tbed_reader_close(reader);
    return leaks;
}

static void the_pool_of_the_cpp_library_is_suppressed(void **state)
{
    static const uint32_t old_pool = 72704, new_pool = 73728, other = 72705, two[] = {72704, 72704};
    (void)state;
    assert_int_equal(count_leaks("/usr/lib/libstdc++.so.6.0.30", NULL, &old_pool, 1), 0);
    assert_int_equal(count_leaks("/usr/lib/libstdc++.so.6.0.30", NULL, &new_pool, 1), 0);
    assert_int_equal(count_leaks("/usr/lib/libstdc++.so.6.0.30", NULL, &other, 1), 1);
    assert_int_equal(count_leaks("/usr/lib/libstdc++.so.6.0.30", NULL, two, 2), 2);
    assert_int_equal(count_leaks("/usr/lib/libother.so", NULL, &old_pool, 1), 1);
    assert_int_equal(count_leaks("/usr/lib/libstdc++.so.6", "std::vector::grow", &old_pool, 1), 1);
    assert_int_equal(count_leaks("/usr/bin/static", "_GLOBAL__sub_I_eh_alloc.cc", &other, 1), 0);
}

static void what_the_c_library_keeps_is_suppressed_only_there(void **state)
{
    static const uint32_t nbytes = 100;
    static const char *const kept[] = {"setlocale", "dlerror",   "_IO_file_doallocate",
                                       "tzset",     "setenv",    "__cxa_atexit",
                                       "getpwuid",  "dcgettext", "__new_exitfn"};
    static const char *const others[] = {"fopen",  "getaddrinfo",  "dlopen",
                                         "strdup", "my_setlocale", "getline"};
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        assert_int_equal(count_leaks("/usr/lib/libc.so.6", kept[i], &nbytes, 1), 0);
        assert_int_equal(count_leaks("/usr/lib/libc-2.31.so", kept[i], &nbytes, 1), 0);
        assert_int_equal(count_leaks("/usr/bin/program", kept[i], &nbytes, 1), 1);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(count_leaks("/usr/lib/libc.so.6", others[i], &nbytes, 1), 1);
    assert_int_equal(count_leaks("/lib64/ld-linux-x86-64.so.2", "_dl_allocate_tls", &nbytes, 1), 0);
}

static void a_leak_whose_place_could_not_be_stored_is_one(void **state)
{
    static const uint32_t sizes[] = {72704, 100};
    (void)state;
    assert_int_equal(count_leaks(NULL, NULL, sizes, 2), 2);
    assert_int_equal(count_leaks(NULL, NULL, sizes, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_stacks_agree_with_their_frames_one_by_one),
        cmocka_unit_test(blocks_of_valgrind_agree_with_their_frames_one_by_one),
        cmocka_unit_test(blocks_of_valgrind_have_their_syntax),
        cmocka_unit_test(names_of_cpp_are_compared_as_they_are_mangled),
        cmocka_unit_test(whatever_allocation_fails_is_reported),
        cmocka_unit_test(patterns_are_those_of_leak_sanitizer),
        cmocka_unit_test(a_file_may_have_comments_and_its_wrong_lines_are_found),
        cmocka_unit_test(making_a_list_may_run_out_of_memory),
        cmocka_unit_test(the_pool_of_the_cpp_library_is_suppressed),
        cmocka_unit_test(what_the_c_library_keeps_is_suppressed_only_there),
        cmocka_unit_test(a_leak_whose_place_could_not_be_stored_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
