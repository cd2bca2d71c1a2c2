/*
 * The allocations against an oracle that is slow and obvious: all events in order of time, and a list of
 * blocks that is searched from its start.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <tracebed/analysis.h>

#define SITE_COUNT 32u
#define PROCESSES  3u
#define LIVE_MAX   4096u
#define ADDRESSES  512u

/* ---- The oracle ---- */

struct oracle_block {
    uint64_t address, nbytes, tick;
    uint32_t site, stream;
};

struct oracle {
    struct oracle_block blocks[LIVE_MAX];
    size_t block_count;
    struct tbed_allocation_sums sums, sites[SITE_COUNT];
    uint64_t unknown_frees, null_frees, peak_tick;
    uint64_t newest[FIXTURE_STREAMS + 1];
};

static struct oracle_block *oracle_find(struct oracle *oracle, uint64_t address)
{
    for (size_t i = 0; i < oracle->block_count; i++)
        if (oracle->blocks[i].address == address)
            return &oracle->blocks[i];
    return NULL;
}

static void oracle_remove(struct oracle *oracle, struct oracle_block *block)
{
    *block = oracle->blocks[--oracle->block_count];
}

static void oracle_free_block(struct oracle *oracle, struct oracle_block *block, uint32_t stream)
{
    bool temporary = block->stream == stream && oracle->newest[stream] == block->address;
    oracle->sums.freed_count++;
    oracle->sites[block->site].freed_count++;
    oracle->sums.temporary_count += temporary;
    oracle->sites[block->site].temporary_count += temporary;
    oracle_remove(oracle, block);
}

/* Figures of the live blocks, from scratch. */
static void oracle_count_live(const struct oracle *oracle, uint64_t *all_ret, uint64_t sites_ret[SITE_COUNT])
{
    *all_ret = 0;
    memset(sites_ret, 0, SITE_COUNT * sizeof *sites_ret);
    for (size_t i = 0; i < oracle->block_count; i++) {
        *all_ret += oracle->blocks[i].nbytes;
        sites_ret[oracle->blocks[i].site] += oracle->blocks[i].nbytes;
    }
}

static void oracle_note_peak(struct oracle *oracle, uint64_t tick)
{
    uint64_t all, sites[SITE_COUNT];
    oracle_count_live(oracle, &all, sites);
    if (all <= oracle->sums.peak_nbytes)
        return;
    oracle->sums.peak_nbytes = all;
    oracle->peak_tick = tick;
    for (size_t i = 0; i < SITE_COUNT; i++)
        oracle->sites[i].peak_nbytes = sites[i];
}

static void oracle_new(struct oracle *oracle, const struct tbed_event *event, uint64_t address,
                       uint64_t nbytes)
{
    struct tbed_allocation_sums *site = &oracle->sites[event->id];
    if (address == 0) {
        site->failed_count++;
        oracle->sums.failed_count++;
        return;
    }
    struct oracle_block *old = oracle_find(oracle, address);
    if (old != NULL) {
        oracle->sites[old->site].replaced_count++;
        oracle->sums.replaced_count++;
        oracle_remove(oracle, old);
    }
    assert_true(oracle->block_count < LIVE_MAX);
    oracle->blocks[oracle->block_count++] =
        (struct oracle_block){address, nbytes, event->tick, event->id, event->stream};
    site->count++;
    site->nbytes += nbytes;
    oracle->sums.count++;
    oracle->sums.nbytes += nbytes;
    oracle_note_peak(oracle, event->tick);
}

static void oracle_free_address(struct oracle *oracle, const struct tbed_event *event, uint64_t address)
{
    struct oracle_block *block = oracle_find(oracle, address);
    if (block != NULL)
        oracle_free_block(oracle, block, event->stream);
    else if (address == 0)
        oracle->null_frees++;
    else
        oracle->unknown_frees++;
}

static void oracle_realloc(struct oracle *oracle, const struct tbed_event *event)
{
    uint64_t old = event->of.realloc.old_address, address = event->of.realloc.address;
    bool failed = address == 0 && event->of.realloc.size != 0;
    struct oracle_block *block = oracle_find(oracle, old);
    if (old != 0 && !failed && block == NULL)
        oracle->unknown_frees++;
    if (old != 0 && !failed && block != NULL && block->tick <= event->of.realloc.begin_tick)
        oracle_free_block(oracle, block, event->stream);
    if (failed || address != 0)
        oracle_new(oracle, event, address, event->of.realloc.size);
}

