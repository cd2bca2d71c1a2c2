/*
 * 'tracebed --complete WORD...': what can follow on a command line, for the shells' completion (reader/tools/tracebed.bash,
 * .zsh and .fish). The last WORD is being typed, and may be empty.
 *
 * The first line of the answer says what to offer: "words", which follow line by line, each with a tab and a description
 * if it has one; "files"; "commands"; or "none". Words replace the one that is being typed.
 *
 * Nothing is listed here. The command itself is started, with the options typed so far and an empty value, and the table
 * that it gives to getopt_long(), or the list in which it looks the value up, is printed instead of used. It never gets
 * beyond its options: the program ends there.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    FILE *out; /* standard output is closed to the command */
    const struct tool_verb *verb;
    const struct option *options;
    char **words; /* after the command */
    size_t count; /* of those before 'typed' */
    const char *typed;
    size_t kept_nbytes;      /* of 'typed': what stays before each value, such as "--sort=self,-" */
    const struct option *of; /* whose value it is; NULL: not known yet */
} state;

static void finish(const char *what) __attribute__((noreturn));
static void finish(const char *what)
{
    if (what != NULL)
        fprintf(state.out, "%s\n", what);
    bool failed = fflush(state.out) != 0;
    _exit(failed ? TOOL_TROUBLE : TOOL_FINE); /* what the command has open needs no care: it has not begun */
}

static void put(const char *word, const char *end, const char *description, size_t nbytes)
{
    char text[256];
    int length = snprintf(text, sizeof text, "%.*s%s%s", (int)state.kept_nbytes, state.typed, word, end);
    if (length < 0 || (size_t)length >= sizeof text || strncmp(text, state.typed, strlen(state.typed)) != 0)
        return;
    fprintf(state.out, "%s%s%.*s\n", text, nbytes > 0 ? "\t" : "", (int)nbytes, description);
}

/* ---- Help texts ---- */

