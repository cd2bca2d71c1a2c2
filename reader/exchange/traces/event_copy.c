/*
 * Copies the words of single events; see event_copy.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/traces/event_copy.h"

#include "format/argument.h"
#include "reader/core/file/reader_state.h"

#define EXTENDED_NWORDS_MAX 65535 /* after the first */

static uint32_t map(struct stream_copy *copy, uint32_t id)
{
    return tbed_id_map(copy->strings, &copy->source->ids, id);
}

/* A begin tick of 0 is not known. */
static uint64_t begin_tick_of(const struct stream_copy *copy, uint64_t tick)
{
    return tick != 0 ? tbed_copy_tick(copy->source, tick) : 0;
}

static void store_word(uint64_t *to, uint64_t word)
{
    word = tbed_word_order(word);
    memcpy(to, &word, sizeof word);
}

/* ---- Arguments ---- */

static uint64_t *map_argument(struct stream_copy *copy, uint64_t *at)
{
    struct tbed_argument_head head = tbed_argument_head_load(tbed_word_load(at));
    if (head.type == TBED_ARG_ID)
        store_word(at + 1, map(copy, tbed_word_load(at + 1) <= TBED_ID_MAX ? (uint32_t)tbed_word_load(at + 1)
                                                                           : TBED_ID_INVALID));
    head.name_id = map(copy, head.name_id);
    store_word(at, tbed_argument_head_make(head));
    return at + 1 + tbed_argument_value_nwords(head.nbytes);
}

static void map_arguments(struct stream_copy *copy, uint64_t *at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        at = map_argument(copy, at);
}

static void map_packed(struct stream_copy *copy, uint8_t *at, uint32_t count, uint32_t types)
{
    for (uint32_t i = 0; i < count; i++, types >>= 4) {
        struct tbed_argument argument;
        uint8_t *next = at + (tbed_packed_take(at, types & 15, &argument) - at);
        if ((types & 15) == TBED_ARG_ID) {
            uint64_t id = argument.value.u64;
            tbed_le64 mapped = tbed_le64_make(map(copy, id <= TBED_ID_MAX ? (uint32_t)id : TBED_ID_INVALID));
            memcpy(at, &mapped, sizeof mapped);
        }
        at = next;
    }
}

/* A name that is used is kept, so each is asked for; consecutive ids stay consecutive. */
static void map_packed_names(struct stream_copy *copy, uint64_t *fixed, uint32_t count)
{
    uint64_t word = tbed_word_load(fixed);
    uint32_t name = tbed_packed_fixed_names(word), first = map(copy, name);
    for (uint32_t i = 1; i < count; i++) {
        name = tbed_packed_names_next(name);
        map(copy, name);
    }
    store_word(fixed, (uint64_t)first << 32 | tbed_packed_fixed_types(word));
}

/* ---- Words ---- */

static uint32_t map_category(struct stream_copy *copy, uint32_t aux)
{
    return aux == 0 || aux > TBED_ID_MAX ? aux : map(copy, aux);
}

/* A SPAN is written by put_span(). */
static void map_fixed(struct stream_copy *copy, uint64_t *words, struct tbed_extended_head *head)
{
    switch (head->type) {
    case TBED_EXT_BEGIN:
    case TBED_EXT_INSTANT:
    case TBED_EXT_COUNTER:
    case TBED_EXT_PACKED_BEGIN:
    case TBED_EXT_PACKED_INSTANT:
        head->aux = map_category(copy, head->aux);
        break;
    case TBED_EXT_END:
        store_word(words + 2, begin_tick_of(copy, tbed_word_load(words + 2)));
        break;
    case TBED_EXT_LEAVE:
        store_word(words + 2, begin_tick_of(copy, tbed_word_load(words + 2)));
        store_word(words + 3, begin_tick_of(copy, tbed_word_load(words + 3)));
        break;
    case TBED_EXT_REALLOC:
        store_word(words + 5, tbed_copy_tick(copy->source, tbed_word_load(words + 5)));
        break;
    default:
        break;
    }
}

