/*
 * Shared by the files of 'tracebed report': report_verb.c queries the library, report_columns.c describes the tables,
 * report_sort.c sorts their rows, report_leaks.c has what only --leaks needs, and report_text.c, report_profile.c and
 * report_json.c print the tables.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_REPORT_H
#define TRACEBED_REPORT_H

#include "reader/tools/filter/filter_time.h"
#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/report/group.h"
#include "reader/tools/shared/tool_places.h"
#include "reader/tools/table/table.h"

#include <tracebed/analysis.h>
#include <tracebed/timeline.h>

enum report_table {
    REPORT_SPANS,
    REPORT_ASYNCS,
    REPORT_INSTANTS,
    REPORT_COUNTERS,
    REPORT_MESSAGES,
    REPORT_PROCESSES,
    REPORT_SITES,
    REPORT_LEAKS, /* this and the following instead of the former two with --leaks */
    REPORT_SUPPRESSIONS,
    REPORT_MOMENTS, /* of allocations; this and the following with --over-time */
    REPORT_BUSY_MOMENTS,
    REPORT_SPAN_MOMENTS,
    REPORT_COUNTER_MOMENTS,
    REPORT_LABELS, /* the rows of spans, in the table of a profile */
    REPORT_ARTIFACTS,
    REPORT_FILES, /* with --sum */
    REPORT_TABLE_COUNT,
};

/* --suppressions and --no-built-in-suppressions. */
struct report_suppressions {
    const char **paths;
    size_t path_count;
    bool has_no_built_in;
    struct tbed_suppressions *list; /* NULL: not asked for */
};

struct report_sum;

struct report_options {
    bool json, csv;
    bool has_header, is_time; /* of CSV: printed, and the unit of its times */
    bool spans, allocations;  /* what to show; both: everything there is */
    bool no_symbols;
    bool on_cpu; /* durations without the time off the processor */
    struct table_keys sort, columns;
    enum tbed_name_part by;
    bool by_stack, by_file, by_gem, by_size, by_class, has_by;
    bool leaks, lifetimes;
    uint32_t survived_min;  /* --retained; 0: not asked for */
    struct report_sum *sum; /* all files as one; NULL: each has a report */
    bool is_sum;
    bool artifacts; /* nothing but the sizes of artifacts */
    struct report_suppressions suppressions;
    enum tbed_row_key key;     /* what spans and instants are grouped by */
    struct filter_time period; /* for TBED_BY_TIME */
    struct group group;
    struct tool_filter filter;
    uint32_t moment_count; /* parts of --over-time; 0: not shown */
    size_t limit;          /* rows of each table */
    size_t process_limit;  /* rows of the table of processes */
    unsigned jobs;
    double percent_above; /* labels with a smaller share of the total self time are hidden */
};

struct report {
    struct report_options *options;
    const char *path;
    struct tbed_reader *reader; /* NULL: a foreign profile, read directly */
    struct tool_places places;
    struct tbed_trace_info info;
    struct tbed_statistics *statistics;   /* NULL: not requested */
    struct tbed_allocations *allocations; /* NULL: not requested, or the trace has none */
    struct tbed_timeline *timeline;       /* NULL: not requested */
    struct tbed_statistics_totals totals;
    struct tbed_allocation_sums sums; /* over all processes */
    struct report_leaks {
        uint64_t count, nbytes, suppressed_count, suppressed_nbytes, skipped_count;
    } leaks;
    struct table tables[REPORT_TABLE_COUNT];
    struct table_clock clock;
    struct report_moment *moments; /* the rows of the last tables */
    struct tool_buffer stack;      /* the name of one */
    uint64_t self_ticks;           /* over all spans */
    uint64_t period_ticks;         /* for TBED_BY_TIME */
    uint64_t step_ticks;           /* of the clock; shorter durations were not measured */

    bool is_sum;         /* of all files, with --sum */
    bool has_off_cpu;    /* the trace knows when threads were off their processors */
    bool is_profile;     /* shown by label, with the columns of measureme's summarize */
    bool has_categories; /* measureme's categories: instants and counters are shown in their columns */
};

/*
 * report_sum.c: --sum, several files as one. report_sum_make() calls 'report_file' for each, which calls report_sum_take(),
 * and fills the report. The sum is kept in the options until report_sum_close(). Returns the exit status.
 */
