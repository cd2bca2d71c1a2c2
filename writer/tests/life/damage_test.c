/*
 * Traces of real programs, closed and killed, damaged in every page and at random places: what is damaged is reported,
 * with its page, stream and time, and recovery keeps everything else.
 *
 * Nobody can see a loss from what a killed program had not sealed, unless a page is gone as a whole: such changes are
 * counted. './run damage [N]' takes ten programs and makes N random changes; without it this is a short run.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "writer/tests/support.h"

/* ---- Traces ---- */

struct block {
    uint64_t offset;     /* of [offset, end) */
    uint64_t end, whole; /* of its content, and of the block */
    struct tbed_block_fields fields;
};

struct trace {
    const char *name;
    uint8_t *bytes;
    size_t nbytes;
    uint32_t page_nbytes;
    bool is_shut, is_ring;
    struct block *blocks;
    size_t block_count;
};

#define RANGES_MAX 2

struct change { /* of a copy of a trace */
    uint8_t *bytes;
    size_t nbytes, room;
    struct {
        uint64_t from, end;
    } ranges[RANGES_MAX]; /* of the trace, whose content is gone */
    size_t range_count;
    uint64_t taken_at, taken_nbytes; /* bytes that were taken out; what is behind them has moved there */
    char text[120];
};

static uint64_t change_count, reported_count, invisible_count, kept_count, lost_count;
static unsigned long random_change_count;
static bool is_long;

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 20) % limit;
}

static void add_block(struct trace *trace, uint64_t offset, uint32_t nbytes)
{
    const uint8_t *bytes = trace->bytes + offset;
    struct tbed_block_fields fields = tbed_block_load(bytes);
    struct tbed_block_scan scan;
    if (fields.kind == TBED_BLOCK_NONE || fields.kind == TBED_BLOCK_DIRECTORY)
        return;
    tbed_block_scan(bytes, nbytes, (enum tbed_block_kind)fields.kind, &scan);
    uint64_t used = fields.used_nbytes != 0 ? fields.used_nbytes : scan.end_nbytes;
    trace->blocks = realloc(trace->blocks, (trace->block_count + 1) * sizeof *trace->blocks);
    assert_non_null(trace->blocks);
    trace->blocks[trace->block_count++] = (struct block){offset, offset + used, offset + nbytes, fields};
}

static void find_blocks(struct trace *trace)
{
    for (uint64_t at = trace->page_nbytes; at < trace->nbytes; at += trace->page_nbytes) {
        struct tbed_block_fields fields = tbed_block_load(trace->bytes + at);
        add_block(trace, at, trace->page_nbytes);
        if (fields.kind != TBED_BLOCK_CELLS)
            continue;
        uint32_t cell_nbytes = 1u << fields.shift;
        for (uint64_t cell = cell_nbytes; cell < trace->page_nbytes; cell += cell_nbytes)
            add_block(trace, at + cell, cell_nbytes);
    }
}

static bool is_intact(const void *bytes, size_t nbytes)
{
    struct tbed_reader *reader;
    if (tbed_reader_open_memory(bytes, nbytes, NULL, &reader, NULL) != TBED_OK)
        return false;
    bool is = tbed_reader_verify(reader) == TBED_OK && tbed_damage_count(reader) == 0;
    tbed_reader_close(reader);
    return is;
}

/* A killed program leaves room behind the claimed pages, which is not looked at. */
static void trace_read(struct trace *trace, const char *name, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    *trace = (struct trace){.name = name, .bytes = malloc((size_t)status.st_size)};
    assert_non_null(trace->bytes);
    assert_int_equal(read(fd, trace->bytes, (size_t)status.st_size), status.st_size);
    close(fd);
    const struct tbed_disk_header *header = (const struct tbed_disk_header *)(void *)trace->bytes;
    trace->page_nbytes = tbed_le32_load(header->page_nbytes);
    trace->nbytes = tbed_le64_load(header->page_count) * trace->page_nbytes;
    trace->is_shut = tbed_le32_load(header->state) == TBED_STATE_SHUT;
    trace->is_ring = tbed_le32_load(header->ring_page_count) != 0;
    assert_true(trace->nbytes <= (size_t)status.st_size);
    find_blocks(trace);
    if (!is_intact(trace->bytes, trace->nbytes))
        fail_msg("the trace of %s is damaged", name);
}

