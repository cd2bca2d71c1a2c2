/*
 * The plans of the modules that this process has met: which of their functions are recorded.
 *
 * A plan is requested from 'tracebed record' when a function of its module is first called; so filters work for libraries
 * that are loaded late and for programs that the program starts. The answer is mapped, and stays. A process that gets no
 * answer in time, or cannot ask, does not ask again: functions of that module are treated as if no pattern matched them,
 * and a note is left, which is printed at the end.
 *
 * The file is not trusted: it is checked once, when it is mapped, and it is sealed against changes. In the process's own copy
 * names of arguments get their ids.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"
#include "writer/capture/launch/launch.h"

uint32_t functions_default_flags = LAUNCH_PLAN_RECORDED;

static char socket_name[LAUNCH_PLAN_NAME_NBYTES]; /* empty: every function is treated by default */
static bool is_mute;                              /* atomic; nobody answers */

struct plan {
    struct plan *next;
    uintptr_t start, nbytes; /* of the module */
    uint64_t base;
    uint16_t build_id_nbytes;
    uint8_t build_id[PRELOAD_BUILD_ID_NBYTES];
    const struct launch_plan *functions; /* NULL: there is none */
};

static struct plan *all_plans; /* atomic; only ever grows */

bool functions_plans_begin(void)
{
    const char *text = getenv(LAUNCH_ENV_PLANS), *comma = text != NULL ? strchr(text, ',') : NULL;
    if (comma == NULL || (size_t)(comma - text) >= sizeof socket_name)
        return false;
    memcpy(socket_name, text, (size_t)(comma - text));
    functions_default_flags = (uint32_t)strtoul(comma + 1, NULL, 10);
    return true;
}

/* ---- Asking ---- */

/* -1: nobody listens. Both directions have a time limit. */
static int connect_to_record(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval wait = {.tv_sec = LAUNCH_PLAN_WAIT_MS / 1000};
    size_t nbytes = strlen(socket_name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path + 1, socket_name, nbytes);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0 &&
        connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + nbytes)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool send_request(int fd, const struct preload_module *module, const char *path)
{
    struct launch_plan_request head = {.magic = LAUNCH_PLAN_MAGIC,
                                       .build_id_nbytes = module->build_id_nbytes,
                                       .path_nbytes = (uint32_t)strlen(path)};
    memcpy(head.build_id, module->build_id, module->build_id_nbytes);
    union {
        const char *given;
        void *base;
    } text = {path};
    struct iovec parts[] = {{&head, LAUNCH_PLAN_REQUEST_NBYTES}, {text.base, head.path_nbytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)(LAUNCH_PLAN_REQUEST_NBYTES + head.path_nbytes);
}

/* The plan's descriptor; -1: there is none, and '*status_ret' says why. */
static int take_reply(int fd, uint32_t *status_ret)
{
    struct launch_plan_reply reply = {0};
    struct iovec bytes = {&reply, sizeof reply};
    int file = -1;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof file)];
    } control = {0};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control};
    *status_ret = LAUNCH_PLAN_NOT_ASKED;
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof reply || reply.magic != LAUNCH_PLAN_MAGIC)
        return -1;
    *status_ret = reply.status;
    if (CMSG_FIRSTHDR(&message) != NULL && control.head.cmsg_level == SOL_SOCKET &&
        control.head.cmsg_type == SCM_RIGHTS && control.head.cmsg_len == CMSG_LEN(sizeof file))
        memcpy(&file, CMSG_DATA(&control.head), sizeof file);
    return file;
}

static int ask(const struct preload_module *module, const char *path, uint32_t *status_ret)
{
    int file = -1, fd = connect_to_record();
    *status_ret = LAUNCH_PLAN_NOT_ASKED;
    if (fd >= 0 && send_request(fd, module, path))
        file = take_reply(fd, status_ret);
    if (fd >= 0)
        close(fd);
    if (*status_ret == LAUNCH_PLAN_NOT_ASKED)
        __atomic_store_n(&is_mute, true, __ATOMIC_RELAXED);
    return file;
}

/* NULL: it is no plan. */
static const struct launch_plan *map_plan(int file)
{
    struct stat status;
    bool is_sealed = file >= 0 && (fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK) != 0;
    if (!is_sealed || fstat(file, &status) != 0 || status.st_size <= 0)
        return NULL;
    void *pages = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (pages == MAP_FAILED)
        return NULL;
    if (launch_plan_check(pages, (size_t)status.st_size))
        return pages;
    munmap(pages, (size_t)status.st_size);
    return NULL;
}

static const struct launch_plan *request_plan(const struct preload_module *module)
{
    char path[PATH_MAX];
    uint32_t status = LAUNCH_PLAN_NOT_ASKED;
    const struct launch_plan *functions = NULL;
    preload_module_path_find(module, path);
    if (!__atomic_load_n(&is_mute, __ATOMIC_RELAXED)) {
        int file = ask(module, path, &status);
        functions = map_plan(file);
        if (file >= 0)
            close(file);
    }
    if (functions == NULL) {
        struct launch_note note = {.kind = LAUNCH_NOTE_UNPLANNED, .status = status};
        launch_note_add(launch_notes_find(), &note, path);
    }
    return functions;
}

/* ---- Known plans ---- */

static bool is_of(const struct plan *plan, const struct preload_module *module)
{
    return plan->start == module->start && plan->nbytes == module->nbytes && plan->base == module->base &&
           plan->build_id_nbytes == module->build_id_nbytes &&
           memcmp(plan->build_id, module->build_id, module->build_id_nbytes) == 0;
}

static struct plan *find_plan(const struct preload_module *module)
{
    struct plan *plan = __atomic_load_n(&all_plans, __ATOMIC_ACQUIRE);
    while (plan != NULL && !is_of(plan, module))
        plan = plan->next;
    return plan;
}

/* Two threads may request the same plan; both then stay. NULL: no memory, or in a sandbox. */
static struct plan *make_plan(const struct preload_module *module)
{
    struct plan *plan = tbed_is_sandboxed() ? NULL : tbed_pages_alloc(sizeof *plan);
    if (plan == NULL)
        return NULL;
    plan->start = module->start;
    plan->nbytes = module->nbytes;
    plan->base = module->base;
    plan->build_id_nbytes = module->build_id_nbytes;
    memcpy(plan->build_id, module->build_id, module->build_id_nbytes);
    plan->functions = request_plan(module);
    plan->next = __atomic_load_n(&all_plans, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_plans, &plan->next, plan, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return plan;
}

const struct launch_plan *functions_plan_of(const struct preload_module *module)
{
    if (socket_name[0] == '\0')
        return NULL;
    const struct plan *plan = find_plan(module);
    if (plan == NULL)
        plan = make_plan(module);
    return plan != NULL ? plan->functions : NULL;
}
