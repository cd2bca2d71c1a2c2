/*
 * Makes a trace of the records that the child sends, which are trusted no more than a file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/json.h"
#include "reader/core/base/vector.h"
#include "reader/exchange/ctf/import/ctf_read.h"
#include "reader/exchange/ctf/import/ctf_rules.h"
#include "reader/exchange/shared/import_trace.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_NBYTES    4096
#define PROCESS_NBYTES 256
#define FACTS_NBYTES   65536u
#define MODULES_MAX    65536u
#define OWN_TIME_MAX   INT64_C(1000000000000000)

/* The rest of a record. */
struct piece {
    const uint8_t *at;
    size_t left;
    bool is_short; /* something was missing */
};

struct said {
    uint8_t flags, severity;
    int64_t time;
    uint32_t pid, tid;
    const char *process, *thread, *name;
    size_t process_nbytes, thread_nbytes, name_nbytes, count;
    struct tbed_argument arguments[CTF_ARGUMENTS_MAX];
    char const *names[CTF_ARGUMENTS_MAX];
    size_t name_lengths[CTF_ARGUMENTS_MAX];
};

struct module {
    uint64_t base, nbytes;
    uint32_t pid;
    size_t name_at, name_nbytes;
};

/* The spans that are open on a thread. */
struct open_spans {
    uint64_t key;
    TBED_VECTOR(uint32_t) ids;
};

struct ctf_unit {
    uint64_t key; /* of a counter's id */
    bool is_described;
};

struct reading {
    struct import_trace trace;
    struct tbed_import_report *report;
    struct tbed_error *error;
    struct ctf_rules rules;
    TBED_VECTOR(struct module) modules;
    struct tbed_text module_names, facts;
    struct tbed_json json;
    TBED_HASHMAP(struct open_spans) open;
    TBED_HASHMAP(struct ctf_unit) units;
    int records, fd;
    bool is_open, has_end, is_out_of_memory;
    char **early; /* gets an error before the first event; NULL: all are reported */
    int64_t first;
    uint64_t tick;
    uint8_t bytes[CTF_RECORD_NBYTES_MAX];
};

/* ---- Pieces ---- */

static const uint8_t *take(struct piece *piece, size_t nbytes)
{
    static const uint8_t nothing[8];
    if (nbytes > piece->left) {
        piece->is_short = true;
        piece->left = 0;
        return nothing;
    }
    const uint8_t *at = piece->at;
    piece->at += nbytes;
    piece->left -= nbytes;
    return at;
}

static uint32_t take_u32(struct piece *piece)
{
    uint32_t value;
    memcpy(&value, take(piece, sizeof value), sizeof value);
    return value;
}

static uint64_t take_u64(struct piece *piece)
{
    uint64_t value;
    memcpy(&value, take(piece, sizeof value), sizeof value);
    return value;
}

static const char *take_text(struct piece *piece, size_t *nbytes_ret)
{
    uint32_t nbytes = take_u32(piece);
    bool fits = nbytes <= piece->left;
    *nbytes_ret = fits ? nbytes : 0;
    return (const char *)take(piece, nbytes);
}

static bool take_argument(struct piece *piece, struct said *said)
{
    struct tbed_argument *argument = &said->arguments[said->count];
    uint8_t type = *take(piece, 1);
    size_t nbytes;
    said->names[said->count] = take_text(piece, &said->name_lengths[said->count]);
    *argument = (struct tbed_argument){.name_id = TBED_ID_INVALID, .nbytes = 8};
    switch (type) {
    case 'u':
        argument->type = TBED_ARG_U64;
        break;
    case 'i':
        argument->type = TBED_ARG_I64;
        break;
    case 'f':
        argument->type = TBED_ARG_F64;
        break;
    case 'p':
        argument->type = TBED_ARG_POINTER;
        break;
    case 's':
        argument->value.text = take_text(piece, &nbytes);
        argument->type = TBED_ARG_TEXT;
        argument->nbytes = (uint32_t)nbytes;
        return !piece->is_short;
    default:
        return false;
    }
    argument->value.u64 = take_u64(piece);
    return !piece->is_short;
}

