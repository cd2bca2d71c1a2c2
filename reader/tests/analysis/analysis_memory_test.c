/*
 * Out of memory in analyses: each allocation fails in turn, once. The analysis must report it, or compute the same as
 * with enough memory.
 *
 * The linker redirects the library's allocations to this file (--wrap); other allocations are unaffected.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"
#include "reader/tests/core/failing_memory.h"

#include <tracebed/analysis.h>

/* Returns the number of spans in all stacks and the label of the first root. */
static enum tbed_status use_stacks(struct tbed_reader *reader, uint64_t *span_count_ret, char first_root[16])
{
    struct tbed_stacks_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_stacks_totals totals;
    struct tbed_stacks *stacks;
    enum tbed_status status = tbed_stacks_make(reader, &options, &stacks);
    if (status != TBED_OK)
        return status;
    tbed_stacks_totals(stacks, &totals);
    *span_count_ret = totals.span_count;
    strncpy(first_root, tbed_stacks_row(stacks, 0)->label, 15);
    first_root[15] = '\0';
    tbed_stacks_close(stacks);
    return TBED_OK;
}

static void expect_the_same_stacks(struct tbed_reader *reader, const char *root)
{
    uint64_t expected, span_count;
    char first_root[16];
    bool was_reached = true;
    assert_int_equal(use_stacks(reader, &expected, first_root), TBED_OK);
    assert_string_equal(first_root, root);
    for (int failed = 0; was_reached; failed++) {
        calls_left = failed;
        enum tbed_status status = use_stacks(reader, &span_count, first_root);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_true(status == TBED_OK || (was_reached && status == TBED_ERR_MEMORY));
        if (status == TBED_OK) {
            assert_int_equal(span_count, expected);
            assert_string_equal(first_root, root);
        }
    }
}

/* The trace has blocks that store only the innermost open spans; the others must be looked up in earlier blocks. */
static void deep_spans_are_not_left_out_when_memory_runs_out(void **state)
{
    struct tbed_reader *reader;
    (void)state;
    assert_int_equal(tbed_reader_open("spec/golden/valid/recursion.tbed", NULL, &reader, NULL), TBED_OK);
    expect_the_same_stacks(reader, "golden");
    tbed_reader_close(reader);
}

static void a_root_gets_no_other_name_when_memory_runs_out(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t metadata = fixture_string(f, "{\"process_id\":1,\"cmd\":\"rustc\"}");
    fixture_record(f, TBED_RECORD_BIND, (uint32_t[]){TBED_ID_METADATA, 1, metadata, 0}, 4);
    fixture_begin(f, 1, 1, metadata);
    fixture_end(f, 1, 2, false);
    struct tbed_reader *reader = fixture_open(f);
    expect_the_same_stacks(reader, "rustc");
    tbed_reader_close(reader);
    fixture_free(f);
}

/* Records a counter of cache hits with one argument. */
static void count_hits(struct fixture *f, uint64_t tick, uint32_t label, uint32_t category)
{
    const uint64_t words[3] = {
        tbed_extended_head_make((struct tbed_extended_head){
            .type = TBED_EXT_COUNTER, .argument_count = 1, .nwords = 3, .aux = category}),
        TBED_ARG_U64 | 8 << 8 | (uint64_t)TBED_ID_INVALID << 32, 7};
    fixture_event(f, 1, tick, TBED_TAG_EXTENDED, label, words, 3);
}

static void cache_hits_are_complete_or_the_analysis_fails(void **state)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *statistics;
    bool was_reached = true;
    (void)state;
    struct fixture *f = fixture_new(4096);
    uint32_t label = fixture_string(f, "label"), category = fixture_string(f, "QueryCacheHitCount");
    for (uint64_t tick = 1; tick <= 3; tick++)
        count_hits(f, tick, label, category);
    struct tbed_reader *reader = fixture_open(f);
    for (int failed = 0; was_reached; failed++) {
        calls_left = failed;
        enum tbed_status status = tbed_statistics_make(reader, &options, &statistics);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_true(status == TBED_OK || (was_reached && status == TBED_ERR_MEMORY));
        if (status == TBED_OK) {
            assert_int_equal(tbed_statistics_span(statistics, 0)->cache_hits, 21);
            tbed_statistics_close(statistics);
        }
    }
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_spans_are_not_left_out_when_memory_runs_out),
        cmocka_unit_test(a_root_gets_no_other_name_when_memory_runs_out),
        cmocka_unit_test(cache_hits_are_complete_or_the_analysis_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
