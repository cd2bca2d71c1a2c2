/*
 * Prints a table of a trace as text: rows_text_program FILE TABLE [COLUMN=VALUE]...
 * Each value is a constraint, and only advice unless the column is a parameter. Without arguments: all tables and columns.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tables/rows_text.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/symbols.h>

enum { CONSTRAINTS_MAX = 8 };

static bool take_constraint(const struct tbed_table *table, const char *word,
                            struct tbed_constraint *constraint)
{
    const char *equal = strchr(word, '=');
    for (uint32_t i = 0; equal != NULL && i < table->column_count; i++) {
        enum tbed_column_type type = table->columns[i].type;
        const char *name = table->columns[i].name;
        if (strlen(name) != (size_t)(equal - word) || memcmp(name, word, strlen(name)) != 0)
            continue;
        *constraint = (struct tbed_constraint){.column = i, .compare = TBED_EQUAL};
        constraint->is_text = type == TBED_COLUMN_NAME || type == TBED_COLUMN_TEXT;
        constraint->number = strtoll(equal + 1, NULL, 0);
        constraint->text = equal + 1;
        constraint->nbytes = strlen(equal + 1);
        return true;
    }
    return false;
}

static int print(struct tbed_tables *tables, int argc, char **argv)
{
    const struct tbed_table *table = tbed_table_find(argv[2]);
    struct tbed_constraint constraints[CONSTRAINTS_MAX];
    struct tbed_scan_options options = {.size = sizeof options, .constraints = constraints};
    for (int i = 3; i < argc && table != NULL && options.constraint_count < CONSTRAINTS_MAX; i++)
        if (!take_constraint(table, argv[i], &constraints[options.constraint_count++]))
            return 2;
    enum tbed_status status =
        table != NULL ? rows_text_print(stdout, tables, table, &options) : TBED_ERR_ARGUMENT;
    if (status != TBED_END)
        fprintf(stderr, "%s\n", tbed_status_name(status));
    return status == TBED_END ? 0 : 2;
}

static int print_all(void)
{
    static const char *const types[] = {"i64", "u64", "f64", "name", "text"};
    const struct tbed_table *table;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++) {
        printf("table\t%s\t%s\n", table->name, table->summary);
        for (size_t k = 0; k < table->column_count; k++) {
            const struct tbed_column *column = &table->columns[k];
            printf("column\t%s\t%s\t%s\t%d\t%s\n", column->name, types[column->type],
                   column->unit != NULL ? column->unit : "", column->is_parameter, column->summary);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct tbed_tables *tables;
    struct tbed_error error;
    if (argc < 3)
        return print_all();
    if (tbed_tables_open(argv[1], &tables, &error) != TBED_OK)
        return 2;
    struct tbed_symbols *symbols = tbed_symbols_open(NULL); /* as the commands do */
    int exit = 2;
    if (symbols != NULL && tbed_symbols_attach(symbols, tbed_tables_reader(tables, NULL)) == TBED_OK)
        exit = print(tables, argc, argv);
    tbed_tables_close(tables);
    tbed_symbols_close(symbols);
    return exit;
}
