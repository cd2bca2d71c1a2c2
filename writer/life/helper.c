/*
 * The helper thread: allocates the disk, faults pages in ahead of the recorders, seals what they have filled.
 *
 * It sleeps until a recorder claims a page past the low-water mark. Its lead is as much as the program takes in a
 * certain time, at the rate that it had last; the time grows when the recorders overtake the helper. When no page has
 * been claimed for a while it gives the memory back, and then sleeps until it is needed.
 *
 * It starts with the writer, since a record may be a signal handler's and no handler may start a thread; it has nothing
 * to do in a process that fills no pages. Where the options forbid it the recorders do the same work themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/file/private.h"

#define ANCHOR_INTERVAL_NS 1000000000u
#define QUIET_NS           1000000000u /* without a claim; the memory is given back at most twice as late */
#define LEAD_NS_MIN        50000000u
#define LEAD_NS_MAX        400000000u
#define RATE_NS            20000000u /* measured over no less */

static uint64_t claimed_page_count(const struct tbed_writer *writer)
{
    return tbed_shared_load(&tbed_shared(writer)->page_count);
}

/* An importer has no thread that a page fault would hurt, and what it gives may come faster than any program's. */
static uint64_t ahead_nbytes_max(const struct tbed_writer *writer)
{
    return writer->has_given_ticks ? TBED_HELPER_AHEAD_NBYTES_NEW : TBED_HELPER_AHEAD_NBYTES_MAX;
}

/* Up at once, down by halves. */
static void lead_follow(struct tbed_writer *writer, uint64_t claimed)
{
    struct tbed_helper *helper = &writer->helper;
    uint64_t now_ns = tbed_monotonic_ns(), passed_ns = now_ns - helper->rate_ns;
    if (passed_ns < RATE_NS)
        return;
    double pages = (double)(claimed - helper->rate_pages) * (double)helper->lead_ns / (double)passed_ns;
    double wanted = pages * writer->page_nbytes;
    uint64_t ahead = helper->ahead_nbytes;
    if (wanted < (double)ahead)
        wanted = (wanted + (double)ahead) / 2;
    if (wanted < (double)TBED_HELPER_AHEAD_NBYTES_MIN)
        wanted = (double)TBED_HELPER_AHEAD_NBYTES_MIN;
    if (wanted > (double)ahead_nbytes_max(writer))
        wanted = (double)ahead_nbytes_max(writer);
    __atomic_store_n(&helper->ahead_nbytes, (uint64_t)wanted, __ATOMIC_RELAXED);
    helper->rate_ns = now_ns;
    helper->rate_pages = claimed;
}

/* False: the disk is full, or the like; the recorders will come across it themselves. */
static bool populate_step(struct tbed_writer *writer)
{
    struct tbed_helper *helper = &writer->helper;
    enum tbed_drop_cause cause;
    if (writer->fields.ring_page_count != 0)
        return tbed_ring_make_ready(writer);
    uint64_t claimed = claimed_page_count(writer);
    if (helper->populated_pages < claimed) {
        if (helper->populated_pages != 0 &&
            helper->lead_ns < LEAD_NS_MAX) /* overtaken: the lead is too short */
            helper->lead_ns *= 2;
        __atomic_store_n(&helper->populated_pages, claimed, __ATOMIC_RELEASE);
    }
    lead_follow(writer, claimed);
    uint64_t target = claimed + (helper->ahead_nbytes >> writer->page_shift);
    if (helper->populated_pages >= target)
        return false;
    uint64_t chunk = TBED_HELPER_CHUNK_NBYTES >> writer->page_shift;
    uint64_t count = target - helper->populated_pages < chunk ? target - helper->populated_pages : chunk;
    if (!tbed_file_back(writer, helper->populated_pages + count - 1, &cause))
        return false;
    madvise(writer->map + (helper->populated_pages << writer->page_shift), count << writer->page_shift,
            MADV_POPULATE_WRITE);
    __atomic_store_n(&helper->populated_pages, helper->populated_pages + count, __ATOMIC_RELEASE);
    return true;
}

static void anchor_now_and_then(struct tbed_writer *writer)
{
    uint64_t now_ns = tbed_monotonic_ns();
    if (now_ns - writer->helper.last_anchor_ns < ANCHOR_INTERVAL_NS)
        return;
    writer->helper.last_anchor_ns = now_ns;
    if (tbed_writer_lock(writer)) {
        tbed_anchor_append(writer);
        tbed_writer_unlock(writer);
    }
}

/*
 * What was made ready and not used, and what was filled long ago. It stays in the file and in the kernel's memory, so
 * that nothing is lost whoever writes meanwhile: who goes on in its page has a fault for each 4 KiB. The disk beyond
 * the claims stays until the close: a recorder may be about to claim it.
 */
