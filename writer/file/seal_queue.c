/*
 * Full pages that wait for their checksums: recorders put them in, the helper thread takes them out.
 *
 * SPDX-License-Identifier: MIT
 */

#include "writer/file/private.h"

/* A page of a ring is held until it is sealed, so few may wait. */
static uint64_t seal_limit(const struct tbed_writer *writer)
{
    uint64_t share = writer->fields.ring_page_count / TBED_RING_SHARE;
    return writer->fields.ring_page_count == 0 || share > TBED_SEAL_RING_COUNT ? TBED_SEAL_RING_COUNT : share;
}

bool tbed_helper_seal(struct tbed_writer *writer, uint8_t *block, uint32_t used_nbytes)
{
    struct tbed_helper *helper = &writer->helper;
    uint64_t offset = (uint64_t)(block - writer->map);
    bool is_cell = (offset & (writer->page_nbytes - 1)) != 0;
    if (is_cell || !__atomic_load_n(&helper->is_running, __ATOMIC_ACQUIRE))
        return false;
    uint64_t head = __atomic_load_n(&helper->seal_head, __ATOMIC_RELAXED);
    do {
        if (head - __atomic_load_n(&helper->seal_tail, __ATOMIC_ACQUIRE) >= seal_limit(writer))
            return false;
    } while (!__atomic_compare_exchange_n(&helper->seal_head, &head, head + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    uint64_t entry = offset >> writer->page_shift << 32 | used_nbytes;
    __atomic_store_n(&helper->seal_ring[head % TBED_SEAL_RING_COUNT], entry, __ATOMIC_RELEASE);
    return true;
}

static uint64_t ring_take(struct tbed_helper *helper)
{
    uint64_t *slot = &helper->seal_ring[helper->seal_tail % TBED_SEAL_RING_COUNT];
    uint64_t entry = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (entry == 0)
        return 0;
    __atomic_store_n(slot, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&helper->seal_tail, helper->seal_tail + 1, __ATOMIC_RELEASE);
    return entry;
}

void tbed_helper_seal_all(struct tbed_writer *writer)
{
    for (uint64_t entry = ring_take(&writer->helper); entry != 0; entry = ring_take(&writer->helper)) {
        uint8_t *block = writer->map + ((entry >> 32) << writer->page_shift);
        tbed_block_seal(block, (uint32_t)entry, tbed_block_latest_tick(block, (uint32_t)entry));
        tbed_page_release(writer, block);
    }
}
