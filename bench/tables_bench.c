/*
 * Scans a table as the exports and SQL do, and reports how fast that was, opening included.
 *
 *   tables_bench FILE TABLE [COLUMN,COLUMN…] [ordered] [print] [ts=FIRST..LAST] [label=TEXT]
 *
 * SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracebed/tables.h>

struct run {
    const struct tbed_table *table;
    struct tbed_scan_options options;
    struct tbed_constraint constraints[3];
    bool prints;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint32_t column_of(const struct tbed_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return i;
    fprintf(stderr, "no column '%s'\n", name);
    exit(2);
}

static void print_value(const struct tbed_scan *scan, const struct tbed_column_values *values, size_t row)
{
    const char *text;
    size_t nbytes;
    if (values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0)
        printf("NULL\t");
    else if (values->i64 != NULL)
        printf("%" PRId64 "\t", values->i64[row]);
    else if (values->u64 != NULL)
        printf("%" PRIu64 "\t", values->u64[row]);
    else if (values->f64 != NULL)
        printf("%.17g\t", values->f64[row]);
    else if (values->codes != NULL) {
        tbed_scan_name(scan, values->codes[row], &text, &nbytes);
        printf("%.*s\t", (int)nbytes, text);
    } else if (values->offsets != NULL)
        printf("%.*s\t", (int)(values->offsets[row + 1] - values->offsets[row]),
               values->text + values->offsets[row]);
}

static uint64_t sum_of(const struct tbed_batch *batch, const struct tbed_table *table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tbed_column_values *values = &batch->columns[i];
        for (size_t row = 0; values->i64 != NULL && row < batch->row_count; row++)
            sum += (uint64_t)values->i64[row];
        for (size_t row = 0; values->codes != NULL && row < batch->row_count; row++)
            sum += values->codes[row];
    }
    return sum;
}

static void take_columns(struct run *run, char *list)
{
    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ","))
        run->options.columns |= UINT64_C(1) << column_of(run->table, name);
}

static void take_word(struct run *run, char *word)
{
    struct tbed_constraint *constraint = &run->constraints[run->options.constraint_count];
    char *end;
    if (strcmp(word, "ordered") == 0) {
        run->options.any_order = false;
    } else if (strcmp(word, "print") == 0) {
        run->prints = true;
    } else if (strncmp(word, "ts=", 3) == 0) {
        uint32_t ts = column_of(run->table, "ts");
        constraint[0] = (struct tbed_constraint){
            .column = ts, .compare = TBED_GREATER_EQUAL, .number = strtoll(word + 3, &end, 10)};
        constraint[1] = (struct tbed_constraint){
            .column = ts, .compare = TBED_LESS_EQUAL, .number = strtoll(end + 2, NULL, 10)};
        run->options.constraint_count += 2;
    } else if (strncmp(word, "label=", 6) == 0) {
        *constraint = (struct tbed_constraint){.column = column_of(run->table, "label"),
                                               .compare = TBED_EQUAL,
                                               .is_text = true,
                                               .text = word + 6,
                                               .nbytes = strlen(word + 6)};
        run->options.constraint_count++;
    } else {
        take_columns(run, word);
    }
}

static void print_batch(const struct run *run, const struct tbed_scan *scan, const struct tbed_batch *batch)
{
    for (size_t row = 0; row < batch->row_count; row++) {
        for (size_t i = 0; i < run->table->column_count; i++)
            print_value(scan, &batch->columns[i], row);
        printf("\n");
    }
}

static int scan_all(struct run *run, struct tbed_tables *tables, double start)
{
    struct tbed_scan *scan;
    struct tbed_batch batch;
    uint64_t rows = 0, sum = 0;
    double opened = now(), first = 0;
    enum tbed_status status = tbed_scan_open(tables, run->table, &run->options, &scan, NULL);
    if (status != TBED_OK)
        return fprintf(stderr, "%s\n", tbed_status_text(status)), 1;
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        first = first == 0 ? now() : first;
        rows += batch.row_count;
        sum += sum_of(&batch, run->table);
        if (run->prints)
            print_batch(run, scan, &batch);
    }
    fprintf(stderr, "%s: %" PRIu64 " rows, sum %" PRIu64 ", %.4f s (opened %.4f, first row %.4f)\n",
            status == TBED_END ? "complete" : tbed_status_text(status), rows, sum, now() - start,
            opened - start, first - start);
    tbed_scan_close(scan);
    return 0;
}

int main(int argc, char **argv)
{
    struct run run = {.options = {.size = sizeof run.options, .any_order = true}};
    struct tbed_tables *tables;
    double start = now();
    if (argc == 1)
        return printf("tables_bench: skipped: it needs a FILE and a TABLE\n"), 0;
    if (argc < 3 || (run.table = tbed_table_find(argv[2])) == NULL)
        return fprintf(stderr, "usage: tables_bench FILE TABLE [COLUMN,…] [ordered] [print] …\n"), 2;
    run.options.constraints = run.constraints;
    for (int i = 3; i < argc; i++)
        take_word(&run, argv[i]);
    enum tbed_status status = tbed_tables_open(argv[1], &tables, NULL);
    if (status != TBED_OK)
        return fprintf(stderr, "%s\n", tbed_status_text(status)), 1;
    int result = scan_all(&run, tables, start);
    tbed_tables_close(tables);
    return result;
}
