/*
 * Reads the options of a command, refuses those that do not apply to a file's format, and prints the help text.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <string.h>

/* ---- Options given ---- */

#define GIVEN_MAX 64 /* distinct options of one command */

static const struct tool_verb *given_verb;
static struct {
    int option;
    const char *name;     /* without "--" */
    const char *argument; /* the last one given; NULL: none */
} given[GIVEN_MAX];
static size_t given_count;
static int default_words, word_read;

static void note_given(const struct tool_verb *verb, int option, const struct option *longs)
{
    size_t at = 0;
    while (at < given_count && given[at].option != option)
        at++;
    while (longs->name != NULL && longs->val != option)
        longs++;
    if (longs->name == NULL || at == GIVEN_MAX)
        return;
    given_verb = verb;
    given[at].option = option;
    given[at].name = longs->name;
    given[at].argument = longs->has_arg != no_argument ? optarg : NULL;
    given_count += at == given_count;
}

/* After getopt_long() complained about a word: suggests the nearest option that there is. */
static void suggest_option(const char *word, const struct option *longs)
{
    const char *names[GIVEN_MAX];
    char name[GIVEN_MAX] = "";
    size_t count = 0, nbytes = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || nbytes - 2 >= sizeof name)
        return;
    memcpy(name, word + 2, nbytes - 2);
    for (; longs->name != NULL && count < GIVEN_MAX; longs++)
        if (strncmp(longs->name, name, nbytes - 2) != 0) /* else it is ambiguous, or its argument is wrong */
            names[count++] = longs->name;
        else
            return;
    const char *near = tool_word_nearest(names, count, name);
    if (near != NULL)
        tool_hint("Did you mean '--%s'?", near);
}

void tool_options_start(int default_count)
{
    given_count = 0;
    optind = 0;
    default_words = default_count;
    word_read = 1;
}

int tool_option_word(void)
{
    return word_read;
}

/* Like getopt_long(), but the argument of a default is not in the word behind it, which is another default or a FILE. */
static int next_option(int argc, char **argv, const char *shorts, const struct option *longs)
{
    int word = optind > 0 ? optind : 1;
    /* Where operands come in their places, musl's getopt_long() takes this one for the end of the options. */
    bool is_input = shorts[0] == '-' && word < argc && strcmp(argv[word], "-") == 0;
    if (is_input) {
        optarg = argv[word];
        optind = word + 1;
    }
    int option = is_input ? 1 : getopt_long(argc, argv, shorts, longs, NULL);
    word_read = option != -1 ? word : 0;
    if (word > default_words || option == -1 || option == '?' || optind == word + 1)
        return option;
    fprintf(stderr, "%s: option '%s' requires an argument: %s=VALUE\n", argv[0], argv[word], argv[word]);
    return '?';
}

int tool_option_next(const struct tool_verb *verb, int argc, char **argv, const char *shorts,
                     const struct option *longs, int *exit_ret)
{
    int option;
    const char *problem = NULL;
    *exit_ret = -1;
    if (tool_watcher != NULL)
        tool_watcher->options(longs, false);
    do
        option = next_option(argc, argv, shorts, longs);
    while (option == TOOL_OPTION_COLOR && (problem = tool_color_set(optarg)) == NULL);
    if (option == -1 && tool_watcher != NULL && tool_watcher->options(longs, true))
        *exit_ret = TOOL_FINE;
    if (option == TOOL_OPTION_COLOR)
        *exit_ret = tool_usage(verb, problem);
    else if (option == '?') {
        suggest_option(argv[optind - 1], longs);
        *exit_ret = tool_usage(verb, NULL);
    } else if (option == 'h') {
        tool_print_help(verb);
        *exit_ret = tool_finish(TOOL_FINE);
    } else if (option != -1) {
        note_given(verb, option, longs);
    }
    return *exit_ret >= 0 ? -1 : option;
}

