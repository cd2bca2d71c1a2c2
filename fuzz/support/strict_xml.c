/*
 * A parser of XML that only checks, and one of folded stacks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "fuzz/support/strict.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 5000

struct xml {
    const char *at, *end;
    const char *open[DEPTH_MAX]; /* the names of elements that are not closed */
    size_t open_nbytes[DEPTH_MAX];
    size_t depth;
    bool has_root;
};

static bool skip_word(struct xml *xml, const char *word)
{
    size_t nbytes = strlen(word);
    if ((size_t)(xml->end - xml->at) < nbytes || memcmp(xml->at, word, nbytes) != 0)
        return false;
    xml->at += nbytes;
    return true;
}

/* Skips everything up to and including 'word'. */
static bool skip_past(struct xml *xml, const char *word)
{
    while (xml->at < xml->end)
        if (skip_word(xml, word))
            return true;
        else
            xml->at++;
    return false;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool skip_space(struct xml *xml)
{
    const char *begin = xml->at;
    while (xml->at < xml->end && is_space(*xml->at))
        xml->at++;
    return xml->at > begin;
}

static size_t skip_name(struct xml *xml)
{
    const char *begin = xml->at;
    while (xml->at < xml->end && !is_space(*xml->at) && strchr("<>/=\"'&!?", *xml->at) == NULL)
        xml->at++;
    return (size_t)(xml->at - begin);
}

static bool skip_reference(struct xml *xml)
{
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (skip_word(xml, names[i]))
            return true;
    const char *begin = xml->at += 2;
    while (xml->at < xml->end && *xml->at >= '0' && *xml->at <= '9')
        xml->at++;
    return xml->at > begin && begin[-1] == '#' && skip_word(xml, ";");
}

/* One character of text or of a value. XML has no other control characters, and no U+FFFE and U+FFFF. */
static bool skip_character(struct xml *xml)
{
    if (*xml->at == '&')
        return xml->end - xml->at > 2 && skip_reference(xml);
    size_t step = tbed_utf8_step((const uint8_t *)xml->at, (size_t)(xml->end - xml->at));
    if (step == 0 || *xml->at == '<' || ((uint8_t)*xml->at < ' ' && !is_space(*xml->at)) ||
        (step == 3 && (memcmp(xml->at, "\xEF\xBF\xBE", 3) == 0 || memcmp(xml->at, "\xEF\xBF\xBF", 3) == 0)))
        return false;
    xml->at += step;
    return true;
}

static bool skip_attribute(struct xml *xml)
{
    if (skip_name(xml) == 0 || !skip_word(xml, "=") || xml->at == xml->end)
        return false;
    char quote = *xml->at++;
    if (quote != '"' && quote != '\'')
        return false;
    while (xml->at < xml->end && *xml->at != quote)
        if (!skip_character(xml))
            return false;
    return xml->at++ < xml->end;
}

static bool skip_start(struct xml *xml)
{
    const char *name = xml->at;
    size_t nbytes = skip_name(xml);
    if (nbytes == 0 || xml->depth == DEPTH_MAX || (xml->depth == 0 && xml->has_root))
        return false;
    xml->has_root = true;
    while (skip_space(xml) && xml->at < xml->end && *xml->at != '/' && *xml->at != '>')
        if (!skip_attribute(xml))
            return false;
    if (skip_word(xml, "/>"))
        return true;
    xml->open[xml->depth] = name;
    xml->open_nbytes[xml->depth++] = nbytes;
    return skip_word(xml, ">");
}

static bool skip_end(struct xml *xml)
{
    const char *name = xml->at;
    size_t nbytes = skip_name(xml);
    if (xml->depth == 0 || xml->open_nbytes[xml->depth - 1] != nbytes ||
        memcmp(xml->open[xml->depth - 1], name, nbytes) != 0)
        return false;
    xml->depth--;
    skip_space(xml);
    return skip_word(xml, ">");
}

static bool skip_markup(struct xml *xml)
{
    if (skip_word(xml, "<!--"))
        return skip_past(xml, "-->");
    if (skip_word(xml, "<![CDATA["))
        return xml->depth > 0 && skip_past(xml, "]]>");
    if (skip_word(xml, "<?"))
        return skip_past(xml, "?>");
    if (skip_word(xml, "</"))
        return skip_end(xml);
    return skip_word(xml, "<") && skip_start(xml);
}

bool is_xml(const char *text, size_t nbytes)
{
    static struct xml xml;
    xml = (struct xml){.at = text, .end = text + nbytes};
    while (xml.at < xml.end) {
        bool is_text = *xml.at != '<' && (xml.depth > 0 || is_space(*xml.at));
        if (is_text ? !skip_character(&xml) : !skip_markup(&xml))
            return false;
    }
    return xml.depth == 0 && xml.has_root;
}

bool is_folded(const char *text, size_t nbytes)
{
    const char *end = text + nbytes;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        const char *number = line_end;
        while (number != NULL && number > text && number[-1] >= '0' && number[-1] <= '9')
            number--;
        if (line_end == NULL || number == line_end || number - text < 2 || number[-1] != ' ')
            return false;
        for (; text < line_end; text++)
            if ((unsigned char)*text < ' ' || *text == 0x7F)
                return false;
        text = line_end + 1;
    }
    return true;
}
