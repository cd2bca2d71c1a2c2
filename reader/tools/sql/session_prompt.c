/*
 * The prompt: statements over several lines, commands that begin with a dot, history and completion where the terminal's
 * line editor is installed (libedit or readline, loaded when it is needed).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/sql/session.h"

#ifdef SQL_IS_BUILT

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY       ".tracebed_sql_history" /* in the home directory */
#define HISTORY_LINES 1000

/* ---- Commands ---- */

static const char commands[] = ".help           print this list\n"
                               ".tables         list the tables\n"
                               ".schema TABLE   list the columns of a table, or of all\n"
                               ".mode MODE      print rows as: table, csv, json\n"
                               ".quit           leave\n"
                               "\n"
                               "Everything else is SQL, up to a ';'.\n";

static void print_tables(void)
{
    const struct tbed_table *table;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++)
        printf("%s%-16s%s  %s\n", tool_bold(), table->name, tool_plain(), table->summary);
}

static const char *type_of(const struct tbed_column *column)
{
    bool is_text = column->type == TBED_COLUMN_NAME || column->type == TBED_COLUMN_TEXT;
    return is_text ? "text" : column->type == TBED_COLUMN_F64 ? "real" : "integer";
}

static void print_schema(const struct tbed_table *table)
{
    printf("%s%s%s: %s\n", tool_bold(), table->name, tool_plain(), table->summary);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tbed_column *column = &table->columns[i];
        printf("  %-16s  %-7s  %s%s%s%s%s\n", column->name, type_of(column), column->summary,
               column->unit != NULL ? " (" : "", column->unit != NULL ? column->unit : "",
               column->unit != NULL ? ")" : "", column->is_parameter ? "; an argument" : "");
    }
}

static void print_schemas(const char *name)
{
    const struct tbed_table *table = tbed_table_find(name);
    if (name[0] != '\0' && table == NULL)
        tool_complain("no table '%s'", name);
    else if (table != NULL)
        print_schema(table);
    for (size_t i = 0; name[0] == '\0' && (table = tbed_table_get(i)) != NULL; i++)
        print_schema(table);
}

static void set_mode(struct session *session, const char *mode)
{
    static const char *const modes[] = {"table", "csv", "json"};
    size_t index;
    const char *wrong = tool_word_choose(".mode: unknown mode", modes, 3, mode, &index);
    if (wrong != NULL)
        tool_complain("%s", wrong);
    else
        session->format = (enum session_format)index;
}

bool session_command(struct session *session, const char *line)
{
    static const char *const names[] = {".help", ".tables", ".schema", ".mode", ".quit", ".exit"};
    char word[32] = "", argument[128] = "";
    size_t index;
    if (sscanf(line, "%31s %127[^; \t\n]", word, argument) < 1)
        return true;
    const char *wrong =
        tool_word_choose("unknown command", names, sizeof names / sizeof names[0], word, &index);
    if (wrong != NULL) {
        tool_complain("%s", wrong);
        return true;
    }
    switch (index) {
    case 0:
        fputs(commands, stdout);
        break;
    case 1:
        print_tables();
        break;
    case 2:
        print_schemas(argument);
        break;
    case 3:
        set_mode(session, argument);
        break;
    default:
        return false;
    }
    return true;
}

/* ---- The line editor ---- */

typedef char **complete_function(const char *text, int start, int end);
typedef char *generate_function(const char *text, int state);

struct editor {
    char *(*readline)(const char *prompt);
    void (*add_history)(const char *line);
    int (*read_history)(const char *path);
    int (*write_history)(const char *path);
    void (*stifle_history)(int count);
    char **(*matches)(const char *text, generate_function *generate);
    complete_function **complete;
    char history[PATH_MAX];
};

static struct editor editor; /* the callbacks of the line editor take no context */
static sqlite3 *completion_db;

static bool find_editor(const char *library_name)
{
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    *(void **)&editor.readline = dlsym(library, "readline");
    *(void **)&editor.add_history = dlsym(library, "add_history");
    *(void **)&editor.read_history = dlsym(library, "read_history");
    *(void **)&editor.write_history = dlsym(library, "write_history");
    *(void **)&editor.stifle_history = dlsym(library, "stifle_history");
    *(void **)&editor.matches = dlsym(library, "rl_completion_matches");
    editor.complete = dlsym(library, "rl_attempted_completion_function");
    return editor.readline != NULL && editor.add_history != NULL && editor.read_history != NULL &&
           editor.write_history != NULL && editor.stifle_history != NULL;
}

