/*
 * Formats messages from any format and any arguments. The text must not depend on the size of the buffer.
 *
 * The input is the number of arguments, then the type and 8 bytes of each, then the format, in which a 0x1E ends the
 * context.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/argument.h"
#include "format/layout.h"
#include "format/string.h"
#include "fuzz/support/fuzz.h"

enum { ARGUMENTS_MAX = 8, ARGUMENT_NWORDS = 3, TEXT_NBYTES = 20000 };

/* Scalar types take all 8 bytes as their value. For other types, the first byte also chooses a length of up to 16. */
static uint64_t *put_argument(uint64_t *at, const uint8_t *bytes, uint32_t name_id)
{
    uint32_t type = bytes[0] % 16;
    uint32_t nbytes = tbed_argument_is_scalar(type) ? 8 : bytes[1] % 17;
    *at++ = tbed_argument_head_make(
        (struct tbed_argument_head){.type = type, .nbytes = nbytes, .name_id = name_id});
    memset(at, 0, 16);
    memcpy(at, bytes + 1, 8);
    if (type == TBED_ARG_ID)
        *at &= TBED_ID_MAX;
    return at + tbed_argument_value_nwords(nbytes);
}

/* Opens a trace whose only string is the format. */
static struct tbed_reader *open_with(const uint8_t *format, size_t nbytes, uint32_t *id_ret)
{
    static uint8_t content[ONE_BLOCK_ROOM];
    struct tbed_reader *reader;
    size_t room = sizeof content - TBED_STRING_HEAD_NBYTES - 1;
    uint32_t taken = (uint32_t)(nbytes < room ? nbytes : room);
    struct tbed_disk_string *entry = (struct tbed_disk_string *)content;
    memset(content, 0, sizeof content);
    entry->nbytes = tbed_le32_make(taken + 1);
    memcpy(content + TBED_STRING_HEAD_NBYTES, format, taken);
    content[TBED_STRING_HEAD_NBYTES + taken] = TBED_STRING_TERMINATOR;
    uint8_t *file = one_block_file(TBED_BLOCK_STRINGS, true, content, TBED_STRING_HEAD_NBYTES + taken + 1);
    REQUIRE(tbed_reader_open_memory(file, ONE_BLOCK_FILE_NBYTES, NULL, &reader, NULL) == TBED_OK);
    *id_ret = 0;
    REQUIRE(tbed_string_next(reader, id_ret));
    return reader;
}

static void check_sizes(struct tbed_reader *reader, const struct tbed_event *event,
                        enum tbed_message_part part)
{
    static char large[TEXT_NBYTES];
    char small[20];
    size_t nbytes = tbed_message_text(reader, event, part, large, sizeof large);
    REQUIRE(tbed_message_text(reader, event, part, NULL, 0) == nbytes);
    REQUIRE(tbed_message_text(reader, event, part, small, sizeof small) == nbytes);
    size_t shown = nbytes < sizeof small ? nbytes : sizeof small - 1;
    REQUIRE(memcmp(small, large, shown) == 0 && small[shown] == 0);
    REQUIRE(large[nbytes < sizeof large ? nbytes : sizeof large - 1] == 0);
}

static void check_arguments(struct tbed_reader *reader, const struct tbed_event *event)
{
    char text[200], all[2000];
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    size_t sum = 0;
    for (uint32_t i = 0; i < event->argument_count; i++) {
        tbed_argument_next(&at, &argument);
        sum += 1 + tbed_argument_text(reader, &argument, text, sizeof text);
    }
    REQUIRE(tbed_arguments_text(reader, &event->arguments, event->argument_count, all, sizeof all) >= sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    uint64_t words[ARGUMENTS_MAX * ARGUMENT_NWORDS], *end = words;
    struct tbed_event event = {.type = TBED_EVENT_MESSAGE, .arguments.at = words};
    uint32_t id, count = nbytes > 0 ? data[0] % (ARGUMENTS_MAX + 1) : 0;
    size_t at = nbytes > 0;
    for (; event.argument_count < count && nbytes - at >= 9; event.argument_count++, at += 9)
        end = put_argument(end, data + at, TBED_ID_INVALID);
    struct tbed_reader *reader = open_with(data + at, nbytes - at, &id);
    for (int i = 0; i < 3; i++) {
        event.id = i == 0 ? TBED_ID_INVALID : id;
        event.of.message.has_context = i == 2;
        check_sizes(reader, &event, TBED_MESSAGE_ALL);
        check_sizes(reader, &event, TBED_MESSAGE_BODY);
    }
    check_arguments(reader, &event);
    tbed_reader_close(reader);
    return 0;
}
