/*
 * Parses the lines of an RTL_LOGFILE log, its header and its trailer, and stores the latter in a trace's metadata.
 * Pure functions, except those for the metadata.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/rtl_log/rtl_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define METADATA_START  "{\"rtl_log\":{\"header\":["
#define METADATA_ODD    ",\"odd\":{"
#define METADATA_NBYTES 4096

static const char *const odd_keys[] = {
#define KEY(name, key, text) key,
    TBED_RTL_ODD_LIST(KEY)
#undef KEY
};

static const char *const odd_texts[] = {
#define TEXT(name, key, text) text,
    TBED_RTL_ODD_LIST(TEXT)
#undef TEXT
};

const char *tbed_rtl_odd_key(enum tbed_rtl_odd odd)
{
    return (unsigned)odd < TBED_RTL_ODD_COUNT ? odd_keys[odd] : NULL;
}

const char *tbed_rtl_odd_text(enum tbed_rtl_odd odd)
{
    return (unsigned)odd < TBED_RTL_ODD_COUNT ? odd_texts[odd] : NULL;
}

/* ---- Lines ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Parses digits and a space. Returns their length; 0: not present, or the number has more than 32 bits. */
static size_t take_number(const char *text, size_t nbytes, uint32_t *value_ret)
{
    uint64_t value = 0;
    size_t at = 0;
    for (; at < nbytes && is_digit(text[at]) && value <= UINT32_MAX; at++)
        value = value * 10 + (uint64_t)(text[at] - '0');
    if (at == 0 || at == nbytes || text[at] != ' ' || value > UINT32_MAX)
        return 0;
    *value_ret = (uint32_t)value;
    return at + 1;
}

bool tbed_rtl_line_parse(const char *text, size_t nbytes, struct rtl_line *line_ret)
{
    struct rtl_line line;
    size_t time = take_number(text, nbytes, &line.ms);
    size_t tid = time > 0 ? take_number(text + time, nbytes - time, &line.tid) : 0;
    size_t at = time + tid;
    if (tid == 0 || at == nbytes || memchr("{}|", text[at], 3) == NULL)
        return false;
    bool has_space = at + 1 < nbytes;
    if (has_space && text[at + 1] != ' ')
        return false;
    bool is_time = time == 7 || (time > 7 && text[0] != '0');
    bool is_tid = tid == 2 || text[time] != '0';
    line.kind = text[at];
    line.is_canonical = is_time && is_tid && has_space;
    line.prefix = at;
    line.rest = text + at + 1 + has_space;
    line.nbytes = nbytes - at - 1 - has_space;
    *line_ret = line;
    return true;
}

/* ---- Header and trailer ---- */

const char *const tbed_rtl_header_parts[4][2] = {
    {"opening log file ", " seconds past January 1st 1970"},
    {"corresponding to ", " ms after timer start"},
    {"Process id is ", ""},
    {"closing log file at ", ""},
};

/* Is the number formatted like "%f" (of any locale), "%u" or (in the trailer) "%06u"? */
static bool is_number(unsigned which, const char *text, size_t nbytes)
{
    size_t whole = which == 0 && nbytes > 7 ? nbytes - 7 : nbytes;
    bool has_point = which != 0 || (nbytes > 7 && (text[whole] == '.' || text[whole] == ','));
    bool is_short = whole == 1 || (which == RTL_TRAILER && whole == 6);
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes; i++)
        if (i != whole && !is_digit(text[i]))
            return false;
    for (size_t i = 0; i < whole && value <= UINT32_MAX; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    if (nbytes == 0 || !has_point || value > UINT32_MAX || (which == RTL_TRAILER && whole < 6))
        return false;
    return is_short || text[0] != '0';
}

bool tbed_rtl_header_parse(unsigned which, const char *text, size_t nbytes, char number_ret[RTL_HEADER_NMAX])
{
    const char *const *parts = tbed_rtl_header_parts[which];
    size_t before = strlen(parts[0]), after = strlen(parts[1]);
    if (nbytes < before + after || memcmp(text, parts[0], before) != 0 ||
        memcmp(text + nbytes - after, parts[1], after) != 0)
        return false;
    size_t length = nbytes - before - after;
    if (length >= RTL_HEADER_NMAX || !is_number(which, text + before, length))
        return false;
    memcpy(number_ret, text + before, length);
    number_ret[length] = '\0';
    return true;
}

