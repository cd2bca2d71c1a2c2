/*
 * What imports and exports keep in files without names, because it is too long for memory: rows come out in order, texts and
 * lists as they were put in. If memory runs out or a file cannot be written or read, that is reported.
 *
 * The input: how much is put in, in units of 256 KiB (one byte); how large each piece is (one byte); a plan for failures
 * (fuzz/support/failing.h); then the times of rows, again and again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "reader/exchange/firefox/firefox.h"
#include "reader/exchange/foreign/sorted_rows.h"
#include "reader/exchange/speedscope/span_spool.h"

#define UNIT_NBYTES  ((size_t)256 << 10)
#define LARGE_NBYTES ((size_t)8 << 20) /* few failures are tried: they take long */
#define PIECE_NBYTES ((size_t)60 << 10)
#define TEXT_NBYTES  ((size_t)1 << 20)
#define HEAD_NBYTES  2

#define PACKED_NBYTES ((size_t)100 << 10)

struct work {
    bool (*call)(struct work *work); /* false: it has failed */
    const uint8_t *times;
    size_t time_count, nbytes, piece_nbytes;
    int fd;         /* of the file that a text goes to */
    int file_errno; /* 0: memory fails */
};

static const char *piece(void)
{
    static char bytes[PIECE_NBYTES];
    if (bytes[0] == 0)
        memset(bytes, 'x', sizeof bytes);
    return bytes;
}

/* ---- Rows ---- */

struct taken {
    struct event_row last;
    size_t count;
};

/* The place in which a row was put in is its 'other'. */
static bool is_before(const struct event_row *a, const struct event_row *b)
{
    bool a_is_open = a->type == EVENT_ROW_OPEN, b_is_open = b->type == EVENT_ROW_OPEN;
    if (a->track != b->track || a->time != b->time)
        return a->track != b->track ? a->track < b->track : a->time < b->time;
    if (a_is_open != b_is_open)
        return b_is_open;
    return a_is_open ? a->other > b->other : a->other < b->other;
}

static enum tbed_status take_row(void *context, const struct event_row *row)
{
    struct taken *taken = context;
    struct tbed_argument arguments[2];
    REQUIRE(taken->count == 0 || is_before(&taken->last, row));
    REQUIRE(row->argument_count == 2);
    tbed_event_row_arguments(row, arguments);
    REQUIRE(arguments[0].type == TBED_ARG_ID && arguments[0].value.id == row->id);
    REQUIRE(memcmp(arguments[1].value.text, piece(), arguments[1].nbytes) == 0);
    taken->last = *row;
    taken->count++;
    return TBED_OK;
}

static bool put_rows(struct event_rows *rows, const struct work *work, size_t *count)
{
    for (size_t nbytes = 0; nbytes < work->nbytes; nbytes += work->piece_nbytes, ++*count) {
        uint8_t time = work->time_count > 0 ? work->times[*count % work->time_count] : 0;
        struct event_row row = {.time = time / 4,
                                .other = *count,
                                .track = time % 2,
                                .type = time % 4 < 2 ? EVENT_ROW_INSTANT : EVENT_ROW_OPEN,
                                .id = (uint32_t)*count};
        const struct tbed_argument arguments[] = {{.type = TBED_ARG_ID, .nbytes = 4, .value.id = row.id},
                                                  {.type = time % 3 == 0 ? TBED_ARG_BYTES : TBED_ARG_TEXT,
                                                   .nbytes = (uint32_t)work->piece_nbytes,
                                                   .value.text = piece()}};
        if (tbed_event_rows_put(rows, row, arguments, 2) != TBED_OK)
            return false;
    }
    return true;
}

static bool sort_rows(struct work *work)
{
    struct event_rows rows = {.fd = 0};
    struct taken taken = {.count = 0};
    size_t count = 0;
    bool is_fine = put_rows(&rows, work, &count) && tbed_event_rows_take(&rows, take_row, &taken) == TBED_OK;
    REQUIRE(!is_fine || taken.count == count);
    tbed_event_rows_free(&rows);
    return is_fine;
}

/* ---- A text ---- */

static bool put_text(struct spool *spool, const struct work *work, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        size_t step = work->piece_nbytes < nbytes - at ? work->piece_nbytes : nbytes - at;
        tbed_text_put(&spool->text, piece(), step);
        if (!tbed_spool_spill(spool))
            return false;
        at += step;
    }
    return true;
}

/* Part of it goes through another spool. */
static bool move_text(struct work *work)
{
    struct spool first = {.fd = -1}, second = {.fd = -1};
    struct export_out out;
    struct tbed_error error;
    uint64_t nbytes = 0;
    size_t wanted = work->nbytes < TEXT_NBYTES ? work->nbytes : TEXT_NBYTES;
    if (tbed_export_out_open(&out, work->fd, TBED_COMPRESSION_NONE) != TBED_OK)
        return false;
    bool is_fine = put_text(&first, work, wanted) && put_text(&second, work, wanted) &&
                   tbed_spool_append(&second, &first) && tbed_spool_move(&first, &out) &&
                   put_text(&first, work, wanted) && tbed_spool_move(&first, &out);
    tbed_spool_close(&first);
    tbed_spool_close(&second);
    is_fine = tbed_export_out_close(&out, &nbytes, &error) == TBED_OK && is_fine;
    REQUIRE(!is_fine || nbytes == 3 * wanted);
    return is_fine;
}

/* ---- A compressed text ---- */

