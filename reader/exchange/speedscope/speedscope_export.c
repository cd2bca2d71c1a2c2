/*
 * Writes profiles of speedscope: the spans of each thread in order of time or, of memory, a weight for each call stack. The
 * frames that they share come last, when all are known.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/json.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/speedscope/speedscope.h"

#include <errno.h>

/* ---- Memory ---- */

static const char *const weights[] = {"allocated", "live at the peak", "never freed", "allocations"};
#define WEIGHT_COUNT (sizeof weights / sizeof weights[0])
#define OF_COUNT     3u

static uint64_t weigh(const struct tbed_allocation_sums *sums, size_t weight)
{
    const uint64_t values[WEIGHT_COUNT] = {sums->nbytes, sums->peak_nbytes, sums->live_nbytes, sums->count};
    return values[weight];
}

static void put_stack(struct speedscope *speedscope, const struct tbed_allocation_site *site,
                      frame_list *list)
{
    struct tbed_text *text = &speedscope->out->text;
    if (!tbed_stack_sums_frames(&speedscope->frames, site, list)) {
        speedscope->is_out_of_memory = true;
        return;
    }
    for (size_t i = list->count; i-- > 0;) {
        tbed_text_puts(text, i + 1 == list->count ? "[" : ",");
        tbed_text_u64(text, list->items[i]);
    }
    tbed_text_puts(text, "]");
}

/* Calls 'put' for each site that has some of this weight, with commas between. */
static uint64_t put_sites(struct speedscope *speedscope, size_t weight, frame_list *list)
{
    const struct tbed_allocation_site *site;
    uint64_t total = 0;
    bool needs_comma = false;
    for (size_t i = 0; !tbed_speedscope_is_over(speedscope) &&
                       (site = tbed_allocations_site(speedscope->sums.sites, i)) != NULL;
         i++) {
        uint64_t value = weigh(&site->sums, weight);
        if (value == 0)
            continue;
        tbed_text_puts(&speedscope->out->text, needs_comma ? ",\n" : "\n");
        needs_comma = true;
        if (list != NULL)
            put_stack(speedscope, site, list);
        else
            tbed_text_u64(&speedscope->out->text, value);
        total = value > UINT64_MAX - total ? UINT64_MAX : total + value;
        speedscope->job->result->written_count += list != NULL;
    }
    return total;
}

static void put_weight(struct speedscope *speedscope, size_t weight)
{
    struct tbed_text *text = &speedscope->out->text;
    frame_list list = {0};
    tbed_speedscope_open_profile(speedscope, "sampled", weights[weight], strlen(weights[weight]),
                                 weight == OF_COUNT ? "none" : "bytes");
    tbed_text_puts(text, ",\"samples\":[");
    put_sites(speedscope, weight, &list);
    tbed_text_puts(text, "],\"weights\":[");
    uint64_t total = put_sites(speedscope, weight, NULL);
    tbed_text_puts(text, "],\"startValue\":0,\"endValue\":");
    tbed_text_u64(text, total);
    tbed_text_puts(text, "}");
    tbed_vector_free(&list.vector);
}

static enum tbed_status put_memory(struct speedscope *speedscope, size_t index)
{
    enum tbed_status status = tbed_stack_sums_sites(&speedscope->sums, index);
    if (status != TBED_OK)
        return status;
    tbed_frame_table_turn(&speedscope->frames, speedscope->sums.reader);
    for (size_t i = 0; i < WEIGHT_COUNT; i++)
        put_weight(speedscope, i);
    return TBED_OK;
}

/* ---- Time ---- */

