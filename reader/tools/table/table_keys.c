/*
 * The arguments of --columns and --sort, and the order of rows.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/table/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- Columns that every table has ---- */

static struct table_value get_file(const struct table *table, const void *row)
{
    (void)row;
    return (struct table_value){.text = table->file, .nbytes = strlen(table->file)};
}

static struct table_value get_table(const struct table *table, const void *row)
{
    (void)row;
    return (struct table_value){.text = table->key, .nbytes = strlen(table->key)};
}

static const struct table_column common[] = {
    /* First the one that tables of many files lack. */
    {.key = "trace", .unit = TABLE_TEXT, .get = get_file},
    {.key = "table", .unit = TABLE_TEXT, .get = get_table},
};
#define COMMON_COUNT (sizeof common / sizeof common[0])

const struct table_column *table_column_find(const struct table *table, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].key, key) == 0)
            return &table->columns[i];
    for (size_t i = table->has_many_files; i < COMMON_COUNT; i++)
        if (strcmp(common[i].key, key) == 0)
            return &common[i];
    return NULL;
}

/* ---- Lists ---- */

struct words {
    const char *items[128];
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    if (tool_word_find(words->items, words->count, word) == words->count &&
        words->count < sizeof words->items / sizeof words->items[0])
        words->items[words->count++] = word;
}

static void collect_words(struct words *words, const struct table *tables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i].column_count; k++)
            add_word(words, tables[i].columns[k].key);
}

static const char *parse(struct table_keys *keys, const struct words *words, const char *what,
                         const char *text, bool has_signs)
{
    char *rest, *key;
    table_keys_free(keys);
    keys->text = tool_realloc(NULL, strlen(text) + 1);
    rest = strcpy(keys->text, text);
    while ((key = strsep(&rest, ",")) != NULL) {
        size_t at;
        int sign = has_signs && *key == '-' ? -1 : has_signs && *key == '+' ? 1 : 0;
        const char *problem = tool_word_choose(what, words->items, words->count, key + (sign != 0), &at);
        if (problem != NULL)
            return problem;
        if (keys->count == TABLE_KEYS_MAX)
            return "too many keys";
        keys->items[keys->count++] = (struct table_key){words->items[at], sign};
    }
    return NULL;
}

const char *table_columns_parse(struct table_keys *keys, const struct table *tables, size_t count,
                                const char *text)
{
    struct words words = {.count = 0};
    collect_words(&words, tables, count);
    for (size_t i = tables->has_many_files; i < COMMON_COUNT; i++)
        add_word(&words, common[i].key);
    return parse(keys, &words, "--columns: unknown column", text, false);
}

const char *table_sort_parse(struct table_keys *keys, const struct table *tables, size_t count,
                             const char *text)
{
    struct words words = {.count = 0};
    collect_words(&words, tables, count);
    return parse(keys, &words, "--sort: unknown key", text, true);
}

void table_keys_free(struct table_keys *keys)
{
    free(keys->text);
    *keys = (struct table_keys){.count = 0};
}

bool table_keys_have(const struct table_keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].key, key) == 0)
            return true;
    return false;
}

/* ---- What is shown ---- */

bool table_is_asked_for(const struct table *table, const struct table_keys *columns)
{
    bool has_other = false;
    for (size_t i = 0; i < columns->count; i++) {
        const struct table_column *column = table_column_find(table, columns->items[i].key);
        bool is_plain = column == NULL || strcmp(column->key, "name") == 0 ||
                        (column >= common && column < common + COMMON_COUNT);
        if (column != NULL && !is_plain)
            return true;
        has_other |= column == NULL;
    }
    return !has_other;
}

size_t table_choose(const struct table *table, const struct table_keys *columns, const char *defaults,
                    const struct table_column *chosen[TABLE_KEYS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++)
        if ((chosen[count] = table_column_find(table, columns->items[i].key)) != NULL)
            count++;
    if (columns->count > 0)
        return count;
    for (const char *at = defaults; *at != '\0' && count < TABLE_KEYS_MAX;) {
        char key[32];
        size_t nbytes = strcspn(at, ",");
        snprintf(key, sizeof key, "%.*s", (int)nbytes, at);
        if ((chosen[count] = table_column_find(table, key)) != NULL)
            count++;
        at += nbytes + (at[nbytes] == ',');
    }
    return count;
}

/* ---- The order ---- */

#define TABLE_TIES_MAX 4

