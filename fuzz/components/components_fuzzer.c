/*
 * Builds string tables with references, bindings, cycles, blow-up and damage, and compares everything that the reader
 * reports about them with a slow and obvious implementation.
 *
 * The input is a program that builds the table, so that most inputs get far: entries of texts and of references to
 * earlier, later and neighbouring entries, bindings, entries at the end of a page, and wrong bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "format/checksum.h"
#include "format/file/header.h"
#include "format/record.h"
#include "format/string.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/mend.h"

enum {
    PAGE = 4096,
    PAGES = 4, /* the header, two pages of strings, the records */
    ENTRIES_MAX = 200,
    BINDINGS_MAX = 100,
    ASKED_MAX = 10,
    TEXT_MAX = 2000, /* the budgets: small, because the slow implementation pays for all of them */
    COMPONENTS_MAX = 500,
    UNIT_FIRST = 1000,
    UNIT_COUNT = 4,
    DIVIDER = 0x1E,
};

/* ---- Building the table ---- */

struct input {
    const uint8_t *at, *end;
};

static uint8_t take(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

struct binding {
    uint32_t first, count, string;
};

static struct build {
    uint64_t words[PAGES * PAGE / 8];
    bool is_sealed;
    uint32_t page, at; /* the string page that is being filled: 0 or 1 */
    uint32_t used[2];
    uint32_t entries[ENTRIES_MAX], entry_count;
    struct binding bindings[BINDINGS_MAX];
    uint32_t binding_count;
} build;

static uint8_t *string_page(uint32_t ordinal)
{
    return (uint8_t *)build.words + (size_t)(1 + ordinal) * PAGE;
}

/* Makes room for an entry, on the second page if this one is full. */
static uint8_t *have_room(uint32_t nbytes)
{
    uint64_t whole = tbed_string_entry_nbytes(nbytes);
    if (whole > PAGE - build.at && build.page == 0) {
        build.used[0] = build.at;
        build.page = 1;
        build.at = TBED_BLOCK_HEADER_NBYTES;
    }
    if (whole > PAGE - build.at || build.entry_count == ENTRIES_MAX)
        return NULL;
    return string_page(build.page) + build.at;
}

static void put_head(uint8_t *entry, uint32_t nbytes, uint32_t hash)
{
    uint64_t head = (uint64_t)hash << 32 | nbytes;
    for (int i = 0; i < 8; i++)
        entry[i] = (uint8_t)(head >> (8 * i));
}

static void put_entry(const uint8_t *content, uint32_t nbytes)
{
    uint8_t *entry = have_room(nbytes);
    if (entry == NULL)
        return;
    memcpy(entry + TBED_STRING_HEAD_NBYTES, content, nbytes);
    put_head(entry, nbytes, tbed_string_hash(content, nbytes));
    build.entries[build.entry_count++] = tbed_string_id_make(build.page, PAGE, build.at);
    build.at += (uint32_t)tbed_string_entry_nbytes(nbytes);
}

/* Chooses an id: of an earlier entry, of one that does not exist yet, a reserved one, a location, or any at all. */
static uint32_t pick_id(struct input *input)
{
    uint8_t choice = take(input);
    uint32_t low = choice & 31;
    switch (choice >> 5) {
    case 0:
    case 1:
    case 2:
        return build.entry_count > 0 ? build.entries[build.entry_count - 1 - low % build.entry_count] : low;
    case 3: /* a little further on */
        return tbed_string_id_make(build.page, PAGE, build.at & ~7u) + low;
    case 4:
    case 5:
        return low;
    case 6:
        return low < 8 ? UNIT_FIRST + low : TBED_ID_METADATA + low - 8;
    default:
        return (low << 25 ^ (uint32_t)take(input) << 9 ^ take(input)) & TBED_ID_MAX;
    }
}

static uint32_t put_component(struct input *input, uint8_t *content)
{
    static const char *const texts[] = {"a",   "ab", "\x1E", "\xC3\xBC", "b\x1E", "", "abcabcabcabcabcabcabc",
                                        "\xFF"};
    uint8_t choice = take(input);
    if (choice < 100) {
        const char *text = texts[choice % 8];
        memcpy(content, text, strlen(text));
        return (uint32_t)strlen(text);
    }
    uint32_t word = 0x80000000u | pick_id(input);
    for (int i = 0; i < 4; i++)
        content[i] = (uint8_t)(word >> (24 - 8 * i));
    return 4;
}

static void put_components(struct input *input, uint32_t count)
{
    uint8_t content[512];
    uint32_t nbytes = 0;
    for (uint32_t i = 0; i < count; i++)
        nbytes += put_component(input, content + nbytes);
    content[nbytes++] = TBED_STRING_TERMINATOR;
    put_entry(content, nbytes);
}

static void put_binding(struct input *input)
{
    uint32_t first = take(input) & 31, count = take(input) & 3;
    uint32_t string = pick_id(input);
    if (build.binding_count < BINDINGS_MAX)
        build.bindings[build.binding_count++] = (struct binding){first, count, string};
}

/* Takes the content verbatim from the input. */
static void put_raw(struct input *input, uint32_t nbytes)
{
    uint8_t content[256];
    for (uint32_t i = 0; i < nbytes; i++)
        content[i] = take(input);
    if (nbytes > 0)
        put_entry(content, nbytes);
}

/* Fills the page until 'left' words remain, so that the next entry ends at the page's end or does not fit. */
static void put_filler(uint32_t left)
{
    static uint8_t content[PAGE];
    uint32_t room = PAGE - build.at;
    if (room < left * 8 + 16)
        return;
    memset(content, 'f', sizeof content);
    uint32_t nbytes = room - left * 8 - TBED_STRING_HEAD_NBYTES;
    content[nbytes - 1] = TBED_STRING_TERMINATOR;
    put_entry(content, nbytes);
}

/* Changes a byte in the newest entry's content, or makes its length reach beyond the data. */
static void damage(struct input *input, uint32_t how)
{
    if (build.entry_count == 0)
        return;
    uint64_t address = tbed_string_id_address(build.entries[build.entry_count - 1]);
    uint8_t *entry = string_page((uint32_t)(address / PAGE)) + address % PAGE;
    if (how == 0)
        entry[TBED_STRING_HEAD_NBYTES] ^= take(input);
    else
        entry[how & 3] = take(input);
}

static void run(struct input *input)
{
    memset(&build, 0, sizeof build);
    build.at = build.used[1] = TBED_BLOCK_HEADER_NBYTES;
    build.is_sealed = take(input) & 1;
    while (input->at < input->end) {
        uint8_t op = take(input);
        uint32_t operand = op >> 4;
        if ((op & 15) < 9)
            put_components(input, operand % 8);
        else if ((op & 15) < 11)
            put_raw(input, operand);
        else if ((op & 15) < 13)
            put_binding(input);
        else if ((op & 15) == 13)
            put_filler(operand);
        else if ((op & 15) == 14)
            damage(input, operand);
        else
            for (uint32_t i = 0; i < operand * 3;
                 i++) /* refer to the newest entry twice, repeatedly: blow-up */
                put_components(
                    &(struct input){(const uint8_t *)"\xC8\0\xC8\0", (const uint8_t *)"\xC8\0\xC8\0" + 4}, 2);
    }
    build.used[build.page] = build.at;
}

/* ---- The file around it ---- */

static void put_block(uint8_t *file, uint32_t page, enum tbed_block_kind kind, uint32_t sequence,
                      uint32_t used)
{
    struct tbed_disk_block header = {
        .kind = (uint8_t)kind,
        .shift = 12,
        .page = tbed_le32_make(page),
        .file_id = tbed_le64_make(1),
        .stream = tbed_le32_make(1),
        .sequence = tbed_le32_make(sequence),
        .string_page = tbed_le32_make(kind == TBED_BLOCK_STRINGS ? sequence : 0),
        .used_nbytes = tbed_le32_make(build.is_sealed ? used : 0),
    };
    memcpy(file + (size_t)page * PAGE, &header, sizeof header);
    mend_block(file + (size_t)page * PAGE, PAGE, MEND_BLOCKS);
}

static uint32_t put_record(uint8_t *page, uint32_t at, uint32_t type, const uint32_t *fields, uint32_t count)
{
    uint64_t head = tbed_record_head_make(type, 8 + count * 4);
    memcpy(page + at, &head, 8);
    memcpy(page + at + 8, fields, count * 4);
    return at + 8 + count * 4;
}

static uint32_t put_records(uint8_t *page)
{
    uint32_t unit[] = {UNIT_FIRST, UNIT_COUNT, TBED_UNIT_NATIVE, 2, build.entries[0], TBED_ID_INVALID, 0, 0,
                       0x10,       0};
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    if (build.entry_count > 0)
        at = put_record(page, at, TBED_RECORD_UNIT, unit, 10);
    for (uint32_t i = 0; i < build.binding_count; i++) {
        const struct binding *binding = &build.bindings[i];
        uint32_t fields[] = {binding->first, binding->count, binding->string, 0};
        at = put_record(page, at, TBED_RECORD_BIND, fields, 4);
    }
    return at;
}

static uint8_t *file_make(void)
{
    uint8_t *file = (uint8_t *)build.words;
    struct tbed_header_fields fields = {
        .page_nbytes = PAGE, .file_id = 1, .clock = TBED_CLOCK_MONOTONIC, .ticks_per_second = 1000000000};
    struct tbed_disk_header *header = (struct tbed_disk_header *)file;
    tbed_header_make(file, &fields);
    header->page_count = tbed_le64_make(PAGES);
    header->next_stream = tbed_le64_make(2);
    header->next_string_page = tbed_le64_make(2);
    put_block(file, 1, TBED_BLOCK_STRINGS, 0, build.used[0]);
    put_block(file, 2, TBED_BLOCK_STRINGS, 1, build.used[1]);
    uint32_t used = put_records(file + (size_t)3 * PAGE);
    put_block(file, 3, TBED_BLOCK_RECORDS, 0, used);
    mend_file(file, sizeof build.words, MEND_DIRECTORY);
    return guarded_copy(file, sizeof build.words);
}

/* ---- The slow implementation ---- */

struct slow {
    char text[TEXT_MAX + 64];
    size_t nbytes;
    uint32_t component_count, depth, bound_count;
    uint32_t above[2 * TBED_STRING_DEPTH_MAX];
    enum tbed_status trouble; /* the first that is replaced by a stand-in */
};

static void slow_print(struct slow *slow, const char *format, uint32_t id)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    slow->nbytes += (size_t)snprintf(slow->text + slow->nbytes, 64, format, id);
#pragma GCC diagnostic pop
}