/* It stays one allocation, and comes between no two others. */
static void oracle_resize(struct oracle *oracle, const struct tbed_event *event)
{
    struct oracle_block *block = oracle_find(oracle, event->of.alloc.address);
    if (block == NULL)
        return;
    uint64_t nbytes = event->of.alloc.size, gained = nbytes > block->nbytes ? nbytes - block->nbytes : 0;
    oracle->sums.nbytes += gained;
    oracle->sites[block->site].nbytes += gained;
    block->nbytes = nbytes;
    oracle_note_peak(oracle, event->tick);
}

/* One after the other; each ends what was the newest block. */
static void oracle_free(struct oracle *oracle, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument distance, bits;
    if (event->argument_count == 0) {
        oracle_free_address(oracle, event, event->of.alloc.address);
        return;
    }
    tbed_argument_next(&at, &distance);
    tbed_argument_next(&at, &bits);
    for (uint32_t i = 0; i < 8 * bits.nbytes; i++)
        if ((bits.value.text[i / 8] >> i % 8 & 1) != 0) {
            oracle_free_address(oracle, event, event->of.alloc.address + i * distance.value.u64);
            oracle->newest[event->stream] = 0;
        }
}

/* A call that fails, or frees nothing, comes between no two others. */
static void oracle_take(struct oracle *oracle, const struct tbed_event *event)
{
    uint64_t newest = 0;
    bool does_nothing = false;
    if (event->type == TBED_EVENT_ALLOC) {
        newest = event->of.alloc.address;
        does_nothing = newest == 0;
        oracle_new(oracle, event, newest, event->of.alloc.size);
    } else if (event->type == TBED_EVENT_FREE) {
        does_nothing = event->argument_count > 0 || event->of.alloc.address == 0;
        oracle_free(oracle, event); /* does that itself for each of several */
    } else if (event->type == TBED_EVENT_REALLOC) {
        newest = event->of.realloc.address;
        does_nothing = newest == 0 && (event->of.realloc.size != 0 || event->of.realloc.old_address == 0);
        oracle_realloc(oracle, event);
    } else {
        if (event->type == TBED_EVENT_RESIZE)
            oracle_resize(oracle, event);
        return;
    }
    if (!does_nothing)
        oracle->newest[event->stream] = newest;
}

