/*
 * A program that reads the clock a number of times, and records as many events with one of the tracers that
 * bench/peers_bench.py compares. It is also built by other compilers and with other options than the rest of the
 * tree, for tracers that instrument functions: PEER_FUNCTIONS (uftrace), PEER_XRAY, PEER_LTTNG.
 *
 * Results go into a file that it maps (struct report), so they survive SIGKILL. It does not measure a tracer's other
 * processes; the program that starts it does.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <tracebed/writer.h>

#if defined(PEER_LTTNG)
#include <peer_lttng.h>
#endif

/* Shared with bench/peers/peers.py, which knows the order of the fields. */
struct report {
    uint64_t pid;
    volatile uint64_t progress; /* events whose call has returned; only when counted */
    uint64_t is_done;
    double clock_ns, record_ns, record_elapsed_ns; /* time of all events together */
};

struct subject {
    struct report *report;
    const char *output;
    uint64_t count; /* events */
    bool is_counted;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;

/* Two per iteration, as in the loops that record. */
static void read_counter(uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i += 2) {
        sum += tbed_counter_read();
        sum += tbed_counter_read();
    }
    sink = sum;
}

/* ---- Recording: a loop that only records, and one that also reports its progress ---- */

static void time_begin(struct report *report)
{
    report->record_elapsed_ns = -(double)now_ns(CLOCK_MONOTONIC);
    report->record_ns = -(double)now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void time_end(struct report *report)
{
    report->record_ns += (double)now_ns(CLOCK_THREAD_CPUTIME_ID);
    report->record_elapsed_ns += (double)now_ns(CLOCK_MONOTONIC);
}

#define RECORD(subject, BEGIN, END)                                                                          \
    do {                                                                                                     \
        struct report *report_ = (subject)->report;                                                          \
        uint64_t count_ = (subject)->count;                                                                  \
        time_begin(report_);                                                                                 \
        if ((subject)->is_counted) {                                                                         \
            for (uint64_t i_ = 0; i_ < count_; i_ += 2) {                                                    \
                BEGIN;                                                                                       \
                END;                                                                                         \
                report_->progress += 2;                                                                      \
            }                                                                                                \
        } else {                                                                                             \
            for (uint64_t i_ = 0; i_ < count_; i_ += 2) {                                                    \
                BEGIN;                                                                                       \
                END;                                                                                         \
            }                                                                                                \
        }                                                                                                    \
        time_end(report_);                                                                                   \
    } while (0)

#if defined(PEER_FUNCTIONS) || defined(PEER_XRAY)

/* A function's entry and exit are the begin and the end. */
#if defined(PEER_XRAY)
__attribute__((xray_always_instrument))
#endif
__attribute__((noinline)) static void
work(void)
{
    __asm__ volatile("");
}

#endif

#if defined(PEER_XRAY)

enum { XRAY_INITIALIZED = 2 };
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *options);
int __xray_patch(void);
int __xray_unpatch(void);
int __xray_log_finalize(void);
int __xray_log_flushLog(void);

/* Buffers for every event, because FDR drops events without room. By default it omits functions shorter than 5 us. */
static bool record_xray(const struct subject *subject)
{
    char options[128];
    uint64_t buffer_count = subject->count * 9 / 65536 + 16;
    snprintf(options, sizeof options, "func_duration_threshold_us=0:buffer_size=65536:buffer_max=%" PRIu64,
             buffer_count);
    __xray_log_select_mode("xray-fdr");
    if (__xray_log_init_mode("xray-fdr", options) != XRAY_INITIALIZED || __xray_patch() != 1)
        return false;
    RECORD(subject, work(), (void)0);
    __xray_unpatch();
    __xray_log_finalize();
    __xray_log_flushLog();
    return true;
}

#elif defined(PEER_FUNCTIONS)

static bool record_functions(const struct subject *subject)
{
    RECORD(subject, work(), (void)0);
    return true;
}

#elif defined(PEER_LTTNG)

static bool record_lttng(const struct subject *subject)
{
    RECORD(subject, lttng_ust_tracepoint(tracebed_peer, begin, 7), lttng_ust_tracepoint(tracebed_peer, end));
    return true;
}

#else

static bool record_clock(const struct subject *subject)
{
    uint64_t sum = 0;
    RECORD(subject, sum += tbed_counter_read(), sum += tbed_counter_read());
    sink = sum;
    return true;
}

static bool record_clock_gettime(const struct subject *subject)
{
    uint64_t sum = 0;
    RECORD(subject, sum += now_ns(CLOCK_MONOTONIC), sum += now_ns(CLOCK_MONOTONIC));
    sink = sum;
    return true;
}