static enum tbed_status slow_add(struct slow *slow, const uint8_t *text, size_t nbytes)
{
    if (nbytes > TEXT_MAX - slow->nbytes)
        return TBED_ERR_STRING_BYTES;
    memcpy(slow->text + slow->nbytes, text, nbytes);
    slow->nbytes += nbytes;
    return TBED_OK;
}

static enum tbed_status slow_trouble(struct slow *slow, uint32_t id, enum tbed_status status)
{
    if (slow->trouble == TBED_OK)
        slow->trouble = status;
    slow_print(slow,
               id == TBED_ID_INVALID               ? "<no id>"
               : status == TBED_ERR_STRING_UNBOUND ? "<id %u>"
               : status == TBED_ERR_STRING_ID      ? "<dangling id %u>"
               : status == TBED_ERR_STRING_END     ? "<unterminated id %u>"
               : status == TBED_ERR_STRING_UTF8    ? "<not UTF-8: id %u>"
                                                   : "<damaged id %u>",
               id);
    return slow->nbytes > TEXT_MAX ? TBED_ERR_STRING_BYTES : TBED_OK;
}

static enum tbed_status slow_find(uint32_t id, const uint8_t **content_ret, uint32_t *nbytes_ret)
{
    if (id <= TBED_ID_INVALID)
        return TBED_ERR_STRING_ID;
    uint64_t address = (uint64_t)(id - TBED_ID_METADATA) * 8;
    uint32_t offset = (uint32_t)(address % PAGE), nbytes = 0, hash = 0;
    if (address / PAGE > 1)
        return TBED_ERR_STRING_ID;
    uint32_t end = build.is_sealed ? build.used[address / PAGE] : PAGE;
    if (offset < TBED_BLOCK_HEADER_NBYTES || offset >= end)
        return TBED_ERR_STRING_ID;
    const uint8_t *entry = string_page((uint32_t)(address / PAGE)) + offset;
    for (int i = 3; i >= 0; i--) {
        nbytes = nbytes << 8 | entry[i];
        hash = hash << 8 | entry[4 + i];
    }
    if (nbytes < 1 || nbytes > end - offset - 8)
        return TBED_ERR_STRING_LENGTH;
    if (tbed_string_hash(entry + 8, nbytes) != hash)
        return TBED_ERR_STRING_HASH;
    *content_ret = entry + 8;
    *nbytes_ret = nbytes;
    return tbed_content_check(entry + 8, nbytes);
}

