/*
 * Sums by function and by call, and the text of callgrind's format (valgrind's manual, "Callgrind Format Specification").
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/inert.h"
#include "reader/exchange/callgrind/callgrind.h"

/* ---- Sums ---- */

bool tbed_callgrind_own(struct callgrind_sums *sums, uint32_t frame, const struct callgrind_costs *costs)
{
    while (sums->own.count <= frame)
        if (TBED_VECTOR_PUSH(&sums->own) == NULL)
            return false;
    tbed_callgrind_add(&sums->own.items[frame], costs);
    tbed_callgrind_add(&sums->total, costs);
    return true;
}

bool tbed_callgrind_call(struct callgrind_sums *sums, uint32_t caller, uint32_t callee, uint64_t count,
                         const struct callgrind_costs *inclusive)
{
    struct frame function = sums->frames.frames.items[callee];
    function.line = 0;
    uint32_t number = tbed_frame_table_put(&sums->frames, &function);
    uint64_t key = ((uint64_t)caller + 1) << 32 | number;
    struct callgrind_arc *arc = number != FRAME_NONE ? TBED_HASHMAP_ADD(&sums->arcs, key) : NULL;
    if (arc == NULL)
        return false;
    if (__builtin_add_overflow(arc->count, count, &arc->count))
        arc->count = UINT64_MAX;
    tbed_callgrind_add(&arc->inclusive, inclusive);
    return true;
}

void tbed_callgrind_free(struct callgrind_sums *sums)
{
    tbed_frame_table_free(&sums->frames);
    tbed_vector_free(&sums->own.vector);
    tbed_hashmap_free(&sums->arcs.map);
}

/* ---- Text ---- */

struct callgrind_writer {
    struct callgrind_sums *sums;
    struct export_out *out;
    unsigned event_count;
    TBED_VECTOR(uint8_t)
    written; /* by text: a bit for each kind of name that has been written with its number */
    struct callgrind_arc *arcs; /* by caller */
    size_t arc_count;
    uint32_t file;   /* the current one */
    uint32_t caller; /* the frame that is being written; FRAME_NONE: none */
};

enum { WRITTEN_AS_FILE = 1, WRITTEN_AS_FUNCTION = 2 };

/* A name in one line, whose ends a parser would trim otherwise. */
static void put_name(struct tbed_text *text, const char *name, size_t nbytes)
{
    size_t end = nbytes > 1 && name[nbytes - 1] == ' ' ? nbytes - 1 : nbytes, start = 0;
    if (nbytes > 0 && name[0] == ' ') {
        tbed_text_puts(text, "\\x20");
        start = 1;
    }
    tbed_text_put_inert(text, name + start, end - start, "");
    if (end < nbytes)
        tbed_text_puts(text, "\\x20");
}

/* "fn=(3) name" or, if it has been written before, "fn=(3)". */
static void put_numbered(struct callgrind_writer *writer, const char *key, uint32_t number, uint8_t as)
{
    struct tbed_text *text = &writer->out->text;
    size_t nbytes;
    tbed_text_puts(text, key);
    tbed_text_puts(text, "(");
    tbed_text_u64(text, (uint64_t)number + 1);
    tbed_text_puts(text, ")");
    if ((writer->written.items[number] & as) == 0) {
        const char *name = tbed_text_table_get(&writer->sums->frames.texts, number, &nbytes);
        tbed_text_puts(text, " ");
        put_name(text, nbytes > 0 ? name : "???", nbytes > 0 ? nbytes : 3);
        writer->written.items[number] |= as;
    }
    tbed_text_puts(text, "\n");
}

static void put_costs(struct callgrind_writer *writer, const struct callgrind_costs *costs)
{
    for (unsigned i = 0; i < writer->event_count; i++) {
        tbed_text_puts(&writer->out->text, " ");
        tbed_text_u64(&writer->out->text, costs->values[i]);
    }
    tbed_text_puts(&writer->out->text, "\n");
}

static void put_function(struct callgrind_writer *writer, uint32_t number)
{
    const struct frame *frame = &writer->sums->frames.frames.items[number];
    if (writer->caller == number)
        return;
    tbed_text_puts(&writer->out->text, "\n");
    put_numbered(writer, "fl=", frame->file, WRITTEN_AS_FILE);
    put_numbered(writer, "fn=", frame->name, WRITTEN_AS_FUNCTION);
    writer->caller = number;
}