static void map_extended(struct stream_copy *copy, uint64_t *words)
{
    struct tbed_extended_head head = tbed_extended_head_load(tbed_word_load(words + 1));
    if (!tbed_extended_is_known(head.type))
        return;
    map_fixed(copy, words, &head);
    store_word(words + 1, tbed_extended_head_make(head));
    uint64_t *arguments = words + 2 + tbed_extended_fixed_nwords(head.type);
    if (head.type == TBED_EXT_PACKED_MESSAGE)
        map_packed(copy, (uint8_t *)arguments, head.argument_count, tbed_packed_types(head.aux));
    else if (tbed_extended_is_packed(head.type)) {
        map_packed_names(copy, words + 2, head.argument_count);
        map_packed(copy, (uint8_t *)arguments, head.argument_count,
                   tbed_packed_fixed_types(tbed_word_load(words + 2)));
    } else
        map_arguments(copy, arguments, head.argument_count);
}

static const uint64_t *words_of(const struct stream_copy *copy, const struct tbed_event *event)
{
    return (const uint64_t *)(const void *)(copy->source->reader->map.bytes + event->offset);
}

static size_t nwords_of(const uint64_t *words)
{
    uint32_t tag = tbed_event_tag(tbed_word_load(words));
    if (tag == TBED_TAG_EXTENDED)
        return 1 + (size_t)tbed_extended_head_load(tbed_word_load(words + 1)).nwords;
    return tag == TBED_TAG_PAIR ? 2 : 1;
}

/* Returns the words, or NULL. */
static uint64_t *copy_words(struct stream_copy *copy, const struct tbed_event *event)
{
    const uint64_t *from = words_of(copy, event);
    uint32_t tag = tbed_event_tag(tbed_word_load(from));
    size_t nwords = nwords_of(from);
    uint64_t *words = tbed_block_out_put(&copy->out, tbed_copy_tick(copy->source, event->tick), tag,
                                         map(copy, tbed_event_id(tbed_word_load(from))), nwords);
    if (words == NULL)
        return NULL;
    memcpy(words + 1, from + 1, (nwords - 1) * sizeof *words);
    if (tag == TBED_TAG_EXTENDED)
        map_extended(copy, words);
    return words;
}

void tbed_event_copy(struct stream_copy *copy, const struct tbed_event *event)
{
    copy_words(copy, event);
}

/* ---- Ends of spans ---- */

void tbed_event_copy_end(struct stream_copy *copy, const struct tbed_event *event, uint64_t begin_tick)
{
    uint64_t tick = tbed_copy_tick(copy->source, event->tick);
    if (!event->extended || (event->argument_count == 0 && !event->of.end.leaves)) {
        tbed_block_out_end_span(&copy->out, tick);
        return;
    }
    uint64_t *words = copy_words(copy, event);
    if (words != NULL)
        store_word(words + 2, begin_tick);
    copy->out.stack.count--;
}

void tbed_event_copy_leave(struct stream_copy *copy, const struct tbed_event *event, size_t at)
{
    struct block_out *out = &copy->out;
    uint64_t *words = copy_words(copy, event);
    struct out_span *place = &out->stack.items[at];
    size_t inside = out->stack.count - 1 - at;
    if (words != NULL) {
        struct tbed_extended_head head = tbed_extended_head_load(tbed_word_load(words + 1));
        head.aux = (uint32_t)inside;
        store_word(words + 1, tbed_extended_head_make(head));
        store_word(words + 2, place->begin_tick);
    }
    memmove(place, place + 1, inside * sizeof *place);
    out->stack.count--;
}

static size_t arguments_nwords(const struct tbed_arguments *arguments, uint32_t count)
{
    struct tbed_arguments at = *arguments;
    struct tbed_argument argument;
    size_t nwords = 0;
    for (uint32_t i = 0; i < count; i++) {
        tbed_argument_next(&at, &argument);
        nwords += 1 + tbed_argument_value_nwords(argument.nbytes);
    }
    return nwords;
}

