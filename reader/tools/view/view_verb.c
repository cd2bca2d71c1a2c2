/*
 * tracebed view: show traces in the browser, as a page in a file, or as a picture.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"
#include "reader/tools/view/html/html.h"
#include "reader/tools/view/picture/picture.h"
#include "reader/tools/view/view.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 16

static const char help[] =
    "usage: tracebed view [OPTION]... FILE...\n"
    "\n"
    "Show traces in the browser: a timeline of all threads, tables and flame graphs\n"
    "of any part of it, single calls, memory. Any size opens at once; a trace that is\n"
    "being written grows as you watch. Ends at ctrl-C. FILE may be '-' for standard\n"
    "input.\n"
    "\n"
    "      --png=OUT          draw the timeline into the file OUT instead, without a\n"
    "                         browser ('-': standard output)\n"
    "      --html=OUT         write a page with the data inside into the file OUT,\n"
    "                         which any browser opens, without tracebed and the trace\n"
    "      --port=N           listen on this port (default: any that is free)\n"
    "      --no-browser       only print the address\n"
    "      --no-symbols       show addresses instead of looking up symbols\n"
    "  -j, --jobs=N           use N threads for each answer (default: one per\n"
    "                         processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n"
    "With --png or --html:\n"
    "  -f, --force            replace OUT if it exists\n"
    "\n"
    "With --html:\n"
    "      --size=SIZE        make OUT at most so large, such as 5M (default: 20M);\n"
    "                         the page says what has been left out\n"
    "\n"
    "With --png:\n"
    "      --width=N          make it N pixels wide (default: 1600)\n"
    "      --height=N         make it at most N pixels high (default: 1200)\n"
    "      --depth=N          draw the N outermost spans of nested ones (default: 32)\n"
    "      --dark             use light colors on a dark background\n"
    "\n"
    "What the page shows at first, though it can show the rest; with --png or --html,\n"
    "all that is drawn, or is in the file:\n"
    "  -b, --begin=T          from T on\n"
    "  -e, --end=T            up to T\n"
    "                         T is 1.5 (seconds from the start), 20ms, 300us, 10%,\n"
    "                         @1795342500.5 or 2026-11-22T10:15:00\n"
    "  -t, --thread=WHICH     only threads with this id or name\n"
    "  -p, --process=WHICH    only processes with this id or name\n"
    "      --stream=N         only stream N ('tracebed info' lists them)\n"
    "  -n, --name=REGEX       only names that match, a POSIX extended expression\n"
    "      --exclude=REGEX    no names that match\n"
    "      --category=NAME    only spans and events of this category\n"
    "      --minimum-duration=T\n"
    "                         only spans that take at least T\n"
    "      --inside=NAME      only what happens within spans of this name\n"
    "\n"
    "The address can be opened on this machine only. It contains a secret: whoever\n"
    "knows it can see the traces, and nothing else, while the command runs. Over ssh,\n"
    "start it with a --port and forward that port: ssh -L PORT:127.0.0.1:PORT HOST\n"
    "\n"
    "Examples:\n"
    "  tracebed view run.tbed\n"
    "  tracebed view -b 10% -e 20% run.tbed\n"
    "  tracebed view --png run.png -b 10% -e 20% run.tbed\n"
    "  tracebed view --html run.html --size=5M run.tbed\n"
    "  tracebed view --no-browser --port=8000 before.tbed after.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if a file is damaged (everything intact is shown);\n"
    "2 if the usage is wrong, or a file cannot be read or written, or no port can be\n"
    "used.\n";

enum {
    OPTION_PORT = 2000,
    OPTION_NO_BROWSER,
    OPTION_NO_SYMBOLS,
    OPTION_PNG,
    OPTION_WIDTH,
    OPTION_HEIGHT,
    OPTION_DEPTH,
    OPTION_DARK,
    OPTION_HTML,
    OPTION_SIZE
};

struct command {
    struct view view;
    uint64_t port;
    bool no_browser;
    struct picture_options picture; /* 'path' is NULL if there is to be none */
    struct html_options html;       /* the same */
    bool overwrite;
    const char *server_option, *picture_option, *html_option; /* one of each that was given */
};

/* Returns NULL, or what is wrong with the argument, which is a number from 'least' to 'most'. */
static const char *take_number(uint64_t least, uint64_t most, const char *expected, uint64_t *number_ret)
{
    bool is_fine = tool_parse_u64(optarg, most, number_ret) && *number_ret >= least;
    return is_fine ? NULL : tool_takes(expected, optarg);
}

