/*
 * The name of a function in what C++ compilers say about it: "bool Plan::Add(const Node*) [with T = int]" is Plan::Add.
 * In C, __func__ is the name already.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/session/session.h"

#define OPERATOR        "operator"
#define OPERATOR_NBYTES (sizeof OPERATOR - 1)

static bool is_word(char byte)
{
    return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

/* Without " [with T = int]" at the end. */
static size_t without_parameters(const char *text, size_t nbytes)
{
    size_t depth = 0;
    if (nbytes == 0 || text[nbytes - 1] != ']')
        return nbytes;
    for (size_t i = nbytes; i > 1; i--) {
        depth += text[i - 1] == ']';
        depth -= text[i - 1] == '[';
        if (depth == 0)
            return text[i - 2] == ' ' ? i - 2 : nbytes;
    }
    return nbytes;
}

/* How many bytes the name of an operator has, as in "operator<<" and "operator()"; 0: none is at 'at'. */
static size_t operator_nbytes(const char *text, size_t nbytes, size_t at)
{
    if (nbytes - at <= OPERATOR_NBYTES || memcmp(text + at, OPERATOR, OPERATOR_NBYTES) != 0 ||
        (at > 0 && is_word(text[at - 1])) || is_word(text[at + OPERATOR_NBYTES]))
        return 0;
    size_t end = at + OPERATOR_NBYTES;
    if (nbytes - end >= 2 && memcmp(text + end, "()", 2) == 0)
        return OPERATOR_NBYTES + 2;
    while (end < nbytes && strchr("<>=!-+*/%^&|~,[]", text[end]) != NULL)
        end++;
    return end - at;
}

/* What follows a function's parameters: nothing, or " const" and the like. */
static bool ends_parameters(const char *text, size_t nbytes, size_t end)
{
    return end == nbytes || text[end] == ' ';
}

const char *tbed_function_name(const char *text, char *room)
{
    size_t nbytes = without_parameters(text, strlen(text)), begin = 0, end = 0, depth = 0, opened = 0;
    bool is_operator = false;
    for (size_t i = 0; i < nbytes; i++) {
        size_t skipped = depth == 0 ? operator_nbytes(text, nbytes, i) : 0;
        if (skipped != 0) {
            is_operator = true;
            i += skipped - 1;
        } else if (strchr("(<[{", text[i]) != NULL) {
            if (depth++ == 0)
                opened = i;
        } else if (strchr(")>]}", text[i]) != NULL && depth > 0) {
            if (--depth == 0 && text[i] == ')' && ends_parameters(text, nbytes, i + 1))
                end = opened;
        } else if (depth == 0 && text[i] == ' ' && end == 0 && !is_operator) {
            begin = i + 1;
        }
    }
    end = end > begin ? end : nbytes;
    if (begin == end || (begin == 0 && end == strlen(text)))
        return text;
    size_t kept = end - begin < TBED_FUNCTION_NBYTES_MAX ? end - begin : TBED_FUNCTION_NBYTES_MAX;
    memcpy(room, text + begin, kept);
    room[kept] = '\0';
    return room;
}
