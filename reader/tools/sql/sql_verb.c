/*
 * tracebed sql: ask a question about traces in SQL.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/sql/session.h"

#include <unistd.h>

static const char help[] =
    "usage: tracebed sql [OPTION]... FILE... [STATEMENT]\n"
    "\n"
    "Ask a question about traces in SQL. STATEMENT is one or more statements of\n"
    "SQLite; '-' reads them from standard input. Without it, a prompt on the terminal\n"
    "accepts them. FILE may be '-' for standard input, if the statements are not.\n"
    "\n"
    "  -f, --file=SCRIPT      read the statements from this file\n"
    "      --csv              print rows as comma-separated values\n"
    "      --json             print rows as JSON objects, one on each line\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n"
    "The tables are spans, events, instants, counters, messages, allocations and\n"
    "more; '.tables' lists them, '.schema' their columns. Times are in nanoseconds.\n"
    "Tables of the first FILE need no prefix, those of the second have b (b.spans),\n"
    "of the third c, and so on. Files are only read.\n"
    "\n"
    "tracebed-sql(1) documents the functions and has more examples.\n"
    "\n"
    "Examples:\n"
    "  tracebed sql run.tbed \"SELECT label, sum(dur) FROM spans GROUP BY label\"\n"
    "  tracebed sql run.tbed .schema\n"
    "  tracebed sql --csv old.tbed new.tbed -f compare.sql\n"
    "\n"
    "Exit status: 0 on success; 1 if a file is damaged (everything intact is used);\n"
    "2 if the usage or a statement is wrong, or a file cannot be read.\n";

#ifdef SQL_IS_BUILT

enum { OPTION_CSV = 1100, OPTION_JSON };

struct request {
    const char *script; /* a file with the statements, "-": standard input; NULL: none */
    const char *statement;
    bool csv, json;
    char **files;
    size_t file_count;
};

/* ---- Options ---- */

static bool is_file(const char *word)
{
    return access(word, F_OK) == 0;
}

/* The last operand is the statement, unless it is a file, or the statements come from elsewhere. */
static const char *take_operands(struct request *request, int argc, char **argv)
{
    request->files = argv + optind;
    request->file_count = (size_t)(argc - optind);
    if (request->file_count == 0)
        return "missing FILE operand";
    const char *last = argv[argc - 1];
    if (request->script == NULL && request->file_count > 1 && !is_file(last)) {
        request->file_count--;
        *(strcmp(last, "-") == 0 ? &request->script : &request->statement) = last;
    }
    if (request->file_count > SESSION_FILES_MAX)
        return "too many files: at most 10";
    size_t input_count = request->script != NULL && strcmp(request->script, "-") == 0;
    for (size_t i = 0; i < request->file_count; i++)
        input_count += strcmp(request->files[i], "-") == 0;
    if (input_count > 1)
        return "'-' is given twice";
    bool has_prompt = isatty(STDIN_FILENO) == 1 && input_count == 0;
    if (request->script == NULL && request->statement == NULL && !has_prompt)
        return "missing STATEMENT operand ('-' reads it from standard input)";
    return NULL;
}

static int parse(int argc, char **argv, struct request *request)
{
    static const struct option longs[] = {{"file", required_argument, NULL, 'f'},
                                          {"csv", no_argument, NULL, OPTION_CSV},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_sql, argc, argv, "hf:", longs, &exit)) != -1) {
        if (option == 'f')
            request->script = optarg;
        request->csv = request->csv || option == OPTION_CSV;
        request->json = request->json || option == OPTION_JSON;
    }
    if (exit >= 0)
        return exit;
    if (request->csv && request->json)
        return tool_usage(&tool_verb_sql, "--csv and --json exclude each other");
    const char *wrong = take_operands(request, argc, argv);
    return wrong != NULL ? tool_usage(&tool_verb_sql, wrong) : -1;
}

/* ---- Running ---- */

/* All of a file, terminated; NULL after a complaint. */
static char *read_script(const char *path)
{
    struct tool_buffer text = {0};
    char bytes[4096];
    size_t nbytes;
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (in == NULL) {
        tool_complain("%s: cannot be opened", path);
        return NULL;
    }
    while ((nbytes = fread(bytes, 1, sizeof bytes, in)) > 0)
        tool_append(&text, bytes, nbytes);
    bool is_fine = ferror(in) == 0;
    if (in != stdin)
        fclose(in);
    tool_append(&text, "", 1);
    if (is_fine && strlen(text.bytes) + 1 == text.nbytes)
        return text.bytes;
    tool_complain("%s: %s", tool_path(path), is_fine ? "contains a zero byte" : "cannot be read");
    free(text.bytes);
    return NULL;
}

/* Commands of the prompt work as a statement too. */
static bool run_text(struct session *session, const char *text)
{
    if (text[0] != '.')
        return session_run(session, text);
    session_command(session, text);
    return true;
}

static int answer(struct session *session, const struct request *request)
{
    if (request->script == NULL && request->statement == NULL)
        return session_prompt(session);
    char *script = request->script != NULL ? read_script(request->script) : NULL;
    if (request->script != NULL && script == NULL)
        return TOOL_TROUBLE;
    session_take_interrupts(session->db);
    bool is_fine = run_text(session, script != NULL ? script : request->statement);
    free(script);
    if (!is_fine && request->statement != NULL && strpbrk(request->statement, " \n\t;") == NULL)
        tool_hint("'%s' is no file, so it was read as a statement.", request->statement);
    bool is_damaged = session_tell_damage(session);
    return !is_fine ? TOOL_TROUBLE : is_damaged ? TOOL_FOUND : TOOL_FINE;
}

static int run(int argc, char **argv)
{
    struct request request = {0};
    struct session session = {0};
    int exit = parse(argc, argv, &request);
    if (exit >= 0)
        return exit;
    session.format = request.json ? SESSION_JSON : request.csv ? SESSION_CSV : SESSION_TABLE;
    bool is_open = session_open(&session);
    for (size_t i = 0; is_open && i < request.file_count; i++)
        is_open = session_add(&session, request.files[i], i);
    exit = is_open ? answer(&session, &request) : TOOL_TROUBLE;
    session_close(&session);
    return tool_finish(exit);
}

#else

static int run(int argc, char **argv)
{
    static const struct option longs[] = {TOOL_COMMON_OPTIONS, {0}};
    int exit;
    while (tool_option_next(&tool_verb_sql, argc, argv, "h", longs, &exit) != -1)
        ;
    if (exit >= 0)
        return exit;
    tool_complain("built without SQLite");
    tool_hint(SQL_INSTALL_HINT " and build tracebed again.");
    return TOOL_TROUBLE;
}

#endif

const struct tool_verb tool_verb_sql = {"sql", "ask a question in SQL", help, run};