/* False: impossible. */
static bool take_event(struct piece *piece, struct said *said, struct tbed_import_report *report)
{
    said->flags = *take(piece, 1);
    said->severity = *take(piece, 1);
    said->time = (int64_t)take_u64(piece);
    said->pid = take_u32(piece);
    said->tid = take_u32(piece);
    said->process = take_text(piece, &said->process_nbytes);
    said->thread = take_text(piece, &said->thread_nbytes);
    said->name = take_text(piece, &said->name_nbytes);
    said->count = 0;
    report->notes[TBED_IMPORT_NOTE_ARGUMENTS] += (said->flags & CTF_LEFT_OUT) != 0;
    while (piece->left > 0 && said->count < CTF_ARGUMENTS_MAX) {
        if (!take_argument(piece, said))
            return false;
        said->count++;
    }
    report->notes[TBED_IMPORT_NOTE_ARGUMENTS] += piece->left > 0;
    return !piece->is_short;
}

/* ---- Arguments by name ---- */

static struct tbed_argument *argument_of(struct said *said, const char *name)
{
    size_t nbytes = strlen(name);
    for (size_t i = 0; i < said->count; i++)
        if (said->name_lengths[i] == nbytes && memcmp(said->names[i], name, nbytes) == 0)
            return &said->arguments[i];
    return NULL;
}

static uint64_t number_of(struct said *said, const char *name)
{
    const struct tbed_argument *argument = argument_of(said, name);
    return argument != NULL && argument->type != TBED_ARG_TEXT ? argument->value.u64 : 0;
}

static void remove_argument(struct said *said, const struct tbed_argument *argument)
{
    size_t at = (size_t)(argument - said->arguments);
    size_t after = said->count - at - 1;
    memmove(&said->arguments[at], &said->arguments[at + 1], after * sizeof said->arguments[0]);
    memmove(&said->names[at], &said->names[at + 1], after * sizeof said->names[0]);
    memmove(&said->name_lengths[at], &said->name_lengths[at + 1], after * sizeof said->name_lengths[0]);
    said->count--;
}

/* Moves it to the front. */
static bool put_first(struct said *said, const char *name)
{
    struct tbed_argument *argument = argument_of(said, name);
    if (argument == NULL)
        return false;
    struct tbed_argument first = *argument;
    const char *first_name = said->names[argument - said->arguments];
    size_t first_nbytes = said->name_lengths[argument - said->arguments];
    remove_argument(said, argument);
    memmove(&said->arguments[1], &said->arguments[0], said->count * sizeof first);
    memmove(&said->names[1], &said->names[0], said->count * sizeof said->names[0]);
    memmove(&said->name_lengths[1], &said->name_lengths[0], said->count * sizeof said->name_lengths[0]);
    said->arguments[0] = first;
    said->names[0] = first_name;
    said->name_lengths[0] = first_nbytes;
    said->count++;
    return true;
}

static uint32_t take_id(struct reading *reading, struct said *said, const char *name)
{
    const struct tbed_argument *argument = argument_of(said, name);
    if (argument == NULL || argument->type != TBED_ARG_TEXT)
        return TBED_ID_INVALID;
    uint32_t id = tbed_import_string(&reading->trace, argument->value.text, argument->nbytes);
    remove_argument(said, argument);
    return id;
}

/* ---- Modules and functions ---- */

