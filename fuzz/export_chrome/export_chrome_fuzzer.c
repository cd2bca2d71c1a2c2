/*
 * Whatever one or two traces contain, the Chrome trace events made from them are JSON in UTF-8.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/exchange.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"

static void check(struct tbed_reader *const *readers, size_t count, const struct tbed_chrome_options *options)
{
    struct tbed_chrome_report report;
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    REQUIRE(out != NULL);
    REQUIRE(tbed_export_chrome_stream(readers, count, out, options, &report, NULL) == TBED_OK);
    REQUIRE(fclose(out) == 0 && nbytes > 0 && is_json_lines(text, nbytes));
    REQUIRE(report.open_count <= report.event_count && report.inverted_count <= report.event_count);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_chrome_options options = {.size = sizeof options};
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_reader *twice[] = {reader, reader};
    check(twice, 2, &options);
    options.collapse_threads = options.absolute = true;
    options.minimum_ns = 1000;
    check(&reader, 1, &options);
    tbed_reader_close(reader);
    return 0;
}
