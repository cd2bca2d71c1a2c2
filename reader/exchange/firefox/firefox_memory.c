/*
 * Memory by call stack as a profile of the Firefox Profiler: a thread for each weight, whose samples are the stacks with
 * their bytes or allocations. Vernier's profiles of memory have this form. There are no times: samples are one millisecond
 * apart, in the order of the sites.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/firefox/firefox.h"
#include "reader/exchange/stacks/stack_sums.h"

static const char *const weights[] = {"allocated", "live at the peak", "never freed", "allocations"};
#define WEIGHT_COUNT (sizeof weights / sizeof weights[0])
#define OF_COUNT     3u

struct stack_row { /* numbers plus 1; 0: none */
    uint32_t frame, prefix;
};

struct stack_slot {
    uint64_t key; /* the frame, and the prefix plus 1 in the high half */
    uint32_t number;
};

struct memory {
    struct firefox *firefox;
    struct stack_sums sums;
    struct frame_table frames;
    TBED_VECTOR(struct stack_row) rows; /* of all threads of a trace */
    TBED_HASHMAP(struct stack_slot) slots;
    TBED_VECTOR(uint32_t) stacks; /* of each site, as a number plus 1 */
};

static bool is_over(const struct memory *memory)
{
    return memory->firefox->is_out_of_memory || !tbed_export_out_spill(memory->firefox->out);
}

/* ---- Stacks ---- */

/* The number plus 1 of a stack; 0: no memory. */
static uint32_t stack_of(struct memory *memory, uint32_t frame, uint32_t prefix)
{
    struct stack_slot *slot = TBED_HASHMAP_ADD(&memory->slots, (uint64_t)(prefix + 1) << 32 | frame);
    if (slot == NULL || slot->number != 0)
        return slot != NULL ? slot->number : 0;
    struct stack_row *row = TBED_VECTOR_PUSH(&memory->rows);
    if (row == NULL)
        return 0;
    *row = (struct stack_row){frame + 1, prefix};
    return slot->number = (uint32_t)memory->rows.count;
}

static void add_site(struct memory *memory, const struct tbed_allocation_site *site, frame_list *list)
{
    bool fine = tbed_stack_sums_frames(&memory->frames, site, list);
    uint32_t stack = 0;
    for (size_t i = list->count; fine && i-- > 0;)
        fine = (stack = stack_of(memory, list->items[i], stack)) != 0;
    uint32_t *place = fine ? TBED_VECTOR_PUSH(&memory->stacks) : NULL;
    memory->firefox->is_out_of_memory |= place == NULL;
    if (place != NULL)
        *place = stack;
}

static void add_sites(struct memory *memory)
{
    const struct tbed_allocation_site *site;
    frame_list list = {0};
    memory->rows.count = memory->stacks.count = 0;
    TBED_HASHMAP_CLEAR(&memory->slots);
    for (size_t i = 0; !is_over(memory) && (site = tbed_allocations_site(memory->sums.sites, i)) != NULL; i++)
        add_site(memory, site, &list);
    tbed_vector_free(&list.vector);
}

/* ---- Text ---- */

enum column { TIMES, STACKS, WEIGHTS };

static uint64_t weigh(const struct tbed_allocation_sums *sums, size_t weight)
{
    const uint64_t values[WEIGHT_COUNT] = {sums->nbytes, sums->peak_nbytes, sums->live_nbytes, sums->count};
    return values[weight];
}

/* Sites without any of this weight are left out. Returns how many there are. */
static uint64_t put_column(struct memory *memory, enum column column, size_t weight, const char *before)
{
    struct tbed_text *text = &memory->firefox->out->text;
    uint64_t count = 0;
    tbed_text_puts(text, before);
    for (size_t i = 0; i < memory->stacks.count && !is_over(memory); i++) {
        uint64_t value = weigh(&tbed_allocations_site(memory->sums.sites, i)->sums, weight);
        if (value == 0)
            continue;
        tbed_text_puts(text, count > 0 ? "," : "");
        tbed_text_u64(text, column == TIMES ? count : column == STACKS ? memory->stacks.items[i] - 1 : value);
        count++;
    }
    return count;
}

enum part {
    STACK_FRAME,
    STACK_PREFIX,
    FRAME_FUNC,
    FRAME_LINE,
    FUNC_NAME,
    FUNC_FILE,
    ZERO,
    MINUS_ONE,
    NONE,
    NO
};

static void put_item(const struct memory *memory, struct tbed_text *text, enum part part, size_t i)
{
    const struct stack_row *row = part <= STACK_PREFIX ? &memory->rows.items[i] : NULL;
    const struct frame *frame =
        part >= FRAME_FUNC && part <= FUNC_FILE ? &memory->frames.frames.items[i] : NULL;
    if (part == NO)
        tbed_text_puts(text, "false");
    else if (part == MINUS_ONE)
        tbed_text_puts(text, "-1");
    else if (part == NONE || (part == STACK_PREFIX && row->prefix == 0) ||
             (part == FRAME_LINE && frame->line == 0))
        tbed_text_puts(text, "null");
    else
        tbed_text_u64(text, part == STACK_FRAME    ? row->frame - 1
                            : part == STACK_PREFIX ? row->prefix - 1
                            : part == FRAME_FUNC   ? i
                            : part == FRAME_LINE   ? frame->line
                            : part == FUNC_NAME    ? frame->name
                            : part == FUNC_FILE    ? frame->file
                                                   : 0);
}