/* The streams of one process: 'process' + 1 and that + PROCESSES. */
static void oracle_run(struct oracle *oracle, struct tbed_reader *reader, uint32_t process)
{
    const uint32_t streams[2] = {1 + process, 1 + process + PROCESSES};
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t sites[SITE_COUNT];
    memset(oracle, 0, sizeof *oracle);
    assert_int_equal(tbed_merge_open(reader, streams, 2, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        oracle_take(oracle, &event);
    tbed_merge_close(merge);
    oracle->sums.live_count = oracle->block_count;
    oracle_count_live(oracle, &oracle->sums.live_nbytes, sites);
    for (size_t i = 0; i < SITE_COUNT; i++)
        oracle->sites[i].live_nbytes = sites[i];
    for (size_t i = 0; i < oracle->block_count; i++)
        oracle->sites[oracle->blocks[i].site].live_count++;
}

/* ---- Random heaps ---- */

static uint64_t random_address(uint32_t dice)
{
    return 0x7F0000001000u + 16 * (dice % ADDRESSES);
}

static void random_slots(struct fixture *f, uint32_t stream, uint64_t tick, uint64_t address,
                         uint64_t *random)
{
    uint64_t bits[3];
    for (size_t i = 0; i < 3; i++)
        bits[i] =
            (uint64_t)fixture_random(random) << 32 & (uint64_t)fixture_random(random) * 0x9E3779B97F4A7C15u;
    fixture_release_slots(f, stream, tick, address, 16, bits, 1 + fixture_random(random) % 3,
                          1 + fixture_random(random) % 8);
}

static void random_event(struct fixture *f, uint32_t stream, uint64_t tick, uint64_t *random)
{
    uint32_t dice = fixture_random(random), site = fixture_random(random) % SITE_COUNT;
    uint64_t address = random_address(dice >> 8), other = random_address(fixture_random(random));
    uint64_t nbytes = dice % 5 == 0 ? dice % 100000 : dice % 200;
    switch (dice % 16) {
    case 0: /* one that overlaps others in time */
        fixture_realloc(f, stream, tick - (dice >> 8) % 40, tick, site, address, other, nbytes);
        break;
    case 1:
        fixture_realloc(f, stream, tick, tick, site, dice % 3 == 0 ? 0 : address, address, nbytes);
        break;
    case 2:
        fixture_realloc(f, stream, tick, tick, site, address, 0, dice % 64 < 32 ? 0 : nbytes);
        break;
    case 3:
        fixture_alloc(f, stream, tick, site, dice % 128 < 64 ? 0 : address, nbytes);
        break;
    case 4:
        fixture_begin(f, stream, tick, 99);
        fixture_end(f, stream, tick, false);
        break;
    case 5:
        fixture_alloc(f, stream, tick, site, address, nbytes);
        fixture_release(f, stream, tick + 1, address);
        break;
    case 6:
        random_slots(f, stream, tick, address, random);
        break;
    case 7:
        fixture_resize(f, stream, tick, site, address, nbytes);
        break;
    case 8:
    case 9:
    case 10:
        fixture_release(f, stream, tick, dice % 256 == 7 ? 0 : address);
        break;
    default:
        fixture_alloc(f, stream, tick, site, address, nbytes);
    }
}

static struct fixture *random_heaps(uint64_t seed)
{
    struct fixture *f = fixture_new(4096);
    uint64_t random = seed * 0x9E3779B97F4A7C15u, tick = 1000;
    for (uint32_t process = 0; process < PROCESSES; process++) {
        fixture_process(f, FIXTURE_STREAMS - process, 100 + process);
        fixture_stream_record(f, 1 + process, FIXTURE_STREAMS - process);
        fixture_stream_record(f, 1 + process + PROCESSES, FIXTURE_STREAMS - process);
    }
    for (uint32_t i = 0; i < 6000; i++) {
        tick += 2 + fixture_random(&random) % 20;
        random_event(f, 1 + fixture_random(&random) % (2 * PROCESSES), tick, &random);
    }
    return f;
}

static void add_sums(struct tbed_allocation_sums *into, const struct tbed_allocation_sums *from)
{
    into->count += from->count;
    into->nbytes += from->nbytes;
    into->freed_count += from->freed_count;
    into->replaced_count += from->replaced_count;
    into->temporary_count += from->temporary_count;
    into->failed_count += from->failed_count;
    into->live_count += from->live_count;
    into->live_nbytes += from->live_nbytes;
    into->peak_nbytes += from->peak_nbytes;
}

static void expect_process(const struct tbed_allocation_process *process, const struct oracle *oracle)
{
    assert_memory_equal(&process->sums, &oracle->sums, sizeof oracle->sums);
    assert_int_equal(process->unknown_free_count, oracle->unknown_frees);
    assert_int_equal(process->null_free_count, oracle->null_frees);
    assert_int_equal(process->peak_tick, oracle->peak_tick);
}

static void expect_oracle(struct tbed_reader *reader, unsigned threads)
{
    static struct oracle oracle;
    struct tbed_allocation_sums sites[SITE_COUNT] = {0};
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_allocations *allocations = NULL;
    const struct tbed_allocation_site *site;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    for (uint32_t process = 0; process < PROCESSES; process++) {
        oracle_run(&oracle, reader, process);
        /* They come by number, and the numbers were given out from the top. */
        const struct tbed_allocation_process *found =
            tbed_allocations_process(allocations, PROCESSES - 1 - process);
        assert_int_equal(found->pid, 100 + process);
        expect_process(found, &oracle);
        for (size_t i = 0; i < SITE_COUNT; i++)
            add_sums(&sites[i], &oracle.sites[i]);
    }
    assert_null(tbed_allocations_process(allocations, PROCESSES));
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        assert_true(site->id < SITE_COUNT);
        assert_memory_equal(&site->sums, &sites[site->id], sizeof site->sums);
    }
    assert_null(tbed_allocations_site(allocations, SITE_COUNT));
    tbed_allocations_close(allocations);
}

static void random_heaps_agree_with_a_plain_list(void **state)
{
    static const unsigned threads[] = {1, 2, 5};
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct fixture *f = random_heaps(seed);
        struct tbed_reader *reader = fixture_open(f);
        for (size_t i = 0; i < 3; i++)
            expect_oracle(reader, threads[i]);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

/* ---- The rules of section 6.2, one by one ---- */

static struct tbed_allocations *analyse(struct fixture *f, struct tbed_reader **reader_ret)
{
    struct tbed_allocations *allocations = NULL;
    *reader_ret = fixture_open(f);
    assert_int_equal(tbed_allocations_make(*reader_ret, NULL, &allocations), TBED_OK);
    return allocations;
}

/* Returns the sums of the only process and frees everything else. */
static struct tbed_allocation_process finish(struct fixture *f)
{
    struct tbed_reader *reader;
    struct tbed_allocations *allocations = analyse(f, &reader);
    struct tbed_allocation_process process = *tbed_allocations_process(allocations, 0);
    assert_null(tbed_allocations_process(allocations, 1));
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
    return process;
}

static void realloc_moves_a_block(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_realloc(f, 1, 20, 25, 2, 0x1000, 0x2000, 300);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.count, 2);
    assert_int_equal(process.sums.freed_count, 1);
    assert_int_equal(process.sums.live_nbytes, 300);
    assert_int_equal(process.sums.live_count, 1);
    assert_int_equal(process.sums.peak_nbytes, 300);
    assert_int_equal(process.peak_tick, 25);
}

static void realloc_that_fails_leaves_the_old_block(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_realloc(f, 1, 20, 25, 2, 0x1000, 0, 300);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.failed_count, 1);
    assert_int_equal(process.sums.freed_count, 0);
    assert_int_equal(process.sums.live_nbytes, 100);
}

