/*
 * The slow reader, and the comparison.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/measureme/profile_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: differs: %s\n", __FILE__, __LINE__, #condition);                         \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

struct oracle {
    uint32_t version;
    bool paged;
    uint8_t *streams[3]; /* put together */
    size_t nbytes[3];
    struct mm_event *events;
    size_t event_count;
    uint64_t unmatched_starts, unmatched_ends;
};

static uint64_t get_le(const uint8_t *at, int nbytes)
{
    uint64_t value = 0;
    while (nbytes-- > 0)
        value = value << 8 | at[nbytes];
    return value;
}

/* ---- The container ---- */

static enum tbed_status version_of(struct oracle *oracle, const uint8_t *header, size_t nbytes, bool paged)
{
    if (nbytes < 8)
        return TBED_ERR_PROFILE_CUT;
    oracle->version = (uint32_t)get_le(header + 4, 4);
    oracle->paged = paged;
    uint32_t version = oracle->version;
    bool is_known = paged ? version >= 6 && version <= 9 : version == 0 || (version >= 3 && version <= 5);
    return is_known ? TBED_OK : TBED_ERR_PROFILE_VERSION;
}

static enum tbed_status header_of(struct oracle *oracle, const void *const bytes[3], const size_t nbytes[3])
{
    static const char *const magics[] = {"MMES", "MMSD", "MMSI"};
    size_t sum = 0;
    for (int i = 0; i < 3; i++)
        sum += bytes[i] == NULL ? 0 : nbytes[i];
    if (sum == 0)
        return TBED_ERR_EMPTY;
    if (bytes[0] != NULL && nbytes[0] >= 4 && memcmp(bytes[0], "MMPD", 4) == 0)
        return version_of(oracle, bytes[0], nbytes[0], true);
    for (int i = 0; i < 3; i++)
        if (bytes[i] != NULL && nbytes[i] >= 4 && memcmp(bytes[i], magics[i], 4) == 0)
            return version_of(oracle, bytes[i], nbytes[i], false);
    return TBED_ERR_NOT_A_TRACE;
}

static uint32_t event_nbytes(const struct oracle *oracle)
{
    return oracle->version == 9 ? 32 : 24;
}

static void stream_add(struct oracle *oracle, int stream, const uint8_t *bytes, size_t nbytes)
{
    if (nbytes == 0)
        return;
    uint8_t *grown = realloc(oracle->streams[stream], oracle->nbytes[stream] + nbytes);
    SAME(grown != NULL);
    memcpy(grown + oracle->nbytes[stream], bytes, nbytes);
    oracle->streams[stream] = grown;
    oracle->nbytes[stream] += nbytes;
}

/* Where events start: behind the header, if the first page is not whole events without one. */
static size_t events_start(const struct oracle *oracle, size_t first_page_nbytes)
{
    bool has_magic = oracle->nbytes[0] >= 4 && memcmp(oracle->streams[0], "MMES", 4) == 0;
    return !has_magic && first_page_nbytes > 0 && first_page_nbytes % event_nbytes(oracle) == 0 ? 0 : 8;
}

static size_t put_pages_together(struct oracle *oracle, const uint8_t *bytes, size_t nbytes)
{
    size_t at = 8, first_page_nbytes = 0;
    while (at + 5 <= nbytes) {
        uint8_t tag = bytes[at];
        size_t length = get_le(bytes + at + 1, 4);
        at += 5;
        length = length < nbytes - at ? length : nbytes - at;
        if (tag == 0 && first_page_nbytes == 0)
            first_page_nbytes = length;
        if (tag <= 2)
            stream_add(oracle, tag, bytes + at, length);
        at += length;
    }
    return events_start(oracle, first_page_nbytes);
}

static size_t put_files_together(struct oracle *oracle, const void *const bytes[3], const size_t nbytes[3])
{
    static const char *const magics[] = {"MMES", "MMSD", "MMSI"};
    for (int i = 0; i < 3; i++) {
        if (bytes[i] == NULL)
            continue;
        bool has_magic = nbytes[i] >= 8 && memcmp(bytes[i], magics[i], 4) == 0;
        bool is_of_another = has_magic && get_le((const uint8_t *)bytes[i] + 4, 4) != oracle->version;
        if (i == 0 || !is_of_another)
            stream_add(oracle, i, bytes[i], nbytes[i]);
    }
    return events_start(oracle, oracle->nbytes[0]);
}

