/*
 * Converts a log of RTL_LOGFILE to a trace: each thread becomes a stream, scopes become spans, including those
 * written as messages "{ text" and "} text", and other messages become messages.
 *
 * Ticks are nanoseconds of the log's timer. Lines of the same millisecond are one tick apart, so that the order of
 * ticks over all streams is the order of lines. If a line cannot be reproduced exactly from its event, the event
 * carries its bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
#include "reader/exchange/rtl_log/rtl_scopes.h"
#include "reader/exchange/shared/import_drops.h"
#include "reader/exchange/shared/new_file.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/writer.h>
#include <unistd.h>

#define THREAD_MAX      65536u
#define EPOCH_MAX       ((uint64_t)4000 << 32) /* ms; in ticks still far below 2^64 */
#define WRAP_MS         ((int64_t)1 << 31)
#define METADATA_NBYTES 4096
#define NS_PER_S        INT64_C(1000000000)

struct track {
    uint32_t tid;
    struct tbed_recorder *recorder;
    struct rtl_thread_scopes scopes;
    uint64_t last_tick;
};

struct track_slot {
    uint64_t key; /* tbed_hashmap_key32() of the tid */
    uint32_t number;
};

struct ids {
    uint32_t ms, line, header, foreign, cut, orphan, late, pair;
};

/* When scopes that had already left the stack ended, by their ordinals. */
struct late_ends {
    struct late_end {
        uint64_t ordinal, tick;
    } * items;
    size_t count, room;
};

struct log {
    struct tbed_writer *writer;
    struct tbed_import_report *report;
    struct rtl_names *names;
    struct rtl_scopes *scopes;
    const struct late_ends *known; /* found by the first pass, sorted */
    struct late_ends found;
    struct rtl_facts facts;
    char numbers[3][RTL_HEADER_NMAX]; /* of the header, also from lines that end with CR and LF */
    const char *header_end;
    struct ids ids;
    TBED_VECTOR(struct track) tracks;
    TBED_HASHMAP(struct track_slot) track_numbers; /* by tid */
    size_t last_track;
    struct tbed_recorder *others; /* lines of no thread */

    bool has_time;
    uint32_t last_ms; /* time of the newest line that was in order */
    uint64_t epoch_ms, tick;
};

/* A line being imported. */
struct taken {
    const char *bytes;
    size_t nbytes; /* newline included, if it has one */
    struct rtl_line line;
    bool keeps_bytes; /* they cannot be reproduced from the event */
};

static void count(struct log *log, enum tbed_rtl_odd odd)
{
    log->report->odd_counts[odd]++;
}

/* ---- Threads ---- */

/* False: no memory. '*track_ret' is NULL if there are too many. */
static bool track_find(struct log *log, uint32_t tid, struct track **track_ret)
{
    struct track *tracks = log->tracks.items;
    *track_ret = NULL;
    if (log->last_track < log->tracks.count && tracks[log->last_track].tid == tid) {
        *track_ret = &tracks[log->last_track];
        return true;
    }
    struct track_slot *slot = TBED_HASHMAP_FIND(&log->track_numbers, tbed_hashmap_key32(tid));
    if (slot == NULL && log->tracks.count >= THREAD_MAX)
        return true;
    if (slot == NULL) {
        if (!TBED_HASHMAP_RESERVE(&log->track_numbers, 1) || TBED_VECTOR_PUSH(&log->tracks) == NULL)
            return false;
        slot = TBED_HASHMAP_ADD(&log->track_numbers, tbed_hashmap_key32(tid));
        slot->number = (uint32_t)log->tracks.count - 1;
        log->tracks.items[slot->number] =
            (struct track){.tid = tid, .recorder = tbed_recorder_open_given(log->writer, NULL, tid)};
    }
    log->last_track = slot->number;
    *track_ret = &log->tracks.items[slot->number];
    return true;
}

/* ---- Time ---- */

/* The first is 1: in a block, a span begun at tick 0 cannot be distinguished from one whose begin is unknown. */
static void next_tick(struct log *log)
{
    log->tick++;
}

