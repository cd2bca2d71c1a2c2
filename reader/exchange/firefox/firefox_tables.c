/*
 * The tables of the Firefox Profiler: threads with their strings, categories, and counters of live memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/firefox/firefox.h"

#include <stdlib.h>

#define FIXED_KEY (UINT64_C(1) << 40)

/* Milliseconds, exactly. */
void tbed_firefox_put_ms(struct tbed_text *text, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, part = size % 1000000;
    char digits[8] = ".";
    size_t nbytes = 7;
    for (size_t i = 6; i >= 1; i--, part /= 10)
        digits[i] = (char)('0' + part % 10);
    while (nbytes > 1 && digits[nbytes - 1] == '0')
        nbytes--;
    if (ns < 0)
        tbed_text_put(text, "-", 1);
    tbed_text_u64(text, size / 1000000);
    tbed_text_put(text, digits, nbytes > 1 ? nbytes : 0);
}

/* ---- Strings ---- */

static uint32_t add_string(struct firefox *firefox, struct firefox_text *slot, const char *text,
                           size_t nbytes)
{
    struct tbed_text *strings = &firefox->strings.text;
    if (firefox->string_count > 0)
        tbed_text_put(strings, ",", 1);
    tbed_json_quote(strings, text, nbytes);
    slot->index = firefox->string_count++;
    firefox->is_out_of_memory |= strings->is_out_of_memory;
    if (!tbed_spool_spill(&firefox->strings) && firefox->strings.write_errno != 0)
        firefox->write_errno = firefox->strings.write_errno;
    return slot->index;
}

static struct firefox_text *find_string(struct firefox *firefox, uint64_t key, bool *is_new_ret)
{
    size_t known = firefox->names.map.count;
    struct firefox_text *slot = TBED_HASHMAP_ADD(&firefox->names, key);
    firefox->is_out_of_memory |= slot == NULL;
    *is_new_ret = firefox->names.map.count > known;
    return slot;
}

uint32_t tbed_firefox_name(struct firefox *firefox, uint32_t id)
{
    bool is_new;
    struct firefox_text *slot = find_string(firefox, tbed_hashmap_key32(id), &is_new);
    if (slot == NULL || !is_new)
        return slot != NULL ? slot->index : 0;
    const struct export_name *name = tbed_export_name_of(&firefox->walk, id);
    return add_string(firefox, slot, name->label.bytes, name->label.nbytes);
}

uint32_t tbed_firefox_fixed_name(struct firefox *firefox, const char *name)
{
    bool is_new;
    struct firefox_text *slot = find_string(firefox, FIXED_KEY | (uint8_t)name[0], &is_new);
    if (slot == NULL || !is_new)
        return slot != NULL ? slot->index : 0;
    return add_string(firefox, slot, name, strlen(name));
}

static uint64_t hash_of(const char *text, size_t nbytes)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001B3);
    return hash != 0 ? hash : 1;
}

/* The categories of all traces are in one list. 0 is the profiler's own "Other". */
uint32_t tbed_firefox_category(struct firefox *firefox, uint32_t id)
{
    static const char *const colors[] = {"blue",   "green", "orange",    "purple",
                                         "yellow", "red",   "lightblue", "brown"};
    if (id == TBED_ID_INVALID)
        return 0;
    size_t known = firefox->categories.map.count;
    struct firefox_text *slot = TBED_HASHMAP_ADD(&firefox->categories, tbed_hashmap_key32(id));
    if (slot == NULL || firefox->categories.map.count == known) {
        firefox->is_out_of_memory |= slot == NULL;
        return slot != NULL ? slot->index : 0;
    }
    const struct export_name *name = tbed_export_name_of(&firefox->walk, id);
    known = firefox->category_hashes.map.count;
    struct firefox_text *by_text =
        TBED_HASHMAP_ADD(&firefox->category_hashes, hash_of(name->label.bytes, name->label.nbytes));
    firefox->is_out_of_memory |= by_text == NULL;
    if (by_text == NULL)
        return 0;
    if (firefox->category_hashes.map.count > known) {
        struct tbed_text *texts = &firefox->category_texts;
        by_text->index = ++firefox->category_count;
        tbed_text_puts(texts, ",{\"name\":");
        tbed_json_quote(texts, name->label.bytes, name->label.nbytes);
        tbed_text_puts(texts, ",\"color\":\"");
        tbed_text_puts(texts, colors[by_text->index % (sizeof colors / sizeof colors[0])]);
        tbed_text_puts(texts, "\",\"subcategories\":[\"Other\"]}");
        firefox->is_out_of_memory |= texts->is_out_of_memory;
    }
    slot->index = by_text->index;
    return slot->index;
}

