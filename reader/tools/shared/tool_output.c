/*
 * The standard streams of the program: complaints, color, and errors on standard output.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/shared/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COLUMNS_MAX   10000
#define OUTPUT_NBYTES (256u << 10)
#define USUAL_TRACE   "run.tbed" /* as 'record' without -o makes it */

static volatile sig_atomic_t pipe_is_broken;
static int output_errno;
/* Of standard output. Determined once, because isatty() costs a system call and sets errno. */
static bool is_terminal;
static enum { COLOR_AUTO, COLOR_NEVER, COLOR_ALWAYS } color_mode;

static void remember_broken_pipe(int signal_number)
{
    (void)signal_number;
    pipe_is_broken = 1;
}

/* ---- The pager ---- */

static volatile pid_t pager;         /* 0: none */
static int terminal = STDOUT_FILENO; /* behind the pager */

/* The shell would read the terminal together with a pager that goes on. */
static void wait_for_pager(void)
{
    pid_t child = pager;
    pager = 0;
    close(STDOUT_FILENO);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void end_pager(void)
{
    fflush(stdout);
    wait_for_pager();
}

void tool_pager_take(pid_t child, int output)
{
    static char buffer[OUTPUT_NBYTES];
    int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (copy >= 0)
        terminal = copy;
    dup2(output, STDOUT_FILENO);
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    pager = child;
    tool_progress_paged();
    atexit(end_pager);
}

/* ---- Signals, closed streams ---- */

/* A signal that ends the program leaves no unfinished file behind. Pagers ignore some, and are waited for. */
static void remove_new_files(int signal_number)
{
    tbed_new_files_remove();
    tool_progress_clear();
    if (pager > 0) {
        signal(signal_number, SIG_IGN);
        wait_for_pager();
        signal(signal_number, SIG_DFL);
    }
    raise(signal_number); /* its default action, at once */
}

/* A signal that we were started ignoring stays ignored. */
static void take_ending_signals(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM, SIGXCPU};
    struct sigaction action = {.sa_handler = remove_new_files, .sa_flags = SA_RESETHAND | SA_NODEFER}, old;
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

/*
 * If a standard stream is closed, the next open() takes its number, and our messages would overwrite a trace. The
 * stream is opened in the wrong direction so that using it still fails.
 */
static void fill_closed_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

void tool_start(void)
{
    fill_closed_streams();
    /* A handler, not SIG_IGN, which a program that `record` starts would inherit. */
    struct sigaction action = {.sa_handler = remember_broken_pipe, .sa_flags = SA_RESTART};
    sigaction(SIGPIPE, &action, NULL);
    take_ending_signals();
    static char buffer[OUTPUT_NBYTES]; /* glibc ignores the size unless it gets a buffer */
    is_terminal = isatty(STDOUT_FILENO) == 1;
    if (!is_terminal)
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char *text = NULL;
    int nbytes = vasprintf(&text, format, arguments);
    fputs(prefix, stderr);
    if (nbytes >= 0)
        tool_print_text(stderr, text, (size_t)nbytes, 0);
    fputc('\n', stderr);
    if (nbytes >= 0)
        free(text);
}

void tool_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("tracebed: ", format, arguments);
    va_end(arguments);
}

void tool_hint(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("  ", format, arguments);
    va_end(arguments);
}

void tool_complain_error(const char *path, const struct tbed_error *error)
{
    const char *system = error->system_errno != 0 ? strerror(error->system_errno) : "";
    const char *colon = error->system_errno != 0 ? ": " : "";
    const char *what = tbed_status_text(error->status);
    if (error->offset == UINT64_MAX || error->system_errno != 0)
        tool_complain("%s: %s%s%s", tool_path(path), what, colon, system);
    else
        tool_complain("%s: %s (offset %llu)", tool_path(path), what, (unsigned long long)error->offset);
}

void tool_complain_output(const char *path, const struct tbed_error *error)
{
    tool_complain_error(path, error);
    if (error->status == TBED_ERR_EXISTS)
        tool_hint("Use --force to replace it.");
}

const char *tool_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : *path == '\0' ? "''" : path;
}

