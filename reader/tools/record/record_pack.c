/*
 * tracebed record --pack: packs the files that a rotation has closed. A process beside the program does it while the
 * program runs, at the lowest priority; the rest is packed at the end. The program itself does nothing for it.
 *
 * A packed file takes the name of the plain one, which is deleted once the packed one is complete and on disk. If the
 * rotation has deleted the plain one meanwhile, it stays deleted.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/packed/pack_trace.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 500

/* Only a file that is closed cleanly: others are not closed, or have just been created. */
static bool is_closed(int fd)
{
    struct tbed_reader *reader = NULL;
    struct tbed_trace_info info;
    const struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    if (tbed_reader_open_fd(fd, &options, &reader, NULL) != TBED_OK)
        return false;
    tbed_reader_info(reader, &info);
    tbed_reader_close(reader);
    return info.shut && info.packed_nbytes == 0;
}

/* Puts the packed file in the place of the plain one, if that is still there. The new file is closed. */
static enum tbed_status take_place(struct new_file *file, struct tbed_error *error)
{
    enum tbed_status status = TBED_OK;
    if (fsync(file->fd) != 0 || !tbed_new_file_name(file))
        status = tbed_exchange_fail(error, TBED_ERR_WRITE);
    else if (!tbed_new_file_exchange(file) && errno != ENOENT)
        status = tbed_exchange_fail(error, TBED_ERR_WRITE);
    tbed_new_file_abandon(file); /* its name is now the plain file's */
    return status;
}

static void pack_open_file(int fd, const char *path)
{
    struct new_file file;
    struct pack_report report;
    struct tbed_error error;
    enum tbed_status status = tbed_new_file_open(path, true, tbed_new_file_mode(&fd, 1), &file, &error);
    if (status == TBED_OK) {
        status = tbed_trace_pack(fd, file.fd, 1, &report, &error);
        if (status == TBED_OK)
            status = take_place(&file, &error);
        else
            tbed_new_file_abandon(&file);
    }
    if (status != TBED_OK)
        tool_complain_error(path, &error);
}

static void pack_file(const char *path, void *context)
{
    (void)context;
    const char *number = strrchr(path, '.');
    if (number == NULL || strlen(number) < 7 || strchr(number, '-') != NULL) /* not closed by a rotation */
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (is_closed(fd))
        pack_open_file(fd, path);
    close(fd);
}

static _Noreturn void pack_while_it_runs(const char *path, int stop_fd)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN); /* meant for the program; we end with 'record' */
    setpriority(PRIO_PROCESS, 0, 19);
    while (poll(&stop, 1, LOOK_MS) == 0)
        record_series_for_each(path, pack_file, NULL);
    _exit(0);
}

void record_packing_start(struct record_packing *packing, const char *path)
{
    int pipe_fds[2];
    *packing = (struct record_packing){.stop_fd = -1};
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return; /* all is packed at the end */
    packing->helper = fork();
    if (packing->helper == 0) {
        close(pipe_fds[1]);
        pack_while_it_runs(path, pipe_fds[0]);
    }
    close(pipe_fds[0]);
    packing->stop_fd = pipe_fds[1];
}

void record_packing_stop(const struct record_packing *packing)
{
    if (packing->stop_fd >= 0)
        close(packing->stop_fd);
    while (packing->helper > 0 && waitpid(packing->helper, NULL, 0) < 0 && errno == EINTR) {
    }
}

void record_packing_finish(const char *path)
{
    record_series_for_each(path, pack_file, NULL);
}