/* Whether the line's time is in order. If it has wrapped, the epoch advances. */
static bool is_in_order(struct log *log, uint32_t ms)
{
    int64_t difference = (int64_t)ms - log->last_ms;
    if (!log->has_time || (difference >= 0 && difference <= WRAP_MS))
        return true;
    if (difference < -WRAP_MS && log->epoch_ms < EPOCH_MAX) {
        log->epoch_ms += (uint64_t)1 << 32;
        count(log, TBED_RTL_ODD_WRAP);
        return true;
    }
    count(log, difference > 0 ? TBED_RTL_ODD_STEP : TBED_RTL_ODD_BACK);
    return false;
}

/* Sets the tick of the next line. False: the line has to carry its own time. */
static bool take_time(struct log *log, uint32_t ms)
{
    next_tick(log);
    if (is_in_order(log, ms)) {
        uint64_t tick = (log->epoch_ms + ms) * RTL_NS_PER_MS;
        log->has_time = true;
        log->last_ms = ms;
        if (tick > log->tick)
            log->tick = tick;
    }
    return (uint32_t)(log->tick / RTL_NS_PER_MS) == ms;
}

/* ---- Events ---- */

static struct tbed_argument text_argument(uint32_t name_id, const char *text, size_t nbytes)
{
    return (struct tbed_argument){
        .type = TBED_ARG_TEXT, .name_id = name_id, .nbytes = (uint32_t)nbytes, .value.text = text};
}

/* Records the event. What the line has to carry is appended to its arguments, of which there is at most one. */
static void give(struct log *log, struct tbed_recorder *recorder, struct tbed_given_event *event,
                 const struct taken *taken, bool has_own_time)
{
    struct tbed_argument arguments[3];
    if (event->argument_count > 0)
        arguments[0] = event->arguments[0];
    if (!has_own_time)
        arguments[event->argument_count++] = (struct tbed_argument){
            .type = TBED_ARG_U64, .name_id = log->ids.ms, .nbytes = 8, .value.u64 = taken->line.ms};
    if (taken->keeps_bytes)
        arguments[event->argument_count++] = text_argument(log->ids.line, taken->bytes, taken->nbytes);
    event->arguments = arguments;
    event->tick = log->tick;
    tbed_event_record_given(recorder, event);
    log->report->event_count++;
}

/* Records a line verbatim, if it has no known form. */
static void give_bytes(struct log *log, struct taken *taken, uint32_t id)
{
    struct tbed_given_event event = {.type = TBED_GIVEN_INSTANT, .id = id, .category = TBED_ID_INVALID};
    if (log->others == NULL)
        log->others = tbed_recorder_open_given(log->writer, "lines of no thread", 0);
    taken->keeps_bytes = true;
    next_tick(log);
    give(log, log->others, &event, taken, true);
    log->report->instant_count++;
}

/* ---- Scopes ---- */

static int compare_late(const void *left, const void *right)
{
    uint64_t a = ((const struct late_end *)left)->ordinal, b = ((const struct late_end *)right)->ordinal;
    return (a > b) - (a < b);
}

static bool late_add(struct late_ends *ends, uint64_t ordinal, uint64_t tick)
{
    if (ends->count == ends->room) {
        size_t room = ends->room * 2 + 64;
        struct late_end *items = realloc(ends->items, room * sizeof *items);
        if (items == NULL)
            return false;
        ends->items = items;
        ends->room = room;
    }
    ends->items[ends->count++] = (struct late_end){ordinal, tick};
    return true;
}

/* When a scope that is leaving the stack now will end; 0: never. */
static uint64_t end_of(const struct log *log, const struct rtl_scope *scope)
{
    struct late_end wanted = {scope->ordinal, 0};
    if (scope->end_tick != 0 || log->known->count == 0)
        return scope->end_tick;
    const struct late_end *end =
        bsearch(&wanted, log->known->items, log->known->count, sizeof wanted, compare_late);
    return end != NULL ? end->tick : 0;
}

