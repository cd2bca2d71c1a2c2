/*
 * A model of claiming pages: two processes raise the count past a directory page and begin their blocks, while a reader
 * refreshes.
 *
 * It models claim_number() of writer/pages/page.c, tbed_directory_page_begin(), tbed_entry_claim() and
 * tbed_entry_begin() of page_entry.c, page_begin() of block_write.c, and look_at_block() of
 * reader/core/file/index_pages.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

struct protocol {
    bool claims_without_swap;     /* the count is raised by a load and a store */
    bool counts_relaxed;          /* the swap of the count has no release order */
    bool backs_late;              /* disk space is allocated after the claim */
    bool has_directory_late;      /* the directory page is stored after the claim */
    bool has_directory_backwards; /* the first word of the directory page is stored first */
    bool begins_early;            /* the entry says that the block has begun before its header is stored */
    bool begins_relaxed;          /* the entry's state has no release order */
    bool has_kind_relaxed;        /* the first word of the header has no release order */
    bool loads_count_again;       /* old protocol: stray bytes are recognised by a load of the count */
};

/* Page 1 is a directory page with the entries of pages 2 and 3. */
enum { DIRECTORY_PAGE = 1, FIRST_PAGE, LAST_PAGE, PAGES };
enum { COUNT, DIRECTORY, REST, ENTRIES, HEADERS = ENTRIES + 2, KINDS = HEADERS + 2, LOCATIONS = KINDS + 2 };
enum { FREE, CLAIMED, BEGUN };
enum { WRITERS = 2, READER = WRITERS, THREADS };

static int of_page(int locations, unsigned page)
{
    return locations + (page == LAST_PAGE);
}

static uint16_t entry_of(unsigned tag, unsigned state)
{
    return (uint16_t)(tag << 4 | state);
}

struct file {
    uint8_t size; /* in pages */
    uint8_t owner_counts[PAGES];
};

static const char two_owners[] = "two writers own the page";
static const char is_strange[] = "another writer's page is taken for stray bytes";
static const char is_lost[] = "a page is lost according to its entry";
static const char is_incomplete[] = "a block has an incomplete header";
static const char differs[] = "an entry differs from its block";
static const char no_directory[] = "a directory page is incomplete";
static const char is_cut[] = "a page is beyond the end of the file";

/* ---- A writer ---- */

struct writer {
    uint16_t page, found;
};

static void back(struct model_run *run, unsigned page)
{
    struct file *file = model_shared(run);
    if (file->size <= page)
        file->size = (uint8_t)(page + 1);
}

/* A page that has bytes must belong to the other writer, since no stray bytes exist here; the claim starts over. */
static bool look_for_bytes(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    uint16_t page;
    BEGIN(run, 2);
    STEP(run, 2);
    self->found = model_load(run, of_page(HEADERS, self->page), CONTROL);
    if (self->found == 0)
        RETURN(run, 2);
    STEP(run, 2);
    page = self->page;
    if (protocol->loads_count_again)
        page = model_load(run, COUNT, ACQUIRE);
    else
        model_swap(run, COUNT, &page, page, ACQ_REL, ACQUIRE);
    if (page == self->page)
        model_fail(run, is_strange);
    self->page = page;
    END(run, 2);
}

static bool directory_page_begin(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    BEGIN(run, 2);
    STEP(run, 2);
    self->found = model_load(run, DIRECTORY, ACQUIRE);
    if (self->found != 0)
        RETURN(run, 2);
    STEP(run, 2);
    model_store(run, protocol->has_directory_backwards ? DIRECTORY : REST, 1, RELEASE);
    STEP(run, 2);
    model_store(run, protocol->has_directory_backwards ? REST : DIRECTORY, 1, RELEASE);
    END(run, 2);
}

static bool raise_count(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    uint16_t next = (uint16_t)(self->page + 1);
    if (!protocol->claims_without_swap)
        return model_swap(run, COUNT, &self->page, next, protocol->counts_relaxed ? RELAXED : ACQ_REL,
                          ACQUIRE);
    model_store(run, COUNT, next, RELEASE);
    return true;
}

