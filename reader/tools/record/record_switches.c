/*
 * 'tracebed record --off-cpu': when the kernel takes a thread of the program off its processor, and why.
 *
 * The kernel tells us, not the program, which therefore runs as without: an event of perf_event_open(2) on each processor
 * follows the program and its children. While the program runs, the switches go to a nameless file; when it has ended and
 * its trace is sealed, those of the recorded threads are added to the trace, as spans in a stream for each thread.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/records/metadata.h"
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <tracebed/writer.h>
#include <unistd.h>

#define RING_PAGES     64u /* for each processor; a switch takes 32 bytes */
#define RINGS_MAX      1024u
#define BUFFER_ENTRIES 4096u

enum { SWITCH_IN, SWITCH_OUT, SWITCH_PREEMPTED };

/* As they are kept until the program ends. */
struct entry {
    uint64_t ns; /* of CLOCK_MONOTONIC */
    uint32_t tid;
    uint32_t kind;
};

/* What the kernel stores for PERF_RECORD_SWITCH with our sample_type. */
struct switch_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t ns;
};
struct lost_record {
    struct perf_event_header header;
    uint64_t id, count;
};

struct ring {
    int fd;
    uint8_t *map;
};

struct record_switches {
    struct ring *rings;
    size_t ring_count;
    int file;
    struct entry buffer[BUFFER_ENTRIES];
    size_t buffered, stored;
    uint64_t lost;
    bool has_failed; /* the file is full */
};

/* ---- While the program runs ---- */

