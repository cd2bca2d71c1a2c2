/*
 * Computes time by stack, and Chrome trace events, from a trace whose checksums are not verified. Whatever the trace
 * contains, the parts of a stack must add up to its total.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>

#define LABEL_NBYTES_MAX 65535u

static void check_rows(const struct tbed_stacks *stacks)
{
    const struct tbed_stack_row *row;
    uint64_t self = 0, roots = 0;
    bool too_large = false;
    for (size_t i = 0; (row = tbed_stacks_row(stacks, i)) != NULL; i++) {
        const struct tbed_stack_row *parent = row->parent < i ? tbed_stacks_row(stacks, row->parent) : NULL;
        bool fits =
            row->depth == 0 ? row->parent == SIZE_MAX : parent != NULL && parent->depth + 1 == row->depth;
        if (!fits || row->self_ticks > row->total_ticks ||
            (parent != NULL && row->total_ticks > parent->total_ticks) ||
            row->label_nbytes > LABEL_NBYTES_MAX)
            abort();
        too_large |= __builtin_add_overflow(self, row->self_ticks, &self);
        too_large |= row->depth == 0 && __builtin_add_overflow(roots, row->total_ticks, &roots);
        too_large |= row->total_ticks == UINT64_MAX;
    }
    if (!too_large && self != roots)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    struct tbed_stacks_options stacks_options = {
        .size = sizeof stacks_options, .thread_count = 1, .per_thread = nbytes % 2 != 0};
    struct tbed_chrome_options chrome_options = {
        .size = sizeof chrome_options, .absolute = nbytes % 4 == 0, .collapse_threads = nbytes % 8 == 0};
    struct tbed_reader *reader = NULL;
    struct tbed_stacks *stacks = NULL;
    struct tbed_error error;
    uint8_t *bytes = guarded_copy(data, nbytes);
    if (bytes == NULL || tbed_reader_open_memory(bytes, nbytes, &options, &reader, &error) != TBED_OK)
        return 0;
    if (tbed_stacks_make(reader, &stacks_options, &stacks) == TBED_OK)
        check_rows(stacks);
    tbed_stacks_close(stacks);
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere != NULL) {
        tbed_export_chrome_stream(&reader, 1, nowhere, &chrome_options, NULL, NULL);
        fclose(nowhere);
    }
    tbed_reader_close(reader);
    return 0;
}
