/*
 * Events as markers of the Firefox Profiler.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_json.h"
#include "reader/exchange/firefox/firefox.h"

struct marker {
    const char *schema; /* the members of its data are in 'text' already */
    uint32_t name, category;
    int64_t start, end;
    enum firefox_phase phase;
};

static struct tbed_text *column(struct firefox *firefox, enum firefox_column which)
{
    struct tbed_text *text = &firefox->columns[which].text;
    if (firefox->marker_count > 0)
        tbed_text_put(text, ",", 1);
    return text;
}

static void put_time(struct tbed_text *text, bool is_there, int64_t ns)
{
    if (is_there)
        tbed_firefox_put_ms(text, ns);
    else
        tbed_text_puts(text, "null");
}

/* The data has 'text', which are members with commas before them. */
static void put_marker(struct firefox *firefox, const struct marker *marker)
{
    struct tbed_text *data = column(firefox, FIREFOX_DATA);
    tbed_text_puts(data, "{\"type\":\"");
    tbed_text_puts(data, marker->schema);
    tbed_text_puts(data, "\"");
    tbed_text_put(data, firefox->text.bytes, firefox->text.nbytes);
    tbed_text_puts(data, "}");
    tbed_text_u64(column(firefox, FIREFOX_NAME), marker->name);
    put_time(column(firefox, FIREFOX_START), marker->phase != FIREFOX_INTERVAL_END, marker->start);
    put_time(column(firefox, FIREFOX_END),
             marker->phase == FIREFOX_INTERVAL || marker->phase == FIREFOX_INTERVAL_END, marker->end);
    tbed_text_u64(column(firefox, FIREFOX_PHASE), marker->phase);
    tbed_text_u64(column(firefox, FIREFOX_CATEGORY), marker->category);
    firefox->marker_count++;
    firefox->walk.job->result->written_count++;
    for (unsigned i = 0; i < FIREFOX_COLUMN_COUNT; i++) {
        firefox->is_out_of_memory |= firefox->columns[i].text.is_out_of_memory;
        if (!tbed_spool_spill(&firefox->columns[i]) && firefox->columns[i].write_errno != 0)
            firefox->write_errno = firefox->columns[i].write_errno;
    }
    firefox->walk.is_over |=
        firefox->is_out_of_memory || firefox->text.is_out_of_memory || firefox->write_errno != 0;
}

/* ---- Data ---- */

static void put_text_member(struct firefox *firefox, const char *key, const char *text, size_t nbytes)
{
    tbed_text_puts(&firefox->text, ",\"");
    tbed_text_puts(&firefox->text, key);
    tbed_text_puts(&firefox->text, "\":");
    tbed_json_quote(&firefox->text, text, nbytes);
}

static void put_u64_member(struct firefox *firefox, const char *key, uint64_t value)
{
    tbed_text_puts(&firefox->text, ",\"");
    tbed_text_puts(&firefox->text, key);
    tbed_text_puts(&firefox->text, "\":");
    tbed_text_u64(&firefox->text, value);
}

/* Members "arg0", "arg1", … for those in the name, and where the name is in the source. */
static void put_own(struct firefox *firefox, uint32_t id)
{
    const struct export_name *name = tbed_export_name_of(&firefox->walk, id);
    const char *text;
    size_t at = 0, nbytes;
    char key[24];
    for (unsigned i = 0; tbed_export_name_argument(name, &at, &text, &nbytes); i++) {
        snprintf(key, sizeof key, "arg%u", i);
        put_text_member(firefox, key, text, nbytes);
    }
    if (name->function != NULL)
        put_text_member(firefox, "function", name->function, strlen(name->function));
    if (name->file != NULL)
        put_text_member(firefox, "file", name->file, strlen(name->file));
    if (name->line != 0)
        put_u64_member(firefox, "line", name->line);
}

/* "arguments": those of the event, as a text that the profiler shows. */
static void put_arguments(struct firefox *firefox, const struct tbed_arguments arguments[2],
                          const uint32_t counts[2])
{
    char value[512];
    size_t start;
    if (counts[0] + counts[1] == 0)
        return;
    struct tbed_text joined = {0};
    for (unsigned list = 0; list < 2; list++) {
        size_t nbytes = counts[list] > 0 ? tbed_arguments_text(firefox->walk.reader, &arguments[list],
                                                               counts[list], value, sizeof value)
                                         : 0;
        if (nbytes < sizeof value) {
            tbed_text_put(&joined, value, nbytes);
        } else if (tbed_text_reserve(&joined, nbytes + 1)) {
            tbed_arguments_text(firefox->walk.reader, &arguments[list], counts[list],
                                joined.bytes + joined.nbytes, nbytes + 1);
            joined.nbytes += nbytes;
        }
    }
    start = joined.nbytes > 0 && joined.bytes[0] == ' ';
    if (joined.nbytes > 0)
        put_text_member(firefox, "arguments", joined.bytes + start, joined.nbytes - start);
    firefox->is_out_of_memory |= joined.is_out_of_memory;
    free(joined.bytes);
}

