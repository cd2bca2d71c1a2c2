/*
 * Sizes, lifetimes, temporary blocks and memory over time against an oracle that is slow and obvious: a list of all blocks that there ever
 * were, with the ticks at which they came and went. Also the table of live blocks by itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include "reader/analysis/memory/live_map.h"

#include <math.h>
#include <stdio.h>
#include <tracebed/analysis.h>

#define EVENTS     5000u
#define SITE_COUNT 6u
#define ADDRESSES  200u

struct block {
    uint64_t address, nbytes, tick, end_tick;
    uint32_t site;
    bool is_live, is_freed; /* neither: it was replaced */
};

struct log {
    struct fixture *f;
    struct block blocks[EVENTS];
    size_t count;
    uint64_t failed[SITE_COUNT], failed_of_size[70];
    uint64_t peak_nbytes, peak[SITE_COUNT], peak_of_size[70];
    uint64_t ticks[EVENTS], live[EVENTS], counts[EVENTS]; /* behind each event */
    uint64_t random;
};

/* The number of a class, by the powers of two it is below. */
static size_t class_of(uint64_t nbytes)
{
    size_t class = 0;
    for (uint64_t limit = 0; nbytes > limit; limit = limit == 0 ? 8 : 2 * limit)
        class ++;
    return class;
}

/* ---- A random log ---- */

static struct block *find_live(struct log *log, uint64_t address)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->blocks[i].is_live && log->blocks[i].address == address)
            return &log->blocks[i];
    return NULL;
}

static void note_peak(struct log *log)
{
    uint64_t all = 0;
    for (size_t i = 0; i < log->count; i++)
        all += log->blocks[i].is_live ? log->blocks[i].nbytes : 0;
    if (all <= log->peak_nbytes)
        return;
    log->peak_nbytes = all;
    memset(log->peak, 0, sizeof log->peak);
    memset(log->peak_of_size, 0, sizeof log->peak_of_size);
    for (size_t i = 0; i < log->count; i++)
        if (log->blocks[i].is_live) {
            log->peak[log->blocks[i].site] += log->blocks[i].nbytes;
            log->peak_of_size[class_of(log->blocks[i].nbytes)] += log->blocks[i].nbytes;
        }
}

static void end(struct block *block, uint64_t tick, bool is_freed)
{
    if (block == NULL)
        return;
    block->is_live = false;
    block->is_freed = is_freed;
    block->end_tick = tick;
}

static void begin(struct log *log, uint64_t address, uint64_t nbytes, uint64_t tick, uint32_t site)
{
    if (address == 0) {
        log->failed[site]++;
        log->failed_of_size[class_of(nbytes)]++;
        return;
    }
    end(find_live(log, address), tick, false);
    log->blocks[log->count++] = (struct block){address, nbytes, tick, 0, site, true, false};
    note_peak(log);
}

static uint64_t random_size(struct log *log)
{
    uint32_t dice = fixture_random(&log->random), power = dice >> 8 & 15;
    return dice % 3 == 0 ? (1u << power) + (dice >> 16) % 3 - 1 : (dice >> 8) % 100;
}

static void random_step(struct log *log, uint64_t tick)
{
    uint32_t dice = fixture_random(&log->random), stream = 1 + dice % 2, site = (dice >> 4) % SITE_COUNT;
    uint64_t address = 0x10000 + 16 * ((dice >> 8) % ADDRESSES), nbytes = random_size(log);
    uint64_t other = 0x10000 + 16 * (fixture_random(&log->random) % ADDRESSES);
    switch (dice >> 16 & 7) {
    case 0:
        fixture_realloc(log->f, stream, tick, tick, site, address, other, nbytes);
        end(find_live(log, address), tick, true);
        begin(log, other, nbytes, tick, site);
        break;
    case 1:
        fixture_alloc(log->f, stream, tick, site, dice >> 28 == 0 ? 0 : address, nbytes);
        begin(log, dice >> 28 == 0 ? 0 : address, nbytes, tick, site);
        break;
    case 2:
    case 3:
    case 4:
        fixture_release(log->f, stream, tick, address);
        end(find_live(log, address), tick, true);
        break;
    default:
        fixture_alloc(log->f, stream, tick, site, address, nbytes);
        begin(log, address, nbytes, tick, site);
    }
}

