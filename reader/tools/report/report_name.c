/*
 * The name of a row of a report, in JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/report/report.h"

/* Rows that were grouped by something else have only a name. */
void report_json_name(struct tbed_json *json, const struct report *report, uint32_t id, const char *name,
                      size_t nbytes)
{
    bool is_grouped = report->options->group.by != GROUP_BY_SCOPE || report->options->key != TBED_BY_LABEL;
    if (report->reader == NULL) {
        tbed_json_text(json, "name", name, nbytes);
        return;
    }
    tool_json_row_name(json, report->reader, is_grouped ? TBED_ID_INVALID : id, report->options->by, name,
                       nbytes);
}
