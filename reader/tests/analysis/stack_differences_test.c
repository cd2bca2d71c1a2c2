/*
 * The stacks of two traces by path, against a list of all paths of each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/random_trace.h"

#include <stdio.h>
#include <tracebed/analysis.h>
#include <tracebed/compare.h>

#define PATHS_MAX 20000u

/* One path: its labels, each followed by a separator, and its figures. */
struct path {
    char *text;
    uint64_t count, self, total;
};

struct paths {
    struct path items[PATHS_MAX];
    size_t count;
};

static char *join(const char *parent, const char *label)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%s;", parent, label) >= 0);
    return text;
}

static void list_paths(const struct tbed_stacks *stacks, struct paths *paths)
{
    const struct tbed_stack_row *row;
    for (paths->count = 0; (row = tbed_stacks_row(stacks, paths->count)) != NULL; paths->count++) {
        assert_true(paths->count < PATHS_MAX);
        const char *parent = row->parent == SIZE_MAX ? "" : paths->items[row->parent].text;
        paths->items[paths->count] =
            (struct path){join(parent, row->label), row->count, row->self_ticks, row->total_ticks};
    }
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i].text);
}

static const struct path *find_path(const struct paths *paths, const char *text)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i].text, text) == 0)
            return &paths->items[i];
    return NULL;
}

static void check_figures(const struct tbed_stack_figures *figures, const struct path *path)
{
    assert_int_equal(figures->present, path != NULL);
    assert_int_equal(figures->count, path != NULL ? path->count : 0);
    assert_int_equal(figures->self, path != NULL ? path->self : 0);
    assert_int_equal(figures->total, path != NULL ? path->total : 0);
}

static struct tbed_stacks *make_stacks(struct fixture *f, const char *root)
{
    struct tbed_stacks_options options = {.size = sizeof options, .root = root};
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_stacks *stacks = NULL;
    assert_int_equal(tbed_stacks_make(reader, &options, &stacks), TBED_OK);
    tbed_reader_close(reader);
    return stacks;
}

static void check_rows(const struct tbed_stack_differences *differences, const struct paths *before,
                       const struct paths *after)
{
    static char *texts[2 * PATHS_MAX];
    const struct tbed_stack_difference *row;
    size_t count = 0, both = 0;
    for (; (row = tbed_stack_differences_row(differences, count)) != NULL; count++) {
        assert_true(row->parent == SIZE_MAX ? row->depth == 0 : row->parent < count);
        texts[count] = join(row->parent == SIZE_MAX ? "" : texts[row->parent], row->label);
        const struct path *a = find_path(before, texts[count]), *b = find_path(after, texts[count]);
        check_figures(&row->before, a);
        check_figures(&row->after, b);
        assert_true(a != NULL || b != NULL);
        both += a != NULL && b != NULL;
    }
    assert_int_equal(count + both, before->count + after->count);
    assert_true(both > 3 && count > both + 3);
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
}

static void each_path_is_in_one_row(void **state)
{
    static struct paths before, after;
    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_trace(seed % ODD_COUNT, 8, false, seed);
        struct fixture *g = random_trace(seed % ODD_COUNT, 8, false, seed + 100);
        struct tbed_stacks *a = make_stacks(f, "root"), *b = make_stacks(g, "root");
        struct tbed_stack_differences *differences = NULL;
        list_paths(a, &before);
        list_paths(b, &after);
        assert_int_equal(tbed_stack_differences_make(a, NULL, b, NULL, &differences), TBED_OK);
        check_rows(differences, &before, &after);
        tbed_stack_differences_close(differences);
        free_paths(&before);
        free_paths(&after);
        tbed_stacks_close(a);
        tbed_stacks_close(b);
        fixture_free(f);
        fixture_free(g);
    }
}

static void single_roots_are_the_same_under_any_name(void **state)
{
    struct fixture *f = random_trace(ODD_NOTHING, 8, false, 1);
    struct tbed_stacks *a = make_stacks(f, "old"), *b = make_stacks(f, "new");
    struct tbed_stack_differences *differences = NULL;
    const struct tbed_stack_difference *row;
    (void)state;
    assert_int_equal(tbed_stack_differences_make(a, NULL, b, NULL, &differences), TBED_OK);
    assert_string_equal(tbed_stack_differences_row(differences, 0)->label, "new");
    for (size_t i = 0; (row = tbed_stack_differences_row(differences, i)) != NULL; i++) {
        assert_true(row->before.present && row->after.present);
        assert_int_equal(row->before.self, row->after.self);
    }
    tbed_stack_differences_close(differences);
    tbed_stack_differences_close(NULL);
    tbed_stacks_close(a);
    tbed_stacks_close(b);
    fixture_free(f);
}

static void trace_without_spans_has_only_missing_paths(void **state)
{
    struct fixture *f = fixture_new(4096), *g = random_trace(ODD_NOTHING, 8, false, 1);
    struct tbed_stacks *none = make_stacks(f, "root"), *some = make_stacks(g, "root");
    struct tbed_stack_differences *differences = NULL;
    const struct tbed_stack_difference *row;
    size_t count = 0;
    (void)state;
    assert_int_equal(tbed_stack_differences_make(some, NULL, none, NULL, &differences), TBED_OK);
    for (; (row = tbed_stack_differences_row(differences, count)) != NULL; count++)
        assert_true(row->before.present && (row->depth == 0 || !row->after.present));
    assert_true(count > 3);
    tbed_stack_differences_close(differences);
    assert_int_equal(tbed_stack_differences_make(none, NULL, none, NULL, &differences), TBED_OK);
    assert_null(tbed_stack_differences_row(differences, 1)); /* only the root */
    tbed_stack_differences_close(differences);
    tbed_stacks_close(none);
    tbed_stacks_close(some);
    fixture_free(f);
    fixture_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_is_in_one_row),
        cmocka_unit_test(single_roots_are_the_same_under_any_name),
        cmocka_unit_test(trace_without_spans_has_only_missing_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
