/*
 * The census of a ring; see census.h.
 *
 * A thread that lives keeps its newest blocks, as many for each as half of the ring allows; a thread that has ended, or
 * whose process has, keeps as many until the hand has gone half a round. For each page the census has one word: the
 * count of the page's mark, and whether it is kept. A page with another count was taken since, so what it has is newer
 * than the census: an old census keeps more than it should, never less.
 *
 * Source: spec/format.md, section 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/pages/census.h"

#include <string.h>

#include "format/file/directory.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/pages/pages.h"

/* A stream, or a process: both have numbers from one range. */
struct person {
    uint32_t number;   /* 0: a free slot of the table */
    uint32_t newest;   /* the highest sequence of a block that ended */
    uint32_t age;      /* the latest of its blocks */
    uint8_t has_block; /* 'newest' and 'age' are set */
    uint8_t has_ended; /* its last block says so, or its process is dead */
    uint8_t is_known;  /* a process: 'is_dead' is set */
    uint8_t is_dead;
};

struct tbed_census {
    tbed_word made_at; /* ring pages handed out; atomic */
    uint32_t newest_count;
    size_t person_count; /* the table's size, a power of two */
    struct person *persons;
    uint32_t pages[]; /* count << 2 | enum tbed_keep, by page; atomic */
};

/* What an entry says, if that did not change while it was loaded. */
struct seen {
    struct tbed_mark mark;
    uint32_t state, kind, flags, sequence, stream, age;
    bool is_settled;
};

/* ---- Its memory ---- */

static size_t person_count(uint32_t page_count)
{
    size_t count = 8;
    while (count < 4 * (size_t)page_count) /* a stream and a process for each page fill half of it */
        count *= 2;
    return count;
}

static size_t census_nbytes(uint32_t page_count)
{
    size_t pages = (sizeof(struct tbed_census) + ((size_t)page_count + 1) * 4 + 15) & ~(size_t)15;
    return pages + person_count(page_count) * sizeof(struct person);
}

void tbed_census_open(struct tbed_file *file)
{
    uint32_t page_count = file->fields.ring_page_count;
    struct tbed_census *census = page_count != 0 ? tbed_pages_alloc(census_nbytes(page_count)) : NULL;
    if (census == NULL)
        return;
    census->person_count = person_count(page_count);
    census->persons =
        (struct person *)(void *)((uint8_t *)census + census_nbytes(page_count)) - census->person_count;
    file->census = census;
}

void tbed_census_free(struct tbed_file *file)
{
    if (file->census != NULL)
        tbed_pages_free(file->census, census_nbytes(file->fields.ring_page_count));
}

/* ---- Looking at a page ---- */

static struct tbed_disk_entry *entry_of(const struct tbed_file *file, uint32_t page)
{
    return (struct tbed_disk_entry *)(void *)(file->map +
                                              tbed_directory_entry_offset(file->page_nbytes, page));
}

static struct seen see(const struct tbed_file *file, uint32_t page)
{
    const struct tbed_disk_entry *entry = entry_of(file, page);
    struct seen seen = {.mark = tbed_mark_load(entry)};
    uint64_t first = tbed_word_load(entry);
    seen.state = first & 0xFF;
    seen.kind = first >> 8 & 0xFF;
    seen.flags = first >> 16 & 0xFFFF;
    seen.sequence = (uint32_t)(first >> 32);
    seen.stream = tbed_word32_load(&entry->stream);
    seen.age = tbed_word32_load(&entry->age);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    seen.is_settled = tbed_mark_word(tbed_mark_load(entry)) == tbed_mark_word(seen.mark);
    return seen;
}

static bool has_block(const struct seen *seen)
{
    return seen->is_settled && tbed_mark_has_block(seen->mark) && seen->state >= TBED_ENTRY_BEGUN &&
           seen->kind == TBED_BLOCK_EVENTS;
}

/* ---- Threads and processes ---- */

static struct person *person_of(struct tbed_census *census, uint32_t number)
{
    size_t slot = number * UINT32_C(0x9E3779B1) & (census->person_count - 1);
    while (census->persons[slot].number != 0 && census->persons[slot].number != number)
        slot = (slot + 1) & (census->person_count - 1);
    return &census->persons[slot];
}

static bool is_dead(const struct tbed_file *file, uint32_t process)
{
    struct person *person = person_of(file->census, process);
    if (process == file->process.stream)
        return false;
    if (!person->is_known) {
        person->number = process;
        person->is_dead = !tbed_process_lives(file, process);
        person->is_known = true;
    }
    return person->is_dead;
}