/* Numbers that do not become smaller, so that there is more of them than fits into the packer. */
static bool pack_text(struct work *work)
{
    static uint64_t noise[PACKED_NBYTES / sizeof(uint64_t)];
    const size_t pieces_max = work->nbytes / UNIT_NBYTES;
    struct tbed_error error;
    bool is_fine = true;
    for (size_t i = 0; noise[1] == 0 && i < sizeof noise / sizeof noise[0]; i++)
        noise[i] = failing_mix(i, UINT64_C(0x9E3779B97F4A7C15));
    for (enum tbed_compression by = TBED_COMPRESSION_GZIP; is_fine && by <= TBED_COMPRESSION_ZSTD; by++) {
        struct export_out out;
        uint64_t nbytes = 0;
        if (tbed_export_out_open(&out, work->fd, by) != TBED_OK)
            return false;
        for (size_t i = 0; is_fine && i < pieces_max && i < 3; i++) {
            tbed_text_put(&out.text, (const char *)noise, sizeof noise);
            is_fine = tbed_export_out_spill(&out);
        }
        is_fine = tbed_export_out_close(&out, &nbytes, &error) == TBED_OK && is_fine;
        REQUIRE(!is_fine || (nbytes > 0 && nbytes < 4 * sizeof noise));
    }
    return is_fine;
}

/* ---- A list ---- */

static bool read_list(struct span_spool *spool, size_t count, bool is_backward)
{
    struct spool_item item;
    size_t taken = 0;
    tbed_span_spool_read(spool, is_backward);
    for (; tbed_span_spool_next(spool, &item); taken++)
        REQUIRE(item.begin == (int64_t)(is_backward ? count - 1 - taken : taken));
    REQUIRE(spool->has_failed || taken == count);
    return !spool->has_failed;
}

static bool fill_list(struct work *work)
{
    struct span_spool spool = {.fd = -1};
    size_t count = work->nbytes / 32 < 100000 ? work->nbytes / 32 : 100000;
    bool is_fine = true;
    for (int i = 0; i < 2 && is_fine; i++) {
        for (size_t at = 0; at < count; at++)
            tbed_span_spool_add(&spool, &(struct spool_item){.begin = (int64_t)at});
        is_fine = read_list(&spool, count, i == 0);
        tbed_span_spool_clear(&spool);
    }
    tbed_span_spool_close(&spool);
    return is_fine;
}

/* ---- Counters of live memory ---- */

static bool put_counters(struct work *work)
{
    struct tbed_export_result result = {0};
    const struct export_job job = {.result = &result};
    struct firefox firefox = {.walk = {.job = &job}, .counters = {.fd = -1}};
    struct firefox_counter *counter = &firefox.counter;
    counter->times.fd = counter->counts.fd = -1;
    size_t count = work->nbytes / 32 < 40000 ? work->nbytes / 32 : 40000;
    for (size_t i = 0; i < count && !firefox.walk.is_over; i++)
        tbed_firefox_put_live(&firefox, i / (count / 2 + 1), (int64_t)(i * 1001),
                              i % 100 * work->piece_nbytes);
    tbed_firefox_end_counter(&firefox);
    bool is_fine = !firefox.is_out_of_memory && firefox.write_errno == 0;
    REQUIRE(is_fine == !firefox.walk.is_over);
    REQUIRE(!is_fine ||
            (result.written_count == count && firefox.counter_count == (count > 1) + (count > 0)));
    tbed_spool_close(&counter->times);
    tbed_spool_close(&counter->counts);
    tbed_spool_close(&firefox.counters);
    return is_fine;
}

/* ---- Failures ---- */

static void run_failing(void *context)
{
    struct work *work = context;
    if (work->file_errno != 0)
        failing_start_files(work->file_errno);
    else
        failing_start();
    bool is_fine = work->call(work);
    failing_stop();
    REQUIRE(is_fine || failing_count() > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static bool (*const calls[])(struct work *) = {sort_rows, move_text, pack_text, fill_list, put_counters};
    if (nbytes < HEAD_NBYTES + FAILING_PLAN_NBYTES)
        return 0;
    scratch_folder(); /* sets where unnamed files are */
    struct failing_plan plan = failing_plan_of(data + HEAD_NBYTES);
    bool is_large = data[0] * UNIT_NBYTES > LARGE_NBYTES;
    plan.run_count = is_large ? (plan.run_count - 1) % 4 + 1 : plan.run_count % 16 + 1;
    struct work work = {.times = data + HEAD_NBYTES + FAILING_PLAN_NBYTES,
                        .time_count = nbytes - HEAD_NBYTES - FAILING_PLAN_NBYTES,
                        .nbytes = data[0] * UNIT_NBYTES,
                        .piece_nbytes = data[1] * (PIECE_NBYTES - 512) / 255 + 1,
                        .fd = file_of_input(NULL, 0)};
    if (work.nbytes / work.piece_nbytes > 4096)
        work.piece_nbytes = work.nbytes / 4096;
    /* Only rows need so much: the others take a part of it. */
    size_t count = is_large && plan.run_count > 1 ? 1 : sizeof calls / sizeof calls[0];
    for (size_t i = 0; i < count; i++) {
        work.call = calls[i];
        work.file_errno = 0;
        REQUIRE(work.call(&work));
        failing_run(&plan, run_failing, &work);
        for (size_t k = 0; k < (is_large ? 1 : FAILING_ERRNO_COUNT); k++) {
            work.file_errno = failing_errnos[k];
            failing_run(&plan, run_failing, &work);
        }
    }
    close(work.fd);
    return 0;
}