static enum tbed_status put_threads(struct speedscope *speedscope, size_t index)
{
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    speedscope->reader = speedscope->job->readers[index];
    tbed_reader_info(speedscope->reader, &speedscope->info);
    tbed_frame_table_turn(&speedscope->frames, speedscope->reader);
    TBED_HASHMAP_CLEAR(&speedscope->ids);
    for (size_t i = 0; status == TBED_OK && !tbed_speedscope_is_over(speedscope) &&
                       tbed_stream_get(speedscope->reader, i, &stream);
         i++)
        status = tbed_speedscope_stream(speedscope, &stream, tbed_export_job_filter(speedscope->job, index));
    errno = 0;
    return status == TBED_OK ? TBED_OK : tbed_exchange_fail(speedscope->job->error, status);
}

/* ---- The file ---- */

static void put_frames(struct speedscope *speedscope)
{
    struct tbed_text *text = &speedscope->out->text;
    const struct frame_table *frames = &speedscope->frames;
    size_t nbytes;
    for (size_t i = 0; i < frames->frames.count && !tbed_speedscope_is_over(speedscope); i++) {
        const struct frame *frame = &frames->frames.items[i];
        const char *name = tbed_text_table_get(&frames->texts, frame->name, &nbytes);
        tbed_text_puts(text, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
        tbed_json_quote(text, name, nbytes);
        const char *file = tbed_text_table_get(&frames->texts, frame->file, &nbytes);
        if (nbytes > 0) {
            tbed_text_puts(text, ",\"file\":");
            tbed_json_quote(text, file, nbytes);
        }
        if (frame->line != 0) {
            tbed_text_puts(text, ",\"line\":");
            tbed_text_u64(text, frame->line);
        }
        tbed_text_puts(text, "}");
    }
}

static enum tbed_status put_all(struct speedscope *speedscope)
{
    const struct export_job *job = speedscope->job;
    struct tbed_text *text = &speedscope->out->text;
    enum tbed_status status = TBED_OK;
    tbed_text_puts(text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                         "\"exporter\":\"tracebed\",\"profiles\":[");
    for (size_t i = 0; status == TBED_OK && i < job->reader_count; i++)
        status = speedscope->sums.by_memory ? put_memory(speedscope, i) : put_threads(speedscope, i);
    if (!speedscope->needs_comma) { /* the format wants at least one */
        tbed_speedscope_open_profile(speedscope, "evented", "no spans", 8, "none");
        tbed_text_puts(text, ",\"events\":[],\"startValue\":0,\"endValue\":0}");
    }
    tbed_text_puts(text, "],\"shared\":{\"frames\":[");
    put_frames(speedscope);
    tbed_text_puts(text, "]}}\n");
    job->result->notes[TBED_EXPORT_NOTE_REPLACED] = speedscope->frames.texts.replaced_count;
    return status;
}

/* A file without a name may find no room, which is a failure to write. */
static enum tbed_status check(struct speedscope *speedscope, enum tbed_status status)
{
    bool has_failed =
        speedscope->spans.has_failed || speedscope->beside.has_failed || speedscope->events.has_failed;
    speedscope->out->text.is_out_of_memory |= speedscope->is_out_of_memory;
    if (status != TBED_OK || !has_failed)
        return status;
    errno = 0;
    return tbed_exchange_fail(speedscope->job->error, TBED_ERR_MEMORY);
}

enum tbed_status tbed_export_speedscope(const struct export_job *job, struct export_out *out)
{
    struct speedscope speedscope = {.job = job, .out = out, .spans.fd = -1, .beside.fd = -1, .events.fd = -1};
    job->result->written = "event";
    enum tbed_status status = tbed_stack_sums_open(&speedscope.sums, job);
    if (speedscope.sums.by_memory)
        job->result->written = "stack";
    if (status == TBED_OK)
        status = check(&speedscope, put_all(&speedscope));
    tbed_stack_sums_close(&speedscope.sums);
    tbed_frame_table_free(&speedscope.frames);
    tbed_hashmap_free(&speedscope.ids.map);
    tbed_vector_free(&speedscope.stack.vector);
    tbed_span_spool_close(&speedscope.spans);
    tbed_span_spool_close(&speedscope.beside);
    tbed_span_spool_close(&speedscope.events);
    return status;
}
