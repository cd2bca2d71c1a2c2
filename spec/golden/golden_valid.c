/*
 * Golden files that a reader must accept, built byte by byte: they contain what no writer of this version makes, and
 * everything in one place.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>

#include "format/checksum.h"
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "fuzz/support/mend.h"
#include "spec/golden/golden.h"

/* "abc", a reference to id 42, "def", as section 7 has it. */
static const uint8_t seed_content[] = {'a', 'b', 'c', 0x80, 0, 0, 42, 'd', 'e', 'f', 0xFF};

static void process_record(struct golden_block *records, uint32_t name_id)
{
    GOLDEN_RECORD(records, TBED_RECORD_PROCESS, 1, 100, 99, name_id, GOLDEN_U64(GOLDEN_FIRST_TICK), 0, 0);
}

static void stream_record(struct golden_block *records, uint32_t stream, uint32_t name_id)
{
    GOLDEN_RECORD(records, TBED_RECORD_STREAM, stream, 1, TBED_STREAM_THREAD, 100 + stream, name_id, 0,
                  GOLDEN_U64(GOLDEN_FIRST_TICK));
}

/* ---- events.tbed: every tag, subtype, type and argument ---- */

static void put_words(struct golden_block *events, uint32_t name)
{
    golden_event(events, TBED_TAG_BEGIN, name, 5);
    golden_event(events, TBED_TAG_INSTANT, 42, 6); /* reserved, unbound */
    golden_event(events, TBED_TAG_INSTANT, TBED_ID_INVALID, 6);
    golden_event(events, TBED_TAG_INSTANT, TBED_ID_METADATA, 6);
    golden_event(events, TBED_TAG_INSTANT, 0, 0x7FFFFFFF); /* the longest delta, id 0 */
    golden_time(events, 1);
    golden_time(events, 3);
    golden_event(events, TBED_TAG_END, name, 7);
    golden_event(events, TBED_TAG_END, TBED_ID_INVALID,
                 6); /* earlier than the previous one, and ends nothing */
    golden_event(events, (enum tbed_tag)7, name, 8);
    for (uint64_t subtype = 0; subtype < 16; subtype++)
        golden_pair(events, name, 9, subtype, 0x0123456789ABCDE);
    golden_pair(events, name, 10, TBED_PAIR_COUNTER, (UINT64_C(1) << 60) - 1); /* -1 */
    golden_pair(events, name, 10, TBED_PAIR_COUNTER, UINT64_C(1) << 59);       /* the least value */
    golden_pair(events, 1000, 10, TBED_PAIR_ALLOC, (UINT64_C(1) << 60) - 1);   /* the largest */
}

static void put_arguments(struct golden_words *words, uint32_t name)
{
    static const double doubles[] = {0.1, -0.0, INFINITY, -INFINITY, NAN, 5e-324, 1.7976931348623157e308};
    static const uint8_t odd_text[] = {'a', 0xE2, 0x82, 'A', 0, 0xC3, 0xA9, '\n', 0xFF, 0xED, 0xA0, 0x80};
    golden_argument_u64(words, TBED_ARG_U64, name, UINT64_MAX);
    golden_argument_u64(words, TBED_ARG_I64, TBED_ID_INVALID, (uint64_t)INT64_MIN);
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        golden_argument(words, TBED_ARG_F64, 42, &doubles[i], 8);
    golden_argument_u64(words, TBED_ARG_POINTER, name, 0xFFFF800000000000u);
    golden_argument_u64(words, TBED_ARG_BOOL, name, 0);
    golden_argument_u64(words, TBED_ARG_BOOL, name, UINT64_C(1) << 63);
    golden_argument_u64(words, TBED_ARG_ID, name, name);
    golden_argument_u64(words, TBED_ARG_ID, name, 42);
    golden_argument(words, TBED_ARG_TEXT, name, "text", 4);
    golden_argument(words, TBED_ARG_TEXT, name, "", 0);
    golden_argument(words, TBED_ARG_TEXT, name, odd_text, sizeof odd_text);
    golden_argument(words, TBED_ARG_BYTES, name, odd_text, 9);
    golden_argument(words, TBED_ARG_BYTES, name, "", 0);
    golden_argument(words, 0, name, odd_text, 3);
    golden_argument(words, 9, name, odd_text, 8);
    golden_argument(words, 255, name, "", 0);
}

