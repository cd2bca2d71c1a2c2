/*
 * OpenTelemetry's JSON lines in the registry of formats: export.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/otlp/otlp.h"
#include "reader/exchange/shared/new_file.h"

#include <stdlib.h>

static void open_trace(void *context)
{
    struct otlp *otlp = context;
    struct tbed_trace_info info;
    tbed_reader_info(otlp->walk.reader, &info);
    otlp->file_id = info.file_id;
    otlp->has_async = false;
    otlp->span_count = 0;
    otlp->trace_id[0] = otlp->trace_id[1] = 0;
    TBED_HASHMAP_CLEAR(&otlp->async);
}

static void otlp_close(struct otlp *otlp)
{
    for (unsigned kind = 0; kind < OTLP_KIND_COUNT; kind++)
        free(otlp->lines[kind].bytes);
    free(otlp->resource.bytes);
    free(otlp->scope.bytes);
    free(otlp->held.bytes);
    free(otlp->released.bytes);
    free(otlp->open);
    free(otlp->lost);
    tbed_export_nest_close(&otlp->nest);
    tbed_hashmap_free(&otlp->async.map);
}

static enum tbed_status export_file(const struct export_job *job, struct export_out *out)
{
    struct otlp otlp = {.walk = {.job = job, .out = out}, .out = out};
    const struct export_visitor visitor = {.open_trace = open_trace,
                                           .open_thread = tbed_otlp_open_thread,
                                           .step = tbed_otlp_step,
                                           .close_thread = tbed_otlp_close_thread,
                                           .live = tbed_otlp_put_live,
                                           .close_trace = tbed_otlp_put_async,
                                           .context = &otlp};
    job->result->written = "record";
    enum tbed_status status = tbed_export_walk(&otlp.walk, &visitor);
    if (status == TBED_OK && (otlp.is_out_of_memory || otlp.nest.is_out_of_memory))
        status = tbed_exchange_fail(job->error, TBED_ERR_MEMORY);
    otlp_close(&otlp);
    return status;
}

const struct exchange_format tbed_exchange_otlp = {
    .about = {.kind = TBED_FOREIGN_OTLP,
              .name = "otlp",
              .summary = "OpenTelemetry's JSON lines: spans, logs and metrics",
              .extensions = ".jsonl",
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .compresses = true,
              .skips = true},
    .export_file = export_file,
};
