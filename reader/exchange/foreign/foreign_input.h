/*
 * The bytes of a foreign file from start to end, through a window of bounded size; a file of gzip is unpacked on the way.
 *
 * A parser works on the window. Where an item goes beyond its end, it asks for more and begins again with the item, which
 * then is in the window as a whole, unless it is larger than FOREIGN_ITEM_MAX.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FOREIGN_INPUT_H
#define TRACEBED_EXCHANGE_FOREIGN_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tracebed/format.h>

#define FOREIGN_ITEM_MAX     ((size_t)64 << 20)
#define FOREIGN_UNPACKED_MAX (UINT64_C(64) << 30) /* of a compressed file; the rest is damage */

struct foreign_input {
    const char *at, *end; /* the window; the parser moves 'at' */
    bool is_at_end;       /* nothing follows the window */

    int fd;
    char *bytes;
    size_t room;
    uint64_t end_offset;               /* of the window's end, in the unpacked text */
    uint64_t read_nbytes;              /* of the file */
    struct foreign_unpacker *unpacker; /* NULL: the file is not compressed */
    enum tbed_status damage;           /* why it ended early; OK: it did not */
    enum tbed_status failure;          /* ERR_MEMORY, ERR_READ; OK: none */
};

/* Reads from the file's start, whatever the descriptor's offset. Errors: ERR_MEMORY, ERR_READ. */
enum tbed_status tbed_foreign_input_open(struct foreign_input *input, int fd);
void tbed_foreign_input_close(struct foreign_input *input);

/*
 * Adds bytes behind the window, and forgets those before it. False: there are none, or the window has become too large,
 * or 'failure' is set.
 */
bool tbed_foreign_input_more(struct foreign_input *input);

/* Unpacks the start of a file from its first bytes, if they are of gzip. Returns how many bytes there are in 'text'. */
size_t tbed_foreign_start(const char *start, size_t nbytes, char *text, size_t room);

static inline uint64_t tbed_foreign_offset(const struct foreign_input *input, const char *at)
{
    return input->end_offset - (uint64_t)(input->end - at);
}

#endif
