/*
 * Which functions 'tracebed record --functions' records: the patterns on its command line, applied to the modules that
 * recorded processes load.
 *
 * A process beside the program waits for their questions (writer/capture/launch/launch_plan.h) and answers each with the
 * plan of a module. When the program has ended, it complains about patterns that no function matched.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PLAN_H
#define TRACEBED_PLAN_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/symbols/symbol_list.h"
#include "writer/capture/launch/launch_plan.h"

/* ---- plan_rules.c: patterns ---- */

enum plan_subject { PLAN_NAME, PLAN_FILE, PLAN_MODULE };

/* What a --trigger does. */
struct plan_action {
    uint32_t flags; /* of enum launch_plan_flag; 0: this is no trigger */
    uint32_t depth;
    uint64_t minimum_ns;
};

struct plan_rule {
    const char *option;  /* "--filter" */
    const char *pattern; /* as it was given */
    enum plan_subject subject;
    const char *glob; /* NULL: 'regex' is used */
    regex_t regex;
    bool leaves_out;
    struct plan_action action;
    uint64_t match_count;
};

struct plan_rules { /* start with zeros */
    struct plan_rule *list;
    size_t count;
    bool has_files;               /* some pattern is matched with source files */
    struct plan_rules *arguments; /* whose arguments are recorded: --args; NULL: nobody's */
    uint64_t described_count;     /* functions with arguments that are known */
};

/* False, with a complaint, if the pattern is invalid. The text is kept by reference. */
bool plan_rules_add(struct plan_rules *rules, const char *option, const char *pattern, bool leaves_out);
void plan_rules_free(struct plan_rules *rules);

/* Whether the rule applies to a function of the module at 'path'. */
bool plan_rule_fits(const struct plan_rule *rule, const char *path, const struct listed_function *function);

/* The flags of a function that no rule applies to, and those of this one; counts the rules that apply. */
uint32_t plan_rules_default(const struct plan_rules *rules);
uint32_t plan_rules_flags(struct plan_rules *rules, const char *path, const struct listed_function *function);

/* Whether a function's arguments are recorded; counts the rules that apply. */
bool plan_rules_want_arguments(struct plan_rules *rules, const char *path,
                               const struct listed_function *function);

/* ---- plan_triggers.c ---- */

/* "20us"; false: it is invalid, or less than a nanosecond. */
bool plan_duration_parse(const char *text, uint64_t *ns_ret);

/* Adds "PATTERN@ACTION,ACTION". False, with a complaint, if it is invalid. */
bool plan_rules_add_trigger(struct plan_rules *rules, const char *text);

/* Adds the triggers of this function; counts the rules that apply. */
void plan_triggers_set(struct plan_rules *rules, const char *path, const struct listed_function *listed,
                       struct launch_plan_function *function);
/* What they add to the flags in the environment. */
uint32_t plan_triggers_default(const struct plan_rules *rules);

/* ---- plan_make.c: the plan of a module ---- */

struct plan_module {
    struct plan_module *next;
    char *path;
    size_t build_id_nbytes;
    uint8_t build_id[LAUNCH_PLAN_BUILD_ID_NBYTES];
    enum launch_plan_status status;
    int fd; /* of the plan; -1: there is none */
};

/* Fills in the last two. */
void plan_module_make(struct plan_module *module, struct plan_rules *rules, struct tbed_symbols *symbols);
/* Lists the functions of the module. */
enum tbed_symbols_state plan_module_list(const struct plan_module *module, struct tbed_symbols *symbols,
                                         unsigned details,
                                         void (*take)(void *context, const struct listed_function *function),
                                         void *context);

/* ---- plan_nearest.c: what may have been meant by a pattern that nothing matched ---- */

/* Prints a hint with the nearest names of functions in these modules. */
void plan_nearest_tell(const struct plan_rule *rule, const struct plan_module *modules,
                       struct tbed_symbols *symbols);

/* The same for names of Ruby's methods and paths of their files. */
struct plan_nearest;
struct plan_nearest *plan_nearest_open(const char *pattern);
void plan_nearest_offer_method(struct plan_nearest *nearest, const char *name, size_t nbytes);
void plan_nearest_offer_path(struct plan_nearest *nearest, const char *path);
/* Prints the hint. */
void plan_nearest_close(struct plan_nearest *nearest);

/* ---- plan_server.c: the process that answers ---- */

struct plan_server {
    pid_t pid;
    int stop_fd;
};

/* Starts it, and sets the environment of the program. False, with a complaint, if that fails. */
bool plan_server_start(struct plan_server *server, struct plan_rules *rules);
/* Ends it. False: some pattern matched nothing, which it has complained about. 'was_useful': the program was run. */
bool plan_server_stop(const struct plan_server *server, bool was_useful);

#endif