/* ---- Threads ---- */

static size_t main_of(const struct firefox *firefox, uint64_t pid)
{
    const struct firefox_text *slot = TBED_HASHMAP_FIND(&firefox->mains, pid + 1);
    return slot != NULL ? slot->index : 0;
}

/* Whether it is the first thread of its process. */
static bool keep_main(struct firefox *firefox, uint64_t pid)
{
    size_t known = firefox->mains.map.count;
    struct firefox_text *slot = TBED_HASHMAP_ADD(&firefox->mains, pid + 1);
    firefox->is_out_of_memory |= slot == NULL;
    if (slot == NULL || firefox->mains.map.count == known)
        return false;
    slot->index = (uint32_t)firefox->thread_count;
    return true;
}

static const char *process_name(struct firefox *firefox, size_t *nbytes_ret)
{
    size_t process = firefox->walk.thread->process;
    if (process != SIZE_MAX)
        return tbed_export_process_name(&firefox->walk, process, nbytes_ret);
    *nbytes_ret = strlen("no process");
    return "no process";
}

void tbed_firefox_open_thread(void *context)
{
    static const char no_name[] = "thread";
    struct firefox *firefox = context;
    const struct export_thread *thread = firefox->walk.thread;
    struct tbed_text *text = &firefox->out->text;
    size_t nbytes = sizeof no_name - 1;
    bool is_main = keep_main(firefox, thread->pid);
    tbed_text_puts(text, firefox->thread_count++ > 0 ? ",\n{\"name\":" : "\n{\"name\":");
    const char *name = thread->name_id != TBED_ID_INVALID
                           ? tbed_export_text_of(&firefox->walk, thread->name_id, &nbytes)
                           : no_name;
    tbed_json_quote(text, name, nbytes);
    tbed_text_puts(text, ",\"processName\":");
    name = process_name(firefox, &nbytes);
    tbed_json_quote(text, name, nbytes);
    tbed_text_puts(text, ",\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
                         "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":");
    tbed_text_puts(text, is_main ? "true,\"pid\":\"" : "false,\"pid\":\"");
    tbed_text_u64(text, thread->pid);
    tbed_text_puts(text, "\",\"tid\":");
    tbed_text_u64(text, thread->tid);
    TBED_HASHMAP_CLEAR(&firefox->names);
    firefox->string_count = 0;
    firefox->marker_count = 0;
}

/* Without samples, the tables that describe them are empty. */
static const char empty_tables[] =
    "],\"length\":2},\"stackTable\":{\"frame\":[],\"prefix\":[],\"category\":[],\"subcategory\":[],"
    "\"length\":0},"
    "\"frameTable\":{\"address\":[],\"inlineDepth\":[],\"category\":[],\"subcategory\":[],\"func\":[],"
    "\"nativeSymbol\":[],\"innerWindowID\":[],\"line\":[],\"column\":[],\"length\":0},"
    "\"funcTable\":{\"name\":[],\"isJS\":[],\"relevantForJS\":[],\"resource\":[],\"fileName\":[],"
    "\"lineNumber\":[],\"columnNumber\":[],\"length\":0},"
    "\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},"
    "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}";

static void move(struct firefox *firefox, struct spool *spool, const char *before)
{
    tbed_text_puts(&firefox->out->text, before);
    if (tbed_spool_move(spool, firefox->out))
        return;
    firefox->write_errno = spool->write_errno;
    firefox->walk.is_over = true;
    firefox->is_out_of_memory |= spool->text.is_out_of_memory;
}

/* Two that have no stack, because the profiler takes the range of time from samples and markers: not from counters. */
static void put_samples(struct firefox *firefox)
{
    struct tbed_text *text = &firefox->out->text;
    struct tbed_trace_info info;
    int64_t ns;
    tbed_reader_info(firefox->walk.reader, &info);
    if (__builtin_add_overflow(tbed_ticks_to_ns(firefox->walk.reader, info.last_tick), firefox->walk.shift_ns,
                               &ns) ||
        ns < 0)
        ns = 0;
    tbed_text_puts(
        text, ",\"samples\":{\"weightType\":\"samples\",\"weight\":null,\"stack\":[null,null],\"time\":[0,");
    tbed_firefox_put_ms(text, ns);
}

void tbed_firefox_close_thread(void *context)
{
    struct firefox *firefox = context;
    struct tbed_text *text = &firefox->out->text;
    put_samples(firefox);
    tbed_text_puts(text, empty_tables);
    move(firefox, &firefox->columns[FIREFOX_DATA], ",\"markers\":{\"data\":[");
    move(firefox, &firefox->columns[FIREFOX_NAME], "],\"name\":[");
    move(firefox, &firefox->columns[FIREFOX_START], "],\"startTime\":[");
    move(firefox, &firefox->columns[FIREFOX_END], "],\"endTime\":[");
    move(firefox, &firefox->columns[FIREFOX_PHASE], "],\"phase\":[");
    move(firefox, &firefox->columns[FIREFOX_CATEGORY], "],\"category\":[");
    tbed_text_puts(text, "],\"length\":");
    tbed_text_u64(text, firefox->marker_count);
    move(firefox, &firefox->strings, "},\"stringArray\":[");
    tbed_text_puts(text, "]}");
}

/* ---- Live memory ---- */

static void append(struct firefox *firefox, struct spool *spool, const char *before)
{
    tbed_text_puts(&firefox->counters.text, before);
    if (tbed_spool_append(spool, &firefox->counters))
        return;
    firefox->write_errno = spool->write_errno != 0 ? spool->write_errno : firefox->counters.write_errno;
    firefox->is_out_of_memory |= spool->text.is_out_of_memory || firefox->counters.text.is_out_of_memory;
    firefox->walk.is_over = true;
}

void tbed_firefox_end_counter(struct firefox *firefox)
{
    struct firefox_counter *counter = &firefox->counter;
    struct tbed_text *text = &firefox->counters.text;
    if (counter->count == 0)
        return;
    tbed_text_puts(text, firefox->counter_count++ > 0 ? ",\n" : "");
    tbed_text_puts(text,
                   "{\"name\":\"live memory\",\"category\":\"Memory\",\"description\":\"Allocated and not "
                   "freed\",\"pid\":\"");
    tbed_text_u64(text, counter->pid);
    tbed_text_puts(text, "\",\"mainThreadIndex\":");
    tbed_text_u64(text, main_of(firefox, counter->pid));
    tbed_text_puts(text, ",\"samples\":{\"length\":");
    tbed_text_u64(text, counter->count);
    append(firefox, &counter->times, ",\"time\":[");
    append(firefox, &counter->counts, "],\"count\":[");
    tbed_text_puts(text, "]}}");
    counter->count = counter->last_nbytes = 0;
}

/* The format has changes, not sums. */
void tbed_firefox_put_live(void *context, uint64_t pid, int64_t ns, uint64_t nbytes)
{
    struct firefox *firefox = context;
    struct firefox_counter *counter = &firefox->counter;
    if (counter->pid != pid)
        tbed_firefox_end_counter(firefox);
    counter->pid = pid;
    if (counter->count++ > 0) {
        tbed_text_put(&counter->times.text, ",", 1);
        tbed_text_put(&counter->counts.text, ",", 1);
    }
    tbed_firefox_put_ms(&counter->times.text, ns);
    tbed_text_i64(&counter->counts.text, (int64_t)(nbytes - counter->last_nbytes));
    counter->last_nbytes = nbytes;
    firefox->walk.job->result->written_count++;
    if (tbed_spool_spill(&counter->times) && tbed_spool_spill(&counter->counts))
        return;
    firefox->write_errno =
        counter->times.write_errno != 0 ? counter->times.write_errno : counter->counts.write_errno;
    firefox->is_out_of_memory |=
        counter->times.text.is_out_of_memory || counter->counts.text.is_out_of_memory;
    firefox->walk.is_over = true;
}
