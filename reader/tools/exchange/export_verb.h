/*
 * Shared by 'tracebed export' and the files for its formats.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXPORT_VERB_H
#define TRACEBED_EXPORT_VERB_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/shared/tool.h"
#include "reader/tools/shared/tool_places.h"

struct export_request {
    struct tbed_reader *reader; /* the first, or only one */
    struct tbed_reader **readers;
    char *const *paths;         /* one per reader */
    struct tool_places *places; /* one per reader */
    struct tbed_filter **filters;
    size_t reader_count;
    const struct tbed_format *format;
    const char *to;
    bool overwrite;
    uint32_t version;                                          /* version of the format; 0: the newest */
    bool absolute, collapse_threads, no_instants, no_counters; /* for chrome */
    unsigned jobs;
    const char *table, *host;    /* for tables; NULL: not given */
    bool memory;                 /* for sums by stack */
    enum tbed_rtl_rebase rebase; /* for rtl-log */
    enum tbed_rtl_tid tid;
    bool quirks, exact;
};

/* Each writes 'to' and prints on standard output what was written and what was omitted; or complains. */
enum tool_exit export_rtl_log(const struct export_request *request);
enum tool_exit export_any(const struct export_request *request); /* each format that tbed_export() writes */

/* Returns whether an export succeeded; if not, complains and stores the exit status in '*exit_ret'. */
bool export_went_well(const struct export_request *request, enum tbed_status status,
                      const struct tbed_error *error, enum tool_exit *exit_ret);

/* Prints a line such as "  12 messages omitted"; nothing if the count is 0. */
void export_put_note(uint64_t count, const char *what, const char *explanation);

/* The same, on standard error if the data goes to standard output. */
void export_tell_note(bool is_piped, uint64_t count, const char *what, const char *explanation);

/* "OUT: exported: " */
void export_put_heading(const char *to);

#endif
