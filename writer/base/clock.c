/*
 * The clock of a trace: which one it is, how fast it ticks, and how its ticks relate to the system's clocks.
 *
 * Source: spec/format.md, sections 3.1 and 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "writer/base/clock.h"

#define CALIBRATION_NS 50000u /* the rate is then accurate to 4e-4 at worst, usually to 1e-5 */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tbed_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static bool machine_counter_is_invariant(void)
{
#if defined(__x86_64__)
    /*
     * Under a hypervisor a CPUID takes microseconds. Bit 31, which every 64-bit processor has, marks the value as
     * known.
     */
    static uint32_t known; /* atomic; 0: not yet */
    unsigned eax, ebx, ecx, edx = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (edx == 0) {
        __cpuid(0x80000007, eax, ebx, ecx, edx);
        __atomic_store_n(&known, edx |= 1u << 31, __ATOMIC_RELAXED);
    }
    return (edx >> 8 & 1) != 0;
#elif defined(__i386__)
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 8 & 1) != 0;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

bool tbed_clock_list_has_tsc(const char *names)
{
    for (const char *at = names; (at = strstr(at, "tsc")) != NULL; at += 3)
        if ((at == names || at[-1] == ' ') && (at[3] == ' ' || at[3] == '\n' || at[3] == 0))
            return true;
    return false;
}

/*
 * A kernel that finds the counters of its processors to differ, or to stop, no longer offers them as a clock; nor does one
 * under a hypervisor that says so. Where the list cannot be read, the processor's word counts.
 */