/* Each with a header, whether or not they were packed. */
static uint64_t *put_arguments(struct stream_copy *copy, uint64_t *to, struct tbed_arguments at,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        uint32_t value_nwords = tbed_argument_value_nwords(argument.nbytes);
        store_word(to, tbed_argument_head_make((struct tbed_argument_head){
                           .type = argument.type, .nbytes = argument.nbytes, .name_id = argument.name_id}));
        memset(to + 1, 0, value_nwords * sizeof *to);
        if (tbed_argument_is_scalar(argument.type))
            store_word(to + 1, argument.value.u64);
        else
            memcpy(to + 1, argument.value.text, argument.nbytes);
        to = map_argument(copy, to);
    }
    return to;
}

/* A BEGIN or SPAN with the arguments of the span and of 'end', which may be NULL. Returns its words, or NULL. */
static uint64_t *put_span(struct stream_copy *copy, const struct tbed_assembled *span,
                          const struct tbed_event *end, enum tbed_extended type, uint64_t tick)
{
    uint32_t own_count = span->argument_count;
    uint32_t end_count = end != NULL && end->type == TBED_EVENT_END ? end->argument_count : 0;
    end_count = own_count + end_count > 255 ? 0 : end_count;
    size_t own = arguments_nwords(&span->arguments, own_count);
    size_t more = arguments_nwords(end_count > 0 ? &end->arguments : &span->arguments, end_count);
    size_t fixed = type == TBED_EXT_SPAN ? 3 : 2;
    if (own + more + fixed > EXTENDED_NWORDS_MAX)
        more = end_count = 0;
    bool fits = own + fixed <= EXTENDED_NWORDS_MAX; /* unpacked, arguments are larger */
    struct tbed_extended_head head = {
        .type = type,
        .argument_count = own_count + end_count,
        .nwords = (uint32_t)(fixed - 1 + own + more),
        .aux = span->category == TBED_ID_INVALID ? 0 : map(copy, span->category),
    };
    uint64_t *words = tbed_block_out_put(&copy->out, tbed_copy_tick(copy->source, tick), TBED_TAG_EXTENDED,
                                         map(copy, span->id), fits ? fixed + own + more : SIZE_MAX / 16);
    if (words == NULL)
        return NULL;
    store_word(words + 1, tbed_extended_head_make(head));
    uint64_t *to = put_arguments(copy, words + fixed, span->arguments, own_count);
    if (end_count > 0)
        put_arguments(copy, to, end->arguments, end_count);
    return words;
}

void tbed_event_copy_begin(struct stream_copy *copy, const struct tbed_assembled *span)
{
    put_span(copy, span, NULL, TBED_EXT_BEGIN, span->begin_tick);
}

void tbed_event_copy_span(struct stream_copy *copy, const struct tbed_assembled *span,
                          const struct tbed_event *end)
{
    uint64_t begin_tick = tbed_copy_tick(copy->source, span->begin_tick);
    uint64_t *words = put_span(copy, span, end, TBED_EXT_SPAN, span->end_tick);
    if (words == NULL)
        return;
    store_word(words + 2, begin_tick);
    tbed_block_out_note_begin(&copy->out, begin_tick);
}

void tbed_event_put_leave(struct stream_copy *copy, uint64_t end_tick)
{
    struct block_out *out = &copy->out;
    struct out_span span = out->stack.items[out->stack.count - 1];
    uint64_t *words = tbed_block_out_put(out, out->latest_tick, TBED_TAG_EXTENDED, span.id, 4);
    out->stack.count--;
    if (words == NULL)
        return;
    store_word(words + 1,
               tbed_extended_head_make((struct tbed_extended_head){.type = TBED_EXT_LEAVE, .nwords = 3}));
    store_word(words + 2, span.begin_tick);
    store_word(words + 3, end_tick);
}