int tool_from_to(const struct tool_verb *verb, int argc, char **argv, struct tool_from_to *ret)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    *ret = (struct tool_from_to){0};
    while ((option = tool_option_next(verb, argc, argv, "o:fh", longs, &exit)) != -1) {
        if (option == 'o')
            ret->to = optarg;
        else
            ret->overwrite = true;
    }
    return exit >= 0 ? exit : tool_from_to_take(verb, argc, argv, ret);
}

int tool_from_to_take(const struct tool_verb *verb, int argc, char **argv, struct tool_from_to *ret)
{
    if (optind != argc - 1)
        return tool_usage(verb, optind < argc ? "too many FILE operands" : "missing FILE operand");
    if (ret->to == NULL)
        return tool_usage(verb, "missing option -o OUT");
    if (strcmp(ret->to, "-") == 0)
        return tool_usage(verb, "a trace cannot be written to standard output");
    ret->from = argv[optind];
    return tool_is_input(ret->to, ret->from) ? TOOL_TROUBLE : -1;
}

/* ---- Options that apply ---- */

/* Returns whether 'word' is in a list such as "word, word". */
static bool has_word(const char *words, const char *word)
{
    size_t nbytes = strlen(word);
    for (const char *at = words; nbytes > 0 && (at = strstr(at, word)) != NULL; at += nbytes)
        if ((at == words || at[-1] == ' ') && (at[nbytes] == ',' || at[nbytes] == '\0'))
            return true;
    return false;
}

/* The same for a list of words without spaces, such as "-word,+word": whether any of them is. */
static bool has_any_word(const char *words, const char *list)
{
    char word[64];
    for (size_t nbytes; *list != '\0'; list += nbytes + (list[nbytes] == ',')) {
        nbytes = strcspn(list, ",");
        size_t sign = *list == '-' || *list == '+';
        snprintf(word, sizeof word, "%.*s", (int)(nbytes - sign), list + sign);
        if (has_word(words, word))
            return true;
    }
    return false;
}

/* The scope that excludes the format, or NULL. */
static const struct tool_option_scope *refusal_find(const struct tool_option_scope *scopes, size_t count,
                                                    size_t at, const char *format)
{
    for (size_t i = 0; i < count; i++) {
        const struct tool_option_scope *scope = &scopes[i];
        bool is_about_it = scope->arguments == NULL ||
                           (given[at].argument != NULL && has_any_word(scope->arguments, given[at].argument));
        if (scope->option == given[at].option && is_about_it && !has_word(scope->formats, format))
            return scope;
    }
    return NULL;
}

bool tool_options_apply(const struct tool_option_scope *scopes, size_t count, const char *format,
                        const char *path)
{
    for (size_t i = 0; i < given_count; i++) {
        const struct tool_option_scope *scope = refusal_find(scopes, count, i, format);
        if (scope == NULL)
            continue;
        bool has_argument = scope->arguments != NULL;
        tool_complain("%s: --%s%s%s does not apply to %s (it applies to: %s)",
                      path != NULL ? tool_path(path) : given_verb->name, given[i].name,
                      has_argument ? "=" : "", has_argument ? given[i].argument : "", format, scope->formats);
        tool_usage(given_verb, NULL);
        return false;
    }
    return true;
}

/* ---- Help ---- */

static void print_formats(bool is_import)
{
    const struct tbed_format *format;
    for (size_t i = 0; (format = tbed_format_get(i)) != NULL; i++)
        if (is_import ? format->can_import : format->can_export)
            printf("  %-12s %s\n", format->name, format->summary);
}

void tool_print_help(const struct tool_verb *verb)
{
    for (const char *line = verb->help; *line != '\0';) {
        size_t nbytes = strcspn(line, "\n") + 1;
        if (strncmp(line, "@import\n", nbytes) == 0)
            print_formats(true);
        else if (strncmp(line, "@export\n", nbytes) == 0)
            print_formats(false);
        else
            fwrite(line, 1, nbytes, stdout);
        line += nbytes;
    }
}
