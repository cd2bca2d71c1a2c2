/*
 * Frees, without a hook that Ruby calls for each object: a bit for each slot of its heap that holds an object whose
 * allocation was recorded. When the garbage collector has marked all that is alive, a slot with our bit and no mark is
 * dead; the dead of a page are one event. Objects from before the recording have no bit.
 *
 * Sizes are recorded where they have changed. An object is measured when the next one is allocated, when it dies, in
 * the first collection after its allocation, in major ones, and when the recording ends: what an old object gains in
 * between is recorded late. Ruby starts a major collection when much memory is gained by old objects.
 *
 * An object counts as freed when it is found dead. Its slot is reused only after that.
 *
 * Not here: Rubies whose marks are unknown; they call a hook (ruby_hooks.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

#include <stdlib.h>
#include <string.h>

static struct ruby_page no_page = {.address = 1};
struct ruby_page *ruby_page = &no_page;
struct ruby_newest ruby_newest;

static struct ruby_page **pages; /* every page that ever had a bit; none is removed */
static size_t page_count, page_capacity;
static struct ruby_table page_numbers; /* address -> index + 1 */
static size_t seen_count;              /* the number of the last garbage collection whose marks were read */

#define ALWAYS                                                                                               \
    {                                                                                                        \
        .mask = 0, .plain = 1                                                                                \
    }
const struct ruby_plain_flags ruby_plain_flags[] = {
    [RUBY_T_STRING] = {.mask = RSTRING_NOEMBED | RUBY_FL_EXIVAR, .plain = 0},
    [RUBY_T_ARRAY] = {.mask = RARRAY_EMBED_FLAG | RUBY_FL_EXIVAR, .plain = RARRAY_EMBED_FLAG},
    [RUBY_T_OBJECT] = {.mask = ROBJECT_EMBED, .plain = ROBJECT_EMBED},
    [RUBY_T_CLASS] = ALWAYS,
    [RUBY_T_MODULE] = ALWAYS,
    [RUBY_T_REGEXP] = ALWAYS,
    [RUBY_T_HASH] = ALWAYS,
    [RUBY_T_STRUCT] = ALWAYS,
    [RUBY_T_BIGNUM] = ALWAYS,
    [RUBY_T_FILE] = ALWAYS,
    [RUBY_T_DATA] = ALWAYS,
    [RUBY_T_MATCH] = ALWAYS,
    [RUBY_T_COMPLEX] = ALWAYS,
    [RUBY_T_RATIONAL] = ALWAYS,
    [RUBY_T_SYMBOL] = ALWAYS,
    [RUBY_T_MASK] = {0}, /* and the others: nothing outside of the slot, or it is counted elsewhere */
};

/* ---- Pages ---- */

static bool pages_grow(void)
{
    size_t capacity = page_capacity > 0 ? 2 * page_capacity : 256;
    struct ruby_page **more = realloc(pages, capacity * sizeof *more);
    if (more == NULL)
        return false;
    pages = more;
    page_capacity = capacity;
    return true;
}

static bool is_marking(void)
{
    return rb_gc_latest_gc_info(ID2SYM(rb_intern("state"))) == ID2SYM(rb_intern("marking"));
}

void ruby_heap_begin(void)
{
    seen_count = rb_gc_count() - is_marking();
}

static struct ruby_page *page_new(uintptr_t address)
{
    if (page_count == page_capacity && !pages_grow())
        return NULL;
    struct ruby_page *page = calloc(1, sizeof *page);
    if (page == NULL ||
        !ruby_table_add(&page_numbers, (struct ruby_entry){.key = address, .value = page_count + 1})) {
        free(page);
        return NULL;
    }
    page->address = address;
    return pages[page_count++] = page;
}

bool ruby_page_find(uintptr_t address)
{
    struct ruby_entry *entry = ruby_table_find(&page_numbers, address, 0);
    struct ruby_page *page = entry != NULL ? pages[entry->value - 1] : page_new(address);
    ruby_page = page != NULL ? page : &no_page;
    return page != NULL;
}

void ruby_heap_clear(void)
{
    ruby_table_clear(&page_numbers);
    for (size_t i = 0; i < page_count; i++)
        free(pages[i]);
    free(pages);
    pages = NULL;
    page_count = page_capacity = 0;
    ruby_page = &no_page;
    ruby_newest.object = 0;
}

/* ---- Marks ---- */

/*
 * Objects lie at multiples of a slot's size, which pages do not; Ruby counts slots from the page's start all the same.
 */
static uintptr_t first_slot(uintptr_t page_address)
{
    return (page_address + RUBY_LAYOUT_SLOT_NBYTES - 1) / RUBY_LAYOUT_SLOT_NBYTES * RUBY_LAYOUT_SLOT_NBYTES;
}

static const void *marks_of(uintptr_t page_address)
{
    const void *page = ruby_pointer((const void *)page_address, RUBY_LAYOUT_HEAP_PAGE);
    return (const char *)page + RUBY_LAYOUT_MARKS;
}

