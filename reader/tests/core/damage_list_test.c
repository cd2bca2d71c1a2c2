/*
 * Lists of damage that are put together.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void add(struct tbed_damage_list *list, enum tbed_status status, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct tbed_damage damage = {.status = status, .offset = 8 * i};
        tbed_damage_list_add(list, &damage);
    }
}

static void a_place_that_could_not_be_kept_counts_once(void **state)
{
    enum { MORE = 7 };
    struct tbed_damage_list all, part;
    (void)state;
    assert_true(tbed_damage_list_make(&all) && tbed_damage_list_make(&part));
    add(&part, TBED_ERR_EVENT_TICK, TBED_DAMAGE_KEPT_MAX + MORE);
    add(&all, TBED_ERR_EVENT_TICK, 2);
    for (int i = 0; i < 3; i++) {
        tbed_damage_list_join(&all, &part);
        assert_int_equal(all.count, TBED_DAMAGE_KEPT_MAX + MORE);
        assert_int_equal(all.kept.count, TBED_DAMAGE_KEPT_MAX);
    }
    tbed_damage_list_free(&all);
    tbed_damage_list_free(&part);
}

static void the_first_damage_is_the_first_of_the_first_list(void **state)
{
    struct tbed_damage_list all, parts[2];
    (void)state;
    assert_true(tbed_damage_list_make(&all));
    for (int i = 0; i < 2; i++)
        assert_true(tbed_damage_list_make(&parts[i]));
    add(&parts[0], TBED_ERR_EVENT_ZERO, 1);
    add(&parts[0], TBED_ERR_EVENT_TAG, 1);
    add(&parts[1], TBED_ERR_EVENT_TICK, 1);
    parts[0].kept.count = 0; /* as if there had been no memory for them */
    for (int i = 0; i < 2; i++) {
        tbed_damage_list_join(&all, &parts[i]);
        tbed_damage_list_free(&parts[i]);
    }
    assert_int_equal(all.first, TBED_ERR_EVENT_ZERO);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.kept.count, 1);
    tbed_damage_list_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_that_could_not_be_kept_counts_once),
        cmocka_unit_test(the_first_damage_is_the_first_of_the_first_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