static enum tbed_status slow_resolve(struct slow *slow, uint32_t id);

static enum tbed_status slow_refer(struct slow *slow, uint32_t id)
{
    slow->component_count++;
    return slow->component_count > COMPONENTS_MAX ? TBED_ERR_STRING_COMPONENTS : slow_resolve(slow, id);
}

static enum tbed_status slow_entry(struct slow *slow, const uint8_t *at)
{
    enum tbed_status status = TBED_OK;
    bool is_in_text = false;
    while (status == TBED_OK && *at != 0xFF) {
        if ((*at & 0xC0) == 0x80) {
            uint32_t word = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
            status = slow_refer(slow, word & TBED_ID_MAX);
            at += 4;
            is_in_text = false;
            continue;
        }
        size_t step = tbed_utf8_step(at, 4);
        slow->component_count += !is_in_text;
        is_in_text = true;
        status =
            slow->component_count > COMPONENTS_MAX ? TBED_ERR_STRING_COMPONENTS : slow_add(slow, at, step);
        at += step;
    }
    return status;
}

static enum tbed_status slow_location(struct slow *slow, uint32_t id)
{
    char pc[16];
    enum tbed_status status = slow_refer(slow, build.entries[0]);
    slow->component_count++;
    int nbytes = snprintf(pc, sizeof pc, "+0x%x", 0x10 + ((id - UNIT_FIRST) << 2));
    if (status == TBED_OK && slow->component_count > COMPONENTS_MAX)
        return TBED_ERR_STRING_COMPONENTS;
    return status == TBED_OK ? slow_add(slow, (const uint8_t *)pc, (size_t)nbytes) : status;
}

