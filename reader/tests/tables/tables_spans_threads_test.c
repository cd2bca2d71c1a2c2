/*
 * The table of spans has the spans of the assembler, with the times that they have in a slow list of all of them, in both
 * orders, whatever the number of threads, and no constraint loses a row that it allows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/span_list.h"
#include "reader/tests/tables/table_sums.h"

#include <stdio.h>

struct row {
    int64_t ts, dur, end, self, depth, parent, id, track;
    char label[32];
    bool is_open, is_unknown;
};

struct rows {
    struct row *items;
    size_t count, room;
};

/* ---- Rows of a scan ---- */

static int64_t number_of(const struct tbed_table *table, const struct tbed_batch *batch, const char *name,
                         size_t row)
{
    uint32_t column = table_column(table, name);
    return table_is_null(batch, column, row) ? -1 : batch->columns[column].i64[row];
}

static void take_row(struct rows *rows, const struct tbed_scan *scan, const struct tbed_table *table,
                     const struct tbed_batch *batch, size_t at)
{
    const char *label;
    size_t nbytes;
    uint32_t ts = table_column(table, "ts"), dur = table_column(table, "dur");
    if (rows->count == rows->room) {
        rows->room = rows->room * 2 + 64;
        rows->items = realloc(rows->items, rows->room * sizeof *rows->items);
        assert_non_null(rows->items);
    }
    struct row *row = &rows->items[rows->count++];
    *row = (struct row){.ts = number_of(table, batch, "ts", at),
                        .dur = number_of(table, batch, "dur", at),
                        .end = number_of(table, batch, "end_ts", at),
                        .self = number_of(table, batch, "self", at),
                        .depth = number_of(table, batch, "depth", at),
                        .parent = number_of(table, batch, "parent", at),
                        .id = number_of(table, batch, "id", at),
                        .track = number_of(table, batch, "track", at),
                        .is_open = number_of(table, batch, "is_open", at) == 1,
                        .is_unknown = table_is_null(batch, ts, at)};
    assert_int_equal(table_is_null(batch, dur, at), row->is_open || row->is_unknown);
    tbed_scan_name(scan, batch->columns[table_column(table, "label")].codes[at], &label, &nbytes);
    assert_true(nbytes < sizeof row->label);
    memcpy(row->label, label, nbytes);
}

static struct rows rows_of(struct tbed_tables *tables, const struct tbed_scan_options *options)
{
    const struct tbed_table *table = tbed_table_find("spans");
    struct rows rows = {0};
    struct tbed_scan *scan;
    struct tbed_batch batch;
    enum tbed_status status;
    assert_int_equal(tbed_scan_open(tables, table, options, &scan, NULL), TBED_OK);
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        assert_in_range(batch.row_count, 1, TBED_BATCH_ROWS_MAX);
        for (size_t i = 0; i < batch.row_count; i++)
            take_row(&rows, scan, table, &batch, i);
    }
    assert_int_equal(status, TBED_END);
    tbed_scan_close(scan);
    return rows;
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static void sort(struct rows *rows)
{
    if (rows->count > 1)
        qsort(rows->items, rows->count, sizeof *rows->items, compare_rows);
}

static void expect_same_row(const struct row *a, const struct row *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->ts, b->ts);
    assert_int_equal(a->dur, b->dur);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->self, b->self);
    assert_int_equal(a->depth, b->depth);
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(a->track, b->track);
    assert_string_equal(a->label, b->label);
    assert_true(a->is_open == b->is_open && a->is_unknown == b->is_unknown);
}

static void expect_same_rows(const struct rows *left, const struct rows *right)
{
    assert_int_equal(left->count, right->count);
    for (size_t i = 0; i < left->count; i++)
        expect_same_row(&left->items[i], &right->items[i]);
}

/* ---- Against the list ---- */

/* By the rows' own order: stream, end, begin, label, kind. */
static int compare_facts(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if (a->is_open + 2 * a->is_unknown != b->is_open + 2 * b->is_unknown)
        return a->is_open + 2 * a->is_unknown - (b->is_open + 2 * b->is_unknown);
    int order = strcmp(a->label, b->label);
    return order != 0 ? order : (a->self > b->self) - (a->self < b->self);
}