static void trace_free(struct trace *trace)
{
    free(trace->bytes);
    free(trace->blocks);
}

/* ---- Programs ---- */

static const char *const programs[] = {
    "ls -l /usr/include /usr/bin",
    "python3 -c 'import json; [json.dumps({str(i): i}) for i in range(3000)]'",
    "echo 'int main(void) { return 0; }' | cc -x c -c -o /dev/null -",
    "for i in 1 2 3 4 5; do ls / | sort | head -3; done",
    "sort /etc/passwd /etc/services /etc/protocols",
    "find /usr/share/doc -name '*a*'",
    "awk 'BEGIN { for (i = 0; i < 20000; i++) a[i] = i \"\" }'",
    "tar cf - /etc | gzip -1",
    "sed -e 's/a/b/g' /etc/services",
    "perl -e 'my %h; $h{$_} = \"$_\" for 1 .. 20000'",
};
#define PROGRAM_COUNT (sizeof programs / sizeof programs[0])

static _Noreturn void run_recorded(const char *path, const char *command)
{
    char tool[300];
    const char *folder = getenv("TBED_BUILD");
    snprintf(tool, sizeof tool, "%s/tracebed", folder != NULL ? folder : "build/release");
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    setsid();
    execl(tool, tool, "record", "-o", path, "--", "sh", "-c", command, NULL);
    _exit(99);
}

static uint64_t claimed_pages(const char *path)
{
    struct tbed_disk_header header = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t nbytes = pread(fd, &header, sizeof header, 0);
    close(fd);
    return nbytes == (ssize_t)sizeof header ? tbed_le64_load(header.page_count) : 0;
}

/* Kills everything once the trace has so many pages; a program that ends before that leaves a closed trace. */
static void record_program(struct trace *trace, const char *command, uint64_t pages_until_killed)
{
    const char *path = test_path("program.tbed");
    int status;
    pid_t child = fork();
    if (child == 0)
        run_recorded(path, command);
    while (waitpid(child, &status, pages_until_killed != 0 ? WNOHANG : 0) == 0)
        if (claimed_pages(path) >= pages_until_killed)
            kill(-child, SIGKILL);
    trace_read(trace, command, path);
    unlink(path);
}

/* Strings, messages, spans, threads and a forked child, in pages of 4 KiB. */
static struct tbed_writer *macro_writer;

static void *record_steps(void *argument)
{
    char name[32], text[64];
    snprintf(name, sizeof name, "worker %u", *(unsigned *)argument);
    struct tbed_recorder *recorder = tbed_recorder_open(macro_writer, name);
    for (unsigned i = 0; i < 4000; i++) {
        size_t nbytes = (size_t)snprintf(text, sizeof text, "step %u of a worker", i % 500);
        tbed_span_begin(recorder, tbed_string_intern(macro_writer, text, nbytes));
        if (i % 7 == 0)
            tbed_message_record(recorder, TBED_SEVERITY_INFORMATION, text, nbytes);
        tbed_counter_record_i64(recorder, 1, i);
        tbed_span_end(recorder);
    }
    return NULL;
}

static _Noreturn void run_steps(const char *path, uint64_t ring_nbytes, bool is_killed)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .page_nbytes = 4096, .ring_nbytes = ring_nbytes};
    pthread_t threads[3];
    unsigned numbers[4] = {0, 1, 2, 3};
    macro_writer = test_writer_open(path, &options);
    for (unsigned i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, record_steps, &numbers[i]);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        record_steps(&numbers[3]);
        is_killed ? raise(SIGKILL) : (void)tbed_writer_close(macro_writer);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (is_killed)
        raise(SIGKILL);
    tbed_writer_close(macro_writer);
    _exit(0);
}

