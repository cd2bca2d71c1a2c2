/*
 * Whatever a trace contains, a page with its data has nothing of it outside the blocks of data, which can be inflated, and
 * their texts are JSON; and a picture of it is a PNG of the width that was asked for.
 *
 * The byte behind the last whole page of the trace chooses what is asked for.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <zlib.h>

#include "format/checksum.h"
#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"
#include "fuzz/support/tool_run.h"

#define FILE_NBYTES_MAX  65536
#define INFLATED_NBYTES  ((size_t)64 << 20)
#define PNG_HEAD_NBYTES  33 /* the signature and the header */
#define PNG_WIDTH_OFFSET 16

/* ---- Pages ---- */

static unsigned digit_of(char digit)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = memchr(digits, digit, sizeof digits - 1);
    REQUIRE(at != NULL);
    return (unsigned)(at - digits);
}

/* Returns the number of bytes. */
static size_t decode_base64(const char *text, size_t nbytes, uint8_t *to)
{
    size_t count = 0;
    REQUIRE(nbytes % 4 == 0);
    while (nbytes > 0 && text[nbytes - 1] == '=')
        nbytes--;
    for (size_t i = 0, bits = 0, word = 0; i < nbytes; i++) {
        word = word << 6 | digit_of(text[i]);
        bits += 6;
        if (bits >= 8)
            to[count++] = (uint8_t)(word >> (bits -= 8));
    }
    return count;
}

/* One text, perhaps without an end of line. 'text' has room for one more byte. */
static bool is_json(char *text, size_t nbytes)
{
    if (nbytes > 0 && text[nbytes - 1] != '\n')
        text[nbytes++] = '\n';
    return nbytes > 0 && is_json_lines(text, nbytes);
}

static void check_block(const char *name, const char *text, size_t nbytes)
{
    static char *inflated;
    uint8_t *packed = malloc(nbytes + 1);
    if (inflated == NULL)
        inflated = malloc(INFLATED_NBYTES + 1);
    REQUIRE(packed != NULL && inflated != NULL);
    z_stream stream = {.next_in = packed,
                       .avail_in = (uInt)decode_base64(text, nbytes, packed),
                       .next_out = (Bytef *)inflated,
                       .avail_out = (uInt)INFLATED_NBYTES};
    REQUIRE(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
    REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0);
    REQUIRE(inflateEnd(&stream) == Z_OK);
    REQUIRE(strncmp(name, "spans-", 6) == 0 || is_json(inflated, stream.total_out));
    free(packed);
}

/* Apart from the blocks of data, all pages are the same, whatever trace they show. */
static void check_page(const char *text, size_t nbytes)
{
    static const char begin[] = "<script type=\"text/plain\" id=\"data-", end[] = "</script>\n";
    static uint64_t known;
    const char *at, *last = text + nbytes;
    uint64_t rest = 0;
    while ((at = memmem(text, (size_t)(last - text), begin, strlen(begin))) != NULL) {
        const char *name = at + strlen(begin);
        const char *data = memchr(name, '>', (size_t)(last - name));
        const char *after = data != NULL ? memmem(data, (size_t)(last - data), end, strlen(end)) : NULL;
        REQUIRE(after != NULL);
        check_block(name, data + 1, (size_t)(after - data - 1));
        if (at > text) /* there may be any number of blocks, one after another */
            rest = rest * 31 + tbed_hash64(text, (size_t)(at - text));
        text = after + strlen(end);
    }
    rest = rest * 31 + tbed_hash64(text, (size_t)(last - text));
    REQUIRE(known == 0 || known == rest);
    known = rest;
}

/* ---- Pictures ---- */

static void check_picture(const char *text, size_t nbytes, unsigned width)
{
    static const char head[] = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR", end[] = "IEND\xAE\x42\x60\x82";
    const uint8_t *at = (const uint8_t *)text + PNG_WIDTH_OFFSET;
    REQUIRE(nbytes > PNG_HEAD_NBYTES && memcmp(text, head, sizeof head - 1) == 0);
    REQUIRE(((unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3]) == width);
    REQUIRE(memcmp(text + nbytes - (sizeof end - 1), end, sizeof end - 1) == 0);
}

/* ---- All of it ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char *const pages[][10] = {
        {"view", "--html=-", "--no-symbols", "-j1", "x"},
        {"view", "--html=-", "--no-symbols", "-j1", "-b10%", "-e90%", "--size=512k", "x", "x"},
        {"view", "--html=-", "--no-symbols", "-j1", "-n.", "x"},
    };
    static const char *const pictures[][10] = {
        {"view", "--png=-", "--no-symbols", "-j1", "--width=400", "--height=300", "x"},
        {"view", "--png=-", "--no-symbols", "-j1", "--width=400", "--dark", "--depth=2", "-b20%", "x", "x"},
        {"view", "--png=-", "--no-symbols", "-j1", "--width=400", "--height=200", "-n.", "x"},
    };
    if (nbytes > FILE_NBYTES_MAX)
        return 0;
    tool_file_put("x", data, nbytes);
    unsigned choice = choice_at(data, nbytes, 0) % 3;
    struct tool_output output = tool_run(pages[choice]);
    REQUIRE(output.status >= 0 && output.status <= 2 && (output.status == 2) == (output.nbytes == 0));
    if (output.status != 2)
        check_page(output.text, output.nbytes);
    output = tool_run(pictures[choice]);
    REQUIRE(output.status >= 0 && output.status <= 2 && (output.status == 2) == (output.nbytes == 0));
    if (output.status != 2)
        check_picture(output.text, output.nbytes, 400);
    return 0;
}