static struct log *random_log(uint64_t seed)
{
    struct log *log = calloc(1, sizeof *log);
    uint64_t tick = 1000;
    assert_non_null(log);
    log->f = fixture_new(4096);
    log->random = seed * 0x9E3779B97F4A7C15u;
    for (uint32_t stream = 1; stream <= 2; stream++)
        fixture_stream_record(log->f, stream, 8);
    fixture_process(log->f, 8, 100);
    for (uint32_t i = 0; i < EVENTS; i++) {
        tick += 1 + fixture_random(&log->random) % (i % 64 == 0 ? 100000 : 10);
        random_step(log, tick);
        log->ticks[i] = tick;
        log->counts[i] = log->count;
        for (size_t j = 0; j < log->count; j++)
            log->live[i] += log->blocks[j].is_live ? log->blocks[j].nbytes : 0;
    }
    return log;
}

static void close_log(struct log *log)
{
    fixture_free(log->f);
    free(log);
}

/* ---- What is expected ---- */

static int compare_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* A percentile of sorted figures, as the histogram gives it: within half a bucket. */
static void expect_percentile(uint64_t found, const uint64_t *ticks, size_t count, double fraction)
{
    size_t rank = (size_t)ceil((double)count * fraction);
    double expected = (double)ticks[rank > 0 ? rank - 1 : 0];
    assert_true(fabs((double)found - expected) <= expected / 128);
}

static void expect_lifetimes(const struct tbed_allocation_site *site, uint64_t *ticks, size_t count)
{
    uint64_t total = 0;
    assert_int_equal(site->sums.freed_count, count);
    if (count == 0) {
        assert_int_equal(site->lifetime_ticks | site->lifetime_max_ticks, 0);
        assert_int_equal(site->lifetime_p50_ticks | site->lifetime_p99_ticks, 0);
        return;
    }
    qsort(ticks, count, sizeof *ticks, compare_ticks);
    for (size_t i = 0; i < count; i++)
        total += ticks[i];
    assert_int_equal(site->lifetime_ticks, total);
    assert_int_equal(site->lifetime_max_ticks, ticks[count - 1]);
    assert_true(site->lifetime_p99_ticks <= site->lifetime_max_ticks);
    expect_percentile(site->lifetime_p50_ticks, ticks, count, 0.5);
    expect_percentile(site->lifetime_p99_ticks, ticks, count, 0.99);
}

/* Of the blocks of a site, or of a class of sizes. */
static void expect_site(const struct tbed_allocation_site *site, const struct log *log, size_t key,
                        bool by_size)
{
    static uint64_t ticks[EVENTS];
    struct tbed_allocation_sums sums = site->sums; /* for 'temporary_count' */
    sums.count = sums.nbytes = sums.freed_count = sums.replaced_count = sums.live_count = sums.live_nbytes =
        0;
    for (size_t i = 0; i < log->count; i++) {
        const struct block *block = &log->blocks[i];
        if ((by_size ? class_of(block->nbytes) : block->site) != key)
            continue;
        sums.count++;
        sums.nbytes += block->nbytes;
        sums.live_count += block->is_live;
        sums.live_nbytes += block->is_live ? block->nbytes : 0;
        sums.replaced_count += !block->is_live && !block->is_freed;
        if (block->is_freed)
            ticks[sums.freed_count++] = block->end_tick - block->tick;
    }
    sums.failed_count = by_size ? log->failed_of_size[key] : log->failed[key];
    sums.peak_nbytes = by_size ? log->peak_of_size[key] : log->peak[key];
    assert_memory_equal(&site->sums, &sums, sizeof sums);
    expect_lifetimes(site, ticks, sums.freed_count);
}

static void expect_size_row(const struct tbed_allocation_site *site)
{
    char name[64] = "0";
    if (site->most_nbytes > 0)
        snprintf(name, sizeof name, "%llu to %llu", (unsigned long long)site->least_nbytes,
                 (unsigned long long)site->most_nbytes);
    assert_string_equal(site->name, name);
    assert_int_equal(site->name_nbytes, strlen(name));
    assert_int_equal(site->id, TBED_ID_INVALID);
}

