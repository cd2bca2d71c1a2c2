/*
 * Whatever traces contain, what is exported for Perfetto is protobuf with the fields that it knows: interned texts are given
 * once and before they are used, and tracks are described before they are used.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/exported.h"
#include "fuzz/support/fuzz.h"

struct bytes {
    const uint8_t *at, *end;
};

/* Numbers that have been seen; 0 is none. */
struct set {
    uint64_t *slots;
    size_t count, room; /* a power of two */
};

struct checker {
    struct set interned, tracks;
    uint64_t sequence, event_count;
};

/* ---- Sets ---- */

static uint64_t *find(const struct set *set, uint64_t number)
{
    size_t at = number & (set->room - 1);
    while (set->slots[at] != 0 && set->slots[at] != number)
        at = (at + 1) & (set->room - 1);
    return &set->slots[at];
}

static bool has(const struct set *set, uint64_t number)
{
    return set->room > 0 && *find(set, number) != 0;
}

static void add(struct set *set, uint64_t number)
{
    if (set->count * 2 >= set->room) {
        struct set larger = {.count = set->count, .room = set->room * 2 + (set->room == 0) * 64};
        larger.slots = calloc(larger.room, sizeof *larger.slots);
        REQUIRE(larger.slots != NULL);
        for (size_t i = 0; i < set->room; i++)
            if (set->slots[i] != 0)
                *find(&larger, set->slots[i]) = set->slots[i];
        free(set->slots);
        *set = larger;
    }
    set->count += *find(set, number) == 0;
    *find(set, number) = number;
}

/* ---- Protobuf ---- */

static uint64_t read_varint(struct bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        REQUIRE(bytes->at < bytes->end && shift < 64);
        uint8_t byte = *bytes->at++;
        REQUIRE(shift < 63 || byte <= 1);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
}

struct field {
    uint64_t number, value; /* of VARINT and FIXED64 */
    unsigned type;
    struct bytes bytes; /* of BYTES */
};

static bool next_field(struct bytes *message, struct field *field)
{
    if (message->at == message->end)
        return false;
    uint64_t tag = read_varint(message);
    *field = (struct field){.number = tag >> 3, .type = tag & 7};
    REQUIRE(field->number > 0 && (field->type == 0 || field->type == 1 || field->type == 2));
    if (field->type == 0) {
        field->value = read_varint(message);
    } else if (field->type == 1) {
        REQUIRE(message->end - message->at >= 8);
        memcpy(&field->value, message->at, 8);
        message->at += 8;
    } else {
        uint64_t nbytes = read_varint(message);
        REQUIRE(nbytes <= (uint64_t)(message->end - message->at));
        field->bytes = (struct bytes){message->at, message->at + nbytes};
        message->at += nbytes;
    }
    return true;
}

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t hash = (a * UINT64_C(0x9E3779B97F4A7C15) ^ b) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 31 ^ c) * UINT64_C(0x94D049BB133111EB);
    return hash | 1;
}

/* ---- Packets ---- */

static void check_interned(struct checker *checker, struct bytes data)
{
    struct field list, entry;
    while (next_field(&data, &list)) {
        uint64_t iid = 0;
        REQUIRE(list.type == 2 && list.number >= 1 && list.number <= 4);
        for (struct bytes at = list.bytes; next_field(&at, &entry);)
            if (entry.number == 1)
                iid = entry.value;
        uint64_t key = mix(checker->sequence, list.number, iid);
        REQUIRE(iid != 0 && !has(&checker->interned, key));
        add(&checker->interned, key);
    }
}

static void check_use(struct checker *checker, uint64_t list, uint64_t iid)
{
    REQUIRE(has(&checker->interned, mix(checker->sequence, list, iid)));
}

static void check_track(struct checker *checker, struct bytes track)
{
    struct field field;
    while (next_field(&track, &field))
        if (field.number == 1)
            add(&checker->tracks, mix(1, field.value, 0));
}

static void check_annotation(struct checker *checker, struct bytes annotation)
{
    struct field field;
    unsigned names = 0, values = 0;
    while (next_field(&annotation, &field)) {
        if (field.number == 1)
            check_use(checker, 3, field.value);
        names += field.number == 1 || field.number == 10;
        values += field.number >= 2 && field.number <= 7;
    }
    REQUIRE(names == 1 && values == 1);
}

static void check_event(struct checker *checker, struct bytes event)
{
    struct field field;
    uint64_t type = 0;
    checker->event_count++;
    while (next_field(&event, &field)) {
        if (field.number == 9)
            type = field.value;
        else if (field.number == 11)
            REQUIRE(has(&checker->tracks, mix(1, field.value, 0)));
        else if (field.number == 3 || field.number == 10 || field.number == 34)
            check_use(checker, field.number == 3 ? 1 : field.number == 10 ? 2 : 4, field.value);
        else if (field.number == 4)
            check_annotation(checker, field.bytes);
    }
    REQUIRE(type >= 1 && type <= 4);
}

static void check_packet(struct checker *checker, struct bytes packet)
{
    struct field field;
    bool has_flags = false, has_time = false, has_event = false;
    for (struct bytes at = packet; next_field(&at, &field);) {
        if (field.number == 10)
            checker->sequence = field.value;
        has_flags |= field.number == 13 && (field.value == 1 || field.value == 2);
        has_time |= field.number == 8;
    }
    REQUIRE(checker->sequence != 0 && has_flags);
    for (struct bytes at = packet; next_field(&at, &field);) {
        if (field.number == 12)
            check_interned(checker, field.bytes);
        else if (field.number == 60)
            check_track(checker, field.bytes);
        else if (field.number == 11)
            check_event(checker, field.bytes);
        has_event |= field.number == 11;
    }
    REQUIRE(has_time == has_event);
}

static void check(struct tbed_reader *const *readers, size_t count, const struct tbed_export_options *options)
{
    struct exported exported = export_twice(TBED_FOREIGN_PERFETTO, readers, count, options);
    struct checker checker = {0};
    struct field packet;
    for (struct bytes at = {exported.bytes, exported.bytes + exported.nbytes}; next_field(&at, &packet);) {
        REQUIRE(packet.number == 1 && packet.type == 2);
        check_packet(&checker, packet.bytes);
    }
    REQUIRE(checker.event_count == exported.result.written_count);
    free(checker.interned.slots);
    free(checker.tracks.slots);
    free(exported.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_export_options options = {.size = sizeof options, .skip_counters = true};
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_reader *twice[] = {reader, reader};
    check(twice, 2, NULL);
    check(&reader, 1, &options);
    tbed_reader_close(reader);
    return 0;
}
