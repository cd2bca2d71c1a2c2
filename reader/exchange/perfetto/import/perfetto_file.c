/*
 * Perfetto's protobuf as a trace: the file, which is a sequence of packets, each with its length. A packet that is not
 * well-formed is left out; behind a length that cannot be, the import goes on with the next packet that can be recognised.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/foreign_file.h"
#include "reader/exchange/perfetto/import/perfetto_import.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define START_NBYTES 4096
#define PACKET_TAG   0x0A /* field 1, bytes */

enum {
    PACKET_FTRACE = 1,
    PACKET_TRUSTED_UID = 3,
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CONFIG = 33,
    PACKET_MARKER = 36,
    PACKET_CLEARED = 41,
    PACKET_LOST = 42,
    PACKET_OLD_PROCESS = 43,
    PACKET_OLD_THREAD = 44,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_TRUSTED_PID = 79,
    PACKET_FIRST = 87,
    PACKET_UUID = 89,
    PACKET_MACHINE = 98
};
enum { FLAG_CLEARED = 1 };

/* The wire type of the fields that packets of events have; -1: another field. */
static int wire_of(uint32_t number)
{
    switch (number) {
    case PACKET_FTRACE:
    case PACKET_CLOCKS:
    case PACKET_EVENT:
    case PACKET_INTERNED:
    case PACKET_CONFIG:
    case PACKET_MARKER:
    case PACKET_OLD_PROCESS:
    case PACKET_OLD_THREAD:
    case PACKET_DEFAULTS:
    case PACKET_TRACK:
    case PACKET_UUID:
        return PROTO_BYTES;
    case PACKET_TRUSTED_UID:
    case PACKET_TIMESTAMP:
    case PACKET_SEQUENCE:
    case PACKET_FLAGS:
    case PACKET_CLEARED:
    case PACKET_LOST:
    case PACKET_CLOCK:
    case PACKET_TRUSTED_PID:
    case PACKET_FIRST:
    case PACKET_MACHINE:
        return PROTO_VARINT;
    default:
        return -1;
    }
}

/* ---- Which files ---- */

/* Whether the bytes are a packet, or its start. */
static bool looks_like_packet(const char *at, const char *end, bool is_whole)
{
    struct proto_in in = {.at = at, .end = end};
    struct proto_field field;
    bool has_known = false;
    while (tbed_proto_next(&in, &field)) {
        int wire = wire_of(field.number);
        if (wire >= 0 && wire != (int)field.wire)
            return false;
        has_known |= wire >= 0 && field.number != PACKET_FTRACE;
    }
    uint64_t tag;
    bool is_cut = !is_whole && in.is_bad && tbed_proto_varint(in.at, in.end, &tag) > 0 &&
                  wire_of((uint32_t)(tag >> 3)) == (int)(tag & 7);
    return (has_known || is_cut) && (!in.is_bad || is_cut);
}

bool tbed_perfetto_has_start(const char *start, size_t nbytes)
{
    char text[START_NBYTES];
    size_t text_nbytes = tbed_foreign_start(start, nbytes, text, sizeof text);
    uint64_t length;
    if (text_nbytes < 2 || text[0] != PACKET_TAG)
        return false;
    size_t taken = tbed_proto_varint(text + 1, text + text_nbytes, &length);
    size_t left = text_nbytes - 1 - taken;
    if (taken == 0 || length == 0 || length > UINT32_MAX)
        return false;
    return looks_like_packet(text + 1 + taken, text + 1 + taken + (length < left ? (size_t)length : left),
                             length <= left);
}

/* ---- Packets ---- */

