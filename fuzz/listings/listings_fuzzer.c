/*
 * Whatever a trace contains, what the program prints as JSON is JSON in UTF-8, one object per line.
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

static void check(const char *const *arguments)
{
    struct tool_output output = tool_run(arguments);
    REQUIRE(output.status >= 0 && output.status <= 2 && is_json_lines(output.text, output.nbytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char *const commands[][8] = {
        {"info", "--json", "x"},
        {"verify", "--json", "x"},
        {"dump", "--json", "--no-symbols", "x"},
        {"dump", "--json", "--no-symbols", "--order=stream", "x"},
        {"report", "--json", "--no-symbols", "--over-time=3", "-j1", "x"},
        {"report", "--json", "--no-symbols", "--by=argument", "-j1", "x"},
        {"report", "--json", "--no-symbols", "--by=location", "-j1", "x"},
        {"threads", "--json", "-j1", "x"},
        {"flows", "--json", "--no-symbols", "--path", "x"},
        {"flows", "--json", "--no-symbols", "--slowest", "x"},
        {"slowest", "--json", "--no-symbols", "-j1", "-l2", "x"},
        {"tree", "--json", "x"},
        {"tree", "--json", "--calls", "x"},
        {"strings", "--json", "x"},
        {"strings", "--json", "--unresolved", "x"},
        {"aggregate", "--json", "-j1", "x", "x"},
        {"diff", "--json", "-j1", "x", "x"},
    };
    if (nbytes > FILE_NBYTES_MAX)
        return 0;
    tool_file_put("x", data, nbytes);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        check(commands[i]);
    return 0;
}
