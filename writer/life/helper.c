/*
 * The helper thread: allocates the disk, faults in pages ahead of the recorders, seals the pages that they have filled,
 * and syncs the file if that is wanted.
 *
 * It sleeps until a recorder claims a page beyond the low-water mark. Its lead is what the program uses up in a
 * certain time, at its most recent rate; that time grows when the recorders overtake the helper. When no page has been
 * claimed for a while it gives the memory back and sleeps until it is needed.
 *
 * It starts with the writer, because a record may come from a signal handler, and a handler must not start a thread.
 * In a process that fills no pages it has nothing to do. If the options forbid it, the recorders do its work.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "writer/base/kernel.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"
#include "writer/life/helper.h"
#include "writer/pages/pages.h"
#include "writer/pages/ring.h"
#include "writer/record/recorders.h"
#include "writer/store/records.h"

#define AHEAD_NBYTES_MIN   ((uint64_t)2 << 20)
#define AHEAD_NBYTES_NEW   ((uint64_t)16 << 20) /* before the rate is known */
#define AHEAD_NBYTES_MAX   ((uint64_t)64 << 20)
#define CHUNK_NBYTES       ((uint64_t)2 << 20)
#define RELEASE_NBYTES     ((uint64_t)64 << 20) /* filled pages are released in steps of this size */
#define ANCHOR_INTERVAL_NS 1000000000u
#define QUIET_NS           1000000000u /* without a claim; memory is given back after at most twice this time */
#define LEAD_NS_MIN        50000000u
#define LEAD_NS_MAX        400000000u
#define RATE_NS            20000000u /* the rate is measured over at least this time */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t claimed_page_count(const struct tbed_file *file)
{
    return tbed_shared_load(&tbed_shared(file)->page_count);
}

/* An importer has no thread that page faults would delay, and may produce events faster than any program. */
static uint64_t ahead_nbytes_max(const struct tbed_file *file)
{
    return file->clock.is_given ? AHEAD_NBYTES_NEW : AHEAD_NBYTES_MAX;
}

/* The lead rises at once and falls by halves. */
static void lead_follow(struct tbed_helper *helper, uint64_t claimed)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    uint64_t now_ns = tbed_monotonic_ns(), passed_ns = now_ns - helper->thread.rate_ns;
    if (passed_ns < RATE_NS)
        return;
    double pages =
        (double)(claimed - helper->thread.rate_pages) * (double)helper->thread.lead_ns / (double)passed_ns;
    double wanted = pages * file->page_nbytes;
    uint64_t ahead = link->ahead_nbytes;
    if (wanted < (double)ahead)
        wanted = (wanted + (double)ahead) / 2;
    if (wanted < (double)AHEAD_NBYTES_MIN)
        wanted = (double)AHEAD_NBYTES_MIN;
    if (wanted > (double)ahead_nbytes_max(file))
        wanted = (double)ahead_nbytes_max(file);
    __atomic_store_n(&link->ahead_nbytes, (uint64_t)wanted, __ATOMIC_RELAXED);
    helper->thread.rate_ns = now_ns;
    helper->thread.rate_pages = claimed;
}

/* A ring never grows, so it gets its large folios here: a process that fills few of its pages does without them. */
static bool ring_step(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    if (!helper->thread.has_advised)
        tbed_file_advise_many(file);
    helper->thread.has_advised = true;
    return tbed_ring_make_ready(file);
}