static void record_steps_of(struct trace *trace, const char *name, uint64_t ring_nbytes, bool is_killed)
{
    const char *path = test_path("steps.tbed");
    pid_t child = fork();
    if (child == 0)
        run_steps(path, ring_nbytes, is_killed);
    waitpid(child, NULL, 0);
    trace_read(trace, name, path);
    unlink(path);
}

/* ---- Changes ---- */

static void change_begin(struct change *change, const struct trace *trace)
{
    size_t room = trace->nbytes + (1 << 20);
    if (change->room < room) {
        free(change->bytes);
        change->bytes = malloc(room);
        assert_non_null(change->bytes);
        change->room = room;
    }
    memcpy(change->bytes, trace->bytes, trace->nbytes);
    change->nbytes = trace->nbytes;
    change->range_count = 0;
    change->taken_nbytes = 0;
}

static void lose(struct change *change, uint64_t from, uint64_t end)
{
    assert_true(change->range_count < RANGES_MAX);
    change->ranges[change->range_count].from = from;
    change->ranges[change->range_count++].end = end;
}

static void fill(struct change *change, uint64_t from, uint64_t nbytes, const uint8_t *bytes)
{
    nbytes = nbytes < change->nbytes - from ? nbytes : change->nbytes - from;
    if (bytes != NULL)
        memcpy(change->bytes + from, bytes, nbytes);
    else
        memset(change->bytes + from, 0, nbytes);
    lose(change, from, from + nbytes);
    snprintf(change->text, sizeof change->text, "%s [%llu, %llu)", bytes != NULL ? "overwrite" : "zero",
             (unsigned long long)from, (unsigned long long)(from + nbytes));
}

static void flip(struct change *change, uint64_t at)
{
    change->bytes[at] ^= (uint8_t)(1u << random_below(8));
    lose(change, at, at + 1);
    snprintf(change->text, sizeof change->text, "flip a bit at %llu", (unsigned long long)at);
}

static void cut(struct change *change, uint64_t at)
{
    lose(change, at, change->nbytes);
    change->nbytes = at;
    snprintf(change->text, sizeof change->text, "cut to %llu", (unsigned long long)at);
}

static void insert(struct change *change, uint64_t at, uint64_t nbytes)
{
    memmove(change->bytes + at + nbytes, change->bytes + at, change->nbytes - at);
    memset(change->bytes + at, 0xA5, nbytes);
    change->nbytes += nbytes;
    lose(change, at, at); /* a block that it splits */
    snprintf(change->text, sizeof change->text, "insert %llu at %llu", (unsigned long long)nbytes,
             (unsigned long long)at);
}

static void take_out(struct change *change, uint64_t at, uint64_t nbytes)
{
    nbytes = nbytes < change->nbytes - at ? nbytes : change->nbytes - at;
    memmove(change->bytes + at, change->bytes + at + nbytes, change->nbytes - at - nbytes);
    change->nbytes -= nbytes;
    change->taken_at = at;
    change->taken_nbytes = nbytes;
    lose(change, at, at + nbytes);
    snprintf(change->text, sizeof change->text, "take out [%llu, %llu)", (unsigned long long)at,
             (unsigned long long)(at + nbytes));
}

static void swap(struct change *change, const struct trace *trace, uint64_t a, uint64_t b)
{
    uint32_t nbytes = trace->page_nbytes;
    memcpy(change->bytes + a * nbytes, trace->bytes + b * nbytes, nbytes);
    memcpy(change->bytes + b * nbytes, trace->bytes + a * nbytes, nbytes);
    snprintf(change->text, sizeof change->text, "swap pages %llu and %llu", (unsigned long long)a,
             (unsigned long long)b);
}

/* ---- What is left ---- */

static bool is_hit(const struct change *change, uint64_t from, uint64_t end)
{
    for (size_t i = 0; i < change->range_count; i++) {
        uint64_t range_from = change->ranges[i].from, range_end = change->ranges[i].end;
        bool is_point = range_from == range_end; /* bytes are inserted before it */
        if (is_point ? from < range_from && range_from < end : from < range_end && range_from < end)
            return true;
    }
    return false;
}

