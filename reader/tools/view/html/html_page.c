/*
 * The page as one file: its scripts are joined into one, because a page from a file cannot load modules, and the policy in its
 * head allows this script and the page's style, and nothing else.
 *
 * Modules import on single lines, and their top-level names are unique, so that removing these lines and the word "export"
 * joins them. A module follows those that it imports.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/view/html/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 32
#define NAME_NBYTES 32

struct joined {
    struct tbed_text text;
    char names[MODULES_MAX][NAME_NBYTES];
    size_t count;
};

static bool is_joined(const struct joined *joined, const char *name)
{
    for (size_t i = 0; i < joined->count; i++)
        if (strcmp(joined->names[i], name) == 0)
            return true;
    return false;
}

static bool begins(const char *line, const char *end, const char *with)
{
    size_t nbytes = strlen(with);
    return (size_t)(end - line) >= nbytes && memcmp(line, with, nbytes) == 0;
}

static void join(struct joined *joined, const char *name);

/* Joins what a line imports: 'import … from "./NAME";'. The folder does not matter, because names are unique. */
static void join_imported(struct joined *joined, const char *line, const char *end)
{
    char name[NAME_NBYTES] = "";
    const char *slash = memrchr(line, '/', (size_t)(end - line));
    const char *close = slash != NULL ? memchr(slash, '"', (size_t)(end - slash)) : NULL;
    if (close != NULL && close - slash - 1 < NAME_NBYTES)
        memcpy(name, slash + 1, (size_t)(close - slash) - 1);
    join(joined, name);
}

static bool find_module(const char *name, struct view_response *file)
{
    char inside[NAME_NBYTES + sizeof "inside/"];
    snprintf(inside, sizeof inside, "inside/%s", name);
    return view_page_file(name, file) || view_page_file(inside, file);
}

static const char *end_of_line(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline != NULL ? newline + 1 : end;
}

static void join(struct joined *joined, const char *name)
{
    struct view_response file;
    if (is_joined(joined, name) || joined->count == MODULES_MAX || !find_module(name, &file))
        return;
    strcpy(joined->names[joined->count++], name);
    const char *end = file.bytes + file.nbytes;
    for (const char *line = file.bytes, *next; line < end; line = next) {
        next = end_of_line(line, end);
        if (begins(line, next, "import "))
            join_imported(joined, line, next);
    }
    for (const char *line = file.bytes, *next; line < end; line = next) {
        next = end_of_line(line, end);
        if (begins(line, next, "import "))
            continue;
        size_t skipped = begins(line, next, "export ") ? strlen("export ") : 0;
        tbed_text_put(&joined->text, line + skipped, (size_t)(next - line) - skipped);
    }
}

static const char before_data[] = "<!-- The data of the traces. -->\n";

/* The page's markup with 'head' instead of its links, and the scripts at its end. */
void html_page_begin(struct tbed_text *to)
{
    struct joined joined = {0};
    struct view_response page = {0}, style = {0};
    view_page_file("index.html", &page);
    view_page_file("view.css", &style);
    join(&joined, "inside.js");
    join(&joined, "main.js");
    const char *end = page.bytes + page.nbytes;
    for (const char *line = page.bytes, *next; line < end; line = next) {
        next = end_of_line(line, end);
        if (begins(line, next, "<link rel=\"stylesheet\"")) {
            tbed_text_puts(to, "<style>");
            tbed_text_put(to, style.bytes, style.nbytes);
            tbed_text_puts(to, "</style>\n<script type=\"module\">");
            tbed_text_put(to, joined.text.bytes, joined.text.nbytes);
            tbed_text_puts(to, "</script>\n");
            continue;
        }
        if (begins(line, next, "<script ") || begins(line, next, "</body>") || begins(line, next, "</html>"))
            continue;
        tbed_text_put(to, line, (size_t)(next - line));
        if (!begins(line, next, "<meta charset="))
            continue;
        tbed_text_puts(to, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                           "img-src data:; base-uri 'none'; form-action 'none'; script-src 'sha256-");
        html_digest(to, joined.text.bytes, joined.text.nbytes);
        tbed_text_puts(to, "'; style-src 'sha256-");
        html_digest(to, style.bytes, style.nbytes);
        tbed_text_puts(to, "'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    }
    tbed_text_puts(to, before_data);
    to->is_out_of_memory |= joined.text.is_out_of_memory;
    free(joined.text.bytes);
}

void html_page_end(struct tbed_text *to)
{
    tbed_text_puts(to, "</body>\n</html>\n");
}
