/*
 * Time by stack. Random trees of spans are written in both forms of the format, as whole spans and as begins and
 * ends, over many small blocks; the times of their paths are known from the generator. Then everything that can be
 * wrong with spans: overlaps, inversions, ends without a begin, invalid labels, nesting that never ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <stdio.h>
#include <tracebed/analysis.h>

#define SPAN(f, stream, begin, end, id)                                                                      \
    do {                                                                                                     \
        uint64_t begin_tick_ = (begin);                                                                      \
        fixture_extended(f, stream, end, id, TBED_EXT_SPAN, 0, &begin_tick_, 1);                             \
    } while (0)

/* "a;b self\n…" in the order of rows: the caller frees it. */
static char *fold(const struct tbed_stacks *stacks)
{
    static char path[1 << 20];
    static size_t ends[2048];
    const struct tbed_stack_row *row;
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    assert_non_null(out);
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++) {
        size_t at = row->depth > 0 ? ends[row->depth - 1] : 0;
        at += (size_t)snprintf(path + at, sizeof path - at, "%s%s", row->depth > 0 ? ";" : "", row->label);
        ends[row->depth] = at;
        fprintf(out, "%s %llu\n", path, (unsigned long long)row->self_ticks);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static struct tbed_stacks *analyse_with(struct fixture *f, const struct tbed_stacks_options *options)
{
    struct tbed_stacks *stacks = NULL;
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_stacks_make(reader, options, &stacks), TBED_OK);
    tbed_reader_close(reader); /* a result is independent of the reader */
    return stacks;
}

static struct tbed_stacks *analyse(struct fixture *f)
{
    return analyse_with(f, NULL);
}

/* Analyses, compares, and frees the trace. */
static struct tbed_stacks_totals expect_folded(struct fixture *f, const struct tbed_stacks_options *options,
                                               const char *expected)
{
    struct tbed_stacks_totals totals;
    struct tbed_stacks *stacks = analyse_with(f, options);
    char *folded = fold(stacks);
    tbed_stacks_totals(stacks, &totals);
    assert_string_equal(folded, expected);
    free(folded);
    tbed_stacks_close(stacks);
    fixture_free(f);
    return totals;
}

#define ROOT "<no process>"

/* ---- How spans nest ---- */

static void whole_spans_nest_by_their_bounds(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a"), b = fixture_string(f, "b"), c = fixture_string(f, "c");
    SPAN(f, 1, 120, 180, c);
    SPAN(f, 1, 110, 190, b);
    SPAN(f, 1, 100, 200, a);
    struct tbed_stacks_totals totals =
        expect_folded(f, NULL, ROOT " 0\n" ROOT ";a 20\n" ROOT ";a;b 20\n" ROOT ";a;b;c 60\n");
    assert_int_equal(totals.span_count, 3);
    assert_int_equal(totals.stream_count, 1);
    assert_int_equal(totals.overlap_count + totals.negative_count + totals.inverted_count, 0);
}

static void of_equal_spans_the_later_is_the_parent(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t child = fixture_string(f, "c"), parent = fixture_string(f, "p");
    SPAN(f, 1, 10, 20, child);
    SPAN(f, 1, 10, 20, parent);
    expect_folded(f, NULL, ROOT " 0\n" ROOT ";p 0\n" ROOT ";p;c 10\n");
}

static void spans_of_one_label_are_one_stack_and_recursion_is_deeper(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "f\x1e"
                                   "one"),
             b = fixture_string(f, "f\x1e"
                                   "two");
    SPAN(f, 1, 10, 20, a);
    SPAN(f, 1, 30, 35, b);
    SPAN(f, 1, 0, 100, b);
    SPAN(f, 1, 150, 170, a);
    struct tbed_stacks *stacks = analyse(f);
    const struct tbed_stack_row *root = tbed_stacks_row(stacks, 0), *outer = tbed_stacks_row(stacks, 1),
                                *inner = tbed_stacks_row(stacks, 2);
    assert_null(tbed_stacks_row(stacks, 3));
    assert_int_equal(root->self_ticks, 50);
    assert_int_equal(root->total_ticks, 170);
    assert_int_equal(root->count, 1);
    assert_int_equal(root->parent, SIZE_MAX);
    assert_int_equal(outer->self_ticks, 105);
    assert_int_equal(outer->total_ticks, 120);
    assert_int_equal(outer->count, 2);
    assert_int_equal(outer->parent, 0);
    assert_int_equal(inner->self_ticks, 15);
    assert_int_equal(inner->count, 2);
    assert_int_equal(inner->parent, 1);
    assert_int_equal(inner->depth, 2);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

