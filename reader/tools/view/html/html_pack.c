/*
 * Bytes for a page: compressed, in base64, and their SHA-256 (FIPS 180-4), by which the page's policy knows its scripts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/html/html.h"

#include <zlib.h>

#define CHUNK_NBYTES ((size_t)1 << 20)

/* ---- Deflate ---- */

static bool deflate_some(z_stream *stream, struct tbed_text *to, int flush)
{
    do {
        if (!tbed_text_reserve(to, CHUNK_NBYTES))
            return false;
        stream->next_out = (Bytef *)to->bytes + to->nbytes;
        stream->avail_out = CHUNK_NBYTES;
        if (deflate(stream, flush) == Z_STREAM_ERROR)
            return false;
        to->nbytes += CHUNK_NBYTES - stream->avail_out;
    } while (stream->avail_out == 0);
    return true;
}

void html_deflate(struct tbed_text *to, const char *bytes, size_t nbytes)
{
    z_stream stream = {0};
    bool is_fine =
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK;
    for (size_t at = 0, some; is_fine && at < nbytes; at += some) {
        some = nbytes - at < CHUNK_NBYTES ? nbytes - at : CHUNK_NBYTES;
        stream.next_in = (Bytef *)(uintptr_t)(bytes + at);
        stream.avail_in = (uInt)some;
        is_fine = deflate_some(&stream, to, Z_NO_FLUSH);
    }
    is_fine = is_fine && deflate_some(&stream, to, Z_FINISH);
    deflateEnd(&stream);
    to->is_out_of_memory |= !is_fine;
}

/* ---- Base64 ---- */

void html_base64(struct tbed_text *to, const void *bytes, size_t nbytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = bytes;
    if (!tbed_text_reserve(to, nbytes / 3 * 4 + 4))
        return;
    for (size_t at = 0; at < nbytes; at += 3) {
        size_t left = nbytes - at;
        uint32_t group = (uint32_t)from[at] << 16 | (left > 1 ? (uint32_t)from[at + 1] << 8 : 0) |
                         (left > 2 ? from[at + 2] : 0);
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        left > 1 ? digits[group >> 6 & 63] : '=', left > 2 ? digits[group & 63] : '='};
        tbed_text_put(to, text, sizeof text);
    }
}

/* ---- SHA-256 ---- */

static uint32_t rotate(uint32_t value, unsigned count)
{
    return value >> count | value << (32 - count);
}

static void fill_schedule(uint32_t words[64], const uint8_t block[64])
{
    for (unsigned i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + words[i - 7] +
                   (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void digest_block(uint32_t state[8], const uint8_t block[64])
{
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t words[64], s[8];
    fill_schedule(words, block);
    memcpy(s, state, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t one = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + words[i];
        uint32_t other = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                         ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + other;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

void html_digest(struct tbed_text *to, const char *bytes, size_t nbytes)
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t last[128] = {0}, digest[32];
    size_t full = nbytes / 64, rest = nbytes % 64, last_nbytes = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < full; i++)
        digest_block(state, (const uint8_t *)bytes + 64 * i);
    memcpy(last, bytes + 64 * full, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[last_nbytes - 1 - i] = (uint8_t)((uint64_t)nbytes * 8 >> 8 * i);
    for (size_t i = 0; i < last_nbytes; i += 64)
        digest_block(state, last + i);
    for (unsigned i = 0; i < 32; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - i % 4 * 8));
    html_base64(to, digest, sizeof digest);
}
