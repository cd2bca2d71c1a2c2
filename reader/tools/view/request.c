/*
 * Takes requests apart; see request.h. Everything here comes from outside.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/request.h"

#include <stdio.h>
#include <string.h>

static bool refuse(struct request *request, const char *text)
{
    snprintf(request->problem, sizeof request->problem, "%s", text);
    return false;
}

bool request_refuse(struct request *request, const char *name, const char *what)
{
    snprintf(request->problem, sizeof request->problem, "parameter '%.32s': %s", name, what);
    return false;
}

/* ---- Decoding ---- */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/* Decodes a part in place. Zeros would end it early, so they are refused. */
static bool decode(char *part, bool is_parameter)
{
    char *to = part;
    for (const char *from = part; *from != '\0'; from++, to++) {
        int high = *from == '%' ? hex_digit(from[1]) : 0;
        int low = *from == '%' && high >= 0 ? hex_digit(from[2]) : 0;
        if (high < 0 || low < 0 || (*from == '%' && high + low == 0))
            return false;
        *to = *from == '+' && is_parameter ? ' ' : *from;
        if (*from == '%') {
            *to = (char)(high * 16 + low);
            from += 2;
        }
    }
    *to = '\0';
    return true;
}

static bool take_parameter(struct request *request, char *part)
{
    static char nothing[] = "";
    char *value = strchr(part, '=');
    if (value != NULL)
        *value++ = '\0';
    else
        value = nothing;
    if (request->parameter_count == REQUEST_PARAMETERS_MAX)
        return refuse(request, "too many parameters");
    if (!decode(part, true) || !decode(value, true))
        return refuse(request, "a parameter is not encoded as it should be");
    request->parameters[request->parameter_count++] = (struct request_parameter){part, value};
    return true;
}

bool request_parse(struct request *request, const char *target)
{
    size_t nbytes = strnlen(target, REQUEST_NBYTES_MAX + 1);
    request->parameter_count = 0;
    request->path = "";
    if (nbytes > REQUEST_NBYTES_MAX)
        return refuse(request, "the address is too long");
    memcpy(request->text, target, nbytes + 1);
    char *query = strchr(request->text, '?');
    if (query != NULL)
        *query++ = '\0';
    if (!decode(request->text, false))
        return refuse(request, "the path is not encoded as it should be");
    request->path = request->text;
    while (query != NULL && *query != '\0') {
        char *next = strchr(query, '&');
        if (next != NULL)
            *next++ = '\0';
        if (*query != '\0' && !take_parameter(request, query))
            return false;
        query = next;
    }
    return true;
}

/* ---- Parameters ---- */

/* 0: not in the list; 1: once; 2: repeatedly. */
static int times_allowed(const char *names, const char *name)
{
    size_t nbytes = strlen(name);
    for (const char *at = names; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        if (nbytes > 0 && strncmp(at, name, nbytes) == 0 && strchr(" *", at[nbytes]) != NULL)
            return at[nbytes] == '*' ? 2 : 1;
    return 0;
}

bool request_allows(struct request *request, const char *names)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        const char *name = request->parameters[i].name;
        int times = times_allowed(names, name);
        size_t next = i + 1;
        if (times == 0)
            return request_refuse(request, name, "there is no such parameter here");
        if (times == 1 && request_next(request, name, &next) != NULL)
            return request_refuse(request, name, "it is given twice");
    }
    return true;
}

const char *request_next(const struct request *request, const char *name, size_t *at)
{
    while (*at < request->parameter_count) {
        const struct request_parameter *parameter = &request->parameters[(*at)++];
        if (strcmp(parameter->name, name) == 0)
            return parameter->value;
    }
    return NULL;
}

const char *request_text(const struct request *request, const char *name)
{
    size_t at = 0;
    return request_next(request, name, &at);
}

static bool parse_number(const char *text, uint64_t *value_ret)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    *value_ret = value;
    return true;
}

bool request_number(struct request *request, const char *name, uint64_t least, uint64_t most,
                    uint64_t *value_ret)
{
    const char *text = request_text(request, name);
    char what[96];
    uint64_t value;
    if (text == NULL)
        return true;
    if (parse_number(text, &value) && value >= least && value <= most) {
        *value_ret = value;
        return true;
    }
    snprintf(what, sizeof what, "expected a number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    return request_refuse(request, name, what);
}

bool request_need_number(struct request *request, const char *name, uint64_t most, uint64_t *value_ret)
{
    if (request_text(request, name) == NULL)
        return request_refuse(request, name, "it is missing");
    return request_number(request, name, 0, most, value_ret);
}

bool request_word(struct request *request, const char *name, const char *words, size_t *index_ret)
{
    const char *text = request_text(request, name);
    size_t nbytes = text != NULL ? strlen(text) : 0, index = 0;
    char what[128];
    if (text == NULL)
        return true;
    for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ', index++)
        if (nbytes > 0 && strncmp(at, text, nbytes) == 0 && strchr(" ", at[nbytes]) != NULL) {
            *index_ret = index;
            return true;
        }
    snprintf(what, sizeof what, "expected one of: %s", words);
    return request_refuse(request, name, what);
}

uint64_t request_page(const struct request *request)
{
    const char *text = request_text(request, "page");
    uint64_t hash = 0;
    for (; text != NULL && *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001B3) + UINT64_C(0xCBF29CE484222325);
    return hash;
}