static const char *take_picture_option(struct command *command, int option)
{
    struct picture_options *picture = &command->picture;
    if (option == OPTION_PNG) {
        picture->path = optarg;
        return *optarg != '\0' ? NULL : tool_takes("--png takes the name of a file", optarg);
    }
    command->picture_option = option == OPTION_WIDTH    ? "--width"
                              : option == OPTION_HEIGHT ? "--height"
                              : option == OPTION_DEPTH  ? "--depth"
                                                        : "--dark";
    switch (option) {
    case OPTION_WIDTH:
        return take_number(PICTURE_WIDTH_MIN, PICTURE_SIDE_MAX, "--width takes a number from 400 to 8192",
                           &picture->width);
    case OPTION_HEIGHT:
        return take_number(PICTURE_HEIGHT_MIN, PICTURE_SIDE_MAX, "--height takes a number from 200 to 8192",
                           &picture->height);
    case OPTION_DEPTH:
        return take_number(1, PICTURE_DEPTH_MAX, "--depth takes a number from 1 to 4096", &picture->depth);
    default:
        picture->is_dark = true;
        return NULL;
    }
}

static const char *take_size(struct command *command)
{
    command->html_option = "--size";
    if (!record_size_parse("view: --size", optarg, &command->html.nbytes))
        return "";
    return command->html.nbytes >= HTML_NBYTES_MIN && command->html.nbytes <= HTML_NBYTES_MAX
               ? NULL
               : tool_takes("--size takes a size from 512K to 1G", optarg);
}

static const char *take_option(struct command *command, int option)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&command->view.filter, option, optarg);
    switch (option) {
    case 'j':
        return tool_parse_jobs(optarg, &command->view.jobs);
    case OPTION_PORT:
        command->server_option = "--port";
        return tool_parse_u64(optarg, UINT16_MAX, &command->port)
                   ? NULL
                   : tool_takes("--port takes a number up to 65535", optarg);
    case OPTION_NO_BROWSER:
        command->server_option = "--no-browser";
        command->no_browser = true;
        return NULL;
    case OPTION_NO_SYMBOLS:
        command->view.no_symbols = true;
        return NULL;
    case 'f':
        command->overwrite = true;
        return NULL;
    case OPTION_HTML:
        command->html.path = optarg;
        return *optarg != '\0' ? NULL : tool_takes("--html takes the name of a file", optarg);
    case OPTION_SIZE:
        return take_size(command);
    default:
        return take_picture_option(command, option);
    }
}

static const char *output_of(const struct command *command)
{
    return command->html.path != NULL ? command->html.path : command->picture.path;
}

/* An option that does not apply, with what is wrong with it. False: there is none. */
static bool find_wrong(const struct command *command, char problem[64])
{
    bool is_html = command->html.path != NULL, is_picture = command->picture.path != NULL;
    const char *with = is_html ? "--html" : "--png", *server = command->server_option;
    if (is_html && is_picture)
        snprintf(problem, 64, "--html does not apply with --png");
    else if ((is_html || is_picture) && server != NULL)
        snprintf(problem, 64, "%s does not apply with %s", server, with);
    else if (!is_picture && command->picture_option != NULL)
        snprintf(problem, 64, "%s needs --png", command->picture_option);
    else if (!is_html && command->html_option != NULL)
        snprintf(problem, 64, "%s needs --html", command->html_option);
    else if (!is_html && !is_picture && command->overwrite)
        snprintf(problem, 64, "--force needs --png or --html");
    else
        return false;
    return true;
}

/* Refuses options that do not apply, and an output that is an input. Returns -1, or the exit status after a complaint. */
static int check(struct command *command, int count, char **paths)
{
    char problem[64];
    const char *output = output_of(command);
    command->html.overwrite = command->picture.overwrite = command->overwrite;
    if (find_wrong(command, problem))
        return tool_usage(&tool_verb_view, problem);
    for (int i = 0; i < count && output != NULL && strcmp(output, "-") != 0; i++)
        if (tool_is_input(output, paths[i]))
            return TOOL_TROUBLE;
    return -1;
}

static int parse(int argc, char **argv, struct command *command)
{
    static const struct option longs[] = {{"port", required_argument, NULL, OPTION_PORT},
                                          {"no-browser", no_argument, NULL, OPTION_NO_BROWSER},
                                          {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
                                          {"png", required_argument, NULL, OPTION_PNG},
                                          {"html", required_argument, NULL, OPTION_HTML},
                                          {"size", required_argument, NULL, OPTION_SIZE},
                                          {"force", no_argument, NULL, 'f'},
                                          {"width", required_argument, NULL, OPTION_WIDTH},
                                          {"height", required_argument, NULL, OPTION_HEIGHT},
                                          {"depth", required_argument, NULL, OPTION_DEPTH},
                                          {"dark", no_argument, NULL, OPTION_DARK},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_FILTER_OPTIONS,
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_view, argc, argv, "hfj:" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = take_option(command, option);
        if (wrong != NULL)
            return *wrong == '\0' ? TOOL_TROUBLE : tool_usage(&tool_verb_view, wrong);
    }
    if (exit >= 0)
        return exit;
    if (optind == argc)
        return tool_usage(&tool_verb_view,
                          output_of(command) != NULL
                              ? "missing FILE operand; what follows --png or --html is the new file"
                              : "missing FILE operand");
    if (argc - optind > FILES_MAX)
        return tool_usage(&tool_verb_view, "too many FILE operands");
    return check(command, argc - optind, argv + optind);
}

/* ---- The browser ---- */

static bool has_desktop(void)
{
    const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return true;
    }
    return false;
}