static void keep_module(struct reading *reading, struct said *said)
{
    const struct tbed_argument *path = argument_of(said, "path");
    if (path == NULL || path->type != TBED_ARG_TEXT || reading->modules.count >= MODULES_MAX)
        return;
    const char *slash = path->nbytes > 0 ? memrchr(path->value.text, '/', path->nbytes) : NULL;
    const char *base = slash != NULL ? slash + 1 : path->value.text;
    size_t nbytes = (size_t)(path->value.text + path->nbytes - base);
    struct module *module =
        tbed_text_reserve(&reading->module_names, nbytes + 1) ? TBED_VECTOR_PUSH(&reading->modules) : NULL;
    reading->is_out_of_memory |= module == NULL;
    if (module == NULL)
        return;
    *module = (struct module){.base = number_of(said, "baddr"),
                              .nbytes = number_of(said, "memsz"),
                              .pid = said->pid,
                              .name_at = reading->module_names.nbytes,
                              .name_nbytes = nbytes};
    memcpy(reading->module_names.bytes + reading->module_names.nbytes, base, nbytes);
    reading->module_names.nbytes += nbytes;
}

/* "MODULE+0xOFFSET", or the address. */
static uint32_t function_id(struct reading *reading, struct said *said)
{
    char text[512];
    uint64_t address = number_of(said, "addr");
    int nbytes = snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    for (size_t i = reading->modules.count; i-- > 0;) {
        const struct module *module = &reading->modules.items[i];
        if (module->pid != said->pid || address < module->base || address - module->base >= module->nbytes)
            continue;
        size_t shown = module->name_nbytes < 400 ? module->name_nbytes : 400;
        nbytes = snprintf(text, sizeof text, "%.*s+0x%llx", (int)shown,
                          reading->module_names.bytes + module->name_at,
                          (unsigned long long)(address - module->base));
        break;
    }
    return tbed_import_string(&reading->trace, text, (size_t)nbytes);
}

/* ---- The trace ---- */

static enum tbed_status open_trace(struct reading *reading, const struct said *said)
{
    char name[PROCESS_NBYTES] = "";
    struct import_start start = {.name = name};
    if (said != NULL) {
        bool is_realtime = (said->flags & CTF_IS_REALTIME) != 0 && said->time > 0;
        memcpy(name, said->process, said->process_nbytes < sizeof name ? said->process_nbytes : 0);
        start.pid = said->pid;
        start.realtime_ns = is_realtime ? said->time - (int64_t)IMPORT_FIRST_TICK : 0;
        /* In an export of tracebed, times count from its start, and whole spans may have begun before their event. */
        bool counts_from_start = reading->rules.is_own && said->time >= 0 && said->time < OWN_TIME_MAX;
        reading->first = counts_from_start ? 0 : said->time;
    }
    enum tbed_status status =
        tbed_import_trace_open(&reading->trace, reading->fd, &start, reading->report, reading->error);
    reading->is_open = true;
    return status;
}

static uint64_t tick_of(struct reading *reading, const struct said *said)
{
    if ((said->flags & CTF_HAS_TIME) == 0) {
        reading->report->notes[TBED_IMPORT_NOTE_TIMELESS]++;
        return ++reading->tick;
    }
    uint64_t ns = (uint64_t)said->time - (uint64_t)reading->first;
    bool is_possible = said->time >= reading->first && ns < UINT64_MAX / 4;
    if (is_possible)
        reading->tick = IMPORT_FIRST_TICK + ns;
    else
        tbed_import_damaged(reading->report, TBED_ERR_FOREIGN_TIME, 0, UINT64_MAX, (uint64_t)said->time);
    return reading->tick;
}

static struct import_thread *thread_of(struct reading *reading, const struct said *said)
{
    char process[PROCESS_NBYTES] = "", name[PROCESS_NBYTES] = "";
    memcpy(process, said->process, said->process_nbytes < sizeof process ? said->process_nbytes : 0);
    memcpy(name, said->thread, said->thread_nbytes < sizeof name ? said->thread_nbytes : 0);
    tbed_import_process(&reading->trace, said->pid, process, 0);
    if ((said->flags & CTF_HAS_THREAD) != 0)
        return tbed_import_thread(&reading->trace, said->pid, said->tid, name[0] != '\0' ? name : NULL);
    snprintf(name, sizeof name, "cpu %u", said->tid);
    return tbed_import_thread(&reading->trace, said->pid, said->tid, name);
}

