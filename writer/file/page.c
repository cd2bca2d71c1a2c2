/*
 * Pages, claimed one by one from the end of the file.
 *
 * Source: spec/format.md, section 4.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "writer/file/private.h"

/* A page is claimed only once the disk has room for it, so that no claim is ever lost. */
static bool claim_number(struct tbed_writer *writer, uint64_t *page_ret, enum tbed_drop_cause *cause_ret)
{
    tbed_le64 *count = &tbed_shared(writer)->page_count;
    uint64_t page = tbed_shared_load(count);
    do {
        if (!tbed_file_back(writer, page, cause_ret))
            return false;
    } while (!tbed_shared_swap(count, &page, page + 1));
    *page_ret = page;
    return true;
}

/* After a failure nobody asks the kernel again for a while: a full disk must not cost system calls by the
 * event. */
static bool is_too_early(struct tbed_writer *writer, enum tbed_drop_cause *cause_ret)
{
    uint64_t retry_ns = __atomic_load_n(&writer->retry_ns, __ATOMIC_RELAXED);
    *cause_ret = (enum tbed_drop_cause)__atomic_load_n(&writer->retry_cause, __ATOMIC_RELAXED);
    return retry_ns != 0 && tbed_monotonic_ns() < retry_ns;
}

static void wait_before_retry(struct tbed_writer *writer, enum tbed_drop_cause cause)
{
    __atomic_store_n(&writer->retry_cause, (uint32_t)cause, __ATOMIC_RELAXED);
    __atomic_store_n(&writer->retry_ns, tbed_monotonic_ns() + TBED_RETRY_NS, __ATOMIC_RELAXED);
}

/* Streams that are written to seldom would keep all their cells resident. What is still in use comes back. */
static void release_below(struct tbed_writer *writer, uint64_t page)
{
    uint64_t interval = TBED_RESIDENT_NBYTES >> writer->page_shift;
    if (writer->has_given_ticks && page % interval == 0)
        madvise(writer->map, page << writer->page_shift, MADV_DONTNEED);
}

/* The helper's lead over the recorders is down to half of what it should be. */
static bool lead_is_low(const struct tbed_writer *writer, uint64_t page)
{
    const struct tbed_helper *helper = &writer->helper;
    uint64_t populated = __atomic_load_n(&helper->populated_pages, __ATOMIC_ACQUIRE);
    uint64_t low_water = __atomic_load_n(&helper->ahead_nbytes, __ATOMIC_RELAXED) / 2 >> writer->page_shift;
    return page + low_water >= populated;
}

uint8_t *tbed_page_claim(struct tbed_writer *writer, enum tbed_drop_cause *cause_ret)
{
    uint64_t page;
    if (is_too_early(writer, cause_ret))
        return NULL;
    if (!claim_number(writer, &page, cause_ret)) {
        if (*cause_ret != TBED_DROP_INTERRUPTED)
            wait_before_retry(writer, *cause_ret);
        return NULL;
    }
    tbed_helper_page_taken(writer, page, lead_is_low(writer, page));
    release_below(writer, page);
    return writer->map + (page << writer->page_shift);
}
