/*
 * The files of the page, which are compiled in: all of reader/tools/view/page, as ninja/generate.py lists them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/view.h"

#include <string.h>

/* Defines 'page_NUMBER' and 'page_NUMBER_end' around the bytes of a file. */
#define PAGE_FILE(number, name)                                                                              \
    __asm__(".pushsection .rodata\n"                                                                         \
            "page_" #number ":\n"                                                                            \
            ".incbin \"reader/tools/view/page/" name "\"\n"                                                  \
            "page_" #number "_end:\n"                                                                        \
            ".popsection\n");                                                                                \
    extern const char page_##number[] __attribute__((visibility("hidden")));                                 \
    extern const char page_##number##_end[] __attribute__((visibility("hidden")));
#include "ninja/generated/page.h"
#undef PAGE_FILE

static const struct {
    const char *name, *bytes, *end;
} files[] = {
#define PAGE_FILE(number, name) {name, page_##number, page_##number##_end},
#include "ninja/generated/page.h"
#undef PAGE_FILE
};

static const char *content_type(const char *name)
{
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".svg", "image/svg+xml"}};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(ending, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

bool view_page_file(const char *name, struct view_response *response_ret)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, name) == 0) {
            *response_ret = (struct view_response){.content_type = content_type(name),
                                                   .bytes = files[i].bytes,
                                                   .nbytes = (size_t)(files[i].end - files[i].bytes)};
            return true;
        }
    return false;
}
