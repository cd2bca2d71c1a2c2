/*
 * Which options of a writer go together: each rule at its limits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/layout.h"
#include "writer/life/writer_options.h"
#include "writer/tests/support.h"

static uint64_t no_clock(void)
{
    return 0;
}

static const struct {
    struct tbed_writer_options options;
    bool has_no_path, is_refused;
} cases[] = {
    {{0}, .is_refused = false},
    {{0}, .has_no_path = true},
    {{.page_nbytes = TBED_PAGE_NBYTES_MIN}, .is_refused = false},
    {{.page_nbytes = TBED_PAGE_NBYTES_MAX}, .is_refused = false},
    {{.page_nbytes = TBED_PAGE_NBYTES_MIN / 2}, .is_refused = true},
    {{.page_nbytes = TBED_PAGE_NBYTES_MAX * 2}, .is_refused = true},
    {{.page_nbytes = 3 * TBED_PAGE_NBYTES_MIN}, .is_refused = true},
    {{.page_nbytes = 1}, .is_refused = true},
    {{.clock = TBED_CLOCK_MONOTONIC}, .is_refused = false},
    {{.clock = TBED_CLOCK_USER, .user_clock = no_clock}, .is_refused = false},
    {{.clock = TBED_CLOCK_USER}, .is_refused = true},
    {{.user_clock = no_clock}, .is_refused = true},
    {{.clock = TBED_CLOCK_MONOTONIC, .user_clock = no_clock}, .is_refused = true},
    {{.clock = (enum tbed_clock)77}, .is_refused = true},
    {{.first_reserved_id = TBED_ID_MAX_RESERVED}, .is_refused = false},
    {{.first_reserved_id = TBED_ID_MAX_RESERVED + 1}, .is_refused = true},
    {{.overwrite = true}, .is_refused = false},
    {{.join = true}, .is_refused = false},
    {{.overwrite = true, .join = true}, .is_refused = true},
    {{.join = true, .annotate = true}, .is_refused = false},
    {{.annotate = true}, .is_refused = true},
    {{.user_clock_unit = ""}, .is_refused = false},
    {{.user_clock_unit = " ~"}, .is_refused = false},
    {{.user_clock_unit = "sixteen letters!"}, .is_refused = false},
    {{.user_clock_unit = "seventeen letters"}, .is_refused = true},
    {{.user_clock_unit = "\x1F"}, .is_refused = true},
    {{.user_clock_unit = "\x7F"}, .is_refused = true},
    {{.user_clock_unit = "\xC3\xA9"}, .is_refused = true},
    {{.given_ticks = true}, .is_refused = false},
    {{.given_ticks = true, .join = true}, .is_refused = true},
    {{.given_ticks = true, .clock = TBED_CLOCK_MONOTONIC}, .is_refused = true},
    {{.given_ticks = true, .given_ticks_per_second = 999}, .is_refused = true},
    {{.given_ticks = true, .given_ticks_per_second = 1000}, .is_refused = false},
    {{.given_ticks = true, .given_ticks_per_second = 1000000000000}, .is_refused = false},
    {{.given_ticks = true, .given_ticks_per_second = 1000000000001}, .is_refused = true},
    {{.given_ticks = true, .given_resolution_ns = TBED_RESOLUTION_NS_MAX}, .is_refused = false},
    {{.given_ticks = true, .given_resolution_ns = TBED_RESOLUTION_NS_MAX + 1}, .is_refused = true},
    {{.rotate = true}, .is_refused = false},
    {{.rotate_nbytes = 1}, .is_refused = false},
    {{.rotate_interval_ns = 1}, .is_refused = false},
    {{.rotate = true}, .has_no_path = true, .is_refused = true},
    {{.rotate_nbytes = 1}, .has_no_path = true, .is_refused = true},
    {{.rotate_interval_ns = 1}, .has_no_path = true, .is_refused = true},
    {{.rotate = true, .join = true}, .is_refused = true},
    {{.rotate = true, .given_ticks = true}, .is_refused = true},
    {{.rotate = true, .ring_nbytes = 1}, .is_refused = true},
    {{.ring_nbytes = 1}, .is_refused = false},
    {{.rotate = true, .rotate_keep = 1}, .is_refused = false},
    {{.rotate = true, .rotate_keep = 1000000}, .is_refused = false},
    {{.rotate = true, .rotate_keep = 1000001}, .is_refused = true},
    {{.rotate_keep = 1}, .is_refused = true},
};

static void each_rule_holds_at_its_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = cases[i].has_no_path ? NULL : "trace.tbed";
        if (tbed_options_are_allowed(&cases[i].options, path) == cases[i].is_refused)
            fail_msg("case %zu should be %s", i, cases[i].is_refused ? "refused" : "allowed");
    }
}

static void any_of_three_options_wants_rotation(void **state)
{
    (void)state;
    assert_false(tbed_options_want_rotation(&(struct tbed_writer_options){.rotate_keep = 1}));
    assert_true(tbed_options_want_rotation(&(struct tbed_writer_options){.rotate = true}));
    assert_true(tbed_options_want_rotation(&(struct tbed_writer_options){.rotate_nbytes = 1}));
    assert_true(tbed_options_want_rotation(&(struct tbed_writer_options){.rotate_interval_ns = 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_holds_at_its_limits),
        cmocka_unit_test(any_of_three_options_wants_rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