static void leave_top(struct log *log, struct track *track)
{
    static const struct taken nothing = {.keeps_bytes = false};
    struct tbed_given_event event = {
        .type = TBED_GIVEN_LEAVE, .end_tick = end_of(log, tbed_rtl_scope_at(log->scopes, track->scopes.top))};
    give(log, track->recorder, &event, &nothing, true);
    tbed_rtl_scope_pop(log->scopes, &track->scopes);
}

static uint32_t number_of(const struct log *log, const struct track *track)
{
    return (uint32_t)(track - log->tracks.items);
}

static bool begin_scope(struct log *log, struct track *track, struct taken *taken, bool has_own_time,
                        const struct rtl_scope *scope)
{
    struct tbed_given_event event = {.type = TBED_GIVEN_BEGIN,
                                     .id = tbed_rtl_name_string(log->names, scope->name),
                                     .category = scope->is_pair ? log->ids.pair : TBED_ID_INVALID};
    taken->keeps_bytes |= !tbed_rtl_name_is_exact(log->names, scope->name);
    give(log, track->recorder, &event, taken, has_own_time);
    log->report->interval_count++;
    return tbed_rtl_scope_begin(log->scopes, &track->scopes, number_of(log, track), scope->name,
                                scope->is_pair);
}

/* Records a line that ends a scope, but not the innermost span. */
static void give_end_line(struct log *log, struct track *track, struct taken *taken, bool has_own_time,
                          const struct tbed_given_event *event)
{
    struct tbed_given_event instant = *event;
    instant.type = TBED_GIVEN_INSTANT;
    taken->keeps_bytes = true;
    give(log, track->recorder, &instant, taken, has_own_time);
    log->report->instant_count++;
}

/*
 * Ends 'scope', which is open. Only the end of an object's scope takes others off the stack; a pair that contains
 * other scopes stays until they have left.
 */
static bool end_scope(struct log *log, struct track *track, struct taken *taken, bool has_own_time,
                      uint32_t scope)
{
    const struct rtl_scope *item = tbed_rtl_scope_at(log->scopes, scope);
    struct rtl_thread_scopes *stack = &track->scopes;
    bool is_late = item->has_left, is_inside = item->is_pair && stack->top != scope;
    if (is_late || is_inside) {
        struct tbed_given_event event = {.id = tbed_rtl_name_string(log->names, item->name),
                                         .category = log->ids.late};
        bool is_known = !is_late || late_add(&log->found, item->ordinal, log->tick);
        give_end_line(log, track, taken, has_own_time, &event);
        tbed_rtl_scope_end(log->scopes, stack, scope, log->tick);
        return is_known;
    }
    while (stack->top != scope)
        leave_top(log, track);
    struct tbed_given_event event = {.type = TBED_GIVEN_END};
    taken->keeps_bytes |= !tbed_rtl_name_is_exact(log->names, item->name);
    give(log, track->recorder, &event, taken, has_own_time);
    tbed_rtl_scope_end(log->scopes, stack, scope, log->tick);
    tbed_rtl_scope_pop(log->scopes, stack);
    while (stack->top != 0 && tbed_rtl_scope_at(log->scopes, stack->top)->end_tick != 0)
        leave_top(log, track);
    return true;
}

static bool ends_with(const struct rtl_line *line, const char *text, size_t nbytes)
{
    return line->nbytes > nbytes && memcmp(line->rest + line->nbytes - nbytes, text, nbytes) == 0;
}

/* The document has a colon after a scope's name, as before a message; the program does not write it. */
static void leave_colon_out(struct taken *taken)
{
    size_t nbytes = ends_with(&taken->line, " : ", 3) ? 3 : ends_with(&taken->line, " :", 2) ? 2 : 0;
    taken->line.nbytes -= nbytes;
    taken->keeps_bytes |= nbytes > 0;
}

static bool give_begin(struct log *log, struct track *track, struct taken *taken, bool has_own_time)
{
    leave_colon_out(taken);
    struct rtl_scope scope = {.name = tbed_rtl_name_intern(log->names, taken->line.rest, taken->line.nbytes)};
    return scope.name != RTL_NAME_NONE && begin_scope(log, track, taken, has_own_time, &scope);
}

