/*
 * The typed arguments of spans and instants as numbers: the same number for the same text. Shared by all workers, each of
 * which remembers the sets of bytes that it has seen.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ARGUMENT_SETS_H
#define TRACEBED_ARGUMENT_SETS_H

#include "reader/analysis/shared/number_map.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"

#include <pthread.h>
#include <tracebed/reader.h>

#define ARGUMENT_SETS_MAX  (1u << 30) /* numbers have 30 bits */
#define ARGUMENT_SET_NONE  0u
#define ARGUMENT_SET_FAULT UINT32_MAX /* no memory */

struct argument_text {
    uint64_t hash;
    uint32_t number;
};

struct argument_sets {
    const struct tbed_reader *reader;
    pthread_mutex_t lock;
    TBED_HASHMAP(struct argument_text) by_text; /* several may have the same hash */
    TBED_VECTOR(char *) texts;                  /* [number - 1] */
};

void tbed_argument_sets_init(struct argument_sets *sets, const struct tbed_reader *reader);
void tbed_argument_sets_free(struct argument_sets *sets);

/*
 * The number of these arguments; NONE if there are none. 'seen' is the worker's own: the numbers of hashes of bytes of 64
 * bits, which are taken to be different if the arguments are. Errors: FAULT.
 */
uint32_t tbed_argument_sets_number(struct argument_sets *sets, struct number_map *seen,
                                   const struct tbed_arguments *arguments, uint32_t count);

/* " name=value name=value", or "" for NONE; valid as long as the sets. Only when no worker is running. */
const char *tbed_argument_sets_text(const struct argument_sets *sets, uint32_t number);

#endif