static bool slow_binding(uint32_t id, uint32_t *string_ret)
{
    for (uint32_t i = build.binding_count; i-- > 0 && id <= TBED_ID_METADATA;) {
        *string_ret = build.bindings[i].string;
        if (id >= build.bindings[i].first && id - build.bindings[i].first < build.bindings[i].count)
            return true;
    }
    return false;
}

static enum tbed_status slow_open(struct slow *slow, uint32_t id)
{
    const uint8_t *content;
    uint32_t nbytes;
    if (id > TBED_ID_METADATA) {
        enum tbed_status status = slow_find(id, &content, &nbytes);
        return status == TBED_OK ? slow_entry(slow, content) : slow_trouble(slow, id, status);
    }
    uint32_t bound_to;
    if (slow_binding(id, &bound_to))
        return slow_resolve(slow, bound_to);
    if (build.entry_count > 0 && id >= UNIT_FIRST && id < UNIT_FIRST + UNIT_COUNT)
        return slow_location(slow, id);
    return slow_trouble(slow, id, TBED_ERR_STRING_UNBOUND);
}

static enum tbed_status slow_resolve(struct slow *slow, uint32_t id)
{
    for (uint32_t i = 0; i < slow->depth; i++)
        if (slow->above[i] == id)
            return TBED_ERR_STRING_CYCLE;
    uint32_t bound_to;
    bool is_bound = slow_binding(id, &bound_to);
    if ((is_bound ? slow->bound_count : slow->depth - slow->bound_count) == TBED_STRING_DEPTH_MAX)
        return TBED_ERR_STRING_DEPTH;
    slow->above[slow->depth++] = id;
    slow->bound_count += is_bound;
    enum tbed_status status = slow_open(slow, id);
    slow->depth--;
    slow->bound_count -= is_bound;
    return status;
}