static void give(struct reading *reading, struct said *said, struct import_thread *thread,
                 struct tbed_given_event *event)
{
    for (size_t i = 0; i < said->count; i++)
        said->arguments[i].name_id =
            said->name_lengths[i] > 0
                ? tbed_string_intern(reading->trace.writer, said->names[i], said->name_lengths[i])
                : TBED_ID_INVALID;
    event->arguments = said->arguments;
    event->argument_count = said->count;
    tbed_import_event(&reading->trace, thread, event);
}

/* ---- Spans ---- */

static struct open_spans *spans_of(struct reading *reading, const struct import_thread *thread)
{
    struct open_spans *spans = TBED_HASHMAP_ADD(&reading->open, thread->key);
    reading->is_out_of_memory |= spans == NULL;
    return spans;
}

static void begin(struct reading *reading, struct said *said, struct import_thread *thread,
                  struct tbed_given_event *event)
{
    struct open_spans *spans = spans_of(reading, thread);
    uint32_t *id = spans != NULL ? TBED_VECTOR_PUSH(&spans->ids) : NULL;
    reading->is_out_of_memory |= id == NULL;
    if (id == NULL)
        return;
    *id = event->id;
    event->type = TBED_GIVEN_BEGIN;
    give(reading, said, thread, event);
}

/*
 * Ends the innermost span of that name; of any name if 'id' is TBED_ID_INVALID. Spans inside it have not ended on this
 * thread. An end without a begin stays as an instant.
 */
static void end(struct reading *reading, struct said *said, struct import_thread *thread,
                struct tbed_given_event *event)
{
    struct open_spans *spans = spans_of(reading, thread);
    size_t at = spans != NULL ? spans->ids.count : 0;
    while (at > 0 && event->id != TBED_ID_INVALID && spans->ids.items[at - 1] != event->id)
        at--;
    if (at == 0) {
        reading->report->unpaired_count++;
        event->type = TBED_GIVEN_INSTANT;
        event->id = tbed_import_string(&reading->trace, said->name, said->name_nbytes);
        give(reading, said, thread, event);
        return;
    }
    while (spans->ids.count > at) {
        struct tbed_given_event leave = {.type = TBED_GIVEN_LEAVE, .tick = event->tick};
        tbed_import_event(&reading->trace, thread, &leave);
        spans->ids.count--;
    }
    spans->ids.count--;
    event->type = TBED_GIVEN_END;
    give(reading, said, thread, event);
}

/* ---- Events ---- */

static uint32_t rule_id(struct reading *reading, struct ctf_rule *rule)
{
    char text[NAME_NBYTES + 16];
    if (rule->id == 0)
        rule->id = tbed_import_string(&reading->trace, text, tbed_ctf_rule_name(&reading->rules, rule, text));
    return rule->id;
}

static void give_message(struct reading *reading, struct said *said, struct import_thread *thread,
                         struct tbed_given_event *event)
{
    event->type = put_first(said, "msg") || put_first(said, "text") ? TBED_GIVEN_MESSAGE : TBED_GIVEN_INSTANT;
    if (event->type == TBED_GIVEN_MESSAGE && said->arguments[0].type == TBED_ARG_TEXT) {
        event->id = TBED_ID_INVALID;
        event->severity = said->severity;
        said->name_lengths[0] = 0;
    } else {
        event->type = TBED_GIVEN_INSTANT;
    }
    give(reading, said, thread, event);
}

