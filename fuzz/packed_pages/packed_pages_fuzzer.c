/*
 * Takes the pages of a packed file in several threads at once, forwards and backwards, with leases: each sees what one
 * thread alone sees, also after units were given back, and if there is no memory for leases and for more than one thread to
 * unpack. Opening fails only if memory runs out or a call fails.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "format/checksum.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "reader/core/container/packed_pages.h"

#define PLAIN_MAX    ((uint64_t)96 << 20)
#define PAGES_MAX    4096u
#define LOOK_NBYTES  64u
#define THREAD_COUNT 3u
#define GROUP_PAGES  5u /* that a lease is for */
#define RUNS_MAX     16u

struct input {
    const uint8_t *data;
    size_t nbytes;
    int fd;         /* -1: in memory */
    int file_errno; /* 0: memory fails */
    enum tbed_status expected;
};

/* ---- Opening ---- */

static enum tbed_status open_packed(const struct input *input, struct tbed_packed **packed_ret)
{
    struct tbed_error error = {.status = TBED_OK};
    *packed_ret = NULL;
    enum tbed_status status = tbed_packed_open(input->fd, input->data, input->nbytes, packed_ret, &error);
    REQUIRE((status == TBED_OK) == (*packed_ret != NULL) && error.status == status);
    return status;
}

static void open_failing(void *context)
{
    const struct input *input = context;
    struct tbed_packed *packed;
    if (input->file_errno == 0)
        failing_start();
    else
        failing_start_files(input->file_errno);
    enum tbed_status status = open_packed(input, &packed);
    failing_stop();
    REQUIRE(status == input->expected || failing_count() > 0);
    tbed_packed_close(packed);
}

static void try_opening(const struct input *given)
{
    const struct failing_plan plan = {.run_count = RUNS_MAX};
    struct input input = *given;
    input.fd = file_of_input(input.data, input.nbytes);
    failing_run(&plan, open_failing, &input);
    input.file_errno = EIO;
    failing_run(&plan, open_failing, &input);
    close(input.fd);
}

/* ---- Pages ---- */

static uint64_t expected[PAGES_MAX]; /* 0: the page is refused */

struct visitor {
    struct tbed_packed *packed, *other;
    pthread_t thread;
    pthread_barrier_t *start;
    bool goes_back;
};

static uint32_t page_count(const struct tbed_packed *packed)
{
    uint64_t count = tbed_packed_file(packed)->page_count;
    return count < PAGES_MAX ? (uint32_t)count : PAGES_MAX;
}

/* What is at both ends of a page. */
static uint64_t look(const struct tbed_packed *packed, uint32_t page)
{
    size_t nbytes = tbed_packed_file(packed)->header.page_nbytes;
    const uint8_t *at = tbed_packed_plain(packed) + page * nbytes;
    return (tbed_hash64(at, LOOK_NBYTES) ^ tbed_hash64(at + nbytes - LOOK_NBYTES, LOOK_NBYTES) * 3) | 1;
}

static void expect_pages(struct tbed_packed *packed)
{
    for (uint32_t page = 0; page < page_count(packed); page++) {
        struct tbed_lease lease;
        tbed_lease_begin(&lease, packed);
        expected[page] = tbed_packed_page_take(packed, page, false) == TBED_OK ? look(packed, page) : 0;
        tbed_lease_end(&lease);
    }
}

static void take(struct tbed_packed *packed, uint32_t page, bool stays)
{
    enum tbed_status status = tbed_packed_page_take(packed, page, stays);
    REQUIRE(status == (expected[page] != 0 ? TBED_OK : TBED_ERR_PACKED_UNIT));
    REQUIRE(status != TBED_OK || look(packed, page) == expected[page]);
}

/* Takes one page after another, and once more the first one of the group, which the lease holds. */
static void *visit(void *argument)
{
    const struct visitor *visitor = argument;
    uint32_t count = page_count(visitor->packed);
    pthread_barrier_wait(visitor->start);
    for (uint32_t i = 0; i < count; i += GROUP_PAGES) {
        struct tbed_lease lease, other;
        tbed_lease_begin(&lease, visitor->packed);
        tbed_lease_begin(&other, visitor->other);
        for (uint32_t j = i; j < i + GROUP_PAGES && j < count; j++) {
            take(visitor->packed, visitor->goes_back ? count - 1 - j : j, j % 101 == 50);
            take(visitor->packed, visitor->goes_back ? count - 1 - i : i, false);
        }
        tbed_lease_end(&other);
        tbed_lease_end(&lease);
    }
    return NULL;
}

/* The caller is the first visitor. Once they have started, there is no memory, if they are to do without it. */
static void run_visitors(struct tbed_packed *packed, struct tbed_packed *other, bool has_memory)
{
    struct visitor visitors[THREAD_COUNT];
    pthread_barrier_t start;
    REQUIRE(pthread_barrier_init(&start, NULL, THREAD_COUNT) == 0);
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        visitors[i] =
            (struct visitor){.packed = packed, .other = other, .start = &start, .goes_back = i == 1};
        if (i > 0)
            REQUIRE(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]) == 0);
    }
    if (!has_memory)
        failing_start();
    visit(&visitors[0]);
    for (unsigned i = 1; i < THREAD_COUNT; i++)
        pthread_join(visitors[i].thread, NULL);
    failing_stop();
    pthread_barrier_destroy(&start);
}

static void visit_without_memory(void *context)
{
    const struct input *input = context;
    struct tbed_packed *packed, *other;
    REQUIRE(open_packed(input, &packed) == TBED_OK && open_packed(input, &other) == TBED_OK);
    run_visitors(packed, other, false);
    tbed_packed_close(packed);
    tbed_packed_close(other);
}

static void visit_pages(struct input *input)
{
    const struct failing_plan plan = {.run_count = 1, .all_later = true};
    struct tbed_packed *packed, *other;
    REQUIRE(open_packed(input, &packed) == TBED_OK && open_packed(input, &other) == TBED_OK);
    if (tbed_packed_file(packed)->header.plain_nbytes <= PLAIN_MAX) {
        expect_pages(packed);
        run_visitors(packed, other, true);
        failing_run(&plan, visit_without_memory, input);
    }
    tbed_packed_close(packed);
    tbed_packed_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_packed *packed;
    struct input input = {.data = data, .nbytes = nbytes, .fd = -1};
    if (!tbed_packed_is(data, nbytes))
        return 0;
    input.expected = open_packed(&input, &packed);
    tbed_packed_close(packed);
    try_opening(&input);
    if (input.expected == TBED_OK)
        visit_pages(&input);
    return 0;
}
