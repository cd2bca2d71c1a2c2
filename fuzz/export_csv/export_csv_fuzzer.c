/*
 * Whatever traces contain, the CSV and the NDJSON of their tables are what strict readers accept, and have a line or object
 * for each row that the export counts.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/utf8.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"

#include <string.h>
#include <sys/mman.h>
#include <tracebed/export.h>
#include <tracebed/tables.h>
#include <unistd.h>

/* The end of a field: with quotes, the one behind its last quote. NULL: it is none. */
static const char *field_end(const char *at, const char *end)
{
    if (at == end || *at != '"') {
        while (at < end && *at != ',' && *at != '\n' && *at != '"' && *at != '\r')
            at++;
        return at < end && (*at == ',' || *at == '\n') ? at : NULL;
    }
    for (at++; at < end; at++)
        if (*at == '"' && (++at == end || *at != '"'))
            return at < end && (*at == ',' || *at == '\n') ? at : NULL;
    return NULL;
}

/* Whether all rows have as many fields as the table has columns; counts them, without the head. */
static bool is_csv(const char *text, size_t nbytes, size_t column_count, uint64_t *row_count)
{
    const char *end = text + nbytes;
    size_t field_count = 0;
    uint64_t line_count = 0;
    while (text < end) {
        text = field_end(text, end);
        if (text == NULL)
            return false;
        field_count++;
        if (*text++ != '\n')
            continue;
        if (field_count != column_count)
            return false;
        field_count = 0;
        line_count++;
    }
    *row_count = line_count - 1;
    return line_count > 0 && field_count == 0;
}

static void check(struct tbed_reader *reader, const struct tbed_table *table, const char *format)
{
    struct tbed_export_options options = {.size = sizeof options, .thread_count = 1, .table = table->name};
    struct tbed_export_result result;
    uint64_t row_count = 0;
    int fd = file_of_input(NULL, 0);
    bool is_json = strcmp(format, "ndjson") == 0;
    REQUIRE(tbed_export_fd(tbed_format_find(format), &reader, 1, fd, &options, &result, NULL) == TBED_OK);
    size_t nbytes = result.nbytes;
    char *text = nbytes > 0 ? mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    REQUIRE(text != MAP_FAILED && (is_json || nbytes > 0));
    REQUIRE(nbytes == 0 || tbed_utf8_valid_nbytes((const uint8_t *)text, nbytes) == nbytes);
    if (!is_json)
        REQUIRE(is_csv(text, nbytes, table->column_count, &row_count) && row_count == result.written_count);
    else if (nbytes > 0)
        REQUIRE(is_json_lines(text, nbytes) && text[nbytes - 1] == '\n');
    if (nbytes > 0)
        munmap(text, nbytes);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char *const names[] = {"spans",       "messages", "instants", "counters",
                                        "allocations", "threads",  "info"};
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check(reader, tbed_table_find(names[i]), "csv");
        check(reader, tbed_table_find(names[i]), "ndjson");
    }
    tbed_reader_close(reader);
    return 0;
}