typedef int (*report_file_function)(struct report_options *options, const char *path);
int report_sum_make(struct report *report, char **paths, int count, report_file_function report_file);
void report_sum_close(struct report_sum *sum);
/* Uses up the statistics of the next file. False after a complaint. */
bool report_sum_take(struct report_sum *sum, const struct report *one);
/* Fills the table of files. */
void report_sum_fill(const struct report_sum *sum, struct report *report);
#define REPORT_FILE_COLUMNS 8
extern const struct table_column report_file_columns[REPORT_FILE_COLUMNS];
void report_files_text(const struct report *report);

/* report_parse.c: false if the argument is no such number. */
bool report_parse_moments(const char *text, uint32_t *count_ret);         /* NULL: the default */
bool report_parse_retained(const char *text, uint32_t *survived_min_ret); /* NULL: the default */
bool report_parse_limit(const char *text, size_t *limit_ret);
bool report_parse_percent(const char *text, double *percent_ret);

/* report_columns.c: NULL, or what is wrong with an argument. */
const char *report_columns_parse(struct table_keys *keys, const char *text);
const char *report_sort_parse(struct table_keys *keys, const char *text);
/* Sets what the tables of 'report' consist of. */
void report_tables_open(struct report *report);

/* Fills the tables of 'report' from its results. */
void report_sort_tables(struct report *report);
void report_free_tables(struct report *report);

/* report_memory.c: the name of an id as its complete stack, one line per frame, innermost first. */
size_t report_stack_name(const struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes);
/* The file of a place in code. */
size_t report_file_name(const struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes);
/* The Ruby gem of the file: "json-2.6.1", "stdlib", or "(none)". */
size_t report_gem_name(const struct tool_places *places, uint32_t id, char *buffer, size_t buffer_nbytes);
/* The name of a site. If it is a stack, it is made in 'text', which starts zeroed, and whose bytes the caller frees. */
struct tbed_name report_site_name(const struct report *report, const struct tbed_allocation_site *site,
                                  struct tool_buffer *text);
void report_moments_text(const struct report *report);
/* Lifetimes cost time and memory. */
bool report_needs_lifetimes(const struct report_options *options);
/* All instants of the trace are allocations, recorded in light mode. */
bool report_counts_allocations(const struct report *report);
/* False, with a complaint, if --retained is asked for and no process with allocations has garbage collections. */
bool report_retained_applies(const struct report *report);

/* report_leaks.c: files of suppressions. False after a complaint. */
void report_suppressions_add(struct report_suppressions *suppressions, const char *path);
bool report_suppressions_load(struct report_suppressions *suppressions);
void report_suppressions_free(struct report_suppressions *suppressions);
/* Collects the rows of --leaks. */
void report_collect_leaks(struct report *report);
void report_leaks_text(const struct report *report);
void report_leaks_json(struct tbed_json *json, const struct report *report);

/* report_over_time.c: spans and counters over time, and the rows of all moments. */
struct report_moment {
    const char *name;
    size_t name_nbytes;
    uint32_t id, process; /* the latter for counters */
    size_t part;
    uint64_t tick;
    const struct tbed_timeline_spans *spans;
    const struct tbed_timeline_values *values;
    const struct tbed_allocation_moment *memory;
};
extern const struct table report_moment_tables[REPORT_LABELS - REPORT_MOMENTS];
void report_collect_moments(struct report *report);
void report_over_time_text(const struct report *report);

void report_print_text(const struct report *report);
void report_print_json(const struct report *report);
/* False, after a complaint, if it does not fit under the header. */
bool report_print_csv(const struct report *report);
/* The name of a row and its other known fields. */
void report_json_name(struct tbed_json *json, const struct report *report, uint32_t id, const char *name,
                      size_t nbytes);

/* Ticks in nanoseconds, rounded; unchanged if the clock does not measure time. */
uint64_t report_ns(const struct report *report, uint64_t ticks);

/* The parts of text and JSON that are specific to profiles. */
void report_profile_head(const struct report *report);
void report_profile_warnings(const struct report *report);
void report_profile_text(const struct report *report);
void report_profile_json(struct tbed_json *json, const struct report *report);
void report_artifacts_text(const struct report *report);
void report_artifacts_json(struct tbed_json *json, const struct report *report);

#endif
