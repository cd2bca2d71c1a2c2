/*
 * Profiles with bytes changed, removed and cut off: the reader and the slow one agree on each, and both survive.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/measureme/measureme_support.h"

#define ROUNDS 400

static uint64_t random_state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Makes one change and returns the new size. Values that matter come more often than by chance. */
static size_t mutate(uint8_t *bytes, size_t nbytes)
{
    static const uint8_t telling[] = {0, 1, 2, 3, 8, 9, 0x7F, 0x80, 0xBF, 0xC3, 0xE2, 0xFE, 0xFF};
    if (nbytes == 0)
        return 0;
    size_t at = next_random() % nbytes, length = 1 + next_random() % 9;
    length = length < nbytes - at ? length : nbytes - at;
    switch (next_random() % 5) {
    case 0:
        bytes[at] ^= (uint8_t)(1 << next_random() % 8);
        return nbytes;
    case 1:
        bytes[at] = telling[next_random() % sizeof telling];
        return nbytes;
    case 2:
        memset(bytes + at, telling[next_random() % sizeof telling], length);
        return nbytes;
    case 3:
        memmove(bytes + at, bytes + at + length, nbytes - at - length);
        return nbytes - length;
    default:
        return at;
    }
}

static void check_mutants(const struct profile_input *whole)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct profile_input mutant = {{NULL}, {0}};
        for (int i = 0; i < MM_STREAM_COUNT; i++) {
            if (whole->bytes[i] == NULL)
                continue;
            uint8_t *bytes = exact_copy(whole->bytes[i], whole->nbytes[i]);
            size_t nbytes = whole->nbytes[i];
            for (uint64_t changes = next_random() % 4; changes > 0; changes--)
                nbytes = mutate(bytes, nbytes);
            mutant.bytes[i] = exact_copy(bytes, nbytes);
            mutant.nbytes[i] = nbytes;
            free(bytes);
        }
        profile_compare(mutant.bytes, mutant.nbytes, true);
        input_free(&mutant);
    }
}

static void changed_profiles_are_read_as_the_slow_reader_does(void **state)
{
    (void)state;
    static const size_t page_sizes[] = {1 << 18, 300, 97, 24, 5};
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct profile profile;
        profile_sample(&profile, versions[i]);
        for (size_t j = 0; j < (versions[i] < 6 ? 1 : sizeof page_sizes / sizeof page_sizes[0]); j++) {
            struct profile_input input = input_make(&profile, page_sizes[j]);
            check_mutants(&input);
            input_free(&input);
        }
        profile_free(&profile);
    }
}

/* Each byte of a small file, cut there. */
static void three_files_cut_anywhere_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct profile profile;
        profile_sample(&profile, versions[i]);
        for (int stream = 0; stream < MM_STREAM_COUNT; stream++) {
            for (size_t nbytes = 0; nbytes < profile.streams[stream].nbytes; nbytes++) {
                struct profile cut = profile;
                cut.streams[stream].nbytes = nbytes;
                struct profile_input input = input_three(&cut);
                profile_compare(input.bytes, input.nbytes, false);
                input_free(&input);
            }
        }
        profile_free(&profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_profiles_are_read_as_the_slow_reader_does),
        cmocka_unit_test(three_files_cut_anywhere_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