static bool give_end(struct log *log, struct track *track, struct taken *taken, bool has_own_time)
{
    leave_colon_out(taken);
    uint32_t name = tbed_rtl_name_intern(log->names, taken->line.rest, taken->line.nbytes);
    if (name == RTL_NAME_NONE)
        return false;
    uint32_t scope = tbed_rtl_scope_find(log->scopes, &track->scopes, number_of(log, track), name, false);
    if (scope != 0)
        return end_scope(log, track, taken, has_own_time, scope);
    struct tbed_given_event event = {.id = tbed_rtl_name_string(log->names, name),
                                     .category = log->ids.orphan};
    count(log, TBED_RTL_ODD_ORPHAN);
    give_end_line(log, track, taken, has_own_time, &event);
    return true;
}

/* ---- Messages ---- */

/* A message, and the scope that writes it. */
struct said {
    struct rtl_text text;
    uint32_t context; /* a name */
    bool has_context;
};

struct open_names {
    const struct rtl_scopes *scopes;
    uint32_t thread;
};

static bool is_open(const void *context, uint32_t name)
{
    const struct open_names *names = context;
    return tbed_rtl_scope_is_open(names->scopes, names->thread, name);
}

/* A message without a scope may name its function itself: "MODULE (AUTHOR) FUNCTION : text" or "::FUNCTION : text". */
static size_t nameless_context(const struct rtl_line *line)
{
    struct tbed_rtl_fields fields = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    size_t nbytes = tbed_rtl_message_fields(line->rest + 2, line->nbytes - 2, &fields);
    return nbytes > 0 ? nbytes - 3 : 0;
}

/* False: no memory. */
static bool take_apart(struct log *log, const struct track *track, struct taken *taken, struct said *said)
{
    const struct rtl_line *line = &taken->line;
    struct rtl_text rest = {line->rest, line->nbytes};
    struct open_names names = {log->scopes, number_of(log, track)};
    size_t name_nbytes = 0, from = 0, at = 0;
    bool is_nameless = line->nbytes >= 2 && memcmp(line->rest, ": ", 2) == 0;
    said->has_context = false;
    if (is_nameless) {
        from = at = 2;
        name_nbytes = nameless_context(line);
        said->has_context = name_nbytes > 0;
        taken->keeps_bytes |= said->has_context;
        at += said->has_context ? name_nbytes + 3 : 0;
    } else if (tbed_rtl_name_split(log->names, is_open, &names, &rest, &name_nbytes)) {
        at = name_nbytes + 3;
        said->has_context = true;
    } else {
        count(log, TBED_RTL_ODD_SEPARATOR);
        taken->keeps_bytes = true;
        name_nbytes = 0;
    }
    said->text = (struct rtl_text){line->rest + at, line->nbytes - at};
    said->context = tbed_rtl_name_intern(log->names, line->rest + from, name_nbytes);
    if (said->context == RTL_NAME_NONE)
        return false;
    taken->keeps_bytes |=
        said->has_context && (name_nbytes == 0 || !tbed_rtl_name_is_exact(log->names, said->context));
    return true;
}

static void give_text(struct log *log, struct track *track, struct taken *taken, bool has_own_time,
                      const struct said *said)
{
    struct tbed_argument text = text_argument(TBED_ID_INVALID, said->text.bytes, said->text.nbytes);
    struct tbed_given_event event = {.type = TBED_GIVEN_MESSAGE,
                                     .id = said->has_context ? tbed_rtl_name_format(log->names, said->context)
                                                             : TBED_ID_INVALID,
                                     .severity = TBED_MESSAGE_CONTEXT,
                                     .arguments = &text,
                                     .argument_count = 1};
    give(log, track->recorder, &event, taken, has_own_time);
    log->report->message_count++;
}