static size_t page_nbytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static bool open_ring(struct ring *ring, pid_t pid, int processor)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .context_switch = 1,
        .sample_id_all = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)(RING_PAGES * page_nbytes() / 2),
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    ring->fd = (int)syscall(SYS_perf_event_open, &attributes, pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
    ring->map = NULL;
    if (ring->fd < 0)
        return false;
    ring->map = mmap(NULL, (RING_PAGES + 1) * page_nbytes(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (ring->map != MAP_FAILED)
        return true;
    int error = errno;
    close(ring->fd);
    errno = error;
    return false;
}

void record_switches_close(struct record_switches *switches)
{
    if (switches == NULL)
        return;
    for (size_t i = 0; i < switches->ring_count; i++) {
        munmap(switches->rings[i].map, (RING_PAGES + 1) * page_nbytes());
        close(switches->rings[i].fd);
    }
    free(switches->rings);
    if (switches->file >= 0)
        close(switches->file);
    free(switches);
}

static bool open_rings(struct record_switches *switches, pid_t pid)
{
    long count = sysconf(_SC_NPROCESSORS_CONF);
    switches->rings = calloc(RINGS_MAX, sizeof *switches->rings);
    if (switches->rings == NULL)
        return false;
    for (int processor = 0; processor < count && processor < (int)RINGS_MAX; processor++) {
        if (open_ring(&switches->rings[switches->ring_count], pid, processor))
            switches->ring_count++;
        else if (errno != ENODEV) /* it is offline */
            return false;
    }
    return switches->ring_count > 0;
}

/* What to do about 'error'; NULL: unknown. */
static const char *remedy_of(const struct record_switches *switches, int error)
{
    if ((error != EACCES && error != EPERM) || switches == NULL || switches->rings == NULL)
        return NULL;
    if (switches->rings[switches->ring_count].map != NULL) /* the event was allowed, its buffer was not */
        return "It needs locked memory: raise 'ulimit -l', or sudo sysctl kernel.perf_event_mlock_kb=4096";
    return "Allow it with: sudo sysctl kernel.perf_event_paranoid=2; containers: --cap-add=PERFMON";
}

static struct record_switches *open_quietly(pid_t pid, const char **remedy_ret)
{
    FILE *file = tmpfile();
    struct record_switches *switches = calloc(1, sizeof *switches);
    if (switches != NULL)
        switches->file = file != NULL ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
    if (file != NULL)
        fclose(file);
    if (switches != NULL && switches->file >= 0 && open_rings(switches, pid))
        return switches;
    int error = errno;
    *remedy_ret = remedy_of(switches, error);
    record_switches_close(switches);
    errno = error;
    return NULL;
}

struct record_switches *record_switches_open(pid_t pid)
{
    const char *remedy = NULL;
    struct record_switches *switches = open_quietly(pid, &remedy);
    if (switches == NULL)
        tool_complain("--off-cpu: the kernel does not tell when threads are switched: %s", strerror(errno));
    if (remedy != NULL)
        tool_hint("%s", remedy);
    return switches;
}

int record_switches_try(const char **remedy_ret)
{
    struct record_switches *switches = open_quietly(0, remedy_ret);
    int error = switches != NULL ? 0 : errno;
    record_switches_close(switches);
    return error;
}

static void flush(struct record_switches *switches)
{
    const char *at = (const char *)switches->buffer;
    size_t left = switches->buffered * sizeof switches->buffer[0];
    while (left > 0 && !switches->has_failed) {
        ssize_t nbytes = write(switches->file, at, left);
        if (nbytes < 0 && errno == EINTR)
            continue;
        switches->has_failed = nbytes <= 0;
        at += nbytes > 0 ? nbytes : 0;
        left -= nbytes > 0 ? (size_t)nbytes : 0;
    }
    if (switches->has_failed)
        switches->lost += switches->buffered;
    else
        switches->stored += switches->buffered;
    switches->buffered = 0;
}

static void take_record(struct record_switches *switches, const struct perf_event_header *header,
                        const uint8_t *bytes)
{
    if (header->type == PERF_RECORD_LOST && header->size >= sizeof(struct lost_record)) {
        struct lost_record record;
        memcpy(&record, bytes, sizeof record);
        switches->lost += record.count;
    }
    if (header->type != PERF_RECORD_SWITCH || header->size < sizeof(struct switch_record))
        return;
    struct switch_record record;
    memcpy(&record, bytes, sizeof record);
    bool is_out = (header->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    bool is_preempted = (header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    switches->buffer[switches->buffered++] = (struct entry){record.ns, record.tid,
                                                            !is_out        ? SWITCH_IN
                                                            : is_preempted ? SWITCH_PREEMPTED
                                                                           : SWITCH_OUT};
    if (switches->buffered == BUFFER_ENTRIES)
        flush(switches);
}

static void drain(struct record_switches *switches, struct ring *ring)
{
    struct perf_event_mmap_page *page = (struct perf_event_mmap_page *)ring->map;
    const uint8_t *data = ring->map + page_nbytes();
    uint64_t room = (uint64_t)RING_PAGES * page_nbytes(), at = page->data_tail;
    uint64_t end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    while (at < end) {
        struct perf_event_header header;
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof bytes && at + i < end; i++) /* a record may go on at the ring's start */
            bytes[i] = data[(at + i) % room];
        memcpy(&header, bytes, sizeof header);
        if (header.size < sizeof header)
            break;
        take_record(switches, &header, bytes);
        at += header.size;
    }
    __atomic_store_n(&page->data_tail, end, __ATOMIC_RELEASE);
}

void record_switches_follow(struct record_switches *switches, pid_t pid)
{
    struct pollfd waits[RINGS_MAX + 1];
    size_t count = switches->ring_count;
    for (size_t i = 0; i < count; i++)
        waits[i] = (struct pollfd){.fd = switches->rings[i].fd, .events = POLLIN};
    waits[count] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    while (waits[count].fd >= 0 && waits[count].revents == 0) {
        if (poll(waits, count + 1, -1) < 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            drain(switches, &switches->rings[i]);
            if (waits[i].revents & (POLLHUP | POLLERR))
                waits[i].fd = -1;
        }
    }
    if (waits[count].fd >= 0)
        close(waits[count].fd);
}

/* ---- When the trace is sealed ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

struct adding {
    struct tbed_reader *reader;
    struct tbed_writer *writer;
    const struct entry *entries; /* by thread and time */
    size_t entry_count;
    uint32_t ids[SWITCH_PREEMPTED + 1];
};

static const struct entry *entries_of(const struct adding *adding, uint32_t tid)
{
    size_t low = 0, high = adding->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (adding->entries[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return adding->entries + low;
}

static struct tbed_recorder *open_recorder(const struct adding *adding, const struct tbed_stream_info *stream)
{
    char name[256 + 16], thread[256] = "";
    if (stream->name_id != TBED_ID_INVALID)
        tbed_id_text(adding->reader, stream->name_id, TBED_NAME_ALL, thread, sizeof thread);
    else
        snprintf(thread, sizeof thread, "thread %u", (unsigned)stream->tid);
    snprintf(name, sizeof name, "%s: off CPU", thread);
    return tbed_recorder_open_off_cpu(adding->writer, stream->process, stream->stream, name, stream->tid);
}

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t id, uint64_t tick)
{
    struct tbed_given_event event = {.type = type, .id = id, .category = TBED_ID_INVALID, .tick = tick};
    tbed_event_record_given(recorder, &event);
}

/* Adds what happened to the thread while it was being recorded; its number may have belonged to others before and after. */
static void add_thread(const struct adding *adding, const struct tbed_stream_info *stream)
{
    const struct entry *end = adding->entries + adding->entry_count, *at = entries_of(adding, stream->tid);
    uint64_t last_tick = stream->end_tick != 0 ? stream->end_tick : UINT64_MAX;
    struct tbed_recorder *recorder = NULL;
    for (; at + 1 < end && at[1].tid == stream->tid; at++) {
        if (at[0].kind == SWITCH_IN || at[1].kind != SWITCH_IN)
            continue;
        uint64_t off = tbed_monotonic_tick(adding->reader, at[0].ns);
        uint64_t on = tbed_monotonic_tick(adding->reader, at[1].ns);
        if (off < stream->tick || off >= last_tick)
            continue;
        if (recorder == NULL)
            recorder = open_recorder(adding, stream);
        give(recorder, TBED_GIVEN_BEGIN, adding->ids[at[0].kind], off);
        give(recorder, TBED_GIVEN_END, adding->ids[at[0].kind], on);
    }
    tbed_recorder_close(recorder);
}

static void add_threads(struct adding *adding)
{
    static const char waiting[] = "off CPU: waiting", preempted[] = "off CPU: preempted";
    struct tbed_stream_info stream;
    adding->ids[SWITCH_OUT] = tbed_string_intern(adding->writer, waiting, sizeof waiting - 1);
    adding->ids[SWITCH_PREEMPTED] = tbed_string_intern(adding->writer, preempted, sizeof preempted - 1);
    for (size_t i = 0; tbed_stream_get(adding->reader, i, &stream); i++)
        if (stream.kind == TBED_STREAM_THREAD && stream.tid != 0)
            add_thread(adding, &stream);
}

static bool add_to(struct adding *adding, const char *path)
{
    struct tbed_error error = {.status = TBED_OK};
    struct tbed_writer_options options = {.size = sizeof options, .join = true, .annotate = true};
    if (tbed_reader_open(path, NULL, &adding->reader, &error) != TBED_OK) {
        tool_complain_error(path, &error);
        return false;
    }
    if (tbed_writer_open(path, &options, &adding->writer, &error) == TBED_OK)
        add_threads(adding);
    else
        tool_complain_error(path, &error);
    tbed_writer_free(adding->writer);
    tbed_reader_close(adding->reader);
    return error.status == TBED_OK;
}

bool record_switches_add(struct record_switches *switches, const char *path)
{
    for (size_t i = 0; i < switches->ring_count; i++)
        drain(switches, &switches->rings[i]);
    flush(switches);
    if (switches->lost > 0)
        tool_complain("%s: %llu switches of threads were lost", path, (unsigned long long)switches->lost);
    struct adding adding = {.entry_count = switches->stored};
    size_t nbytes = adding.entry_count * sizeof(struct entry);
    if (nbytes == 0)
        return true;
    struct entry *entries = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, switches->file, 0);
    if (entries == MAP_FAILED) {
        tool_complain("%s: %s", path, strerror(errno));
        return false;
    }
    qsort(entries, adding.entry_count, sizeof *entries, compare_entries);
    adding.entries = entries;
    bool is_added = add_to(&adding, path);
    munmap(entries, nbytes);
    return is_added;
}
