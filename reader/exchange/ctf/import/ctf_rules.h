/*
 * What an event of CTF means, by its name and the names of the other events of the trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_RULES_H
#define TRACEBED_EXCHANGE_CTF_RULES_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/text.h"

enum ctf_kind {
    CTF_KIND_UNKNOWN,
    CTF_KIND_INSTANT,
    CTF_KIND_BEGIN,
    CTF_KIND_END,
    CTF_KIND_MESSAGE,
    CTF_KIND_ENTER, /* a function, by its address */
    CTF_KIND_LEAVE,
    CTF_KIND_MODULE,    /* an instant that says where a module was loaded */
    CTF_KIND_OWN_BEGIN, /* tracebed's own events have their name in a field */
    CTF_KIND_OWN_END,
    CTF_KIND_OWN_INSTANT,
    CTF_KIND_OWN_COUNTER,
    CTF_KIND_OWN_MESSAGE,
    CTF_KIND_OWN_SPAN,
    CTF_KIND_OWN_DROPS,
};

struct ctf_rule {
    uint64_t key; /* a hash of the name */
    size_t name_at, nbytes;
    enum ctf_kind kind;
    uint32_t id; /* of the span's or instant's name; 0: not stored yet */
};

struct ctf_rules {
    TBED_HASHMAP(struct ctf_rule) map;
    struct tbed_text names;
    bool is_own; /* the trace is an export of tracebed */
};

/* The rule of a name, new if it was not met before. NULL: no memory, or too many names. */
struct ctf_rule *tbed_ctf_rule_add(struct ctf_rules *rules, const char *name, size_t nbytes);

/* Finds out what the event means, once. Returns the length of the span's name, which is a part of the event's. */
void tbed_ctf_rule_decide(struct ctf_rules *rules, struct ctf_rule *rule);

/* The name of its span in 'text', of at least as many bytes as the event's name; that of the event if it is none. */
size_t tbed_ctf_rule_name(const struct ctf_rules *rules, const struct ctf_rule *rule, char *text);

void tbed_ctf_rules_free(struct ctf_rules *rules);

#endif
