/*
 * A pprof profile as a trace: which files are profiles, and the two passes over one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/foreign_file.h"
#include "reader/exchange/pprof/import/pprof_fields.h"
#include "reader/exchange/pprof/import/pprof_import.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define START_NBYTES       16384
#define FIELD_HEADER_NMAX  20 /* two numbers */
#define MESSAGE_NBYTES_MAX (FOREIGN_ITEM_MAX / 4)
#define REALTIME_NS_MAX    (INT64_C(1) << 62)
#define WIRES              (1u << PROTO_VARINT | 1u << PROTO_FIXED64 | 1u << PROTO_BYTES | 1u << PROTO_FIXED32)

/* ---- Which files ---- */

/* Which wire types a field of the profile may have, as bits; 0: there is no such field. */
static unsigned wires_of(uint32_t number)
{
    switch (number) {
    case PPROF_SAMPLE_TYPE:
    case PPROF_SAMPLE:
    case PPROF_MAPPING:
    case PPROF_LOCATION:
    case PPROF_FUNCTION:
    case PPROF_STRING_TABLE:
    case PPROF_PERIOD_TYPE:
        return 1u << PROTO_BYTES;
    case PPROF_COMMENT:
        return 1u << PROTO_VARINT | 1u << PROTO_BYTES;
    case PPROF_DROP_FRAMES:
    case PPROF_KEEP_FRAMES:
    case PPROF_TIME_NANOS:
    case PPROF_DURATION_NANOS:
    case PPROF_PERIOD:
    case PPROF_DEFAULT_SAMPLE_TYPE:
    case PPROF_DOC_URL:
        return 1u << PROTO_VARINT;
    default:
        return 0;
    }
}

/* Which wire types the fields of a message have, from field 1 on; a string of digits, each a set of bits. */
static const char *inner_wires_of(uint32_t number)
{
    switch (number) {
    case PPROF_SAMPLE_TYPE:
    case PPROF_PERIOD_TYPE:
        return "11";
    case PPROF_SAMPLE:
        return "554";
    case PPROF_MAPPING:
        return "1111111111";
    case PPROF_LOCATION:
        return "11141";
    case PPROF_FUNCTION:
        return "11111";
    default:
        return NULL;
    }
}

static bool looks_right(const struct proto_field *message)
{
    const char *wires = inner_wires_of(message->number);
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (wires != NULL && tbed_proto_next(&in, &field))
        if (field.number > strlen(wires) || ((wires[field.number - 1] - '0') >> field.wire & 1) == 0)
            return false;
    return wires == NULL || !in.is_bad;
}

bool tbed_pprof_has_start(const char *start, size_t nbytes)
{
    char text[START_NBYTES];
    size_t text_nbytes = tbed_foreign_start(start, nbytes, text, sizeof text);
    struct proto_in in = {text, text + text_nbytes, false};
    struct proto_field field;
    size_t type_count = 0, string_count = 0, other_count = 0;
    while (tbed_proto_next(&in, &field)) {
        if ((wires_of(field.number) >> field.wire & 1) == 0 || !looks_right(&field))
            return false;
        if (field.number == PPROF_STRING_TABLE && string_count++ == 0 && field.nbytes > 0)
            return false;
        type_count += field.number == PPROF_SAMPLE_TYPE;
        other_count += field.number != PPROF_SAMPLE_TYPE && field.number != PPROF_STRING_TABLE;
    }
    uint64_t tag = 0;
    if (in.is_bad && tbed_proto_varint(in.at, in.end, &tag) > 0 &&
        (wires_of((uint32_t)(tag >> 3)) >> (tag & 7) & 1) == 0)
        return false;
    return type_count > 0 && (other_count > 0 || string_count > 1);
}

/* ---- Fields ---- */

static void damage(struct pprof_import *pprof, enum tbed_status status, const char *at)
{
    tbed_import_damaged(pprof->report, status, 0, tbed_foreign_offset(&pprof->input, at), 0);
}

/* Whether the window has that many bytes. */
static bool have(struct foreign_input *input, size_t nbytes)
{
    while ((size_t)(input->end - input->at) < nbytes)
        if (!tbed_foreign_input_more(input))
            return false;
    return true;
}

/* Behind a length that cannot be, there is no way to find the next field. */
static enum tbed_status see_field(struct foreign_input *input)
{
    uint64_t tag, length = 0;
    have(input, FIELD_HEADER_NMAX);
    bool is_cut = input->end - input->at < FIELD_HEADER_NMAX;
    size_t taken = tbed_proto_varint(input->at, input->end, &tag);
    if (taken == 0)
        return is_cut ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD;
    if (tag >> 3 == 0 || tag > UINT32_MAX || (WIRES >> (tag & 7) & 1) == 0)
        return TBED_ERR_FOREIGN_RECORD;
    if ((tag & 7) != PROTO_BYTES)
        return TBED_OK;
    size_t length_taken = tbed_proto_varint(input->at + taken, input->end, &length);
    if (length_taken == 0)
        return is_cut ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD;
    if (length > MESSAGE_NBYTES_MAX)
        return TBED_ERR_FOREIGN_RECORD;
    return have(input, taken + length_taken + (size_t)length) ? TBED_OK : TBED_ERR_FOREIGN_CUT;
}

