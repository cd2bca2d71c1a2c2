/*
 * Claiming pages, one after the other, at the end of the file.
 *
 * Source: spec/format.md, section 4.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "format/file/directory.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/pages/pages.h"

/* With a clock given by the program, memory is released each time this much has been claimed. */
#define RESIDENT_NBYTES ((uint64_t)64 << 20)
/* After a failure, no page is tried for this long. */
#define RETRY_NS 50000000u

/*
 * A file that is joined may have bytes after its claimed pages. Claiming such a page would turn them into damage, and
 * they may be a block whose claim was lost in a power cut, so they must not be cleared either.
 */
static bool has_strange_bytes(const struct tbed_file *file, uint64_t page, bool is_directory)
{
    const uint8_t *at = file->map + (page << file->page_shift);
    if (page >= file->growth.found_pages)
        return false;
    return is_directory ? !tbed_directory_page_is_fresh(file->map, file->page_nbytes, page)
                        : !tbed_bytes_are_zero(at, file->page_nbytes);
}

/*
 * A page is claimed only once the disk has room for it, so that no claim is ever lost. A directory page is begun before
 * it is claimed, by the first thread whose claim reaches it. writer/tests/models/claim_model_test.c has a model of this.
 */
static bool claim_number(struct tbed_file *file, uint64_t *page_ret, enum tbed_drop_cause *cause_ret)
{
    tbed_le64 *count = &tbed_shared(file)->page_count;
    uint64_t page = tbed_shared_load(count);
    for (;;) {
        if (!tbed_file_back(file, page, cause_ret))
            return false;
        bool is_directory = tbed_directory_has_page(file->page_nbytes, page);
        if (has_strange_bytes(file, page, is_directory)) {
            *cause_ret = TBED_DROP_IO_ERROR;
            if (tbed_shared_swap(count, &page, page)) /* a load may be stale */
                return false;
            continue; /* another writer has claimed the page: the bytes are its own */
        }
        if (is_directory)
            tbed_directory_page_begin(file->map, file->page_nbytes, page);
        if (!tbed_shared_swap(count, &page, page + 1))
            continue;
        if (!is_directory)
            break;
        page++;
    }
    *page_ret = page;
    return true;
}

/* After a failure the kernel is left alone for a while: on a full disk, events must not cost system calls. */
static bool is_too_early(struct tbed_file *file, enum tbed_drop_cause *cause_ret)
{
    uint64_t retry_ns = tbed_is_sandboxed() ? 0 : __atomic_load_n(&file->growth.retry_ns, __ATOMIC_RELAXED);
    *cause_ret = (enum tbed_drop_cause)__atomic_load_n(&file->growth.retry_cause, __ATOMIC_RELAXED);
    return retry_ns != 0 && tbed_monotonic_ns() < retry_ns;
}

static void wait_before_retry(struct tbed_file *file, enum tbed_drop_cause cause)
{
    if (cause == TBED_DROP_INTERRUPTED || cause == TBED_DROP_SANDBOX)
        return;
    __atomic_store_n(&file->growth.retry_cause, (uint32_t)cause, __ATOMIC_RELAXED);
    __atomic_store_n(&file->growth.retry_ns, tbed_monotonic_ns() + RETRY_NS, __ATOMIC_RELAXED);
}

/* Streams that are rarely written to would keep all their cells resident. Pages that are still in use come back. */
static void release_below(struct tbed_file *file, uint64_t page)
{
    uint64_t interval = RESIDENT_NBYTES >> file->page_shift;
    if (file->clock.is_given && page % interval == 0)
        madvise(file->map, (size_t)(page << file->page_shift), MADV_DONTNEED);
}

/* The helper's lead over the recorders is down to half of what it should be. */
static bool lead_is_low(const struct tbed_file *file, uint64_t page)
{
    const struct tbed_helper_link *link = &file->helper_link;
    uint64_t populated = __atomic_load_n(&link->populated_pages, __ATOMIC_ACQUIRE);
    uint64_t low_water = __atomic_load_n(&link->ahead_nbytes, __ATOMIC_RELAXED) / 2 >> file->page_shift;
    return page + low_water >= populated;
}

bool tbed_page_prepare(struct tbed_file *file, enum tbed_drop_cause *cause_ret)
{
    if (is_too_early(file, cause_ret))
        return false;
    if (tbed_file_back(file, tbed_shared_load(&tbed_shared(file)->page_count), cause_ret))
        return true;
    wait_before_retry(file, *cause_ret);
    return false;
}

uint8_t *tbed_page_claim(struct tbed_file *file, enum tbed_drop_cause *cause_ret)
{
    uint64_t page;
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    if (file->process.stream == 0 || is_too_early(file, cause_ret))
        return NULL;
    if (!claim_number(file, &page, cause_ret)) {
        wait_before_retry(file, *cause_ret);
        return NULL;
    }
    *cause_ret = TBED_DROP_IO_ERROR;
    if (tbed_is_lost(file)) /* the count of pages may have been lost too */
        return NULL;
    tbed_helper_page_taken(file, page, lead_is_low(file, page));
    release_below(file, page);
    return file->map + (page << file->page_shift);
}
