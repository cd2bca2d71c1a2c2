/*
 * Splits a name and a message into fields. Each field must be a part of the text without surrounding spaces, and a name
 * that is composed of the fields must have the same fields.
 *
 * The input is a name, a newline and a message.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/exchange.h>

#include "fuzz/support/fuzz.h"

struct text {
    char *bytes;
    size_t nbytes;
};

/* Copies the text to an allocation of its exact size, so that a sanitizer detects reads beyond its end. */
static struct text copy(const uint8_t *data, size_t nbytes)
{
    struct text text = {malloc(nbytes + (nbytes == 0)), nbytes};
    REQUIRE(text.bytes != NULL);
    if (nbytes > 0)
        memcpy(text.bytes, data, nbytes);
    return text;
}

static bool is_inside(const struct tbed_rtl_part *part, const struct text *text)
{
    return part->nbytes <= text->nbytes && part->text >= text->bytes &&
           part->text + part->nbytes <= text->bytes + text->nbytes;
}

static bool is_trimmed(const struct tbed_rtl_part *part)
{
    return part->nbytes == 0 || (part->text[0] != ' ' && part->text[part->nbytes - 1] != ' ');
}

static bool is_same(const struct tbed_rtl_part *a, const struct tbed_rtl_part *b)
{
    return a->nbytes == b->nbytes && memcmp(a->text, b->text, a->nbytes) == 0;
}

static void compare(const struct tbed_rtl_fields *a, const struct tbed_rtl_fields *b)
{
    REQUIRE(is_same(&a->module, &b->module) && is_same(&a->author, &b->author));
    REQUIRE(is_same(&a->function, &b->function));
}

/* Composes a name of these fields. */
static struct text put_together(const struct tbed_rtl_fields *fields)
{
    struct text text = {0};
    FILE *out = open_memstream(&text.bytes, &text.nbytes);
    const struct tbed_rtl_part *module = &fields->module, *author = &fields->author;
    const struct tbed_rtl_part *function = &fields->function;
    REQUIRE(out != NULL);
    if (module->nbytes > 0)
        fprintf(out, "%.*s (%.*s)%s", (int)module->nbytes, module->text, (int)author->nbytes, author->text,
                function->nbytes > 0 ? " " : "");
    fprintf(out, "%.*s", (int)function->nbytes, function->text);
    if (module->nbytes == 0 && author->nbytes > 0)
        fprintf(out, " (%.*s)", (int)author->nbytes, author->text);
    REQUIRE(fclose(out) == 0);
    return text;
}

static struct tbed_rtl_fields check_name(const struct text *name)
{
    struct tbed_rtl_fields fields, again;
    tbed_rtl_fields(name->bytes, name->nbytes, &fields);
    REQUIRE(is_inside(&fields.module, name) && is_trimmed(&fields.module));
    REQUIRE(is_inside(&fields.author, name) && is_trimmed(&fields.author));
    REQUIRE(is_inside(&fields.function, name));
    if (fields.module.nbytes == 0 && fields.author.nbytes == 0)
        return fields;
    REQUIRE(is_trimmed(&fields.function));
    struct text same = put_together(&fields);
    tbed_rtl_fields(same.bytes, same.nbytes, &again);
    compare(&fields, &again);
    free(same.bytes);
    return fields;
}

static void check_message(const struct tbed_rtl_fields *of_name, const struct text *message)
{
    struct tbed_rtl_fields fields = *of_name;
    size_t nbytes = tbed_rtl_message_fields(message->bytes, message->nbytes, &fields);
    if (nbytes == 0) {
        compare(of_name, &fields);
        return;
    }
    REQUIRE(nbytes <= message->nbytes && memcmp(message->bytes + nbytes - 3, " : ", 3) == 0);
    REQUIRE(of_name->function.nbytes == 0 && fields.function.nbytes > 0);
    REQUIRE(is_inside(&fields.function, message));
    REQUIRE(of_name->module.nbytes == 0 || is_same(&of_name->module, &fields.module));
    REQUIRE(of_name->author.nbytes == 0 || is_same(&of_name->author, &fields.author));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const uint8_t *newline = nbytes > 0 ? memchr(data, '\n', nbytes) : NULL;
    size_t name_nbytes = newline != NULL ? (size_t)(newline - data) : nbytes;
    struct text name = copy(data, name_nbytes);
    struct text message = newline != NULL ? copy(newline + 1, nbytes - name_nbytes - 1) : copy(NULL, 0);
    if (memchr(name.bytes, 0, name_nbytes) == NULL) {
        struct tbed_rtl_fields fields = check_name(&name);
        check_message(&fields, &message);
    }
    free(message.bytes);
    free(name.bytes);
    return 0;
}
