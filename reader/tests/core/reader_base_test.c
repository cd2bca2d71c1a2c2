/*
 * The growing array and the hash map, against plain arrays that are searched from the start.
 *
 * Keys are few and close together, or share their hash, so that runs of slots are long and wrap around; the map is
 * compared after each step, so that a removal that loses a displaced slot shows at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { KEYS = 300, STEPS = 20000 };

struct slot {
    uint64_t key;
    uint32_t value;
};

typedef TBED_HASHMAP(struct slot) slot_map;

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 10;
}

static uint64_t key_make(uint32_t number, unsigned shape)
{
    static const unsigned shifts[] = {0, 3, 12, 32, 50};
    return (uint64_t)(number + 1) << shifts[shape];
}

static void assert_same(const slot_map *map, const uint32_t *values, unsigned shape)
{
    size_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        const struct slot *slot = TBED_HASHMAP_FIND(map, key_make(i, shape));
        assert_int_equal(slot != NULL, values[i] != 0);
        if (slot != NULL)
            assert_int_equal(slot->value, values[i]);
        count += values[i] != 0;
    }
    assert_int_equal(map->map.count, count);
    for (const struct slot *slot = NULL; (slot = TBED_HASHMAP_NEXT(map, slot)) != NULL;)
        count--;
    assert_int_equal(count, 0);
}

static void a_map_holds_what_was_added_and_not_removed(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < 5; shape++) {
        slot_map map = {0};
        uint32_t values[KEYS] = {0}, random = shape + 1;
        for (uint32_t step = 1; step <= STEPS; step++) {
            uint32_t number = next_random(&random) % KEYS;
            uint64_t key = key_make(number, shape);
            bool is_removed = next_random(&random) % 3 == 0;
            struct slot *slot = is_removed ? TBED_HASHMAP_FIND(&map, key) : TBED_HASHMAP_ADD(&map, key);
            if (!is_removed) {
                assert_int_equal(slot->value, values[number]);
                slot->value = values[number] = step;
            } else if (slot != NULL) {
                TBED_HASHMAP_REMOVE(&map, slot);
                values[number] = 0;
            }
            if (step % 16 == 0)
                assert_same(&map, values, shape);
        }
        TBED_HASHMAP_CLEAR(&map);
        assert_null(TBED_HASHMAP_FIND(&map, key_make(0, shape)));
        assert_null(TBED_HASHMAP_NEXT(&map, NULL));
        tbed_hashmap_free(&map.map);
    }
}

static void all_slots_with_one_key_are_found(void **state)
{
    (void)state;
    slot_map map = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        struct slot *slot = TBED_HASHMAP_INSERT(&map, 1 + i % 7);
        assert_non_null(slot);
        slot->value = i;
    }
    for (uint64_t key = 1; key <= 7; key++) {
        bool seen[1000] = {false};
        size_t count = 0;
        for (struct slot *slot = TBED_HASHMAP_FIND(&map, key); slot != NULL; count++) {
            assert_int_equal(slot->value % 7, key - 1);
            assert_false(seen[slot->value]);
            seen[slot->value] = true;
            slot = TBED_HASHMAP_FIND_MORE(&map, slot);
        }
        assert_int_equal(count, 1000 / 7 + (key <= 1000 % 7));
    }
    assert_null(TBED_HASHMAP_FIND(&map, 8));
    tbed_hashmap_free(&map.map);
}

/* Nothing is allocated before the lent slots are 5/8 full; they are not freed. */
static void a_map_starts_in_memory_that_was_lent(void **state)
{
    (void)state;
    struct slot lent[16] = {0};
    slot_map map;
    TBED_HASHMAP_BORROW(&map, lent, 16);
    for (uint32_t i = 0; i < 10; i++)
        assert_non_null(TBED_HASHMAP_ADD(&map, tbed_hashmap_key32(i)));
    assert_ptr_equal(map.slots, lent);
    for (uint32_t i = 0; i < 100; i++)
        assert_non_null(TBED_HASHMAP_ADD(&map, tbed_hashmap_key32(i)));
    assert_ptr_not_equal(map.slots, lent);
    assert_int_equal(map.map.count, 100);
    tbed_hashmap_free(&map.map);
}

static void room_that_memory_cannot_hold_is_refused(void **state)
{
    (void)state;
    slot_map map = {0};
    assert_non_null(TBED_HASHMAP_ADD(&map, 5));
    assert_false(TBED_HASHMAP_RESERVE(&map, SIZE_MAX / 2 / sizeof(struct slot)));
    assert_false(TBED_HASHMAP_RESERVE(&map, SIZE_MAX / 2));
    assert_non_null(TBED_HASHMAP_FIND(&map, 5));
    tbed_hashmap_free(&map.map);

    TBED_VECTOR(struct slot) vector = {0};
    assert_non_null(TBED_VECTOR_PUSH(&vector));
    assert_null(TBED_VECTOR_EXTEND(&vector, SIZE_MAX));
    assert_null(TBED_VECTOR_EXTEND(&vector, SIZE_MAX / sizeof(struct slot)));
    assert_int_equal(vector.count, 1);
    tbed_vector_free(&vector.vector);
}

static void a_vector_keeps_its_items_when_it_grows(void **state)
{
    (void)state;
    TBED_VECTOR(uint32_t) vector = {0};
    uint32_t random = 1;
    for (uint32_t i = 0; i < 5000;) {
        uint32_t more = next_random(&random) % 40;
        uint32_t *items = TBED_VECTOR_EXTEND(&vector, more);
        for (uint32_t j = 0; j < more; j++)
            items[j] = i++;
        *(uint32_t *)TBED_VECTOR_PUSH(&vector) = i++;
    }
    for (uint32_t i = 0; i < vector.count; i++)
        assert_int_equal(vector.items[i], i);
    struct tbed_vector copy;
    assert_true(tbed_vector_copy(&vector.vector, sizeof *vector.items, &copy));
    assert_memory_equal(copy.items, vector.items, vector.count * sizeof *vector.items);
    tbed_vector_free(&copy);
    tbed_vector_free(&vector.vector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_holds_what_was_added_and_not_removed),
        cmocka_unit_test(all_slots_with_one_key_are_found),
        cmocka_unit_test(a_map_starts_in_memory_that_was_lent),
        cmocka_unit_test(room_that_memory_cannot_hold_is_refused),
        cmocka_unit_test(a_vector_keeps_its_items_when_it_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
