/*
 * The process that answers the questions of recorded processes, from before the program starts until it has ended.
 *
 * Only processes of the same user are answered. A client that connects and says nothing holds up the others for a moment
 * at most; whatever it says, it gets the addresses of functions in a file that this user can read.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/tools/shared/tool.h"

#define QUESTION_MS 500 /* clients send their question as soon as they have connected */

struct server {
    struct plan_rules *rules;
    struct tbed_symbols *symbols;
    struct plan_module *modules;
};

/* ---- Answers ---- */

static bool is_module(const struct plan_module *module, const struct launch_plan_request *request)
{
    return strlen(module->path) == request->path_nbytes &&
           memcmp(module->path, request->path, request->path_nbytes) == 0 &&
           module->build_id_nbytes == request->build_id_nbytes &&
           memcmp(module->build_id, request->build_id, request->build_id_nbytes) == 0;
}

/* A module without a build-id is looked at again each time: its file may have been replaced. */
static struct plan_module *module_of(struct server *server, const struct launch_plan_request *request)
{
    struct plan_module *module = server->modules;
    while (module != NULL && !is_module(module, request))
        module = module->next;
    if (module != NULL && module->build_id_nbytes > 0)
        return module;
    if (module == NULL) {
        module = tool_realloc(NULL, sizeof *module);
        *module = (struct plan_module){.next = server->modules, .fd = -1};
        module->path = tool_realloc(NULL, (size_t)request->path_nbytes + 1);
        memcpy(module->path, request->path, request->path_nbytes);
        module->path[request->path_nbytes] = '\0';
        module->build_id_nbytes = request->build_id_nbytes;
        memcpy(module->build_id, request->build_id, request->build_id_nbytes);
        server->modules = module;
    }
    if (module->fd >= 0)
        close(module->fd);
    plan_module_make(module, server->rules, server->symbols);
    return module;
}

static void send_answer(int client, const struct plan_module *module)
{
    struct launch_plan_reply reply = {.magic = LAUNCH_PLAN_MAGIC, .status = module->status};
    struct iovec bytes = {&reply, sizeof reply};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (module->fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &module->fd, sizeof(int));
    }
    sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool take_request(int client, struct launch_plan_request *request_ret)
{
    struct ucred peer;
    socklen_t peer_nbytes = sizeof peer;
    struct pollfd sent = {.fd = client, .events = POLLIN};
    if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &peer_nbytes) != 0 || peer.uid != geteuid() ||
        poll(&sent, 1, QUESTION_MS) <= 0)
        return false;
    ssize_t nbytes = recv(client, request_ret, sizeof *request_ret, MSG_DONTWAIT);
    return nbytes > (ssize_t)LAUNCH_PLAN_REQUEST_NBYTES && request_ret->magic == LAUNCH_PLAN_MAGIC &&
           request_ret->build_id_nbytes <= LAUNCH_PLAN_BUILD_ID_NBYTES &&
           (size_t)nbytes - LAUNCH_PLAN_REQUEST_NBYTES == request_ret->path_nbytes &&
           memchr(request_ret->path, 0, request_ret->path_nbytes) == NULL;
}

static void answer(struct server *server, int listener)
{
    struct launch_plan_request request;
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return;
    if (take_request(client, &request))
        send_answer(client, module_of(server, &request));
    close(client);
}

/* ---- The end ---- */

/* Patterns that leave out are often kept from other runs, so they are only mentioned. */
static bool tell_unmatched(const struct server *server, const struct plan_rules *rules)
{
    bool is_fine = true;
    for (size_t i = 0; i < rules->count; i++) {
        const struct plan_rule *rule = &rules->list[i];
        if (rule->match_count > 0)
            continue;
        tool_complain("%s: no function matches '%s'", rule->option, rule->pattern);
        if (server->modules == NULL)
            tool_hint("No call of any function was seen.");
        plan_nearest_tell(rule, server->modules, server->symbols);
        is_fine &= rule->leaves_out;
    }
    return is_fine;
}

static bool tell_all(const struct server *server)
{
    const struct plan_rules *arguments = server->rules->arguments;
    bool is_fine = tell_unmatched(server, server->rules);
    if (arguments == NULL || !tell_unmatched(server, arguments))
        return is_fine && arguments == NULL;
    if (arguments->described_count == 0) {
        tool_complain("--args: the arguments of the functions that match are unknown");
        tool_hint("Debug information tells them. Compile with -g.");
    }
    return is_fine;
}

static _Noreturn void serve(struct plan_rules *rules, int listener, int stop_fd)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};
    const struct tbed_symbols_options options = {.size = sizeof options};
    struct server server = {.rules = rules, .symbols = tbed_symbols_open(&options)};
    struct pollfd fds[] = {{.fd = stop_fd, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN); /* meant for the program; we end with 'record' */
    signal(SIGCHLD, SIG_DFL);
    while (server.symbols != NULL && fds[0].revents == 0) {
        if (poll(fds, 2, -1) > 0 && fds[1].revents != 0)
            answer(&server, listener);
    }
    _exit(server.symbols == NULL || tell_all(&server) ? 0 : 1);
}

/* ---- The parent's side ---- */

/* In the abstract namespace, so that nothing remains of it. */
static int listen_at(char name_ret[LAUNCH_PLAN_NAME_NBYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint64_t number = 0;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    snprintf(name_ret, LAUNCH_PLAN_NAME_NBYTES, "tracebed-plans-%d-%016llx", (int)getpid(),
             (unsigned long long)number);
    size_t nbytes = strlen(name_ret);
    memcpy(address.sun_path + 1, name_ret, nbytes);
    socklen_t address_nbytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + nbytes);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, address_nbytes) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool plan_server_start(struct plan_server *server, struct plan_rules *rules)
{
    char name[LAUNCH_PLAN_NAME_NBYTES], text[LAUNCH_PLAN_NAME_NBYTES + 16];
    int pipe_fds[2] = {-1, -1}, listener = listen_at(name);
    *server = (struct plan_server){.pid = -1, .stop_fd = -1};
    if (listener >= 0 && pipe2(pipe_fds, O_CLOEXEC) == 0)
        server->pid = fork();
    if (server->pid < 0) {
        tool_complain("cannot start the process that chooses functions: %s", strerror(errno));
        return false;
    }
    if (server->pid == 0) {
        close(pipe_fds[1]);
        serve(rules, listener, pipe_fds[0]);
    }
    close(listener);
    close(pipe_fds[0]);
    server->stop_fd = pipe_fds[1];
    snprintf(text, sizeof text, "%s,%u", name, plan_rules_default(rules) | plan_triggers_default(rules));
    setenv(LAUNCH_ENV_PLANS, text, 1);
    return true;
}

bool plan_server_stop(const struct plan_server *server, bool was_useful)
{
    int status = 0;
    if (server->pid <= 0)
        return true;
    if (!was_useful)
        kill(server->pid, SIGKILL);
    close(server->stop_fd);
    while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}
