/*
 * Events of OTLP that are not spans: log records, and values of metrics.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/otlp/otlp.h"

/* ---- Log records ---- */

/* Up to its body. It refers to the innermost open span. */
static struct tbed_text *begin_record(struct otlp *otlp, const struct tbed_event *event)
{
    struct tbed_text *text = tbed_otlp_object(otlp, OTLP_LOGS);
    tbed_text_puts(text, "{\"traceId\":\"");
    tbed_otlp_put_id(text, otlp->trace_id[0]);
    tbed_otlp_put_id(text, otlp->trace_id[1]);
    tbed_text_puts(text, "\"");
    if (otlp->open_count > 0) {
        tbed_text_puts(text, ",\"spanId\":\"");
        tbed_otlp_put_id(text, otlp->open[otlp->open_count - 1].span_id);
        tbed_text_puts(text, "\"");
    }
    tbed_otlp_put_time(otlp, text, "timeUnixNano", tbed_export_time(&otlp->walk, event->tick));
    return text;
}

static void put_body(struct tbed_text *text, const char *body, size_t nbytes)
{
    tbed_text_puts(text, ",\"body\":{\"stringValue\":");
    tbed_json_quote(text, body, nbytes);
    tbed_text_puts(text, "},");
}

static void end_record(struct otlp *otlp, struct otlp_attributes *attributes)
{
    tbed_otlp_end_attributes(attributes);
    tbed_text_puts(attributes->text, "}");
    tbed_otlp_object_end(otlp, OTLP_LOGS);
}

static void put_instant(struct otlp *otlp, const struct tbed_event *event)
{
    struct otlp_attributes attributes;
    struct tbed_text *text = begin_record(otlp, event);
    const struct export_name *name = tbed_export_name_of(&otlp->walk, event->id);
    bool is_flow = event->type >= TBED_EVENT_FLOW_BEGIN;
    uint32_t argument_count = name->argument_count;
    tbed_text_puts(text, ",\"eventName\":");
    tbed_json_quote(text, name->label.bytes, name->label.nbytes);
    put_body(text, name->label.bytes, name->label.nbytes);
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    tbed_otlp_put_name_attributes(&attributes, event->id, is_flow ? TBED_ID_INVALID : event->category);
    tbed_otlp_put_arguments(&attributes, event->arguments, event->argument_count, argument_count);
    if (is_flow) {
        static const char *const steps[] = {"begin", "step", "end"};
        const char *step = steps[event->type - TBED_EVENT_FLOW_BEGIN];
        tbed_otlp_put_u64_attribute(&attributes, "flow.key", event->of.async.key);
        tbed_otlp_put_text_attribute(&attributes, "flow.step", step, strlen(step));
    }
    end_record(otlp, &attributes);
}

static void put_message(struct otlp *otlp, const struct tbed_event *event)
{
    static const unsigned numbers[] = {0, 17, 13, 9, 5}; /* of severities */
    const struct tbed_text *message = tbed_export_message_of(&otlp->walk, event);
    const char *severity = tbed_export_severity(event->of.message.severity);
    struct otlp_attributes attributes;
    struct tbed_text *text = begin_record(otlp, event);
    if (event->of.message.severity < sizeof numbers / sizeof numbers[0]) {
        tbed_text_puts(text, ",\"severityNumber\":");
        tbed_text_u64(text, numbers[event->of.message.severity]);
    }
    tbed_text_puts(text, ",\"severityText\":\"");
    tbed_text_puts(text, severity);
    tbed_text_puts(text, "\"");
    put_body(text, message->bytes, message->nbytes);
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    end_record(otlp, &attributes);
}

static void put_gap(struct otlp *otlp, const struct tbed_event *event)
{
    const char *cause = tbed_drop_cause_text(event->of.gap.cause);
    struct otlp_attributes attributes;
    struct tbed_text *text = begin_record(otlp, event);
    put_body(text, "records dropped", strlen("records dropped"));
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    tbed_otlp_put_u64_attribute(&attributes, "count", event->of.gap.count);
    tbed_otlp_put_text_attribute(&attributes, "cause", cause, strlen(cause));
    end_record(otlp, &attributes);
}

