/*
 * What an event of CTF means; see ctf_rules.h. Tracepoints have no types, only conventions: "frame_begin" and "frame_end",
 * "open_entry" and "open_exit", "request_start" and "request_end", "syscall_entry_read" and "syscall_exit_read". An event
 * begins a span only if the trace also has the event that would end it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/ctf/import/ctf_rules.h"

#include <string.h>

#define RULES_MAX       65536u
#define NAME_NBYTES_MAX 4096u

static const struct {
    const char *name;
    enum ctf_kind kind;
} known[] = {
    {"lttng_ust_cyg_profile:func_entry", CTF_KIND_ENTER},
    {"lttng_ust_cyg_profile:func_exit", CTF_KIND_LEAVE},
    {"lttng_ust_cyg_profile_fast:func_entry", CTF_KIND_ENTER},
    {"lttng_ust_cyg_profile_fast:func_exit", CTF_KIND_LEAVE},
    {"lttng_ust_statedump:bin_info", CTF_KIND_MODULE},
    {"lttng_ust_lib:load", CTF_KIND_MODULE},
    {"lttng_ust_tracef:event", CTF_KIND_MESSAGE},
};

/* Those of an export of tracebed. */
static const struct {
    const char *name;
    enum ctf_kind kind;
} own[] = {
    {"span_begin", CTF_KIND_OWN_BEGIN},
    {"span_end", CTF_KIND_OWN_END},
    {"span", CTF_KIND_OWN_SPAN},
    {"instant", CTF_KIND_OWN_INSTANT},
    {"counter_i64", CTF_KIND_OWN_COUNTER},
    {"counter_u64", CTF_KIND_OWN_COUNTER},
    {"counter_f64", CTF_KIND_OWN_COUNTER},
    {"message", CTF_KIND_OWN_MESSAGE},
    {"records_dropped", CTF_KIND_OWN_DROPS},
};

/* What begins and what ends, in a name. */
static const char *const pairs[][2] = {
    {"_begin", "_end"},    {"_entry", "_exit"}, {"_start", "_end"},   {"_start", "_stop"},
    {"_start", "_finish"}, {"_enter", "_exit"}, {"_enter", "_leave"}, {"syscall_entry_", "syscall_exit_"},
};
#define PAIR_COUNT (sizeof pairs / sizeof pairs[0])

static uint64_t hash(const char *name, size_t nbytes)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < nbytes; i++)
        value = (value ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    return value != 0 ? value : 1;
}

static const char *name_of(const struct ctf_rules *rules, const struct ctf_rule *rule)
{
    return rules->names.bytes + rule->name_at;
}

static struct ctf_rule *find(const struct ctf_rules *rules, const char *name, size_t nbytes)
{
    struct ctf_rule *rule = TBED_HASHMAP_FIND(&rules->map, hash(name, nbytes));
    while (rule != NULL && (rule->nbytes != nbytes || memcmp(name_of(rules, rule), name, nbytes) != 0))
        rule = TBED_HASHMAP_FIND_MORE(&rules->map, rule);
    return rule;
}

struct ctf_rule *tbed_ctf_rule_add(struct ctf_rules *rules, const char *name, size_t nbytes)
{
    nbytes = nbytes < NAME_NBYTES_MAX ? nbytes : NAME_NBYTES_MAX;
    struct ctf_rule *rule = find(rules, name, nbytes);
    if (rule != NULL || rules->map.map.count >= RULES_MAX || !tbed_text_reserve(&rules->names, nbytes + 1))
        return rule;
    rule = TBED_HASHMAP_INSERT(&rules->map, hash(name, nbytes));
    if (rule == NULL)
        return NULL;
    rule->name_at = rules->names.nbytes;
    rule->nbytes = nbytes;
    memcpy(rules->names.bytes + rules->names.nbytes, name, nbytes);
    rules->names.nbytes += nbytes;
    return rule;
}

/* ---- Pairs ---- */