static bool claim_number(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    BEGIN(run, 1);
    STEP(run, 1);
    self->page = model_load(run, COUNT, ACQUIRE);
    for (;;) {
        if (!protocol->backs_late)
            back(run, self->page);
        if (self->page != DIRECTORY_PAGE) {
            CALL(run, 1, look_for_bytes(run, self, protocol));
            if (self->found != 0)
                continue;
        }
        if (self->page == DIRECTORY_PAGE && !protocol->has_directory_late)
            CALL(run, 1, directory_page_begin(run, self, protocol));
        STEP(run, 1);
        if (!raise_count(run, self, protocol))
            continue;
        if (self->page != DIRECTORY_PAGE)
            break;
        if (protocol->has_directory_late)
            CALL(run, 1, directory_page_begin(run, self, protocol));
        self->page++;
    }
    ((struct file *)model_shared(run))->owner_counts[self->page]++;
    END(run, 1);
}

static bool page_begin(struct model_run *run, const struct writer *self, const struct protocol *protocol)
{
    uint16_t tag = (uint16_t)(1 + model_thread(run));
    int entry = of_page(ENTRIES, self->page);
    BEGIN(run, 1);
    STEP(run, 1);
    model_store(run, entry, entry_of(tag, CLAIMED), RELEASE);
    if (protocol->begins_early) {
        STEP(run, 1);
        model_store(run, entry, entry_of(tag, BEGUN), RELEASE);
    }
    STEP(run, 1);
    model_store(run, of_page(HEADERS, self->page), tag, RELAXED);
    STEP(run, 1);
    model_store(run, of_page(KINDS, self->page), tag, protocol->has_kind_relaxed ? RELAXED : RELEASE);
    STEP(run, 1);
    model_store(run, entry, entry_of(tag, BEGUN), protocol->begins_relaxed ? RELAXED : RELEASE);
    END(run, 1);
}

static bool write_page(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    BEGIN(run, 0);
    CALL(run, 0, claim_number(run, self, protocol));
    if (protocol->backs_late)
        back(run, self->page);
    CALL(run, 0, page_begin(run, self, protocol));
    END(run, 0);
}

/* ---- The reader ---- */

struct reader {
    uint16_t count, entry, kind, header;
    uint8_t page;
};

static void judge(struct model_run *run, const struct reader *self)
{
    unsigned tag = self->entry >> 4, state = self->entry & 0xF;
    if (self->kind == 0 && state >= BEGUN)
        model_fail(run, is_lost);
    else if (self->kind != 0 && self->header != self->kind)
        model_fail(run, is_incomplete);
    else if (self->kind != 0 && (state == FREE || tag != self->kind))
        model_fail(run, differs);
}

static bool look_at_block(struct model_run *run, struct reader *self)
{
    BEGIN(run, 1);
    STEP(run, 1);
    self->entry = model_load(run, of_page(ENTRIES, self->page), ACQUIRE);
    STEP(run, 1);
    self->kind = model_load(run, of_page(KINDS, self->page), ACQUIRE);
    STEP(run, 1);
    self->header = model_load(run, of_page(HEADERS, self->page), RELAXED);
    if (self->kind != 0 && self->entry == 0) { /* a writer may have begun the page meanwhile */
        STEP(run, 1);
        self->entry = model_load(run, of_page(ENTRIES, self->page), ACQUIRE);
    }
    judge(run, self);
    END(run, 1);
}

static bool read_pages(struct model_run *run, struct reader *self)
{
    BEGIN(run, 0);
    STEP(run, 0);
    self->count = model_load(run, COUNT, ACQUIRE);
    if (self->count > ((const struct file *)model_shared(run))->size)
        model_fail(run, is_cut);
    if (self->count > DIRECTORY_PAGE) {
        STEP(run, 0);
        self->kind = model_load(run, DIRECTORY, ACQUIRE);
        STEP(run, 0);
        self->header = model_load(run, REST, ACQUIRE);
        if (self->kind == 0 || self->header == 0)
            model_fail(run, no_directory);
    }
    for (self->page = FIRST_PAGE; self->page < self->count; self->page++)
        CALL(run, 0, look_at_block(run, self));
    END(run, 0);
}