/* "{ text" begins a scope; "} text" ends it, if there is one. */
static bool give_pair(struct log *log, struct track *track, struct taken *taken, bool has_own_time,
                      const struct said *said)
{
    const char *text = said->text.bytes;
    size_t nbytes = said->text.nbytes, at = 1;
    while (at < nbytes && text[at] == ' ')
        at++;
    uint32_t name = tbed_rtl_pair_intern(log->names, said->context, text + at, nbytes - at);
    if (name == RTL_NAME_NONE)
        return false;
    bool is_canonical = at == 2, begins = text[0] == '{';
    struct rtl_scope scope = {.name = name, .is_pair = true};
    uint32_t open =
        begins ? 0 : tbed_rtl_scope_find(log->scopes, &track->scopes, number_of(log, track), name, true);
    if (!begins && open == 0) {
        count(log, TBED_RTL_ODD_ORPHAN_MESSAGE);
        give_text(log, track, taken, has_own_time, said);
        return true;
    }
    taken->keeps_bytes |= !is_canonical || (!begins && tbed_rtl_scope_at(log->scopes, open)->name != name);
    return begins ? begin_scope(log, track, taken, has_own_time, &scope)
                  : end_scope(log, track, taken, has_own_time, open);
}

static bool give_message(struct log *log, struct track *track, struct taken *taken, bool has_own_time)
{
    struct said said;
    if (!take_apart(log, track, taken, &said))
        return false;
    if (said.text.nbytes > 0 && (said.text.bytes[0] == '{' || said.text.bytes[0] == '}'))
        return give_pair(log, track, taken, has_own_time, &said);
    give_text(log, track, taken, has_own_time, &said);
    return true;
}

/* ---- Lines ---- */

/*
 * Where the line at 'at' ends, including the newline. Sets whether it was cut by the program, or is split by this
 * import.
 */
static const char *line_end(const char *at, const char *end, bool *is_truncated, bool *is_long)
{
    size_t room = (size_t)(end - at), most = room < RTL_LINE_NMAX ? room : RTL_LINE_NMAX;
    const char *newline = memchr(at, '\n', most);
    size_t nbytes = newline != NULL ? (size_t)(newline + 1 - at) : most;
    struct rtl_line line;
    *is_truncated = nbytes > RTL_PIECE_NMAX && tbed_rtl_line_parse(at, nbytes, &line) &&
                    line.prefix + RTL_PIECE_NMAX < nbytes && at[line.prefix + RTL_PIECE_NMAX] == '\0';
    *is_long = !*is_truncated && newline == NULL && nbytes < room;
    return at + (*is_truncated ? line.prefix + RTL_PIECE_NMAX + 1 : nbytes);
}

/* Counts oddities in the bytes; returns the length without the line's end. */
static size_t look_at(struct log *log, struct taken *taken, bool is_truncated)
{
    size_t nbytes = taken->nbytes;
    bool has_newline = taken->bytes[nbytes - 1] == '\n';
    nbytes -= has_newline || is_truncated;
    bool has_return = has_newline && nbytes > 0 && taken->bytes[nbytes - 1] == '\r';
    nbytes -= has_return;
    bool is_utf8 = tbed_utf8_valid_nbytes((const uint8_t *)taken->bytes, nbytes) == nbytes;
    bool ends_with_zero = nbytes > RTL_PIECE_NMAX && taken->bytes[nbytes - 1] == '\0';
    log->report->odd_counts[TBED_RTL_ODD_TRUNCATED] += is_truncated || ends_with_zero;
    log->report->odd_counts[TBED_RTL_ODD_CRLF] += has_return;
    log->report->odd_counts[TBED_RTL_ODD_UTF8] += !is_utf8;
    log->report->odd_counts[TBED_RTL_ODD_NUL] += memchr(taken->bytes, '\0', nbytes) != NULL;
    taken->keeps_bytes = has_return || !has_newline;
    return nbytes;
}

static bool give_line(struct log *log, struct taken *taken)
{
    struct track *track;
    if (!track_find(log, taken->line.tid, &track))
        return false;
    if (track == NULL) {
        count(log, TBED_RTL_ODD_THREADS);
        give_bytes(log, taken, log->ids.foreign);
        return true;
    }
    bool has_own_time = take_time(log, taken->line.ms);
    track->last_tick = log->tick;
    log->report->odd_counts[TBED_RTL_ODD_NUMBER] += !taken->line.is_canonical;
    taken->keeps_bytes |= !taken->line.is_canonical;
    if (taken->line.kind == '{')
        return give_begin(log, track, taken, has_own_time);
    if (taken->line.kind == '}')
        return give_end(log, track, taken, has_own_time);
    return give_message(log, track, taken, has_own_time);
}