/* Where 'part' is in the name: at the end, or, if it ends with '_', somewhere. SIZE_MAX: it is not. */
static size_t place_of(const char *name, size_t nbytes, const char *part)
{
    size_t part_nbytes = strlen(part);
    if (nbytes <= part_nbytes)
        return SIZE_MAX;
    if (part[part_nbytes - 1] == '_') {
        const char *at = memmem(name, nbytes, part, part_nbytes);
        return at != NULL && at + part_nbytes < name + nbytes ? (size_t)(at - name) : SIZE_MAX;
    }
    size_t at = nbytes - part_nbytes;
    return memcmp(name + at, part, part_nbytes) == 0 ? at : SIZE_MAX;
}

/* Whether the trace has the event that has 'other' where this one has 'part'. */
static bool has_other(const struct ctf_rules *rules, const char *name, size_t nbytes, const char *part,
                      const char *other)
{
    char text[NAME_NBYTES_MAX + 16];
    size_t at = place_of(name, nbytes, part), part_nbytes = strlen(part), other_nbytes = strlen(other);
    if (at == SIZE_MAX)
        return false;
    memcpy(text, name, at);
    memcpy(text + at, other, other_nbytes);
    memcpy(text + at + other_nbytes, name + at + part_nbytes, nbytes - at - part_nbytes);
    return find(rules, text, nbytes - part_nbytes + other_nbytes) != NULL;
}

static enum ctf_kind kind_of_pair(const struct ctf_rules *rules, const char *name, size_t nbytes)
{
    for (size_t i = 0; i < PAIR_COUNT; i++) {
        if (has_other(rules, name, nbytes, pairs[i][0], pairs[i][1]))
            return CTF_KIND_BEGIN;
        if (has_other(rules, name, nbytes, pairs[i][1], pairs[i][0]))
            return CTF_KIND_END;
    }
    return CTF_KIND_INSTANT;
}

void tbed_ctf_rule_decide(struct ctf_rules *rules, struct ctf_rule *rule)
{
    static const char log[] = "lttng_ust_tracelog:";
    const char *name = name_of(rules, rule);
    if (rule->kind != CTF_KIND_UNKNOWN)
        return;
    for (size_t i = 0; rules->is_own && i < sizeof own / sizeof own[0]; i++)
        if (rule->nbytes == strlen(own[i].name) && memcmp(name, own[i].name, rule->nbytes) == 0)
            rule->kind = own[i].kind;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (rule->nbytes == strlen(known[i].name) && memcmp(name, known[i].name, rule->nbytes) == 0)
            rule->kind = known[i].kind;
    if (rule->kind == CTF_KIND_UNKNOWN && rule->nbytes >= sizeof log - 1 &&
        memcmp(name, log, sizeof log - 1) == 0)
        rule->kind = CTF_KIND_MESSAGE;
    if (rule->kind == CTF_KIND_UNKNOWN && rules->is_own)
        rule->kind = CTF_KIND_INSTANT;
    if (rule->kind == CTF_KIND_UNKNOWN)
        rule->kind = kind_of_pair(rules, name, rule->nbytes);
}

size_t tbed_ctf_rule_name(const struct ctf_rules *rules, const struct ctf_rule *rule, char *text)
{
    const char *name = name_of(rules, rule);
    bool is_pair = rule->kind == CTF_KIND_BEGIN || rule->kind == CTF_KIND_END;
    for (size_t i = 0; is_pair && i < PAIR_COUNT; i++) {
        unsigned which = rule->kind == CTF_KIND_END;
        const char *part = pairs[i][which];
        if (!has_other(rules, name, rule->nbytes, part, pairs[i][1 - which]))
            continue;
        size_t at = place_of(name, rule->nbytes, part), part_nbytes = strlen(part);
        bool is_inside = part[part_nbytes - 1] == '_';
        size_t kept = is_inside ? (size_t)8 : 0; /* "syscall_" */
        memcpy(text, name, at + kept);
        memcpy(text + at + kept, name + at + part_nbytes, rule->nbytes - at - part_nbytes);
        return rule->nbytes - part_nbytes + kept;
    }
    memcpy(text, name, rule->nbytes);
    return rule->nbytes;
}

void tbed_ctf_rules_free(struct ctf_rules *rules)
{
    tbed_hashmap_free(&rules->map.map);
    free(rules->names.bytes);
}