/* Starts it without waiting for it; what it prints does not belong here. */
static bool start_browser(const char *address)
{
    char *arguments[] = {(char[]){"xdg-open"}, strdup(address), NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* ctrl-C does not end it */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    bool is_started = arguments[1] != NULL &&
                      posix_spawnp(&child, arguments[0], &files, &attributes, arguments, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(arguments[1]);
    return is_started;
}

/* ---- All of it ---- */

/* Blocks the signals that end the command, for the threads of the server too. */
static void block_signals(sigset_t *ends, sigset_t *before)
{
    sigemptyset(ends);
    sigaddset(ends, SIGINT);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ends, before);
}

static int exit_status(const struct view *view)
{
    bool is_damaged = false;
    for (size_t i = 0; i < view->trace_count; i++) {
        tool_tell_damage(view->traces[i].path, view->traces[i].reader);
        is_damaged |= tool_damage_count(view->traces[i].reader) > 0;
    }
    return is_damaged ? TOOL_FOUND : TOOL_FINE;
}

/* A file in another format is imported first. */
static bool opens_slowly(char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tool_format(paths[i]) != NULL)
            return true;
    return false;
}

static void announce(const struct command *command, const struct view_server *server)
{
    printf("%s\n", view_server_address(server));
    fflush(stdout);
    bool has_browser = !command->no_browser && has_desktop();
    if (has_browser && !start_browser(view_server_first_address(server)))
        tool_complain("view: xdg-open is missing; open the address in a browser");
    if (isatty(STDOUT_FILENO)) /* scripts only want the address */
        tool_hint("%sCtrl-C ends the server.", has_browser ? "" : "Open this address in a browser; ");
}

/* Opens the files while the server is running: the browser may load the page meanwhile, if that takes a while. */
static int open_and_wait(struct command *command, const struct view_server *server, char *const *paths,
                         const sigset_t *ends, const sigset_t *before)
{
    int number;
    bool is_slow = opens_slowly(paths, command->view.trace_count);
    if (is_slow)
        announce(command, server);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    int exit = view_open(&command->view, paths);
    pthread_sigmask(SIG_BLOCK, ends, NULL);
    if (exit >= 0)
        return exit;
    if (!is_slow)
        announce(command, server);
    view_tell_missed(&command->view);
    sigwait(ends, &number);
    return -1;
}

static int serve(struct command *command, char *const *paths)
{
    sigset_t ends, before;
    block_signals(&ends, &before);
    struct view_server *server = view_server_start(&command->view, (uint16_t)command->port);
    int exit = TOOL_TROUBLE;
    if (server != NULL) {
        exit = open_and_wait(command, server, paths, &ends, &before);
        bool is_stopped = view_server_stop(server);
        if (exit < 0)
            exit = tool_finish(exit_status(&command->view));
        if (!is_stopped)
            _exit(exit); /* answers still use the traces */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return exit;
}

static int make_file(struct command *command, char *const *paths)
{
    int exit = view_open(&command->view, paths);
    if (exit >= 0)
        return exit;
    if (command->html.path != NULL)
        view_tell_missed(&command->view);
    exit = command->html.path != NULL ? html_make(&command->view, &command->html)
                                      : picture_make(&command->view, &command->picture);
    return exit < 0 ? tool_finish(exit_status(&command->view)) : exit;
}

static int run(int argc, char **argv)
{
    struct command command = {.html = {.nbytes = HTML_NBYTES_USUAL},
                              .picture = {.width = PICTURE_WIDTH_USUAL,
                                          .height = PICTURE_HEIGHT_USUAL,
                                          .depth = PICTURE_DEPTH_USUAL}};
    int exit = parse(argc, argv, &command);
    char *const *paths = argv + optind;
    if (exit < 0) {
        view_prepare(&command.view, (size_t)(argc - optind));
        exit = output_of(&command) != NULL ? make_file(&command, paths) : serve(&command, paths);
    }
    view_close(&command.view);
    return exit;
}

const struct tool_verb tool_verb_view = {"view", "show traces in the browser, as a page or as a picture",
                                         help, run};
