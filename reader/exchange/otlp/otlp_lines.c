/*
 * The lines of OTLP, and what identifies a thread in each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/otlp/otlp.h"

#define LINE_NBYTES (64u << 10) /* about */

uint64_t tbed_otlp_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 29) * UINT64_C(0x94D049BB133111EB);
    hash ^= hash >> 32;
    return hash != 0 ? hash : 1; /* an id of zeros is invalid */
}

void tbed_otlp_put_id(struct tbed_text *text, uint64_t id)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)id);
    tbed_text_put(text, digits, 16);
}

void tbed_otlp_put_time(struct otlp *otlp, struct tbed_text *text, const char *key, int64_t ns)
{
    uint64_t base =
        otlp->walk.has_realtime && otlp->walk.realtime_ns > 0 ? (uint64_t)otlp->walk.realtime_ns : 0;
    tbed_text_puts(text, ",\"");
    tbed_text_puts(text, key);
    tbed_text_puts(text, "\":\"");
    tbed_text_u64(text, base + (uint64_t)ns);
    tbed_text_puts(text, "\"");
}

struct tbed_text *tbed_otlp_object(struct otlp *otlp, enum otlp_kind kind)
{
    struct tbed_text *text = &otlp->lines[kind];
    if (text->nbytes > 0)
        tbed_text_puts(text, ",");
    return text;
}

static void put_line(struct otlp *otlp, enum otlp_kind kind)
{
    static const char *const opens[][3] = {
        {"{\"resourceSpans\":[{\"resource\":", ",\"scopeSpans\":[{\"scope\":", ",\"spans\":["},
        {"{\"resourceLogs\":[{\"resource\":", ",\"scopeLogs\":[{\"scope\":", ",\"logRecords\":["},
        {"{\"resourceMetrics\":[{\"resource\":", ",\"scopeMetrics\":[{\"scope\":", ",\"metrics\":["}};
    struct tbed_text *objects = &otlp->lines[kind], *text = &otlp->out->text;
    if (objects->nbytes == 0)
        return;
    tbed_text_puts(text, opens[kind][0]);
    tbed_text_put(text, otlp->resource.bytes, otlp->resource.nbytes);
    tbed_text_puts(text, opens[kind][1]);
    tbed_text_put(text, otlp->scope.bytes, otlp->scope.nbytes);
    tbed_text_puts(text, opens[kind][2]);
    tbed_text_put(text, objects->bytes, objects->nbytes);
    tbed_text_puts(text, "]}]}]}\n");
    objects->nbytes = 0;
    tbed_export_out_spill(otlp->out);
}

void tbed_otlp_object_end(struct otlp *otlp, enum otlp_kind kind)
{
    otlp->walk.job->result->written_count++;
    otlp->is_out_of_memory |= otlp->lines[kind].is_out_of_memory;
    if (otlp->lines[kind].nbytes >= LINE_NBYTES)
        put_line(otlp, kind);
    otlp->walk.is_over |= otlp->is_out_of_memory;
}

void tbed_otlp_put_lines(struct otlp *otlp)
{
    for (unsigned kind = 0; kind < OTLP_KIND_COUNT; kind++)
        put_line(otlp, kind);
}

static void put_resource(struct otlp *otlp, uint64_t pid, size_t process)
{
    struct export_walk *walk = &otlp->walk;
    struct tbed_text *text = &otlp->resource;
    struct otlp_attributes attributes;
    const char *name = "no process";
    size_t nbytes = 10;
    if (process != SIZE_MAX)
        name = tbed_export_process_name(walk, process, &nbytes);
    text->nbytes = 0;
    tbed_text_puts(text, "{");
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    tbed_otlp_put_text_attribute(&attributes, "service.name", name, nbytes);
    tbed_otlp_put_u64_attribute(&attributes, "process.pid", pid);
    tbed_otlp_end_attributes(&attributes);
    tbed_text_puts(text, "}");
}

static void put_scope(struct otlp *otlp, const struct export_thread *thread)
{
    struct tbed_text *text = &otlp->scope;
    struct otlp_attributes attributes;
    text->nbytes = 0;
    tbed_text_puts(text, "{\"name\":\"tracebed\"");
    if (thread != NULL) {
        tbed_text_puts(text, ",");
        tbed_otlp_begin_attributes(&attributes, otlp, text);
        tbed_otlp_put_u64_attribute(&attributes, "thread.id",
                                    thread->parent != 0 ? thread->system_tid : thread->tid);
        if (thread->name_id != TBED_ID_INVALID) {
            size_t nbytes;
            const char *name = tbed_export_text_of(&otlp->walk, thread->name_id, &nbytes);
            tbed_otlp_put_text_attribute(&attributes, "thread.name", name, nbytes);
        }
        tbed_otlp_end_attributes(&attributes);
    }
    tbed_text_puts(text, "}");
}

void tbed_otlp_describe(struct otlp *otlp, uint64_t pid, const struct export_thread *thread)
{
    size_t process = thread != NULL ? thread->process : SIZE_MAX;
    for (size_t i = 0; thread == NULL && i < otlp->walk.threads.process_count; i++)
        process = otlp->walk.threads.pids[i] == pid ? i : process;
    put_resource(otlp, pid, process);
    put_scope(otlp, thread);
    otlp->trace_id[0] = tbed_otlp_mix(otlp->file_id, otlp->walk.trace + 1);
    otlp->trace_id[1] = tbed_otlp_mix(otlp->trace_id[0], pid);
    otlp->is_out_of_memory |= otlp->resource.is_out_of_memory || otlp->scope.is_out_of_memory;
}
