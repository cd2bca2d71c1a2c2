/*
 * Whatever traces contain, what is exported for the Firefox Profiler and for OpenTelemetry is JSON in UTF-8, and CTF's packets
 * have the sizes that they state, and events of known kinds whose times do not decrease.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/exported.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "fuzz/support/strict.h"

/* ---- JSON ---- */

/* The profile is one object over several lines, between members of lists. */
static void check_firefox(struct tbed_reader *const *readers, size_t count)
{
    struct exported exported = export_twice(TBED_FOREIGN_FIREFOX, readers, count, NULL);
    for (size_t i = 0; i + 1 < exported.nbytes; i++)
        exported.bytes[i] = exported.bytes[i] == '\n' ? ' ' : exported.bytes[i];
    REQUIRE(is_json_lines((const char *)exported.bytes, exported.nbytes));
    export_cancelled(TBED_FOREIGN_FIREFOX, readers, count,
                     (struct tbed_export_options){.size = sizeof(struct tbed_export_options)},
                     exported.result.written_count);
    free(exported.bytes);
}

static void check_otlp(struct tbed_reader *const *readers, size_t count)
{
    struct exported exported = export_twice(TBED_FOREIGN_OTLP, readers, count, NULL);
    REQUIRE(exported.nbytes == 0 || is_json_lines((const char *)exported.bytes, exported.nbytes));
    export_cancelled(TBED_FOREIGN_OTLP, readers, count,
                     (struct tbed_export_options){.size = sizeof(struct tbed_export_options)},
                     exported.result.written_count);
    free(exported.bytes);
}

/* ---- CTF ---- */

struct packet {
    const uint8_t *at, *end;
};

static uint64_t take(struct packet *packet, unsigned nbytes)
{
    uint64_t value = 0;
    REQUIRE(packet->end - packet->at >= (ptrdiff_t)nbytes);
    memcpy(&value, packet->at, nbytes);
    packet->at += nbytes;
    return value;
}

static void take_text(struct packet *packet)
{
    const uint8_t *zero = memchr(packet->at, 0, (size_t)(packet->end - packet->at));
    REQUIRE(zero != NULL);
    packet->at = zero + 1;
}

static void take_arguments(struct packet *packet)
{
    for (uint64_t count = take(packet, 4); count > 0; count--) {
        take_text(packet);
        uint64_t type = take(packet, 1);
        REQUIRE(type <= 6);
        if (type >= 5)
            take_text(packet);
        else
            take(packet, type == 3 ? 1 : 8);
    }
}

/* The fields of each kind of event: t text, 1 4 8 numbers, a arguments. */
static const char *const fields[] = {"tt"
                                     "t4a",
                                     "t81a",
                                     "tt81t4a",
                                     "tt"
                                     "t4a",
                                     "ttt8a",
                                     "ttt8a",
                                     "ttt8a",
                                     "tt",
                                     "t88",
                                     "t8",
                                     "t888",
                                     "t8a",
                                     "t8a",
                                     "t8a",
                                     "t8a",
                                     "t8a",
                                     "t8"};

static void take_event(struct packet *packet, uint64_t *time)
{
    uint64_t kind = take(packet, 1), at = take(packet, 8);
    REQUIRE(kind < sizeof fields / sizeof fields[0] && at >= *time);
    *time = at;
    for (const char *field = fields[kind]; *field != '\0'; field++)
        if (*field == 't')
            take_text(packet);
        else if (*field == 'a')
            take_arguments(packet);
        else
            take(packet, (unsigned)(*field - '0'));
}

static uint64_t check_packet(struct packet *stream, uint64_t number, uint64_t *time)
{
    struct packet packet = *stream;
    uint64_t event_count = 0;
    REQUIRE(take(&packet, 4) == 0xC1FC1FC1u && take(&packet, 4) == 0);
    uint64_t begin = take(&packet, 8), end = take(&packet, 8);
    uint64_t content = take(&packet, 8), size = take(&packet, 8);
    REQUIRE(content == size && size % 8 == 0 && size / 8 <= (uint64_t)(stream->end - stream->at));
    packet.end = stream->at + size / 8;
    REQUIRE(take(&packet, 8) == number && begin >= *time && end >= begin);
    take(&packet, 8); /* what was discarded */
    take(&packet, 8);
    take(&packet, 8);
    take_text(&packet);
    take_text(&packet);
    for (; packet.at < packet.end; event_count++)
        take_event(&packet, time);
    REQUIRE(*time == end && event_count > 0);
    stream->at = packet.end;
    return event_count;
}

static uint64_t check_stream(int folder, const char *name)
{
    struct stat status;
    int fd = openat(folder, name, O_RDONLY);
    REQUIRE(fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0);
    uint8_t *bytes = malloc((size_t)status.st_size);
    REQUIRE(bytes != NULL && read(fd, bytes, (size_t)status.st_size) == status.st_size && close(fd) == 0);
    struct packet stream = {bytes, bytes + status.st_size};
    uint64_t time = 0, event_count = 0;
    for (uint64_t number = 0; stream.at < stream.end; number++)
        event_count += check_packet(&stream, number, &time);
    free(bytes);
    return event_count;
}

static void check_ctf(struct tbed_reader *const *readers, size_t count)
{
    struct tbed_export_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_export_result result;
    const char *path = scratch_path("ctf");
    REQUIRE(tbed_export(format_of_kind(TBED_FOREIGN_CTF), readers, count, path, &options, &result, NULL) ==
            TBED_OK);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    uint64_t event_count = 0;
    REQUIRE(folder != NULL);
    while ((entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, "stream-", 7) == 0)
            event_count += check_stream(dirfd(folder), entry->d_name);
    closedir(folder);
    REQUIRE(event_count == result.written_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_reader *twice[] = {reader, reader};
    check_firefox(twice, 2);
    check_otlp(twice, 2);
    check_ctf(twice, 2);
    tbed_reader_close(reader);
    return 0;
}
