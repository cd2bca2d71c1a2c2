/*
 * Writes folded stacks, the input of flame graph tools: one line per path, with its labels joined by ';', a space, and its own
 * time in nanoseconds, or the bytes that were allocated there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/folded/folded.h"
#include "reader/exchange/stacks/stack_line.h"
#include "reader/exchange/stacks/stack_sums.h"

static enum tbed_status put_rows(const struct stack_sums *sums, struct export_out *out)
{
    struct stack_line line = {0};
    const struct tbed_stack_row *row;
    bool fine = true;
    for (size_t i = 0; fine && (row = tbed_stack_sums_row(sums, i)) != NULL; i++) {
        if (!tbed_stack_line_turn(&line, row)) {
            out->text.is_out_of_memory = true;
            break;
        }
        if (tbed_stack_row_is_nameless(row) && row->self_ticks == 0)
            continue;
        tbed_text_put(&out->text, line.text.bytes, line.text.nbytes);
        tbed_text_put(&out->text, " ", 1);
        tbed_text_u64(&out->text, tbed_stack_sums_value(sums, row->self_ticks));
        tbed_text_put(&out->text, "\n", 1);
        sums->job->result->written_count++;
        fine = tbed_export_out_spill(out);
    }
    tbed_stack_line_free(&line);
    return TBED_OK;
}

enum tbed_status tbed_export_folded(const struct export_job *job, struct export_out *out)
{
    struct stack_sums sums;
    job->result->written = "stack";
    enum tbed_status status = tbed_stack_sums_open(&sums, job);
    for (size_t i = 0; status == TBED_OK && i < job->reader_count; i++) {
        status = sums.by_memory ? tbed_stack_sums_memory(&sums, i) : tbed_stack_sums_time(&sums, i);
        if (status == TBED_OK)
            status = put_rows(&sums, out);
    }
    tbed_stack_sums_close(&sums);
    return status;
}