static void put_extended(struct golden_block *events, uint32_t name, uint32_t with_context)
{
    for (uint32_t type = 0; type < 24; type++) {
        static const uint8_t fixed_counts[] = {0, 0, 1, 0, 0, 0, 2, 1, 4, 1, 1, 1, 1, 1, 1, 1, 0, 2, 1, 1, 2};
        struct golden_words words = {.count = 0};
        for (uint32_t i = 0; i < (type < sizeof fixed_counts ? fixed_counts[type] : 3); i++)
            golden_fixed(&words, type < TBED_EXT_PACKED_BEGIN ? GOLDEN_FIRST_TICK + 5 + i : 0);
        if (type == TBED_EXT_COUNTER)
            golden_argument_u64(&words, TBED_ARG_U64, TBED_ID_INVALID, UINT64_MAX);
        golden_extended(events, name, 20 + type, type, 0, &words);
    }
    for (uint32_t aux = 1; aux < 10; aux += 2)
        golden_extended(events, name, 50, TBED_EXT_MESSAGE, aux, NULL);
    for (uint32_t aux = 0; aux < 0x30; aux += 8) /* with the flag for a context, and without */
        golden_extended(events, with_context, 50, TBED_EXT_MESSAGE, aux, NULL);
    golden_extended(events, with_context, 50, TBED_EXT_PACKED_MESSAGE, TBED_MESSAGE_CONTEXT, NULL);
    golden_extended(events, name, 51, 127, 77, NULL);
    golden_extended(events, name, 51, TBED_EXT_APPLICATION, UINT32_MAX, NULL);
    golden_extended(events, name, 51, 255, 0, NULL);
}

/* Valid and reserved category ids, on types that have a category and on types that have none. */
static void put_categories(struct golden_block *events, uint32_t name)
{
    const uint32_t categories[] = {
        name, 42, 1, TBED_ID_METADATA, TBED_ID_INVALID, TBED_ID_MAX, TBED_ID_MAX + 1, UINT32_MAX};
    static const uint32_t types[] = {TBED_EXT_BEGIN, TBED_EXT_INSTANT, TBED_EXT_COUNTER, TBED_EXT_SPAN};
    for (size_t i = 0; i < 4 * sizeof categories / sizeof categories[0]; i++) {
        struct golden_words words = {.count = 0};
        if (types[i % 4] == TBED_EXT_SPAN)
            golden_fixed(&words, GOLDEN_FIRST_TICK);
        if (types[i % 4] == TBED_EXT_COUNTER)
            golden_argument_u64(&words, TBED_ARG_I64, TBED_ID_INVALID, i);
        golden_extended(events, name, 55, types[i % 4], categories[i / 4], &words);
    }
    struct golden_words end = {.count = 0};
    golden_fixed(&end, 5);
    golden_extended(events, name, 56, TBED_EXT_END, name, &end);
}

/* SPANs that begin at tick 0, after their end, or at the last tick; with arguments; overlapping. */
static void put_spans(struct golden_block *events, uint32_t name)
{
    static const uint64_t begins[] = {0, UINT64_MAX, UINT64_C(1) << 63, GOLDEN_FIRST_TICK + 57};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        struct golden_words words = {.count = 0};
        golden_fixed(&words, begins[i]);
        for (size_t argument = 0; argument < i; argument++)
            golden_argument(&words, TBED_ARG_TEXT, name, "value", (uint32_t)argument);
        golden_extended(events, name, 57, TBED_EXT_SPAN, i % 2 != 0 ? name : 0, &words);
    }
}

/* Spans that leave the stack and end later, earlier or never, and one whose begin tick is not known. */
static void put_leaves(struct golden_block *events, uint32_t name)
{
    static const uint64_t ticks[][2] = {{5, 1000}, {5, 6}, {5, 0}, {0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        struct golden_words words = {.count = 0};
        golden_fixed(&words, ticks[i][0]);
        golden_fixed(&words, ticks[i][1]);
        if (i == 3)
            golden_argument_u64(&words, TBED_ARG_U64, name, 7);
        golden_event(events, TBED_TAG_BEGIN, name, 58);
        golden_extended(events, i == 0 ? TBED_ID_INVALID : name, 58, TBED_EXT_LEAVE, 0, &words);
    }
}

/* A span that ends before one inside it, and a LEAVE of a span that is not there. */
static void put_outer_leaves(struct golden_block *events, uint32_t name)
{
    static const uint32_t inside[] = {1, 1000};
    golden_event(events, TBED_TAG_BEGIN, name, 58);
    golden_event(events, TBED_TAG_BEGIN, name, 59);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        struct golden_words words = {.count = 0};
        golden_fixed(&words, (UINT64_C(1) << 40) + 58);
        golden_fixed(&words, (UINT64_C(1) << 40) + 60);
        golden_extended(events, name, 60, TBED_EXT_LEAVE, inside[i], &words);
    }
    golden_event(events, TBED_TAG_END, name, 61);
}

static void put_with_arguments(struct golden_block *events, uint32_t name)
{
    static const uint32_t types[] = {TBED_EXT_BEGIN, TBED_EXT_INSTANT, TBED_EXT_MESSAGE};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct golden_words words = {.count = 0};
        put_arguments(&words, name);
        golden_extended(events, name, 60, types[i], 0, &words);
    }
    struct golden_words end = {.count = 0};
    golden_fixed(&end, 0); /* begin tick unknown */
    golden_argument_u64(&end, TBED_ARG_U64, name, 7);
    golden_extended(events, name, 61, TBED_EXT_END, 0, &end);
    struct golden_words counter = {.count = 0};
    double value = -2.5;
    golden_argument(&counter, TBED_ARG_F64, TBED_ID_INVALID, &value, 8);
    golden_argument_u64(&counter, TBED_ARG_BOOL, name, 1); /* an ordinary argument after its value */
    golden_extended(events, name, 62, TBED_EXT_COUNTER, 0, &counter);
    struct golden_words many = {.count = 0};
    for (int i = 0; i < 255; i++)
        golden_argument(&many, TBED_ARG_TEXT, TBED_ID_INVALID, "", 0);
    golden_extended(events, name, 63, TBED_EXT_INSTANT, 0, &many);
}

