/*
 * The files of a CTF trace: metadata, and packets with their headers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/exchange/ctf/export/ctf_export.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PACKET_NBYTES (64u << 10) /* about */
#define PACKET_MAGIC  0xC1FC1FC1u
#define TIME_MAX      (INT64_MAX - INT64_C(0xFFFFFFFF)) /* babeltrace2 counts in doubles on the way */

/* ---- Metadata ---- */

static const char start[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer_t;\n"
    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;\n"
    "trace {\n"
    "    major = 1;\n"
    "    minor = 8;\n"
    "    byte_order = le;\n"
    "    packet.header := struct { uint32_t magic; uint32_t stream_id; };\n"
    "};\n"
    "env { tracer_name = \"tracebed\"; };\n"
    "clock {\n"
    "    name = monotonic;\n"
    "    freq = 1000000000;\n"
    "    offset = ";
static const char streams[] =
    ";\n};\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;\n"
    "struct argument {\n"
    "    string name;\n"
    "    enum : uint8_t { u64 = 0, i64 = 1, f64 = 2, boolean = 3, pointer = 4, text = 5, hex = 6 } type;\n"
    "    variant <type> {\n"
    "        uint64_t u64;\n"
    "        int64_t i64;\n"
    "        double f64;\n"
    "        uint8_t boolean;\n"
    "        pointer_t pointer;\n"
    "        string text;\n"
    "        string hex;\n"
    "    } value;\n"
    "};\n"
    "stream {\n"
    "    id = 0;\n"
    "    packet.context := struct {\n"
    "        time_t timestamp_begin;\n"
    "        time_t timestamp_end;\n"
    "        uint64_t content_size;\n"
    "        uint64_t packet_size;\n"
    "        uint64_t packet_seq_num;\n"
    "        uint64_t events_discarded;\n"
    "        uint64_t pid;\n"
    "        uint64_t tid;\n"
    "        string process_name;\n"
    "        string thread_name;\n"
    "    };\n"
    "    event.header := struct { uint8_t id; time_t timestamp; };\n"
    "};\n";

#define ARGUMENTS "uint32_t argument_count; struct argument arguments[argument_count];"
#define PLACE     "string file; uint32_t line; "
static const char *const events[][2] = {
    {"span_begin", "string name; string category; " PLACE ARGUMENTS},
    {"span_end", "string name; uint64_t duration; uint8_t never_ended; " ARGUMENTS},
    {"span", "string name; string category; uint64_t duration; uint8_t never_ended; " PLACE ARGUMENTS},
    {"instant", "string name; string category; " PLACE ARGUMENTS},
    {"counter_i64", "string name; string category; string unit; int64_t value; " ARGUMENTS},
    {"counter_u64", "string name; string category; string unit; uint64_t value; " ARGUMENTS},
    {"counter_f64", "string name; string category; string unit; double value; " ARGUMENTS},
    {"message", "string severity; string text;"},
    {"alloc", "string site; pointer_t address; uint64_t size;"},
    {"free", "string site; pointer_t address;"},
    {"realloc", "string site; pointer_t old_address; pointer_t address; uint64_t size;"},
    {"async_begin", "string name; pointer_t key; " ARGUMENTS},
    {"async_end", "string name; pointer_t key; " ARGUMENTS},
    {"flow_begin", "string name; pointer_t key; " ARGUMENTS},
    {"flow_step", "string name; pointer_t key; " ARGUMENTS},
    {"flow_end", "string name; pointer_t key; " ARGUMENTS},
    {"records_dropped", "string cause; uint64_t count;"},
};

int tbed_ctf_open_file(struct ctf *ctf, const char *name)
{
    int fd = openat(ctf->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, ctf->mode);
    if (fd < 0)
        ctf->write_errno = errno;
    return fd;
}

bool tbed_ctf_write_file(struct ctf *ctf, int fd, const char *bytes, size_t nbytes)
{
    while (nbytes > 0 && ctf->write_errno == 0) {
        ssize_t written = write(fd, bytes, nbytes);
        if (written < 0 && errno != EINTR)
            ctf->write_errno = errno;
        if (written <= 0)
            continue;
        bytes += written;
        nbytes -= (size_t)written;
        ctf->nbytes += (uint64_t)written;
    }
    return ctf->write_errno == 0;
}

bool tbed_ctf_put_metadata(struct ctf *ctf)
{
    struct tbed_text text = {0};
    bool has_time = ctf->walk.has_realtime && ctf->walk.realtime_ns > 0;
    tbed_text_puts(&text, start);
    tbed_text_u64(&text, has_time ? (uint64_t)ctf->walk.realtime_ns : 0);
    tbed_text_puts(&text, streams);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        tbed_text_puts(&text, "event { id = ");
        tbed_text_u64(&text, i);
        tbed_text_puts(&text, "; stream_id = 0; name = \"");
        tbed_text_puts(&text, events[i][0]);
        tbed_text_puts(&text, "\"; fields := struct { ");
        tbed_text_puts(&text, events[i][1]);
        tbed_text_puts(&text, " }; };\n");
    }
    int fd = tbed_ctf_open_file(ctf, "metadata");
    bool fine = fd >= 0 && !text.is_out_of_memory && tbed_ctf_write_file(ctf, fd, text.bytes, text.nbytes);
    ctf->is_out_of_memory |= text.is_out_of_memory;
    free(text.bytes);
    if (fd >= 0)
        close(fd);
    return fine;
}