/* False: the lead is complete, or the disk is full or the like, which the recorders will find out themselves. */
static bool populate_step(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    enum tbed_drop_cause cause;
    if (tbed_is_lost(file))
        return false;
    if (file->fields.ring_page_count != 0)
        return ring_step(helper);
    uint64_t claimed = claimed_page_count(file);
    if (link->populated_pages < claimed) {
        /* The recorders have overtaken the helper: its lead is too short. */
        if (link->populated_pages != 0 && helper->thread.lead_ns < LEAD_NS_MAX)
            helper->thread.lead_ns *= 2;
        __atomic_store_n(&link->populated_pages, claimed, __ATOMIC_RELEASE);
    }
    lead_follow(helper, claimed);
    uint64_t target = claimed + (link->ahead_nbytes >> file->page_shift);
    if (link->populated_pages >= target)
        return false;
    uint64_t chunk = CHUNK_NBYTES >> file->page_shift;
    uint64_t count = target - link->populated_pages < chunk ? target - link->populated_pages : chunk;
    if (!tbed_file_back(file, link->populated_pages + count - 1, &cause))
        return false;
    madvise(file->map + (link->populated_pages << file->page_shift), (size_t)(count << file->page_shift),
            MADV_POPULATE_WRITE);
    __atomic_store_n(&link->populated_pages, link->populated_pages + count, __ATOMIC_RELEASE);
    return true;
}

/* Only if pages have been claimed: a program that records nothing needs no anchors, and would have them synced. */
static void anchor_now_and_then(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    uint64_t now_ns = tbed_monotonic_ns();
    uint32_t claims = __atomic_load_n(&file->process.claimed_pages, __ATOMIC_RELAXED);
    if (now_ns - helper->thread.last_anchor_ns < ANCHOR_INTERVAL_NS || claims == helper->thread.anchor_claims)
        return;
    helper->thread.last_anchor_ns = now_ns;
    helper->thread.anchor_claims = claims;
    if (tbed_state_lock(file)) {
        tbed_anchor_append(helper->store);
        tbed_state_unlock(file);
    }
}

/*
 * Gives back memory that was made ready and not used, or filled long ago. The data stays in the file and in the
 * kernel's memory, so nothing is lost even if threads are writing: a thread that goes on in its page has a fault for
 * each 4 KiB. The disk beyond the claimed pages stays allocated until the close, since a recorder may be about to
 * claim it.
 */
static void give_back(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    uint64_t claimed = claimed_page_count(file);
    uint64_t end = (link->populated_pages > claimed ? link->populated_pages : claimed) << file->page_shift;
    if (end > file->map_nbytes) /* another process has a higher limit */
        end = file->map_nbytes;
    helper->thread.has_memory = false;
    helper->thread.lead_ns = LEAD_NS_MIN;
    __atomic_store_n(&link->ahead_nbytes, AHEAD_NBYTES_MIN, __ATOMIC_RELAXED);
    __atomic_store_n(&link->populated_pages, 0,
                     __ATOMIC_SEQ_CST); /* from now on, whoever claims a page wakes us */
    madvise(file->map, (size_t)end, MADV_DONTNEED);
}

/*
 * Pages that were filled leave the resident memory (not the file), in large steps: each interrupts all cores that run
 * the program. The last step stays, so that few threads are still in their pages; those have a fault.
 */
static void release_filled(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    uint64_t claimed = claimed_page_count(file) << file->page_shift;
    uint64_t released = least(helper->thread.released_nbytes, claimed); /* a rotation begins anew */
    if (file->fields.ring_page_count != 0 || tbed_is_lost(file) || claimed > file->map_nbytes ||
        claimed < released + 2 * RELEASE_NBYTES)
        return;
    uint64_t end = (claimed - RELEASE_NBYTES) & ~(RELEASE_NBYTES - 1);
    madvise(file->map + released, (size_t)(end - released), MADV_DONTNEED);
    helper->thread.released_nbytes = end;
}

/* How long until the program has been quiet for long enough; UINT64_MAX: there is no memory to give back. */
static uint64_t quiet_left_ns(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    uint64_t now_ns = tbed_monotonic_ns();
    uint32_t claims = __atomic_load_n(&file->process.claimed_pages, __ATOMIC_RELAXED);
    if (claims != helper->thread.quiet_claims) {
        helper->thread.quiet_claims = claims;
        helper->thread.quiet_ns = now_ns;
    }
    if (!helper->thread.has_memory)
        return UINT64_MAX;
    uint64_t quiet_ns = now_ns - helper->thread.quiet_ns;
    return quiet_ns < QUIET_NS ? QUIET_NS - quiet_ns : 0;
}