static void put_event_data(struct firefox *firefox, const struct tbed_event *event)
{
    firefox->text.nbytes = 0;
    put_own(firefox, event->id);
    put_arguments(firefox, (struct tbed_arguments[2]){event->arguments},
                  (uint32_t[2]){event->argument_count, 0});
}

/* ---- Markers ---- */

static void take_span(struct firefox *firefox, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    const struct tbed_event *event = step->event;
    bool has_end = event != NULL && event->type == TBED_EVENT_END;
    struct export_span times = tbed_export_span(&firefox->walk, step);
    firefox->text.nbytes = 0;
    put_own(firefox, span->id);
    put_arguments(
        firefox,
        (struct tbed_arguments[2]){span->arguments, has_end ? event->arguments : (struct tbed_arguments){0}},
        (uint32_t[2]){span->argument_count, has_end ? event->argument_count : 0});
    if (times.is_open)
        tbed_text_puts(&firefox->text, ",\"open\":true");
    put_marker(firefox, &(struct marker){.schema = "span",
                                         .name = tbed_firefox_name(firefox, span->id),
                                         .category = tbed_firefox_category(firefox, span->category),
                                         .start = times.begin,
                                         .end = times.end,
                                         .phase = FIREFOX_INTERVAL});
}

static void put_named(struct firefox *firefox, const struct tbed_event *event, const char *schema,
                      enum firefox_phase phase)
{
    int64_t ns = tbed_export_time(&firefox->walk, event->tick);
    bool has_category = event->type == TBED_EVENT_INSTANT || event->type == TBED_EVENT_COUNTER;
    put_marker(firefox, &(struct marker){
                            .schema = schema,
                            .name = tbed_firefox_name(firefox, event->id),
                            .category = has_category ? tbed_firefox_category(firefox, event->category) : 0,
                            .start = ns,
                            .end = ns,
                            .phase = phase});
}

static void put_counter(struct firefox *firefox, const struct tbed_event *event)
{
    uint32_t unit = tbed_counter_unit(firefox->walk.reader, event->id);
    put_event_data(firefox, event);
    tbed_text_puts(&firefox->text, ",\"value\":");
    tbed_export_value(&firefox->text, firefox->walk.reader, &event->counter_value,
                      firefox->walk.names.buffer);
    if (unit != TBED_ID_INVALID) {
        size_t nbytes;
        const char *text = tbed_export_text_of(&firefox->walk, unit, &nbytes);
        put_text_member(firefox, "unit", text, nbytes);
    }
    put_named(firefox, event, "counter", FIREFOX_INSTANT);
}

static void put_keyed(struct firefox *firefox, const struct tbed_event *event, const char *schema,
                      enum firefox_phase phase)
{
    char key[24];
    int nbytes = snprintf(key, sizeof key, "0x%llx", (unsigned long long)event->of.async.key);
    put_event_data(firefox, event);
    put_text_member(firefox, "key", key, (size_t)nbytes);
    put_named(firefox, event, schema, phase);
}

static void put_fixed(struct firefox *firefox, const struct tbed_event *event, const char *schema,
                      const char *name)
{
    put_marker(firefox, &(struct marker){.schema = schema,
                                         .name = tbed_firefox_fixed_name(firefox, name),
                                         .start = tbed_export_time(&firefox->walk, event->tick),
                                         .phase = FIREFOX_INSTANT});
}

static void put_message(struct firefox *firefox, const struct tbed_event *event)
{
    const struct tbed_text *message = tbed_export_message_of(&firefox->walk, event);
    const char *severity = tbed_export_severity(event->of.message.severity);
    firefox->text.nbytes = 0;
    put_text_member(firefox, "text", message->bytes, message->nbytes);
    put_text_member(firefox, "severity", severity, strlen(severity));
    put_fixed(firefox, event, "message", "message");
}

static void put_gap(struct firefox *firefox, const struct tbed_event *event)
{
    const char *cause = tbed_drop_cause_text(event->of.gap.cause);
    firefox->text.nbytes = 0;
    put_u64_member(firefox, "count", event->of.gap.count);
    put_text_member(firefox, "cause", cause, strlen(cause));
    put_fixed(firefox, event, "gap", "records dropped");
}

static void put_event(struct firefox *firefox, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        put_event_data(firefox, event);
        put_named(firefox, event, "instant", FIREFOX_INSTANT);
        break;
    case TBED_EVENT_COUNTER:
        put_counter(firefox, event);
        break;
    case TBED_EVENT_MESSAGE:
        put_message(firefox, event);
        break;
    case TBED_EVENT_GAP:
        put_gap(firefox, event);
        break;
    case TBED_EVENT_ASYNC_BEGIN:
        put_keyed(firefox, event, "async", FIREFOX_INTERVAL_START);
        break;
    case TBED_EVENT_ASYNC_END:
        put_keyed(firefox, event, "async", FIREFOX_INTERVAL_END);
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        put_keyed(firefox, event, "flow", FIREFOX_INSTANT);
        break;
    default: /* counted by the walk */
        break;
    }
}

void tbed_firefox_step(void *context, const struct tbed_step *step)
{
    struct firefox *firefox = context;
    if (step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN)
        take_span(firefox, step);
    else if (step->kind == TBED_STEP_EVENT)
        put_event(firefox, step->event);
}