/* ---- Events ---- */

static struct mm_event event_decode(const struct oracle *oracle, const uint8_t *at)
{
    int width = oracle->version == 9 ? 8 : 4;
    struct mm_event event = {.kind = get_le(at, width), .id = get_le(at + width, width)};
    at += 2 * width;
    event.thread = get_le(at, 4);
    event.begin = get_le(at + 4, 4) | get_le(at + 14, 2) << 32;
    event.end = get_le(at + 8, 4) | get_le(at + 12, 2) << 32;
    event.type = MM_INTERVAL;
    if (event.end == UINT64_C(0xFFFFFFFFFFFF)) {
        event.type = MM_INSTANT;
        event.end = event.begin;
    } else if (event.end == UINT64_C(0xFFFFFFFFFFFE) && oracle->version >= 8) {
        event.type = MM_INTEGER;
        event.end = 0;
    }
    return event;
}

/* Format 0: 'open' are the starts that no end has taken, in the order of the file. */
static void pair(struct oracle *oracle, const uint8_t *at, size_t count)
{
    struct mm_event *open = calloc(count + 1, sizeof *open);
    size_t open_count = 0;
    SAME(open != NULL);
    for (size_t i = 0; i < count; i++, at += 24) {
        struct mm_event event = {.kind = get_le(at, 4), .id = get_le(at + 4, 4), .thread = get_le(at + 8, 8)};
        unsigned type = at[16] & 3;
        event.begin = event.end = get_le(at + 16, 8) >> 2;
        event.type = type == 2 ? MM_INSTANT : MM_INTERVAL;
        size_t found = open_count;
        while (type == 1 && found > 0 &&
               (open[found - 1].thread != event.thread || open[found - 1].kind != event.kind ||
                open[found - 1].id != event.id))
            found--;
        if (type == 0)
            open[open_count++] = event;
        if (type == 2)
            oracle->events[oracle->event_count++] = event;
        if (type != 1)
            continue;
        if (found == 0) {
            oracle->unmatched_ends++;
            continue;
        }
        event.begin = open[found - 1].begin;
        oracle->events[oracle->event_count++] = event;
        size_t kept = found - 1;
        for (size_t j = found; j < open_count; j++)
            if (open[j].thread != event.thread)
                open[kept++] = open[j];
        oracle->unmatched_starts += open_count - kept - 1;
        open_count = kept;
    }
    oracle->unmatched_starts += open_count;
    free(open);
}

static void events_decode(struct oracle *oracle, size_t start)
{
    size_t left = oracle->nbytes[0] < start ? 0 : oracle->nbytes[0] - start;
    size_t count = left / event_nbytes(oracle);
    oracle->events = calloc(count + 1, sizeof *oracle->events);
    SAME(oracle->events != NULL);
    const uint8_t *at = left == 0 ? NULL : oracle->streams[0] + start;
    if (oracle->version == 0) {
        pair(oracle, at, count);
        return;
    }
    for (; oracle->event_count < count; at += event_nbytes(oracle))
        oracle->events[oracle->event_count++] = event_decode(oracle, at);
}

static void check_chunk(const struct oracle *oracle, const struct mm_file *file, const struct mm_chunk *chunk)
{
    uint32_t nbytes = oracle->version == 0 ? 40 : event_nbytes(oracle);
    SAME(chunk->event_nbytes == nbytes && chunk->event_count > 0);
    SAME((uint64_t)chunk->event_count * nbytes <= 262144);
    for (uint32_t i = 0; i < chunk->event_count; i++) {
        const struct mm_event *wanted = &oracle->events[chunk->first + i];
        struct mm_event event;
        SAME(chunk->first + i < oracle->event_count);
        mm_event_load(chunk->bytes + (size_t)i * nbytes, mm_event_shape(file), &event);
        SAME(event.kind == wanted->kind && event.id == wanted->id && event.thread == wanted->thread);
        SAME(event.begin == wanted->begin && event.end == wanted->end && event.type == wanted->type);
    }
}

