/*
 * Attributes of OTLP: arguments with their types. Integers are texts there, as protobuf's JSON asks for; one that does not
 * fit into 64 bits with a sign is a text altogether.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/otlp/otlp.h"

void tbed_otlp_begin_attributes(struct otlp_attributes *attributes, struct otlp *otlp, struct tbed_text *text)
{
    *attributes = (struct otlp_attributes){.otlp = otlp, .text = text};
    tbed_text_puts(text, "\"attributes\":[");
}

void tbed_otlp_end_attributes(struct otlp_attributes *attributes)
{
    tbed_text_puts(attributes->text, "]");
}

static void begin(struct otlp_attributes *attributes, const char *key, size_t nbytes)
{
    tbed_text_puts(attributes->text, attributes->needs_comma ? ",{\"key\":" : "{\"key\":");
    attributes->needs_comma = true;
    tbed_json_quote(attributes->text, key, nbytes);
    tbed_text_puts(attributes->text, ",\"value\":{");
}

static void put_text(struct otlp_attributes *attributes, const char *text, size_t nbytes)
{
    tbed_text_puts(attributes->text, "\"stringValue\":");
    tbed_json_quote(attributes->text, text, nbytes);
}

static void end(struct otlp_attributes *attributes)
{
    tbed_text_puts(attributes->text, "}}");
}

void tbed_otlp_put_text_attribute(struct otlp_attributes *attributes, const char *key, const char *text,
                                  size_t nbytes)
{
    begin(attributes, key, strlen(key));
    put_text(attributes, text, nbytes);
    end(attributes);
}

static void put_u64(struct otlp_attributes *attributes, uint64_t value)
{
    tbed_text_puts(attributes->text, value > INT64_MAX ? "\"stringValue\":\"" : "\"intValue\":\"");
    tbed_text_u64(attributes->text, value);
    tbed_text_puts(attributes->text, "\"");
}

void tbed_otlp_put_u64_attribute(struct otlp_attributes *attributes, const char *key, uint64_t value)
{
    begin(attributes, key, strlen(key));
    put_u64(attributes, value);
    end(attributes);
}

void tbed_otlp_put_true_attribute(struct otlp_attributes *attributes, const char *key)
{
    begin(attributes, key, strlen(key));
    tbed_text_puts(attributes->text, "\"boolValue\":true");
    end(attributes);
}

void tbed_otlp_put_name_attributes(struct otlp_attributes *attributes, uint32_t id, uint32_t category)
{
    const struct export_name *name = tbed_export_name_of(&attributes->otlp->walk, id);
    const char *text;
    size_t at = 0, nbytes;
    char key[24];
    for (unsigned i = 0; tbed_export_name_argument(name, &at, &text, &nbytes); i++) {
        snprintf(key, sizeof key, "arg%u", i);
        tbed_otlp_put_text_attribute(attributes, key, text, nbytes);
    }
    if (name->function != NULL)
        tbed_otlp_put_text_attribute(attributes, "code.function.name", name->function,
                                     strlen(name->function));
    if (name->file != NULL)
        tbed_otlp_put_text_attribute(attributes, "code.file.path", name->file, strlen(name->file));
    if (name->line != 0)
        tbed_otlp_put_u64_attribute(attributes, "code.line.number", name->line);
    if (category != TBED_ID_INVALID) {
        name = tbed_export_name_of(&attributes->otlp->walk, category);
        tbed_otlp_put_text_attribute(attributes, "category", name->label.bytes, name->label.nbytes);
    }
}

/* ---- Arguments of events ---- */

static void put_base64(struct tbed_text *text, const char *bytes, size_t nbytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < nbytes; i += 3) {
        size_t left = nbytes - i;
        uint32_t three = (uint32_t)at[i] << 16;
        three |= left > 1 ? (uint32_t)at[i + 1] << 8 : 0;
        three |= left > 2 ? at[i + 2] : 0;
        const char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                              left > 1 ? digits[three >> 6 & 63] : '=', left > 2 ? digits[three & 63] : '='};
        tbed_text_put(text, four, sizeof four);
    }
}

static void put_f64(struct tbed_text *text, double value)
{
    struct tbed_json json = {.text = text};
    tbed_json_f64(&json, "doubleValue", value); /* "NaN", "Infinity": as protobuf's JSON has them */
}

static void put_value(struct otlp_attributes *attributes, const struct tbed_argument *argument)
{
    struct tbed_text *text = attributes->text;
    char pointer[24];
    switch (argument->type) {
    case TBED_ARG_U64:
        put_u64(attributes, argument->value.u64);
        break;
    case TBED_ARG_I64:
        tbed_text_puts(text, "\"intValue\":\"");
        tbed_text_i64(text, argument->value.i64);
        tbed_text_puts(text, "\"");
        break;
    case TBED_ARG_F64:
        put_f64(text, argument->value.f64);
        break;
    case TBED_ARG_BOOL:
        tbed_text_puts(text, argument->value.u64 != 0 ? "\"boolValue\":true" : "\"boolValue\":false");
        break;
    case TBED_ARG_POINTER:
        snprintf(pointer, sizeof pointer, "0x%llx", (unsigned long long)argument->value.u64);
        put_text(attributes, pointer, strlen(pointer));
        break;
    case TBED_ARG_ID: {
        size_t nbytes;
        uint32_t id = argument->value.u64 <= TBED_ID_MAX ? argument->value.id : TBED_ID_INVALID;
        const char *name = tbed_export_text_of(&attributes->otlp->walk, id, &nbytes);
        put_text(attributes, name, nbytes);
        break;
    }
    case TBED_ARG_TEXT:
        put_text(attributes, argument->value.text, argument->nbytes);
        break;
    default:
        tbed_text_puts(text, "\"bytesValue\":\"");
        put_base64(text, argument->value.text, argument->nbytes);
        tbed_text_puts(text, "\"");
    }
}

void tbed_otlp_put_arguments(struct otlp_attributes *attributes, struct tbed_arguments arguments,
                             uint32_t count, uint32_t first)
{
    char number[24];
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&arguments, &argument);
        if (argument.name_id != TBED_ID_INVALID) {
            size_t nbytes;
            const char *name = tbed_export_text_of(&attributes->otlp->walk, argument.name_id, &nbytes);
            begin(attributes, name, nbytes);
        } else {
            snprintf(number, sizeof number, "arg%u", first + i);
            begin(attributes, number, strlen(number));
        }
        put_value(attributes, &argument);
        end(attributes);
    }
}
