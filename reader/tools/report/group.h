/*
 * Grouping spans by parts of their names, and filtering them by name: --by, --include-from, --exclude-from.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GROUP_H
#define TRACEBED_GROUP_H

#include "reader/tools/shared/tool.h"

#include <regex.h>

enum group_by { GROUP_BY_SCOPE, GROUP_BY_MODULE, GROUP_BY_AUTHOR, GROUP_BY_FUNCTION, GROUP_BY_COUNT };
extern const char *const group_by_words[GROUP_BY_COUNT];

/* Regular expressions; a name passes if it matches any of them ('include') or none ('exclude'). */
struct group_filter {
    regex_t *items;
    size_t count;
    bool is_given; /* true even if the file has no expressions */
};

/* All zeros: every name is a row of its own. */
struct group {
    enum group_by by;
    struct group_filter include, exclude;
};

enum { GROUP_OPTION_INCLUDE = 3000, GROUP_OPTION_EXCLUDE };
#define GROUP_OPTIONS                                                                                        \
    {"include-from", required_argument, NULL, GROUP_OPTION_INCLUDE},                                         \
    {                                                                                                        \
        "exclude-from", required_argument, NULL, GROUP_OPTION_EXCLUDE                                        \
    }

/* Returns NULL, or what is wrong with the argument. */
const char *group_take_option(struct group *group, int option, const char *argument);
void group_free(struct group *group);

/* Returns NULL, or what is wrong with the argument of --by. */
const char *group_parse_by(const char *text, enum group_by *by_ret);

/* Whether a name passes the filters. A 'name' of the form context U+001E text is matched as "context : text". */
bool group_takes(const struct group *group, const char *name, size_t nbytes);

/* A tbed_group_function; 'context' is a struct group. */
size_t group_name(void *context, char *name, size_t nbytes, size_t room);

#endif
