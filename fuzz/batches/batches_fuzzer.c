/*
 * Batches of items, of any number, whose texts have any lengths, worked on by up to four threads: their texts come out in
 * order, each once.
 *
 * The input's first two bytes are the number of threads and the size of a batch. Each other byte is an item, whose text has
 * its bits squared as a length; 0: from here on, the caller works alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "reader/core/base/batches.h"

#define THREADS_MAX     4
#define ITEM_NBYTES_MAX 65536 /* of its text */

struct item {
    uint32_t number;
    uint8_t byte;
};

struct output {
    const uint8_t *bytes; /* that were pushed */
    uint32_t count;       /* that have been put out */
};

static size_t length_of(uint8_t byte)
{
    return (size_t)byte * byte + sizeof(struct item);
}

/* The text of an item is the item, and zeros. */
static void work(void *context, unsigned thread, struct tbed_batch *batch)
{
    static const char zeros[ITEM_NBYTES_MAX];
    const struct item *items = batch->items;
    (void)context;
    REQUIRE(thread < THREADS_MAX && batch->text.nbytes == 0);
    for (size_t i = 0; i < batch->count; i++) {
        tbed_text_put(&batch->text, (const char *)&items[i], sizeof items[i]);
        tbed_text_put(&batch->text, zeros, length_of(items[i].byte) - sizeof items[i]);
    }
}

static void put(void *context, const struct tbed_batch *batch)
{
    struct output *output = context;
    size_t at = 0;
    REQUIRE(!batch->text.is_out_of_memory);
    for (; at < batch->text.nbytes; output->count++) {
        struct item item;
        memcpy(&item, batch->text.bytes + at, sizeof item);
        REQUIRE(item.number == output->count && item.byte == output->bytes[item.number]);
        at += length_of(item.byte);
    }
    REQUIRE(at == batch->text.nbytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes < 2)
        return 0;
    struct output output = {.bytes = data + 2};
    struct tbed_batches_job job = {.item_nbytes = sizeof(struct item),
                                   .item_count = 1 + data[1] % 64,
                                   .thread_count = 1 + data[0] % THREADS_MAX,
                                   .work = work,
                                   .put = put,
                                   .context = &output};
    struct tbed_batches *batches = tbed_batches_open(&job);
    REQUIRE(batches != NULL);
    for (uint32_t i = 0; i < nbytes - 2; i++) {
        if (data[2 + i] == 0)
            tbed_batches_work_alone(batches);
        *(struct item *)tbed_batches_push(batches) = (struct item){.number = i, .byte = data[2 + i]};
    }
    tbed_batches_finish(batches);
    REQUIRE(output.count == nbytes - 2);
    tbed_batches_close(batches);
    return 0;
}
