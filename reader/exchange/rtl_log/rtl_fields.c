/*
 * Splits the name of an RTL_LOGFILE scope into module, author and function. Pure functions.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <tracebed/exchange.h>

static struct tbed_rtl_part part(const char *from, const char *to)
{
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    return (struct tbed_rtl_part){from, (size_t)(to - from)};
}

/* "MODULE (AUTHOR)" and the rest; the module has neither spaces nor parentheses, and is not "::FUNCTION". */
static bool take_module(const char *name, const char *end, struct tbed_rtl_fields *fields)
{
    const char *space = name;
    while (space < end && *space != ' ' && *space != '(' && *space != ')')
        space++;
    if (space == name || name[0] == ':' || end - space < 3 || space[0] != ' ' || space[1] != '(')
        return false;
    const char *close = memchr(space, ')', (size_t)(end - space));
    if (close == NULL || (close + 1 < end && close[1] != ' '))
        return false;
    fields->module = part(name, space);
    fields->author = part(space + 2, close);
    fields->function = part(close + 1, end);
    return true;
}

/* "::FUNCTION (AUTHOR)" */
static bool take_author_last(const char *name, const char *end, struct tbed_rtl_fields *fields)
{
    if (end - name < 6 || memcmp(name, "::", 2) != 0 || end[-1] != ')')
        return false;
    const char *open = end - 1;
    while (open > name && *open != '(')
        open--;
    if (open == name || open[-1] != ' ')
        return false;
    fields->function = part(name, open);
    fields->author = part(open + 1, end - 1);
    return true;
}

void tbed_rtl_fields(const char *name, size_t nbytes, struct tbed_rtl_fields *fields_ret)
{
    const char *end = name + nbytes;
    *fields_ret = (struct tbed_rtl_fields){{name, 0}, {name, 0}, {name, 0}};
    if (!take_module(name, end, fields_ret) && !take_author_last(name, end, fields_ret))
        fields_ret->function = (struct tbed_rtl_part){name, nbytes};
}

size_t tbed_rtl_message_fields(const char *message, size_t nbytes, struct tbed_rtl_fields *fields)
{
    struct tbed_rtl_fields said;
    const char *colon = fields->function.nbytes == 0 ? memmem(message, nbytes, " : ", 3) : NULL;
    if (colon == NULL)
        return 0;
    tbed_rtl_fields(message, (size_t)(colon - message), &said);
    bool is_function = said.module.nbytes > 0 || (nbytes > 2 && memcmp(message, "::", 2) == 0);
    if (!is_function || said.function.nbytes == 0)
        return 0;
    if (fields->module.nbytes == 0)
        fields->module = said.module;
    if (fields->author.nbytes == 0)
        fields->author = said.author;
    fields->function = said.function;
    return (size_t)(colon - message) + 3;
}