static void realloc_to_nothing_frees(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_realloc(f, 1, 20, 25, 2, 0x1000, 0, 0);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.count, 1);
    assert_int_equal(process.sums.freed_count, 1);
    assert_int_equal(process.sums.live_count, 0);
}

/* Another thread got the old address before the realloc returned. */
static void realloc_frees_nothing_that_has_a_new_owner(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_alloc(f, 2, 22, 3, 0x1000, 50);
    fixture_realloc(f, 1, 20, 25, 2, 0x1000, 0x2000, 300);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.replaced_count, 1);
    assert_int_equal(process.sums.freed_count, 0);
    assert_int_equal(process.unknown_free_count, 0);
    assert_int_equal(process.sums.live_count, 2);
    assert_int_equal(process.sums.live_nbytes, 350);
}

static void frees_of_unknown_addresses_are_counted(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_release(f, 1, 10, 0x5000);
    fixture_release(f, 1, 11, 0x5000);
    fixture_release(f, 1, 12, 0);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.unknown_free_count, 2);
    assert_int_equal(process.null_free_count, 1);
    assert_int_equal(process.sums.freed_count, 0);
    assert_int_equal(process.event_count, 3);
}

static void slots_are_freed_by_their_bits(void **state)
{
    const uint64_t bits[] = {0x8000000000000003u, 0, 0x101};
    struct fixture *f = fixture_new(4096);
    (void)state;
    for (uint64_t i = 0; i < 192; i++)
        fixture_alloc(f, 1, 10 + i, 1, 0x10000 + 40 * i, 40);
    fixture_release_slots(f, 2, 300, 0x10000, 40, bits, 3, 2);     /* 0, 1, 63, 128, 136 */
    fixture_release_slots(f, 2, 301, 0x10000, 40, bits, 3, 1);     /* again, without the last */
    fixture_release_slots(f, 2, 302, 0x10000, 40, bits + 1, 1, 8); /* nothing */
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.freed_count, 5);
    assert_int_equal(process.unknown_free_count, 4);
}

/* Bytes before the integer: a FREE of one block. */
static void arguments_of_another_kind_are_no_slots(void **state)
{
    struct fixture *f = fixture_new(4096);
    const uint64_t none = (uint64_t)TBED_ID_INVALID << 32, head = TBED_EXT_FREE | 2 << 8 | 6 << 16;
    const uint64_t bits = TBED_ARG_BYTES | 8 << 8 | none, distance = TBED_ARG_U64 | 8 << 8 | none;
    const uint64_t words[] = {head, 0x10000, bits, 7, distance, 40};
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x10000, 40);
    fixture_alloc(f, 1, 11, 1, 0x10028, 40);
    fixture_event(f, 1, 12, TBED_TAG_EXTENDED, 0, words, 6);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.live_count, 1);
    assert_int_equal(process.unknown_free_count, 0);
}

