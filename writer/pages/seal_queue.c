/*
 * A queue of full pages that wait for their checksums: recorders put them in, the helper thread takes them out.
 * writer/tests/models/close_model_test.c has a model of this, and of how the helper is stopped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/pages/pages.h"
#include "writer/pages/ring.h"

/* A page of a ring is held until it is sealed, so few may wait. */
static uint64_t seal_limit(const struct tbed_file *file)
{
    uint64_t share = file->fields.ring_page_count == 0 ? TBED_SEAL_QUEUE_COUNT : tbed_ring_share(file);
    return share < TBED_SEAL_QUEUE_COUNT ? share : TBED_SEAL_QUEUE_COUNT;
}

/* Not in the child itself, which would copy four pages of memory for a queue that it may never use. */
void tbed_seal_queue_begin(struct tbed_file *file)
{
    if (file->seal_queue.is_inherited)
        memset(&file->seal_queue, 0, sizeof file->seal_queue);
}

bool tbed_seal_queue_put(struct tbed_file *file, uint8_t *block, uint32_t used_nbytes)
{
    struct tbed_seal_queue *queue = &file->seal_queue;
    uint64_t offset = (uint64_t)(block - file->map);
    bool is_cell = (offset & (file->page_nbytes - 1)) != 0;
    if (is_cell || !__atomic_load_n(&file->helper_link.is_running, __ATOMIC_ACQUIRE))
        return false;
    uint64_t head = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
    do {
        if (head - __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE) >= seal_limit(file))
            return false;
    } while (!__atomic_compare_exchange_n(&queue->head, &head, head + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    uint64_t entry = offset >> file->page_shift << 32 | used_nbytes;
    __atomic_store_n(&queue->slots[head % TBED_SEAL_QUEUE_COUNT], entry, __ATOMIC_RELEASE);
    return true;
}

static uint64_t take(struct tbed_seal_queue *queue)
{
    tbed_word *slot = &queue->slots[queue->tail % TBED_SEAL_QUEUE_COUNT];
    uint64_t entry = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (entry == 0)
        return 0;
    __atomic_store_n(slot, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&queue->tail, queue->tail + 1, __ATOMIC_RELEASE);
    return entry;
}

void tbed_seal_queue_run(struct tbed_file *file)
{
    struct tbed_seal_queue *queue = &file->seal_queue;
    for (uint64_t entry = take(queue); entry != 0; entry = take(queue)) {
        uint8_t *block = file->map + ((entry >> 32) << file->page_shift);
        tbed_block_seal(file, block, (uint32_t)entry);
        tbed_page_release(file, block);
    }
}
