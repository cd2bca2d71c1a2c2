/*
 * The cache of a reader's names: from a key to a text, for any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NAME_CACHE_H
#define TRACEBED_NAME_CACHE_H

#include <tracebed/reader.h>

struct tbed_name_cache;

/* What the cache keeps about an id. */
enum tbed_name_kind {
    TBED_NAME_WHOLE = 1,
    TBED_NAME_LABEL = 2,
    TBED_NAME_PLAIN = 3, /* the text of a string that is just that, without a divider */
};

/* NULL: no memory. */
struct tbed_name_cache *tbed_name_cache_make(void);
void tbed_name_cache_free(struct tbed_name_cache *cache);

/*
 * Finds what is kept about 'id' and still holds at 'epoch'; returns its status. Takes no lock. TBED_END: nothing is kept,
 * or it must be resolved again.
 */
enum tbed_status tbed_name_cache_find(const struct tbed_name_cache *cache, enum tbed_name_kind kind,
                                      uint32_t id, uint64_t epoch, struct tbed_name *name_ret);

/* What is known about an id. */
struct tbed_name_fact {
    enum tbed_name_kind kind;
    uint32_t id;
    uint64_t epoch; /* until which it holds; UINT64_MAX: always */
    enum tbed_status status;
    bool is_in_map; /* the text stays where it is: no copy is needed */
    struct tbed_name name;
};

/*
 * Keeps 'fact' and returns its name, or the one that another thread has kept meanwhile.
 *
 * Errors: ERR_CACHE_FULL, ERR_MEMORY; else the fact's status.
 */
enum tbed_status tbed_name_cache_keep(struct tbed_name_cache *cache, const struct tbed_name_fact *fact,
                                      struct tbed_name *name_ret);

#endif
