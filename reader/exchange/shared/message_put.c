/*
 * Messages in exported files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/shared/message_put.h"

void tbed_exchange_message(struct tbed_text *text, const struct tbed_reader *reader,
                           const struct tbed_event *event, enum tbed_message_part part)
{
    size_t nbytes = 256;
    bool fits = false;
    while (!fits && tbed_text_reserve(text, nbytes + 1)) {
        size_t room = text->room - text->nbytes;
        nbytes = tbed_message_text(reader, event, part, text->bytes + text->nbytes, room);
        fits = nbytes < room;
    }
    text->nbytes += fits ? nbytes : 0;
}