/* False: no memory. */
static bool take_line(struct log *log, const char *at, const char *next, const char *end, bool is_truncated,
                      bool is_long)
{
    struct taken taken = {.bytes = at, .nbytes = (size_t)(next - at)};
    bool is_cut = next == end && next[-1] != '\n' && !is_truncated, is_header = at < log->header_end;
    if (is_cut && tbed_rtl_header_parse(RTL_TRAILER, at, taken.nbytes, log->facts.numbers[RTL_TRAILER]))
        return true;
    log->report->line_count++;
    size_t nbytes = look_at(log, &taken, is_truncated);
    bool is_line = !is_long && tbed_rtl_line_parse(at, nbytes, &taken.line);
    if (!is_cut && is_line)
        return give_line(log, &taken);
    if (!is_header)
        count(log, is_long ? TBED_RTL_ODD_LONG : is_cut ? TBED_RTL_ODD_CUT : TBED_RTL_ODD_FOREIGN);
    give_bytes(log, &taken, is_header ? log->ids.header : is_cut ? log->ids.cut : log->ids.foreign);
    return true;
}

/* ---- Header ---- */

/*
 * Reads the header's numbers. Returns the end of those header lines that are exact; the others are kept like other
 * lines.
 */
static const char *take_header(struct log *log, const char *at, const char *end)
{
    const char *exact = at;
    for (unsigned which = 0; which < 3; which++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at) < 256 ? (size_t)(end - at) : 256);
        if (newline == NULL)
            break;
        bool has_return = newline > at && newline[-1] == '\r';
        if (!tbed_rtl_header_parse(which, at, (size_t)(newline - at) - has_return, log->numbers[which]))
            continue;
        if (exact == at && !has_return) {
            memcpy(log->facts.numbers[which], log->numbers[which], RTL_HEADER_NMAX);
            exact = newline + 1;
        }
        at = newline + 1;
        log->header_end = at;
    }
    return exact;
}

static int64_t start_ns(char numbers[3][RTL_HEADER_NMAX])
{
    const char *point = strpbrk(numbers[0], ".,"); /* as the program's locale has it */
    if (point == NULL)
        return 0;
    int64_t seconds = strtoll(numbers[0], NULL, 10), microseconds = strtoll(point + 1, NULL, 10);
    return seconds * NS_PER_S + microseconds * 1000 - strtoll(numbers[1], NULL, 10) * RTL_NS_PER_MS;
}

static enum tbed_status open_trace(struct log *log, int fd, struct tbed_error *error)
{
    unsigned long pid = strtoul(log->numbers[2], NULL, 10);
    struct tbed_writer_options options = {
        .size = sizeof options,
        .process_name = "",
        .process_pid = pid != 0 ? (uint32_t)pid : TBED_PID_UNKNOWN,
        .given_ticks = true,
        .given_ticks_per_second = NS_PER_S,
        .given_resolution_ns = RTL_NS_PER_MS,
        .given_realtime_ns = start_ns(log->numbers),
    };
    return tbed_writer_open_fd(fd, &options, &log->writer, error);
}

/* ---- Driver ---- */

static void make_ids(struct log *log)
{
    static const struct {
        const char *text;
        size_t at;
    } texts[] = {{RTL_ARG_MS, offsetof(struct ids, ms)},
                 {RTL_ARG_LINE, offsetof(struct ids, line)},
                 {"line of the header", offsetof(struct ids, header)},
                 {"no line of a log", offsetof(struct ids, foreign)},
                 {"cut line", offsetof(struct ids, cut)},
                 {"end without a begin", offsetof(struct ids, orphan)},
                 {"end that crosses another scope", offsetof(struct ids, late)},
                 {RTL_CATEGORY_PAIR, offsetof(struct ids, pair)}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint32_t id = tbed_string_intern(log->writer, texts[i].text, strlen(texts[i].text));
        memcpy((char *)&log->ids + texts[i].at, &id, sizeof id);
    }
}