static void blocks_by_size_and_site_agree_with_a_plain_list(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct log *log = random_log(seed);
        struct tbed_reader *reader = fixture_open(log->f);
        const struct tbed_allocation_site *site;
        struct tbed_allocations *allocations;
        for (unsigned by_size = 0; by_size < 2; by_size++) {
            uint64_t before = 0, count = 0;
            struct tbed_analysis_options options = {
                .size = sizeof options, .thread_count = 2, .by_size = by_size == 1, .keep_lifetimes = true};
            assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
            for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
                expect_site(site, log, by_size ? class_of(site->most_nbytes) : site->id, by_size == 1);
                if (by_size == 0)
                    continue;
                expect_size_row(site);
                assert_true(site->least_nbytes == 0 || site->least_nbytes > before);
                before = site->most_nbytes;
            }
            for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++)
                count += site->sums.count;
            assert_int_equal(count, log->count);
            tbed_allocations_close(allocations);
        }
        tbed_reader_close(reader);
        close_log(log);
    }
}

static void the_largest_sizes_have_a_class(void **state)
{
    struct fixture *f = fixture_new(4096);
    struct tbed_analysis_options options = {.size = sizeof options, .by_size = true};
    struct tbed_allocations *allocations;
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0, UINT64_MAX);
    fixture_alloc(f, 1, 11, 1, 0, (uint64_t)1 << 63);
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    assert_int_equal(tbed_allocations_site(allocations, 0)->most_nbytes, (uint64_t)1 << 63);
    assert_string_equal(tbed_allocations_site(allocations, 1)->name,
                        "9223372036854775809 to 18446744073709551615");
    assert_null(tbed_allocations_site(allocations, 2));
    tbed_allocations_close(allocations);
    options.by_stack = true;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_ERR_ARGUMENT);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* ---- Over time ---- */

/* What is live between two events is the same all that time. */
static void expect_moment(const struct tbed_allocation_moment *moment, uint64_t end_tick,
                          const struct log *log)
{
    uint64_t least = UINT64_MAX, most = 0, at_end = 0, covered = 0, before = 0, count = 0;
    double area = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t from = log->ticks[i], to = i + 1 < EVENTS ? log->ticks[i + 1] : from;
        bool begins_here = from >= moment->tick && from < end_tick;
        count += begins_here ? log->counts[i] - before : 0;
        before = log->counts[i];
        from = from > moment->tick ? from : moment->tick;
        to = to < end_tick ? to : end_tick;
        if (!begins_here && from >= to)
            continue;
        least = log->live[i] < least ? log->live[i] : least;
        most = log->live[i] > most ? log->live[i] : most;
        at_end = log->live[i];
        area += from < to ? (double)(to - from) * (double)log->live[i] : 0;
        covered += from < to ? to - from : 0;
    }
    assert_int_equal(moment->count, count);
    assert_int_equal(moment->least_nbytes, least == UINT64_MAX ? 0 : least);
    assert_int_equal(moment->peak_nbytes, most);
    assert_int_equal(moment->live_nbytes, at_end);
    assert_true(fabs((double)moment->mean_nbytes - (covered > 0 ? area / (double)covered : (double)at_end)) <=
                1);
}

static void memory_over_time_agrees_with_what_is_live_between_events(void **state)
{
    static const uint32_t counts[] = {1, 2, 7, 100, 20000};
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct log *log = random_log(seed);
        struct tbed_reader *reader = fixture_open(log->f);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            struct tbed_analysis_options options = {.size = sizeof options, .moment_count = counts[i]};
            const struct tbed_allocation_moment *moment, *next;
            struct tbed_allocations *allocations;
            assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
            for (size_t j = 0; (moment = tbed_allocations_moment(allocations, j)) != NULL; j++) {
                next = tbed_allocations_moment(allocations, j + 1);
                if (counts[i] < 1000 || j % 7 == 0)
                    expect_moment(moment, next != NULL ? next->tick : UINT64_MAX, log);
            }
            tbed_allocations_close(allocations);
        }
        tbed_reader_close(reader);
        close_log(log);
    }
}

