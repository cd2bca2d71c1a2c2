/*
 * What 'tracebed report' groups spans by, beside their names, and which names it takes: --by, --include, --exclude.
 * Both are done where a name is given to the library, which makes one row of equal ones.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static const char left_out[] = "<left out by --include or --exclude>";

/* ---- Regular expressions of a file, one a line ---- */

static bool add(struct report_filter *filter, const char *path, size_t line_number, const char *line)
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

bool report_filter_load(struct report_filter *filter, const char *path)
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

void report_filter_free(struct report_filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        regfree(&filter->items[i]);
    free(filter->items);
    *filter = (struct report_filter){0};
}

static bool matches(const struct report_filter *filter, const char *text)
{
    for (size_t i = 0; i < filter->count; i++)
        if (regexec(&filter->items[i], text, 0, NULL, 0) == 0)
            return true;
    return false;
}

/* ---- Names ---- */

bool report_group_parse(const char *text, enum report_group *group_ret)
{
    static const char *const names[] = {"scope", "module", "author", "function"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0) {
            *group_ret = (enum report_group)i;
            return true;
        }
    return false;
}

/* Puts the part of the name in its place that it is grouped by, if it has that. */
static size_t take_part(enum report_group group, char *name, size_t nbytes)
{
    struct tbed_rtl_fields fields;
    const char *unit = memchr(name, '\x1e', nbytes); /* a message: by its context */
    tbed_rtl_fields(name, unit != NULL ? (size_t)(unit - name) : nbytes, &fields);
    struct tbed_rtl_part part = group == REPORT_GROUP_MODULE   ? fields.module
                                : group == REPORT_GROUP_AUTHOR ? fields.author
                                                               : fields.function;
    if (part.nbytes == 0)
        return nbytes;
    memmove(name, part.text, part.nbytes);
    name[part.nbytes] = '\0';
    return part.nbytes;
}

bool report_filter_takes(const struct report_options *options, const char *name)
{
    return (!options->include.is_given || matches(&options->include, name)) &&
           !matches(&options->exclude, name);
}

size_t report_group_name(const struct report_options *options, char *buffer, size_t nbytes, size_t room)
{
    if (nbytes >= room)
        return nbytes; /* asked for again, with more room */
    if (!report_filter_takes(options, buffer)) {
        snprintf(buffer, room, "%s", left_out);
        return sizeof left_out - 1;
    }
    return options->group != REPORT_GROUP_SCOPE ? take_part(options->group, buffer, nbytes) : nbytes;
}
