/*
 * The scopes of a stream, spans and pairs of messages, on one stack; see tracebed/analysis.h, "Scopes". All that shows
 * pairs stands on this: statistics, stacks, the tree of calls, the export for viewers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/scopes/scopes.h"
#include "format/base/sized.h"

#include "reader/analysis/scopes/scope_messages.h"
#include "reader/analysis/scopes/scope_pairs.h"

#include <stdlib.h>
#include <string.h>

struct open_span {
    struct tbed_scope scope;
    uint32_t depth; /* spans around it, by the stream's own count */
};

struct open_spans {
    struct open_span *items;
    size_t count, room;
};

struct tbed_scopes {
    struct tbed_reader *reader;
    struct tbed_scopes_options options;
    struct scope_formats formats;
    struct scope_pairs pairs;
    struct open_spans stack;
    struct open_spans left; /* taken off the stack, and never ended */
    char *name;             /* of the pair at hand */
    size_t name_room;
    char *text; /* of the message at hand */
    size_t text_room;
    uint64_t last_tick;
    const struct tbed_event *event;
    bool is_out_of_memory;
};

/* ---- A life ---- */

enum tbed_status tbed_scopes_open(struct tbed_reader *reader, const struct tbed_scopes_options *given,
                                  struct tbed_scopes **scopes_ret)
{
    struct tbed_scopes_options options;
    if (!tbed_options_take(&options, sizeof options, given) || options.step == NULL)
        return TBED_ERR_ARGUMENT;
    struct tbed_scopes *scopes = calloc(1, sizeof *scopes);
    if (scopes == NULL)
        return TBED_ERR_MEMORY;
    scopes->reader = reader;
    scopes->options = options;
    enum tbed_status status = tbed_scope_pairs_open(&scopes->pairs, reader);
    if (status == TBED_OK)
        *scopes_ret = scopes;
    else
        tbed_scopes_close(scopes);
    return status;
}

void tbed_scopes_close(struct tbed_scopes *scopes)
{
    if (scopes == NULL)
        return;
    tbed_scope_formats_free(&scopes->formats);
    tbed_scope_pairs_close(&scopes->pairs);
    free(scopes->stack.items);
    free(scopes->left.items);
    free(scopes->name);
    free(scopes->text);
    free(scopes);
}

/* ---- The stack ---- */

static struct tbed_scope *innermost(const struct tbed_scopes *scopes)
{
    struct scope_pair *pair = tbed_scope_pair_top(&scopes->pairs);
    const struct open_spans *stack = &scopes->stack;
    if (pair != NULL && pair->level == stack->count)
        return &pair->scope;
    return stack->count > 0 ? &stack->items[stack->count - 1].scope : NULL;
}

const struct tbed_scope *tbed_scopes_innermost(const struct tbed_scopes *scopes)
{
    return innermost(scopes);
}

const struct tbed_scope *tbed_scopes_innermost_span(const struct tbed_scopes *scopes)
{
    const struct open_spans *stack = &scopes->stack;
    return stack->count > 0 ? &stack->items[stack->count - 1].scope : NULL;
}

static bool have_room(struct tbed_scopes *scopes, struct open_spans *spans)
{
    if (spans->count < spans->room)
        return true;
    size_t room = spans->room * 2 + 64;
    struct open_span *items = realloc(spans->items, room * sizeof *items);
    scopes->is_out_of_memory |= items == NULL;
    if (items == NULL)
        return false;
    spans->items = items;
    spans->room = room;
    return true;
}

/* ---- Steps ---- */

static void tell(struct tbed_scopes *scopes, struct tbed_scope_step step)
{
    step.event = step.change != TBED_SCOPE_OPEN ? scopes->event : NULL;
    scopes->options.step(scopes->options.step_context, &step);
}

static void tell_left(struct tbed_scopes *scopes, struct tbed_scope *scope)
{
    tell(scopes,
         (struct tbed_scope_step){
             .change = TBED_SCOPE_LEFT, .scope = scope, .end_tick = scopes->event->tick, .was_begun = true});
}