struct order {
    const struct table *table;
    const struct table_column *columns[TABLE_KEYS_MAX + TABLE_TIES_MAX];
    bool rises[TABLE_KEYS_MAX + TABLE_TIES_MAX];
    size_t count;
};

static int compare_texts(const struct table_value *left, const struct table_value *right)
{
    size_t nbytes = left->nbytes < right->nbytes ? left->nbytes : right->nbytes;
    int order = nbytes > 0 ? memcmp(left->text, right->text, nbytes) : 0;
    return order != 0 ? order : (left->nbytes > right->nbytes) - (left->nbytes < right->nbytes);
}

static int compare_values(const struct order *order, size_t at, const void *left, const void *right)
{
    const struct table_column *column = order->columns[at];
    if (column->is_in_order)
        return ((const char *)left > (const char *)right) == order->rises[at] ? 1 : -1;
    struct table_value a = column->get(order->table, left), b = column->get(order->table, right);
    int result =
        column->unit == TABLE_TEXT ? compare_texts(&a, &b) : (a.number > b.number) - (a.number < b.number);
    return order->rises[at] ? result : -result;
}

/* By the keys from the one at 'at' on. */
static int compare_by_keys(const struct order *order, size_t at, const char *left, const char *right)
{
    for (; at < order->count; at++) {
        int result = compare_values(order, at, left, right);
        if (result != 0)
            return result;
    }
    return (left > right) - (left < right);
}

static int compare_rows(const void *left, const void *right, void *order)
{
    return compare_by_keys(order, 0, *(const void *const *)left, *(const void *const *)right);
}

/* A row with its value of the first key, as far as that is a figure. */
struct keyed_row {
    double number;
    const void *row;
};

static int compare_keyed_rows(const void *left, const void *right, void *context)
{
    const struct keyed_row *a = left, *b = right;
    const struct order *order = context;
    if (a->number < b->number)
        return order->rises[0] ? -1 : 1;
    if (a->number > b->number)
        return order->rises[0] ? 1 : -1;
    return compare_by_keys(order, 1, a->row, b->row);
}

/* Computes each figure once, rather than for each comparison. */
static void sort_by_figure(struct table *table, struct order *order)
{
    struct keyed_row *rows = tool_realloc(NULL, table->count * sizeof *rows);
    for (size_t i = 0; i < table->count; i++)
        rows[i] = (struct keyed_row){order->columns[0]->get(table, table->rows[i]).number, table->rows[i]};
    qsort_r(rows, table->count, sizeof *rows, compare_keyed_rows, order);
    for (size_t i = 0; i < table->count; i++)
        table->rows[i] = rows[i].row;
    free(rows);
}

static void add_key(struct order *order, const char *key, int sign)
{
    const struct table_column *column = table_column_find(order->table, key);
    if (column == NULL || order->count == TABLE_KEYS_MAX + TABLE_TIES_MAX)
        return;
    order->rises[order->count] = sign != 0 ? sign > 0 : column->rises || column->unit == TABLE_TEXT;
    order->columns[order->count++] = column;
}

/* Figures in a list of the table itself fall, unless a '+' says otherwise. */
static void add_keys(struct order *order, const char *keys)
{
    char key[32];
    for (const char *at = keys; at != NULL && *at != '\0';) {
        bool rises = *at == '+';
        size_t nbytes = strcspn(at += rises, ",");
        snprintf(key, sizeof key, "%.*s", (int)nbytes, at);
        add_key(order, key, rises);
        at += nbytes + (at[nbytes] == ',');
    }
}

void table_sort(struct table *table, const struct table_keys *keys)
{
    struct order order = {.table = table};
    for (size_t i = 0; i < keys->count; i++)
        add_key(&order, keys->items[i].key, keys->items[i].sign);
    if (order.count == 0)
        add_keys(&order, table->order);
    add_keys(&order, table->ties);
    bool is_figure =
        order.count > 0 && order.columns[0]->unit != TABLE_TEXT && !order.columns[0]->is_in_order;
    if (table->count > 1 && is_figure)
        sort_by_figure(table, &order);
    else if (table->count > 1)
        qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, &order);
}

void table_fill(struct table *table, const void *rows, size_t row_nbytes, size_t count,
                const struct table_keys *sort, size_t limit)
{
    table->rows = tool_realloc(NULL, (count + 1) * sizeof *table->rows);
    for (size_t i = 0; i < count; i++)
        table->rows[i] = (const char *)rows + i * row_nbytes;
    table->count = count;
    table->shown = count < limit ? count : limit;
    table_sort(table, sort);
}