/* ---- Random trees against what they were made of ---- */

struct known {
    char path[256];
    uint64_t self;
};

struct making {
    struct fixture *f;
    uint32_t ids[4];
    uint64_t random, now[FIXTURE_STREAMS + 1];
    bool whole;
    struct known known[4096];
    size_t known_count;
};

static void know(struct making *making, const char *path, uint64_t self)
{
    size_t i = 0;
    while (i < making->known_count && strcmp(making->known[i].path, path) != 0)
        i++;
    if (i == making->known_count) {
        assert_true(i < 4096);
        snprintf(making->known[making->known_count++].path, sizeof making->known[0].path, "%s", path);
    }
    making->known[i].self += self;
}

/* A span with up to three in it, each at its own ticks; gives its time. */
static uint64_t grow_span(struct making *making, uint32_t stream, const char *parent, unsigned depth)
{
    char path[256];
    uint32_t which = fixture_random(&making->random) % 4;
    uint64_t begin = making->now[stream] += 1 + fixture_random(&making->random) % 50, inner = 0;
    snprintf(path, sizeof path, "%s;%c", parent, (char)('a' + which));
    if (!making->whole)
        fixture_begin(making->f, stream, begin, making->ids[which]);
    for (uint32_t i = depth < 6 ? fixture_random(&making->random) % 4 : 0; i > 0; i--)
        inner += grow_span(making, stream, path, depth + 1);
    uint64_t end = making->now[stream] += 1 + fixture_random(&making->random) % 50;
    if (making->whole)
        SPAN(making->f, stream, begin, end, making->ids[which]);
    else
        fixture_end(making->f, stream, end, fixture_random(&making->random) % 8 == 0);
    know(making, path, end - begin - inner);
    return end - begin;
}

static int compare_known(const void *left, const void *right)
{
    /* In the order of paths, in which "a;b" sorts before "a!"; no label here has such bytes. */
    return strcmp(((const struct known *)left)->path, ((const struct known *)right)->path);
}

static char *known_text(struct making *making)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    qsort(making->known, making->known_count, sizeof making->known[0], compare_known);
    for (size_t i = 0; i < making->known_count; i++)
        fprintf(out, "%s %llu\n", making->known[i].path, (unsigned long long)making->known[i].self);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_known(struct making *making, unsigned thread_count)
{
    struct tbed_stacks_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_stacks *stacks = analyse_with(making->f, &options);
    char *folded = fold(stacks), *expected = known_text(making);
    assert_string_equal(folded, expected);
    free(folded);
    free(expected);
    tbed_stacks_close(stacks);
}

static void random_trees_come_out_as_they_were_made(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct making *making = calloc(1, sizeof *making);
        assert_non_null(making);
        making->f = fixture_new(4096);
        making->random = seed * 7919;
        making->whole = seed % 2 == 0;
        for (uint32_t i = 0; i < 4; i++)
            making->ids[i] = fixture_string(making->f, (char[]){(char)('a' + i), '\0'});
        for (uint32_t stream = 1; stream <= 3; stream++) {
            uint64_t spans = 0, first = making->now[stream] = 100 * stream;
            for (uint32_t i = 0; i < 40; i++) {
                uint64_t gap_begin = making->now[stream];
                uint64_t span = grow_span(making, stream, ROOT, 1);
                first = i == 0 ? making->now[stream] - span : first;
                assert_true(gap_begin < making->now[stream]);
                spans += span;
            }
            know(making, ROOT, making->now[stream] - first - spans);
        }
        expect_known(making, 1);
        expect_known(making, 3);
        fixture_free(making->f);
        free(making);
    }
}

/* ---- What does not nest ---- */