/* Each type of packed value at both ends of its range; texts that end anywhere in a word; no values, and seven. */
static void put_packed(struct golden_block *events, uint32_t name)
{
    static const uint32_t types[] = {0,   0x1, 0x2,  0x3,   0x4,  0x5,  0x6,
                                     0x9, 0xA, 0xAA, 0x9A9, 0x1A, 0xA1, 0x1234569};
    struct golden_words words;
    for (size_t i = 0; i < 3 * sizeof types / sizeof types[0]; i++) {
        static const uint8_t fills[] = {0xFF, 0x00, 0x7F};
        uint32_t list = types[i / 3], nbytes = 0;
        words = (struct golden_words){.count = 0};
        for (uint32_t left = list; left != 0; left >>= 4, words.argument_count++)
            nbytes += (left & 15) > TBED_PACKED_NARROW ? 4 : 8;
        words.count = (nbytes + 7) / 8;
        memset(words.at, fills[i % 3], nbytes);
        memset((char *)words.at + nbytes, 0, 8 * words.count - nbytes);
        golden_extended(events, name, 64, TBED_EXT_PACKED_MESSAGE, list << 4 | (uint32_t)i % 16, &words);
    }
    for (uint32_t nbytes = 0; nbytes < 18; nbytes++) {
        words = (struct golden_words){.count = (4 + nbytes + 4 + 7) / 8, .argument_count = 2};
        memset(words.at, 0, 8 * words.count);
        memcpy(words.at, &nbytes, 4);
        memcpy((char *)words.at + 4, "text that is packe", nbytes);
        golden_extended(events, name, 64, TBED_EXT_PACKED_MESSAGE, 0xA7 << 4, &words);
    }
    words = (struct golden_words){.argument_count = 7};
    for (; words.count < 4; words.count++)
        words.at[words.count] = 0;
    golden_extended(events, TBED_ID_INVALID, 64, TBED_EXT_PACKED_MESSAGE, 0x7777777Fu, &words);
}

/* Spans and instants: no values and eight, each kind of first name, names that run out, categories. */
static void put_packed_spans(struct golden_block *events, uint32_t name)
{
    const uint32_t names[] = {name,       42, 0, TBED_ID_MAX_RESERVED - 1, TBED_ID_METADATA, TBED_ID_INVALID,
                              TBED_ID_MAX};
    static const uint32_t types[] = {0, 0x1, 0xAA, 0x9A9, 0x12345697, 0xAAAAAAAA, 0x11111111};
    for (size_t i = 0; i < 14; i++) {
        uint64_t list = types[(i + i / 7) % 7];
        struct golden_words words = {.count = 0};
        golden_fixed(&words, list | (uint64_t)names[i % 7] << 32);
        uint32_t nbytes = 0;
        for (uint64_t left = list; left != 0; left >>= 4, words.argument_count++)
            nbytes += (left & 15) > TBED_PACKED_NARROW || (left & 15) == TBED_ARG_TEXT ? 4 : 8;
        for (uint32_t end = words.count + (nbytes + 7) / 8; words.count < end; words.count++)
            words.at[words.count] = (uint64_t)words.count << 32; /* an empty text, and numbers */
        if (nbytes % 8 != 0)
            words.at[words.count - 1] &= UINT32_MAX;
        golden_extended(events, name, 65, i % 2 == 0 ? TBED_EXT_PACKED_INSTANT : TBED_EXT_PACKED_BEGIN,
                        i % 3 == 0 ? name : 0, &words);
    }
}

static void write_events(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, 4 * GOLDEN_PAGE_NBYTES);
    struct golden_block strings =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    uint32_t name = golden_text(&strings, "n\xC3\xA4me");
    uint32_t with_context = golden_text(&strings, "context\x1E"
                                                  "format\x1E");
    golden_seal(&strings);
    struct golden_start start = {
        .kind = TBED_BLOCK_EVENTS, .stream = 2, .depth = 2, .first_tick = UINT64_C(1) << 40};
    struct golden_block events = golden_page(&file, &start);
    golden_open_span(&events, 17, name);
    golden_open_span(&events, 0, TBED_ID_INVALID); /* whose begin the writer no longer knew */
    put_words(&events, name);
    put_extended(&events, name, with_context);
    put_categories(&events, name);
    put_spans(&events, name);
    put_leaves(&events, name);
    put_outer_leaves(&events, name);
    put_packed_spans(&events, name);
    put_with_arguments(&events, name);
    put_packed(&events, name);
    golden_event(&events, TBED_TAG_INSTANT, name, 64); /* the last is the latest, as sealing requires */
    golden_seal(&events);
    golden_counts(&file, 3, 1, 1);
    golden_shut(&file);
    golden_file_write(&file, folder, "events");
    golden_expect(folder, "valid/events - 2 0 198");
}

/* ---- strings.tbed: every kind of string, and every way in which an id has no meaning ---- */