static struct tbed_reader *recover(const struct change *change, const char *name)
{
    int from = memfd_create("damaged", MFD_CLOEXEC), to = memfd_create("recovered", MFD_CLOEXEC);
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(write(from, change->bytes, change->nbytes), change->nbytes);
    enum tbed_status status = tbed_trace_recover(from, to, NULL, &error);
    if (status == TBED_OK) {
        assert_int_equal(tbed_reader_open_fd(to, NULL, &reader, NULL), TBED_OK);
        status = tbed_reader_verify(reader);
        if (status != TBED_OK)
            fail_msg("%s: %s: what was recovered is damaged: %s", name, change->text,
                     tbed_status_name(status));
    }
    close(from);
    close(to);
    return reader;
}

/* An event block of the recovered trace begins with the words of the original one. In a ring, numbers change. */
static bool has_block(struct tbed_reader *reader, const struct trace *trace, const struct block *block)
{
    size_t first, count;
    uint64_t content = block->end - block->offset - TBED_BLOCK_HEADER_NBYTES;
    const uint8_t *words = trace->bytes + block->offset + TBED_BLOCK_HEADER_NBYTES;
    tbed_stream_blocks(reader, block->fields.stream, &first, &count);
    for (size_t i = first; i < first + count; i++) {
        struct tbed_block found;
        if (tbed_event_block_get(reader, i, &found) != TBED_OK ||
            found.first_tick != block->fields.first_tick)
            continue;
        if (!trace->is_ring && found.sequence != block->fields.sequence)
            continue;
        if (found.used_nbytes - TBED_BLOCK_HEADER_NBYTES == content &&
            memcmp(found.bytes + TBED_BLOCK_HEADER_NBYTES, words, content) == 0)
            return true;
    }
    return false;
}

static void check_recovery(const struct trace *trace, const struct change *change)
{
    struct tbed_reader *reader = recover(change, trace->name);
    for (size_t i = 0; i < trace->block_count; i++) {
        const struct block *block = &trace->blocks[i];
        /* the word after it ends a block that is not sealed */
        uint64_t end = block->end + (block->fields.used_nbytes == 0 && block->end < block->whole ? 8 : 0);
        if (block->fields.kind != TBED_BLOCK_EVENTS || is_hit(change, block->offset, end)) {
            lost_count += block->fields.kind == TBED_BLOCK_EVENTS;
            continue;
        }
        if (block->end == block->offset + TBED_BLOCK_HEADER_NBYTES) /* it has no events */
            continue;
        if (reader == NULL || !has_block(reader, trace, block))
            fail_msg("%s: %s: block %u of stream %u, at %llu, is intact and was not recovered", trace->name,
                     change->text, block->fields.sequence, block->fields.stream,
                     (unsigned long long)block->offset);
        kept_count++;
    }
    tbed_reader_close(reader);
}

/* ---- What is reported ---- */

/* A cell, which has no entry of its own in the directory, and whose header says now that it was never sealed. */
static bool looks_unsealed(const struct trace *trace, const struct change *change, const struct block *block)
{
    return block->offset % trace->page_nbytes != 0 && block->whole <= change->nbytes &&
           tbed_block_load(change->bytes + block->offset).used_nbytes == 0;
}

/* Every byte of a closed trace counts. Of a killed one, what is sealed does. */
static bool must_be_seen(const struct trace *trace, const struct change *change)
{
    bool is_same = change->nbytes == trace->nbytes && memcmp(change->bytes, trace->bytes, trace->nbytes) == 0;
    if (is_same || trace->is_shut)
        return !is_same;
    for (size_t i = 0; i < trace->block_count; i++)
        if (trace->blocks[i].fields.used_nbytes != 0 &&
            is_hit(change, trace->blocks[i].offset, trace->blocks[i].end) &&
            !looks_unsealed(trace, change, &trace->blocks[i]) &&
            (change->nbytes < trace->blocks[i].end ||
             memcmp(change->bytes + trace->blocks[i].offset, trace->bytes + trace->blocks[i].offset,
                    trace->blocks[i].end - trace->blocks[i].offset) != 0))
            return true;
    return false;
}

