/*
 * Recording memory: allocations, frees, mappings.
 *
 * Source: spec/format.md, sections 6.2 and 6.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/record/extended.h"

static __attribute__((noinline)) void alloc_long(struct tbed_recorder *recorder, uint32_t location,
                                                 enum tbed_alloc_function function, uint64_t address,
                                                 uint64_t size)
{
    struct tbed_extended_event record = {.type = TBED_EXT_ALLOC,
                                         .aux = (uint32_t)function,
                                         .id = location,
                                         .fixed = {address, size},
                                         .fixed_count = 2};
    tbed_extended_record(recorder, &record);
}

static __attribute__((noinline)) void free_long(struct tbed_recorder *recorder, uint32_t location,
                                                enum tbed_alloc_function function, uint64_t address)
{
    struct tbed_extended_event record = {.type = TBED_EXT_FREE,
                                         .aux = (uint32_t)function,
                                         .id = location,
                                         .fixed = {address},
                                         .fixed_count = 1};
    tbed_extended_record(recorder, &record);
}

/* The short form has no room for the function; it means plain malloc and free. */
static inline bool is_plain_function(enum tbed_alloc_function function)
{
    return function == TBED_FUNCTION_MALLOC || function == TBED_FUNCTION_UNKNOWN;
}

void tbed_alloc_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                       uint64_t address, uint64_t size)
{
    bool fits = address != 0 && (address % 8 | address >> 48 | size >> 15) == 0;
    if (TBED_UNLIKELY(!is_plain_function(function) || !fits))
        alloc_long(recorder, location, function, address, size);
    else
        tbed_pair_record(recorder, location, TBED_PAIR_ALLOC, size << 45 | address / 8);
}

void tbed_free_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                      uint64_t address)
{
    if (TBED_UNLIKELY(!is_plain_function(function) || address >> 60 != 0))
        free_long(recorder, location, function, address);
    else
        tbed_pair_record(recorder, location, TBED_PAIR_FREE, address);
}

void tbed_free_slots_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address,
                            uint64_t slot_nbytes, const uint64_t *bits, size_t word_count)
{
    const struct tbed_argument arguments[] = {
        {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = slot_nbytes},
        {.type = TBED_ARG_BYTES,
         .name_id = TBED_ID_INVALID,
         .nbytes = word_count > TBED_EXTENDED_NWORDS_MAX ? UINT32_MAX : (uint32_t)(8 * word_count),
         .value.text = (const char *)bits},
    };
    struct tbed_extended_event record = {.type = TBED_EXT_FREE,
                                         .id = location,
                                         .fixed = {address},
                                         .fixed_count = 1,
                                         .arguments = arguments,
                                         .argument_count = 2};
    tbed_extended_record(recorder, &record);
}

static __attribute__((noinline)) void resize_slow(struct tbed_recorder *recorder, uint32_t location,
                                                  uint64_t address, uint64_t size)
{
    struct tbed_extended_event record = {
        .type = TBED_EXT_RESIZE, .id = location, .fixed = {address, size}, .fixed_count = 2};
    tbed_extended_record(recorder, &record);
}

void tbed_resize_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address, uint64_t size)
{
    if (!tbed_words_record(recorder, TBED_TAG_EXTENDED, location & TBED_ID_MAX, 0, 4, 4,
                           tbed_words_of(TBED_EXT_RESIZE | 3 << 16, address, size, 0)))
        resize_slow(recorder, location, address, size);
}

/* The size of a range is stored as an argument. */
static void record_range(struct tbed_recorder *recorder, const struct tbed_extended_event *record,
                         uint64_t nbytes)
{
    struct tbed_argument range = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = nbytes};
    struct tbed_extended_event with_range = *record;
    with_range.arguments = &range;
    with_range.argument_count = 1;
    tbed_extended_record(recorder, &with_range);
}

void tbed_unmap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address, uint64_t nbytes)
{
    struct tbed_extended_event record = {.type = TBED_EXT_FREE,
                                         .aux = TBED_FUNCTION_MMAP,
                                         .id = location,
                                         .fixed = {address},
                                         .fixed_count = 1};
    record_range(recorder, &record, nbytes);
}

void tbed_remap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                       uint64_t old_nbytes, uint64_t address, uint64_t nbytes, uint64_t begin_tick)
{
    struct tbed_extended_event record = {.type = TBED_EXT_REALLOC,
                                         .id = location,
                                         .fixed = {old_address, address, nbytes, begin_tick},
                                         .fixed_count = 4};
    record_range(recorder, &record, old_nbytes);
}

void tbed_realloc_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                         uint64_t address, uint64_t size, uint64_t begin_tick)
{
    struct tbed_extended_event record = {.type = TBED_EXT_REALLOC,
                                         .id = location,
                                         .fixed = {old_address, address, size, begin_tick},
                                         .fixed_count = 4};
    tbed_extended_record(recorder, &record);
}
