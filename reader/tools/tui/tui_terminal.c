/*
 * The terminal of 'tracebed tui': ncurses, loaded when it is needed, so that no other command depends on it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"
#include "reader/tools/tui/tui.h"

#if __has_include(<ncurses.h>)

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1 /* the library's variables cannot be loaded beforehand */
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LIBRARY         "libncursesw.so.6"
#define ESCAPE_MS       50 /* a lone ESC byte is the key if nothing follows within that time */
#define WAIT_MS         250
#define CONTROL(letter) ((letter)&0x1F)
#define HOT_PAIR        1
#define ASCII_DELETE    0x7F
#define DEFAULT_COLOR   (-1)

#define CURSES_CALLS(X)                                                                                      \
    X(newterm)                                                                                               \
    X(endwin)                                                                                                \
    X(delscreen)                                                                                             \
    X(newwin)                                                                                                \
    X(delwin)                                                                                                \
    X(cbreak)                                                                                                \
    X(noecho)                                                                                                \
    X(nonl)                                                                                                  \
    X(keypad)                                                                                                \
    X(curs_set)                                                                                              \
    X(set_escdelay)                                                                                          \
    X(has_colors)                                                                                            \
    X(start_color)                                                                                           \
    X(use_default_colors)                                                                                    \
    X(init_pair)                                                                                             \
    X(getmaxx)                                                                                               \
    X(getmaxy)                                                                                               \
    X(wget_wch)                                                                                              \
    X(wtimeout)                                                                                              \
    X(wmove)                                                                                                 \
    X(wclrtoeol)                                                                                             \
    X(waddnstr)                                                                                              \
    X(wattr_set)                                                                                             \
    X(clearok)                                                                                               \
    X(wrefresh)

static struct {
    SCREEN *screen;
    WINDOW *window;
    FILE *input; /* opened here; NULL: standard input */
    bool has_hot_color;
#define CURSES_MEMBER(name) __typeof__(name) *name;
    CURSES_CALLS(CURSES_MEMBER)
#undef CURSES_MEMBER
} curses;

static bool load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool is_complete = library != NULL;
#define CURSES_LOAD(name)                                                                                    \
    curses.name = is_complete ? (__typeof__(name) *)dlsym(library, #name) : NULL;                            \
    is_complete = curses.name != NULL;
    CURSES_CALLS(CURSES_LOAD)
#undef CURSES_LOAD
    if (is_complete)
        return true;
    tool_complain("tui: the library %s %s", LIBRARY, library == NULL ? "is not installed" : "is too old");
    tool_hint("Install it (Debian: libncursesw6), or use 'tracebed tree'.");
    return false;
}

/* Keys come from the terminal even if the trace comes from standard input. */
static FILE *open_input(void)
{
    if (isatty(STDIN_FILENO))
        return stdin;
    curses.input = fopen("/dev/tty", "re");
    return curses.input;
}

static void close_all(void)
{
    if (curses.screen != NULL)
        curses.delscreen(curses.screen);
    if (curses.input != NULL)
        fclose(curses.input);
    curses.screen = NULL;
    curses.input = NULL;
}

/* For exits in between, such as for want of memory. */
static void restore(void)
{
    if (curses.screen != NULL)
        curses.endwin();
}

/* The library restores the terminal at these signals, but only if nothing else has been set up for them. */
static void let_signals_restore(void)
{
    static const int ending[] = {SIGINT, SIGTERM};
    struct sigaction usual = {.sa_handler = SIG_DFL}, old;
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &usual, NULL);
}

static bool start(FILE *input)
{
    const char *type = getenv("TERM");
    if (type != NULL && strcmp(type, "dumb") == 0) {
        tool_complain("tui: a terminal of type 'dumb' cannot place its cursor");
        tool_hint("Use 'tracebed tree' to print the tree, or set TERM to its type, for example xterm.");
        return false;
    }
    let_signals_restore();
    curses.screen = curses.newterm(NULL, stdout, input);
    if (curses.screen == NULL) {
        tool_complain("tui: the terminal's type '%s' is unknown", type != NULL ? type : "");
        tool_hint("Set TERM to its type, for example xterm.");
        return false;
    }
    curses.window = curses.newwin(0, 0, 0, 0);
    if (curses.window == NULL || atexit(restore) != 0) {
        curses.endwin();
        tool_out_of_memory();
    }
    return true;
}

static void set_up(void)
{
    curses.cbreak();
    curses.noecho();
    curses.nonl();
    curses.set_escdelay(ESCAPE_MS);
    curses.keypad(curses.window, true);
    curses.curs_set(0);
    if (tool_bold()[0] == '\0' || !curses.has_colors())
        return;
    curses.start_color();
    curses.use_default_colors();
    curses.has_hot_color = curses.init_pair(HOT_PAIR, COLOR_RED, DEFAULT_COLOR) == OK;
}