bool tbed_clock_is_offered(const char *path)
{
    char names[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t nbytes = read(fd, names, sizeof names - 1);
    close(fd);
    names[nbytes > 0 ? nbytes : 0] = 0;
    return nbytes <= 0 || tbed_clock_list_has_tsc(names);
}

static bool kernel_offers_counter(void)
{
#if defined(__x86_64__)
    return tbed_clock_is_offered("/sys/devices/system/clocksource/clocksource0/available_clocksource");
#else
    return true;
#endif
}

enum tbed_clock tbed_clock_of_machine(void)
{
    if (!machine_counter_is_invariant())
        return TBED_CLOCK_MONOTONIC;
#if defined(__aarch64__)
    return TBED_CLOCK_ARM64_VIRTUAL;
#else
    return TBED_CLOCK_X86_TSC;
#endif
}

enum tbed_clock tbed_clock_pick(enum tbed_clock wanted, enum tbed_clock_reason *reason_ret)
{
    if (wanted != TBED_CLOCK_AUTO) {
        *reason_ret = wanted == TBED_CLOCK_USER ? TBED_CLOCK_UNTOLD : TBED_CLOCK_ASKED_FOR;
        return wanted;
    }
    enum tbed_clock counter = tbed_clock_of_machine();
    *reason_ret = counter == TBED_CLOCK_MONOTONIC ? TBED_CLOCK_NOT_STEADY : TBED_CLOCK_BY_DEFAULT;
    return counter;
}

uint64_t tbed_clock_now(const struct tbed_clock_state *clock)
{
    if (clock->is_given)
        return __atomic_load_n(&clock->latest_given, __ATOMIC_RELAXED);
    switch (clock->kind) {
    case TBED_CLOCK_X86_TSC:
    case TBED_CLOCK_ARM64_VIRTUAL:
        return tbed_counter_read();
    case TBED_CLOCK_USER:
        return clock->user != NULL ? clock->user() : 0;
    default:
        return tbed_monotonic_ns();
    }
}

/* Keeps the reading, of several, whose two reads of the counter are closest together. */
struct tbed_clock_reading tbed_clock_read(const struct tbed_clock_state *clock)
{
    struct tbed_clock_reading best = {0, 0, 0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = tbed_clock_now(clock);
        uint64_t monotonic_ns = tbed_monotonic_ns();
        uint64_t after = tbed_clock_now(clock);
        if (after - before < best_width) {
            best_width = after - before;
            best = (struct tbed_clock_reading){before + (after - before) / 2, clock_ns(CLOCK_REALTIME),
                                               monotonic_ns};
        }
    }
    return best;
}

/* With given ticks no clock is read, and no other writer may join: the anchor is not a moment of this machine. */
static void given_start(struct tbed_clock_state *clock, const struct tbed_writer_options *options,
                        struct tbed_header_fields *fields)
{
    uint64_t rate = options->given_ticks_per_second;
    fields->clock = clock->kind = rate != 0 ? TBED_CLOCK_MONOTONIC : TBED_CLOCK_USER;
    fields->anchor_ticks = 0;
    fields->anchor_realtime_ns = options->given_realtime_ns;
    fields->anchor_monotonic_ns = 0;
    fields->ticks_per_second = rate;
    fields->resolution_ns = rate != 0 ? options->given_resolution_ns : 0;
}

static void begin(struct tbed_clock_state *clock, enum tbed_clock kind, struct tbed_header_fields *fields)
{
    fields->clock = clock->kind = kind;
    struct tbed_clock_reading start = tbed_clock_read(clock);
    fields->anchor_ticks = start.ticks;
    fields->anchor_realtime_ns = (int64_t)start.realtime_ns;
    fields->anchor_monotonic_ns = start.monotonic_ns;
}

void tbed_clock_start(struct tbed_clock_state *clock, const struct tbed_writer_options *options,
                      struct tbed_header_fields *fields)
{
    clock->user = options->user_clock;
    clock->is_given = options->given_ticks || options->annotate;
    if (options->given_ticks) {
        given_start(clock, options, fields);
        return;
    }
    begin(clock, tbed_clock_pick(options->clock, &fields->clock_reason), fields);
}

void tbed_clock_settle(struct tbed_clock_state *clock, struct tbed_header_fields *fields)
{
    if (fields->clock_reason != TBED_CLOCK_BY_DEFAULT || kernel_offers_counter())
        return;
    fields->clock_reason = TBED_CLOCK_NOT_OFFERED;
    begin(clock, TBED_CLOCK_MONOTONIC, fields);
}

static uint64_t measured_rate(const struct tbed_clock_state *clock, const struct tbed_header_fields *fields)
{
    while (tbed_monotonic_ns() - fields->anchor_monotonic_ns < CALIBRATION_NS)
        continue;
    struct tbed_clock_reading end = tbed_clock_read(clock);
    double seconds = (double)(end.monotonic_ns - fields->anchor_monotonic_ns) / 1e9;
    return (uint64_t)((double)(end.ticks - fields->anchor_ticks) / seconds);
}

void tbed_clock_rate(const struct tbed_clock_state *clock, struct tbed_header_fields *fields)
{
    uint64_t rate = 0;
    if (clock->is_given)
        return;
    if (clock->kind == TBED_CLOCK_MONOTONIC)
        rate = 1000000000u;
#if defined(__aarch64__)
    if (clock->kind == TBED_CLOCK_ARM64_VIRTUAL)
        __asm__("mrs %0, cntfrq_el0" : "=r"(rate));
#endif
    if (rate < 1000 && clock->kind != TBED_CLOCK_USER)
        rate = measured_rate(clock, fields);
    fields->ticks_per_second = rate;
}

void tbed_clock_reach(struct tbed_clock_state *clock, uint64_t tick)
{
    uint64_t known = __atomic_load_n(&clock->latest_given, __ATOMIC_RELAXED);
    while (known < tick && !__atomic_compare_exchange_n(&clock->latest_given, &known, tick, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* The ticks of a trace from before a reboot, or from another machine, mean something else here. */
static bool agrees(const struct tbed_clock_state *clock, const struct tbed_header_fields *fields)
{
    if (fields->anchor_monotonic_ns == 0) /* given ticks: the anchor is not a moment of this machine */
        return false;
    if (clock->kind == TBED_CLOCK_USER)
        return clock->user != NULL;
    if (clock->kind != TBED_CLOCK_MONOTONIC && clock->kind != tbed_clock_of_machine())
        return false;
    struct tbed_clock_reading now = tbed_clock_read(clock);
    double ticks_s = ((double)now.ticks - (double)fields->anchor_ticks) / (double)fields->ticks_per_second;
    double clock_s = ((double)now.monotonic_ns - (double)fields->anchor_monotonic_ns) / 1e9;
    double difference_s = ticks_s > clock_s ? ticks_s - clock_s : clock_s - ticks_s;
    return ticks_s >= -0.001 && difference_s <= 1.0 + ticks_s * 0.005;
}

bool tbed_clock_join(struct tbed_clock_state *clock, const struct tbed_header_fields *fields)
{
    clock->kind = fields->clock;
    if (clock->is_given) { /* a writer that annotates a trace begins where the trace does */
        clock->latest_given = fields->anchor_ticks;
        return true;
    }
    return agrees(clock, fields);
}