/* ---- The comparison ---- */

static const struct tbed_string_budget budget = {
    .size = sizeof budget, .component_count = COMPONENTS_MAX, .nbytes = TEXT_MAX};

/* Queries one id in every way. */
struct asked {
    uint32_t id;
    enum tbed_status refused; /* OK: 'slow' is its text */
    struct slow slow;
};

struct poured {
    char text[TEXT_MAX + 64];
    size_t nbytes;
};

static bool pour(void *context, const char *text, size_t nbytes)
{
    struct poured *poured = context;
    REQUIRE(nbytes > 0 && nbytes <= sizeof poured->text - poured->nbytes);
    memcpy(poured->text + poured->nbytes, text, nbytes);
    poured->nbytes += nbytes;
    return true;
}

static bool is_refusal(enum tbed_status status)
{
    return status == TBED_ERR_STRING_CYCLE || status == TBED_ERR_STRING_DEPTH ||
           status == TBED_ERR_STRING_COMPONENTS || status == TBED_ERR_STRING_BYTES;
}

/* If several budgets are exceeded, any of them may be reported. A cycle is not a budget. */
static void require_status(const struct asked *asked, enum tbed_status status)
{
    if (asked->refused == TBED_OK)
        REQUIRE(status == asked->slow.trouble);
    else if (asked->refused == TBED_ERR_STRING_CYCLE)
        REQUIRE(status == TBED_ERR_STRING_CYCLE);
    else
        REQUIRE(is_refusal(status) && status != TBED_ERR_STRING_CYCLE);
}

static void require_text(const struct asked *asked, const char *text, size_t nbytes)
{
    if (asked->refused == TBED_OK)
        REQUIRE(nbytes == asked->slow.nbytes && memcmp(text, asked->slow.text, nbytes) == 0);
}

static void compare_stream(const struct tbed_reader *reader, const struct asked *asked)
{
    struct poured poured = {.nbytes = 0};
    require_status(asked, tbed_string_stream(reader, asked->id, &budget, pour, &poured));
    require_text(asked, poured.text, poured.nbytes);
}

/* Code locations have a spelling of their own, which this oracle does not know. */
static bool is_place(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_id_info info;
    tbed_id_resolve(reader, id, &info);
    return info.kind == TBED_ID_KIND_CODE || info.kind == TBED_ID_KIND_NATIVE;
}

static void require_name(const struct tbed_reader *reader, const struct asked *asked,
                         const struct tbed_name *name)
{
    char text[TEXT_MAX + 64];
    REQUIRE(tbed_id_text(reader, asked->id, TBED_NAME_ALL, text, sizeof text) == name->nbytes);
    REQUIRE(memcmp(text, name->text, name->nbytes) == 0);
    if (!is_place(reader, asked->id))
        require_text(asked, name->text, name->nbytes);
}