/* The line of the option in the help text, after its name; NULL: it has none. */
static const char *help_of(const char *name)
{
    size_t nbytes = strlen(name);
    for (const char *line = state.verb->help; *line != '\0';) {
        const char *at = line + strspn(line, " ");
        if (at - line >= 2 && at - line <= 6 && at[0] == '-') {
            at += at[1] != '-' && at[2] == ',' ? strlen("-x, ") : 0;
            if (strncmp(at, "--", 2) == 0 && strncmp(at + 2, name, nbytes) == 0 &&
                strchr("=[ \n", at[2 + nbytes]) != NULL)
                return at + 2 + nbytes;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

/* The first line of its description, which may be below it. */
static const char *description_of(const char *name, size_t *nbytes_ret)
{
    const char *at = help_of(name);
    *nbytes_ret = 0;
    if (at == NULL)
        return "";
    at += strcspn(at, " \n");
    at += strspn(at, " \n");
    *nbytes_ret = strcspn(at, "\n");
    return at;
}

static bool takes_file(const char *name)
{
    static const char *const names[] = {"FILE", "OUT", "OLD", "DIR", "SCRIPT", "FOLDER"};
    const char *at = help_of(name);
    char word[16];
    if (at == NULL)
        return false;
    at += strspn(at, "[=");
    snprintf(word, sizeof word, "%.*s", (int)strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), at);
    return tool_word_find(names, sizeof names / sizeof names[0], word) < sizeof names / sizeof names[0];
}

/* ---- Commands ---- */

static void list_verbs(bool with_options)
{
    fputs("words\n", state.out);
    const struct tool_verb *verb;
    for (size_t i = 0; (verb = tool_verb_get(i)) != NULL; i++)
        put(verb->name, "", verb->summary, strlen(verb->summary));
    if (with_options) {
        static const char help[] = "describe a command", version[] = "print the version",
                          pager[] = "print without a pager";
        put("help", "", help, strlen(help));
        if (state.typed[0] == '-') {
            put("--help", "", help, strlen(help));
            put("--version", "", version, strlen(version));
            put("--no-pager", "", pager, strlen(pager));
        }
    }
    finish(NULL);
}

/* ---- Options ---- */

/* Of the names of one option, the first is offered. */
static bool is_first_name(const struct option *option)
{
    for (const struct option *other = state.options; other < option; other++)
        if (other->val == option->val)
            return false;
    return true;
}

static void list_options(void)
{
    fputs("words\n", state.out);
    for (const struct option *option = state.options; option->name != NULL; option++) {
        char name[64];
        size_t nbytes;
        const char *description = description_of(option->name, &nbytes);
        snprintf(name, sizeof name, "--%s", option->name);
        if (is_first_name(option))
            put(name, option->has_arg == required_argument ? "=" : "", description, nbytes);
    }
    finish(NULL);
}

/* The option that the first 'nbytes' of a word name; NULL: none. */
static const struct option *option_find(const char *name, size_t nbytes)
{
    for (const struct option *option = state.options; option->name != NULL; option++)
        if (strncmp(option->name, name, nbytes) == 0 && option->name[nbytes] == '\0')
            return option;
    return NULL;
}

static const struct option *letter_find(char letter)
{
    for (const struct option *option = state.options; option->name != NULL; option++)
        if (option->val == letter)
            return option;
    return NULL;
}

/* The option whose value the next word is; NULL: none. */
static const struct option *option_before_value(const char *word)
{
    const struct option *option = NULL;
    if (strncmp(word, "--", 2) == 0)
        option = option_find(word + 2, strlen(word + 2));
    else if (word[0] == '-' && word[1] != '\0')
        option = letter_find(word[strlen(word) - 1]);
    return option != NULL && option->has_arg == required_argument ? option : NULL;
}

/* ---- Values ---- */

/* What stays of a list: all up to the last comma, and a sign. */
static size_t kept_of_list(const char *value)
{
    const char *comma = strrchr(value, ',');
    size_t kept = comma != NULL ? (size_t)(comma + 1 - value) : 0;
    return kept + (value[kept] == '-' || value[kept] == '+');
}

static void list_words(const char *const *words, size_t count, const char *word)
{
    if (state.of == NULL || word[0] != '\0')
        return;
    fputs("words\n", state.out);
    for (size_t i = 0; i < count; i++)
        put(words[i], "", NULL, 0);
    finish(NULL);
}

/* Starts the command with the other options and the part of the value that stays. 'at' is where the value begins. */
static void list_values(const struct option *option, size_t at)
{
    char **argv = tool_realloc(NULL, (state.count + 3) * sizeof *argv);
    char name[] = "tracebed", *value = NULL;
    const char *text = state.typed + at;
    size_t kept = kept_of_list(text);
    int argc = 0;
    argv[argc++] = name;
    for (size_t i = 0; i < state.count; i++) {
        const struct option *before = option_before_value(state.words[i]);
        if (before == option && i + 1 == state.count)
            break;
        bool is_help = strcmp(state.words[i], "-h") == 0 || strcmp(state.words[i], "--help") == 0;
        if (state.words[i][0] == '-' && state.words[i][1] != '\0' && !is_help)
            argv[argc++] = state.words[i];
        if (before != NULL && i + 1 < state.count)
            argv[argc++] = state.words[++i];
    }
    bool has_sign = kept > 0 && text[kept - 1] != ',';
    if (asprintf(&value, "--%s=%.*s", option->name, (int)(kept - has_sign), text) < 0)
        tool_out_of_memory();
    argv[argc++] = value;
    argv[argc] = NULL;
    state.of = option;
    state.kept_nbytes = at + kept;
    tool_options_start(0);
    state.verb->run(argc, argv);
    finish(takes_file(option->name) ? "files" : "none");
}

/* ---- A command's line ---- */

/* All options before are read, so that a value is not taken for an operand. Returns NULL if the next word is none. */
static const struct option *value_option(bool *has_operand_ret, bool *is_closed_ret)
{
    const struct option *option = NULL;
    *has_operand_ret = *is_closed_ret = false;
    for (size_t i = 0; i < state.count; i++) {
        const char *word = state.words[i];
        if (option != NULL)
            option = NULL;
        else if (*is_closed_ret || word[0] != '-' || word[1] == '\0')
            *has_operand_ret = true;
        else if (strcmp(word, "--") == 0)
            *is_closed_ret = true;
        else
            option = option_before_value(word);
    }
    return option;
}

static void complete_line(void)
{
    bool has_operand, is_closed, is_record = state.verb == &tool_verb_record;
    const struct option *option = value_option(&has_operand, &is_closed);
    size_t name_nbytes = strcspn(state.typed, "=");
    is_closed |= is_record && has_operand;
    if (option != NULL)
        list_values(option, 0);
    if (!is_closed && strncmp(state.typed, "--", 2) == 0 && state.typed[name_nbytes] == '=') {
        option = option_find(state.typed + 2, name_nbytes - 2);
        if (option == NULL || option->has_arg == no_argument)
            finish("none");
        list_values(option, name_nbytes + 1);
    }
    if (!is_closed && state.typed[0] == '-')
        list_options();
    finish(is_record && !has_operand ? "commands" : "files");
}

/* ---- What the command shows of itself ---- */

/* Its first call shows the table. Later the options are read, and only keys of tables are looked up after them. */
static bool see_options(const struct option *options, bool is_end)
{
    if (state.options == NULL) {
        state.options = options;
        complete_line();
    }
    bool has_keys = strcmp(state.of->name, "sort") == 0 || strcmp(state.of->name, "columns") == 0;
    return is_end && !has_keys;
}

static const struct tool_watcher watcher = {see_options, list_words};

int tool_complete(int argc, char **argv)
{
    static char empty[] = "", name[] = "tracebed";
    char *line[] = {name, NULL};
    int fd = dup(STDOUT_FILENO);
    if (fd < 0 || (state.out = fdopen(fd, "w")) == NULL || freopen("/dev/null", "w", stdout) == NULL ||
        freopen("/dev/null", "w", stderr) == NULL)
        return TOOL_TROUBLE;
    if (argc > 1 && strcmp(argv[0], "--no-pager") == 0) {
        argc--;
        argv++;
    }
    state.typed = argc > 0 ? argv[argc - 1] : empty;
    if (argc <= 1)
        list_verbs(true);
    if (strcmp(argv[0], "help") == 0 && argc == 2)
        list_verbs(false);
    state.verb = tool_verb_find(argv[0]);
    if (state.verb == NULL)
        finish("none");
    state.words = argv + 1;
    state.count = (size_t)argc - 2;
    tool_watcher = &watcher;
    tool_options_start(0);
    state.verb->run(1, line);
    finish("none");
}