/* A killed process could not say when it got its last events: from now on it is this old. */
static uint32_t age_of(const struct tbed_file *file, uint32_t page, const struct seen *seen, uint32_t now)
{
    tbed_le32 *age = &entry_of(file, page)->age;
    uint32_t none = 0;
    if (seen->age != 0)
        return seen->age;
    __atomic_compare_exchange_n((uint32_t *)(void *)age, &none, tbed_word32_order(now), false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return now;
}

static void count_block(struct tbed_file *file, uint32_t page, uint32_t now, uint32_t *living_count)
{
    struct seen seen = see(file, page);
    if (!has_block(&seen))
        return;
    bool is_of_dead = is_dead(file, seen.mark.process);
    struct person *stream = person_of(file->census, seen.stream);
    if (stream->number == 0) {
        stream->number = seen.stream;
        stream->has_ended = is_of_dead;
        *living_count += !is_of_dead;
    }
    if ((seen.flags & TBED_ENTRY_LAST) != 0 && !stream->has_ended) {
        stream->has_ended = true;
        --*living_count;
    }
    /* The page is being written, and is not one of those to be kept yet. */
    if (seen.state < TBED_ENTRY_ENDED && !is_of_dead)
        return;
    uint32_t age = age_of(file, page, &seen, now);
    if (!stream->has_block || (int32_t)(seen.sequence - stream->newest) > 0)
        stream->newest = seen.sequence;
    if (!stream->has_block || (int32_t)(age - stream->age) > 0)
        stream->age = age;
    stream->has_block = true;
}

/* ---- The census ---- */

/*
 * A stream has ended if its last block says so. That block may be the first to go, so its others shall say it too. The
 * word is swapped as a whole: it has changed if the page was given to another block meanwhile.
 */
static void note_ended(struct tbed_file *file, uint32_t page)
{
    struct seen seen = see(file, page);
    if (has_block(&seen) && (seen.flags & TBED_ENTRY_LAST) == 0 &&
        person_of(file->census, seen.stream)->has_ended && !is_dead(file, seen.mark.process))
        tbed_entry_note_last(entry_of(file, page), seen.stream, seen.mark);
}

static enum tbed_keep keep_of(struct tbed_file *file, const struct seen *seen, uint32_t now)
{
    bool has_owner = seen->mark.state == TBED_MARK_TAKEN || seen->mark.state == TBED_MARK_HELD;
    if (!seen->is_settled || (has_owner && !is_dead(file, seen->mark.process)))
        return TBED_KEEP_NEWEST;
    if (!has_block(seen))
        return TBED_KEEP_NOTHING;
    const struct person *stream = person_of(file->census, seen->stream);
    if (stream->number == 0 || !stream->has_block) /* begun after the streams were counted */
        return TBED_KEEP_NEWEST;
    if ((int32_t)(stream->newest - seen->sequence) >= (int32_t)file->census->newest_count)
        return TBED_KEEP_NOTHING;
    if (!stream->has_ended)
        return (int32_t)(stream->newest - seen->sequence) > 0 ? TBED_KEEP_LIVING : TBED_KEEP_NEWEST;
    return now - stream->age < file->fields.ring_page_count / 2 ? TBED_KEEP_ENDED : TBED_KEEP_NOTHING;
}

static bool is_of_ring(const struct tbed_file *file, uint32_t page)
{
    return !tbed_directory_has_page(file->page_nbytes, page);
}

static void make(struct tbed_file *file)
{
    struct tbed_census *census = file->census;
    uint32_t count = file->fields.ring_page_count, living_count = 0;
    uint64_t given = tbed_shared_load(&tbed_shared(file)->ring_pages_given);
    uint32_t now = tbed_ring_age(given);
    memset(census->persons, 0, census->person_count * sizeof *census->persons);
    for (uint32_t page = 1; page <= count; page++)
        if (is_of_ring(file, page))
            count_block(file, page, now, &living_count);
    for (uint32_t page = 1; page <= count; page++)
        if (is_of_ring(file, page))
            note_ended(file, page);
    uint32_t usable = count - (uint32_t)tbed_directory_pages_below(file->page_nbytes, (uint64_t)count + 1);
    census->newest_count = usable / 2 / (living_count != 0 ? living_count : 1) + 1;
    for (uint32_t page = 1; page <= count; page++) {
        if (!is_of_ring(file, page))
            continue;
        struct seen seen = see(file, page);
        uint32_t word = seen.mark.count << 2 | (uint32_t)keep_of(file, &seen, now);
        __atomic_store_n(&census->pages[page], word, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&census->made_at, given, __ATOMIC_RELAXED);
    __atomic_store_n(&file->ring.keeps_no_ended, false, __ATOMIC_RELAXED);
}

bool tbed_census_make(struct tbed_file *file)
{
    if (file->census == NULL)
        return true;
    if (!tbed_lock_take(&file->live->census_lock))
        return false;
    make(file);
    tbed_lock_give(&file->live->census_lock);
    return true;
}

void tbed_census_refresh(struct tbed_file *file)
{
    struct tbed_census *census = file->census;
    uint64_t given = tbed_shared_load(&tbed_shared(file)->ring_pages_given);
    if (census == NULL ||
        given - __atomic_load_n(&census->made_at, __ATOMIC_RELAXED) <
            (file->fields.ring_page_count + 3) / 4 ||
        !tbed_lock_try(&file->live->census_lock))
        return;
    make(file);
    tbed_lock_give(&file->live->census_lock);
}

enum tbed_keep tbed_census_keeps(const struct tbed_file *file, uint32_t page, struct tbed_mark mark)
{
    if (file->census == NULL)
        return TBED_KEEP_NOTHING;
    uint32_t word = __atomic_load_n(&file->census->pages[page], __ATOMIC_RELAXED);
    bool is_newer = word >> 2 != mark.count;
    return is_newer ? TBED_KEEP_NEWEST : (enum tbed_keep)(word & 3);
}