/* ---- Temporary blocks ---- */

static uint64_t count_temporary(struct fixture *f)
{
    struct tbed_allocations *allocations;
    struct tbed_allocation_sums sums;
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_allocations_make(reader, NULL, &allocations), TBED_OK);
    tbed_allocations_totals(allocations, &sums);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
    return sums.temporary_count;
}

static void each_link_of_a_chain_of_reallocs_is_temporary(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 10);
    for (uint64_t i = 1; i < 10; i++) /* every other one stays in its place */
        fixture_realloc(f, 1, 10 + i, 10 + i, 1, 0x1000 * ((i + 1) / 2), 0x1000 * (i / 2 + 1), 10 * i);
    fixture_release(f, 1, 30, 0x5000);
    assert_int_equal(count_temporary(f), 10);
}

static void calls_that_do_nothing_come_between_no_others(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 10);
    fixture_release(f, 1, 11, 0);
    fixture_alloc(f, 1, 12, 1, 0, 1000);
    fixture_realloc(f, 1, 13, 13, 1, 0x1000, 0, 1000);
    fixture_realloc(f, 1, 14, 14, 1, 0, 0, 0);
    fixture_release(f, 1, 15, 0x1000);
    assert_int_equal(count_temporary(f), 1);
}

static void a_free_or_an_allocation_in_between_counts(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 10);
    fixture_alloc(f, 1, 11, 1, 0x2000, 10);
    fixture_release(f, 1, 12, 0x1000);
    fixture_release(f, 1, 13, 0x2000);
    fixture_alloc(f, 1, 14, 1, 0x1000, 10);
    fixture_realloc(f, 1, 15, 15, 1, 0x9000, 0, 0); /* frees what is not known */
    fixture_release(f, 1, 16, 0x1000);
    assert_int_equal(count_temporary(f), 0);
}

/* ---- Lifetimes ---- */

static void a_realloc_ends_a_lifetime_when_it_returns(void **state)
{
    struct fixture *f = fixture_new(4096);
    struct tbed_analysis_options options = {.size = sizeof options, .keep_lifetimes = true};
    struct tbed_allocations *allocations;
    (void)state;
    fixture_alloc(f, 1, 100, 1, 0x1000, 10);
    fixture_realloc(f, 1, 130, 140, 2, 0x1000, 0x2000, 20);
    fixture_release(f, 1, 150, 0x2000);
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    assert_int_equal(tbed_allocations_site(allocations, 0)->lifetime_ticks, 40);
    assert_int_equal(tbed_allocations_site(allocations, 0)->lifetime_p50_ticks, 40);
    assert_int_equal(tbed_allocations_site(allocations, 1)->lifetime_max_ticks, 10);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* The first site's figures. */
static struct tbed_allocation_site lifetimes_of(struct fixture *f)
{
    struct tbed_analysis_options options = {.size = sizeof options, .keep_lifetimes = true};
    struct tbed_allocations *allocations;
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    struct tbed_allocation_site site = *tbed_allocations_site(allocations, 0);
    assert_null(tbed_allocations_site(allocations, 1));
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    fixture_free(f);
    return site;
}

static void a_block_lives_no_time_if_the_clock_steps_back(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_instant(f, 1, 100, 1);
    fixture_alloc(f, 1, 130, 1, 0x1000, 10);
    fixture_release(f, 1, 120, 0x1000);
    struct tbed_allocation_site site = lifetimes_of(f);
    assert_int_equal(site.sums.freed_count, 1);
    assert_int_equal(site.lifetime_ticks | site.lifetime_max_ticks | site.lifetime_p50_ticks, 0);
}

static void map(struct fixture *f, uint64_t tick, uint64_t address)
{
    uint64_t fixed[2] = {address, 0x2000};
    fixture_extended(f, 1, tick, 1, TBED_EXT_ALLOC, TBED_FUNCTION_MMAP, fixed, 2);
}

static void a_mapping_lives_until_it_is_unmapped_but_not_until_it_is_replaced(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    map(f, 100, 0x10000);
    fixture_release(f, 1, 140, 0x10000);
    map(f, 150, 0x10000);
    map(f, 155, 0x10000);
    fixture_release(f, 1, 190, 0x10000);
    struct tbed_allocation_site site = lifetimes_of(f);
    assert_int_equal(site.sums.count, 3);
    assert_int_equal(site.sums.freed_count, 2);
    assert_int_equal(site.sums.replaced_count, 1);
    assert_int_equal(site.lifetime_ticks, 75);
    assert_int_equal(site.lifetime_max_ticks, 40);
}

static void the_sum_of_lifetimes_ends_at_the_largest_number(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 10, 1, 0x1000, 10);
    fixture_alloc(f, 1, 20, 1, 0x2000, 10);
    fixture_release(f, 2, UINT64_MAX - 10, 0x1000);
    fixture_release(f, 2, UINT64_MAX - 5, 0x2000);
    struct tbed_allocation_site site = lifetimes_of(f);
    assert_int_equal(site.sums.freed_count, 2);
    assert_true(site.lifetime_ticks == UINT64_MAX && site.lifetime_max_ticks == UINT64_MAX - 20);
}