static void put_deep_strings(struct golden_block *strings, struct golden_block *records)
{
    uint32_t id = golden_text(strings, "deep");
    for (int depth = 2; depth < 64; depth++) /* with its binding, as deep as allowed */
        id = golden_reference(strings, &id, 1);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 700, 1, id, 0);
    uint32_t twice[2] = {golden_text(strings, "0123456789ABCDEF"), 0};
    for (int doubled = 0; doubled < 8; doubled++) {
        twice[1] = twice[0];
        twice[0] = golden_reference(strings, twice, 2);
    }
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 701, 1, twice[0], 0);
}

static void put_bound_strings(struct golden_block *strings, struct golden_block *records)
{
    uint32_t seed = golden_content(strings, seed_content, sizeof seed_content);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 42, 1, golden_text(strings, "first"), 0);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 42, 1, golden_text(strings, "-42-"),
                  0); /* the last one counts */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, TBED_ID_METADATA, 1,
                  golden_text(strings, "{\"host\":\"golden\"}"), 0);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 500, 100, seed, 0);
    GOLDEN_RECORD(records, TBED_RECORD_BIND_LIST, 3, 0, 550, golden_text(strings, "550"), 551, 42, 552, 553);
    uint32_t loop[3] = {800, seed, 801};
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 800, 1, golden_reference(strings, loop + 1, 2), 0);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 801, 1, golden_reference(strings, loop, 1), 0); /* a cycle */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 802, 1, 802, 0); /* the shortest */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, TBED_ID_MAX_RESERVED, 1, TBED_ID_INVALID, 0);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 900, 0, seed, 0);        /* binds nothing */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 901, 1, seed + 1, 0);    /* no entry starts at this address */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 902, 1, TBED_ID_MAX, 0); /* there is no such string page */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 903, 1, TBED_ID_METADATA, 0);
    GOLDEN_RECORD(records, TBED_RECORD_BIND_LIST, 0, 0);
}

static void put_plain_strings(struct golden_block *strings)
{
    static const uint32_t unbound[] = {1000, 5, 1003}; /* a location, nothing, a location */
    golden_text(strings, "");
    golden_text(strings, "\x01 \" \\ \x7F");
    golden_text(strings, "\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF");
    golden_text(strings, "\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF");
    golden_content(strings, "nul\0inside\xFF", 11);
    golden_reference(strings, unbound, 1);
    golden_reference(strings, unbound, 3);
    golden_content(strings, "\x9F\xFF\xFF\xFF\xFF", 5); /* a reference that contains the terminator's byte */
    uint32_t same = golden_text(strings, "twice");
    golden_text(strings, "twice");
    golden_reference(strings, (uint32_t[]){same, same}, 2);
}

static void write_strings(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    struct golden_start strings_start = {.kind = TBED_BLOCK_STRINGS, .stream = 1};
    struct golden_block strings = golden_page(&file, &strings_start);
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    put_plain_strings(&strings);
    uint32_t module = golden_text(&strings, "module");
    GOLDEN_RECORD(&records, TBED_RECORD_UNIT, 1000, 16, TBED_UNIT_NATIVE, 2, module, module, 0, 0,
                  GOLDEN_U64(0x4000));
    put_bound_strings(&strings, &records);
    golden_seal(&strings);
    strings_start.sequence = strings_start.string_page = 1;
    strings = golden_page(&file, &strings_start);
    put_deep_strings(&strings, &records);
    golden_seal(&strings);
    golden_seal(&records);
    golden_counts(&file, 2, 2, 1024);
    golden_shut(&file);
    golden_file_write(&file, folder, "strings");
    golden_expect(folder, "valid/strings - 91 17 0");
}

/* ---- records.tbed: every record, and what later versions may add ---- */

static void put_units(struct golden_block *records, const uint32_t names[3])
{
    GOLDEN_RECORD(records, TBED_RECORD_UNIT, 1000, 64, TBED_UNIT_NATIVE, 4, names[1], names[2], 0, 20,
                  GOLDEN_U64(0x401000), 0x04030201, 0x08070605, 0x0C0B0A09, 0x100F0E0D, 0x14131211);
    GOLDEN_RECORD(records, TBED_RECORD_LINES, 2000, 3, 0, 10, 4, 11, 9, 12); /* before its unit */
    GOLDEN_RECORD(records, TBED_RECORD_UNIT, 2000, 10, TBED_UNIT_BYTECODE, 0, names[0], names[2], 10, 0,
                  GOLDEN_U64(0));
    GOLDEN_RECORD(records, TBED_RECORD_UNIT, 3000, 0, TBED_UNIT_BYTECODE, 31, names[0], TBED_ID_INVALID, 0, 0,
                  GOLDEN_U64(UINT64_MAX)); /* has no location */
    GOLDEN_RECORD(records, TBED_RECORD_UNIT, TBED_ID_MAX_RESERVED, 1, TBED_UNIT_NATIVE, 0, TBED_ID_INVALID, 5,
                  0, 0, GOLDEN_U64(1)); /* the last reserved id; without a name it does not resolve */
    GOLDEN_RECORD(records, TBED_RECORD_LOAD, 1, 1000, GOLDEN_U64(0x7F0000401000), GOLDEN_U64(1024),
                  GOLDEN_U64(GOLDEN_FIRST_TICK + 1));
    GOLDEN_RECORD(records, TBED_RECORD_UNLOAD, 1, 1000, GOLDEN_U64(GOLDEN_FIRST_TICK + 9));
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 2003, 2, names[1], 0); /* what is bound wins over the location */
}

