/*
 * The state of a profile that is open as tables, and of its scans.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_PROFILE_STATE_H
#define TRACEBED_TABLES_PROFILE_STATE_H

#include "reader/exchange/measureme/import/import.h"
#include "reader/exchange/measureme/import/profile_labels.h"
#include "reader/tables/base/crew.h"
#include "reader/tables/rows/row_names.h"
#include "reader/tables/rows/row_scan.h"

struct profile {
    struct mm_file *file;
    struct mm_info info;
    struct import_metadata metadata;
    struct tbed_text_budget *budget;
    struct profile_labels *labels;
    struct tbed_label_strings strings;
};

/* What a column of a row is made from. */
enum profile_column {
    PROFILE_TS,
    PROFILE_DUR,
    PROFILE_END_TS,
    PROFILE_IS_OPEN,
    PROFILE_LABEL,
    PROFILE_NAME,
    PROFILE_ARGS,
    PROFILE_CATEGORY,
    PROFILE_THREAD,
    PROFILE_PROCESS,
    PROFILE_TID,
    PROFILE_PID,
    PROFILE_TYPE,
    PROFILE_VALUE,
    PROFILE_NONE, /* no profile has a value for it */
    PROFILE_COLUMNS
};
#define PROFILE_ABSENT 63u /* a column that no scan asks for */

struct profile_scan {
    struct tbed_scan *scan;
    struct profile *profile;
    unsigned columns[PROFILE_COLUMNS];
    uint64_t none; /* columns that are always null */
    uint8_t types; /* a bit for each enum mm_event_type */
    struct row_names names;
    uint32_t process_code, type_codes[3]; /* + 1 */
    struct row_range ts, tid;
    bool has_times, has_tests, has_no_rows;
    bool has_begins;                        /* rows are at their begins, not at their ends */
    bool has_rest;                          /* other columns than labels and times are asked for */
    uint64_t begin, end;                    /* those of 'ts' in ticks, inclusive */
    uint32_t label, category, thread, name; /* that the constraints ask for; codes + 1; 0: any */
    size_t chunk_count, next_chunk;         /* the latter atomic */
    struct crew *crew;
};

/* profile_texts.c: the name of an id, and that of a thread. Returns a code + 1, or ROW_CODE_FAILED. */
uint32_t tbed_profile_name_code(const struct profile_scan *scan, uint64_t id, struct tbed_text *scratch);
uint32_t tbed_profile_thread_code(const struct profile_scan *scan, uint64_t thread);
/* The arguments in a name as a JSON object; none: empty. False: no memory. */
bool tbed_profile_args(const struct profile_scan *scan, uint64_t id, struct tbed_text *scratch,
                       struct tbed_text *json);

/* profile_scan.c */
bool tbed_profile_reads(const struct tbed_scan *scan);
enum tbed_status tbed_profile_scan_open(struct tbed_scan *scan);
enum tbed_status tbed_profile_scan_next(struct tbed_scan *scan, struct tbed_batch *batch_ret);
void tbed_profile_scan_close(struct tbed_scan *scan);

#endif
