/*
 * Names of functions that resemble a pattern which matched nothing.
 *
 * The distance is the number of bytes to insert, remove or change until the pattern fits; what a '*' or '?' of the pattern
 * stands for costs nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "reader/tools/shared/tool.h"

#define NEAREST_MAX 3
#define TEXT_MAX    192 /* longer names are not compared */

struct plan_nearest {
    const struct plan_rule *rule; /* NULL: the pattern is one of Ruby's methods */
    const char *glob;
    unsigned distance_max;
    struct {
        char *text;
        unsigned distance;
    } list[NEAREST_MAX];
    size_t count;
};

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* One step of the table: the pattern's next byte against all starts of the text. */
static void next_row(unsigned row[TEXT_MAX], char byte, const char *text, size_t nbytes)
{
    unsigned diagonal = row[0], cost = byte == '*' ? 0 : 1;
    row[0] += cost;
    for (size_t j = 1; j <= nbytes; j++) {
        unsigned change = diagonal + (byte != '?' && byte != text[j - 1]);
        unsigned longer = row[j - 1] + cost, shorter = row[j] + cost;
        diagonal = row[j];
        row[j] = least(change, least(longer, shorter));
    }
}

static unsigned distance(const char *glob, const char *text)
{
    unsigned row[TEXT_MAX];
    size_t nbytes = strlen(text);
    if (nbytes >= TEXT_MAX)
        return UINT32_MAX;
    for (size_t j = 0; j <= nbytes; j++)
        row[j] = (unsigned)j;
    for (; *glob != '\0'; glob++)
        next_row(row, *glob, text, nbytes);
    return row[nbytes];
}

static bool is_listed(const struct plan_nearest *nearest, const char *text)
{
    for (size_t i = 0; i < nearest->count; i++)
        if (strcmp(nearest->list[i].text, text) == 0)
            return true;
    return false;
}

static void offer(struct plan_nearest *nearest, const char *text, unsigned far)
{
    size_t at = nearest->count;
    if (far > nearest->distance_max || is_listed(nearest, text))
        return;
    while (at > 0 && nearest->list[at - 1].distance > far)
        at--;
    if (at == NEAREST_MAX)
        return;
    if (nearest->count == NEAREST_MAX)
        free(nearest->list[--nearest->count].text);
    memmove(&nearest->list[at + 1], &nearest->list[at], (nearest->count - at) * sizeof nearest->list[0]);
    nearest->list[at].text = tool_realloc(NULL, strlen(text) + 1);
    strcpy(nearest->list[at].text, text);
    nearest->list[at].distance = far;
    nearest->count++;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* "parse" and "Reader::parse" may be meant for "ns::Reader::parse". */
static unsigned distance_of_name(const char *glob, const char *name)
{
    unsigned best = distance(glob, name);
    for (const char *colons = strstr(name, "::"); colons != NULL; colons = strstr(colons + 2, "::"))
        best = least(best, distance(glob, colons + 2));
    return best;
}

static void take_function(void *context, const struct listed_function *function)
{
    struct plan_nearest *nearest = context;
    const char *glob = nearest->rule->glob;
    if (nearest->rule->subject == PLAN_FILE) {
        if (function->file != NULL)
            offer(nearest, last_part(function->file), distance(last_part(glob), last_part(function->file)));
        return;
    }
    const char *name = strchr(glob, '(') != NULL ? function->full : function->plain;
    offer(nearest, name, distance_of_name(glob, name));
}

static void tell(const struct plan_nearest *nearest)
{
    struct tool_buffer line = {0};
    for (size_t i = 0; i < nearest->count; i++) {
        tool_append(&line, i > 0 ? ", '" : "'", i > 0 ? 3 : 1);
        tool_append(&line, nearest->list[i].text, strlen(nearest->list[i].text));
        tool_append(&line, "'", 1);
    }
    tool_append(&line, "", 1);
    if (nearest->count > 0)
        tool_hint("Did you mean %s?", line.bytes);
    free(line.bytes);
}

static void finish(struct plan_nearest *nearest)
{
    tell(nearest);
    for (size_t i = 0; i < nearest->count; i++)
        free(nearest->list[i].text);
}

/* Two edits turn most short words into each other. */
static void set_distance(struct plan_nearest *nearest)
{
    size_t nbytes = strlen(nearest->glob);
    nearest->distance_max = nbytes < 5 ? 1 : 2 + (unsigned)(nbytes / 8);
}

void plan_nearest_tell(const struct plan_rule *rule, const struct plan_module *modules,
                       struct tbed_symbols *symbols)
{
    struct plan_nearest nearest = {.rule = rule, .glob = rule->glob};
    if (rule->glob == NULL)
        return;
    set_distance(&nearest);
    for (; modules != NULL; modules = modules->next)
        if (rule->subject == PLAN_MODULE)
            offer(&nearest, last_part(modules->path),
                  distance(last_part(rule->glob), last_part(modules->path)));
        else
            plan_module_list(modules, symbols, rule->subject == PLAN_FILE, take_function, &nearest);
    finish(&nearest);
}

/* ---- Ruby ---- */

struct plan_nearest *plan_nearest_open(const char *pattern)
{
    struct plan_nearest *nearest = tool_realloc(NULL, sizeof *nearest);
    *nearest = (struct plan_nearest){.glob = strncmp(pattern, "file:", 5) == 0 ? pattern + 5 : pattern};
    set_distance(nearest);
    return nearest;
}

/* "parse" may be meant for "Reader#parse", and "Reader.parse" for "My::Reader#parse". */
void plan_nearest_offer_method(struct plan_nearest *nearest, const char *name, size_t nbytes)
{
    char text[TEXT_MAX];
    if (nbytes >= sizeof text)
        return;
    memcpy(text, name, nbytes);
    text[nbytes] = '\0';
    unsigned best = distance_of_name(nearest->glob, text);
    const char *method = strpbrk(text, "#.");
    if (method != NULL && strpbrk(nearest->glob, "#.") == NULL)
        best = least(best, distance(nearest->glob, method + 1));
    offer(nearest, text, best);
}

void plan_nearest_offer_path(struct plan_nearest *nearest, const char *path)
{
    offer(nearest, last_part(path), distance(last_part(nearest->glob), last_part(path)));
}

void plan_nearest_close(struct plan_nearest *nearest)
{
    finish(nearest);
    free(nearest);
}