/* 'scope' is on the stack now, or (an orphan) would be. */
static void tell_begin(struct tbed_scopes *scopes, struct tbed_scope *scope, enum tbed_scope_change change,
                       const struct tbed_scope *parent, size_t depth)
{
    tell(scopes, (struct tbed_scope_step){
                     .change = change, .scope = scope, .parent = parent, .depth = depth, .was_begun = true});
}

/* How many are on the stack. */
static size_t depth_of(const struct tbed_scopes *scopes)
{
    return scopes->stack.count + scopes->pairs.attached_count;
}

/* ---- Spans ---- */

/* Takes the innermost span off, and the pairs that stand in it. */
static struct open_span pop(struct tbed_scopes *scopes)
{
    struct open_span span = scopes->stack.items[--scopes->stack.count];
    struct scope_pair *pair;
    while ((pair = tbed_scope_pair_top(&scopes->pairs)) != NULL && pair->level > scopes->stack.count) {
        tell_left(scopes, &pair->scope);
        tbed_scope_pair_detach_top(&scopes->pairs);
    }
    return span;
}

/* The innermost span will never end. */
static void leave(struct tbed_scopes *scopes)
{
    struct open_span span = pop(scopes);
    tell_left(scopes, &span.scope);
    if (have_room(scopes, &scopes->left))
        scopes->left.items[scopes->left.count++] = span;
}

/* The innermost span leaves the stack, and its end is at another time, if it has one. */
static void leave_early(struct tbed_scopes *scopes)
{
    uint64_t end_tick = scopes->event->of.end.end_tick;
    if (end_tick == 0) {
        leave(scopes);
        return;
    }
    struct open_span span = pop(scopes);
    tell_left(scopes, &span.scope);
    tell(scopes,
         (struct tbed_scope_step){
             .change = TBED_SCOPE_END, .scope = &span.scope, .end_tick = end_tick, .was_begun = true});
}

/* Open spans with 'depth' or more around them: their ends stood in a block that is missing. */
static void leave_deeper(struct tbed_scopes *scopes, uint32_t depth)
{
    const struct open_spans *stack = &scopes->stack;
    while (stack->count > 0 && stack->items[stack->count - 1].depth >= depth)
        leave(scopes);
}

static void begin_span(struct tbed_scopes *scopes, uint32_t depth)
{
    const struct tbed_event *event = scopes->event;
    struct open_spans *stack = &scopes->stack;
    leave_deeper(scopes, depth - 1);
    if (!have_room(scopes, stack)) /* before the parent is pointed to */
        return;
    size_t outer = depth_of(scopes);
    const struct tbed_scope *parent = innermost(scopes);
    struct open_span *span = &stack->items[stack->count++];
    *span = (struct open_span){.scope = {.begin_tick = event->tick,
                                         .id = event->id,
                                         .category = event->category,
                                         .argument_count = event->argument_count,
                                         .arguments = event->arguments},
                               .depth = depth - 1};
    tell_begin(scopes, &span->scope, TBED_SCOPE_BEGIN, parent, outer);
}

/* An end whose begin is not on the stack. */
static void end_unknown(struct tbed_scopes *scopes)
{
    const struct tbed_event *event = scopes->event;
    struct tbed_scope scope = {
        .begin_tick = event->of.end.begin_tick, .id = event->id, .category = TBED_ID_INVALID};
    tell(scopes,
         (struct tbed_scope_step){.change = scope.begin_tick != 0 ? TBED_SCOPE_END : TBED_SCOPE_UNKNOWN,
                                  .scope = &scope,
                                  .end_tick = event->tick});
}