/* ---- The rules, which hold in every state, since a kill of all writers may leave any state behind ---- */

static const char *broken_in_page(const struct model_run *run, unsigned page)
{
    unsigned kind = model_latest(run, of_page(KINDS, page)),
             header = model_latest(run, of_page(HEADERS, page));
    if ((model_latest(run, of_page(ENTRIES, page)) & 0xF) >= BEGUN && kind == 0)
        return is_lost;
    return kind != 0 && header != kind ? is_incomplete : NULL;
}

static const char *broken_rule(struct model_run *run)
{
    const struct file *file = model_shared(run);
    unsigned count = model_latest(run, COUNT);
    const char *broken = broken_in_page(run, FIRST_PAGE);
    if (file->owner_counts[FIRST_PAGE] > 1 || file->owner_counts[LAST_PAGE] > 1)
        return two_owners;
    if (count > file->size)
        return is_cut;
    if (count > DIRECTORY_PAGE && (model_latest(run, DIRECTORY) == 0 || model_latest(run, REST) == 0))
        return no_directory;
    return broken != NULL ? broken : broken_in_page(run, LAST_PAGE);
}

static bool step(struct model_run *run, int thread)
{
    if (thread == READER)
        return read_pages(run, model_local(run, thread));
    return write_page(run, model_local(run, thread), model_variant(run));
}

static void start(struct model_run *run)
{
    ((struct file *)model_shared(run))->size = 1;
}

static const char *search(const char *name, struct protocol protocol, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &protocol,
        .thread_count = THREADS,
        .location_count = LOCATIONS,
        .initial = {[COUNT] = DIRECTORY_PAGE},
        .process_of = {0, 1, 2},
        .start = start,
        .step = step,
        .broken_rule = broken_rule,
        .location_names = {"count", "directory page", "its rest", "entry 2", "entry 3", "header 2",
                           "header 3", "kind 2", "kind 3"},
        .thread_names = {"writer 0", "writer 1", "reader"},
    };
    return model_search(&model, wanted).broken;
}

/* ---- Tests ---- */

static void pages_are_claimed_once_and_begun_in_order(void **state)
{
    (void)state;
    assert_null(search("claim", (struct protocol){.backs_late = false}, NULL));
}

static void each_step_of_a_claim_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search("no swap", (struct protocol){.claims_without_swap = true}, two_owners),
                     two_owners);
    assert_ptr_equal(search("backed late", (struct protocol){.backs_late = true}, is_cut), is_cut);
    assert_ptr_equal(
        search("the directory page late", (struct protocol){.has_directory_late = true}, no_directory),
        no_directory);
    assert_ptr_equal(
        search("its first word first", (struct protocol){.has_directory_backwards = true}, no_directory),
        no_directory);
    assert_ptr_equal(search("begun early", (struct protocol){.begins_early = true}, is_lost), is_lost);
}

static void each_order_of_a_claim_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search("counted relaxed", (struct protocol){.counts_relaxed = true}, no_directory),
                     no_directory);
    assert_ptr_equal(search("begun relaxed", (struct protocol){.begins_relaxed = true}, is_lost), is_lost);
    assert_ptr_equal(search("the kind relaxed", (struct protocol){.has_kind_relaxed = true}, is_incomplete),
                     is_incomplete);
}

/* A load of the count may be stale; a swap that succeeds has seen the latest value. */
static void bytes_of_another_writer_are_recognised_by_a_swap(void **state)
{
    (void)state;
    assert_ptr_equal(search("the count loaded again (old protocol)",
                            (struct protocol){.loads_count_again = true}, is_strange),
                     is_strange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_claimed_once_and_begun_in_order),
        cmocka_unit_test(each_step_of_a_claim_is_needed),
        cmocka_unit_test(each_order_of_a_claim_is_needed),
        cmocka_unit_test(bytes_of_another_writer_are_recognised_by_a_swap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
