/*
 * Reads a flight recorder whose writer reuses or changes a page after the reader has examined one part of it and before
 * it examines the next. Whatever the reader returns must lie within the file, and reading must end, both then and
 * after a refresh.
 *
 * The linker replaces the checks of format/ that the reader calls by the functions below, which change the file before
 * and after the check. The plan (fuzz/support/failing.h) follows the last complete page of the trace and counts these
 * calls. Up to 10 more bytes are a word to store in the file: its offset in words of 8 bytes, and its value.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 * Link with: -Wl,--wrap=tbed_page_still_has,--wrap=tbed_block_content_check,--wrap=tbed_block_stack_check
 * Link with: -Wl,--wrap=tbed_closing_checksum,--wrap=tbed_block_header_check
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/event.h"
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

enum { PAGE = TBED_PAGE_NBYTES_MIN, CHANGE_NBYTES = 10, GARBAGE_ID = 0x25A5A5A5 };

enum what {
    TAKE_PAGE,   /* the mark is raised, then the page is overwritten */
    CLEAR_PAGE,  /* the mark is raised, and the block has no events yet */
    WRITE_ON,    /* an event is appended */
    OTHER_BLOCK, /* the header is another block's, but the mark is unchanged */
    STORE_WORD,  /* a word of the input is stored */
    OPEN_FILE,   /* a writer joins a file that was shut */
    WHAT_COUNT,
};

static struct {
    uint8_t *map;
    size_t nbytes;
    uint32_t page; /* the page that the reader examined last */
    uint32_t calls, changed_call;
    bool is_on;
    enum what what;
    uint8_t change[CHANGE_NBYTES];
} file;

/* ---- What the writer does ---- */

static void raise_mark(enum tbed_mark_state state)
{
    uint64_t *word = tbed_mark_at(file.map + tbed_directory_entry_offset(PAGE, file.page));
    struct tbed_mark mark = tbed_mark_of(*word);
    mark.count++;
    mark.state = state;
    *word = tbed_mark_word(mark);
}

/* Fills the page with events that nobody recorded there. */
static void put_garbage(uint8_t *page)
{
    uint64_t word = tbed_event_make(TBED_TAG_INSTANT, GARBAGE_ID, 0);
    for (size_t at = 0; at < PAGE; at += sizeof word)
        memcpy(page + at, &word, sizeof word);
}

static void write_on(uint8_t *page)
{
    struct tbed_block_scan scan;
    uint64_t word = tbed_event_make(TBED_TAG_INSTANT, 1, 5);
    tbed_block_scan(page, PAGE, TBED_BLOCK_EVENTS, &scan);
    if (scan.end_nbytes % 8 == 0 && scan.end_nbytes < PAGE)
        memcpy(page + scan.end_nbytes, &word, sizeof word);
}

static void store_word(void)
{
    size_t offset = 8 * (file.change[0] | (size_t)file.change[1] << 8);
    if (offset + 8 <= file.nbytes)
        memcpy(file.map + offset, file.change + 2, 8);
}

static void change_file(void)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)file.map;
    bool has_page =
        file.page != 0 && file.page < file.nbytes / PAGE && !tbed_directory_has_page(PAGE, file.page);
    uint8_t *page = file.map + (size_t)file.page * PAGE;
    if (file.what == OPEN_FILE)
        header->state = tbed_le32_make(TBED_STATE_OPEN);
    else if (file.what == STORE_WORD)
        store_word();
    else if (has_page && file.what == WRITE_ON)
        write_on(page);
    else if (has_page && file.what == OTHER_BLOCK)
        page[offsetof(struct tbed_disk_block, sequence)]++;
    else if (has_page && file.page <= tbed_le32_load(header->ring_page_count)) {
        raise_mark(file.what == TAKE_PAGE ? TBED_MARK_TAKEN : TBED_MARK_HELD);
        if (file.what == TAKE_PAGE)
            put_garbage(page);
        else
            memset(page + TBED_BLOCK_HEADER_NBYTES, 0, PAGE - TBED_BLOCK_HEADER_NBYTES);
    }
}

static void look_at(uint64_t page)
{
    if (!file.is_on)
        return;
    if (page != 0)
        file.page = (uint32_t)page;
    if (file.calls++ == file.changed_call)
        change_file();
}

/* ---- When it happens: before and after each check of the reader ---- */

/* Wraps a function of the library; 'page' is the page that it checks, or 0 for the same as before. */
#define CHANGING(type, name, page, parameters, arguments)                                                    \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        look_at(page);                                                                                       \
        type result = __real_##name arguments;                                                               \
        look_at(page);                                                                                       \
        return result;                                                                                       \
    }

CHANGING(bool, tbed_page_still_has, page,
         (const uint8_t *map, uint32_t page_nbytes, uint64_t page, uint32_t generation),
         (map, page_nbytes, page, generation))
CHANGING(enum tbed_status, tbed_block_content_check, fields->page,
         (const uint8_t *block, const struct tbed_block_fields *fields, uint32_t nbytes, bool skip_hash),
         (block, fields, nbytes, skip_hash))
CHANGING(enum tbed_status, tbed_block_stack_check, 0,
         (const uint8_t *block, uint32_t stored_count, uint32_t *offset_ret),
         (block, stored_count, offset_ret))
