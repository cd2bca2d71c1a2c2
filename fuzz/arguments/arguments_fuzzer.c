/*
 * Any arguments, with intact files: a command ends with one of its statuses, JSON is JSON, and flame graphs are XML.
 *
 * The input has one argument on each line; fuzz/support/tool_run.h says which files there are. Before them, a line
 * "variable=TEXT" or "file=TEXT" sets defaults of options, where '|' ends a line of the text. "--complete" in place of the
 * command asks what can follow. 'record' and 'doctor' cannot start the program that they are given.
 *
 * Link with: -Wl,--wrap=fork
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"
#include "fuzz/support/tool_run.h"

#define ARGUMENTS_MAX 16
#define TEXT_NBYTES   1024

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
    return true;
}

/* ---- Processes ---- */

static bool starts_nothing;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
    if (!starts_nothing)
        return __real_fork();
    errno = EAGAIN;
    return -1;
}

/* ---- Commands ---- */

/* A text in which '|' ends a line. */
static const char *lines_of(const char *text)
{
    static char lines[TEXT_NBYTES];
    if (text == NULL)
        return NULL;
    snprintf(lines, sizeof lines, "%s", text);
    for (char *end; (end = strchr(lines, '|')) != NULL;)
        *end = '\n';
    return lines;
}

static const char *cut_prefix(const char *text, const char *prefix)
{
    size_t nbytes = strlen(prefix);
    return strncmp(text, prefix, nbytes) == 0 ? text + nbytes : NULL;
}

/* "words", "files", "commands" or "none" come first. */
static void check_completion(const struct tool_output *output)
{
    static const char *const answers[] = {"words\n", "files\n", "commands\n", "none\n"};
    bool is_known = false;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        is_known = is_known || (output->nbytes >= strlen(answers[i]) &&
                                memcmp(output->text, answers[i], strlen(answers[i])) == 0);
    REQUIRE(output->status == 0 && is_known);
}

/* 'record' has two statuses more. */
static bool is_status(const char *command, int status)
{
    return (status >= 0 && status <= 2) ||
           (strcmp(command, "record") == 0 && (status == 126 || status == 127));
}

static void check_output(const struct tool_output *output)
{
    if (output->status >= 2 || output->nbytes == 0)
        return; /* it may have been cut */
    if (output->text[0] == '{' && output->nbytes > 1 && strchr("\"}\n", output->text[1]) != NULL)
        REQUIRE(is_json_lines(output->text, output->nbytes));
    if (output->text[0] == '<' && output->nbytes > 1 &&
        output->text[1] != '!') /* which begins a page in HTML */
        REQUIRE(is_xml(output->text, output->nbytes));
}

static void run(const char *const *arguments)
{
    const char *variable = cut_prefix(arguments[0], "variable="),
               *file = lines_of(cut_prefix(arguments[0], "file="));
    if ((variable != NULL || file != NULL) && *++arguments == NULL)
        return;
    if (strcmp(arguments[0], "--complete") == 0) {
        struct tool_output output = tool_complete_run(arguments + 1);
        check_completion(&output);
        return;
    }
    starts_nothing = strcmp(arguments[0], "record") == 0 || strcmp(arguments[0], "doctor") == 0;
    struct tool_output output = variable != NULL || file != NULL
                                    ? tool_run_with_defaults(arguments, variable, file)
                                    : tool_run(arguments);
    starts_nothing = false;
    REQUIRE(is_status(arguments[0], output.status));
    check_output(&output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const char *arguments[ARGUMENTS_MAX + 1] = {NULL};
    char text[TEXT_NBYTES];
    if (nbytes >= sizeof text || memchr(data, 0, nbytes) != NULL)
        return 0;
    memcpy(text, data, nbytes);
    text[nbytes] = '\0';
    if (!take_arguments(text, arguments))
        return 0;
    tool_samples_put();
    run(arguments);
    return 0;
}