static void put_part(struct memory *memory, const char *before, enum part part, size_t count)
{
    struct tbed_text *text = &memory->firefox->out->text;
    tbed_text_puts(text, before);
    for (size_t i = 0; i < count && !is_over(memory); i++) {
        tbed_text_puts(text, i > 0 ? "," : "");
        put_item(memory, text, part, i);
    }
}

static void put_tables(struct memory *memory)
{
    struct tbed_text *text = &memory->firefox->out->text;
    size_t stack_count = memory->rows.count, frame_count = memory->frames.frames.count, nbytes;
    put_part(memory, ",\"stackTable\":{\"frame\":[", STACK_FRAME, stack_count);
    put_part(memory, "],\"prefix\":[", STACK_PREFIX, stack_count);
    put_part(memory, "],\"category\":[", ZERO, stack_count);
    put_part(memory, "],\"subcategory\":[", ZERO, stack_count);
    tbed_text_puts(text, "],\"length\":");
    tbed_text_u64(text, stack_count);
    put_part(memory, "},\"frameTable\":{\"address\":[", MINUS_ONE, frame_count);
    put_part(memory, "],\"inlineDepth\":[", ZERO, frame_count);
    put_part(memory, "],\"category\":[", NONE, frame_count);
    put_part(memory, "],\"subcategory\":[", NONE, frame_count);
    put_part(memory, "],\"func\":[", FRAME_FUNC, frame_count);
    put_part(memory, "],\"nativeSymbol\":[", NONE, frame_count);
    put_part(memory, "],\"innerWindowID\":[", NONE, frame_count);
    put_part(memory, "],\"line\":[", FRAME_LINE, frame_count);
    put_part(memory, "],\"column\":[", NONE, frame_count);
    tbed_text_puts(text, "],\"length\":");
    tbed_text_u64(text, frame_count);
    put_part(memory, "},\"funcTable\":{\"name\":[", FUNC_NAME, frame_count);
    put_part(memory, "],\"isJS\":[", NO, frame_count);
    put_part(memory, "],\"relevantForJS\":[", NO, frame_count);
    put_part(memory, "],\"resource\":[", MINUS_ONE, frame_count);
    put_part(memory, "],\"fileName\":[", FUNC_FILE, frame_count);
    put_part(memory, "],\"lineNumber\":[", FRAME_LINE, frame_count);
    put_part(memory, "],\"columnNumber\":[", NONE, frame_count);
    tbed_text_puts(text, "],\"length\":");
    tbed_text_u64(text, frame_count);
    tbed_text_puts(text, "},\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},"
                         "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
                         "\"length\":0},\"stringArray\":[");
    for (uint32_t i = 0; i < memory->frames.texts.ends.count && !is_over(memory); i++) {
        const char *string = tbed_text_table_get(&memory->frames.texts, i, &nbytes);
        tbed_text_puts(text, i > 0 ? "," : "");
        tbed_json_quote(text, string, nbytes);
    }
    tbed_text_puts(text, "]");
}

static void put_thread(struct memory *memory, size_t index, size_t weight)
{
    struct firefox *firefox = memory->firefox;
    struct tbed_text *text = &firefox->out->text;
    bool is_main = weight == 0;
    tbed_text_puts(text, firefox->thread_count++ > 0 ? ",\n{\"name\":\"" : "\n{\"name\":\"");
    tbed_text_puts(text, weights[weight]);
    tbed_text_puts(text, "\",\"processName\":\"memory\",\"processType\":\"default\",\"processStartupTime\":0,"
                         "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
                         "\"pausedRanges\":[],\"isMainThread\":");
    tbed_text_puts(text, is_main ? "true,\"pid\":\"" : "false,\"pid\":\"");
    tbed_text_u64(text, index + 1);
    tbed_text_puts(text, "\",\"tid\":");
    tbed_text_u64(text, weight);
    tbed_text_puts(text, ",\"samples\":{\"weightType\":\"");
    tbed_text_puts(text, weight == OF_COUNT ? "samples" : "bytes");
    put_column(memory, WEIGHTS, weight, "\",\"weight\":[");
    put_column(memory, STACKS, weight, "],\"stack\":[");
    uint64_t count = put_column(memory, TIMES, weight, "],\"time\":[");
    tbed_text_puts(text, "],\"length\":");
    tbed_text_u64(text, count);
    tbed_text_puts(text,
                   "},\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
                   "\"category\":[],\"length\":0}");
    put_tables(memory);
    tbed_text_puts(text, "}");
    firefox->walk.job->result->written_count += count;
}

enum tbed_status tbed_firefox_put_memory(struct firefox *firefox)
{
    const struct export_job *job = firefox->walk.job;
    struct memory memory = {.firefox = firefox};
    enum tbed_status status = tbed_stack_sums_open(&memory.sums, job);
    for (size_t i = 0; status == TBED_OK && i < job->reader_count && !is_over(&memory); i++) {
        status = tbed_stack_sums_sites(&memory.sums, i);
        if (status != TBED_OK)
            break;
        tbed_frame_table_turn(&memory.frames, memory.sums.reader);
        add_sites(&memory);
        for (size_t weight = 0; weight < WEIGHT_COUNT && !is_over(&memory); weight++)
            put_thread(&memory, i, weight);
    }
    job->result->notes[TBED_EXPORT_NOTE_REPLACED] = memory.frames.texts.replaced_count;
    tbed_stack_sums_close(&memory.sums);
    tbed_frame_table_free(&memory.frames);
    tbed_vector_free(&memory.rows.vector);
    tbed_vector_free(&memory.stacks.vector);
    tbed_hashmap_free(&memory.slots.map);
    return status;
}