static void describe_counter(struct reading *reading, uint32_t id, const struct tbed_argument *unit)
{
    char text[64] = "";
    if (unit->nbytes == 0 || unit->nbytes >= sizeof text)
        return;
    memcpy(text, unit->value.text, unit->nbytes);
    struct ctf_unit *known = TBED_HASHMAP_ADD(&reading->units, tbed_hashmap_key32(id));
    if (known != NULL && !known->is_described)
        tbed_counter_describe(reading->trace.writer, id, text);
    reading->is_out_of_memory |= known == NULL;
    if (known != NULL)
        known->is_described = true;
}

static void give_counter(struct reading *reading, struct said *said, struct import_thread *thread,
                         struct tbed_given_event *event)
{
    const struct tbed_argument *unit = argument_of(said, "unit");
    if (unit != NULL && unit->type == TBED_ARG_TEXT)
        describe_counter(reading, event->id, unit);
    if (unit != NULL)
        remove_argument(said, unit);
    bool has_value = put_first(said, "value");
    uint32_t type = has_value ? said->arguments[0].type : TBED_ARG_TEXT;
    bool is_number = type == TBED_ARG_U64 || type == TBED_ARG_I64 || type == TBED_ARG_F64;
    event->type = is_number ? TBED_GIVEN_COUNTER : TBED_GIVEN_INSTANT;
    if (is_number)
        said->name_lengths[0] = 0;
    give(reading, said, thread, event);
}

static void remove_place(struct said *said)
{
    const struct tbed_argument *file = argument_of(said, "file");
    if (file == NULL || file->type != TBED_ARG_TEXT || file->nbytes > 0)
        return;
    remove_argument(said, file);
    if (argument_of(said, "line") != NULL)
        remove_argument(said, argument_of(said, "line"));
}

static void take_severity(struct said *said)
{
    static const char letters[] = "ewid"; /* error, warning, information, debug */
    const struct tbed_argument *severity = argument_of(said, "severity");
    if (severity == NULL || severity->type != TBED_ARG_TEXT)
        return;
    const char *letter = severity->nbytes > 0 ? memchr(letters, severity->value.text[0], 4) : NULL;
    said->severity = letter != NULL ? (uint8_t)(TBED_SEVERITY_ERROR + (letter - letters)) : 0;
    remove_argument(said, severity);
}

static void give_own(struct reading *reading, struct said *said, struct import_thread *thread,
                     enum ctf_kind kind, struct tbed_given_event *event)
{
    static const char *const unneeded[] = {"argument_count", "duration", "never_ended"};
    uint64_t duration = number_of(said, "duration");
    bool is_open = number_of(said, "never_ended") != 0;
    event->id = take_id(reading, said, "name");
    event->category = take_id(reading, said, "category");
    for (size_t i = 0; i < sizeof unneeded / sizeof unneeded[0]; i++)
        if (argument_of(said, unneeded[i]) != NULL)
            remove_argument(said, argument_of(said, unneeded[i]));
    if (number_of(said, "line") == 0)
        remove_place(said);
    switch (kind) {
    case CTF_KIND_OWN_SPAN:
        event->type = TBED_GIVEN_SPAN;
        event->begin_tick = duration < event->tick ? event->tick - duration : 0;
        give(reading, said, thread, event);
        break;
    case CTF_KIND_OWN_DROPS:
        reading->report->notes[TBED_IMPORT_NOTE_LOST] += number_of(said, "count") % UINT32_MAX;
        break;
    case CTF_KIND_OWN_BEGIN:
        begin(reading, said, thread, event);
        break;
    case CTF_KIND_OWN_END:
        event->id = TBED_ID_INVALID;
        if (!is_open)
            end(reading, said, thread, event);
        break;
    case CTF_KIND_OWN_COUNTER:
        give_counter(reading, said, thread, event);
        break;
    case CTF_KIND_OWN_MESSAGE:
        take_severity(said);
        give_message(reading, said, thread, event);
        break;
    default:
        event->type = TBED_GIVEN_INSTANT;
        give(reading, said, thread, event);
        break;
    }
}