static void put_stacks(struct golden_block *records, const uint32_t names[3])
{
    GOLDEN_RECORD(records, TBED_RECORD_STACKS, 3000, 4, 1000, TBED_ID_INVALID, 2009, 3000, 43, 2, 1001, 3001);
    GOLDEN_RECORD(records, TBED_RECORD_STACKS, 2010, 0); /* none */
    GOLDEN_RECORD(records, TBED_RECORD_STACKS, 3004, 2, 3001, TBED_ID_INVALID, 3005,
                  TBED_ID_INVALID);                                 /* a cycle of texts */
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 3002, 1, names[1], 0); /* what is bound wins over the stack */
    GOLDEN_RECORD(records, TBED_RECORD_FRAMES, 1000, 1, names[0], names[2], 99, 0);
    GOLDEN_RECORD(records, TBED_RECORD_FRAMES, 1000, 2, names[1], names[2], 7, 0, names[0], TBED_ID_INVALID,
                  0, 0);
    GOLDEN_RECORD(records, TBED_RECORD_FRAMES, 2000, 0);
}

/* 4000 in a stack, 4001 at a location, 4002 nowhere, 4003 without a name; 4004 has a type already; 4005 is bound. */
static void put_types(struct golden_block *records, const uint32_t names[3])
{
    GOLDEN_RECORD(records, TBED_RECORD_TYPES, 4000, 6, 3003, names[0], 2000, names[1], TBED_ID_INVALID,
                  names[0], 1000, TBED_ID_INVALID, 4000, names[1], 1001, names[0]);
    GOLDEN_RECORD(records, TBED_RECORD_TYPES, 4006, 0); /* none */
    GOLDEN_RECORD(records, TBED_RECORD_STACKS, 4006, 2, 4001, 4000, 1001, 4001);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 4005, 1, names[2], 0); /* what is bound wins over the place */
}

static void put_later_records(struct golden_block *records, uint32_t name)
{
    GOLDEN_RECORD(records, 100, 1, 2, 3, 4);
    GOLDEN_RECORD(records, 0xFFFF, 0, 0);
    golden_record(records, 77, NULL, 0);
    GOLDEN_RECORD(records, TBED_RECORD_NAME, 2, name, GOLDEN_U64(GOLDEN_FIRST_TICK + 3), 0xAAAA, 0xBBBB);
    GOLDEN_RECORD(records, TBED_RECORD_BIND, 43, 1, name, 0, 1, 2, 3, 4); /* longer than this version's */
}

static void put_clock_records(struct golden_block *records)
{
    GOLDEN_RECORD(records, TBED_RECORD_ANCHOR, GOLDEN_U64(GOLDEN_FIRST_TICK + 4000000),
                  GOLDEN_U64(1700000000004000100), GOLDEN_U64(GOLDEN_FIRST_TICK + 4000000));
    GOLDEN_RECORD(records, TBED_RECORD_ANCHOR, GOLDEN_U64(GOLDEN_FIRST_TICK + 2000000),
                  GOLDEN_U64(1700000000002000000),
                  GOLDEN_U64(GOLDEN_FIRST_TICK + 2000000)); /* out of order */
    GOLDEN_RECORD(records, TBED_RECORD_ANCHOR, GOLDEN_U64(GOLDEN_FIRST_TICK + 4000000),
                  GOLDEN_U64(1700000000004000100), GOLDEN_U64(GOLDEN_FIRST_TICK + 4000000)); /* twice */
}

