/*
 * Whatever a trace contains, the profile exported from it is intact and has as many events as the export reports; with
 * fewer kinds of events it has at most as many.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/export_chrome/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/exchange.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_profile_export_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_export_report report, less;
    struct tbed_import_report imported;
    struct tbed_reader *again, *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    const char *path = scratch_path("x.mm_profdata");
    for (options.version = 8; options.version <= 9; options.version++) {
        REQUIRE(tbed_export_profile(reader, path, &options, &report, NULL) == TBED_OK);
        REQUIRE(tbed_import_open(path, &again, &imported, NULL) == TBED_OK);
        REQUIRE(imported.damage_count == 0 && imported.drop_count == 0);
        REQUIRE(imported.event_count == report.event_count && imported.version == options.version);
        REQUIRE(tbed_reader_verify(again) == TBED_OK);
        tbed_reader_close(again);
    }
    options.version = 9;
    options.skip_instants = options.skip_counters = true;
    REQUIRE(tbed_export_profile(reader, path, &options, &less, NULL) == TBED_OK);
    REQUIRE(less.event_count <= report.event_count);
    REQUIRE(less.event_count + less.instant_count + less.counter_count + less.left_out_count ==
            report.event_count + report.left_out_count);
    tbed_reader_close(reader);
    return 0;
}