static void a_block_freed_by_another_thread_is_not_temporary(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_release(f, 2, 11, 0x1000);
    fixture_alloc(f, 1, 12, 1, 0x1000, 100);
    fixture_instant(f, 1, 13, 7); /* no allocation event */
    fixture_release(f, 1, 14, 0x1000);
    fixture_alloc(f, 1, 15, 1, 0x1000, 100);
    fixture_alloc(f, 1, 16, 1, 0x2000, 100);
    fixture_release(f, 1, 17, 0x1000);
    struct tbed_allocation_process process = finish(f);
    assert_int_equal(process.sums.temporary_count, 1);
    assert_int_equal(process.sums.freed_count, 3);
}

/* The peak is when A and B are there; later C alone is large, but not as large. */
static void sites_have_their_share_of_the_peak(void **state)
{
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader;
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 700);
    fixture_alloc(f, 1, 11, 2, 0x2000, 400);
    fixture_release(f, 1, 12, 0x1000);
    fixture_release(f, 1, 13, 0x2000);
    fixture_alloc(f, 1, 14, 3, 0x3000, 1000);
    fixture_alloc(f, 1, 15, 2, 0x2000, 50);
    struct tbed_allocations *allocations = analyse(f, &reader);
    static const uint64_t expected[] = {700, 400, 0};
    for (size_t i = 0; i < 3; i++) {
        const struct tbed_allocation_site *site = tbed_allocations_site(allocations, i);
        assert_int_equal(site->id, i + 1);
        assert_int_equal(site->sums.peak_nbytes, expected[i]);
    }
    assert_int_equal(tbed_allocations_process(allocations, 0)->sums.peak_nbytes, 1100);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* A stream without a record belongs to no known process. */