/* False: the end of the file, or of what can be read. */
static bool next_field(struct pprof_import *pprof, struct proto_field *field)
{
    struct foreign_input *input = &pprof->input;
    have(input, 1);
    if (input->at == input->end || input->failure != TBED_OK)
        return false;
    enum tbed_status status = see_field(input);
    struct proto_in in = {input->at, input->end, false};
    if (status == TBED_OK && !tbed_proto_next(&in, field))
        status = input->end - input->at < FIELD_HEADER_NMAX ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD;
    if (status == TBED_OK)
        return true;
    if (pprof->is_first_pass && input->failure == TBED_OK)
        damage(pprof, status, input->at);
    return false;
}

static void take_field(struct pprof_import *pprof, const struct proto_field *field)
{
    bool is_sample = field->number == PPROF_SAMPLE;
    if (is_sample == pprof->is_first_pass)
        return;
    if (!(is_sample ? tbed_pprof_take_sample(pprof, field) : tbed_pprof_take_table(pprof, field)))
        damage(pprof, TBED_ERR_FOREIGN_RECORD, pprof->input.at);
}

static enum tbed_status pass(struct pprof_import *pprof, int fd)
{
    struct foreign_input *input = &pprof->input;
    struct proto_field field;
    enum tbed_status status = tbed_foreign_input_open(input, fd);
    if (status != TBED_OK)
        return status;
    while (!pprof->is_out_of_memory && !pprof->samples.trace.is_out_of_memory && next_field(pprof, &field)) {
        take_field(pprof, &field);
        struct proto_in in = {input->at, input->end, false};
        tbed_proto_next(&in, &field);
        input->at = in.at;
    }
    if (pprof->is_first_pass && input->damage != TBED_OK)
        tbed_import_damaged(pprof->report, input->damage, 0, input->read_nbytes, 0);
    status = input->failure;
    tbed_foreign_input_close(input);
    return status;
}

/* ---- Driver ---- */

static void name_types(struct pprof_import *pprof)
{
    for (size_t i = 0; i < pprof->type_count; i++) {
        struct pprof_text type = tbed_pprof_text(pprof, pprof->types[i].type);
        pprof->type_ids[i] = tbed_import_string(&pprof->samples.trace, type.text, type.nbytes);
    }
}

static enum tbed_status write_trace(struct pprof_import *pprof, int from, int fd,
                                    struct tbed_error *error_ret)
{
    char unit[17], thread[64];
    bool is_count = tbed_pprof_unit(pprof, unit);
    struct pprof_text type = tbed_pprof_text(pprof, pprof->types[pprof->value_index].type);
    size_t nbytes = type.nbytes < sizeof thread ? type.nbytes : 0;
    memcpy(thread, type.text, nbytes);
    thread[nbytes] = '\0';
    struct import_start start = {.name = "", .unit = is_count ? unit : NULL};
    if (!is_count && pprof->time_ns > 0 && pprof->time_ns < REALTIME_NS_MAX)
        start.realtime_ns = pprof->time_ns;
    enum tbed_status status = tbed_sample_import_open(
        &pprof->samples, fd, &start, nbytes > 0 ? thread : "samples", pprof->report, error_ret);
    if (status == TBED_OK && !pprof->samples.trace.is_out_of_memory) {
        name_types(pprof);
        tbed_pprof_put_metadata(pprof);
        status = pass(pprof, from);
        errno = 0;
        if (status != TBED_OK)
            tbed_exchange_fail(error_ret, status);
    }
    pprof->samples.trace.is_out_of_memory |= pprof->is_out_of_memory;
    return tbed_sample_import_close(&pprof->samples, status, error_ret);
}

static void free_all(struct pprof_import *pprof)
{
    free(pprof->strings.bytes);
    tbed_vector_free(&pprof->string_ends.vector);
    tbed_vector_free(&pprof->lines.vector);
    tbed_vector_free(&pprof->stack.vector);
    tbed_hashmap_free(&pprof->functions.map);
    tbed_hashmap_free(&pprof->locations.map);
    tbed_hashmap_free(&pprof->places.map);
    free(pprof);
}

static enum tbed_status import_from(struct pprof_import *pprof, int from, int fd,
                                    struct tbed_error *error_ret)
{
    pprof->is_first_pass = true;
    enum tbed_status status = pass(pprof, from);
    pprof->is_first_pass = false;
    errno = pprof->is_out_of_memory ? ENOMEM : 0;
    status = status == TBED_OK && pprof->is_out_of_memory ? TBED_ERR_MEMORY : status;
    if (status != TBED_OK)
        return tbed_exchange_fail(error_ret, status);
    tbed_pprof_choose(pprof);
    return write_trace(pprof, from, fd, error_ret);
}

enum tbed_status tbed_pprof_import(const void *source, int fd, struct tbed_import_report *report,
                                   struct tbed_error *error_ret)
{
    const struct foreign_file *file = source;
    struct pprof_import *pprof = calloc(1, sizeof *pprof);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_PPROF, .file_nbytes = file->nbytes};
    errno = ENOMEM;
    if (pprof == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    pprof->report = report;
    enum tbed_status status = import_from(pprof, file->fd, fd, error_ret);
    free_all(pprof);
    return status;
}
