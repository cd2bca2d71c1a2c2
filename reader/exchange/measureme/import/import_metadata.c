/*
 * Reads the metadata of a profile tolerantly: rustc writes its command line with Rust's escapes, which are not
 * JSON's, and the fields after such a string must still be found.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"

#include <string.h>

struct scan {
    const char *at, *end;
};

struct span {
    const char *text;
    size_t nbytes;
};

static char peek(const struct scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == ',' || byte == ':';
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

/*
 * Skips a string from its opening quote past its closing one, or to the end. A backslash escapes the next byte,
 * whatever it is.
 */
static struct span take_string(struct scan *scan)
{
    const char *start = ++scan->at;
    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    struct span text = {start, (size_t)(scan->at - start)};
    scan->at += scan->at < scan->end;
    return text;
}

static void skip_value(struct scan *scan)
{
    size_t depth = 0;
    do {
        char byte = peek(scan);
        if (byte == '"') {
            take_string(scan);
            continue;
        }
        if (depth == 0 && (byte == '}' || byte == ']' || byte == ','))
            return;
        depth += byte == '{' || byte == '[';
        depth -= byte == '}' || byte == ']';
        scan->at += scan->at < scan->end;
        if (depth == 0 && (byte == '}' || byte == ']'))
            return;
    } while (scan->at < scan->end);
}

static bool take_number(struct scan *scan, uint64_t max, uint64_t *value_ret)
{
    uint64_t value = 0;
    const char *start = scan->at;
    for (; peek(scan) >= '0' && peek(scan) <= '9'; scan->at++) {
        uint64_t digit = (uint64_t)(*scan->at - '0');
        if (value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *value_ret = value;
    return scan->at > start;
}

static bool is_key(struct span key, const char *name)
{
    return key.nbytes == strlen(name) && memcmp(key.text, name, key.nbytes) == 0;
}

/* Reads the next key of an object whose '{' has been read, and stops at its value; false at the object's end. */
static bool next_key(struct scan *scan, struct span *key)
{
    skip_blanks(scan);
    if (peek(scan) != '"')
        return false;
    *key = take_string(scan);
    skip_blanks(scan);
    return true;
}

/* ---- The process's name: the last path part of the command's first word ---- */

static size_t put_unescaped(struct span text, char *to, size_t room)
{
    size_t nbytes = 0;
    for (size_t i = 0; i < text.nbytes && nbytes < room; i++) {
        i += text.text[i] == '\\' && i + 1 < text.nbytes;
        to[nbytes++] = text.text[i];
    }
    return nbytes;
}

static void name_from(struct span command, struct import_metadata *metadata)
{
    size_t start = 0, end = 0;
    for (; end < command.nbytes && command.text[end] != ' '; end++)
        if (command.text[end] == '/')
            start = end + 1;
    struct span name = {command.text + start, end - start};
    size_t nbytes = put_unescaped(name, metadata->process_name, sizeof metadata->process_name - 1);
    if (nbytes > 0)
        metadata->process_name[nbytes] = '\0';
}

/* ---- Counters ---- */

static void unit_from(struct span unit, struct import_metadata *metadata)
{
    size_t nbytes = 0;
    for (size_t i = 0; i < unit.nbytes && nbytes < IMPORT_UNIT_NBYTES; i++)
        if (unit.text[i] >= 0x20 && unit.text[i] <= 0x7E)
            metadata->unit[nbytes++] = unit.text[i];
    if (nbytes > 0)
        metadata->unit[nbytes] = '\0';
}

/* "units": [["instructions", 1], ["k…", 1000]…], the smallest first; or a text. */
static void take_units(struct scan *scan, struct import_metadata *metadata)
{
    struct scan inside = *scan;
    skip_value(scan);
    inside.end = scan->at;
    while (inside.at < inside.end && *inside.at != '"')
        inside.at++;
    if (inside.at < inside.end)
        unit_from(take_string(&inside), metadata);
}

/* A truncated name does not count: it may have been any. */
static void take_counter_name(struct scan *scan, struct import_metadata *metadata)
{
    struct span name = take_string(scan);
    bool is_whole = name.text + name.nbytes < scan->end;
    metadata->is_count = is_whole && !is_key(name, "wall-time");
}

/* A counter of wall time counts nanoseconds, as does a profile without a counter, or with an unnamed one. */
static void take_counter(struct scan *scan, struct import_metadata *metadata)
{
    struct span key;
    if (peek(scan) != '{') {
        skip_value(scan);
        return;
    }
    scan->at++;
    while (next_key(scan, &key)) {
        if (is_key(key, "name") && peek(scan) == '"')
            take_counter_name(scan, metadata);
        else if (is_key(key, "units"))
            take_units(scan, metadata);
        else
            skip_value(scan);
    }
    scan->at += peek(scan) == '}';
}

/* ---- Metadata ---- */

#define RESOLUTION_NS_MAX 1000000000u

static void take_field(struct scan *scan, struct span key, struct import_metadata *metadata)
{
    uint64_t value;
    if (is_key(key, "start_time") && take_number(scan, INT64_MAX, &value)) {
        metadata->has_start = true;
        metadata->start_realtime_ns = (int64_t)value;
    } else if (is_key(key, "process_id") && take_number(scan, UINT32_MAX, &value)) {
        metadata->has_pid = true;
        metadata->pid = (uint32_t)value;
    } else if (is_key(key, "cmd") && peek(scan) == '"') {
        metadata->has_command = true;
        name_from(take_string(scan), metadata);
    } else if (is_key(key, "resolution_ns") && take_number(scan, RESOLUTION_NS_MAX, &value)) {
        metadata->resolution_ns = value > 1 ? (uint32_t)value : 0;
    } else if (is_key(key, "counter")) {
        take_counter(scan, metadata);
    } else {
        skip_value(scan);
    }
}

void tbed_import_metadata_scan(const char *text, size_t nbytes, struct import_metadata *metadata_ret)
{
    *metadata_ret = (struct import_metadata){.process_name = "measureme", .unit = "counts"};
    struct scan scan = {text, text + nbytes};
    struct span key;
    skip_blanks(&scan);
    if (peek(&scan) != '{')
        return;
    scan.at++;
    while (next_key(&scan, &key))
        take_field(&scan, key, metadata_ret);
}