bool tui_terminal_start(void)
{
    if (!load())
        return false;
    FILE *input = isatty(STDOUT_FILENO) ? open_input() : NULL;
    if (input == NULL) {
        tool_complain("tui: this needs a terminal");
        tool_hint("Use 'tracebed tree' to print the tree.");
        return false;
    }
    /* As in all other commands, the terminal is assumed to take UTF-8 whatever the locale is. */
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        setlocale(LC_CTYPE, "");
    if (!start(input)) {
        close_all();
        return false;
    }
    set_up();
    return true;
}

void tui_terminal_end(void)
{
    curses.delwin(curses.window);
    curses.endwin();
    close_all();
    setlocale(LC_CTYPE, "C");
}

void tui_terminal_size(size_t *height_ret, size_t *width_ret)
{
    *height_ret = (size_t)curses.getmaxy(curses.window);
    *width_ret = (size_t)curses.getmaxx(curses.window);
}

void tui_terminal_put(size_t line, const char *text, size_t nbytes, enum tui_look look)
{
    static const attr_t looks[] = {
        [TUI_PLAIN] = A_NORMAL, [TUI_BOLD] = A_BOLD, [TUI_HOT] = A_BOLD, [TUI_REVERSE] = A_REVERSE};
    curses.wmove(curses.window, (int)line, 0);
    curses.wclrtoeol(curses.window);
    curses.wattr_set(curses.window, looks[look], look == TUI_HOT && curses.has_hot_color ? HOT_PAIR : 0,
                     NULL);
    curses.waddnstr(curses.window, text, (int)nbytes);
    curses.wattr_set(curses.window, A_NORMAL, 0, NULL);
}

void tui_terminal_show(bool all)
{
    curses.clearok(curses.window, all);
    curses.wrefresh(curses.window);
}

static enum tui_key special_key(wint_t code)
{
    static const struct {
        wint_t code;
        enum tui_key key;
    } keys[] = {{KEY_UP, TUI_KEY_UP},         {KEY_DOWN, TUI_KEY_DOWN},
                {KEY_LEFT, TUI_KEY_LEFT},     {KEY_RIGHT, TUI_KEY_RIGHT},
                {KEY_PPAGE, TUI_KEY_PAGE_UP}, {KEY_NPAGE, TUI_KEY_PAGE_DOWN},
                {KEY_HOME, TUI_KEY_HOME},     {KEY_END, TUI_KEY_END},
                {KEY_ENTER, TUI_KEY_ENTER},   {KEY_BACKSPACE, TUI_KEY_BACKSPACE}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].code == code)
            return keys[i].key;
    return TUI_KEY_OTHER;
}

static bool is_gone(void)
{
    struct pollfd input = {.fd = fileno(curses.input != NULL ? curses.input : stdin), .events = POLLIN};
    int nbytes = 0;
    if (poll(&input, 1, 0) <= 0)
        return false;
    return (input.revents & POLLIN) == 0 || ioctl(input.fd, FIONREAD, &nbytes) != 0 || nbytes == 0;
}

/*
 * ncurses looks whether the terminal has changed its size when it begins to wait. If the signal comes between the two, it
 * waits for a key; so it waits for a while only, and then looks again.
 */
static int read_key(wint_t *code_ret)
{
    int kind;
    curses.wtimeout(curses.window, WAIT_MS);
    do {
        errno = 0;
        kind = curses.wget_wch(curses.window, code_ret);
    } while (kind == ERR && (errno == 0 || errno == EAGAIN) && !is_gone());
    return kind;
}

enum tui_key tui_terminal_key(uint32_t *character_ret)
{
    wint_t code = 0;
    int kind = read_key(&code);
    *character_ret = (uint32_t)code;
    if (kind == ERR)
        return errno == EINTR ? TUI_KEY_OTHER : TUI_KEY_GONE;
    if (kind == KEY_CODE_YES)
        return special_key(code);
    switch (code) {
    case '\r':
    case '\n':
        return TUI_KEY_ENTER;
    case '\b':
    case ASCII_DELETE:
        return TUI_KEY_BACKSPACE;
    case CONTROL('['):
        return TUI_KEY_ESCAPE;
    case CONTROL('L'):
        return TUI_KEY_REDRAW;
    default:
        return TUI_KEY_CHARACTER;
    }
}

#else

bool tui_terminal_start(void)
{
    tool_complain("tui: this tracebed was built without ncurses");
    tool_hint("Install its headers (Debian: libncurses-dev) and build again, or use 'tracebed tree'.");
    return false;
}

void tui_terminal_end(void) {}

void tui_terminal_size(size_t *height_ret, size_t *width_ret)
{
    *height_ret = *width_ret = 0;
}

void tui_terminal_put(size_t line, const char *text, size_t nbytes, enum tui_look look)
{
    (void)line, (void)text, (void)nbytes, (void)look;
}

void tui_terminal_show(bool all)
{
    (void)all;
}

enum tui_key tui_terminal_key(uint32_t *character_ret)
{
    *character_ret = 0;
    return TUI_KEY_GONE;
}

#endif
