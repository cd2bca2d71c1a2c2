/*
 * Plans: what SQLite asks a virtual table for, how much that costs, and the text in which SQLite hands the plan back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

#include <stdio.h>

#define TEXT_NBYTES 160

static char compare_of(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_LT:
        return '<';
    case SQLITE_INDEX_CONSTRAINT_LE:
        return 'l';
    case SQLITE_INDEX_CONSTRAINT_GT:
        return '>';
    case SQLITE_INDEX_CONSTRAINT_GE:
        return 'g';
    default:
        return 0;
    }
}

/* Can the scan use a condition of this kind? Texts are compared byte by byte, so another collation is not for it. */
static bool is_usable(const struct tbed_column *column, char compare, sqlite3_index_info *info, int index)
{
    if (compare == 0)
        return false;
    if (column->is_parameter)
        return compare == '=';
    if (column->type == TBED_COLUMN_I64 || column->type == TBED_COLUMN_U64)
        return true;
    if (column->type == TBED_COLUMN_F64 || compare != '=')
        return false;
    const char *collation = sqlite3_vtab_collation(info, index);
    return collation != NULL && sqlite3_stricmp(collation, "BINARY") == 0;
}

static void add_term(struct sql_plan *plan, const struct tbed_table *about, sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    char compare = compare_of(constraint->op);
    if (!constraint->usable || constraint->iColumn < 0 || plan->term_count == SQL_TERMS_MAX)
        return;
    const struct tbed_column *column = &about->columns[constraint->iColumn];
    if (!is_usable(column, compare, info, i))
        return;
    /* A list is given at once: one scan instead of one for each of its values. */
    if (compare == '=' && !column->is_parameter && sqlite3_vtab_in(info, i, -1)) {
        sqlite3_vtab_in(info, i, 1);
        compare = 'i';
    }
    plan->terms[plan->term_count++] =
        (struct sql_term){.column = (uint8_t)constraint->iColumn, .compare = compare};
    info->aConstraintUsage[i].argvIndex = (int)plan->term_count;
    info->aConstraintUsage[i].omit = column->is_parameter;
}

static bool has_term(const struct sql_plan *plan, unsigned column, const char *compares)
{
    for (unsigned i = 0; i < plan->term_count; i++)
        if (plan->terms[i].column == column && strchr(compares, plan->terms[i].compare) != NULL)
            return true;
    return false;
}

static bool has_parameters(const struct sql_plan *plan, const struct tbed_table *about)
{
    for (unsigned i = 0; i < about->column_count; i++)
        if (about->columns[i].is_parameter && !has_term(plan, i, "="))
            return false;
    return true;
}

/* ---- Order ---- */

/* Columns with few different values, so that a group is large. Others are sorted by SQLite. */
static bool can_group_by(const struct tbed_table *about, int column)
{
    static const char *const few[] = {"track", "tid", "pid", "depth", "line", "is_open"};
    if (column < 0 || about->columns[column].type == TBED_COLUMN_NAME)
        return column >= 0;
    for (size_t i = 0; i < sizeof few / sizeof few[0]; i++)
        if (about->columns[column].type == TBED_COLUMN_I64 &&
            strcmp(about->columns[column].name, few[i]) == 0)
            return true;
    return false;
}

static void order(struct sql_plan *plan, const struct sql_table *table, sqlite3_index_info *info)
{
    const struct sqlite3_index_orderby *by = info->aOrderBy;
    int count = info->nOrderBy;
    if (count == 1 && by[0].iColumn == table->time_column && !by[0].desc && table->time_column >= 0) {
        plan->in_order = true;
        info->orderByConsumed = 1;
        return;
    }
    if (count < 1 || count > (int)SQL_GROUPS_MAX)
        return;
    uint64_t columns = 0;
    for (int i = 0; i < count; i++) {
        if (!can_group_by(table->about, by[i].iColumn))
            return;
        plan->groups[i] = (uint8_t)by[i].iColumn;
        plan->falling |= by[i].desc ? 1u << i : 0;
        columns |= UINT64_C(1) << by[i].iColumn;
    }
    plan->group_count = (unsigned)count;
    plan->is_distinct = sqlite3_vtab_distinct(info) >= 2 && (plan->columns & ~columns) == 0;
    info->orderByConsumed = 1;
}

