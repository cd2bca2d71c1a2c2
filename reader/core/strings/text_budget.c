/*
 * The budget for long text; see text_budget.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/strings/text_budget.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/file/reader_state.h"

#include <pthread.h>
#include <stdatomic.h>

#define USUAL_MIN ((uint64_t)64 << 20)
#define USUAL_MAX ((uint64_t)1 << 30)

#define STEP 1024u /* a text takes at least this from the budget at a time */

struct tbed_text_budget {
    bool has_limit;
    _Atomic uint64_t use_count;
    _Atomic uint64_t refused_count;
    pthread_mutex_t mutex; /* protects all below */
    uint64_t left;
    TBED_HASHMAP(uint64_t) refused; /* id_key() */
};

static uint64_t id_key(uint64_t id)
{
    return id | UINT64_C(1) << 63;
}

struct tbed_text_budget *tbed_text_budget_make(void)
{
    struct tbed_text_budget *budget = calloc(1, sizeof *budget);
    if (budget != NULL && pthread_mutex_init(&budget->mutex, NULL) != 0) {
        free(budget);
        return NULL;
    }
    return budget;
}

void tbed_text_budget_free(struct tbed_text_budget *budget)
{
    if (budget == NULL)
        return;
    tbed_hashmap_free(&budget->refused.map);
    pthread_mutex_destroy(&budget->mutex);
    free(budget);
}

void tbed_text_budget_limit(struct tbed_text_budget *budget, uint64_t cost_max)
{
    budget->has_limit = true;
    budget->left = cost_max;
}

uint64_t tbed_text_budget_usual(uint64_t file_nbytes)
{
    uint64_t cost = file_nbytes < USUAL_MAX / 4 ? file_nbytes * 4 : USUAL_MAX;
    return cost < USUAL_MIN ? USUAL_MIN : cost;
}

uint64_t tbed_text_budget_refused_count(const struct tbed_text_budget *budget)
{
    return atomic_load_explicit(&budget->refused_count, memory_order_relaxed);
}

uint64_t tbed_text_budget_use_count(const struct tbed_text_budget *budget)
{
    return atomic_load_explicit(&budget->use_count, memory_order_relaxed);
}

/* Without memory to remember it, the id is refused again next time, and counted again. */
static bool refuse(struct tbed_text_budget *budget, uint64_t id)
{
    (void)TBED_HASHMAP_ADD(&budget->refused, id_key(id));
    atomic_fetch_add_explicit(&budget->refused_count, 1, memory_order_relaxed);
    return false;
}

static bool take(struct tbed_text_budget *budget, uint64_t id, uint64_t cost)
{
    if (TBED_HASHMAP_FIND(&budget->refused, id_key(id)) != NULL)
        return false;
    if (cost > budget->left)
        return refuse(budget, id);
    budget->left -= cost;
    return true;
}

bool tbed_text_spend_more(struct tbed_text_credit *credit, uint64_t cost)
{
    struct tbed_text_budget *budget = credit->budget;
    if (budget == NULL || !budget->has_limit)
        return true;
    atomic_fetch_add_explicit(&budget->use_count, 1, memory_order_relaxed);
    uint64_t missing = cost - credit->left;
    uint64_t taken = missing < STEP ? STEP : missing;
    pthread_mutex_lock(&budget->mutex);
    bool is_taken = take(budget, credit->id, taken);
    pthread_mutex_unlock(&budget->mutex);
    if (is_taken)
        credit->left = taken - missing;
    return is_taken;
}

/* ---- The budget of a reader ---- */

void tbed_reader_limit_text(struct tbed_reader *reader, uint64_t nbytes)
{
    tbed_text_budget_limit(reader->texts, nbytes != 0 ? nbytes : tbed_text_budget_usual(reader->map.nbytes));
}

uint64_t tbed_reader_texts_left_out(const struct tbed_reader *reader)
{
    return tbed_text_budget_refused_count(reader->texts);
}
