/*
 * Reads the defaults of options: sections of commands, and in each the options as they are typed. A file has one in a line,
 * which needs no quoting; in the variable, blanks separate them.
 *
 * A file in the current folder is not read: folders are unpacked, cloned and shared, and 'record' runs programs.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/defaults/defaults.h"

#include "reader/tools/shared/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NBYTES_MAX (64u << 10)

static struct defaults_option *options;
static size_t option_count;
static char *file_path, *file_text, *variable_text;
static char problem[1024];

static const char *wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return problem;
}

/* ---- The grammar ---- */

struct parser {
    const char *source, *command;
    unsigned line;
    bool (*is_command)(const char *name);
};

static const char *wrong_at(const struct parser *parser, const char *text, const char *what)
{
    const struct defaults_option place = {.source = parser->source, .line = parser->line};
    return wrong("%s: '%.100s' is %s", defaults_place(&place), text, what);
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t nbytes = strlen(text);
    while (nbytes > 0 && strchr(" \t\r", text[nbytes - 1]) != NULL)
        nbytes--;
    text[nbytes] = '\0';
    return text;
}

static const char *take_section(struct parser *parser, char *text)
{
    size_t nbytes = strlen(text);
    if (text[nbytes - 1] != ']')
        return wrong_at(parser, text, "not a section: expected [COMMAND]");
    text[nbytes - 1] = '\0';
    if (!parser->is_command(text + 1))
        return wrong_at(parser, text + 1, "not a command");
    parser->command = text + 1;
    return NULL;
}

static const char *take_item(struct parser *parser, char *text)
{
    if (text[0] == '\0' || text[0] == '#')
        return NULL;
    if (text[0] == '[')
        return take_section(parser, text);
    if (strncmp(text, "--", 2) != 0 || text[2] < 'a' || text[2] > 'z')
        return wrong_at(parser, text, "not an option: expected --NAME or --NAME=VALUE");
    options = tool_realloc(options, (option_count + 1) * sizeof *options);
    options[option_count++] = (struct defaults_option){parser->command, text, parser->source, parser->line};
    return NULL;
}

/* Cuts the text at the separators. */
static const char *parse(struct parser *parser, char *text, const char *separators, unsigned lines)
{
    const char *what = NULL;
    bool is_last = false;
    for (unsigned number = 1; what == NULL && !is_last; number++) {
        size_t nbytes = strcspn(text, separators);
        is_last = text[nbytes] == '\0';
        text[nbytes] = '\0';
        parser->line = number * lines;
        what = take_item(parser, trim(text));
        text += nbytes + 1;
    }
    return what;
}

/* ---- Where they come from ---- */

/* As the XDG base directory specification has it: a relative path is ignored. */
static char *path_make(void)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *inner = "";
    char *path = NULL;
    if (folder == NULL || folder[0] != '/') {
        folder = home;
        inner = "/.config";
    }
    if (folder == NULL || folder[0] != '/')
        return NULL;
    if (asprintf(&path, "%s%s/tracebed/options", folder, inner) < 0)
        tool_out_of_memory();
    return path;
}

/* Stores NULL if there is no file, or none that this user may read. */
static const char *file_read(const char *path, char **text_ret)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *text_ret = NULL;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? NULL
                   : wrong("%s: %s", path, strerror(errno));
    char *text = tool_realloc(NULL, FILE_NBYTES_MAX + 1);
    bool is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t nbytes = is_regular ? read(fd, text, FILE_NBYTES_MAX + 1) : 0;
    close(fd);
    *text_ret = text;
    if (!is_regular)
        return wrong("%s: it is not a regular file", path);
    if (nbytes < 0)
        return wrong("%s: cannot be read", path);
    if (nbytes > (ssize_t)FILE_NBYTES_MAX || memchr(text, '\0', (size_t)nbytes) != NULL)
        return wrong("%s: it is not a file of options", path);
    text[nbytes] = '\0';
    return NULL;
}

static void forget(void)
{
    free(options);
    free(file_path);
    free(file_text);
    free(variable_text);
    options = NULL;
    file_path = file_text = variable_text = NULL;
    option_count = 0;
    problem[0] = '\0';
}

static const char *load_file(bool (*is_command)(const char *name))
{
    file_path = path_make();
    const char *what = file_path != NULL ? file_read(file_path, &file_text) : NULL;
    if (what != NULL || file_text == NULL)
        return what;
    struct parser parser = {.source = file_path, .command = "", .is_command = is_command};
    return parse(&parser, file_text, "\n", 1);
}

static const char *load_variable(bool (*is_command)(const char *name))
{
    const char *value = getenv("TRACEBED_OPTIONS");
    if (value == NULL)
        return NULL;
    variable_text = strdup(value);
    if (variable_text == NULL)
        tool_out_of_memory();
    struct parser parser = {.source = "TRACEBED_OPTIONS", .command = "", .is_command = is_command};
    return parse(&parser, variable_text, " \t\n", 0);
}

const char *defaults_load(bool (*is_command)(const char *name))
{
    forget();
    const char *value = getenv("TRACEBED_OPTIONS");
    if (value != NULL && strcmp(value, "--no-defaults") == 0)
        return NULL;
    const char *what = load_file(is_command);
    return what != NULL ? what : load_variable(is_command);
}

const char *defaults_problem(void)
{
    return problem[0] != '\0' ? problem : NULL;
}

const char *defaults_path(void)
{
    return file_path;
}

/* ---- Use ---- */

const struct defaults_option *defaults_get(size_t index)
{
    return index < option_count ? &options[index] : NULL;
}

const struct defaults_option *defaults_of(const char *command, size_t index)
{
    for (size_t i = 0; i < option_count; i++) {
        bool applies = options[i].command[0] == '\0' || strcmp(options[i].command, command) == 0;
        if (applies && index-- == 0)
            return &options[i];
    }
    return NULL;
}

char **defaults_insert(const char *command, int *argc, char **argv)
{
    size_t count = 0, given = (size_t)*argc;
    const struct defaults_option *option;
    char **all = tool_realloc(NULL, (given + option_count + 1) * sizeof *all);
    all[0] = argv[0];
    while ((option = defaults_of(command, count)) != NULL)
        all[++count] = (char *)option->text; /* getopt() moves the words, and changes none */
    memcpy(all + 1 + count, argv + 1, given * sizeof *all);
    *argc = (int)(given + count);
    return all;
}

const char *defaults_place(const struct defaults_option *option)
{
    static char place[512];
    if (option->line == 0)
        return option->source;
    snprintf(place, sizeof place, "%s, line %u", option->source, option->line);
    return place;
}
