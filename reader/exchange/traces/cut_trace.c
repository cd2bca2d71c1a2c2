/*
 * A part of a trace as a trace; see <tracebed/copy.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/filter/filter.h"
#include "reader/core/file/reader_state.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/traces/trace_copy.h"

#include <errno.h>

enum tbed_status tbed_trace_cut_sized(struct tbed_reader *reader, const char *path,
                                      const struct tbed_cut_options *given,
                                      struct tbed_copy_report *report_ret, struct tbed_error *error_ret,
                                      size_t report_nbytes)
{
    struct tbed_cut_options options = {0};
    struct tbed_copy_report report = {0};
    struct copy_source source;
    struct trace_copy copy = {.sources = &source, .source_count = 1, .fields = reader->header};
    errno = 0;
    if (given != NULL && !tbed_options_take(&options, sizeof options, given))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status = tbed_trace_copy_add(&copy, &source, reader, options.filter);
    if (status != TBED_OK)
        return tbed_exchange_fail(error_ret, status);
    copy.fields.ring_page_count = 0;
    tbed_trace_copy_choose_anchor(reader, &copy.fields);
    status = tbed_trace_copy_to(&copy, path, options.overwrite, &report, error_ret);
    tbed_copy_source_free(&source);
    if (status == TBED_OK && report_ret != NULL)
        tbed_sized_give(report_ret, report_nbytes, &report, sizeof report);
    return status;
}
