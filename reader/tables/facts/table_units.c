/*
 * The tables of units of code, and of where native ones were loaded.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

/* ---- Units ---- */

enum { ID, ID_COUNT, KIND, NAME, FILE_NAME, FIRST_LINE, BASE, PC_SHIFT, BUILD_ID, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "the first of its ids", false},
    [ID_COUNT] = {"count", TBED_COLUMN_I64, NULL, "the number of its ids: places in its code", false},
    [KIND] = {"kind", TBED_COLUMN_NAME, NULL, "native or bytecode; NULL: unknown", false},
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "the name of the program, library or function", false},
    [FILE_NAME] = {"file", TBED_COLUMN_NAME, NULL,
                   "its path, or the source file of a function; NULL: unknown", false},
    [FIRST_LINE] = {"line", TBED_COLUMN_I64, NULL, "where the function begins; NULL: unknown", false},
    [BASE] = {"base", TBED_COLUMN_U64, NULL, "the address or index of its first place", false},
    [PC_SHIFT] = {"pc_shift", TBED_COLUMN_I64, NULL, "places are 2 to the power of this apart", false},
    [BUILD_ID] = {"build_id", TBED_COLUMN_TEXT, NULL, "the build id in hexadecimal; NULL: none", false},
};

static const char *kind_of(uint32_t kind)
{
    return kind == TBED_UNIT_NATIVE ? "native" : kind == TBED_UNIT_BYTECODE ? "bytecode" : NULL;
}

static void put_build_id(struct table_rows *rows, const struct tbed_unit_info *unit)
{
    char digits[2 * 64];
    uint32_t nbytes = unit->build_id_nbytes < 64 ? unit->build_id_nbytes : 64;
    for (uint32_t i = 0; i < nbytes; i++) {
        digits[2 * i] = "0123456789abcdef"[unit->build_id[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[unit->build_id[i] & 15];
    }
    tbed_table_put_text(rows, BUILD_ID, nbytes > 0 ? digits : NULL, 2 * (size_t)nbytes);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct tbed_unit_info unit;
    struct table_rows *rows = &scan->rows;
    size_t *at = scan->state;
    for (; !table_rows_is_full(rows) && tbed_unit_get(scan->reader, *at, &unit); (*at)++) {
        table_put_i64(rows, ID, unit.first_id);
        table_put_i64(rows, ID_COUNT, unit.id_count);
        tbed_table_put_string(rows, KIND, kind_of(unit.kind));
        tbed_table_put_id(rows, NAME, scan->reader, unit.name_id);
        tbed_table_put_id(rows, FILE_NAME, scan->reader, unit.file_id);
        tbed_facts_put_nonzero(rows, FIRST_LINE, unit.first_line);
        table_put_u64(rows, BASE, unit.base);
        table_put_i64(rows, PC_SHIFT, unit.pc_shift);
        put_build_id(rows, &unit);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_units = {
    .about = {"units", "programs, libraries and functions whose code the trace names, in order of their ids",
              columns, COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill,
    .close = tbed_facts_close,
};

/* ---- Where they were loaded ---- */

enum { PROCESS_ID, UNIT_ID, UNIT_NAME, ADDRESS, SIZE, TS, LOAD_COLUMN_COUNT };

static const struct tbed_column load_columns[LOAD_COLUMN_COUNT] = {
    [PROCESS_ID] = {"process_id", TBED_COLUMN_I64, NULL, "the id of the process", false},
    [UNIT_ID] = {"unit_id", TBED_COLUMN_I64, NULL, "the id of the unit", false},
    [UNIT_NAME] = {"name", TBED_COLUMN_NAME, NULL, "the name of the unit; NULL: unknown", false},
    [ADDRESS] = {"address", TBED_COLUMN_U64, NULL, "where it was loaded", false},
    [SIZE] = {"size", TBED_COLUMN_I64, "bytes", "how much of memory it takes", false},
    [TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was recorded", false},
};

static enum tbed_status fill_loads(struct tbed_scan *scan)
{
    struct tbed_load_info load;
    struct tbed_unit_info unit;
    struct table_rows *rows = &scan->rows;
    size_t *at = scan->state;
    uint64_t pc;
    for (; !table_rows_is_full(rows) && tbed_load_get(scan->reader, *at, &load); (*at)++) {
        table_put_i64(rows, PROCESS_ID, load.process);
        table_put_i64(rows, UNIT_ID, load.first_id);
        bool is_known = tbed_location_find(scan->reader, load.first_id, &unit, &pc);
        tbed_table_put_id(rows, UNIT_NAME, scan->reader, is_known ? unit.name_id : TBED_ID_INVALID);
        table_put_u64(rows, ADDRESS, load.address);
        tbed_facts_put_count(rows, SIZE, load.nbytes);
        table_put_i64(rows, TS, tbed_ticks_to_ns(scan->reader, load.tick));
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_loads = {
    .about = {"loads", "where programs and libraries were loaded, in the order of the file", load_columns,
              LOAD_COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill_loads,
    .close = tbed_facts_close,
};