static void give_by_rule(struct reading *reading, struct said *said, struct ctf_rule *rule,
                         struct import_thread *thread)
{
    struct tbed_given_event event = {
        .id = TBED_ID_INVALID, .category = TBED_ID_INVALID, .tick = tick_of(reading, said)};
    if (rule->kind >= CTF_KIND_OWN_BEGIN) {
        give_own(reading, said, thread, rule->kind, &event);
        return;
    }
    bool is_function = rule->kind == CTF_KIND_ENTER || rule->kind == CTF_KIND_LEAVE;
    event.id = is_function ? function_id(reading, said) : rule_id(reading, rule);
    switch (rule->kind) {
    case CTF_KIND_BEGIN:
    case CTF_KIND_ENTER:
        said->count = is_function ? 0 : said->count;
        begin(reading, said, thread, &event);
        return;
    case CTF_KIND_END:
    case CTF_KIND_LEAVE:
        said->count = is_function ? 0 : said->count;
        end(reading, said, thread, &event);
        return;
    case CTF_KIND_MESSAGE:
        give_message(reading, said, thread, &event);
        return;
    default:
        event.type = TBED_GIVEN_INSTANT;
        give(reading, said, thread, &event);
    }
}

static void give_event(struct reading *reading, struct said *said)
{
    struct ctf_rule *rule = tbed_ctf_rule_add(&reading->rules, said->name, said->name_nbytes);
    struct import_thread *thread = thread_of(reading, said);
    if (rule == NULL) {
        reading->is_out_of_memory = true;
        return;
    }
    if (thread == NULL) {
        reading->report->notes[TBED_IMPORT_NOTE_THREADS]++;
        return;
    }
    tbed_ctf_rule_decide(&reading->rules, rule);
    if (rule->kind == CTF_KIND_MODULE)
        keep_module(reading, said);
    give_by_rule(reading, said, rule, thread);
}

/* ---- Records ---- */