static void put_own(struct callgrind_writer *writer, uint32_t number, const struct callgrind_costs *costs)
{
    bool is_used = false;
    for (unsigned i = 0; i < CALLGRIND_EVENTS; i++)
        is_used |= costs->values[i] != 0;
    if (!is_used)
        return;
    put_function(writer, number);
    tbed_text_u64(&writer->out->text, writer->sums->frames.frames.items[number].line);
    put_costs(writer, costs);
}

static void put_arc(struct callgrind_writer *writer, const struct callgrind_arc *arc)
{
    const struct frame *frames = writer->sums->frames.frames.items;
    uint32_t number = (uint32_t)(arc->key >> 32) - 1;
    const struct frame *caller = &frames[number], *callee = &frames[(uint32_t)arc->key];
    put_function(writer, number);
    if (callee->file != caller->file)
        put_numbered(writer, "cfi=", callee->file, WRITTEN_AS_FILE);
    put_numbered(writer, "cfn=", callee->name, WRITTEN_AS_FUNCTION);
    tbed_text_puts(&writer->out->text, "calls=");
    tbed_text_u64(&writer->out->text, arc->count);
    tbed_text_puts(&writer->out->text, " 0\n");
    tbed_text_u64(&writer->out->text, caller->line);
    put_costs(writer, &arc->inclusive);
}

static int compare_arcs(const void *left, const void *right)
{
    const struct callgrind_arc *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

/* The map is not one any more: its slots become a sorted array. */
static void sort_arcs(struct callgrind_writer *writer)
{
    writer->arcs = writer->sums->arcs.slots;
    size_t count = 0;
    for (const struct callgrind_arc *arc = NULL; (arc = TBED_HASHMAP_NEXT(&writer->sums->arcs, arc)) != NULL;)
        writer->arcs[count++] = *arc;
    writer->arc_count = count;
    if (count > 1)
        qsort(writer->arcs, count, sizeof *writer->arcs, compare_arcs);
}

static void put_head(struct callgrind_writer *writer, const char *const *events)
{
    struct tbed_text *text = &writer->out->text;
    tbed_text_puts(text, "# callgrind format\nversion: 1\ncreator: tracebed\npositions: line\nevents:");
    for (unsigned i = 0; i < writer->event_count; i++) {
        tbed_text_puts(text, " ");
        tbed_text_puts(text, events[i]);
    }
    tbed_text_puts(text, "\nsummary:");
    put_costs(writer, &writer->sums->total);
}

static bool put_frames(struct callgrind_writer *writer)
{
    bool fine = true;
    size_t at = 0;
    for (uint32_t i = 0; fine && i < writer->sums->frames.frames.count; i++) {
        if (i < writer->sums->own.count)
            put_own(writer, i, &writer->sums->own.items[i]);
        for (; fine && at < writer->arc_count && (uint32_t)(writer->arcs[at].key >> 32) - 1 == i; at++) {
            put_arc(writer, &writer->arcs[at]);
            fine = tbed_export_out_spill(writer->out);
        }
        fine = fine && tbed_export_out_spill(writer->out);
    }
    return fine;
}

bool tbed_callgrind_write(struct callgrind_sums *sums, const char *const *events, unsigned event_count,
                          struct export_out *out, uint64_t *function_count_ret)
{
    struct callgrind_writer writer = {
        .sums = sums, .out = out, .event_count = event_count, .caller = FRAME_NONE};
    size_t text_count = sums->frames.texts.ends.count;
    if (text_count > 0) {
        uint8_t *written = TBED_VECTOR_EXTEND(&writer.written, text_count);
        if (written == NULL)
            return false;
        memset(written, 0, text_count);
    }
    sort_arcs(&writer);
    put_head(&writer, events);
    bool fine = put_frames(&writer);
    tbed_text_puts(&out->text, "\ntotals:");
    put_costs(&writer, &sums->total);
    *function_count_ret = 0;
    for (size_t i = 0; i < text_count; i++)
        *function_count_ret += (writer.written.items[i] & WRITTEN_AS_FUNCTION) != 0;
    tbed_vector_free(&writer.written.vector);
    return fine;
}
