/*
 * Flips every bit of cleanly closed traces, one at a time: each must be reported, none may crash the reader.
 *
 * This is what the checksums, the zeros and the closing checksum are for. A bit that may be flipped unnoticed
 * is a hole in the format or in the verifier. After each flip everything is also walked, like a program that does not
 * verify first.
 *
 * Slow: 48 s; it flips every bit of several traces
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/golden/golden_file.h"

static void walk_strings(const struct tbed_reader *reader)
{
    char text[64];
    size_t nbytes;
    uint32_t id = 0;
    while (tbed_string_next(reader, &id))
        tbed_string_resolve(reader, id, text, sizeof text, &nbytes);
}

/* True if the flip was reported. */
static bool look(const struct golden_bytes *golden)
{
    struct tbed_reader *reader;
    struct tbed_error error;
    enum tbed_status status = tbed_reader_open_memory(golden->bytes, golden->nbytes, NULL, &reader, &error);
    if (status != TBED_OK)
        return true;
    golden_event_count(reader);
    walk_strings(reader);
    status = tbed_reader_verify(reader);
    tbed_reader_close(reader);
    return status != TBED_OK;
}

static void every_flipped_bit_is_reported(void **state)
{
    struct golden_bytes golden = golden_load(*state);
    size_t unnoticed = 0, step = golden_step(13);
    assert_false(look(&golden));
    for (size_t bit = 0; bit < golden.nbytes * 8; bit += step) {
        uint8_t *byte = golden.bytes + bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        if (!look(&golden) && unnoticed++ < 20)
            print_error("bit %zu of byte %zu was flipped unnoticed\n", bit % 8, bit / 8);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(unnoticed, 0);
    golden_free(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"every flipped bit of recorded", every_flipped_bit_is_reported, NULL, NULL,
         (void *)"valid/recorded"},
        {"every flipped bit of records", every_flipped_bit_is_reported, NULL, NULL, (void *)"valid/records"},
    };
    return cmocka_run_group_tests_name("flipped bits", tests, NULL, NULL);
}