/* 'depth' spans stay open behind the end: the one that ended had as many around it. */
static void end_span(struct tbed_scopes *scopes, uint32_t depth)
{
    const struct open_spans *stack = &scopes->stack;
    if (depth < UINT32_MAX)
        leave_deeper(scopes, depth + 1);
    if (stack->count == 0 || stack->items[stack->count - 1].depth != depth) {
        end_unknown(scopes);
        return;
    }
    if (scopes->event->of.end.leaves) {
        leave_early(scopes);
        return;
    }
    bool is_nested = innermost(scopes) == &stack->items[stack->count - 1].scope;
    struct open_span span = pop(scopes);
    tell(scopes, (struct tbed_scope_step){.change = TBED_SCOPE_END,
                                          .scope = &span.scope,
                                          .end_tick = scopes->event->tick,
                                          .was_begun = true,
                                          .is_nested = is_nested});
}

/* ---- Pairs ---- */

static size_t argument_text(const struct tbed_event *event, const char **text_ret)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    tbed_argument_next(&at, &argument);
    *text_ret = argument.value.text;
    return argument.nbytes;
}

static bool have_name(struct tbed_scopes *scopes, size_t nbytes)
{
    if (nbytes <= scopes->name_room)
        return true;
    char *name = realloc(scopes->name, nbytes);
    scopes->is_out_of_memory |= name == NULL;
    if (name == NULL)
        return false;
    scopes->name = name;
    scopes->name_room = nbytes;
    return true;
}

/* Puts the context and U+001E into the name, and gives their length; SIZE_MAX: no memory. */
static size_t put_context(struct tbed_scopes *scopes)
{
    const struct tbed_event *event = scopes->event;
    size_t nbytes = 0;
    const char *text = "";
    if (event->id != TBED_ID_INVALID && event->of.message.has_context)
        text = tbed_scope_id_text(&scopes->formats, scopes->reader, event->id, &nbytes);
    const char *unit = nbytes > 0 ? memchr(text, SCOPE_UNIT, nbytes) : NULL;
    size_t context = unit != NULL ? (size_t)(unit - text) : 0;
    if (!have_name(scopes, context + 1))
        return SIZE_MAX;
    memcpy(scopes->name, text, context);
    scopes->name[context] = SCOPE_UNIT;
    return context + 1;
}

/* The text of the message without its context; 0 where memory is out. */
static size_t message_text(struct tbed_scopes *scopes, enum scope_message message, const char **text_ret)
{
    if (message == SCOPE_MESSAGE_TEXT)
        return argument_text(scopes->event, text_ret);
    size_t nbytes = 0;
    for (bool fits = false; !fits;) {
        nbytes = tbed_message_text(scopes->reader, scopes->event, TBED_MESSAGE_BODY, scopes->text,
                                   scopes->text_room);
        fits = nbytes < scopes->text_room;
        char *text = fits ? scopes->text : realloc(scopes->text, 2 * nbytes + 64);
        scopes->is_out_of_memory |= text == NULL;
        if (text == NULL)
            return 0;
        scopes->text = text;
        scopes->text_room = fits ? scopes->text_room : 2 * nbytes + 64;
    }
    *text_ret = scopes->text;
    return nbytes;
}

/* Makes the name of the pair that the message is of; gives its length, 0: no memory. */
static size_t make_name(struct tbed_scopes *scopes, enum scope_message message, bool *begins_ret)
{
    const char *text = "";
    size_t name_nbytes = put_context(scopes), at = 1;
    if (name_nbytes == SIZE_MAX)
        return 0;
    size_t nbytes = message_text(scopes, message, &text);
    *begins_ret = nbytes > 0 && text[0] == '{';
    while (at < nbytes && text[at] == ' ')
        at++;
    size_t rest = nbytes > at ? nbytes - at : 0;
    if (!have_name(scopes, name_nbytes + rest + 1))
        return 0;
    memcpy(scopes->name + name_nbytes, text + nbytes - rest, rest);
    scopes->name[name_nbytes + rest] = '\0';
    return name_nbytes + rest;
}