/*
 * Ruby calls no hook for a collection that begins inside another tracer's hook. What died in it is unknown, and its
 * pages may be gone, so all bits are given up.
 */
static bool has_missed_none(struct tbed_recorder *recorder, size_t expected_count)
{
    static const char text[] =
        "a garbage collection was not seen: frees of what was allocated before are not told";
    bool is_expected = rb_gc_count() <= expected_count;
    seen_count = rb_gc_count();
    if (is_expected || page_count == 0)
        return is_expected;
    ruby_heap_clear();
    tbed_message_record(recorder, TBED_SEVERITY_WARNING, text, sizeof text - 1);
    return false;
}

/* A page without a bit of ours may be gone; one with a bit holds an object that was alive until now. */
static bool has_any(const struct ruby_page *page)
{
    uint64_t any = 0;
    for (size_t i = 0; i < RUBY_LAYOUT_MARKS_NWORDS; i++)
        any |= page->ours[i] | page->fresh[i];
    return any != 0;
}

/* ---- Sizes ---- */

/* 0: the object in this slot has the size that was recorded last. */
static uint64_t new_size(struct ruby_page *page, size_t slot, VALUE object)
{
    uint64_t nbytes = ruby_size(object), bit = (uint64_t)1 << slot % 64, *sized = &page->sized[slot / 64];
    uint32_t size = nbytes < UINT32_MAX ? (uint32_t)nbytes : UINT32_MAX;
    uint32_t known = (*sized & bit) != 0 ? page->sizes[slot] : RUBY_LAYOUT_SLOT_NBYTES;
    if (size == known && size != UINT32_MAX)
        return 0;
    *sized |= bit;
    page->sizes[slot] = size;
    return nbytes;
}

static void measure(struct tbed_recorder *recorder, struct ruby_page *page, size_t slot, VALUE object)
{
    uint64_t nbytes = new_size(page, slot, object);
    if (nbytes != 0)
        tbed_resize_record(recorder, TBED_ID_INVALID, object, nbytes);
}

/* Objects that a collection has not marked are mostly not in the processor's caches. */
static void fetch_slots(const struct ruby_page *page, size_t word, uint64_t slots)
{
    uintptr_t first = first_slot(page->address) + 64 * word * RUBY_LAYOUT_SLOT_NBYTES;
    for (; slots != 0; slots &= slots - 1)
        __builtin_prefetch((const void *)(first + (size_t)__builtin_ctzll(slots) * RUBY_LAYOUT_SLOT_NBYTES));
}

static void measure_slots(struct tbed_recorder *recorder, struct ruby_page *page, size_t word, uint64_t slots)
{
    uintptr_t first = first_slot(page->address) + 64 * word * RUBY_LAYOUT_SLOT_NBYTES;
    for (; slots != 0; slots &= slots - 1) {
        size_t slot = (size_t)__builtin_ctzll(slots);
        VALUE object = first + slot * RUBY_LAYOUT_SLOT_NBYTES;
        if (ruby_owns_memory(object) || (page->sized[word] >> slot & 1) != 0)
            measure(recorder, page, 64 * word + slot, object);
    }
}

void ruby_newest_measure(struct tbed_recorder *recorder)
{
    VALUE object = ruby_newest.object;
    uintptr_t address = object & ~(uintptr_t)(RUBY_LAYOUT_HEAP_PAGE_NBYTES - 1);
    if (!ruby_is_complete(object) || (ruby_page->address != address && !ruby_page_find(address)))
        return;
    uint64_t nbytes = new_size(ruby_page, (object - address) / RUBY_LAYOUT_SLOT_NBYTES, object);
    if (nbytes != 0 && !tbed_last_alloc_resize(recorder, ruby_newest.behind, object, nbytes))
        tbed_resize_record(recorder, TBED_ID_INVALID, object, nbytes);
}

void ruby_heap_record_sizes(struct tbed_recorder *recorder)
{
    if (!has_missed_none(recorder, seen_count + is_marking()))
        return;
    for (size_t i = 0; i < page_count; i++)
        for (size_t word = 0; word < RUBY_LAYOUT_MARKS_NWORDS; word++)
            measure_slots(recorder, pages[i], word, pages[i]->ours[word] | pages[i]->fresh[word]);
}

/* ---- Collections ---- */

/* What a collection looks at in a word of slots: all that is new or dead; in a major one, all. */
static uint64_t looked_at(const struct ruby_page *page, size_t word, const void *marks, bool is_major)
{
    uint64_t all = page->ours[word] | page->fresh[word], live = all & ruby_word(marks, 8 * word);
    return is_major ? all : (all ^ live) | page->fresh[word];
}