static struct row row_of(const struct tbed_reader *reader, const struct listed *item)
{
    struct row row = {.track = item->stream,
                      .end = tbed_ticks_to_ns(reader, item->end),
                      .ts = item->is_unknown ? -1 : tbed_ticks_to_ns(reader, item->begin),
                      .is_open = item->is_open,
                      .is_unknown = item->is_unknown};
    row.self = item->is_unknown ? -1 : (int64_t)(item->end - item->begin - item->children);
    if (item->id == TBED_ID_INVALID)
        strcpy(row.label, "<unknown>");
    else
        snprintf(row.label, sizeof row.label, "<id %u>", item->id);
    return row;
}

static void expect_list(struct tbed_reader *reader, const struct list *list, const struct rows *given)
{
    struct row *rows = calloc(list->count + 1, sizeof *rows), *own = calloc(list->count + 1, sizeof *own);
    assert_true(rows != NULL && own != NULL);
    assert_int_equal(given->count, list->count);
    for (size_t i = 0; i < list->count; i++) {
        rows[i] = row_of(reader, &list->items[i]);
        own[i] = given->items[i];
    }
    qsort(rows, list->count, sizeof *rows, compare_facts);
    qsort(own, list->count, sizeof *own, compare_facts);
    for (size_t i = 0; i < list->count; i++)
        assert_int_equal(compare_facts(&rows[i], &own[i]), 0);
    free(rows);
    free(own);
}

/* Parents are around their children, and their self times are what these leave of them. */
static void expect_nesting(const struct rows *rows)
{
    int64_t *left = calloc(rows->count + 1, sizeof *left);
    assert_non_null(left);
    for (size_t i = 0; i < rows->count; i++)
        left[i] += rows->items[i].is_unknown ? -1 : rows->items[i].end - rows->items[i].ts;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i], key = {.id = row->parent};
        if (i > 0)
            assert_true(row->id > rows->items[i - 1].id);
        if (row->parent < 0) {
            assert_int_equal(row->depth, row->is_unknown ? -1 : 0);
            continue;
        }
        const struct row *parent = bsearch(&key, rows->items, rows->count, sizeof key, compare_rows);
        assert_non_null(parent);
        assert_int_equal(parent->track, row->track);
        assert_int_equal(parent->depth + 1, row->depth);
        assert_true(parent->ts <= row->ts && row->end <= parent->end);
        left[parent - rows->items] -= row->end - row->ts;
    }
    for (size_t i = 0; i < rows->count; i++)
        assert_int_equal(left[i], rows->items[i].self);
    free(left);
}

/* ---- Constraints ---- */

static int64_t value_of(const struct row *row, const char *column)
{
    return strcmp(column, "ts") == 0      ? row->ts
           : strcmp(column, "dur") == 0   ? row->dur
           : strcmp(column, "depth") == 0 ? row->depth
           : strcmp(column, "id") == 0    ? row->id
           : strcmp(column, "track") == 0 ? row->track
                                          : row->parent;
}

static bool holds(const struct row *row, const char *name, const struct tbed_constraint *constraint)
{
    if (constraint->is_text)
        return strlen(row->label) == constraint->nbytes &&
               memcmp(row->label, constraint->text, constraint->nbytes) == 0;
    int64_t value = value_of(row, name);
    bool is_null = strcmp(name, "ts") == 0    ? row->is_unknown
                   : strcmp(name, "dur") == 0 ? row->is_unknown || row->is_open
                                              : value < 0;
    if (is_null)
        return false;
    switch (constraint->compare) {
    case TBED_EQUAL:
        return value == constraint->number;
    case TBED_LESS:
        return value < constraint->number;
    case TBED_LESS_EQUAL:
        return value <= constraint->number;
    case TBED_GREATER:
        return value > constraint->number;
    default:
        return value >= constraint->number;
    }
}

/* The rows that satisfy both constraints, 'names' being their columns. */
static struct rows chosen(const struct rows *all, const char *const names[2],
                          const struct tbed_constraint constraints[2])
{
    struct rows rows = {calloc(all->count + 1, sizeof *rows.items), 0, all->count};
    assert_non_null(rows.items);
    for (size_t i = 0; i < all->count; i++)
        if (holds(&all->items[i], names[0], &constraints[0]) &&
            holds(&all->items[i], names[1], &constraints[1]))
            rows.items[rows.count++] = all->items[i];
    return rows;
}

