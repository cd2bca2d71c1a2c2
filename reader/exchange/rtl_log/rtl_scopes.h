/*
 * The scopes of an RTL_LOGFILE log that are open on each of its threads: those written by objects, and those that a
 * message "{ text" begins and a message "} text" ends.
 *
 * A trace can only end the innermost span of a thread, but a log may end any scope. So a scope may leave the stack
 * before it ends, because one around it ended, or stay on it after it has ended, because one inside it continues.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_RTL_SCOPES_H
#define TRACEBED_EXCHANGE_RTL_SCOPES_H

#include "reader/exchange/rtl_log/rtl_log.h"

/* Scopes are identified by their index + 1; 0: none. */
struct rtl_scope {
    uint32_t thread, name;
    uint64_t ordinal;       /* number of the scope in the log, from 0 */
    uint64_t end_tick;      /* if it has ended but is still on the stack; otherwise 0 */
    uint32_t below;         /* the next one on the stack of its thread */
    uint32_t older;         /* an open one of the same name and thread */
    uint32_t before, after; /* open pairs of messages on the thread, in the order they began */
    bool is_pair, has_left;
};

struct rtl_thread_scopes {
    uint32_t top;       /* of the stack */
    uint32_t last_pair; /* the newest open one */
    size_t ended_count; /* on the stack */
};

struct rtl_scopes;

/* NULL: no memory. The caller keeps ownership of 'names'. */
struct rtl_scopes *tbed_rtl_scopes_new(const struct rtl_names *names);
void tbed_rtl_scopes_free(struct rtl_scopes *scopes);

struct rtl_scope *tbed_rtl_scope_at(const struct rtl_scopes *scopes, uint32_t scope);

/* A new scope on top of the thread's stack. False: no memory. */
bool tbed_rtl_scope_begin(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack, uint32_t thread,
                          uint32_t name, bool is_pair);

/* The newest open scope of that name or, for a pair, the newest whose text starts with the name's. 0: none. */
uint32_t tbed_rtl_scope_find(const struct rtl_scopes *scopes, const struct rtl_thread_scopes *stack,
                             uint32_t thread, uint32_t name, bool is_pair);

/* Ends an open scope, found by tbed_rtl_scope_find(). It is freed if it has left the stack. */
void tbed_rtl_scope_end(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack, uint32_t scope,
                        uint64_t tick);

/* Takes the top off the stack, and frees it if it has ended. */
void tbed_rtl_scope_pop(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack);

bool tbed_rtl_scope_is_open(const struct rtl_scopes *scopes, uint32_t thread, uint32_t name);

/* How many scopes of objects never ended. */
uint64_t tbed_rtl_scopes_open_count(const struct rtl_scopes *scopes);

#endif
