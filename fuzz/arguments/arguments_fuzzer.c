/*
 * Any arguments, with intact files: a command ends with one of its statuses, JSON is JSON, and flame graphs are XML.
 *
 * The input has one argument on each line. There are traces "a" and "b", a profile "p", a log "l" and suppressions
 * of leaks "s".
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"
#include "fuzz/support/tool_run.h"

#define ARGUMENTS_MAX 16

/* Splits the lines. A slash would lead out of the folder. */
static bool take_arguments(char *text, const char **arguments)
{
    size_t count = 0;
    for (char *slash; (slash = strchr(text, '/')) != NULL;)
        *slash = '_';
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (count == ARGUMENTS_MAX)
            return false;
        arguments[count++] = line;
    }
    return strcmp(arguments[0], "record") != 0;
}

static void check_output(const struct tool_output *output)
{
    REQUIRE(output->status >= 0 && output->status <= 2);
    if (output->status == 2 || output->nbytes == 0)
        return; /* it may have been cut */
    if (output->text[0] == '{' && output->nbytes > 1 && strchr("\"}\n", output->text[1]) != NULL)
        REQUIRE(is_json_lines(output->text, output->nbytes));
    if (output->text[0] == '<' && output->nbytes > 1 &&
        output->text[1] != '!') /* which begins a page in HTML */
        REQUIRE(is_xml(output->text, output->nbytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const char *arguments[ARGUMENTS_MAX + 1] = {NULL};
    char text[1024];
    if (nbytes >= sizeof text || memchr(data, 0, nbytes) != NULL)
        return 0;
    memcpy(text, data, nbytes);
    text[nbytes] = '\0';
    if (!take_arguments(text, arguments))
        return 0;
    tool_samples_put();
    struct tool_output output = tool_run(arguments);
    check_output(&output);
    return 0;
}
