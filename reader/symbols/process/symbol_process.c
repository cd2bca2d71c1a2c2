/*
 * Talks to a process that may die at any time, and whose answers cannot be trusted.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/symbols/process/symbol_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_NBYTES_MAX ((size_t)1 << 30)

/* ---- Life and death ---- */

static _Noreturn void become_worker(int fd, const char *debug_directories)
{
    int null = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3 && null >= 0; standard++)
        dup2(null, standard);
    if (dup2(fd, 3) != 3)
        _exit(1);
    tbed_symbol_jail_close(4);
    tbed_symbol_worker_run(3, debug_directories);
}

static bool start(struct symbol_process *process, char trouble[SYMBOL_TROUBLE_NBYTES])
{
    int ends[2] = {-1, -1};
    pid_t pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
        pid = fork();
    if (pid == 0)
        become_worker(ends[1], process->debug_directories);
    int system_errno = errno;
    if (ends[1] >= 0)
        close(ends[1]);
    if (pid > 0) {
        process->pid = pid;
        process->fd = ends[0];
        process->answered_count = 0;
        return true;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    snprintf(trouble, SYMBOL_TROUBLE_NBYTES, "its reader could not be started: %s", strerror(system_errno));
    return false;
}

/* The exit status of the process, which may be dead already; -1 if other code reaps the program's children. */
static int bury(struct symbol_process *process)
{
    int status = -1;
    kill(process->pid, SIGKILL);
    close(process->fd);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    process->pid = 0;
    return status;
}

void tbed_symbol_process_end(struct symbol_process *process)
{
    if (process->pid > 0)
        bury(process);
}

static void tell_death(int status, char trouble[SYMBOL_TROUBLE_NBYTES])
{
    if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        snprintf(trouble, SYMBOL_TROUBLE_NBYTES, "its reader took too much processor time");
    else if (status != -1 && WIFSIGNALED(status))
        snprintf(trouble, SYMBOL_TROUBLE_NBYTES, "its reader was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(trouble, SYMBOL_TROUBLE_NBYTES, "its reader gave up");
}

/* ---- Bytes ---- */

struct transfer {
    struct symbol_process *process;
    uint64_t deadline_ms;
    bool is_late;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool wait_for(struct transfer *transfer, short events)
{
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd poll_fd = {.fd = transfer->process->fd, .events = events};
        transfer->is_late = now >= transfer->deadline_ms;
        if (transfer->is_late)
            return false;
        uint64_t left = transfer->deadline_ms - now;
        int ready = poll(&poll_fd, 1, left < INT_MAX ? (int)left : INT_MAX);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static bool give(struct transfer *transfer, const void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t put =
            send(transfer->process->fd, (const char *)bytes + at, nbytes - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EAGAIN && wait_for(transfer, POLLOUT))
            continue;
        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool take(struct transfer *transfer, void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t got = recv(transfer->process->fd, (char *)bytes + at, nbytes - at, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN && wait_for(transfer, POLLIN))
            continue;
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Reads as many bytes as were announced; memory is allocated as they arrive. */
static char *take_announced(struct transfer *transfer, uint64_t nbytes, size_t most)
{
    size_t room = nbytes < 65536 ? (size_t)nbytes : 65536, at = 0;
    char *bytes = nbytes <= most ? malloc(room + 1) : NULL;
    while (bytes != NULL && at < nbytes) {
        if (at == room) {
            room = nbytes - room < room ? (size_t)nbytes : 2 * room;
            char *larger = realloc(bytes, room + 1);
            if (larger == NULL)
                break;
            bytes = larger;
        }
        if (!take(transfer, bytes + at, room - at))
            break;
        at = room;
    }
    if (bytes != NULL && at == nbytes) {
        bytes[at] = '\0';
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* ---- Requests ---- */

static char *put(char *to, const void *bytes, size_t nbytes)
{
    if (nbytes > 0)
        memcpy(to, bytes, nbytes);
    return to + nbytes;
}

/* Sent in one piece, so that the other process wakes up once. */
static bool give_question(struct transfer *transfer, const struct symbol_question *question)
{
    const char *debug_path = question->debug_path != NULL ? question->debug_path : "";
    struct symbol_request request = {.wants = question->wants,
                                     .path_nbytes = (uint32_t)strlen(question->path),
                                     .build_id_nbytes = (uint32_t)question->build_id_nbytes,
                                     .debug_path_nbytes = (uint32_t)strlen(debug_path),
                                     .pc_count = question->pc_count};
    size_t texts_nbytes =
        (size_t)request.path_nbytes + 1 + request.build_id_nbytes + request.debug_path_nbytes + 1;
    char *bytes = malloc(sizeof request + texts_nbytes + question->pc_count * sizeof *question->pcs);
    if (bytes == NULL)
        return false;
    char *end = put(bytes, &request, sizeof request);
    end = put(end, question->path, (size_t)request.path_nbytes + 1);
    end = put(end, question->build_id, request.build_id_nbytes);
    end = put(end, debug_path, (size_t)request.debug_path_nbytes + 1);
    end = put(end, question->pcs, question->pc_count * sizeof *question->pcs);
    bool is_given = give(transfer, bytes, (size_t)(end - bytes));
    free(bytes);
    return is_given;
}

static bool take_answer(struct transfer *transfer, struct symbol_answer *answer)
{
    struct symbol_files_reply files;
    struct symbol_reply reply;
    if (!take(transfer, &files, sizeof files))
        return false;
    answer->debug_path = files.path_nbytes > 0 ? take_announced(transfer, files.path_nbytes, PATH_MAX) : NULL;
    if (files.path_nbytes > 0 && answer->debug_path == NULL)
        return false;
    answer->has_files = true;
    answer->state = files.state;
    answer->has_debug = files.has_debug != 0;
    if (!take(transfer, &reply, sizeof reply))
        return false;
    answer->bytes = take_announced(transfer, reply.nbytes, ANSWER_NBYTES_MAX);
    answer->nbytes = (size_t)reply.nbytes;
    return answer->bytes != NULL;
}

bool tbed_symbol_process_ask(struct symbol_process *process, const struct symbol_question *question,
                             struct symbol_answer *answer, char trouble[SYMBOL_TROUBLE_NBYTES])
{
    if (process->pid == 0 && !start(process, trouble))
        return false;
    struct transfer transfer = {.process = process, .deadline_ms = now_ms() + process->timeout_ms};
    if (give_question(&transfer, question) && take_answer(&transfer, answer)) {
        process->answered_count++;
        return true;
    }
    /* It is dead, or has exceeded its time. */
    struct pollfd hung_up = {.fd = process->fd, .events = POLLIN};
    bool is_dead = !transfer.is_late && poll(&hung_up, 1, 100) > 0 && hung_up.revents & POLLHUP;
    int status = bury(process);
    if (is_dead)
        tell_death(status, trouble);
    else if (transfer.is_late)
        snprintf(trouble, SYMBOL_TROUBLE_NBYTES, "its reader took longer than %u s",
                 process->timeout_ms / 1000);
    else
        snprintf(trouble, SYMBOL_TROUBLE_NBYTES, "its reader sent an invalid answer");
    return false;
}