static void addresses_of_two_processes_are_different_things(void **state)
{
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader;
    (void)state;
    fixture_process(f, 8, 4711);
    fixture_stream_record(f, 1, 8);
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_alloc(f, 2, 11, 1, 0x1000, 30);
    fixture_release(f, 1, 12, 0x1000);
    struct tbed_allocations *allocations = analyse(f, &reader);
    const struct tbed_allocation_process *unknown = tbed_allocations_process(allocations, 0);
    const struct tbed_allocation_process *known = tbed_allocations_process(allocations, 1);
    assert_int_equal(unknown->process, 0);
    assert_int_equal(unknown->sums.live_nbytes, 30);
    assert_int_equal(known->pid, 4711);
    assert_int_equal(known->sums.live_nbytes, 0);
    assert_int_equal(tbed_allocations_site(allocations, 0)->sums.count, 2);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void a_trace_without_allocations_has_no_processes(void **state)
{
    struct fixture *f = fixture_new(4096);
    struct tbed_reader *reader;
    (void)state;
    fixture_instant(f, 1, 10, 1);
    struct tbed_allocations *allocations = analyse(f, &reader);
    assert_null(tbed_allocations_process(allocations, 0));
    assert_null(tbed_allocations_site(allocations, 0));
    tbed_allocations_close(allocations);
    tbed_allocations_close(NULL);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* ---- Forks ---- */

/* Two processes: 1, whose stream is 1, and 2, which began at tick 20 and has stream 2. */
static struct fixture *two_processes(uint32_t forked_from)
{
    struct fixture *f = fixture_new(4096);
    fixture_fork(f, 1, 101, 0, 1);
    fixture_fork(f, 2, 102, forked_from, 20);
    fixture_stream_record(f, 1, 1);
    fixture_stream_record(f, 2, 2);
    return f;
}

static void finish_two(struct fixture *f, struct tbed_allocation_process found[2])
{
    struct tbed_reader *reader;
    struct tbed_allocations *allocations = analyse(f, &reader);
    found[0] = *tbed_allocations_process(allocations, 0);
    found[1] = *tbed_allocations_process(allocations, 1);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void a_forked_process_frees_its_parent_s_blocks_and_has_its_own(void **state)
{
    struct tbed_allocation_process found[2];
    struct fixture *f = two_processes(1);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_alloc(f, 1, 11, 1, 0x2000, 100);
    fixture_alloc(f, 2, 21, 2, 0x3000, 30);
    fixture_release(f, 2, 22, 0x1000);
    fixture_realloc(f, 2, 23, 24, 2, 0x2000, 0x4000, 50);
    fixture_release(f, 2, 25, 0x3000);
    finish_two(f, found);
    assert_int_equal(found[0].sums.live_nbytes, 200);
    assert_int_equal(found[0].sums.freed_count, 0);
    assert_int_equal(found[1].forked_from, 1);
    assert_int_equal(found[1].inherited_free_count, 2);
    assert_int_equal(found[1].unknown_free_count, 0);
    assert_int_equal(found[1].sums.count, 2);
    assert_int_equal(found[1].sums.freed_count, 1);
    assert_int_equal(found[1].sums.live_nbytes, 50);
    assert_int_equal(found[1].sums.peak_nbytes, 80);
}

/* The child first records at tick 20, but it was forked before the parent's free at 15. */
static void a_parent_s_free_between_fork_and_first_event_takes_nothing_from_the_child(void **state)
{
    struct tbed_allocation_process found[2];
    struct fixture *f = two_processes(1);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 100);
    fixture_release(f, 1, 15, 0x1000);
    fixture_release(f, 2, 21, 0x1000);
    finish_two(f, found);
    assert_int_equal(found[1].inherited_free_count, 1);
    assert_int_equal(found[1].unknown_free_count, 0);
}

static void what_a_parent_allocates_after_the_fork_is_not_inherited(void **state)
{
    struct tbed_allocation_process found[2];
    struct fixture *f = two_processes(1);
    (void)state;
    fixture_alloc(f, 1, 21, 1, 0x1000, 100);
    fixture_release(f, 2, 22, 0x1000);
    fixture_release(f, 2, 23, 0x5000);
    finish_two(f, found);
    assert_int_equal(found[1].inherited_free_count, 0);
    assert_int_equal(found[1].unknown_free_count, 2);
}

/* As after exec; and of a child that names itself or a later process as its parent. */
static void a_process_without_a_parent_inherits_nothing(void **state)
{
    static const uint32_t parents[] = {0, 2, 3, 77};
    struct tbed_allocation_process found[2];
    (void)state;
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        struct fixture *f = two_processes(parents[i]);
        fixture_fork(f, 3, 103, 2, 5);
        fixture_alloc(f, 1, 10, 1, 0x1000, 100);
        fixture_release(f, 2, 21, 0x1000);
        finish_two(f, found);
        assert_int_equal(found[1].inherited_free_count, 0);
        assert_int_equal(found[1].unknown_free_count, 1);
    }
}

/*
 * A family that forks at random. Each member starts with a copy of its parent's blocks at that moment, as with a real
 * fork, but first records some time later. Some never record anything, only their children do. Member i has stream i
 * + 1 and is process 20 + i.
 */
#define FAMILY FIXTURE_STREAMS

struct member {
    bool own[ADDRESSES], inherited[ADDRESSES];
    uint64_t count, inherited_frees, unknown_frees, live, begin_tick;
    bool is_silent;
};

struct family {
    struct member members[FAMILY];
    uint32_t member_count;
    struct fixture *f;
    uint64_t random;
};

/* A member that has already recorded: until then, its children count as forked by its parent. */
static uint32_t family_pick(struct family *family, uint64_t tick)
{
    uint32_t number;
    do
        number = fixture_random(&family->random) % family->member_count;
    while (family->members[number].begin_tick > tick);
    return number;
}

static void family_fork(struct family *family, uint64_t tick)
{
    uint32_t from = family_pick(family, tick), new = family->member_count++;
    const struct member *parent = &family->members[from];
    struct member *child = &family->members[new];
    memset(child, 0, sizeof *child);
    for (size_t i = 0; i < ADDRESSES; i++)
        child->inherited[i] = parent->own[i] || parent->inherited[i];
    child->begin_tick = tick + fixture_random(&family->random) % 2000;
    child->is_silent = fixture_random(&family->random) % 4 == 0;
    fixture_fork(family->f, 20 + new, 200 + new, 20 + from, child->begin_tick);
    fixture_stream_record(family->f, 1 + new, 20 + new);
}

/* Frees the member's block at the address; if it has none there, an address that is never allocated. */
static void family_free(struct family *family, uint32_t number, uint64_t tick, uint32_t at)
{
    struct member *member = &family->members[number];
    if (member->own[at]) {
        member->own[at] = false;
        member->live--;
    } else if (member->inherited[at]) {
        member->inherited[at] = false;
        member->inherited_frees++;
    } else {
        member->unknown_frees++;
        at += ADDRESSES;
    }
    fixture_release(family->f, 1 + number, tick, 16 * (uint64_t)(1 + at));
}

static void family_event(struct family *family, uint64_t tick)
{
    uint32_t number = family_pick(family, tick), at = fixture_random(&family->random) % ADDRESSES;
    struct member *member = &family->members[number];
    if (member->is_silent)
        return;
    if (member->own[at] || member->inherited[at] || fixture_random(&family->random) % 8 == 0) {
        family_free(family, number, tick, at);
        return;
    }
    fixture_alloc(family->f, 1 + number, tick, number, 16 * (uint64_t)(1 + at), 10);
    member->own[at] = true;
    member->count++;
    member->live++;
}

static void make_family(struct family *family, uint64_t seed)
{
    memset(family, 0, sizeof *family);
    family->f = fixture_new(4096);
    family->random = seed * 0x9E3779B97F4A7C15u;
    family->member_count = 1;
    fixture_fork(family->f, 20, 200, 0, 1);
    fixture_stream_record(family->f, 1, 20);
    for (uint64_t tick = 10; tick < 200000; tick += 10)
        if (family->member_count < FAMILY && fixture_random(&family->random) % 1500 == 0)
            family_fork(family, tick);
        else
            family_event(family, tick);
}

static void expect_family(const struct family *family, struct tbed_reader *reader, unsigned threads)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_allocations *allocations = NULL;
    const struct tbed_allocation_process *found;
    size_t index = 0;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    for (; (found = tbed_allocations_process(allocations, index)) != NULL; index++) {
        const struct member *member = &family->members[found->process - 20];
        assert_int_equal(found->pid, 180 + found->process);
        assert_int_equal(found->sums.count, member->count);
        assert_int_equal(found->sums.live_count, member->live);
        assert_int_equal(found->sums.freed_count, member->count - member->live);
        assert_int_equal(found->sums.replaced_count, 0);
        assert_int_equal(found->inherited_free_count, member->inherited_frees);
        assert_int_equal(found->unknown_free_count, member->unknown_frees);
    }
    assert_true(index > 1);
    tbed_allocations_close(allocations);
}