static void compare_resolve(const struct tbed_reader *reader, const struct asked *asked)
{
    char text[TEXT_MAX + 64], cut[10];
    size_t nbytes, cut_nbytes;
    struct tbed_name name, again;
    enum tbed_status status = tbed_string_resolve(reader, asked->id, text, sizeof text, &nbytes);
    REQUIRE(tbed_string_resolve(reader, asked->id, cut, sizeof cut, &cut_nbytes) == status);
    REQUIRE(cut_nbytes == nbytes && strlen(cut) <= 9 && memcmp(text, cut, strlen(cut)) == 0);
    if (asked->refused != TBED_OK)
        return;
    REQUIRE(status == asked->slow.trouble && text[nbytes] == '\0');
    require_text(asked, text, nbytes);
    enum tbed_status name_status = tbed_name_get(reader, asked->id, &name);
    REQUIRE(name_status == status || (name_status == TBED_OK && is_place(reader, asked->id)));
    require_name(reader, asked, &name);
    REQUIRE(name.text[name.nbytes] == '\0' && name.id == asked->id);
    REQUIRE(tbed_name_get(reader, asked->id, &again) == name_status && again.text == name.text);
}

static void compare_length(const struct tbed_reader *reader, const struct asked *asked)
{
    uint64_t nbytes = 0;
    enum tbed_status status = tbed_string_length(reader, asked->id, NULL, &nbytes);
    if (asked->refused == TBED_OK)
        REQUIRE(status == asked->slow.trouble && nbytes == asked->slow.nbytes);
    if (asked->refused == TBED_ERR_STRING_CYCLE)
        REQUIRE(status == TBED_ERR_STRING_CYCLE);
    if (asked->refused == TBED_ERR_STRING_BYTES)
        REQUIRE(nbytes > TEXT_MAX || is_refusal(status));
}

static void compare_walk(const struct tbed_reader *reader, const struct asked *asked)
{
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    struct poured poured = {.nbytes = 0};
    uint32_t open[2 * TBED_STRING_DEPTH_MAX], depth = 0;
    enum tbed_status status;
    REQUIRE(tbed_string_walk_open(reader, asked->id, &budget, &walk) == TBED_OK);
    while ((status = tbed_string_walk_next(walk, &node)) == TBED_OK) {
        depth -= node.step == TBED_STRING_LEAVE;
        REQUIRE(node.depth == depth && depth < 2 * TBED_STRING_DEPTH_MAX + (node.step != TBED_STRING_ENTER));
        if (node.step == TBED_STRING_LEAVE)
            REQUIRE(open[depth] == node.id);
        else if (node.step == TBED_STRING_ENTER)
            open[depth++] = node.id;
        else
            pour(&poured, node.text, node.nbytes);
    }
    tbed_string_walk_close(walk);
    REQUIRE(status == TBED_END ? depth == 0 : is_refusal(status));
    if (asked->refused == TBED_OK)
        REQUIRE(status == TBED_END);
    require_text(asked, poured.text, poured.nbytes);
}

static void compare_label(const struct tbed_reader *reader, const struct asked *asked)
{
    struct tbed_name label, again;
    /* Asking for each would cost a millisecond and test nothing new. */
    if (asked->refused != TBED_OK && asked->id % 8 != 0)
        return;
    enum tbed_status status = tbed_event_label(reader, asked->id, &label);
    if (asked->refused != TBED_OK)
        return;
    const char *divider = memchr(asked->slow.text, DIVIDER, asked->slow.nbytes);
    size_t nbytes = divider != NULL ? (size_t)(divider - asked->slow.text) : asked->slow.nbytes;
    if (status == TBED_OK && !is_place(reader, asked->id)) /* otherwise it has stand-ins of its own */
        REQUIRE(label.nbytes == nbytes && memcmp(label.text, asked->slow.text, nbytes) == 0);
    REQUIRE(status == TBED_OK || status == asked->slow.trouble);
    REQUIRE(tbed_event_label(reader, asked->id, &again) == status && again.text == label.text);
    if (label.id != TBED_ID_INVALID) {
        bool is_equal;
        REQUIRE(tbed_string_equals_text(reader, label.id, label.text, label.nbytes, NULL, &is_equal) ==
                TBED_OK);
        REQUIRE(is_equal);
    }
}