/* ---- Metrics ---- */

static void put_f64(struct tbed_text *text, double value)
{
    struct tbed_json json = {.text = text, .needs_comma = true};
    tbed_json_f64(&json, "asDouble", value);
}

static void put_number(struct otlp *otlp, struct tbed_text *text, const struct tbed_argument *value)
{
    bool is_large = value->type == TBED_ARG_U64 && value->value.u64 > INT64_MAX;
    tbed_export_note(&otlp->walk, TBED_EXPORT_NOTE_CLIPPED, is_large);
    if (is_large) {
        put_f64(text, (double)value->value.u64);
    } else if (value->type == TBED_ARG_F64) {
        put_f64(text, value->value.f64);
    } else {
        tbed_text_puts(text, ",\"asInt\":\"");
        tbed_text_i64(text, value->value.i64);
        tbed_text_puts(text, "\"");
    }
}

static struct tbed_text *begin_metric(struct otlp *otlp, const char *name, size_t nbytes)
{
    struct tbed_text *text = tbed_otlp_object(otlp, OTLP_METRICS);
    tbed_text_puts(text, "{\"name\":");
    tbed_json_quote(text, name, nbytes);
    return text;
}

static void end_metric(struct otlp *otlp, struct tbed_text *text, int64_t ns,
                       const struct tbed_argument *value)
{
    tbed_otlp_put_time(otlp, text, "timeUnixNano", ns);
    put_number(otlp, text, value);
    tbed_text_puts(text, "}]}}");
    tbed_otlp_object_end(otlp, OTLP_METRICS);
}

static void put_counter(struct otlp *otlp, const struct tbed_event *event)
{
    const struct tbed_text *label = &tbed_export_name_of(&otlp->walk, event->id)->label;
    uint32_t unit = tbed_counter_unit(otlp->walk.reader, event->id);
    struct tbed_text *text = begin_metric(otlp, label->bytes, label->nbytes);
    struct otlp_attributes attributes;
    uint32_t first = tbed_export_name_of(&otlp->walk, event->id)->argument_count;
    if (unit != TBED_ID_INVALID) {
        size_t nbytes;
        const char *of = tbed_export_text_of(&otlp->walk, unit, &nbytes);
        tbed_text_puts(text, ",\"unit\":");
        tbed_json_quote(text, of, nbytes);
    }
    tbed_text_puts(text, ",\"gauge\":{\"dataPoints\":[{");
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    tbed_otlp_put_name_attributes(&attributes, event->id, event->category);
    tbed_otlp_put_arguments(&attributes, event->arguments, event->argument_count, first);
    tbed_otlp_end_attributes(&attributes);
    end_metric(otlp, text, tbed_export_time(&otlp->walk, event->tick), &event->counter_value);
}

void tbed_otlp_put_live(void *context, uint64_t pid, int64_t ns, uint64_t nbytes)
{
    static const char name[] = "live memory";
    struct otlp *otlp = context;
    const struct tbed_argument value = {.type = TBED_ARG_U64, .value.u64 = nbytes};
    if (otlp->trace_id[1] != tbed_otlp_mix(otlp->trace_id[0], pid)) {
        tbed_otlp_put_lines(otlp);
        tbed_otlp_describe(otlp, pid, NULL);
    }
    struct tbed_text *text = begin_metric(otlp, name, sizeof name - 1);
    tbed_text_puts(text, ",\"unit\":\"By\",\"gauge\":{\"dataPoints\":[{\"attributes\":[]");
    end_metric(otlp, text, ns, &value);
}

void tbed_otlp_put_event(struct otlp *otlp, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        put_instant(otlp, event);
        break;
    case TBED_EVENT_COUNTER:
        put_counter(otlp, event);
        break;
    case TBED_EVENT_MESSAGE:
        put_message(otlp, event);
        break;
    case TBED_EVENT_GAP:
        put_gap(otlp, event);
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
        otlp->has_async = true; /* see otlp_async.c */
        break;
    default: /* counted by the walk */
        break;
    }
}