static bool read_packet(struct perfetto_import *perfetto, const char *at, size_t nbytes,
                        struct perfetto_packet *packet)
{
    struct proto_in in = {.at = at, .end = at + nbytes};
    struct proto_field field;
    bool is_other = false;
    memset(packet, 0, sizeof *packet);
    while (tbed_proto_next(&in, &field)) {
        int wire = wire_of(field.number);
        if (wire >= 0 && wire != (int)field.wire)
            return false;
        switch (field.number) {
#define KEEP(NUMBER, member, value_of)                                                                       \
    case NUMBER:                                                                                             \
        packet->member = value_of;                                                                           \
        packet->has_##member = true;                                                                         \
        break
            KEEP(PACKET_EVENT, event, field);
            KEEP(PACKET_TRACK, track, field);
            KEEP(PACKET_INTERNED, interned, field);
            KEEP(PACKET_DEFAULTS, defaults, field);
            KEEP(PACKET_CLOCKS, clocks, field);
            KEEP(PACKET_OLD_THREAD, thread, field);
            KEEP(PACKET_TIMESTAMP, timestamp, field.value);
            KEEP(PACKET_CLOCK, clock, field.value);
#undef KEEP
        case PACKET_SEQUENCE:
            packet->sequence = (uint32_t)field.value;
            break;
        case PACKET_FLAGS:
            packet->is_cleared |= (field.value & FLAG_CLEARED) != 0;
            break;
        case PACKET_CLEARED:
            packet->is_cleared |= field.value != 0;
            break;
        case PACKET_LOST:
            packet->has_lost = field.value != 0;
            break;
        default:
            is_other |= wire == PROTO_BYTES ? field.number == PACKET_FTRACE : wire < 0;
        }
    }
    bool is_known = packet->has_event || packet->has_track || packet->has_interned || packet->has_defaults ||
                    packet->has_clocks || packet->has_thread;
    if (is_other && !is_known)
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_PACKETS);
    return !in.is_bad;
}

/* A packet may have several lists of interned texts. */
static bool take_interned(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                          const char *at, size_t nbytes)
{
    struct proto_in in = {.at = at, .end = at + nbytes};
    struct proto_field field;
    while (tbed_proto_next(&in, &field))
        if (field.number == PACKET_INTERNED && !tbed_perfetto_take_interned(perfetto, sequence, &field))
            return false;
    return true;
}

/* False: something in it is not well-formed. What comes before is kept. */
static bool take_packet(struct perfetto_import *perfetto, const char *at, size_t nbytes)
{
    struct perfetto_packet packet;
    if (!read_packet(perfetto, at, nbytes, &packet))
        return false;
    struct perfetto_sequence *sequence = tbed_perfetto_sequence(perfetto, packet.sequence);
    if (sequence == NULL) {
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_PACKETS);
        return true;
    }
    if (packet.has_lost)
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_LOST_PACKETS);
    if (packet.is_cleared)
        tbed_perfetto_sequence_clear(sequence);
    return (!packet.has_clocks || tbed_perfetto_take_clocks(perfetto, packet.sequence, &packet.clocks)) &&
           (!packet.has_defaults || tbed_perfetto_take_defaults(sequence, &packet.defaults)) &&
           (!packet.has_interned || take_interned(perfetto, sequence, at, nbytes)) &&
           (!packet.has_thread ||
            tbed_perfetto_take_thread(perfetto, sequence, packet.sequence, &packet.thread)) &&
           (!packet.has_track || tbed_perfetto_take_track(perfetto, &packet.track)) &&
           (!packet.has_event || tbed_perfetto_take_event(perfetto, sequence, &packet));
}

/* ---- The file ---- */

static void damage(struct perfetto_import *perfetto, enum tbed_status status)
{
    tbed_event_damage(&perfetto->events, status, tbed_foreign_offset(&perfetto->input, perfetto->input.at));
}

/* Makes sure that so many bytes are in the window; false: there are not. */
static bool have(struct perfetto_import *perfetto, size_t nbytes)
{
    struct foreign_input *input = &perfetto->input;
    while ((size_t)(input->end - input->at) < nbytes)
        if (!tbed_foreign_input_more(input))
            return false;
    return true;
}

#define CANDIDATE_NBYTES ((size_t)16 << 10)
#define SEARCH_NBYTES    ((uint64_t)1 << 30)

/* Whether a packet begins at 'at' and another one, or the end of the file, follows it. */
static bool is_packet(struct perfetto_import *perfetto)
{
    const struct foreign_input *input = &perfetto->input;
    uint64_t length;
    size_t taken = tbed_proto_varint(input->at + 1, input->end, &length);
    const char *body = input->at + 1 + taken;
    if (taken == 0 || length < 4 || length > CANDIDATE_NBYTES || length > (size_t)(input->end - body))
        return false;
    perfetto->search_nbytes += length;
    const char *behind = body + length;
    return (behind == input->end || *behind == PACKET_TAG) && looks_like_packet(body, behind, true);
}

/*
 * Behind damage: moves to the next packet that can be recognised, whole in the window. Candidates are looked at within a
 * small window, and the search ends at a bound, because each byte could be one. False: there is none.
 */