static void check_report(const struct trace *trace, const struct change *change)
{
    bool is_seen = !is_intact(change->bytes, change->nbytes);
    change_count++;
    reported_count += is_seen;
    invisible_count += !is_seen;
    if (!is_seen && must_be_seen(trace, change))
        fail_msg("%s: %s is not reported", trace->name, change->text);
}

/* The damage of a page that is gone is reported with all that the directory knows of its block. */
static void check_page_report(const struct trace *trace, const struct change *change, uint64_t page)
{
    struct tbed_block_fields fields = tbed_block_load(trace->bytes + page * trace->page_nbytes);
    struct tbed_reader *reader;
    struct tbed_damage damage;
    bool is_told = false;
    if (fields.kind == TBED_BLOCK_NONE || fields.kind == TBED_BLOCK_DIRECTORY)
        return;
    assert_int_equal(tbed_reader_open_memory(change->bytes, change->nbytes, NULL, &reader, NULL), TBED_OK);
    tbed_reader_verify(reader);
    for (size_t i = 0; tbed_damage_get(reader, i, &damage) && !is_told; i++)
        is_told = damage.page == page && damage.kind == fields.kind && damage.stream == fields.stream &&
                  damage.sequence == fields.sequence && damage.first_tick == fields.first_tick;
    tbed_reader_close(reader);
    if (!is_told)
        fail_msg("%s: %s: page %llu is not reported with its stream and time", trace->name, change->text,
                 (unsigned long long)page);
}

/* ---- Each page ---- */

enum way { ZERO, CUT, SWAP, REPEAT, FOREIGN, WAY_COUNT };

static void change_page(struct change *change, const struct trace *trace, const struct trace *other,
                        uint64_t page, enum way way)
{
    uint64_t at = page * trace->page_nbytes, count = trace->nbytes / trace->page_nbytes;
    uint64_t next = page + 1 < count ? page + 1 : 1;
    change_begin(change, trace);
    switch (way) {
    case ZERO:
        fill(change, at, trace->page_nbytes, NULL);
        break;
    case CUT:
        cut(change, at);
        break;
    case SWAP:
        swap(change, trace, page, next);
        break;
    case REPEAT:
        fill(change, at, trace->page_nbytes, trace->bytes + next * trace->page_nbytes);
        break;
    default:
        fill(change, at, trace->page_nbytes, other->bytes + other->page_nbytes);
    }
}

static void damage_pages(const struct trace *trace, const struct trace *other, uint64_t step)
{
    struct change change = {0};
    uint64_t count = trace->nbytes / trace->page_nbytes;
    for (uint64_t page = 1; page < count; page += step) {
        for (enum way way = ZERO; way < WAY_COUNT; way++) {
            if (way == FOREIGN && other->page_nbytes != trace->page_nbytes)
                continue;
            change_page(&change, trace, other, page, way);
            if (memcmp(change.bytes + page * trace->page_nbytes, trace->bytes + page * trace->page_nbytes,
                       way == CUT ? 0 : trace->page_nbytes) == 0 &&
                way != CUT)
                continue;
            check_report(trace, &change);
            check_page_report(trace, &change, page);
            check_recovery(trace, &change);
        }
    }
    free(change.bytes);
}

/* ---- At random ---- */

