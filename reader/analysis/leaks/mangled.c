/*
 * Names of functions in suppressions; see mangled.h.
 *
 * Traces have demangled names, and a pattern with wildcards cannot be demangled. So the pattern is taken apart only as far
 * as plain names go (a namespace, a class, the function), and these are looked for in the demangled name.
 *
 * Source: the Itanium C++ ABI, section 5.1, "External names".
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/leaks/mangled.h"

#include <string.h>

bool tbed_glob_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *star_text = NULL;
    while (*text != '\0' || *pattern == '*') {
        if (*pattern == '*') {
            star = ++pattern;
            star_text = text;
        } else if (*text != '\0' && (*pattern == *text || *pattern == '?')) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
    return *pattern == '\0';
}

/* A pattern and the demangled name, each as far as they have been compared. */
struct comparison {
    const char *pattern, *name;
    const char *last; /* the last plain name of the pattern */
    size_t last_nbytes;
    bool is_open; /* it has a wildcard */
};

static bool take_text(struct comparison *at, const char *text, size_t nbytes)
{
    if (strncmp(at->name, text, nbytes) != 0)
        return false;
    at->name += nbytes;
    return true;
}

static bool take_scope(struct comparison *at, bool is_first)
{
    return is_first || take_text(at, "::", 2);
}

/* "3foo"; a wildcard may stand inside of the name. */
static bool take_plain(struct comparison *at, bool is_first)
{
    size_t nbytes = 0, known;
    for (; *at->pattern >= '0' && *at->pattern <= '9' && nbytes < 4096; at->pattern++)
        nbytes = nbytes * 10 + (size_t)(*at->pattern - '0');
    known = strcspn(at->pattern, "*?");
    at->is_open = known < nbytes;
    at->last = at->pattern;
    at->last_nbytes = at->is_open ? known : nbytes;
    at->pattern += at->last_nbytes;
    return (known > 0 || !is_first) && take_scope(at, is_first) && take_text(at, at->last, at->last_nbytes);
}

/* A constructor or destructor, named after its class. */
static bool take_special(struct comparison *at)
{
    bool is_destructor = *at->pattern == 'D';
    at->pattern += 2;
    return take_text(at, "::", 2) && (!is_destructor || take_text(at, "~", 1)) &&
           take_text(at, at->last, at->last_nbytes);
}

static bool is_special(const struct comparison *at)
{
    return at->last != NULL && (at->pattern[0] == 'C' || at->pattern[0] == 'D') && at->pattern[1] >= '0' &&
           at->pattern[1] <= '5';
}

/* Compares from the start of a name on. */
static bool compare(struct comparison *at)
{
    bool is_nested = *at->pattern == 'N', is_first = true;
    at->pattern += is_nested;
    if (is_nested)
        at->pattern += strspn(at->pattern, "rVK");
    if (strncmp(at->pattern, "St", 2) == 0) {
        at->pattern += 2;
        is_first = false;
        if (!take_text(at, "std", 3))
            return false;
    }
    for (unsigned part = 0; !at->is_open && (is_nested || part == 0); part++, is_first = false) {
        bool is_plain = *at->pattern >= '1' && *at->pattern <= '9';
        if (!is_plain && !is_special(at))
            break;
        if (is_plain ? !take_plain(at, is_first) : !take_special(at))
            return false;
    }
    if (at->last == NULL)
        return false;
    const char *ends = is_nested && *at->pattern != 'E' ? "(<[: " : "(<[ ";
    return at->is_open || *at->name == '\0' || strchr(ends, *at->name) != NULL;
}

bool tbed_mangled_matches(const char *pattern, const char *name)
{
    if (strncmp(pattern, "_Z", 2) != 0)
        return false;
    for (const char *start = name; start != NULL; start = strchr(start, ' ')) {
        start += *start == ' '; /* a template's name has its type before it */
        struct comparison at = {.pattern = pattern + 2, .name = start};
        if (compare(&at))
            return true;
    }
    return false;
}