static void check_events(const struct oracle *oracle, const struct mm_file *file, const struct mm_info *info,
                         const uint8_t *bytes, size_t nbytes)
{
    uint64_t count = 0;
    for (size_t i = 0; i < mm_chunk_count(file); i++) {
        struct mm_chunk chunk = mm_chunk_get(file, i);
        SAME(chunk.first == count && chunk.offset < nbytes);
        if (oracle->version != 0) /* cut by a page's end, at least its first byte is there */
            SAME(chunk.bytes[0] == bytes[chunk.offset]);
        check_chunk(oracle, file, &chunk);
        count += chunk.event_count;
    }
    SAME(count == oracle->event_count && info->event_count == count && mm_event_count(file) == count);
    SAME(info->unmatched_start_count == oracle->unmatched_starts);
    SAME(info->unmatched_end_count == oracle->unmatched_ends);
}

/* ---- Strings ---- */

/* RFC 3629 by values, not by ranges of bytes. */
static size_t code_point(const uint8_t *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t nbytes = at[0] < 0x80   ? 1
                    : at[0] < 0xC0 ? 0
                    : at[0] < 0xE0 ? 2
                    : at[0] < 0xF0 ? 3
                    : at[0] < 0xF8 ? 4
                                   : 0;
    if (nbytes <= 1)
        return nbytes;
    uint32_t code = at[0] & (0x7Fu >> nbytes);
    for (size_t i = 1; i < nbytes; i++) {
        if (i >= left || (at[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    return code >= least[nbytes] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) ? nbytes : 0;
}

struct item {
    enum tbed_status status; /* OK: 'nbytes' of text at 'address', or a reference */
    bool is_reference;
    uint64_t id;
    size_t address, nbytes;
    size_t behind;
};

static struct item reference_at(const struct oracle *oracle, size_t at)
{
    const uint8_t *bytes = oracle->streams[1] + at;
    size_t nbytes = oracle->version <= 6 ? 4 : oracle->version == 9 ? 9 : 5;
    if (nbytes > oracle->nbytes[1] - at)
        return (struct item){.status = TBED_ERR_PROFILE_STRING};
    uint64_t id = nbytes == 4 ? (uint64_t)(bytes[0] & 0x3F) << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]
                              : get_le(bytes + 1, (int)nbytes - 1);
    return (struct item){.is_reference = true, .id = id, .behind = at + nbytes};
}

/* Format 0: all the text of one value. */
static struct item value_at(const struct oracle *oracle, size_t at)
{
    const uint8_t *bytes = oracle->streams[1];
    if (at < oracle->nbytes[1] && bytes[at] == 0)
        return (struct item){.status = TBED_END, .behind = at + 1};
    if (oracle->nbytes[1] - at < 3 || bytes[at] != 1)
        return (struct item){.status = TBED_ERR_PROFILE_STRING};
    size_t nbytes = get_le(bytes + at + 1, 2), done = 0;
    at += 3;
    if (nbytes > oracle->nbytes[1] - at)
        return (struct item){.status = TBED_ERR_PROFILE_STRING};
    while (done < nbytes) {
        size_t step = code_point(bytes + at + done, nbytes - done);
        if (step == 0)
            return (struct item){.status = TBED_ERR_PROFILE_STRING};
        done += step;
    }
    return (struct item){.address = at, .nbytes = nbytes, .behind = at + nbytes};
}

static bool is_text(const struct oracle *oracle, uint8_t byte)
{
    return byte != 0xFF && (oracle->version <= 6 ? byte < 0x80 || byte >= 0xC0 : byte != 0xFE);
}

static struct item item_at(const struct oracle *oracle, size_t at)
{
    const uint8_t *bytes = oracle->streams[1];
    if (oracle->version == 0)
        return value_at(oracle, at);
    struct item item = {.address = at, .behind = at};
    while (item.behind < oracle->nbytes[1] && is_text(oracle, bytes[item.behind])) {
        size_t step = code_point(bytes + item.behind, oracle->nbytes[1] - item.behind);
        if (step == 0)
            return (struct item){.status = TBED_ERR_PROFILE_STRING};
        item.behind += step;
    }
    item.nbytes = item.behind - at;
    if (item.nbytes > 0)
        return item;
    if (at >= oracle->nbytes[1])
        return (struct item){.status = TBED_ERR_PROFILE_STRING};
    if (bytes[at] == 0xFF)
        return (struct item){.status = TBED_END, .behind = at + 1};
    return reference_at(oracle, at);
}

/* Takes pieces until they make up the item's text. */
static enum tbed_status check_text(const struct oracle *oracle, struct mm_string_walk *walk,
                                   const struct item *item)
{
    for (size_t done = 0; done < item->nbytes;) {
        struct mm_component component = {.nbytes = 0};
        enum tbed_status status = mm_component_next(walk, &component);
        SAME(status == TBED_OK && !component.is_reference && component.nbytes > 0);
        SAME(component.nbytes <= item->nbytes - done);
        SAME(memcmp(component.text, oracle->streams[1] + item->address + done, component.nbytes) == 0);
        done += component.nbytes;
    }
    return TBED_OK;
}

/* Reads one entry, as far as possible; returns where reading continues. */
static size_t check_entry(const struct oracle *oracle, struct mm_string_walk *walk, size_t at)
{
    struct mm_component component;
    struct item item;
    while ((item = item_at(oracle, at)).status == TBED_OK) {
        if (item.is_reference) {
            SAME(mm_component_next(walk, &component) == TBED_OK);
            SAME(component.is_reference && component.id == item.id);
        } else {
            check_text(oracle, walk, &item);
        }
        at = item.behind;
        SAME(walk->address == at || item.nbytes == 0);
    }
    enum tbed_status status;
    while ((status = mm_component_next(walk, &component)) == TBED_OK)
        SAME(item.status == TBED_ERR_PROFILE_STRING &&
             !component.is_reference); /* sound text before the damage */
    SAME(status == item.status);
    if (status == TBED_END) {
        SAME(walk->address == item.behind);
        return item.behind;
    }
    uint8_t terminator = oracle->version == 0 ? 0 : 0xFF;
    size_t behind = walk->damage_address;
    SAME(behind >= at && behind <= oracle->nbytes[1]);
    while (behind < oracle->nbytes[1] && oracle->streams[1][behind] != terminator)
        behind++;
    behind += behind < oracle->nbytes[1];
    SAME(walk->address == behind);
    return behind;
}

/* 'walk' has taken an entry; if it was damaged, that is the next damage. */
static void check_damage_next(const struct mm_string_walk *walk, uint64_t *last_address,
                              struct mm_string_walk *damages)
{
    if (walk->damage_address == *last_address)
        return;
    *last_address = walk->damage_address;
    SAME(mm_string_damage_next(damages) == TBED_ERR_PROFILE_STRING);
    SAME(damages->damage_address == walk->damage_address && damages->address == walk->address);
}

static void check_strings(const struct oracle *oracle, const struct mm_file *file, bool thorough)
{
    struct mm_string_walk walk, damages;
    size_t at = mm_string_first(file);
    uint64_t last_address = 0;
    SAME(at == 8);
    mm_string_walk_start(file, at, &walk);
    mm_string_walk_start(file, at, &damages);
    while (at < oracle->nbytes[1]) {
        at = check_entry(oracle, &walk, at);
        check_damage_next(&walk, &last_address, &damages);
    }
    SAME(mm_string_damage_next(&damages) == TBED_END);
    for (at = 8; thorough && at <= oracle->nbytes[1]; at++) {
        mm_string_walk_start(file, at, &walk);
        check_entry(oracle, &walk, at);
    }
}

/* ---- Ids ---- */

/* Does the first string begin as METADATA does? */
static bool starts_with_metadata(const struct oracle *oracle)
{
    static const char *const starts[] = {"{ \"start_time\":", "{\"start_time\":"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (oracle->nbytes[1] >= 8 + strlen(starts[i]) &&
            memcmp(oracle->streams[1] + 8, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* The address that the last valid record for the id has, or METADATA without one; 0: none. */
static uint64_t address_of(const struct oracle *oracle, uint64_t id)
{
    size_t nbytes = oracle->version == 9 ? 16 : 8, width = nbytes / 2;
    uint64_t found = 0;
    if (oracle->version >= 4 && id >= 100000003)
        return id - 100000003 >= 8 && id - 100000003 < oracle->nbytes[1] ? id - 100000003 : 0;
    for (size_t at = 8; at + nbytes <= oracle->nbytes[2]; at += nbytes) {
        uint64_t address = get_le(oracle->streams[2] + at + width, (int)width);
        bool is_virtual = oracle->version < 4 || id <= 100000001;
        if (get_le(oracle->streams[2] + at, (int)width) == id && is_virtual && address >= 8 &&
            address < oracle->nbytes[1])
            found = address;
    }
    if (found == 0 && oracle->version >= 4 && id == 100000001 && starts_with_metadata(oracle))
        return 8;
    return found;
}

static void check_id(const struct oracle *oracle, const struct mm_file *file, uint64_t id)
{
    uint64_t address = 0, wanted = address_of(oracle, id);
    SAME(mm_string_address(file, id, &address) == (wanted != 0));
    SAME(wanted == 0 || address == wanted);
}

static void check_ids(const struct oracle *oracle, const struct mm_file *file, const struct mm_info *info)
{
    struct mm_index_record record;
    size_t count = 0;
    for (; mm_index_get(file, count, &record); count++) {
        size_t nbytes = oracle->version == 9 ? 16 : 8, width = nbytes / 2;
        const uint8_t *at = oracle->streams[2] + 8 + count * nbytes;
        SAME(record.id == get_le(at, (int)width) && record.address == get_le(at + width, (int)width));
        check_id(oracle, file, record.id);
        check_id(oracle, file, record.id + 1);
    }
    SAME(info->index_count == count);
    for (uint64_t id = 0; id < 16; id++) {
        check_id(oracle, file, id);
        check_id(oracle, file, UINT64_MAX - id);
        check_id(oracle, file, UINT32_MAX - id);
        check_id(oracle, file, info->first_regular_id - 8 + id);
        check_id(oracle, file, info->first_regular_id + oracle->nbytes[1] - 8 + id);
    }
}

/* ---- All ---- */

static void check_damage(const struct mm_file *file, const struct mm_info *info, const size_t nbytes[3])
{
    struct mm_damage damage;
    size_t count = 0;
    for (; mm_damage_get(file, count, &damage); count++) {
        SAME(damage.status >= TBED_ERR_PROFILE_VERSION && damage.status <= TBED_ERR_PROFILE_EVENT);
        SAME(damage.offset == UINT64_MAX || damage.offset < nbytes[damage.file]);
    }
    SAME(count == (info->damage_count < 10000 ? info->damage_count : 10000));
}

static void compare(struct oracle *oracle, const struct mm_file *file, const void *const bytes[3],
                    const size_t nbytes[3], bool thorough)
{
    size_t start = oracle->paged ? put_pages_together(oracle, bytes[0], nbytes[0])
                                 : put_files_together(oracle, bytes, nbytes);
    struct mm_info info;
    mm_info(file, &info);
    SAME(info.version == oracle->version && info.paged == oracle->paged);
    for (int i = 0; i < 3; i++)
        SAME(info.stream_nbytes[i] == oracle->nbytes[i]);
    events_decode(oracle, start);
    check_events(oracle, file, &info, bytes[0], nbytes[0]);
    check_strings(oracle, file, thorough);
    if (thorough)
        check_ids(oracle, file, &info);
    check_damage(file, &info, nbytes);
}

enum tbed_status profile_compare(const void *const bytes[MM_STREAM_COUNT],
                                 const size_t nbytes[MM_STREAM_COUNT], bool thorough)
{
    struct oracle oracle = {.version = 0};
    struct mm_file *file = NULL;
    struct tbed_error error;
    enum tbed_status wanted = header_of(&oracle, bytes, nbytes);
    enum tbed_status status = mm_open_memory(bytes, nbytes, &file, &error);
    SAME(status == wanted);
    if (status == TBED_OK)
        compare(&oracle, file, bytes, nbytes, thorough);
    else
        SAME(error.status == status && file == NULL);
    mm_close(file);
    free(oracle.events);
    for (int i = 0; i < 3; i++)
        free(oracle.streams[i]);
    return status;
}
