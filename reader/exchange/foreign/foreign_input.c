/*
 * Reads and unpacks a foreign file; see foreign_input.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/foreign/foreign_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW_NBYTES ((size_t)1 << 20)
#define PACKED_NBYTES ((size_t)64 << 10)
#define GZIP_WINDOW   31 /* 15 bits, with the header of gzip */

struct foreign_unpacker {
    z_stream stream;
    bool is_between; /* two files of gzip, one behind the other */
    unsigned char in[PACKED_NBYTES];
};

static bool is_gzip(const char *start, size_t nbytes)
{
    return nbytes >= 2 && (unsigned char)start[0] == 0x1F && (unsigned char)start[1] == 0x8B;
}

/* ---- Reading ---- */

/* Returns how many bytes there are; 0: none, or 'failure' is set. */
static size_t read_file(struct foreign_input *input, void *to, size_t room)
{
    ssize_t nbytes;
    do
        nbytes = pread(input->fd, to, room, (off_t)input->read_nbytes);
    while (nbytes < 0 && errno == EINTR);
    if (nbytes < 0)
        input->failure = TBED_ERR_READ;
    input->read_nbytes += nbytes > 0 ? (uint64_t)nbytes : 0;
    return nbytes > 0 ? (size_t)nbytes : 0;
}

/* False: there is nothing more to unpack. */
static bool feed(struct foreign_input *input)
{
    struct foreign_unpacker *unpacker = input->unpacker;
    z_stream *stream = &unpacker->stream;
    if (stream->avail_in == 0) {
        stream->next_in = unpacker->in;
        stream->avail_in = (unsigned)read_file(input, unpacker->in, sizeof unpacker->in);
    }
    if (stream->avail_in == 0) {
        if (!unpacker->is_between && input->failure == TBED_OK)
            input->damage = TBED_ERR_FOREIGN_PACKED;
        return false;
    }
    if (unpacker->is_between)
        inflateReset(stream);
    unpacker->is_between = false;
    return true;
}

static size_t unpack(struct foreign_input *input, char *to, size_t room)
{
    z_stream *stream = &input->unpacker->stream;
    stream->next_out = (unsigned char *)to;
    stream->avail_out = (unsigned)room;
    while (stream->avail_out == room && feed(input)) {
        int result = inflate(stream, Z_NO_FLUSH);
        input->unpacker->is_between = result == Z_STREAM_END;
        if (result == Z_OK || result == Z_STREAM_END)
            continue;
        if (result == Z_MEM_ERROR)
            input->failure = TBED_ERR_MEMORY;
        else
            input->damage = TBED_ERR_FOREIGN_PACKED;
        break;
    }
    return room - stream->avail_out;
}

/* ---- The window ---- */

/* Moves the window to the start of its memory, and makes room for more behind it. */
static bool make_room(struct foreign_input *input)
{
    size_t nbytes = (size_t)(input->end - input->at);
    if (nbytes > 0 && input->at != input->bytes)
        memmove(input->bytes, input->at, nbytes);
    if (nbytes > input->room / 2) {
        if (input->room >= FOREIGN_ITEM_MAX)
            return false;
        char *grown = realloc(input->bytes, input->room * 2);
        if (grown == NULL) {
            input->failure = TBED_ERR_MEMORY;
            grown = input->bytes;
        } else {
            input->room *= 2;
        }
        input->bytes = grown;
    }
    input->at = input->bytes;
    input->end = input->bytes + nbytes;
    return input->failure == TBED_OK;
}

bool tbed_foreign_input_more(struct foreign_input *input)
{
    if (input->is_at_end || !make_room(input))
        return false;
    size_t kept = (size_t)(input->end - input->bytes), room = input->room - kept;
    size_t nbytes = input->unpacker != NULL ? unpack(input, input->bytes + kept, room)
                                            : read_file(input, input->bytes + kept, room);
    if (input->unpacker != NULL && input->end_offset + nbytes > FOREIGN_UNPACKED_MAX) {
        input->damage = TBED_ERR_FOREIGN_PACKED;
        nbytes = 0;
    }
    input->end += nbytes;
    input->end_offset += nbytes;
    input->is_at_end = nbytes == 0 || input->damage != TBED_OK;
    return nbytes > 0;
}

static enum tbed_status open_unpacker(struct foreign_input *input)
{
    char start[2];
    ssize_t nbytes = pread(input->fd, start, sizeof start, 0);
    if (nbytes < 0)
        return TBED_ERR_READ;
    if (!is_gzip(start, (size_t)nbytes))
        return TBED_OK;
    input->unpacker = calloc(1, sizeof *input->unpacker);
    if (input->unpacker == NULL)
        return TBED_ERR_MEMORY;
    return inflateInit2(&input->unpacker->stream, GZIP_WINDOW) == Z_OK ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_foreign_input_open(struct foreign_input *input, int fd)
{
    *input = (struct foreign_input){.fd = fd, .bytes = malloc(WINDOW_NBYTES), .room = WINDOW_NBYTES};
    enum tbed_status status = input->bytes != NULL ? open_unpacker(input) : TBED_ERR_MEMORY;
    input->at = input->end = input->bytes;
    if (status != TBED_OK)
        tbed_foreign_input_close(input);
    return status;
}

void tbed_foreign_input_close(struct foreign_input *input)
{
    if (input->unpacker != NULL)
        inflateEnd(&input->unpacker->stream);
    free(input->unpacker);
    free(input->bytes);
    *input = (struct foreign_input){.fd = -1};
}

/* ---- The start alone ---- */

size_t tbed_foreign_start(const char *start, size_t nbytes, char *text, size_t room)
{
    z_stream stream = {0};
    if (!is_gzip(start, nbytes)) {
        size_t taken = nbytes < room ? nbytes : room;
        memcpy(text, start, taken);
        return taken;
    }
    inflateInit2(&stream, GZIP_WINDOW); /* if it fails, inflate() gives nothing */
    stream.next_in = (unsigned char *)(uintptr_t)start;
    stream.avail_in = (unsigned)nbytes;
    stream.next_out = (unsigned char *)text;
    stream.avail_out = (unsigned)room;
    inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    return room - stream.avail_out;
}
