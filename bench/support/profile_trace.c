/*
 * Large profiles for benchmarks; see profile_trace.h. It uses no library, only the description of the container.
 *
 * Source: spec/measureme.md.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "bench/support/profile_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENT_NBYTES  32u
#define PAGE_EVENTS   8191u
#define PAGE_MAX      262144u
#define INSTANT_MARK  0xFFFFFFFFFFFFu
#define INTEGER_MARK  0xFFFFFFFFFFFEu
#define FIRST_REGULAR 100000003u

enum { PAGE_OF_EVENTS, PAGE_OF_STRINGS, PAGE_OF_INDEX };

/* ---- Pages ---- */

static uint32_t load32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

static bool put_page(FILE *out, uint8_t tag, const void *bytes, uint32_t nbytes)
{
    uint8_t head[5] = {tag};
    memcpy(head + 1, &nbytes, 4);
    return fwrite(head, sizeof head, 1, out) == 1 && fwrite(bytes, nbytes, 1, out) == 1;
}

struct event {
    uint64_t kind, id;
    uint32_t thread;
    uint64_t begin, end;
};

static struct event load_event(const uint8_t *bytes)
{
    struct event event;
    uint32_t upper = load32(bytes + 28);
    memcpy(&event.kind, bytes, 8);
    memcpy(&event.id, bytes + 8, 8);
    event.thread = load32(bytes + 16);
    event.begin = load32(bytes + 20) | (uint64_t)(upper & 0xFFFF0000u) << 16;
    event.end = load32(bytes + 24) | (uint64_t)(upper & 0xFFFFu) << 32;
    return event;
}

static void store_event(uint8_t *bytes, const struct event *event)
{
    uint32_t low[3] = {(uint32_t)event->begin, (uint32_t)event->end,
                       (uint32_t)(event->begin >> 16 & 0xFFFF0000u) | (uint32_t)(event->end >> 32)};
    memcpy(bytes, &event->kind, 8);
    memcpy(bytes + 8, &event->id, 8);
    memcpy(bytes + 16, &event->thread, 4);
    memcpy(bytes + 20, low, 12);
}

/* ---- Repeating ---- */

struct page {
    const uint8_t *bytes;
    uint32_t nbytes;
};

struct profile {
    uint8_t *bytes;
    size_t nbytes;
    struct page *pages; /* bytes of events, without the stream's header */
    size_t page_count;
    uint64_t event_count, period;
};

static bool read_whole(const char *path, struct profile *profile)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return false;
    fseek(in, 0, SEEK_END);
    profile->nbytes = (size_t)ftell(in);
    rewind(in);
    profile->bytes = malloc(profile->nbytes + 1);
    bool fine = profile->bytes != NULL && fread(profile->bytes, 1, profile->nbytes, in) == profile->nbytes;
    fclose(in);
    return fine && profile->nbytes > 8 && memcmp(profile->bytes, "MMPD\x09\0\0\0", 8) == 0;
}

static void look_at(struct profile *profile, struct page page)
{
    profile->pages[profile->page_count++] = page;
    for (uint32_t at = 0; page.nbytes - at >= EVENT_NBYTES; at += EVENT_NBYTES) {
        struct event event = load_event(page.bytes + at);
        uint64_t last = event.end < INTEGER_MARK ? event.end : event.end == INSTANT_MARK ? event.begin : 0;
        profile->period = last >= profile->period ? last + 1 : profile->period;
        profile->event_count++;
    }
}

static bool find_pages(struct profile *profile)
{
    profile->pages = calloc(profile->nbytes / 5, sizeof *profile->pages);
    for (size_t at = 8; profile->pages != NULL && profile->nbytes - at >= 5;) {
        uint32_t nbytes = load32(profile->bytes + at + 1);
        if (nbytes > profile->nbytes - at - 5)
            return false;
        uint32_t skipped = profile->page_count == 0 ? 8 : 0;
        if (profile->bytes[at] == PAGE_OF_EVENTS && nbytes >= skipped)
            look_at(profile, (struct page){profile->bytes + at + 5 + skipped, nbytes - skipped});
        at += 5 + (size_t)nbytes;
    }
    return profile->event_count > 0;
}

static bool put_shifted(FILE *out, struct page page, uint64_t ticks)
{
    static uint8_t copy[PAGE_MAX];
    uint32_t nbytes = page.nbytes < PAGE_MAX ? page.nbytes / EVENT_NBYTES * EVENT_NBYTES : PAGE_MAX;
    for (uint32_t at = 0; at < nbytes; at += EVENT_NBYTES) {
        struct event event = load_event(page.bytes + at);
        event.begin += event.end != INTEGER_MARK ? ticks : 0;
        event.end += event.end < INTEGER_MARK ? ticks : 0;
        store_event(copy + at, &event);
    }
    return put_page(out, PAGE_OF_EVENTS, copy, nbytes);
}

static uint64_t repeat(const struct profile *profile, FILE *out, uint64_t event_count)
{
    bool fine = fwrite(profile->bytes, profile->nbytes, 1, out) == 1;
    uint64_t count = profile->event_count;
    for (uint64_t ticks = profile->period; fine && count < event_count; ticks += profile->period) {
        for (size_t i = 0; i < profile->page_count && fine; i++)
            fine = put_shifted(out, profile->pages[i], ticks);
        count += profile->event_count;
    }
    return fine ? count : 0;
}

uint64_t bench_profile_repeat(const char *from, const char *to, uint64_t event_count)
{
    struct profile profile = {0};
    uint64_t count = 0;
    FILE *out = fopen(to, "wb");
    if (out != NULL && read_whole(from, &profile) && find_pages(&profile))
        count = repeat(&profile, out, event_count);
    if (out != NULL && fclose(out) != 0)
        count = 0;
    free(profile.bytes);
    free(profile.pages);
    return count;
}