CHANGING(enum tbed_status, tbed_block_header_check, place->page,
         (const struct tbed_block_fields *fields, const struct tbed_block_place *place, uint32_t *field_ret,
          uint64_t *detail_ret),
         (fields, place, field_ret, detail_ret))
CHANGING(uint64_t, tbed_closing_checksum, 0,
         (const void *header, const uint8_t *map, uint32_t page_nbytes, uint64_t page_count),
         (header, map, page_nbytes, page_count))

/* ---- What the reader does ---- */

static void check_event(const struct tbed_event *event)
{
    REQUIRE(event->offset < file.nbytes);
    REQUIRE(file.what != TAKE_PAGE || event->id != GARBAGE_ID);
}

/* The writer may change the file again at the end of the stream, so the cursor is read to its end twice. */
static void read_stream(struct tbed_reader *reader, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t count = 0;
    REQUIRE(tbed_cursor_open(reader, stream, &cursor) == TBED_OK);
    for (int end = 0; end < 2; end++) {
        for (; tbed_cursor_next(cursor, &event) == TBED_OK; check_event(&event))
            REQUIRE(++count <= file.nbytes);
        look_at(file.page);
    }
    tbed_cursor_close(cursor);
}

static void read_events(struct tbed_reader *reader)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    struct tbed_stream_info stream;
    uint64_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        read_stream(reader, stream.stream);
    REQUIRE(tbed_merge_open(reader, NULL, 0, &merge) == TBED_OK);
    for (; tbed_merge_next(merge, &event) == TBED_OK; check_event(&event))
        REQUIRE(++count <= file.nbytes);
    tbed_merge_close(merge);
}

static void read_blocks(struct tbed_reader *reader)
{
    struct tbed_block block;
    struct tbed_ring_gap gap;
    size_t position = 0;
    for (size_t i = 0; i < tbed_event_block_count(reader); i++)
        if (tbed_event_block_get(reader, i, &block) == TBED_OK)
            REQUIRE(block.used_nbytes <= PAGE && block.words <= block.words_end);
    while (tbed_ring_gap_next(reader, &position, &gap))
        REQUIRE(gap.block_count > 0);
}

static bool take_text(void *context, const char *text, size_t nbytes)
{
    (void)context;
    return nbytes == 0 || text != NULL;
}

static void read_strings(struct tbed_reader *reader)
{
    const struct tbed_string_budget budget = {.size = sizeof budget, .component_count = 100};
    uint32_t id = 0;
    for (int i = 0; i < 100 && tbed_string_next(reader, &id); i++)
        tbed_string_stream(reader, id, &budget, take_text, NULL);
}

static void read_all(struct tbed_reader *reader, bool verify)
{
    struct tbed_trace_info info;
    if (verify)
        tbed_reader_verify(reader);
    read_strings(reader);
    read_events(reader);
    read_blocks(reader);
    tbed_reader_info(reader, &info);
    tbed_reader_refresh(reader, NULL);
    read_events(reader);
}

struct input {
    const uint8_t *data;
    size_t nbytes;
    int fd;
    bool is_live;
};

/* The simulated writer changes the file through a map of its own, which shares its pages with the reader's. */
static void read_once(const struct input *input)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)file.map;
    struct tbed_reader *reader;
    memcpy(file.map, input->data, input->nbytes);
    if (input->is_live)
        header->state = tbed_le32_make(TBED_STATE_OPEN);
    file.calls = file.page = 0;
    file.is_on = true;
    if (tbed_reader_open_fd(input->fd, NULL, &reader, NULL) == TBED_OK) {
        read_all(reader, file.changed_call % 4 < 2);
        file.is_on = false;
        tbed_reader_refresh(reader, NULL);
        read_all(reader, true);
        tbed_reader_close(reader);
    }
    file.is_on = false;
}

/* Reads the file, which changes at call 'place'. Returns whether there was such a call. */
static bool read_changing(void *context, uint32_t place)
{
    file.changed_call = place;
    read_once(context);
    return file.calls > place;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    size_t whole = nbytes;
    struct failing_plan plan = failing_plan_cut(data, &whole);
    struct input input = {.data = data, .nbytes = whole};
    const struct tbed_disk_header *header = (const struct tbed_disk_header *)data;
    size_t rest = nbytes - whole > FAILING_PLAN_NBYTES ? nbytes - whole - FAILING_PLAN_NBYTES : 0;
    memset(&file, 0, sizeof file);
    if (whole < 2 * PAGE || tbed_le32_load(header->page_nbytes) != PAGE)
        return 0;
    if (rest > 0)
        memcpy(file.change, data + nbytes - rest, rest < CHANGE_NBYTES ? rest : CHANGE_NBYTES);
    input.fd = file_of_input(data, whole);
    file.nbytes = whole;
    file.map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, input.fd, 0);
    REQUIRE(file.map != MAP_FAILED);
    bool is_ring = tbed_le32_load(header->ring_page_count) != 0;
    for (int what = is_ring ? TAKE_PAGE : WRITE_ON; what < WHAT_COUNT; what++) {
        file.what = (enum what)what;
        input.is_live = what != OPEN_FILE;
        if (what != STORE_WORD || rest > 0)
            failing_try_places(&plan, read_changing, &input);
    }
    munmap(file.map, whole);
    close(input.fd);
    return 0;
}