static void a_family_that_forks_at_random_agrees_with_copies(void **state)
{
    static struct family family;
    uint64_t inherited = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_family(&family, seed);
        struct tbed_reader *reader = fixture_open(family.f);
        assert_int_equal(tbed_damage_count(reader), 0);
        for (unsigned threads = 1; threads <= 3; threads++)
            expect_family(&family, reader, threads);
        for (uint32_t i = 0; i < family.member_count; i++)
            inherited += family.members[i].inherited_frees;
        tbed_reader_close(reader);
        fixture_free(family.f);
    }
    assert_true(inherited > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heaps_agree_with_a_plain_list),
        cmocka_unit_test(realloc_moves_a_block),
        cmocka_unit_test(realloc_that_fails_leaves_the_old_block),
        cmocka_unit_test(realloc_to_nothing_frees),
        cmocka_unit_test(realloc_frees_nothing_that_has_a_new_owner),
        cmocka_unit_test(frees_of_unknown_addresses_are_counted),
        cmocka_unit_test(slots_are_freed_by_their_bits),
        cmocka_unit_test(arguments_of_another_kind_are_no_slots),
        cmocka_unit_test(a_block_freed_by_another_thread_is_not_temporary),
        cmocka_unit_test(sites_have_their_share_of_the_peak),
        cmocka_unit_test(addresses_of_two_processes_are_different_things),
        cmocka_unit_test(a_trace_without_allocations_has_no_processes),
        cmocka_unit_test(a_forked_process_frees_its_parent_s_blocks_and_has_its_own),
        cmocka_unit_test(a_parent_s_free_between_fork_and_first_event_takes_nothing_from_the_child),
        cmocka_unit_test(what_a_parent_allocates_after_the_fork_is_not_inherited),
        cmocka_unit_test(a_process_without_a_parent_inherits_nothing),
        cmocka_unit_test(a_family_that_forks_at_random_agrees_with_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