/* ---- Profiles by rustc ---- */

#define FUNCTION_COUNT 600

static bool write_source(const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    fputs("use std::collections::HashMap;\n", out);
    for (unsigned i = 0; i < FUNCTION_COUNT; i++)
        fprintf(out,
                "#[derive(Clone, Debug, Default)] pub struct S%u { a: u32, b: Vec<String> }\n"
                "pub fn f%u(m: &mut HashMap<String, S%u>, n: u32) -> Option<u32> {\n"
                "    let s = S%u { a: n, b: (0..n).map(|x| format!(\"{x}\")).collect() };\n"
                "    m.insert(format!(\"{:?}\", s), s.clone()).map(|old| old.a + s.b.len() as u32)\n"
                "}\n",
                i, i, i, i);
    return fclose(out) == 0;
}

/* rustc names its profile itself: CRATE-PID.mm_profdata. */
bool bench_profile_by_rustc(const char *directory, const char *path)
{
    char source[4096], command[16384];
    snprintf(source, sizeof source, "%s/profile_bench.rs", directory);
    if (!write_source(source))
        return false;
    snprintf(
        command, sizeof command,
        "cd '%s' && PATH=\"$PATH:$HOME/.cargo/bin\" RUSTC_BOOTSTRAP=1 rustc -Zself-profile=profile_bench.d "
        "-Zself-profile-events=default,args --crate-type=lib --emit=metadata -o profile_bench.rmeta "
        "profile_bench.rs 2>profile_bench.log; "
        "mv profile_bench.d/*.mm_profdata '%s' 2>/dev/null; status=$?; "
        "rm -rf profile_bench.d profile_bench.rmeta profile_bench.log profile_bench.rs; exit $status",
        directory, path);
    int status = system(command);
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- Synthetic profiles ---- */

#define LABEL_COUNT      300u
#define MADE_EVENT_COUNT 250000u
#define DEPTH_MAX        24u

struct maker {
    FILE *out;
    uint8_t page[PAGE_MAX];
    uint32_t nbytes;
    uint64_t random, tick, event_count;
    uint64_t kinds[2], labels[LABEL_COUNT];
};

static uint32_t next_random(struct maker *maker)
{
    maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(maker->random >> 33);
}

static bool flush_events(struct maker *maker)
{
    bool fine = maker->nbytes == 0 || put_page(maker->out, PAGE_OF_EVENTS, maker->page, maker->nbytes);
    maker->nbytes = 0;
    return fine;
}

/* Writes a query after everything that it calls, because it ends after them. */
static void make_query(struct maker *maker, uint32_t thread, unsigned depth)
{
    uint64_t begin = maker->tick++;
    while (depth < DEPTH_MAX && next_random(maker) % 64 < 30)
        make_query(maker, thread, depth + 1);
    maker->tick += next_random(maker) % 1000;
    uint32_t label = next_random(maker) % LABEL_COUNT * (next_random(maker) % LABEL_COUNT) / LABEL_COUNT;
    struct event event = {maker->kinds[label % 8 == 0], maker->labels[label], thread, begin, maker->tick++};
    if (maker->nbytes + EVENT_NBYTES > PAGE_EVENTS * EVENT_NBYTES)
        flush_events(maker);
    store_event(maker->page + maker->nbytes, &event);
    maker->nbytes += EVENT_NBYTES;
    maker->event_count++;
}

static uint64_t add_string(struct maker *maker, const char *text)
{
    uint64_t id = maker->nbytes + FIRST_REGULAR;
    size_t nbytes = strlen(text);
    memcpy(maker->page + maker->nbytes, text, nbytes);
    maker->page[maker->nbytes + nbytes] = 0xFF;
    maker->nbytes += (uint32_t)nbytes + 1;
    return id;
}

static bool make_strings(struct maker *maker)
{
    char text[64];
    uint8_t index[24] = "MMSI\x09\0\0";
    uint64_t metadata = FIRST_REGULAR - 2, address = 8;
    memcpy(maker->page, "MMSD\x09\0\0", 8);
    maker->nbytes = 8;
    add_string(maker, "{\"start_time\":0,\"process_id\":1,\"cmd\":\"made up\"}");
    maker->kinds[0] = add_string(maker, "Query");
    maker->kinds[1] = add_string(maker, "GenericActivity");
    for (unsigned i = 0; i < LABEL_COUNT; i++) {
        snprintf(text, sizeof text, "query_number_%u", i);
        maker->labels[i] = add_string(maker, text);
    }
    memcpy(index + 8, &metadata, 8);
    memcpy(index + 16, &address, 8);
    return put_page(maker->out, PAGE_OF_STRINGS, maker->page, maker->nbytes) &&
           put_page(maker->out, PAGE_OF_INDEX, index, sizeof index);
}

bool bench_profile_made_up(const char *path)
{
    struct maker *maker = calloc(1, sizeof *maker);
    if (maker == NULL || (maker->out = fopen(path, "wb")) == NULL) {
        free(maker);
        return false;
    }
    bool fine = fwrite("MMPD\x09\0\0", 8, 1, maker->out) == 1 && make_strings(maker);
    memcpy(maker->page, "MMES\x09\0\0", 8);
    maker->nbytes = 8;
    while (fine && maker->event_count < MADE_EVENT_COUNT)
        make_query(maker, next_random(maker) % 4, 0);
    fine = fine && flush_events(maker);
    fine = fclose(maker->out) == 0 && fine;
    free(maker);
    return fine;
}