/*
 * Sleeps without a timeout if there is nothing to give back, no file that grows too old and none to be synced, so that a
 * quiet program has no thread that wakes up.
 */
static void sleep_until_woken(struct tbed_helper *helper, uint32_t wake, uint64_t longest_ns)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    uint64_t wait_ns = least(quiet_left_ns(helper), longest_ns);
    __atomic_store_n(&link->is_asleep, true, __ATOMIC_SEQ_CST);
    bool has_timed_out = tbed_futex_wait(&link->wake, wake, wait_ns) != 0 && errno == ETIMEDOUT;
    __atomic_store_n(&link->is_asleep, false, __ATOMIC_SEQ_CST);
    if (!has_timed_out)
        helper->thread.has_memory = true;
    else if (quiet_left_ns(helper) == 0)
        give_back(helper);
}

static void *helper_run(void *argument)
{
    struct tbed_helper *helper = argument;
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    tbed_barrier_register();
    for (;;) {
        uint32_t wake = __atomic_load_n(&link->wake, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&helper->thread.must_stop,
                            __ATOMIC_ACQUIRE)) /* loaded after 'wake', or it might sleep forever */
            break;
        tbed_seal_queue_run(file);
        release_filled(helper);
        uint64_t rotation_ns = file->hooks->rotate_if_due(file, NULL);
        uint64_t sync_ns = file->hooks->sync_if_due(file);
        if (helper->thread.has_memory && populate_step(helper))
            continue;
        if (!tbed_is_lost(file))
            anchor_now_and_then(helper);
        sleep_until_woken(helper, wake, least(rotation_ns, sync_ns));
    }
    return NULL;
}

static bool is_only_thread(void)
{
    struct stat tasks;
    /* One link for each thread's folder, and two of its own. */
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

/*
 * The helper must not receive signals that the program expects in its own threads. It takes SIGBUS if the file is
 * guarded: the kernel kills a process whose thread blocks the signal of its own fault.
 */
static void start(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    sigset_t all, before;
    tbed_seal_queue_begin(file);
    __atomic_store_n(&link->ahead_nbytes, AHEAD_NBYTES_NEW, __ATOMIC_RELAXED);
    helper->thread.lead_ns = LEAD_NS_MIN;
    helper->thread.has_memory = helper->thread.has_advised = false;
    helper->thread.last_anchor_ns = helper->thread.rate_ns = helper->thread.quiet_ns = tbed_monotonic_ns();
    helper->thread.rate_pages = claimed_page_count(file);
    helper->thread.released_nbytes = 0;
    __atomic_store_n(&helper->thread.must_stop, false, __ATOMIC_RELEASE);
    if (is_only_thread()) /* otherwise the helper does it, since it takes a while */
        tbed_barrier_register();
    sigfillset(&all);
    if (file->is_guarded)
        sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&helper->thread.id, NULL, helper_run, helper) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        pthread_setname_np(helper->thread.id, "tracebed");
    __atomic_store_n(is_started ? &link->is_running : &helper->thread.cannot_start, true, __ATOMIC_RELEASE);
}

void tbed_helper_start(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    if (!helper->is_wanted || tbed_is_sandboxed() || __atomic_load_n(&link->is_running, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&helper->thread.cannot_start, __ATOMIC_ACQUIRE) || !tbed_state_lock(file))
        return;
    if (!link->is_running && !helper->thread.cannot_start)
        start(helper);
    tbed_state_unlock(file);
}

void tbed_helper_stop(struct tbed_helper *helper)
{
    struct tbed_file *file = &helper->store->file;
    struct tbed_helper_link *link = &file->helper_link;
    if (!link->is_running)
        return;
    __atomic_store_n(&helper->thread.must_stop, true, __ATOMIC_RELEASE);
    tbed_helper_wake(link);
    pthread_join(helper->thread.id, NULL);
    tbed_seal_queue_run(file);
    link->is_running = false;
}
