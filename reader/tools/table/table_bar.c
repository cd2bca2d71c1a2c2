/*
 * Bars and lines of bars, of block elements where the locale has UTF-8.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/table/table.h"

#include <stdlib.h>
#include <string.h>

bool table_has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

void table_put_bar(double part, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t all = (size_t)(part * (double)width * 8 + 0.5);
    if (!table_has_utf8()) {
        for (size_t i = 0; i < (all + 4) / 8; i++)
            putchar('#');
        return;
    }
    for (size_t i = 0; i < all / 8; i++)
        fputs("█", stdout);
    fputs(eighths[all % 8], stdout);
}

#define LEVELS 8

void table_put_levels(const double *parts, size_t count, size_t width)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[] = {" ", "_", ".", "-", "=", "+", "*", "#", "@"};
    const char *const *levels = table_has_utf8() ? blocks : signs;
    width = width > count ? count : width;
    for (size_t i = 0; i < width; i++) {
        double most = 0; /* of those that share a column */
        for (size_t k = i * count / width; k < (i + 1) * count / width; k++)
            most = parts[k] > most ? parts[k] : most;
        size_t level = (size_t)(most * LEVELS);
        level = most > 0 && level == 0 ? 1 : level > LEVELS ? LEVELS : level;
        fputs(levels[level], stdout);
    }
}