static void begin_pair(struct tbed_scopes *scopes, size_t name_nbytes)
{
    size_t outer = depth_of(scopes);
    const struct tbed_scope *parent = innermost(scopes);
    struct tbed_scope around = parent != NULL ? *parent : (struct tbed_scope){0}; /* the begin may move it */
    struct scope_pair *pair =
        tbed_scope_pair_begin(&scopes->pairs, scopes->name, name_nbytes, scopes->stack.count);
    scopes->is_out_of_memory |= pair == NULL;
    if (pair == NULL)
        return;
    pair->scope.begin_tick = scopes->event->tick;
    tell_begin(scopes, &pair->scope, TBED_SCOPE_BEGIN, parent != NULL ? &around : NULL, outer);
}

static void close_pair(struct tbed_scopes *scopes, size_t name_nbytes)
{
    uint32_t found = tbed_scope_pair_find(&scopes->pairs, scopes->name, name_nbytes);
    if (found == 0) {
        bool has_context = scopes->name[0] != SCOPE_UNIT;
        struct tbed_scope orphan = {.begin_tick = scopes->event->tick,
                                    .is_pair = true,
                                    .name = scopes->name + !has_context,
                                    .name_nbytes = name_nbytes - !has_context};
        tell_begin(scopes, &orphan, TBED_SCOPE_ORPHAN, innermost(scopes), depth_of(scopes));
        return;
    }
    bool is_nested = innermost(scopes) == &scopes->pairs.items[found - 1].scope;
    struct scope_pair *pair = tbed_scope_pair_remove(&scopes->pairs, found);
    tell(scopes, (struct tbed_scope_step){.change = TBED_SCOPE_END,
                                          .scope = &pair->scope,
                                          .end_tick = scopes->event->tick,
                                          .was_begun = true,
                                          .is_nested = is_nested});
}

static void take_message(struct tbed_scopes *scopes)
{
    bool begins = false;
    enum scope_message message = tbed_scope_message(&scopes->formats, scopes->reader, scopes->event);
    if (message == SCOPE_MESSAGE_OTHER)
        return;
    size_t nbytes = make_name(scopes, message, &begins);
    if (nbytes == 0)
        return;
    if (begins)
        begin_pair(scopes, nbytes);
    else
        close_pair(scopes, nbytes);
}

/* ---- Events ---- */

enum tbed_status tbed_scopes_take(struct tbed_scopes *scopes, const struct tbed_event *event, uint32_t depth)
{
    scopes->event = event;
    scopes->last_tick = event->tick > scopes->last_tick ? event->tick : scopes->last_tick;
    if (event->type == TBED_EVENT_BEGIN)
        begin_span(scopes, depth);
    else if (event->type == TBED_EVENT_END)
        end_span(scopes, depth);
    else if (event->type == TBED_EVENT_MESSAGE)
        take_message(scopes);
    bool is_out = scopes->is_out_of_memory || scopes->formats.is_out_of_memory;
    return is_out ? TBED_ERR_MEMORY : TBED_OK;
}

static void tell_open(struct tbed_scopes *scopes, struct tbed_scope *scope, bool is_nested)
{
    tell(scopes, (struct tbed_scope_step){.change = TBED_SCOPE_OPEN,
                                          .scope = scope,
                                          .end_tick = scopes->last_tick,
                                          .was_begun = true,
                                          .is_nested = is_nested});
}

void tbed_scopes_finish(struct tbed_scopes *scopes)
{
    for (size_t i = 0; i < scopes->stack.count; i++)
        tell_open(scopes, &scopes->stack.items[i].scope, true);
    for (size_t i = 0; i < scopes->left.count; i++)
        tell_open(scopes, &scopes->left.items[i].scope, false);
    while (scopes->pairs.last != 0)
        tell_open(scopes, &tbed_scope_pair_remove(&scopes->pairs, scopes->pairs.last)->scope, false);
    scopes->stack.count = scopes->left.count = 0;
    scopes->last_tick = 0;
}