static void write_records(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    golden_cells(&file, GOLDEN_CELL_NBYTES, 0, 0);
    struct golden_block strings =
        golden_cell(&file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    uint32_t names[] = {golden_text(&strings, "main"), golden_text(&strings, "libgolden.so"),
                        golden_text(&strings, "/usr/lib/libgolden.so")};
    golden_seal(&strings);
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    process_record(&records, names[0]);
    GOLDEN_RECORD(&records, TBED_RECORD_PROCESS, 3, 200, 100, names[1], GOLDEN_U64(GOLDEN_FIRST_TICK), 1,
                  TBED_INSTANTS_ALLOCATIONS);
    stream_record(&records, 2, TBED_ID_INVALID);
    GOLDEN_RECORD(&records, TBED_RECORD_STREAM, 4, 3, TBED_STREAM_TRACK, 0, names[0], 2,
                  GOLDEN_U64(GOLDEN_FIRST_TICK + 2)); /* has no events */
    GOLDEN_RECORD(&records, TBED_RECORD_STREAM, 5, 1, TBED_STREAM_HANDLERS, 102, names[1], 2,
                  GOLDEN_U64(GOLDEN_FIRST_TICK + 3)); /* nor has this one */
    GOLDEN_RECORD(&records, TBED_RECORD_STREAM, 6, 1, TBED_STREAM_OFF_CPU, 102, names[1], 2,
                  GOLDEN_U64(GOLDEN_FIRST_TICK + 3)); /* nor this one */
    put_units(&records, names);
    put_stacks(&records, names);
    put_types(&records, names);
    put_later_records(&records, names[2]);
    put_clock_records(&records);
    GOLDEN_RECORD(&records, TBED_RECORD_COUNTER, names[0], names[1], 0, 0);
    GOLDEN_RECORD(&records, TBED_RECORD_END, 2, 0, GOLDEN_U64(GOLDEN_FIRST_TICK + 10));
    GOLDEN_RECORD(&records, TBED_RECORD_END, 1, 0, GOLDEN_U64(GOLDEN_FIRST_TICK + 11));
    golden_seal(&records);
    struct golden_block events =
        golden_cell(&file, &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = 2});
    static const uint32_t ids[] = {1000, 1063, 1064, 2000, 2003, 2009, 3000, TBED_ID_MAX_RESERVED,
                                   43,   3001, 3002, 3003, 3004, 3005, 3006};
    for (uint32_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        golden_event(&events, TBED_TAG_INSTANT, ids[i], i);
    for (uint32_t id = 4000; id < 4008; id++)
        golden_pair(&events, id, id - 3980, id < 4007 ? TBED_PAIR_ALLOC : TBED_PAIR_FREE, id);
    golden_seal(&events);
    golden_counts(&file, 5, 1, 4008);
    golden_shut(&file);
    golden_file_write(&file, folder, "records");
    golden_expect(folder, "valid/records - 3 4 23");
}

/* ---- interrupted.tbed: what a killed writer leaves: an unfinished record in a block of each kind ---- */

static void write_interrupted(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    golden_cells(&file, GOLDEN_CELL_NBYTES, 0, 0);
    struct golden_block strings =
        golden_cell(&file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    struct golden_block records =
        golden_cell(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    uint32_t name = golden_text(&strings, "main");
    golden_word(&strings, 0);
    golden_word(&strings, 0x6F7270); /* content without its head */
    process_record(&records, name);
    stream_record(&records, 2, name);
    golden_word(&records, 0);
    GOLDEN_RECORD(&records, TBED_RECORD_BIND, 42, 1, name, 0); /* after the zero word: never committed */
    struct golden_block events =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = 2});
    golden_event(&events, TBED_TAG_BEGIN, name, 1);
    golden_pair(&events, name, 2, TBED_PAIR_COUNTER, 0); /* its second word is not zero, but could well be */
    golden_extended(&events, name, 3, TBED_EXT_FREE, 0, &(struct golden_words){.count = 1});
    golden_word(&events, 0);
    golden_word(&events, TBED_EXT_END | 2 << 16);
    golden_word(&events, 7);
    golden_cell(&file,
                &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = 3}); /* begun, nothing in it */
    golden_page_claim(&file);                                                    /* never begun */
    golden_counts(&file, 4, 1, 1);
    ((struct tbed_disk_header *)file.bytes)->page_count = tbed_le64_make(7); /* two more than the file has */
    ((struct tbed_disk_header *)file.bytes)->writer_count = tbed_le64_make(1);
    golden_file_write(&file, folder, "interrupted");
    golden_expect(folder, "valid/interrupted - 1 0 3");
}

/* ---- ring.tbed: a flight recorder after more than one round ---- */

static void put_ring_block(struct golden_file *file, uint32_t stream, uint32_t sequence, uint32_t generation)
{
    struct golden_start start = {.kind = TBED_BLOCK_EVENTS,
                                 .stream = stream,
                                 .sequence = sequence,
                                 .generation = generation,
                                 .depth = 1,
                                 .first_tick = GOLDEN_FIRST_TICK + 100 * sequence};
    struct golden_block events = golden_page(file, &start);
    golden_open_span(&events, GOLDEN_FIRST_TICK, 42);
    for (uint32_t i = 1; i <= 3; i++)
        golden_event(&events, TBED_TAG_INSTANT, 42 + i, i);
    golden_seal(&events);
}

static void write_ring(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    put_ring_block(&file, 2, 4, 2);
    put_ring_block(&file, 2, 5, 2);
    put_ring_block(&file, 3, 1, 1);
    put_ring_block(&file, 2, 2, 1); /* a gap follows */
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    process_record(&records, TBED_ID_INVALID);
    golden_seal(&records);
    struct tbed_disk_header *header = (struct tbed_disk_header *)file.bytes;
    header->ring_page_count = tbed_le32_make(4);
    header->ring_pages_given = tbed_le64_make(6);
    golden_counts(&file, 4, 0, 1);
    golden_shut(&file);
    golden_file_write(&file, folder, "ring");
    golden_expect(folder, "valid/ring - 0 0 12");
}

/* ---- times.tbed: anchors, some of which contradict others; golden/times.txt has the times ---- */

static void anchor_record(struct golden_block *records, uint64_t ticks, int64_t realtime_ns,
                          uint64_t monotonic_ns)
{
    GOLDEN_RECORD(records, TBED_RECORD_ANCHOR, GOLDEN_U64(ticks), GOLDEN_U64((uint64_t)realtime_ns),
                  GOLDEN_U64(monotonic_ns));
}

