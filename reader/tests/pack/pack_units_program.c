/*
 * How small the units of a trace become, and how fast: pack_units_program FILE [ROUNDS]. For each kind of page it prints
 * the bytes, plain and packed, the bytes an event, and MB/s of plain bytes, of the best round; each unit must come back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/block.h"
#include "format/event.h"
#include "reader/core/pack/pack_unit.h"

enum { KINDS = 6 };
static const char *const kind_names[KINDS] = {"none", "events", "strings", "records", "cells", "directory"};

struct pages {
    uint8_t *bytes; /* of the file */
    uint32_t page_nbytes, count;
    uint8_t **of_kind; /* in order of stream and page */
    struct tbed_packer *packer;
    struct tbed_unpacker *unpacker;
    uint8_t *packed, *unpacked[PACK_UNIT_BLOCKS_MAX];
};

struct result {
    size_t plain, packed;
    uint64_t events;
    double pack_seconds, unpack_seconds;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint32_t stream_of(const uint8_t *page)
{
    return tbed_block_load(page).stream;
}

static int compare_pages(const void *a, const void *b)
{
    const uint8_t *x = *(uint8_t *const *)a, *y = *(uint8_t *const *)b;
    uint32_t of_x = stream_of(x), of_y = stream_of(y);
    return of_x != of_y ? (of_x < of_y ? -1 : 1) : (x > y) - (x < y);
}

static bool read_pages(const char *path, struct pages *pages)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    size_t nbytes = (size_t)ftell(file);
    rewind(file);
    pages->bytes = aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
    if (pages->bytes == NULL || fread(pages->bytes, 1, nbytes, file) != nbytes || nbytes < 4096)
        return false;
    fclose(file);
    memcpy(&pages->page_nbytes, pages->bytes + 12, 4);
    pages->count = (uint32_t)(nbytes / pages->page_nbytes);
    pages->of_kind = calloc(pages->count, sizeof *pages->of_kind);
    pages->packed = malloc(PACK_UNIT_NBYTES_MAX + 1);
    for (uint32_t i = 0; i < PACK_UNIT_BLOCKS_MAX; i++)
        pages->unpacked[i] = calloc(1, pages->page_nbytes);
    return tbed_packer_new(&pages->packer) == TBED_OK && tbed_unpacker_new(&pages->unpacker) == TBED_OK;
}

static uint64_t count_events(const uint8_t *block, uint32_t nbytes)
{
    struct tbed_block_scan scan;
    tbed_block_scan(block, nbytes, TBED_BLOCK_EVENTS, &scan);
    return scan.item_count;
}

/* One unit; false: it did not come back. */
static bool pack_one(struct pages *pages, uint8_t **blocks, uint32_t count, struct result *result)
{
    struct pack_unit packs = {blocks, count, pages->page_nbytes}, unpacks = packs;
    unpacks.blocks = pages->unpacked;
    double start = seconds();
    size_t nbytes = tbed_unit_pack(pages->packer, &packs, pages->packed);
    double middle = seconds();
    bool is_same = tbed_unit_unpack(pages->unpacker, pages->packed, nbytes, &unpacks) == TBED_OK;
    result->unpack_seconds += seconds() - middle;
    result->pack_seconds += middle - start;
    result->plain += (size_t)count * pages->page_nbytes;
    result->packed += nbytes;
    for (uint32_t i = 0; i < count; i++)
        is_same = is_same && memcmp(blocks[i], pages->unpacked[i], pages->page_nbytes) == 0;
    return is_same;
}

/* All units of a kind, as many blocks of one stream in each as there can be. */
static bool pack_kind(struct pages *pages, uint32_t count, struct result *result)
{
    uint32_t most = tbed_unit_count_max(pages->page_nbytes);
    *result = (struct result){0};
    for (uint32_t i = 0, n; i < count; i += n) {
        for (n = 1; n < most && i + n < count; n++)
            if (stream_of(pages->of_kind[i + n]) != stream_of(pages->of_kind[i]))
                break;
        if (!pack_one(pages, pages->of_kind + i, n, result))
            return false;
    }
    return true;
}

static bool measure(struct pages *pages, uint32_t kind, uint32_t rounds)
{
    struct result best = {0}, result = {0};
    uint32_t count = 0;
    uint64_t events = 0;
    for (uint32_t i = 1; i < pages->count; i++) {
        uint8_t *page = pages->bytes + (size_t)i * pages->page_nbytes;
        if (page[0] != kind)
            continue;
        pages->of_kind[count++] = page;
        events += kind == TBED_BLOCK_EVENTS ? count_events(page, pages->page_nbytes) : 0;
    }
    if (count == 0)
        return true;
    qsort(pages->of_kind, count, sizeof *pages->of_kind, compare_pages);
    for (uint32_t i = 0; i < rounds; i++) {
        if (!pack_kind(pages, count, &result))
            return false;
        if (i == 0 || result.pack_seconds < best.pack_seconds)
            best.pack_seconds = result.pack_seconds;
        if (i == 0 || result.unpack_seconds < best.unpack_seconds)
            best.unpack_seconds = result.unpack_seconds;
    }
    printf("%-9s %11zu -> %10zu bytes  pack %5.0f  unpack %5.0f MB/s", kind_names[kind], result.plain,
           result.packed, (double)result.plain / 1e6 / best.pack_seconds,
           (double)result.plain / 1e6 / best.unpack_seconds);
    if (events > 0)
        printf("  %.3f bytes an event", (double)result.packed / (double)events);
    printf("\n");
    return true;
}

int main(int argc, char **argv)
{
    struct pages pages = {0};
    uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 3;
    if (argc < 2 || !read_pages(argv[1], &pages)) {
        fprintf(stderr, "usage: pack_units_program FILE [ROUNDS]\n");
        return 2;
    }
    for (uint32_t kind = TBED_BLOCK_EVENTS; kind < KINDS; kind++)
        if (!measure(&pages, kind, rounds)) {
            fprintf(stderr, "%s: a unit of %s did not come back\n", argv[1], kind_names[kind]);
            return 1;
        }
    tbed_packer_free(pages.packer);
    tbed_unpacker_free(pages.unpacker);
    return 0;
}
