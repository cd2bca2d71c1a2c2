/*
 * What a filter was asked for in vain; see filter_missed.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/filter/filter_missed.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_NBYTES_MAX 256 /* longer ones are no help */

/* Without memory for it, there is one less to suggest. */
void tbed_filter_see(struct filter_texts *texts, const char *label, size_t nbytes)
{
    if (texts->seen_count == FILTER_SEEN_MAX || nbytes > LABEL_NBYTES_MAX ||
        memchr(label, '\0', nbytes) != NULL)
        return;
    for (size_t i = 0; i < texts->seen_count; i++)
        if (strlen(texts->seen[i]) == nbytes && memcmp(texts->seen[i], label, nbytes) == 0)
            return;
    texts->seen[texts->seen_count] = strndup(label, nbytes);
    texts->seen_count += texts->seen[texts->seen_count] != NULL;
}

static bool find_missed(const struct filter_texts *texts, size_t *index, struct filter_missed *missed)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->found[i] || (*index)-- > 0)
            continue;
        missed->text = texts->items[i];
        missed->there = (const char *const *)texts->seen;
        missed->there_count = texts->seen_count;
        return true;
    }
    return false;
}

bool tbed_filter_missed_get(const struct tbed_filter *filter, size_t index, struct filter_missed *missed_ret)
{
    if (filter == NULL || tbed_filter_has_failed(filter))
        return false;
    missed_ret->is_category = find_missed(&filter->categories, &index, missed_ret);
    return missed_ret->is_category || find_missed(&filter->inside, &index, missed_ret);
}