static void put_times(struct golden_file *file, uint32_t stream, uint64_t first_tick, const uint64_t *deltas,
                      size_t count)
{
    struct golden_block events = golden_page(
        file, &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = stream, .first_tick = first_tick});
    for (size_t i = 0; i < count; i++)
        golden_event(&events, TBED_TAG_INSTANT, 42, deltas[i]);
    golden_seal(&events);
}

static void write_times(const char *folder)
{
    static const uint64_t deltas[] = {0,      9,      10,     11,     150000, 300009, 300010,
                                      450011, 600011, 600012, 600013, 900000, 2000000};
    static const int64_t start = 1700000000000000000;
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    struct tbed_disk_header *header = (struct tbed_disk_header *)file.bytes;
    header->ticks_per_second = tbed_le64_make(3000000); /* a tick is not a whole number of nanoseconds */
    header->anchor_ticks = tbed_le64_make(1000000);
    header->anchor_realtime_ns = tbed_le64_make((uint64_t)start);
    header->anchor_monotonic_ns = tbed_le64_make(5000000000);
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    process_record(&records, TBED_ID_INVALID);
    anchor_record(&records, 1600001, start - 1000000000, 5200000011); /* CLOCK_REALTIME was set back */
    anchor_record(&records, 1300000, start + 1, 5100000009);          /* later at the same tick: ignored */
    anchor_record(&records, 1300000, start + 100000007, 5100000007);
    anchor_record(&records, 1200000, start, 4900000000); /* CLOCK_MONOTONIC goes back: ignored */
    anchor_record(&records, 1600002, start, 5200000500); /* too close to the one before: not used */
    anchor_record(&records, 1900004, start - 900000000, 5300000600);
    golden_seal(&records);
    put_times(&file, 2, 999990, deltas, sizeof deltas / sizeof deltas[0]);
    put_times(&file, 3, UINT64_MAX - 9, (const uint64_t[]){9}, 1);
    golden_counts(&file, 4, 0, 1);
    golden_shut(&file);
    golden_file_write(&file, folder, "times");
    golden_expect(folder, "valid/times - 0 0 14");
}

/* ---- taken.tbed: writers of a flight recorder were killed while they took pages ---- */

/* Process 1 has taken the page once more, and was killed before it began a block. */
static struct tbed_disk_entry *page_take(struct golden_file *file, uint32_t page)
{
    struct tbed_disk_entry *entry =
        (struct tbed_disk_entry *)(file->bytes + tbed_directory_entry_offset(GOLDEN_PAGE_NBYTES, page));
    struct tbed_mark mark = {TBED_MARK_TAKEN, tbed_mark_load(entry).count + 1, 1};
    tbed_word_store(tbed_mark_at(entry), tbed_mark_word(mark));
    return entry;
}

static void write_taken(const char *folder)
{
    struct golden_file file;
    char valid[4096];
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    for (uint32_t sequence = 4; sequence < 8; sequence++)
        put_ring_block(&file, 2, sequence, 2);
    struct tbed_disk_header *header = (struct tbed_disk_header *)file.bytes;
    header->ring_page_count = tbed_le32_make(4);
    header->ring_pages_given = tbed_le64_make(8);
    header->checksum = tbed_le64_make(tbed_header_checksum(file.bytes, TBED_HEADER_FIXED_NBYTES));
    golden_counts(&file, 4, 0, 1);
    mend_file(file.bytes, file.nbytes, MEND_ALL);
    page_take(&file, 2);
    page_take(&file, 3)->state = TBED_ENTRY_FREE;
    page_take(&file, 4)->state = TBED_ENTRY_FREE;
    file.bytes[4 * GOLDEN_PAGE_NBYTES] = TBED_BLOCK_NONE;
    snprintf(valid, sizeof valid, "%s/valid", folder);
    golden_write(valid, "taken", file.bytes, file.nbytes);
    golden_expect(folder, "valid/taken - 0 0 3");
}

/* ---- wrap.tbed: ticks at the end of their range, another page size, flags of a later version ---- */

static void write_wrap(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, 4 * GOLDEN_PAGE_NBYTES);
    golden_cells(&file, 4 * GOLDEN_CELL_NBYTES, 0, 0);
    struct golden_start start = {
        .kind = TBED_BLOCK_EVENTS, .stream = 1, .depth = UINT32_MAX, .first_tick = UINT64_MAX - 10};
    struct golden_block events = golden_cell(&file, &start);
    for (uint32_t i = 0; i < 4 * GOLDEN_CELL_NBYTES / 64; i++)
        golden_open_span(&events, i, i); /* as many as a block stores */
    golden_event(&events, TBED_TAG_INSTANT, 1, 3);
    golden_event(&events, TBED_TAG_INSTANT, 1, 20); /* past 2^64 */
    golden_time(&events, TBED_ID_MAX);
    golden_event(&events, TBED_TAG_END, 31, 20);
    golden_event(&events, TBED_TAG_INSTANT, 1, 4);
    events.last_tick = UINT64_MAX;
    golden_seal(&events);
    ((struct tbed_disk_header *)file.bytes)->compatible_flags = tbed_le64_make(UINT64_C(1) << 63);
    golden_counts(&file, 2, 1, 0);
    golden_shut(&file);
    golden_file_write(&file, folder, "wrap");
    golden_expect(folder, "valid/wrap - 0 0 4");
}