static void expect_constraints(struct tbed_tables *tables, const struct rows *all, uint64_t *random)
{
    static const char *const columns[] = {"ts", "dur", "depth", "track", "parent", "label", "id"};
    struct tbed_constraint constraints[2];
    const char *names[2];
    for (int i = 0; i < 2; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        const struct row *row = &all->items[(*random >> 33) % all->count];
        names[i] = columns[(*random >> 20) % 7];
        constraints[i] = (struct tbed_constraint){
            .column = table_column(tbed_table_find("spans"), names[i]),
            .compare = (enum tbed_compare)((*random >> 50) % 5),
        };
        constraints[i].is_text = strcmp(names[i], "label") == 0;
        if (constraints[i].is_text)
            constraints[i].compare = TBED_EQUAL;
        constraints[i].text = row->label;
        constraints[i].nbytes = strlen(row->label);
        constraints[i].number = value_of(row, names[i]);
    }
    struct tbed_scan_options options = {.size = sizeof options,
                                        .constraints = constraints,
                                        .constraint_count = 2,
                                        .any_order = (*random >> 60 & 1) != 0,
                                        .thread_count = 2};
    struct rows found = rows_of(tables, &options), expected = chosen(all, names, constraints);
    struct rows kept = chosen(&found, names, constraints);
    sort(&kept);
    expect_same_rows(&kept, &expected);
    free(found.items);
    free(kept.items);
    free(expected.items);
}

/* ---- Tests ---- */

static void expect_order(const struct rows *rows, unsigned odd)
{
    bool is_ordered = odd != ODD_BACK && odd != ODD_LEAVE && odd != ODD_OUTER && odd != ODD_WHOLE;
    for (size_t i = 1; i < rows->count && is_ordered; i++)
        assert_true(rows->items[i - 1].end <= rows->items[i].end);
}

static void expect_table(struct tbed_reader *reader, unsigned odd, uint64_t seed)
{
    struct list list;
    struct tbed_tables *tables;
    struct tbed_scan_options options = {.size = sizeof options};
    uint64_t random = seed;
    list_spans(&list, reader);
    find_parents(&list);
    assert_int_equal(tbed_tables_of_reader(reader, &tables), TBED_OK);
    struct rows ordered = rows_of(tables, &options);
    expect_order(&ordered, odd);
    sort(&ordered);
    expect_list(reader, &list, &ordered);
    expect_nesting(&ordered);
    options.any_order = true;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        options.thread_count = threads;
        struct rows any = rows_of(tables, &options);
        sort(&any);
        expect_same_rows(&any, &ordered);
        free(any.items);
    }
    for (int i = 0; i < 7 && ordered.count > 0; i++)
        expect_constraints(tables, &ordered, &random);
    free(ordered.items);
    free(list.items);
    tbed_tables_close(tables);
}

static void run(unsigned odd, uint32_t depth_max, bool loses)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct fixture *f = random_trace(odd, depth_max, loses, seed);
        f->has_clock = seed % 2 == 0 && odd != ODD_BACK;
        struct tbed_reader *reader = fixture_open(f);
        expect_table(reader, odd, seed);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void spans_are_those_of_the_assembler(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, false);
    run(ODD_NOTHING, 200, false);
}

static void spans_are_right_where_blocks_are_missing(void **state)
{
    (void)state;
    run(ODD_NOTHING, 40, true);
    run(ODD_WHOLE, 40, true);
}

static void spans_of_odd_streams_are_right(void **state)
{
    (void)state;
    for (unsigned odd = ODD_WHOLE; odd < ODD_COUNT; odd++)
        run(odd, 40, false);
}

static void a_cancelled_scan_ends(void **state)
{
    (void)state;
    struct fixture *f = random_trace(ODD_NOTHING, 40, false, 1);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_tables *tables;
    struct table_sum sum;
    bool is_cancelled = true;
    struct tbed_scan_options options = {
        .size = sizeof options, .any_order = true, .is_cancelled = &is_cancelled};
    assert_int_equal(tbed_tables_of_reader(reader, &tables), TBED_OK);
    assert_int_equal(table_sum(tables, tbed_table_find("spans"), &options, &sum), TBED_ERR_CANCELLED);
    assert_int_equal(table_sum(tables, tbed_table_find("events"), &options, &sum), TBED_ERR_CANCELLED);
    tbed_tables_close(tables);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_those_of_the_assembler),
        cmocka_unit_test(spans_are_right_where_blocks_are_missing),
        cmocka_unit_test(spans_of_odd_streams_are_right),
        cmocka_unit_test(a_cancelled_scan_ends),
    };
    return cmocka_run_group_tests_name("tables_spans", tests, NULL, NULL);
}
