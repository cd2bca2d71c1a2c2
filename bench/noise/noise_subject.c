/*
 * The program that noise_bench.py runs: it makes documents, and indexes, compresses, compares and searches each. Every
 * step is a function with a span of its own.
 *
 *     noise_subject TRACE DOCUMENTS SLOWER CLOCK
 *
 * 'search' does SLOWER percent more work than usual. CLOCK is 'wall', or 'cpu' for the CPU time of the thread, which
 * does not pass while other programs run.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracebed/trace.h>

#define TEXT_NBYTES 65536u
#define WORD_COUNT  20000u
#define TABLE_COUNT 32768u
#define SAMPLE      600u
#define COMMON      1000u
#define QUERIES     1000u /* a multiple of 100 */

struct word {
    uint32_t offset, nbytes, hash;
};

struct entry {
    uint32_t hash, count;
};

struct document {
    char text[TEXT_NBYTES];
    struct word words[WORD_COUNT];
    size_t word_count;
    struct entry table[TABLE_COUNT];
    struct entry sorted[TABLE_COUNT];
    size_t entry_count;
    uint8_t packed[2 * TEXT_NBYTES];
    size_t packed_nbytes;
    float scores[SAMPLE];
    uint64_t sum;
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make_text(struct document *document, uint64_t seed)
{
    TBED_SPAN("make_text");
    for (size_t i = 0; i < TEXT_NBYTES; i++) {
        uint64_t value = next_random(&seed);
        document->text[i] = value % 6 == 0 ? ' ' : (char)('a' + value % 13);
    }
}

static void tokenize(struct document *document)
{
    TBED_SPAN("tokenize");
    size_t begin = 0;
    document->word_count = 0;
    for (size_t i = 0; i < TEXT_NBYTES && document->word_count < WORD_COUNT; i++) {
        if (document->text[i] != ' ')
            continue;
        if (i > begin)
            document->words[document->word_count++] =
                (struct word){(uint32_t)begin, (uint32_t)(i - begin), 0};
        begin = i + 1;
    }
}

static void hash_words(struct document *document)
{
    TBED_SPAN("hash_words");
    for (size_t i = 0; i < document->word_count; i++) {
        struct word *word = &document->words[i];
        word->hash = 2166136261u;
        for (uint32_t at = 0; at < word->nbytes; at++)
            word->hash = (word->hash ^ (uint8_t)document->text[word->offset + at]) * 16777619u;
    }
}

static void count_words(struct document *document)
{
    TBED_SPAN("count_words");
    memset(document->table, 0, sizeof document->table);
    for (size_t i = 0; i < document->word_count; i++) {
        uint32_t hash = document->words[i].hash | 1, at = hash % TABLE_COUNT;
        while (document->table[at].hash != 0 && document->table[at].hash != hash)
            at = (at + 1) % TABLE_COUNT;
        document->table[at].hash = hash;
        document->table[at].count++;
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static void sort_counts(struct document *document)
{
    TBED_SPAN("sort_counts");
    document->entry_count = 0;
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (document->table[i].count > 0)
            document->sorted[document->entry_count++] = document->table[i];
    qsort(document->sorted, document->entry_count, sizeof document->sorted[0], compare_entries);
}

/* Each byte is replaced by its place in a list of bytes, of which it becomes the first. */
static void compress(struct document *document)
{
    TBED_SPAN("compress");
    uint8_t order[256];
    for (unsigned i = 0; i < 256; i++)
        order[i] = (uint8_t)i;
    for (size_t i = 0; i < TEXT_NBYTES; i++) {
        uint8_t byte = (uint8_t)document->text[i], place = 0;
        while (order[place] != byte)
            place++;
        memmove(order + 1, order, place);
        order[0] = byte;
        document->packed[i] = place;
    }
    document->packed_nbytes = TEXT_NBYTES;
}

static void checksum(struct document *document)
{
    TBED_SPAN("checksum");
    uint32_t sum = 0xFFFFFFFFu;
    for (size_t i = 0; i < document->packed_nbytes; i++) {
        sum ^= document->packed[i];
        for (unsigned bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xEDB88320u & (0 - (sum & 1)));
    }
    document->sum += sum;
}

static void score(struct document *document)
{
    TBED_SPAN("score");
    for (size_t i = 0; i < SAMPLE; i++) {
        float sum = 0;
        for (size_t j = 0; j < SAMPLE; j++)
            sum += (float)document->text[i + j] * (float)document->text[2 * j] / (1.0f + (float)j);
        document->scores[i] = sum;
    }
    document->sum += (uint64_t)document->scores[document->sum % SAMPLE];
}

/* The edit distance of two parts of the text. */
static void compare_parts(struct document *document)
{
    TBED_SPAN("compare_parts");
    uint32_t row[SAMPLE + 1];
    for (uint32_t i = 0; i <= SAMPLE; i++)
        row[i] = i;
    for (uint32_t i = 1; i <= SAMPLE; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= SAMPLE; j++) {
            uint32_t least = diagonal + (document->text[i] != document->text[TEXT_NBYTES / 2 + j]);
            diagonal = row[j];
            least = least < row[j] + 1 ? least : row[j] + 1;
            row[j] = least < row[j - 1] + 1 ? least : row[j - 1] + 1;
        }
    }
    document->sum += row[SAMPLE];
}

/* Looks for words among the most frequent ones. */
static void search(struct document *document, unsigned slower)
{
    TBED_SPAN("search");
    for (unsigned query = 0; query < QUERIES / 100 * (100 + slower); query++) {
        uint32_t hash = document->words[query * 7 % document->word_count].hash | 1;
        size_t at = 0;
        while (at < COMMON && document->sorted[at].hash != hash)
            at++;
        document->sum += at;
    }
}

static void handle(struct document *document, uint64_t seed, unsigned slower)
{
    TBED_SPAN("handle");
    make_text(document, seed);
    tokenize(document);
    hash_words(document);
    count_words(document);
    sort_counts(document);
    compress(document);
    checksum(document);
    score(document);
    compare_parts(document);
    search(document, slower);
}

static uint64_t cpu_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
    static struct document document;
    struct tbed_writer_options options = {.size = sizeof options};
    if (argc != 5) {
        fprintf(stderr, "usage: %s TRACE DOCUMENTS SLOWER CLOCK\n", argv[0]);
        return 2;
    }
    if (strcmp(argv[4], "cpu") == 0) {
        options.clock = TBED_CLOCK_USER;
        options.user_clock = cpu_clock;
        options.user_clock_unit = "ns of CPU";
    }
    if (tbed_start(argv[1], &options) != TBED_OK)
        return 1;
    for (unsigned long i = 0; i < strtoul(argv[2], NULL, 10); i++)
        handle(&document, i, (unsigned)strtoul(argv[3], NULL, 10));
    tbed_stop();
    printf("%llu\n", (unsigned long long)document.sum);
    return 0;
}