static enum tbed_status take_lines(struct log *log, const char *at, const char *end)
{
    bool is_truncated, is_long;
    make_ids(log);
    log->names = tbed_rtl_names_new(log->writer);
    log->scopes = log->names != NULL ? tbed_rtl_scopes_new(log->names) : NULL;
    if (log->scopes == NULL)
        return TBED_ERR_MEMORY;
    while (at < end) {
        const char *next = line_end(at, end, &is_truncated, &is_long);
        if (!take_line(log, at, next, end, is_truncated, is_long))
            return TBED_ERR_MEMORY;
        at = next;
    }
    return TBED_OK;
}

/* A pair that has ended below a scope that never ends has not left the stack yet. */
static void finish_scopes(struct log *log)
{
    for (size_t i = 0; i < log->tracks.count; i++) {
        log->tick = log->tracks.items[i].last_tick;
        while (log->tracks.items[i].scopes.ended_count > 0)
            leave_top(log, &log->tracks.items[i]);
    }
}

static void finish(struct log *log)
{
    struct tbed_import_report *report = log->report;
    char text[METADATA_NBYTES];
    for (unsigned which = 0; which < 3; which++)
        report->odd_counts[TBED_RTL_ODD_HEADER] += log->numbers[which][0] == '\0';
    report->odd_counts[TBED_RTL_ODD_TRAILER] += log->facts.numbers[RTL_TRAILER][0] == '\0';
    finish_scopes(log);
    report->odd_counts[TBED_RTL_ODD_UNCLOSED] = tbed_rtl_scopes_open_count(log->scopes);
    report->thread_count = log->tracks.count;
    memcpy(log->facts.odd_counts, report->odd_counts, sizeof log->facts.odd_counts);
    tbed_metadata_set(log->writer, text,
                      tbed_rtl_facts_put(&log->facts, report->line_count, text, sizeof text));
}

static void free_all(struct log *log)
{
    tbed_vector_free(&log->tracks.vector);
    tbed_hashmap_free(&log->track_numbers.map);
    tbed_rtl_scopes_free(log->scopes);
    tbed_rtl_names_free(log->names);
    tbed_writer_free(log->writer);
}

static enum tbed_status import_once(const struct rtl_text *text, int fd, struct tbed_import_report *report,
                                    const struct late_ends *known, struct late_ends *found_ret,
                                    struct tbed_error *error_ret)
{
    struct log log = {.report = report, .known = known};
    const char *end = text->bytes + text->nbytes;
    const char *lines = take_header(&log, text->bytes, end);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_RTL_LOG, .file_nbytes = text->nbytes};
    enum tbed_status status = open_trace(&log, fd, error_ret);
    if (status != TBED_OK)
        return status;
    status = take_lines(&log, lines, end);
    if (status == TBED_OK) {
        finish(&log);
        status = tbed_import_count_drops(log.writer, report, error_ret);
    } else {
        tbed_exchange_fail(error_ret, status);
    }
    *found_ret = log.found;
    free_all(&log);
    return status;
}

/* If scopes ended after they had left the stack, imports a second time: a LEAVE has to say when its span ends. */
enum tbed_status tbed_rtl_import(const struct rtl_text *text, int fd, struct tbed_import_report *report,
                                 struct tbed_error *error_ret)
{
    struct late_ends none = {.count = 0}, first = {.count = 0}, second = {.count = 0};
    enum tbed_status status = import_once(text, fd, report, &none, &first, error_ret);
    if (status == TBED_OK && first.count > 0) {
        qsort(first.items, first.count, sizeof *first.items, compare_late);
        status = ftruncate(fd, 0) == 0 ? import_once(text, fd, report, &first, &second, error_ret)
                                       : tbed_exchange_fail(error_ret, TBED_ERR_WRITE);
    }
    free(first.items);
    free(second.items);
    return status;
}