/* ---- Costs ---- */

/*
 * Of the rows that conditions leave. Rows are read in any case, unless the condition is on a time; but a table that is
 * looked up again and again is kept in order, so that equality is cheap in the end.
 */
static void set_costs(const struct sql_plan *plan, const struct sql_table *table, sqlite3_index_info *info)
{
    double rows = (double)tbed_table_row_estimate(table->file->tables, table->about);
    double cost = rows + (table->is_analysis ? 100000 : 100);
    for (unsigned i = 0; i < plan->term_count; i++) {
        char compare = plan->terms[i].compare;
        if (table->about->columns[plan->terms[i].column].is_parameter)
            continue;
        double part = compare == '=' ? 1000 : compare == 'i' ? 20 : 4;
        rows /= compare == '=' ? 100 : part;
        cost /= part;
    }
    if (plan->group_count > 0)
        cost *= 1.5; /* less than SQLite's sorter */
    info->estimatedCost = cost > 1 ? cost : 1;
    info->estimatedRows = rows > 1 ? (sqlite3_int64)rows : 1;
}

/* ---- As text ---- */

static bool text_make(const struct sql_plan *plan, sqlite3_index_info *info)
{
    char text[TEXT_NBYTES];
    int used = snprintf(text, sizeof text, "%llx %d%d%x %u", (unsigned long long)plan->columns,
                        plan->in_order, plan->is_distinct, plan->falling, plan->group_count);
    for (unsigned i = 0; i < plan->group_count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %u", plan->groups[i]);
    for (unsigned i = 0; i < plan->term_count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %c%u", plan->terms[i].compare,
                         plan->terms[i].column);
    info->idxStr = sqlite3_mprintf("%s", text);
    info->needToFreeIdxStr = 1;
    return info->idxStr != NULL;
}

void sql_plan_read(struct sql_plan *plan, const char *text)
{
    char *at;
    *plan = (struct sql_plan){.columns = strtoull(text, &at, 16)};
    plan->in_order = at[1] == '1';
    plan->is_distinct = at[2] == '1';
    plan->falling = (unsigned)strtoul(at + 3, &at, 16);
    plan->group_count = (unsigned)strtoul(at, &at, 10);
    for (unsigned i = 0; i < plan->group_count; i++)
        plan->groups[i] = (uint8_t)strtoul(at, &at, 10);
    while (*at == ' ') {
        struct sql_term *term = &plan->terms[plan->term_count++];
        term->compare = at[1];
        term->column = (uint8_t)strtoul(at + 2, &at, 10);
    }
}

/* At least one column: none would mean all. */
static uint64_t columns_of(const struct tbed_table *about, uint64_t used)
{
    uint64_t all = about->column_count < 64 ? (UINT64_C(1) << about->column_count) - 1 : UINT64_MAX;
    if ((used & all) != 0)
        return used & all;
    for (unsigned i = 0; i < about->column_count; i++)
        if (about->columns[i].type == TBED_COLUMN_I64)
            return UINT64_C(1) << i;
    return 1;
}

int sql_plan_best(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct sql_table *table = (const struct sql_table *)base;
    struct sql_plan plan = {.columns = columns_of(table->about, info->colUsed)};
    for (int i = 0; i < info->nConstraint; i++)
        add_term(&plan, table->about, info, i);
    if (!has_parameters(&plan, table->about))
        return SQLITE_CONSTRAINT;
    order(&plan, table, info);
    set_costs(&plan, table, info);
    return text_make(&plan, info) ? SQLITE_OK : SQLITE_NOMEM;
}

#endif