static void give_back(struct tbed_writer *writer)
{
    struct tbed_helper *helper = &writer->helper;
    uint64_t claimed = claimed_page_count(writer);
    uint64_t end = (helper->populated_pages > claimed ? helper->populated_pages : claimed)
                   << writer->page_shift;
    if (end > writer->map_nbytes) /* another process has a higher limit */
        end = writer->map_nbytes;
    madvise(writer->map, end, MADV_DONTNEED);
    helper->lead_ns = LEAD_NS_MIN;
    __atomic_store_n(&helper->ahead_nbytes, TBED_HELPER_AHEAD_NBYTES_MIN, __ATOMIC_RELAXED);
    __atomic_store_n(&helper->populated_pages, 0, __ATOMIC_RELEASE);
    helper->has_memory = false;
}

/*
 * Without a timeout where there is nothing to give back and no file gets too old: a quiet program has no thread that
 * wakes up.
 */
static void sleep_until_woken(struct tbed_writer *writer, uint32_t wake)
{
    struct tbed_helper *helper = &writer->helper;
    uint64_t rotation_ns = tbed_rotation_left_ns(writer);
    bool waits_for_quiet = helper->has_memory && QUIET_NS <= rotation_ns;
    uint64_t wait_ns = waits_for_quiet ? QUIET_NS : rotation_ns;
    struct timespec timeout = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                               .tv_nsec = (long)(wait_ns % 1000000000u)};
    helper->quiet_claims = __atomic_load_n(&writer->claimed_pages, __ATOMIC_RELAXED);
    __atomic_store_n(&helper->is_asleep, true, __ATOMIC_SEQ_CST);
    long result = syscall(SYS_futex, &helper->wake, FUTEX_WAIT_PRIVATE, wake,
                          wait_ns != UINT64_MAX ? &timeout : NULL, NULL, 0);
    bool has_timed_out = result != 0 && errno == ETIMEDOUT;
    __atomic_store_n(&helper->is_asleep, false, __ATOMIC_SEQ_CST);
    if (!has_timed_out)
        helper->has_memory = true;
    else if (waits_for_quiet &&
             helper->quiet_claims == __atomic_load_n(&writer->claimed_pages, __ATOMIC_RELAXED))
        give_back(writer);
}

static void *helper_run(void *argument)
{
    struct tbed_writer *writer = argument;
    struct tbed_helper *helper = &writer->helper;
    tbed_barrier_register();
    for (;;) {
        uint32_t wake = __atomic_load_n(&helper->wake, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&helper->must_stop,
                            __ATOMIC_ACQUIRE)) /* after 'wake': else it may sleep for ever */
            break;
        tbed_helper_seal_all(writer);
        writer->hooks->rotate_if_due(writer, NULL);
        if (helper->has_memory && populate_step(writer))
            continue;
        anchor_now_and_then(writer);
        sleep_until_woken(writer, wake);
    }
    return NULL;
}

static bool is_only_thread(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 &&
           tasks.st_nlink == 3; /* a folder each, and two names of its own */
}

/* It must not take a signal that the program means for a thread of its own. */
static void start(struct tbed_writer *writer)
{
    struct tbed_helper *helper = &writer->helper;
    sigset_t all, before;
    helper->ahead_nbytes = TBED_HELPER_AHEAD_NBYTES_NEW;
    helper->lead_ns = LEAD_NS_MIN;
    helper->has_memory = false;
    helper->last_anchor_ns = helper->rate_ns = tbed_monotonic_ns();
    helper->rate_pages = claimed_page_count(writer);
    __atomic_store_n(&helper->must_stop, false, __ATOMIC_RELEASE);
    if (is_only_thread()) /* else the helper does it, for it takes a while */
        tbed_barrier_register();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&helper->thread, NULL, helper_run, writer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        pthread_setname_np(helper->thread, "tracebed");
    __atomic_store_n(is_started ? &helper->is_running : &helper->cannot_start, true, __ATOMIC_RELEASE);
}

void tbed_helper_start(struct tbed_writer *writer)
{
    struct tbed_helper *helper = &writer->helper;
    if (!writer->wants_helper || __atomic_load_n(&helper->is_running, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&helper->cannot_start, __ATOMIC_ACQUIRE) || !tbed_writer_lock(writer))
        return;
    if (!helper->is_running && !helper->cannot_start)
        start(writer);
    tbed_writer_unlock(writer);
}

void tbed_helper_stop(struct tbed_writer *writer)
{
    struct tbed_helper *helper = &writer->helper;
    if (!helper->is_running)
        return;
    __atomic_store_n(&helper->must_stop, true, __ATOMIC_RELEASE);
    tbed_helper_wake(helper);
    pthread_join(helper->thread, NULL);
    tbed_helper_seal_all(writer);
    helper->is_running = false;
}
