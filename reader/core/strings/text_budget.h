/*
 * What a reader may spend on long text, and the ids whose text it refused for want of it. A file of 256 KiB can hold
 * strings that expand to terabytes; limits on each string alone do not help if there are 100,000 of them. Not for users
 * of the library.
 *
 * The cost of a text is its bytes, and 16 for each component that is visited. TBED_TEXT_FREE of it is free for each
 * text; everything above comes out of the budget.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TEXT_BUDGET_H
#define TRACEBED_TEXT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define TBED_TEXT_FREE           2048u
#define TBED_TEXT_COMPONENT_COST 16u

struct tbed_text_budget; /* any thread */

/* Without a limit at first. NULL: no memory. */
struct tbed_text_budget *tbed_text_budget_make(void);
void tbed_text_budget_free(struct tbed_text_budget *budget); /* NULL is fine */

/* Not while another thread uses it. */
void tbed_text_budget_limit(struct tbed_text_budget *budget, uint64_t cost_max);

/* The limit for a file of this size. */
uint64_t tbed_text_budget_usual(uint64_t file_nbytes);

/* How many ids have been refused. */
uint64_t tbed_text_budget_refused_count(const struct tbed_text_budget *budget);

/* How often something was taken out of the budget. While that stays the same, the order in which texts are made does not
 * matter. */
uint64_t tbed_text_budget_use_count(const struct tbed_text_budget *budget);

/* The credit of one text that is being made. */
struct tbed_text_credit {
    struct tbed_text_budget *budget; /* NULL: no limit */
    uint64_t id;
    uint64_t left;
};

static inline struct tbed_text_credit tbed_text_credit_open(struct tbed_text_budget *budget, uint64_t id)
{
    return (struct tbed_text_credit){budget, id, TBED_TEXT_FREE};
}

bool tbed_text_spend_more(struct tbed_text_credit *credit, uint64_t cost);

/* False: the text is refused, now and whenever it is asked for again. */
static inline bool tbed_text_spend(struct tbed_text_credit *credit, uint64_t cost)
{
    if (cost > credit->left)
        return tbed_text_spend_more(credit, cost);
    credit->left -= cost;
    return true;
}

#endif
