/*
 * Profiles of the Firefox Profiler in the registry of formats: export.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/firefox/firefox.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>

static void open_trace(void *context)
{
    struct firefox *firefox = context;
    tbed_firefox_end_counter(firefox); /* of the last process of the trace before */
    TBED_HASHMAP_CLEAR(&firefox->categories);
}

#define FIELD(key, label, format)                                                                            \
    "{\"key\":\"" key "\",\"label\":\"" label "\",\"format\":\"" format "\",\"searchable\":true}"
#define SOURCE_FIELDS                                                                                        \
    FIELD("arguments", "Arguments", "string")                                                                \
    "," FIELD("arg0", "First argument", "string") "," FIELD("arg1", "Second argument", "string") "," FIELD(  \
        "function", "Function", "string") "," FIELD("file", "File", "string") "," FIELD("line", "Line",      \
                                                                                        "integer")
#define SCHEMA(name, label, fields)                                                                          \
    "{\"name\":\"" name "\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"" label                      \
    "\",\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-"         \
    "overview\"],"                                                                                           \
    "\"data\":[" fields "],\"fields\":[" fields "]}"

static const char schemas
    [] = "\"markerSchema\":[" SCHEMA("span", "{marker.name} {marker.data.arguments}", SOURCE_FIELDS) "," SCHEMA("instant", "{marker.name} {marker.data.arguments}", SOURCE_FIELDS) "," SCHEMA(
        "counter", "{marker.name} {marker.data.value}",
        FIELD(
            "value", "Value",
            "string") "," SOURCE_FIELDS) "," SCHEMA("message", "{marker.data.text}",
                                                    FIELD("text", "Text", "string") "," FIELD(
                                                        "severity", "Severity",
                                                        "string")) "," SCHEMA("async",
                                                                              "{marker.name} "
                                                                              "{marker.data.key}",
                                                                              FIELD(
                                                                                  "key", "Key",
                                                                                  "string") "," SOURCE_FIELDS) "," SCHEMA("flow",
                                                                                                                          "{marker.name} {marker.data.key}",
                                                                                                                          FIELD(
                                                                                                                              "key",
                                                                                                                              "Key",
                                                                                                                              "string") "," SOURCE_FIELDS) "," SCHEMA("gap",
                                                                                                                                                                      "{marker.name} {marker.data.count}",
                                                                                                                                                                      FIELD("count", "Count", "integer") "," FIELD(
                                                                                                                                                                          "cause",
                                                                                                                                                                          "Cause",
                                                                                                                                                                          "string")) "]";

/* It comes last, because the categories are known last. */
static void put_end(struct firefox *firefox)
{
    struct tbed_text *text = &firefox->out->text;
    tbed_firefox_end_counter(firefox);
    tbed_text_puts(text, "],\n\"counters\":[");
    if (!tbed_spool_move(&firefox->counters, firefox->out))
        firefox->write_errno = firefox->counters.write_errno;
    firefox->is_out_of_memory |= firefox->counters.text.is_out_of_memory;
    tbed_text_puts(
        text,
        "],\n\"libs\":[],\"pages\":[],\"profilerOverhead\":[],\n\"meta\":{\"interval\":1,\"startTime\":");
    tbed_firefox_put_ms(text, firefox->walk.has_realtime ? firefox->walk.realtime_ns : 0);
    tbed_text_puts(text,
                   ",\"processType\":0,\"product\":\"tracebed\",\"stackwalk\":0,\"symbolicated\":true,"
                   "\"version\":30,\"preprocessedProfileVersion\":" FIREFOX_VERSION
                   ",\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}");
    tbed_text_put(text, firefox->category_texts.bytes, firefox->category_texts.nbytes);
    tbed_text_puts(text, "],");
    tbed_text_puts(text, schemas);
    tbed_text_puts(text, "}}\n");
}

static void open_spools(struct firefox *firefox)
{
    for (unsigned i = 0; i < FIREFOX_COLUMN_COUNT; i++)
        firefox->columns[i].fd = -1;
    firefox->strings.fd = firefox->counters.fd = -1;
    firefox->counter.times.fd = firefox->counter.counts.fd = -1;
}

static void firefox_close(struct firefox *firefox)
{
    for (unsigned i = 0; i < FIREFOX_COLUMN_COUNT; i++)
        tbed_spool_close(&firefox->columns[i]);
    tbed_spool_close(&firefox->strings);
    tbed_spool_close(&firefox->counters);
    tbed_spool_close(&firefox->counter.times);
    tbed_spool_close(&firefox->counter.counts);
    tbed_hashmap_free(&firefox->names.map);
    tbed_hashmap_free(&firefox->categories.map);
    tbed_hashmap_free(&firefox->category_hashes.map);
    free(firefox->category_texts.bytes);
    tbed_hashmap_free(&firefox->mains.map);
    free(firefox->text.bytes);
}

static enum tbed_status export_file(const struct export_job *job, struct export_out *out)
{
    struct firefox firefox = {.walk = {.job = job, .out = out}, .out = out};
    const struct export_visitor visitor = {.open_trace = open_trace,
                                           .open_thread = tbed_firefox_open_thread,
                                           .step = tbed_firefox_step,
                                           .close_thread = tbed_firefox_close_thread,
                                           .live = tbed_firefox_put_live,
                                           .context = &firefox};
    open_spools(&firefox);
    job->result->written = job->options.by_memory ? "stack" : "marker";
    tbed_text_puts(&out->text, "{\"threads\":[");
    enum tbed_status status = job->options.by_memory ? tbed_firefox_put_memory(&firefox)
                                                     : tbed_export_walk(&firefox.walk, &visitor);
    if (status == TBED_OK)
        put_end(&firefox);
    errno = firefox.write_errno;
    if (status == TBED_OK && firefox.write_errno != 0)
        status = tbed_exchange_fail(job->error, TBED_ERR_WRITE);
    else if (status == TBED_OK && (firefox.is_out_of_memory || firefox.text.is_out_of_memory))
        status = tbed_exchange_fail(job->error, TBED_ERR_MEMORY);
    firefox_close(&firefox);
    return status;
}

const struct exchange_format tbed_exchange_firefox = {
    .about = {.kind = TBED_FOREIGN_FIREFOX,
              .name = "firefox",
              .summary = "a profile for profiler.firefox.com",
              .extensions = ".json",
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .exports_memory = true,
              .compresses = true,
              .skips = true},
    .export_file = export_file,
};
