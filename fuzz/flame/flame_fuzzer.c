/*
 * Whatever a trace contains, its flame graphs are well-formed XML, and its folded stacks can be read back.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"
#include "fuzz/support/tool_run.h"

#define FILE_NBYTES_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char *const graphs[][7] = {
        {"flame", "-o", "-", "--per-thread", "x"},
        {"flame", "-o", "-", "--weight=bytes", "x"},
    };
    static const char *const folded[][7] = {
        {"flame", "--folded", "x"},
        {"flame", "--folded", "--per-thread", "x"},
        {"flame", "--folded", "--weight=peak", "x"},
        {"flame", "--folded", "--weight=count", "x"},
    };
    if (nbytes > FILE_NBYTES_MAX)
        return 0;
    tool_file_put("x", data, nbytes);
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        struct tool_output output = tool_run(graphs[i]);
        REQUIRE(output.nbytes == 0 || is_xml(output.text, output.nbytes));
    }
    for (size_t i = 0; i < sizeof folded / sizeof folded[0]; i++) {
        struct tool_output output = tool_run(folded[i]);
        REQUIRE(is_folded(output.text, output.nbytes));
    }
    return 0;
}