bool tool_output_failed(void)
{
    if (!ferror_unlocked(stdout))
        return false;
    if (output_errno == 0)
        output_errno = errno;
    return true;
}

void tool_put_output(const char *to, const char *done)
{
    tool_print_text(stdout, to, strlen(to), 0);
    printf(": %s%s", done != NULL ? done : "", done != NULL ? ": " : "");
}

void tool_put_written(const char *to, const char *done)
{
    struct stat file;
    char nbytes[32];
    tool_put_output(to, done);
    puts(tool_format_bytes(nbytes, stat(to, &file) == 0 ? (double)file.st_size : 0));
}

int tool_finish(int exit)
{
    bool failed = tool_output_failed();
    if (fflush(stdout) != 0 && !failed) {
        output_errno = errno;
        failed = true;
    }
    if (!failed || pipe_is_broken || output_errno == EPIPE)
        return exit;
    tool_complain("write error on standard output: %s", strerror(output_errno));
    return TOOL_TROUBLE;
}

bool tool_is_input(const char *output, const char *input)
{
    struct stat out, in;
    int failed = strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(input, &in);
    if (failed != 0 || stat(output, &out) != 0 || !S_ISREG(in.st_mode) || in.st_dev != out.st_dev ||
        in.st_ino != out.st_ino)
        return false;
    tool_complain("%s: output and input are the same file", output);
    tool_hint("Use -o FILE to choose another name.");
    return true;
}

void tool_out_of_memory(void)
{
    tool_complain("out of memory");
    exit(TOOL_TROUBLE);
}

void *tool_realloc(void *old, size_t nbytes)
{
    void *grown = realloc(old, nbytes > 0 ? nbytes : 1);
    if (grown == NULL)
        tool_out_of_memory();
    return grown;
}

void tool_check_text(const struct tbed_text *text)
{
    if (text->is_out_of_memory)
        tool_out_of_memory();
}

/* ---- Usage, colors ---- */

const char *tool_color_set(const char *when)
{
    static const char *const names[] = {
        [COLOR_AUTO] = "auto", [COLOR_NEVER] = "never", [COLOR_ALWAYS] = "always"};
    size_t mode = color_mode;
    const char *problem =
        tool_word_choose("--color: unknown value", names, sizeof names / sizeof names[0], when, &mode);
    color_mode = (unsigned)mode;
    return problem;
}

static bool usage_was_wrong;

bool tool_usage_was_wrong(void)
{
    return usage_was_wrong;
}

int tool_usage(const struct tool_verb *verb, const char *message)
{
    usage_was_wrong = true;
    if (message != NULL)
        tool_complain("%s: %s", verb->name, message);
    if (message != NULL && strcmp(message, "missing FILE operand") == 0 && access(USUAL_TRACE, R_OK) == 0)
        tool_hint("Did you mean 'tracebed %s %s'?", verb->name, USUAL_TRACE);
    tool_hint("Run 'tracebed %s -h' for help.", verb->name);
    return TOOL_TROUBLE;
}

static bool wants_color(void)
{
    if (color_mode != COLOR_AUTO)
        return color_mode == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if ((no_color != NULL && *no_color != '\0') || term == NULL || strcmp(term, "dumb") == 0)
        return false;
    return is_terminal;
}

size_t tool_terminal_width(void)
{
    struct winsize size;
    uint64_t columns;
    const char *given = getenv("COLUMNS");
    if (is_terminal && given != NULL && tool_parse_u64(given, COLUMNS_MAX, &columns) && columns > 0)
        return (size_t)columns;
    if (!is_terminal || ioctl(terminal, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

size_t tool_name_width(size_t used)
{
    size_t width = tool_terminal_width();
    return width == 0 ? 0 : width > used + TOOL_NAME_MIN ? width - used : TOOL_NAME_MIN;
}

static const char *sequence(const char *text)
{
    return wants_color() ? text : "";
}

const char *tool_bold(void)
{
    return sequence("\033[1m");
}

const char *tool_dim(void)
{
    return sequence("\033[2m");
}

const char *tool_red(void)
{
    return sequence("\033[31m");
}

const char *tool_green(void)
{
    return sequence("\033[32m");
}

const char *tool_plain(void)
{
    return sequence("\033[0m");
}