/* ---- series.tbed: the third file of a series, whose writer could not begin the fourth ---- */

static void write_series(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    struct golden_block strings =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    uint32_t name = golden_text(&strings, "main");
    golden_seal(&strings);
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    for (uint32_t failed_count = 0; failed_count < 3; failed_count++) /* the newest counts */
        GOLDEN_RECORD(&records, TBED_RECORD_SERIES, GOLDEN_U64(0x1111111111111111),
                      GOLDEN_U64(0x2222222222222222), 3, failed_count);
    process_record(&records, name);
    stream_record(&records, 2, name);
    golden_seal(&records);
    struct golden_start start = {
        .kind = TBED_BLOCK_EVENTS, .stream = 2, .depth = 1, .first_tick = GOLDEN_FIRST_TICK + 100};
    struct golden_block events = golden_page(&file, &start);
    golden_open_span(&events, GOLDEN_FIRST_TICK, name); /* begun two files earlier */
    golden_event(&events, TBED_TAG_END, name, 7);
    golden_seal(&events);
    golden_counts(&file, 9, 1, 1);
    golden_shut(&file);
    golden_file_write(&file, folder, "series");
    golden_expect(folder, "valid/series - 1 0 1");
}

/* ---- lost.tbed: recovered from a damaged trace; blocks 1 and 2 of the stream are lost, and part of block 3 ---- */

static void write_lost(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    struct golden_start start = {.kind = TBED_BLOCK_EVENTS, .stream = 2, .first_tick = GOLDEN_FIRST_TICK};
    for (; start.sequence < 4; start.sequence += 3) {
        struct golden_block events = golden_page(&file, &start);
        golden_event(&events, TBED_TAG_INSTANT, 1000, 5);
        golden_seal(&events);
        start.first_tick += 300;
    }
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 3});
    GOLDEN_RECORD(&records, TBED_RECORD_LOST, 2, TBED_BLOCK_EVENTS, 1, 2, GOLDEN_U64(GOLDEN_FIRST_TICK + 5),
                  GOLDEN_U64(GOLDEN_FIRST_TICK + 300), GOLDEN_U64(8000));
    GOLDEN_RECORD(&records, TBED_RECORD_LOST, 2, TBED_BLOCK_EVENTS, 3, 0, GOLDEN_U64(GOLDEN_FIRST_TICK + 305),
                  GOLDEN_U64(UINT64_MAX), GOLDEN_U64(0));
    GOLDEN_RECORD(&records, TBED_RECORD_LOST, 0, 0, 0, 7, GOLDEN_U64(0), GOLDEN_U64(UINT64_MAX),
                  GOLDEN_U64(7 * GOLDEN_PAGE_NBYTES));
    golden_seal(&records);
    golden_counts(&file, 4, 0, 1);
    golden_shut(&file);
    golden_file_write(&file, folder, "lost");
    golden_expect(folder, "valid/lost - 0 0 2");
}

/* ---- directory.tbed: so many pages that a directory page is among them, and blocks of each kind behind it ---- */

static void write_directory(const char *folder)
{
    struct golden_file file;
    golden_begin(&file, GOLDEN_PAGE_NBYTES);
    struct golden_start start = {.kind = TBED_BLOCK_EVENTS, .stream = 2};
    for (; start.sequence < 16; start.sequence++) { /* the last one is page 17 */
        start.first_tick = GOLDEN_FIRST_TICK + 10 * start.sequence;
        struct golden_block events = golden_page(&file, &start);
        struct golden_words span = {.at = {GOLDEN_FIRST_TICK - 5}, .count = 1};
        golden_event(&events, TBED_TAG_INSTANT, 16, 1);
        if (start.sequence % 4 == 3)
            golden_extended(&events, 16, 2, TBED_EXT_SPAN, 0, &span);
        golden_seal(&events);
    }
    golden_cells(&file, GOLDEN_CELL_NBYTES, 0, 0);
    struct golden_block strings =
        golden_cell(&file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    uint32_t name = golden_text(&strings, "sixteen");
    golden_seal(&strings);
    struct golden_block records =
        golden_page(&file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    GOLDEN_RECORD(&records, TBED_RECORD_BIND, 16, 1, name, 0);
    golden_seal(&records);
    golden_counts(&file, 3, 1, 17);
    golden_shut(&file);
    golden_file_write(&file, folder, "directory");
    golden_expect(folder, "valid/directory - 1 1 20");
}

void golden_valid_write_all(const char *folder)
{
    write_events(folder);
    write_strings(folder);
    write_records(folder);
    write_interrupted(folder);
    write_ring(folder);
    write_taken(folder);
    write_times(folder);
    write_wrap(folder);
    write_series(folder);
    write_lost(folder);
    write_directory(folder);
}
