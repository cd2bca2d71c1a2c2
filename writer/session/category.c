/*
 * The categories of the process, the patterns that enable and disable them, and which are enabled.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/glob.h"
#include "writer/session/session.h"

struct tbed_category tbed_category_default = {.site = {.text = "default"}};

static bool is_enabled(const struct tbed_session *session, const struct tbed_category *category)
{
    for (size_t i = session->rule_count; i-- > 0;)
        if (tbed_glob_fits(session->rules[i].pattern, category->site.text))
            return session->rules[i].on;
    return true;
}

static void category_switch(const struct tbed_session *session, struct tbed_category *category)
{
    bool on = session->writer != NULL && is_enabled(session, category);
    __atomic_store_n(&category->generation, on ? session->generation : 0, __ATOMIC_RELAXED);
}

void tbed_categories_switch(struct tbed_session *session)
{
    uint32_t generation = session->writer != NULL ? session->generation : 0;
    for (struct tbed_category *category = session->categories; category != NULL; category = category->next)
        category_switch(session, category);
    __atomic_store_n(&tbed_category_default.generation, generation, __ATOMIC_RELAXED);
}

void tbed_category_add(struct tbed_category *category)
{
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return;
    if (!category->is_added) {
        category->is_added = 1;
        category->next = session->categories;
        session->categories = category;
        category_switch(session, category);
    }
    tbed_session_unlock();
}

/* Called when its library is unloaded. */
void tbed_category_remove(struct tbed_category *category)
{
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return;
    struct tbed_category **at = &session->categories;
    while (*at != NULL && *at != category)
        at = &(*at)->next;
    if (*at == category)
        *at = category->next;
    category->is_added = 0;
    category->next = NULL;
    tbed_session_unlock();
}

/* Replaces an earlier rule with the same pattern. */
static bool rule_put(struct tbed_session *session, const char *pattern, size_t nbytes, bool on)
{
    size_t kept = 0;
    if (nbytes > TBED_PATTERN_NBYTES_MAX)
        return false;
    for (size_t i = 0; i < session->rule_count; i++)
        if (strlen(session->rules[i].pattern) != nbytes ||
            memcmp(session->rules[i].pattern, pattern, nbytes) != 0)
            session->rules[kept++] = session->rules[i];
    session->rule_count = kept;
    if (kept == TBED_RULE_COUNT_MAX)
        return false;
    struct tbed_category_rule *rule = &session->rules[session->rule_count++];
    memcpy(rule->pattern, pattern, nbytes);
    rule->pattern[nbytes] = 0;
    rule->on = on;
    return true;
}

bool tbed_category_enable(const char *pattern, bool on)
{
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return false;
    bool is_put = rule_put(session, pattern, strlen(pattern), on);
    tbed_categories_switch(session);
    tbed_session_unlock();
    return is_put;
}

static bool rules_put(struct tbed_session *session, const char *patterns)
{
    bool all_put = true;
    session->rule_count = 0;
    if (patterns[0] != 0 && patterns[0] != '-')
        rule_put(session, "*", 1, false);
    while (*patterns != 0) {
        bool on = *patterns != '-';
        patterns += !on;
        size_t nbytes = strcspn(patterns, ",");
        if (nbytes > 0)
            all_put &= rule_put(session, patterns, nbytes, on);
        patterns += nbytes + (patterns[nbytes] == ',');
    }
    return all_put;
}

bool tbed_category_list(const char *patterns)
{
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return false;
    bool all_put = rules_put(session, patterns);
    tbed_categories_switch(session);
    tbed_session_unlock();
    return all_put;
}