static bool find_packet(struct perfetto_import *perfetto)
{
    struct foreign_input *input = &perfetto->input;
    input->at++;
    while (perfetto->search_nbytes < SEARCH_NBYTES && have(perfetto, 1)) {
        const char *tag = memchr(input->at, PACKET_TAG, (size_t)(input->end - input->at));
        perfetto->search_nbytes += (uint64_t)((tag != NULL ? tag : input->end) - input->at) + 1;
        input->at = tag != NULL ? tag : input->end;
        if (tag == NULL)
            continue;
        have(perfetto, CANDIDATE_NBYTES + 16);
        if (is_packet(perfetto))
            return true;
        input->at++;
    }
    return false;
}

/* False: the end of the file, or of what can be read. */
static bool take_next(struct perfetto_import *perfetto)
{
    struct foreign_input *input = &perfetto->input;
    uint64_t length;
    have(perfetto, 16);
    if (input->at == input->end)
        return false;
    size_t taken = tbed_proto_varint(input->at + 1, input->end, &length);
    if (*input->at != PACKET_TAG || taken == 0) {
        bool is_cut = *input->at == PACKET_TAG && input->is_at_end && input->end - input->at < 11;
        damage(perfetto, is_cut ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD);
        return !is_cut && find_packet(perfetto);
    }
    if (length > FOREIGN_ITEM_MAX / 4) {
        /* A length that is damaged cannot be told from one that is large; most files have no packets of this size. */
        damage(perfetto, TBED_ERR_FOREIGN_RECORD);
        return find_packet(perfetto);
    }
    if (!have(perfetto, 1 + taken + (size_t)length)) {
        if (input->failure != TBED_OK)
            return false;
        damage(perfetto, TBED_ERR_FOREIGN_CUT);
        return find_packet(perfetto);
    }
    bool is_fine = take_packet(perfetto, input->at + 1 + taken, (size_t)length);
    perfetto->events.argument_count = perfetto->events.argument_nbytes = 0;
    if (!is_fine)
        damage(perfetto, TBED_ERR_FOREIGN_RECORD);
    input->at += 1 + taken + (size_t)length;
    return true;
}

/* ---- Driver ---- */

static enum tbed_status finish(struct perfetto_import *perfetto, struct tbed_error *error)
{
    static const char metadata[] = "{\"format\":\"perfetto\"}";
    struct event_import *events = &perfetto->events;
    tbed_perfetto_finish_events(perfetto);
    if (perfetto->input.damage != TBED_OK)
        tbed_event_damage(events, perfetto->input.damage, perfetto->input.read_nbytes);
    if (events->status == TBED_OK)
        events->status = perfetto->input.failure;
    if (events->status == TBED_OK && (perfetto->is_out_of_memory || perfetto->text.is_out_of_memory))
        events->status = TBED_ERR_MEMORY;
    if (events->status == TBED_OK)
        tbed_metadata_set(events->writer, metadata, sizeof metadata - 1);
    return tbed_event_import_finish(events, error);
}

static enum tbed_status read_file(struct perfetto_import *perfetto, int fd, struct tbed_error *error)
{
    enum tbed_status status = tbed_foreign_input_open(&perfetto->input, fd);
    if (status != TBED_OK)
        return tbed_exchange_fail(error, status);
    while (perfetto->events.status == TBED_OK && !perfetto->is_out_of_memory && take_next(perfetto))
        ;
    status = finish(perfetto, error);
    tbed_foreign_input_close(&perfetto->input);
    return status;
}

static void free_all(struct perfetto_import *perfetto)
{
    tbed_event_import_close(&perfetto->events);
    tbed_event_rows_free(&perfetto->aside);
    for (size_t i = 0; i < perfetto->sequences.count; i++)
        tbed_perfetto_sequence_free(&perfetto->sequences.items[i]);
    tbed_vector_free(&perfetto->sequences.vector);
    tbed_hashmap_free(&perfetto->sequence_slots.map);
    tbed_hashmap_free(&perfetto->tracks.map);
    tbed_hashmap_free(&perfetto->clocks.map);
    tbed_hashmap_free(&perfetto->flows.map);
    tbed_hashmap_free(&perfetto->places.map);
    free(perfetto->text.bytes);
    free(perfetto);
}

enum tbed_status tbed_perfetto_import(const void *source, int fd, struct tbed_import_report *report,
                                      struct tbed_error *error_ret)
{
    const struct foreign_file *file = source;
    struct perfetto_import *perfetto = calloc(1, sizeof *perfetto);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_PERFETTO, .file_nbytes = file->nbytes};
    errno = ENOMEM;
    if (perfetto == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    enum tbed_status status = tbed_event_import_open(&perfetto->events, fd, report, error_ret);
    if (status == TBED_OK)
        status = read_file(perfetto, file->fd, error_ret);
    free_all(perfetto);
    return status;
}