/* The concatenation of the parts is the text. */
static void compare_parts(const struct tbed_reader *reader, const struct asked *asked)
{
    struct tbed_event_parts *parts;
    struct tbed_name part;
    struct poured poured = {.nbytes = 0};
    enum tbed_status status, first = TBED_OK;
    REQUIRE(tbed_event_parts_open(reader, asked->id, &budget, &parts) == TBED_OK);
    for (int count = 0;; count++) {
        status = tbed_event_parts_next(parts, &part);
        if (status == TBED_END || status == TBED_ERR_STRING_COMPONENTS || status == TBED_ERR_STRING_BYTES)
            break;
        REQUIRE(memchr(part.text, DIVIDER, part.nbytes) == NULL);
        first = first == TBED_OK ? status : first;
        if (count > 0)
            pour(&poured, "\x1E", 1);
        if (part.nbytes > 0)
            pour(&poured, part.text, part.nbytes);
    }
    tbed_event_parts_close(parts);
    if (asked->refused == TBED_OK)
        REQUIRE(status == TBED_END && first == asked->slow.trouble);
    require_text(asked, poured.text, poured.nbytes);
}

static void compare_pair(const struct tbed_reader *reader, const struct asked *a, const struct asked *b)
{
    bool equal, equals_text;
    enum tbed_status status = tbed_string_equals(reader, a->id, b->id, NULL, &equal);
    REQUIRE(status == TBED_OK || !equal);
    if (a->refused != TBED_OK || b->refused != TBED_OK)
        return;
    bool is_good = a->slow.trouble == TBED_OK && b->slow.trouble == TBED_OK;
    bool is_same =
        a->slow.nbytes == b->slow.nbytes && memcmp(a->slow.text, b->slow.text, a->slow.nbytes) == 0;
    REQUIRE((status == TBED_OK) == is_good && equal == (is_good && is_same));
    status = tbed_string_equals_text(reader, a->id, b->slow.text, b->slow.nbytes, NULL, &equals_text);
    REQUIRE(status == a->slow.trouble && equals_text == (status == TBED_OK && is_same));
}

static uint32_t asked_id(uint32_t i)
{
    if (i < 4)
        return i * 3 + (i == 3) * (UNIT_FIRST - 9 + 1);
    return i - 4 < build.entry_count ? build.entries[build.entry_count - 1 - (i - 4)] : TBED_ID_METADATA + i;
}

static void compare_all(const struct tbed_reader *reader)
{
    static struct asked all[ASKED_MAX];
    for (uint32_t i = 0; i < ASKED_MAX; i++) {
        struct asked *asked = &all[i];
        memset(asked, 0, sizeof *asked);
        asked->id = asked_id(i);
        asked->refused = slow_resolve(&asked->slow, asked->id);
        compare_stream(reader, asked);
        compare_resolve(reader, asked);
        compare_length(reader, asked);
        compare_walk(reader, asked);
        compare_label(reader, asked);
        compare_parts(reader, asked);
        for (uint32_t j = 0; j <= i; j++) {
            compare_pair(reader, asked, &all[j]);
            compare_pair(reader, &all[j], asked);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct input input = {data, data + (nbytes < 4096 ? nbytes : 4096)};
    struct tbed_reader *reader;
    run(&input);
    uint8_t *file = file_make();
    REQUIRE(tbed_reader_open_memory(file, sizeof build.words, NULL, &reader, NULL) == TBED_OK);
    compare_all(reader);
    tbed_reader_close(reader);
    return 0;
}