/* ---- Packets ---- */

/* A zero ends a text, so none can be part of it. */
void tbed_ctf_put_text(struct ctf *ctf, const char *text, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)(nbytes > 0 ? text : ""), *end = at + nbytes;
    bool has_replaced = false;
    while (at < end) {
        size_t size = *at != 0 ? tbed_utf8_step(at, (size_t)(end - at)) : 0;
        if (size == 0)
            tbed_text_puts(&ctf->packet, "\xEF\xBF\xBD");
        else
            tbed_text_put(&ctf->packet, (const char *)at, size);
        has_replaced |= size == 0;
        at += size > 0 ? size : 1;
    }
    tbed_text_put(&ctf->packet, "", 1);
    tbed_export_note(&ctf->walk, TBED_EXPORT_NOTE_REPLACED, has_replaced);
}

/* Room for what is known later. */
static size_t put_later(struct ctf *ctf)
{
    size_t at = ctf->packet.nbytes;
    ctf_put_number(&ctf->packet, 0, 8);
    return at;
}

static void begin_packet(struct ctf *ctf, uint64_t ns)
{
    const struct export_thread *thread = ctf->walk.thread;
    const char *name = "";
    size_t nbytes = 0;
    ctf->first_ns = ns;
    ctf_put_number(&ctf->packet, PACKET_MAGIC, 4);
    ctf_put_number(&ctf->packet, 0, 4);
    ctf->place.begin = put_later(ctf);
    ctf->place.end = put_later(ctf);
    ctf->place.content = put_later(ctf);
    ctf->place.packet = put_later(ctf);
    ctf_put_number(&ctf->packet, ctf->packet_count++, 8);
    ctf->place.discarded = put_later(ctf);
    ctf_put_number(&ctf->packet, thread->pid, 8);
    ctf_put_number(&ctf->packet, thread->tid, 8);
    if (thread->process != SIZE_MAX)
        name = tbed_export_process_name(&ctf->walk, thread->process, &nbytes);
    tbed_ctf_put_text(ctf, name, nbytes);
    nbytes = 0;
    if (thread->name_id != TBED_ID_INVALID)
        name = tbed_export_text_of(&ctf->walk, thread->name_id, &nbytes);
    tbed_ctf_put_text(ctf, name, nbytes);
}

static void patch(struct ctf *ctf, size_t at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        ctf->packet.bytes[at + i] = (char)(value >> 8 * i);
}

static void end_packet(struct ctf *ctf)
{
    char name[32];
    ctf->is_out_of_memory |= ctf->packet.is_out_of_memory;
    if (ctf->packet.nbytes == 0 || ctf->is_out_of_memory)
        return;
    patch(ctf, ctf->place.begin, ctf->first_ns);
    patch(ctf, ctf->place.end, ctf->last_ns);
    patch(ctf, ctf->place.content, (uint64_t)ctf->packet.nbytes * 8);
    patch(ctf, ctf->place.packet, (uint64_t)ctf->packet.nbytes * 8);
    patch(ctf, ctf->place.discarded, ctf->discarded_count);
    if (ctf->fd < 0) {
        snprintf(name, sizeof name, "stream-%u", ctf->file_count++);
        ctf->fd = tbed_ctf_open_file(ctf, name);
    }
    if (ctf->fd >= 0)
        tbed_ctf_write_file(ctf, ctf->fd, ctf->packet.bytes, ctf->packet.nbytes);
    ctf->packet.nbytes = 0;
}

void tbed_ctf_open_thread(void *context)
{
    struct ctf *ctf = context;
    ctf->packet_count = ctf->discarded_count = ctf->last_ns = 0;
}

void tbed_ctf_close_thread(void *context)
{
    struct ctf *ctf = context;
    end_packet(ctf);
    if (ctf->fd >= 0 && close(ctf->fd) != 0 && ctf->write_errno == 0)
        ctf->write_errno = errno;
    ctf->fd = -1;
}

/* Times never decrease within a file, and readers can add them to the clock's offset. */
void tbed_ctf_begin_event(struct ctf *ctf, enum ctf_event event, int64_t ns)
{
    int64_t most =
        ctf->walk.has_realtime && ctf->walk.realtime_ns > 0 ? TIME_MAX - ctf->walk.realtime_ns : TIME_MAX;
    tbed_export_note(&ctf->walk, TBED_EXPORT_NOTE_CLIPPED, ns > most);
    ns = ns > most ? most : ns;
    uint64_t time = (uint64_t)ns > ctf->last_ns ? (uint64_t)ns : ctf->last_ns;
    if (ctf->packet.nbytes == 0)
        begin_packet(ctf, time);
    ctf->last_ns = time;
    ctf_put_number(&ctf->packet, event, 1);
    ctf_put_number(&ctf->packet, time, 8);
}

void tbed_ctf_end_event(struct ctf *ctf)
{
    ctf->walk.job->result->written_count++;
    if (ctf->packet.nbytes >= PACKET_NBYTES)
        end_packet(ctf);
    ctf->walk.is_over |= ctf->is_out_of_memory || ctf->packet.is_out_of_memory || ctf->write_errno != 0;
}