static bool read_all(int fd, void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t got = read(fd, (char *)bytes + at, nbytes - at);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static void damaged(struct reading *reading, uint64_t detail)
{
    tbed_import_damaged(reading->report, TBED_ERR_FOREIGN_LIBRARY, 0, UINT64_MAX, detail);
}

static void keep_fact(struct reading *reading, struct piece *piece)
{
    size_t key_nbytes, nbytes;
    char name[64];
    const char *key = take_text(piece, &key_nbytes), *text = take_text(piece, &nbytes);
    if (piece->is_short || key_nbytes >= sizeof name || reading->facts.nbytes + nbytes > FACTS_NBYTES)
        return;
    for (size_t i = 0; i < key_nbytes; i++) /* a key is written verbatim */
        name[i] = key[i] >= 'a' && key[i] <= 'z' ? key[i] : '_';
    name[key_nbytes] = '\0';
    if (strcmp(name, "tracer_name") == 0)
        reading->rules.is_own = nbytes == 8 && memcmp(text, "tracebed", 8) == 0;
    tbed_json_text(&reading->json, name, text, nbytes);
}

/* The message of the library names the file; it is kept as the name of what is damaged. */
static void keep_error(struct reading *reading, struct piece *piece)
{
    size_t nbytes;
    const char *text = take_text(piece, &nbytes);
    char name[TBED_IMPORT_FILE_NBYTES];
    if (reading->early != NULL && !reading->is_open) {
        *reading->early = strndup(text, nbytes);
        reading->is_out_of_memory |= *reading->early == NULL;
        return;
    }
    size_t kept = nbytes < sizeof name - 1 ? nbytes : sizeof name - 1;
    memcpy(name, text, kept);
    name[kept] = '\0';
    uint32_t file = tbed_import_file(reading->report, name[0] != '\0' ? name : "unknown");
    tbed_import_damaged(reading->report, TBED_ERR_FOREIGN_LIBRARY, file, UINT64_MAX, 0);
}

static enum tbed_status take_record(struct reading *reading, struct piece *piece)
{
    uint8_t type = *take(piece, 1);
    struct said said;
    size_t nbytes;
    const char *text;
    switch (type) {
    case CTF_CLASS:
        text = take_text(piece, &nbytes);
        if (!piece->is_short && tbed_ctf_rule_add(&reading->rules, text, nbytes) == NULL)
            reading->is_out_of_memory = true;
        break;
    case CTF_EVENT:
        if (!take_event(piece, &said, reading->report)) {
            damaged(reading, type);
            break;
        }
        if (!reading->is_open) {
            enum tbed_status status = open_trace(reading, &said);
            if (status != TBED_OK)
                return status;
        }
        give_event(reading, &said);
        break;
    case CTF_DISCARDED:
        reading->report->notes[TBED_IMPORT_NOTE_LOST] += take_u64(piece) % UINT32_MAX;
        break;
    case CTF_FACT:
        keep_fact(reading, piece);
        break;
    case CTF_ERROR:
        keep_error(reading, piece);
        reading->has_end = true;
        break;
    case CTF_END:
        reading->has_end = true;
        break;
    default:
        damaged(reading, type);
        break;
    }
    return TBED_OK;
}

static enum tbed_status take_records(struct reading *reading)
{
    enum tbed_status status = TBED_OK;
    while (status == TBED_OK && !reading->has_end && !reading->is_out_of_memory &&
           !reading->trace.is_out_of_memory) {
        uint32_t nbytes;
        if (!read_all(reading->records, &nbytes, sizeof nbytes))
            break;
        if (nbytes == 0 || nbytes > sizeof reading->bytes ||
            !read_all(reading->records, reading->bytes, nbytes))
            break;
        struct piece piece = {.at = reading->bytes, .left = nbytes};
        status = take_record(reading, &piece);
    }
    if (status == TBED_OK && !reading->has_end) /* the process has died */
        damaged(reading, 0);
    if (status == TBED_OK && !reading->is_open)
        status = open_trace(reading, NULL);
    return status;
}

static void finish_facts(struct reading *reading)
{
    tbed_json_object_close(&reading->json);
    tbed_json_object_close(&reading->json);
    if (!reading->facts.is_out_of_memory)
        tbed_metadata_set(reading->trace.writer, reading->facts.bytes, reading->facts.nbytes);
    reading->is_out_of_memory |= reading->facts.is_out_of_memory;
}

static void free_all(struct reading *reading)
{
    for (struct open_spans *spans = NULL; (spans = TBED_HASHMAP_NEXT(&reading->open, spans)) != NULL;)
        tbed_vector_free(&spans->ids.vector);
    tbed_hashmap_free(&reading->open.map);
    tbed_hashmap_free(&reading->units.map);
    tbed_vector_free(&reading->modules.vector);
    tbed_ctf_rules_free(&reading->rules);
    free(reading->module_names.bytes);
    free(reading->facts.bytes);
    free(reading);
}

enum tbed_status tbed_ctf_records_import(int records, int fd, struct tbed_import_report *report,
                                         char **early_ret, struct tbed_error *error_ret)
{
    struct reading *reading = calloc(1, sizeof *reading);
    errno = ENOMEM;
    if (reading == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    reading->report = reading->trace.report = report;
    reading->error = error_ret;
    reading->records = records;
    reading->fd = fd;
    reading->early = early_ret;
    if (early_ret != NULL)
        *early_ret = NULL;
    reading->json.text = &reading->facts;
    report->kind = TBED_FOREIGN_CTF;
    tbed_json_object_open(&reading->json, NULL);
    tbed_json_object_open(&reading->json, "ctf");
    enum tbed_status status = take_records(reading);
    if (status == TBED_OK)
        finish_facts(reading);
    reading->trace.is_out_of_memory |= reading->is_out_of_memory;
    status = tbed_import_trace_close(&reading->trace, status, error_ret);
    free_all(reading);
    return status;
}