static void lifetimes_of_several_processes_are_one(void **state)
{
    (void)state;
    for (uint64_t longer = 1; longer <= 2; longer++) {
        struct fixture *f = fixture_new(4096);
        for (uint32_t stream = 1; stream <= 2; stream++) {
            fixture_stream_record(f, stream, 7 + stream);
            fixture_process(f, 7 + stream, 99 + stream);
            fixture_alloc(f, stream, 100, 1, 0x1000, 10);
            fixture_release(f, stream, stream == longer ? 130 : 110, 0x1000);
        }
        struct tbed_allocation_site site = lifetimes_of(f);
        assert_int_equal(site.sums.freed_count, 2);
        assert_int_equal(site.lifetime_ticks, 40);
        assert_int_equal(site.lifetime_max_ticks, 30);
        assert_int_equal(site.lifetime_p50_ticks, 10);
        assert_int_equal(site.lifetime_p99_ticks, 30);
    }
}

/* ---- The table of live blocks by itself ---- */

static void the_live_map_forgets_nothing(void **state)
{
    static uint64_t sizes[20000];
    struct live_map map;
    uint64_t random = 3;
    size_t count = 0;
    (void)state;
    memset(sizes, 0, sizeof sizes);
    tbed_live_map_open(&map);
    for (uint32_t i = 1; i < 300000; i++) {
        uint32_t key = 1 + fixture_random(&random) % 19999;
        struct live_block *block = tbed_live_map_find(&map, 16 * (uint64_t)key);
        assert_int_equal(block != NULL, sizes[key] != 0);
        if (block != NULL) {
            assert_int_equal(block->nbytes, sizes[key]);
            tbed_live_map_remove(&map, block);
            sizes[key] = 0;
            count--;
        } else {
            struct live_block added = {.address = 16 * (uint64_t)key, .nbytes = i};
            assert_true(tbed_live_map_add(&map, &added));
            sizes[key] = i;
            count++;
        }
    }
    assert_int_equal(map.count, count);
    tbed_live_map_close(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_by_size_and_site_agree_with_a_plain_list),
        cmocka_unit_test(the_largest_sizes_have_a_class),
        cmocka_unit_test(memory_over_time_agrees_with_what_is_live_between_events),
        cmocka_unit_test(each_link_of_a_chain_of_reallocs_is_temporary),
        cmocka_unit_test(calls_that_do_nothing_come_between_no_others),
        cmocka_unit_test(a_free_or_an_allocation_in_between_counts),
        cmocka_unit_test(a_realloc_ends_a_lifetime_when_it_returns),
        cmocka_unit_test(a_block_lives_no_time_if_the_clock_steps_back),
        cmocka_unit_test(a_mapping_lives_until_it_is_unmapped_but_not_until_it_is_replaced),
        cmocka_unit_test(the_sum_of_lifetimes_ends_at_the_largest_number),
        cmocka_unit_test(lifetimes_of_several_processes_are_one),
        cmocka_unit_test(the_live_map_forgets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