/* Two spans that overlap, in a third. */
static struct fixture *make_overlapping(void)
{
    struct fixture *f = fixture_new(4096);
    uint32_t p = fixture_string(f, "p"), c1 = fixture_string(f, "c1"), c2 = fixture_string(f, "c2");
    SPAN(f, 1, 0, 9, c1);
    SPAN(f, 1, 1, 10, c2);
    SPAN(f, 1, 0, 10, p);
    return f;
}

static void spans_that_overlap_are_siblings_and_what_is_missing_counts_as_0(void **state)
{
    (void)state;
    struct fixture *f = make_overlapping();
    struct tbed_stacks_totals totals =
        expect_folded(f, NULL, ROOT " 0\n" ROOT ";p 0\n" ROOT ";p;c1 9\n" ROOT ";p;c2 9\n");
    assert_int_equal(totals.overlap_count, 1);
    assert_int_equal(totals.negative_count, 1);
}

static void totals_are_never_less_than_what_is_in_them(void **state)
{
    (void)state;
    struct fixture *f = make_overlapping();
    struct tbed_stacks *stacks = analyse(f);
    assert_int_equal(tbed_stacks_row(stacks, 1)->total_ticks, 18);
    assert_int_equal(tbed_stacks_row(stacks, 0)->total_ticks, 18);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

static void inverted_spans_have_no_time(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a"), b = fixture_string(f, "b");
    SPAN(f, 1, 50, 40, a);
    SPAN(f, 1, 30, 60, b);
    struct tbed_stacks_totals totals = expect_folded(f, NULL, ROOT " 0\n" ROOT ";b 30\n" ROOT ";b;a 0\n");
    assert_int_equal(totals.inverted_count, 1);
    assert_int_equal(totals.negative_count, 0);
}

static void spans_that_never_end_or_began_unseen_are_counted(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a"), main_id = fixture_string(f, "main");
    fixture_begin(f, 1, 10, main_id);
    fixture_begin(f, 1, 20, a);
    fixture_end(f, 1, 30, false);
    fixture_instant(f, 1, 35, a);
    fixture_event(f, 2, 5, TBED_TAG_END, a, NULL, 0);
    struct tbed_stacks_totals totals =
        expect_folded(f, NULL, ROOT " 0\n" ROOT ";main 15\n" ROOT ";main;a 10\n");
    assert_int_equal(totals.open_count, 1);
    assert_int_equal(totals.unknown_count, 1);
    assert_int_equal(totals.other_count, 1);
    assert_int_equal(totals.span_count, 2);
    assert_int_equal(totals.stream_count, 1);
}

static void spans_deeper_than_a_block_stores_are_known_all_the_same(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096); /* a block stores 64 */
    uint32_t a = fixture_string(f, "a");
    for (uint64_t i = 0; i < 200; i++)
        fixture_begin(f, 1, 1 + i, a);
    for (uint64_t i = 0; i < 2000; i++)
        fixture_instant(f, 1, 1000 + i, a);
    for (uint64_t i = 0; i < 150; i++)
        fixture_end(f, 1, 5000 + i, false);
    struct tbed_stacks_totals totals;
    struct tbed_stacks *stacks = analyse(f);
    tbed_stacks_totals(stacks, &totals);
    assert_int_equal(totals.span_count, 200);
    assert_int_equal(totals.open_count, 50);
    assert_int_equal(totals.unknown_count, 0);
    assert_int_equal(tbed_stacks_row(stacks, 0)->total_ticks, 5149 - 1);
    assert_int_equal(tbed_stacks_row(stacks, 200)->self_ticks, 5000 - 200);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

static void a_block_that_is_missing_takes_only_its_own(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a"), main_id = fixture_string(f, "main");
    f->left_open = true; /* nothing may be missing in a file that was closed */
    fixture_begin(f, 1, 1000, main_id);
    for (uint64_t i = 0; i < 2000; i++)
        SPAN(f, 1, 2000 + 10 * i, 2005 + 10 * i, a);
    fixture_end(f, 1, 100000, true);
    size_t second = 0;
    for (size_t page = 1; page < f->page_count; page++) {
        const struct tbed_disk_block *block = (const void *)fixture_page(f, page);
        if (block->kind == TBED_BLOCK_EVENTS && tbed_le32_load(block->sequence) == 1)
            second = page;
    }
    assert_true(second > 0);
    fixture_page(f, second)[9] ^= 1; /* its file id */
    struct tbed_stacks_totals totals;
    struct tbed_stacks *stacks = analyse(f);
    tbed_stacks_totals(stacks, &totals);
    assert_in_range(totals.span_count, 1500, 1990);
    assert_string_equal(tbed_stacks_row(stacks, 1)->label, "main");
    assert_int_equal(tbed_stacks_row(stacks, 1)->total_ticks, 99000);
    assert_int_equal(tbed_stacks_row(stacks, 2)->count, totals.span_count - 1);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

static void times_beyond_64_bits_stay_the_largest(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a");
    for (uint32_t stream = 1; stream <= 3; stream++)
        SPAN(f, stream, 0, UINT64_MAX, a);
    struct tbed_stacks *stacks = analyse(f);
    assert_int_equal(tbed_stacks_row(stacks, 0)->total_ticks, UINT64_MAX);
    assert_int_equal(tbed_stacks_row(stacks, 1)->self_ticks, UINT64_MAX);
    assert_int_equal(tbed_stacks_row(stacks, 1)->count, 3);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

static void what_is_too_deep_is_put_together(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a");
    const uint64_t depth = 3000;
    for (uint64_t i = depth; i-- > 0;)
        SPAN(f, 1, i, 2 * depth - i, a);
    struct tbed_stacks_totals totals;
    struct tbed_stacks *stacks = analyse(f);
    tbed_stacks_totals(stacks, &totals);
    assert_int_equal(totals.deep_count, depth - TBED_STACK_DEPTH_MAX);
    assert_int_equal(totals.span_count, depth);
    const struct tbed_stack_row *last = tbed_stacks_row(stacks, TBED_STACK_DEPTH_MAX + 1);
    assert_null(tbed_stacks_row(stacks, TBED_STACK_DEPTH_MAX + 2));
    assert_string_equal(last->label, "<deeper>");
    assert_int_equal(last->count, depth - TBED_STACK_DEPTH_MAX);
    assert_int_equal(last->self_ticks, 2 * (depth - TBED_STACK_DEPTH_MAX));
    assert_int_equal(tbed_stacks_row(stacks, 0)->total_ticks, 2 * depth);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

static void rows_are_as_many_as_paths_whatever_the_events(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(65536);
    uint32_t a = fixture_string(f, "a"), b = fixture_string(f, "b");
    for (uint64_t i = 0; i < 100000; i++) {
        SPAN(f, 1, 10 * i + 2, 10 * i + 5, b);
        SPAN(f, 1, 10 * i, 10 * i + 10, a);
    }
    expect_folded(f, NULL, ROOT " 0\n" ROOT ";a 700000\n" ROOT ";a;b 300000\n");
}

/* ---- Labels ---- */

static void labels_that_are_none_read_as_in_profiles(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    SPAN(f, 1, 0, 1,
         fixture_string(f, "good\x1e"
                           "x"));
    SPAN(f, 1, 10, 12, fixture_string(f, ""));
    SPAN(f, 1, 20, 23,
         fixture_string(f, "\x1e"
                           "only an argument"));
    SPAN(f, 1, 30, 34, fixture_string(f, "bell\a"));
    SPAN(f, 1, 40, 45, 1234);            /* bound to nothing, where nothing is bound */
    SPAN(f, 1, 50, 56, TBED_ID_INVALID); /* nothing at all */
    expect_folded(f, NULL,
                  ROOT " 35\n" ROOT ";<id 1234> 5\n" ROOT ";<parse error> 9\n" ROOT ";<unknown> 6\n" ROOT
                       ";good 1\n");
}

static void long_labels_are_whole(void **state)
{
    (void)state;
    char text[3001] = "xy";
    for (size_t i = 0; i < 999; i++)
        memcpy(text + 2 + 3 * i, "\xE2\x82\xAC", 4);
    struct fixture *f = fixture_new(4096);
    SPAN(f, 1, 0, 1, fixture_string(f, text));
    struct tbed_stacks *stacks = analyse(f);
    const struct tbed_stack_row *row = tbed_stacks_row(stacks, 1);
    assert_int_equal(row->label_nbytes, strlen(text));
    assert_string_equal(row->label, text);
    tbed_stacks_close(stacks);
    fixture_free(f);
}

/* ---- Roots, and what is asked for ---- */

static void streams_are_chosen_and_threads_told_apart(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t a = fixture_string(f, "a");
    fixture_process(f, 1, 77);
    for (uint32_t stream = 2; stream <= 3; stream++)
        fixture_record(f, TBED_RECORD_STREAM,
                       (uint32_t[]){stream, 1, TBED_STREAM_THREAD, 100 + stream, TBED_ID_INVALID, 0, 0, 0},
                       8);
    SPAN(f, 2, 0, 10, a);
    SPAN(f, 3, 100, 105, a);
    const uint32_t only = 3;
    struct tbed_stacks_options options = {.size = sizeof options, .root = "r", .per_thread = true};
    struct tbed_stacks *stacks = analyse_with(f, &options);
    char *folded = fold(stacks);
    assert_string_equal(folded, "r 0\nr;thread 102 0\nr;thread 102;a 10\nr;thread 103 0\nr;thread 103;a 5\n");
    free(folded);
    tbed_stacks_close(stacks);
    options.per_thread = false;
    options.streams = &only;
    options.stream_count = 1;
    expect_folded(f, &options, "r 0\nr;a 5\n");
}

/* INVALID is an id like others: the lowest of a label whose spans have it, in whatever order they come. */
static void the_lowest_id_of_a_label_does_not_depend_on_the_order(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct fixture *f = fixture_new(4096);
        uint32_t low = fixture_string(f, "<unknown>"), high = fixture_string(f, "<unknown>");
        uint32_t ids[] = {TBED_ID_INVALID, high, low};
        for (int i = 0; i < 3; i++)
            SPAN(f, 1, (uint64_t)i * 10, (uint64_t)i * 10 + 5, ids[order == 0 ? i : 2 - i]);
        struct tbed_stacks *stacks = analyse(f);
        assert_int_equal(tbed_stacks_row(stacks, 0)->id, TBED_ID_INVALID); /* has none */
        assert_int_equal(tbed_stacks_row(stacks, 1)->count, 3);
        assert_int_equal(tbed_stacks_row(stacks, 1)->id, TBED_ID_INVALID);
        tbed_stacks_close(stacks);
        fixture_free(f);
    }
}

static void a_trace_without_spans_has_no_rows(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    fixture_instant(f, 1, 10, fixture_string(f, "a"));
    struct tbed_stacks_totals totals = expect_folded(f, NULL, "");
    assert_int_equal(totals.other_count, 1);
    f = fixture_new(4096);
    struct tbed_stacks_options options = {.size = sizeof options, .root = "rustc"};
    expect_folded(f, &options, "rustc 0\n"); /* as measureme's tool prints it */
}

static void options_of_no_size_are_refused(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_stacks_options options = {.size = 0};
    struct tbed_stacks *stacks = NULL;
    assert_int_equal(tbed_stacks_make(reader, &options, &stacks), TBED_ERR_ARGUMENT);
    assert_null(stacks);
    tbed_reader_close(reader);
    fixture_free(f);
    tbed_stacks_close(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(whole_spans_nest_by_their_bounds),
        TEST(of_equal_spans_the_later_is_the_parent),
        TEST(spans_of_one_label_are_one_stack_and_recursion_is_deeper),
        TEST(random_trees_come_out_as_they_were_made),
        TEST(spans_that_overlap_are_siblings_and_what_is_missing_counts_as_0),
        TEST(totals_are_never_less_than_what_is_in_them),
        TEST(inverted_spans_have_no_time),
        TEST(spans_that_never_end_or_began_unseen_are_counted),
        TEST(spans_deeper_than_a_block_stores_are_known_all_the_same),
        TEST(a_block_that_is_missing_takes_only_its_own),
        TEST(times_beyond_64_bits_stay_the_largest),
        TEST(what_is_too_deep_is_put_together),
        TEST(rows_are_as_many_as_paths_whatever_the_events),
        TEST(labels_that_are_none_read_as_in_profiles),
        TEST(long_labels_are_whole),
        TEST(streams_are_chosen_and_threads_told_apart),
        TEST(the_lowest_id_of_a_label_does_not_depend_on_the_order),
        TEST(a_trace_without_spans_has_no_rows),
        TEST(options_of_no_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
