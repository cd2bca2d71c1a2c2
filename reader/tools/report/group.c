/*
 * Groups spans by parts of their names and filters them by name: --by, --include-from, --exclude-from. Both happen in
 * the library's group callback, which replaces a name; the library combines equal names into one row.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define UNIT '\x1e' /* separates a context from the text of its message */

static const char left_out[] = "<left out by --include-from or --exclude-from>";

/* ---- Files of regular expressions ---- */

static bool add(struct group_filter *filter, const char *path, size_t line_number, const char *line)
{
    char trouble[256];
    filter->items = tool_realloc(filter->items, (filter->count + 1) * sizeof *filter->items);
    int error = regcomp(&filter->items[filter->count], line, REG_EXTENDED | REG_NOSUB);
    if (error != 0) {
        regerror(error, &filter->items[filter->count], trouble, sizeof trouble);
        tool_complain("%s: line %zu: %s", path, line_number, trouble);
        return false;
    }
    filter->count++;
    return true;
}

static bool filter_load(struct group_filter *filter, const char *path)
{
    char *line = NULL;
    size_t room = 0, line_number = 0;
    ssize_t nbytes;
    bool is_fine = true;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        tool_complain("%s: %s", path, strerror(errno));
        return false;
    }
    while (is_fine && (nbytes = getline(&line, &room, file)) > 0) {
        line_number++;
        while (nbytes > 0 && (line[nbytes - 1] == '\n' || line[nbytes - 1] == '\r'))
            line[--nbytes] = '\0';
        if (nbytes > 0)
            is_fine = add(filter, path, line_number, line);
    }
    filter->is_given = true;
    free(line);
    fclose(file);
    return is_fine;
}

static void filter_free(struct group_filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        regfree(&filter->items[i]);
    free(filter->items);
}

void group_free(struct group *group)
{
    filter_free(&group->include);
    filter_free(&group->exclude);
    *group = (struct group){0};
}

static bool matches(const struct group_filter *filter, const char *text)
{
    for (size_t i = 0; i < filter->count; i++)
        if (regexec(&filter->items[i], text, 0, NULL, 0) == 0)
            return true;
    return false;
}

/* ---- Names ---- */

const char *const group_by_words[GROUP_BY_COUNT] = {"scope", "module", "author", "function"};

const char *group_parse_by(const char *text, enum group_by *by_ret)
{
    size_t at = *by_ret;
    const char *problem = tool_word_choose("--by: unknown group", group_by_words, GROUP_BY_COUNT, text, &at);
    *by_ret = (enum group_by)at;
    return problem;
}

/* Takes the function from the text of a message whose context has none. */
static void take_message_part(const char *unit, const char *end, struct tbed_rtl_fields *fields)
{
    if (unit != NULL)
        tbed_rtl_message_fields(unit + 1, (size_t)(end - unit - 1), fields);
}

/* Replaces the name by the part that it is grouped by, if it has that part. */
static size_t take_part(enum group_by by, char *name, size_t nbytes)
{
    struct tbed_rtl_fields fields;
    /* A message, or a pair of messages, is grouped by its context. */
    const char *unit = memchr(name, UNIT, nbytes);
    tbed_rtl_fields(name, unit != NULL ? (size_t)(unit - name) : nbytes, &fields);
    take_message_part(unit, name + nbytes, &fields);
    struct tbed_rtl_part part = by == GROUP_BY_MODULE   ? fields.module
                                : by == GROUP_BY_AUTHOR ? fields.author
                                                        : fields.function;
    if (part.nbytes == 0)
        return nbytes;
    memmove(name, part.text, part.nbytes);
    name[part.nbytes] = '\0';
    return part.nbytes;
}

bool group_takes(const struct group *group, const char *name, size_t nbytes)
{
    const char *unit = memchr(name, UNIT, nbytes);
    struct tool_buffer shown = {0};
    if (!group->include.is_given && !group->exclude.is_given)
        return true;
    tool_append(&shown, name, unit != NULL ? (size_t)(unit - name) : nbytes);
    if (unit != NULL) {
        tool_append(&shown, " : ", 3);
        tool_append(&shown, unit + 1, nbytes - (size_t)(unit + 1 - name));
    }
    tool_append(&shown, "", 1);
    bool takes = (!group->include.is_given || matches(&group->include, shown.bytes)) &&
                 !matches(&group->exclude, shown.bytes);
    free(shown.bytes);
    return takes;
}

size_t group_name(void *context, char *name, size_t nbytes, size_t room)
{
    const struct group *group = context;
    if (!group_takes(group, name, nbytes)) {
        snprintf(name, room, "%s", left_out);
        return sizeof left_out - 1;
    }
    return group->by != GROUP_BY_SCOPE ? take_part(group->by, name, nbytes) : nbytes;
}

const char *group_take_option(struct group *group, int option, const char *argument)
{
    if (option == GROUP_OPTION_INCLUDE)
        return filter_load(&group->include, argument) ? NULL
                                                      : tool_takes("--include-from takes a file", argument);
    return filter_load(&group->exclude, argument) ? NULL
                                                  : tool_takes("--exclude-from takes a file", argument);
}