bool tbed_rtl_is_log(const char *start, size_t nbytes)
{
    static const char opening[] = "opening log file ";
    size_t shared = nbytes < sizeof opening - 1 ? nbytes : sizeof opening - 1;
    if (shared >= 4 && memcmp(start, opening, shared) == 0)
        return true;
    for (const char *at = start, *end = start + nbytes; at < end;) {
        struct rtl_line line;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        if (tbed_rtl_line_parse(at, (size_t)(stop - at), &line))
            return true;
        at = stop + 1;
    }
    return false;
}

/* ---- Metadata ---- */

size_t tbed_rtl_facts_put(const struct rtl_facts *facts, uint64_t line_count, char *text, size_t room)
{
    size_t at = (size_t)snprintf(text, room, METADATA_START);
    for (unsigned which = 0; which < 4; which++) {
        const char *number = facts->numbers[which];
        at += (size_t)snprintf(text + at, room - at,
                               which == RTL_TRAILER ? "],\"trailer\":"
                               : which > 0          ? ","
                                                    : "");
        at += (size_t)snprintf(text + at, room - at, number[0] != '\0' ? "\"%s\"" : "null", number);
    }
    at += (size_t)snprintf(text + at, room - at, ",\"lines\":%" PRIu64 METADATA_ODD, line_count);
    const char *comma = "";
    for (unsigned odd = 0; odd < TBED_RTL_ODD_COUNT; odd++)
        if (facts->odd_counts[odd] > 0) {
            at += (size_t)snprintf(text + at, room - at, "%s\"%s\":%" PRIu64, comma, odd_keys[odd],
                                   facts->odd_counts[odd]);
            comma = ",";
        }
    return at + (size_t)snprintf(text + at, room - at, "}}}");
}

/* Parses a number of the header or the trailer in quotes, or null. False: neither. */
static bool take_fact(unsigned which, const char **at, char number[RTL_HEADER_NMAX])
{
    if (strncmp(*at, "null", 4) == 0) {
        *at += 4;
        return true;
    }
    size_t nbytes = **at == '"' ? strspn(*at + 1, "0123456789.,") : 0;
    if (nbytes >= RTL_HEADER_NMAX || !is_number(which, *at + 1, nbytes) || (*at)[nbytes + 1] != '"')
        return false;
    memcpy(number, *at + 1, nbytes);
    number[nbytes] = '\0';
    *at += nbytes + 2;
    return true;
}

/* Takes the counts of the classes that this version knows, as far as they are written in its way. */
static void take_odd_counts(const char *at, uint64_t counts[TBED_RTL_ODD_COUNT])
{
    char key[32];
    uint64_t value;
    int nbytes;
    at = strstr(at, METADATA_ODD);
    at = at != NULL ? at + strlen(METADATA_ODD) : "";
    for (; sscanf(at, "\"%31[a-z_0-9]\":%20" SCNu64 "%n", key, &value, &nbytes) == 2;
         at += at[nbytes] == ',' ? nbytes + 1 : nbytes)
        for (unsigned odd = 0; odd < TBED_RTL_ODD_COUNT; odd++)
            if (strcmp(key, odd_keys[odd]) == 0)
                counts[odd] = value;
}

/* Accepts only what tbed_rtl_facts_put() writes: the bytes of a log must not depend on JSON from elsewhere. */
void tbed_rtl_facts_read(const struct tbed_reader *reader, struct rtl_facts *facts_ret)
{
    static const char *const before[] = {METADATA_START, ",", ",", "],\"trailer\":"};
    char text[METADATA_NBYTES];
    size_t nbytes;
    struct rtl_facts facts = {.is_import = true};
    *facts_ret = (struct rtl_facts){0};
    if (tbed_string_resolve(reader, TBED_ID_METADATA, text, sizeof text, &nbytes) != TBED_OK)
        return;
    const char *at = text;
    for (unsigned which = 0; which < 4; which++) {
        size_t length = strlen(before[which]);
        if (strncmp(at, before[which], length) != 0)
            return;
        at += length;
        if (!take_fact(which, &at, facts.numbers[which]))
            return;
    }
    take_odd_counts(at, facts.odd_counts);
    *facts_ret = facts;
}

bool tbed_rtl_is_of_log(const struct tbed_reader *reader)
{
    struct rtl_facts facts;
    tbed_rtl_facts_read(reader, &facts);
    return facts.is_import;
}

uint64_t tbed_rtl_odd_count(const struct tbed_reader *reader, enum tbed_rtl_odd odd)
{
    struct rtl_facts facts;
    tbed_rtl_facts_read(reader, &facts);
    return (unsigned)odd < TBED_RTL_ODD_COUNT ? facts.odd_counts[odd] : 0;
}
