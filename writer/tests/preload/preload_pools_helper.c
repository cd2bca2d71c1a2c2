/*
 * A program with a pool of its own, which it shows to the recorder by tracebed/pool.h: blocks at known offsets of one chunk
 * from malloc(), the first at its start.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <tracebed/pool.h>

int main(void)
{
    char *chunk = malloc(4096);
    if (chunk == NULL)
        return 1;
    tbed_pool_alloc("nodes", chunk, 40);
    tbed_pool_alloc("nodes", chunk + 64, 50);
    tbed_pool_alloc("inner", chunk, 8); /* inside the first */
    tbed_pool_resize("nodes", chunk + 64, chunk + 128, 60);
    tbed_pool_free("nodes", chunk);
    tbed_pool_alloc("nodes", NULL, 70); /* the pool had no memory */
    tbed_pool_free("nodes", NULL);
    tbed_pool_alloc("a pool with a name that is longer than what fits, of which a part is enough",
                    chunk + 256, 9);
    printf("%d\n", tbed_pool_recorder() != tbed_pool_ignore);
    free(chunk);
    return 0;
}
