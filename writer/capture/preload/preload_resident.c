/*
 * How much anonymous memory of the process is resident, that is, in physical memory: a counter every 10 ms while the
 * process allocates, and when it exits. Memory of files is left out, because the trace itself is a mapped file.
 *
 * It is looked at by a thread that has just recorded an allocation, so it costs nothing in between. System calls are made
 * directly: the C library's open() is a point where threads can be cancelled.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/shared/preload.h"

#define INTERVAL_NS UINT64_C(10000000)

static const char counter_name[] = "resident anonymous memory";
static uint64_t next_ns;      /* atomic; 0: not looked at yet */
static uint32_t described_id; /* atomic; the counter that has a unit */

/* Reads the start of a small file. False: it cannot be read. */
static bool read_start(const char *path, char *text, size_t text_nbytes)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    ssize_t nbytes = fd >= 0 ? syscall(SYS_read, fd, text, text_nbytes - 1) : -1;
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[nbytes > 0 ? nbytes : 0] = '\0';
    return nbytes > 0;
}

/* The second number is that of resident pages, the third of those of files. */
static void sample(struct tbed_recorder *recorder)
{
    char text[128], *at;
    if (!read_start("/proc/self/statm", text, sizeof text))
        return;
    strtoull(text, &at, 10);
    uint64_t resident = strtoull(at, &at, 10), of_files = strtoull(at, NULL, 10);
    uint64_t page_count = resident > of_files ? resident - of_files : 0;
    uint32_t id = tbed_string_intern(preload_writer, counter_name, sizeof counter_name - 1);
    if (__atomic_exchange_n(&described_id, id, __ATOMIC_RELAXED) != id)
        tbed_counter_describe(preload_writer, id, "bytes");
    tbed_counter_record_i64(recorder, id, (int64_t)(page_count * (uint64_t)sysconf(_SC_PAGESIZE)));
}

void preload_resident_look(struct preload_thread *thread, struct tbed_recorder *recorder)
{
    struct timespec now;
    thread->since_resident = 0;
    if (tbed_is_sandboxed() || clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0)
        return;
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint64_t next = __atomic_load_n(&next_ns, __ATOMIC_RELAXED);
    if (ns >= next && __atomic_compare_exchange_n(&next_ns, &next, ns + INTERVAL_NS, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED))
        sample(recorder);
}

__attribute__((destructor)) static void finish(void)
{
    struct preload_thread *thread = &preload_thread;
    bool is_wanted = preload_writer != NULL && !preload_mode.is_light && !tbed_is_sandboxed();
    int saved_errno = errno;
    struct tbed_recorder *recorder = is_wanted ? preload_enter(thread) : NULL;
    if (recorder != NULL) {
        sample(recorder);
        preload_leave(thread);
    }
    errno = saved_errno;
}
