/*
 * What the parts of 'tracebed report' share: report_verb.c asks the library, report_sort.c puts the rows in
 * order, report_text.c, report_profile.c and report_json.c print them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_REPORT_H
#define TRACEBED_REPORT_H

#include "reader/tools/report/group.h"
#include "reader/tools/shared/tool_places.h"

#include <tracebed/analysis.h>

/* In the order of the words in report_sort_parse(). */
enum report_sort {
    REPORT_SORT_DEFAULT, /* whatever suits the table */
    REPORT_SORT_SELF,
    REPORT_SORT_TOTAL,
    REPORT_SORT_COUNT,
    REPORT_SORT_MIN,
    REPORT_SORT_MEAN,
    REPORT_SORT_P50,
    REPORT_SORT_P90,
    REPORT_SORT_P99,
    REPORT_SORT_P999,
    REPORT_SORT_MAX,
    REPORT_SORT_BYTES,
    REPORT_SORT_PEAK,
    REPORT_SORT_LIVE,
    REPORT_SORT_FREED,
    REPORT_SORT_TEMPORARY,
    REPORT_SORT_NAME,
};

/* NULL, or what is wrong with the key. */
const char *report_sort_parse(const char *text, enum report_sort *sort_ret);

struct report_options {
    bool json;
    bool spans, allocations; /* which to show; both: whatever there is */
    bool no_symbols;
    enum report_sort sort;
    enum tbed_name_part by;
    bool by_stack;
    struct group group;
    uint32_t moment_count; /* of allocations over time; 0: not shown */
    size_t limit;          /* rows of each table */
    size_t process_limit;  /* but of this one */
    unsigned jobs;
    double percent_above; /* labels whose self time is a smaller part of the total are left out */
};

/* Rows of one table in the order they are shown. */
struct report_table {
    const void **rows;
    size_t count; /* all */
    size_t shown;
};

struct report {
    const struct report_options *options;
    const char *path;
    struct tbed_reader *reader; /* NULL: a foreign profile, read from its pages */
    struct tool_places places;
    struct tbed_trace_info info;
    struct tbed_statistics *statistics;   /* NULL: not asked for */
    struct tbed_allocations *allocations; /* NULL: not asked for, or there are none */
    struct tbed_statistics_totals totals;
    struct tbed_allocation_sums sums; /* of all processes */
    struct report_table spans, asyncs, instants, counters, messages, processes, sites;
    uint64_t self_ticks; /* of all spans */

    bool is_profile;            /* shown by label, with the columns that users of measureme know */
    bool has_categories;        /* of measureme: then instants and counters are in those columns */
    struct report_table labels; /* the spans' rows, of a profile */
};

/* Fills the tables of 'report' from its results. */
void report_sort_tables(struct report *report);
void report_free_tables(struct report *report);

/* report_memory.c: the name of an id as the whole stack that it is, a line for each frame, innermost first. */
size_t report_stack_name(struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes);
void report_moments_text(const struct report *report);
void report_moments_json(struct tbed_json *json, const struct report *report);

void report_print_text(const struct report *report);
void report_print_json(const struct report *report);
/* The name of a row, and what is known of it. */
void report_json_name(struct tbed_json *json, const struct report *report, uint32_t id, const char *name,
                      size_t nbytes);

/* Ticks in nanoseconds, rounded; as they are where they count something else. */
uint64_t report_ns(const struct report *report, uint64_t ticks);

/* The profile's part: of the text, and of the JSON. */
void report_profile_head(const struct report *report);
void report_profile_warnings(const struct report *report);
void report_profile_text(const struct report *report);
void report_profile_json(struct tbed_json *json, const struct report *report);

#endif