/* The next word of SQL that begins with the text: SQLite has a table of them. */
static char *next_word(const char *text, int state)
{
    static sqlite3_stmt *words;
    if (state == 0) {
        sqlite3_finalize(words);
        words = NULL;
        char *sql = sqlite3_mprintf("SELECT DISTINCT candidate FROM completion(%Q) UNION "
                                    "SELECT name FROM pragma_table_list WHERE name LIKE %Q || '%%' UNION "
                                    "SELECT c.name FROM pragma_table_list t, pragma_table_info(t.name) c "
                                    "WHERE c.name LIKE %Q || '%%' ORDER BY 1",
                                    text, text, text);
        /* Without the table of keywords, which only some builds have. */
        const char *own = sql != NULL ? strstr(sql, "SELECT name") : NULL;
        if (own != NULL && sqlite3_prepare_v2(completion_db, sql, -1, &words, NULL) != SQLITE_OK)
            sqlite3_prepare_v2(completion_db, own, -1, &words, NULL);
        sqlite3_free(sql);
    }
    if (words != NULL && sqlite3_step(words) == SQLITE_ROW)
        return strdup((const char *)sqlite3_column_text(words, 0));
    sqlite3_finalize(words);
    words = NULL;
    return NULL;
}

static char **complete(const char *text, int start, int end)
{
    (void)start;
    (void)end;
    return editor.matches(text, next_word);
}

static void open_editor(struct session *session)
{
    static const char *const libraries[] = {"libedit.so.2", "libreadline.so.8", "libreadline.so.7"};
    bool is_found = false;
    for (size_t i = 0; !is_found && i < sizeof libraries / sizeof libraries[0]; i++)
        is_found = find_editor(libraries[i]);
    if (!is_found) {
        editor = (struct editor){0};
        return;
    }
    completion_db = session->db;
    if (editor.complete != NULL && editor.matches != NULL)
        *editor.complete = complete;
    const char *home = getenv("HOME");
    if (home == NULL || snprintf(editor.history, sizeof editor.history, "%s/%s", home, HISTORY) >= PATH_MAX)
        editor.history[0] = '\0';
    if (editor.history[0] != '\0')
        editor.read_history(editor.history);
}

static void close_editor(void)
{
    if (editor.readline == NULL || editor.history[0] == '\0')
        return;
    mode_t old = umask(077);
    editor.stifle_history(HISTORY_LINES);
    editor.write_history(editor.history);
    umask(old);
}

/* The next line, which the caller frees; NULL: the end. */
static char *read_line(const char *prompt)
{
    if (editor.readline != NULL)
        return editor.readline(prompt);
    char *line = NULL;
    size_t room = 0;
    fputs(prompt, stdout);
    fflush(stdout);
    ssize_t nbytes = getline(&line, &room, stdin);
    if (nbytes < 0) {
        free(line);
        return NULL;
    }
    line[nbytes > 0 && line[nbytes - 1] == '\n' ? nbytes - 1 : nbytes] = '\0';
    return line;
}

/* ---- Reading statements ---- */

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\n")] == '\0';
}

/* Adds a line; runs the text if it is complete. False: leave. */
static bool take_line(struct session *session, struct tool_buffer *text, const char *line)
{
    if (text->nbytes == 0 && line[0] == '.')
        return session_command(session, line);
    if (text->nbytes == 0 && is_blank(line))
        return true;
    tool_append(text, line, strlen(line));
    tool_append(text, "\n", 2);
    text->nbytes--; /* it stays terminated */
    if (!sqlite3_complete(text->bytes))
        return true;
    session_run(session, text->bytes);
    if (editor.readline != NULL)
        editor.add_history(text->bytes);
    text->nbytes = 0;
    return true;
}

int session_prompt(struct session *session)
{
    struct tool_buffer text = {0};
    char *line;
    bool goes_on = true;
    open_editor(session);
    session_take_interrupts(session->db);
    printf("A statement in SQL ends with ';'. '.help' lists the commands, '.tables' the tables.\n");
    while (goes_on && (line = read_line(text.nbytes > 0 ? "   ...> " : "tracebed> ")) != NULL) {
        goes_on = take_line(session, &text, line);
        session->result_count = 0;
        fflush(stdout);
        free(line);
    }
    if (goes_on)
        putchar('\n');
    if (text.nbytes > 0)
        tool_complain("the last statement has no ';'");
    free(text.bytes);
    close_editor();
    return session_tell_damage(session) ? TOOL_FOUND : TOOL_FINE;
}

#endif
