/*
 * What the formats of `tracebed export` share with the verb.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXPORT_VERB_H
#define TRACEBED_EXPORT_VERB_H

#include "reader/tools/shared/tool.h"
#include "reader/tools/shared/tool_places.h"

struct export_request {
    struct tbed_reader *reader; /* the first, or only one */
    struct tbed_reader **readers;
    struct tool_places *places; /* of each */
    size_t reader_count;
    const char *to;
    bool overwrite;
    uint32_t version;                /* of the format; 0: its newest */
    bool absolute, collapse_threads; /* chrome's */
    uint64_t minimum_ns;
    enum tbed_rtl_rebase rebase; /* rtl-log's */
    enum tbed_rtl_tid tid;
    bool quirks;
};

/* A format: writes 'to', says on standard output what it wrote and what it left out, and complains. */
enum tool_exit export_chrome(const struct export_request *request);
enum tool_exit export_rtl_log(const struct export_request *request);

/* Whether an export went well; else what is wrong has been said, and '*exit_ret' is what to exit with. */
bool export_went_well(const struct export_request *request, enum tbed_status status,
                      const struct tbed_error *error, enum tool_exit *exit_ret);

/* "  12 messages left out" and the like; nothing for 0. */
void export_put_note(uint64_t count, const char *what, const char *explanation);

/* "OUT: exported: " */
void export_put_heading(const char *to);

#endif
