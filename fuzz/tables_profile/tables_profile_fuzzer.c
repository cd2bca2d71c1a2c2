/*
 * A profile that is read in place as tables has as many spans, instants and events as its import, with the same labels and
 * times.
 *
 * Seeds: spec/golden/measureme
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/exchange.h>
#include <tracebed/tables.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

struct sum {
    uint64_t rows, hash;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_label(const struct tbed_scan *scan, uint32_t code)
{
    const char *text;
    size_t nbytes;
    uint64_t hash = 0;
    tbed_scan_name(scan, code, &text, &nbytes);
    /* The import numbers ids anew. */
    nbytes = nbytes >= 4 && memcmp(text, "<id ", 4) == 0 ? 4 : nbytes;
    for (size_t i = 0; i < nbytes; i++)
        hash = mix(hash, (unsigned char)text[i]);
    return hash;
}

/* The bits of columns by their names. */
static uint64_t columns_of(const struct tbed_table *table, const char *const *names)
{
    uint64_t columns = 0;
    for (; *names != NULL; names++)
        for (size_t i = 0; i < table->column_count; i++)
            if (strcmp(table->columns[i].name, *names) == 0)
                columns |= UINT64_C(1) << i;
    return columns;
}

static struct sum scan_all(struct tbed_tables *tables, const struct tbed_table *table, uint64_t columns)
{
    struct tbed_scan_options options = {
        .size = sizeof options, .columns = columns, .any_order = true, .thread_count = 2};
    struct tbed_scan *scan;
    struct tbed_batch batch;
    struct sum sum = {0};
    enum tbed_status status;
    REQUIRE(tbed_scan_open(tables, table, &options, &scan, NULL) == TBED_OK);
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        sum.rows += batch.row_count;
        for (size_t row = 0; row < batch.row_count; row++) {
            uint64_t hash = 0;
            for (size_t i = 0; i < table->column_count; i++)
                if (batch.columns[i].codes != NULL)
                    hash = mix(hash, hash_label(scan, batch.columns[i].codes[row]));
                else if (batch.columns[i].i64 != NULL)
                    hash = mix(hash, (uint64_t)batch.columns[i].i64[row]);
            sum.hash += hash;
        }
    }
    REQUIRE(status == TBED_END);
    tbed_scan_close(scan);
    return sum;
}

static void compare(struct tbed_tables *profile, struct tbed_tables *import)
{
    static const char *const names[] = {"spans", "instants", "events"};
    static const char *const same[] = {"label", "dur", "end_ts", "type", NULL};
    static const char *const more[] = {"name", "args", "category", "thread", "process", "value", NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct tbed_table *table = tbed_table_find(names[i]);
        struct sum in_place = scan_all(profile, table, columns_of(table, same));
        struct sum imported = scan_all(import, table, columns_of(table, same));
        REQUIRE(in_place.rows == imported.rows);
        REQUIRE(in_place.hash == imported.hash ||
                tbed_reader_texts_left_out(tbed_tables_reader(import, NULL)) > 0);
        /* Undefined ids may have other numbers in an import, by which they are called. */
        REQUIRE(scan_all(profile, table, columns_of(table, more)).rows == imported.rows);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const char *path = scratch_path("profile.mm_profdata");
    struct tbed_tables *profile, *import;
    struct tbed_reader *reader;
    const struct tbed_format *format;
    scratch_put(path, data, nbytes);
    format = tbed_format_of_file(path);
    if (format == NULL || format->kind != TBED_FOREIGN_PROFILE)
        return 0;
    if (tbed_tables_open(path, &profile, NULL) != TBED_OK)
        return 0;
    if (tbed_import_open(path, &reader, NULL, NULL) == TBED_OK) {
        REQUIRE(tbed_tables_of_reader(reader, &import) == TBED_OK);
        compare(profile, import);
        tbed_tables_close(import);
        tbed_reader_close(reader);
    }
    tbed_tables_close(profile);
    return 0;
}