static bool record_tracebed_with(const struct subject *subject, bool no_helper)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true, .no_helper = no_helper};
    struct tbed_writer *writer;
    if (tbed_writer_open(subject->output, &options, &writer, NULL) != TBED_OK)
        return false;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t id = tbed_string_intern(writer, "work", 4);
    RECORD(subject, tbed_span_begin(recorder, id), tbed_span_end(recorder));
    uint64_t drop_count = 0;
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        drop_count += tbed_writer_drop_count(writer, (enum tbed_drop_cause)cause);
    tbed_writer_close(writer);
    return drop_count == 0;
}

static bool record_tracebed(const struct subject *subject)
{
    return record_tracebed_with(subject, false);
}

static bool record_tracebed_no_helper(const struct subject *subject)
{
    return record_tracebed_with(subject, true);
}

/* The minimum that a tracer without mapped memory does: store 8 bytes in a buffer, and write(2) when it is full. */
struct buffer {
    int fd;
    uint32_t count;
    bool has_failed;
    uint64_t words[8192];
};

static inline void buffer_put(struct buffer *buffer, uint64_t what)
{
    buffer->words[buffer->count++] = tbed_counter_read() << 8 | what;
    if (__builtin_expect(buffer->count == sizeof buffer->words / sizeof *buffer->words, 0)) {
        buffer->has_failed |= write(buffer->fd, buffer->words, sizeof buffer->words) != sizeof buffer->words;
        buffer->count = 0;
    }
}

static bool record_write(const struct subject *subject)
{
    static struct buffer buffer;
    buffer.fd = open(subject->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (buffer.fd < 0)
        return false;
    RECORD(subject, buffer_put(&buffer, 1), buffer_put(&buffer, 2));
    ssize_t left = (ssize_t)(buffer.count * sizeof *buffer.words);
    bool is_good = !buffer.has_failed && write(buffer.fd, buffer.words, (size_t)left) == left;
    return close(buffer.fd) == 0 && is_good;
}

/* The JSON of Chrome's trace viewer, written as many programs do by hand. */
static void text_put(FILE *file, char phase)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    fprintf(file, "{\"name\":\"work\",\"ph\":\"%c\",\"ts\":%" PRIu64 ".%03u,\"pid\":%d,\"tid\":%d},\n", phase,
            now / 1000, (unsigned)(now % 1000), 1, 1);
}

static bool record_fprintf(const struct subject *subject)
{
    FILE *file = fopen(subject->output, "w");
    if (file == NULL)
        return false;
    fputs("[\n", file);
    RECORD(subject, text_put(file, 'B'), text_put(file, 'E'));
    bool is_good = ferror(file) == 0;
    return fclose(file) == 0 && is_good;
}

#endif

static const struct {
    const char *name;
    bool (*record)(const struct subject *subject);
} peers[] = {
#if defined(PEER_XRAY)
    {"xray", record_xray},
#elif defined(PEER_FUNCTIONS)
    {"functions", record_functions},
#elif defined(PEER_LTTNG)
    {"lttng", record_lttng},
#else
    {"clock", record_clock},       {"clock_gettime", record_clock_gettime},
    {"tracebed", record_tracebed}, {"tracebed-no-helper", record_tracebed_no_helper},
    {"write", record_write},       {"fprintf", record_fprintf},
#endif
};

/* ---- The program ---- */

/* Touches memory and releases it; bench/README.md says why. */
static int warm(const char *argument)
{
    size_t nbytes = strtoull(argument, NULL, 10);
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    madvise(memory, nbytes, MADV_HUGEPAGE);
    return madvise(memory, nbytes, MADV_POPULATE_WRITE) == 0 ? 0 : 1;
}

static struct report *map_report(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *memory = mmap(NULL, sizeof(struct report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void measure_clock(struct report *report, uint64_t count)
{
    uint64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    read_counter(count);
    report->clock_ns = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

static bool measure(const struct subject *subject, const char *peer, const char *order)
{
    struct report *report = subject->report;
    bool is_good = false;
    report->pid = (uint64_t)getpid();
    if (strcmp(order, "clock-first") == 0)
        measure_clock(report, subject->count);
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peers[i].name, peer) == 0)
            is_good = peers[i].record(subject);
    if (strcmp(order, "clock-last") == 0)
        measure_clock(report, subject->count);
    report->is_done = is_good;
    return is_good;
}

/* ORDER: clock-first, clock-last, or counted, without the clock. COUNT is even. */
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "warm") == 0)
        return warm(argv[2]);
    if (argc != 6) {
        fprintf(stderr, "usage: %s PEER OUTPUT COUNT ORDER REPORT | warm NBYTES\n", argv[0]);
        return 2;
    }
    struct subject subject = {.report = map_report(argv[5]), .output = argv[2]};
    subject.count = strtoull(argv[3], NULL, 10);
    subject.is_counted = strcmp(argv[4], "counted") == 0;
    if (subject.report == NULL)
        return 2;
    return measure(&subject, argv[1], argv[4]) ? 0 : 1;
}
