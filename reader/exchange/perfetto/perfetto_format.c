/*
 * Perfetto's protobuf in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/foreign_file.h"
#include "reader/exchange/perfetto/import/perfetto_import.h"
#include "reader/exchange/perfetto/perfetto.h"
#include "reader/exchange/shared/new_file.h"

#include <stdlib.h>

static bool has_thread(const struct export_walk *walk, uint64_t pid)
{
    for (size_t i = 0; i < walk->threads.count; i++)
        if (walk->threads.items[i].pid == pid)
            return true;
    return walk->filter == NULL;
}

static void open_trace(void *context)
{
    struct perfetto *perfetto = context;
    struct export_walk *walk = &perfetto->walk;
    for (unsigned i = 0; i < PERFETTO_LIST_COUNT; i++)
        TBED_HASHMAP_CLEAR(&perfetto->lists[i]);
    TBED_HASHMAP_CLEAR(&perfetto->counters);
    perfetto->is_first_packet = true;
    perfetto->aside_count = 0;
    tbed_perfetto_put_clocks(perfetto);
    for (size_t i = 0; i < walk->threads.process_count; i++)
        if (has_thread(walk, walk->threads.pids[i]))
            tbed_perfetto_put_process(perfetto, i);
}

static void perfetto_close(struct perfetto *perfetto)
{
    struct tbed_text *texts[] = {&perfetto->event,   &perfetto->packet, &perfetto->held,
                                 &perfetto->scratch, &perfetto->value,  &perfetto->utf8};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]->bytes);
    for (unsigned i = 0; i < PERFETTO_LIST_COUNT; i++)
        tbed_hashmap_free(&perfetto->lists[i].map);
    tbed_hashmap_free(&perfetto->counters.map);
    tbed_export_nest_close(&perfetto->nest);
    free(perfetto->open);
    free(perfetto->lost);
}

static enum tbed_status export_file(const struct export_job *job, struct export_out *out)
{
    struct perfetto perfetto = {.walk = {.job = job, .out = out}, .out = out};
    const struct export_visitor visitor = {.open_trace = open_trace,
                                           .open_thread = tbed_perfetto_open_thread,
                                           .step = tbed_perfetto_step,
                                           .close_thread = tbed_perfetto_close_thread,
                                           .live = tbed_perfetto_put_live,
                                           .context = &perfetto};
    enum tbed_status status = tbed_export_walk(&perfetto.walk, &visitor);
    if (status == TBED_OK && (perfetto.is_out_of_memory || perfetto.nest.is_out_of_memory))
        status = tbed_exchange_fail(job->error, TBED_ERR_MEMORY);
    perfetto_close(&perfetto);
    return status;
}

const struct exchange_format tbed_exchange_perfetto = {
    .about = {.kind = TBED_FOREIGN_PERFETTO,
              .name = "perfetto",
              .summary = "protobuf for ui.perfetto.dev and trace_processor",
              .extensions = ".pftrace .perfetto-trace .pftrace.gz",
              .can_import = true,
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .compresses = true,
              .skips = true},
    .export_file = export_file,
    .has_start = tbed_perfetto_has_start,
    .open = tbed_foreign_file_open,
    .close = tbed_foreign_file_close,
    .import = tbed_perfetto_import,
};