static void change_at_random(struct change *change, const struct trace *trace)
{
    uint64_t count = trace->nbytes / trace->page_nbytes;
    uint64_t page = 1 + random_below(count - 1), other = 1 + random_below(count - 1);
    uint64_t at = random_below(trace->nbytes), nbytes = 1 + random_below(1u << random_below(18));
    change_begin(change, trace);
    switch (random_below(9)) {
    case 0:
        fill(change, page * trace->page_nbytes, trace->page_nbytes, NULL);
        break;
    case 1:
        fill(change, page * trace->page_nbytes, trace->page_nbytes,
             trace->bytes + other * trace->page_nbytes);
        break;
    case 2:
        swap(change, trace, page, other);
        break;
    case 3:
        cut(change, 1 + at);
        break;
    case 4:
        insert(change, at, nbytes);
        break;
    case 5:
        take_out(change, at, nbytes);
        break;
    case 6:
        fill(change, at, nbytes, NULL);
        break;
    case 7:
        fill(change, at, nbytes < trace->nbytes - other ? nbytes : 1, trace->bytes + other);
        break;
    default:
        flip(change, at);
    }
}

/* With what has moved there, because bytes before it were taken out. */
static void zero_header_page(struct change *change, const struct trace *trace)
{
    uint64_t end = trace->page_nbytes;
    memset(change->bytes, 0, end);
    lose(change, 0, change->taken_at < end ? end + change->taken_nbytes : end);
    strcat(change->text, ", without the header page");
}

static void damage_at_random(const struct trace *trace, unsigned long count)
{
    struct change change = {0};
    for (unsigned long i = 0; i < count; i++) {
        change_at_random(&change, trace);
        check_report(trace, &change);
        if (i % 2 == 0 && change.range_count < RANGES_MAX && change.nbytes > trace->page_nbytes)
            zero_header_page(&change, trace);
        check_recovery(trace, &change);
    }
    free(change.bytes);
}

/* ---- Tests ---- */

static void print_counts(const char *what)
{
    print_message("%s: %llu changes: %llu reported, %llu that nobody can see; blocks: %llu kept, %llu hit\n",
                  what, (unsigned long long)change_count, (unsigned long long)reported_count,
                  (unsigned long long)invisible_count, (unsigned long long)kept_count,
                  (unsigned long long)lost_count);
    change_count = reported_count = invisible_count = kept_count = lost_count = 0;
}

/* So many pages of each, at most. */
static uint64_t step_for(const struct trace *trace)
{
    uint64_t count = trace->nbytes / trace->page_nbytes, most = is_long ? 400 : 6;
    return count / most + 1;
}

static void damaged_pages_of_real_programs_are_reported_and_the_rest_kept(void **state)
{
    (void)state;
    struct trace closed, killed;
    for (size_t i = 0; i < (is_long ? PROGRAM_COUNT : 2); i++) {
        struct trace foreign;
        record_program(&closed, programs[i], 0);
        record_program(&killed, programs[i], 6);
        record_program(&foreign, "true", 0);
        damage_pages(&closed, &foreign, step_for(&closed));
        print_counts(closed.name);
        damage_pages(&killed, &foreign, step_for(&killed));
        print_counts(killed.is_shut ? "  the same again" : "  the same, killed");
        trace_free(&closed);
        trace_free(&killed);
        trace_free(&foreign);
    }
}

static void random_damage_is_reported_and_the_rest_kept(void **state)
{
    (void)state;
    struct trace traces[3];
    record_steps_of(&traces[0], "threads and a fork", 0, false);
    record_steps_of(&traces[1], "threads and a fork, killed", 0, true);
    record_steps_of(&traces[2], "a flight recorder", 1 << 19, false);
    for (size_t i = 0; i < 3; i++) {
        damage_pages(&traces[i], &traces[(i + 1) % 3], step_for(&traces[i]));
        print_counts(traces[i].name);
        damage_at_random(&traces[i], (random_change_count + 2) / 3);
        print_counts("  at random");
    }
    for (size_t i = 0; i < 3; i++)
        trace_free(&traces[i]);
}

int main(void)
{
    const char *count = getenv("TBED_DAMAGE");
    is_long = count != NULL;
    random_change_count = is_long ? strtoul(count, NULL, 10) : 150;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_damage_is_reported_and_the_rest_kept),
        cmocka_unit_test(damaged_pages_of_real_programs_are_reported_and_the_rest_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