static void record_dead_of(struct tbed_recorder *recorder, struct ruby_page *page, bool is_major)
{
    uint64_t dead[RUBY_LAYOUT_MARKS_NWORDS], any = 0;
    const void *marks = marks_of(page->address);
    fetch_slots(page, 0, looked_at(page, 0, marks, is_major));
    for (size_t i = 0; i < RUBY_LAYOUT_MARKS_NWORDS; i++) {
        if (i + 1 < RUBY_LAYOUT_MARKS_NWORDS)
            fetch_slots(page, i + 1, looked_at(page, i + 1, marks, is_major));
        measure_slots(recorder, page, i, looked_at(page, i, marks, is_major));
        uint64_t all = page->ours[i] | page->fresh[i], live = all & ruby_word(marks, 8 * i);
        dead[i] = all ^ live;
        page->ours[i] = live;
        page->fresh[i] = 0;
        page->sized[i] &= live;
        any |= dead[i];
    }
    if (any != 0)
        tbed_free_slots_record(recorder, TBED_ID_INVALID, first_slot(page->address), RUBY_LAYOUT_SLOT_NBYTES,
                               dead, RUBY_LAYOUT_MARKS_NWORDS);
}

void ruby_heap_record_dead(struct tbed_recorder *recorder)
{
    ruby_newest.object = 0;
    if (!has_missed_none(recorder, seen_count + 1))
        return;
    bool is_major = ruby_collector_is_major();
    for (size_t i = 0; i < page_count; i++)
        if (has_any(pages[i]))
            record_dead_of(recorder, pages[i], is_major);
}

/* 'size' is 0 if the recorded one is a slot's. */
static void moved(VALUE now, uint32_t size)
{
    uintptr_t address = now & ~(uintptr_t)(RUBY_LAYOUT_HEAP_PAGE_NBYTES - 1);
    if (ruby_page->address != address && !ruby_page_find(address))
        return;
    size_t slot = (now - address) / RUBY_LAYOUT_SLOT_NBYTES;
    uint64_t bit = (uint64_t)1 << slot % 64;
    ruby_page->ours[slot / 64] |= bit;
    ruby_page->sized[slot / 64] &= ~bit;
    ruby_page->sized[slot / 64] |= size != 0 ? bit : 0;
    ruby_page->sizes[slot] = size;
}

static void follow_slots(struct ruby_page *page, size_t word)
{
    uint64_t left = page->ours[word] | page->fresh[word];
    for (; left != 0; left &= left - 1) {
        uint64_t bit = left & -left;
        size_t slot = 64 * word + (size_t)__builtin_ctzll(left);
        VALUE object = first_slot(page->address) + slot * RUBY_LAYOUT_SLOT_NBYTES;
        VALUE now = rb_gc_location(object);
        if (now == object)
            continue;
        uint32_t size = (page->sized[word] & bit) != 0 ? page->sizes[slot] : 0;
        page->ours[word] &= ~bit;
        page->fresh[word] &= ~bit;
        page->sized[word] &= ~bit;
        moved(now, size);
    }
}

void ruby_heap_follow(struct tbed_recorder *recorder)
{
    ruby_newest.object = 0;
    if (!has_missed_none(recorder, seen_count))
        return;
    for (size_t i = 0; i < page_count; i++)
        for (size_t word = 0; word < RUBY_LAYOUT_MARKS_NWORDS; word++)
            follow_slots(pages[i], word);
}

/* ---- The test ---- */

#define TESTED_COUNT 1000

static bool is_as_marked(VALUE object)
{
    uintptr_t address = object & ~(uintptr_t)(RUBY_LAYOUT_HEAP_PAGE_NBYTES - 1);
    size_t slot = (object - address) / RUBY_LAYOUT_SLOT_NBYTES;
    uint64_t word = ruby_word(marks_of(address), slot / 64 * 8);
    bool has_mark = word >> slot % 64 & 1;
    return first_slot(address) + slot * RUBY_LAYOUT_SLOT_NBYTES == object &&
           has_mark == (ruby_is_marked(object) != 0);
}

static bool has_constant(const char *name, long value)
{
    VALUE constants = rb_const_get(rb_mGC, rb_intern("INTERNAL_CONSTANTS"));
    return rb_hash_aref(constants, ID2SYM(rb_intern(name))) == LONG2FIX(value);
}

/*
 * Tests the marks of classes, which have them once garbage was collected, and of new objects, most of which have none.
 */
bool ruby_heap_test(void)
{
    const VALUE classes[] = {rb_cObject, rb_cString, rb_cArray, rb_cHash, rb_mKernel, rb_eStandardError};
    if (!has_constant("HEAP_PAGE_SIZE", RUBY_LAYOUT_HEAP_PAGE_NBYTES) ||
        !has_constant("RVALUE_SIZE", RUBY_LAYOUT_SLOT_NBYTES))
        return false;
    if (!ruby_is_marked(rb_cObject))
        rb_gc_start();
    bool is_right = ruby_is_marked(rb_cObject);
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        is_right &= is_as_marked(classes[i]);
    for (int i = 0; i < TESTED_COUNT; i++)
        is_right &= is_as_marked(rb_str_new_cstr("x"));
    return is_right;
}
