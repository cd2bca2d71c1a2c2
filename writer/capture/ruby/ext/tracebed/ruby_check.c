/*
 * Compares each location with what Ruby's public functions report for the same allocation, and counts: for tests, and
 * for adding a version to ruby_layout.h. The meaning of ids is looked up in the trace by the test.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counted {
    uint32_t location, line;
    uint64_t count;
    char *path;
};

static struct counted *counted;
static size_t counted_count, counted_capacity;
static struct ruby_table rows; /* location and line, hash of path -> row + 1 */

static uint64_t hash_of(const char *text, size_t nbytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001B3u;
    return hash;
}

static void row_add(struct counted row, uint64_t key, uint64_t more)
{
    if (counted_count == counted_capacity) {
        counted_capacity = counted_capacity > 0 ? 2 * counted_capacity : 1024;
        counted = realloc(counted, counted_capacity * sizeof *counted);
        if (counted == NULL)
            abort();
    }
    counted[counted_count++] = row;
    ruby_table_add(&rows, (struct ruby_entry){key, more, 0, counted_count});
}

void ruby_check_count(rb_trace_arg_t *arg, uint32_t location)
{
    VALUE path = rb_tracearg_path(arg), number = rb_tracearg_lineno(arg);
    bool has_path = RB_TYPE_P(path, T_STRING);
    const char *text = has_path ? RSTRING_PTR(path) : "";
    size_t nbytes = has_path ? (size_t)RSTRING_LEN(path) : 0;
    uint32_t line = FIXNUM_P(number) ? (uint32_t)FIX2LONG(number) : 0;
    uint64_t key = (uint64_t)line << 32 | (location + 1), more = hash_of(text, nbytes);
    struct ruby_entry *entry = ruby_table_find(&rows, key, more);
    if (entry != NULL)
        counted[entry->value - 1].count++;
    else
        row_add((struct counted){location, line, 1, strndup(text, nbytes)}, key, more);
}

bool ruby_check_write(const char *path)
{
    FILE *out = fopen(path, "w");
    bool is_fine = out != NULL;
    for (size_t i = 0; i < counted_count; i++) {
        struct counted *row = &counted[i];
        if (is_fine)
            is_fine = fprintf(out, "%u\t%u\t%llu\t%s\n", row->location, row->line,
                              (unsigned long long)row->count, row->path != NULL ? row->path : "") > 0;
        free(row->path);
    }
    free(counted);
    counted = NULL;
    counted_count = counted_capacity = 0;
    ruby_table_clear(&rows);
    return out != NULL && fclose(out) == 0 && is_fine;
}
